"""Key types of the library and dtypes of NumPy."""
import numpy as np

from ._errors import InvalidTypeError

U32, U64, I32, I64, F32, F64, B16, STR, T64 = 1, 2, 3, 4, 5, 6, 7, 8, 11

_DTYPES = {
    U32: np.dtype("u4"), U64: np.dtype("u8"), I32: np.dtype("i4"), I64: np.dtype("i8"),
    F32: np.dtype("f4"), F64: np.dtype("f8"), B16: np.dtype("V16"), T64: np.dtype("i8"),
}
_CODES = {_DTYPES[code]: code for code in (U32, U64, I32, I64, F32, F64, B16)}

# What is widened, since keys have 4, 8 or 16 bytes.
WIDER = {
    np.dtype("?"): np.dtype("u4"), np.dtype("i1"): np.dtype("i4"), np.dtype("i2"): np.dtype("i4"),
    np.dtype("u1"): np.dtype("u4"), np.dtype("u2"): np.dtype("u4"), np.dtype("f2"): np.dtype("f4"),
}

TEXT = np.dtype(object)           # of an index of strings

NO_STRINGS = "strings have no dtype that could say how many bytes they are"
_KEYS = ("keys are integers and floats of up to 64 bits, bool, datetime64, timedelta64 "
         "or 16-byte void")


def is_text(dtype):
    """Whether elements are strings of some kind."""
    return dtype.kind in "SUT"


def key_dtype(dtype, what="keys"):
    """The dtype that keys of this dtype have in an index. TypeError: there is none.

    >>> key_dtype(np.dtype("int16"))
    dtype('int32')
    >>> key_dtype(np.dtype(">M8[ns]"))
    dtype('<M8[ns]')
    """
    dtype = dtype.newbyteorder("=") if dtype.kind not in "VT" else dtype
    dtype = WIDER.get(dtype, dtype)
    if dtype in _CODES or dtype.kind in "Mm":
        return dtype
    if is_text(dtype):
        raise InvalidTypeError(f"{what} are {dtype}: {NO_STRINGS}")
    raise InvalidTypeError(f"{what} are {dtype}; {_KEYS}")


def code_of(dtype):
    """The library's number for a dtype that key_dtype() gave."""
    if dtype == TEXT:
        return STR
    return T64 if dtype.kind in "Mm" else _CODES[dtype]


def dtype_of(code, unit=None, notation=None):
    """And back; unit and notation are the index's notes. The unit is "datetime64[ns]" or the
    like; of indexes that the tool built from times, "ns".

    >>> dtype_of(T64, "timedelta64[s]"), dtype_of(I64, "ns", "iso8601"), dtype_of(I64, "m")
    (dtype('<m8[s]'), dtype('<M8[ns]'), dtype('int64'))
    """
    if code == STR:
        return TEXT
    if notation == "iso8601" and code in (I64, T64):
        return np.dtype(f"M8[{unit or 'ns'}]")
    if code == T64 and unit:
        try:
            dtype = np.dtype(unit)
        except TypeError:
            return _DTYPES[T64]
        return dtype if dtype.kind in "Mm" else _DTYPES[T64]
    return _DTYPES[code]


def nothing(dtype):
    """What a key that is not there looks like, other than a string."""
    if dtype.kind == "f":
        return np.nan
    if dtype.kind in "Mm":
        return np.array("NaT", dtype)[()]
    return np.zeros((), dtype)[()]


def nothing_item(dtype):
    """The same as a value of Python's, which tensors of others take."""
    return np.asarray(nothing(dtype)).item()
