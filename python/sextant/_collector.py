"""Threads with one key each, asked about together."""
from ._errors import InvalidError, InvalidTypeError
from . import _core


def _microseconds(timeout):
    if not timeout < 2**40:
        raise InvalidError(f"timeout is {timeout!r}; it is in seconds")
    return max(0, int(timeout * 1e6))


class Collector(_core.Collector):
    """Gathers single keys of many threads into batches.

    It pays on a GPU, where a call takes 10 microseconds and more. A batch is asked when it
    has `batch` keys, when its first key has waited for interval_us, or, if the collector is
    eager, when nothing else is being asked.

    >>> from sextant import Index, Collector
    >>> with Collector(Index([10, 20, 30])) as c:
    ...     c.get(20), c.floor(29), c.rank(99, "right"), c.get(21)
    (1, 1, 3, -1)
    >>> with Collector(Index(["pear", "apple", "fig"])) as c:
    ...     c.get("fig"), c.floor("banana"), c.get("kiwi")
    (2, 1, -1)
    """

    __slots__ = ("_dtype", "_index")

    def __new__(cls, index, batch=0, interval_us=0, eager=False):
        self = super().__new__(cls, index, batch, interval_us, eager)
        self._dtype, self._index = index.dtype, index
        return self

    def _one(self, what, key, timeout):
        us = -1 if timeout is None or timeout == float("inf") else _microseconds(timeout)
        answer = None if self._dtype == object else self._collect(what, key, us)
        if answer is not None:
            return answer
        given, _ = self._index._queries(key, "key")           # not a number of the index's own kind
        if given.ndim:
            raise InvalidTypeError("a collector takes one key at a time")
        bytes_ = given.data if self._dtype == object else given
        return self._collect(what, bytes_.tobytes(), us)

    def get(self, key, timeout=None):
        """The row of the first key equal to this one; -1: there is none.

        timeout is in seconds; sextant.TimeoutError if there is no answer in that time.
        """
        return self._one(0, key, timeout)

    def rank(self, key, side="left", timeout=None):
        """How many keys are below; below or equal if side is "right"."""
        if side not in ("left", "right"):
            raise InvalidError(f"side is {side!r}; it can be 'left' or 'right'")
        return self._one(1 if side == "left" else 2, key, timeout)

    def floor(self, key, timeout=None):
        """The row of the last key at or below this one, or -1."""
        return self._one(3, key, timeout)

    def ceil(self, key, timeout=None):
        """The row of the first key at or above this one, or -1."""
        return self._one(4, key, timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
