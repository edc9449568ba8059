"""The C examples of the README compile and run, and so does its shell block."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import case, check

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
        run(program)


def shell_block():
    """The lines under "In the shell"."""
    return re.search(r"^## In the shell\n[^`]*^```\n(.*?)^```", README.read_text(), re.M | re.S)[1]


@case()
def readme_in_the_shell(t):
    """As it can be pasted into an empty folder, but with fewer keys."""
    block = shell_block().replace("2^24", "2^14").replace("2^20", "2^10")
    path = f"{Path(t.tool.path).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "LC_ALL": "C", "PATH": path}
    done = subprocess.run(["sh", "-e"], input=block, capture_output=True, text=True, cwd=t.dir,
                          env=environment)
    check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
    for name in re.findall(r"\S+\.(?:sosd|sxt|npy|txt)", block):
        check(t.path(name).exists(), f"{name} was not made")
    check("pivot(k=9" in done.stdout and "binary_search" in done.stdout, done.stdout)
