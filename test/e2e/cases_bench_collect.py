"""sextant bench --collect, with few threads and for a short time."""
from harness import case, check, equal
from oracle import TYPES

NUMBER = (int, float)
TIMES = ["p50_us", "p90_us", "p99_us", "p999_us", "max_us"]
FIELDS = {"spec": str, "device": str, "type": str, "dist": str, "n": int,
          "op": str, "way": str, "submitters": int, "batch": int,
          "interval_us": int, "ms": int, "keys": int, "mkeys_per_s": NUMBER,
          "keys_per_batch": NUMBER, "batches": int, "full": int, "wrong": int,
          "requested_spec": str, "misses": NUMBER, "rows": str,
          **dict.fromkeys(TIMES, NUMBER)}
SMALL = ("bench", "--collect", "--n", "2^10", "--queries", "2^10", "--ms", "20",
         "--misses", "0.3")


def measurements(t, *options):
    """The lines of a small bench behind its header, each checked."""
    header, *lines = t.tool.json(*SMALL, *options)
    check("cpu" in header["header"], "the header lacks the machine")
    check(lines, "nothing was measured")
    for line in lines:
        for field, kind in FIELDS.items():
            check(isinstance(line.get(field), kind),
                  f"{field} is {line.get(field)!r} in {line}")
        equal(line["wrong"], 0, "wrong answers")
        times = [line[name] for name in TIMES]
        equal(times, sorted(times), "percentiles do not ascend")
        check(line["full"] <= line["batches"], f"too many are full in {line}")
        check(line["keys_per_batch"] <= line["batch"],
              f"too many keys are in a batch in {line}")
        rate = line["keys"] / line["ms"] / 1000
        check(abs(rate - line["mkeys_per_s"]) <= 1e-4 * rate + 1e-9,
              f"keys and M/s do not agree in {line}")
    return lines


@case(TYPES)
def collect_of_every_type(t, type_name):
    lines = measurements(t, "--type", type_name, "--submitters", "3",
                         "--batch", "2", "--op", "get,rank,floor,ceil")
    equal([(line["op"], line["way"]) for line in lines],
          [(op, way) for op in ("get", "rank", "floor", "ceil")
           for way in ("direct", "collected", "eager")], "lines")
    equal({line["type"] for line in lines}, {type_name}, "types")
    equal({line["batch"] for line in lines if line["way"] != "direct"}, {2},
          "batches")


@case("cpu", "simt")
def collect_by_more_and_more(t, device):
    lines = measurements(t, "--submitters", "1,2,16", "--interval", "100",
                         "--spec", "sorted,pivot(k=9)", "--device", device)
    equal([line["submitters"] for line in lines],
          ([1] * 3 + [2] * 3 + [16] * 3) * 2, "submitters")
    collected = [line for line in lines if line["way"] == "collected"]
    equal([line["batch"] for line in collected], [1, 1, 8] * 2, "batches")
    equal({line["interval_us"] for line in collected}, {100}, "intervals")
    equal([line["requested_spec"] for line in lines],
          ["sorted"] * 9 + ["pivot(k=9)"] * 9, "specs")


@case()
def collect_as_a_table(t):
    text = t.tool.ok(*SMALL, "--submitters", "2").out.decode()
    for word in ("seed 1", "20 ms", "submitters", "p99.9", "max us", "direct",
                 "collected", "eager", "keys/batch", "pivot"):
        check(word in text, f"{word!r} is not in the table:\n{text}")
    check("\x1b" not in text, "colours where there is no terminal")
