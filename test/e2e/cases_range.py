"""sextant range."""
import numpy as np

import formats
import oracle
from answers import AUTO_SPECS, SPECS, check_ranges
from cases_lookup import ROWS, comparable, from_word
from harness import case, equal
from oracle import KEY_SETS, TYPES, Oracle


@case(SPECS + AUTO_SPECS, [1, 3, 1000])
def range_limits(t, spec, limit):
    keys = KEY_SETS["few"](t.rng, "u32")
    lo, hi = oracle.bounds_for(t.rng, "u32", keys)
    index = t.tool.build(keys, spec, "u32")
    for last in (False, True):
        check_ranges(t, index, Oracle(keys), lo, hi, limit=limit, last=last)


@case(TYPES)
def range_over_everything(t, type_name):
    """From the least key to the greatest, and the other way round."""
    keys = KEY_SETS["mixed"](t.rng, type_name)
    ends = np.sort(oracle.extreme_keys(type_name))
    lo, hi = ends[[0, -1, 0, -1]], ends[[-1, 0, 0, -1]]
    for spec in ("sorted", "eytzinger(k=5)", "pivot"):
        index = t.tool.build(keys, spec, type_name)
        bounds = t.tool.write_bounds(lo[:2], hi[:2])
        equal(t.tool.range_numbers(index, bounds, "--count"), [len(keys), 0],
              "counts")
        check_ranges(t, index, Oracle(keys), lo, hi)


@case(["sorted", "eytzinger(k=2)", "eytzinger(k=9)", "pivot",
       "pivot(layout=pairs)"])
def range_of_many(t, spec):
    """Long ranges, on more than one thread."""
    keys = oracle.small_keys(t.rng, "i64", 30000, 500)
    rows = ROWS["u64"](t.rng, len(keys))
    lo = np.arange(-260, 260, 8, dtype="<i8")
    hi = lo + t.rng.integers(0, 100, len(lo))
    index = t.tool.build(keys, spec, "i64", rows=rows)
    check_ranges(t, index, Oracle(keys, rows), lo, hi, "--threads", "2")


@case(["u64", "f32", "b16"], ["--min", "--max"], [0, 2])
def range_least_and_greatest_row(t, type_name, what, limit):
    keys = KEY_SETS["mixed"](t.rng, type_name)
    rows = ROWS["u64"](t.rng, len(keys))
    lo, hi = oracle.bounds_for(t.rng, type_name, keys)
    index = t.tool.build(keys, "pivot", type_name, rows=rows)
    options = ("--limit", limit) if limit else ()
    pick = {"--min": min, "--max": max}[what]
    expected = [pick(found, default=None)
                for found in Oracle(keys, rows).ranges(lo, hi, limit)]
    equal(t.tool.range_numbers(index, t.tool.write_bounds(lo, hi), what,
                               *options), expected, what)


@case(TYPES, ["sorted", "eytzinger(k=9)", "pivot(layout=pairs)"])
def range_keys(t, type_name, spec):
    """--keys, as text and as JSON."""
    keys = KEY_SETS["mixed"](t.rng, type_name)
    lo, hi = oracle.bounds_for(t.rng, type_name, keys, 30)
    truth = Oracle(keys, np.arange(len(keys)))
    ordered = [comparable(key) for key in truth.keys.tolist()]
    expected = [ordered[begin:max(begin, end)]
                for begin, end in zip(truth.rank(lo), truth.rank(hi, "right"))]
    index = t.tool.build(keys, spec, type_name)
    command = ("range", index, *t.tool.write_bounds(lo, hi), "--keys")
    equal([[from_word(word, type_name) for word in line.split()]
           for line in t.tool.ok(*command).lines], expected, "keys")
    equal([[from_word(key, type_name) for key in o["keys"]]
           for o in t.tool.json(*command)], expected, "keys in JSON")


@case("count", "sum", "min", "max", "rows")
def range_json(t, what):
    keys = KEY_SETS["few"](t.rng, "i32")
    rows = ROWS["u64"](t.rng, len(keys))
    lo, hi = oracle.bounds_for(t.rng, "i32", keys)
    index = t.tool.build(keys, "pivot", "i32", rows=rows)
    of_rows = {"count": len, "sum": oracle.row_sum, "rows": list,
               "min": lambda found: min(found, default=None),
               "max": lambda found: max(found, default=None)}[what]
    objects = t.tool.json("range", index, *t.tool.write_bounds(lo, hi),
                          f"--{what}")
    equal([o[what] for o in objects],
          [of_rows(found) for found in Oracle(keys, rows).ranges(lo, hi)],
          what)
    equal([(o["lo"], o["hi"]) for o in objects], list(zip(lo.tolist(), hi.tolist())), "ends")


@case("sosd", "raw", "npy", "text")
def range_formats(t, format_name):
    """Bounds and counts in each format."""
    keys = KEY_SETS["mixed"](t.rng, "f64")
    lo, hi = oracle.bounds_for(t.rng, "f64", keys)
    index = t.tool.build(keys, "eytzinger(k=9)", "f64")
    end = formats.FORMATS[format_name]
    formats.write(t.path("lo" + end), lo, format_name)
    formats.write(t.path("hi" + end), hi, format_name)
    t.tool.ok("range", index, "lo" + end, "hi" + end, "--count", "-o",
              "out" + end)
    equal(formats.read(t.path("out" + end), "u64", format_name).tolist(),
          [len(found) for found in Oracle(keys).ranges(lo, hi)], "counts")


@case()
def range_bounds_from_stdin(t):
    keys = KEY_SETS["mixed"](t.rng, "i64")
    lo, hi = oracle.bounds_for(t.rng, "i64", keys)
    index = t.tool.build(keys, "pivot", "i64")
    formats.write(t.path("hi.txt"), hi, "text")
    result = t.tool.ok("range", index, "-", "hi.txt", "--count",
                       stdin=formats.as_text(lo))
    equal([int(line) for line in result.lines],
          [len(found) for found in Oracle(keys).ranges(lo, hi)], "counts")
