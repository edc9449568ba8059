"""Input files: formats, names, stdin, and files that are wrong."""
import io
import struct

import numpy as np

import formats
import oracle
from answers import check_lookups
from formats import FORMATS
from harness import case, check, equal
from oracle import KEY_SETS, TYPES, Oracle


def build_file(t, name, type_name, *options, stdin=b""):
    """Builds a sorted index from the keys in a file."""
    words = ("--type", type_name) if type_name else ()
    t.tool.ok("build", name, *words, "--spec", "sorted", "-o", "file.sxt",
              *options, stdin=stdin)
    return t.path("file.sxt").read_bytes()


@case(TYPES, FORMATS)
def keys_in_each_format(t, type_name, format_name):
    """The file's name, --format and stdin all give one index."""
    keys = KEY_SETS["mixed"](t.rng, type_name)
    queries = oracle.queries_for(t.rng, type_name, keys)
    expected = t.path(t.tool.build(keys, "sorted", type_name)).read_bytes()
    data = formats.encode(keys, format_name)
    named = "column" + FORMATS[format_name]
    for name in (named, "column.data"):
        t.path(name).write_bytes(data)
    same = {
        "by name": build_file(t, named, type_name),
        "by --format": build_file(t, "column.data", type_name, "--format",
                                  format_name),
        "from stdin": build_file(t, "-", type_name, "--format", format_name,
                                 stdin=data),
    }
    for how, built in same.items():
        check(built == expected, f"another index {how}")

    formats.write(t.path("q.data"), queries, format_name)
    for mode in oracle.MODES:
        ask = ("--mode", mode, "--format", format_name)
        result = t.tool.ok("lookup", "file.sxt", "q.data", *ask)
        piped = t.tool.ok("lookup", "file.sxt", "-", *ask, "-o", "-",
                          stdin=t.path("q.data").read_bytes())
        equal([None if line == "-" else int(line) for line in result.lines],
              Oracle(keys).ask(mode, queries), mode)
        equal(piped.lines, result.lines, "through stdin and stdout")


@case(TYPES)
def text_is_what_stdin_has(t, type_name):
    keys = KEY_SETS["65"](t.rng, type_name)
    expected = t.path(t.tool.build(keys, "sorted", type_name)).read_bytes()
    built = build_file(t, "-", type_name, stdin=formats.as_text(keys))
    check(built == expected, "another index from stdin")


@case(TYPES, FORMATS)
def no_keys_in_each_format(t, type_name, format_name):
    none = oracle.random_keys(t.rng, type_name, 0)
    formats.write(t.path("none"), none, format_name)
    build_file(t, "none", type_name, "--format", format_name)
    check_lookups(t, "file.sxt", Oracle(none), oracle.extreme_keys(type_name))


@case(TYPES)
def npy_tells_its_type(t, type_name):
    keys = KEY_SETS["65"](t.rng, type_name)
    formats.write(t.path("keys.npy"), keys, "npy")
    build_file(t, "keys.npy", None)
    equal(t.tool.json("verify", "file.sxt")[0]["type"], type_name, "type")


@case("u32", "u64")
def benchmark_names_tell_type_and_format(t, type_name):
    keys = KEY_SETS["65"](t.rng, type_name)
    name = "books_200M_uint" + type_name[1:]
    formats.write(t.path(name), keys)
    build_file(t, name, None)
    check_lookups(t, "file.sxt", Oracle(keys), keys)


@case()
def npy_of_sixteen_single_bytes(t):
    """UUIDs as an array of shape (n, 16), and as byte strings."""
    keys = oracle.random_keys(t.rng, "b16", 100)
    for array in (keys.view("u1").reshape(-1, 16), keys):
        np.save(t.path("keys.npy"), array)
        build_file(t, "keys.npy", None)
        check_lookups(t, "file.sxt", Oracle(keys), keys)


@case("1.0", "2.0", "3.0")
def npy_versions(t, version):
    keys = oracle.random_keys(t.rng, "u64", 100)
    out = io.BytesIO()
    np.lib.format.write_array(out, keys, tuple(map(int, version.split("."))))
    t.path("keys.npy").write_bytes(out.getvalue())
    build_file(t, "keys.npy", None)
    check_lookups(t, "file.sxt", Oracle(keys), keys)


# ---- text -------------------------------------------------------------------

TEXTS = {
    "no newline at the end": ("u64", b"3\n1\n2", [3, 1, 2]),
    "carriage returns": ("u64", b"3\r\n1\r\n", [3, 1]),
    "blanks around": ("i32", b"  -3 \n\t4\t\n", [-3, 4]),
    "hexadecimal": ("u64", b"0x10\n0XfFfFfFfFfFfFfFfF\n", [16, 2**64 - 1]),
    "leading zeros": ("u32", b"007\n010\n", [7, 10]),
    "exponents": ("f64", b"1e3\n-2.5E-1\n.5\n5.\n", [1000, -0.25, 0.5, 5]),
    "not finite": ("f32", b"inf\n-inf\nInfinity\nnan\n-nan\nNaN\n",
                   [np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan]),
    "negative zero": ("f64", b"-0\n0\n-0.0\n", [-0.0, 0.0, -0.0]),
    "zeros": ("f32", b"0\n0.0\n0e5\n-0.0\n0e-999\n0x0p-9999\n", [0.0] * 6),
    "fewer bits than usual, f32": ("f32", b"1e-45\n1.1e-40\n-1e-45\n",
                                   [2.0**-149, 1.1e-40, -2.0**-149]),
    "fewer bits than usual, f64": ("f64", b"5e-324\n1e-310\n-4e-324\n",
                                   [5e-324, 1e-310, -5e-324]),
    "UUIDs": ("b16", b"00112233-4455-6677-8899-AABBCCDDEEFF\n" + b"f" * 32,
              [bytes(range(0, 256, 17)), b"\xff" * 16]),
}


@case(TEXTS)
def text_details(t, name):
    type_name, text, values = TEXTS[name]
    keys = np.array(values, oracle.DTYPES[type_name])
    t.path("keys.txt").write_bytes(text)
    build_file(t, "keys.txt", type_name)
    queries = np.concatenate([keys, oracle.extreme_keys(type_name)])
    check_lookups(t, "file.sxt", Oracle(keys), queries)


def float_text(key):
    """The fewest digits that give the same float, written as %g does."""
    enough = 17 if key.dtype == "f8" else 9
    with np.errstate(over="ignore"):
        digits = next(d for d in range(1, enough + 1)
                      if np.array(f"{float(key):.{d - 1}e}").astype(key.dtype) == key)
    usual = 15 if key.dtype == "f8" else 6
    text = f"{float(key):.{digits if abs(key) < np.finfo(key.dtype).tiny else max(digits, usual)}g}"
    mantissa = text.split("e")[0].replace(".", "").lstrip("-0")
    if "inf" not in text and "e" in text:     # else zeros before the point are not digits
        check(len(mantissa) == digits, f"{text} has not {digits} digits")
    return text


@case("f32", "f64")
def floats_with_no_more_digits_than_needed(t, type_name):
    dtype = oracle.DTYPES[type_name]
    info = np.finfo(dtype)
    some = [0.1, 1 / 3, 0.3, 1e22, 123456789, -2.5, 1e5, 1e-7, info.max, -info.max, info.tiny,
            info.smallest_subnormal, np.inf, -np.inf]
    drawn = np.frombuffer(t.rng.bytes(800), dtype)
    keys = np.unique(np.concatenate([np.array(some, dtype), drawn[np.isfinite(drawn)]]))
    expected = [float_text(key) for key in keys]
    check("0.1" in expected, "not the texts that are meant")
    index = t.tool.build(keys, "sorted", type_name)
    name = t.tool.write_queries(keys)
    lines = t.tool.ok("lookup", index, name, "--mode", "floor", "--keys").lines
    equal([line.split()[1] for line in lines], expected, "keys of lookup")
    lo, hi = t.tool.write_bounds(keys[:1], keys[-1:])
    equal(t.tool.ok("range", index, lo, hi, "--keys").lines[0].split(), expected, "keys of range")
    lines = t.tool.ok("lookup", index, name, "--mode", "get", "--json").lines
    finite = [f'{{"query": {text}, ' for text in expected if "inf" not in text]
    equal([line[:len(begin)] for line, begin in zip(lines[1:], finite)], finite, "JSON")
    text = t.tool.ok("gen", "--from", name, "--type", type_name, "--n", "500").lines
    check(set(text) <= set(expected), "other texts of gen")


# ---- files that are not what they should be ---------------------------------

def npy(array):
    return formats.encode(array, "npy")


ONES = np.ones(4, "<u8")

# format, type, bytes of the file, a word that the complaint must have
BAD_FILES = {
    "sosd: no count": ("sosd", "u64", b"\1\0\0", "bad"),
    "sosd: cut short": ("sosd", "u64", struct.pack("<QQ", 2, 5), "2"),
    "sosd: a lying count": ("sosd", "u64", struct.pack("<QQ", 2**60, 5),
                            str(2**60)),
    "sosd: the greatest count": ("sosd", "u64", b"\xff" * 16,
                                 str(2**64 - 1)),
    "sosd: bytes left over": ("sosd", "u32", struct.pack("<QQ", 1, 5), "bad"),
    "raw: half a key": ("raw", "u64", b"x" * 12, "12"),
    "npy: not one": ("npy", "u64", b"no magic here at all", "NUMPY"),
    "npy: cut in the header": ("npy", "u64", npy(ONES)[:40], "header"),
    "npy: cut in the values": ("npy", "u64", npy(ONES)[:-8], "4"),
    "npy: big-endian": ("npy", "u64", npy(ONES.astype(">u8")), ">u8"),
    "npy: two dimensions": ("npy", "u64", npy(ONES.reshape(2, 2)),
                            "2 dimensions"),
    "npy: another type": ("npy", "u64", npy(ONES.astype("<f4")), "f32"),
    "npy: halves": ("npy", "f32", npy(ONES.astype("<f2")), "f2"),
    "text: a word": ("text", "u64", b"1\n2\nthree\n", ":3"),
    "text: an empty line": ("text", "u64", b"1\n\n2\n", ":2"),
    "text: a negative": ("text", "u32", b"1\n-7\n", "-7"),
    "text: past u32": ("text", "u32", b"4294967296\n", "4294967296"),
    "text: past u64": ("text", "u64", b"18446744073709551616\n",
                       "18446744073709551616"),
    "text: below i64": ("text", "i64", b"-9223372036854775809\n",
                        "-9223372036854775809"),
    "text: past i32": ("text", "i32", b"2147483648\n", "2147483648"),
    "text: past f32": ("text", "f32", b"1e39\n", "1e39"),
    "text: past f64": ("text", "f64", b"0\n1e309\n", "1e309"),
    "text: below all of f32": ("text", "f32", b"0\n1e-50\n", ":2:1: '1e-50'"),
    "text: below all of f64": ("text", "f64", b"-1e-400\n", ":1:1: '-1e-400'"),
    "text: a fraction": ("text", "i32", b"1.5\n", "1.5"),
    "text: two numbers": ("text", "f64", b"1 2\n", "1 2"),
    "text: half a UUID": ("text", "b16", b"00112233\n", "00112233"),
    "text: control characters": ("text", "u64", b"1\n\x1b[31m\x07\n", ":2"),
    "text: a NUL": ("text", "u64", b"1\0\n", ":1"),
    "text: a long line": ("text", "u64", b"9" * 5000 + b"\n", ":1"),
}


@case(BAD_FILES)
def bad_files(t, name):
    """As keys and as queries, from a file and from stdin."""
    format_name, type_name, data, word = BAD_FILES[name]
    t.path("bad").write_bytes(data)
    index = t.tool.build(oracle.random_keys(t.rng, type_name, 9), "sorted",
                         type_name)
    for command in (("build", "{}", "--type", type_name, "-o", "bad.sxt"),
                    ("lookup", index, "{}", "--mode", "get")):
        words = [word.format("bad") for word in command]
        t.tool.fails(1, word, *words, "--format", format_name)
        words = [word.format("-") for word in command]
        t.tool.fails(1, word.replace("bad", "stdin"), *words, "--format",
                     format_name, stdin=data)
    check(not t.path("bad.sxt").exists(), "an index was left behind")


@case(FORMATS)
def queries_of_another_type(t, format_name):
    """Only .npy files tell their type; others are read as the index needs."""
    index = t.tool.build(oracle.random_keys(t.rng, "u64", 9), "sorted", "u64")
    queries = np.array([1.5, 2.5, 3.5], "<f4")
    name = "q" + FORMATS[format_name]
    formats.write(t.path(name), queries, format_name)
    word = {"npy": "f32", "text": "1.5"}.get(format_name, name)
    t.tool.fails(1, word, "lookup", index, name, "--mode", "get")
