"""The options of sextant bench that bench/papers.sh needs, and the script itself."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import formats
import oracle
from formats import FORMATS
from harness import case, check, equal
from oracle import TYPES

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = ("--queries", "600", "--runs", "2", "--spec", "pgm(eps=32),sorted")
DEVICES = {"cpu": ("--device", "cpu"),
           "simt": ("--device", "simt", "--builds", "0")}


def lines_of(t, *words):
    _, *lines = t.tool.json("bench", *SMALL, *words)
    for line in lines:
        equal(line["wrong"], 0, "wrong answers")
    return [x for x in lines if x["spec"] != "binary_search"]


@case(DEVICES, TYPES)
def bench_keys_of_a_file(t, device, type_name):
    (t.dir / "deep").mkdir()
    t.tool.ok("gen", "--type", type_name, "--dist", "duplicates", "--n",
              "3000", "-o", "deep/keys.npy")
    lines = lines_of(t, *DEVICES[device], "--keys", "deep/keys.npy",
                     "--type", type_name, "--misses", "0.3", "--op",
                     "get,rank,range", "--hits", "5")
    equal(len(lines), 6, "lines")
    equal({(x["n"], x["type"], x["dist"]) for x in lines},
          {(3000, type_name, "keys.npy")}, "keys, type and file")


@case(DEVICES)
def bench_keys_of_a_sosd_file(t, device):
    """Sorted files with names that tell the type, as SOSD's are."""
    t.tool.ok("gen", "--type", "u32", "--dist", "fb-like", "--n", "3000",
              "--sorted", "--format", "sosd", "-o", "few_uint32")
    lines = lines_of(t, *DEVICES[device], "--keys", "few_uint32", "--rows",
                     "none", "--op", "get", "--explain")
    for line in lines:
        equal((line["type"], line["n"]), ("u32", 3000), "type and keys")
        parts = {s["name"]: s["bytes"] for s in line["index"]["sections"]}
        check(12000 <= parts["keys"] < 12100, "bytes of keys")
        check("rows" not in parts, "positions of sorted keys are stored")
        equal("segments" in parts, line["index"]["family"] == "pgm",
              "segments")


@case("--n 5", "--dist normal", "--unique")
def bench_keys_and_generated_ones(t, words):
    t.tool.ok("gen", "--type", "u64", "--n", "10", "-o", "keys.sosd")
    option = words.split()[0]
    t.tool.fails(2, option, "bench", "--keys", "keys.sosd", "--type", "u64",
                 *words.split())


@case()
def bench_keys_that_are_not_there(t):
    t.tool.ok("gen", "--type", "u64", "--n", "0", "-o", "none.npy")
    t.tool.fails(1, "none.npy", "bench", "--keys", "none.npy")
    t.tool.fails(1, "no.npy", "bench", "--keys", "no.npy")
    t.tool.fails(2, "--from-host", "bench", "--from-host")
    t.tool.fails(2, "--keys", "bench", "--format", "npy")


@case(DEVICES, ["f32", "f64"])
def bench_keys_that_are_odd_numbers(t, device, type_name):
    """NaNs of many kinds, zeros with a sign, infinities, the smallest."""
    dtype = oracle.DTYPES[type_name]
    drawn = np.frombuffer(t.rng.bytes(8000), dtype)
    nans = (np.frombuffer(t.rng.bytes(400), f"u{dtype.itemsize}")
            | np.array([np.nan], dtype).view(f"u{dtype.itemsize}")).view(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    some = np.array([0.0, -0.0, np.inf, -np.inf, tiny, -tiny, 3 * tiny, -3 * tiny] * 9, dtype)
    keys = t.rng.permutation(np.concatenate([drawn, nans, some]))
    formats.write(t.path("keys.npy"), keys, "npy")
    for misses in ("0", "0.5"):
        lines = lines_of(t, *DEVICES[device], "--keys", "keys.npy", "--misses", misses, "--op",
                         "get,rank,floor,ceil,key_at,range", "--hits", "5", "--rows", "32")
        equal({x["n"] for x in lines}, {len(keys)}, "keys")


@case(FORMATS)
def bench_keys_in_each_format(t, format_name):
    """By the name, by --format if the name says nothing, and from stdin."""
    keys = oracle.random_keys(t.rng, "f64", 500)
    data = formats.encode(keys, format_name)
    for name in ("keys" + FORMATS[format_name], "keys.data"):
        t.path(name).write_bytes(data)
    words = ("bench", *SMALL, "--type", "f64", "--op", "get")
    t.tool.ok(*words, "--keys", "keys" + FORMATS[format_name])
    t.tool.ok(*words, "--keys", "keys.data", "--format", format_name)
    t.tool.ok(*words, "--keys", "-", "--format", format_name, stdin=data)
    t.tool.fails(2, "add --format", *words, "--keys", "keys.data")


@case(DEVICES)
def bench_of_several_batches(t, device):
    lines = lines_of(t, *DEVICES[device], "--n", "2000", "--op", "get,rank",
                     "--batch", "7,2^8,600", "--latency")
    equal([(x["requested_spec"], x["op"], x["batch"]) for x in lines],
          [(spec, op, batch) for spec in ("pgm(eps=32)", "sorted")
           for op in ("get", "rank") for batch in (7, 256, 600)], "lines")
    for line in lines:
        check(0 < line["call_us"] <= line["call_p99_us"],
              f"times of calls in {line}")
    without = lines_of(t, *DEVICES[device], "--n", "2000", "--batch", "7")
    check(all("call_us" not in x and "index" not in x for x in without),
          "times of calls that nobody asked for")


@case("0", "x", "1,,2", ",".join(["1"] * 33))
def bench_batches_that_are_none(t, words):
    t.tool.fails(2, "--batch", "bench", "--n", "10", "--batch", words)


@case("none", "32", "64")
def gpu_bench_from_the_host(t, rows):
    """Builds from host memory; host columns in batches, of each place."""
    lines = lines_of(t, "--device", "simt,bucket=16", "--n", "2000",
                     "--rows", rows, "--from-host", "--builds", "1",
                     "--batch", "100,600", "--latency", "--op",
                     "get,get_pageable", "--spec",
                     "pgm,pivot place=hybrid,pgm place=host")
    equal(len(lines), 12, "lines")


# ---- the script -------------------------------------------------------------

def papers(t, *figures, **environment):
    return subprocess.run(
        ["bash", str(REPOSITORY / "bench/papers.sh"), *figures],
        capture_output=True, text=True, env={
            **os.environ, "SX_BIN": t.tool.path, "SMALL": "1",
            "OUT_DIR": str(t.dir / "out"), "COMMIT": "tested",
            "PYTHON": sys.executable, "TMPDIR": str(t.dir), **environment})


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


@case()
def papers_all(t):
    """Every figure comes out, with every set, and no answer is wrong."""
    done = papers(t, "all")
    check(done.returncode == 0, done.stdout + done.stderr)
    four = {"books", "wiki", "fb", "osm"}
    seven = four - {"wiki"} | {"1e5", "1e6", "1e7", "1e8"}
    sets = {"gpu-pgm-fig4": four, "gpu-pgm-fig5": four,
            "gpu-pgm-table2": four, "gpu-pgm-table3": four,
            "g-learned-fig7": seven, "g-learned-fig8": seven,
            "g-learned-fig9": {"1e7", "osm"}, "g-learned-fig10": {"1e7"},
            "g-learned-fig13": seven, "g-learned-table1": {"1e6"},
            "g-learned-table2": {"1e7"}}
    files = {path.stem: read(path) for path in t.path("out").glob("*.json")}
    equal(sorted(files), sorted(sets), "figures")
    for name, (head, *lines) in files.items():
        equal((head["figure"], head["commit"]), (name, "tested"), "the head")
        measured = [x for x in lines if "not_measured" not in x]
        equal({x["set"] for x in measured}, sets[name], f"sets of {name}")
        equal(sum(x["wrong"] for x in measured), 0, f"wrong in {name}")
        check(any(x["spec"].startswith("pgm") for x in measured),
              f"nothing of ours in {name}")
    shown = subprocess.run([sys.executable, "-B",
                            str(REPOSITORY / "bench/papers.py"),
                            str(t.path("out"))], capture_output=True,
                           text=True)
    check(shown.returncode == 0, shown.stderr)
    equal(shown.stdout.count("\n#### ") + 1, len(sets), "tables")
    check(f"{len(sets)} figures" in shown.stdout, shown.stdout[-200:])


@case()
def papers_without_peers(t):
    """The script says what it can't measure, and goes on."""
    done = papers(t, "gpu-pgm-fig5", PEERS="/nowhere", PYTHON="/nowhere")
    check(done.returncode == 0, done.stdout + done.stderr)
    lines = read(t.path("out") / "gpu-pgm-fig5.json")
    check(any("not_measured" in x for x in lines), "no word of the tree")
    shown = subprocess.run([sys.executable, "-B",
                            str(REPOSITORY / "bench/papers.py"),
                            str(t.path("out"))], capture_output=True,
                           text=True)
    check("Not measured: B+-tree" in shown.stdout, shown.stdout)


@case()
def papers_of_no_figure(t):
    done = papers(t, "gpu-pgm-fig4", "fig99")
    equal(done.returncode, 2, "exit status")
    check("fig99" in done.stderr, done.stderr)
    equal(papers(t).returncode, 2, "exit status without a figure")
