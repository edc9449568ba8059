"""Real files of Debian packages: makers of network cards (ieee-data), places of time zones
(tzdata), words (wamerican). Python's csv and bisect modules say what is right."""
import bisect
import csv
from pathlib import Path

from harness import Skip, case, check, equal

OUI = Path("/usr/share/ieee-data")
ZONES = Path("/usr/share/zoneinfo")


def needed(path, package):
    if not path.exists():
        raise Skip(f"there is no {path}: apt-get install {package}")
    return path


@case("oui.csv", "mam.csv", "oui36.csv", "iab.csv")
def makers_of_network_cards(t, name):
    """Names with quotes, commas and line ends in them."""
    path = needed(OUI / name, "ieee-data")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    t.tool.ok("build", path, "--column", "Assignment", "--keys-as", "mac", "--spec", "pivot",
              "-o", "m.sxt")
    equal(t.tool.json("verify", "m.sxt")[0]["n"], len(rows), "keys")
    first = {}
    for i, row in enumerate(rows):
        first.setdefault(row["Assignment"].ljust(12, "0"), i)
    chosen = [rows[i] for i in t.rng.integers(0, len(rows), 300)]
    t.path("q.txt").write_text("".join(
        ":".join(row["Assignment"].ljust(12, "0")[i:i + 2] for i in range(0, 12, 2)) + "\n"
        for row in chosen))
    objects = t.tool.json("lookup", "m.sxt", "q.txt", "--lines", path, "--columns",
                          "Organization Name,4")
    for row, answer in zip(chosen, objects):
        right = rows[first[row["Assignment"].ljust(12, "0")]]
        equal(answer["fields"], [right["Organization Name"], right["Organization Address"]],
              row["Assignment"])


@case()
def places_of_time_zones(t):
    """TSV with comment lines, and a last column that not every line has."""
    path = needed(ZONES / "zone1970.tab", "tzdata")
    rows = [line.split("\t") for line in path.read_text().splitlines()
            if line and line[0] != "#"]
    words = ("build", path, "--column", 3, "--keys-as", "bytes", "--comment", "#", "--spec",
             "sorted", "-o", "z.sxt")
    short = [row for row in rows if len(row[2].encode()) <= 16]
    if len(short) < len(rows):        # longer names are for strings, not for 16 bytes
        t.tool.fails(1, "is not a text of 1 to 16 bytes", *words, "--ragged")
    t.path("z.tab").write_text("".join("\t".join(row) + "\n" for row in short))
    t.tool.ok("build", "z.tab", *words[2:6], "--spec", "sorted", "-o", "z.sxt", "--ragged")
    picked = [short[i] for i in t.rng.integers(0, len(short), 50)]
    out = t.tool.ok("lookup", "z.sxt", *(f"--key={row[2]}" for row in picked), "--lines", "z.tab",
                    "--columns", "1,4").lines
    equal(out, [f"{row[0]}\t{row[3] if len(row) > 3 else ''}" for row in picked], "fields")
    check(t.tool.ok("head", "z.sxt", "-n", 1, "--keys").lines == [min(r[2] for r in short)],
          "another first zone")


@case("pivot", "radix")
def words_of_a_dictionary(t, spec):
    path = needed(Path("/usr/share/dict/american-english"), "wamerican")
    words = path.read_bytes().split(b"\n")[:-1]
    ordered = sorted((word, i) for i, word in enumerate(words))
    t.tool.ok("build", path, "--format", "text", "--type", "str", "--spec", spec, "-o", "w.sxt")
    queries = [words[i] for i in t.rng.integers(0, len(words), 200)]
    queries += [q[:-1] for q in queries] + [q + b"~" for q in queries]
    t.path("q.txt").write_bytes(b"".join(q + b"\n" for q in queries))
    places = [bisect.bisect_right(ordered, (q, len(words))) - 1 for q in queries]
    out = t.tool.ok("lookup", "w.sxt", "q.txt", "--mode", "floor", "--keys").out
    equal(out.split(b"\n")[:-1],
          [b"- -" if i < 0 else b"%d %s" % (ordered[i][1], ordered[i][0]) for i in places],
          "rows and words")
    equal(t.tool.ok("lookup", "w.sxt", "q.txt", "--mode", "floor", "--lines", path).out.split(b"\n")
          [:-1], [b"-" if i < 0 else ordered[i][0] for i in places], "lines")


@case("sorted", "eytzinger", "pivot", "guide", "pgm", "btree", "btree(fill=70)", "radix",
      "radix(layout=once)")
def words_that_begin_alike(t, spec):
    """Completions of a dictionary: all of them, the first and the last ones."""
    path = needed(Path("/usr/share/dict/american-english"), "wamerican")
    words = path.read_bytes().split(b"\n")[:-1]
    ordered = sorted((word, i) for i, word in enumerate(words))
    keys = [word for word, _ in ordered]
    t.tool.ok("build", path, "--format", "text", "--type", "str", "--spec", spec, "-o", "w.sxt")
    typed = [words[i][:t.rng.integers(1, 8)] for i in t.rng.integers(0, len(words), 300)]
    typed += [b"", b"zzz", b"\xc3", keys[-1], keys[-1] + b"x", keys[0]]
    # No word has the byte 0xff, so all that begin with q are below q and this byte.
    spans = [(bisect.bisect_left(keys, q), bisect.bisect_left(keys, q + b"\xff")) for q in typed]
    t.path("q.txt").write_bytes(b"".join(q + b"\n" for q in typed))
    equal(t.tool.ok("prefix", "w.sxt", "q.txt", "--count").lines, [str(b - a) for a, b in spans],
          "counts")
    equal(t.tool.ok("prefix", "w.sxt", "q.txt", "--keys", "--limit", 7).out.split(b"\n")[:-1],
          [b" ".join(keys[a:b][:7]) for a, b in spans], "the first words")
    equal(t.tool.ok("prefix", "w.sxt", "q.txt", "--rows", "--limit", 3, "--last").lines,
          [" ".join(str(row) for _, row in ordered[a:b][-3:]) for a, b in spans], "the last rows")
