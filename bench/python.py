#!/usr/bin/env python3
"""The Python package beside NumPy, pandas and torch, each row in one run with its peer.

    PYTHONPATH=build/python python3 bench/python.py -o bench/results/python-NAME.json

Rows:
    overhead     a call for one query
    searchsorted 2^24 float64 keys, 2^22 random queries, one thread; the index was built
                 before, or is built in the call
    isin         10^7 in 10^7 int64
    asof         10^7 queries among 10^7 sorted keys
    strings      5 * 10^6 random gets among as many strings, Arrow arrays, one thread
    sweep        searchsorted, isin and asof at many sizes, of several dtypes, one thread: the
                 least ratio to NumPy (of asof, to pandas)
    orders       the same of queries in orders that NumPy's search is fast at
    torch        2^26 int64 keys and queries on a GPU, nine distributions (--torch)

Each time is the best of some, by the clock and by the processor's time (which other work on
the machine changes less); ratios are peer / ours. --small takes sizes that end in seconds,
to try the script.
"""
import argparse
import json
import os
import platform
import subprocess
import time

import numpy as np

import sextant


class Seconds(float):
    """By the clock; .cpu: of the processor, all threads together."""
    cpu = 0.0


def best(f, times=3):
    """The least seconds of some calls, and the last answer."""
    least, cpu, answer = float("inf"), float("inf"), None
    for _ in range(times):
        begun, cpu_begun = time.perf_counter(), time.process_time()
        answer = f()
        cpu = min(cpu, time.process_time() - cpu_begun)
        least = min(least, time.perf_counter() - begun)
    least = Seconds(least)
    least.cpu = cpu
    return least, answer


def row(name, ours, peer, peer_name, **more):
    line = {"row": name, "ours_s": ours, "peer": peer_name, "peer_s": peer, "ratio": peer / ours,
            **more}
    by_processor = ""
    if hasattr(ours, "cpu"):                  # a GPU's times are of its own clock
        line |= {"ours_cpu_s": ours.cpu, "peer_cpu_s": peer.cpu, "cpu_ratio": peer.cpu / ours.cpu}
        by_processor = f", by the processor's time {line['cpu_ratio']:.2f} x"
    print(f"{name:42} {ours * 1e3:10.2f} ms  {peer_name} {peer * 1e3:10.2f} ms  "
          f"{line['ratio']:6.2f} x{by_processor}", flush=True)
    return line


def overhead(args):
    """A call for one query. What the library takes of it is less than a tenth of a
    microsecond, so all of it counts as Python's. Loops are short, and the best one is
    taken: others on the machine then matter little."""
    ix = sextant.Index(np.arange(1000) * 3)
    q, calls = np.array([300]), 500
    lines = []
    for name, f in (("array", lambda: ix.get(q)), ("number", lambda: ix.get(300))):
        def loop():
            for _ in range(calls):
                f()
        seconds = best(loop, 50 if args.small else 2000)[0] / calls
        lines.append({"row": f"overhead, one query as {name}", "ours_s": seconds})
        print(f"{lines[-1]['row']:42} {seconds * 1e6:10.3f} us a call", flush=True)
    return lines


def searchsorted(args):
    rng = np.random.default_rng(1)
    n, m = (1 << 16, 1 << 14) if args.small else (1 << 24, 1 << 22)
    a, v = np.sort(rng.random(n)), rng.random(m)
    peer, want = best(lambda: np.searchsorted(a, v), 1 if n > 1 << 20 else 3)
    ix = sextant.Index(a, spec="pivot", threads=1)
    before, got = best(lambda: ix.rank(v, threads=1))
    assert np.array_equal(got, want)
    inside, got = best(lambda: sextant.searchsorted(a, v, threads=1))
    assert np.array_equal(got, want)
    return [row("searchsorted, index built before", before, peer, "np.searchsorted", n=n, m=m),
            row("searchsorted, built in the call", inside, peer, "np.searchsorted", n=n, m=m)]


def isin(args):
    rng = np.random.default_rng(2)
    n = 10**5 if args.small else 10**7
    a, b = rng.integers(-2**62, 2**62, n), rng.integers(-2**62, 2**62, n)
    b[::2] = rng.choice(a, b[::2].size)
    ours, got = best(lambda: sextant.isin(a, b), 2)
    peer, want = best(lambda: np.isin(a, b), 1)
    assert np.array_equal(got, want)
    return [row("isin", ours, peer, "np.isin", n=n)]


def asof(args):
    import pandas as pd
    rng = np.random.default_rng(3)
    n = 10**5 if args.small else 10**7
    keys = np.sort(rng.integers(0, 2**40, n))
    queries = np.sort(rng.integers(0, 2**40, n))
    left = pd.DataFrame({"t": queries})
    right = pd.DataFrame({"t": keys, "row": np.arange(n)})
    ours, got = best(lambda: sextant.asof(keys, queries))
    peer, want = best(lambda: pd.merge_asof(left, right, on="t"), 2)
    assert np.array_equal(got, want["row"].fillna(-1).astype("i8").to_numpy())
    return [row("asof", ours, peer, "pandas.merge_asof", n=n)]


def strings(args):
    """Random gets among strings as Arrow arrays, one thread."""
    import pyarrow as pa
    import pyarrow.compute as pc
    rng = np.random.default_rng(6)
    n = 10**5 if args.small else 5 * 10**6
    words = [f"{x:x}" for x in rng.integers(0, 2**62, n).tolist()]
    keys = pa.array(words)
    asked = keys.take(pa.array(rng.integers(0, n, n)))
    ix = sextant.Index(keys, spec="pivot", threads=1)
    ours, got = best(lambda: ix.get(asked, threads=1), 2)
    table, plain = {w: i for i, w in enumerate(words)}, asked.to_pylist()
    peer, want = best(lambda: [table.get(w, -1) for w in plain], 2)
    assert got.tolist() == want
    arrow, want = best(lambda: pc.index_in(asked, keys), 1)
    assert np.array_equal(want.to_numpy(), got)
    return [row("strings, get", ours, peer, "dict", n=n),
            row("strings, get", ours, arrow, "pyarrow.compute.index_in", n=n)]


def in_turns(ours, peer, seconds):
    """Both in turns, so that whoever else is on the machine slows both: the least seconds of
    the processor for a call of each. Short calls are timed by the dozen."""
    a, b = best(ours, 1)[0].cpu, best(peer, 1)[0].cpu
    first = max(a, b, 1e-7)
    if first > 0.3:                           # long enough to be told apart at once
        return a, b
    calls, a, b = max(1, int(2e-4 / first)), float("inf"), float("inf")
    begun = time.perf_counter()
    for turn in range(200):
        a = min(a, best(lambda: [ours() for _ in range(calls)], 1)[0].cpu / calls)
        b = min(b, best(lambda: [peer() for _ in range(calls)], 1)[0].cpu / calls)
        if time.perf_counter() - begun > seconds and turn >= 2:
            break
    return max(a, 1e-9), max(b, 1e-9)         # clocks may be coarse


SWEEP_DTYPES = ("float64", "int64", "int32", "datetime64[ns]", "uint16")


def sweep_values(rng, dtype, n):
    """Values of all that the dtype has, but for NaN and NaT."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(n).astype(dtype)
    if dtype.kind == "M":
        return rng.integers(0, 2**62, n).astype(dtype)
    most = np.iinfo(dtype)
    return rng.integers(most.min, most.max, n, dtype)


def sweep_pairs(rng, keys, a, m):
    """(what, ours, peer) of keys, the same sorted, and m queries."""
    n, dtype = keys.size, keys.dtype
    v = sweep_values(rng, dtype, m)
    ascending = np.sort(v)
    v[::2] = rng.choice(keys, v[::2].size)    # half of isin's elements are there
    for order, q in (("random", v), ("sorted", ascending)):
        yield (f"searchsorted, {order}", lambda: sextant.searchsorted(a, q, threads=1),
               lambda: np.searchsorted(a, q))
    yield "isin", lambda: sextant.isin(v, keys, threads=1), lambda: np.isin(v, keys)
    if dtype.kind == "i":                     # NumPy has a table for these
        near, few = v % (10 * n + 10), keys % (10 * n + 10)
        yield ("isin, small range", lambda: sextant.isin(near, few, threads=1),
               lambda: np.isin(near, few))
    if dtype.kind in "Mi" and dtype.itemsize == 8:
        import pandas as pd
        left, right = pd.DataFrame({"t": ascending}), pd.DataFrame({"t": a, "row": np.arange(n)})
        yield ("asof", lambda: sextant.asof(a, ascending, threads=1),
               lambda: pd.merge_asof(left, right, on="t"))


def sweep_cell(ours, peer, seconds):
    """Seconds of both. What seems slower is measured again, and longer: first once, then as
    often as it takes for a median, which is the cell's."""
    mine, theirs = in_turns(ours, peer, seconds)
    if theirs >= 0.95 * mine:
        return mine, theirs
    again = in_turns(ours, peer, 4 * seconds)
    mine, theirs = min(mine, again[0]), min(theirs, again[1])
    if theirs >= 0.9 * mine:
        return mine, theirs
    several = sorted((in_turns(ours, peer, 2 * seconds) for _ in range(7)),
                     key=lambda pair: pair[1] / pair[0])
    return several[3]


def sweep(args):
    """No size is to be slower than NumPy: keys 2^0 to 2^24 (and 2^5, where isin changes its way),
    queries 2^0 to 2^22; or both up to 2^--most."""
    rng = np.random.default_rng(4)
    most_n, most_m = (12, 12) if args.small else (24, 22)
    if args.most is not None:
        most_n = most_m = args.most
    seconds = 0.01 if args.small else 0.1
    lines = []
    for dtype in args.dtypes.split(",") if args.dtypes else SWEEP_DTYPES:
        for n in (1 << k for k in sorted({5, *range(0, most_n + 1, 2)})):
            keys = sweep_values(rng, dtype, n)
            a = np.sort(keys)
            for m in (1 << k for k in range(0, most_m + 1, 2)):
                for what, ours, peer in sweep_pairs(rng, keys, a, m):
                    mine, theirs = sweep_cell(ours, peer, seconds)
                    lines.append({"row": f"sweep: {what}", "dtype": dtype, "n": n, "m": m,
                                  "ours_cpu_s": mine, "peer_cpu_s": theirs,
                                  "cpu_ratio": theirs / mine})
        least_ratios(lines, dtype)
    return lines


def orders_of(rng, a, m):
    """(name, m queries of the sorted keys a) in orders whose steps NumPy's search foresees, or
    whose keys it has in its caches, and in ones between these and random ones."""
    n, lanes = a.size, np.arange(m)
    up = a[np.sort(rng.integers(0, n, m))]
    inner, low, high = a[n // 4:n - n // 4], a[:n // 4], a[n - n // 4:]
    nearly = up.copy()
    swaps = rng.integers(0, m, m // 50)
    nearly[swaps] = nearly[swaps[::-1]]
    yield "random", a, a[rng.integers(0, n, m)]
    yield "sorted", a, up
    yield "descending", a, up[::-1].copy()
    yield "nearly sorted", a, nearly
    yield "blocks", a, up[np.argsort(rng.permutation(m // 64 + 1)[lanes // 64], kind="stable")]
    yield "near", a, up[np.argsort(lanes + rng.integers(0, 64, m), kind="stable")]
    yield "saw", a, up.reshape(64, -1).T.reshape(-1)      # 64 that ascend, again and again
    yield "constant", a, np.full(m, a[n // 2])
    yield "two values", a, a[[n // 3, n // 2]][lanes % 2]
    yield "few values", a, a[rng.integers(0, n, 16)][rng.integers(0, 16, m)]
    yield "narrow", a, a[n // 3 + rng.integers(0, max(n // 1000, 1), m)]
    yield "runs", a, np.repeat(a[rng.integers(0, n, m // 32 + 1)], 32)[:m]
    yield "below", inner, rng.choice(low, m)
    yield "above", inner, rng.choice(high, m)
    yield "below, sorted", inner, np.sort(rng.choice(low, m))
    yield "above, sorted", inner, np.sort(rng.choice(high, m))
    yield "outside", inner, rng.choice(np.append(low, high), m)


def orders_pairs(a, order, q):
    """(what, ours, peer) of sorted keys and queries in some order."""
    yield (f"searchsorted, {order}", lambda: sextant.searchsorted(a, q, threads=1),
           lambda: np.searchsorted(a, q))
    yield f"isin, {order}", lambda: sextant.isin(q, a, threads=1), lambda: np.isin(q, a)
    if a.dtype == np.int64 and bool((q[1:] >= q[:-1]).all()):
        import pandas as pd
        left, right = pd.DataFrame({"t": q}), pd.DataFrame({"t": a, "row": np.arange(a.size)})
        yield (f"asof, {order}", lambda: sextant.asof(a, q, threads=1),
               lambda: pd.merge_asof(left, right, on="t"))


def orders(args):
    """Keys about 2^7 to 2^24, queries from as many on as are not left to NumPy at once."""
    rng = np.random.default_rng(7)
    most_n, most_m = (12, 14) if args.small else (24, 22)
    if args.most is not None:
        most_n = most_m = args.most
    seconds = 0.01 if args.small else 0.05
    lines = []
    for dtype in args.dtypes.split(",") if args.dtypes else ("float64", "int64", "int32"):
        for n in (1 << k for k in range(7, most_n + 1, args.step)):
            keys = np.sort(sweep_values(rng, dtype, n))
            for m in (1 << k for k in range(13, most_m + 1, args.step)):
                for order, a, q in orders_of(rng, keys, m):
                    for what, ours, peer in orders_pairs(a, order, q):
                        if args.verb and not what.startswith(args.verb):
                            continue
                        mine, theirs = sweep_cell(ours, peer, seconds)
                        lines.append({"row": f"orders: {what}", "dtype": dtype, "n": a.size, "m": m,
                                      "ours_cpu_s": mine, "peer_cpu_s": theirs,
                                      "cpu_ratio": theirs / mine})
        least_ratios(lines, dtype)
    return lines


def least_ratios(lines, dtype):
    for name in sorted({x["row"] for x in lines}):
        these = sorted((x for x in lines if x["row"] == name and x["dtype"] == dtype),
                       key=lambda x: x["cpu_ratio"])
        if these:
            print(f"{name:36} {dtype:15} least ratio {these[0]['cpu_ratio']:.2f} at "
                  f"n = {these[0]['n']}, m = {these[0]['m']}; "
                  f"{sum(x['cpu_ratio'] < 0.9 for x in these)} of {len(these)} below 0.9",
                  flush=True)


def distributions(torch, n):
    """Nine, as keys on the GPU."""
    g = torch.Generator(device="cuda").manual_seed(5)

    def whole(most):
        return torch.randint(0, most, (n,), generator=g, device="cuda", dtype=torch.int64)

    def real(x):
        return x.to(torch.float64).clamp(0, 9e18).to(torch.int64)

    u = torch.rand(n, generator=g, device="cuda", dtype=torch.float64).clamp_min(1e-12)
    z = torch.randn(n, generator=g, device="cuda", dtype=torch.float64)
    yield "uniform", whole(2**62)
    yield "dense", torch.randperm(n, generator=g, device="cuda")
    yield "normal", real(z * 2.0**58 + 2.0**61)
    yield "lognormal", real(torch.exp(2 * z) * 2.0**40)
    yield "exponential", real(-torch.log(u) * 2.0**55)
    yield "pareto", real(u ** -1.0 * 2.0**20)
    yield "squares", whole(2**31) ** 2
    yield "clusters", (whole(1024) << 50) + whole(2**30)
    yield "duplicates", whole(n // 16)


def torch_rows(args):
    import torch
    n = 1 << (16 if args.small else 26)
    lines = []

    def timed(f):
        f()
        least = float("inf")
        for _ in range(5):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            answer = f()
            end.record()
            end.synchronize()
            least = min(least, begin.elapsed_time(end) / 1e3)
        return least, answer

    for name, keys in distributions(torch, n):
        queries = keys[torch.randint(0, n, (n,), device="cuda")]
        queries[::2] += 1                     # half of them are mostly misses
        ordered = torch.sort(keys).values
        ix = sextant.Index(keys)
        ours, got = timed(lambda: ix.rank(queries))
        peer, want = timed(lambda: torch.searchsorted(ordered, queries))
        assert torch.equal(got, want), name
        lines.append(row(f"torch, {name}", ours, peer, "torch.searchsorted", n=n, spec=ix.spec,
                         answers_per_s=n / ours))
        ix.close()
        del keys, queries, ordered, got, want
    return lines


def streams(args):
    """Answers on several streams at once, compared with torch's."""
    import torch
    n = 1 << (12 if args.small else 20)
    keys = torch.randint(0, 2**40, (n,), device="cuda")
    ordered, ix = torch.sort(keys).values, sextant.Index(keys)
    lines = []
    for turn in range(20):
        made = []
        for _ in range(4):
            with torch.cuda.stream(torch.cuda.Stream()):
                q = torch.randint(0, 2**40, (n,), device="cuda")
                made.append((q, ix.rank(q), ix.range(q[:1000], q[:1000] + 10**6)))
        torch.cuda.synchronize()
        for q, got, found in made:
            assert torch.equal(got, torch.searchsorted(ordered, q))
            counts = torch.searchsorted(ordered, q[:1000] + 10**6, right=True) - \
                torch.searchsorted(ordered, q[:1000])
            assert torch.equal(found.first[1:] - found.first[:-1], counts)
    lines.append({"row": "torch, 4 streams, answers equal", "ok": True})
    print(lines[-1]["row"], flush=True)
    return lines


def cupy_rows(args):
    import cupy
    keys = cupy.random.randint(0, 2**40, 1 << 20)
    ix = sextant.Index(keys)
    got = ix.rank(keys)
    assert isinstance(got, cupy.ndarray)
    assert bool((got == cupy.searchsorted(cupy.sort(keys), keys)).all())
    print("cupy, answers equal", flush=True)
    return [{"row": "cupy, answers equal", "ok": True}]


def usable_devices():
    """Those that were there. Why others can't be used names files, which nobody wants here."""
    return [d for d in sextant.devices() if d["usable"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--torch", action="store_true", help="the rows of a GPU alone")
    parser.add_argument("--only", help="some rows: overhead,searchsorted,isin,asof,strings,"
                        "sweep,orders")
    parser.add_argument("--dtypes", help="of sweep, e.g. float64,int32")
    parser.add_argument("--most", type=int, help="of sweep: sizes are up to 2^MOST")
    parser.add_argument("--step", type=int, default=2, help="of orders: sizes are 2^STEP apart")
    parser.add_argument("--verb", help="of orders: one of searchsorted, isin, asof")
    args = parser.parse_args()
    parts = [torch_rows, streams, cupy_rows] if args.torch else \
        [overhead, searchsorted, isin, asof, strings, sweep, orders]
    lines = []
    for part in parts:
        if args.only and part.__name__ not in args.only.split(","):
            continue
        try:
            lines += part(args)
        except ImportError as error:          # a peer that is not installed here
            print(f"{part.__name__}: {error}", flush=True)
            lines.append({"row": part.__name__, "left_out": str(error)})
    if args.output:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                                text=True).stdout.strip()
        with open(args.output, "w", encoding="utf-8") as file:
            json.dump({"what": "bench/python.py", "commit": commit, "sextant": sextant.__version__,
                       "numpy": np.__version__, "python": platform.python_version(),
                       "load": os.getloadavg(), "devices": usable_devices(), "rows": lines},
                      file, indent=1)


if __name__ == "__main__":
    main()
