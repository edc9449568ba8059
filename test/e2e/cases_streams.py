"""Readers that leave, disks that are full, terminals."""
import os
import pty
import subprocess
from pathlib import Path

import numpy as np

from harness import Skip, case, check, equal

# Each prints more than a pipe holds.
LONG = {
    "gen": ("gen", "--type", "u64", "--n", "200000"),
    "lookup": ("lookup", "keys.sxt", "queries.sosd", "--mode", "get"),
    "range": ("range", "keys.sxt", "queries.sosd", "queries.sosd", "--rows"),
}


def prepare(t):
    keys = np.arange(100000, dtype="<u8")
    t.tool.build(keys, "sorted", "u64")
    t.tool.write_queries(keys)


@case(LONG)
def a_reader_that_leaves(t, verb):
    """The reader leaves, as head(1) does: no message, and no death by a signal."""
    prepare(t)
    with subprocess.Popen([t.tool.path, *LONG[verb]], cwd=t.dir,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        message = process.stderr.read()
    equal(message, b"", "stderr")
    check(process.returncode in (0, 1), f"ended with {process.returncode}")


@case(LONG, ["file", "stdout"])
def a_full_disk(t, verb, where):
    full = Path("/dev/full")
    if not full.exists():
        raise Skip("there is no /dev/full")
    prepare(t)
    if where == "file":
        t.tool.fails(1, "No space left", *LONG[verb], "-o", full,
                     *(("--format", "text") if verb == "gen" else ()))
        return
    with full.open("wb") as out:
        done = subprocess.run([t.tool.path, *LONG[verb]], cwd=t.dir,
                              stdout=out, stderr=subprocess.PIPE)
    equal(done.returncode, 1, "exit status")
    check(b"No space left" in done.stderr and done.stderr.count(b"\n") == 1,
          f"stderr: {done.stderr}")


def on_a_terminal(t, *words, **environment):
    """What a command prints when stdout and stderr are a terminal."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise Skip(f"there are no pseudo-terminals: {error}") from error
    process = subprocess.Popen([t.tool.path, *words], cwd=t.dir,
                               stdin=subprocess.DEVNULL, stdout=slave,
                               stderr=slave, env={"TERM": "xterm",
                                                  **environment})
    os.close(slave)
    printed = b""
    try:
        while part := os.read(master, 4096):
            printed += part
    except OSError:                   # the other end has closed
        pass
    os.close(master)
    process.wait()
    return printed


@case("--help", "frobnicate", "devices")
def colours_only_where_wanted(t, word):
    check(b"\x1b[" in on_a_terminal(t, word), "no colours on a terminal")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        printed = on_a_terminal(t, word, **{name: value})
        check(b"\x1b" not in printed, f"colours in spite of {name}={value}")
        check(printed, "nothing was printed")
