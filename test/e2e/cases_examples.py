"""The programs of examples/ compile as their heads say, and print what they should."""
import bisect
import os
import re
import subprocess
import tempfile
from pathlib import Path

from cases_readme import FLAGS, LIBRARY, ROOT, run
from cases_real import needed
from harness import case, check, equal

AS_OF = """35999: no price yet
36030: 101.8 since 36030
39699: 101.8 since 36030
99999: 99.9 since 43200
36000 to 39599: 4 ticks
39600 to 43199: 1 ticks
"""
SAYS = {
    "ip_country": (("8.8.8.8", "192.0.2.77", "1.1.1.1", "8.128.0.0", "133.255.255.255"),
                   "8.8.8.8 US\n192.0.2.77 documentation\n1.1.1.1 -\n8.128.0.0 -\n"
                   "133.255.255.255 JP\n"),
    "as_of": ((), AS_OF),
    "ids_threads": ((), None),
}


def compiled(name, folder):
    check(LIBRARY.exists(), "build/libsextant.a is not built")
    program = f"{folder}/{name}"
    run(*os.environ.get("CC", "cc").split(), *FLAGS, f"-I{ROOT / 'include'}",
        str(ROOT / f"examples/{name}.c"), str(LIBRARY), "-lxxhash", "-lpthread", "-ldl", "-lm",
        "-o", program)
    return program


@case()
def example_completes_words(t):
    """The first five words of a dictionary that begin with each prefix, by bisect over bytes."""
    path = needed(Path("/usr/share/dict/american-english"), "wamerican")
    words = sorted(path.read_bytes().split(b"\n")[:-1])
    typed = [b"hel", b"", b"zzz", b"\xc3", words[-1] + b"x"]
    typed += [words[i][:t.rng.integers(1, 6)] for i in t.rng.integers(0, len(words), 40)]
    right = [q + b":" + b"".join(b" " + words[i] for i in range(bisect.bisect_left(words, q),
                                                                len(words))[:5]
                                 if words[i].startswith(q)) for q in typed]
    with tempfile.TemporaryDirectory(prefix="sextant-example-") as folder:
        program = compiled("complete", folder)
        given = subprocess.run([program, path, *typed], capture_output=True, check=True).stdout
        asked = subprocess.run([program, path], input=b"".join(q + b"\n" for q in typed),
                               capture_output=True, check=True).stdout
        missing = subprocess.run([program, f"{folder}/none"], capture_output=True)
    equal(given.split(b"\n")[:-1], right, "completions of words on the command line")
    equal(asked.split(b"\n")[:-1], right, "completions of lines")
    equal((missing.returncode, missing.stderr), (1, b"the list of words can't be read\n"), "no list")


@case(SAYS)
def example_program(t, name):
    words, expected = SAYS[name]
    with tempfile.TemporaryDirectory(prefix="sextant-example-") as folder:
        out = run(compiled(name, folder), *words)
    if expected is not None:
        equal(out, expected, "what it prints")
        return
    found = re.fullmatch(r"4 threads asked for (\d+) ids: (\d+) found, 0 wrong\n", out)
    check(found and 0.49 < int(found[2]) / int(found[1]) < 0.51, out)


@case()
def all_examples_are_run(t):
    sources = {path.stem for path in (ROOT / "examples").glob("*.c")}
    equal(sources, set(SAYS) | {"complete"}, "programs in examples/")
    done = subprocess.run(["make", "-n", "-C", str(ROOT), "examples", "NVCC="],
                          capture_output=True, text=True)
    equal(done.returncode, 0, done.stderr)
