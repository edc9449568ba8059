"""The index, and what makes and loads one."""
import json
import os
import re
import tempfile

import numpy as np

from ._errors import InvalidError, InvalidTypeError, NoSuchKeyError, RankError
from . import _core, _gpu, _inputs, _prefixes, _ranges, _strings, _types
from ._columns import (MISS, answers, as_given, check_nulls, column_of, options, out_array, stream_of,
                       whole, writable)
from ._devices import open_device
from ._inputs import tensor_world
from ._ranges import Aggregates

GET, RANK_LEFT, RANK_RIGHT, FLOOR, CEIL = range(5)
_UNIT = "unit"                    # the note that has the unit of times
_NOTATION = "keys-as"             # and how the tool writes keys
_LOAD_COPY, _LOAD_VERIFY = 1, 2
_LOAD_PLACES = {None: 0, "host": 4, "device": 8, "hybrid": 16, "both": 32}


class Index(_core.Index):
    """An ordered multimap from keys to rows, asked in batches.

    keys    anything with numbers or times: NumPy, pandas, Arrow, DLPack, a list. Keys may
            repeat. Arrays of 4, 8 and 16 bytes are not copied on their way in.
    rows    what the answers are; None: a key's position in keys.
    spec    a family, its parameters and words: "auto", "pivot", "btree(k=9) unique".
    device  "cpu", "cuda:0"; None: where the keys are.
    nulls   "error", or "drop": keys that are null are left out.

    **Misses.** Everywhere rows come back, a query without an answer has -1, or what
    default= says; with mask=True a second array says which queries have one.

    >>> import sextant, numpy as np
    >>> ix = sextant.Index(np.array([30, 10, 20, 20]))
    >>> ix.get([20, 25])
    array([ 2, -1])
    >>> ix.floor(25)
    3
    >>> 10 in ix, len(ix)
    (True, 4)
    """

    __slots__ = ("dtype", "_code", "_name", "_none", "__weakref__")

    def __init__(self, keys, rows=None, spec="auto", device=None, *, nulls="error", threads=0,
                 max_bytes=0, progress=None):
        check_nulls(nulls)
        if not isinstance(spec, (str, type(None))):
            raise InvalidTypeError(f"spec is {spec!r}; it is text such as 'auto' or 'btree(k=9)'")
        stream = 0
        if _inputs.is_gpu(keys):
            given = _gpu.GpuArray(keys, "keys")
            self.dtype = given.dtype
            self._name = device or f"cuda:{given.device or 0}"
            column = given.column(given.dtype, "keys")
            stream = stream_of(given, spec)
            row_column = None if rows is None else self._gpu_rows(rows)
        else:
            array, missing = _inputs.host(keys, "keys")
            if nulls == "error":
                missing.refuse("keys", _inputs.DROP)
            elif missing.mask is not None:
                there = ~missing.mask.reshape(-1)
                if rows is not None:
                    rows = _inputs.raw(rows, "rows")[0].reshape(-1)
                    self._as_many(there.size, rows.size)
                array = array.without(missing.mask) if isinstance(array, _strings.Strings) \
                    else array.reshape(-1)[there]
                rows = np.flatnonzero(there) if rows is None else rows[there]
            self.dtype = _types.TEXT if isinstance(array, _strings.Strings) else array.dtype
            self._name = device or "cpu"
            column = column_of(array, _types.code_of(self.dtype))
            row_column = None if rows is None else self._rows(rows, array.size)
        self._code = _types.code_of(self.dtype)
        self._none = None                     # the row that means no network
        opened = open_device(self._name)
        if isinstance(self._name, _core.Device):
            self._name = opened.describe()["name"]
        self._build(opened, spec, column, row_column,
                    options(threads, False, max_bytes, stream, progress))
        if self.dtype == _types.TEXT:
            self._note(_strings.NOTE, "str" if array.text else "bytes")
        if self.dtype.kind in "Mm":
            self._note(_UNIT, self.dtype.name)

    @staticmethod
    def _as_many(keys, rows):
        if keys != rows:
            raise InvalidError(f"there are {keys} keys and {rows} rows")

    @staticmethod
    def _rows(rows, n):
        array, missing = _inputs.values(rows, "rows")
        missing.refuse("rows")
        kind = "strings" if isinstance(array, _strings.Strings) else array.dtype
        if kind == "strings" or kind.kind not in "iu":
            raise InvalidTypeError(f"rows are {kind}; they are integers from 0 to 2^63 - 1")
        Index._as_many(n, array.size)
        if array.size and array.dtype.kind == "i" and array.min() < 0:
            i = int(np.flatnonzero(array.reshape(-1) < 0)[0])
            raise InvalidError(f"rows[{i}] is {array.reshape(-1)[i]}; rows are from 0 to 2^63 - 1")
        wide = array.dtype.itemsize == 8
        array = _inputs.native(array, np.dtype(("i8" if array.dtype.kind == "i" else "u8")
                                               if wide else "u4"))
        return _core.Column(array, _types.U64 if wide else _types.U32)

    @staticmethod
    def _gpu_rows(rows):
        given = _gpu.GpuArray(rows, "rows")
        codes = {4: _types.U32, 8: _types.U64}
        if given.dtype.kind not in "iu":
            raise InvalidTypeError(f"rows are {given.dtype}; they are integers from 0 to 2^63 - 1")
        return _core.Column(given.address, codes[given.dtype.itemsize], 1, given.n, False,
                            given.owner)

    # ---- questions for a row or a rank ----

    def get(self, queries, *, default=None, mask=False, out=None, nulls="error", threads=0,
            ascending=False, progress=None):
        """The row of the first key equal to each query.

        >>> ix = Index([30, 10, 20, 20])
        >>> ix.get(20), ix.get([[10], [11]]).tolist()
        (2, [[1], [-1]])
        >>> ix.get([11, 30], default=99, mask=True)
        (array([99,  0]), array([False,  True]))
        """
        if default is None and out is None and not mask and not threads and not ascending \
                and progress is None and nulls == "error":
            answer = self._quick(GET, queries)
            if answer is not None:
                return answer
        return self._points(GET, queries, default, mask, False, out, nulls,
                            (threads, ascending, progress))

    def rank(self, queries, side="left", *, out=None, nulls="error", threads=0, ascending=False,
             progress=None):
        """How many keys are below each query; below or equal if side is "right".

        >>> Index([30, 10, 20, 20]).rank([20, 21], "right")
        array([3, 3])
        """
        verb = RANK_LEFT if side == "left" else RANK_RIGHT
        if verb == RANK_RIGHT and side != "right":
            raise InvalidError(f"side is {side!r}; it can be 'left' or 'right'")
        if out is None and not threads and not ascending and progress is None \
                and nulls == "error":
            answer = self._quick(verb, queries)
            if answer is not None:
                return answer
        return self._points(verb, queries, None, False, False, out, nulls,
                            (threads, ascending, progress))

    def floor(self, queries, *, keys=False, default=None, mask=False, out=None, nulls="error",
              threads=0, ascending=False, progress=None):
        """The row of the last key at or below each query; keys=True: and that key.

        >>> Index([30, 10, 20, 20]).floor([25, 5], keys=True)
        (array([ 3, -1]), array([20,  0]))

        Of networks that the tool indexed, it is the row of the narrowest that holds an address.
        """
        if default is None and out is None and not (mask or keys or threads or ascending) \
                and progress is None and nulls == "error" and self._none is None:
            answer = self._quick(FLOOR, queries)
            if answer is not None:
                return answer
        return self._points(FLOOR, queries, default, mask, keys, out, nulls,
                            (threads, ascending, progress))

    def ceil(self, queries, *, keys=False, default=None, mask=False, out=None, nulls="error",
             threads=0, ascending=False, progress=None):
        """The row of the first key at or above each query; keys=True: and that key.

        >>> Index([30, 10, 20, 20]).ceil([11, 31])
        array([ 2, -1])
        """
        if default is None and out is None and not (mask or keys or threads or ascending) \
                and progress is None and nulls == "error":
            answer = self._quick(CEIL, queries)
            if answer is not None:
                return answer
        return self._points(CEIL, queries, default, mask, keys, out, nulls,
                            (threads, ascending, progress))

    def _points(self, verb, queries, default, mask, keys, out, nulls, how):
        if _inputs.is_gpu(queries):
            return self._gpu_points(verb, queries, default, mask, keys, out, how)
        check_nulls(nulls)
        array, missing = self._queries(queries, "queries", nulls)
        shape = array.shape
        rows = np.empty(shape, np.int64) if out is None else out_array(out, array.size)
        found_keys = None
        threads, ascending, progress = how
        call = options(threads, ascending, 0, 0, progress)
        column = column_of(array, self._code)
        if keys and self._code == _types.STR:
            found_keys = _strings.filled(
                lambda out_keys: self._ask(verb, column, rows, out_keys, call),
                array.size, shape, self._text)
        else:
            if keys:
                found_keys = np.empty(shape, self.dtype)
                found_keys[...] = _types.nothing(self.dtype)
            self._ask(verb, column, rows,
                      None if found_keys is None else writable(found_keys, self._code), call)
        if verb == FLOOR and self._none is not None:
            gone = rows.reshape(shape) == self._none
            missing = gone if missing is None else missing | gone
        if missing is not None:
            rows.reshape(shape)[missing] = -1 if rows.dtype.kind == "i" else np.iinfo(rows.dtype).max
            if keys:
                found_keys[missing] = _types.nothing(self.dtype) if self._code != _types.STR \
                    else "" if self._text else b""
        return answers(rows, found_keys, default, mask, shape, out,
                        _inputs.tensor_world(queries))

    def _queries(self, queries, what, nulls=None):
        """(array of the index's dtype, mask of nulls or None). nulls is the argument; None: there
        is none."""
        array, missing = _inputs.values(queries, what)
        if nulls != "drop":
            missing.refuse(what, _inputs.DROP if nulls else "")
        if self._code == _types.STR:
            return self._string_queries(array, what), missing.mask
        if isinstance(array, _strings.Strings):
            ids = array.ids(missing.mask) if self._code == _types.B16 else None
            if ids is None:
                raise InvalidTypeError(f"{what} are strings, and the keys are {self.dtype}")
            return ids, missing.mask
        if self._code == _types.T64 and self.dtype.kind == "i" and array.dtype.kind in "Mm":
            array = array.view(np.int64)      # a file that does not say the unit
        if array.dtype.kind == "M" and self._code == _types.I32 and \
                self._notes().get(_NOTATION) == "date":       # days that the tool indexed
            array = _inputs.exact(array, np.dtype("M8[D]"), what).view(np.int64)
        if array.dtype == self.dtype and array.dtype.isnative:
            return (array if array.flags.c_contiguous else np.ascontiguousarray(array)), \
                missing.mask
        if array.size == 0 and array.dtype == np.float64:     # np.asarray([])
            return np.empty(array.shape, self.dtype), missing.mask
        array = _inputs.native(array, _types.key_dtype(array.dtype, what))
        if missing.mask is not None and array.dtype.kind == "f":
            array = np.where(missing.mask, 0, array)
        array = _inputs.exact(array, self.dtype, what)
        return (array if array.flags.c_contiguous else np.ascontiguousarray(array)), missing.mask

    def _string_queries(self, array, what):
        if isinstance(array, np.ndarray):
            if array.size == 0:
                return _strings.of_list([], self._text, array.shape)
            if array.ndim == 0 and array.dtype.kind == "V":   # 16 bytes, taken for an id
                array = _strings.of_scalar(array.tobytes())
        if not isinstance(array, _strings.Strings):
            raise InvalidTypeError(f"{what} are no strings, and the keys are")
        if array.size and array.text != self._text:
            raise InvalidTypeError(f"{what} are {'str' if array.text else 'bytes'}, and the keys are "
                            f"{'str' if self._text else 'bytes'}")
        return array

    @property
    def _text(self):
        """Whether keys that are strings come back as str."""
        return self._notes().get(_strings.NOTE) != "bytes"

    def _gpu_points(self, verb, queries, default, mask, keys, out, how):
        given = _gpu.GpuArray(queries, "queries")
        column = given.column(self.dtype, "queries")
        rows = given.empty(given.shape, np.int64) if out is None else out
        found_keys = None
        if keys:
            found_keys = given.empty(given.shape, self.dtype, "keys")
            found_keys[...] = _types.nothing_item(self.dtype)
        stream = self._stream(given)
        self._ask(verb, column, _gpu.out_column(rows, "out"),
                  None if found_keys is None else self._gpu_keys(found_keys),
                  options(how[0], how[1], 0, stream, how[2]))
        if verb == FLOOR and self._none is not None:
            given.put(rows, rows == self._none, MISS)
        result = [rows]
        if mask or default is not None:
            found = rows != MISS
            if default is not None:
                given.put(rows, ~found, default)
        if keys:
            result.append(found_keys)
        if mask:
            result.append(found)
        return result[0] if len(result) == 1 else tuple(result)

    def _gpu_keys(self, array):
        given = _gpu.GpuArray(array, "keys")
        return _core.Column(given.address, self._code, 1, given.n, True, given.owner)

    def _stream(self, given):
        """The stream to queue on. Where the index has none, the caller's work is waited for."""
        if given.device is not None and self._name.startswith("cuda") and \
                not re.match(rf"cuda:{given.device}\b", self._name):
            raise InvalidError(f"queries are on cuda:{given.device}, and the index is on "
                             f"{self._name}")
        if self._name.startswith("cpu"):
            raise InvalidError("queries are on a GPU, and the index is on the CPU: copy the queries, "
                             "or build the index with device='cuda:0'")
        return stream_of(given, self.spec)

    # ---- keys in order ----

    def key_at(self, ranks, *, rows=False, threads=0):
        """The key at each rank in ascending order; rows=True: and its row.

        IndexError names the first rank that is not below len(index).

        >>> Index([30, 10, 20, 20]).key_at([0, 3])
        array([10, 30])
        """
        if _inputs.is_gpu(ranks):
            given = _gpu.GpuArray(ranks, "ranks")
            keys = given.empty(given.shape, self.dtype, "keys")
            found = given.empty(given.shape, np.int64)
            keys[...] = _types.nothing_item(self.dtype)
            self._key_at(given.column(given.dtype, "ranks"), self._gpu_keys(keys),
                         _gpu.out_column(found, "rows"),
                         options(threads, False, 0, self._stream(given)))
            return (keys, found) if rows else keys
        array, missing = _inputs.raw(ranks, "ranks")
        missing.refuse("ranks")
        if array.dtype.kind not in "iu" and array.size:
            raise InvalidTypeError(f"ranks are {array.dtype}; they are integers")
        n = len(self)
        wrong = (array < 0) | (array >= n)
        if wrong.any():
            i = int(np.flatnonzero(wrong.reshape(-1))[0])
            raise RankError(f"ranks[{i}] is {array.reshape(-1)[i]}; the index has {n} keys")
        array = _inputs.native(array, np.dtype("u8"))
        found = np.empty(array.shape, np.int64) if rows else None
        if self._code == _types.STR:
            keys = _strings.filled(
                lambda out_keys: self._key_at(array, out_keys, found, options(threads)),
                array.size, array.shape, self._text)
        else:
            keys = np.empty(array.shape, self.dtype)
            self._key_at(array, writable(keys, self._code), found, options(threads))
        if array.ndim == 0:
            keys, found = keys[()], None if found is None else int(found[()])
        return as_given((keys, found) if rows else keys, ranks)

    # ---- ranges ----

    def range(self, lo, hi, *, limit=0, last=False, rows=True, keys=False, out=None, threads=0,
              progress=None):
        """All rows of lo[i] <= key <= hi[i], as Ranges(first, rows, keys).

        limit   the most of each range, the first ones (last=True: the last ones).
        out     an array for the rows; it may be longer than they need.

        A single range, lo and hi being numbers, has first = [0, n].

        >>> ix = Index([30, 10, 20, 20])
        >>> ix.range(10, 20).rows
        array([1, 2, 3])
        >>> r = ix.range([10, 25], [10, 99], keys=True)
        >>> r.first.tolist(), r.rows.tolist(), r.keys.tolist()
        ([0, 1, 2], [1, 0], [10, 30])
        """
        limit = whole(limit, "limit")
        if _inputs.is_gpu(lo):
            given, a, b, stream = _ranges.gpu_bounds(self, lo, hi)
            return _ranges.gpu_lists(self, lambda *to: self._range(a, b, limit, last, *to), given,
                                     stream, rows, keys, out, threads)
        a, b = _ranges.bounds(self, lo, hi)
        lo_column, hi_column = column_of(a, self._code), column_of(b, self._code)
        found = _ranges.lists(self, lambda *to: self._range(lo_column, hi_column, limit, last, *to),
                              a.size, rows, keys, out, threads, progress)
        return as_given(found, lo)

    def prefix(self, of, bits=None, *, limit=0, last=False, rows=True, keys=False, out=None,
               threads=0, progress=None):
        """All keys that begin as of[i] does, as Ranges(first, rows, keys).

        of      strings, of which all bytes count; integers or 16 bytes, of which the first
                `bits` do; or networks of the ipaddress module, which say their bits.
        bits    a number, or one for each of `of`; None: of strings and networks.

        The rest is as in range(): np.diff(first) counts, limit= takes the first ones.

        >>> words = Index(["pear", "apple", "peach", "plum"])
        >>> words.prefix("pea", keys=True).keys.tolist()
        ['peach', 'pear']
        >>> np.diff(words.prefix(["p", "pl", "x", ""]).first).tolist()
        [3, 1, 0, 4]
        >>> Index(np.array([0x0a000001, 0x0a010203], np.uint32)).prefix(0x0a000000, 16).rows
        array([0])
        """
        limit = whole(limit, "limit")
        if _inputs.is_gpu(of):
            given = _gpu.GpuArray(of, "of")
            column, stream = given.column(self.dtype, "of"), self._stream(given)
            each = _gpu.out_column(bits, "bits") if _inputs.is_gpu(bits) else None
            length = _prefixes.one_length(bits) if each is None else 0
            return _ranges.gpu_lists(
                self, lambda *to: self._prefix(column, each, length, limit, last, *to), given,
                stream, rows, keys, out, threads)
        if bits is None and self._code != _types.STR:
            of, bits = _prefixes.of_networks(of, self._code)
        array, _ = self._queries(of, "of")
        each, length = _prefixes.lengths(bits, array.shape)
        column = column_of(array, self._code)
        found = _ranges.lists(self, lambda *to: self._prefix(column, each, length, limit, last, *to),
                              array.size, rows, keys, out, threads, progress)
        return as_given(found, of)

    def count(self, lo, hi, *, limit=0, threads=0, out=None):
        """How many keys lo[i] <= key <= hi[i] there are.

        >>> Index([30, 10, 20, 20]).count([10, 15], [20, 25])
        array([3, 2])
        """
        limit = whole(limit, "limit")
        if _inputs.is_gpu(lo):
            given, a, b, stream = _ranges.gpu_bounds(self, lo, hi)
            counts = given.empty(given.shape, np.int64) if out is None else out
            self._count(a, b, limit, False, _gpu.out_column(counts, "out"),
                        options(threads, False, 0, stream))
            return counts
        a, b = _ranges.bounds(self, lo, hi)
        counts = np.empty(a.shape, np.int64) if out is None else out_array(out, a.size)
        self._count(column_of(a, self._code), column_of(b, self._code), limit, False, counts,
                    options(threads))
        return int(counts) if a.ndim == 0 and out is None else as_given(counts, lo, out)

    def aggregate(self, lo, hi, *, limit=0, last=False, threads=0):
        """Count, minimum, maximum and sum of the rows in each range.

        >>> Index([30, 10, 20, 20]).aggregate([10], [20]).max
        array([3])
        """
        limit = whole(limit, "limit")
        if _inputs.is_gpu(lo):
            given, a, b, stream = _ranges.gpu_bounds(self, lo, hi)
            outs = [given.empty(given.shape, np.int64) for _ in range(4)]
            self._aggregate(a, b, limit, last, *[_gpu.out_column(o, "out") for o in outs],
                            options(threads, False, 0, stream))
            return Aggregates(*outs)
        a, b = _ranges.bounds(self, lo, hi)
        outs = [np.empty(a.shape, np.int64) for _ in range(3)] + [np.empty(a.shape, np.uint64)]
        self._aggregate(column_of(a, self._code), column_of(b, self._code), limit, last, *outs,
                        options(threads))
        if tensor_world(lo) is not None:      # as on a GPU: torch has no uint64, or hardly
            outs[3] = outs[3].view(np.int64)
        return as_given(Aggregates(*(o[()].item() if a.ndim == 0 else o for o in outs)), lo)

    # ---- hierarchies ----

    def climb(self, queries, parents, *, limit=0, keys=False, steps=False, threads=0,
              progress=None):
        """From each key to its parent, and on to the top; its row.

        parents  parents[r] is the parent of the key with row r, a key too.
        limit    the most steps; 0: up to the top, and parents that lead in a circle are an
                 error that names the first key that comes to none.
        keys     True: and the top itself; steps=True: and how many steps it is away.

        The top is the first key that is its own parent, or whose parent is not in the index.
        A key that is not in the index has the row -1, and -1 steps.

        >>> part, whole = [1, 2, 3, 4], [1, 1, 2, 9]      # 3 is a part of 2, and 2 of 1
        >>> Index(part).climb([3, 4, 7], whole, keys=True, steps=True)
        (array([ 0,  3, -1]), array([1, 4, 0]), array([ 2,  0, -1], dtype=int32))
        """
        limit = whole(limit, "limit", 2**32 - 1)
        if _inputs.is_gpu(queries):
            return self._gpu_climb(queries, parents, limit, keys, steps, threads)
        array, _ = self._queries(queries, "queries")
        above, _ = self._queries(parents, "parents")
        rows = np.empty(array.shape, np.int64)
        found_keys = None
        found_steps = np.empty(array.shape, np.int32) if steps else None
        call = options(threads, False, 0, 0, progress)
        def ask(to):
            self._climb(column_of(array, self._code), column_of(above, self._code), limit, rows, to,
                        found_steps, call)
        if keys and self._code == _types.STR:
            found_keys = _strings.filled(ask, array.size, array.shape, self._text)
        else:
            if keys:
                found_keys = np.full(array.shape, _types.nothing(self.dtype), self.dtype)
            ask(None if found_keys is None else writable(found_keys, self._code))
        if steps:
            found_steps[rows == MISS] = MISS
        found = [a for a in (rows, found_keys, found_steps) if a is not None]
        if array.ndim == 0:
            found = [a[()] if a is found_keys else a.item() for a in found]
        return as_given(found[0] if len(found) == 1 else tuple(found), queries)

    def _gpu_climb(self, queries, parents, limit, keys, steps, threads):
        given, above = _gpu.GpuArray(queries, "queries"), _gpu.GpuArray(parents, "parents")
        self._stream(given)                   # whether they are on one GPU; climbs have no streams
        given.finish()
        above.finish()
        found = [given.empty(given.shape, np.int64)]
        if keys:
            found.append(given.empty(given.shape, self.dtype, "keys"))
            found[-1][...] = _types.nothing_item(self.dtype)
        if steps:
            found.append(given.empty(given.shape, np.int32))
        given.finish()
        self._climb(given.column(self.dtype, "queries"), above.column(self.dtype, "parents"), limit,
                    _gpu.out_column(found[0], "rows"),
                    self._gpu_keys(found[1]) if keys else None,
                    _gpu.out_column(found[-1], "steps") if steps else None, options(threads))
        if steps:
            found[-1][~(found[0] != MISS)] = MISS
        return found[0] if len(found) == 1 else tuple(found)

    # ---- as a container ----

    def __contains__(self, key):
        row = self.get(key)
        if not isinstance(row, int):
            raise InvalidTypeError("`in` asks for one key; index.get(keys, mask=True) for many")
        return row != MISS

    def __getitem__(self, key):
        rows = self.get(key)
        if isinstance(rows, int):
            if rows == MISS:
                raise NoSuchKeyError(key)
            return rows
        missing = rows == MISS
        if missing.any():
            where = int(np.flatnonzero(np.asarray(missing).reshape(-1))[0])
            raise NoSuchKeyError(np.asarray(key).reshape(-1)[where])
        return rows

    def __iter__(self):
        raise InvalidTypeError("an index is not iterated; index.key_at(range) has its keys in order")

    def __enter__(self):
        len(self)                             # raises if closed
        return self

    def __exit__(self, *_):
        self.close()

    # ---- files and copies ----

    def save(self, path, *, max_bytes=0, progress=None):
        """Write the index to a file, whole or not at all; load() reads it."""
        self._save(os.fsencode(path), options(0, False, max_bytes, 0, progress))

    def check(self, *, max_bytes=0, progress=None):
        """Prove every invariant of the index. CorruptError names one that is broken."""
        self._check(options(0, False, max_bytes, 0, progress))

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index.sxt")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickle, (file.read(), self._name, self.place)

    def _loaded(self, path, device, place, copy, verify, max_bytes, progress):
        if place not in _LOAD_PLACES:
            raise InvalidError(f"place is {place!r}; it can be host, device, hybrid or both")
        opened = open_device(device)
        self._name = device if isinstance(device, str) else "cpu" if device is None \
            else opened.describe()["name"]
        flags = _LOAD_PLACES[place] | (_LOAD_COPY if copy else 0) | (_LOAD_VERIFY if verify else 0)
        self._load(opened, os.fsencode(path), flags, options(0, False, max_bytes, 0, progress))
        self._code = self._describe()["key_type"]
        notes = self._notes()
        self.dtype = _types.dtype_of(self._code, notes.get(_UNIT), notes.get(_NOTATION))
        none = notes.get("none", "") if notes.get(_NOTATION) == "cidr" else ""
        self._none = int(none) if none.isdecimal() else None
        return self

    # ---- looking at it ----

    @property
    def spec(self):
        """The spec as it was resolved: it builds the same index again."""
        return self._describe()["spec"]

    @property
    def nbytes(self):
        """Bytes of all sections."""
        return self._describe()["bytes"]

    @property
    def place(self):
        """Where it is: "host", "device", "hybrid" or "both"; None: its device's own memory."""
        told = re.search(r"place=(\w+)", self.spec)
        return told.group(1) if told else None

    @property
    def device(self):
        """The name of its device."""
        return self._name

    @property
    def notes(self):
        """Pairs of text that the index and its file keep: a dict, which is a copy.

        note() sets one.
        """
        return self._notes()

    def note(self, name, value):
        """Set a note; None takes it away. No other thread may be asking meanwhile.

        >>> ix = Index([1, 2])
        >>> ix.note("source", "by hand")
        >>> ix.notes
        {'source': 'by hand'}
        """
        self._note(name, value)

    def explain(self, format="text"):
        """How the index is made up, as text; as a dict if format is "json"."""
        if format not in ("text", "json"):
            raise InvalidError(f"format is {format!r}; it can be 'text' or 'json'")
        text = self._explain(format == "json")
        return json.loads(text) if format == "json" else text

    def plot(self, axes=None):
        """Draw the distribution of the keys, and bytes by section, with matplotlib.

        Marks are where segments of a pgm, pieces of a guide, or leaves begin, if they are at
        most 256. To see segments it saves an index of up to 1 GiB in a folder for temporary
        files. axes is a pair.
        """
        from ._plot import plot
        return plot(self, axes)

    def __repr__(self):
        if self.closed:
            return "<sextant.Index, closed>"
        told = self._describe()
        rows = "positions" if told["implicit_rows"] else "stored"
        return (f"<sextant.Index of {told['n']:,} {self.dtype} keys: {told['spec']} on "
                f"{self._name}, rows are {rows}, {told['bytes']:,} bytes>")


def load(path, place=None, copy=False, *, verify=False, device=None, max_bytes=0, progress=None):
    """Load an index from a file.

    The file is mapped: it must not be changed or cut while the index lives, since reading
    behind the end of a file that was cut ends the process (SIGBUS). copy=True reads it into
    memory instead, which is safe from that; take it for files that others may write to, and
    on network file systems. verify=True compares the checksum of all data.

    place   "host", "device", "hybrid" or "both", for an index on a GPU.
    """
    return Index.__new__(Index)._loaded(path, device, place, copy, verify, max_bytes, progress)


def _unpickle(data, device, place):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index.sxt")
        with open(path, "wb") as file:
            file.write(data)
        return load(path, None if device.startswith("cpu") else place, True, device=device)
