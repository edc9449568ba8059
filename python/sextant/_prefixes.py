"""Prefixes of keys: how many bits of each count; networks say it themselves."""
import ipaddress

import numpy as np

from ._errors import InvalidError, InvalidTypeError
from . import _types

_NETWORKS = (ipaddress.IPv4Network, ipaddress.IPv6Network)
_WIDTHS = {_types.U32: 32, _types.I64: 64, _types.U64: 64}        # where IPv4 fits


def one_length(bits):
    """bits as one number for all prefixes; 0 for None."""
    if bits is None:
        return 0
    if not isinstance(bits, (int, np.integer)) or isinstance(bits, bool):
        raise InvalidTypeError(f"bits is {bits!r}; it is a number, or an array with one for each prefix")
    if not 0 <= bits < 2**32:
        raise InvalidError(f"bits is {bits}; a key has from 0 to 128")
    return int(bits)


def lengths(bits, shape):
    """(array of uint32 or None, one length for all)

    >>> lengths([1, 2], (2,)), lengths(7, (2,))
    ((array([1, 2], dtype=uint32), 0), (None, 7))
    """
    if bits is None or isinstance(bits, (int, np.integer)):
        return None, one_length(bits)
    array = np.asarray(bits)
    if array.dtype.kind not in "iu":
        raise InvalidTypeError(f"bits are {array.dtype}; they are integers")
    if array.shape != shape:
        raise InvalidError(f"bits has the shape {array.shape}, and the prefixes {shape}")
    wrong = (array < 0) | (array > 128)
    if wrong.any():
        i = int(np.flatnonzero(wrong.reshape(-1))[0])
        raise InvalidError(f"bits[{i}] is {array.reshape(-1)[i]}; a key has from 0 to 128")
    return np.ascontiguousarray(array, np.uint32), 0


def of_networks(of, code):
    """(first addresses, bits) of one network, or of a list of them.

    >>> of_networks(ipaddress.ip_network("10.0.0.0/8"), _types.I64)
    (167772160, 40)
    """
    one = isinstance(of, _NETWORKS)
    given = [of] if one else list(of) if isinstance(of, (list, tuple)) else []
    if not one and (not given or not all(isinstance(n, _NETWORKS) for n in given)):
        raise InvalidTypeError("bits says how many leading bits of each prefix count: it can be left out "
                        "only for strings and networks of the ipaddress module")
    if len({n.version for n in given}) > 1:
        raise InvalidTypeError("networks are of IPv4 and of IPv6; keys are one of them")
    if given[0].version == 6:
        if code != _types.B16:
            raise InvalidTypeError("networks of IPv6 are prefixes of 16-byte keys")
        first = np.frombuffer(b"".join(n.network_address.packed for n in given), "V16")
        bits = [n.prefixlen for n in given]
    else:
        if code not in _WIDTHS:
            raise InvalidTypeError("networks of IPv4 are prefixes of uint32, int64 and uint64 keys")
        first = [int(n.network_address) for n in given]
        bits = [_WIDTHS[code] - 32 + n.prefixlen for n in given]
    return (first[0], bits[0]) if one else (first, bits)
