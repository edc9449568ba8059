"""The B+-tree of others that indexes are compared with: `make peers` and bench/peers.sh.

Where the package libabsl-dev is missing, a std::map stands in for its tree: the program is
tested all the same."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import formats
from harness import Skip, case, check, equal

REPOSITORY = Path(__file__).resolve().parents[2]
STAND_IN = """#include <map>
namespace absl {
template <typename... T> using btree_map = std::map<T...>;
template <typename... T> using btree_multimap = std::multimap<T...>;
}
"""


def make(t, *words):
    """Makes the program into a folder of the case."""
    for program in ("make", "g++"):
        if not shutil.which(program):
            raise Skip(f"there is no {program}")
    target = t.path("made/peers/absl_btree_map")
    clean = {name: value for name, value in os.environ.items()
             if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    run = subprocess.run(["make", "-s", "-C", str(REPOSITORY), "NVCC=", f"B={t.path('made')}",
                          *words, str(target)], capture_output=True, text=True, env=clean)
    check(run.returncode == 0, run.stdout + run.stderr)
    return target, run.stderr


def with_tree(t):
    (t.dir / "headers/absl/container").mkdir(parents=True)
    there = subprocess.run(["g++", "-std=c++17", "-x", "c++", "-E", "-"], capture_output=True,
                           input=b"#include <absl/container/btree_map.h>")
    if there.returncode == 0:
        return make(t)[0]
    t.path("headers/absl/container/btree_map.h").write_text(STAND_IN)
    return make(t, f"ABSL={t.path('headers')}")[0]


@case()
def peer_answers(t):
    """First positions of keys, repeated ones too, and misses, in batches."""
    program = with_tree(t)
    for type_name, dtype in (("u64", "<u8"), ("u32", "<u4")):
        keys = np.sort(np.repeat(t.rng.integers(0, 1 << 30, 700), 3)).astype(dtype)
        queries = np.concatenate([t.rng.choice(keys, 900), keys + 1]).astype(dtype)
        formats.write(t.path("keys.sosd"), keys, "sosd")
        formats.write(t.path("queries.sosd"), queries, "sosd")
        run = subprocess.run([program, type_name, t.path("keys.sosd"), t.path("queries.sosd"),
                              "2", "0", "100"], capture_output=True, text=True)
        equal(run.returncode, 0, run.stderr)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        equal([(x["spec"], x["type"], x["n"], x["queries"], x["batch"], x["threads"], x["wrong"])
               for x in lines],
              [("absl::btree_map", type_name, 2100, 3000, batch, 1, 0) for batch in (3000, 100)],
              "lines")
        check(all(x["mkeys_per_s"] > 0 and x["bytes"] >= 700 * 12 for x in lines), str(lines))
    formats.write(t.path("keys.sosd"), keys[::-1].copy(), "sosd")
    run = subprocess.run([program, "u32", t.path("keys.sosd"), t.path("queries.sosd")],
                         capture_output=True, text=True)
    check(run.returncode == 1 and "not sorted" in run.stderr, run.stderr)


@case()
def peer_without_its_package(t):
    """Making goes on, and says what is missing."""
    program, said = make(t, "CXX=false")
    check(not program.exists(), "a program of no compiler")
    check("left out" in said and "libabsl-dev" in said, said)


def peers(t, *specs, folder):
    return subprocess.run(["bash", str(REPOSITORY / "bench/peers.sh"), *specs],
                          capture_output=True, text=True, env={
                              **os.environ, "SX_BIN": str(t.tool.path), "PEERS": str(folder),
                              "LOG": "10", "QUERIES": "2^10", "RUNS": "1", "ROUNDS": "2",
                              "PYTHON": sys.executable, "TMPDIR": str(t.dir),
                              "OUT": str(t.path("lines.json"))})


@case()
def peers_take_turns(t):
    folder = with_tree(t).parent
    run = peers(t, "pivot", "guide(bucket=4,layout=pairs)", folder=folder)
    equal(run.returncode, 0, run.stdout + run.stderr)
    check("8 measurements, 0 wrong" in run.stdout, run.stdout)
    for word in ("absl::btree_map", "`pivot`", "`guide(bucket=4,layout=pairs)`", "2^10 u64"):
        check(word in run.stdout, run.stdout)
    lines = [json.loads(line) for line in t.path("lines.json").read_text().splitlines()]
    names = [x.get("requested_spec", x["spec"]) for x in lines if "spec" in x]
    equal(names, ["absl::btree_map", "binary_search", "pivot", "guide(bucket=4,layout=pairs)"] * 2,
          "turns")
    equal({x["rows"] for x in lines if "rows" in x}, {"64"}, "rows")
    equal({x["threads"] for x in lines if "threads" in x}, {1}, "threads")
    check(peers(t, "nothing", folder=folder).returncode == 1, "a spec that is none")
    every = peers(t, folder=folder)
    equal(every.returncode, 0, every.stdout + every.stderr)
    check("`guide(layout=pairs)`" in every.stdout, every.stdout)
    # A plain build has no options of a lab, and says so.
    check("`pipeline=16`, times `pipeline=1`" in every.stdout and
          "`pages=huge`, times `pages=small`" in every.stdout or
          "Pipelining and pages are not measured: " in every.stdout, every.stdout)


@case()
def peers_that_are_not_built(t):
    run = peers(t, folder="/nowhere")
    equal(run.returncode, 0, run.stderr)
    check("absl::btree_map is not measured" in run.stdout and "make peers" in run.stdout,
          run.stdout)
