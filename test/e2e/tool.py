"""Running the tool, and its verbs as functions of Python values."""
import json
import os
import shlex
import subprocess
from dataclasses import dataclass

import formats


class ToolError(AssertionError):
    """The tool did not end as it should have, or said too much or little."""


@dataclass
class Result:
    words: list
    code: int
    out: bytes
    err: str

    @property
    def lines(self):
        return self.out.decode().splitlines()

    def refuse(self, why):
        command = shlex.join(["sextant", *self.words])
        raise ToolError(f"{why}\ncommand: {command}\nexit status: {self.code}"
                        f"\nstdout: {self.out[:300]!r}\nstderr: {self.err!r}")


def number(text):
    """A line of the tool: a number, or None for '-'."""
    return None if text == "-" else int(text)


class Tool:
    def __init__(self, path, folder):
        self.path = str(path)
        self.folder = folder

    # ---- any command --------------------------------------------------------

    def run(self, *words, stdin=b""):
        """Runs the tool in the case's folder, whatever its status is."""
        words = [str(word) for word in words]
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run([self.path, *words], input=stdin,
                              capture_output=True, cwd=self.folder,
                              env=environment)
        result = Result(words, done.returncode, done.stdout,
                        done.stderr.decode(errors="replace"))
        if result.code not in (0, 1, 2):
            result.refuse("neither success, failure nor a usage error")
        return result

    def ok(self, *words, stdin=b"", chatty=False):
        """Runs a command that must succeed, and print nothing else unless chatty."""
        result = self.run(*words, stdin=stdin)
        if result.code != 0:
            result.refuse("should have succeeded")
        if result.err and not chatty:
            result.refuse("should have had nothing to say on stderr")
        return result

    def fails(self, code, naming, *words, stdin=b""):
        """Runs a command that must fail in one line that names a word."""
        result = self.run(*words, stdin=stdin)
        if result.code != code:
            result.refuse(f"should have ended with exit status {code}")
        if result.out:
            result.refuse("should have left stdout alone")
        if result.err.count("\n") != 1 or not result.err.endswith("\n"):
            result.refuse("should have said one line on stderr")
        if not result.err.startswith("sextant: "):
            result.refuse("should have said its name first")
        if naming not in result.err:
            result.refuse(f"should have named {naming!r}")
        return result

    def json(self, *words, stdin=b""):
        """The objects that a command prints, one per line."""
        result = self.ok(*words, "--json", stdin=stdin)
        try:
            return [json.loads(line) for line in result.lines]
        except ValueError as error:
            result.refuse(f"should have printed an object per line: {error}")

    # ---- verbs --------------------------------------------------------------

    def build(self, keys, spec, type_name, *options, name="keys", rows=None):
        """Builds an index over keys, returns the name of its file."""
        formats.write(self.folder / f"{name}.sosd", keys)
        if rows is not None:
            formats.write(self.folder / f"{name}_rows.npy", rows, "npy")
            options += ("--rows", f"{name}_rows.npy")
        self.ok("build", f"{name}.sosd", "--type", type_name, "--spec", spec,
                "-o", f"{name}.sxt", *options,
                chatty="auto" in spec or "pairs" in spec)
        return f"{name}.sxt"

    def write_queries(self, queries):
        return formats.write(self.folder / "queries.sosd", queries).name

    def lookup(self, index, queries, mode, *options):
        """A number, or None for no match, for each query. Queries are an
        array, or the name of a file."""
        if not isinstance(queries, str):
            queries = self.write_queries(queries)
        lines = self.ok("lookup", index, queries, "--mode", mode,
                        *options).lines
        return [number(line) for line in lines]

    def write_bounds(self, lo, hi):
        """Names of files of the bounds, for the functions below."""
        return (formats.write(self.folder / "lo.sosd", lo).name,
                formats.write(self.folder / "hi.sosd", hi).name)

    def range_numbers(self, index, bounds, what, *options):
        """--count, --sum, --min or --max: a number for each range."""
        lines = self.ok("range", index, *bounds, what, *options).lines
        return [number(line) for line in lines]

    def range_rows(self, index, bounds, *options):
        """--rows: a list of rows for each range."""
        lines = self.ok("range", index, *bounds, "--rows", *options).lines
        return [[int(word) for word in line.split()] for line in lines]

    def explain(self, index):
        """The explanation as an object."""
        return self.json("explain", index)[0]
