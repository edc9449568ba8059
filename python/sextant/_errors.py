"""Exceptions. Each carries a sentence: the value, its place, what is allowed."""
import builtins

__all__ = [
    "Error", "OutOfMemoryError", "InvalidError", "DeviceNotFoundError", "NotSupportedError",
    "SpaceError", "DeviceError", "CorruptError", "ForkError", "FileError", "TimeoutError",
    "CanceledError", "InvalidTypeError", "RankError", "NoSuchKeyError",
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


class InvalidTypeError(Error, TypeError):
    """An argument is of a type that is not taken there."""


class RankError(Error, IndexError):
    """There is no key of that rank."""


class NoSuchKeyError(Error, KeyError):
    """ix[key]: there is no such key."""


for _name in __all__:
    globals()[_name].__module__ = "sextant"
