"""Arrays as columns of a call, its options, and what comes back of it."""
import operator
import re

import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _core, _types
from ._inputs import tensor_world
from ._progress import ticking

MISS = -1
_ASCENDING = 1


def options(threads=0, ascending=False, max_bytes=0, stream=0, progress=None):
    """The options of a call as _core takes them; None: all are as usual."""
    if not (threads or ascending or max_bytes or stream or progress):
        return None
    return (whole(threads, "threads", 2**31 - 1), _ASCENDING if ascending else 0,
            whole(max_bytes, "max_bytes"), stream, ticking(progress))


def whole(number, what, most=2**64 - 1):
    """A number of things, as an int."""
    try:
        made = operator.index(number)
    except TypeError:
        raise InvalidTypeError(f"{what} is {number!r}; it is an integer") from None
    if not 0 <= made <= most:
        raise InvalidError(f"{what} is {made}; it is from 0 to {most}")
    return made


def check_nulls(nulls):
    if nulls not in ("error", "drop"):
        raise InvalidError(f"nulls is {nulls!r}; it can be 'error' or 'drop'")


def column_of(array, code):
    """A NumPy array, or Strings, as a column of that type."""
    if code == _types.STR:
        return array.column()
    array = array.view(np.int64) if array.dtype.kind in "Mm" else array
    return _core.Column(array, code) if code in (_types.T64, _types.B16) else array


def out_array(out, n=None, what="out"):
    """out= of a question with n answers, if they can be written there; None: not known yet."""
    if not isinstance(out, np.ndarray) or out.dtype.kind not in "iu" or out.dtype.itemsize < 4 \
            or not out.dtype.isnative or not out.flags.c_contiguous or not out.flags.writeable:
        raise InvalidTypeError(f"{what} is a contiguous, writeable array of int64, uint64, int32 or "
                        f"uint32")
    if n is not None and out.size != n:
        raise InvalidError(f"{what} has {out.size} elements, and there are {n} queries")
    return out


def stream_of(given, spec):
    """The caller's stream; 0 where the host answers or builds: what is queued was waited for."""
    if re.search(r"place=(host|hybrid)", spec):
        given.finish()
        return 0
    return given.stream()


def writable(array, code):
    """The column of an array that keys are written to."""
    if array.dtype.kind in "Mm":
        array = array.view(np.int64)
    return _core.Column(array, code, 0, 0, True)


def answers(rows, keys, default, mask, shape, out, torch):
    """What a question gives back: rows, then keys, then the mask, as far as asked for."""
    found = None
    if mask or default is not None:
        miss = MISS if rows.dtype.kind == "i" else np.iinfo(rows.dtype).max
        found = rows != miss
    if default is not None:
        if not isinstance(default, (int, np.integer)):
            raise InvalidTypeError(f"default is {default!r}; rows are integers, and so is it")
        info = np.iinfo(rows.dtype)
        if not info.min <= default <= info.max:
            raise InvalidError(f"default is {default}; it is from {info.min} to {info.max}, as "
                             f"{rows.dtype} is")
        np.copyto(rows, default, where=~found)
    result = [rows]
    if keys is not None:
        result.append(keys)
    if mask:
        result.append(found)
    if shape == ():
        result = [r if r is out else r[()] if r is keys else r[()].item() for r in result]
    elif torch is not None:
        result = [r if r is out else _tensor(torch, r) for r in result]
    return result[0] if len(result) == 1 else tuple(result)


def _tensor(torch, array):
    """The array as a tensor, where torch has one of its dtype."""
    try:
        return torch.from_numpy(array) if isinstance(array, np.ndarray) else array
    except TypeError:
        return array


def as_given(answer, given, out=None):
    """An array, or a tuple of arrays, as the caller has them: to tensors of torch on the CPU,
    answers are tensors."""
    torch = tensor_world(given)
    if torch is None or answer is out:
        return answer
    if isinstance(answer, tuple):
        made = [as_given(a, given, out) for a in answer]
        return type(answer)(*made) if hasattr(answer, "_fields") else tuple(made)
    return _tensor(torch, answer)
