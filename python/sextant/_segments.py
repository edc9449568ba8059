"""Where the segments of an index begin, read out of its file (doc/FORMAT.md).

The library keeps the parts of an index to itself; its file format is what others may rely on.
"""
import os
import struct
import tempfile

import numpy as np

from . import _types

_HEADER, _RUN, _ENTRY = 128, 192, 64


def _sections(data):
    """name: memory of each section of a file."""
    runs, sections = struct.unpack_from("=II", data, 36)
    made = {}
    for i in range(sections):
        at = _HEADER + _RUN * runs + _ENTRY * i
        begin, size = struct.unpack_from("=QQ", data, at + 24)
        made[bytes(data[at:at + 16]).rstrip(b"\0").decode()] = data[begin:begin + size]
    return made


def _decoded(stored, code, dtype):
    """Keys of what stands for them in a file."""
    top = stored.dtype.type(1 << (8 * stored.itemsize - 1)) if code != _types.B16 else None
    if code == _types.B16:                    # a number of 128 bits in native order
        return stored[:, ::-1].astype(">u8").view("V16").reshape(-1)
    if code == _types.T64:
        return ((stored + stored.dtype.type(1)) ^ top).view(dtype)
    if code in (_types.F32, _types.F64):
        return np.where(stored & top != 0, stored ^ top, ~stored).view(dtype)
    return (stored ^ top).view(dtype) if code in (_types.I32, _types.I64) else stored.view(dtype)


def _entries(segments):
    """What a level of so many segments takes: an end, up to a whole line, and a line more."""
    return (segments + 1 + 15) // 16 * 16 + 16


def first_keys(index, most):
    """The first keys of the segments over the array; None: there are none, or more than most,
    or keys are strings, which segments have codes of."""
    levels = index.explain("json").get("segments")
    if not isinstance(levels, list) or levels[-1] > most or index._code == _types.STR:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index.sxt")
        index.save(path)
        data = memoryview(np.memmap(path, np.uint8, "r"))
        part = _sections(data)["segments"]
        above = sum(_entries(segments) for segments in levels[:-1])
        width = 16 if index._code == _types.B16 else np.dtype(index.dtype).itemsize
        keys = np.frombuffer(part[above * width:(above + levels[-1]) * width],
                             "u8" if width == 16 else f"u{width}").copy()
    return _decoded(keys.reshape(-1, 2) if width == 16 else keys, index._code, index.dtype)
