"""Exceptions. Each carries the library's own sentence: the value, its place, what is allowed."""
import builtins

__all__ = [
    "Error", "OutOfMemoryError", "InvalidError", "DeviceNotFoundError", "NotSupportedError",
    "SpaceError", "DeviceError", "CorruptError", "ForkError", "FileError", "TimeoutError",
    "CanceledError",
]


class Error(Exception):
    """What all errors of the library are."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory; the sentence says how much was asked for."""


class InvalidError(Error, ValueError):
    """An argument is wrong."""


class DeviceNotFoundError(Error, ValueError):
    """There is no such device here."""


class NotSupportedError(Error, ValueError):
    """This can't be done with this device, family or place."""


class SpaceError(Error, ValueError):
    """An output is too small."""


class DeviceError(Error, OSError):
    """The device failed."""


class CorruptError(Error, ValueError):
    """A file or an index is damaged."""


class ForkError(Error, OSError):
    """A GPU can't be used after fork()."""


class FileError(Error, OSError):
    """The operating system refused a file."""


class TimeoutError(Error, builtins.TimeoutError):
    """A collector had no answer in that time."""


class CanceledError(Error):
    """progress= stopped the call."""


for _name in __all__:
    globals()[_name].__module__ = "sextant"
