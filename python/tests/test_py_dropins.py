"""searchsorted, isin and asof against NumPy and pandas themselves."""
import numpy as np
import pandas as pd
import pytest
from conftest import NUMBERS, SMALL, TIMES, some
from hypothesis import given
from hypothesis import strategies as st

import sextant
from sextant import _dropins


def always_ours(a, v, sorter=None, merge=True):
    """A merge of whatever seems to ascend, otherwise an index."""
    ascending = _dropins._look(v)[0]
    return (_dropins._BY_MERGE if ascending and merge else _dropins._BY_INDEX), ascending


@pytest.fixture(params=["usual", "always"])
def pays(request, monkeypatch):
    """Thresholds as they are, or so low that even few queries build an index."""
    if request.param == "always":
        monkeypatch.setattr(_dropins, "_LEAST", 1)
        monkeypatch.setattr(_dropins, "_LEAST_KEYS", 1)
        monkeypatch.setattr(_dropins, "_SHARE", 10**9)
        monkeypatch.setattr(_dropins, "_way", always_ours)
        monkeypatch.setattr(_dropins, "_LOOP_BYTES", 0)
        monkeypatch.setattr(_dropins, "_small_range", lambda b, most: False)
    return request.param


@pytest.mark.parametrize("dtype", NUMBERS + SMALL + TIMES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_dtypes(dtype, side, rng, pays):
    a, v = some(rng, dtype, 3000), some(rng, dtype, 4000)
    order = np.argsort(a, kind="stable")
    for q in (v, np.sort(v), v.reshape(40, 100), v[::2], v[:0], v[:1]):
        got = sextant.searchsorted(a[order], q, side)
        assert np.array_equal(got, np.searchsorted(a[order], q, side))
        assert got.dtype == np.intp and got.shape == q.shape
        assert np.array_equal(sextant.searchsorted(a, q, side, order),
                              np.searchsorted(a, q, side, order))
    for q in (v[0], v[0].item() if dtype[0] not in "Mm" else v[0], v[:5].tolist()):
        if dtype[0] not in "Mm" or not isinstance(q, list):
            assert np.array_equal(sextant.searchsorted(a[order], q, side),
                                  np.searchsorted(a[order], q, side))


@pytest.mark.parametrize("a_type", NUMBERS + SMALL)
@pytest.mark.parametrize("v_type", ["i8", "u8", "f8", "i2", "f4", "?"])
def test_searchsorted_promotes_as_numpy_does(a_type, v_type, rng, pays):
    a, v = np.sort(some(rng, a_type, 500)), some(rng, v_type, 3000)
    assert np.array_equal(sextant.searchsorted(a, v), np.searchsorted(a, v))
    assert np.array_equal(sextant.searchsorted(pd.Series(a), v), np.searchsorted(a, v))


def test_searchsorted_of_other_things(pays):
    words = np.array(["a", "c", "e"] * 1000)
    words.sort()
    assert np.array_equal(sextant.searchsorted(words, words[::-1]),
                          np.searchsorted(words, words[::-1]))
    complex_ = np.sort_complex(np.arange(3000) * 1j)
    assert np.array_equal(sextant.searchsorted(complex_, complex_),
                          np.searchsorted(complex_, complex_))
    assert sextant.searchsorted([1, 2, 3], 2) == 1
    assert sextant.searchsorted(["a", "c"], ["b", "d"]).tolist() == [1, 2]
    assert sextant.searchsorted(pd.Index(["a", "c"]), ["b", "d"]).tolist() == [1, 2]
    assert sextant.isin(["a", "b"], pd.Series(["b"] * 40)).tolist() == [False, True]
    numbers = np.arange(40, dtype="i2")
    for times in (np.arange(3000).view("M8[ns]"), np.arange(3000).view("M8[s]")):
        for v in (numbers, numbers[3], np.float32(5.5)):
            try:
                want = np.searchsorted(times, v)
            except TypeError:                 # whatever NumPy makes of it
                with pytest.raises(TypeError):
                    sextant.searchsorted(times, v)
            else:
                assert np.array_equal(sextant.searchsorted(times, v), want)
    ix = sextant.Index([10, 20, 30])
    assert sextant.searchsorted(ix, [15, 30], "right").tolist() == [1, 3]
    with pytest.raises(ValueError):
        sextant.searchsorted(np.arange(5000), np.arange(5000), "middle")
    with pytest.raises(ValueError):
        sextant.searchsorted(np.zeros((2, 2)), [1])


@given(st.lists(st.integers(-20, 20)), st.lists(st.integers(-20, 20)))
def test_isin_small(a, b):
    a, b = np.array(a, "i8"), np.array(b, "i8")
    assert np.array_equal(sextant.isin(a, b), np.isin(a, b))


@pytest.mark.parametrize("dtype", NUMBERS + SMALL + TIMES)
@pytest.mark.parametrize("sizes", [(5000, 300), (300, 5000), (3000, 3000), (10, 5000)])
def test_isin_dtypes(dtype, sizes, rng, pays):
    a, b = some(rng, dtype, sizes[0], 400), some(rng, dtype, sizes[1], 300)
    b[:5] = a[:5]
    for invert in (False, True):
        assert np.array_equal(sextant.isin(a, b, invert=invert), np.isin(a, b, invert=invert))
    assert np.array_equal(sextant.isin(a.reshape(-1, 10), b), np.isin(a.reshape(-1, 10), b))
    assert np.array_equal(sextant.isin(a[::2], b[::3]), np.isin(a[::2], b[::3]))


@pytest.mark.parametrize("dtype", NUMBERS + ["i2", "M8[ns]", "m8[us]"])
@pytest.mark.parametrize("broken", [None, 0, 1, 700, 9000, 39999])
def test_isin_of_many_sorted(dtype, broken, rng):
    """One pass over both, unless one is not sorted somewhere or has NaN."""
    for n in (33, 500, 5000):
        a, b = (np.sort(rng.integers(0, 30000, k)).astype("i8").astype(dtype) for k in (40000, n))
        if broken is not None:
            a[broken] = a[-1 - broken]
        for elements in (a, a[::-1], a.reshape(200, 200), np.full_like(a, b[3]),
                         np.full_like(a, b[0] - b.dtype.type(1) if dtype[0] not in "uMm" else b[0])):
            for tests in (b, b[::-1], np.concatenate([b[1:], b[:1]])):
                assert np.array_equal(sextant.isin(elements, tests), np.isin(elements, tests))
        if dtype[0] in "fMm":
            a[-1] = b[-1] = np.nan if dtype[0] == "f" else "NaT"
            assert np.array_equal(sextant.isin(a, b), np.isin(a, b))
            if dtype[0] != "f":
                a[0] = b[0] = "NaT"           # the least number
                assert np.array_equal(sextant.isin(a, b), np.isin(a, b))


def test_sorted_among(rng):
    a, b = np.sort(rng.random(9000)), np.sort(rng.random(300))
    a[::7] = b[rng.integers(0, 300, a[::7].size)]
    a.sort()
    assert _dropins._sorted_among(a, b).tolist() == np.isin(a, b).tolist()
    assert _dropins._sorted_among(a[:2000], b) is None        # not so many more
    for place in (0, 4000, 8999):
        one = a.copy()
        one[place] = np.nan
        assert _dropins._sorted_among(one, b) is None
        one[place] = one[-1 - place] + (1 if place < 4500 else -1)
        assert _dropins._sorted_among(one, b) is None
    with pytest.raises((BufferError, ValueError)):
        found = np.empty(9000, bool)
        found.flags.writeable = False
        sextant._core.among(b, a, found)
    assert not sextant._core.among(b, a, np.empty(8999, bool))
    assert not sextant._core.among(b.astype("f4"), a, np.empty(9000, bool))


@pytest.mark.parametrize("types", [("i8", "i4"), ("i8", "u8"), ("f8", "i8"), ("f8", "f4"),
                                   ("i4", "f8"), ("u4", "?"), ("M8[s]", "M8[ms]")])
def test_isin_mixed(types, rng, pays):
    a, b = some(rng, types[0], 4000), some(rng, types[1], 500)
    if types[0][0] == "M":                    # NumPy 2.5 can't convert times that are far away
        a[np.abs(a.view("i8").astype("f8")) > 2**41] = 0
    assert np.array_equal(sextant.isin(a, b), np.isin(a, b))
    if types[0][0] == "M":
        assert np.array_equal(sextant.searchsorted(np.sort(a), b), np.searchsorted(np.sort(a), b))
        assert np.array_equal(sextant.searchsorted(np.sort(b), a), np.searchsorted(np.sort(b), a))


def test_isin_of_other_things(pays):
    words = np.array(["a", "b", "c"] * 2000)
    assert np.array_equal(sextant.isin(words, ["a", "x"]), np.isin(words, ["a", "x"]))
    assert sextant.isin(2, [1, 2]) == np.isin(2, [1, 2])
    assert np.array_equal(sextant.isin(np.arange(5), [1, 2], kind="sort"), [0, 1, 1, 0, 0])
    ix = sextant.Index([1, 2])
    assert sextant.isin(np.arange(4), ix, invert=True).tolist() == [True, False, False, True]


def merged(keys, queries, direction, tolerance, exact, by=None):
    """The rows that merge_asof joins, in the order of the queries."""
    left = pd.DataFrame({"t": queries, "q": np.arange(len(queries))})
    right = pd.DataFrame({"t": keys, "row": np.arange(len(keys))})
    if by is not None:
        right["by"], left["by"] = by
    got = pd.merge_asof(left.sort_values("t", kind="stable"), right.sort_values("t", kind="stable"),
                        on="t", direction=direction, tolerance=tolerance,
                        allow_exact_matches=exact, by=None if by is None else "by")
    return got.sort_values("q")["row"].fillna(-1).astype("i8").to_numpy()


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u4", "f8", "M8[ns]"])
@pytest.mark.parametrize("exact", [True, False])
def test_asof(direction, dtype, exact, rng):
    for n, m in ((300, 500), (1, 50), (0, 5)):
        keys = rng.integers(0, 2000, n).astype("i8").astype(dtype)
        queries = rng.integers(-100 if dtype != "u4" else 0, 2200, m).astype("i8").astype(dtype)
        for tolerance in (None, 3):
            told = tolerance
            if tolerance and dtype == "M8[ns]":
                told = pd.Timedelta(3, "ns")
            if tolerance and dtype == "f8":
                told = 3.0
            got = sextant.asof(keys, queries, direction, told, allow_exact_matches=exact)
            want = merged(keys, queries, direction, told, exact)
            assert got.tolist() == want.tolist()


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u4", "f4", "f8", "M8[ns]"])
@pytest.mark.parametrize("broken", ["", "keys", "queries"])
def test_asof_sorted(direction, dtype, broken, rng):
    """Sorted, and sorted but for one place, which no look at a few sees."""
    keys = np.sort(rng.integers(0, 20000, 9000)).astype("i8").astype(dtype)
    queries = np.sort(rng.integers(0, 22000, 8000)).astype("i8").astype(dtype)
    if broken:
        array = keys if broken == "keys" else queries
        array[[1001, 5003]] = array[[5003, 1001]]
    for exact in (True, False):
        got = sextant.asof(keys, queries, direction, allow_exact_matches=exact)
        assert got.tolist() == merged(keys, queries, direction, None, exact).tolist()


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u4", "f4", "f8", "M8[ns]"])
def test_asof_few_queries(direction, dtype, rng):
    """Sorted keys are searched, whatever the order of queries; others have an index."""
    keys = np.sort(rng.integers(5, 20000, 9000)).astype("i8").astype(dtype)
    for queries in (np.sort(rng.integers(0, 22000, 300)), rng.integers(0, 22000, 1000),
                    np.full(50, 3), np.full(50, 21000), keys[:200].astype("i8")):
        queries = queries.astype("i8").astype(dtype)
        for exact in (True, False):
            got = sextant.asof(keys, queries, direction, allow_exact_matches=exact)
            assert got.tolist() == merged(keys, queries, direction, None, exact).tolist()
            other = keys.copy()
            other[[10, 8000]] = other[[8000, 10]]             # no look sees that
            got = sextant.asof(other, queries, direction, allow_exact_matches=exact)
            assert got.tolist() == merged(other, queries, direction, None, exact).tolist()
    if dtype[0] in "fM":
        nan = np.nan if dtype[0] == "f" else "NaT"
        for array in (keys, queries):
            array[-1] = nan
            with pytest.raises(ValueError, match="have NaN or NaT"):
                sextant.asof(keys, queries, direction)
            array[-1] = array[-2]
        keys[0] = nan
        with pytest.raises(ValueError, match="keys have NaN or NaT"):
            sextant.asof(keys, queries, direction)


SHAPES = {                                    # of sorted keys and queries that are merged
    "alike": lambda rng, n: rng.integers(0, 2**31, n),
    "equal": lambda rng, n: np.full(n, 7),
    "few": lambda rng, n: rng.integers(0, 5, n),
    "runs": lambda rng, n: rng.integers(0, 40, n) * 1000 + rng.integers(0, 2, n),
    "low": lambda rng, n: rng.integers(0, 1000, n),
    "high": lambda rng, n: rng.integers(2**30, 2**31, n),
}


@pytest.mark.parametrize("a_shape", SHAPES)
@pytest.mark.parametrize("v_shape", SHAPES)
def test_merges_of_all_shapes(a_shape, v_shape, rng):
    """More elements than a tile of the merge has, and fewer; each ends where it ends."""
    for n, m in ((4096, 4096), (4097, 9001), (30000, 5000), (70, 20000), (12345, 12288)):
        dtype = rng.choice(["i4", "u4", "i8", "u8", "f4", "f8", "M8[us]"])
        a, v = (np.sort(SHAPES[s](rng, k).astype("i8").astype(dtype))
                for s, k in ((a_shape, n), (v_shape, m)))
        for side in ("left", "right"):
            want = np.searchsorted(a, v, side)
            assert np.array_equal(sextant.searchsorted(a, v, side), want)
            ranks, done = _dropins._merged(a, v, side, a.dtype, -1)
            assert done == m and np.array_equal(ranks, want - 1)
        back, front = np.searchsorted(a, v, "right") - 1, np.searchsorted(a, v)
        front[front == n] = -1
        assert np.array_equal(sextant.asof(a, v), back)
        assert np.array_equal(sextant.asof(a, v, "forward"), front)


def test_merges_see_what_is_not_sorted(rng):
    """One element out of order, wherever it is: a merge ends before it, and what it has is
    right."""
    a, v = np.sort(rng.random(20000)), np.sort(rng.random(20000))
    want = np.searchsorted(a, v)
    assert _dropins._merged(a, v, "left", a.dtype)[1] == 20000
    for place in [0, 1, 4095, 4096, 4097, 19999] + rng.integers(0, 20000, 200).tolist():
        for array in (a, v):
            for wrong in (np.nan, 2.0 if place < 19999 else -1.0):
                was, array[place] = array[place], wrong
                ranks, done = _dropins._merged(a, v, "left", a.dtype)
                array[place] = was
                assert done < 20000 and done <= (place if array is v else want[:place + 1].size)
                assert np.array_equal(ranks[:done], want[:done])


@pytest.mark.parametrize("dtype", ["f8", "i4", "M8[s]"])
@pytest.mark.parametrize("place", [600, 5000, 39000, 39999])
def test_queries_that_are_sorted_at_first(dtype, place, rng):
    """They are merged up to there, and the rest has another way."""
    a, v = (np.sort(rng.integers(0, 2**30, n)).astype("i8").astype(dtype) for n in (9000, 40000))
    v[place] = v[0]
    for side in ("left", "right"):
        assert np.array_equal(sextant.searchsorted(a, v, side), np.searchsorted(a, v, side))
    v[place:] = rng.permutation(v[place:])
    for shape in (-1, (100, 400)):
        assert np.array_equal(sextant.searchsorted(a, v.reshape(shape)),
                              np.searchsorted(a, v.reshape(shape)))


NUMPY, MERGE, INDEX = range(3)
WAYS = {                  # queries, how many keys, how many queries: where one way is much better
    "random": (lambda rng, m: rng.random(m), 4096, 1 << 16, INDEX),
    "few random": (lambda rng, m: rng.random(m), 4096, 1 << 13, INDEX),
    "sorted": (lambda rng, m: np.sort(rng.random(m)), 4096, 1 << 16, MERGE),
    "constant": (lambda rng, m: np.full(m, 0.5), 4096, 1 << 13, MERGE),
    "below": (lambda rng, m: rng.random(m) - 1, 32768, 1 << 13, NUMPY),
    "above": (lambda rng, m: rng.random(m) + 1, 32768, 1 << 13, NUMPY),
    "below, equal": (lambda rng, m: np.full(m, -1.0), 32768, 1 << 16, NUMPY),
    "one of two": (lambda rng, m: np.where(np.arange(m) % 2, 0.3, 0.6), 65536, 1 << 13, NUMPY),
    "runs": (lambda rng, m: np.repeat(rng.random(m // 64), 64), 65536, 1 << 13, NUMPY),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u4", "u8", "u2", "M8[ms]"])
def test_ways_by_a_look(name, dtype, rng):
    """What NumPy's search is fast at is left to it; keys and queries may have two types."""
    make, n, m, want = WAYS[name]
    most = 1 if dtype[0] == "f" else 20000
    a = (np.linspace(0, most, n) + most).astype("i8" if most > 1 else dtype).astype(dtype)
    v = (make(rng, m) * most + most).astype("i8" if most > 1 else dtype).astype(dtype)
    assert _dropins._way(a, v)[0] == want
    assert _dropins._way(np.repeat(a, 2)[::2], np.repeat(v, 2)[::2])[0] == want
    assert _dropins._way(a[::-1], v, np.arange(n)[::-1].copy())[0] in (want, NUMPY)
    if dtype[0] != "M":
        assert _dropins._way(a.astype("f8"), v)[0] == want
    for side in ("left", "right"):
        assert np.array_equal(sextant.searchsorted(a, v, side), np.searchsorted(a, v, side))


def test_ways_of_what_has_none(rng):
    a, v = np.sort(rng.random(5000)), rng.random(9000)
    assert _dropins._way(a.astype(">f8"), v)[0] == INDEX      # nobody looked
    assert _dropins._way(a, v[:1])[0] == NUMPY and _dropins._way(a[:0], v)[0] == NUMPY
    assert _dropins._way(a, np.sort(v), None, False)[0] != MERGE
    with pytest.raises(TypeError):
        sextant._core.way(a, v)
    assert sextant._core.way(a, v, np.arange(10), True) == -1     # not as many as keys


@pytest.mark.parametrize("wrong", [np.arange(5000) + 1, np.arange(5000) - 1, np.arange(4999),
                                   np.arange(5000.0), np.zeros((50, 100), int)])
def test_sorters_that_are_wrong(wrong, rng):
    """NumPy's errors, or its answers where it does not see it."""
    a, v = rng.random(5000), rng.random(20000)
    try:
        want = np.searchsorted(a, v, "left", wrong)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            sextant.searchsorted(a, v, "left", wrong)
    else:
        assert np.array_equal(sextant.searchsorted(a, v, "left", wrong), want)


def test_asof_far_away_of_many(rng):
    """Distances of every type, with keys that are sorted and ones that are not."""
    for dtype in ("i4", "u4", "i8", "u8", "f4", "f8", "M8[s]", "m8[ms]"):
        most = pd.Timedelta(1000, dtype[3:-1]) if dtype[0] in "Mm" else 1000
        keys, queries = (rng.integers(0, 2**24, 5000).astype("i8").astype(dtype) for _ in "kq")
        for a, q in ((keys, queries), (np.sort(keys), np.sort(queries))):
            for direction in ("backward", "forward", "nearest"):
                got = sextant.asof(a, q, direction, most)
                assert np.array_equal(got, merged(a, q, direction, most, True))
    ints = np.array([10, 20])
    assert sextant.asof(ints, [12, 13], tolerance=2.5).tolist() == [0, -1]
    assert sextant.asof(ints, [12, 13], tolerance=float("inf")).tolist() == [0, 0]
    assert sextant.asof(ints, [12, 13], tolerance=2**70).tolist() == [0, 0]
    tens = np.array([0, 4], "M8[10s]")        # a unit of ten seconds
    assert sextant.asof(tens, np.array([2, 3], "M8[10s]"),
                        tolerance=np.timedelta64(25, "s")).tolist() == [0, -1]
    with pytest.raises(ValueError, match="tolerance is nan"):
        sextant.asof(ints, [12], tolerance=float("nan"))


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("dtype", ["i4", "f8", "M8[ns]"])
@pytest.mark.parametrize("groups", ["few", "many", "negative", "huge", "words"])
@pytest.mark.parametrize("broken", [False, True])
def test_asof_by_sorted(direction, dtype, groups, broken, rng):
    """Merged, with a row for each group; or not quite sorted, by an index."""
    keys = np.sort(rng.integers(0, 9000, 3000)).astype("i8").astype(dtype)
    queries = np.sort(rng.integers(0, 9900, 2500)).astype("i8").astype(dtype)
    if broken:
        keys[[100, 2000]] = keys[[2000, 100]]
    by = [rng.integers(0, 700 if groups == "many" else 7, n) for n in (3000, 2500)]
    if groups == "negative":
        by = [g + np.int64(-2**63) for g in by]
    elif groups == "huge":
        by = [g.astype("u8") + np.uint64(2**64 - 8) for g in by]
    elif groups == "words":
        by = [np.array(["ab", "b", "c", "d", "e", "f", "g"])[g] for g in by]
    for exact in (True, False):
        got = sextant.asof(keys, queries, direction, by=by, allow_exact_matches=exact)
        assert got.tolist() == merged(keys, queries, direction, None, exact, by).tolist()


def test_asof_groups_of_two_types(rng):
    """uint64 beside int64: numbers of both, without a common type of NumPy's."""
    keys, queries = np.arange(100), np.arange(100)
    by = rng.integers(0, 3, 100).astype("u8"), rng.integers(-1, 3, 100)
    want = [max([k for k in range(q + 1) if by[0][k] == by[1][q]], default=-1) for q in range(100)]
    assert sextant.asof(keys, queries, by=by).tolist() == want
    none = sextant.asof(keys[:0], queries, by=(by[0][:0], by[1]))
    assert none.tolist() == [-1] * 100
    assert sextant.asof(keys, queries[:0], by=(by[0], by[1][:0])).tolist() == []


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("dtype", ["i8", "f8", "M8[ns]"])
@pytest.mark.parametrize("names", [True, False])
def test_asof_by(direction, dtype, names, rng):
    keys = rng.integers(0, 500, 400).astype("i8").astype(dtype)
    queries = rng.integers(-10, 520, 300).astype("i8").astype(dtype)
    groups = [rng.integers(0, 6, 400), rng.integers(0, 7, 300)]
    if names:
        groups = [np.array(["ab", "b", "c", "d", "e", "f", "g"])[g] for g in groups]
    got = sextant.asof(keys, queries, direction, by=groups)
    assert got.tolist() == merged(keys, queries, direction, None, True, groups).tolist()


def test_asof_far_apart():
    keys = np.array([-2**63, 2**63 - 1])
    assert sextant.asof(keys, np.array([0, -1, -2]), "nearest").tolist() == [1, 0, 0]
    assert sextant.asof(keys, np.array([0]), tolerance=2**63 - 1).tolist() == [-1]
    assert sextant.asof(keys, np.array([0]), tolerance=2**63).tolist() == [0]
    assert sextant.asof(keys, np.array([[0, 5]])).shape == (1, 2)


def test_asof_errors():
    keys = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="direction is 'up'"):
        sextant.asof(keys, keys, "up")
    with pytest.raises(ValueError, match="keys have NaN"):
        sextant.asof(np.array([1, np.nan]), keys)
    with pytest.raises(ValueError, match="queries have NaN"):
        sextant.asof(keys, np.array([np.nan]))
    with pytest.raises(ValueError, match="tolerance is -1"):
        sextant.asof(keys, keys, tolerance=-1)
    with pytest.raises(TypeError, match="pair"):
        sextant.asof(keys, keys, by=3)
    with pytest.raises(ValueError, match="1 and 2 groups"):
        sextant.asof(keys, keys, by=([1], [1, 2]))
    with pytest.raises(TypeError, match="timedelta"):
        sextant.asof(np.array([1], "M8[s]"), np.array([1], "M8[s]"), tolerance=3)


@pytest.mark.parametrize("groups", [
    (["x", None, "x", None], ["x", None, None, "y"]),
    (pd.Series(["x", None, "x", None]), pd.Series(["x", None, None, "y"])),
    (pd.array([1, None, 1, None], dtype="Int64"), pd.array([1, None, None, 2], dtype="Int64")),
    ([1.0, np.nan, 1.0, np.nan], [1.0, np.nan, np.nan, 2.0]),
    (pd.Categorical(["x", "y", "x", "y"]), pd.Categorical(["x", "x", "y", "y"])),
    (np.array([1, "x", 2.5, None], object), np.array([1, "x", 2.5, None], object))])
def test_groups_of_objects_and_nulls(groups):
    a, q = np.array([1, 2, 3, 4]), np.array([2, 3, 4, 5])
    want = pd.merge_asof(pd.DataFrame({"t": q, "g": groups[1]}),
                         pd.DataFrame({"t": a, "g": groups[0], "row": range(4)}), on="t", by="g")
    got = sextant.asof(a, q, by=groups)
    assert got.tolist() == want["row"].fillna(-1).astype("i8").tolist()


def test_groups_are_compared_exactly():
    a, q = np.array([1, 2]), np.array([5, 5])
    for one, other in ((np.array([2**63 - 1, 5]), np.array([2**63, 5], "u8")),
                       (np.array([2**53 + 1, 5]), np.array([2.0**53, 5.0]))):
        assert sextant.asof(a, q, by=(one, other)).tolist() == [-1, 1]
    with pytest.raises(TypeError, match="by has groups of int64 for keys and of <U1"):
        sextant.asof(a, q, by=([1, 2], ["1", "2"]))


def test_asof_of_other_things():
    days, q = np.array([1, 40], "M8[D]"), np.array([3, 60], "M8[D]")
    for tolerance, want in ((np.timedelta64(10**9, "D"), [0, 1]), (np.timedelta64(2, "D"), [0, -1]),
                            (pd.Timedelta("1D"), [-1, -1]), (np.timedelta64(1, "M"), [0, 1]),
                            (np.timedelta64(47, "h"), [-1, -1]), (np.timedelta64(2), [0, -1])):
        assert sextant.asof(days, q, tolerance=tolerance).tolist() == want
        ns = days.astype("M8[ns]"), q.astype("M8[ns]")        # 10^9 days are more than 64 bits
        if tolerance != np.timedelta64(2):
            assert sextant.asof(*ns, tolerance=tolerance).tolist() == want
    months = np.array([0, 30], "M8[M]"), np.array([12, 43], "M8[M]")
    assert sextant.asof(*months, tolerance=np.timedelta64(1, "Y")).tolist() == [0, -1]
    for tolerance in (1, "1 day", np.timedelta64("NaT")):
        with pytest.raises(TypeError, match="the tolerance of times is a timedelta"):
            sextant.asof(days, q, tolerance=tolerance)
    with pytest.raises(TypeError, match="of int64 it is a number"):
        sextant.asof([1, 2], [2], tolerance="1s")
    with pytest.raises(TypeError, match="in months or years"):
        sextant.asof(*months, tolerance=np.timedelta64(1, "D"))
    with pytest.raises(TypeError, match="keys are strings"):
        sextant.asof(["a", "b"], ["b"])
    assert sextant.asof([1, 2], 2) == 1 and np.ndim(sextant.asof([1, 2], 2)) == 0
