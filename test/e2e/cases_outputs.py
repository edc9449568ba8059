"""Files that the tool writes: never its own input, whole or not at all, and
refused before the work if they can't be written."""
import os
import resource
import resource
import signal
import stat
import subprocess
import time

import numpy as np

import formats
from harness import Skip, case, check, equal

# Commands that read files; an option behind each says where to write.
READERS = {
    "gen": ("gen --from q.sosd --type u64 --n 9 --format sosd", "q.sosd"),
    "build": ("build q.sosd --type u64 --spec sorted", "q.sosd"),
    "build's rows": ("build k.sosd --type u64 --rows q.sosd --spec sorted", "q.sosd"),
    "lookup": ("lookup k.sxt q.sosd", "q.sosd"),
    "lookup's index": ("lookup k.sxt q.sosd", "k.sxt"),
    "range's lo": ("range k.sxt q.sosd k.sosd --count", "q.sosd"),
    "range's hi": ("range k.sxt k.sosd q.sosd --count", "q.sosd"),
    "build's second file": ("build k.sosd q.sosd --type u64 --spec sorted", "q.sosd"),
    "lookup's lines": ("lookup k.sxt --key 3 --lines l.txt", "l.txt"),
    "range's values": ("range k.sxt --lo 3 --hi 9 --values v.npy", "v.npy"),
    "head's lines": ("head k.sxt --lines l.txt", "l.txt"),
    "range's index": ("range k.sxt k.sosd q.sosd --count", "k.sxt"),
    "bench's keys": ("bench --keys q.sosd --type u64 --spec sorted", "q.sosd"),
}
# Each of these but bench prints more than a pipe holds.
WRITERS = {
    "gen": "gen --type u64 --n 20000 --format text",
    "lookup": "lookup k.sxt q.sosd",
    "lookup, JSON": "lookup k.sxt q.sosd --json",
    "range": "range k.sxt q.sosd q.sosd --rows",
    "range, numbers": "range k.sxt q.sosd q.sosd --keys --out-format npy",
    "lines": "lookup k.sxt q.sosd --lines l.txt",
    "tail": "tail k.sxt -n 20000 --values v.npy",
    "bench": "bench --n 99 --runs 1 --spec sorted",
    "bench, JSON": "bench --n 99 --runs 1 --spec sorted --json",
    "bench --collect": "bench --collect --n 99 --ms 1 --submitters 1",
    "bench of a GPU": "bench --device simt --n 99 --queries 99 --runs 1 --spec sorted",
}


def prepare(t):
    """k.sxt over the keys of k.sosd, and as many queries in q.sosd."""
    keys = np.arange(20000, dtype="<u8") * 3
    t.tool.build(keys, "sorted", "u64", name="k")
    formats.write(t.path("q.sosd"), keys)
    formats.write(t.path("v.npy"), keys, "npy")
    t.path("l.txt").write_text("a line\n" * len(keys))


def contents(t):
    return {path.name: path.read_bytes() for path in t.dir.iterdir() if path.is_file()}


def other_name(t, name, how):
    if how == "the name":
        return name
    if how == "./":
        return "./" + name
    if how == "a link":
        t.path("other").symlink_to(name)
    elif how == "a link to a link":
        t.path("between").symlink_to(name)
        t.path("other").symlink_to("between")
    else:
        os.link(t.path(name), t.path("other"))
    return "other"


# ---- what is read -----------------------------------------------------------

@case(READERS, ["the name", "./", "a link", "a link to a link", "a hard link"])
def no_output_over_an_input(t, verb, how):
    prepare(t)
    command, name = READERS[verb]
    out = other_name(t, name, how)
    before = contents(t)
    t.tool.fails(2, out, *command.split(), "-o", out)
    check(contents(t) == before, "a file has come, gone or changed")


@case()
def no_output_over_what_stdin_is(t):
    prepare(t)
    before = contents(t)
    with t.path("q.sosd").open("rb") as source:
        done = subprocess.run([t.tool.path, *"lookup k.sxt - --format sosd -o q.sosd".split()],
                              cwd=t.dir, stdin=source, capture_output=True)
    equal(done.returncode, 2, "exit status")
    check(contents(t) == before, "a file has come, gone or changed")
    # A device file can be both.
    t.tool.ok("lookup", "k.sxt", "/dev/null", "--format", "raw", "-o", "/dev/null")


# ---- whole or not at all ----------------------------------------------------

def limited(t, words, most):
    """Runs the tool with a limit on the bytes of a file."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return subprocess.run([t.tool.path, *words], cwd=t.dir, capture_output=True, text=True,
                          preexec_fn=limit)


@case(WRITERS, ["new", "old"])
def a_failed_write_leaves_all_as_it_was(t, verb, age):
    prepare(t)
    if age == "old":
        t.path("out").write_text("of old")
    before = contents(t)
    done = limited(t, [*WRITERS[verb].split(), "-o", "out"], 64)
    equal(done.returncode, 1, "exit status")
    check(done.stderr.count("\n") == 1 and "out: writing failed: File too large" in done.stderr,
          done.stderr)
    check(contents(t) == before, f"files are {sorted(contents(t))}, were {sorted(before)}, or "
          "changed")


SWEEP = ("bench --device simt --sweep batch --batches 1,8 --n 99 --queries 99 --runs 1 "
         "--plot out").split()


@case("new", "old")
def a_failed_plot_leaves_all_as_it_was(t, age):
    prepare(t)
    if age == "old":
        t.path("out").write_text("of old")
    before = contents(t)
    done = limited(t, SWEEP, 64)
    equal(done.returncode, 1, "exit status")
    check("out: writing failed: File too large" in done.stderr, done.stderr)
    check(contents(t) == before, "a file has come, gone or changed")


@case()
def no_plot_over_the_keys(t):
    prepare(t)
    before = contents(t)
    t.path("out").symlink_to("q.sosd")
    words = [word for word in SWEEP if word not in ("--n", "99", "--queries")]
    t.tool.fails(2, "out", *words, "--keys", "q.sosd", "--type", "u64")
    check({name: contents(t)[name] for name in before} == before, "a file has changed")


@case(WRITERS)
def nothing_but_the_output_comes(t, verb):
    prepare(t)
    before = set(contents(t))
    t.tool.ok(*WRITERS[verb].split(), "-o", "out")
    equal(set(contents(t)), before | {"out"}, "files")


@case("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGALRM", "SIGUSR1", "SIGUSR2")
def a_signal_leaves_all_as_it_was(t, name):
    """The tool waits for its standard input, with the output open."""
    number = getattr(signal, name)

    def usual():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(number, signal.SIG_DFL)

    prepare(t)
    t.path("out").write_text("of old")
    before = contents(t)
    with subprocess.Popen([t.tool.path, *"lookup k.sxt - -o out".split()], cwd=t.dir,
                          stdin=subprocess.PIPE, preexec_fn=usual) as process:
        while len(contents(t)) == len(before) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
    equal(process.returncode, -number, "end")
    check(contents(t) == before, f"files are {sorted(contents(t))}, or changed")


@case()
def a_save_beside_leaves_an_output_alone(t):
    """A file that is being written is not taken for a killed save's leftover."""
    prepare(t)
    before = contents(t)
    with subprocess.Popen([t.tool.path, *"lookup k.sxt - -o out".split()], cwd=t.dir,
                          stdin=subprocess.PIPE) as process:
        while len(contents(t)) == len(before) and process.poll() is None:
            time.sleep(0.01)
        subprocess.run([t.tool.path, *"build q.sosd --type u64 --spec sorted -o other.sxt".split()], cwd=t.dir, check=True)
        process.communicate(b"1\n")
    equal(process.returncode, 0, "end")
    check("out" in contents(t), "the output is gone")


@case()
def no_output_through_a_link_of_others(t):
    """In a folder where all may write; systems do not open such links there."""
    if os.geteuid() != 0:
        raise Skip("only the superuser can give links away")
    prepare(t)
    t.path("own").write_text("own")
    folder = t.path("sticky")
    folder.mkdir()
    folder.chmod(0o1777)
    for name, target in (("link", t.path("own")), ("dangling", t.path("new"))):
        (folder / name).symlink_to(target)
        os.lchown(folder / name, 65534, 65534)
        run = subprocess.run([t.tool.path, *WRITERS["lookup"].split(), "-o", f"sticky/{name}"],
                             cwd=t.dir, capture_output=True, text=True)
        equal(run.returncode, 1, name)
        check("Permission denied" in run.stderr, run.stderr)
    equal(t.path("own").read_text(), "own", "the file")
    check(not t.path("new").exists(), "a file was made")


@case(["022", "077", "002"])
def modes_of_outputs(t, mask):
    """A new file has the umask's mode, an old file keeps its own."""
    prepare(t)
    command = [t.tool.path, *WRITERS["lookup"].split(), "-o"]

    def mode_of(name):
        subprocess.run([*command, name], cwd=t.dir, check=True, umask=int(mask, 8))
        return stat.S_IMODE(t.path(name).stat().st_mode)

    equal(oct(mode_of("new")), oct(0o666 & ~int(mask, 8)), "mode of a new file")
    for mode in (0o600, 0o640, 0o755):
        t.path("old").touch()
        t.path("old").chmod(mode)
        equal(oct(mode_of("old")), oct(mode), "mode of an old file")


@case()
def outputs_through_links(t):
    """A link stays a link, even if the file it names does not exist yet."""
    prepare(t)
    expected = t.tool.ok(*WRITERS["lookup"].split()).out
    t.path("folder").mkdir()
    t.path("direct").symlink_to("folder/a")
    t.path("twice").symlink_to(t.path("folder") / "b")
    t.path("folder/b").symlink_to("../c")
    for name, target in (("direct", "folder/a"), ("twice", "c")):
        for _ in "yet to come", "there":
            t.tool.ok(*WRITERS["lookup"].split(), "-o", name)
            check(t.path(name).is_symlink(), f"{name} is no link any more")
            equal(t.path(target).read_bytes(), expected, target)
    t.path("round").symlink_to("round")
    t.tool.fails(1, "round", *WRITERS["lookup"].split(), "-o", "round")


@case()
def outputs_into_pipes(t):
    """They are written in place, with nothing beside them."""
    prepare(t)
    expected = t.tool.ok(*WRITERS["lookup"].split()).out
    os.mkfifo(t.path("fifo"))
    with subprocess.Popen(["cat", "fifo"], cwd=t.dir, stdout=subprocess.PIPE) as reader:
        t.tool.ok(*WRITERS["lookup"].split(), "-o", "fifo")
        check(reader.stdout.read() == expected, "other rows")
    check(t.path("fifo").is_fifo(), "the pipe was replaced")
    t.tool.ok(*WRITERS["lookup"].split(), "-o", "/dev/null")
    check(not os.path.isfile("/dev/null"), "a device was replaced")


# ---- before the work --------------------------------------------------------

# Each has another fault, which only shows later.
EARLY = {
    "gen": "gen --type u64 --n 2^62 --format raw",
    "gen --from": "gen --from missing.sosd --type u64 --n 9 --format raw",
    "build": "build missing.sosd --type u64",
    "lookup": "lookup missing.sxt q.sosd",
    "range": "range missing.sxt q.sosd q.sosd --count",
    "bench": "bench --keys missing.sosd --type u64",
}
NOT_WRITABLE = {
    "nowhere/out": "No such file or directory",
    "q.sosd/out": "Not a directory",
    "/proc/out": "",                  # not even root can
    "folder": "",                     # a folder has that name
}


@case(EARLY, NOT_WRITABLE)
def what_cannot_be_written_is_known_first(t, verb, out):
    prepare(t)
    t.path("folder").mkdir()
    result = t.tool.fails(1, out, *EARLY[verb].split(), "-o", out)
    check(NOT_WRITABLE[out] in result.err, result.err)
