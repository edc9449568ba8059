"""Devices, and what an index would take on one."""
import collections

import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _core, _types
from ._columns import whole

Estimate = collections.namedtuple("Estimate",
                                  "host_resident host_peak device_resident device_peak")
Estimate.__doc__ = "Upper bounds in bytes: of an index, and while it is built."

_open_devices = {}


def open_device(name):
    """The device of that name, opened once a process."""
    if isinstance(name, _core.Device):
        return name
    name = name or "cpu"
    if not isinstance(name, str):
        raise InvalidTypeError(f"a device is a name such as 'cpu' or 'cuda:0', not {name!r}")
    device = _open_devices.get(name)
    if device is None:
        device = _open_devices.setdefault(name, _core.Device(name))     # of threads, the first's
    return device


def devices():
    """All devices that the library knows, usable or not.

    >>> [d["name"] for d in devices()][:1]
    ['cpu']
    """
    return _core.devices()


def estimate(n, dtype="int64", spec="auto", device=None, rows=None, *, nbytes=None):
    """Bytes that an index of n keys takes at most, and building it.

    rows is the dtype of rows; None: rows are positions. Keys that are strings have the dtype
    str or bytes, and nbytes is how many bytes they have together; a dtype such as "S20" says
    it, too, as the most that n of them can have.

    >>> estimate(10**6, "int64", "sorted").host_resident >= 8 * 10**6
    True
    >>> estimate(10**6, str, "sorted", nbytes=10**7).host_resident >= 10**7
    True
    """
    n, nbytes, key_type = _asked(n, dtype, nbytes)
    row_type = 0 if rows is None else (_types.U32 if np.dtype(rows).itemsize <= 4 else _types.U64)
    return Estimate(*_core.estimate(open_device(device), spec, n, key_type, row_type, nbytes))


def _asked(n, dtype, nbytes):
    """(n, bytes of strings, key type) of keys that are not there yet."""
    dtype, n = np.dtype(dtype), whole(n, "n")
    if not _types.is_text(dtype) and dtype != _types.TEXT:
        if nbytes is not None:
            raise InvalidError(f"nbytes is {nbytes}, which strings have, and keys are {dtype}")
        return n, 0, _types.code_of(_types.key_dtype(dtype))
    if nbytes is None and dtype.kind in "SU" and dtype.itemsize:
        nbytes = n * dtype.itemsize      # a character is at most 4 bytes in U and in UTF-8
    if nbytes is None:
        raise InvalidTypeError(f"keys are strings: {_types.NO_STRINGS}; nbytes= says it")
    return n, int(nbytes), _types.STR
