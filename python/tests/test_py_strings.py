"""Strings as keys: NumPy's kinds, lists, pandas; answers against sorted lists and bisect."""
import bisect
import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sextant
from sextant import _inputs

WORDS = ["pear", "apple", "fig", "", "apple", "zoë", "apple\0", "\udc80", "日本"]


def by_bytes(words):
    return sorted(w.encode("utf-8", "surrogateescape") if isinstance(w, str) else w for w in words)


def compare(ix, keys, queries):
    ordered = by_bytes(keys)
    ask = [q.encode("utf-8", "surrogateescape") if isinstance(q, str) else q for q in queries]
    plain = [k.encode("utf-8", "surrogateescape") if isinstance(k, str) else k for k in keys]
    left = [bisect.bisect_left(ordered, q) for q in ask]
    right = [bisect.bisect_right(ordered, q) for q in ask]
    assert ix.rank(queries).tolist() == left
    assert ix.rank(queries, "right").tolist() == right
    assert ix.get(queries).tolist() == [plain.index(q) if q in plain else -1 for q in ask]
    rows, found_keys = ix.floor(queries, keys=True)
    for row, key, r in zip(rows, found_keys, right):
        assert (row == -1) == (r == 0)
        if r:
            assert keys[row] == key and by_bytes([key])[0] == ordered[r - 1]
    assert by_bytes(ix.key_at(np.arange(len(keys))).tolist()) == ordered
    lo, hi = queries[: len(queries) // 2], queries[len(queries) // 2:][: len(queries) // 2]
    found = ix.range(lo, hi, keys=True)
    for i, (a, b) in enumerate(zip(by_bytes_each(lo), by_bytes_each(hi))):
        got = found.keys[found.first[i]:found.first[i + 1]].tolist()
        assert by_bytes(got) == [k for k in ordered if a <= k <= b]


def by_bytes_each(words):
    return [w.encode("utf-8", "surrogateescape") if isinstance(w, str) else w for w in words]


@pytest.mark.parametrize("spec", ["auto", "sorted", "pivot", "eytzinger"])
def test_lists(spec):
    asked = WORDS + ["a", "applf", "zz", "\udcff"]
    compare(sextant.Index(WORDS, spec=spec), WORDS, asked)
    compare(sextant.Index(by_bytes_each(WORDS), spec=spec), by_bytes_each(WORDS),
            by_bytes_each(asked))


@given(st.lists(st.text(), min_size=1), st.lists(st.text(), min_size=1))
def test_any_text(keys, queries):
    keys, queries = ([w for w in words if not any(0xd800 <= ord(c) < 0xe000 for c in w)] or ["x"]
                     for words in (keys, queries))
    compare(sextant.Index(keys), keys, queries + keys)


@given(st.lists(st.binary(), min_size=1), st.lists(st.binary(), min_size=1))
def test_any_bytes(keys, queries):
    if all(len(k) == 16 for k in keys):
        keys = keys + [b"x"]
    compare(sextant.Index(keys), keys, queries + keys)


def test_arrays():
    words = ["pear", "apple", "fig", "", "zoë"]
    want = sextant.Index(words).get(words + ["x"]).tolist()
    kinds = [np.array(words), np.array(words, object), pd.Series(words),
             pd.Series(words, dtype="string"), pd.Index(words)]
    if hasattr(np.dtypes, "StringDType"):
        kinds.append(np.array(words, np.dtypes.StringDType()))
    for keys in kinds:
        ix = sextant.Index(keys)
        assert ix.get(words + ["x"]).tolist() == want
        assert ix.get(np.array(words + ["x"])).tolist() == want
        assert ix.get(np.array([["fig"], ["x"]])).tolist() == [[2], [-1]]
    ix = sextant.Index(np.array([b"a", b"bcd", b""]))
    assert ix.get(np.array([b"bcd", b"b"])).tolist() == [1, -1] and ix.key_at(0) == b""
    nulls = sextant.Index(pd.Series(["b", None, "a"], dtype="string"), nulls="drop")
    assert nulls.get(["a", "b"]).tolist() == [2, 0]


def test_one_string_and_container(tmp_path):
    ix = sextant.Index(WORDS, rows=np.arange(9) + 100)
    assert ix.get("fig") == 102 and "fig" in ix and "figs" not in ix and ix["fig"] == 102
    assert ix.floor("figs", keys=True) == (102, "fig")
    assert ix.count("a", "b") == 3 and ix.range("fig", "fig").rows.tolist() == [102]
    with pytest.raises(KeyError):
        ix["no"]
    ix.save(tmp_path / "w.sxt")
    for again in (sextant.load(tmp_path / "w.sxt"), copy.copy(ix)):
        assert again.get(WORDS).tolist() == ix.get(WORDS).tolist()
        assert again.key_at(0) == ""
    ix.check()


def test_sixteen_bytes_are_a_string_here():
    ix = sextant.Index([b"a", b"b" * 16])
    assert ix.get(b"b" * 16) == 1 and ix.get([b"b" * 16]).tolist() == [1]


def test_refused():
    ix = sextant.Index(WORDS)
    for wrong, text in (([1, 2], "no strings"), ([b"a"], "bytes, and the keys are str"),
                        (np.array([1.5]), "no strings")):
        with pytest.raises(TypeError, match=text):
            ix.get(wrong)
    with sextant.Collector(ix) as c:
        for wrong, text in ((1, "no strings"), (b"a", "bytes, and the keys are str"),
                            (["a"], "one key at a time")):
            with pytest.raises(TypeError, match=text):
                c.get(wrong)
    with pytest.raises(TypeError, match="bytes, and the keys are str"):
        ix.climb(["fig"], [b"a"] * 9)
    with pytest.raises(TypeError, match=r"keys\[1\] is bytes"):
        sextant.Index(["a", b"b"])


@pytest.mark.more
def test_strings_of_arrow_in_every_form(rng):
    """Offsets of either width, views, slices, chunks, nulls: what Python's lists have."""
    import polars as pl
    import pyarrow as pa
    for _ in range(60):
        n = int(rng.integers(0, 80))
        words = ["é" * int(rng.choice([0, 1, 3, 6, 7, 20])) + str(rng.integers(0, 9))
                 if rng.random() < 0.85 else None for _ in range(n)]
        a, b = sorted(rng.integers(0, n + 1, 2).tolist())
        there, chunk = words[a:b], int(rng.integers(1, 30))
        parts = [words[i:i + chunk] for i in range(0, n, chunk)]
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            whole = pa.array(words, kind)
            chunked = pa.chunked_array([pa.array(p, kind) for p in parts], kind)
            compare_words(whole[a:b], there)
            compare_words(chunked[a:b], there)
        compare_words(pl.Series(words, dtype=pl.String)[a:b], there)
        series = [pl.Series(p, dtype=pl.String) for p in parts]
        if series:
            compare_words(pl.concat(series, rechunk=False)[a:b], there)
        compare_words(pd.Series(words, dtype="str").iloc[a:b], there)


def compare_words(keys, there):
    array, nulls = _inputs.host(keys, "keys")
    mask = [w is None for w in there]
    assert (nulls.mask if nulls.mask is not None else np.zeros(len(there), bool)).tolist() == mask
    assert [s for s, gone in zip(array.tolist(), mask) if not gone] == \
        [w for w in there if w is not None]
    ix = sextant.Index(keys, nulls="drop")
    first = {}
    for i, w in enumerate(there):
        first.setdefault(w, i)
    want = [-1 if w is None else first[w] for w in there]
    assert ix.get(keys, nulls="drop").tolist() == want
