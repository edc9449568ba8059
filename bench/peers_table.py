#!/usr/bin/env python3
"""Prints what bench/peers.sh measured: medians, and how many times the peer each is.

    bench/peers_table.py FILE
"""
import json
import statistics
import sys

from gpu_table import number, power, print_table

PEER = "absl::btree_map"


def main():
    with open(sys.argv[1]) as lines:
        lines = [x for x in map(json.loads, lines) if "header" not in x]
    wrong = sum(x["wrong"] for x in lines)
    speeds = {}
    for line in lines:
        speeds.setdefault(line.get("requested_spec", line["spec"]), []).append(line["mkeys_per_s"])
    one = lines[0]
    print(f"{power(one['n'])} u64 keys, {power(one['queries'])} random hits, one thread; the "
          f"median of {len(speeds[PEER])} rounds.\n")
    if not wrong:                     # a time for wrong answers means nothing
        rows = [[f"`{name}`", number(statistics.median(of)),
                 number(statistics.median(a / b for a, b in zip(of, speeds[PEER])))]
                for name, of in speeds.items()]
        print_table(["index", "10^6 a second", f"times {PEER}"], rows)
    print(f"{len(lines)} measurements, {wrong} wrong answers.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
