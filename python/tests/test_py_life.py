"""Lives of objects: threads, fork, close, copies, files, memory, signals, progress."""
import copy
import gc
import ipaddress
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import sextant


def test_threads(rng):
    keys = rng.integers(0, 10**6, 50000)
    ix = sextant.Index(keys)
    queries = rng.integers(0, 10**6, (8, 5000))
    want = [ix.get(q, threads=1).tolist() for q in queries]
    wrong = []

    def work(i):
        for _ in range(20):
            if ix.get(queries[i]).tolist() != want[i] or ix.get(int(queries[i][0])) != want[i][0]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_close_while_others_ask(rng):
    keys = rng.integers(0, 10**6, 100000)
    for _ in range(10):
        ix = sextant.Index(keys, spec="pivot")
        closed, good = [], []

        def work():
            while True:
                try:
                    good.append(int((ix.get(keys) >= 0).all()))
                except ValueError as error:
                    closed.append(str(error))
                    return

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        ix.close()
        for t in threads:
            t.join()
        assert closed == ["the index is closed"] * 4 and all(good) and ix.closed


def test_closed():
    with sextant.Index([1, 2, 3]) as ix:
        assert ix.get(2) == 1 and not ix.closed
    assert ix.closed and repr(ix) == "<sextant.Index, closed>"
    ix.close()                                # once more does nothing
    for use in (lambda: ix.get(1), lambda: ix.get(np.array([1])), lambda: len(ix), lambda: 1 in ix,
                lambda: ix.range(1, 2), lambda: ix.save("/dev/null"), lambda: ix.explain(),
                lambda: ix.check(), lambda: ix.spec, lambda: ix.notes, lambda: ix.key_at(0),
                lambda: pickle.dumps(ix), lambda: ix.__enter__(), lambda: sextant.Collector(ix)):
        with pytest.raises(ValueError, match="the index is closed"):
            use()


def test_fork(rng):
    keys = rng.integers(0, 10**6, 200000)
    ix = sextant.Index(keys)
    want = ix.get(keys).sum()
    pid = os.fork()
    if pid == 0:
        same = ix.get(keys).sum() == want and sextant.Index(keys).get(keys).sum() == want
        os._exit(0 if same else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert ix.get(keys).sum() == want


def test_pickle_and_copy(rng):
    for keys in (rng.integers(0, 99, 500), rng.integers(0, 99, 500).astype("M8[us]"),
                 rng.random(500).astype("f4")):
        ix = sextant.Index(keys, rows=rng.integers(0, 10**6, 500), spec="btree")
        ix.note("source", "a test")
        for again in (pickle.loads(pickle.dumps(ix)), copy.copy(ix), copy.deepcopy(ix)):
            assert again is not ix and again.spec == ix.spec and again.dtype == ix.dtype
            assert again.notes == ix.notes and again.device == ix.device
            assert again.get(keys).tolist() == ix.get(keys).tolist()


def test_files(rng, tmp_path):
    keys = rng.integers(0, 99, 500)
    ix = sextant.Index(keys)
    path = tmp_path / "a.sxt"
    ix.save(path)
    for how in ({}, {"copy": True}, {"verify": True}, {"place": "host"}):
        assert sextant.load(path, **how).get(keys).tolist() == ix.get(keys).tolist()
    assert sextant.load(str(path)).get(5) == ix.get(5)
    with pytest.raises(sextant.FileError) as error:
        sextant.load(tmp_path / "none.sxt")
    assert isinstance(error.value, OSError) and "none.sxt" in str(error.value)
    with pytest.raises(OSError):
        ix.save(tmp_path / "no" / "folder.sxt")
    with pytest.raises(ValueError, match="place is 'moon'"):
        sextant.load(path, place="moon")
    with pytest.raises(sextant.NotSupportedError):
        sextant.load(path, place="both")
    data = bytearray(path.read_bytes())
    data[-300] ^= 1
    (tmp_path / "b.sxt").write_bytes(data)
    with pytest.raises(sextant.CorruptError):
        sextant.load(tmp_path / "b.sxt", verify=True)
    (tmp_path / "c.sxt").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="c.sxt"):
        sextant.load(tmp_path / "c.sxt")


def test_copy_outlives_its_file(rng, tmp_path):
    keys = rng.integers(0, 10**9, 50000)
    path = tmp_path / "a.sxt"
    sextant.Index(keys).save(path)
    ix = sextant.load(path, copy=True)
    os.truncate(path, 0)
    assert (keys[ix.get(keys)] == keys).all()


def test_errors_are_a_family():
    for name, also in (("OutOfMemoryError", MemoryError), ("InvalidError", ValueError),
                       ("FileError", OSError), ("DeviceError", OSError),
                       ("TimeoutError", TimeoutError)):
        kind = getattr(sextant, name)
        assert issubclass(kind, sextant.Error) and issubclass(kind, also)
        assert kind.__module__ == "sextant"


def test_devices_and_estimates():
    listed = sextant.devices()
    assert listed[0]["name"] == "cpu" and listed[0]["usable"]
    small, large = (sextant.estimate(n, "i4", "pivot") for n in (1000, 10**6))
    assert large.host_resident >= 4 * 10**6 > small.host_resident > 0
    assert large.host_peak >= large.host_resident and large.device_peak == 0
    assert sextant.estimate(10**6, "i4", "pivot", rows="u8").host_resident > large.host_resident
    assert sextant.estimate(10, "M8[ns]").host_resident >= 80
    with pytest.raises(TypeError, match="strings"):
        sextant.estimate(10, str)


def test_device_options(rng):
    keys = rng.integers(0, 99, 500)
    assert sextant.Index(keys, device="cpu:scalar,threads=1").get(keys).tolist() == \
        sextant.Index(keys, device="simt").get(keys).tolist()


# ---- memory ------------------------------------------------------------------------

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_references():
    keys = np.arange(1000)
    q = np.arange(10)
    before = sys.getrefcount(keys), sys.getrefcount(q)
    ix = sextant.Index(keys)
    for _ in range(10):
        ix.get(q), ix.rank(q), ix.floor(q, keys=True), ix.range(q, q), ix.get(5)
        with pytest.raises(TypeError):
            ix.get("text")
        with pytest.raises(ValueError):
            ix.get(np.array([0.5]))
    assert (sys.getrefcount(keys), sys.getrefcount(q)) == before
    out = np.empty(10, "i8")
    ix.get(q, out=out)
    assert sys.getrefcount(out) == 2
    q.resize(20, refcheck=True)               # no buffer is held any more


def memory_is_flat(calls):
    keys = np.arange(1000)
    times = keys.astype("M8[s]")
    ix, it = sextant.Index(keys), sextant.Index(times)
    q, few = np.arange(100), times[:5]

    def work(n):
        for _ in range(n):
            ix.get(q), ix.get(7), ix.floor(q, keys=True, mask=True), ix.get([1, 2])
            it.get(few), ix.range(q[:3], q[3:6]), ix.count(1, 5), 5 in ix
            try:
                ix.get(0.5)
            except ValueError:
                pass

    work(200)
    gc.collect()
    tracemalloc.start()
    work(300)                                 # a Python without a GIL frees some things later
    gc.collect()
    traced, rss = tracemalloc.get_traced_memory()[0], resident()
    work(calls)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    assert grown < 20000, grown
    assert resident() - rss < 4 << 20
    for _ in range(calls // 100):
        sextant.Index(keys, spec="pivot").close()
        sextant.Index(times)
    assert resident() - rss < 6 << 20


def test_memory_is_flat():
    memory_is_flat(500)


@pytest.mark.more
def test_memory_is_flat_over_many_calls():
    memory_is_flat(20000)


# ---- ticks -------------------------------------------------------------------------

def test_progress(rng, tmp_path, capsys, monkeypatch):
    keys = rng.integers(0, 2**62, 300000)
    told = []
    ix = sextant.Index(keys, spec="pivot", progress=lambda done, total: told.append((done, total)))
    assert told[0][0] == 0 and told[-1][0] == told[-1][1] and told == sorted(told)
    for call in (lambda p: ix.get(keys, progress=p), lambda p: ix.save(tmp_path / "a", progress=p),
                 lambda p: ix.check(progress=p),
                 lambda p: sextant.load(tmp_path / "a", copy=True, progress=p)):
        told.clear()
        call(lambda done, total: told.append((done, total)))
        assert told and told[-1][0] == told[-1][1]

        class Stop(Exception):
            pass

        def stop(done, total):
            raise Stop("enough")
        with pytest.raises(Stop, match="enough"):
            call(stop)

        def stop_late(done, total):
            if done == total:
                raise Stop("too late")
        with pytest.raises(Stop, match="too late"):
            call(stop_late)
    with pytest.raises(ZeroDivisionError):
        sextant.Index(keys, spec="pivot", progress=lambda done, total: 1 // (total - done))
    assert ix.get(int(keys[0])) >= 0          # all is as it was
    with pytest.raises(TypeError, match="progress is 5"):
        ix.get(keys, progress=5)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)       # not installed
    ix.check(progress=True)
    assert "100 %\n" in capsys.readouterr().err


def test_interrupt():
    """Ctrl-C ends a call that would take long. The child says when it is inside."""
    child = subprocess.Popen([sys.executable, "-c", """
import numpy as np, sextant
keys = np.random.default_rng(1).integers(0, 2**62, 1 << 20)
ix = sextant.Index(keys, spec="sorted")
told = []
def ready(done, total):
    if not told:
        print("inside", flush=True)
        told.append(1)
try:
    while True:
        ix.get(keys, progress=ready, threads=1)
except KeyboardInterrupt:
    print("interrupted", ix.get(int(keys[0])) >= 0, flush=True)
"""], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert child.stdout.readline() == "inside\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=100)
    assert out == "interrupted True\n" and child.returncode == 0


# ---- collectors -----------------------------------------------------------------------

def test_collector(rng):
    keys = rng.integers(0, 1000, 300)
    ix = sextant.Index(keys)
    answers = {}
    with sextant.Collector(ix, batch=4, interval_us=200) as c:
        def work(k):
            answers[k] = (c.get(k), c.rank(k), c.rank(k, "right"), c.floor(k), c.ceil(k))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(50, 90)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert c.describe()["answered"] == 200
        with pytest.raises(ValueError, match="side"):
            c.rank(1, "up")
    for k, got in answers.items():
        assert got == (ix.get(k), ix.rank(k), ix.rank(k, "right"), ix.floor(k), ix.ceil(k))
    with pytest.raises(ValueError, match="the collector is closed"):
        c.get(1)
    times = sextant.Index(np.array([1, 2], "M8[s]"))
    with sextant.Collector(times, eager=True) as c:
        times.close()                         # the collector keeps it
        assert c.get(np.datetime64(2, "s")) == 1
        with pytest.raises(TypeError):
            c.get(np.array([1, 2], "M8[s]"))
    assert times.closed
    slow = sextant.Collector(ix, batch=100, interval_us=10**6)
    begun = time.monotonic()
    with pytest.raises(sextant.TimeoutError):
        slow.get(1, timeout=0)
    assert time.monotonic() - begun < 100
    del slow


# ---- the tool -------------------------------------------------------------------------

def test_tool(tmp_path):
    path = tmp_path / "a.sxt"
    sextant.Index(np.array([5, 1, 3]), spec="pivot").save(path)
    out = subprocess.run([sys.executable, "-m", "sextant", "explain", str(path)],
                         capture_output=True, text=True, check=True, env=os.environ).stdout
    assert "pivot" in out
    np.save(tmp_path / "q.npy", np.array([3, 4]))
    out = subprocess.run([sys.executable, "-m", "sextant", "lookup", str(path),
                          str(tmp_path / "q.npy")], capture_output=True, text=True, check=True,
                         env=os.environ).stdout
    assert out.split() == ["2", "-"]
    bad = subprocess.run([sys.executable, "-m", "sextant", "nosuch"], capture_output=True,
                         env=os.environ)
    assert bad.returncode != 0
    times = tmp_path / "t.sxt"
    sextant.Index(np.array([7, "NaT", 5], "M8[s]")).save(times)
    np.save(tmp_path / "t.npy", np.array([5, "NaT", 6], "M8[s]"))
    out = subprocess.run([sys.executable, "-m", "sextant", "lookup", str(times),
                          str(tmp_path / "t.npy"), "--mode", "ceil"], capture_output=True,
                         text=True, check=True, env=os.environ).stdout
    assert out.split() == ["2", "1", "0"]


def test_times_that_the_tool_has_read(tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("when,what\n2026-01-02T03:04:05Z,b\n2026-01-01T00:00:00Z,a\n")
    path = tmp_path / "a.sxt"
    subprocess.run([sys.executable, "-m", "sextant", "build", str(table), "--column", "when",
                    "--keys-as", "iso8601", "-o", str(path)], check=True, env=os.environ,
                   capture_output=True)
    ix = sextant.load(path)
    assert ix.dtype == np.dtype("M8[ns]")
    assert ix.floor(np.datetime64("2026-01-01T12:00")) == 1
    assert ix.get(np.array(["2026-01-02T03:04:05"], "M8[ns]")).tolist() == [0]
    assert str(ix.key_at(0))[:19] == "2026-01-01T00:00:00"
    assert ix.floor(np.array(["2027-01-01"], "M8[D]"), keys=True)[1].dtype == ix.dtype


def indexed_by_the_tool(folder, lines, notation):
    keys, path = folder / "keys.txt", folder / "keys.sxt"
    keys.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run([sys.executable, "-m", "sextant", "build", keys, "--keys-as", notation, "-o",
                    path], check=True, capture_output=True)
    return sextant.load(path)


def test_networks_that_the_tool_has_read(tmp_path, rng):
    """Behind the end of a network there is none, whatever row the file has there."""
    networks = [ipaddress.ip_network(n) for n in ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24",
                                                  "192.168.0.0/30", "10.1.0.0/17")]
    ix = indexed_by_the_tool(tmp_path, networks, "cidr")
    some = [int(n[i]) + d for n in networks for i in (0, -1) for d in (-1, 0, 1)]
    some = np.array(some + rng.integers(0, 2**32, 50).tolist(), "u4")
    want = [max([i for i, n in enumerate(networks) if ipaddress.ip_address(int(a)) in n],
                key=lambda i: networks[i].prefixlen, default=-1) for a in some]
    assert -1 in want and ix.floor(some).tolist() == want
    assert [ix.floor(int(a)) for a in some[:9]] == want[:9]
    assert ix.floor(some, default=77).tolist() == [77 if w < 0 else w for w in want]
    rows, keys, found = ix.floor(some.reshape(2, -1), keys=True, mask=True)
    assert rows.reshape(-1).tolist() == want and (found == (rows >= 0)).all()
    assert (keys[~found] == 0).all()
    out = np.empty(some.size, "u4")
    assert ix.floor(some, out=out) is out and out.astype("i4").tolist() == want
    assert pickle.loads(pickle.dumps(ix)).floor(some).tolist() == want


def test_days_that_the_tool_has_read(tmp_path):
    ix = indexed_by_the_tool(tmp_path, ["2026-11-16", "2020-01-01"], "date")
    assert ix.get(np.array(["2020-01-01", "2020-01-02"], "M8[D]")).tolist() == [1, -1]
    assert ix.floor(np.datetime64("2024-05-05T00:00")) == 1 and ix.get(18262) == 1
    with pytest.raises(ValueError, match=r"2020-01-01T01 \(datetime64\[h\]\)"):
        ix.get(np.datetime64("2020-01-01T01"))
