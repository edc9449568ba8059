"""torch: tensors in, tensors out, on the CPU and, where there is one, on a GPU.

torch is large, so no script installs it; on machines that have it these tests run."""
import numpy as np
import pytest

import sextant

pytestmark = pytest.mark.more
DTYPES = ["int32", "int64", "float32", "float64"]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed here")


@pytest.fixture
def cuda(torch):
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU here")
    return torch


@pytest.mark.parametrize("dtype", DTYPES)
def test_cpu_tensors(dtype, rng, torch):
    dtype = getattr(torch, dtype)
    keys = torch.from_numpy(rng.integers(0, 1000, 500)).to(dtype)
    ix = sextant.Index(keys)
    got = ix.rank(keys)
    assert isinstance(got, torch.Tensor)
    assert torch.equal(got, torch.searchsorted(torch.sort(keys).values, keys))
    rows, found = ix.get(keys, mask=True)
    assert bool(found.all()) and torch.equal(keys[rows], keys)
    assert ix.get(keys[3]) == ix.get(keys[3].item())


@pytest.mark.parametrize("dtype", DTYPES)
def test_gpu_tensors(dtype, rng, cuda):
    torch = cuda
    dtype = getattr(torch, dtype)
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


def test_streams(rng, cuda):
    torch = cuda
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
