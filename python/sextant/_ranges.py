"""Questions whose answers are lists, on the host and on a GPU."""
import collections

import numpy as np

from ._errors import InvalidError
from . import _gpu, _strings, _types
from ._columns import options, out_array, writable

Ranges = collections.namedtuple("Ranges", "first rows keys")
Ranges.__doc__ = """What range() finds: rows[first[i]:first[i + 1]] are those of range i, in
order of their keys; keys is None unless they were asked for."""
Aggregates = collections.namedtuple("Aggregates", "count min max sum")
Aggregates.__doc__ = """Of the rows in each range: how many, the least and the greatest (-1 if
there is none), and their sum modulo 2^64."""


def bounds(index, lo, hi):
    a, _ = index._queries(lo, "lo")
    b, _ = index._queries(hi, "hi")
    if a.shape != b.shape:
        raise InvalidError(f"lo has the shape {a.shape}, and hi {b.shape}")
    return a, b


def gpu_bounds(index, lo, hi):
    a, b = _gpu.GpuArray(lo, "lo"), _gpu.GpuArray(hi, "hi")
    if a.shape != b.shape:
        raise InvalidError(f"lo has the shape {a.shape}, and hi {b.shape}")
    return a, a.column(index.dtype, "lo"), b.column(index.dtype, "hi"), index._stream(a)


def lists(index, ask, n, rows, keys, out, threads, progress):
    """Ranges of what ask(first, rows, keys, call) finds for n questions."""
    call = options(threads, False, 0, 0, progress)
    first = np.empty(n + 1, np.int64)
    found_rows = None
    if out is None:
        ask(first, None, None, options(threads))
        if rows:
            found_rows = np.empty(first[-1], np.int64)
    else:
        if keys:
            raise InvalidError("out= is for rows alone: leave keys=True out")
        found_rows = out_array(out).reshape(-1)
    if keys and index._code == _types.STR:
        found_keys = _strings.filled(
            lambda out_keys: ask(first, found_rows, out_keys, call),
            int(first[-1]), (int(first[-1]),), index._text)
        return Ranges(first, found_rows, found_keys)
    found_keys = np.empty(first[-1], index.dtype) if keys else None
    ask(first, found_rows,
        None if found_keys is None else writable(found_keys, index._code), call)
    if out is not None:
        found_rows = found_rows[:first[-1]]
    return Ranges(first, found_rows, found_keys)


def gpu_lists(index, ask, given, stream, rows, keys, out, threads):
    """lists() for arrays on a GPU."""
    call = options(threads, False, 0, stream)
    first = given.empty(given.n + 1, np.int64)
    first_column = _gpu.out_column(first, "first")
    if out is not None:                   # nothing is waited for
        ask(first_column, _gpu.out_column(out, "out"), None, call)
        return Ranges(first, out, None)
    ask(first_column, None, None, call)
    total = int(first[-1])                # waits once
    found_rows = given.empty(total, np.int64) if rows else None
    found_keys = given.empty(total, index.dtype) if keys else None
    if total and (rows or keys):
        ask(first_column, None if found_rows is None else _gpu.out_column(found_rows, "rows"),
            None if found_keys is None else index._gpu_keys(found_keys), call)
    return Ranges(first, found_rows, found_keys)
