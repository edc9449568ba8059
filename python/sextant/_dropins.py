"""searchsorted(), isin() and asof(): NumPy's and pandas' answers, by an index.

Each looks first whether an index pays. Few queries, and all dtypes that keys can't have,
are NumPy's own: so no size is slower than NumPy by more than the look.
"""
import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _core, _inputs, _types
from ._columns import as_given
from ._index import Index

# Measured: a build costs 2 to 25 ns a key, and NumPy's binary search takes 100 to 1000 ns a
# random query, but much less if a processor foresees its steps.
_LEAST = 8192                     # fewer queries are not worth a build of any size
_LEAST_KEYS = 65                  # nor are fewer keys: NumPy has them in its caches
_SHARE = 8                        # queries: at least one for so many keys
_LOOP_BYTES = 320                 # isin: NumPy compares fewer test elements one by one sooner
_BY_NUMPY, _BY_MERGE, _BY_INDEX = range(3)    # ways to search


def _look(v):
    """(whether elements mostly ascend, a lower bound of greatest - least), by a few of them."""
    flat = v if v.ndim == 1 else v.reshape(-1)
    told = _core.look(flat.view("i8") if flat.dtype.kind in "Mm" else flat)
    return told if told is not None else (False, 0.0)


def _can_be_keys(dtype):
    return dtype.kind in "biufMm" and dtype.itemsize <= 8


def searchsorted(a, v, side="left", sorter=None, *, threads=0):
    """Where v would go in the sorted array a: NumPy's answers.

    a may be an Index, too, which is then asked for ranks. As in NumPy, answers about an
    array that is not sorted mean nothing. Arrays on a GPU are searched there.

    >>> import numpy as np
    >>> searchsorted(np.array([10, 20, 20, 30]), [20, 25], side="right")
    array([3, 3])
    """
    if type(a) is np.ndarray:
        m = v.size if type(v) is np.ndarray else -1
        if m == 0 or m > 0 and (m < _LEAST or m * _SHARE < a.size or a.size < _LEAST_KEYS):
            return a.searchsorted(v, side, sorter)
        if m > 0 and sorter is None and a.dtype is v.dtype and _way(a, v)[0] == _BY_NUMPY:
            return a.searchsorted(v, side)
    elif isinstance(a, Index):
        return a.rank(v, side, threads=threads)
    elif _inputs.is_gpu(a):
        if sorter is not None:
            raise InvalidTypeError("sorter= is not supported for arrays on a GPU")
        return Index(a, spec="pivot", threads=threads).rank(v, side)
    if _inputs.tensor_world(v) is not None and not _inputs.is_gpu(v):
        return as_given(searchsorted(a, _plain(v, "v"), side, sorter, threads=threads), v)
    a = _plain(a, "a")
    if isinstance(v, (np.generic, int, float, str, bytes)):
        return np.searchsorted(a, v, side, sorter)
    v = _plain(v, "v")
    if side not in ("left", "right") or not _worth_it(a, v):
        return np.searchsorted(a, v, side, sorter)
    try:
        dtype = np.result_type(a, v)
    except TypeError:                         # times and numbers: NumPy has an answer of its own
        return np.searchsorted(a, v, side, sorter)
    if not _can_be_keys(dtype) or (dtype.kind in "Mm" and not _same_unit(a, v, dtype)):
        return np.searchsorted(a, v, side, sorter)
    if sorter is not None:
        given, sorter = sorter, _order(sorter, a.size)
        if sorter is None:
            return np.searchsorted(a, v, side, given)
    way, ascending = _way(a, v, sorter)
    if way == _BY_NUMPY:
        return np.searchsorted(a, v, side, sorter)
    keys = a if sorter is None else a[sorter]
    ranks, done = None, 0
    if way == _BY_MERGE:
        ranks, done = _merged(keys, v, side, dtype)
        if done == v.size:
            return ranks
    rest = v if done == 0 else v.reshape(-1)[done:]
    if way == _BY_MERGE and (rest.size < _LEAST or _way(keys, rest, None, False)[0] == _BY_NUMPY):
        found = np.searchsorted(keys, rest, side)
    else:
        index = Index(keys.astype(dtype, copy=False), spec="pivot", threads=threads)
        found = index.rank(rest.astype(dtype, copy=False), side, ascending=ascending,
                           threads=threads)
    if done == 0:
        return found
    ranks.reshape(-1)[done:] = found
    return ranks


def _order(sorter, n):
    """A sorter as numbers of 64 bits; None: NumPy has an error for it."""
    sorter = np.asarray(sorter)
    if sorter.dtype.kind not in "iu" or sorter.shape != (n,) or int(sorter.min()) < 0 or \
            int(sorter.max()) >= n:
        return None
    return np.ascontiguousarray(sorter, np.int64)


def _way(a, v, sorter=None, merge=True):
    """(the fastest way, whether queries ascend), by a look at some queries."""
    way = _core.way(_counts(a), _counts(v if v.ndim == 1 else v.reshape(-1)), sorter, merge)
    return (_BY_INDEX, False) if way < 0 else (way & 3, way > 3)


def _merged(keys, v, side, dtype, add=0):
    """(ranks by one pass over both, how many of the first queries have theirs). All have it if
    both are sorted. add goes to each."""
    keys, v = (np.ascontiguousarray(x, _types.key_dtype(dtype)) for x in (keys, v))
    ranks = np.empty(v.shape, np.int64)
    if not (_nat_is_not_first(keys) and _nat_is_not_first(v)):
        return ranks, 0
    return ranks, _core.merge(_counts(keys), _counts(v), side == "right", add, ranks)


def _counts(array):
    """Times as the numbers they are kept as."""
    return array.view("i8") if array.dtype.kind in "Mm" else array


def _nat_is_not_first(array):
    """NaT is last for NumPy, and the least number for a merge. So it is the first element of
    whatever is sorted there."""
    return array.dtype.kind not in "Mm" or not np.isnat(array.reshape(-1)[:1]).any()


def _worth_it(a, v):
    return (a.ndim == 1 and v.size >= _LEAST and v.size * _SHARE >= a.size
            and a.size >= _LEAST_KEYS and _can_be_keys(a.dtype) and _can_be_keys(v.dtype))


def _same_unit(a, b, dtype):
    """Whether times of both can be had in the unit of dtype."""
    return all(x.dtype == dtype or x.dtype.kind == dtype.kind and
               not _inputs.too_far(x, dtype).any() for x in (a, b))


def _exact_common(a, b):
    """A dtype that has all values of both, or None."""
    if not (_can_be_keys(a.dtype) and _can_be_keys(b.dtype)):
        return None
    if (a.dtype.kind in "Mm") != (b.dtype.kind in "Mm"):
        return None
    try:
        dtype = np.result_type(a.dtype, b.dtype)
    except TypeError:
        return None
    if not _can_be_keys(dtype) or (dtype.kind in "Mm" and not _same_unit(a, b, dtype)):
        return None
    if dtype.kind == "f" and (a.dtype.kind in "iu" and a.dtype.itemsize == 8 or
                              b.dtype.kind in "iu" and b.dtype.itemsize == 8):
        return None
    return dtype


def _small_range(b, most):
    """Whether NumPy would look values up in a table. If only the look says so, NumPy's own
    way is as good as NumPy."""
    return b.dtype.kind in "biu" and _look(b)[1] <= most


def _short_loop(a, b):
    """Whether NumPy compares all elements with one test element after the other, and these are
    so few that this is the fastest. Times, which it compares slowly, are not."""
    return (b.size * b.itemsize < _LOOP_BYTES and b.size < 10 * a.size ** 0.145
            and b.dtype.kind not in "Mm")


def _few(a, b):
    """Elements that are not worth a build."""
    return a.size + b.size < _LEAST or b.size < 32 or a.size == 0


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None, threads=0):
    """Which elements are among the test elements: numpy.isin's answers.

    >>> import numpy as np
    >>> isin(np.array([1, 5, 2]), [1, 2, 3])
    array([ True, False,  True])
    """
    arrays = type(element) is type(test_elements) is np.ndarray
    if arrays and (test_elements.size < 32 or element.size + test_elements.size < _LEAST):
        return np.isin(element, test_elements, assume_unique, invert, kind=kind)
    if isinstance(test_elements, Index) or _inputs.is_gpu(element):
        index = test_elements if isinstance(test_elements, Index) else \
            Index(test_elements, spec="pivot", threads=threads)
        rows = index.get(element, threads=threads)
        return rows == -1 if invert else rows != -1
    if _inputs.tensor_world(element) is not None:
        return as_given(isin(_plain(element, "elements"), test_elements, assume_unique, invert,
                             kind=kind, threads=threads), element)
    a, b = (element, test_elements) if arrays else (_plain(element, "elements"),
                                                              _plain(test_elements, "elements"))
    if _few(a, b) or kind is not None:
        return np.isin(a, b, assume_unique, invert, kind=kind)
    if _short_loop(a, b) or _small_range(b, 6 * (a.size + b.size)):
        return np.isin(a, b, assume_unique, invert)
    dtype = _exact_common(a, b)
    if dtype is None:
        return np.isin(a, b, assume_unique, invert)
    flat = np.ascontiguousarray(a, dtype).reshape(-1)
    keys = np.ascontiguousarray(b, dtype).reshape(-1)
    found = _sorted_among(flat, keys)
    if found is not None:
        pass
    elif flat.size * 4 < keys.size:           # the smaller side is the index
        index = Index(flat, spec="pivot", threads=threads)
        seen = np.zeros(flat.size + 1, bool)  # the last one is for misses
        seen[index.get(keys, threads=threads)] = True
        seen[-1] = False
        found = seen[index.get(flat, threads=threads)]
    else:
        index = Index(keys, spec="pivot", threads=threads)
        found = index.get(flat, threads=threads, ascending=_look(flat)[0]) != -1
    if dtype.kind == "f":
        found &= flat == flat                 # no NaN is equal to any
    elif dtype.kind in "Mm":
        found &= ~np.isnat(flat)
    if invert:
        np.logical_not(found, found)
    return found.reshape(a.shape)


def _sorted_among(flat, keys):
    """Which elements are among the keys, by one pass, if both are sorted and elements are many
    more; otherwise None."""
    if flat.size < 8 * keys.size or flat.dtype.itemsize < 4 or \
            not (_look(flat)[0] and _look(keys)[0]):
        return None
    found = np.empty(flat.size, bool)
    return found if _core.among(_counts(keys), _counts(flat), found) else None


def _plain(obj, what):
    """An array as NumPy's own functions would take it."""
    if isinstance(obj, np.ndarray):
        return obj
    if isinstance(obj, (list, tuple, str, bytes, int, float, set, frozenset)):
        return np.asarray(obj)
    array, nulls = _inputs.raw(obj, what)
    nulls.refuse(what)
    return array if isinstance(array, np.ndarray) else array.array()


_DIRECTIONS = ("backward", "forward", "nearest")


def asof(keys, queries, direction="backward", tolerance=None, by=None, *,
         allow_exact_matches=True, threads=0):
    """The row of keys that pandas.merge_asof() would join to each query; -1: none.

    direction   "backward": the last key at or before; "forward": the first at or behind;
                "nearest": the closer one, of two as close the one before.
    tolerance   the most that a key may be away; a match farther away is none.
    by          a pair of arrays (of keys, of queries): only rows with equal values match.

    Neither keys nor queries need be sorted.

    >>> import numpy as np
    >>> asof(np.array([10, 20, 30]), np.array([5, 20, 29]))
    array([-1,  1,  1])
    >>> asof(np.array([10, 20, 30]), np.array([5, 20, 29]), "nearest", tolerance=2)
    array([-1,  1,  2])
    """
    if direction not in _DIRECTIONS:
        raise InvalidError(f"direction is {direction!r}; it can be backward, forward or nearest")
    if _inputs.is_gpu(keys):
        keys = Index(keys, spec="pivot")
    if isinstance(keys, Index):
        if by is not None or tolerance is not None or direction == "nearest" \
                or not allow_exact_matches:
            raise InvalidTypeError("of an Index, or of keys on a GPU, asof() takes a direction alone: "
                            "backward or forward")
        return (keys.floor if direction == "backward" else keys.ceil)(queries, threads=threads)
    a, q = _of_asof(keys, "keys"), _of_asof(queries, "queries")
    if a.dtype != q.dtype:
        q = _inputs.exact(q, a.dtype, "queries")
    shape, q = q.shape, np.ascontiguousarray(q).reshape(-1)
    a = np.ascontiguousarray(a).reshape(-1)
    ascending = q.size * _SHARE >= a.size and _look(q)[0] and _look(a)[0]
    if by is not None:
        finder = _Grouped(a, q, by, ascending, threads)
    elif ascending:
        finder = _Sorted(a, q, threads)
    elif q.size * _SHARE < a.size and _look(a)[0] and _nat_is_not_first(a) and \
            _core.ascends(_counts(a)):
        finder = _Searched(a, q)
    else:
        finder = _by_index(a, q, threads)
    rows = front = None
    if direction != "forward":
        rows = finder.before(allow_exact_matches)
    if direction != "backward":
        front = finder.behind(allow_exact_matches)
    if rows is None:
        rows = front
    elif front is not None:
        _core.nearer(_counts(a), _counts(q), rows, front)
    if tolerance is not None:
        _core.within(_counts(a), _counts(q), rows, _as_distance(tolerance, a.dtype))
    return as_given(rows.reshape(shape)[()], queries)


def _of_asof(obj, what):
    array, nulls = _inputs.host(obj, what)
    nulls.refuse(what)
    if not isinstance(array, np.ndarray):
        raise InvalidTypeError(f"{what} are strings; asof() takes numbers and times")
    return array


def _by_index(a, q, threads):
    """Finds rows by an index; NaN is refused."""
    _refuse_nan(a, q)
    return _Plain(a, q, threads)


def _refuse_nan(a, q):
    for name, array in (("keys", a), ("queries", q)):
        if array.dtype.kind in "fMm" and _any_nan(array):
            raise InvalidError(f"{name} have NaN or NaT")


def _any_nan(array):
    """One pass without a temporary array: a NaN or NaT makes the maximum one."""
    if array.size == 0:
        return False
    most = array.max()
    return bool(most != most)


class _Plain:
    """Floor and ceil of one index."""

    def __init__(self, a, q, threads):
        self.index = Index(a, spec="pivot", threads=threads)
        self.q = q
        self.how = {"threads": threads, "ascending": _look(q)[0]}

    def before(self, exact):
        if exact:
            return self.index.floor(self.q, **self.how)
        return self._at(self.index.rank(self.q, "left", **self.how) - 1)

    def behind(self, exact):
        if exact:
            return self.index.ceil(self.q, **self.how)
        return self._at(self.index.rank(self.q, "right", **self.how))

    def _at(self, ranks):
        inside = (ranks >= 0) & (ranks < len(self.index))
        rows = np.full(ranks.size, -1)
        rows[inside] = self.index.key_at(ranks[inside], rows=True)[1]
        return rows


class _Searched:
    """The same of sorted keys and so few queries that these are searched: rows are ranks."""

    def __init__(self, a, q):
        _refuse_nan(a[:0], q)
        self.a, self.q = a, q

    def before(self, exact):
        return self.a.searchsorted(self.q, "right" if exact else "left") - 1

    def behind(self, exact):
        rows = self.a.searchsorted(self.q, "left" if exact else "right")
        rows[rows == self.a.size] = -1
        return rows


class _Sorted:
    """The same of arrays that seem to be sorted: rows are ranks then. A merge that succeeds
    has seen no NaN."""

    def __init__(self, a, q, threads):
        self.a, self.q, self.threads, self.other = a, q, threads, None

    def _plain(self):
        self.other = self.other or _by_index(self.a, self.q, self.threads)
        return self.other

    def before(self, exact):
        ranks, done = _merged(self.a, self.q, "right" if exact else "left", self.a.dtype, -1)
        return ranks if done == self.q.size else self._plain().before(exact)

    def behind(self, exact):
        ranks, done = _merged(self.a, self.q, "left" if exact else "right", self.a.dtype)
        if done < self.q.size:
            return self._plain().behind(exact)
        ranks[ranks.searchsorted(self.a.size):] = -1          # ranks ascend as queries do
        return ranks


class _Grouped:
    """The same within groups. Arrays that seem to be sorted are merged, with a row for each
    group; others have an index of 16-byte keys, the group before the key."""

    def __init__(self, a, q, by, ascending, threads):
        if not isinstance(by, (tuple, list)) or len(by) != 2:
            raise InvalidTypeError("by is a pair: an array of the keys' groups, one of the queries'")
        groups = [np.asarray(g) for g in by]
        if groups[0].size != a.size or groups[1].size != q.size:
            raise InvalidError(f"by has {groups[0].size} and {groups[1].size} groups for {a.size} "
                             f"keys and {q.size} queries")
        self.group, self.asked, self.groups = _numbered(*(g.reshape(-1) for g in groups))
        self.a, self.q, self.threads, self.other = a, q, threads, None
        self.ascending = ascending and _nat_is_not_first(a) and _nat_is_not_first(q)

    def _merged(self, right, forward):
        rows = np.empty(self.q.size, np.int64)
        return rows if self.ascending and _core.merge_groups(
            _counts(self.a), _counts(self.q), self.group, self.asked, self.groups, right, forward,
            rows) else None

    def _plain(self):
        if self.other is None:
            _refuse_nan(self.a, self.q)
            self.other = _Plain(_pairs(self.group, self.a), _pairs(self.asked, self.q),
                                self.threads)
        return self.other

    def _mine(self, rows):
        if self.group.size:                   # otherwise all are -1
            rows[(rows >= 0) & (self.group[rows] != self.asked)] = -1
        return rows

    def before(self, exact):
        rows = self._merged(exact, False)
        return self._mine(self._plain().before(exact)) if rows is None else rows

    def behind(self, exact):
        rows = self._merged(not exact, True)
        return self._mine(self._plain().behind(exact)) if rows is None else rows


_KINDS = {**dict.fromkeys("biuf", "numbers"), **dict.fromkeys("UT", "str")}


def _numbered(keys, queries):
    """(groups of keys as numbers from 0 on, those of queries, how many numbers there are). As
    in pandas, what is null or NaN is a group."""
    both = (keys, queries)
    if keys.size and queries.size and all(g.dtype.kind in "biu" for g in both):
        least = min(int(g.min()) for g in both)
        count = max(int(g.max()) for g in both) - least + 1
        if count <= 4 * (keys.size + queries.size):           # differences need 64 bits at most
            shift = np.int64(least) if least < 2**63 else np.uint64(least)
            codes = [g if least == 0 and g.dtype == np.int64 else
                     (g.astype(shift.dtype, copy=False) - shift).astype(np.int64, copy=False)
                     for g in both]
            return np.ascontiguousarray(codes[0]), np.ascontiguousarray(codes[1]), count
    kinds = [_KINDS.get(g.dtype.kind, g.dtype.kind) for g in both]
    if kinds[0] != kinds[1] and "O" not in kinds and keys.size and queries.size:
        raise InvalidTypeError(f"by has groups of {keys.dtype} for keys and of {queries.dtype} for "
                        f"queries")
    if kinds[0] != kinds[1] or "O" in kinds or kinds[0] == "numbers" and \
            _exact_common(*both) is None:     # one by one, which compares exactly
        table = {}
        codes = np.array([table.setdefault(None if _inputs.is_null(x) or x != x else x, len(table))
                          for g in both for x in g.tolist()], np.int64)
        return codes[:keys.size], codes[keys.size:], len(table)
    names, codes = np.unique(np.concatenate(both), return_inverse=True)
    codes = codes.reshape(-1)
    return codes[:keys.size], codes[keys.size:], names.size


def _pairs(group, keys):
    """16 bytes whose order is that of (group, key)."""
    if keys.dtype.kind == "f":
        bits = (keys.astype("f8") + 0.0).view("u8")           # -0.0 becomes 0.0
        low = np.where(bits >> 63 != 0, ~bits, bits | np.uint64(1 << 63))
    elif keys.dtype.kind == "u":
        low = keys.astype("u8")
    else:
        low = keys.astype("i8").view("u8") ^ np.uint64(1 << 63)
    both = np.empty((keys.size, 2), ">u8")
    both[:, 0] = group
    both[:, 1] = low
    return both.view("V16").reshape(-1)


def _ticks(tolerance, dtype):
    """How many units of dtype a timedelta has, rounded down, even if 64 bits are too few."""
    (unit, count), (to, to_count) = np.datetime_data(tolerance.dtype), np.datetime_data(dtype)
    if unit == "generic":
        return int(tolerance.astype("i8"))
    if to in ("Y", "M") and unit not in ("Y", "M"):
        raise InvalidTypeError(f"the tolerance of {dtype} is in months or years")
    if unit in ("Y", "M") and to not in ("Y", "M"):           # NumPy's have as many days on average
        tolerance, unit, count = tolerance.astype("m8[s]"), "s", 1
    lengths = {"Y": 12, "M": 1} if to in ("Y", "M") else _inputs.UNITS
    return int(tolerance.astype("i8")) * lengths[unit] * count // (lengths[to] * to_count)


def _as_distance(tolerance, dtype):
    """The tolerance as the most that within() takes: an int of 64 bits, or a float."""
    if dtype.kind in "Mm":
        if not isinstance(tolerance, np.timedelta64):
            tolerance = _inputs._scalar(tolerance)
        if tolerance is None or tolerance.dtype.kind != "m" or np.isnat(tolerance):
            raise InvalidTypeError("the tolerance of times is a timedelta")
        tolerance = _ticks(np.asarray(tolerance), dtype)
    elif not isinstance(tolerance, (int, float, np.integer, np.floating)):
        raise InvalidTypeError(f"tolerance is {tolerance!r}; of {dtype} it is a number")
    if not tolerance >= 0:
        raise InvalidError(f"tolerance is {tolerance}; it is 0 or more")
    if dtype.kind == "f":
        return float(tolerance)
    return int(min(tolerance, 2**64 - 1))     # no two are farther apart
