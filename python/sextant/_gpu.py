"""Arrays in a GPU's memory: torch, cupy, and what has __cuda_array_interface__ or DLPack.

Questions about such arrays are queued on their package's current stream, and what comes
back is an array of the same package, on the same GPU.
"""
import sys

import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _core, _inputs, _types

_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


class GpuArray:
    """A contiguous array of keys on a GPU: what the library needs to know of it."""

    def __init__(self, obj, what):
        if not _inputs.is_gpu(obj):           # its address would be taken for one there
            raise InvalidError(f"{what}: {type(obj).__name__} that is not on a GPU, as other "
                             f"arguments are: copy it there")
        self.package = _package_of(obj)
        obj = self._plain(obj)
        if hasattr(type(obj), "__cuda_array_interface__"):
            told = obj.__cuda_array_interface__
            self.address, shape, strides = told["data"][0], told["shape"], told.get("strides")
            dtype = np.dtype(told["typestr"])
            self.stream_told = told.get("stream")
            self.owner = obj
        else:
            self.address, shape, strides, dtype, self.owner = _of_dlpack(obj, what)
            self.stream_told = None
        self.dtype = _types.key_dtype(dtype, what)
        if self.dtype != dtype:
            raise InvalidTypeError(f"{what} are {dtype} on a GPU; 4-, 8- and 16-byte keys are not copied "
                            f"there: make them {self.dtype} first")
        self.shape = tuple(shape)
        self.n = int(np.prod(self.shape, dtype=np.int64))
        if strides is not None and not _contiguous(self.shape, strides, dtype.itemsize):
            raise InvalidError(f"{what} are not contiguous on the GPU: copy them first")
        self.device = _device_number(obj)

    def _plain(self, obj):
        """Contiguous, and of a dtype of ours, where the package can do that."""
        if self.package is None or self.package.__name__ == "cupy":
            if self.package is None:
                return obj
            wider = _types.WIDER.get(np.dtype(obj.dtype))
            return self.package.ascontiguousarray(obj if wider is None else obj.astype(wider))
        torch = self.package
        wider = {torch.bool: torch.int32, torch.int8: torch.int32, torch.uint8: torch.int32,
                 torch.int16: torch.int32, torch.float16: torch.float32}.get(obj.dtype)
        return (obj.detach() if wider is None else obj.detach().to(wider)).contiguous()

    def column(self, dtype, what):
        """A column of keys of that dtype."""
        if self.dtype != dtype:
            raise InvalidTypeError(f"{what} are {self.dtype}, and the keys are {dtype}: convert them on "
                            f"the GPU first")
        return _core.Column(self.address, _types.code_of(dtype), 1, self.n, False, self.owner)

    def stream(self):
        """The package's current stream as the library takes it; 0: wait instead."""
        if self.package is None:
            return int(self.stream_told or 0)
        if self.package.__name__ == "cupy":
            told = self.package.cuda.get_current_stream().ptr
        else:
            told = self.package.cuda.current_stream(self.owner.device).cuda_stream
        return int(told) or 1                 # 0 is the legacy default stream, the library's 1

    def finish(self):
        """Wait for what the caller has queued."""
        if self.package is None:
            return
        if self.package.__name__ == "cupy":
            self.package.cuda.get_current_stream().synchronize()
        else:
            self.package.cuda.current_stream(self.owner.device).synchronize()

    def empty(self, shape, dtype, what="answers"):
        """A new array of the same package on the same GPU."""
        dtype = np.dtype(dtype)
        if self.package is None:
            raise InvalidTypeError(f"{what} need an array of their own: pass out=, as "
                            f"{type(self.owner).__name__} is not of torch or cupy")
        if self.package.__name__ == "cupy":
            with self.package.cuda.Device(self.device):
                return self.package.empty(shape, dtype)
        return self.package.empty(shape, dtype=getattr(self.package, dtype.name),
                                  device=self.owner.device)

    def put(self, array, where, value):
        """Set elements of an array. cupy waits for the stream to count those of a mask."""
        if self.package is not None and self.package.__name__ == "cupy":
            self.package.copyto(array, value, where=where)
        else:
            array[where] = value


def _package_of(obj):
    """torch or cupy, or None."""
    for name, kind in (("torch", "Tensor"), ("cupy", "ndarray")):
        package = sys.modules.get(name)
        if package is not None and isinstance(obj, getattr(package, kind)):
            return package
    return None


def _contiguous(shape, strides, itemsize):
    expected = itemsize
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n > 1 and stride != expected:
            return False
        expected *= n
    return True


def _of_dlpack(obj, what):
    told = _core.dlpack(obj.__dlpack__())
    _, _, code, bits, address, shape, strides, owner = told
    if code not in _DLPACK_KINDS:
        raise InvalidTypeError(f"{what} are a tensor of DLPack's type {code}; numbers are keys")
    dtype = np.dtype(f"{_DLPACK_KINDS[code]}{bits // 8}")
    if strides is not None:
        strides = tuple(s * dtype.itemsize for s in strides)
    return address, shape, strides, dtype, owner


def _device_number(obj):
    """The number of the GPU; None if the array does not say."""
    ask = getattr(obj, "__dlpack_device__", None)
    return int(ask()[1]) if ask is not None else None


def out_column(out, what):
    """A column over out=, an array on a GPU that is written."""
    array = GpuArray(out, what)
    return _core.Column(array.address, _types.code_of(array.dtype), 1, array.n, True, array.owner)
