"""Arrow arrays, chunked and not, of pyarrow, polars and pandas."""
import numpy as np
import pytest
from conftest import NUMBERS, some

import sextant
from sextant import _inputs

pytestmark = pytest.mark.more


@pytest.mark.parametrize("dtype", NUMBERS + ["i1", "u2", "f2", "M8[ns]", "M8[s]", "m8[us]"])
def test_pyarrow(dtype, rng):
    import pyarrow as pa
    array = some(rng, dtype, 300)
    if array.dtype.kind in "Mm":
        array = np.where(np.isnat(array), array.dtype.type(0, np.datetime_data(array.dtype)[0]),
                         array)
    arrow = pa.array(array)
    made, nulls = _inputs.host(arrow, "keys")
    assert nulls.mask is None and np.array_equal(made, array, equal_nan=made.dtype.kind == "f")
    if made.dtype == array.dtype:
        assert made.ctypes.data == arrow.buffers()[1].address       # no copy
    part = arrow.slice(7, 100)
    assert np.array_equal(_inputs.host(part, "keys")[0], array[7:107],
                          equal_nan=made.dtype.kind == "f")
    chunked = pa.chunked_array([arrow.slice(0, 10), arrow.slice(10, 0), arrow.slice(10, 290)])
    ix, want = sextant.Index(chunked), sextant.Index(array)
    assert ix.get(arrow).tolist() == want.get(array).tolist()
    assert ix.rank(chunked).tolist() == want.rank(array).tolist()
    one = pa.chunked_array([arrow])
    assert _inputs.raw(one, "keys")[0].ctypes.data == arrow.buffers()[1].address
    assert len(sextant.Index(pa.chunked_array([], arrow.type))) == 0


def test_memory_outlives_the_array(rng):
    import gc

    import pyarrow as pa
    array = rng.integers(0, 99, 100000)
    made, _ = _inputs.host(pa.array(array), "keys")
    gc.collect()
    assert np.array_equal(made, array)
    before = pa.total_allocated_bytes()
    for _ in range(50):
        _inputs.host(pa.array(array, mask=array > 50), "keys")
        _inputs.host(pa.chunked_array([pa.array(array)]), "keys")
    gc.collect()
    assert pa.total_allocated_bytes() <= before


def test_nulls(rng):
    import pyarrow as pa
    arrow = pa.array([3, None, 2, None, 3])
    with pytest.raises(ValueError, match="2 of 5 keys are null"):
        sextant.Index(arrow)
    ix = sextant.Index(arrow, nulls="drop")
    assert ix.get([3, 2, 0]).tolist() == [0, 2, -1]
    assert ix.get(arrow, nulls="drop").tolist() == [0, -1, 2, -1, 0]
    assert ix.get(arrow.slice(1, 3), nulls="drop").tolist() == [-1, 2, -1]
    chunked = pa.chunked_array([arrow, pa.array([2]), arrow.slice(1)])
    assert ix.get(chunked, nulls="drop").tolist() == [0, -1, 2, -1, 0, 2, -1, 2, -1, 0]
    bits = pa.array([True, None, False] * 10)
    assert sextant.Index(bits, nulls="drop").count(0, 1) == 20
    assert sextant.Index(bits.slice(2, 9), nulls="drop").get([0, 1]).tolist() == [0, 1]


def test_other_types():
    import datetime

    import pyarrow as pa
    days = pa.array([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)])
    assert sextant.Index(days).get(datetime.date(2020, 1, 1)) == 1
    zone = pa.array([datetime.datetime(2020, 1, 1)], pa.timestamp("us", "Europe/Berlin"))
    assert sextant.Index(zone).get(np.datetime64("2020-01-01")) == 0
    ids = pa.array([b"a" * 16, b"b" * 16], pa.binary(16))
    assert sextant.Index(ids).get(b"b" * 16) == 1
    assert sextant.Index(pa.array([datetime.time(1), datetime.time(2)])).dtype.kind == "m"
    for array, text in (
                        (pa.array(["a"]).dictionary_encode(), "dictionary"),
                        (pa.array([[1]]), "format"), (pa.array([b"abc"], pa.binary(3)), "w:3")):
        with pytest.raises(TypeError, match=text):
            sextant.Index(array)


def test_polars(rng):
    import polars as pl
    array = rng.integers(0, 999, 1000)
    series = pl.Series(array)
    ix = sextant.Index(series)
    assert ix.get(series).tolist() == sextant.Index(array).get(array).tolist()
    frame = pl.DataFrame({"when": pl.Series([3, None, 1]).cast(pl.Datetime("us"))})
    assert sextant.Index(frame["when"], nulls="drop").get(np.datetime64(1, "us")) == 2
    both = pl.concat([series, series], rechunk=False)
    assert len(sextant.Index(both)) == 2000


def test_strings(rng):
    import pyarrow as pa
    words = [f"w{i % 700}" for i in rng.integers(0, 10**6, 2000)] + ["", "zoë"]
    want = sextant.Index(words).get(words).tolist()
    for kind in (pa.string(), pa.large_string()):
        arrow = pa.array(words, kind)
        made = _inputs.host(arrow, "keys")[0]
        assert made.offsets.ctypes.data == arrow.buffers()[1].address       # no copy
        assert made.data.ctypes.data == arrow.buffers()[2].address
        ix = sextant.Index(arrow)
        assert ix.get(arrow).tolist() == want and ix.get(arrow.slice(5, 9)).tolist() == want[5:14]
        chunked = pa.chunked_array([arrow.slice(0, 10), arrow.slice(10)])
        assert sextant.Index(chunked).get(chunked).tolist() == want
    import polars as pl
    words = ["short", "a string that no view has inside it", "", "twelve bytes", "thirteen byte"] * 9
    want = sextant.Index(words).get(words).tolist()
    views = pa.array(words, pa.string_view())
    series = pl.concat([pl.Series(words[:20]), pl.Series(words[20:])], rechunk=False)
    for keys in (views, series, pl.Series(words)):
        ix = sextant.Index(keys)
        assert ix.get(keys).tolist() == want and ix.get(words).tolist() == want
    assert sextant.Index(words).get(views.slice(3, 7)).tolist() == want[3:10]
    assert sextant.Index(pl.Series(["b", None, "a"]), nulls="drop").get("a") == 2
    with_nulls = pa.array(["b", None, "a"])
    with pytest.raises(ValueError, match="1 of 3 keys are null"):
        sextant.Index(with_nulls)
    ix = sextant.Index(with_nulls, nulls="drop")
    assert ix.get(with_nulls, nulls="drop").tolist() == [0, -1, 2]
    assert sextant.Index(pa.array([b"x", b"\xff"])).key_at(1) == b"\xff"
    assert len(sextant.Index(pa.array([], pa.string()))) == 0


def test_pandas_of_arrow():
    import pandas as pd
    import pyarrow as pa
    series = pd.Series([3, None, 1], dtype=pd.ArrowDtype(pa.int64()))
    assert sextant.Index(series, nulls="drop").get([1, 3]).tolist() == [2, 0]
    assert sextant.searchsorted(pa.array([1, 2, 3]), pa.array([2])).tolist() == [1]
    assert sextant.isin(pa.array([1, 2, 3]), pa.array([2])).tolist() == [False, True, False]


def test_plot(rng, tmp_path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    for keys in (rng.random(5000), np.arange(5).astype("M8[s]"), some(rng, "V16", 9),
                 np.empty(0), ["pear", "peach", "pea"] * 9, [b"a", b"\xff", b""]):
        for spec in ("pivot", "pgm", "guide", "btree", "sorted", "eytzinger"):
            left, right = sextant.Index(keys, spec=spec).plot()
            assert right.get_xlabel() == "bytes" and spec in left.get_title()
            if len(keys):
                assert left.lines[0].get_ydata()[-1] == len(keys) - 1
                assert len(right.patches) > 0
            pyplot.close("all")


def test_plot_draws_what_is_there(rng):
    """Edges are where the layout has them, the histogram has all keys, bars have all bytes."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    keys = rng.lognormal(0, 2, 1000)
    ordered = np.sort(keys)
    for spec, step in (("guide(pieces=4)", 250), ("pivot(leaf=8)", 8), ("btree(k=9)", 5)):
        ix = sextant.Index(keys, spec=spec)
        left, right = ix.plot()
        marks = left.lines[1]
        assert marks.get_ydata().tolist() == list(range(0, 1000, step))
        assert np.array_equal(marks.get_xdata(), ordered[::step])
        under = [a for a in left.figure.axes if a not in (left, right)]
        assert len(under) == 1 and round(under[0].patches[0].get_data().values.sum()) == 1000
        sections = {s["name"]: s["bytes"] for s in ix.explain("json")["sections"] if s["bytes"]}
        assert [bar.get_width() for bar in right.patches] == list(sections.values())
        assert [text.get_text().strip() for text in right.texts] == \
            [f"{size:,}" for size in sections.values()]
        pyplot.close("all")
    # NaN and infinities are keys; all keys may be one.
    sextant.Index(np.array([1.0, np.nan, np.inf, 3.0])).plot()
    sextant.Index(np.full(100, 7)).plot()
    pyplot.close("all")


@pytest.mark.parametrize("dtype", NUMBERS + ["M8[s]", "V16"])
def test_plot_draws_segments(dtype):
    """Keys that lie on four straight lines: segments begin where a line does, and hardly
    anywhere else."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    most = 2**31 // 1000                      # all are exact as int32, and in order as float32
    numbers = np.concatenate([np.arange(500) * step + begin * most * 20 for begin, step in
                              enumerate((16, 2048, 128, 4096))])
    if dtype == "V16":
        keys = np.stack([np.zeros(2000, "i8"), numbers], 1).astype(">i8").view("V16").reshape(-1)
    elif dtype == "M8[s]":
        keys = np.append(numbers[:-1], -2**63).view(dtype)    # the last one is NaT
    else:
        keys = numbers.astype(dtype)
        keys = keys - keys.dtype.type(5000) if dtype[0] != "u" else keys
    ix = sextant.Index(keys, spec="pgm(eps=8,cuts=1)")
    left, _ = ix.plot()
    marks = left.lines[1]
    ranks = marks.get_ydata().tolist()
    assert marks.get_label() == "segments begin"
    assert len(ranks) == ix.explain("json")["segments"][-1] <= 12
    assert ranks[0] == 0 and ranks == sorted(set(ranks))
    for begin in (0, 500, 1000, 1500):
        assert any(begin - 1 <= r <= begin + 18 for r in ranks)
    if dtype in NUMBERS:                      # a first key is a key, or the value behind one
        x = marks.get_xdata()
        there = np.concatenate([keys, np.nextafter(keys, np.inf) if dtype[0] == "f" else keys + 1])
        assert np.isin(x, there.astype("f8")).all()
    once, _ = sextant.Index(np.repeat(keys, 3), spec="pgm(eps=8,cuts=1,layout=once)").plot()
    assert once.lines[1].get_ydata().tolist() == [3 * r for r in ranks]
    many, _ = sextant.Index(np.random.default_rng(1).random(20000), spec="pgm(eps=4)").plot()
    assert len(many.lines) == 2 and "segments within 4 ranks" in many.lines[1].get_label()
    pyplot.close("all")
