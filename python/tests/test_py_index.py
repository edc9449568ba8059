"""Every verb of Index, against the oracle: dtypes, shapes, sides, layouts of memory."""
import bisect
import datetime
import uuid

import numpy as np
import pytest
from conftest import ALL, NUMBERS, SMALL, TIMES, Oracle, order, some
from hypothesis import given
from hypothesis import strategies as st

import sextant

SPECS = ["auto", "sorted", "pivot", "btree", "eytzinger", "guide", "pgm", "pivot(layout=once)"]


def strided(array):
    wide = np.empty((array.size, 2), array.dtype)
    wide[:, 0] = array.reshape(-1)
    return wide[:, 0].reshape(array.shape) if array.ndim == 1 else array


LAYOUTS = {
    "plain": lambda a: a,
    "strided": strided,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")) if a.dtype.kind != "V" else a,
    "read-only": lambda a: _read_only(a),
    "unaligned": lambda a: _unaligned(a),
}


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _unaligned(a):
    raw = np.empty(a.nbytes + 1, np.uint8)
    view = raw[1:].view(a.dtype)
    view[:] = a
    return view


def check_all(ix, oracle, queries):
    ask = [q for q in queries.reshape(-1)]
    shape = queries.shape
    assert ix.get(queries).tolist() == np.reshape([oracle.get(q) for q in ask], shape).tolist()
    assert ix.rank(queries).tolist() == np.reshape([oracle.left(q) for q in ask], shape).tolist()
    assert ix.rank(queries, "right").tolist() == \
        np.reshape([oracle.right(q) for q in ask], shape).tolist()
    rows, keys, found = ix.floor(queries, keys=True, mask=True)
    assert rows.tolist() == np.reshape([oracle.floor(q) for q in ask], shape).tolist()
    assert (found == (rows != -1)).all() and keys.dtype == ix.dtype and keys.shape == shape
    for q, k, there in zip(ask, keys.reshape(-1), found.reshape(-1)):
        if there:
            assert order(k) == oracle.keys[oracle.right(q) - 1]
    assert ix.ceil(queries, default=-7).tolist() == \
        np.reshape([-7 if oracle.ceil(q) < 0 else oracle.ceil(q) for q in ask], shape).tolist()


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_dtypes_and_layouts(dtype, layout, rng):
    keys = some(rng, dtype, 300)
    queries = LAYOUTS[layout](np.concatenate([some(rng, dtype, 50), keys[:50]]))
    spec = SPECS[int(rng.integers(len(SPECS)))]
    ix = sextant.Index(LAYOUTS[layout](keys), spec=spec)
    assert len(ix) == 300
    check_all(ix, Oracle(keys), queries)
    ix.check()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("row_dtype", [None, "i8", "u8", "i4", "u4", "u1"])
def test_rows(spec, row_dtype, rng):
    keys = some(rng, "i8", 500)
    rows = None if row_dtype is None else rng.integers(0, 120, 500).astype(row_dtype)
    ix = sextant.Index(keys, rows, spec)
    oracle = Oracle(keys, rows)
    check_all(ix, oracle, some(rng, "i8", 64))
    lo, hi = keys[:40], keys[40:80]
    found = ix.range(lo, hi, keys=True)
    for i in range(40):
        assert found.rows[found.first[i]:found.first[i + 1]].tolist() == oracle.range(lo[i], hi[i])
        inside = found.keys[found.first[i]:found.first[i + 1]]
        assert ((inside >= lo[i]) & (inside <= hi[i])).all()
    assert ix.count(lo, hi).tolist() == [len(oracle.range(a, b)) for a, b in zip(lo, hi)]
    sums = ix.aggregate(lo, hi)
    for i in range(40):
        rows_i = oracle.range(lo[i], hi[i])
        assert sums.count[i] == len(rows_i) and sums.sum[i] == sum(rows_i)
        assert sums.min[i] == min(rows_i, default=-1) and sums.max[i] == max(rows_i, default=-1)
    keys_at, rows_at = ix.key_at(np.arange(500), rows=True)
    assert [order(k) for k in keys_at] == oracle.keys
    assert rows_at.tolist() == [r for _, r in oracle.pairs]


@given(st.lists(st.integers(-2**63, 2**63 - 1)), st.lists(st.integers(-2**63, 2**63 - 1)))
def test_integers(keys, queries):
    ix = sextant.Index(np.array(keys, "i8"))
    ordered = sorted(keys)
    q = np.array(queries + keys, "i8")
    assert ix.rank(q).tolist() == [bisect.bisect_left(ordered, int(x)) for x in q]
    assert ix.rank(q, "right").tolist() == [bisect.bisect_right(ordered, int(x)) for x in q]
    assert ix.get(q).tolist() == [keys.index(x) if x in keys else -1 for x in q.tolist()]


@given(st.lists(st.floats(width=64)), st.lists(st.floats(width=64)))
def test_floats_are_searched_as_numpy_does(keys, queries):
    ordered = np.sort(np.array(keys, "f8"))
    ix = sextant.Index(ordered)
    q = np.array(queries + keys, "f8")
    for side in ("left", "right"):
        assert ix.rank(q, side).tolist() == np.searchsorted(ordered, q, side).tolist()


@pytest.mark.parametrize("dtype", TIMES)
def test_times_come_back_with_their_unit(dtype, rng, tmp_path):
    keys = some(rng, dtype, 200)
    ix = sextant.Index(keys)
    assert ix.dtype == np.dtype(dtype) and ix.notes == {"unit": np.dtype(dtype).name}
    assert (np.sort(keys).view("i8") == ix.key_at(np.arange(200)).view("i8")).all()   # NaT last
    ix.save(tmp_path / "t.sxt")
    again = sextant.load(tmp_path / "t.sxt")
    assert again.dtype == ix.dtype
    check_all(again, Oracle(keys), some(rng, dtype, 30))


def test_units_of_queries_are_compared():
    ix = sextant.Index(np.array(["2020-01-01", "2020-01-02"], "M8[s]"))
    assert ix.get(np.array(["2020-01-02"], "M8[D]")).tolist() == [1]
    assert ix.get(np.array(["2020-01-02T00:00:00.000"], "M8[ms]")).tolist() == [1]
    assert ix.floor(datetime.datetime(2020, 1, 2, 5)) == 1
    assert ix.get(datetime.date(2020, 1, 1)) == 0
    aware = datetime.datetime(2020, 1, 2, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert ix.get(aware) == 1
    with pytest.raises(ValueError, match=r"queries\[0\] is 2020-01-02T00:00:00.001"):
        ix.get(np.array(["2020-01-02T00:00:00.001"], "M8[ms]"))
    with pytest.raises(ValueError, match=r"queries\[1\] is .*which no datetime64\[s\]"):
        ix.get(np.array([1, 2**62] * 2000, "M8[D]"))
    assert ix.get(np.array(["2020-01-02", "NaT"], "M8[W]")).tolist() == [1, -1]   # weeks begin there
    with pytest.raises(TypeError, match="timedelta64"):
        ix.get(np.array([1], "m8[s]"))
    with pytest.raises(TypeError, match="int64, and the keys are datetime64"):
        ix.get(np.array([1]))


def test_queries_of_another_type():
    ix = sextant.Index(np.array([1, 2, 2**53 + 1, -2**63]))
    assert ix.get(np.array([2.0, -2.0**63])).tolist() == [1, 3]
    assert ix.get(np.array([2, 3], "u1")).tolist() == [1, -1]
    assert ix.get(np.array([True])).tolist() == [0]
    for wrong, text in (([1.0, 2.5], r"queries\[1\] is 2.5"), ([2.0**63], r"queries\[0\] is 9.22"),
                        ([np.nan], r"queries\[0\] is nan"), ([np.inf], "inf")):
        with pytest.raises(ValueError, match=text):
            ix.get(np.array(wrong))
    with pytest.raises(ValueError, match=r"queries\[1\] is 18446744073709551615"):
        ix.get(np.array([1, 2**64 - 1], "u8"))
    floats = sextant.Index(np.array([1.0, 2.0**53]))
    assert floats.get(np.array([2**53, 1])).tolist() == [1, 0]
    for wrong in (2**53 + 1, 2**63 - 1):
        with pytest.raises(ValueError, match=r"queries\[1\]"):
            floats.get(np.array([1, wrong]))
    with pytest.raises(ValueError, match=r"queries\[0\] is 18446744073709551615"):
        floats.get(np.array([2**64 - 1], "u8"))
    narrow = sextant.Index(np.array([1, 2, 3], "i1"))
    assert narrow.dtype == np.int32 and narrow.get(2) == 1
    with pytest.raises(ValueError, match="2147483648"):
        narrow.get(2**31)
    halves = sextant.Index(np.array([0.5, 1], "f4"))
    assert halves.get(np.array([0.5, np.nan])).tolist() == [0, -1]
    with pytest.raises(ValueError, match="0.1"):
        halves.get(0.1)


def test_shapes_and_numbers(rng):
    keys = rng.integers(0, 100, 1000)
    ix = sextant.Index(keys)
    oracle = Oracle(keys)
    for shape in ((), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4)):
        q = rng.integers(-5, 105, shape)
        check = np.reshape([oracle.get(x) for x in q.reshape(-1)], shape)
        got = ix.get(q)
        assert isinstance(got, int) if shape == () else got.shape == shape
        assert np.array_equal(got, check)
        assert np.array_equal(ix.get(q.copy(order="F")), check)
    for q in (5, np.int64(5), np.int8(5), 5.0, np.float32(5)):
        assert ix.get(q) == oracle.get(5) and isinstance(ix.get(q), int)
    assert ix.get(5, mask=True) == (oracle.get(5), True)
    assert ix.get(5000, mask=True, default=3) == (3, False)
    assert ix.get([5, 6, 7]).tolist() == [oracle.get(x) for x in (5, 6, 7)]
    assert ix.get(range(3)).tolist() == [oracle.get(x) for x in range(3)]
    assert ix.get([]).tolist() == [] and ix.rank(()).tolist() == []
    rows, key = ix.floor(50.0, keys=True)
    assert rows == oracle.floor(50) and key <= 50
    assert ix.range(10, 20).rows.tolist() == oracle.range(10, 20)
    assert ix.count(10, 20) == len(oracle.range(10, 20))
    assert ix.aggregate(10, 20).sum == sum(oracle.range(10, 20))
    assert ix.range(20, 10).rows.tolist() == []


def test_limits_of_ranges(rng):
    keys = rng.integers(0, 100, 1000)
    ix, oracle = sextant.Index(keys), Oracle(keys)
    for limit in (1, 5, 5000):
        for last in (False, True):
            got = ix.range([10, 90], [30, 80], limit=limit, last=last)
            whole = oracle.range(10, 30)
            assert got.rows.tolist() == (whole[-limit:] if last else whole[:limit])
            assert got.first.tolist() == [0, len(got.rows), len(got.rows)]
    assert ix.count(10, 30, limit=4) == 4
    only = ix.range([10], [30], rows=False, keys=True)
    assert only.rows is None and (np.sort(only.keys) == only.keys).all()


def test_out(rng):
    keys = rng.integers(0, 100, 1000)
    ix = sextant.Index(keys)
    q = rng.integers(-5, 105, 50)
    for dtype in ("i8", "u8", "i4", "u4"):
        out = np.empty(50, dtype)
        assert ix.get(q, out=out) is out
        assert (out == ix.get(q).astype(dtype)).all()
    assert (ix.get(q, out=np.empty((5, 10), "i8"), default=9) >= 0).all()
    space = np.empty(2000, "i8")
    found = ix.range([0], [50], out=space)
    assert np.shares_memory(found.rows, space)
    assert found.rows.tolist() == ix.range([0], [50]).rows.tolist()
    for wrong in (np.empty(50, "f8"), np.empty(50, "i2"), np.empty(100, "i8")[::2], [0] * 50,
                  np.empty(50, ">i8")):
        with pytest.raises(TypeError, match="out is a contiguous"):
            ix.get(q, out=wrong)
    with pytest.raises(ValueError, match="out has 49 elements, and there are 50 queries"):
        ix.get(q, out=np.empty(49, "i8"))
    with pytest.raises(sextant.SpaceError):
        ix.range([0], [50], out=np.empty(3, "i8"))


def test_sixteen_bytes(rng):
    ids = [uuid.UUID(int=int(x)) for x in rng.integers(0, 2**62, 100)]
    ix = sextant.Index(ids)
    assert ix.dtype == np.dtype("V16")
    assert ix.get(ids[7]) == 7 and ix.get(ids[7].bytes) == 7
    assert ix.get(ids[5:8]).tolist() == [5, 6, 7]
    assert uuid.uuid4() not in ix
    assert ix.key_at(0).tobytes() == min(u.bytes for u in ids)


def test_container():
    ix = sextant.Index(np.array([30, 10, 20, 20]))
    assert len(ix) == 4 and 30 in ix and 31 not in ix and 30.0 in ix
    assert ix[20] == 2 and ix[np.array([10, 30])].tolist() == [1, 0]
    with pytest.raises(KeyError, match="21"):
        ix[21]
    with pytest.raises(KeyError, match="22"):
        ix[[20, 22]]
    with pytest.raises(TypeError, match="not iterated"):
        list(ix)
    with pytest.raises(TypeError, match="one key"):
        [10, 20] in ix
    assert "4 int64 keys" in repr(ix) and "cpu" in repr(ix)
    assert "pivot" in ix.explain() and isinstance(ix.explain("json"), dict)


def test_key_at_errors():
    ix = sextant.Index([1, 2, 3])
    assert ix.key_at(2) == 3 and ix.key_at(1, rows=True) == (2, 1)
    for wrong in (3, -1):
        with pytest.raises(IndexError, match=rf"ranks\[1\] is {wrong}; the index has 3 keys"):
            ix.key_at([0, wrong])
    with pytest.raises(TypeError, match="ranks are float64"):
        ix.key_at(0.5)


def test_empty_index():
    for dtype in NUMBERS + SMALL + TIMES:
        ix = sextant.Index(np.empty(0, dtype))
        assert len(ix) == 0
        q = np.zeros(2, dtype)
        assert ix.get(q).tolist() == [-1, -1] and ix.rank(q).tolist() == [0, 0]
        assert ix.range(q, q).rows.size == 0


def test_bad_input():
    good = np.arange(10)
    for keys, text in ((["a", b"b"], r"keys\[1\] is bytes"), (["a", 3], r"keys\[1\] is int"),
                       (np.array([1j]), "complex"), (np.array([object()]), "object"), ([2**70], "more than 64 bits"),
                       (np.zeros(2, "i4,i4"), "keys are"), (np.longdouble([1]), "keys are")):
        with pytest.raises(TypeError, match=text):
            sextant.Index(keys)
    with pytest.raises(ValueError, match="10 keys and 9 rows"):
        sextant.Index(good, good[:9])
    with pytest.raises(ValueError, match=r"rows\[3\] is -1"):
        sextant.Index(good, np.array([0, 1, 2, -1, 4, 5, 6, 7, 8, 9]))
    with pytest.raises(ValueError, match="2\\^63"):
        sextant.Index(good, np.full(10, 2**63, "u8"))
    with pytest.raises(TypeError, match="rows are float64"):
        sextant.Index(good, good.astype("f8"))
    with pytest.raises(ValueError, match="nosuch"):
        sextant.Index(good, spec="nosuch")
    with pytest.raises(sextant.InvalidError):
        sextant.Index([1, 1], spec="pivot unique")
    with pytest.raises(sextant.DeviceNotFoundError):
        sextant.Index(good, device="tpu")
    with pytest.raises(TypeError, match="a device is a name"):
        sextant.Index(good, device=7)
    with pytest.raises(sextant.NotSupportedError):
        sextant.Index(good, spec="pivot place=both")
    with pytest.raises(MemoryError):
        sextant.Index(np.arange(10**5), max_bytes=1000)
    ix = sextant.Index(good)
    with pytest.raises(ValueError, match="side is 'middle'"):
        ix.rank(1, "middle")
    with pytest.raises(ValueError, match="shape"):
        ix.range([1, 2], [3])
    with pytest.raises(TypeError, match="default is 'x'"):
        ix.get([99], default="x")
    with pytest.raises(ValueError, match="nulls is 'keep'"):
        ix.get([99], nulls="keep")
    with pytest.raises(TypeError, match="strings, and the keys are int64"):
        ix.get("abc")
    with pytest.raises(ValueError, match="format is"):
        ix.explain("xml")
