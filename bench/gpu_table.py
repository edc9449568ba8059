#!/usr/bin/env python3
"""Makes Markdown tables of the file that bench/gpu.sh wrote.

    bench/gpu_table.py FILE... [--only goals|A|B|C|D|E]

bench/report.py makes the tables of doc/PERFORMANCE.md and doc/papers/ with it.

If a measurement was made more than once, the last one counts.
"""
import argparse
import json

PAIRS16 = "pivot(k=9,leaf=16,layout=pairs,block=16)"


# ---- numbers and tables -----------------------------------------------

def number(value, digits=3):
    """Three significant digits; '-' for none."""
    if value is None:
        return "-"
    if value == 0 or value >= 10 ** digits:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    if "e" in text:
        return f"{value:.6f}".rstrip("0")
    decimals = len(text.partition(".")[2])
    # 2.00, not 2: the zeros were measured, too
    digits_now = len(text.replace(".", "").lstrip("0"))
    missing = digits - digits_now
    return f"{value:.{decimals + missing}f}" if missing > 0 else text


def power(n):
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def print_table(head, rows, words=1):
    """The first `words` columns are words, the others numbers."""
    print(row(head))
    print(row(["---"] * words + ["---:"] * (len(head) - words)))
    for cells in rows:
        print(row(cells))
    print()


# ---- measurements -----------------------------------------------------

def read(paths):
    """Table -> its lines, in the order in which they were first made."""
    tables = {}
    for path in paths:
        with open(path) as lines:
            for line in map(json.loads, lines):
                if "table" not in line or "spec" not in line:
                    continue
                key = (line["options"], line["requested_spec"], line["op"])
                tables.setdefault(line["table"], {})[key] = line
    return {name: list(lines.values()) for name, lines in tables.items()}


def find(tables, name, spec, op, options=""):
    """The measurement with these members; None if it was not made."""
    for line in tables.get(name, []):
        if (line["requested_spec"], line["op"], line["options"]) == \
                (spec, op, options):
            return line
    return None


def workload(lines):
    """A sentence about what all lines of a table have in common."""
    one = next((x for x in lines if x["spec"] != "binary_search"), lines[0])
    words = [f"{power(one['n'])} {one['type']} keys"
             + (", unique" if one["unique"] else f", {one['dist']}"),
             "rows are positions" if one["rows"] == "none"
             else f"{one['rows']}-bit rows"]
    points = [x for x in lines if x["op"] not in ("range", "small")]
    if points:
        asked = power(points[0]["queries"]) + " queries"
        part = points[0]["found"] / points[0]["queries"]
        asked += ", all hits" if part == 1 else f", {100 * part:.1f} % hits"
        asked += ", few keys very often" if one["zipf"] else ""
        asked += ", ascending" if one["sorted"] else ""
        words.append(asked)
    ranges = [x for x in lines if x["op"] == "range"]
    if ranges:
        hits = dict.fromkeys(f"{x['work'] / x['queries']:.0f}"
                             for x in ranges)
        words.append(f"{power(ranges[0]['queries'])} ranges of "
                     f"{' or '.join(hits)} hits")
    words.append(f"gather {number(one['floor_g_per_s'])} G/s, sort "
                 f"{number(1000 * one['sort_s'])} ms")
    words.append(f"{one['gpu'].partition(',')[0]}, commit {one['commit']}")
    return "; ".join(words) + "."


def spec_of(line):
    asked = line["requested_spec"]
    return f"`{asked}`" if asked == line["spec"] or "auto" not in asked \
        else f"`{asked}`: `{line['spec']}`"


def speed(line):
    if line is None:
        return "-"
    if line["wrong"]:
        return f"WRONG {line['wrong']}"
    return number(line["g_per_s"])


def print_title(title, lines=None):
    print(f"#### {title[0].upper()}{title[1:]}\n")
    if lines:
        print(f"{workload(lines)}\n")


# ---- goals ------------------------------------------------------------

# The goal, the table that measures it, operation, figure, must, aim, and which
# lines count. Where less is better, must is above aim.
GOALS = [
    ("rows, at most 8.6 bytes/key, G/s", "A 4-byte keys", "get", "g_per_s",
     12, 16, lambda x: x["bytes_per_key"] <= 8.6),
    ("8-byte keys, at most 13 bytes/key, G/s", "A 8-byte keys", "get",
     "g_per_s", 8, 11, lambda x: x["bytes_per_key"] <= 13),
    ("2^24 keys, G/s", "A fewer keys", "get", "g_per_s", 20, 30, None),
    ("ascending queries with the hint, G/s", "A ascending queries", "get",
     "g_per_s", 45, 70, None),
    ("2^16 ranges of 64 hits, sum of rows, G hits/s", "A ranges of 64",
     "range", "g_per_s", 85, 150, None),
    ("... of 16384 hits, split layout, G hits/s", "A ranges of 16384",
     "range", "g_per_s", 900, 1050, lambda x: "pairs" not in x["spec"]),
    ("build of pivots, split layout, times the sort", "A 4-byte keys", "get",
     "build_x_sort", 1.35, 1.2, lambda x: x["requested_spec"] == "pivot(k=9)"),
    ("build of the fastest (row 1), times the sort", "A 4-byte keys", "get",
     "build_x_sort", 1.35, 1.2, lambda x: x["requested_spec"] == PAIRS16),
    ("pinned host memory in and out, G/s", "A memory of the host",
     "get_pinned", "g_per_s", 9, 11.5, None),
    ("pageable host memory, G/s", "A memory of the host", "get_pageable",
     "g_per_s", 3, 5, None),
    ("1,024 queries on the device, rows to the host, us",
     "A memory of the host", "small", "us_per_pass", 20, 12, None),
    ("guide, rows, at most 8.3 bytes/key, G/s", "E 4-byte keys", "get",
     "g_per_s", 22, 28, lambda x: is_of(x, "guide", 8.3)),
    ("guide, 2^24 keys, G/s", "E fewer keys", "get", "g_per_s", 32, 42,
     lambda x: is_of(x, "guide")),
    ("guide, 8-byte keys, at most 12.5 bytes/key, G/s", "E 8-byte keys",
     "get", "g_per_s", 13, 20, lambda x: is_of(x, "guide", 12.5)),
    ("pgm, rows, at most 30 MB beside keys and rows, G/s", "E 4-byte keys",
     "get", "g_per_s", 12, 17,
     lambda x: is_of(x, "pgm", 8 + 30e6 / x["n"])),
    ("pgm or guide, lognormal 8-byte keys, G/s", "E lognormal", "get",
     "g_per_s", 9, 15, lambda x: is_of(x, ("pgm", "guide"))),
    ("pgm or guide, clustered 8-byte keys, G/s", "E clustered", "get",
     "g_per_s", 9, 15, lambda x: is_of(x, ("pgm", "guide"))),
    ("10^8 keys, pinned host memory in and out, G/s",
     "E 10^8 keys in memory of the host", "get_pinned", "g_per_s", 9, 11.5,
     None),
]


def is_of(line, family, most=None):
    """Whether a line is of a family, and takes at most `most` bytes a key."""
    return line["spec"].startswith(family) and \
        (most is None or line["bytes_per_key"] <= most)


def fitting(tables):
    """What making segments adds to a build, and the number of its keys.

    The build is one that did not measure how to search, if there is one."""
    for table, options in (("E fitting", "search=complete"),
                           ("E 4-byte keys", "")):
        fit, plain = (find(tables, table, spec, "get", options)
                      for spec in ("pgm(eps=16)", "sorted"))
        if fit and plain:
            return fit["build_s"] - plain["build_s"], fit["n"]
    return None


def hybrids(tables):
    """Spec -> the same index on the host alone, and hybrid."""
    pairs = {}
    for line in tables.get("E hybrid", []):
        spec, _, place = line["requested_spec"].partition(" place=")
        pairs.setdefault(spec, {})[place] = line
    return {spec: (of["host"], of["hybrid"]) for spec, of in pairs.items()
            if len(of) == 2}


def times_hits(tables, table):
    """Guides and their speed on a workload of table E, over that for hits."""
    plain = {x["requested_spec"]: x["g_per_s"]
             for x in tables.get("E 4-byte keys", []) if x["op"] == "get"}
    return [(x["requested_spec"], x["g_per_s"] / plain[x["requested_spec"]])
            for x in tables.get(table, []) if x["op"] == "get"
            and is_of(x, "guide") and x["requested_spec"] in plain]


def print_goals(tables):
    rows = []

    def goal(what, must, aim, figures):
        """Figures are pairs of a spec and a number. The best one counts."""
        if not figures:
            return
        sign = 1 if aim > must else -1
        spec, best = max(figures, key=lambda x: sign * x[1])
        rows.append([what, f"`{spec}`", must, aim, number(best),
                     "aim" if sign * best >= sign * aim else
                     "must" if sign * best >= sign * must else "neither"])

    for what, table, op, figure, must, aim, counts in GOALS:
        goal(what, must, aim,
             [(x["requested_spec"], x[figure]) for x in tables.get(table, [])
              if x["op"] == op and not x["wrong"]
              and x["requested_spec"] not in ("binary_search", "auto")
              and (counts is None or counts(x))])
    goal("half of the queries miss, times hits", 0.8, 1,
         times_hits(tables, "E half of the queries miss"))
    goal("few keys asked for very often, times all alike", 1, 2,
         times_hits(tables, "E few keys asked for very often"))
    fit = fitting(tables)
    goal("lines for sorted keys, eps=16, the host's clock, G keys/s", 5, 15,
         fit and [("pgm(eps=16)", fit[1] / fit[0] / 1e9)])
    goal("hybrid, 10^8 8-byte keys, times the host alone", 1.5, 2.4,
         [(spec, there["g_per_s"] / here["g_per_s"])
          for spec, (here, there) in hybrids(tables).items()])
    print_title("goals")
    print_table(["row", "index", "must", "aim", "measured", "reached"], rows,
                words=2)


# ---- A: specs down, operations across ---------------------------------

def print_points(lines):
    by = {}
    for line in lines:
        by.setdefault(spec_of(line), {})[line["op"]] = line
    rows = []
    for spec, of in by.items():
        get, rank = of.get("get"), of.get("rank")
        one = get or rank
        rows.append([spec, number(one["bytes_per_key"]), speed(get),
                     number(get and get["vs_binary_search"]),
                     number(get and get["of_floor"]), speed(rank),
                     number(1000 * one["build_s"]),
                     number(one["build_x_sort"])])
    print_table(["index", "bytes/key", "get G/s", "x binary", "of gather",
                 "rank G/s", "build ms", "x sort"], rows)


def print_all_ranges(tables):
    names = [name for name in tables if name.startswith("A ranges")]
    if not names:
        return
    print_title("ranges", [x for name in names for x in tables[name]])
    specs = dict.fromkeys(spec_of(x) for name in names for x in tables[name])
    of = {(name, spec_of(x)): x for name in names for x in tables[name]}
    head, rows = ["index"], [[spec] for spec in specs]
    for name in names:
        head += [name.partition(" of ")[2] + " hits: G hits/s", "GB/s"]
        for spec, cells in zip(specs, rows):
            line = of.get((name, spec))
            cells += [speed(line), number(line and line["gb_per_s"])]
    print_table(head, rows)


def print_host(lines):
    by = {}
    for line in lines:
        by.setdefault(spec_of(line), {})[line["op"]] = line
    print_table(["index", "pageable G/s", "pinned G/s", "1,024 queries, us"],
                [[spec, speed(of.get("get_pageable")),
                  speed(of.get("get_pinned")),
                  number(of["small"]["us_per_pass"])
                  if "small" in of and not of["small"]["wrong"] else "-"]
                 for spec, of in by.items()])


def print_a(tables):
    for name, lines in tables.items():
        if name[0] != "A" or name.startswith("A ranges"):
            continue
        print_title(name[2:], lines)
        if lines[-1]["op"] in ("get", "rank"):
            print_points(lines)
        else:
            print_host(lines)
    print_all_ranges(tables)


# ---- B: what the options of a device do -------------------------------

SCHEDULES = "B schedule and block"
CHOSEN = ["sorted", "eytzinger(k=2)", "eytzinger(k=9)", "pivot(k=9)"]


def specs_in(lines):
    return list(dict.fromkeys(x["requested_spec"] for x in lines
                              if x["spec"] != "binary_search"))


def print_schedules(tables):
    lines = tables.get(SCHEDULES)
    if not lines:
        return
    print_title("O1: schedule and block (G/s, one block's queries: "
                "1024 / 2048)", lines)
    rows = []
    for schedule in ("static", "dynamic"):
        for block in (128, 256, 512, 1024):
            cells = [f"`{schedule}`", block]
            for spec in CHOSEN:
                cells.append(" / ".join(
                    speed(find(tables, SCHEDULES, spec, "get",
                               f"schedule={schedule},block={block},"
                               f"each={queries // block}"))
                    for queries in (1024, 2048)))
            rows.append(cells)
    print_table(["schedule", "block"] + [f"`{s}`" for s in CHOSEN], rows)


def print_options(tables, title, name, columns):
    """Specs down, options across; columns: title -> options."""
    lines = tables.get(name)
    if not lines:
        return
    print_title(title)
    print_table(["get, G/s"] + list(columns),
                [[f"`{spec}`"] + [speed(find(tables, name, spec, "get", o))
                                  for o in columns.values()]
                 for spec in specs_in(lines)])


def print_layouts(tables):
    name = "B layout"
    lines = tables.get(name)
    if not lines:
        return
    print_title("O4: layout (G/s)")
    rows = []
    for spec in specs_in(lines):
        if "pairs" in spec:
            continue
        pairs = spec.replace(")", ",layout=pairs)") if "(" in spec \
            else spec + "(layout=pairs)"
        rows.append([f"`{spec}`"] + [speed(find(tables, name, s, op))
                                     for op in ("get", "rank")
                                     for s in (spec, pairs)])
    rows.append([f"`{PAIRS16}`"] + [text for op in ("get", "rank") for text in
                                    ("-", speed(find(tables, name, PAIRS16,
                                                     op)))])
    print_table(["index", "get, split", "get, pairs", "rank, split",
                 "rank, pairs"], rows)


def print_extremes(tables):
    """Which of all options in B did best, and which worst."""
    names = [SCHEDULES, "B pin", "B reorder"]
    if any(name not in tables for name in names):
        return
    print_title("O5: levels of pivots, and the best and worst options of "
                "O1 to O3 (G/s)")
    rows = []
    for spec in specs_in(tables[SCHEDULES]):
        lines = sorted((x for name in names for x in tables[name]
                        if x["requested_spec"] == spec and not x["wrong"]),
                       key=lambda x: x["g_per_s"])
        chosen = find(tables, "B reorder", spec, "get")
        if not lines or not chosen:
            continue
        rows.append([f"`{spec}`", number(chosen["bytes_per_key"], 4),
                     speed(chosen), speed(lines[-1]),
                     f"`{lines[-1]['options']}`", speed(lines[0])])
    print_table(["index", "bytes/key", "as chosen", "best", "by", "worst"],
                rows)


def print_walks(tables):
    name = "B walk and k"
    if name not in tables:
        return
    print_title("Walks by k (get, G/s)")
    walks = ("alone", "shared", "group")
    rows = [[k] + [speed(find(tables, name, f"{family}(k={k})", "get",
                              f"walk={walk}"))
                   for family in ("eytzinger", "pivot") for walk in walks
                   if (family, walk) != ("eytzinger", "shared")]
            for k in (3, 5, 9, 17, 33)]
    print_table(["k", "`eytzinger` alone", "group", "`pivot` alone", "shared",
                 "group"], rows)


def print_scans(tables):
    names = [name for name in tables if name.startswith("B scan")]
    if not names:
        return
    print_title("O6: scans (G hits/s)",
                [x for name in names for x in tables[name]])
    scans = ("thread", "mixed", "warp")
    print_table(["index"] + [f"{name.partition(' of ')[2]}: {scan}"
                             for name in names for scan in scans],
                [[f"`{spec}`"] + [speed(find(tables, name, spec, "range",
                                             f"scan={scan}"))
                                  for name in names for scan in scans]
                 for spec in specs_in(tables[names[0]])])


def print_pins(tables):
    print_options(tables, "O2: pin", "B pin",
                  {how: f"pin={how}" for how in ("none", "steps", "full")})


def print_reorders(tables):
    columns = {"none": "reorder=none"}
    for how in ("lookup", "double"):
        columns[how] = f"reorder={how}"
        for size in ("128,each=16", "1024,each=2"):
            block, each = size.split(",each=")
            columns[f"{how} {block}x{each}"] = f"reorder={how},block={size}"
    print_options(tables, "O3: reorder", "B reorder", columns)


def print_b(tables):
    print_schedules(tables)
    print_pins(tables)
    print_reorders(tables)
    print_layouts(tables)
    print_extremes(tables)
    print_walks(tables)
    print_scans(tables)


# ---- C: specs down, numbers of keys across ----------------------------

def print_c(tables):
    tables = {name: lines for name, lines in tables.items() if name[0] == "C"}
    if not tables:
        return
    by = {(x["n"], x["requested_spec"], x["op"]): x
          for lines in tables.values() for x in lines}
    sizes = sorted({key[0] for key in by})
    specs = list(dict.fromkeys(key[1] for key in by))
    figures = [
        ("get, G/s", "get", speed),
        ("get, G/s for each byte per key", "get",
         lambda x: number(x["g_per_s"] and
                          x["g_per_s"] / x["bytes_per_key"])),
        ("build, ms (binary search: the sort alone)", "get",
         lambda x: number(1000 * x["build_s"])),
        ("ranges, G hits/s", "range", speed),
    ]
    largest = max(tables.values(), key=lambda lines: lines[0]["n"])
    print_title("from few keys to many")
    print(f"The largest: {workload(largest)}\n")
    for title, op, figure in figures:
        rows = [[f"`{s}`"] + [figure(by[n, s, op]) if (n, s, op) in by
                              else "-" for n in sizes]
                for s in specs if any((n, s, op) in by for n in sizes)]
        if figure is speed and op == "get":
            rows.append(["gather of 4 bytes"] +
                        [number(next(x["floor_g_per_s"]
                                     for key, x in by.items()
                                     if key[0] == n)) for n in sizes])
        print_table([title] + [power(n) for n in sizes], rows)


# ---- D: the rows of A on other workloads ------------------------------

# Title, table of A, the name of its table in D behind the workload, spec,
# operation, figure; whether less is better.
ROWS = [
    ("get, 4-byte keys, `leaf=16` pairs", "4-byte keys", "", PAIRS16, "get",
     "g_per_s", False),
    ("get, split", "4-byte keys", "", "pivot(k=9)", "get", "g_per_s", False),
    ("rank, `leaf=16` pairs", "4-byte keys", "", PAIRS16, "rank", "g_per_s",
     False),
    ("rank, split", "4-byte keys", "", "pivot(k=9)", "rank", "g_per_s",
     False),
    ("get, 8-byte keys, pairs", "8-byte keys", ", 8-byte keys",
     "pivot(k=5,layout=pairs)", "get", "g_per_s", False),
    ("get, 2^24 keys, pairs", "fewer keys", ", fewer keys",
     "pivot(k=9,layout=pairs)", "get", "g_per_s", False),
    ("get, ascending queries, split", "ascending queries",
     ", ascending queries", "pivot(k=9)", "get", "g_per_s", False),
    ("get, ascending, `leaf=16` pairs", "ascending queries",
     ", ascending queries", PAIRS16, "get", "g_per_s", False),
    ("ranges of 64, G hits/s", "ranges of 64", ", ranges of 64",
     "pivot(k=9)", "range", "g_per_s", False),
    ("- hits in a range, mean", "ranges of 64", ", ranges of 64",
     "pivot(k=9)", "range", "hits", None),
    ("ranges of 16384, G hits/s", "ranges of 16384", ", ranges of 16384",
     "pivot(k=9)", "range", "g_per_s", False),
    ("- hits in a range, mean", "ranges of 16384", ", ranges of 16384",
     "pivot(k=9)", "range", "hits", None),
    ("build, `leaf=16` pairs, x sort", "4-byte keys", "", PAIRS16, "get",
     "build_x_sort", True),
    ("build, split, x sort", "4-byte keys", "", "pivot(k=9)", "get",
     "build_x_sort", True),
    ("pinned, `leaf=16` pairs", "memory of the host", "", PAIRS16,
     "get_pinned", "g_per_s", False),
    ("pageable, `leaf=16` pairs", "memory of the host", "", PAIRS16,
     "get_pageable", "g_per_s", False),
    ("1,024 queries, split, us", "memory of the host", "", "pivot(k=9)",
     "small", "us_per_pass", True),
]
WORKLOADS = {"50 % misses": "misses 0.5", "Zipf": "zipf",
             "clustered": "dist clustered", "lognormal": "dist lognormal",
             "duplicates": "dist duplicates"}


def print_d(tables):
    rows = []
    for title, in_a, in_d, spec, op, figure, less in ROWS:
        names = ["A " + in_a] + [f"D {of}{in_d}" for of in WORKLOADS.values()]
        lines = [find(tables, name, spec, op) for name in names]
        if not any(lines[1:]):
            continue
        if figure == "hits":
            values = [x and x["work"] / x["queries"] for x in lines]
        else:
            values = [x and (None if x["wrong"] else x[figure])
                      for x in lines]
        worst = "-"
        if less is not None and values[0]:
            parts = [values[0] / v if less else v / values[0]
                     for v in values[1:] if v]
            worst = f"{min(parts):.2f}"
        rows.append([title] + [number(v) for v in values] + [worst])
    if not rows:
        return
    print_title("the rows of A on other workloads (G/s where nothing else "
                "is said)")
    print_table(["row", "uniform hits"] + list(WORKLOADS) +
                ["worst / uniform"], rows)


# ---- E: learned indexes ------------------------------------------------

def print_e(tables):
    for name, lines in tables.items():
        if name[0] != "E" or name in ("E options", "E fitting"):
            continue
        print_title(name[2:], lines)
        if name == "E hybrid":
            print_table(["get, G/s", "host alone", "hybrid", "times"],
                        [[f"`{spec}`", speed(here), speed(there),
                          number(there["g_per_s"] / here["g_per_s"])]
                         for spec, (here, there) in hybrids(tables).items()])
        elif lines[-1]["op"] in ("get", "rank"):
            print_points(lines)
        else:
            print_host(lines)
    fit = fitting(tables)
    if fit:
        print(f"Segments wrong by at most 16 over {power(fit[1])} sorted keys "
              f"are made in {number(1000 * fit[0])} ms (the build without "
              f"that of the array alone), "
              f"{number(fit[1] / fit[0] / 1e9)} G keys/s.\n")
    if "E options" in tables:
        print_options(tables, "options", "E options",
                      {o or "as chosen": o for o in (
                          "", "walk=alone", "pin=none", "pin=steps",
                          "pin=constant", "persist=20MiB",
                          "search=concise")})


# ---- all of it --------------------------------------------------------

def main():
    parts = {"goals": print_goals, "A": print_a, "B": print_b, "C": print_c,
             "D": print_d, "E": print_e}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--only", choices=list(parts))
    words = parser.parse_args()
    tables = read(words.files)
    for name, part in parts.items():
        if words.only in (None, name):
            part(tables)
    lines = [x for of in tables.values() for x in of]
    wrong = sum(x["wrong"] for x in lines)
    print(f"{len(lines)} measurements, {wrong} wrong answers.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
