"""Index.plot(): what an index looks like, by matplotlib."""
import os

import numpy as np

from . import _segments

_POINTS = 2048                    # ranks that are drawn
_BINS = 100                       # of the histogram
_EDGES = 256                      # parts of the array: more than these are not drawn one by one


_FILE_BYTES = 1 << 30             # a larger index is not saved to see its segments


def _numbers(keys, shared=0):
    """Keys as numbers to draw: times as their counts, 16 bytes by their first 8, strings by the
    8 behind those that all share."""
    if keys.dtype == object:
        parts = [(k.encode("utf-8", "surrogateescape") if isinstance(k, str) else k) for k in keys]
        return np.array([int.from_bytes(p[shared:shared + 8].ljust(8, b"\0"), "big")
                         for p in parts], "f8")
    if keys.dtype.kind in "Mm":
        return keys.view("i8").astype("f8")
    if keys.dtype.kind == "V":
        return np.frombuffer(keys.tobytes(), ">u8")[::2].astype("f8")
    return keys.astype("f8")


def _sections(index):
    """(name, bytes) of each section that is there."""
    told = index.explain("json")
    return [(s["name"], s["bytes"]) for s in told.get("sections", []) if s["bytes"]]


def _upper_part(index):
    """What the upper part has, as a few words for the legend."""
    told = index.explain("json")
    if isinstance(told.get("segments"), list):
        return f"{told['segments'][-1]:,} segments within {told['eps']} ranks"
    if "bucket" in told:
        return f"{told['pieces']:,} pieces of {told['piece_cells']:,} cells"
    if "leaves" in told:
        return f"{told['leaves']:,} leaves under {told['levels']} levels"
    return f"{told['levels']} levels" if "levels" in told else told["family"]


def _shared(index):
    """How many bytes all strings begin with."""
    if index.dtype != object:
        return 0
    ends = [k.encode("utf-8", "surrogateescape") if isinstance(k, str) else k
            for k in index.key_at([0, len(index) - 1])]
    return len(os.path.commonprefix(ends))


def _edges(index, numbers):
    """(what begins there, keys as numbers, their ranks). None: the index has no such parts, or
    more than can be told apart."""
    told = index.explain("json")
    firsts = _segments.first_keys(index, _EDGES) if index.nbytes <= _FILE_BYTES else None
    if firsts is not None:
        return "segments", numbers(firsts), index.rank(firsts)
    found = _even_parts(told, len(index))
    return None if found is None else (found[0], numbers(index.key_at(found[1])), found[1])


def _even_parts(told, n):
    """(what begins there, its ranks): parts of the array whose first ranks follow from the
    layout."""
    if told["layout"] == "once":              # parts have equally many values, not keys
        return None
    if told.get("pieces", 1) > 1:
        what, ranks = "pieces of the guide", np.arange(told["pieces"]) * n // told["pieces"]
    elif told.get("leaf", 0) and told.get("fill") is None and told["family"] != "radix":
        what, ranks = "leaves", np.arange(0, n, told["leaf"])
    else:
        return None
    return (what, ranks.astype("u8")) if ranks.size <= _EDGES else None


def _distribution(axes, index):
    """Ranks of keys, how many keys are where, and where parts of the array begin."""
    n = len(index)
    ranks = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).astype("u8"))
    shared = _shared(index)
    keys = _numbers(index.key_at(ranks), shared)
    axes.plot(keys, ranks, label="rank of a key")
    edges = _edges(index, lambda some: _numbers(some, shared))
    if edges:
        axes.plot(edges[1], edges[2], "|", markersize=12, label=f"{edges[0]} begin")
    axes.plot([], [], " ", label=_upper_part(index))
    finite = keys[np.isfinite(keys)]
    if finite.size and finite[-1] > finite[0]:
        bounds = np.linspace(finite[0], finite[-1], _BINS + 1)
        # Of the ranks that are drawn, each stands for as many keys.
        counts = np.histogram(finite, bounds)[0] * (n / ranks.size)
        under = axes.twinx()
        under.stairs(counts, bounds, fill=True, alpha=0.25, color="gray")
        under.set_ylabel(f"keys in a {_BINS}th of their range")
    axes.legend()


def plot(index, axes=None):
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("Index.plot() needs matplotlib: pip install matplotlib") from error
        axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")[1]
    left, right = axes
    if len(index):
        _distribution(left, index)
    left.set_xlabel("key (a string, by its bytes)" if index.dtype == object else
                    f"key ({index.dtype})")
    left.set_ylabel("rank")
    left.set_title(index.spec)
    sections = _sections(index)
    bars = right.barh([name for name, _ in sections], [size for _, size in sections])
    right.bar_label(bars, [f" {size:,}" for _, size in sections])
    right.margins(x=0.2)
    right.set_xlabel("bytes")
    right.set_title(f"{index.nbytes:,} bytes")
    return axes
