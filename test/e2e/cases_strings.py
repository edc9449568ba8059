"""Strings as keys of the tool, against bisect over bytes."""
import bisect
import csv
import io

from harness import case, check, equal

SPECS = ("sorted", "pivot", "radix", "auto")


def random_string(rng):
    """Few letters, so that keys share beginnings; blanks, quotes and line ends among them."""
    letters = 'ab "\n,x\u00e4'
    return "".join(letters[i] for i in rng.integers(0, len(letters), rng.integers(0, 12)))


def prepare(t, spec, n=150):
    """k.sxt over the second column of k.csv; the texts, and (bytes, row) in order."""
    texts = [random_string(t.rng) for _ in range(n - 2)] + ["", "x" * 5000]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["n", "key"]] + [[str(i), text] for i, text in enumerate(texts)])
    t.path("k.csv").write_text(out.getvalue(), newline="")
    t.tool.ok("build", "k.csv", "--type", "str", "--column", "key", "--spec", spec, "-o", "k.sxt",
              chatty=spec == "auto")
    return texts, sorted((text.encode(), i) for i, text in enumerate(texts))


def asked(t, texts):
    """q.csv with these queries, and the words that name them."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["q", "n"]] + [[text, "1"] for text in texts])
    t.path("q.csv").write_text(out.getvalue(), newline="")
    return ("q.csv", "--column", "q")


@case(SPECS)
def strings_are_keys(t, spec):
    texts, ordered = prepare(t, spec)
    keys = [key for key, _ in ordered]
    queries = texts[:60] + [random_string(t.rng) for _ in range(60)] + ["", "zzz"]
    raw = [q.encode() for q in queries]
    left = [bisect.bisect_left(keys, q) for q in raw]
    right = [bisect.bisect_right(keys, q) for q in raw]
    words = asked(t, queries)
    equal(t.tool.ok("lookup", "k.sxt", *words, "--mode", "rank").lines, [str(i) for i in left],
          "ranks")
    equal(t.tool.ok("lookup", "k.sxt", *words).lines,
          [str(ordered[a][1]) if a < b else "-" for a, b in zip(left, right)], "rows")
    for mode, places in (("floor", [b - 1 for b in right]), ("ceil", left)):
        found = [ordered[i] if 0 <= i < len(keys) else (None, None) for i in places]
        equal(t.tool.json("lookup", "k.sxt", *words, "--mode", mode, "--keys"),
              [{"query": q, "row": row, "key": key if key is None else key.decode()}
               for q, (key, row) in zip(queries, found)], mode)
    rows = [i for _, i in ordered]
    got = t.tool.json("head", "k.sxt", "-n", 1000)
    equal([(o["key"].encode(), o["row"]) for o in got], ordered, "head")
    out = t.tool.ok("head", "k.sxt", "-n", 1000, "--lines", "k.csv", "--columns", "n",
                    "--rows").out.decode()
    equal(out.split("\n")[:-1], [f"{i} {i}" for i in rows], "lines")


@case(SPECS)
def strings_in_ranges(t, spec):
    texts, ordered = prepare(t, spec)
    keys = [key for key, _ in ordered]
    bounds = [sorted((random_string(t.rng), random_string(t.rng))) for _ in range(20)]
    words = [w for lo, hi in bounds for w in ("--lo=" + lo, "--hi=" + hi)]
    spans = [(bisect.bisect_left(keys, lo.encode()), bisect.bisect_right(keys, hi.encode()))
             for lo, hi in bounds]
    equal(t.tool.ok("range", "k.sxt", *words, "--count").lines,
          [str(max(0, b - a)) for a, b in spans], "counts")
    equal(t.tool.json("range", "k.sxt", *words, "--keys"),
          [{"lo": lo, "hi": hi, "keys": [k.decode() for k in keys[a:b]]}
           for (lo, hi), (a, b) in zip(bounds, spans)], "keys")
    whole = t.tool.ok("range", "k.sxt", "--lo=", "--hi=y", "--keys").out.decode()
    a, b = bisect.bisect_left(keys, b""), bisect.bisect_right(keys, b"y")
    got = next(csv.reader(io.StringIO(whole, newline=""), delimiter=" ", strict=True))
    equal(got, [k.decode() for k in keys[a:b]], "keys as text, with quotes where needed")


@case(SPECS)
def strings_that_begin_alike(t, spec):
    texts, ordered = prepare(t, spec)
    keys = [key for key, _ in ordered]
    typed = [text[:t.rng.integers(0, len(text) + 1)] for text in texts[:60]] + ["", "x" * 5001]
    words = asked(t, typed)
    found = [[(key, row) for key, row in ordered if key.startswith(q.encode())] for q in typed]
    equal(t.tool.ok("prefix", "k.sxt", *words, "--count").lines, [str(len(one)) for one in found],
          "counts")
    equal(t.tool.json("prefix", "k.sxt", *words, "--keys"),
          [{"query": q, "keys": [key.decode() for key, _ in one]}
           for q, one in zip(typed, found)], "keys")
    equal(t.tool.json("prefix", "k.sxt", *words, "--rows", "--limit", 2, "--last"),
          [{"query": q, "rows": [row for _, row in one[-2:]]} for q, one in zip(typed, found)],
          "the last rows")
    whole = t.tool.ok("prefix", "k.sxt", "--key=", "--keys").out.decode()
    got = next(csv.reader(io.StringIO(whole, newline=""), delimiter=" ", strict=True))
    equal(got, [key.decode() for key in keys], "keys as text, with quotes where needed")


@case(SPECS)
def strings_written_and_read_again(t, spec):
    """A csv file of keys has them all, whatever is in them, for Python and for the tool."""
    texts, ordered = prepare(t, spec)
    t.tool.ok("head", "k.sxt", "-n", 1000, "--keys", "-o", "o.csv")
    keys = [key.decode() for key, _ in ordered]
    equal(list(csv.reader(io.StringIO(t.path("o.csv").read_bytes().decode(), newline=""),
                          strict=True)), [[key] for key in keys], "as Python reads it")
    t.tool.ok("build", "o.csv", "--type", "str", "--spec", "sorted", "-o", "o.sxt")
    equal([o["key"] for o in t.tool.json("head", "o.sxt", "-n", 1000)], keys, "read again")
    odd = ['"x', "\ufeffb", "", " ", "#", ",", "a\r", "\n", "\x00"]
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([[key] for key in odd])
    t.path("k.csv").write_bytes(out.getvalue().encode())
    t.tool.ok("build", "k.csv", "--type", "str", "--spec", "sorted", "-o", "k.sxt")
    t.tool.ok("head", "k.sxt", "--keys", "-o", "o.csv")
    t.tool.ok("build", "o.csv", "--type", "str", "--spec", "sorted", "-o", "o.sxt")
    equal([o["key"] for o in t.tool.json("head", "o.sxt")], sorted(odd, key=str.encode), "odd ones")


@case()
def answers_as_csv(t):
    """Every verb that answers writes tables that a reader of csv understands."""
    def table(*words):
        out = t.tool.ok(*words).out if "--out-format" in words else None
        if out is None:
            t.tool.ok(*words, "-o", "out.csv")
            out = t.path("out.csv").read_bytes()
        return list(csv.reader(io.StringIO(out.decode(), newline=""), strict=True))

    t.path("k.csv").write_text('key,text\n"a,b","x ""y"""\n"a\nc",z\nd,\n')
    t.tool.ok("build", "k.csv", "--type", "str", "--column", "key", "--header", "yes", "--spec",
              "sorted", "-o", "k.sxt")
    csv_out = ("--out-format", "csv")
    equal(table("head", "k.sxt", *csv_out), [["1", "a\nc"], ["0", "a,b"], ["2", "d"]], "head")
    equal(table("head", "k.sxt", "--lines", "k.csv"),
          [["a\nc", "a\nc", "z"], ["a,b", "a,b", 'x "y"'], ["d", "d", ""]], "lines")
    equal(table("lookup", "k.sxt", "--key", "c", "--key", "A", "--mode", "floor", "--keys",
                "--lines", "k.csv", "--columns", "text,key", *csv_out),
          [["a,b", 'x "y"', "a,b"], ["-", "-", "-"]], "lookup")
    equal(table("range", "k.sxt", "--lo", "a", "--hi", "b", "--keys", *csv_out), [["a\nc", "a,b"]],
          "range")
    equal(table("range", "k.sxt", "--lo", "a", "--hi", "b", "--rows"), [["1", "0"]], "rows")
    equal(table("prefix", "k.sxt", "--key", "a", "--keys"), [["a\nc", "a,b"]], "prefix")
    equal(table("climb", "k.sxt", "--key", "d", "k.csv", "--column", "key", "--header", "yes",
                "--keys"), [["d"]], "climb")
    # Lines that are no csv become fields of it.
    t.path("n.txt").write_text('one, "two"\nb\nc\n')
    equal(table("lookup", "k.sxt", "--key", "a,b", "--lines", "n.txt", *csv_out), [['one, "two"']],
          "a line of text")
    t.path("n.tsv").write_text('one,1\t"two\nb\tc\nd\te\n')
    equal(table("lookup", "k.sxt", "--key", "a,b", "--lines", "n.tsv", "--columns", "2,1",
                *csv_out), [['"two', "one,1"]], "fields of tsv")
    t.path("b.txt").write_text('x,"y"\n')
    t.tool.ok("build", "b.txt", "--keys-as", "bytes", "--spec", "sorted", "-o", "b.sxt")
    equal(table("head", "b.sxt", "--keys", *csv_out), [['x,"y"']], "bytes")
    equal(t.tool.ok("head", "b.sxt", "--keys").lines, ['x,"y"'], "as text")


@case()
def strings_of_text(t):
    """Whole lines: blanks and empty lines are keys, too."""
    t.path("k.txt").write_bytes(b" a\n\nb \n\xff\x00\n\ta\r\n")
    t.tool.ok("build", "k.txt", "--type", "str", "--spec", "sorted", "-o", "k.sxt")
    equal(t.tool.ok("head", "k.sxt").out, b"1 \n4 \ta\n0  a\n2 b \n3 \xff\x00\n", "keys")
    equal(t.tool.ok("lookup", "k.sxt", "k.txt").lines, ["0", "1", "2", "3", "4"], "rows")
    t.path("e.txt").write_bytes(b"")
    t.tool.ok("build", "e.txt", "--type", "str", "--spec", "sorted", "-o", "e.sxt")
    equal(t.tool.ok("lookup", "e.sxt", "--key", "x", "--mode", "floor", "--keys").lines, ["- -"],
          "of no keys")
    equal(t.tool.ok("head", "e.sxt").lines, [], "no keys")


@case()
def strings_and_what_is_not_for_them(t):
    t.path("k.txt").write_text("a\n")
    t.tool.ok("build", "k.txt", "--type", "str", "--spec", "sorted", "-o", "k.sxt")
    t.tool.fails(2, "--bits and --bits-from are for other keys", "prefix", "k.sxt", "--key", "a",
                 "--bits", 8, "--count")
    t.tool.fails(2, "strings are written as text", "head", "k.sxt", "--keys", "-o", "k.npy")
    t.tool.fails(2, "--keys-as uuid", "build", "k.txt", "--type", "str", "--keys-as", "uuid", "-o",
                 "n.sxt")
    t.tool.fails(2, "strings are read from text", "build", "k.raw", "--type", "str", "-o", "n.sxt")
    t.tool.fails(2, "not 'str'", "gen", "--type", "str", "--n", 5)
    check(not t.path("n.sxt").exists() and not t.path("k.npy").exists(), "a file was left behind")
