#!/usr/bin/env python3
"""numpy.searchsorted answers the questions of `sextant bench`: the first
position of each query among the sorted keys. One thread.

    searchsorted.py u32|u64 KEYS QUERIES [RUNS [BATCH]...]

Files and output are those of btree_map.cc.
"""
import json
import statistics
import sys
import time

import numpy as np


def read(path, dtype):
    n = int(np.fromfile(path, "<u8", 1)[0])
    keys = np.fromfile(path, dtype, n, offset=8)
    if len(keys) != n:
        raise SystemExit(f"searchsorted: {path}: is cut short")
    return keys


def run(keys, queries, batch):
    """(seconds of each call, positions)"""
    rows, times = [], []
    for at in range(0, len(queries), batch):
        begin = time.perf_counter()
        rows.append(np.searchsorted(keys, queries[at:at + batch]))
        times.append(time.perf_counter() - begin)
    return times, np.concatenate(rows)


def wrong_in(keys, queries, rows):
    """Where a row is not the first position of its query."""
    inside = np.minimum(rows, len(keys) - 1)
    bad = (rows >= len(keys)) | (keys[inside] != queries)
    bad |= (rows > 0) & (keys[np.maximum(inside, 1) - 1] == queries)
    return int(bad.sum())


def main():
    type_name, keys_path, queries_path, *rest = sys.argv[1:]
    runs, *batches = [int(word) for word in rest] or [3]
    dtype = {"u32": "<u4", "u64": "<u8"}[type_name]
    keys, queries = read(keys_path, dtype), read(queries_path, dtype)
    all_wrong = 0
    for batch in batches or [0]:
        batch = batch or len(queries)
        _, rows = run(keys, queries, batch)       # warms up
        wrong = wrong_in(keys, queries, rows)
        passes = [run(keys, queries, batch)[0] for _ in range(runs)]
        calls = sorted(second for times in passes for second in times)
        middle = statistics.median(sum(times) for times in passes)
        print(json.dumps({
            "spec": "numpy.searchsorted", "device": "cpu", "threads": 1,
            "op": "get", "type": type_name, "n": len(keys),
            "queries": len(queries), "batch": batch,
            "mkeys_per_s": len(queries) / middle * 1e-6,
            "call_us": statistics.median(calls) * 1e6,
            "call_p99_us": calls[-(-len(calls) * 99 // 100) - 1] * 1e6,
            "build_s": 0, "bytes": 0, "wrong": wrong}))
        all_wrong += wrong
    return 1 if all_wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
