"""Arrays of torch and cupy on a GPU: answers, streams, memory, errors.

    PYTHONPATH=build/python python3 python/tests/gpu_checks.py

It needs neither pytest nor anything that is not on a machine with a GPU anyway, and prints a
line for each check. test_py_torch.py runs the same checks where pytest is. Answers are compared
with NumPy's on the host, and ranks with those of the package itself.
"""
import os
import sys
import threading
import traceback

import numpy as np

import sextant

SEED = int(os.environ.get("SX_SEED", "1"))
DTYPES = ("int32", "int64", "float32", "float64", "uint32", "uint64")
CYCLES = 300_000_000              # of a kernel that does nothing: a tenth of a second or two


class Torch:
    name, dtypes = "torch", DTYPES

    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise ImportError("torch has no GPU here")
        self.torch = torch

    def give(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def take(self, tensor):
        return tensor.cpu().numpy()

    def is_mine(self, obj):
        return isinstance(obj, self.torch.Tensor) and obj.is_cuda

    def searchsorted(self, a, v, side):
        return self.torch.searchsorted(a, v, right=side == "right")

    def stream(self):
        return self.torch.cuda.stream(self.torch.cuda.Stream())

    def sleep(self):
        """Keep the current stream busy; tells whether it still is."""
        self.torch.cuda._sleep(CYCLES)
        event = self.torch.cuda.Event()
        event.record()
        return lambda: not event.query()

    def finish(self):
        self.torch.cuda.synchronize()


class Cupy:
    name, dtypes = "cupy", DTYPES

    def __init__(self):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise ImportError("cupy has no GPU here")
        self.cupy = cupy
        self.kernel = cupy.RawKernel("""extern "C" __global__ void nothing(long long cycles)
            { long long begun = clock64(); while (clock64() - begun < cycles) ; }""", "nothing")

    def give(self, array):
        return self.cupy.asarray(array)

    def take(self, array):
        return self.cupy.asnumpy(array)

    def is_mine(self, obj):
        return isinstance(obj, self.cupy.ndarray)

    def searchsorted(self, a, v, side):
        return self.cupy.searchsorted(a, v, side)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def sleep(self):
        self.kernel((1,), (1,), (np.int64(CYCLES),))
        event = self.cupy.cuda.Event()
        event.record()
        return lambda: not event.done

    def finish(self):
        self.cupy.cuda.Device().synchronize()


def values(rng, dtype, n, most=2000):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (rng.integers(-most, most, n) / 8).astype(dtype)
    return rng.integers(0 if dtype.kind == "u" else -most, most, n).astype(dtype)


def refuses(kind, words, f):
    """f() raises that kind, with these words."""
    try:
        f()
    except kind as error:
        assert words in str(error), f"{words!r} is not in: {error}"
    else:
        raise AssertionError(f"{words!r}: nothing was raised")


def check_answers(w, rng):
    """Every verb, for every dtype of keys, shapes of two dimensions too."""
    for dtype in w.dtypes:
        keys, q = values(rng, dtype, 5000), values(rng, dtype, 3000, 2100)
        device_keys, asked = w.give(keys), w.give(q)
        ix, host = sextant.Index(device_keys), sextant.Index(keys)
        assert ix.device.startswith("cuda:") and ix.dtype == np.dtype(dtype)
        for side in ("left", "right"):
            got = ix.rank(asked, side)
            assert w.is_mine(got) and got.shape == asked.shape
            assert (w.take(got) == np.searchsorted(np.sort(keys), q, side)).all(), (dtype, side)
        square = asked.reshape(50, 60)
        assert (w.take(ix.get(square)) == host.get(q.reshape(50, 60))).all()
        for verb in ("floor", "ceil"):
            got = getattr(ix, verb)(asked, keys=True, mask=True)
            for mine, want in zip(got, getattr(host, verb)(q, keys=True, mask=True)):
                assert w.is_mine(mine)
                assert np.array_equal(w.take(mine), want, equal_nan=want.dtype.kind == "f"), \
                    (dtype, verb)
        assert (w.take(ix.get(asked, default=7)) == host.get(q, default=7)).all()
        ranks = rng.integers(0, 5000, 100)
        for got, want in zip(ix.key_at(w.give(ranks), rows=True), host.key_at(ranks, rows=True)):
            assert (w.take(got) == want).all()
        lo, hi = np.sort(values(rng, dtype, 200).reshape(2, 100), 0)
        a, b = w.give(lo), w.give(hi)
        got, want = ix.range(a, b, keys=True), host.range(lo, hi, keys=True)
        for mine, other in zip(got, want):
            assert (w.take(mine) == other).all(), dtype
        out = w.give(np.full(want.rows.size + 5, -5))
        got = ix.range(a, b, out=out)
        assert got.rows is out and (w.take(got.first) == want.first).all()
        assert (w.take(out) == np.append(want.rows, [-5] * 5)).all()
        assert (w.take(ix.count(a, b)) == host.count(lo, hi)).all()
        for mine, other in zip(ix.aggregate(a, b), host.aggregate(lo, hi)):
            assert (w.take(mine).view(other.dtype) == other).all()
        assert w.take(ix.get(asked[:0])).size == 0 and w.take(ix.get(asked[5])) == host.get(q[5])
        assert (w.take(ix.get(asked[::3])) == host.get(q[::3])).all()       # strides
        assert (ix.get(q) == host.get(q)).all()                             # the host's queries
        ix.check()


def check_small_dtypes(w, rng):
    for dtype in ("int8", "int16", "uint8", "float16"):
        keys = rng.integers(0, 100, 300).astype(dtype)
        ix, ordered = sextant.Index(w.give(keys)), np.sort(keys)
        assert (w.take(ix.rank(w.give(keys))) == np.searchsorted(ordered, keys)).all(), dtype


def check_rows(w, rng):
    keys, rows = values(rng, "int64", 1000), rng.integers(0, 2**62, 1000)
    for dtype in ("int64", "int32", "uint64", "uint32"):
        given = (rows % 2**31).astype(dtype)
        ix = sextant.Index(w.give(keys), w.give(given))
        want = sextant.Index(keys, given).get(keys)
        assert (w.take(ix.get(w.give(keys))) == want).all(), dtype
        for kind in ("int64", "int32"):
            out = w.give(np.zeros(1000, kind))
            assert ix.get(w.give(keys), out=out) is out and (w.take(out) == want).all()


def check_families(w, rng):
    keys, q = values(rng, "int64", 20000), values(rng, "int64", 5000, 2100)
    want = np.searchsorted(np.sort(keys), q)
    for spec in ("sorted", "pivot", "eytzinger", "btree", "guide", "pgm", "radix",
                 "pivot(layout=once)", "pivot place=both", "pivot place=hybrid"):
        ix = sextant.Index(w.give(keys), spec=spec)
        assert (w.take(ix.rank(w.give(q))) == want).all(), spec


def check_package_search(w, rng):
    """The same as the package's own search, with many keys and queries."""
    for dtype in ("int32", "int64", "float32", "float64"):
        keys = w.give(np.sort(values(rng, dtype, 1 << 20, 2**30)))
        q = w.give(values(rng, dtype, 1 << 20, 2**30))
        ix = sextant.Index(keys)
        for side in ("left", "right"):
            assert bool((ix.rank(q, side) == w.searchsorted(keys, q, side)).all()), dtype


def check_streams(w, rng):
    """Eight streams at once, each behind a kernel that keeps it busy: what the questions read
    is written by the stream itself, and what they answer is read by it."""
    keys = rng.integers(0, 2**40, 1 << 18)
    ordered, ix = np.sort(keys), sextant.Index(w.give(keys))
    asked = [rng.integers(0, 2**40, 1 << 16) for _ in range(8)]
    base = [w.give(a - 1) for a in asked]
    made = []
    w.finish()
    for one in base:
        with w.stream():
            w.sleep()
            q = one + 1                       # not there before the stream wakes up
            made.append((ix.rank(q) * 2, ix.count(q, q + 10**6)))
    w.finish()
    for q, (ranks, counts) in zip(asked, made):
        assert (w.take(ranks) == 2 * np.searchsorted(ordered, q)).all()
        want = np.searchsorted(ordered, q + 10**6, "right") - np.searchsorted(ordered, q)
        assert (w.take(counts) == want).all()


def check_no_waiting(w, rng):
    """Questions return while the stream is busy; range() without out= waits."""
    keys = rng.integers(0, 2**40, 1 << 16)
    ix, q = sextant.Index(w.give(keys)), w.give(keys[:4096])
    hi, out = q + 5, w.give(np.zeros(1 << 16, np.int64))
    several = {
        "get": lambda: ix.get(q), "rank": lambda: ix.rank(q, "right"),
        "floor": lambda: ix.floor(q, keys=True, mask=True, default=3),
        "ceil": lambda: ix.ceil(q, keys=True), "key_at": lambda: ix.key_at(q % (1 << 16), rows=True),
        "count": lambda: ix.count(q, hi), "aggregate": lambda: ix.aggregate(q, hi),
        "range, out=": lambda: ix.range(q, hi, out=out),
        "prefix, out=": lambda: ix.prefix(q, 60, out=out),
        "searchsorted": lambda: sextant.searchsorted(ix, q), "isin": lambda: sextant.isin(q, ix),
        "asof": lambda: sextant.asof(ix, q),
    }
    with w.stream():
        for ask in several.values():          # allocates what is kept
            ask()
        w.finish()
        waited = []
        for name, ask in several.items():
            busy = w.sleep()
            ask()
            if not busy():
                waited.append(name)
            w.finish()
        assert not waited, f"these waited: {waited}"
        busy = w.sleep()
        r = ix.range(q, hi)
        assert not busy() and int(r.first[-1]) == r.rows.shape[0]


def check_memory(w, rng):
    """Temporary arrays and an index that are gone before the stream has come to them."""
    keys = rng.integers(0, 2**40, 1 << 16)
    ordered = np.sort(keys)
    with w.stream():
        device_keys, q = w.give(keys), w.give(keys[::2])
        made = []
        for _ in range(10):
            w.sleep()
            made.append(sextant.Index(device_keys, spec="pivot").rank((q + 1)[::2]))
            w.give(np.zeros(1 << 14, np.int64))           # takes memory that was given back
        for got in made:
            assert (w.take(got) == np.searchsorted(ordered, keys[::4] + 1)).all()


def check_threads(w, rng):
    keys = rng.integers(0, 2**40, 1 << 16)
    ordered, ix = np.sort(keys), sextant.Index(w.give(keys))
    asked = [rng.integers(0, 2**40, 10000) for _ in range(6)]
    wrong = []

    def work(q):
        try:
            with w.stream():
                for _ in range(20):
                    if not (w.take(ix.rank(w.give(q))) == np.searchsorted(ordered, q)).all():
                        wrong.append("an answer")
        except Exception as error:            # a thread would only print it
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(q,)) for q in asked]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[0]


def check_drop_ins(w, rng):
    for dtype in ("int64", "float64", "int32"):
        a, v = np.sort(values(rng, dtype, 3000)), values(rng, dtype, 2000, 2100)
        on_gpu, asked = w.give(a), w.give(v)
        for side in ("left", "right"):
            got = sextant.searchsorted(on_gpu, asked, side)
            assert w.is_mine(got) and (w.take(got) == np.searchsorted(a, v, side)).all()
        for invert in (False, True):
            got = sextant.isin(asked, on_gpu, invert=invert)
            assert w.is_mine(got) and (w.take(got) == np.isin(v, a, invert=invert)).all()
        assert (w.take(sextant.asof(on_gpu, asked)) == sextant.asof(a, v)).all()
        assert (w.take(sextant.asof(on_gpu, asked, "forward")) ==
                sextant.asof(a, v, "forward")).all()
    refuses(TypeError, "takes a direction alone", lambda: sextant.asof(on_gpu, asked, tolerance=1))
    refuses(TypeError, "sorter=", lambda: sextant.searchsorted(on_gpu, asked, sorter=on_gpu))


def check_prefix_and_climb(w, rng):
    keys = rng.permutation(1000).astype("int64")
    ix, host = sextant.Index(w.give(keys)), sextant.Index(keys)
    q = np.arange(0, 1000, 37)
    got, want = ix.prefix(w.give(q), 58), host.prefix(q, 58)
    assert (w.take(got.first) == want.first).all() and (w.take(got.rows) == want.rows).all()
    bits = (56 + q % 8).astype("int32")
    got, want = ix.prefix(w.give(q), w.give(bits)), host.prefix(q, bits)
    assert (w.take(got.first) == want.first).all() and (w.take(got.rows) == want.rows).all()
    parents = keys // 2
    for mine, other in zip(ix.climb(w.give(q), w.give(parents), keys=True, steps=True),
                           host.climb(q, parents, keys=True, steps=True)):
        assert (w.take(mine) == other).all()


def check_strings(w, rng):
    """Strings are given and come back on the host, also where the index is on a GPU."""
    words = [f"word {i}" for i in rng.integers(0, 500, 1000)]
    ix, host = sextant.Index(words, device="cuda:0"), sextant.Index(words)
    assert (ix.get(words) == host.get(words)).all()
    assert (ix.floor(["a", "word 3x"], keys=True)[1] == host.floor(["a", "word 3x"], keys=True)[1]).all()
    assert ix.range("word 1", "word 2", keys=True).keys.tolist() == \
        host.range("word 1", "word 2", keys=True).keys.tolist()
    refuses(TypeError, "the keys are", lambda: ix.get(w.give(np.arange(5))))


def check_errors(w, rng):
    keys = w.give(np.arange(100))
    ix = sextant.Index(keys)
    refuses(TypeError, "convert them on the GPU", lambda: ix.get(w.give(np.arange(5.0))))
    refuses(TypeError, "convert them on the GPU",
            lambda: ix.range(keys, w.give(np.arange(100, dtype="int32"))))
    refuses(ValueError, "the index is on the CPU", lambda: sextant.Index(np.arange(5)).get(keys))
    refuses(ValueError, "that is not on a GPU", lambda: ix.range(keys, np.arange(100)))
    refuses(ValueError, "that is not on a GPU", lambda: ix.get(keys, out=np.zeros(100, "i8")))
    refuses(ValueError, "that is not on a GPU", lambda: sextant.Index(keys, rows=np.arange(100)))
    refuses(ValueError, "that is not on a GPU", lambda: ix.climb(keys, np.arange(100)))
    refuses(ValueError, "shape", lambda: ix.range(keys, keys[:5]))
    refuses(Exception, "", lambda: ix.get(keys, out=w.give(np.zeros(5, "i8"))))
    refuses(Exception, "", lambda: sextant.Index(keys, rows=w.give(np.arange(5))))
    refuses(TypeError, "rows are float64", lambda: sextant.Index(keys, w.give(np.zeros(100))))
    refuses(ValueError, "is reserved", lambda: sextant.Index(keys, w.give(np.full(100, -1))))
    refuses(Exception, "complex", lambda: sextant.Index(w.give(np.zeros(4, complex))))
    ix.close()
    refuses(ValueError, "the index is closed", lambda: ix.get(keys))
    assert int(sextant.Index(keys).get(keys)[7]) == 7        # the GPU is still as it was


def check_little_space(w, rng):
    """out= that is too small: no more than it has is written, and first says what is needed."""
    ix = sextant.Index(w.give(np.arange(1000)))
    lo, hi = w.give(np.array([0, 100])), w.give(np.array([99, 199]))
    whole = w.give(np.full(300, -5))
    try:
        r = ix.range(lo, hi, out=whole[100:200])
        assert w.take(r.first).tolist() == [0, 100, 200]
    except sextant.SpaceError:
        pass
    w.finish()
    got = w.take(whole)
    assert (got[:100] == -5).all() and (got[200:] == -5).all()


CHECKS = [check_answers, check_small_dtypes, check_rows, check_families, check_package_search,
          check_streams, check_no_waiting, check_memory, check_threads, check_drop_ins,
          check_prefix_and_climb, check_strings, check_errors, check_little_space]


def worlds():
    """(name, maker) of the packages whose arrays can be on a GPU."""
    return (("torch", Torch), ("cupy", Cupy))


def main():
    passed = failed = 0
    for name, make in worlds():
        try:
            world = make()
        except Exception as error:            # not installed, or no GPU
            print(f"skipped {name}: {error}")
            continue
        for check in CHECKS:
            rng = np.random.default_rng(SEED)
            try:
                check(world, rng)
                passed += 1
            except Exception as error:
                failed += 1
                lines = traceback.format_exc().splitlines()
                print(f"FAILED {name} {check.__name__}: {error!r}"[:600])
                print("   ", *[line.strip() for line in lines if "line " in line][-3:], sep="\n    ")
                continue
            print(f"ok {name} {check.__name__}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
