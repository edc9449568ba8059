"""Figures of the paper HB+: bench/papers_hb.sh, its tables, and its document.

Other families and options stand in for those of bench/hb_specs.sh, so that every figure has
lines, whatever this build has."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cases_peers import with_tree
from harness import case, check, equal

REPOSITORY = Path(__file__).resolve().parents[2]
BOTH = {"pivot", "pivot(layout=pairs)"}
HYBRID = {f"{spec} place=hybrid" for spec in BOTH}
PLACES = HYBRID | {f"{spec} place=host" for spec in BOTH}
SPECS = r"""
. bench/hb_specs.sh
hb_implicit=pivot hb_regular='pivot(layout=pairs)'
hb_shared_64='pivot(k=5)' hb_shared_32='guide(layout=pairs,block=8)'
hb_pages=('walk=alone' 'walk=nowhere') hb_searches=('walk=alone' 'walk=whole')
hb_ahead=('threads=1' 'threads=2') hb_strategies=('scan=thread' 'scan=mixed' 'scan=warp')
hb_plain='persist=0' hb_weak='memory=1MiB'
"""
# Counts as the bench works: 7 for itself, 100 for a build of a spec, 10 for each pass over
# all queries, 1000 for each of plain binary search.
PERF = r"""#!/usr/bin/python3
import sys
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
specs, runs = value("--spec").count("pivot"), int(value("--runs"))
with open(value("-o"), "w") as out:
    print("# started", file=out)
    count = 7 + specs * (100 + 10 * (1 + runs)) + 1000 * runs
    print(f"{count},,dTLB-load-misses:u,1,100.00,,", file=out)
"""


def papers(t, *figures, specs=SPECS, **environment):
    t.path("specs.sh").write_text(specs)
    done = subprocess.run(
        ["bash", str(REPOSITORY / "bench/papers.sh"), *figures], capture_output=True, text=True,
        env={**os.environ, "SX_BIN": str(t.tool.path), "SMALL": "1", "OUT_DIR": str(t.dir / "out"),
             "COMMIT": "tested", "PEERS": "/nowhere", "PYTHON": sys.executable,
             "TMPDIR": str(t.dir), "HB_SPECS": str(t.path("specs.sh")), **environment})
    check(done.returncode == 0, done.stdout + done.stderr)
    files = {}
    for path in t.path("out").glob("*.json"):
        with open(path) as lines:
            files[path.stem] = [json.loads(line) for line in lines]
    return files


def shown(t):
    done = subprocess.run([sys.executable, "-B", str(REPOSITORY / "bench/papers.py"),
                           str(t.path("out"))], capture_output=True, text=True)
    check(done.returncode == 0, done.stdout + done.stderr)
    return done.stdout


FIGURES = {                           # figure -> specs, options, sizes
    "7": (BOTH, {"walk=alone"}, {"2^10", "2^12"}),
    "8": (BOTH, {"walk=alone", "walk=whole"}, {"2^10", "2^12"}),
    "9": ({"pivot", "eytzinger(k=9)"}, {""}, {"2^10", "2^12"}),
    "10": (HYBRID, {f"side=gpu,persist=0,scan={how},bucket=512" for how in ("thread", "mixed", "warp")},
           {"2^10", "2^12"}),
    "11": (HYBRID, {"side=gpu,bucket=256", "side=gpu,bucket=512"}, {"2^12"}),
    "12": (HYBRID | {"pivot place=host"}, {""}, {"2^12"}),
    "15": ({"sorted place=host", "pivot place=host", "pivot place=hybrid"}, {""},
           {"2^10", "2^12"}),
    "16a": (PLACES, {""}, {"2^10", "2^12"}),
    "16b": (PLACES, {""}, {"2^10", "2^12"}),
    "16c": (PLACES, {"side=gpu,bucket=512"}, {"2^10", "2^12"}),
    "17": (PLACES, {""}, {"2^12"}),
    "18": (PLACES, {"memory=1MiB,side=gpu,persist=0", "memory=1MiB"}, {"2^10", "2^12"}),
    "19": (BOTH | {"pivot(k=5)", "guide(layout=pairs,block=8)"}, {""}, {"2^10", "2^12"}),
    "20": (BOTH, {"threads=1", "threads=2"}, {"2^12"}),
}


@case()
def papers_hb_plus(t):
    """Every figure comes out, with all contenders and sizes, and no answer is wrong."""
    files = papers(t, "hb-plus")
    equal(sorted(files), sorted(f"hb-plus-fig{number}" for number in FIGURES), "figures")
    for number, (specs, told, sizes) in FIGURES.items():
        head, *lines = files[f"hb-plus-fig{number}"]
        equal((head["figure"], head["commit"]), (f"hb-plus-fig{number}", "tested"), "the head")
        measured = [x for x in lines if "not_measured" not in x]
        equal({x["requested_spec"] for x in measured}, specs, f"specs of figure {number}")
        equal({x["told"] for x in measured}, told, f"options of figure {number}")
        equal({x["set"] for x in measured}, sizes, f"sizes of figure {number}")
        equal(sum(x["wrong"] for x in measured), 0, f"wrong in figure {number}")
    lines = {name: [x for x in of if "not_measured" not in x and "set" in x]
             for name, of in files.items()}
    equal({x["skew"] for x in lines["hb-plus-fig12"]}, {"uniform", "normal", "gamma", "zipf2"},
          "skews")
    equal({x["hits"] for x in lines["hb-plus-fig17"]}, {1, 4, 8, 32}, "hits")
    equal({x["type"] for x in lines["hb-plus-fig16b"]}, {"u32"}, "types")
    equal({x["rows"] for x in lines["hb-plus-fig16b"]}, {"32"}, "rows")
    equal({x["threads"] for x in lines["hb-plus-fig9"]}, {1}, "threads")
    text = shown(t)
    equal(text.count("\n#### ") + 1, len(FIGURES), "tables")
    equal(text.count("\n| --- |"), len(FIGURES) + 1, "tables, two of figure 19")
    check("Not measured: pivot with walk=nowhere: " in text, text)
    check("Not measured: absl::btree_map: not built: make peers" in text, text)


@case()
def papers_hb_plus_counts_misses(t):
    """Of all that perf counts, the passes of the spec alone."""
    t.path("bin").mkdir()
    t.path("bin/perf").write_text(PERF.replace("/usr/bin/python3", sys.executable))
    t.path("bin/perf").chmod(0o755)
    files = papers(t, "hb-plus-fig7", PATH=f"{t.path('bin')}:{os.environ['PATH']}")
    counted = [x for x in files["hb-plus-fig7"] if "tlb_misses" in x]
    equal({(x["requested_spec"], x["set"], x["told"]) for x in counted},
          {(spec, size, "walk=alone") for spec in BOTH for size in ("2^10", "2^12")}, "counted")
    for line in counted:                  # 10 a pass, of 2048 queries
        check(abs(line["tlb_misses"] - 10 / 2048) < 1e-6, f"{line}")
    text = shown(t)
    check("Misses of the TLB per query" in text and "0.00488" in text, text)


@case()
def papers_hb_plus_out_of_time(t):
    """A figure whose turn does not come is named, and one that takes too long leaves the others."""
    files = papers(t, "hb-plus-fig16a", HB_SECONDS="-1")
    _, *lines = files["hb-plus-fig16a"]
    check(lines and all("had not come" in x["not_measured"] for x in lines), f"{lines}")


@case()
def papers_hb_plus_without_its_family(t):
    """Trees that a build does not have are named, and there are no figures of them."""
    files = papers(t, "hb-plus-fig16a", specs=SPECS +
                   "hb_implicit=tree-of-wonders hb_regular=tree-of-wonders\n")
    _, *lines = files["hb-plus-fig16a"]
    check(lines and all("unknown family" in x["not_measured"] for x in lines), f"{lines}")
    text = shown(t)
    check("Not measured: tree-of-wonders place=hybrid: " in text, text)
    check("| ---" not in text, text)


@case()
def papers_hb_plus_beside_a_peer(t):
    files = papers(t, "hb-plus-fig9", PEERS=str(with_tree(t).parent))
    beside = [x for x in files["hb-plus-fig9"] if x.get("run") == "peer"]
    equal([(x["spec"], x["set"], x["wrong"]) for x in beside],
          [("absl::btree_map", "2^10", 0), ("absl::btree_map", "2^12", 0)], "lines of the peer")
    check("| `absl::btree_map` |" in shown(t), "no column")


@case()
def document_of_hb_plus_has_what_was_measured(t):
    """A table where there is a file, the newest; elsewhere a sentence that there is none."""
    papers(t, "hb-plus-fig12")
    for path in ("doc", "README.md"):
        (shutil.copytree if path == "doc" else shutil.copy)(REPOSITORY / path, t.path(path))
    results = t.path("bench/results")
    results.mkdir(parents=True)
    for path in (REPOSITORY / "bench/results").iterdir():
        if path.is_dir() and not list(path.glob("hb-plus*")) or path.is_file():
            (results / path.name).symlink_to(path)
    document = t.path("doc/papers/hb-plus.md")

    def made():
        done = subprocess.run([sys.executable, "-B", str(REPOSITORY / "bench/report.py"), "--root",
                               str(t.dir)], capture_output=True, text=True)
        equal(done.returncode, 0, done.stderr)
        return document.read_text()
    text = made()
    equal(text.count("*Not measured yet*"), len(FIGURES), "figures without a file")
    equal(text.count("| ---: |"), 0, "tables of nothing")
    for number in FIGURES:
        check(f"`bench/papers.sh hb-plus-fig{number}`" in text, f"no word of figure {number}")
    for name in ("papers-Z-2001-01-01", "papers-A-2002-02-02"):
        shutil.copytree(t.path("out"), results / name)
    text = made()
    equal(text.count("*Not measured yet*"), len(FIGURES) - 1, "figures without a file")
    check("papers-A-2002-02-02/hb-plus-fig12.json" in text, "another folder than the newest")
    check("\n| zipf2 | " in text, "no table")
