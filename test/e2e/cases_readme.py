"""The C examples of the README compile and run."""
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
