"""The oracle itself, against counting in plain Python."""
import math

import oracle
from harness import case, equal
from oracle import KEY_SETS, MODES, TYPES, Oracle


def order_of(key):
    """A value that Python compares in the order of keys."""
    if isinstance(key, bytes):
        return key.ljust(16, b"\0")
    return (1, 0) if math.isnan(key) else (0, key)


def by_counting(keys, mode, query):
    """Answers one question by looking at every key."""
    keys = [(order_of(key), row) for row, key in enumerate(keys)]
    query = order_of(query)
    below = [pair for pair in keys if pair[0] <= query]
    above = [pair for pair in keys if pair[0] >= query]
    if mode == "rank":
        return len(keys) - len(above)
    if mode == "floor":
        return max(below)[1] if below else None
    if mode == "ceil":
        return min(above)[1] if above else None
    return min((row for key, row in keys if key == query), default=None)


@case(TYPES, ["empty", "one", "equal", "extremes", "few", "65"])
def oracle_agrees_with_counting(t, type_name, key_set):
    keys = KEY_SETS[key_set](t.rng, type_name)
    queries = oracle.queries_for(t.rng, type_name, keys, 40)
    for mode in MODES:
        expected = [by_counting(keys.tolist(), mode, query)
                    for query in queries.tolist()]
        equal(Oracle(keys).ask(mode, queries), expected, mode)


@case(TYPES)
def oracle_ranges_agree_with_counting(t, type_name):
    keys = KEY_SETS["few"](t.rng, type_name)
    lo, hi = oracle.bounds_for(t.rng, type_name, keys)
    pairs = sorted((order_of(key), row)
                   for row, key in enumerate(keys.tolist()))
    expected = [[row for key, row in pairs
                 if order_of(low) <= key <= order_of(high)]
                for low, high in zip(lo.tolist(), hi.tolist())]
    index = Oracle(keys)
    equal(index.ranges(lo, hi), expected, "ranges")
    equal(index.ranges(lo, hi, limit=3), [rows[:3] for rows in expected],
          "first three")
    equal(index.ranges(lo, hi, limit=3, last=True),
          [rows[-3:] for rows in expected], "last three")
