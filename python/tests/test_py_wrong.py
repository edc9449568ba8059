"""What is missing or wrong among values: None, masks, numbers out of range, one thing for another."""
import datetime
import uuid

import numpy as np
import pandas as pd
import pytest

import sextant

DAY = datetime.datetime(2026, 1, 2)
WITH_NULLS = {
    "list of numbers": [7, None, 9], "list of strings": ["a", None, "b"],
    "None first": [None, "a", "b"], "bytes": [b"a", None, b"b"], "floats": [1.5, None, 2.5],
    "times": [DAY, None, DAY + datetime.timedelta(1)], "NA": [pd.NA, 1, 2],
    "ids": [uuid.UUID(int=5), None, uuid.UUID(int=6)],
    "objects": np.array(["a", None, "b"], object),
    "NaN beside strings": np.array(["a", np.nan, "b"], object),
    "Series": pd.Series(["a", None, "b"], dtype=object),
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
}
if hasattr(np.dtypes, "StringDType"):
    text = np.dtypes.StringDType
    WITH_NULLS["StringDType"] = np.array(["a", None, "b"], text(na_object=None))
    WITH_NULLS["StringDType, NaN"] = np.array(["a", np.nan, "b"], text(na_object=np.nan))


@pytest.mark.parametrize("keys", WITH_NULLS.values(), ids=WITH_NULLS)
def test_nulls_of_any_kind(keys):
    with pytest.raises(ValueError, match='1 of 3 keys are null; nulls="drop" leaves them out'):
        sextant.Index(keys)
    ix = sextant.Index(keys, nulls="drop")
    there = [i for i in range(3) if i != (0 if keys[0] is None or keys[0] is pd.NA else 1)]
    assert len(ix) == 2
    assert sorted(ix.key_at([0, 1], rows=True)[1].tolist()) == there
    with pytest.raises(ValueError, match='1 of 3 queries are null; nulls="drop"'):
        ix.get(keys)
    got = ix.get(keys, nulls="drop").tolist()
    assert [got[i] for i in there] == there and got.count(-1) == 1
    rows, found, mask = ix.floor(keys, nulls="drop", keys=True, mask=True)
    nothing = found[rows == -1]
    assert nothing.size == 1 and mask.tolist() == [r != -1 for r in rows]
    assert not nothing[0] or nothing[0] != nothing[0] or nothing[0] == np.zeros(1, "V16")[0]
    with pytest.raises(ValueError, match="1 of 3 lo are null$"):
        ix.range(keys, keys)


def test_rows_of_keys_that_are_dropped():
    ix = sextant.Index([5, None, 6], rows=[7, 8, 9], nulls="drop")
    assert ix.get([5, 6]).tolist() == [7, 9]
    assert sextant.Index([5, None, 6], rows=pd.Series([7, 8, 9]), nulls="drop").get(6) == 9
    with pytest.raises(ValueError, match="there are 3 keys and 2 rows"):
        sextant.Index([5, None, 6], rows=[7, 8], nulls="drop")


@pytest.mark.parametrize("rows, words", [
    (["a", "b"], "rows are strings"), ([1, None], "1 of 2 rows are null$"), ([0.5, 1], "rows are"),
    ([True, False], "rows are bool"), ([3], "2 keys and 1 rows"), ([1, -1], r"rows\[1\] is -1")])
def test_rows_that_are_none(rows, words):
    with pytest.raises((TypeError, ValueError), match=words):
        sextant.Index([1, 2], rows=rows)


def test_integers_of_objects():
    assert sextant.Index(np.array([3, 1], object)).dtype == np.int64
    with pytest.raises(TypeError, match="more than 64 bits"):
        sextant.Index([2**64, 1])
    with pytest.raises(TypeError, match="keys are below 0 and above 2\\^63"):
        sextant.Index([2**63 + 1, -1])        # NumPy would make floats of them
    ix = sextant.Index([2**63, 1])            # these, too, as they are int64 and uint64
    assert ix.dtype == np.uint64 and ix.get(2**63) == 0
    assert ix.get([[2**63 + 1, 1], [2**63, 5]]).tolist() == [[-1, 1], [0, -1]]
    assert sextant.Index([1.0, 2.0**63, -5.0]).get([2**63, 1, -5]).tolist() == [1, 0, 2]
    for mixed in (["a", 1], [1, "a", None], [DAY, 5], [uuid.UUID(int=1), DAY], [object()], [None]):
        with pytest.raises((TypeError, ValueError), match="keys|a is"):
            sextant.Index(mixed, nulls="drop")


def test_16_bytes_as_queries():
    keys = [uuid.UUID(int=i).bytes for i in (5, 1, 9)]
    ix = sextant.Index(np.frombuffer(b"".join(keys), "V16"))
    assert ix.get(keys).tolist() == [0, 1, 2] and ix.get(keys[1]) == 1
    assert ix.get(np.array(keys, object)).tolist() == [0, 1, 2]
    assert ix.get([keys[0], None], nulls="drop").tolist() == [0, -1]
    with pytest.raises(TypeError, match="queries are strings"):
        ix.get([keys[0], b"short"])
    with pytest.raises(TypeError, match="queries are strings"):
        ix.get(["a" * 16])


def test_numbers_out_of_range():
    ix = sextant.Index(np.arange(10))
    for use, words in (
            (lambda: ix.get([1], threads=-1), "threads is -1; it is from 0"),
            (lambda: ix.get([1], threads=2**40), "threads is 1099511627776"),
            (lambda: sextant.Index([1], max_bytes=-5), "max_bytes is -5"),
            (lambda: ix.range(1, 5, limit=-1), "limit is -1"),
            (lambda: ix.count(1, 5, limit=2**64), "limit is 18446744073709551616"),
            (lambda: ix.aggregate(1, 5, limit=-2), "limit is -2"),
            (lambda: ix.prefix(1, 60, limit=-1), "limit is -1"),
            (lambda: ix.climb([1], np.arange(10), limit=-3), "limit is -3"),
            (lambda: ix.get([99], default=2**64), "default is 18446744073709551616"),
            (lambda: ix.get([99], default=-1, out=np.zeros(1, "u4")), "default is -1"),
            (lambda: sextant.estimate(-1), "n is -1")):
        with pytest.raises(ValueError, match=words):
            use()
    for use in (lambda: ix.range(1, 5, limit=1.5), lambda: ix.get([1], threads="two")):
        with pytest.raises(TypeError, match="it is an integer"):
            use()


def test_out_of_ranges():
    ix = sextant.Index(np.arange(10))
    square = np.zeros((3, 5), "i8")
    got = ix.range([1], [6], out=square)
    assert got.rows.tolist() == [1, 2, 3, 4, 5, 6] and np.shares_memory(got.rows, square)
    for out in ([0, 0], np.zeros(20)[::2], np.zeros(9), np.frombuffer(b"12345678", "i8"),
                np.zeros(9, ">i8")):
        with pytest.raises(TypeError, match="out is a contiguous, writeable array"):
            ix.range([1], [2], out=out)
    with pytest.raises(sextant.SpaceError):
        ix.range([1], [9], out=np.zeros(2, "i8"))


def test_units_too_far_apart():
    ix = sextant.Index(np.array([1, 2], "M8[as]"))
    with pytest.raises(ValueError, match="which NumPy can't make"):
        ix.get(np.datetime64(1, "s"))


def test_keys_of_a_collector():
    for keys, good, wrong in ((np.arange(9), 4.0, "a"), (["a", "b"], "b", 5),
                              (np.array([1, 2], "M8[s]"), np.datetime64(1000, "ms"), 5),
                              (np.zeros(2, "V16"), b"\0" * 16, "a")):
        with sextant.Collector(sextant.Index(keys), eager=True) as c:
            assert c.get(good) == sextant.Index(keys).get(good) != -1
            assert c.get(good, timeout=float("inf")) == c.get(good)
            for key in (wrong, None, [good]):
                with pytest.raises(TypeError, match="key"):
                    c.get(key)
            with pytest.raises(ValueError, match="timeout is nan"):
                c.get(good, timeout=float("nan"))


def test_numbers_beside_strings():
    """NumPy would make strings of the numbers."""
    for keys, says in (([1, "a"], r"keys\[1\] is str, and keys\[0\] is int"),
                       ([[2.5, 3], [4, b"a"]], r"keys\[3\] is bytes, and keys\[0\] is float"),
                       (["a", 1], r"keys\[1\] is int, and keys\[0\] is str")):
        with pytest.raises(TypeError, match=says):
            sextant.Index(keys)
    with pytest.raises(TypeError, match=r"queries\[2\] is str"):
        sextant.Index([1, 2]).get([1, 2, "3"])
    for keys in ([["a", "b"]], [[np.str_("a"), "b"]], [np.str_("a"), "b"], [[b"a"], [b"b"]]):
        assert len(sextant.Index(keys)) == 2


def test_a_spec_is_text():
    for spec in (5, b"pivot", ["pivot"]):
        with pytest.raises(TypeError, match="spec is .*; it is text"):
            sextant.Index([1], spec=spec)
    assert sextant.Index([1], spec=None).get(1) == 0
