#!/usr/bin/env python3
"""Makes the documents that have figures, out of the files in bench/results/.

    bench/report.py [--check] [--root FOLDER]

Explanations are written by hand, in a template beside each document:

    doc/PERFORMANCE.in.md  ->  doc/PERFORMANCE.md
    doc/papers/NAME.in.md  ->  doc/papers/NAME.md

A template has `{{NAME}}` or `{{NAME ARGUMENT}}` where figures belong; report_tables.py
says what the names mean. Paragraphs are wrapped again when they are filled in. In
README.md the table between "<!-- figures -->" and "<!-- end -->" is made, nothing else.

--check writes nothing. It fails, and names the document, if a document is not what
this command makes of the files.
"""
import argparse
import re
import sys
import textwrap
from pathlib import Path

import report_tables

MADE = "<!-- Made by bench/report.py out of {}. Change that file, not this one. -->\n"
TABLE = re.compile(r"(<!-- figures -->\n).*?(<!-- end -->)", re.S)


def fill(text, parts, path):
    """The template with its figures."""
    def one(match):
        name, _, argument = match[1].strip().partition(" ")
        if name not in parts.names:
            raise SystemExit(f"{path}: there is no part {name}")
        return parts.names[name](*([argument.strip()] if argument else [])).rstrip("\n")
    return "\n\n".join(paragraph(re.sub(r"\{\{(.*?)\}\}", one, part))
                       for part in text.split("\n\n"))


def paragraph(text):
    """A paragraph, wrapped; tables, headings and code stay as they are. A list is wrapped
    item by item."""
    if "\n\n" in text:
        return "\n\n".join(map(paragraph, text.split("\n\n")))
    if text.lstrip().startswith(("|", "#", "```", "<!--")):
        return text
    items = re.split(r"\n(?=- )", text.strip("\n"))
    end = "\n" if text.endswith("\n") else ""
    return "\n".join(textwrap.fill(" ".join(item.split()), 100, break_long_words=False,
                                   break_on_hyphens=False,
                                   subsequent_indent="  " if item.startswith("- ") else "")
                     for item in items) + end


def documents(root):
    """Path -> text of every document that is made."""
    parts = report_tables.Parts(root / "bench/results")
    made = {}
    templates = [root / "doc/PERFORMANCE.in.md", *sorted((root / "doc/papers").glob("*.in.md"))]
    for template in templates:
        path = template.with_name(template.name.replace(".in.md", ".md"))
        made[path] = MADE.format(template.name) + fill(template.read_text(), parts, template)
    readme = root / "README.md"
    text, count = TABLE.subn(lambda m: m[1] + parts.names["figures"]() + m[2],
                             readme.read_text())
    if count != 1:
        raise SystemExit(f"{readme}: {count} places for the figures")
    made[readme] = text
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    words = parser.parse_args()
    stale = 0
    for path, text in documents(words.root).items():
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if words.check:
            print(f"{path} is not what bench/report.py makes: run make report", file=sys.stderr)
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return 1 if words.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
