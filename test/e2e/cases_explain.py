"""sextant explain and verify, and the file they speak of."""
import struct

import numpy as np

import formats
import oracle
from answers import AUTO_SPECS, SPECS, check_index
from harness import case, check, equal
from oracle import KEY_SETS, TYPES, Oracle


@case(["u32", "f64", "b16"], SPECS + AUTO_SPECS)
def explain_names_the_resolved_spec(t, type_name, spec):
    """The spec says everything that shapes the index: it builds the same bytes."""
    keys = KEY_SETS["mixed"](t.rng, type_name)
    index = t.tool.build(keys, spec, type_name)
    told = t.tool.explain(index)
    resolved = told["spec"]
    check(spec in AUTO_SPECS or resolved.startswith(spec.split("(")[0]),
          f"{spec} became {resolved}")
    check(resolved in t.tool.ok("explain", index).out.decode(),
          f"the text does not name {resolved}")
    equal(t.tool.json("verify", index)[0]["spec"], resolved, "verify's spec")

    again = t.tool.build(keys, resolved, type_name, name="again")
    told_again = t.tool.explain(again)
    for what in ("spec", "sections", "bytes"):
        equal(told_again[what], told[what], f"{what} of {resolved}")
    if spec not in AUTO_SPECS:        # their files also hold the reason
        check(t.path(again).read_bytes() == t.path(index).read_bytes(),
              f"{resolved} builds other bytes than {spec}")
    check_index(t, again, Oracle(keys), type_name)


@case(TYPES)
def building_is_deterministic(t, type_name):
    keys = KEY_SETS["mixed"](t.rng, type_name)
    rows = t.rng.integers(0, 2**40, len(keys), dtype="<u8")
    for spec in SPECS[::3]:
        files = [t.path(t.tool.build(keys, spec, type_name, rows=rows,
                                     name=f"keys{i}")).read_bytes()
                 for i in (1, 2)]
        check(files[0] == files[1], f"{spec}: two builds, two files")


@case(["pivot", "guide", "eytzinger"], ["hybrid", "host"])
def a_place_is_not_in_the_file(t, spec, place):
    """The CPU beside a GPU builds what any CPU builds."""
    keys = KEY_SETS["mixed"](t.rng, "u64")
    plain = t.path(t.tool.build(keys, spec, "u64")).read_bytes()
    words = ("--type", "u64", "--spec", f"{spec} place={place}")
    formats.write(t.path("placed.sosd"), keys)
    t.tool.ok("build", "placed.sosd", *words, "--device", "simt",
              "-o", "placed.sxt")
    check(t.path("placed.sxt").read_bytes() == plain,
          f"place={place} builds other bytes")
    if place == "hybrid":
        t.tool.fails(2, "needs a GPU", "build", "placed.sosd", *words,
                     "-o", "refused.sxt")


@case(["sorted", "pivot(k=5,leaf=8)", "guide(bucket=16)", "eytzinger(k=7)", "pgm(eps=8,cuts=3)",
       "pivot(k=5,leaf=4,layout=pairs,block=4)", "guide(bucket=9,layout=pairs,block=8)", "btree(k=4)",
       "btree(k=3,layout=split)", "btree(fill=75)"])
def told_parameters_make_the_same_file_in_every_place(t, spec):
    keys = KEY_SETS["mixed"](t.rng, "u64")
    plain = t.path(t.tool.build(keys, spec, "u64")).read_bytes()
    for place in ("host", "device", "both"):
        name = t.tool.build(keys, f"{spec} place={place}", "u64", "--device", "simt", name=place)
        check(t.path(name).read_bytes() == plain, f"place={place} builds other bytes")


@case(["pivot", "guide", "eytzinger", "sorted"],
      ["host", "device", "hybrid", "both"])
def a_file_is_loaded_into_any_place(t, spec, place):
    keys = KEY_SETS["mixed"](t.rng, "u64")
    index = t.tool.build(keys, spec, "u64")
    words = ("--device", "simt", "--place", place)
    formats.write(t.path("queries.sosd"), keys[:50])
    if spec == "sorted" and place == "hybrid":
        t.tool.fails(2, "no upper part", "explain", index, *words)
        return
    told = t.tool.json("explain", index, *words)[0]
    equal(told["place"], place, "place")
    t.tool.ok("verify", index, *words)
    plain = t.tool.ok("lookup", index, "queries.sosd", "--mode", "rank").out
    equal(t.tool.ok("lookup", index, "queries.sosd", "--mode", "rank", *words).out,
          plain, f"ranks of {spec} with --place {place}")
    if place != "host":
        t.tool.fails(2, "needs a GPU", "explain", index, "--place", place,
                     "--device", "cpu")
    t.tool.fails(2, "--place", "explain", index, "--place", "moon")


@case(["pivot", "sorted"])
def a_file_of_both_sides_is_the_devices(t, spec):
    keys = KEY_SETS["mixed"](t.rng, "u64")
    formats.write(t.path("keys.sosd"), keys)
    words = ("build", "keys.sosd", "--type", "u64", "--device", "simt", "--spec")
    t.tool.ok(*words, spec, "-o", "device.sxt")
    t.tool.ok(*words, f"{spec} place=both", "-o", "both.sxt")
    check(t.path("both.sxt").read_bytes() == t.path("device.sxt").read_bytes(),
          "place=both builds other bytes")
    t.tool.fails(2, "needs a GPU", "build", "keys.sosd", "--type", "u64",
                 "--spec", f"{spec} place=both", "-o", "refused.sxt")


@case(AUTO_SPECS, [100, 70000])
def auto_says_why(t, spec, n):
    """The tool says it when it builds and, from the file, ever after. Few keys
    are not measured, many are."""
    formats.write(t.path("keys.sosd"), oracle.random_keys(t.rng, "u64", n))
    said = t.tool.ok("build", "keys.sosd", "--type", "u64", "--spec", spec,
                     "-o", "keys.sxt", chatty=True).err
    told = t.tool.explain("keys.sxt")
    check(len(told["why"]) > 10, f"the reason is {told['why']!r}")
    check(told["why"] in t.tool.ok("explain", "keys.sxt").out.decode(),
          "the reason is not in the text")
    for word in (told["spec"], told["why"]):
        check(word in said, f"build does not say {word!r} but {said!r}")


@case(TYPES, ["empty", "one", "mixed"])
def explain_counts(t, type_name, key_set):
    keys = KEY_SETS[key_set](t.rng, type_name)
    index = t.tool.build(keys, "pivot", type_name)
    for told in (t.tool.explain(index), t.tool.json("verify", index)[0]):
        equal(told["n"], len(keys), "n")
        equal(told["type"], type_name, "type")
    text = t.tool.ok("explain", index).out.decode()
    check(type_name in text, f"the text does not name {type_name}")


@case(SPECS)
def verify_ok(t, spec):
    index = t.tool.build(KEY_SETS["few"](t.rng, "i64"), spec, "i64")
    for options in ((), ("--copy",)):
        line, = t.tool.ok("verify", index, *options).lines
        check(line.startswith("ok") and index in line, line)
    check(t.tool.json("verify", index)[0]["ok"] is True, "not ok in JSON")


@case(["pivot(layout=pairs)", "sorted(layout=pairs)", "guide(layout=pairs,block=4)",
       "pgm(eps=8,layout=pairs)", "pivot(layout=split)", "pivot"], ["in order", "in no order"],
      ["rows", "no rows"])
def pairs_without_rows_are_split(t, spec, order, with_rows):
    """build, the resolved spec and explain say so."""
    keys = np.arange(0, 3000, 3, dtype="<u8")
    if order == "in no order":
        keys = keys[::-1].copy()
    formats.write(t.path("k.sosd"), keys)
    options = ()
    if with_rows == "rows":
        formats.write(t.path("r.npy"), np.arange(7, 7 + len(keys), dtype="<u8"), "npy")
        options = ("--rows", "r.npy")
    said = t.tool.ok("build", "k.sosd", "--type", "u64", "--spec", spec, "-o", "k.sxt", *options,
                     chatty=True).err
    told, text = t.tool.explain("k.sxt"), t.tool.ok("explain", "k.sxt").out.decode()
    stored = order == "in no order" or with_rows == "rows"
    asked = "pairs" in spec
    layout = "pairs" if asked and stored else "split"
    equal(told["layout"], layout, "layout")
    check(f"layout={layout}" in told["spec"], told["spec"])
    equal("layout=pairs is the same where no rows are stored" in text, not stored, "why in explain")
    if asked and not stored:
        check(said.startswith("layout=pairs became split") and told["spec"] in said, said)
    else:
        equal(said, "", "stderr")
    equal(t.tool.lookup("k.sxt", keys[:5], "get"),
          [i + 7 * (with_rows == "rows") for i in range(5)], "rows")


# ---- notes ------------------------------------------------------------------

NOTES = {"unit": "ns since 1970", "Größe": "µm 😀", "how": 'a "line" \\ of = text\nand one more',
         "empty": "", "esc": "\x1b[31m\x7f\u009b"}


@case(["cpu", "simt"], ["sorted", "auto", "pgm(eps=4,layout=once)"])
def notes_come_back(t, device, spec):
    keys = np.sort(oracle.random_keys(t.rng, "u64", 300))
    plain = t.tool.build(keys, spec, "u64", name="plain")
    check("notes" not in t.tool.explain(plain), "notes of an index without any")
    words = [word for name, value in NOTES.items() for word in ("--note", f"{name}={value}")]
    index = t.tool.build(keys, spec, "u64", *words, "--device", device)
    equal(t.tool.explain(index)["notes"], NOTES, "the notes")
    equal(list(t.tool.explain(index)["notes"]), sorted(NOTES, key=str.encode), "their order")
    t.tool.ok("verify", index)
    text = t.tool.ok("explain", index).out.decode()
    for line in ("note     unit=ns since 1970\n", "note     Größe=µm 😀\n", "note     empty=\n",
                 'note     how=a "line" \\\\ of = text\\u000aand one more\n',
                 "note     esc=\\u001b[31m\\u007f\\u009b\n"):
        check(line in text, f"{line!r} is not in {text!r}")


@case()
def notes_in_any_order_are_the_same_file(t):
    keys = oracle.random_keys(t.rng, "u32", 100)
    files = []
    for turn in (1, -1):
        words = [f"--note={name}={value}" for name, value in list(NOTES.items())[::turn]]
        files.append(t.path(t.tool.build(keys, "pivot", "u32", *words)).read_bytes())
    check(files[0] == files[1], "another order, another file")


@case()
def a_file_of_format_1_is_told(t):
    old = bytearray(256)
    old[:16] = struct.pack("<8sII", b"\x89SXT\r\n\x1a\n", 1, 0x01020304)
    t.path("old.sxt").write_bytes(old)
    for verb in ("explain", "verify"):
        t.tool.fails(1, "'old.sxt' has format 1, of Sextant before 0.3; this library reads 2: "
                     "build it again from its keys", verb, "old.sxt")


# ---- damage -----------------------------------------------------------------

def survives(t, index, queries):
    """Whatever is in the file, lookups answer or fail; they do not crash."""
    result = t.tool.run("lookup", index, "queries.sosd", "--mode", "get")
    if result.code == 0:
        equal(len(result.lines), len(queries), "answers")


@case(["sorted", "eytzinger(k=9)", "pivot", "pivot(layout=pairs)"],
      ["start", "anywhere"])
def verify_finds_a_flipped_bit(t, spec, where):
    keys = oracle.random_keys(t.rng, "u64", 300)
    index = t.tool.build(keys, spec, "u64")
    t.tool.lookup(index, keys, "get")         # writes the queries
    whole = t.path(index).read_bytes()
    places = t.rng.choice(256 if where == "start" else len(whole), 40,
                          replace=False)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << t.rng.integers(8)
        t.path("damaged.sxt").write_bytes(damaged)
        survives(t, "damaged.sxt", keys)
        t.tool.fails(1, "damaged.sxt", "verify", "damaged.sxt")


def gaps(whole):
    """The bytes between sections and behind the last, as FORMAT.md describes them."""
    sections, = struct.unpack_from("<I", whole, 40)
    for i in range(sections):
        name, _, at, size = struct.unpack_from("<16sQQQ", whole, 320 + 64 * i)
        for place in range(at + size, -(-(at + size) // 64) * 64):
            yield name.rstrip(b"\0").decode(), place


@case(["sorted", "eytzinger(k=9)", "pivot(k=3)", "guide", "pgm(eps=4)", "auto"])
def nothing_is_between_sections(t, spec):
    """A bit that is set there is found by every verb that opens the file."""
    keys = oracle.random_keys(t.rng, "u32", 301)
    index = t.tool.build(keys, spec, "u32")
    whole = t.path(index).read_bytes()
    found = list(gaps(whole))
    check(found, "there are no gaps to look at")
    for name, place in (found[0], found[len(found) // 2], found[-1]):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << t.rng.integers(8)
        t.path("damaged.sxt").write_bytes(damaged)
        for words in (("verify",), ("verify", "--copy"), ("explain",)):
            told = t.tool.fails(1, "damaged.sxt", words[0], "damaged.sxt", *words[1:])
            check(f"behind section '{name}'" in told.err, told.err)


BROKEN = {
    "empty": lambda whole: b"",
    "one byte": lambda whole: whole[:1],
    "half of the header": lambda whole: whole[:64],
    "the header alone": lambda whole: whole[:128],
    "cut in half": lambda whole: whole[:len(whole) // 2],
    "a byte short": lambda whole: whole[:-1],
    "a byte long": lambda whole: whole + b"\0",
    "twice": lambda whole: whole + whole,
    "zeros": lambda whole: bytes(len(whole)),
    "ones": lambda whole: b"\xff" * len(whole),
    "no magic": lambda whole: b"\0" * 8 + whole[8:],
    "text": lambda whole: b"This is no index at all.\n" * 100,
}


@case(BROKEN)
def broken_files(t, name):
    keys = oracle.random_keys(t.rng, "u64", 1000)
    index = t.tool.build(keys, "pivot", "u64")
    t.path("broken.sxt").write_bytes(BROKEN[name](t.path(index).read_bytes()))
    lo, hi = t.tool.write_bounds(keys[:5], keys[:5])
    for words in (("verify", "broken.sxt"), ("explain", "broken.sxt"),
                  ("lookup", "broken.sxt", lo, "--mode", "get"),
                  ("range", "broken.sxt", lo, hi, "--count")):
        for options in ((), ("--copy",)):
            t.tool.fails(1, "broken.sxt", *words, *options)


@case()
def a_failed_build_keeps_the_old_file(t):
    keys = np.array([1, 2, 2, 3], "<u8")
    index = t.tool.build(keys, "sorted", "u64")
    before = t.path(index).read_bytes()
    t.tool.fails(1, "unique", "build", "keys.sosd", "--type", "u64", "--spec",
                 "sorted unique", "-o", index)
    check(t.path(index).read_bytes() == before, "the old file has changed")
    left = sorted(path.name for path in t.dir.iterdir())
    equal(left, ["keys.sosd", "keys.sxt"], "files left behind")
