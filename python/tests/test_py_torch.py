"""torch and cupy: tensors in, tensors out, on the CPU and, where there is one, on a GPU.

They are large, so no script installs them; on machines that have them these tests run."""
import gpu_checks
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


@pytest.mark.parametrize("check", gpu_checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("package", gpu_checks.worlds(), ids=lambda package: package[0])
def test_on_a_gpu(package, check, rng):
    try:
        world = package[1]()
    except Exception as error:                # whatever a package says that finds no GPU
        pytest.skip(f"{package[0]}: {error}")
    check(world, rng)
