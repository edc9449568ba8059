#!/usr/bin/env python3
"""Writes one header that needs no other of ours: device_header.py SOURCE OUT

Replaces each #include "..." of a header under src/ by that header. One with
an include guard is put where it is first included, and only there, so such
an include must not depend on a condition that a later one does not share; a
template (X_impl.h) is put wherever it is included. So is a list (X.def), of
which only that is taken which stands between an #ifdef and an #endif of what
is defined there. What is under include/ and what is in angle brackets stays
an #include.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+"([^"]+)"')
DEFINE = re.compile(r"#(define|undef) (\w+)")
PART = re.compile(r"#ifdef (\w+)|#endif")
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.M)


def wanted(lines, defined):
    """Those of a list that stand in no #ifdef, or in one of something defined."""
    part = None
    for line in lines:
        match = PART.match(line)
        if match:
            part = match[1]
        elif part is None or part in defined:
            yield line


def expand(path, seen, defined):
    """The lines of a header, the headers it includes in their places."""
    text = path.read_text(encoding="utf-8")
    if GUARD.search(text):
        seen.add(path)
    lines = text.splitlines()
    for line in wanted(lines, defined) if path.suffix == ".def" else lines:
        match = DEFINE.match(line)
        if match:
            (defined.add if match[1] == "define" else defined.discard)(match[2])
        match = INCLUDE.match(line)
        if not match or (ROOT / "include" / match[1]).is_file():
            yield line
            continue
        other = ROOT / "src" / match[1]
        if not other.is_file():
            sys.exit(f'{path}: "{match[1]}" is neither in include/ nor in src/')
        if other not in seen:
            yield from expand(other, seen, defined)


def main(words):
    if len(words) != 2:
        sys.exit(__doc__.splitlines()[0])
    source = Path(words[0]).resolve()
    Path(words[1]).write_text("\n".join(expand(source, set(), set())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
