"""What callers have, as arrays of keys: NumPy, pandas, Arrow, DLPack, numbers, lists.

host() gives a contiguous NumPy array in native byte order, without a copy where the
caller's memory is that already. Arrays on a GPU are _gpu.py's.
"""
import datetime
import sys
import uuid

import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _core, _strings, _types

_ARROW = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8",
    "e": "f2", "f": "f4", "g": "f8", "w:16": "V16", "tdD": "M8[D]", "tdm": "M8[ms]",
    "tts": "m8[s]", "ttm": "m8[ms]", "ttu": "m8[us]", "ttn": "m8[ns]",
    "tDs": "m8[s]", "tDm": "m8[ms]", "tDu": "m8[us]", "tDn": "m8[ns]",
}
_ARROW_TEXT = ("u", "U", "z", "Z", "vu", "vz")
_ARROW_HALF = ("tdD", "tts", "ttm")       # times of 32 bits, which are widened


DROP = '; nulls="drop" leaves them out'   # advice where there is such an argument


class Nulls:
    """Which elements are null: a mask, or None if none is."""

    def __init__(self, mask=None):
        self.mask = mask if mask is not None and mask.any() else None

    def refuse(self, what, advice=""):
        if self.mask is not None:
            raise InvalidError(f"{int(self.mask.sum())} of {self.mask.size} {what} are null{advice}")


def _bits(address, offset, n, owner):
    """n bits of a bitmap, from bit `offset` on, as bools."""
    memory = np.frombuffer(_core.Memory(address, (offset + n + 7) // 8, owner), np.uint8)
    return np.unpackbits(memory, count=offset + n, bitorder="little")[offset:].astype(bool)


def _arrow_chunk(format_, chunk, what):
    length, offset, null_count, buffers, owner = chunk
    mask = None
    if null_count and buffers[0]:             # -1: not counted
        mask = ~_bits(buffers[0], offset, length, owner)
    if format_ == "b":
        return _bits(buffers[1], offset, length, owner).astype(np.uint32), mask
    if format_.startswith("ts"):
        dtype = np.dtype("M8[%s]" % {"s": "s", "m": "ms", "u": "us", "n": "ns"}[format_[2]])
    else:
        dtype = np.dtype(_ARROW[format_])
    stored = np.dtype("i4") if format_ in _ARROW_HALF else dtype
    memory = _core.Memory(buffers[1] + offset * stored.itemsize, length * stored.itemsize, owner)
    array = np.frombuffer(memory, stored) if length else np.empty(0, stored)
    return (array if stored == dtype else array.astype("i8").view(dtype)), mask


def _view_strings(text, length, offset, null_count, buffers, owner):
    """Strings that lie in several buffers, as polars has them: (Strings, mask).

    A view has 16 bytes: the length, then up to 12 bytes of the string; or its first 4
    bytes, the number of a buffer and where it begins there."""
    mask = ~_bits(buffers[0], offset, length, owner) if null_count and buffers[0] \
        else np.zeros(length, bool)
    views = np.frombuffer(_core.Memory(buffers[1] + offset * 16, length * 16, owner), "i4") \
        if length else np.empty(0, "i4")
    size, _, which, at = views.reshape(length, 4).T.astype(np.int64)
    size[mask] = 0
    inline = size <= 12
    begin = np.where(inline, 16 * np.arange(length) + 4, at)
    pools = len(buffers) - 3                  # the last buffer has their sizes
    sizes = np.frombuffer(_core.Memory(buffers[-1], 8 * pools, owner), "i8").tolist() if pools \
        else []
    sources = [(views.view(np.uint8), inline)]
    sources += [(np.frombuffer(_core.Memory(address, bytes_, owner), np.uint8),
                 ~inline & (which == i))
                for i, (address, bytes_) in enumerate(zip(buffers[2:], sizes)) if bytes_]
    return _strings.cut(sources, begin, size, text), mask


def _offset_strings(text, width, length, offset, null_count, buffers, owner):
    """(Strings, mask), without a copy. Offsets have that many bytes."""
    at = _core.Memory(buffers[1] + offset * width, (length + 1) * width, owner) \
        if buffers[1] else None
    offsets = np.frombuffer(at, f"i{width}") if at is not None else np.zeros(1, f"i{width}")
    bytes_ = int(offsets[-1])
    data = np.frombuffer(_core.Memory(buffers[2], bytes_, owner), np.uint8) if bytes_ \
        else np.empty(0, np.uint8)
    mask = ~_bits(buffers[0], offset, length, owner) if null_count and buffers[0] \
        else np.zeros(length, bool)
    return _strings.Strings(data, offsets, (length,), text), mask


def _arrow_strings(format_, chunks):
    """Without a copy, if there is one chunk and they are no views."""
    if format_ in ("vu", "vz"):
        made = [_view_strings(format_ == "vu", *chunk) for chunk in chunks]
    else:
        made = [_offset_strings(format_ in "uU", 8 if format_ in "UZ" else 4, *chunk)
                for chunk in chunks]
    if len(made) == 1:
        return made[0][0], Nulls(made[0][1])
    return _strings.joined([s for s, _ in made], format_ in ("u", "U", "vu")), Nulls(
        np.concatenate([m for _, m in made]) if made else None)


def _arrow(parts, what):
    (format_, dictionary), chunks = parts
    if format_ in _ARROW_TEXT and not dictionary:
        return _arrow_strings(format_, chunks)
    if dictionary or not (format_ in _ARROW or format_ == "b" or format_.startswith("ts")):
        kind = "with a dictionary" if dictionary else f"of format '{format_}'"
        raise InvalidTypeError(f"{what} are an Arrow array {kind}; numbers, times, strings and 16 bytes are "
                        f"keys")
    made = [_arrow_chunk(format_, chunk, what) for chunk in chunks]
    if not made:
        empty = (1 if format_ == "b" else 0)
        return (np.empty(0, "u4") if empty else
                _arrow_chunk(format_, (0, 0, 0, (0, 0), None), what)[0]), Nulls()
    if len(made) == 1:
        return made[0][0], Nulls(made[0][1])
    # A column is one piece of memory, so chunks are copied together.
    mask = None
    if any(m is not None for _, m in made):
        mask = np.concatenate([np.zeros(len(a), bool) if m is None else m for a, m in made])
    return np.concatenate([a for a, _ in made]), Nulls(mask)


def _pandas(obj, what):
    """A Series or an Index of pandas, whatever its dtype is stored as."""
    dtype = obj.dtype
    if isinstance(dtype, np.dtype):
        return obj.to_numpy(), Nulls()
    if getattr(dtype, "tz", None) is not None:    # in UTC, as times of NumPy are
        return obj.to_numpy(dtype=f"M8[{dtype.unit}]"), Nulls()
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow
        return _arrow(_core.arrow_stream(pyarrow.chunked_array(
            pyarrow.array(obj.array)).__arrow_c_stream__()), what)
    if hasattr(dtype, "numpy_dtype"):             # Int64 and its like: values and a mask
        mask = np.asarray(obj.isna())
        zero = dtype.numpy_dtype.type(0)
        return obj.to_numpy(dtype=dtype.numpy_dtype, na_value=zero), Nulls(mask)
    if str(dtype).startswith("string") or str(dtype) == "str":
        if getattr(dtype, "storage", None) == "pyarrow" and hasattr(obj, "__arrow_c_stream__"):
            return _arrow(_core.arrow_stream(obj.__arrow_c_stream__()), what)
        mask = np.asarray(obj.isna())
        made = obj.to_numpy(dtype=object, na_value="")
        return _strings.of_list(made.tolist(), True, None, what), Nulls(mask)
    raise InvalidTypeError(f"{what} have the dtype {dtype} of pandas, which can't be keys")


def _scalar(obj):
    """A single value of Python's own types as a 0-d array; None: it is none."""
    if isinstance(obj, uuid.UUID):
        return np.array(obj.bytes, "V16")
    if hasattr(obj, "to_datetime64"):             # pandas.Timestamp, in UTC
        return np.asarray(obj.to_datetime64())
    if hasattr(obj, "to_timedelta64"):
        return np.asarray(obj.to_timedelta64())
    if isinstance(obj, datetime.datetime):
        if obj.tzinfo is not None:
            obj = obj.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return np.asarray(np.datetime64(obj))
    if isinstance(obj, datetime.date):
        return np.asarray(np.datetime64(obj))
    if isinstance(obj, datetime.timedelta):
        return np.asarray(np.timedelta64(obj))
    if isinstance(obj, bytes) and len(obj) == 16:
        return np.array(obj, "V16")
    return None


def is_null(value):
    """Whether an object stands for a value that is not there."""
    return value is None or type(value).__name__ == "NAType"  # pandas.NA


def _objects(array, what):
    """An array of objects as (array of another dtype or Strings, nulls). None and pandas.NA are
    null, and beside strings so is NaN, as pandas has it."""
    flat = array.reshape(-1).tolist()
    first = next((x for x in flat if not is_null(x) and x == x), None)
    text = isinstance(first, (str, bytes))
    mask = np.array([is_null(x) or text and x != x for x in flat], bool)
    nulls = Nulls(mask.reshape(array.shape))
    if text:
        nothing = type(first)()
        made = _strings.of_list([nothing if gone else x for x, gone in zip(flat, mask)],
                                isinstance(first, str), array.shape, what)
        return made, nulls
    there = [x for x, gone in zip(flat, mask) if not gone]
    if not there:
        raise InvalidTypeError(f"{what} are objects; numbers, times and strings are keys")
    if isinstance(first, uuid.UUID):
        values = [_scalar(x) for x in there]
    elif isinstance(first, (datetime.date, datetime.timedelta)) or hasattr(first, "to_datetime64"):
        values = [_scalar(x) for x in there]
    else:
        values = [np.asarray(there)]
    if any(v is None or v.dtype.kind != values[0].dtype.kind for v in values):
        raise InvalidTypeError(f"{what} are objects of several types")
    values = np.stack(values).reshape(-1)
    if values.dtype.kind not in "biufMmV" or len(values) != len(there):
        if isinstance(first, int):
            raise InvalidTypeError(f"{what} have integers of more than 64 bits, or others beside them")
        raise InvalidTypeError(f"{what} are objects of {type(first).__name__}; numbers and times are keys")
    made = np.zeros(len(flat), values.dtype)
    made[~mask] = values
    return made.reshape(array.shape), nulls


def _from_list(obj, what):
    if isinstance(obj, (list, tuple)) and obj and isinstance(obj[0], (str, bytes)):
        if not any(is_null(x) for x in obj):
            return _strings.of_list(list(obj), isinstance(obj[0], str), None, what), Nulls()
        obj = np.array(obj, object)
    array = np.asarray(obj)
    if array.dtype.kind in "SU" and array.size:   # NumPy makes strings of numbers beside strings
        items = np.array(obj, object).reshape(-1).tolist()
        text = [isinstance(x, (str, bytes)) for x in items]
        other = text.index(not text[0]) if len(set(text)) > 1 else 0
        if other:
            raise InvalidTypeError(f"{what}[{other}] is {type(items[other]).__name__}, and {what}[0] is "
                            f"{type(items[0]).__name__}")
    if array.dtype == object and array.size:
        return _objects(array, what)
    return array, Nulls()


def is_gpu(obj):
    """Whether the memory of an array is a GPU's."""
    if isinstance(obj, (np.ndarray, np.generic, int, float, list, tuple)):
        return False
    if hasattr(type(obj), "__cuda_array_interface__") and not _is_cpu_tensor(obj):
        return True
    ask = getattr(obj, "__dlpack_device__", None)
    return ask is not None and int(ask()[0]) in (2, 13)       # CUDA, managed memory


def _is_cpu_tensor(obj):
    device = getattr(obj, "device", None)
    return getattr(device, "type", None) == "cpu"


def raw(obj, what):
    """A NumPy array of any dtype and strides, and its nulls."""
    if isinstance(obj, np.ma.MaskedArray):
        return obj.data, Nulls(np.ma.getmaskarray(obj))
    if isinstance(obj, np.ndarray):
        return obj, Nulls()
    if isinstance(obj, np.generic):
        return np.asarray(obj), Nulls()
    root = type(obj).__module__.partition(".")[0]
    if root == "pandas" and hasattr(obj, "dtype"):
        return _pandas(obj, what)
    single = _scalar(obj)
    if single is not None:
        return single, Nulls()
    if isinstance(obj, (str, bytes)):
        return _strings.of_scalar(obj), Nulls()
    if hasattr(obj, "__arrow_c_array__"):
        return _arrow(_core.arrow_array(*obj.__arrow_c_array__()), what)
    if hasattr(obj, "__arrow_c_stream__"):
        return _arrow(_core.arrow_stream(obj.__arrow_c_stream__()), what)
    if hasattr(obj, "__dlpack__"):
        return np.from_dlpack(obj), Nulls()
    return _from_list(obj, what)


def _unrounded(obj, array, what):
    """The array of a list. NumPy makes floats of integers, some from 2^63 on and some not."""
    if array.dtype != np.float64 or not array.size or not array.max() >= 2.0**63:
        return array
    items = np.array(obj, object).reshape(-1).tolist()
    if not all(isinstance(x, int) for x in items):
        return array
    if min(items) >= 0:
        return np.array(items, np.uint64).reshape(array.shape)
    if any(int(float(x)) != x for x in items):
        raise InvalidTypeError(f"{what} are below 0 and above 2^63; keys are int64 or uint64")
    return array


def values(obj, what):
    """(array of numbers or times, or Strings; nulls)"""
    array, nulls = raw(obj, what)
    if isinstance(obj, (list, tuple)) and isinstance(array, np.ndarray):
        array = _unrounded(obj, array, what)
    if isinstance(array, _strings.Strings) or array.dtype.kind not in "SUTO":
        return array, nulls
    if array.dtype.kind == "O" and array.size:
        return _objects(array, what)
    if array.dtype.kind == "T" and hasattr(array.dtype, "na_object"):
        return _objects(array.astype(object), what)
    return (array if array.dtype.kind == "O" else _strings.of_array(array)), nulls


def native(array, dtype):
    """The array as contiguous elements of this dtype: itself if it is."""
    if array.dtype != dtype:
        array = array.astype(dtype)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def host(obj, what):
    """(array, nulls): contiguous, native, of a dtype that keys can have; or Strings."""
    array, nulls = values(obj, what)
    if isinstance(array, _strings.Strings):
        return array, nulls
    return native(array, _types.key_dtype(array.dtype, what)), nulls


def _first_wrong(array, wrong, dtype, what):
    i = int(np.flatnonzero(wrong.reshape(-1))[0])
    value = array.reshape(-1)[i]
    raise InvalidError(f"{what}[{i}] is {value!s} ({array.dtype}), which no {dtype} key can be "
                     f"exactly")


# Attoseconds of each unit; of years and months the most there can be.
UNITS = {"Y": 366 * 86400 * 10**18, "M": 31 * 86400 * 10**18, "W": 7 * 86400 * 10**18,
          "D": 86400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18, "s": 10**18, "ms": 10**15,
          "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1}


def too_far(array, dtype):
    """Which times have no number in the unit of dtype. NumPy's own conversion of these wraps
    round, raises, or (2.5, with many elements) ends the process: so they are looked for first."""
    (unit, count), (to, to_count) = np.datetime_data(array.dtype), np.datetime_data(dtype)
    number = array.view("i8")
    if unit not in UNITS or to not in UNITS:
        return np.zeros(array.shape, bool)
    most = (2**63 - 1) * UNITS[to] * to_count // (UNITS[unit] * count)
    if most >= 2**63 - 1:
        return np.zeros(array.shape, bool)
    return (number > most) | (number < -most) & (number != -2**63)


def of_no_length(array, dtype):
    """Which durations are months or years, and would be days or seconds, or the other way round:
    NumPy takes those of an average year."""
    calendar = [np.datetime_data(d)[0] in ("Y", "M") for d in (array.dtype, dtype)]
    if dtype.kind != "m" or calendar[0] == calendar[1]:
        return np.zeros(array.shape, bool)
    return (array.view("i8") != 0) & ~np.isnat(array)


def exact(array, dtype, what):
    """The same values as keys of dtype. InvalidError names the first that there is none for.

    >>> exact(np.array([1.0, 2.0]), np.dtype("i8"), "queries")
    array([1, 2])
    >>> exact(np.array([1.0, 2.5]), np.dtype("i8"), "queries")
    Traceback (most recent call last):
    ...
    sextant.InvalidError: queries[1] is 2.5 (float64), which no int64 key can be exactly
    """
    if array.dtype == dtype:
        return array
    numbers = "biuf"
    if array.dtype.kind in "Mm" or dtype.kind in "Mm":
        if array.dtype.kind != dtype.kind:
            raise InvalidTypeError(f"{what} are {array.dtype}, and the keys are {dtype}")
        wrong = too_far(array, dtype) | of_no_length(array, dtype)
        if wrong.any():
            _first_wrong(array, wrong, dtype, what)
        try:
            made = array.astype(dtype)
            wrong = (made.astype(array.dtype) != array) & ~np.isnat(array)
        except OverflowError:                 # units so far apart that NumPy has no factor
            raise InvalidError(f"{what} are {array.dtype}, which NumPy can't make {dtype}") from None
    elif array.dtype.kind in numbers and dtype.kind in numbers:
        if np.can_cast(array.dtype, dtype, "safe") and not (
                array.dtype.itemsize == 8 and dtype.kind == "f" and array.dtype.kind in "iu"):
            return array.astype(dtype)
        with np.errstate(all="ignore"):
            made = array.astype(dtype)
            back = made.astype(array.dtype)
            wrong = back != array
            if array.dtype.kind == "f":
                wrong &= ~(np.isnan(array) & (dtype.kind == "f"))
                if dtype.kind in "iu":            # the cast of what is outside is undefined
                    info = np.iinfo(dtype)
                    wrong |= ~((array >= float(info.min)) & (array < float(info.max) + 1.0
                               if dtype.itemsize < 8 else array < 2.0 ** info.bits / (
                                   2.0 if dtype.kind == "i" else 1.0)))
            elif dtype.kind == "f":
                wrong |= made >= 2.0 ** (63 if array.dtype.kind == "i" else 64)
            else:
                wrong |= (made < 0) != (array < 0)
    else:
        raise InvalidTypeError(f"{what} are {array.dtype}, and the keys are {dtype}")
    if wrong.any():
        _first_wrong(array, wrong, dtype, what)
    return made


def tensor_world(obj):
    """torch, if obj is a tensor of it; answers to it are tensors, too."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(obj, torch.Tensor) else None
