"""Column files as the tool reads and writes them, in NumPy."""
import io
import struct

import numpy as np

from oracle import DTYPES

FORMATS = {"sosd": ".sosd", "raw": ".raw", "npy": ".npy", "text": ".txt"}


def key_text(key):
    """One key as text, with the fewest digits that mean the same float."""
    if isinstance(key, bytes):
        return key.ljust(16, b"\0").hex()
    return str(key)


def as_text(keys):
    return "".join(key_text(key) + "\n" for key in keys).encode()


def encode(keys, format_name):
    """The bytes of a file that holds these keys."""
    if format_name == "sosd":
        return struct.pack("<Q", len(keys)) + keys.tobytes()
    if format_name == "raw":
        return keys.tobytes()
    if format_name == "npy":
        out = io.BytesIO()
        np.save(out, keys.view("V16") if keys.dtype == "S16" else keys)
        return out.getvalue()
    return as_text(keys)


def decode(data, format_name, type_name):
    """The keys that the bytes of a file hold."""
    dtype = DTYPES[type_name]
    if format_name == "sosd":
        count, = struct.unpack_from("<Q", data)
        keys = np.frombuffer(data, dtype, offset=8)
        if len(keys) != count:
            raise ValueError(f"{len(keys)} keys, the header says {count}")
        return keys
    if format_name == "raw":
        return np.frombuffer(data, dtype)
    if format_name == "npy":
        keys = np.load(io.BytesIO(data))
        return keys.view("S16") if type_name == "b16" else keys
    lines = data.decode().splitlines()
    if type_name == "b16":
        return np.array([bytes.fromhex(line) for line in lines], dtype)
    if type_name[0] == "f":
        return np.array([float(line) for line in lines], dtype)
    return np.array([int(line) for line in lines], dtype)


def write(path, keys, format_name="sosd"):
    path.write_bytes(encode(keys, format_name))
    return path


def read(path, type_name, format_name="sosd"):
    return decode(path.read_bytes(), format_name, type_name)


def bits(keys):
    """The keys as bytes, so that NaNs and -0.0 compare exactly."""
    return np.ascontiguousarray(keys).tobytes()
