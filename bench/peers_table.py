#!/usr/bin/env python3
"""Prints what bench/peers.sh measured: medians, and how many times the peer each is.

    bench/peers_table.py FILE
    bench/peers_table.py --ways FILE      pairs of options, the second over the first
"""
import json
import statistics
import sys

from gpu_table import number, power, print_table

PEER = "absl::btree_map"
JUDY = "JudyL"


def read(path):
    with open(path) as lines:
        return [x for x in map(json.loads, lines) if "header" not in x]


def ways(path):
    """What the second option of each pair gives over the first, of lines in turns."""
    lines = [x for x in read(path) if x["spec"] != "binary_search"]
    speeds = {}
    for line in lines:
        speeds.setdefault(line["options"], []).append(line["mkeys_per_s"])
    names, of = list(speeds), list(speeds.values())
    rows = [[f"`{names[i + 1]}`, times `{names[i]}`", number(statistics.median(of[i + 1])),
             number(statistics.median(a / b for a, b in zip(of[i + 1], of[i])))]
            for i in range(0, len(of) - 1, 2)]
    print_table([f"`{lines[0]['requested_spec']}`", "10^6 a second", "times"], rows)
    return sum(x["wrong"] for x in lines)


def beside_the_peer(path):
    lines = read(path)
    wrong = sum(x["wrong"] for x in lines)
    speeds = {}
    for line in lines:
        speeds.setdefault(line.get("requested_spec", line["spec"]), []).append(line["mkeys_per_s"])
    peers = [peer for peer in (PEER, JUDY) if peer in speeds]
    one = lines[0]
    print(f"{power(one['n'])} u64 keys, {power(one['queries'])} random hits, one thread; the "
          f"median of {len(speeds[PEER])} rounds.\n")
    if not wrong:                     # a time for wrong answers means nothing
        rows = [[f"`{name}`", number(statistics.median(of)),
                 *(number(statistics.median(a / b for a, b in zip(of, speeds[peer])))
                   for peer in peers)]
                for name, of in speeds.items()]
        print_table(["index", "10^6 a second", *(f"times {peer}" for peer in peers)], rows)
    print(f"{len(lines)} measurements, {wrong} wrong answers.")
    return wrong


def main():
    wrong = ways(sys.argv[2]) if sys.argv[1] == "--ways" else beside_the_peer(sys.argv[1])
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
