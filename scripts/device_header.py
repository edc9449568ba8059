#!/usr/bin/env python3
"""Writes one header that needs no other of ours: device_header.py SOURCE OUT

Replaces each #include "..." of a header under src/ by that header. A header with
an include guard is put where it is first included, and only there. So such an
include must not depend on a condition that a later one does not share. A
template (X_impl.h, X.def) is put wherever it is included. Includes of headers
under include/, or in angle brackets, stay.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+"([^"]+)"')
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.M)


def expand(path, seen):
    """The lines of a header, with the headers it includes in their places."""
    text = path.read_text(encoding="utf-8")
    if GUARD.search(text):
        seen.add(path)
    for line in text.splitlines():
        match = INCLUDE.match(line)
        if not match or (ROOT / "include" / match[1]).is_file():
            yield line
            continue
        other = ROOT / "src" / match[1]
        if not other.is_file():
            sys.exit(f'{path}: "{match[1]}" is neither in include/ nor in src/')
        if other not in seen:
            yield from expand(other, seen)


def main(words):
    if len(words) != 2:
        sys.exit(__doc__.splitlines()[0])
    source = Path(words[0]).resolve()
    Path(words[1]).write_text("\n".join(expand(source, set())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
