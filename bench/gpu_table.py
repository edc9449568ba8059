#!/usr/bin/env python3
"""Makes Markdown tables of what bench/gpu.sh wrote.

    bench/gpu_table.py FILE... [--only A|B|C]

Of a measurement that was made more than once, the last one counts.
"""
import argparse
import json

POINTS = ("get", "rank")


def number(value, digits=3):
    """Three digits that count; '-' for none."""
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


def print_table(head, rows):
    print(row(head))
    print(row(["---"] + ["---:"] * (len(head) - 1)))
    for cells in rows:
        print(row(cells))
    print()


def read(paths):
    """Table -> lines in the order they were first made."""
    tables = {}
    for path in paths:
        with open(path) as lines:
            for line in map(json.loads, lines):
                if "table" not in line or "spec" not in line:
                    continue
                key = (line["options"], line["requested_spec"], line["op"])
                tables.setdefault(line["table"], {})[key] = line
    return {name: list(lines.values()) for name, lines in tables.items()}


def workload(lines):
    """What all lines of a table have in common, as a sentence."""
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
        words.append(f"{power(ranges[0]['queries'])} ranges of "
                     f"{ranges[0]['work'] / ranges[0]['queries']:.0f} hits")
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


# ---- A: specs down, operations across ----------------------------------------

def print_points(lines):
    by = {}
    for line in lines:
        by.setdefault(spec_of(line), {})[line["op"]] = line
    ops = [op for op in POINTS if any(op in of for of in by.values())]
    head = ["index"]
    for op in ops:
        head += [f"{op} G/s", "of gather", "x binary", "GB/s"]
    rows = []
    for spec, of in by.items():
        cells = [spec]
        for op in ops:
            line = of.get(op)
            cells += [speed(line)] + [number(line and line[field]) for field in
                                      ("of_floor", "vs_binary_search",
                                       "gb_per_s")]
        one = next(iter(of.values()))
        rows.append(cells + [number(one["bytes_per_key"]),
                             number(1000 * one["build_s"]),
                             number(one["build_x_sort"])])
    print_table(head + ["bytes/key", "build ms", "x sort"], rows)


def print_ranges(lines):
    print_table(["index", "G hits/s", "GB/s", "M ranges/s", "bytes/key"],
                [[spec_of(x), speed(x), number(x["gb_per_s"]),
                  number(x["queries"] / x["us_per_pass"]) if not x["wrong"]
                  else "-", number(x["bytes_per_key"])] for x in lines])


def print_host(lines):
    by = {}
    for line in lines:
        by.setdefault(spec_of(line), {})[line["op"]] = line
    print_table(["index", "pageable G/s", "GB/s", "pinned G/s", "GB/s",
                 "1,024 queries, us"],
                [[spec] + [text for op in ("get_pageable", "get_pinned")
                           for text in (speed(of.get(op)),
                                        number(op in of and
                                               of[op]["gb_per_s"] or None))]
                 + [number(of["small"]["us_per_pass"])
                    if "small" in of and not of["small"]["wrong"] else "-"]
                 for spec, of in by.items()])


def print_workload(lines):
    ops = {line["op"] for line in lines}
    if ops & set(POINTS):
        print_points([x for x in lines if x["op"] in POINTS])
    if "range" in ops:
        print_ranges([x for x in lines if x["op"] == "range"])
    if ops & {"get_pageable", "get_pinned", "small"}:
        print_host([x for x in lines if x["op"] not in ("range",) + POINTS])


# ---- B: options down, specs across ---------------------------------------------

def print_sweep(lines):
    lines = [x for x in lines if x["spec"] != "binary_search"]
    if len({line["options"] for line in lines}) == 1:
        print_points(lines)
        return
    for op in dict.fromkeys(line["op"] for line in lines):
        of = {(x["options"], x["requested_spec"]): x
              for x in lines if x["op"] == op}
        options = list(dict.fromkeys(key[0] for key in of))
        specs = list(dict.fromkeys(key[1] for key in of))
        print_table([op + (", G hits/s" if op == "range" else ", G/s")]
                    + [f"`{spec}`" for spec in specs],
                    [[f"`{o}`" if o else "as chosen"]
                     + [speed(of.get((o, spec))) for spec in specs]
                     for o in options])


# ---- C: numbers of keys down, specs across -----------------------------------

def print_sizes(tables):
    by = {}
    for lines in tables.values():
        for line in lines:
            by[line["n"], line["requested_spec"], line["op"]] = line
    sizes = sorted({key[0] for key in by})
    specs = list(dict.fromkeys(key[1] for key in by))
    figures = [
        ("get, G/s", "get", lambda x: speed(x)),
        ("get, G/s for each byte per key", "get",
         lambda x: number(x["g_per_s"] and
                          x["g_per_s"] / x["bytes_per_key"])),
        ("build, ms (binary search: the sort alone)", "get",
         lambda x: number(1000 * x["build_s"])),
        ("build, times the sort", "get",
         lambda x: number(x["build_x_sort"])),
        ("ranges, G hits/s", "range", lambda x: speed(x)),
    ]
    for title, op, figure in figures:
        chosen = [s for s in specs if any((n, s, op) in by for n in sizes)]
        print(f"{title}:\n")
        head = ["keys"] + [f"`{s}`" for s in chosen]
        rows = [[power(n)] + [figure(by[n, s, op]) if (n, s, op) in by
                              else "-" for s in chosen] for n in sizes]
        if title == "get, G/s":
            head.append("gather")
            for n, cells in zip(sizes, rows):
                cells.append(number(next(x["floor_g_per_s"]
                                         for key, x in by.items()
                                         if key[0] == n)))
        print_table(head, rows)


# ---- all of it -----------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--only", choices=("A", "B", "C"))
    words = parser.parse_args()
    tables = read(words.files)
    wrong = sum(x["wrong"] for lines in tables.values() for x in lines)
    for name, lines in tables.items():
        if name[0] == "C" or words.only not in (None, name[0]):
            continue
        title = name.partition(" ")[2]
        print(f"### {title[0].upper()}{title[1:]}\n\n{workload(lines)}\n")
        (print_workload if name[0] == "A" else print_sweep)(lines)
    sizes = {name: lines for name, lines in tables.items() if name[0] == "C"}
    if sizes and words.only in (None, "C"):
        largest = max(sizes.values(), key=lambda lines: lines[0]["n"])
        print(f"### From few keys to many\n\nThe largest: "
              f"{workload(largest)}\n")
        print_sizes(sizes)
    measured = sum(len(lines) for lines in tables.values())
    print(f"{measured} measurements, {wrong} wrong answers.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
