"""Keys and queries as people have them: pandas, DLPack, GPU arrays (emulated), bad arrays."""
import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import NUMBERS, some

import sextant
from sextant import _core, _gpu, _inputs, _types


def same_memory(a, b):
    return np.shares_memory(a, b) and a.ctypes.data == b.ctypes.data


@pytest.mark.parametrize("dtype", NUMBERS + ["M8[ns]", "m8[s]", "V16"])
def test_arrays_are_not_copied(dtype, rng):
    array = some(rng, dtype, 100)
    assert same_memory(_inputs.host(array, "keys")[0], array)
    if dtype != "V16":
        series = pd.Series(array)
        assert same_memory(_inputs.host(series, "keys")[0], series.to_numpy())
    if dtype in NUMBERS:
        class Foreign:                        # nothing but DLPack
            def __dlpack__(self, **how):
                return array.__dlpack__(**how)

            def __dlpack_device__(self):
                return array.__dlpack_device__()
        assert same_memory(_inputs.host(Foreign(), "keys")[0], array)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "?", ">i8", ">M8[s]"])
def test_others_are_widened_or_copied(dtype, rng):
    array = some(rng, dtype.lstrip(">"), 100).astype(dtype)
    made = _inputs.host(array, "keys")[0]
    assert made.dtype.isnative and made.dtype.itemsize in (4, 8)
    assert np.array_equal(made, array, equal_nan=made.dtype.kind in "fM")


def test_pandas_series():
    ix = sextant.Index(pd.Series([3, 1, 2], index=[10, 11, 12]))
    assert ix.get(pd.Series([1, 9])).tolist() == [1, -1]
    assert sextant.Index(pd.Index([5, 6])).get(6) == 1
    days = pd.date_range("2020-01-01", periods=3, tz="Europe/Berlin")
    ix = sextant.Index(days)
    assert ix.dtype.kind == "M" and ix.get(days[1]) == 1 and ix.get(days).tolist() == [0, 1, 2]
    assert ix.floor(pd.Timestamp("2020-01-01 23:30", tz="UTC")) == 1
    assert sextant.Index(pd.to_timedelta([1, 2], unit="s")).get(pd.Timedelta(2, "s")) == 1
    assert sextant.Index([datetime.date(2020, 1, 2)]).get(datetime.date(2020, 1, 2)) == 0


def test_pandas_nulls():
    series = pd.Series([3, None, 2, 3], dtype="Int64")
    with pytest.raises(ValueError, match='1 of 4 keys are null; nulls="drop"'):
        sextant.Index(series)
    ix = sextant.Index(series, nulls="drop")
    assert len(ix) == 3 and ix.dtype == np.int64 and ix.get([3, 2, 0]).tolist() == [0, 2, -1]
    rows = sextant.Index(series, rows=[7, 8, 9, 10], nulls="drop")
    assert rows.get(2) == 9
    with pytest.raises(ValueError, match="1 of 4 queries are null"):
        ix.get(series)
    assert ix.get(series, nulls="drop").tolist() == [0, -1, 2, 0]
    got, found = ix.get(series, nulls="drop", mask=True, default=5)
    assert got.tolist() == [0, 5, 2, 0] and found.tolist() == [True, False, True, True]
    assert ix.rank(series, nulls="drop").tolist() == [1, -1, 0, 1]
    rows, keys = ix.floor(series, nulls="drop", keys=True)
    assert rows[1] == -1 and keys.tolist() == [3, 0, 2, 3]
    assert sextant.Index(pd.Series([1.5, None], dtype="Float32"), nulls="drop").get(1.5) == 0
    assert sextant.Index(pd.Series([True, None], dtype="boolean"), nulls="drop").get(1) == 0


def test_pandas_that_cannot_be_keys():
    for series, text in ((pd.Series(["a"], dtype="category"), "category"),
                         (pd.interval_range(0, 2), "interval")):
        with pytest.raises(TypeError, match=text):
            sextant.Index(series)


def test_resized_behind_our_back():
    """An array that is searched can't be resized; a list that changes is another list."""
    array = np.arange(10)
    column = _core.Column(array, _types.I64)
    with pytest.raises(ValueError):
        array.resize(1000, refcheck=True)
    del column
    array.resize(1000, refcheck=False)
    assert sextant.Index(array).get(9) == 9


def test_dlpack_capsules():
    array = np.arange(12, dtype="f4").reshape(3, 4)
    told = _core.dlpack(array.__dlpack__())
    kind, device, code, bits, address, shape, strides, guard = told
    assert (kind, device, code, bits, shape) == (1, 0, 2, 32, (3, 4))
    assert address == array.ctypes.data and strides in (None, (4, 1))
    del told, guard
    capsule = array.__dlpack__()
    _core.dlpack(capsule)
    with pytest.raises(ValueError):
        _core.dlpack(capsule)                 # it was taken
    with pytest.raises(ValueError):
        _core.arrow_stream(capsule)


# ---- a GPU's memory, by the emulator ------------------------------------------------------

class Tensor:
    """An array in the memory of an emulated GPU, which is the host's. It stands in for one
    of torch or cupy: it has nothing but the interface."""

    def __init__(self, array, stream=None, strides=None):
        self.array = np.ascontiguousarray(array)
        self.told = {"shape": self.array.shape, "typestr": self.array.dtype.str, "version": 3,
                     "data": (self.array.ctypes.data, False), "strides": strides, "stream": stream}

    @property
    def __cuda_array_interface__(self):
        return self.told


def on_gpu(monkeypatch):
    """Answers are such tensors, too, as they would be of torch and cupy."""
    class Out(Tensor):
        def __setitem__(self, at, value):
            self.array[at] = value

        def __getitem__(self, at):
            return self.array[at]

        def __ne__(self, other):
            return self.array != other

        def __eq__(self, other):
            return self.array == other

    monkeypatch.setattr(_gpu.GpuArray, "empty",
                        lambda self, shape, dtype, what="": Out(np.empty(shape, dtype)))


@pytest.mark.parametrize("stream", [None, 1])
@pytest.mark.parametrize("dtype", NUMBERS + ["V16"])
def test_gpu_arrays(stream, dtype, rng, monkeypatch):
    on_gpu(monkeypatch)
    keys, q = some(rng, dtype, 200), some(rng, dtype, 60)
    q[:20] = keys[:20]
    ix = sextant.Index(Tensor(keys), device="simt", spec="pivot")
    host = sextant.Index(keys)
    asked = Tensor(q.reshape(6, 10), stream)
    assert (ix.get(asked).array == host.get(q.reshape(6, 10))).all()
    assert (ix.rank(asked, "right").array == host.rank(q.reshape(6, 10), "right")).all()
    rows, found_keys, mask = ix.floor(asked, keys=True, mask=True)
    want = host.floor(q.reshape(6, 10), keys=True, mask=True)
    assert (rows.array == want[0]).all() and (mask == want[2]).all()
    assert found_keys.array.tobytes() == want[1].tobytes()
    lo, hi = Tensor(q[:30], stream), Tensor(q[30:], stream)
    got, plain = ix.range(lo, hi, keys=True), host.range(q[:30], q[30:], keys=True)
    assert (got.first.array == plain.first).all() and (got.rows.array == plain.rows).all()
    assert got.keys.array.tobytes() == plain.keys.tobytes()
    assert (ix.count(lo, hi).array == host.count(q[:30], q[30:])).all()
    for mine, other in zip(ix.aggregate(lo, hi), host.aggregate(q[:30], q[30:])):
        assert (mine.array.view(other.dtype) == other).all()
    keys_at = ix.key_at(Tensor(np.arange(200, dtype="u8"), stream))
    assert keys_at.array.tobytes() == host.key_at(np.arange(200)).tobytes()
    out = Tensor(np.zeros(20000, "i8"))
    assert ix.range(lo, hi, out=out).rows is out
    assert (out.array[:plain.rows.size] == plain.rows).all()
    assert (sextant.searchsorted(ix, asked).array == host.rank(q.reshape(6, 10))).all()


def test_gpu_arrays_with_rows(rng):
    keys, rows = rng.integers(0, 99, 100), rng.integers(0, 10**6, 100)
    ix = sextant.Index(Tensor(keys), Tensor(rows), device="simt", spec="sorted")
    out = Tensor(np.zeros(100, "i8"))
    assert ix.get(Tensor(keys), out=out) is out
    assert (out.array == sextant.Index(keys, rows).get(keys)).all()
    both = sextant.Index(keys, rows, device="simt", spec="pivot place=both")
    assert (both.get(keys) == out.array).all()
    hybrid = sextant.Index(keys, rows, device="simt", spec="pivot place=hybrid")
    assert hybrid.place == "hybrid"
    hybrid.get(Tensor(keys, 1), out=out)
    assert (out.array == both.get(keys)).all()
    for place in ("host", "hybrid"):          # the host builds, which has no streams
        made = sextant.Index(Tensor(keys, 1), device="simt", spec=f"pivot place={place}")
        assert (made.get(keys) == sextant.Index(keys).get(keys)).all()


def test_gpu_elements_in_an_index(rng, monkeypatch):
    on_gpu(monkeypatch)
    keys, q = rng.integers(0, 99, 50), rng.integers(0, 200, (6, 10))
    ix = sextant.Index(keys, device="simt", spec="pivot")
    for invert in (False, True):
        assert (sextant.isin(Tensor(q), ix, invert=invert) == np.isin(q, keys, invert=invert)).all()


def test_gpu_arrays_that_are_refused():
    on_cpu = sextant.Index(np.arange(5))
    with pytest.raises(ValueError, match="the index is on the CPU"):
        on_cpu.get(Tensor(np.arange(3)), out=Tensor(np.zeros(3, "i8")))
    ix = sextant.Index(np.arange(5), device="simt")
    with pytest.raises(TypeError, match="pass out="):
        ix.get(Tensor(np.arange(3)))
    out = Tensor(np.zeros(3, "i8"))
    with pytest.raises(ValueError, match="not contiguous"):
        ix.get(Tensor(np.arange(3), strides=(16,)), out=out)
    with pytest.raises(TypeError, match="int16 on a GPU"):
        ix.get(Tensor(np.arange(3, dtype="i2")), out=out)
    with pytest.raises(TypeError, match="float64, and the keys are int64"):
        ix.get(Tensor(np.arange(3.0)), out=out)
    with pytest.raises(TypeError, match="rows are float64"):
        sextant.Index(Tensor(np.arange(3)), Tensor(np.arange(3.0)), device="simt")
    with pytest.raises(sextant.Error):
        sextant.Index(Tensor(np.arange(3)), device="cpu")


def test_mixed_memory_is_refused():
    """An array of the host beside one of the GPU: its address means nothing there."""
    plain, other = np.arange(5), Tensor(np.arange(5))
    ix = sextant.Index(plain, device="simt", spec="sorted")
    for use in (lambda: ix.range(other, plain), lambda: ix.count(other, plain),
                lambda: ix.aggregate(other, plain), lambda: ix.get(other, out=plain.copy()),
                lambda: ix.climb(other, plain), lambda: sextant.Index(other, plain, device="simt"),
                lambda: ix.get(other, out=[0] * 5)):
        with pytest.raises(ValueError, match="that is not on a GPU"):
            use()
