"""Times in .npy files: an index knows the unit of its own, and queries of another one are exact
numbers of it, or an error. Fractions and Python's calendar are the oracle."""
import datetime
from fractions import Fraction

import numpy as np

from harness import case, check, equal

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps")
# Steps of each unit that stay within 1900 to 2100, so that no conversion overflows.
MOST = {"Y": 60, "M": 700, "W": 3000, "D": 20000, "h": 10**5, "m": 10**7, "s": 10**9,
        "ms": 10**12, "us": 10**15, "ns": 10**17, "ps": 10**18}


def build(t, name, keys, *words):
    np.save(t.path(f"{name}.npy"), keys)
    t.tool.ok("build", f"{name}.npy", "--spec", "pivot", "-o", f"{name}.sxt", *words)
    return f"{name}.sxt"


def ask(t, index, queries, *words):
    np.save(t.path("q.npy"), queries)
    return t.tool.ok("lookup", index, "q.npy", *words).lines


@case()
def times_of_two_units(t):
    ix = build(t, "m", np.array(["2020-01-01", "2020-01-02"], "M8[D]"))
    equal(ask(t, ix, np.array(["2020-01-01", "2020-01-02", "NaT"], "M8[ns]")), ["0", "1", "-"],
          "nanoseconds")
    equal(ask(t, ix, np.array(["2020"], "M8[Y]")), ["0"], "years")
    equal(t.tool.explain(ix)["notes"], {"unit": "datetime64[D]"}, "the note")
    np.save(t.path("q.npy"), np.array(["2020-01-01", "2020-01-01T00:00:00.5"], "M8[ms]"))
    t.tool.fails(1, "q.npy: 1577836800500 at position 1, in datetime64[ms], is no whole number in "
                 "datetime64[D]", "lookup", ix, "q.npy")
    np.save(t.path("q.npy"), np.array([1], "m8[D]"))
    t.tool.fails(1, "q.npy: the .npy file holds timedelta64[D] values, but datetime64[D] are "
                 "needed", "lookup", ix, "q.npy")
    # All verbs that take keys.
    np.save(t.path("lo.npy"), np.array(["2020-01-01"], "M8[s]"))
    np.save(t.path("hi.npy"), np.array(["2020-02"], "M8[M]"))
    equal(t.tool.ok("range", ix, "lo.npy", "hi.npy", "--rows").lines, ["0 1"], "ranges")
    np.save(t.path("up.npy"), np.array(["2020-01-02", "2020-01-02"], "M8[us]"))
    equal(t.tool.ok("climb", ix, "lo.npy", "up.npy", "--keys").lines, ["18263"], "climbs")


@case()
def times_are_written_with_their_unit(t):
    ix = build(t, "m", np.array([5, 7, "NaT"], "m8[25s]"))
    equal(t.tool.explain(ix)["notes"], {"unit": "timedelta64[25s]"}, "the note")
    t.tool.ok("head", ix, "--keys", "-o", "k.npy")
    keys = np.load(t.path("k.npy"))
    equal((keys.dtype.name, keys.view("i8").tolist()[:2]), ("timedelta64[25s]", [5, 7]), "keys")
    equal(t.tool.ok("lookup", ix, "k.npy").lines, ["0", "1", "2"], "read again")
    np.save(t.path("v.npy"), np.array(["2020", "2021", "2022"], "M8[Y]"))
    t.tool.ok("lookup", ix, "k.npy", "--values", "v.npy", "-o", "w.npy")
    equal(np.load(t.path("w.npy")).tolist(), np.load(t.path("v.npy")).tolist(), "values")
    t.tool.ok("range", ix, "k.npy", "k.npy", "--keys", "-o", "r.npy")
    equal(np.load(t.path("r.npy")).dtype.name, "timedelta64[25s]", "keys of ranges")
    t.tool.ok("gen", "--from", "m.npy", "--n", 5, "-o", "g.npy")
    equal(np.load(t.path("g.npy")).dtype.name, "timedelta64[25s]", "queries")
    equal(t.tool.ok("head", ix, "--keys").lines, ["5", "7", "NaT"], "text has numbers")


@case()
def times_of_several_files(t):
    """The first file's unit counts; --keys-as iso8601 has nanoseconds."""
    np.save(t.path("a.npy"), np.array(["2020-01-02"], "M8[D]"))
    np.save(t.path("b.npy"), np.array(["2020-01-01"], "M8[us]"))
    t.tool.ok("build", "a.npy", "b.npy", "--spec", "pivot", "-o", "k.sxt")
    equal(t.tool.ok("head", "k.sxt").lines, ["1 18262", "0 18263"], "days")
    np.save(t.path("b.npy"), np.array(["2020-01-01T01"], "M8[us]"))
    t.tool.fails(1, "b.npy: 1577840400000000 at position 0", "build", "a.npy", "b.npy", "-o",
                 "n.sxt")
    t.tool.ok("build", "a.npy", "b.npy", "--keys-as", "iso8601", "--spec", "pivot", "-o", "k.sxt")
    equal(t.tool.ok("head", "k.sxt").lines, ["1 2020-01-01T01:00:00Z", "0 2020-01-02T00:00:00Z"],
          "times")
    equal(t.tool.explain("k.sxt")["notes"], {"keys-as": "iso8601", "unit": "ns"}, "notes")
    equal(t.tool.ok("lookup", "k.sxt", "a.npy").lines, ["0"], "days of a time")
    t.tool.fails(2, "--note unit: the tool sets this note itself, for the keys are datetime64[D]",
                 "build", "a.npy", "--note", "unit=s", "-o", "n.sxt")
    check(not t.path("n.sxt").exists(), "an index was left behind")


@case()
def times_without_a_unit(t):
    """Nothing is known, so numbers are compared as they are, as the Python package does."""
    t.path("k.txt").write_text("5\n7\n")
    t.tool.ok("build", "k.txt", "--type", "t64", "--spec", "pivot", "-o", "k.sxt")
    equal(ask(t, "k.sxt", np.array([7], "M8[s]")), ["1"], "no note")
    t.tool.ok("build", "k.txt", "--type", "t64", "--note", "unit=datetime64[s]", "--spec", "pivot",
              "-o", "k.sxt")
    equal(ask(t, "k.sxt", np.array([7000], "M8[ms]")), ["1"], "a note of the user's")
    equal(ask(t, build(t, "g", np.array([5, 7], "m8")), np.array([7], "m8[s]")), ["1"], "generic")
    equal(t.tool.explain("g.sxt")["notes"], {"unit": "timedelta64"}, "the note")
    data = t.path("g.npy").read_bytes().replace(b"'<m8'", b"'<m8[fortnight]'"[:16])
    t.path("f.npy").write_bytes(data)
    t.tool.fails(1, "f.npy: ", "build", "f.npy", "-o", "n.sxt")


SECONDS = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1, "ms": Fraction(1, 10**3),
           "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12)}
EPOCH = datetime.date(1970, 1, 1)


def seconds(number, unit):
    """Since 1970, by the calendar of Python."""
    if unit not in "YM":
        return number * SECONDS[unit]
    months = number * (12 if unit == "Y" else 1)
    first = datetime.date(1970 + months // 12, months % 12 + 1, 1)
    return (first - EPOCH).days * 86400


def number(moment, unit):
    """Back; a fraction if there is no such number."""
    if unit not in "YM":
        return moment / SECONDS[unit]
    day = EPOCH + datetime.timedelta(days=int(moment // 86400))
    months = (day.year - 1970) * 12 + day.month - 1
    whole = months + Fraction(day.day - 1, 31) + Fraction(moment % 86400, 10**9)
    return whole / 12 if unit == "Y" else whole


def steps(rng, unit, count, n):
    return [int(v) for v in rng.integers(-MOST[unit] // count, MOST[unit] // count + 1, n)]


@case("M", "m")
def times_of_every_pair_of_units(t, kind):
    """Every unit with every other, some in several steps at a time."""
    words = [w for w in UNITS if kind == "M" or w not in "YM"]
    inexact = 0
    for to in words:
        to_count = int(t.rng.choice([1, 1, 3, 10]))
        dtype = np.dtype(f"{kind}8[{to_count}{to}]")
        keys = [*range(-9, 10), *steps(t.rng, to, to_count, 40)]
        ix = build(t, "k", np.array(keys, "i8").view(dtype))
        for unit in words:
            count = int(t.rng.choice([1, 1, 2, 5, 7, 60]))
            asked = np.dtype(f"{kind}8[{count}{unit}]")
            # The numbers nearest to keys, and any.
            near = [int(number(seconds(key * to_count, to), unit) // count) for key in keys]
            some = [(v, Fraction(number(seconds(v * count, unit), to)) / to_count)
                    for v in [*near, *steps(t.rng, unit, count, 20)] if abs(v) < 2**63]
            good = [(v, m) for v, m in some if m.denominator == 1 and abs(m) < 2**63]
            bad = [v for v, m in some if m.denominator != 1]
            equal(ask(t, ix, np.array([v for v, _ in good], "i8").view(asked)),
                  [str(keys.index(int(m))) if m in keys else "-" for _, m in good],
                  f"{asked} of {dtype}")
            inexact += len(bad)
            if bad:
                np.save(t.path("q.npy"), np.array([v for v, _ in good] + bad, "i8").view(asked))
                t.tool.fails(1, f"q.npy: {bad[0]} at position {len(good)}, in {asked.name}, is no "
                             f"whole number in {dtype.name}", "lookup", ix, "q.npy")
    check(inexact > 100, f"only {inexact} queries were not exact")


@case()
def times_too_far(t):
    """Numbers at the end of 64 bits, and months of durations."""
    ix = build(t, "k", np.array([0], "M8[ns]"))
    for far in (2**63 - 1, -2**63 + 1):
        for unit in ("Y", "M", "W", "s", "2147483647W", "2147483647Y"):
            np.save(t.path("q.npy"), np.array([0, far], "i8").view(f"M8[{unit}]"))
            t.tool.fails(1, f"q.npy: {far} at position 1, in datetime64[{unit}], is too large",
                         "lookup", ix, "q.npy")
    ix = build(t, "y", np.array([2**62, 5], "i8").view("M8[2Y]"))
    equal(ask(t, ix, np.array([60, 12 * 2**57], "i8").view("M8[2M]")), ["1", "-"], "months of years")
    np.save(t.path("q.npy"), np.array([2**63 - 1], "i8").view("M8[as]"))
    t.tool.fails(1, "is no whole number in datetime64[2Y]", "lookup", ix, "q.npy")
    ix = build(t, "m", np.array([1, 2629746], "m8[s]"))
    np.save(t.path("q.npy"), np.array([1], "m8[M]"))
    t.tool.fails(1, "months have 28 to 31 days", "lookup", ix, "q.npy")
    ix = build(t, "n", np.array([24], "m8[M]"))
    equal(ask(t, ix, np.array([2], "m8[Y]")), ["0"], "years are 12 months")
