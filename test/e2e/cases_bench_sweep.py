"""sextant bench --sweep batch, on the emulator and with small batches."""
import math

from harness import case, check, equal

NUMBER = (int, float)
TIMES = ["cpu_us", "gpu_us", "picked_us", "predicted_cpu_us",
         "predicted_gpu_us"]
FIELDS = {"spec": str, "requested_spec": str, "device": str, "type": str,
          "dist": str, "n": int, "op": str, "batch": int, "picked": str,
          "faster": bool, "wrong": int, **dict.fromkeys(TIMES, NUMBER)}
SMALL = ("bench", "--sweep", "batch", "--device", "simt", "--n", "2^10",
         "--runs", "2", "--batches", "1,3,40")


def sizes_and_summaries(t, *options):
    header, told, *lines = t.tool.json(*SMALL, *options)
    check("cpu" in header["header"], "the header lacks the machine")
    equal(told["explain"]["place"], "both", "place")
    check(told["explain"]["cost"]["link"]["direct_ns"] > 0, f"cost of {told}")
    sizes = [line for line in lines if "summary" not in line]
    for line in sizes:
        for field, kind in FIELDS.items():
            check(isinstance(line.get(field), kind),
                  f"{field} is {line.get(field)!r} in {line}")
        equal(line["wrong"], 0, "wrong answers")
        check(all(0 < line[name] < math.inf for name in TIMES),
              f"times in {line}")
        cheaper = line["predicted_cpu_us"] <= line["predicted_gpu_us"]
        equal(line["picked"], "cpu" if cheaper else "gpu", f"pick of {line}")
    return sizes, [line["summary"] for line in lines if "summary" in line]


@case(["u32", "f64", "b16"])
def sweep_of_types(t, type_name):
    sizes, summaries = sizes_and_summaries(t, "--type", type_name, "--op",
                                           "get,rank,floor,ceil")
    equal([(line["op"], line["batch"]) for line in sizes],
          [(op, batch) for op in ("get", "rank", "floor", "ceil")
           for batch in (1, 3, 40)], "lines")
    equal(len(summaries), 4, "summaries")
    for i, summary in enumerate(summaries):
        equal(summary["sizes"], 3, "sizes")
        equal(summary["picked_faster"],
              sum(line["faster"] for line in sizes[3 * i:3 * i + 3]), "picks")


@case(["sorted place=both", "guide place=both", "auto place=both"])
def sweep_of_specs(t, spec):
    sizes, _ = sizes_and_summaries(t, "--spec", spec)
    equal({line["requested_spec"] for line in sizes}, {spec}, "specs")
    check(all("place=both" in line["spec"] for line in sizes), "places")


@case()
def sweep_as_a_table_and_a_picture(t):
    text = t.tool.ok(*SMALL, "--plot", "sweep.gp").out.decode()
    for word in ("batch", "picked", "model: cpu", "crossover: measured",
                 "predicted", "of 3 sizes", "place=both", "answers  the CPU"):
        check(word in text, f"{word!r} is not in the table:\n{text}")
    check("\x1b" not in text, "colours where there is no terminal")
    script = t.path("sweep.gp").read_text()
    data = script.split("EOD\n")[1].splitlines()[1:]
    equal([line.split()[0] for line in data], ["1", "3", "40"], "data")
    check(all(len(line.split()) == 6 for line in data), f"data: {data}")
    check("set output 'sweep.gp.svg'" in script, script)


@case()
def sweep_refuses(t):
    t.tool.fails(2, "place=both", *SMALL, "--spec", "pivot")
    t.tool.fails(2, "needs a GPU", "bench", "--sweep", "batch", "--n", "100")
    t.tool.fails(2, "ascend", *SMALL[:-1], "4,2")
    t.tool.fails(2, "'x'", *SMALL[:-1], "4,x")
    t.tool.fails(2, "range", *SMALL, "--op", "range")
    t.tool.fails(2, "--batches", "bench", "--batches", "1", "--n", "10")
    t.tool.fails(2, "--plot", *SMALL, "--op", "get,rank", "--plot", "a.gp")
    t.tool.fails(2, "--collect", *SMALL, "--collect")


@case("nowhere/a.gp", "nowhere/a.svg", "folder", "drawn.svg", "it's.gp")
def a_plot_that_cannot_be_is_told_before(t, path):
    """It fails before anything is measured: stdout is empty, and no file comes."""
    t.path("folder").mkdir()
    t.path("drawn.svg").mkdir()
    before = sorted(t.dir.iterdir())
    t.tool.fails(2 if "'" in path else 1, path, *SMALL, "--plot", path)
    equal(sorted(t.dir.iterdir()), before, "files")


@case()
def a_plot_is_left_alone_by_what_fails(t):
    t.path("old.gp").write_text("old")
    t.tool.fails(1, "nowhere/out", *SMALL, "--plot", "old.gp", "-o", "nowhere/out")
    equal(t.path("old.gp").read_text(), "old", "the old script")
    t.tool.fails(1, "nowhere/out", *SMALL, "--plot", "new.gp", "-o", "nowhere/out")
    check(not t.path("new.gp").exists(), "a script of nothing")
