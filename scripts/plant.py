#!/usr/bin/env python3
"""Plants faults, one at a time, and looks whether tests notice.

    plant.py [--jobs N] [--scratch DIR] [NAME...]   plant all faults, or these
    plant.py --check                                is each fault still one?
    plant.py --list                                 their names, and what they break

Faults are in test/faults/*.txt. A fault is

    = NAME | TESTS | what it breaks
    @ FILE
    - the text in the file, line by line
    + the text that takes its place

Text is compared as it is, and may begin and end within lines. It must be in its file exactly
once, so that the list can't rot. TESTS are names of test programs without "test_", the cheapest
first: they are run until one fails. A test that hangs has noticed, too.

The tree itself does not change: all work is done in copies of it, in DIR, by default a folder
of $TMPDIR. Their builds stay for the next time. Objects that a fault touched are thrown away
again, and those from before take their places, so only what a fault touches is compiled. Tests
must pass before anything is planted.

Ends in "N passed, M failed": caught, and missed. Exits with 1 if one was missed, could not be
compiled, or is not in its file."""
import argparse
import concurrent.futures
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "test/faults"
MAKE = ["make", "-s", "NVCC=", "OPT=-O1"]
# A test hangs if it takes this many times as long as without a fault, and at least the least
# seconds.
SLOWER, LEAST_S = 8, 60


class Fault:
    def __init__(self, where, name, tests, what):
        self.where, self.name, self.tests, self.what = where, name, tests, what
        self.file, self.old, self.new = None, [], []

    def text(self, lines):
        return "\n".join(lines)


def read_faults(root):
    """All faults, and sentences about lines that are no part of a fault."""
    faults, wrong = [], []
    for path in sorted((root / FOLDER).glob("*.txt")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(root)}:{number}"
            kind, rest = line[:1], line[2:]
            if kind in ("", "#"):
                continue
            if kind == "=" and line.count("|") >= 2:
                name, tests, what = (part.strip() for part in rest.split("|", 2))
                faults.append(Fault(where, name, tests.split(), what))
            elif kind == "@" and faults and not faults[-1].file:
                faults[-1].file = rest.strip()
            elif kind in "-+" and line[1:2] in ("", " ") and faults and faults[-1].file:
                (faults[-1].old if kind == "-" else faults[-1].new).append(rest)
            else:
                wrong.append(f"{where}: '{line}' is no line of a fault")
    return faults, wrong


def check(root, faults, wrong):
    """Sentences about faults that can't be planted."""
    names = set()
    for f in faults:
        if f.name in names:
            wrong.append(f"{f.where}: there are two faults '{f.name}'")
        names.add(f.name)
        if not f.tests or not f.what:
            wrong.append(f"{f.where}: '{f.name}' has no tests, or does not say what it breaks")
        for test in f.tests:
            if not (root / f"test/test_{test}.c").is_file():
                wrong.append(f"{f.where}: '{f.name}': there is no test/test_{test}.c")
        old, new = f.text(f.old), f.text(f.new)
        if not f.file or not (root / f.file).is_file():
            wrong.append(f"{f.where}: '{f.name}': there is no file '{f.file}'")
        elif not old or old == new:
            wrong.append(f"{f.where}: '{f.name}' changes nothing")
        else:
            found = (root / f.file).read_text().count(old)
            if found != 1:
                wrong.append(f"{f.where}: '{f.name}': its text is {found} times in {f.file}, "
                             "not once")
    return wrong


# ---- copies of the tree ------------------------------------------------------------------


def files_of(root):
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root,
                           check=True, capture_output=True).stdout.decode().split("\0")
    return [name for name in names if name and (root / name).is_file()]


def bring(root, to):
    """Makes `to` equal to the tree. Equal files keep their times, and so their objects."""
    names = set(files_of(root))
    for name in names:
        here, there = root / name, to / name
        if there.is_file() and there.read_bytes() == here.read_bytes():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here, there)
    for path in list(to.rglob("*")):
        name = str(path.relative_to(to))
        if path.is_file() and not name.startswith(("build/", "kept/")) and name not in names:
            path.unlink()


def make(tree, targets, jobs):
    done = subprocess.run(MAKE + [f"-j{jobs}"] + targets, cwd=tree, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode == 0, done.stdout


def program(test):
    return f"build/test/bin/test_{test}"


def depending(tree, name):
    """Objects that are made of this file."""
    objects, word = [], re.compile(r"(^|\s)" + re.escape(name) + r"(\s|:|$)", re.M)
    for path in (tree / "build").rglob("*.d"):
        if word.search(path.read_text()):
            objects.append(path.with_suffix(".o"))
    return objects


class Planted:
    """A tree with a fault in it, for a while. Objects made meanwhile are thrown away."""

    def __init__(self, tree, fault):
        self.tree, self.path = tree, tree / fault.file
        self.old, self.new = fault.text(fault.old), fault.text(fault.new)
        self.aside = depending(tree, fault.file) + [tree / "build/libsextant.a",
                                                    tree / "build/sextant_device.cuh"]
        self.aside += [tree / program(test) for test in fault.tests]

    def kept(self, path):
        return self.tree / "kept" / path.relative_to(self.tree / "build")

    def __enter__(self):
        self.text, self.times = self.path.read_text(), self.path.stat()
        for path in self.aside:
            if path.is_file():
                self.kept(path).parent.mkdir(parents=True, exist_ok=True)
                path.rename(self.kept(path))
        self.path.write_text(self.text.replace(self.old, self.new))

    def __exit__(self, *_):
        restore(self.tree)
        self.path.write_text(self.text)
        os.utime(self.path, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))


def restore(tree):
    for path in (tree / "kept").rglob("*"):
        if path.is_file():
            path.replace(tree / "build" / path.relative_to(tree / "kept"))


# ---- tests -----------------------------------------------------------------------------


def run_test(tree, test, limit_s):
    """None if the test passes, or how it fails; and the seconds it took."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=tree) as own:
        process = subprocess.Popen([tree / program(test)], cwd=tree, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   env=dict(os.environ, TMPDIR=own), start_new_session=True)
        try:
            status = process.wait(timeout=limit_s)
            how = None if status in (0, 77) else f"test_{test} ends with {status}"
        except subprocess.TimeoutExpired:
            how = f"test_{test} hangs"
        try:
            os.killpg(process.pid, signal.SIGKILL)      # also the processes it has started
        except ProcessLookupError:
            pass
        process.wait()
    return how, time.monotonic() - begun


def plant(tree, fault, limits, jobs):
    """(caught, what happened)"""
    with Planted(tree, fault):
        for test in fault.tests:
            made, output = make(tree, [program(test)], jobs)
            if not made:
                return False, "it does not compile:\n" + output[-2000:]
            how, _ = run_test(tree, test, limits[test])
            if how:
                return True, how
    return False, "no test fails: " + " ".join("test_" + test for test in fault.tests)


def prepare(scratch, faults, workers, jobs):
    """Trees with built programs, and how long each may take; None if a test fails as it is."""
    tests = sorted({test for f in faults for test in f.tests})
    first = scratch / "0"
    restore(first)
    bring(ROOT, first)
    made, output = make(first, [program(test) for test in tests], jobs)
    if not made:
        print(f"the tree does not compile:\n{output[-4000:]}")
        return None, None
    limits = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for test, (how, seconds) in zip(tests, pool.map(lambda t: run_test(first, t, 1800), tests)):
            if how:
                print(f"without any fault {how}")
                return None, None
            limits[test] = max(LEAST_S, SLOWER * seconds)
    trees = [first]
    for i in range(1, workers):
        shutil.rmtree(scratch / str(i), ignore_errors=True)
        subprocess.run(["cp", "-a", str(first), str(scratch / str(i))], check=True)
        trees.append(scratch / str(i))
    return trees, limits


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scratch", type=Path,
                        default=Path(tempfile.gettempdir()) / f"sextant-faults-{os.getuid()}")
    ask = parser.parse_args()
    faults, wrong = read_faults(ROOT)
    wrong = check(ROOT, faults, wrong)
    for sentence in wrong:
        print(sentence)
    if ask.check:
        print(f"{len(faults)} faults, {len(wrong)} of them wrong" if wrong else
              f"{len(faults)} faults ok")
        return 1 if wrong or not faults else 0
    unknown = set(ask.names) - {f.name for f in faults}
    if unknown:
        print("there is no fault " + ", ".join(sorted(unknown)))
    faults = [f for f in faults if not ask.names or f.name in ask.names]
    if ask.list:
        for f in faults:
            print(f"{f.name:28} {f.file}: {f.what}")
    if ask.list or wrong or unknown or not faults:
        return 1 if wrong or unknown or not faults else 0

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    trees, limits = prepare(ask.scratch, faults, min(ask.jobs, len(faults)), ask.jobs)
    if not trees:
        return 1
    free = queue.SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(fault):
        tree = free.get()
        try:
            return fault, plant(tree, fault, limits, 1)
        finally:
            free.put(tree)

    missed = []
    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, f) for f in faults]):
            fault, (caught, how) = done.result()
            print(f"  {'caught' if caught else 'MISSED'}  {fault.name}: {fault.what}; {how}",
                  flush=True)
            if not caught:
                missed.append(fault.name)
    if missed:
        print("missed: " + " ".join(sorted(missed)))
    print(f"{len(faults) - len(missed)} passed, {len(missed)} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
