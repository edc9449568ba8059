"""Random keys of random types in random indexes: the seed decides."""
import numpy as np

import oracle
from answers import check_lookups, check_ranges
from harness import case
from oracle import TYPES, Oracle

ROUNDS = 25


def random_spec(rng):
    """Any spec of these families."""
    family = rng.choice(["sorted", "eytzinger", "pivot", "btree"])
    parameters = []
    if family == "btree":                 # every width has a node of so many
        if rng.random() < 0.3:
            return f"btree(fill={rng.integers(50, 101)})"
        return f"btree(k={rng.integers(2, 6)})" if rng.random() < 0.6 else "btree"
    if family != "sorted" and rng.random() < 0.8:
        parameters.append(f"k={rng.integers(2, 34)}")
    if family == "pivot" and rng.random() < 0.4:
        parameters.append(f"levels={rng.integers(0, 4)}")
    if family == "pivot" and rng.random() < 0.4:
        parameters.append(f"leaf={rng.integers(1, 100)}")
    if rng.random() < 0.4:
        parameters.append("layout=pairs")
        if rng.random() < 0.5:
            parameters.append(f"block={2 ** rng.integers(0, 6)}")
    rng.shuffle(parameters)
    return family + (f"({','.join(parameters)})" if parameters else "")


def random_column(rng, type_name):
    """Keys of a random number and with random duplicates."""
    n = int(2 ** rng.uniform(0, 12)) - 1
    distinct = int(2 ** rng.uniform(0, 12))
    if rng.random() < 0.5:
        keys = oracle.random_keys(rng, type_name, n)
    else:
        keys = oracle.small_keys(rng, type_name, n, distinct)
    if rng.random() < 0.3:
        keys = np.concatenate([keys, oracle.extreme_keys(type_name)])
    order = rng.choice(["as is", "shuffled", "sorted"])
    if order == "sorted":
        return np.sort(keys)
    return rng.permutation(keys) if order == "shuffled" else keys


def random_rows(rng, n):
    """No rows, narrow ones or wide ones."""
    kind = rng.integers(3)
    if kind == 0:
        return None
    return rng.integers(0, 2**64 - 1, n, dtype="<u8") if kind == 1 \
        else rng.integers(0, 2**32 - 1, n).astype("<u4")


@case(range(ROUNDS), TYPES)
def random_round(t, number, type_name):
    keys = random_column(t.rng, type_name)
    rows = random_rows(t.rng, len(keys))
    index = t.tool.build(keys, random_spec(t.rng), type_name, rows=rows)
    t.tool.ok("verify", index)
    truth = Oracle(keys, rows)
    queries = oracle.queries_for(t.rng, type_name, keys,
                                 int(2 ** t.rng.uniform(0, 10)))
    check_lookups(t, index, truth, queries)
    lo, hi = oracle.bounds_for(t.rng, type_name, keys, 20)
    check_ranges(t, index, truth, lo, hi,
                 limit=int(t.rng.choice([0, 1, 7, 100])),
                 last=bool(t.rng.integers(2)))
