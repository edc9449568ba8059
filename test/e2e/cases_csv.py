"""CSV and TSV as they come, against Python's csv module; and all that can be wrong."""
import csv
import gzip
import io
import os

import numpy as np

from harness import case, check, equal

MORE = 15 if os.environ.get("SX_MORE") else 1     # as often, in `make test-more`

# What a field may hold, beside letters.
NASTY = ['"', '""', ",", ";", "\t", "\n", "\r\n", " ", "ä", "\u65e5", "'", "\\", "#", "x" * 300]


def nasty_text(rng):
    parts = [NASTY[i] for i in rng.integers(0, len(NASTY), rng.integers(0, 5))]
    return "a" + "b".join(parts)


def table(rng, rows, columns, key_column, quoting_allowed=True):
    """Texts of fields; keys in one column, each once."""
    keys = rng.permutation(rows * 3)[:rows]
    texts = [[nasty_text(rng) if quoting_allowed else f"t{rng.integers(99)}"
              for _ in range(columns)] for _ in range(rows)]
    for row, key in zip(texts, keys):
        row[key_column] = str(key)
    return keys.astype("<u8"), texts


def written(texts, **dialect):
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows(texts)
    return out.getvalue()


def rows_of(t, keys, index="k.sxt"):
    words = [w for key in keys[:60] for w in ("--key", key)]
    return [int(line) for line in t.tool.ok("lookup", index, *words).lines]


DIALECTS = {
    "commas": {},
    "semicolons": {"delimiter": ";"},
    "tabs, quoted": {"delimiter": "\t"},
    "all quoted": {"quoting": csv.QUOTE_ALL},
    "texts quoted": {"quoting": csv.QUOTE_NONNUMERIC},
    "newlines": {"lineterminator": "\n"},
}


@case(DIALECTS, ["header", "no header"], ["", "BOM", "gz"])
def nasty_csv(t, name, header, how):
    """Rows, and lines printed back, are as Python reads them."""
    dialect = DIALECTS[name]
    columns = int(t.rng.integers(2, 9))
    at = int(t.rng.integers(columns))
    keys, texts = table(t.rng, int(t.rng.integers(1, 200)), columns, at)
    names = [f'n"{i},' for i in range(columns)] if header == "header" else None
    text = written(([names] if names else []) + texts, **dialect)
    if how == "BOM":
        text = "\ufeff" + text
    data = text.encode()
    name = "k.csv" if how != "gz" else "k.csv.gz"
    t.path(name).write_bytes(gzip.compress(data) if how == "gz" else data)
    column = names[at] if names else at + 1
    delimiter = ("--delimiter", dialect.get("delimiter", ","))
    t.tool.ok("build", name, "--column", column, "--type", "u64", "--spec", "sorted", "-o",
              "k.sxt", *delimiter)
    equal(rows_of(t, keys), list(range(min(len(keys), 60))), "rows")
    # All lines come back, as a table that Python reads the same.
    t.path("q.txt").write_text("".join(f"{key}\n" for key in keys))
    shown = [int(i) for i in t.rng.permutation(columns)[:3]]
    out = t.tool.ok("lookup", "k.sxt", "q.txt", "--lines", name, "--columns",
                    ",".join(str(i + 1) for i in shown)).out.decode()
    got = list(csv.reader(io.StringIO(out, newline=""), delimiter=delimiter[1], strict=True))
    equal(got, [[row[i] for i in shown] for row in texts], "fields")
    whole = t.tool.ok("lookup", "k.sxt", "q.txt", "--lines", name).out.decode()
    got = list(csv.reader(io.StringIO(whole, newline=""), delimiter=delimiter[1], strict=True))
    equal(got, texts, "whole lines")
    objects = t.tool.json("lookup", "k.sxt", "q.txt", "--lines", name, "--columns", shown[0] + 1)
    equal([o["fields"] for o in objects], [[row[shown[0]]] for row in texts], "JSON")


@case()
def tsv_has_no_quotes(t):
    t.path("k.tsv").write_text('id\tsaid\n7\t"no\n9\ta"b"\n')
    t.tool.ok("build", "k.tsv", "--column", "id", "--type", "u32", "--spec", "sorted", "-o",
              "k.sxt")
    equal(t.tool.ok("lookup", "k.sxt", "--key", 7, "--key", 9, "--key", 8, "--lines", "k.tsv",
                    "--columns", "said").lines, ['"no', 'a"b"', "-"], "fields")


@case("k.csv", "k.txt", "k.tsv")
def one_number_a_line_in_any(t, name):
    keys = t.rng.permutation(500).astype("<u8")
    t.path(name).write_text("".join(f"{key}\n" for key in keys))
    t.tool.ok("build", name, "--type", "u64", "--spec", "sorted", "-o", "k.sxt")
    equal(rows_of(t, keys), list(range(60)), "rows")


@case()
def several_files_are_one(t):
    """Compressed ones among them, each with a header; lines are counted through."""
    keys, texts = table(t.rng, 90, 3, 1)
    parts = [texts[:30], texts[30:31], texts[31:]]
    names = ["a.csv", "b.csv.gz", "c.csv"]
    for name, part in zip(names, parts):
        data = written([["x", "id", "y"]] + part).encode()
        t.path(name).write_bytes(gzip.compress(data) if "gz" in name else data)
    t.tool.ok("build", *names, "--column", "id", "--type", "u64", "--spec", "sorted", "-o",
              "k.sxt")
    equal(rows_of(t, keys), list(range(60)), "rows")
    words = [w for name in names for w in ("--lines", name)]
    t.path("q.txt").write_text("".join(f"{key}\n" for key in keys))
    out = t.tool.ok("lookup", "k.sxt", "q.txt", *words, "--columns", "y,x").out.decode()
    equal(list(csv.reader(io.StringIO(out, newline=""))), [[r[2], r[0]] for r in texts], "fields")


@case()
def several_files_of_numbers_are_one(t):
    parts = [t.rng.integers(0, 99, n).astype("<u4") for n in (5, 0, 70)]
    for i, part in enumerate(parts):
        np.save(t.path(f"{i}.npy"), part)
    np.save(t.path("all.npy"), np.concatenate(parts))
    t.tool.ok("build", "0.npy", "1.npy", "2.npy", "--spec", "sorted", "-o", "parts.sxt")
    t.tool.ok("build", "all.npy", "--spec", "sorted", "-o", "all.sxt")
    equal(t.path("parts.sxt").read_bytes(), t.path("all.sxt").read_bytes(), "index")
    t.path("3.npy.gz").write_bytes(gzip.compress(t.path("all.npy").read_bytes()))
    t.tool.ok("build", "3.npy.gz", "--spec", "sorted", "-o", "packed.sxt")
    equal(t.path("packed.sxt").read_bytes(), t.path("all.sxt").read_bytes(), "compressed")


@case()
def comments_empty_lines_and_blanks(t):
    t.path("k.csv").write_bytes(b"# made by hand\r\n\r\nid,v\r\n 5 ,a\r\n#6,b\r\n\n7,\"c\"\r\n")
    t.tool.ok("build", "k.csv", "--column", "id", "--type", "u64", "--comment", "#", "--spec",
              "sorted", "-o", "k.sxt")
    equal(t.tool.ok("lookup", "k.sxt", "--key", 5, "--key", 6, "--key", 7, "--lines", "k.csv",
                    "--columns", "v").lines, ["a", "-", '"c"'], "fields")


@case()
def headers_are_guessed(t):
    """A first line whose field is a key is none; --header says otherwise."""
    for text, words, rows in (("id\n5\n6\n", (), {5: "0", 6: "1"}),
                              ("4\n5\n6\n", (), {4: "0", 6: "2"}),
                              ("4\n5\n6\n", ("--header", "yes"), {4: "-", 5: "0"})):
        t.path("k.csv").write_text(text)
        t.tool.ok("build", "k.csv", "--type", "u64", "--spec", "sorted", "-o", "k.sxt", *words)
        for key, row in rows.items():
            equal(t.tool.ok("lookup", "k.sxt", "--key", key).lines, [row], f"{text!r} {words}")
    t.path("k.csv").write_text("id\n5\n")
    t.tool.fails(1, "k.csv:1:1: 'id'", "build", "k.csv", "--type", "u64", "-o", "n.sxt",
                 "--header", "no")


@case()
def ragged_lines(t):
    t.path("k.csv").write_text("1,a\n2\n3,b,c\n")
    words = ("build", "k.csv", "--column", 1, "--type", "u64", "--spec", "sorted", "-o", "k.sxt")
    t.tool.fails(1, "k.csv:2: the line has 1 fields, but the first has 2", *words)
    t.tool.ok(*words, "--ragged")
    equal(t.tool.ok("lookup", "k.sxt", "--key", 2, "--key", 3, "--lines", "k.csv", "--columns",
                    "2,3").lines, [",", "b,c"], "fields")


@case()
def records_across_windows(t):
    """Fields longer than what is read at a time, and line ends just there."""
    big = 'q"' * 1_500_000
    texts = [["1", "x" * (2**21 - 4)], ["2", big], ["3", "y\n" * 700_000], ["4", "z"]]
    t.path("k.csv").write_text(written(texts, lineterminator="\n"), newline="")
    t.tool.ok("build", "k.csv", "--column", 1, "--type", "u64", "--spec", "sorted", "-o", "k.sxt")
    for i, row in enumerate(texts):
        answer, = t.tool.json("lookup", "k.sxt", "--key", row[0], "--lines", "k.csv", "--columns",
                              2)
        check(answer["row"] == i and answer["fields"] == [row[1]], f"another field of row {i}")


@case()
def fields_of_every_length(t):
    """Delimiters, quotes and line ends at every place of a word of eight bytes; and a quote
    that should not be there is named by its line and byte."""
    texts = []
    for n in range(40):
        texts.append([str(len(texts)), "b" * n, "é" * (n // 2), '"' * n])
        texts.append([str(len(texts)), "c" * n + '"', "x" * n + "\n" + "y" * n, ""])
        texts.append([str(len(texts)), "d" * (39 - n), "," * n, "\r\n" * (n % 5)])
    # Python quotes where that is needed, so that bare fields and quoted ones take turns.
    t.path("k.csv").write_bytes(written(texts).encode())
    t.tool.ok("build", "k.csv", "--column", "1", "--header", "no", "--type", "u64", "--spec",
              "sorted", "-o", "k.sxt")
    t.path("q.txt").write_text("".join(f"{i}\n" for i in range(len(texts))))
    out = t.tool.ok("lookup", "k.sxt", "q.txt", "--lines", "k.csv", "--columns", "1,2,3,4").out
    got = list(csv.reader(io.StringIO(out.decode(), newline=""), strict=True))
    equal(got, texts, "fields")
    for n in range(1, 20):
        bad = '"1","two\nlines"\n2,' + "x" * n + '"y,3\n'
        t.path("bad.csv").write_bytes(bad.encode())
        t.tool.fails(1, f"bad.csv:3:{n + 3}: a quote inside a field", "build", "bad.csv",
                     "--column", "1", "--header", "no", "--type", "u64", "-o", "b.sxt")


# bytes of the file, more options, what the one line has to say; and an exit status
BAD = {
    "a quote not closed": (b'id,v\n1,"a\n2,b\n', (), "k.csv:2:3: the quote that begins here", 1),
    "a quote in a field": (b'id,v\n1,a"b\n', (), "k.csv:2:4: a quote inside a field", 1),
    "behind a quote": (b'id,v\n1,"a"b\n', (), "k.csv:2:6: a quoted field goes on", 1),
    "too few fields": (b"id,v\n1,a\n2\n", (), "k.csv:3: the line has 1 fields", 1),
    "too many fields": (b"id,v\n1,a,b\n", (), "k.csv:2: the line has 3 fields", 1),
    "no such key column": (b"id\n1\n", ("--column", "9"), "k.csv:1: the line has 1 fields, and", 1),
    "not a key": (b"id,v\n1,a\n 2x,b\n", (), "k.csv:3:2: '2x' is not a u64", 1),
    "not a key, in quotes": (b'v,id\n"a\nb","2x"\n', (), "k.csv:3:5: '2x' is not a u64", 1),
    "an empty key": (b"id,v\n1,a\n,b\n", (), "k.csv:3:1: '' is not a u64", 1),
    "past 64 bits": (b"id,v\n18446744073709551616,b\n", (), "'18446744073709551616' is not", 1),
    "not UTF-8": (b"id,v\n1,a\n\xff\xfe\x80,b\n", (), "k.csv:3:1: '???' is not a u64", 1),
    "a NUL": (b"id,v\n1\0002,b\n", (), "k.csv:2:1: '1", 1),
    "UTF-16": ("id,v\n1,a\n".encode("utf-16"), (), "UTF-16", 1),
    "an empty file": (b"", (), "is empty", 1),
    "name twice": (b"id,b,id\n1,2,3\n", (), "columns 1 and 3 are both named 'id'; a number says", 1),
    "no such name": (b"a,b\n1,2\n", (), "no column is named 'id': there are a, b", 1),
    "compressed and cut": (gzip.compress(b"id,v\n" + b"1,a\n" * 9999)[:-9], (), "cut short", 1),
    "compressed and damaged": (gzip.compress(b"id,v\n1,a\n")[:-5] + b"12345", (), "damaged", 1),
    "a header alone, guessed": (b"nonsense,x\n", ("--column", "1"), "add --header yes", 1),
    "which column": (b"id,v\n1,a\n", None, "has 2 columns", 2),
}


@case(BAD)
def bad_csv(t, name):
    data, words, complaint, code = BAD[name]
    t.path("k.csv").write_bytes(data)
    words = ("--column", "id", *words) if words is not None else ()
    t.tool.fails(code, complaint, "build", "k.csv", "--type", "u64", "-o", "k.sxt", *words)
    equal([p.name for p in t.dir.iterdir()], ["k.csv"], "files")
    if code == 1:
        t.tool.fails(1, complaint.replace("k.csv", "stdin"), "build", "-", "--format", "csv",
                     "--type", "u64", "-o", "k.sxt", *words, stdin=data)


@case()
def files_that_disagree_about_a_header(t):
    t.path("a.csv").write_text("id\n1\n")
    t.path("b.csv").write_text("2\n3\n")
    t.tool.fails(1, "b.csv begins with a key, but a.csv with a header", "build", "a.csv", "b.csv",
                 "--type", "u64", "-o", "k.sxt")


@case(range(MORE * 40))
def random_bytes_as_csv(t, number):
    """Whatever the bytes, the tool ends with 0 or 1, and a file comes only with 0."""
    letters = list(b'12,"\n\r;\t #x\xff\0')
    data = bytes(letters[i] for i in t.rng.integers(0, len(letters), t.rng.integers(0, 60)))
    t.path("k.csv").write_bytes(data)
    done = t.tool.run("build", "k.csv", "--type", "u64", "--column", "1", "--spec", "sorted",
                      "-o", "k.sxt")
    check(done.code in (0, 1), f"{data}: {done.err}")
    equal(t.path("k.sxt").exists(), done.code == 0, f"{data}: whether there is an index")
    if done.code == 0:      # Python agrees about the keys, but for what is only guessed
        text = data.decode("latin-1")
        rows = [r for r in csv.reader(io.StringIO(text, newline="")) if r] if "\r" not in text else None
        if rows is not None and "\0" not in text:
            n = t.tool.json("verify", "k.sxt")[0]["n"]
            check(n in (len(rows), len(rows) - 1), f"{data}: {n} keys of {len(rows)} records")
