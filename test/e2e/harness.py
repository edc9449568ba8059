"""Cases, how they are declared and what they are given.

    @case("u32", "u64")                  two cases: word[u32], word[u64]
    def word(t, type_name): ...

    @case(TYPES, SPECS)                  every type with every spec
    def word(t, type_name, spec): ...

A case passes when its function returns, and fails when it raises. If it raises
Skip(why), it is skipped, and counted as skipped.
"""
import itertools
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np

from tool import Tool

CASES = []


class Failure(AssertionError):
    """A case found what it should not have."""


class Skip(Exception):
    """This machine lacks something that the case needs; says what."""


@dataclass
class Case:
    name: str
    function: Callable
    parameters: tuple


def case(*axes):
    """Declares a function as a case for each combination of the axes."""
    if axes and isinstance(axes[0], str):
        axes = (axes,)

    def declare(function):
        for parameters in itertools.product(*axes):
            name = function.__name__
            if parameters:
                name += "[" + ", ".join(map(str, parameters)) + "]"
            CASES.append(Case(name, function, parameters))
        return function
    return declare


class Context:
    """What a case works with: the tool, an empty folder, random numbers."""

    def __init__(self, tool_path, folder, seed, name):
        self.dir = Path(folder)
        self.tool = Tool(tool_path, self.dir)
        self.rng = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def path(self, name):
        return self.dir / name


def check(truth, what):
    if not truth:
        raise Failure(what)


def equal(got, expected, what):
    """Fails with the first place where two sequences (or values) differ."""
    if got == expected:
        return
    if isinstance(got, list) and isinstance(expected, list):
        check(len(got) == len(expected), f"{what}: {len(got)} results, "
              f"expected {len(expected)}")
        i = next(i for i, pair in enumerate(zip(got, expected))
                 if pair[0] != pair[1])
        what, got, expected = f"{what}: result {i}", got[i], expected[i]
    raise Failure(f"{what}: got {shown(got)}, expected {shown(expected)}")


def shown(value):
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
