"""The bench's own library of kernels for cuda devices: where it is looked for.
No GPU is needed: the emulator stands behind both libraries."""
import os
import shutil
import subprocess
from pathlib import Path

from harness import Skip, case, check, equal

ROOT = Path(__file__).resolve().parents[2]
NAME = "libsextant-bench-cuda.so"
KERNELS = '''
#include "bench_kernels.h"
static bench_kernels table;
const bench_kernels *bench_kernels_entry(void);
const bench_kernels *bench_kernels_entry(void)
{
    table = simt_kernels;
    table.abi += WRONG;
    return &table;
}
'''
BACKEND = '''
#include "place/backend.h"
#include <string.h>
static sx_backend table;
static sx_status open(void **self, const char *args, sx_err *err)
{
    return sx_backend_simt.open(self, args + strspn(args, "0"), err);
}
static void describe(const void *self, sx_device_info *info)
{
    sx_backend_simt.describe(self, info);
    strcpy(info->name, "cuda:0");
}
const sx_backend *sx_backend_entry(void);
const sx_backend *sx_backend_entry(void)
{
    table = sx_backend_simt;
    table.name = "cuda";
    table.open = open;
    table.describe = describe;
    return &table;
}
'''


def library(t, name, text, *words):
    """A shared library of this text and of the tool's library."""
    build = Path(t.tool.path).resolve().parent
    compiler = shutil.which("cc")
    if not compiler or not (build / "libsextant.a").exists():
        raise Skip("it needs cc, and libsextant.a beside the tool")
    source = t.path("source.c")
    source.write_text(text)
    include = [f"-I{ROOT / folder}" for folder in ("include", "src", "bench")]
    run = subprocess.run([compiler, "-std=gnu11", "-shared", "-fPIC", *include,
                          *words, str(source), str(build / "libsextant.a"),
                          "-lxxhash", "-pthread", "-ldl", "-lm", "-o",
                          str(t.path(name))], capture_output=True, text=True)
    equal(run.returncode, 0, run.stderr)


@case()
def bench_kernels_are_beside_the_bench(t):
    program = Path(t.tool.path).resolve().parent / "sextant-bench"
    home = t.path("home")
    home.mkdir()
    shutil.copy(program, home)
    t.path("link").symlink_to(home / "sextant-bench")
    library(t, "backend.so", BACKEND)
    environment = {**os.environ, "LC_ALL": "C",
                   "SEXTANT_CUDA": str(t.path("backend.so"))}

    def bench():
        """Runs it by a link in another folder, where the library is not."""
        return subprocess.run(
            [str(t.path("link")), "--device", "cuda:0", "--n",
             "2000", "--queries", "500", "--runs", "1", "--builds", "0",
             "--spec", "pivot", "--sorted", "--type", "f64", "-o", "out"],
            capture_output=True, text=True, cwd=t.dir, env=environment)

    def fails(*words):
        run = bench()
        equal(run.returncode, 1, "the exit status")
        equal(run.stderr.count("\n"), 1, "lines of " + run.stderr)
        for word in words:
            check(word in run.stderr, f"{word!r} is not in {run.stderr}")
        check(not t.path("out").exists(), "there is an output")

    own = str(home / NAME)
    kept = program.parent / "libdir"
    installed = kept.read_text().strip() if kept.exists() else "/usr/local/lib"
    (t.path(NAME)).write_text("not where the program is")
    if not Path(installed, NAME).exists():
        fails("nothing to compare a GPU with", f"no file {own} or {installed}")
    Path(own).write_text("no library")
    fails("nothing to compare a GPU with", own)
    os.unlink(own)
    library(t, "home/" + NAME, "int no_entry;\n")
    fails(own + " is not the bench's")
    simt = str(ROOT / "bench/bench_kernels_simt.c")
    library(t, "home/" + NAME, KERNELS, "-DWRONG=1", simt)
    fails(own + " has ABI 2, this bench needs 1")
    library(t, "home/" + NAME, KERNELS, "-DWRONG=0", simt)
    run = bench()
    equal(run.returncode, 0, run.stderr)
    check("cuda:0" in t.path("out").read_text(), "no line of the device")
