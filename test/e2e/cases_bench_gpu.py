"""sextant bench on a GPU, on few keys; the emulator stands in for the GPU."""
from harness import case, check, equal
from oracle import TYPES

NUMBER = (int, float)
FIELDS = {"spec": str, "device": str, "options": str, "gpu": str, "op": str,
          "type": str, "dist": str, "n": int, "unique": bool, "rows": str,
          "runs": int, "misses": NUMBER, "zipf": bool, "sorted": bool,
          "seed": int, "queries": int, "found": int, "batch": int,
          "hits": int, "work": int, "g_per_s": NUMBER,
          "best_g_per_s": NUMBER, "us_per_pass": NUMBER, "gb_per_s": NUMBER,
          "bytes_per_key": NUMBER, "build_s": NUMBER,
          "build_x_sort": NUMBER, "wrong": int, "checked": int,
          "requested_spec": str, "floor_g_per_s": NUMBER, "sort_s": NUMBER}
THERE = ["get", "rank", "floor", "ceil", "key_at", "range"]
HERE = ["get_pageable", "small", "range_rows", "range_pageable"]
NO_FLOOR = ("range", "small", "range_rows", "range_pageable", "lines")
SMALL = ("bench", "--device", "simt", "--n", "2000", "--queries", "500",
         "--runs", "1", "--builds", "0", "--hits", "20", "--ranges", "30")


def measurements(t, *options):
    """The lines of a small bench behind its header, each checked."""
    header, *lines = t.tool.json(*SMALL, *options)
    for field in ("cpu", "gpu", "devices", "seed", "queries"):
        check(field in header["header"], f"the header lacks {field}")
    check(lines, "nothing was measured")
    for line in lines:
        for field, kind in FIELDS.items():
            check(isinstance(line.get(field), kind),
                  f"{field} is {line.get(field)!r} in {line}")
        equal(line["wrong"], 0, "wrong answers")
        check(line["g_per_s"] > 0, f"no speed in {line}")
        time = line["work"] / line["g_per_s"] / 1000
        check(0.99 < time / line["us_per_pass"] < 1.01,
              f"G/s and us do not agree in {line}")
        equal(line["of_floor"] is None, line["op"] in NO_FLOOR,
              "a part of the floor")
        equal(line["vs_binary_search"] is None,
              line["op"] not in ("get", "rank", "floor", "ceil"),
              "times binary search")
    return lines


@case(TYPES)
def gpu_bench_of_every_type(t, type_name):
    lines = measurements(t, "--type", type_name, "--spec",
                         "sorted,eytzinger(k=5),pivot(k=9,layout=pairs)",
                         "--op", ",".join(THERE + HERE), "--misses", "0.2")
    equal({line["op"] for line in lines}, set(THERE + HERE), "operations")
    equal({line["type"] for line in lines}, {type_name}, "types")
    equal(len(lines), 2 + 3 * len(THERE + HERE), "lines")
    baseline = [line for line in lines if line["spec"] == "binary_search"]
    equal([line["op"] for line in baseline], ["get", "rank"], "baseline")
    check(all(line["vs_binary_search"] == 1 and line["build_x_sort"] == 1
              for line in baseline), f"1 is not 1 in {baseline}")


@case("uniform", "dense", "normal", "lognormal", "exponential",
      "zipf-gapped", "clustered", "duplicates", "books-like", "wiki-like",
      "fb-like")
def gpu_bench_of_every_distribution(t, dist):
    lines = measurements(t, "--dist", dist, "--spec", "pivot,sorted", "--op",
                         ",".join(THERE), "--type", "u32", "--rows", "32",
                         "--batch", "90", "--zipf")
    equal({line["dist"] for line in lines}, {dist}, "distributions")
    equal({line["batch"] for line in lines}, {90}, "batches")
    equal({line["found"] for line in lines}, {500}, "hits")
    for line in lines:
        if line["op"] == "range":
            check(line["work"] >= 30 * 20, f"too few hits in {line}")


@case("hybrid", "host", "device")
def gpu_bench_of_the_host(t, place):
    """Ranges in calls of 7, and beside them a line of the host's memory for each query."""
    lines = measurements(t, "--spec", f"btree place={place}", "--op",
                         "range_rows,range_pageable,lines", "--batch", "7",
                         "--dist", "duplicates")
    equal([(line["spec"], line["op"]) for line in lines][0],
          ("lines", "lines"), "the limit")
    equal([line["op"] for line in lines],
          ["lines", "range_rows", "range_pageable"], "operations")
    for line in lines[1:]:
        check(line["work"] >= 30 * 20, f"too few hits in {line}")


@case("none", "32", "64")
def gpu_bench_rows(t, rows):
    measurements(t, "--rows", rows, "--spec", "pivot,eytzinger(k=9),auto",
                 "--op", ",".join(THERE + HERE))


@case(TYPES)
def gpu_bench_unique(t, type_name):
    """Building as unique fails if keys repeat; misses are misses."""
    lines = measurements(t, "--unique", "--type", type_name, "--spec",
                         "pivot unique", "--misses", "0.5", "--seed", "7")
    found = lines[0]["found"]
    check(150 < found < 350, f"{found} of 500 are found, half should be")
    equal({line["unique"] for line in lines}, {True}, "unique")
    lines = measurements(t, "--unique", "--type", type_name, "--spec",
                         "sorted", "--misses", "1", "--op", "get,ceil")
    equal({line["found"] for line in lines}, {0}, "found")


@case("u32", "f32", "b16")
def gpu_bench_sorted_queries(t, type_name):
    lines = measurements(t, "--sorted", "--type", type_name, "--spec",
                         "pivot,eytzinger(k=5),sorted", "--misses", "0.3",
                         "--op", "get,rank,floor,get_pageable")
    equal({line["sorted"] for line in lines}, {True}, "sorted")


@case()
def gpu_bench_over_devices(t):
    devices = ["simt", "simt,pin=none", "simt,reorder=double,block=128,each=8",
               "simt,walk=group", "simt,scan=warp,schedule=static"]
    lines = measurements(t, "--device", ";".join(devices), "--spec",
                         "pivot(k=9),sorted", "--op", "get,range", "--type",
                         "u32", "--rows", "32")
    swept = [(line["options"], line["requested_spec"], line["op"])
             for line in lines if line["spec"] != "binary_search"]
    equal(swept, [(device[5:], spec, op) for device in devices
                  for spec in ("pivot(k=9)", "sorted")
                  for op in ("get", "range")], "lines")


@case()
def gpu_bench_builds(t):
    for builds in ("0", "1", "4"):
        measurements(t, "--builds", builds, "--spec", "sorted", "--op", "get")


@case("get_pinned", "range_pinned")
def gpu_bench_pinned(t, op):
    """Pinned memory needs CUDA's driver: without it there is one note, once."""
    result = t.tool.ok(*SMALL, "--op", op, "--spec", "sorted,pivot", chatty=True)
    left_out = result.err.count(f"{op} is left out")
    equal(left_out, result.err.count("\n"), "notes")
    measured = result.out.decode().count(op)
    equal((left_out, measured) in ((1, 0), (0, 2)), True,
          f"{left_out} notes, {measured} lines")


@case()
def gpu_bench_as_a_table(t):
    text = t.tool.ok(*SMALL, "--spec", "pivot", "--op", "get,small",
                     "--device", "simt;simt,pin=full").out.decode()
    for word in ("simt,pin=full", "of floor", "x sort", "binary_search",
                 "pivot", "small"):
        check(word in text, f"{word!r} is not in the table:\n{text}")
    check("\x1b" not in text, "colours where there is no terminal")


@case()
def gpu_bench_to_a_file(t):
    result = t.tool.ok(*SMALL, "--spec", "sorted", "--json", "-o", "b.json")
    equal(result.out, b"", "stdout")
    equal(t.path("b.json").read_text().count("\n"), 5, "lines")


WRONG = {
    "--device simt;simt,pin=some": "some",
    "--device simt;": "--device",
    "--device simt;cpu": "cpu",
    "--device cpu;simt": "a GPU has another bench",
    "--device cpu;cpu:nothing": "nothing",
    "--device cpu --sorted": "--sorted",
    "--device cpu --ranges 5": "--ranges",
    "--device cpu --builds 1": "--builds",
    "--device cpu --op small": "small",
    "--device cpu --op get_pinned": "get_pinned",
    "--device simt --op find": "find",
    "--device simt --spec nonsense": "nonsense",
    "--device simt --ranges 0": "'0'",
    "--device simt --unique --dist normal": "normal",
    "--unique --dist dense": "dense",
}


@case(tuple(WRONG))
def gpu_bench_refuses(t, words):
    t.tool.fails(2, WRONG[words], "bench", "--n", "100", *words.split())


@case()
def gpu_bench_keys_that_do_not_exist(t):
    result = t.tool.run(*SMALL, "--type", "f32", "--n", "2^25", "--unique")
    equal(result.code, 1, "exit status")
    check("16777216" in result.err, f"{result.err!r} does not say how many")


@case()
def bench_of_unique_keys(t):
    lines = t.tool.json("bench", "--n", "5000", "--queries", "1000", "--runs",
                        "1", "--unique", "--type", "u32", "--spec",
                        "sorted unique,pivot unique", "--threads", "1")[1:]
    equal({line["wrong"] for line in lines}, {0}, "wrong answers")
