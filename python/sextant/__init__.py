"""Sextant: ordered indexes in memory, asked in batches, on the CPU and on NVIDIA GPUs.

    >>> import sextant, numpy as np
    >>> ix = sextant.Index(np.array([30, 10, 20, 20]))
    >>> ix.floor(np.array([20, 25, 5]))         # the latest at or before
    array([ 3,  3, -1])

doc/PYTHON.md is the tutorial.
"""
from . import _errors
from ._collector import Collector
from ._core import VERSION as _VERSION
from ._devices import Estimate, devices, estimate
from ._dropins import asof, isin, searchsorted
from ._errors import *  # noqa: F401,F403
from ._index import Index, load
from ._ranges import Aggregates, Ranges

__version__ = f"{_VERSION // 10000}.{_VERSION // 100 % 100}.{_VERSION % 100}"
__all__ = ["Aggregates", "Collector", "Estimate", "Index", "Ranges", "asof", "devices",
           "estimate", "isin", "load", "searchsorted"] + _errors.__all__

for _thing in (Index, Collector, load, devices, estimate, asof, isin, searchsorted):
    _thing.__module__ = "sextant"
del _thing
