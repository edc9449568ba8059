#!/usr/bin/env python3
"""Checks that data flows one way: each room includes only earlier rooms.

    check_rooms.py [ROOT]       check the tree at ROOT (default: this tree)
    check_rooms.py --self-test  check this script on small made-up trees

The rules:
  1. A file under src/ lies in a room that ROOMS lists.
  2. It includes its own room, the rooms that ROOMS lists for it, and
     include/sextant.h.
  3. A file under cli/ includes files of cli/, include/sextant.h, and files
     that TOO lists for it; one under bench/ those of bench/ as well.
  4. A quoted include names a file of the tree, and is not a macro; but a
     template may include SX_BODY, and whoever defines SX_BODY includes it.
  5. No two source files of the tree have the same name.
  6. The families of src/family/families.def are named there, in their own
     folders and in the room that chooses among them.

Prints each violation as FILE:LINE: what is wrong, and exits with 1. If there
is none, prints one line that ends in "ok" and exits with 0.
"""
import contextlib
import io
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

# Each room and the rooms it may include, in the order the data flows. The
# backends and the query room all stand on place and do not know each other:
# they meet through a backend's table of functions.
FLOW = ["base", "keys", "sort", "family", "place"]
ROOMS = {room: set(FLOW[:i]) for i, room in enumerate(FLOW)}
ROOMS["cpu"] = ROOMS["gpu"] = ROOMS["query"] = set(FLOW)
# The room that measures in order to decide works on indexes that are not finished yet.
ROOMS["choose"] = set(FLOW) | {"query"}

# Families drive their walks on a GPU, too.
ROOMS["family"] |= {"gpu"}

# Where families are named outside of their folders: the list, of NAME/NAME.def,
# and the room that chooses among them.
CHOOSER = "choose"
LIST = Path("src/family/families.def")
# Words with another meaning, too: only their numbers count.
COMMON_WORDS = {"sorted"}

# The tool's options and devices' names write sizes alike. The bench asks for the model
# of an index on both sides, which the library does not offer, and measures its sorts.
# The bench's own kernels are written with the words of the library's.
TOO = {"cli": {Path("src/base/size.h")},
       "bench": {Path("src/query/measure.h"), Path("src/sort/sort.h"),
                 Path("src/base/alloc.h"), Path("src/base/machine.h"),
                 Path("src/gpu/vendor_cuda.h"), Path("src/gpu/vendor_simt.h"),
                 Path("src/gpu/sort_cuda.h")}}
PROGRAMS = {"cli": {"cli"}, "bench": {"bench", "cli"}}

PUBLIC = "include"                    # the public header's folder
SOURCES = {".c", ".h", ".def", ".cu", ".cuh", ".py", ".sh"}
C_SOURCES = {".c", ".h", ".def", ".cu", ".cuh"}
SKIPPED = {"build", "__pycache__", "node_modules"}   # and names with a dot

COMMENT_OR_STRING = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
BODY = re.compile(r'^[ \t]*#[ \t]*define[ \t]+SX_BODY[ \t]+"([^"\n]+)"', re.M)
LISTED = re.compile(r'^#include "(family/\w+/\w+\.def)"', re.M)
FAMILY = re.compile(r"^SX_FAMILY\((\w+), (\w+)\)", re.M)
INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\S[^\n]*))', re.M)


def without_comments(text):
    """The text with comments blanked out and every line in its place."""
    def blank(match):
        token = match.group()
        return token if token[0] in "\"'" else re.sub(r"[^\n]", " ", token)
    return COMMENT_OR_STRING.sub(blank, text)


def includes_of(path):
    """(line, name, kind) of each include; kind: 'quote', 'angle', 'macro'."""
    text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for name, kind in zip(match.groups(), ("quote", "angle", "macro")):
            if name:
                yield line, name.strip(), kind


    for match in BODY.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], "quote"


def families_of(root):
    """(pattern, folder) of each family; the pattern finds its name in code."""
    path = root / LIST
    listed = LISTED.findall(path.read_text()) if path.is_file() else []
    lines = [FAMILY.search((root / "src" / one).read_text()) for one in listed]
    for tag, name in (line.groups() for line in lines if line):
        words = [f"SX_FAM_{tag}", rf"of\.{name}\b", f"sx_(part|params)_{name}"]
        if name not in COMMON_WORDS:
            words += [rf"(?<![A-Za-z]){word}s?(?![a-z])" for word in {name, tag, tag.lower()}]
        yield re.compile("|".join(words)), name


def may_see(includer, target, families):
    """Whether a file may include this one, which may be in a family's folder."""
    folders = {name for _, name in families}
    if target.parts[:2] != ("src", "family") or target.parts[2] not in folders:
        return True
    return (includer == LIST or includer.parts[:3] == target.parts[:3]
            or room_of(includer) == CHOOSER)


def names_of_families(path, relative, families):
    """(line, family) of each family that is named where it should not be."""
    folder = relative.parts[2] if relative.parts[1] == "family" else ""
    text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"#\s*include\s*<[^>\n]*>", "", text)         # others' headers
    for pattern, name in families:
        if name != folder:
            for match in pattern.finditer(text):
                yield text.count("\n", 0, match.start()) + 1, name


def room_of(relative):
    """'src/keys/encode.h' -> 'keys'; None outside of src/ and at its top."""
    parts = relative.parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = sorted(self._source_files(root))
        self.by_name = defaultdict(list)
        for relative in self.files:
            self.by_name[relative.name].append(relative)

    def _source_files(self, folder):
        for path in folder.iterdir():
            if path.name.startswith(".") or path.name in SKIPPED:
                continue
            if path.is_dir() and not path.is_symlink():
                yield from self._source_files(path)
            elif path.suffix in SOURCES and path.is_file():
                yield path.relative_to(self.root)

    def under(self, folder):
        return [f for f in self.files
                if f.parts[0] == folder and f.suffix in C_SOURCES]

    def resolve(self, includer, name, kind):
        """The file of this tree that an include means, or None."""
        bases = [Path(PUBLIC), Path("src")]
        if kind == "quote":
            bases.insert(0, includer.parent)
        for base in bases:
            path = (self.root / base / name).resolve()
            if path.is_file() and path.is_relative_to(self.root):
                return path.relative_to(self.root)
        if kind == "quote" and "/" not in name and self.by_name.get(name):
            return self.by_name[name][0]
        return None


def why_not(includer, target):
    """The sentence that forbids this include, or None."""
    if target.parts[0] == PUBLIC:
        return None
    program = includer.parts[0]
    if program in PROGRAMS:
        if target.parts[0] in PROGRAMS[program] or target in TOO[program]:
            return None
        return (f"{program}/ includes only {PUBLIC}/sextant.h and headers of "
                + ", ".join(sorted(PROGRAMS[program])))
    room, other = room_of(includer), room_of(target)
    if other is None:
        return f"room {room} includes a file outside of src/"
    if other == room or other in ROOMS[room]:
        return None
    allowed = ", ".join(r for r in FLOW if r in ROOMS[room]) or "none"
    return f"room {room} may not include room {other} (only: {allowed})"


def check(root):
    """Prints violations or a summary; returns the exit status."""
    tree = Tree(root.resolve())
    violations = []
    checked = includes = 0
    families = list(families_of(tree.root))
    for includer in tree.under("src") + tree.under("cli") + tree.under("bench"):
        if includer.parts[0] == "src" and room_of(includer) not in ROOMS:
            violations.append((includer, 1, "not in a room; the rooms are "
                               + ", ".join(ROOMS)))
            continue
        checked += 1
        if (includer.parts[0] == "src" and includer != LIST
                and room_of(includer) != CHOOSER):
            for line, name in names_of_families(tree.root / includer, includer, families):
                violations.append((includer, line, f"names the family {name}"))
        for line, name, kind in includes_of(tree.root / includer):
            if kind == "macro" and name == "SX_BODY":
                continue
            if kind == "macro":
                violations.append((includer, line, f"include of the macro "
                                   f"{name} cannot be checked"))
                continue
            target = tree.resolve(includer, name, kind)
            if target is None:
                if kind == "quote":
                    violations.append((includer, line,
                                       f'"{name}" is not in this tree'))
                continue
            includes += 1
            if not may_see(includer, target, families):
                violations.append((includer, line, f"includes {target}, which is a family's"))
            reason = why_not(includer, target)
            if reason:
                violations.append((includer, line,
                                   f"includes {target}: {reason}"))
    for name, places in tree.by_name.items():
        for place in places[1:]:
            if name != "__init__.py":
                violations.append((place, 1, f"the file name {name} is "
                                   f"taken by {places[0]}"))
    for path, line, reason in sorted(violations):
        print(f"{path}:{line}: {reason}")
    if violations:
        return 1
    print(f"rooms: {checked} files, {includes} includes, ok")
    return 0


# ---- self-test --------------------------------------------------------------

GOOD = {
    "include/sextant.h": "#include <stdint.h>\n",
    "src/base/status.h": '#include "sextant.h"\n',
    "src/keys/encode.h": '#include "base/status.h"\n',
    "src/cpu/cpu_walks.c": '#include "place/backend.h"\n#include <errno.h>\n',
    "src/place/backend.h": '#include "encode.h"\n'
                           '/* #include "query/api.h" */\n'
                           '// #include "cpu/cpu_walks.c"\n',
    "src/query/api.c": '#include "../place/backend.h"\n#include "api.h"\n',
    "src/query/api.h": "#include <sextant.h>\n",
    "src/query/measure.h": "",
    "cli/sextant.c": '#include "sextant.h"\n#include "words.h"\n',
    "bench/bench.c": '#include "query/measure.h"\n#include "words.h"\n',
    "cli/words.h": "",
    "src/family/families.def": '#include "family/eytzinger/eytzinger.def"\n'
                               '#include "family/sorted/sorted.def"\n',
    "src/family/eytzinger/eytzinger.def": '#ifdef SX_FAMILY\nSX_FAMILY(EYTZ, eytzinger)\n#endif\n'
                                          '#include "family/eytzinger/eytzinger.h"\n',
    "src/family/sorted/sorted.def": "SX_FAMILY(SORTED, sorted)\n",
    "src/family/eytzinger/eytzinger.h": "int sx_eytz_unit;\n",
    "src/family/each.h": "#include SX_BODY\n",
    "src/choose/choose.c": '#include "query/api.h"\nint a = SX_FAM_EYTZ;\n',
    "src/sort/sort.c": "int sorted, /* eytzinger */ b; char *c = \"eytzinger\";\n",
    "build/base/status.h": "",
}

# Files that are added to GOOD, and the one line that must come of each set.
BAD = [
    ({"src/base/late.h": '\n#include "keys/encode.h"\n'},
     "src/base/late.h:2: includes src/keys/encode.h: room base"),
    ({"src/keys/late.h": 'int a;\n/* \n */ #  include "backend.h"\n'},
     "src/keys/late.h:3: includes src/place/backend.h: room keys"),
    ({"src/cpu/meet.c": '#include "query/api.h"\n'},
     "src/cpu/meet.c:1: includes src/query/api.h: room cpu"),
    ({"src/query/meet.c": '#include "cpu/cpu.h"\n', "src/cpu/cpu.h": ""},
     "src/query/meet.c:1: includes src/cpu/cpu.h: room query"),
    ({"src/query/angle.c": '#include <cpu/cpu.h>\n', "src/cpu/cpu.h": ""},
     "src/query/angle.c:1: includes src/cpu/cpu.h: room query"),
    ({"cli/cmd_gen.c": '#include "base/status.h"\n'},
     "cli/cmd_gen.c:1: includes src/base/status.h: cli/ includes only"),
    ({"cli/cmd_gen.c": '#include "query/api.h"\n'},
     "cli/cmd_gen.c:1: includes src/query/api.h: cli/ includes only"),
    ({"cli/cmd_gen.c": '#include "query/measure.h"\n'},
     "cli/cmd_gen.c:1: includes src/query/measure.h: cli/ includes only"),
    ({"cli/cmd_gen.c": '#include "pinned.h"\n', "bench/pinned.h": ""},
     "cli/cmd_gen.c:1: includes bench/pinned.h: cli/ includes only"),
    ({"bench/work.c": '#include "query/api.h"\n'},
     "bench/work.c:1: includes src/query/api.h: bench/ includes only"),
    ({"bench/work.c": '#include "gpu/vendor_simt.h"\n#include "gpu/gpu_args.h"\n',
      "src/gpu/vendor_simt.h": "", "src/gpu/gpu_args.h": ""},
     "bench/work.c:2: includes src/gpu/gpu_args.h: bench/ includes only"),
    ({"src/base/test.c": '#include "oracle.h"\n', "test/oracle.h": ""},
     "src/base/test.c:1: includes test/oracle.h: room base includes a file"),
    ({"src/attic/old.c": ""}, "src/attic/old.c:1: not in a room"),
    ({"src/top.c": ""}, "src/top.c:1: not in a room"),
    ({"src/base/gone.c": '#include "gone.h"\n'},
     'src/base/gone.c:1: "gone.h" is not in this tree'),
    ({"src/base/any.c": "#include ANY\n"},
     "src/base/any.c:1: include of the macro ANY"),
    ({"src/query/which.c": "\nint a = v->family == SX_FAM_SORTED;\n"},
     "src/query/which.c:2: names the family sorted"),
    ({"src/cpu/walk.c": "int a = sx_eytz_unit(v);\n"},
     "src/cpu/walk.c:1: names the family eytzinger"),
    ({"src/family/shape.c": "int a = v->of.eytzinger.k;\n"},
     "src/family/shape.c:1: names the family eytzinger"),
    ({"src/query/sees.c": '#include "family/eytzinger/eytzinger.h"\n'},
     "src/query/sees.c:1: includes src/family/eytzinger/eytzinger.h, which is a family's"),
    ({"src/family/parts.h": '#include "family/eytzinger/eytzinger.h"\n'},
     "src/family/parts.h:1: includes src/family/eytzinger/eytzinger.h, which is a family's"),
    ({"src/family/slots.h": "int a = sx_eytzinger_slot_of_rank(v, 0);\n"},
     "src/family/slots.h:1: names the family eytzinger"),
    ({"src/cpu/parts.c": "int a = v->of.sorted.none;\n"},
     "src/cpu/parts.c:1: names the family sorted"),
    ({"src/base/body.c": '#define SX_BODY "keys/encode.h"\n'},
     "src/base/body.c:1: includes src/keys/encode.h: room base"),
    ({"test/words.h": ""}, "test/words.h:1: the file name words.h is taken"),
]


def checked_tree(files):
    """(exit status, lines printed) for a tree of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = check(Path(folder))
        return status, out.getvalue().splitlines()


def self_test():
    failed = []
    status, lines = checked_tree(GOOD)
    if (status, lines) != (0, ["rooms: 17 files, 15 includes, ok"]):
        failed.append(f"a good tree gives {status}, {lines}")
    for extra, expected in BAD:
        status, lines = checked_tree({**GOOD, **extra})
        if status != 1 or len(lines) != 1 or not lines[0].startswith(expected):
            failed.append(f"expected {expected!r}, got {status}, {lines}")
    for line in failed:
        print(f"check_rooms self-test: {line}")
    passed = len(BAD) + 1 - len(failed)
    print(f"check_rooms self-test: {passed} passed, {len(failed)} failed")
    return 1 if failed else 0


def main(words):
    if words == ["--self-test"]:
        return self_test()
    if len(words) > 1 or any(word.startswith("-") for word in words):
        print("usage: check_rooms.py [ROOT | --self-test]", file=sys.stderr)
        return 2
    default = Path(__file__).resolve().parent.parent
    return check(Path(words[0]) if words else default)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
