#!/usr/bin/env python3
"""How good are auto's choices?

For each key set one run of `sextant bench` measures the specs of `--spec all`, auto
and auto(for=point|range), by points and ranges. Wanted:

  auto(for=point)  at least 0.9 of the best spec for points (0.85 on a CPU, whose
                   readings move that much)
  auto(for=range)  the same for ranges
  auto             at least 0.7 of the best for points, and for ranges
  each of them     not below sorted, nor below 0.9 of plain binary search

Usage: bench/auto.py [--tool build/sextant] [--device cuda:0] [--types u64,u32]
           [--sizes 2^12,2^16] [--dists uniform,...] [--spec all] [--queries 2^22]
           [--seed 1] [-o out.json]

One JSON object for each key set goes to the file, behind the commit (COMMIT says it
where there is no repository) and the command; the sums are last. The status is 0 if
auto(for=point) was as wanted in 95 of 100 key sets.
"""
import argparse
import json
import os
import subprocess
import sys

DISTS = ["uniform", "dense", "normal", "lognormal", "exponential", "zipf-gapped", "clustered",
         "duplicates", "books-like", "wiki-like", "fb-like", "one-value", "two-values",
         "few-values", "zipf-values", "half-equal", "repeated", "blocks", "holes", "outliers",
         "jitter", "power", "log-uniform", "two-bells", "segments"]
CHOSEN = ["auto", "auto(for=point)", "auto(for=range)"]


def measure(args, key_type, dist, size):
    """op -> {spec as asked for: (speed, resolved spec, build time: in s, on a GPU in times
    of the sort)}."""
    gpu = args.device.startswith(("cuda", "simt"))
    command = [args.tool, "bench", "--type", key_type, "--dist", dist, "--n", size, "--rows", "32",
               "--spec", ",".join([args.spec] + CHOSEN), "--op", "get,range", "--hits", "128",
               "--queries", args.queries, "--runs", "3", "--device", args.device,
               "--seed", str(args.seed), "--json"]
    if gpu:
        command += ["--builds", "1", "--ranges", args.ranges]
    else:
        command += ["--threads", "1"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)}: {run.stderr}")
    speeds = {"get": {}, "range": {}}
    for line in run.stdout.splitlines():
        r = json.loads(line)
        if "spec" in r:
            speed = r["g_per_s"] * 1e3 if gpu else 1e3 / r["ns_per_key"]
            # `all` has auto, too: of two readings the better one counts
            old = speeds[r["op"]].get(r["requested_spec"])
            if not old or old[0] < speed:
                build = r["build_x_sort"] if gpu else r["build_s"]
                speeds[r["op"]][r["requested_spec"]] = (speed, r["spec"], build)
    return speeds


def ratio(of, auto):
    """auto's part of the best. Two readings of the same spec count as one."""
    rest = {s: v[0] for s, v in of.items() if s not in CHOSEN + ["binary_search"]}
    resolved = of[auto][1]
    own = max(v[0] for v in of.values() if v[1] == resolved)
    return own / max(max(rest.values()), own)


def judge(speeds, limit):
    """name of a demand -> (met, figure)."""
    verdict = {}
    for auto, ops in (("auto(for=point)", ["get"]), ("auto(for=range)", ["range"]),
                      ("auto", ["get", "range"])):
        for op in ops:
            part = ratio(speeds[op], auto)
            verdict[f"{auto} {op}"] = (part >= (0.7 if auto == "auto" else limit), part)
            for floor, least in (("sorted", 1.0), ("binary_search", 0.9)):
                if floor in speeds[op] and auto != "auto(for=range)":
                    part = speeds[op][auto][0] / speeds[op][floor][0]
                    # a figure that is lower by less than readings move is not below
                    verdict[f"{auto} {op} vs {floor}"] = (part >= least * limit, part)
    return verdict


def commit():
    run = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return os.environ.get("COMMIT") or run.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/sextant")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--types", default="u64,u32")
    parser.add_argument("--sizes", default="2^12,2^16,2^20,2^23")
    parser.add_argument("--dists", default=",".join(DISTS))
    parser.add_argument("--spec", default="all")
    parser.add_argument("--queries", default="")
    parser.add_argument("--ranges", default="2^16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", default="")
    args = parser.parse_args()
    gpu = args.device.startswith(("cuda", "simt"))
    args.queries = args.queries or ("2^24" if gpu else "2^17")
    met, total = {}, {}
    with open(args.o or os.devnull, "w") as out:
        out.write(json.dumps({"commit": commit(), "command": " ".join(sys.argv)}) + "\n")
        for size in args.sizes.split(","):
            for key_type in args.types.split(","):
                for dist in args.dists.split(","):
                    speeds = measure(args, key_type, dist, size)
                    verdict = judge(speeds, 0.9 if gpu else 0.85)
                    for name, (good, _) in verdict.items():
                        met[name] = met.get(name, 0) + good
                        total[name] = total.get(name, 0) + 1
                    out.write(json.dumps({"type": key_type, "dist": dist, "n": size,
                                          "device": args.device, "speeds": speeds,
                                          "verdict": verdict}) + "\n")
                    out.flush()
                    get = speeds["get"]
                    best = max((s for s in get if s not in CHOSEN + ["binary_search"]),
                               key=lambda s: get[s][0])
                    point = get["auto(for=point)"]
                    print(f"{size:5} {key_type:4}{dist:12}{best:28}{get[best][0]:8.0f} "
                          f"{point[1][:44]:44} {verdict['auto(for=point) get'][1]:5.2f} "
                          f"{verdict['auto get'][1]:5.2f} {verdict['auto range'][1]:5.2f} "
                          f"{point[2]:6.2f}"
                          + ("" if all(g for g, _ in verdict.values()) else "  <"), flush=True)
        for name in met:
            print(f"{name}: {met[name]} of {total[name]}")
        out.write(json.dumps({"met": met, "of": total}) + "\n")
    return 0 if met["auto(for=point) get"] >= 0.95 * total["auto(for=point) get"] else 1


if __name__ == "__main__":
    sys.exit(main())
