"""Sizes are written in the same ways in options of the tool and of devices."""
import numpy as np

import formats
from harness import case, equal

# What a text means in bytes; None: it is not a size.
SIZES = {
    "900": 900, "0900": 900, "2^9": 512, "3^4": 81, "1e3": 1000, "1E3": 1000, "7e0": 7,
    "1K": 1024, "1k": 1024, "1KiB": 1024, "1kib": 1024, "1KIB": 1024, "10k": 10240,
    "1M": 2**20, "1MiB": 2**20, "4G": 2**32, "4GiB": 2**32, "4g": 2**32, "4gib": 2**32,
    "1T": 2**40, "1TiB": 2**40, "16777215TiB": 16777215 * 2**40, "2^63": 2**63,
    "18446744073709551615": 2**64 - 1,
    "4KB": None, "4GB": None, "4B": None, "4i": None, "4Ki": None, "4iB": None, "4P": None,
    "KiB": None, "": None, " 4": None, "4 ": None, "4 K": None, "-4": None, "+4": None,
    "4.5G": None, "4KiBs": None, "4KK": None, "2^": None, "^2": None, "1e": None, "e3": None,
    "2^9K": None, "0x10": None, "16777216T": None, "16777216TiB": None, "2^64": None,
    "1e20": None, "18446744073709551616": None, "99999999999999999999999": None,
}
NEEDED = 20000                        # bytes: with less a build fails


def build(t, *words):
    formats.write(t.path("k.sosd"), np.arange(5000, dtype="<u8"))
    return t.tool.run("build", "k.sosd", "--type", "u64", "--spec", "sorted", "-o", "k.sxt",
                      *words)


def check_size(t, text, option):
    """option(text): the words that limit the memory of a build."""
    bytes_meant = SIZES[text]
    result = build(t, *option(text))
    if bytes_meant is None:
        equal((result.code, result.err.count("\n")), (2, 1), "exit status and lines")
        return
    equal(result.code, int(bytes_meant < NEEDED), f"exit status with {result.err}")
    plain = build(t, *option(str(bytes_meant)))
    equal((result.code, result.err), (plain.code, plain.err), "what is said of plain bytes")


@case(SIZES)
def sizes_of_options(t, text):
    check_size(t, text, lambda size: [f"--max-bytes={size}"])


@case(SIZES, ["memory", "persist"])
def sizes_of_devices(t, text, name):
    if name == "memory":
        check_size(t, text, lambda size: [f"--device=simt,memory={size}"])
        return
    result = build(t, f"--device=simt,persist={text}")
    equal(result.code, 0 if SIZES[text] is not None else 2, f"exit status with {result.err}")
