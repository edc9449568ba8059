"""The README's C examples and shell block work, and documents with figures are what
bench/report.py makes of the files in bench/results/."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import case, check, equal

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
LIBRARY = ROOT / "build" / "libsextant.a"
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]


def examples():
    """Every block of C that is a whole program."""
    if not README.exists():
        return []
    blocks = re.findall(r"^```c\n(.*?)^```", README.read_text(), re.M | re.S)
    return [block for block in blocks if "main(" in block]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    check(done.returncode == 0, f"{words[0]} ended with {done.returncode}:\n"
          f"{done.stdout}{done.stderr}")
    return done.stdout


@case(range(len(examples())))
def readme_example(t, number):
    compiler = os.environ.get("CC", "cc").split()
    check(shutil.which(compiler[0]), f"there is no compiler {compiler[0]}")
    check(LIBRARY.exists(), "build/libsextant.a is not built")
    # Not in the case's folder: programs may not be allowed to run there.
    with tempfile.TemporaryDirectory(prefix="sextant-readme-") as folder:
        source, program = f"{folder}/example.c", f"{folder}/example"
        Path(source).write_text(examples()[number])
        run(*compiler, *FLAGS, f"-I{ROOT / 'include'}", source, str(LIBRARY),
            "-lxxhash", "-lpthread", "-lm", "-o", program)
        said = re.search(r"/\* (\d.*) \*/", examples()[number])
        equal(run(program).strip(), said[1], "what it prints, and the comment says")


def shell_block():
    """The lines under "In the shell"."""
    return re.search(r"^## In the shell\n[^`]*^```\n(.*?)^```", README.read_text(), re.M | re.S)[1]


@case()
def readme_in_the_shell(t):
    """The block as pasted into an empty folder, but with fewer keys."""
    block = shell_block().replace("2^24", "2^14").replace("2^20", "2^10")
    path = f"{Path(t.tool.path).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "LC_ALL": "C", "PATH": path}
    done = subprocess.run(["sh", "-e"], input=block, capture_output=True, text=True, cwd=t.dir,
                          env=environment)
    check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
    equal(done.stdout.splitlines()[:5], ["DE", "3", "3", "-", "1 2 3"], "the first answers")
    for name in re.findall(r"\S+\.(?:sosd|sxt|npy|txt|csv)", block):
        check(t.path(name).exists(), f"{name} was not made")
    check("pivot(k=9" in done.stdout and "binary_search" in done.stdout, done.stdout)


# ---- documents with figures -------------------------------------------------

def report(*words):
    return subprocess.run([sys.executable, "-B", str(ROOT / "bench/report.py"), *words],
                          capture_output=True, text=True)


@case()
def readme_and_documents_are_what_the_files_say(t):
    done = report("--check")
    check(done.returncode == 0, done.stdout + done.stderr)


@case("README.md", "doc/PERFORMANCE.md", "doc/papers/gpu-pgm.md")
def readme_and_documents_changed_by_hand(t, name):
    """A figure that is in no file is found, and made right again."""
    for path in ("doc", "README.md"):
        (shutil.copytree if path == "doc" else shutil.copy)(ROOT / path, t.path(path))
    t.path("bench").mkdir()
    t.path("bench/results").symlink_to(ROOT / "bench/results")
    document, root = t.path(name), ("--root", str(t.dir))
    text = document.read_text()
    figure = re.findall(r"\| (\d[\d.]+)[^\d.]", text)[-1]
    at = text.rindex(f"| {figure}") + 2
    document.write_text(text[:at] + "9" + text[at:])
    done = report("--check", *root)
    equal(done.returncode, 1, "exit status")
    check(str(document) in done.stderr, done.stderr)
    equal(report(*root).returncode, 0, "exit status")
    equal(document.read_text(), text, "the document made again")


@case([("README.md", 130), ("doc/PERFORMANCE.md", 250)])
def readme_and_documents_are_short(t, limit):
    name, most = limit
    lines = (ROOT / name).read_text().splitlines()
    check(len(lines) <= most, f"{name} has {len(lines)} lines")
    for line in lines:                    # lines of tables may be long
        check(len(line) <= 110 or line.startswith("|"), f"a long line: {line}")
