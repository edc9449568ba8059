"""sextant prefix and sextant climb, against plain Python."""
import json

import numpy as np

from harness import case, equal

SPECS = ["radix", "radix(leaf=1)", "pivot", "btree", "guide", "sorted", "eytzinger(k=5)", "pgm(eps=4)"]


def write(t, name, values):
    path = t.path(name)
    path.write_text("".join(f"{value}\n" for value in values))
    return path.name


@case(SPECS)
def prefix_of_addresses(t, spec):
    """Blocks of addresses of one length and of many; counts, keys and the last rows."""
    keys = np.unique(t.rng.integers(0, 2**32, 500, dtype=np.uint64) >> 3 << 3)
    keys = [int(key) for key in keys] + [167772161, 167772162, 167837697]
    index = t.tool.build(np.array(sorted(keys), dtype="<u4"), spec, "u32")
    keys = sorted(keys)
    of = [167772160, 0, keys[7], 2**32 - 1]
    bits = [8, 0, 32, 1]
    found = [[(key, row) for row, key in enumerate(keys) if key >> (32 - n) == p >> (32 - n)]
             for p, n in zip(of, bits)]
    p, n = write(t, "of.txt", of), write(t, "bits.txt", bits)
    run = t.tool.ok("prefix", index, p, "--bits-from", n, "--count")
    equal([int(word) for word in run.lines], [len(one) for one in found], "counts")
    run = t.tool.ok("prefix", index, p, "--bits-from", n, "--keys")
    equal([[int(word) for word in line.split()] for line in run.lines],
          [[key for key, _ in one] for one in found], "keys")
    run = t.tool.ok("prefix", index, p, "--bits", "8", "--rows", "--limit", "2", "--last", "--json")
    equal([json.loads(line)["rows"] for line in run.lines],
          [[row for row, key in enumerate(keys) if key >> 24 == q >> 24][-2:] for q in of], "rows")


@case()
def prefix_in_the_notation_of_keys(t):
    t.path("a.txt").write_text("10.0.0.1\n10.1.0.1\n10.1.2.3\n11.0.0.0\n")
    t.tool.ok("build", "a.txt", "--keys-as", "ipv4", "--spec", "radix", "-o", "a.sxt")
    equal(t.tool.ok("prefix", "a.sxt", "--key", "10.1.0.0", "--key", "8.0.0.0", "--bits", "16",
                    "--keys").lines, ["10.1.0.1 10.1.2.3", ""], "addresses")
    t.path("n.csv").write_text("10.0.0.0/8\n10.1.0.0/16\n")
    t.tool.ok("build", "n.csv", "--keys-as", "cidr", "--spec", "pivot", "-o", "n.sxt")
    t.tool.fails(1, "has no prefixes", "prefix", "n.sxt", "--key", "10.0.0.0", "--bits", "8",
                 "--count")


@case("radix", "pivot", "btree")
def climb_to_the_top(t, spec):
    """A tree of tens, an orphan, and a key that is not there."""
    keys = list(range(1, 400))
    parents = [key // 10 if key >= 10 else key for key in keys]
    parents[250] = 4000                   # key 251's is unknown
    index = t.tool.build(np.array(keys, dtype="<u8"), spec, "u64")
    of = [399, 7, 251, 40, 1000]
    p, q = write(t, "parents.txt", parents), write(t, "of.txt", of)
    run = t.tool.ok("climb", index, q, p, "--keys")
    equal(run.lines, ["3", "7", "251", "4", "-"], "tops")
    run = t.tool.ok("climb", index, q, p, "--steps")
    equal(run.lines, ["2", "0", "0", "1", "-"], "steps")
    run = t.tool.ok("climb", index, q, p, "--rows", "--limit", "1")
    equal(run.lines, ["38", "6", "250", "3", "-"], "rows after one step")


@case("radix", "pivot", "sorted(layout=once)")
def climb_strings(t, spec):
    """Folders: each path's parent is what stands before its last slash."""
    paths = ["/", "/usr", "/usr/share", "/usr/share/a file", "/home/me/lost", "-", '"q"', '"q"/in']
    parents = ["/", "/", "/usr", "/usr/share", "/home/me", "/", '"q"', '"q"']
    quoted = lambda words: "".join('"%s"\n' % w.replace('"', '""') for w in words)
    t.path("paths.csv").write_text(quoted(paths))
    t.path("parents.csv").write_text(quoted(parents))
    t.path("of.csv").write_text(quoted(["/usr/share/a file", "/home/me/lost", '"q"/in', "no", "/"]))
    t.tool.ok("build", "paths.csv", "--type", "str", "--spec", spec, "-o", "paths.sxt")
    climb = lambda *how: t.tool.ok("climb", "paths.sxt", "of.csv", "parents.csv", *how).lines
    equal(climb("--keys"), ["/", "/home/me/lost", '"""q"""', "-", "/"], "tops")
    equal(climb("--steps"), ["3", "0", "1", "-", "0"], "steps")
    equal(climb("--rows", "--limit", "1"), ["2", "4", "6", "-", "0"], "rows after one step")
    equal([json.loads(line) for line in climb("--json")][2:4],
          [{"query": '"q"/in', "row": 6, "key": '"q"', "steps": 1},
           {"query": "no", "row": None, "key": None, "steps": None}], "as JSON")
    parents[0] = "/usr/share"
    t.path("parents.csv").write_text(quoted(parents))
    t.tool.fails(1, "circle from key 0", "climb", "paths.sxt", "of.csv", "parents.csv", "--keys")


@case()
def climb_in_a_table(t):
    """Keys and parents of one table, in the notation of the index; keys of the command line."""
    rows = [("00:00:00:00:00:01", "00:00:00:00:00:01"), ("00:00:00:00:00:02", "00:00:00:00:00:01"),
            ("00:00:00:00:00:03", "00-00-00-00-00-02"), ("00:00:00:00:00:04", "00:00:00:00:00:09")]
    t.path("cards.csv").write_text("id,behind\n" + "".join(f"{a},{b}\n" for a, b in rows))
    t.tool.ok("build", "cards.csv", "--column", "id", "--keys-as", "mac", "--spec", "radix",
              "-o", "cards.sxt")
    parents = ("--column", "id", "--parent-column", "behind")
    equal(t.tool.ok("climb", "cards.sxt", "cards.csv", "cards.csv", *parents, "--keys").lines,
          [rows[0][0]] * 3 + [rows[3][0]], "tops")
    asked = ("climb", "cards.sxt", "cards.csv", *parents, "--key", rows[2][0], "--key", rows[3][1])
    equal(t.tool.ok(*asked, "--steps").lines, ["2", "-"], "steps")
    equal(t.tool.json(*asked),
          [{"query": rows[2][0], "row": 0, "key": rows[0][0], "steps": 2},
           {"query": rows[3][1], "row": None, "key": None, "steps": None}], "as JSON")
    t.tool.fails(2, "PARENTS is missing", "climb", "cards.sxt", "cards.csv", "--keys")
    t.tool.fails(2, "not both", "climb", "cards.sxt", "cards.csv", "cards.csv", "--keys", "--key",
                 rows[0][0])
    t.tool.fails(1, "no column is named 'beside'", "climb", "cards.sxt",
                 "cards.csv", "cards.csv", "--column", "id", "--parent-column", "beside",
                 "--keys")
    t.path("nets.txt").write_text("10.0.0.0/8\n")
    t.tool.ok("build", "nets.txt", "--keys-as", "cidr", "--spec", "pivot", "-o", "nets.sxt")
    t.tool.fails(1, "an index of networks has no parents", "climb", "nets.sxt", "nets.txt",
                 "nets.txt", "--keys")


@case()
def prefix_and_climb_refuse(t):
    index = t.tool.build(np.arange(5, dtype="<u4"), "radix", "u32")
    of = write(t, "of.txt", [1, 2])
    circle = write(t, "circle.txt", [1, 2, 0, 3, 4])
    for code, words, said in ((2, ("prefix", index, of, "--bits", "33", "--count"),
                               "--bits is 33: u32 keys have 32 bits"),
                              (2, ("prefix", index, of, "--count"), "--bits"),
                              (2, ("prefix", index, of, "--bits", "3"), "--count"),
                              (2, ("prefix", index, of, "--bits", "3", "--bits-from", of, "--rows"),
                               "not both"),
                              (2, ("prefix", index, "--bits", "3", "--rows"), "KEYS"),
                              (2, ("prefix", index, of, "--key", "1", "--bits", "3", "--rows"), "KEYS"),
                              (1, ("prefix", index, of, "--bits-from", circle, "--count"), "5"),
                              (1, ("climb", index, of, of, "--keys"), "2 parents"),
                              (1, ("climb", index, of, circle, "--keys"), "circle"),
                              (2, ("climb", index, of, circle), "--rows")):
        t.tool.fails(code, said, *words)
