"""torch and cupy: tensors in, tensors out, on the CPU and, where there is one, on a GPU.

They are large, so no script installs them by pip; on machines that have them these tests run.
`make test-more` runs them with Debian's torch, which has no GPU."""
import gpu_checks
import numpy as np
import pytest

import sextant

pytestmark = pytest.mark.more
DTYPES = ["int32", "int64", "float32", "float64"]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed here")


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
def test_all_answers_are_tensors(dtype, rng, torch):
    """What the same question about arrays of NumPy has, as tensors."""
    array = rng.integers(0, 1000, 9000).astype(dtype)
    keys, q, n = torch.from_numpy(array), array[:40], sextant.Index(array)
    ix, t = sextant.Index(keys), torch.from_numpy(array[:40])
    order, sorted_ = np.sort(array), torch.from_numpy(np.sort(array))
    pairs = [(ix.range(t, t, keys=True), n.range(q, q, keys=True)),
             ((ix.count(t, t),), (n.count(q, q),)), (ix.aggregate(t, t), n.aggregate(q, q)),
             (ix.floor(t, keys=True, mask=True), n.floor(q, keys=True, mask=True)),
             (ix.key_at(torch.arange(9), rows=True), n.key_at(np.arange(9), rows=True)),
             (ix.climb(t, keys, keys=True, steps=True), n.climb(q, array, keys=True, steps=True)),
             ((sextant.searchsorted(sorted_, keys),), (sextant.searchsorted(order, array),)),
             ((sextant.searchsorted(order, t),), (sextant.searchsorted(order, q),)),
             ((sextant.isin(keys, t),), (sextant.isin(array, q),)),
             ((sextant.asof(sorted_, keys),), (sextant.asof(order, array),))]
    for got, want in pairs:
        assert all(isinstance(g, torch.Tensor) for g in got)
        assert all(np.array_equal(g.numpy(), w) for g, w in zip(got, want))
    assert ix.count(1, 5) == n.count(1, 5) and isinstance(sextant.searchsorted(order, q), np.ndarray)


def test_keys_that_torch_has_no_type_for(torch):
    rows, keys = sextant.Index(np.array([1, 2], "u4")).floor(torch.tensor([2, 9]), keys=True)
    assert rows.tolist() == [1, 1] and keys.tolist() == [2, 2]


@pytest.mark.parametrize("check", gpu_checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("package", gpu_checks.worlds(), ids=lambda package: package[0])
def test_on_a_gpu(package, check, rng):
    try:
        world = package[1]()
    except Exception as error:                # whatever a package says that finds no GPU
        pytest.skip(f"{package[0]}: {error}")
    check(world, rng)
