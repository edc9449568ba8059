"""Strings as keys: bytes and offsets, as Arrow has them. str is UTF-8 (surrogateescape)."""
import numpy as np

from . import _core, _types
from ._errors import InvalidTypeError, SpaceError

NOTE = "python"                   # the index's note: whether keys come back as str or bytes


class Strings:
    """Some strings, of any shape, as the library takes them."""

    def __init__(self, data, offsets, shape, text):
        self.data, self.offsets, self.shape, self.text = data, offsets, shape, text
        self.ndim, self.size = len(shape), int(np.prod(shape, dtype=np.int64))

    def column(self):
        return _core.Column(self.data, _types.STR, offsets=self.offsets)

    def ids(self, mask=None):
        """The same as 16-byte keys, zeros where they are masked; None: not all have 16 bytes."""
        there = np.diff(self.offsets) == 16
        gone = np.zeros(self.size, bool) if mask is None else mask.reshape(-1)
        if self.text or not (there | gone).all():
            return None
        made = np.zeros((self.size, 16), np.uint8)
        at = self.offsets[:-1][~gone]
        made[~gone] = self.data[at[:, None] + np.arange(16)]
        return made.view("V16").reshape(self.shape)

    def without(self, mask):
        """Those that are not masked."""
        there = ~mask.reshape(-1)
        return cut([(self.data, there)], self.offsets[:-1][there], np.diff(self.offsets)[there],
                   self.text)

    def tolist(self):
        """Each as bytes or str."""
        data, at = self.data.tobytes(), self.offsets.tolist()
        made = [data[a:b] for a, b in zip(at, at[1:])]
        return [s.decode("utf-8", "surrogateescape") for s in made] if self.text else made

    def array(self):
        """An array of objects."""
        made = np.empty(self.size, object)
        made[:] = self.tolist()
        return made.reshape(self.shape)


_BLOCK = 1 << 16                  # strings whose bytes are copied at a time: indexes are large


def offsets_of(lengths):
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def cut(sources, begin, lengths, text):
    """Strings copied together. String i has lengths[i] bytes, from begin[i] on in its source; a
    source is a pair: bytes, and a mask of the strings that are there. Of one source alone the
    mask does not matter."""
    offsets = offsets_of(lengths)
    data = np.empty(int(offsets[-1]), np.uint8)
    for source, mine in sources:
        those = np.flatnonzero(mine) if len(sources) > 1 else np.arange(len(lengths))
        for at in range(0, len(those), _BLOCK):
            some = those[at:at + _BLOCK]
            size = lengths[some].astype(np.int64)
            inside = np.arange(size.sum()) - np.repeat(offsets_of(size)[:-1], size)
            data[np.repeat(offsets[:-1][some], size) + inside] = \
                source[np.repeat(begin[some], size) + inside]
    return Strings(data, offsets, (len(lengths),), text)


def joined(parts, text):
    """Several Strings as one."""
    lengths = [np.diff(p.offsets) for p in parts]
    data = [p.data[int(p.offsets[0]):int(p.offsets[-1])] for p in parts]
    return Strings(np.concatenate(data) if data else np.empty(0, np.uint8),
                   offsets_of(np.concatenate(lengths) if lengths else np.empty(0, np.int64)),
                   (sum(p.size for p in parts),), text)


def _joined(parts, shape, text):
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(p) for p in parts], out=offsets[1:])
    return Strings(np.frombuffer(b"".join(parts), np.uint8), offsets, shape, text)


def of_list(items, text, shape=None, what="keys"):
    """A list of str, or of bytes; TypeError if they are mixed."""
    kind = str if text else bytes
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise InvalidTypeError(f"{what}[{i}] is {type(item).__name__}, and {what}[0] is "
                            f"{kind.__name__}")
    if text:
        items = [s.encode("utf-8", "surrogateescape") for s in items]
    return _joined(items, (len(items),) if shape is None else shape, text)


def of_array(array, what="keys"):
    """A NumPy array of S, U or StringDType."""
    flat = array.reshape(-1)
    if array.dtype.kind == "S":               # NUL at the end does not count, as in NumPy
        width = array.dtype.itemsize
        lengths = np.char.str_len(flat)
        square = np.frombuffer(flat.tobytes(), np.uint8).reshape(flat.size, width) if width \
            else np.empty((flat.size, 0), np.uint8)
        data = square[np.arange(width) < lengths[:, None]]
        offsets = np.zeros(flat.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Strings(data, offsets, array.shape, False)
    return of_list([str(s) for s in flat.tolist()], True, array.shape, what)


def of_scalar(value):
    return of_list([value], isinstance(value, str), ())


def filled(ask, n, shape, text):
    """What ask(column) finds: it is called again when the bytes are known."""
    offsets = np.zeros(n + 1, np.int64)
    data = np.empty(0, np.uint8)
    try:
        ask(_core.Column(data, _types.STR, writable=True, offsets=offsets))
    except SpaceError:
        data = np.empty(int(offsets[-1]), np.uint8)
        ask(_core.Column(data, _types.STR, writable=True, offsets=offsets))
    return Strings(data, offsets, shape, text).array()
