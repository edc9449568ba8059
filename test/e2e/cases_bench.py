"""sextant bench, on few keys."""
import os
import shutil
import subprocess

from harness import case, check, equal
from oracle import TYPES

FIELDS = {"spec": str, "device": str, "type": str, "dist": str, "n": int,
          "op": str, "batch": int, "threads": int, "mkeys_per_s": (int, float),
          "ns_per_key": (int, float), "vs_binary_search": (int, float),
          "bytes_per_key": (int, float), "build_s": (int, float), "wrong": int}
OPS = ["get", "rank", "floor", "ceil", "key_at", "range"]
SMALL = ("bench", "--n", "2^10", "--queries", "2^10", "--runs", "1")


def measurements(t, *options):
    """The lines of a small bench behind its header, each checked."""
    header, *lines = t.tool.json(*SMALL, *options)
    for field in ("cpu", "caches", "huge_pages", "seed"):
        check(field in header["header"], f"the header lacks {field}")
    check(lines, "nothing was measured")
    for line in lines:
        for field, kind in FIELDS.items():
            check(isinstance(line.get(field), kind),
                  f"{field} is {line.get(field)!r} in {line}")
        equal(line["wrong"], 0, "wrong answers")
        check(line["mkeys_per_s"] > 0, f"no speed in {line}")
        close = line["mkeys_per_s"] * line["ns_per_key"] / 1000
        check(0.99 < close < 1.01, f"M/s and ns do not agree in {line}")
    return lines


@case(TYPES)
def bench_of_every_type(t, type_name):
    lines = measurements(t, "--type", type_name, "--op", ",".join(OPS),
                         "--threads", "1")
    equal({line["op"] for line in lines}, set(OPS), "operations")
    equal({line["type"] for line in lines}, {type_name}, "types")
    equal({line["n"] for line in lines}, {1024}, "n")
    equal({line["threads"] for line in lines}, {1}, "threads")
    specs = {line["spec"] for line in lines}
    listed = {cell["family"] for cell in t.tool.json("devices", "--matrix")}
    # A family that has the name of another is listed by a spec of it.
    missing = [family for family in sorted(listed - {"auto"} | {"binary_search"})
               if not any(spec.startswith(family.rstrip(")")) for spec in specs)]
    check(not missing, f"only {specs} were measured, not {missing}")


@case("uniform", "dense", "normal", "lognormal", "exponential",
      "zipf-gapped", "clustered", "duplicates", "books-like", "wiki-like",
      "fb-like")
def bench_of_every_distribution(t, dist):
    lines = measurements(t, "--dist", dist, "--spec", "pivot(k=9),sorted",
                         "--op", "get,rank,range", "--misses", "0.2",
                         "--batch", "100")
    equal({line["dist"] for line in lines}, {dist}, "distributions")
    equal({line["batch"] for line in lines}, {100}, "batches")


@case("none", "32", "64")
def bench_rows(t, rows):
    measurements(t, "--rows", rows, "--spec", "pivot,eytzinger(k=5)", "--op",
                 ",".join(OPS), "--zipf")


@case()
def bench_over_devices(t):
    """Those of a list have the same keys and queries."""
    devices = ["cpu:scalar", "cpu:scalar,threads=1", "cpu:scalar,walk=alone"]
    lines = measurements(t, "--device", ";".join(devices), "--spec",
                         "pivot,sorted", "--op", "get")
    equal([(line["options"], line["requested_spec"]) for line in lines
           if line["spec"] != "binary_search"],
          [(device[11:], spec) for device in devices
           for spec in ("pivot", "sorted")], "lines")
    lines = measurements(t, "--device", "cpu,walk=alone;cpu:scalar",
                         "--threads", "2", "--spec", "pivot", "--op", "get")
    equal({line["threads"] for line in lines if line["spec"] != "binary_search"},
          {2}, "threads")
    text = t.tool.ok(*SMALL, "--spec", "pivot", "--op", "get", "--device",
                     ";".join(devices)).out.decode()
    check("\ncpu:scalar,walk=alone\n" in text, text)


@case()
def bench_as_a_table(t):
    text = t.tool.ok(*SMALL, "--spec", "pivot", "--op", "get").out.decode()
    for word in ("seed 1", "caches", "huge pages", "binary_search", "pivot",
                 "get"):
        check(word in text, f"{word!r} is not in the table:\n{text}")
    check("\x1b" not in text, "colours where there is no terminal")


@case()
def bench_to_a_file(t):
    result = t.tool.ok(*SMALL, "--spec", "sorted", "--json", "-o", "b.json")
    equal(result.out, b"", "stdout")
    check(t.path("b.json").read_text().count("\n") >= 4, "too few lines")


@case()
def bench_without_its_program(t):
    """The tool alone says what is missing; with the program in PATH it runs."""
    lonely = t.path("sextant")
    shutil.copy(t.tool.path, lonely)
    command = [str(lonely), "bench", "--n", "100", "--spec", "pivot"]
    here = os.path.dirname(os.path.realpath(t.tool.path))
    run = subprocess.run(command, capture_output=True, text=True,
                         env={"PATH": "/nowhere"})
    equal(run.returncode, 1, "the exit status")
    check("sextant-bench can't be run: No such file" in run.stderr, run.stderr)
    run = subprocess.run(command, capture_output=True, text=True,
                         env={"PATH": here})
    equal(run.returncode, 0, "the exit status")
