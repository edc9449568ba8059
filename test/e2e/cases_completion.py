"""Completion in shells, the manual page, colours: what a person at a terminal has."""
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

from harness import Skip, case, check, equal

ROOT = Path(__file__).resolve().parents[2]

BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_sextant
printf '%s\n' "${COMPREPLY[@]}"
"""
# What zsh's own functions would show, as lines.
ZSH = r"""
_describe() { local name; print -rl -- ${(P)2%%:*} }
compadd() { shift; print -rl -- "$@" }
_files() { print -rl -- *(N) }
script=$1; shift
words=("$@"); CURRENT=$#
source $script
"""
FISH = r"""
source $argv[1]
complete -C (string join ' ' -- $argv[2..-1]) | string replace -r '\t.*' ''
true
"""


def completed(t, shell, *words):
    """What the shell offers for the last word. zsh leaves it to its own functions to leave
    out what does not begin so."""
    if not shutil.which(shell):
        raise Skip(f"there is no {shell}")
    script, program = {"bash": ("sextant.bash", BASH), "zsh": ("_sextant", ZSH),
                       "fish": ("sextant.fish", FISH)}[shell]
    path = f"{Path(t.tool.path).parent}:{os.environ['PATH']}"
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [shell, *flags, "-c", program]
    command += ["bash"] if shell in ("bash", "zsh") else []
    done = subprocess.run([*command, str(ROOT / "completion" / script), "sextant", *words],
                          cwd=t.dir, capture_output=True, text=True,
                          env={**os.environ, "PATH": path, "HOME": str(t.dir), "LC_ALL": "C"})
    check(done.returncode == 0, f"{shell}: {done.stderr}")
    return sorted(w for w in done.stdout.split("\n") if w and w.startswith(words[-1]))


@case("bash", "zsh", "fish")
def completion(t, shell):
    verbs = [line.split("\t")[0] for line in t.tool.ok("--complete").lines]
    check({"build", "lookup", "bench", "help"} <= set(verbs), f"verbs are {verbs}")
    equal(completed(t, shell, ""), sorted(verbs), "verbs")
    equal(completed(t, shell, "lo"), ["lookup"], "a verb")
    equal(completed(t, shell, "help", "ex"), ["explain"], "help of a verb")
    equal(completed(t, shell, "lookup", "--mo"), ["--mode"], "an option")
    equal(completed(t, shell, "bench", "--coll"), ["--collect"], "an option of bench")
    equal(completed(t, shell, "lookup", "x.sxt", "--mode", ""),
          ["ceil", "floor", "get", "rank"], "words of an option")
    equal(completed(t, shell, "build", "--keys-as", "ip"), ["ipv4", "ipv6"], "a word")
    t.path("queries.csv").touch()
    equal(completed(t, shell, "lookup", "que"), ["queries.csv"], "a file")
    equal(completed(t, shell, "lookup", "--lines", "que"), ["queries.csv"], "a file of an option")


@case()
def completion_has_what_help_has(t):
    for verb in (line.split("\t")[0] for line in t.tool.ok("--complete").lines):
        if verb == "help":
            continue
        listed = [line.split("\t") for line in t.tool.ok(verb, "--complete").lines]
        text = t.tool.ok(verb, "--help").out.decode()
        equal([parts[0] for parts in listed],
              re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M), f"options of {verb}")
        check(all(len(parts) == 3 for parts in listed), f"{verb}: {listed}")


def on_terminal(t, *words, **environment):
    """What a command writes to a terminal."""
    master, slave = pty.openpty()
    done = subprocess.Popen([t.tool.path, *words], stdout=slave, stderr=slave, cwd=t.dir,
                            env={**os.environ, "TERM": "xterm", "LC_ALL": "C", **environment})
    os.close(slave)
    out = b""
    try:
        while part := os.read(master, 65536):
            out += part
    except OSError:                   # the other end is closed
        pass
    os.close(master)
    done.wait()
    return out.decode()


@case()
def colours_on_a_terminal(t):
    check("\x1b[1m" in on_terminal(t, "--help"), "no colours on a terminal")
    check("\x1b" not in on_terminal(t, "--help", NO_COLOR="1"), "colours with NO_COLOR")
    check("\x1b" in on_terminal(t, "--help", NO_COLOR=""), "no colours with an empty NO_COLOR")
    check("\x1b" not in on_terminal(t, "--help", TERM="dumb"), "colours on a dumb terminal")
    check("\x1b" not in t.tool.ok("--help").out.decode(), "colours in a file")


@case()
def help_opens_the_page(t):
    """With man(1), at the verb; without it, the usual help."""
    folder = t.path("bin")
    folder.mkdir()
    (folder / "man").write_text('#!/bin/sh\necho "man $* with $MANPAGER"\n')
    (folder / "man").chmod(0o755)
    plain = {name: "" for name in ("PAGER", "MANPAGER")}
    tool_folder = Path(t.tool.path).parent
    env = {k: v for k, v in os.environ.items() if k not in plain}
    os.environ.pop("PAGER", None), os.environ.pop("MANPAGER", None)
    try:
        out = on_terminal(t, "help", "lookup", PATH=f"{folder}:/bin:/usr/bin")
    finally:
        os.environ.update(env)
    page = next((p for p in (tool_folder / "../share/man/man1/sextant.1",
                             tool_folder / "../doc/sextant.1") if p.exists()), None)
    expected = str(page) if page else "1 sextant"
    check(f"man {expected} with less -R '+/^   lookup$'" in out, out)
    check("usage: sextant lookup" in on_terminal(t, "help", "lookup", PATH="/nowhere"),
          "no help without man")


@case()
def the_page_has_every_verb_and_option(t):
    """doc/sextant.1 is the reference: it names every option of every verb, and has a part
    about each verb, where help opens it."""
    text = (ROOT / "doc/sextant.1").read_text()
    for verb in (line.split("\t")[0] for line in t.tool.ok("--complete").lines):
        if verb == "help":
            continue
        check(re.search(rf"^\.Cm {verb}$", text, re.M), f"{verb} has no synopsis")
        for line in t.tool.ok(verb, "--complete").lines:
            option = line.split("\t")[0][1:]          # Fl writes the first dash
            check(re.search(rf"[Fl,|] {re.escape(option)}\b(?!-)", text) or
                  f"Fl {option}" in text, f"-{option} of {verb} is not in the page")
