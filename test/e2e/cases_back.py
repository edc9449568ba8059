"""The way back to the data: lines, values, defaults; keys and ranges as files of numbers;
at, head and tail."""
import numpy as np

import formats
from harness import case, check, equal
from oracle import TYPES, random_keys


def prepare(t, n=200):
    """k.sxt over the id column of k.csv, values in v.npy and w.npy; texts of the lines."""
    keys = np.sort(t.rng.permutation(n * 2)[:n]).astype("<i8") - n
    order = t.rng.permutation(n)
    lines = [f"{key},name {i},{i % 7}" for i, key in enumerate(keys[order])]
    t.path("k.csv").write_text("id,name,seven\n" + "".join(f"{line}\n" for line in lines))
    np.save(t.path("v.npy"), np.arange(n, dtype="<f8") / 4)
    np.save(t.path("w.npy"), np.arange(n, dtype="<u4") * 3)
    t.tool.ok("build", "k.csv", "--column", "id", "--type", "i64", "--spec", "sorted", "-o",
              "k.sxt")
    return keys, keys[order], lines


def floor_rows(sorted_keys, given, queries):
    """The row of the last key at or below each, or None."""
    row = {int(key): i for i, key in enumerate(given)}
    at = np.searchsorted(sorted_keys, queries, "right") - 1
    return [None if i < 0 else row[int(sorted_keys[i])] for i in at]


@case()
def lines_and_values_of_lookups(t):
    sorted_keys, given, lines = prepare(t)
    queries = t.rng.integers(-250, 250, 300)
    formats.write(t.path("q.npy"), queries.astype("<i8"), "npy")
    rows = floor_rows(sorted_keys, given, queries)
    ask = ("lookup", "k.sxt", "q.npy", "--mode", "floor")
    equal(t.tool.ok(*ask, "--lines", "k.csv").lines,
          ["-" if r is None else lines[r] for r in rows], "lines")
    equal(t.tool.ok(*ask, "--lines", "k.csv", "--columns", "seven", "--columns", "2").lines,
          ["-,-" if r is None else ",".join(lines[r].split(",")[:0:-1]) for r in rows], "columns")
    value = ["-" if r is None else f"{r / 4:g}" for r in rows]
    equal(t.tool.ok(*ask, "--values", "v.npy").lines, value, "values")
    equal(t.tool.ok(*ask, "--values", "v.npy", "--values", "w.npy", "--keys", "--default",
                    "none").lines,
          ["none none none" if r is None else f"{given[r]} {value[i]} {r * 3}"
           for i, r in enumerate(rows)], "keys and values")
    objects = t.tool.json(*ask, "--values", "w.npy", "--lines", "k.csv", "--columns", "name",
                          "--keys")
    equal(objects, [{"query": int(q), "row": r, "key": None if r is None else int(given[r]),
                     "values": [None if r is None else r * 3],
                     "fields": None if r is None else [f"name {r}"]}
                    for q, r in zip(queries, rows)], "JSON")
    # As files of numbers.
    t.tool.ok(*ask, "--values", "v.npy", "-o", "out.npy", "--default", "-1.5")
    equal(np.load(t.path("out.npy")).tolist(), [-1.5 if r is None else r / 4 for r in rows],
          "values as .npy")
    t.tool.ok(*ask, "--keys", "-o", "out.raw", "--default", "-999")
    equal(np.fromfile(t.path("out.raw"), "<i8").tolist(),
          [-999 if r is None else int(given[r]) for r in rows], "keys as raw")
    if None in rows:
        t.tool.fails(1, f"answer {rows.index(None)} is no match", *ask, "--keys", "-o", "o.npy")
        check(not t.path("o.npy").exists(), "an output was left behind")
    t.tool.fails(2, "--default: 'x' is not an i64", *ask, "--keys", "-o", "o.npy", "--default",
                 "x")


@case()
def lines_and_values_of_ranges(t):
    sorted_keys, given, lines = prepare(t)
    lo = t.rng.integers(-250, 250, 40)
    hi = lo + t.rng.integers(-5, 60, 40)
    bounds = t.tool.write_bounds(lo.astype("<i8"), hi.astype("<i8"))
    row = {int(key): i for i, key in enumerate(given)}
    rows = [[row[int(k)] for k in sorted_keys if a <= k <= b] for a, b in zip(lo, hi)]
    flat = [r for some in rows for r in some]
    ask = ("range", "k.sxt", *bounds)
    equal(t.tool.ok(*ask, "--lines", "k.csv").lines, [lines[r] for r in flat], "lines")
    equal(t.tool.ok(*ask, "--rows", "--values", "w.npy").lines, [str(r * 3) for r in flat],
          "values")
    equal(t.tool.json(*ask, "--lines", "k.csv", "--columns", "3", "--values", "v.npy"),
          [{"lo": a, "hi": b,
            "answers": [{"row": r, "values": [r / 4], "fields": [str(r % 7)]} for r in some]}
           for a, b, some in zip(lo.tolist(), hi.tolist(), rows)], "JSON")
    first = np.cumsum([0] + [len(some) for some in rows]).tolist()
    for what, expected in (("--rows", flat), ("--keys", [int(given[r]) for r in flat])):
        for name in ("out.npy", "out.raw", "out.sosd"):
            t.tool.ok(*ask, what, "-o", name, "--first", "first.npy")
            got = formats.read(t.path(name), "u64" if what == "--rows" else "i64", name[4:])
            equal(got.tolist(), expected, f"{what} {name}")
            equal(np.load(t.path("first.npy")).tolist(), first, "--first")
    t.tool.ok(*ask, "--values", "v.npy", "-o", "out.npy", "--limit", 2)
    equal(np.load(t.path("out.npy")).tolist(), [r / 4 for some in rows for r in some[:2]],
          "values as .npy, of two keys each")
    words = [w for a, b in zip(lo[:9], hi[:9]) for w in (f"--lo={a}", f"--hi={b}")]
    equal(t.tool.ok("range", "k.sxt", *words, "--rows").lines,
          [" ".join(map(str, some)) for some in rows[:9]], "ranges of the command line")


@case(TYPES)
def keys_by_rank(t, type_name):
    keys = random_keys(t.rng, type_name, 100)
    index = t.tool.build(keys, "pivot", type_name)
    name = t.tool.write_queries(keys)
    rows = {r: None for r in t.tool.range_rows(index, t.tool.write_bounds(keys[:0], keys[:0]))}
    equal(rows, {}, "rows of no ranges")
    # The order by ranks: each key's rank says where it stands.
    rank = t.tool.lookup(index, name, "rank")
    t.tool.ok("head", index, "-n", 1000, "--keys", "-o", "keys.npy")
    ordered = formats.read(t.path("keys.npy"), type_name, "npy")
    equal(len(ordered), 100, "keys")
    for key, r in zip(keys, rank):
        check(formats.bits(ordered[r:r + 1]) == formats.bits(np.array([key], keys.dtype)) or
              ordered[r] == key or (key != key and ordered[r] != ordered[r]),
              f"{key!r} is not at rank {r}")
    lines = t.tool.ok("head", index, "-n", 100).lines
    equal(t.tool.ok("tail", index).lines, lines[90:], "tail")
    equal(t.tool.ok("head", index).lines, lines[:10], "head")
    equal(t.tool.ok("at", index, 99, 0, 100, 7, "1e3").lines,
          [lines[99], lines[0], "- -", lines[7], "- -"], "at")
    equal(t.tool.ok("at", index, 3, 4, "--rows").lines,
          [lines[3].split()[0], lines[4].split()[0]], "rows")
    objects = t.tool.json("at", index, 3, 100)
    equal([objects[0]["row"], objects[1]], [int(lines[3].split()[0]),
                                            {"rank": 100, "row": None, "key": None}], "JSON")
    t.tool.ok("tail", index, "-n", 3, "--rows", "-o", "rows.npy")
    equal(np.load(t.path("rows.npy")).tolist(), [int(line.split()[0]) for line in lines[97:]],
          "rows as .npy")


@case()
def invalid_utf8_in_lines(t):
    """Text passes as it is; JSON has U+FFFD for what is no UTF-8."""
    t.path("k.csv").write_bytes(b"1,caf\xe9\n2,\xf0\x9f\x98\x80\xed\xa0\x80x\n")
    t.tool.ok("build", "k.csv", "--column", 1, "--type", "u64", "--spec", "sorted", "-o", "k.sxt")
    ask = ("lookup", "k.sxt", "--key", 1, "--key", 2, "--lines", "k.csv", "--columns", 2)
    equal(t.tool.ok(*ask).out, b"caf\xe9\n\xf0\x9f\x98\x80\xed\xa0\x80x\n", "text")
    equal([o["fields"][0] for o in t.tool.json(*ask)],
          ["caf\ufffd", "\U0001f600\ufffd\ufffd\ufffdx"], "JSON")


@case()
def lines_of_other_keys(t):
    """Keys of numbers, lines of text: a row is the number of a line."""
    np.save(t.path("k.npy"), np.array([30, 10, 20], "<u4"))
    t.tool.ok("build", "k.npy", "--spec", "sorted", "-o", "k.sxt")
    t.path("names.txt").write_text('thirty\n"ten\ntwenty, or so\n')
    t.path("names.csv").write_text("word,n\nthirty,30\nten,10\ntwenty,20\n")
    ask = ("lookup", "k.sxt", "--key", 10, "--key", 20, "--lines")
    equal(t.tool.ok(*ask, "names.txt").lines, ['"ten', "twenty, or so"], "text")
    equal(t.tool.ok(*ask, "names.csv", "--columns", "word").lines, ["ten", "twenty"], "names")
