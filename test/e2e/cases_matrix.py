"""sextant devices --matrix: what can be done with which index where."""
import itertools
import re

import numpy as np

import formats
from harness import case, check, equal
from oracle import KEY_SETS, TYPES

AXES = ("family", "type", "verb", "place", "backend")


def families_of_errors(t):
    """The families, from the refusal of an unknown one."""
    formats.write(t.path("few.sosd"), np.arange(3, dtype="<u8"))
    said = t.tool.fails(2, "allowed: ", "build", "few.sosd", "--type", "u64",
                        "--spec", "nosuch", "-o", "few.sxt").err
    listed = said.split("allowed: ")[1].split(" (see ")[0]
    return set(listed.strip().split(", "))


def word_of(family):
    """A family that has the name of another is listed by a spec: btree(fill=100)."""
    return family.split("(")[0]


@case()
def matrix_has_every_cell_once(t):
    cells = t.tool.json("devices", "--matrix")
    values = {axis: sorted({c[axis] for c in cells}) for axis in AXES}
    equal({word_of(f) for f in values["family"]}, families_of_errors(t), "families")
    equal(set(values["type"]), {*TYPES, "t64", "str"}, "types")
    equal(values["place"], ["both", "device", "host", "hybrid"], "places")
    equal(values["backend"], ["cpu", "cuda", "simt"], "backends")
    check({"build", "get", "aggregate", "load"} <= set(values["verb"]),
          f"verbs are {values['verb']}")
    equal(sorted(tuple(c[axis] for axis in AXES) for c in cells),
          sorted(itertools.product(*values.values())), "cells")
    for c in cells:
        if c["tested"]:
            equal(c["needs_gpu"], c["backend"] == "cuda", f"GPU for {c}")
        else:
            check(len(c["why"]) > 10, f"no reason in {c}")


@case()
def matrix_text_agrees(t):
    cells = t.tool.json("devices", "--matrix")
    lines = t.tool.ok("devices", "--matrix").lines
    text = "\n".join(lines)
    for line in lines:
        check(len(line) <= 100, f"a long line: {line}")
    reasons = re.findall(r"^\[\d+\] (.*)$", text, re.M)
    equal(sorted(reasons), sorted({c["why"] for c in cells if not c["tested"]}),
          "reasons")
    equal(re.findall(r"^(\w+(?:\(.*?\))?): ", text, re.M),
          list(dict.fromkeys(c["family"] for c in cells)), "tables")
    tested = [c for c in cells if c["tested"]]
    on_gpu = sum(c["needs_gpu"] for c in tested)
    summary = " ".join(lines[-2:])
    check(summary.startswith(f"{len(cells)} cells"), summary)
    check(summary.endswith(f"{len(tested) - on_gpu} tested, {on_gpu} tested on a "
                           f"GPU, {len(cells) - len(tested)} impossible"),
          summary)


@case(TYPES)
def matrix_builds_what_it_promises(t, type_name):
    """Asks on the devices that every machine has, if they can have the index."""
    keys = KEY_SETS["few"](t.rng, type_name)
    built = {(c["family"], c["backend"])
             for c in t.tool.json("devices", "--matrix")
             if c["tested"] and c["type"] == type_name and c["verb"] == "build"
             and (c["backend"], c["place"]) in (("cpu", "host"), ("simt", "device"))}
    families = families_of_errors(t)
    equal({(word_of(f), backend) for f, backend in built},
          set(itertools.product(families, ("cpu", "simt"))), "tested")
    for family, backend in sorted(built):
        t.tool.build(keys, family, type_name, "--device", backend)
