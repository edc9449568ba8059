"""What the tests share: seeds, dtypes, an oracle that is Python's own bisect and lists.

SX_SEED is the seed of all random choices, as of the C tests. Tests that take long, or need
large packages, are marked `more`; `pytest -m "not more"` is the rest.
"""
import os
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

SEED = int(os.environ.get("SX_SEED", "1"))
settings.register_profile("sextant", max_examples=int(os.environ.get("SX_EXAMPLES", "40")),
                          deadline=None, database=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("sextant")

NUMBERS = ["i4", "i8", "u4", "u8", "f4", "f8"]
SMALL = ["?", "i1", "i2", "u1", "u2", "f2"]
TIMES = ["M8[ns]", "M8[D]", "m8[us]"]
ALL = NUMBERS + SMALL + TIMES + ["V16"]


@pytest.fixture
def rng(request):
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])


def pytest_configure(config):
    config.addinivalue_line("markers", "more: takes long or needs large packages")


def some(rng, dtype, n, values=50):
    """n random elements, many of them equal, with the dtype's special values among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind == "V":
        pool = rng.integers(0, 256, (values, 16), dtype=np.uint8)
        pool[: values // 2, :8] = pool[0, :8]
        pool[0], pool[1] = 0, 255
        return pool[rng.integers(0, values, n)].view("V16").reshape(n)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            pool = (rng.standard_normal(values) * 10.0 ** rng.integers(-5, 5, values)).astype(dtype)
        pool[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    elif dtype.kind in "Mm":
        pool = rng.integers(-2**40, 2**40, values).astype("i8")
        pool[:4] = [-2**63, 2**63 - 1, -2**63 + 1, 0]
        pool = pool.view(dtype)
    else:
        info = np.iinfo(dtype)
        pool = rng.integers(info.min, info.max, values, dtype=dtype, endpoint=True)
        pool[:4] = [info.min, info.max, 0, 1]
    return pool[rng.integers(0, values, n)]


def order(value):
    """What a value is compared by in Python: NaN and NaT come last, and are equal."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return (1, 0) if np.isnat(value) else (0, int(value.astype("i8")))
    if isinstance(value, np.void):
        return (0, value.tobytes())
    if isinstance(value, (np.floating, float)):
        return (1, 0.0) if np.isnan(value) else (0, float(value))
    return (0, int(value))


class Oracle:
    """An ordered multimap in plain Python."""

    def __init__(self, keys, rows=None):
        rows = range(len(keys)) if rows is None else [int(r) for r in rows]
        self.pairs = sorted(((order(k), r) for k, r in zip(keys, rows)), key=lambda p: p[0])
        self.keys = [k for k, _ in self.pairs]

    def left(self, q):
        from bisect import bisect_left
        return bisect_left(self.keys, order(q))

    def right(self, q):
        from bisect import bisect_right
        return bisect_right(self.keys, order(q))

    def row(self, rank):
        return self.pairs[rank][1] if 0 <= rank < len(self.pairs) else -1

    def get(self, q):
        at = self.left(q)
        return self.row(at) if at < self.right(q) else -1

    def floor(self, q):
        return self.row(self.right(q) - 1)

    def ceil(self, q):
        return self.row(self.left(q))

    def range(self, lo, hi):
        a, b = self.left(lo), self.right(hi)
        return [r for _, r in self.pairs[a:b]] if a < b else []
