"""make demo, with a make of ours that only says how it is called; and which GPUs
CUDA is compiled for."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import case, check, equal

ROOT = Path(__file__).resolve().parents[2]


def program(folder, name, *lines):
    path = Path(folder) / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def environment(folder, **more):
    """Our environment, with the programs of the folder before all others."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "NVCC", "CUDA_ARCH")}
    return {**kept, "LC_ALL": "C", "PATH": f"{folder}:{kept['PATH']}", **more}


@case("no GPU", "a GPU", "a GPU and no nvcc")
def demo_compiles_cuda_last(t, where):
    """First on the CPU, the tool alone, without CUDA; then on a GPU, only if there is one."""
    # Not in the case's folder: programs may not be allowed to run there.
    with tempfile.TemporaryDirectory(prefix="sextant-demo-") as folder:
        for name in ("scripts", "build", "bin"):
            (Path(folder) / name).mkdir()
        shutil.copy(ROOT / "scripts/demo.sh", f"{folder}/scripts")
        (Path(folder) / "build/sextant").symlink_to(t.tool.path)
        program(f"{folder}/bin", "nvidia-smi", f"exit {int(where == 'no GPU')}")
        program(f"{folder}/bin", "make", 'echo "MAKE $*"', 'case "$*" in *NVCC=*) exit;; esac',
                "touch build/libsextant-cuda.so" if where == "a GPU" else "")
        done = subprocess.run(["bash", "scripts/demo.sh"], cwd=folder, capture_output=True,
                              text=True, env=environment(f"{folder}/bin", SX_DEMO_KEYS="2^12"))
    makes = re.findall(r"^MAKE (.*)$", done.stdout, re.M)
    steps = re.findall(r"^(MAKE|\d\.)", done.stdout, re.M)
    check(all("NVCC= " in words for words in makes[:2]), f"CUDA is compiled first: {makes}")
    check(makes and makes[0].endswith(" build/sextant"), f"more than the tool is built first: {makes}")
    check(done.stdout.count("binary_search") >= 1, done.stdout + done.stderr)
    check(not re.search(r"^\S+ +get .* [1-9]\d*$", done.stdout, re.M), "answers are wrong")
    if where == "no GPU":
        equal(steps, ["MAKE", "1.", "2.", "MAKE", "3.", "4."], "steps")
        check("finds none" in done.stdout, done.stdout)
    else:
        equal(steps, ["MAKE", "1.", "2.", "MAKE", "3.", "4.", "MAKE"], "steps")
        check("NVCC=" not in makes[2], f"the backend is left out: {makes}")
    if where == "a GPU":                  # there may be none in truth
        check(done.returncode == 0 or "cuda" in done.stderr, done.stderr)
    else:
        equal((done.returncode, done.stderr.count("\n")), (0, 1), "exit status, and auto's reason")


# The machine's GPUs and the words of make: machine code, PTX
ARCHITECTURES = {
    "no GPU": ([], [], ["90"], "75"),
    "one GPU": (["8.6"], [], ["86"], "86"),
    "two alike": (["9.0", "9.0"], [], ["90"], "90"),
    "two, the newer first": (["10.0", "7.5"], [], ["75", "100"], "100"),
    "a GPU that does not say": (["[N/A]"], [], ["90"], "75"),
    "told": (["8.6"], ["CUDA_ARCH=80 90"], ["80", "90"], "90"),
    "all": (["8.6"], ["CUDA_ARCH=all"], ["75", "80", "86", "89", "90"], "90"),
}


@case(ARCHITECTURES)
def what_cuda_is_compiled_for(t, name):
    gpus, words, machine, ptx = ARCHITECTURES[name]
    with tempfile.TemporaryDirectory(prefix="sextant-make-") as folder:
        program(folder, "nvidia-smi", *(f"echo '{gpu}'" for gpu in gpus),
                f"exit {int(not gpus)}")
        done = subprocess.run(["make", "-n", f"B={folder}/build", "NVCC=nvcc", *words,
                               f"{folder}/build/libsextant-cuda.so"], cwd=ROOT,
                              capture_output=True, text=True, env=environment(folder))
    equal(done.returncode, 0, f"exit status with {done.stderr}")
    units = [line for line in done.stdout.splitlines() if "-gencode" in line]
    check(len(units) > 5, f"a unit for each family, and the link: {len(units)}")
    for unit in units:
        codes = re.findall(r"arch=compute_(\d+),code=(sm|compute)_(\d+)", unit)
        check(all(a == b for a, _, b in codes), f"{codes}")
        equal([b for _, kind, b in codes if kind == "sm"], machine, "machine code")
        equal([b for _, kind, b in codes if kind == "compute"], [ptx], "PTX")
