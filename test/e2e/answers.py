"""Asks an index everything and compares with the oracle."""
import oracle
from harness import equal
from oracle import MODES, row_sum

SPECS = [
    "sorted", "sorted(layout=pairs)",
    "eytzinger(k=2)", "eytzinger(k=5)", "eytzinger(k=9)", "eytzinger(k=33)",
    "eytzinger(k=2,layout=pairs)", "eytzinger(k=17,layout=pairs)",
    "pivot", "pivot(k=2)", "pivot(k=9)", "pivot(k=9,levels=1)",
    "pivot(k=33,leaf=3)", "pivot(k=9,layout=pairs)",
    "pivot(layout=pairs,block=16)",
]
AUTO_SPECS = ["auto", "auto(for=memory)"]


def check_lookups(t, index, truth, queries, *options):
    """get, rank on both sides, floor and ceil."""
    file = t.tool.write_queries(queries)
    for mode in MODES:
        equal(t.tool.lookup(index, file, mode, *options),
              truth.ask(mode, queries), f"{mode} in {index}")
    equal(t.tool.lookup(index, file, "rank", "--side", "right", *options),
          truth.rank(queries, "right"), f"right rank in {index}")


def check_ranges(t, index, truth, lo, hi, *options, limit=0, last=False):
    """Rows, counts and sums, with a limit if there is one."""
    if limit:
        options += ("--limit", str(limit)) + (("--last",) if last else ())
    rows = truth.ranges(lo, hi, limit, last)
    bounds = t.tool.write_bounds(lo, hi)
    equal(t.tool.range_rows(index, bounds, *options), rows, f"rows in {index}")
    equal(t.tool.range_numbers(index, bounds, "--count", *options),
          [len(r) for r in rows], f"counts in {index}")
    equal(t.tool.range_numbers(index, bounds, "--sum", *options),
          [row_sum(r) for r in rows], f"sums in {index}")


def check_index(t, index, truth, type_name, *options):
    """Every kind of question, with queries made from the keys."""
    queries = oracle.queries_for(t.rng, type_name, truth.keys)
    check_lookups(t, index, truth, queries, *options)
    lo, hi = oracle.bounds_for(t.rng, type_name, truth.keys)
    check_ranges(t, index, truth, lo, hi, *options)
