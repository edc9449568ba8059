#!/usr/bin/env python3
"""Makes Markdown tables of the files that bench/papers.sh wrote.

    bench/papers.py FOLDER [--only FIGURE] [--plot FOLDER]

--plot also draws them, as FIGURE.svg, where matplotlib is installed.
bench/report.py puts them into the documents of doc/papers/.
"""
import argparse
from pathlib import Path

import papers_hb
from gpu_table import number, power, print_table
from paper_lines import Figure, at, over, rate

DATA = ("keys", "rows", "pairs")       # sections that are not the model
PGM = "pgm(eps=128)"


# ---- memory ------------------------------------------------------------------

def model_bytes(line):
    """Bytes of an index without keys and rows; of a tree, all its bytes."""
    if line is None:
        return None
    if "index" not in line:
        return line.get("bytes")
    return sum(s["bytes"] for s in line["index"]["sections"]
               if s["name"] not in DATA)


def megabytes(line):
    size = model_bytes(line)
    return number(size and size / 1e6)


def segments(line):
    return sum(line["index"]["segments"]) if line else None


# ---- methods ----------------------------------------------------------------

# Name, run, spec, operation. All times include columns of the host in and out,
# and so transfers; "resident" has columns in the GPU's memory and its clock.
METHODS = [
    ("CPU, 1 thread", "cpu", PGM, "get"),
    ("CPU, all threads", "gpu", f"{PGM} place=host", "get_pageable"),
    ("hybrid", "gpu", f"{PGM} place=hybrid", "get_pageable"),
    ("GPU, pageable", "gpu", PGM, "get_pageable"),
    ("GPU, pinned", "gpu", PGM, "get_pinned"),
    ("`pivot`, GPU, pinned", "gpu", "pivot", "get_pinned"),
    ("`guide`, GPU, pinned", "gpu", "guide", "get_pinned"),
]


def methods_in(figure):
    """The methods that have a line: without pinned memory some have none."""
    return [m for m in METHODS
            if any(figure.pick(s, *m[1:]) for s in figure.sets)]


def tree_of(figure, set_name):
    """The line that acceleration is counted from: a B+-tree's if possible."""
    for run in ("tree", "numpy"):
        lines = figure.pick(set_name, run)
        if lines:
            return next(iter(lines.values()))
    return None


# ---- figures ----------------------------------------------------------------

def accelerations(figure, methods):
    """Set -> rows of queries and accelerations."""
    result = {}
    for s in figure.sets:
        base = rate(tree_of(figure, s))
        result[s] = [(b, [over(rate(at(figure.pick(s, *m[1:]), b)), base)
                          for m in methods])
                     for b in figure.batches("gpu")]
    return result


def print_accelerations(figure, methods, ratio=None):
    base = tree_of(figure, figure.sets[0])
    if base:
        print(f"Times the {base['spec']} with one thread, which does "
              + ", ".join(f"{number(rate(tree_of(figure, s)))} M/s ({s})"
                          for s in figure.sets) + ".\n")
    else:
        print("Without a B+-tree there is nothing to compare with.\n")
    rows = []
    for s, lines in accelerations(figure, methods).items():
        for batch, values in lines:
            cells = [s, power(batch)] + [number(v) for v in values]
            if ratio:
                cells.append(number(over(values[ratio[0]],
                                         values[ratio[1]])))
            rows.append(cells)
    head = ["set", "queries"] + [m[0] for m in methods]
    print_table(head + ([ratio[2]] if ratio else []), rows)


def gpu_pgm_fig4(figure):
    print_accelerations(figure, methods_in(figure)[:5])


def gpu_pgm_fig5(figure):
    methods = [m for m in methods_in(figure) if m[2] in (PGM, "pivot",
                                                         "guide")]
    names = [m[0] for m in methods]
    if "GPU, pinned" in names:
        pair = names.index("GPU, pinned"), names.index("`pivot`, GPU, pinned")
        print_accelerations(figure, methods, (*pair, "pgm / pivot"))
    else:
        methods = [("GPU, pageable", "gpu", PGM, "get_pageable"),
                   ("`pivot`, GPU", "gpu", "pivot", "get_pageable"),
                   ("`guide`, GPU", "gpu", "guide", "get_pageable")]
        print_accelerations(figure, methods, (0, 1, "pgm / pivot"))


BUILT = [
    ("pgm, CPU, 1 thread", "cpu", PGM),
    ("all threads", "builds", f"{PGM} place=host"),
    ("hybrid", "builds", f"{PGM} place=hybrid"),
    ("GPU", "builds", PGM),
    ("`pivot`, GPU", "builds", "pivot"),
    ("`guide`, GPU", "builds", "guide"),
]


def built(figure, set_name, run, spec):
    return next(iter(figure.pick(set_name, run, spec).values()), None)


def print_built(figure, columns, cell):
    rows = [[s, power(built(figure, s, "builds", PGM)["n"]),
             cell(tree_of(figure, s))]
            + [cell(built(figure, s, *c[1:])) for c in columns]
            for s in figure.sets]
    tree = tree_of(figure, figure.sets[0])
    print_table(["set", "keys", tree["spec"] if tree else "B+-tree"]
                + [c[0] for c in columns], rows)


def gpu_pgm_table2(figure):
    print("Seconds, from sorted keys in the host's memory.\n")
    plain = [("no model: CPU, 1 thread", "cpu", "sorted"),
             ("GPU", "builds", "sorted")]
    print_built(figure, BUILT + plain,
                lambda x: number(x and x["build_s"]))


def gpu_pgm_table3(figure):
    print("Megabytes (10^6) beside the sorted keys; of the B+-tree with "
          "them.\n")
    print_built(figure, BUILT, megabytes)
    rows = [[s, built(figure, s, "builds", PGM)["n"]]
            + [segments(built(figure, s, run, PGM))
               for run in ("cpu", "builds")] for s in figure.sets]
    print_table(["set", "keys", "segments, built by 1 thread", "by the GPU"],
                rows)


def print_by_set(figure, methods, cell):
    print_table(["method"] + figure.sets,
                [[m[0]] + [cell(s, m) for s in figure.sets]
                 for m in methods])


def g_learned_fig7(figure):
    print("10^6 queries a second, in batches of "
          f"{power(max(figure.batches('gpu')))} (CPU, 1 thread: "
          f"{power(max(figure.batches('cpu')))}).\n")
    print_by_set(figure, methods_in(figure), lambda s, m: number(
        rate(at(figure.pick(s, *m[1:]), 1 << 62))))


def g_learned_fig8(figure):
    batch = min(figure.batches("gpu"))
    print(f"Microseconds for a batch of {power(batch)}, the median and 99 of "
          "100.\n")

    def cell(s, m):
        line = figure.pick(s, *m[1:]).get(batch)
        return f"{number(line['call_us'])} / {number(line['call_p99_us'])}" \
            if line else "-"
    print_by_set(figure, methods_in(figure), cell)


def g_learned_fig9(figure):
    columns = [(name, "batches", spec, op) for name, _, spec, op in METHODS
               if figure.pick(figure.sets[0], "batches", spec, op)]
    for s in figure.sets:
        print(f"Set {s}: 10^6 queries a second / microseconds for a "
              "batch.\n")
        rows = []
        for b in figure.batches("batches"):
            lines = [figure.pick(s, *c[1:]).get(b) for c in columns]
            rows.append([power(b)] + [
                f"{number(rate(x))} / {number(x['call_us'])}" if x else "-"
                for x in lines])
        print_table(["batch"] + [c[0] for c in columns], rows)


def g_learned_fig10(figure):
    s, = figure.sets
    few, most = figure.batches("eps")[0], figure.batches("eps")[-1]
    every = list(dict.fromkeys(x["requested_spec"] for x in figure.measured
                               if x["requested_spec"].endswith(")")))
    ways = [("hybrid", " place=hybrid", "get_pageable"),
            ("pageable", "", "get_pageable"), ("pinned", "", "get_pinned"),
            ("resident", "", "get")]
    ways = [w for w in ways if figure.pick(s, "eps", every[0] + w[1], w[2])]
    print(f"10^6 queries a second in batches of {power(most)} / microseconds "
          f"for a batch of {power(few)}.\n")
    rows = []
    for spec in every:
        one = next(iter(figure.pick(s, "eps", spec).values()))
        cells = [one["index"]["eps"], segments(one),
                 number(model_bytes(one) / 1e3)]
        for _, place, op in ways:
            lines = figure.pick(s, "eps", spec + place, op)
            cells.append(f"{number(rate(lines[most]))} / "
                         f"{number(lines[few]['call_us'])}")
        rows.append(cells)
    print_table(["eps", "segments", "kB"] + [w[0] for w in ways], rows)


def g_learned_fig13(figure):
    few, most = figure.batches("gpu")[0], figure.batches("gpu")[-1]
    print("Columns in the GPU's memory, its own clock: 10^6 queries a second "
          f"in batches of {power(most)} / microseconds for a batch of "
          f"{power(few)}.\n")
    specs = [PGM, "pivot", "guide"]

    def cell(s, spec):
        lines = figure.pick(s, "gpu", spec, "get")
        return f"{number(rate(lines[most]))} / " \
            f"{number(lines[few]['call_us'])}"
    rows = [[f"`{spec}`"] + [cell(s, spec) for s in figure.sets]
            for spec in specs]
    single = [rate(at(figure.pick(s, "cpu", PGM, "get"), 1 << 62))
              for s in figure.sets]
    rows.append([f"`{PGM}`, times one CPU thread"]
                + [number(over(rate(figure.pick(s, "gpu", PGM, "get")[most]),
                               one)) for s, one in zip(figure.sets, single)])
    print_table(["index"] + figure.sets, rows)


def g_learned_table1(figure):
    specs = list(dict.fromkeys(x["requested_spec"] for x in figure.measured
                               if x["requested_spec"] != "binary_search"))
    pins = {"pin=none": "global", "pin=constant": "constant",
            "pin=steps": "shared"}
    print("Microseconds of the GPU's clock for a batch.\n")
    rows = []
    for b in figure.batches("pins"):
        for pin, memory in pins.items():
            lines = [figure.pick("1e6", "pins", spec, "get", pin).get(b)
                     for spec in specs]
            if any(lines):
                rows.append([power(b), memory] + [
                    number(x["call_us"]) if x else "-" for x in lines])
    print_table(["batch", "memory"] + [
        f"eps = {spec.partition('=')[2].rstrip(')')}" for spec in specs],
        rows, words=2)


def g_learned_table2(figure):
    runs = list(dict.fromkeys(x["run"] for x in figure.measured))
    pinned = any(x["op"] == "get_pinned" for x in figure.measured)
    host = "get_pinned" if pinned else "get_pageable"
    rows = []
    for run in runs:
        def us(spec, op):
            lines = figure.pick("1e7", run, spec, op)
            return next(iter(lines.values()))["call_us"]
        total, kernel = us(PGM, host), us(PGM, "get")
        rows.append([power(figure.batches(run)[-1]), number(total),
                     number(kernel), f"{100 * kernel / total:.0f} %",
                     number(us(f"{PGM} place=hybrid", "get_pageable")),
                     number(us(f"{PGM} place=host", "get_pageable"))])
    print("Microseconds for a batch; hybrid with half of it at a time on the "
          "GPU.\n")
    print_table(["batch", f"GPU, {host[4:]}", "its kernel", "part of it",
                 "hybrid", "CPU, all threads"], rows)


FIGURES = {
    "gpu-pgm-fig4": ("GPU-PGM figure 4: acceleration over a B+-tree",
                     gpu_pgm_fig4),
    "gpu-pgm-fig5": ("GPU-PGM figure 5: against a tree on the GPU",
                     gpu_pgm_fig5),
    "gpu-pgm-table2": ("GPU-PGM table II: building", gpu_pgm_table2),
    "gpu-pgm-table3": ("GPU-PGM table III: memory", gpu_pgm_table3),
    "g-learned-fig7": ("G-Learned figure 7: throughput", g_learned_fig7),
    "g-learned-fig8": ("G-Learned figure 8: latency", g_learned_fig8),
    "g-learned-fig9": ("G-Learned figure 9: batches", g_learned_fig9),
    "g-learned-fig10": ("G-Learned figure 10: eps", g_learned_fig10),
    "g-learned-fig13": ("G-Learned figure 13: without transfers",
                        g_learned_fig13),
    "g-learned-table1": ("G-Learned table I: kinds of memory",
                         g_learned_table1),
    "g-learned-table2": ("G-Learned table II: parts of a batch's time",
                         g_learned_table2),
    **papers_hb.FIGURES,
}


# ---- plots ------------------------------------------------------------------

def curves(figure):
    """(axis, unit, name -> points) of a figure with batches; or None."""
    lines = {}
    if figure.name in ("gpu-pgm-fig4", "gpu-pgm-fig5"):
        methods = methods_in(figure)
        for s, rows in accelerations(figure, methods).items():
            for i, m in enumerate(methods):
                lines[f"{s}, {m[0]}"] = [(b, v[i]) for b, v in rows if v[i]]
        return "queries", "times a B+-tree", lines
    if figure.name == "g-learned-fig9":
        for s in figure.sets:
            for name, _, spec, op in METHODS:
                points = figure.pick(s, "batches", spec, op)
                lines[f"{s}, {name}"] = [(b, rate(x)) for b, x
                                         in sorted(points.items())]
        return "batch", "10^6 queries a second", lines
    if figure.name == "g-learned-fig10":
        for x in figure.measured:
            if "index" in x and x["batch"] == figure.batches("eps")[-1]:
                place = x["requested_spec"].partition(")")[2] or " GPU"
                lines.setdefault(f"{x['op']}{place}", []).append(
                    (x["index"]["eps"], rate(x)))
        return "eps", "10^6 queries a second", lines
    return None


def plot(figure, folder):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    shown = curves(figure)
    if shown is None:
        return
    axis, unit, lines = shown
    drawing, area = pyplot.subplots(figsize=(9, 6))
    for name, points in lines.items():
        if points:
            area.plot(*zip(*points), marker="o", label=name)
    area.set(xscale="log", yscale="log", xlabel=axis, ylabel=unit,
             title=FIGURES[figure.name][0])
    area.legend(fontsize=6)
    drawing.savefig(Path(folder) / f"{figure.name}.svg")
    pyplot.close(drawing)


# ---- all of it --------------------------------------------------------------

def show(figure, with_title=True):
    title, part = FIGURES[figure.name]
    if with_title:
        print(f"#### {title}\n")
    gpus = dict.fromkeys(x["gpu"].partition(",")[0] for x in figure.measured
                         if "gpu" in x)
    print("; ".join([f"`{figure.head['command']}`", *gpus,
                     f"{figure.head['cpu'] or 'CPU'}, {figure.head['cores']} cores",
                     f"commit {figure.head['commit']}.\n"]))
    if figure.measured:
        part(figure)
    for what in figure.missing():
        print(f"Not measured: {what}.\n")
    if figure.wrong():
        print(f"**{figure.wrong()} answers were wrong.**\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=list(FIGURES))
    parser.add_argument("--plot", type=Path, metavar="FOLDER")
    words = parser.parse_args()
    figures = [Figure(words.folder / f"{name}.json") for name in FIGURES
               if words.only in (None, name)
               and (words.folder / f"{name}.json").exists()]
    for figure in figures:
        show(figure)
        if words.plot:
            plot(figure, words.plot)
    count = sum(len(figure.measured) for figure in figures)
    wrong = sum(figure.wrong() for figure in figures)
    print(f"{len(figures)} figures, {count} measurements, {wrong} wrong "
          "answers.")
    return 1 if wrong or not figures else 0


if __name__ == "__main__":
    raise SystemExit(main())
