#!/usr/bin/env python3
"""From a table to an index file, in MB of text a second, beside others that only find the
column: `cut` and Python's csv module. One thread each.

    bench/tables.py [--tool build/sextant] [--mb 200] [--runs 5] [-o FILE]

Tables have ten columns, and the keys are in the fifth. Every program runs once to warm up;
then all run in turn, and the median of each counts, by the clock and by the processor's time
(which other work on the machine changes less). A line of JSON for each goes to FILE. What is
built is compared with the keys that were written."""
import argparse
import csv
import datetime
import gzip
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = """
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = csv.reader(file)
    next(rows)
    keys = [int(row[4]) for row in rows]
"""
HEADER = ["a", "b", "name", "d", "key", "when", "f", "price", "i", "last"]


def fields(draw, i, key):
    return [str(i), "abcdef", f"name {i % 997}", f"x{i}", key, "2026-01-01", "hello",
            f"0.{draw.randrange(10**6)}", str(i * 3), "zz"]


def number_key(draw):
    return str(draw.getrandbits(40))


def address_key(draw):
    return ".".join(str(draw.randrange(256)) for _ in range(4))


def time_key(draw):
    moment = datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=draw.randrange(9 * 10**8))
    return moment.isoformat() + "Z"


# name: (keys, quoting, options of build)
TABLES = {
    "numbers": (number_key, csv.QUOTE_MINIMAL, ["--type", "u64"]),
    "numbers, all quoted": (number_key, csv.QUOTE_ALL, ["--type", "u64"]),
    "IPv4 addresses": (address_key, csv.QUOTE_MINIMAL, ["--keys-as", "ipv4"]),
    "times": (time_key, csv.QUOTE_MINIMAL, ["--keys-as", "iso8601"]),
}


def write_table(path, megabytes, name):
    """Writes the table; returns how many records it has."""
    key, quoting, _ = TABLES[name]
    draw = random.Random(1)
    some = 0
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=quoting)
        writer.writerow(HEADER)
        while some % 4096 or file.tell() < megabytes * 10**6:
            writer.writerow(fields(draw, some, key(draw)))
            some += 1
    return some


def timed(command):
    """Seconds by the clock and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    clock = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def commands(tool, path, name, packed):
    built = str(path.with_suffix(".sxt"))
    build = [tool, "build", "--column", "key", *TABLES[name][2], "--threads", "1", "-o", built]
    yield "sextant build --spec sorted", [*build, str(path), "--spec", "sorted"]
    yield "sextant build --spec pivot", [*build, str(path), "--spec", "pivot"]
    if packed:
        yield "sextant build --spec pivot, *.gz", [*build, str(packed), "--spec", "pivot"]
    if TABLES[name][1] == csv.QUOTE_MINIMAL:
        yield "cut -d, -f5", ["cut", "-d,", "-f5", str(path)]
    if name.startswith("numbers"):
        yield "Python's csv", [sys.executable, "-c", PYTHON, str(path)]


def check(tool, path, name, records):
    """The index has a key for each record, and those of some records are right."""
    built = str(path.with_suffix(".sxt"))
    n = json.loads(subprocess.check_output([tool, "verify", built, "--json"]))["n"]
    if n != records:
        sys.exit(f"{name}: {n} keys of {records} records")
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        for i, row in enumerate(rows):
            if i == 40:
                break
            answer = subprocess.check_output([tool, "lookup", built, "--key", row["key"], "--lines",
                                              str(path), "--columns", "a", "--json"])
            if json.loads(answer)["row"] is None:
                sys.exit(f"{name}: key {row['key']} of record {i} is not found")


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ")[1]
    return platform.processor()


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def measure(tool, name, megabytes, runs, folder, lines):
    path = folder / "table.csv"
    records = write_table(path, megabytes, name)
    size, packed = path.stat().st_size, None
    if name == "numbers":
        packed = folder / "table.csv.gz"
        with gzip.open(packed, "wb", 6) as out:
            out.write(path.read_bytes())
        build = [tool, "build", str(packed), "--column", "key", "--type", "u64", "--spec", "sorted",
                 "-o", str(path.with_suffix(".sxt"))]
        if subprocess.run(build, capture_output=True).returncode:
            print("*.gz is left out: the tool was built without zlib")
            packed = None
    several = list(commands(tool, path, name, packed))
    for _, command in several:                 # warms up
        timed(command)
    check(tool, path, name, records)
    times = {what: [] for what, _ in several}
    for _ in range(runs):
        for what, command in several:
            times[what].append(timed(command))
    for what, pairs in times.items():
        clock, processor = (statistics.median(column) for column in zip(*pairs))
        lines.append({"table": name, "what": what, "mb": size / 1e6, "records": records,
                      "mb_per_s": size / clock / 1e6, "mb_per_cpu_s": size / processor / 1e6,
                      "runs": runs})
        print(f"{name:22} {what:34} {size / clock / 1e6:7.0f} MB/s  "
              f"{size / processor / 1e6:7.0f} MB per second of the processor", flush=True)


def main():
    parser = argparse.ArgumentParser(description="CSV to index, MB/s")
    parser.add_argument("--tool", default="build/sextant")
    parser.add_argument("--mb", type=int, default=200, help="size of each table")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-o", "--output", help="file of JSON lines")
    words = parser.parse_args()
    tool = str(Path(words.tool).resolve())
    lines = [{"what": "bench/tables.py: from a table of ten columns to an index file, one thread",
              "commit": commit(), "machine": cpu_name()}]
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sextant-csv-", dir=shared) as folder:
        for name in TABLES:
            measure(tool, name, words.mb, words.runs, Path(folder), lines)
    if words.output:
        Path(words.output).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
