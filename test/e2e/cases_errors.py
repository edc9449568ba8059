"""What a user can get wrong: exit status and the one line on stderr.

Usage errors (a wrong word on the command line) end with 2, failures (wrong
data, missing files) with 1.
"""
import re
import subprocess

import numpy as np

import formats
import oracle
from harness import case, check, equal

BUILD = "build keys.sosd --type u64 -o new.sxt"
LOOKUP = "lookup keys.sxt q.sosd --mode get"
RANGE = "range keys.sxt q.sosd q.sosd"

# command: a word that its complaint must name
USAGE_ERRORS = {
    "frobnicate": "frobnicate",
    "--frobnicate": "--frobnicate",
    "help frobnicate": "frobnicate",
    "gen --n 10": "--type",
    "gen --type u64": "--n",
    "gen --type u64 --n 10 -o keys.xyz": "keys.xyz",
    "gen --type u65 --n 10": "u65",
    "gen --type u64 --dist cauchy --n 10": "cauchy",
    "gen --type u64 --n ten": "ten",
    "gen --type u64 --n -5": "-5",
    "gen --type u64 --n 1.5": "1.5",
    "gen --type u64 --n 2^": "2^",
    "gen --type u64 --n 2^64": "2^64",
    "gen --type u64 --n 2^9999999999999999999999": "2^99",
    "gen --type u64 --n 18446744073709551616": "18446744073709551616",
    "gen --type u64 --n 10 --seed x": "'x'",
    "gen --type u64 --n 10 --format csv": "csv",
    "gen --type u64 --n": "--n",
    "gen --type u64 --n 10 stray": "stray",
    "gen --type u64 --n 10 --misses 0.5": "--misses",
    "gen --from keys.sosd --type u64 --n 10 --misses 1.5": "1.5",
    "gen --from keys.sosd --type u64 --n 10 --dist dense": "--dist",
    "build": "KEYS",
    "build keys.sosd --type u64": "-o",
    "build keys.sosd -o new.sxt": "--type",
    "build keys.data --type u64 -o new.sxt": "keys.data",
    "build keys.sosd --type u64 -o -": "'-'",
    "build - --type u64 --rows - -o new.sxt": "'-'",
    BUILD + " --type f16": "f16",
    BUILD + " --frobnicate": "--frobnicate",
    BUILD + " -x": "-x",
    BUILD + " stray": "stray",
    BUILD + " --threads 0": "'0'",
    BUILD + " --threads many": "many",
    BUILD + " --threads 257": "--threads wants at most 256, not '257'",
    BUILD + " --device simt --threads 257": "--threads wants at most 256",
    BUILD + " --row-type u16": "u16",
    BUILD + " --note unit": "--note wants NAME=VALUE, not 'unit'",
    BUILD + " --note": "NAME=VALUE",
    BUILD + " --note =ns": "0 bytes; allowed: 1 to 63",
    BUILD + " --note a=1 --note a=2": "'a' twice",
    BUILD + " --note " + 64 * "n" + "=1": "64 bytes; allowed: 1 to 63",
    BUILD + " --note a=" + 4096 * "v": "4096 bytes; allowed: up to 4095",
    BUILD + " ".join([""] + [f"--note n{i}=1" for i in range(65)]): "more than 64 times",
    BUILD + " --row-type u32": "--row-type is for --rows",
    BUILD + " --spec btree2": "btree2",
    BUILD + " --spec eytzinger(k=1)": "2 to 33",
    BUILD + " --spec eytzinger(k=34)": "34",
    BUILD + " --spec eytzinger(k=)": "k",
    BUILD + " --spec eytzinger(k=two)": "two",
    BUILD + " --spec eytzinger(k=5": "eytzinger(k=5",
    BUILD + " --spec eytzinger(k=5))": ")",
    BUILD + " --spec eytzinger(k=5,k=6)": "k",
    BUILD + " --spec eytzinger(levels=2)": "levels",
    BUILD + " --spec sorted(k=5)": "'k'",
    BUILD + " --spec pivot(k=99999999999)": "99999999999",
    BUILD + " --spec pivot(layout=heap)": "heap",
    BUILD + " --spec pivot(block=3,layout=pairs)": "block",
    BUILD + " --spec pivot(block=4)": "block",
    BUILD + " --spec auto(for=fun)": "fun",
    BUILD + " --device cpu:sse1": "sse1",
    BUILD + " --device gpu9": "gpu9",
    BUILD + " --device cpu:": "cpu:",
    BUILD + " --device simt,side=cpu,side=gpu": "side= is given twice",
    BUILD + " --device simt,memory=99999999999GiB": "too large",
    BUILD + " --device cpu:threads=1,threads=2": "threads= is given twice",
    BUILD + " --spec pgm(eps=4,budget=9)": "build: spec 'pgm(eps=4,budget=9)', character 11",
    BUILD + " --spec pivot#place=both": "build: spec 'pivot place=both': place=both needs a GPU",
    BUILD + " --device simt --spec sorted#place=hybrid": "build: spec 'sorted place=hybrid'",
    "bench --n 9 --spec pivot#place=both": "bench: spec 'pivot place=both'",
    "bench --n 9 --device gpu": "'gpu'",
    "bench --n 9 --device simt;gpu": "'gpu'",
    "bench --n 9 --latency": "--latency is for --json",
    "bench --n 9 --explain": "--explain is for --json",
    "bench --json --collect --latency": "--latency is not for --collect",
    "bench --json --sweep batch --explain": "--explain is not for --sweep",
    LOOKUP + " --device gpu": "'gpu'",
    LOOKUP + " --place device": "lookup: spec 'sorted",
    RANGE + " --count --place both": "needs a GPU",
    "explain keys.sxt --place hybrid": "needs a GPU",
    "explain keys.sxt --device gpu": "'gpu'",
    "verify keys.sxt --place both": "needs a GPU",
    BUILD + " --device cpu:threads=0": "0",
    BUILD + " --device cpu:threads=2 --threads 2": "--threads",
    "lookup keys.sxt": "QUERIES",
    "lookup keys.sxt q.sosd --mode find": "find",
    "lookup keys.sxt q.data --mode get": "q.data",
    "lookup - q.sosd --mode get": "'-'",
    LOOKUP + " --side left": "--side",
    LOOKUP + " --keys": "--keys",
    LOOKUP + " --json=yes": "--json",
    LOOKUP + " -o keys.sxt": "keys.sxt",
    LOOKUP + " --format sosd2": "sosd2",
    "lookup keys.sxt q.sosd --key 5": "not both",
    "lookup keys.sxt --key five": "--key 'five' is not a u64",
    "lookup keys.sxt --key 5 --columns 2": "--columns is for --lines",
    "lookup keys.sxt --key 5 --default 0": "--default is for",
    "lookup keys.sxt --key 5 --mode rank --lines q.txt": "--mode rank",
    "lookup keys.sxt --key 5 --lines q.npy": "q.npy",
    "lookup keys.sxt --key 5 --lines few.txt -o out.npy": "--lines needs text",
    "lookup keys.sxt --key 5 --mode floor --keys --values few.npy -o out.npy": "one column",
    LOOKUP + " --ke 5": "'--ke' may be --key or --keys",
    LOOKUP + " --o x": "'--o' may be",
    "build keys.csv --type u64 -o new.sxt --delimiter ab": "'ab'",
    "build keys.csv --type u64 -o new.sxt --column 0": "'0'",
    "build keys.csv --type u64 -o new.sxt --column a --header no": "--header no",
    "build keys.csv --type u64 -o new.sxt --comment ,": "the same",
    "build keys.csv --type u64 -o new.sxt": "keys.csv has 2 columns",
    "build keys.csv --column 1 -o new.sxt": "--type or --keys-as",
    "build keys.csv --column 1 --keys-as dec --type b16 -o new.sxt": "--keys-as dec",
    "build keys.csv --column 1 --keys-as ipv4 --type u64 -o new.sxt": "--type u64",
    "build keys.csv --column 1 --keys-as roman -o new.sxt": "roman",
    "build keys.sosd --keys-as cidr -o new.sxt": "networks are read from text",
    "build reserved.txt --type u64 --column 1 -o new.sxt": "--column is for csv",
    "build keys.csv few.csv --type u64 --column 1 -o few.csv": "few.csv",
    BUILD + " --note keys-as=x": "keys-as",
    "build keys.csv --column 1 --keys-as date -o new.sxt --note unit=ms": "--note unit",
    "lookup keys.sxt - --lines -": "only one file can be '-'",
    "head keys.sxt --lines - --lines -": "only one file can be '-'",
    "at keys.sxt": "RANK",
    "at keys.sxt one": "'one'",
    "head keys.sxt -n 0": "'0'",
    "head keys.sxt -o out.npy": "--rows or --keys",
    "head keys.sxt -o keys.sxt": "keys.sxt",
    "range keys.sxt q.sosd": "HI",
    "range keys.sxt - - --count": "'-'",
    RANGE: "--count",
    RANGE + " --count --rows": "--rows",
    RANGE + " --rows --limit 0": "--limit",
    RANGE + " --rows --limit ten": "ten",
    RANGE + " --rows --last": "--limit",
    RANGE + " --keys --lines reserved.txt": "--lines and --values show rows",
    RANGE + " --count --first f.npy": "--first is for",
    RANGE + " --rows --first f.npy -o f.npy": "the same",
    RANGE + " --rows --first q.sosd": "q.sosd",
    "range keys.sxt --lo 5 --count": "as many --lo as --hi",
    RANGE + " --lo 5 --hi 6 --count": "not both",
    RANGE + " --count q.sosd": "q.sosd",
    "explain": "INDEX",
    "explain keys.sxt keys.sxt": "keys.sxt",
    "verify": "INDEX",
    "verify keys.sxt --mode get": "--mode",
    "devices all": "all",
    "bench --op find": "find",
    "bench --spec sorted,,pivot": "--spec",
    "bench --spec nonsense": "nonsense",
    "bench --n 0": "'0'",
    "bench --runs 0": "'0'",
    "bench --submitters 2": "--collect",
    "bench --interval 2": "--collect",
    "bench --ms 2": "--collect",
    "bench --collect --submitters 1,,2": "''",
    "bench --collect --submitters 1,0": "'0'",
    "bench --collect --submitters 1025": "'1025'",
    "bench --collect --op range": "range",
    "bench --collect --batch 65537": "65537",
    "bench --collect --interval 2^32": "4294967296",
    "bench --collect --device cpu;cpu": "--collect",
}

FAILURES = {
    "build missing.sosd --type u64 -o new.sxt": "missing.sosd",
    "build . --type u64 --format raw -o new.sxt": ".",
    BUILD + " --rows missing.npy": "missing.npy",
    BUILD + " --rows few.npy": "keys.sosd has 4 keys, but few.npy has 2 rows",
    BUILD + " --rows reserved.npy": "reserved.npy: row 18446744073709551615 at position 2",
    BUILD + " --rows reserved.txt --row-type u32": "reserved.txt: row 4294967295 at position 1",
    BUILD + " --rows negative.npy": "-3",
    BUILD + " --rows floats.npy": "f64",
    BUILD + " --spec sorted --max-bytes 10": "build: building takes up to",
    BUILD + " --device cuda:99": "no device 'cuda:99'",
    "build keys.sosd --type u64 --spec sorted -o nowhere/new.sxt":
        "nowhere/new.sxt",
    "build keys.sosd --type u64 --spec sorted -o folder": "folder",
    "gen --type u64 --n 10 -o nowhere/keys.sosd": "nowhere/keys.sosd",
    "gen --type f32 --dist dense --n 2^26 -o keys3.raw": "67108864",
    "gen --from none.sosd --type u64 --n 10": "no keys",
    "lookup missing.sxt q.sosd --mode get": "missing.sxt",
    "lookup keys.sxt --key 4 --mode ceil --lines missing.csv": "missing.csv",
    "lookup keys.sxt --key 3 --lines few.csv --columns 2": "line of row 1 has no column 2",
    "lookup keys.sxt --key 9 --lines keys.csv": "row 3 has no line: keys.csv has 2",
    "lookup keys.sxt --key 9 --values few.npy": "row 3 has no value",
    "lookup keys.sxt --key 4 --values few.npy -o out.npy": "--default VALUE",
    "lookup keys.sxt --key 5 --lines keys.csv --columns 9": "has no column 9",
    "lookup keys.sxt --key 5 --lines keys.csv --columns nix": "no column is named 'nix'",
    "build keys.csv --column nix --type u64 -o new.sxt": "no column is named 'nix'",
    "lookup q.sosd q.sosd --mode get": "q.sosd",
    "lookup folder q.sosd --mode get": "folder",
    "lookup keys.sxt missing.sosd --mode get": "missing.sosd",
    LOOKUP + " -o nowhere/out.txt": "nowhere/out.txt",
    "range keys.sxt q.sosd none.sosd --count": "none.sosd",
    "range missing.sxt q.sosd q.sosd --count": "missing.sxt",
    "explain missing.sxt": "missing.sxt",
    "verify missing.sxt": "missing.sxt",
    "verify folder": "folder",
}


def prepare(t):
    t.tool.build(np.array([5, 3, 3, 9], "<u8"), "sorted", "u64")
    for name in ("q.sosd", "q.data", "keys.data"):
        formats.write(t.path(name), np.array([3, 4], "<u8"))
    formats.write(t.path("none.sosd"), np.array([], "<u8"))
    for name, rows in {
            "few": np.array([1, 2], "<u8"),
            "reserved": np.array([0, 1, 2**64 - 1, 3], "<u8"),
            "negative": np.array([0, -3, 2, 3], "<i8"),
            "floats": np.array([0, 1, 2, 3], "<f8")}.items():
        formats.write(t.path(name + ".npy"), rows, "npy")
    t.path("reserved.txt").write_text("0\n4294967295\n2\n3\n")
    t.path("keys.csv").write_text("1,2\n3,4\n")
    t.path("few.csv").write_text("1,2\n3\n")
    t.path("few.txt").write_text("1\n")
    t.path("folder").mkdir()


def fails_cleanly(t, code, command, word):
    """The line names the word, and no file has come, gone or changed. A '#' in
    a command is a blank within a word."""
    prepare(t)
    before = {path.name: path.stat().st_mtime_ns for path in t.dir.iterdir()}
    t.tool.fails(code, word, *(w.replace("#", " ") for w in command.split()))
    after = {path.name: path.stat().st_mtime_ns for path in t.dir.iterdir()}
    equal(after, before, "files")


@case(USAGE_ERRORS)
def usage_errors(t, command):
    fails_cleanly(t, 2, command, USAGE_ERRORS[command])


@case(FAILURES)
def failures(t, command):
    fails_cleanly(t, 1, command, FAILURES[command])


@case("", "two words", "\n\x1b[2J", "x" * 3000, "sorted\nsorted",
      "pivot(k=\xff)")
def specs_of_any_bytes(t, spec):
    """One line on stderr, whatever is on the command line."""
    prepare(t)
    result = t.tool.fails(2, "spec", *BUILD.split(), "--spec", spec)
    check("\x1b" not in result.err, "an escape sequence got through")


@case()
def an_unmet_budget_says_which_would_do(t):
    prepare(t)
    formats.write(t.path("many.sosd"), oracle.random_keys(t.rng, "u64", 9999))
    words = ("build", "many.sosd", "--type", "u64", "-o", "new.sxt", "--spec")
    result = t.tool.fails(1, "build: the segments of these keys take at least", *words,
                          "pgm(cuts=900,budget=1)")
    least, = re.findall(r"at least (\d+) KiB", result.err)
    t.tool.fails(1, "at least", *words, f"pgm(cuts=900,budget={int(least) - 1})")
    t.tool.ok(*words, f"pgm(cuts=900,budget={least})")


@case()
def a_limit_of_files_is_an_error(t):
    prepare(t)
    formats.write(t.path("many.sosd"), np.arange(9999, dtype="<u8"))
    before = sorted(path.name for path in t.dir.iterdir())
    for words in ("build many.sosd --type u64 --spec sorted -o new.sxt",
                  "build many.sosd --type u64 --spec sorted -o keys.sxt"):
        done = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", t.tool.path,
                               *words.split()], cwd=t.dir, capture_output=True, text=True)
        equal(done.returncode, 1, "exit status")
        check(done.stderr.startswith("sextant: build: ") and done.stderr.count("\n") == 1 and
              "File too large" in done.stderr, done.stderr)
        equal(sorted(path.name for path in t.dir.iterdir()), before, "files")
        t.tool.ok("verify", "keys.sxt")


@case("f32", "f64")
def a_reserved_row_is_named_with_its_place(t, type_name):
    keys = oracle.random_keys(t.rng, type_name, 50)
    rows = np.arange(50, dtype="<u4")
    rows[37] = 2**32 - 1
    formats.write(t.path("k.sosd"), keys)
    formats.write(t.path("r.npy"), rows, "npy")
    result = t.tool.fails(1, "37", "build", "k.sosd", "--type", type_name,
                          "--rows", "r.npy", "-o", "k.sxt")
    check(str(2**32 - 1) in result.err, "the row is not named")
