"""--lines reads each file as it was read when the index was built, and --lines-as says otherwise."""
import numpy as np

from harness import case, check, equal


def build(t, *words):
    t.tool.ok("build", *words, "--type", "u32", "--spec", "pivot", "-o", "k.sxt")


def line_of(t, key, *words):
    return t.tool.ok("lookup", "k.sxt", "--key", key, *words).out.decode()


@case("noext", "k.txt", "k.csv", "k.tsv", "k.bin")
def lines_of_a_name_that_tells_nothing_or_lies(t, name):
    """--format of build counts for a name that tells nothing, or another format."""
    t.path(name).write_text("id;name\n5;x\n6;y\n")
    build(t, name, "--format", "csv", "--delimiter", ";", "--column", "id")
    equal(line_of(t, 5, "--lines", name), "5;x\n", "line")
    equal(line_of(t, 6, "--lines", name, "--columns", "name"), "y\n", "column by name")
    equal(line_of(t, 6, "--lines", name, "--columns", 2), "y\n", "column by number")
    t.path("other.csv").write_text("id;name\n5;X\n6;Y\n")
    equal(line_of(t, 6, "--lines", "other.csv"), "6;Y\n", "another file of the note's format")
    t.path("plain").write_text("id;name\n5;X\n6;Y\n")
    equal(line_of(t, 6, "--lines", "plain"), "6;Y\n", "a name that tells nothing")


@case()
def lines_of_a_pipe(t):
    """stdin, and no header: all lines are records."""
    text = "5:x\n6:y\n"
    t.path("k").write_text(text)
    build(t, "k", "--format", "csv", "--delimiter", ":", "--column", 1)
    equal(t.tool.ok("lookup", "k.sxt", "--key", 5, "--key", 7, "--lines", "-", "--columns", 2,
                    stdin=text.encode()).lines, ["x", "-"], "columns of stdin")


@case()
def lines_of_text_with_comments(t):
    t.path("c.txt").write_text("5\n#x\n6\n")
    build(t, "c.txt", "--comment", "#")
    equal(line_of(t, 6, "--lines", "c.txt"), "6\n", "a comment is no record")
    equal(t.tool.explain("k.sxt")["notes"]["lines"],
          "text header=no delimiter=00 comment=23 quotes=0 ragged=0", "the note")
    t.path("n.txt").write_text("n\n5\n6\n")
    build(t, "n.txt", "--header", "yes")
    equal(line_of(t, 6, "--lines", "n.txt"), "6\n", "a header is no record")
    t.path("p.txt").write_text("5\n6\n")
    build(t, "p.txt")
    equal(t.tool.explain("k.sxt").get("notes", {}), {}, "no note of what is usual")


@case()
def lines_of_several_formats(t):
    """Each file is read as it was, in the order of the build."""
    t.path("a.csv").write_text("id,name\n5,x\n6,y\n")
    t.path("b.tsv").write_text('id\tname\n#no\tno\n7\t"z\n8\tw\n')
    t.path("c.csv").write_text("id,name\n9,v\n")
    files = ("a.csv", "b.tsv", "c.csv")
    build(t, *files, "--column", "id", "--comment", "#")
    words = [w for name in files for w in ("--lines", name)]
    equal(t.tool.ok("head", "k.sxt", *words).lines,
          ["5 5,x", "6 6,y", '7 7\t"z', "8 8\tw", "9 9,v"], "lines")
    equal(t.tool.ok("head", "k.sxt", *words, "--columns", "name").lines,
          ["5 x", "6 y", '7 "z', "8 w", "9 v"], "columns")
    check(t.tool.explain("k.sxt")["notes"]["lines"].endswith("; files=010"), "digits of files")
    # The last one counts for all behind it: these are as many lines as before.
    build(t, "a.csv", "b.tsv", "b.tsv", "b.tsv", "--column", "id", "--comment", "#")
    check(t.tool.explain("k.sxt")["notes"]["lines"].endswith("; files=01"), "digits of files")
    words = [w for name in ("a.csv", "b.tsv", "b.tsv", "b.tsv") for w in ("--lines", name)]
    equal([row.split("\t")[-1] for row in t.tool.ok("tail", "k.sxt", "-n", 3, *words).lines],
          ["w"] * 3, "the last file")


@case()
def lines_beside_numbers(t):
    """A file of numbers has no lines; the file given in its place is as its name says."""
    np.save(t.path("a.npy"), np.array([5, 6], "<u4"))
    t.path("b.csv").write_text("id,name\n7,z\n8,w\n")
    t.path("a.txt").write_text("five\nsix\n")
    t.tool.ok("build", "a.npy", "b.csv", "--column", "id", "--spec", "pivot", "-o", "k.sxt")
    equal(t.tool.ok("head", "k.sxt", "--lines", "a.txt", "--lines", "b.csv").lines,
          ["5 five", "6 six", "7 7,z", "8 8,w"], "lines")


@case()
def lines_of_many_files(t):
    """More files than --lines takes, of every name that there is."""
    ends = ("csv", "txt", "tsv", "bin", "npy", "sosd", "")
    names = [f"k{i}.{ends[i % 7]}" if ends[i % 7] else f"k{i}" for i in range(70)]
    for i, name in enumerate(names):
        t.path(name).write_text(f"name;id\nn{i};{i}\n")
    build(t, *names, "--format", "csv", "--delimiter", ";", "--column", "id")
    words = [w for name in names[:64] for w in ("--lines", name)]
    equal(t.tool.ok("head", "k.sxt", "-n", 64, *words, "--columns", 1).lines,
          [f"{i} n{i}" for i in range(64)], "lines")


@case()
def lines_as_the_user_says(t):
    t.path("k.csv").write_text("id,name\n5,x\n6,y\n")
    build(t, "k.csv", "--column", "id")
    t.path("o.txt").write_text("one;1\n#;\ntwo;2\n")
    ask = ("lookup", "k.sxt", "--key", 6, "--lines", "o.txt")
    equal(t.tool.ok(*ask).lines, ["#;"], "text, for its name says so")
    equal(t.tool.ok(*ask, "--lines-as", "comment=#").lines, ["two;2"], "comments")
    csv = "csv,delimiter=;,header=no,comment=#"
    equal(t.tool.ok(*ask, "--lines-as", csv, "--columns", "2").lines, ["2"], "a table")
    equal(t.tool.ok(*ask, "--lines-as", "csv,delimiter=;", "--columns", "one").lines, ["two"],
          "names ask for a header")
    # The first for the first file, the last for all behind it.
    t.path("p.csv").write_text("5,a\n")
    t.path("q.csv").write_text("id,name\n6,b\n")
    words = ("head", "k.sxt", "--lines", "p.csv", "--lines", "q.csv")
    equal(t.tool.ok(*words, "--lines-as", "header=no", "--lines-as", "header=yes").lines,
          ["5 5,a", "6 6,b"], "each its own")
    t.path("r").write_text("5\tu,v\n6\t\"w\n")
    equal(t.tool.ok("head", "k.sxt", "--lines", "r", "--lines-as", "tsv,header=no", "--columns",
                    2).lines, ["5 u,v", '6 "w'], "tsv")
    equal(t.tool.ok("head", "k.sxt", "--lines", "r", "--lines-as",
                    "header=no,delimiter=tab,quotes=no", "--columns", 2).lines,
          ["5 u,v", '6 "w'], "csv with tabs")
    equal(t.tool.ok("head", "k.sxt", "--lines", "r", "--lines-as",
                    "csv,header=no,quotes=no,ragged=yes,delimiter=,", "--columns", 2).lines,
          ["5 v", "6 "], "a comma")
    for wrong, naming in (("cvs", "'cvs'"), ("csv,header=maybe", "header=maybe"), ("", "''"),
                          ("csv,delimiter=", "delimiter="), ("csv,delimiter=;;", "delimiter=;;"),
                          ("header=no,csv", "'csv'"), ("csv,", "''"), ("npy", "'npy'"),
                          ("csv,comment=,", "the same"), ("text,delimiter=;", "no fields")):
        t.tool.fails(2, naming, *ask, "--lines-as", wrong)
    t.tool.fails(2, "--lines-as is for --lines", "head", "k.sxt", "--lines-as", "csv")
