"""Many threads on one object: asking, noting, closing, building. A Python without a GIL runs
them at the same time; with one they take turns, inside calls of the library not."""
import random
import sys
import sysconfig
import threading

import numpy as np
import pytest

import sextant
from sextant import _core, _devices

THREADS = 8


def together(work, n=THREADS):
    """Runs work(i) in n threads that begin at once; what they return, and what they raise."""
    gate, told = threading.Barrier(n), [None] * n

    def one(i):
        gate.wait()
        try:
            told[i] = work(i)
        except BaseException as error:        # the test decides what may be
            told[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return told


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_the_gil_stays_off():
    assert not sys._is_gil_enabled()


def questions(ix, keys, rng):
    """Questions of all kinds, each with whether its answer is right."""
    some = keys[rng.integers(0, keys.size, 200)]
    key = int(some[0])
    low, high = min(key, int(some[1])), max(key, int(some[1]))
    order = np.sort(keys)
    return [
        lambda: keys[ix.get(key)] == key,
        lambda: (keys[ix.get(some)] == some).all(),
        lambda: (keys[ix.get(some.tolist())] == some).all(),
        lambda: ix.rank(key) == np.searchsorted(order, key),
        lambda: (ix.floor(some, keys=True)[1] == some).all(),
        lambda: (ix.key_at([0, keys.size - 1]) == order[[0, -1]]).all(),
        lambda: ix.count(low, high) == ((keys >= low) & (keys <= high)).sum(),
        lambda: ix.range(key, key, keys=True).keys.tolist() == (keys == key).sum() * [key],
        lambda: key in ix,
        lambda: len(ix) == keys.size,
        lambda: ix.explain() and ix.spec.startswith("pivot") and repr(ix),
        lambda: ix.notes.get("who", "0").isdigit(),
    ]


@pytest.mark.parametrize("turn", range(5))
def test_asking_noting_and_closing(turn, rng):
    """Every answer is right until the index is closed, and then each call says that it is."""
    keys = rng.integers(0, 10**6, 20000)
    ix = sextant.Index(keys, spec="pivot")
    seeds = rng.integers(0, 2**31, THREADS)

    def work(i):
        own = np.random.default_rng(seeds[i])
        asks, chance = questions(ix, keys, own), random.Random(int(seeds[i]))
        answered = 0
        while True:
            ask = chance.choice(asks)
            try:
                if i == 0 and answered == 300:
                    ix.close()
                elif chance.random() < 0.05:
                    ix.note("who", str(i))
                elif not ask():
                    return "wrong"
            except RuntimeError as error:     # a note beside a question
                assert "a note can't be set" in str(error)
            except ValueError as error:
                return str(error)
            answered += 1

    assert together(work) == ["the index is closed"] * THREADS
    assert ix.closed


def test_many_close_one():
    for _ in range(200):
        ix = sextant.Index([1, 2, 3])
        told = together(lambda i: ix.get(2) if i % 2 else ix.close(), 4)
        assert ix.closed
        assert all(t is None or t == 1 or str(t) == "the index is closed" for t in told)


def test_one_of_many_builds():
    """An object is built once, whoever comes first; a build that failed may be tried again."""
    keys, device = np.arange(5000), _devices.open_device("cpu")
    for _ in range(50):
        ix = _core.Index()
        with pytest.raises(ValueError, match="the index is closed"):
            ix._quick(0, 7)
        with pytest.raises(sextant.InvalidError):
            ix._build(device, "nonsense", keys, None, None)
        told = together(lambda i: ix._build(device, "pivot", keys, None, None), 4)
        assert sorted(map(str, told)) == ["None"] + ["the index is built already"] * 3
        assert ix._quick(0, 7) == 7 and len(ix) == 5000
        ix.close()
        with pytest.raises(ValueError, match="the index is built already"):
            ix._build(device, "pivot", keys, None, None)


def test_closed_before_it_is_built():
    ix = _core.Index()
    ix.close()
    ix._build(_devices.open_device("cpu"), "pivot", np.arange(5), None, None)
    assert ix.closed
    with pytest.raises(ValueError, match="the index is closed"):
        ix._quick(0, 3)


def test_collectors(rng):
    """Those who wait are answered when it is closed; others are refused."""
    keys = rng.permutation(5000)
    ix = sextant.Index(keys)
    for _ in range(20):
        c = sextant.Collector(ix, batch=4, interval_us=50)

        def work(i):
            for turn in range(10**6):
                if i == 0 and turn == 100:
                    c.close()
                try:
                    if keys[c.get((turn * 7 + i) % 5000)] != (turn * 7 + i) % 5000:
                        return "wrong"
                    if turn % 32 == i:
                        c.describe()
                except ValueError as error:
                    return str(error)

        assert together(work, 4) == ["the collector is closed"] * 4
    ix.close()


def test_devices_are_opened_once():
    name = "cpu:scalar,threads=1"
    _devices._open_devices.pop(name, None)
    assert len(set(map(id, together(lambda i: _devices.open_device(name))))) == 1


def test_capsules_are_taken_once():
    array = np.arange(1000)
    for _ in range(100):
        capsule = array.__dlpack__()
        told = together(lambda i: _core.dlpack(capsule), 4)
        assert sum(isinstance(t, tuple) for t in told) == 1
        assert sum(isinstance(t, ValueError) for t in told) == 3


def test_drop_ins_and_builds(rng):
    """Calls that share nothing but their arrays."""
    keys = rng.integers(0, 10**6, 30000)
    order, want = np.sort(keys), np.searchsorted(np.sort(keys), keys)

    def work(i):
        for _ in range(5):
            if not np.array_equal(sextant.searchsorted(order, keys), want):
                return "searchsorted"
            if not sextant.isin(keys, order).all():
                return "isin"
            if not (keys[sextant.Index(keys, spec="btree").get(keys)] == keys).all():
                return "index"

    assert together(work, 4) == [None] * 4
