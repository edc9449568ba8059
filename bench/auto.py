"""How good are auto's choices? 20 key sets x 4 sizes x point, range, mixed.

For each case every candidate spec and auto(for=...) are measured by
`sextant bench` in one run; auto is good if it is within 15 % of the best.
Usage: bench/auto.py [--tool build/sextant] [--sizes 2^12,2^16,...] [-o out.json]
"""
import argparse
import json
import subprocess
import sys

DISTS = ["uniform", "dense", "normal", "lognormal", "exponential", "zipf-gapped", "clustered",
         "duplicates"]
# 20 key sets: every distribution as u64, the rest with other types and rows.
SETS = [("u64", d, "64") for d in DISTS] + [("u32", d, "32") for d in
        ("uniform", "dense", "lognormal", "clustered", "duplicates")] + [
        ("u64", "uniform", "none"), ("u64", "clustered", "32"), ("f64", "normal", "32"),
        ("f64", "lognormal", "64"), ("i64", "normal", "64"), ("f32", "normal", "32"),
        ("b16", "uniform", "32")]
NATURAL = {"u32": 17, "f32": 17, "b16": 5}
WORK = {"point": ["get"], "range": ["range"], "mixed": ["get", "range"]}


def measure(tool, size, key_type, dist, rows, specs, ops):
    """spec as asked for -> (seconds of one unit of work, resolved spec)."""
    command = [tool, "bench", "--type", key_type, "--dist", dist, "--n", size, "--spec",
               ",".join(specs), "--op", ",".join(ops), "--threads", "1", "--rows", rows,
               "--queries", "2^17", "--runs", "3", "--hits", "128", "--json"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cost = {}
    for line in out.splitlines():
        r = json.loads(line)
        if "spec" not in r or r["spec"] == "binary_search":
            continue
        # ns_per_key of a range is per hit; one range goes with 8 points.
        unit = 128 / 8 * r["ns_per_key"] if r["op"] == "range" else r["ns_per_key"]
        total, _ = cost.get(r["requested_spec"], (0, ""))
        cost[r["requested_spec"]] = (total + unit, r["spec"])
    return cost


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="build/sextant")
    parser.add_argument("--sizes", default="2^12,2^16,2^20,2^23")
    parser.add_argument("-o", default="")
    args = parser.parse_args()
    good = total = 0
    lines = []
    for size in args.sizes.split(","):
        for key_type, dist, rows in SETS:
            k = NATURAL.get(key_type, 9)
            specs = ["sorted", "eytzinger(k=2)", f"eytzinger(k={k})", "pivot",
                     "pivot(layout=pairs)"]
            for work, ops in WORK.items():
                auto = f"auto(for={work})"
                cost = measure(args.tool, size, key_type, dist, rows, specs + [auto], ops)
                best = min(specs, key=lambda s: cost[s][0])
                ratio = cost[auto][0] / cost[best][0]
                # auto is one of the specs: noise between two runs of the same is not its fault
                same = [s for s in specs if cost[s][1] == cost[auto][1]]
                if same:
                    ratio = min(ratio, cost[same[0]][0] / cost[best][0])
                total += 1
                good += ratio <= 1.15
                lines.append({"n": size, "type": key_type, "dist": dist, "rows": rows,
                              "work": work, "auto": cost[auto][1], "best": cost[best][1],
                              "auto_vs_best": round(ratio, 3)})
                print(f"{size:5} {key_type} {dist:12} rows {rows:4} {work:6} "
                      f"{cost[auto][1]:45} {ratio:5.2f} x best", flush=True)
    print(f"within 15 % of the best: {good} of {total}")
    if args.o:
        with open(args.o, "w") as f:
            for line in lines:
                f.write(json.dumps(line) + "\n")
            f.write(json.dumps({"within_15_percent": good, "of": total}) + "\n")
    return 0 if good >= 0.9 * total else 1


if __name__ == "__main__":
    sys.exit(main())
