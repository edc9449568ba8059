#!/usr/bin/env python3
"""Tests the command line tool end to end against an oracle in Python.

    run.py --tool build/sextant [--seed S] [--only NAME] [--jobs N] [--list]

Each case runs in a folder of its own. Random cases depend on the seed,
which is printed: the same seed asks the same questions. The last line is
"N passed, M failed, K skipped"; the exit status is 1 if a case failed, or 0.
A case that can't be run here is skipped, and a line says why.
"""
import argparse
import importlib
import multiprocessing
import os
import secrets
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True        # leaves no files in the source tree

import harness
from tool import ToolError

HERE = Path(__file__).resolve().parent
CASE_LIMIT_S = 600                    # no case takes this long: it hangs
# Files live in memory if possible: thousands are made.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def arguments():
    parser = argparse.ArgumentParser(description="end-to-end test")
    parser.add_argument("--tool", type=Path, required=True,
                        help="the sextant binary")
    parser.add_argument("--seed", type=int, default=None,
                        help="of the random cases (default: a new one)")
    parser.add_argument("--only", metavar="NAME", default="",
                        help="only cases whose name contains NAME")
    parser.add_argument("--jobs", type=int, default=2,
                        help="cases at a time (default: 2)")
    parser.add_argument("--list", action="store_true",
                        help="print the names of the cases and stop")
    return parser.parse_args()


def load_cases(only):
    for module in sorted(HERE.glob("cases_*.py")):
        importlib.import_module(module.stem)
    return [c for c in harness.CASES if only in c.name]


def reason(error):
    """A short text for a failed check, a trace for a surprise."""
    if isinstance(error, (harness.Failure, ToolError)):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def give_up(*_):
    raise harness.Failure(f"took more than {CASE_LIMIT_S} s")


def run_case(chosen, tool, seed):
    """(why it failed or None, why it was skipped or None, seconds). Runs in
    a process of the pool."""
    began = time.monotonic()
    failure = skipped = None
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(CASE_LIMIT_S)
    with tempfile.TemporaryDirectory(prefix="sextant-e2e-",
                                     dir=FOLDER) as folder:
        try:
            context = harness.Context(tool, folder, seed, chosen.name)
            chosen.function(context, *chosen.parameters)
        except harness.Skip as why:
            skipped = str(why)
        except Exception as error:
            failure = reason(error)
        finally:
            signal.alarm(0)
    return failure, skipped, time.monotonic() - began


def main():
    words = arguments()
    cases = load_cases(words.only)
    if words.list:
        print("\n".join(c.name for c in cases))
        return 0
    seed = secrets.randbits(32) if words.seed is None else words.seed
    tool = words.tool.resolve()
    print(f"end to end: {len(cases)} cases, seed {seed}", flush=True)

    began = time.monotonic()
    passed = failed = skips = 0
    slowest = (0.0, "")
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(words.jobs, mp_context=fork) as pool:
        runs = [pool.submit(run_case, c, tool, seed) for c in cases]
        for chosen, run in zip(cases, runs):
            failure, skipped, seconds = run.result()
            slowest = max(slowest, (seconds, chosen.name))
            if skipped is not None:
                skips += 1
                print(f"skipped: {skipped}\n    {chosen.name}", flush=True)
                continue
            if failure is None:
                passed += 1
                continue
            failed += 1
            print(f"FAIL {chosen.name}\n    "
                  + failure.replace("\n", "\n    "), flush=True)
    if failed:
        print(f"again: run.py --tool {words.tool} --seed {seed} --only NAME")
    print(f"end to end: {time.monotonic() - began:.1f} s, "
          f"slowest {slowest[1]} {slowest[0]:.1f} s")
    print(f"{passed} passed, {failed} failed, {skips} skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
