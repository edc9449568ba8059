"""The words of the command line: help, version, devices, forms of options."""
import re

import numpy as np

import formats
from harness import case, check, equal

VERBS = ["gen", "build", "lookup", "range", "prefix", "climb", "at", "head", "tail", "explain", "verify",
         "bench", "devices"]


@case()
def devices(t):
    objects = t.tool.json("devices")
    names = [d["name"] for d in objects]
    for name in ("cpu", "cpu:scalar", "cpu:avx2", "cpu:avx512"):
        check(name in names, f"{name} is not among {names}")
    usable = {d["name"] for d in objects if d["usable"]}
    check({"cpu", "cpu:scalar"} <= usable, f"only {usable} can be used")
    lines = t.tool.ok("devices").lines
    equal([line.split()[0] for line in lines], names, "names as text")
    for device in objects:
        check(device["detail"], f"{device['name']} has no detail")
        if device["name"] not in usable:
            t.tool.fails(1, device["name"], "bench", "--n", "10", "--device",
                         device["name"])


@case(VERBS)
def help_of_a_verb(t, verb):
    texts = {t.tool.ok(*words).out.decode()
             for words in ((verb, "--help"), (verb, "-h"), ("help", verb))}
    equal(len(texts), 1, "different texts of help")
    text = texts.pop()
    check(text.startswith(f"usage: sextant {verb}"), text)
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)
    check("--help" in options, f"options are {options}")
    for line in text.splitlines():
        check(len(line) <= 100, f"a long line: {line}")


@case("gen", "bench")
def help_shows_every_choice(t, verb):
    """All words that an option takes, however many: the same as its error names."""
    text = "".join(t.tool.ok(verb, "--help").out.decode().split())
    asked = t.tool.fails(2, "--dist", verb, "--dist", "none-of-them").err
    choices = re.search(r"one of (\S+), not 'none-of-them'", asked)[1]
    check(len(choices.split("|")) > 20, f"only {choices}")
    check("--dist" + choices in text, f"{choices} are not all in the help")


@case()
def help_lists_the_verbs(t):
    text = t.tool.ok("--help").out.decode()
    equal(text, t.tool.ok("help").out.decode(), "sextant help")
    for verb in VERBS:
        check(re.search(rf"^ +{verb} ", text, re.M), f"{verb} is not listed")
    bare = t.tool.run()
    equal(bare.code, 2, "exit status without a verb")
    equal(bare.err, text, "usage without a verb")


@case()
def version(t):
    line, = t.tool.ok("--version").lines
    for word in ("-V", "--v", "--vers"):
        equal(t.tool.ok(word).lines, [line], word)
    for word in ("-h", "--h", "--hel"):
        equal(t.tool.ok(word).lines, t.tool.ok("--help").lines, word)
    for word in ("-v", "--versions", "--", "--x"):
        t.tool.fails(2, f"unknown option '{word}'", word)
    check(re.fullmatch(r"sextant \d+\.\d+\.\d+", line), line)
    equal(t.tool.ok("-V").lines, [line], "sextant -V")


# ---- forms of options -------------------------------------------------------

SAME_GEN = {
    "--option value": "gen --type u32 --n 5 --output out.txt",
    "--option=value": "gen --type=u32 --n=5 --output=out.txt",
    "a letter": "gen --type u32 -n 5 -o out.txt",
    "a letter with its value": "gen --type u32 -n5 -oout.txt",
    "beginnings of options": "gen --ty u32 --n 5 --outp=out.txt",
    "the last one counts": "gen --type u64 --type u32 --n 9 --n 5 -o out.txt",
}


@case(SAME_GEN)
def options_in_every_form(t, form):
    expected = t.tool.ok("gen", "--type", "u32", "--n", "5").out
    equal(t.tool.ok(*SAME_GEN[form].split()).out, b"", "stdout")
    equal(t.path("out.txt").read_bytes(), expected, "keys")


@case()
def options_before_and_after_operands(t):
    index = t.tool.build(np.array([4, 2], "<u8"), "sorted", "u64")
    formats.write(t.path("-q.sosd"), np.array([2], "<u8"))
    for words in (("--mode", "get", index, "./-q.sosd"),
                  (index, "--mode", "get", "./-q.sosd"),
                  (index, "./-q.sosd", "--mode", "get"),
                  ("--mode", "get", "--", index, "-q.sosd")):
        equal(t.tool.ok("lookup", *words).lines, ["1"], str(words))
