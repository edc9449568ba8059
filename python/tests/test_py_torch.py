"""torch: tensors in, tensors out, on the CPU and, where there is one, on a GPU.

torch is large, so no script installs it; on machines that have it these tests run."""
import numpy as np
import pytest

import sextant

torch = pytest.importorskip("torch", reason="torch is not installed here")
pytestmark = pytest.mark.more
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch has no GPU here")


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64])
def test_cpu_tensors(dtype, rng):
    keys = torch.from_numpy(rng.integers(0, 1000, 500)).to(dtype)
    ix = sextant.Index(keys)
    got = ix.rank(keys)
    assert isinstance(got, torch.Tensor)
    assert torch.equal(got, torch.searchsorted(torch.sort(keys).values, keys))
    rows, found = ix.get(keys, mask=True)
    assert bool(found.all()) and torch.equal(keys[rows], keys)
    assert ix.get(keys[3]) == ix.get(keys[3].item())


@gpu
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64])
def test_gpu_tensors(dtype, rng):
    keys = torch.from_numpy(rng.integers(0, 1000, 5000)).to(dtype).cuda()
    ix, ordered = sextant.Index(keys), torch.sort(keys).values
    assert ix.device == "cuda:0"
    for shape in ((5000,), (50, 100)):
        q = keys.reshape(shape)
        got = ix.rank(q, "right")
        assert got.is_cuda and got.shape == q.shape
        assert torch.equal(got, torch.searchsorted(ordered, q, right=True))
    rows, found_keys, found = ix.floor(keys[::2], keys=True, mask=True)
    assert bool(found.all()) and torch.equal(found_keys, keys[::2])
    r = ix.range(keys[:10], keys[:10] + 5, keys=True)
    assert r.rows.is_cuda and int(r.first[-1]) == len(r.rows) == len(r.keys)
    assert torch.equal(keys[r.rows], r.keys)
    assert torch.equal(sextant.isin(keys, keys[:7]), torch.isin(keys, keys[:7]))
    with pytest.raises(TypeError, match="convert them on"):
        ix.get(keys.to(torch.int64 if dtype != torch.int64 else torch.int32))
    with pytest.raises(ValueError, match="on the CPU"):
        sextant.Index(np.arange(5)).get(torch.arange(5).cuda())


@gpu
def test_streams(rng):
    keys = torch.from_numpy(rng.integers(0, 2**40, 1 << 18)).cuda()
    ix, ordered = sextant.Index(keys), torch.sort(keys).values
    made = []
    for _ in range(8):
        with torch.cuda.stream(torch.cuda.Stream()):
            q = torch.randint(0, 2**40, (1 << 18,), device="cuda")
            made.append((q, ix.rank(q)))      # queued behind what made q
    torch.cuda.synchronize()
    for q, got in made:
        assert torch.equal(got, torch.searchsorted(ordered, q))
