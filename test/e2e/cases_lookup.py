"""sextant build and lookup: every type, spec and key set."""
import numpy as np

import formats
import oracle
from answers import AUTO_SPECS, SPECS, check_index, check_lookups
from harness import case, check, equal
from oracle import KEY_SETS, MODES, TYPES, Oracle


@case(TYPES, SPECS + AUTO_SPECS)
def answers(t, type_name, spec):
    keys = KEY_SETS["mixed"](t.rng, type_name)
    index = t.tool.build(keys, spec, type_name)
    t.tool.ok("verify", index)
    check_index(t, index, Oracle(keys), type_name)


@case(TYPES, KEY_SETS)
def key_sets(t, type_name, key_set):
    keys = KEY_SETS[key_set](t.rng, type_name)
    for spec in t.rng.choice(SPECS, 2, replace=False):
        index = t.tool.build(keys, spec, type_name)
        t.tool.ok("verify", index)
        check_index(t, index, Oracle(keys), type_name)


@case(TYPES, ["point", "range", "mixed", "memory"])
def auto_for(t, type_name, purpose):
    """Enough keys for auto to measure."""
    keys = np.concatenate([oracle.random_keys(t.rng, type_name, 60000),
                           oracle.small_keys(t.rng, type_name, 10000, 3000)])
    index = t.tool.build(keys, f"auto(for={purpose})", type_name)
    t.tool.ok("verify", index)
    check_lookups(t, index, Oracle(keys),
                  oracle.queries_for(t.rng, type_name, keys))


# ---- rows -------------------------------------------------------------------

ROWS = {
    "u32": lambda rng, n: rng.integers(0, 2**32 - 1, n).astype("<u4"),
    "u64": lambda rng, n: rng.integers(0, 2**64 - 1, n, dtype="<u8"),
    "greatest": lambda rng, n: np.full(n, 2**64 - 2, "<u8"),
    "descending": lambda rng, n: np.arange(n, dtype="<u4")[::-1].copy(),
    "i64": lambda rng, n: rng.integers(0, 2**63, n, dtype="<i8"),
    "all zero": lambda rng, n: np.zeros(n, "<u4"),
}


@case(["u32", "f64", "b16"], ROWS, ["sorted", "eytzinger(k=5)",
                                    "pivot(layout=pairs)"])
def rows_from_a_file(t, type_name, kind, spec):
    keys = KEY_SETS["mixed"](t.rng, type_name)
    rows = ROWS[kind](t.rng, len(keys))
    index = t.tool.build(keys, spec, type_name, rows=rows)
    check_index(t, index, Oracle(keys, rows), type_name)


@case(["sosd", "raw", "npy", "text"], ["u32", "u64"])
def rows_in_each_format(t, format_name, row_type):
    keys = KEY_SETS["few"](t.rng, "u64")
    rows = ROWS[row_type](t.rng, len(keys))
    name = "rows" + formats.FORMATS[format_name]
    formats.write(t.path(name), rows, format_name)
    index = t.tool.build(keys, "pivot", "u64", "--rows", name, "--row-type",
                         row_type)
    check_index(t, index, Oracle(keys, rows), "u64")


@case(SPECS)
def sorted_keys_with_rows(t, spec):
    keys = KEY_SETS["sorted"](t.rng, "i32")
    rows = ROWS["u32"](t.rng, len(keys))
    index = t.tool.build(keys, spec, "i32", rows=rows)
    check_index(t, index, Oracle(keys, rows), "i32")


@case(TYPES)
def sorted_keys_store_no_rows(t, type_name):
    """Positions as rows of sorted keys take no space."""
    keys = np.sort(oracle.random_keys(t.rng, type_name, 1000))
    options = ("--type", type_name, "--spec", "sorted", "-o", "i.sxt")
    formats.write(t.path("ascending.sosd"), keys)
    formats.write(t.path("descending.sosd"), keys[::-1].copy())
    ascending = t.tool.json("build", "ascending.sosd", *options)[0]
    equal(ascending["n"], 1000, "n")
    equal(ascending["type"], type_name, "type")
    key_bytes = keys.nbytes
    check(key_bytes <= ascending["bytes"] < key_bytes + 256,
          f"{ascending['bytes']} bytes for {key_bytes} bytes of keys")
    with_rows = t.tool.json("build", "descending.sosd", *options)[0]["bytes"]
    check(key_bytes + 4000 <= with_rows < key_bytes + 4000 + 512,
          f"{with_rows} bytes for {key_bytes} bytes of keys and 32-bit rows")


# ---- unique -----------------------------------------------------------------

@case(TYPES, ["sorted unique", "eytzinger(k=9) unique", "pivot unique"])
def unique(t, type_name, spec):
    keys = np.unique(oracle.random_keys(t.rng, type_name, 500))
    keys = t.rng.permutation(keys)
    index = t.tool.build(keys, spec, type_name)
    check("unique" in t.tool.explain(index)["spec"], "spec forgets unique")
    check_index(t, index, Oracle(keys), type_name)


@case(TYPES)
def unique_refuses_equal_keys(t, type_name):
    keys = np.unique(oracle.random_keys(t.rng, type_name, 500))
    keys = t.rng.permutation(np.concatenate([keys, keys[123:124]]))
    repeated = formats.write(t.path("twice.sosd"), keys).name
    t.tool.fails(1, "unique", "build", repeated, "--type", type_name,
                 "--spec", "pivot unique", "-o", "twice.sxt")
    check(not t.path("twice.sxt").exists(), "a file was left behind")


@case("f32", "f64")
def unique_takes_all_nans_and_both_zeros_as_one(t, type_name):
    for pair in ([0.0, -0.0], [np.nan, oracle.negative_nan(
            oracle.DTYPES[type_name])]):
        keys = np.array([1.0, *pair, 2.0], oracle.DTYPES[type_name])
        formats.write(t.path("pair.sosd"), keys)
        t.tool.fails(1, "unique", "build", "pair.sosd", "--type", type_name,
                     "--spec", "sorted unique", "-o", "pair.sxt")


# ---- devices and threads ----------------------------------------------------

def usable_devices(t):
    return [d["name"] for d in t.tool.json("devices") if d["usable"]]


@case(["u32", "i64", "f32", "b16"], ["sorted", "eytzinger(k=2)",
                                     "eytzinger(k=9)", "pivot",
                                     "pivot(k=9,layout=pairs)", "guide",
                                     "guide(layout=pairs)", "pgm(eps=4)",
                                     "pgm(eps=1,layout=pairs)"])
def every_device_answers_alike(t, type_name, spec):
    """A device may decide what a spec resolves to; resolved, it gives the same
    bytes everywhere."""
    keys = oracle.mixed_keys(t.rng, type_name, 3000)
    truth = Oracle(keys)
    resolved = None
    files = set()
    for device in usable_devices(t):
        index = t.tool.build(keys, spec, type_name, "--device", device)
        check_index(t, index, truth, type_name, "--device", device)
        resolved = resolved or t.tool.explain(index)["spec"]
        index = t.tool.build(keys, resolved, type_name, "--device", device)
        files.add(t.path(index).read_bytes())
    equal(len(files), 1, "different files from different devices")


@case(["1", "2", "5"], ["sorted", "eytzinger(k=9)", "pivot"])
def threads(t, count, spec):
    """A batch that is large enough to be split over threads."""
    keys = oracle.small_keys(t.rng, "u64", 60000, 40000)
    queries = oracle.small_keys(t.rng, "u64", 150000, 41000)
    index = t.tool.build(keys, spec, "u64", "--threads", count)
    single = t.tool.build(keys, spec, "u64", "--threads", "1", name="single")
    check(t.path(index).read_bytes() == t.path(single).read_bytes(),
          "the number of threads changed the file")
    check_lookups(t, index, Oracle(keys), queries, "--threads", count)


@case(["host", "hybrid", "both"])
def threads_beside_a_gpu(t, place):
    """The threads are the CPU's, which answers alone or with the GPU."""
    keys = oracle.small_keys(t.rng, "u64", 300, 400)
    index = t.tool.build(keys, f"pgm(eps=2) place={place}", "u64", "--device",
                         "simt", "--threads", "1")
    equal(t.tool.explain(index)["cuts"], 1, "parts, one for one thread")
    check_index(t, index, Oracle(keys), "u64", "--device", "simt", "--place",
                place, "--threads", "1")


@case(MODES)
def mapped_and_copied_alike(t, mode):
    keys = KEY_SETS["mixed"](t.rng, "i64")
    queries = oracle.queries_for(t.rng, "i64", keys)
    index = t.tool.build(keys, "pivot", "i64")
    equal(t.tool.lookup(index, queries, mode, "--copy"),
          Oracle(keys).ask(mode, queries), mode)


# ---- queries and results ----------------------------------------------------

@case(TYPES, SPECS[::4] + ["auto"])
def no_keys_and_no_queries(t, type_name, spec):
    none = oracle.random_keys(t.rng, type_name, 0)
    some = oracle.extreme_keys(type_name)
    empty = t.tool.build(none, spec, type_name)
    for mode in MODES:
        nothing = 0 if mode == "rank" else None
        equal(t.tool.lookup(empty, some, mode), [nothing] * len(some), mode)
        equal(t.tool.lookup(empty, none, mode), [], mode)
    equal(t.tool.range_rows(empty, t.tool.write_bounds(some, some)),
          [[]] * len(some), "rows")
    full = t.tool.build(some, spec, type_name, name="full")
    equal(t.tool.lookup(full, none, "get"), [], "no queries")
    equal(t.tool.range_rows(full, t.tool.write_bounds(none, none)), [],
          "no ranges")


def comparable(key):
    """Keys as JSON or text print them, so that NaN equals NaN."""
    if isinstance(key, bytes):
        return key.ljust(16, b"\0").hex()
    return "nan" if key != key else key


def from_word(word, type_name):
    """The key that a JSON string or a word of text stands for."""
    if type_name == "b16":
        return word
    if type_name in oracle.FLOATS:
        value = oracle.DTYPES[type_name].type(word)
        return comparable(value.item())
    return int(word)


def keys_found(truth, mode, queries):
    """The key that floor or ceil finds for each query, None for none."""
    ranks = truth.rank(queries) if mode == "ceil" \
        else [rank - 1 for rank in truth.rank(queries, "right")]
    keys = truth.keys.tolist()
    return [comparable(keys[rank]) if 0 <= rank < len(keys) else None
            for rank in ranks]


@case(TYPES, ["floor", "ceil"])
def keys_beside_rows(t, type_name, mode):
    keys = KEY_SETS["65"](t.rng, type_name)
    queries = oracle.queries_for(t.rng, type_name, keys)
    truth = Oracle(keys)
    rows = truth.ask(mode, queries)
    found = keys_found(truth, mode, queries)
    index = t.tool.build(keys, "eytzinger(k=5)", type_name)
    formats.write(t.path("q.sosd"), queries)
    command = ("lookup", index, "q.sosd", "--mode", mode, "--keys")

    pairs = [line.split() for line in t.tool.ok(*command).lines]
    equal([None if row == "-" else int(row) for row, _ in pairs], rows, "rows")
    equal([None if key == "-" else from_word(key, type_name)
           for _, key in pairs], found, "keys")

    objects = t.tool.json(*command)
    equal([o["row"] for o in objects], rows, "rows in JSON")
    equal([None if o["key"] is None else from_word(o["key"], type_name)
           for o in objects], found, "keys in JSON")


@case(TYPES, MODES)
def lookup_json(t, type_name, mode):
    keys = KEY_SETS["mixed"](t.rng, type_name)
    rows = ROWS["u64"](t.rng, len(keys))
    queries = oracle.queries_for(t.rng, type_name, keys)
    index = t.tool.build(keys, "pivot", type_name, rows=rows)
    formats.write(t.path("q.sosd"), queries)
    objects = t.tool.json("lookup", index, "q.sosd", "--mode", mode)
    equal([from_word(o["query"], type_name) for o in objects],
          [comparable(query) for query in queries.tolist()], "queries")
    equal([o["rank" if mode == "rank" else "row"] for o in objects],
          Oracle(keys, rows).ask(mode, queries), mode)


@case(["sosd", "raw", "npy", "text"], MODES)
def lookup_output_formats(t, format_name, mode):
    """Binary formats have all ones where text has '-'."""
    keys = KEY_SETS["mixed"](t.rng, "u32")
    queries = oracle.queries_for(t.rng, "u32", keys)
    expected = Oracle(keys).ask(mode, queries)
    index = t.tool.build(keys, "pivot", "u32")
    formats.write(t.path("q.sosd"), queries)
    command = ("lookup", index, "q.sosd", "--mode", mode)
    by_name = "out" + formats.FORMATS[format_name]
    t.tool.ok(*command, "-o", by_name)
    t.tool.ok(*command, "-o", "out.data", "--out-format", format_name)
    data = t.path(by_name).read_bytes()
    check(data == t.path("out.data").read_bytes(),
          "--out-format and the name of the file make a difference")
    if format_name == "text":
        lines = ["-" if row is None else str(row) for row in expected]
        equal(data.decode().splitlines(), lines, mode)
    else:
        numbers = formats.decode(data, format_name, "u64").tolist()
        equal(numbers, [2**64 - 1 if row is None else row
                        for row in expected], mode)
