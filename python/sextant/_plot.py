"""Index.plot(): what an index looks like, by matplotlib."""
import numpy as np

_POINTS = 2048                    # ranks that are drawn


def _numbers(keys):
    """Keys as numbers to draw: times as their counts, 16 bytes by their first 8."""
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


def plot(index, axes=None):
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("Index.plot() needs matplotlib: pip install matplotlib") from error
        axes = pyplot.subplots(1, 2, figsize=(11, 4))[1]
    left, right = axes
    n = len(index)
    if n:
        ranks = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).astype("u8"))
        keys = index.key_at(ranks)
        left.plot(_numbers(keys), ranks, label="rank of a key")
        left.plot([], [], " ", label=_upper_part(index))
        left.legend()
    left.set_xlabel(f"key ({index.dtype})")
    left.set_ylabel("rank")
    left.set_title(index.spec)
    sections = _sections(index)
    right.barh([name for name, _ in sections], [size for _, size in sections])
    right.set_xlabel("bytes")
    right.set_title(f"{index.nbytes:,} bytes")
    return axes
