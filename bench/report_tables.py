"""The parts of documents that are made of files in bench/results/: for report.py."""
import contextlib
import io
import json
import textwrap

import gpu_table
import papers
from gpu_table import PAIRS16, number, power, row

EPYC = "AMD-EPYC-2026-11-15.json"
XEON = "Intel-Xeon-2026-11-15.json"
XEON_LEARNED = "Intel-Xeon-2026-11-16-learned.json"
GPU_A = "NVIDIA-H200-2026-11-16-again.json"
GPU_BCD = "NVIDIA-H200-2026-11-15.json"
GPU_E = "NVIDIA-H200-2026-11-16-learned.json"
GPU_FASTER = "NVIDIA-H200-2026-11-15-learned.json"
SWEEP = "NVIDIA-H200-2026-11-16-sweep.json"
COLLECT = "NVIDIA-H200-2026-11-16-collect.json"
AUTO_GPU = "auto-near-NVIDIA-H200-2026-11-16.json"
AUTO_CPU = "auto-look-Intel-Xeon-2026-11-16.json"
PAPERS = "papers-NVIDIA-H200-2026-11-16"
GRT = "grt-NVIDIA-H200-2026-11-17.json"
GRT_REAL = "grt-2-NVIDIA-H200-2026-11-17.json"

PIVOT, PIVOT_PAIRS = "pivot", "pivot(layout=pairs)"
GUIDE_PAIRS = "guide(layout=pairs)"


# ---- text -------------------------------------------------------------------

def table(head, rows, words=1):
    """The first `words` columns are words, the others numbers."""
    lines = [row(head), row(["---"] * words + ["---:"] * (len(head) - words))]
    return "\n".join(lines + [row(cells) for cells in rows]) + "\n"


def wrapped(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n\n"


def source(*of):
    """Where figures come from: triples of file, commit, command."""
    return wrapped("From " + "; ".join(f"`{name}`, commit {commit}, `{command}`"
                                       for name, commit, command in of) + ".")


def spec(text):
    return "plain binary search" if text == "binary_search" else f"`{text}`"


def printed(function, *arguments):
    """The text that a function of gpu_table.py or papers.py prints, without titles."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        function(*arguments)
    lines = text.getvalue().splitlines()
    kept = [line for line in lines if not line.startswith("#### ")]
    return "\n".join(kept).strip("\n") + "\n"


def right(line):
    """The line, if its answers are right; others have no speed."""
    if line is None or line["wrong"]:
        return None
    return line


# ---- files ------------------------------------------------------------------

def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def cpu_runs(path):
    """Run -> (commit, command, lines), of a file that bench/run.sh wrote."""
    runs, commit, now = {}, None, []
    for line in read(path):
        if "run" in line:
            now = []
            runs[line["run"]] = line.get("commit", commit), line["command"], now
        elif "commit" in line:
            commit = line["commit"]
        elif "header" not in line:
            now.append(line)
    return runs


def of_cpu(lines, **wanted):
    """The line with these members; None if there is none."""
    for line in lines:
        if all(line.get(name) == value for name, value in wanted.items()):
            return right(line)
    return None


def rate_times(line):
    """10^6 answers a second, and how many times plain binary search that is."""
    if line is None:
        return "-"
    if line["spec"] == "binary_search":
        return number(line["mkeys_per_s"])
    return f"{number(line['mkeys_per_s'])} ({number(line['vs_binary_search'])} ×)"


class Parts:
    """The names that templates can use."""

    def __init__(self, folder):
        self.folder = folder
        self.gpu = {name: gpu_table.read([folder / name])
                    for name in (GPU_A, GPU_BCD, GPU_E, GPU_FASTER)}
        self.names = {name.removeprefix("part_").replace("_", "-"): getattr(self, name)
                      for name in dir(self) if name.startswith("part_")}

    def read(self, name):
        return read(self.folder / name)

    def commit_of(self, name, letter):
        return next(lines[0]["commit"] for table_name, lines in self.gpu[name].items()
                    if table_name.startswith(letter))

    def gpu_source(self, *names):
        """Names of files, each with the letters of its tables."""
        return source(*((name, self.commit_of(name, letters[-1]), f"bench/gpu.sh {letters}")
                        for name, letters in names))

    def find(self, name, where, wanted, op, options=""):
        return right(gpu_table.find(self.gpu[name], where, wanted, op, options))

    # ---- the README ---------------------------------------------------------

    def part_figures(self):
        """The README's six figures."""
        commit, _, lines = cpu_runs(self.folder / EPYC)["points 2^26"]
        cpu = of_cpu(lines, requested_spec=PIVOT, op="get")
        wide, narrow = (self.find(GPU_E, f"E {size}-byte keys", GUIDE_PAIRS, "get")
                        for size in (8, 4))
        ranges = self.find(GPU_A, "A ranges of 16384", "pivot(k=9)", "range")
        pinned = self.find(GPU_A, "A memory of the host", "pivot(k=9,layout=pairs)",
                           "get_pinned")
        host, hybrid = gpu_table.hybrids(self.gpu[GPU_E])["pivot(k=9)"]
        rows = [
            ("one CPU thread (AMD EPYC), 2^26 8-byte keys", PIVOT,
             f"{number(cpu['mkeys_per_s'])} M/s, {number(cpu['vs_binary_search'])} × plain "
             "binary search", EPYC, commit),
            ("GPU (H200), 2^28 4-byte keys", GUIDE_PAIRS,
             f"{number(narrow['g_per_s'])} G/s, {number(narrow['vs_binary_search'])} × plain "
             "binary search there", GPU_E, narrow["commit"]),
            ("GPU, 2^28 8-byte keys", GUIDE_PAIRS,
             f"{number(wide['g_per_s'])} G/s, {number(wide['vs_binary_search'])} ×", GPU_E,
             wide["commit"]),
            ("GPU, queries and rows in pinned host memory", "pivot(k=9,layout=pairs)",
             f"{number(pinned['g_per_s'])} G/s", GPU_A, pinned["commit"]),
            ("GPU, rows of 2^16 ranges of 16384 keys summed up", "pivot(k=9)",
             f"{number(ranges['g_per_s'])} G keys/s", GPU_A, ranges["commit"]),
            ("hybrid, 10^8 8-byte keys on a host with 16 cores", "pivot(k=9)",
             f"{number(hybrid['g_per_s'])} G/s, {number(hybrid['g_per_s'] / host['g_per_s'])} × "
             "these cores alone", GPU_E, hybrid["commit"]),
        ]
        return table(["lookups by key, random hits", "index", "answers a second",
                      "file, commit"],
                     [[what, f"`{of}`", figure, f"`{name.removesuffix('.json')}`, {at}"]
                      for what, of, figure, name, at in rows], words=4)

    # ---- how it was measured ------------------------------------------------

    def part_readings(self):
        """How many measurements there are, in all files that the document uses."""
        lines = [x for name in (EPYC, XEON, XEON_LEARNED, GPU_A, GPU_E, GPU_BCD, SWEEP, COLLECT)
                 for x in self.read(name) if "wrong" in x]
        return f"{len(lines)} readings, {sum(x['wrong'] for x in lines)} wrong answers"

    # ---- CPU ----------------------------------------------------------------

    def part_cpu_points(self):
        runs = cpu_runs(self.folder / EPYC)
        head, *lines = self.read(XEON)
        commit = runs["points 2^26"][0]
        rows = []
        for asked in ("binary_search", "sorted", "eytzinger(k=2)", "eytzinger(k=9)", PIVOT,
                      PIVOT_PAIRS):
            cells = [rate_times(of_cpu(runs[f"points 2^{log}"][2], requested_spec=asked, op=op))
                     for log in (24, 26) for op in ("get", "rank")]
            cells += [rate_times(of_cpu(lines, requested_spec=asked, op=op, n=1 << log,
                                        type="u64")) for log in (24, 26)
                      for op in ("get", "rank")]
            rows.append([spec(asked)] + cells)
        return source((EPYC, commit, "bench/run.sh"),
                      (XEON, head["commit"], head["command"].partition(";")[0])) + table(
            ["M/s, one thread"] + [f"{cpu}, {op}, 2^{log}" for cpu in ("EPYC", "Xeon")
                                   for log in (24, 26) for op in ("get", "rank")], rows)

    def part_cpu_again(self):
        """By how much figures of a shared machine move."""
        runs = cpu_runs(self.folder / EPYC)
        values = {op: [of_cpu(lines, requested_spec=PIVOT, op=op)["vs_binary_search"]
                       for name, (_, _, lines) in runs.items()
                       if name in ("points 2^26", "points 2^26, again")]
                  for op in ("get", "rank")}
        return ", ".join(f"{number(min(v))} and {number(max(v))} × ({op})"
                         for op, v in values.items())

    def part_cpu_learned(self):
        head, *lines = self.read(XEON_LEARNED)
        rows = []
        for asked in (GUIDE_PAIRS, "guide", PIVOT, "pgm(eps=16)", "pgm(eps=64)"):
            cells = []
            for op in ("get", "rank"):
                values = [x["vs_binary_search"] for x in lines if not x.get("wrong", 1)
                          and (x["requested_spec"], x["op"]) == (asked, op)]
                cells.append(f"{number(min(values))} to {number(max(values))} ×")
            size = of_cpu(lines, requested_spec=asked, op="get")["bytes_per_key"]
            rows.append([spec(asked)] + cells + [number(size, 5), number(size - 16)])
        return source((XEON_LEARNED, head["commit"], head["command"])) + table(
            ["times plain binary search", "get", "rank", "bytes per key",
             "without keys and rows"], rows)

    def part_cpu_workloads(self):
        runs = cpu_runs(self.folder / EPYC)
        rows = []
        for name, what in (("points 2^26", "8-byte keys, uniform"),
                           ("points 2^26 clustered", "clustered"),
                           ("points 2^26 lognormal", "lognormal"),
                           ("points 2^26 duplicates", "duplicates"),
                           ("narrow keys", "4-byte keys"),
                           ("wide keys", "16-byte keys"), ("misses", "half of the queries miss"),
                           ("two threads", "two threads")):
            lines = runs[name][2]
            rows.append([what, power(lines[0]["n"])]
                        + [rate_times(of_cpu(lines, requested_spec=asked, op=op))
                           for asked in (PIVOT, PIVOT_PAIRS) for op in ("get", "rank")])
        return source((EPYC, runs["points 2^26"][0], "bench/run.sh")) + table(
            ["M/s", "keys"] + [f"`{asked}`, {op}" for asked in (PIVOT, PIVOT_PAIRS)
                               for op in ("get", "rank")], rows, words=2)

    def part_cpu_others(self):
        runs = cpu_runs(self.folder / EPYC)
        built = {x["build"]: x for x in runs["sorting and building"][2] if "build" in x}
        logs = (10, 16, 20, 24)
        rows = []
        for asked in ("sorted", "eytzinger(k=2)", "eytzinger(k=9)", PIVOT, PIVOT_PAIRS):
            hits = of_cpu(runs["ranges"][2], requested_spec=asked)
            one = [of_cpu(runs[f"one key a call 2^{log}"][2], requested_spec=asked, op="get")
                   for log in logs]
            rows.append([spec(asked), number(hits and hits["mkeys_per_s"]),
                         number(built[asked]["times_the_sort"])]
                        + [number(x and x["vs_binary_search"]) for x in one])
        commits = dict.fromkeys(runs[name][0] for name in
                                ("ranges", "one key a call 2^24", "sorting and building"))
        return source((EPYC, ", ".join(commits), "bench/run.sh")) + table(
            ["index", "ranges of 10,000: M hits/s", "build, × sort"]
            + [f"one key a call, 2^{log} keys" for log in logs], rows)

    def part_cpu_sort(self):
        lines = cpu_runs(self.folder / EPYC)["sorting and building"][2]
        return number(next(x for x in lines if "sort" in x)["times_as_fast"])

    # ---- GPU: points --------------------------------------------------------

    def part_gpu_points(self):
        rows = []
        for asked in ("binary_search", "sorted", "eytzinger(k=2)", "eytzinger(k=9)",
                      "eytzinger(k=17)", "pivot(k=9)", "pivot(k=9,layout=pairs)", PAIRS16,
                      "pgm(eps=64,layout=pairs)", "pgm(eps=16,layout=pairs)",
                      "pgm(eps=8,layout=pairs)", "guide", GUIDE_PAIRS):
            letter = "E" if asked.startswith(("guide", "pgm")) else "A"
            name = GPU_E if letter == "E" else GPU_A
            cells = [spec(asked), letter]
            for where, figures in (("4-byte keys", ("bytes_per_key", "get", "rank", "of_floor",
                                                    "build_x_sort")),
                                   ("8-byte keys", ("bytes_per_key", "get", "rank",
                                                    "build_x_sort")),
                                   ("fewer keys", ("get", "rank"))):
                get, rank = (self.find(name, f"{letter} {where}", asked, op)
                             for op in ("get", "rank"))
                for figure in figures:
                    line = rank if figure == "rank" else get
                    cells.append(number(line and line["g_per_s" if figure in ("get", "rank")
                                                      else figure]))
            rows.append(cells)
        return self.gpu_source((GPU_A, "A"), (GPU_E, "E")) + table(
            ["G/s", "from", "2^28 u32: bytes/key", "get", "rank", "get, of gather",
             "build, × sort", "2^28 u64: bytes/key", "get", "rank", "build, × sort",
             "2^24 u32: get", "rank"], rows, words=2)

    def part_gpu_sorts(self):
        """Of table A: gathers and sorts."""
        lines = [self.gpu[GPU_A][f"A {where}"][0]
                 for where in ("4-byte keys", "8-byte keys", "fewer keys")]
        return (", ".join(number(x["floor_g_per_s"]) for x in lines) + " G/s and "
                + ", ".join(number(1000 * x["sort_s"]) for x in lines) + " ms")

    def part_gpu_sizes(self):
        op = "get"
        by = {(x["n"], x["requested_spec"], x["op"]): right(x)
              for name, lines in self.gpu[GPU_BCD].items() if name[0] == "C" for x in lines}
        sizes = sorted({key[0] for key in by})
        specs = [s for s in dict.fromkeys(key[1] for key in by if key[2] == op)
                 if s not in ("eytzinger(k=2)", "eytzinger(k=17)")]
        rows = [[spec(s)] + [number(by[n, s, op] and by[n, s, op]["g_per_s"]) for n in sizes]
                for s in specs]
        rows.append(["gather of 4 bytes"]
                    + [number(by[n, "sorted", op]["floor_g_per_s"]) for n in sizes])
        return self.gpu_source((GPU_BCD, "C")) + table(
            ["get, G/s"] + [power(n) for n in sizes], rows)

    def part_gpu_calls(self):
        """Ascending queries, ranges, columns of the host."""
        rows = []
        for asked in ("sorted", "eytzinger(k=17)", "pivot(k=9)", "pivot(k=9,layout=pairs)",
                      PAIRS16):
            cells = [spec(asked)]
            for where, op, figure in (("ascending queries", "get", "g_per_s"),
                                      ("ascending queries", "rank", "g_per_s"),
                                      ("ranges of 64", "range", "g_per_s"),
                                      ("ranges of 16384", "range", "g_per_s"),
                                      ("memory of the host", "get_pinned", "g_per_s"),
                                      ("memory of the host", "get_pageable", "g_per_s"),
                                      ("memory of the host", "small", "us_per_pass")):
                line = self.find(GPU_A, f"A {where}", asked, op)
                cells.append(number(line and line[figure]))
            rows.append(cells)
        return self.gpu_source((GPU_A, "A")) + table(
            ["2^28 4-byte keys", "ascending: get, G/s", "rank, G/s", "ranges of 64: G hits/s",
             "of 16384: G hits/s", "pinned: get, G/s", "pageable: get, G/s",
             "1,024 queries: µs"], rows)

    def part_gpu_workloads(self):
        tables = {name: [x for x in lines if not x["wrong"]]
                  for name, lines in self.gpu[GPU_BCD].items()}
        chosen = ("get, 4-byte keys", "get, split", "get, 8-byte", "get, 2^24", "get, ascending q",
                  "ranges of 16384")
        kept = [of for of in gpu_table.ROWS if of[0].startswith(chosen)
                or (of[2], of[5]) == (", ranges of 16384", "hits")]
        every, gpu_table.ROWS = gpu_table.ROWS, kept
        try:
            text = printed(gpu_table.print_d, tables)
        finally:
            gpu_table.ROWS = every
        return self.gpu_source((GPU_BCD, "A D")) + text

    def part_gpu_learned(self):
        wheres = {"u32 hits": "4-byte keys", "may repeat": "4-byte keys that may repeat",
                  "half miss": "half of the queries miss",
                  "Zipf": "few keys asked for very often", "u64 uniform": "8-byte keys",
                  "lognormal": "lognormal", "clustered": "clustered"}
        rows = []
        for asked in (GUIDE_PAIRS, "pgm(eps=8,layout=pairs)", "pgm(eps=64,layout=pairs)",
                      "pivot(k=9,layout=pairs)"):
            lines = [self.find(GPU_E, f"E {where}", asked, "get") for where in wheres.values()]
            rows.append([spec(asked)] + [number(x and x["g_per_s"]) for x in lines]
                        + [number(lines[-1]["bytes_per_key"]), number(lines[-1]["build_x_sort"])])
        return self.gpu_source((GPU_E, "E")) + table(
            ["get, G/s"] + list(wheres) + ["clustered: bytes/key", "build, × sort"], rows)

    def part_fitting(self):
        """What making segments adds to a build."""
        seconds, n = gpu_table.fitting(self.gpu[GPU_E])
        return f"{number(1000 * seconds)} ms, {number(n / seconds / 1e9)} G keys/s"

    def part_gpu_options(self):
        lines = self.gpu[GPU_E]["E options"]
        options = list(dict.fromkeys(x["options"] for x in lines))
        specs = list(dict.fromkeys(x["requested_spec"] for x in lines
                                   if x["spec"] != "binary_search"))
        return self.gpu_source((GPU_E, "E")) + table(
            ["get, G/s"] + [f"`{o}`" if o else "as chosen" for o in options],
            [[spec(s)] + [number((self.find(GPU_E, "E options", s, "get", o) or {}).get("g_per_s"))
                          for o in options] for s in specs])

    def part_gpu_again(self):
        """By how much machines of one kind differ."""
        lines = [self.find(name, "E 4-byte keys", GUIDE_PAIRS, "get")
                 for name in (GPU_E, GPU_FASTER)]
        return " and ".join(f"{number(x['g_per_s'])} G/s where gather did "
                            f"{number(x['floor_g_per_s'])} ({x['commit']})" for x in lines)

    # ---- places -------------------------------------------------------------

    def part_hybrid(self):
        return self.gpu_source((GPU_E, "E")) + table(
            ["get, G/s", "host alone", "hybrid", "times"],
            [[spec(s), number(here["g_per_s"]), number(there["g_per_s"]),
              number(there["g_per_s"] / here["g_per_s"])]
             for s, (here, there) in gpu_table.hybrids(self.gpu[GPU_E]).items()])

    def part_both(self):
        lines = self.read(SWEEP)
        head = lines[0]
        by, sizes = {}, []
        for line in lines:
            if "batch" in line:
                sizes.append(line)
            if "summary" in line:
                at = next((x["batch"] for x in sizes if x["gpu_us"] < x["cpu_us"]), None)
                of = line["summary"]
                by[line["n"], line["type"]] = [f"{of['picked_faster']} of {of['sizes']}", at,
                                               of["predicted_crossover"]]
                sizes = []
        types = ("u32", "u64")
        return source((SWEEP, head["commit"], head["command"])) + table(
            ["keys"] + [f"{of}: {word}" for of in types for word in
                        ("faster side picked", "GPU faster from", "predicted")],
            [[power(n)] + [cell for of in types for cell in by[n, of]]
             for n in sorted({n for n, _ in by})])

    def part_collector(self):
        head, *lines = self.read(COLLECT)
        lines = [x for x in lines if "way" in x]
        ways = list(dict.fromkeys(x["way"] for x in lines))
        by = {(x["submitters"], x["way"]): right(x) for x in lines}
        rows = []
        for n in dict.fromkeys(x["submitters"] for x in lines):
            cells = [n]
            for way in ways:
                cells += [number(by[n, way]["mkeys_per_s"]), number(by[n, way]["p99_us"])]
            rows.append(cells)
        return source((COLLECT, head["commit"], head["command"])) + table(
            ["threads"] + [word for way in ways for word in (f"{way}: M keys/s", "99 %, µs")],
            rows, words=0)

    # ---- auto ---------------------------------------------------------------

    def part_auto_sums(self):
        rows, of = [], []
        for name, where in ((AUTO_GPU, "H200"), (AUTO_CPU, "Xeon")):
            lines = self.read(name)
            of.append((name, lines[0]["commit"],
                       f"bench/auto.py --device {'cuda:0' if where == 'H200' else 'cpu'} ..."))
            sets = [x["verdict"] for x in lines if "verdict" in x]

            def met(demand):
                return f"{sum(x[demand][0] for x in sets)} of {len(sets)}"
            rows.append([where] + [met(d) for d in ("auto(for=point) get", "auto(for=range) range",
                                                    "auto get", "auto range")])
        return source(*of) + table(
            ["key sets", "`auto(for=point)`, points", "`auto(for=range)`, ranges",
             "`auto`, points", "`auto`, ranges"], rows)

    def auto_rows(self, chosen):
        rows = []
        for line in self.read(AUTO_GPU):
            if "speeds" in line and chosen(line):
                speed, took, build = line["speeds"]["get"]["auto(for=point)"]
                hits = line["speeds"]["range"]["auto(for=range)"]
                rows.append([line, f"`{took}`", number(speed / 1e3),
                             number(line["verdict"]["auto(for=point) get"][1]),
                             number(hits[0] / 1e3), number(build)])
        return rows

    def part_auto_choices(self):
        dists = ("lognormal", "clustered", "fb-like", "zipf-values", "duplicates")
        order = ["u32", "f32", "b16", "u64"]
        rows = self.auto_rows(lambda x: x["dist"] == "uniform" and x["n"] != "2^12"
                              or (x["type"], x["n"]) == ("u64", "2^26") and x["dist"] in dists)
        rows.sort(key=lambda r: (order.index(r[0]["type"]), int(r[0]["n"][2:]),
                                 r[0]["dist"] != "uniform"))
        return table(["keys", "`auto(for=point)` takes", "get, G/s", "of the best",
                      "`auto(for=range)`: G hits/s", "build, × sort"],
                     [[f"{x['n']} {x['type']}, {x['dist']}"] + cells for x, *cells in rows],
                     words=2)

    # ---- papers -------------------------------------------------------------

    def part_paper(self, figure):
        """A figure or table of GPU-PGM or G-Learned, again."""
        of = papers.Figure(self.folder / PAPERS / f"{figure}.json")
        return f"From `{PAPERS}/{figure}.json`.\n" + printed(papers.show, of, False)

    def part_paper_newest(self, figure):
        """The same out of the folder with the latest date, if any has the figure."""
        paths = sorted(self.folder.glob(f"papers-*/{figure}.json"),
                       key=lambda path: (path.parent.name[-10:], path.parent.name))
        if not paths:
            return f"*Not measured yet*: `bench/papers.sh {figure}`.\n"
        return f"From `{paths[-1].parent.name}/{figure}.json`.\n" + \
            printed(papers.show, papers.Figure(paths[-1]), False)

    def part_grt(self, what):
        """Benchmarks of the paper on GRT: bulk, build, real, ranges or climbs."""
        lines = [line for line in self.read(GRT_REAL if what == "real" else GRT)
                 if "header" not in line and line["spec"] != "binary_search" and right(line)]
        if what == "climbs":
            return table(["keys", "family", "single lookups, G/s", "steps, G/s", "times"],
                         [[line["keys"], spec(line["spec"]), number(line["get_gps"]),
                           number(line["steps_gps"]), number(line["times"])]
                          for line in lines if line.get("op") == "climb"], words=2)
        lines = [line for line in lines if "part" in line]
        families = list(dict.fromkeys(line["requested_spec"] for line in lines))
        names = {"bulk": ("1S", "1D"), "build": ("1S", "1D"), "real": ("1A", "1B"),
                 "ranges": ("4S", "4D")}[what]
        rows = {}
        for line in lines:
            name, _, hits = line["part"].partition(" ")
            if name in names:
                first = f"{name}, {int(hits.split()[0]):,} hits" if hits else \
                    f"{name}, {power(line['n'])}" if what != "real" else name
                rows.setdefault(first, {})[line["requested_spec"]] = line
        if what == "build":
            return table(["keys", "bytes a key", "build, ms", "times the sort"],
                         [[first, number(of["radix"]["bytes_per_key"]),
                           number(of["radix"]["build_s"] * 1e3), number(of["radix"]["build_x_sort"])]
                          for first, of in rows.items()])
        return table([what if what == "ranges" else "keys", *map(spec, families)],
                     [[first, *(number(of[family]["g_per_s"]) for family in families)]
                      for first, of in rows.items()])

    def part_paper_commands(self, paper):
        """Which figures of a paper there are, and the command of each."""
        rows = [[title.partition(": ")[0].rpartition(" ")[2], title.partition(": ")[2],
                 f"`bench/papers.sh {name}`"]
                for name, (title, _) in papers.FIGURES.items() if name.startswith(paper)]
        return table(["figure", "what it shows", "command"], rows, words=3)

    def part_paper_b(self, name):
        """A table of the options of kernels."""
        function = {"schedules": gpu_table.print_schedules, "layouts": gpu_table.print_layouts,
                    "extremes": gpu_table.print_extremes, "walks": gpu_table.print_walks,
                    "scans": gpu_table.print_scans, "pin": gpu_table.print_pins,
                    "reorder": gpu_table.print_reorders}[name]
        return self.gpu_source((GPU_BCD, "B")) + printed(function, self.gpu[GPU_BCD])

    def part_paper_c(self):
        return self.gpu_source((GPU_BCD, "C")) + printed(gpu_table.print_c, self.gpu[GPU_BCD])
