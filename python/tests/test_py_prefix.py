"""Prefixes, climbs, and what strings have beside other keys: collectors, estimates."""
import bisect
import ipaddress
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sextant
from test_py_inputs import Tensor, on_gpu

SPECS = ["auto", "sorted", "pivot", "radix", "btree(layout=once)", "eytzinger", "pgm", "guide"]


def plain(word):
    return word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word


def begin_with(ordered, q):
    """The span of sorted bytes that begin with q, by bisect."""
    behind = q.rstrip(b"\xff")                # the least bytes above all that begin with q
    behind = behind[:-1] + bytes([behind[-1] + 1]) if behind else None
    return (bisect.bisect_left(ordered, q),
            len(ordered) if behind is None else bisect.bisect_left(ordered, behind))


def compare(keys, queries, spec="auto"):
    ix = sextant.Index(keys, spec=spec)
    pairs = sorted(((plain(k), i) for i, k in enumerate(keys)), key=lambda p: p[0])
    ordered = [k for k, _ in pairs]
    spans = [begin_with(ordered, plain(q)) for q in queries]
    all_of_them = ix.prefix(queries, keys=True)
    assert np.diff(all_of_them.first).tolist() == [b - a for a, b in spans]
    assert [plain(k) for k in all_of_them.keys] == [k for a, b in spans for k in ordered[a:b]]
    assert all_of_them.rows.tolist() == [r for a, b in spans for _, r in pairs[a:b]]
    some = ix.prefix(queries, limit=2, last=True)
    assert some.keys is None
    assert some.rows.tolist() == [r for a, b in spans for _, r in pairs[a:b][-2:]]
    assert ix.prefix(queries, rows=False).rows is None


@given(st.lists(st.binary(max_size=6), min_size=1), st.lists(st.binary(max_size=3), min_size=1),
       st.sampled_from(SPECS))
def test_any_bytes(keys, queries, spec):
    compare(keys + [b"x"], queries + [k[:2] for k in keys] + [b"", b"\xff", b"\xff\xff"], spec)


@given(st.lists(st.text("aäb\0\U0001f600", max_size=6), min_size=1), st.sampled_from(SPECS))
def test_any_text(keys, spec):
    compare(keys, ["", "a", "ä", "z"] + [k[:3] for k in keys], spec)


@pytest.mark.parametrize("dtype", ["u4", "i4", "u8", "i8"])
def test_bits(dtype, rng):
    info = np.iinfo(dtype)
    keys = rng.integers(info.min, info.max, 300, dtype=dtype, endpoint=True)
    keys[:100] >>= keys.dtype.type(20)
    of, bits = rng.choice(keys, 60), rng.integers(0, info.bits + 1, 60)
    unsigned = [int(k) - info.min for k in keys]      # in order, and the highest bit counts as such
    pairs = sorted(zip(unsigned, range(300)), key=lambda p: p[0])
    want = [[r for k, r in pairs if (k ^ int(q) - info.min) >> (info.bits - b) == 0]
            for q, b in zip(of, bits.tolist())]
    for spec in SPECS:
        ix = sextant.Index(keys, spec=spec)
        found = ix.prefix(of, bits, keys=True)
        assert [found.rows[a:b].tolist() for a, b in zip(found.first, found.first[1:])] == want
        assert (found.keys == keys[found.rows]).all()
        one = ix.prefix(of, 7)
        assert (one.first == ix.prefix(of, np.full(60, 7)).first).all()
    assert ix.prefix(of[0], info.bits, limit=1).rows.size == 1
    out = np.empty(10**4, np.int64)
    assert ix.prefix(of, bits, out=out).rows.tolist() == sum(want, [])


def test_networks():
    hosts = [ipaddress.ip_address(a) for a in ("10.0.0.1", "10.1.2.3", "255.0.0.1", "9.9.9.9")]
    asked = [ipaddress.ip_network(n) for n in ("10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0",
                                               "9.9.9.9/32", "128.0.0.0/1")]
    for dtype in ("u4", "i8", "u8"):
        ix = sextant.Index(np.array([int(h) for h in hosts], dtype))
        found = ix.prefix(asked)
        assert [sorted(found.rows[a:b].tolist()) for a, b in zip(found.first, found.first[1:])] \
            == [[i for i, h in enumerate(hosts) if h in n] for n in asked]
        assert ix.prefix(asked[1]).rows.tolist() == [1]
    with pytest.raises(TypeError, match="IPv4 are prefixes of"):
        sextant.Index(np.array([1], "i4")).prefix(asked)
    six = [ipaddress.ip_address(a) for a in ("2001:db8::1", "2001:db9::", "::1")]
    ix = sextant.Index(np.frombuffer(b"".join(a.packed for a in six), "V16"))
    assert ix.prefix(ipaddress.ip_network("2001:db8::/32")).rows.tolist() == [0]
    assert np.diff(ix.prefix([ipaddress.ip_network("2001::/16"),
                              ipaddress.ip_network("::/0")]).first).tolist() == [2, 3]
    with pytest.raises(TypeError, match="IPv4 and of IPv6"):
        ix.prefix([asked[0], ipaddress.ip_network("::/0")])
    with pytest.raises(TypeError, match="IPv6 are prefixes of 16-byte"):
        sextant.Index([1]).prefix(ipaddress.ip_network("::/0"))


def test_prefixes_that_are_refused():
    ix, words = sextant.Index([1, 2, 3]), sextant.Index(["a", "b"])
    for bits, kind, text in ((None, TypeError, "bits says"), (65, sextant.InvalidError, "65 bits"),
                             ([1, 2], ValueError, "shape"), (1.5, TypeError, "float64"),
                             ([1.0], TypeError, "float64"), (-1, ValueError, "bits is -1"),
                             ([129], ValueError, r"bits\[0\] is 129")):
        with pytest.raises(kind, match=text):
            ix.prefix([2], bits)
    with pytest.raises(sextant.InvalidError, match="whole strings, not bits"):
        words.prefix(["a"], 8)
    with pytest.raises(TypeError, match="bytes, and the keys are str"):
        words.prefix(b"a")
    with pytest.raises(sextant.NotSupportedError, match="sx_prefix: keys of f64"):
        sextant.Index([1.5]).prefix([1.5], 3)
    with pytest.raises(sextant.SpaceError, match="sx_prefix: rows has room for 1, but 2"):
        words.prefix("", out=np.empty(1, np.int64))


def top_of(key, keys, parents, limit):
    """(row of the top, steps), step by step."""
    if key not in keys:
        return -1, -1
    steps = 0
    while steps != limit:
        parent = parents[keys.index(key)]
        if parent == key or parent not in keys:
            break
        key, steps = parent, steps + 1
    return keys.index(key), steps


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40, unique=True), st.data())
def test_climbs(keys, data):
    """A parent is below its key, so there are no circles; some are not there."""
    parents = [data.draw(st.integers(-1, key)) for key in keys]
    asked = keys + [99, -5]
    ix = sextant.Index(keys, spec=data.draw(st.sampled_from(["pivot", "radix", "btree"])))
    for limit in (0, 1, 3):
        want = [top_of(key, keys, parents, limit or -1) for key in asked]
        rows, tops, steps = ix.climb(asked, parents, limit=limit, keys=True, steps=True)
        assert list(zip(rows.tolist(), steps.tolist())) == want
        assert tops.tolist() == [keys[r] if r >= 0 else 0 for r, _ in want]
        assert ix.climb(asked, parents, limit=limit).tolist() == [r for r, _ in want]


@given(st.lists(st.text("ab", max_size=4), min_size=1, max_size=30, unique=True), st.data())
def test_climbs_of_strings(keys, data):
    """A parent is a beginning of its key, which may be itself, or not there."""
    parents = [key[:data.draw(st.integers(0, len(key)))] for key in keys]
    asked = keys + ["c", "abababab"]
    ix = sextant.Index(keys, spec=data.draw(st.sampled_from(["pivot", "radix", "sorted"])))
    for limit in (0, 1, 3):
        want = [top_of(key, keys, parents, limit or -1) for key in asked]
        rows, tops, steps = ix.climb(asked, parents, limit=limit, keys=True, steps=True)
        assert list(zip(rows.tolist(), steps.tolist())) == want
        assert tops.tolist() == [keys[r] if r >= 0 else "" for r, _ in want]
        assert ix.climb(asked, parents, limit=limit).tolist() == [r for r, _ in want]
    row, steps = top_of(keys[0], keys, parents, -1)
    assert ix.climb(keys[0], parents, keys=True, steps=True) == (row, keys[row], steps)


def test_climbs_of_one_key_and_circles():
    ix = sextant.Index(np.array([1, 2, 3]))
    assert ix.climb(3, [1, 1, 2]) == 0 and ix.climb(3, [1, 1, 2], keys=True) == (0, 1)
    with pytest.raises(sextant.InvalidError, match="lead in a circle from key 1 on"):
        ix.climb([1, 2], [1, 3, 2])
    assert ix.climb([1, 2], [1, 3, 2], limit=4, steps=True)[1].tolist() == [0, 4]
    with pytest.raises(sextant.InvalidError, match="2 parents"):
        ix.climb([1], [1, 2])
    with pytest.raises(sextant.InvalidError, match="lead in a circle from key 1 on"):
        sextant.Index(["a", "b", "c"]).climb(["a", "b"], ["a", "c", "b"], keys=True)


def test_on_a_gpu(rng, monkeypatch):
    on_gpu(monkeypatch)
    keys = np.unique(rng.integers(0, 2**16, 300)).astype("u4")
    ix, host = sextant.Index(keys, device="simt", spec="radix"), sextant.Index(keys)
    of, bits = rng.choice(keys, 40), rng.integers(0, 33, 40).astype("u4")
    want = host.prefix(of, bits, keys=True)
    for given_bits in (Tensor(bits), ):
        got = ix.prefix(Tensor(of), given_bits, keys=True)
        assert (got.first.array == want.first).all() and (got.rows.array == want.rows).all()
        assert (got.keys.array == want.keys).all()
    assert (ix.prefix(Tensor(of), 20).rows.array == host.prefix(of, 20).rows).all()
    parents = np.maximum(keys.astype("i8") - rng.integers(0, 999, keys.size), 0).astype("u4")
    asked = np.concatenate([of, of + 1])
    for mine, other in zip(ix.climb(Tensor(asked), Tensor(parents), keys=True, steps=True),
                           host.climb(asked, parents, keys=True, steps=True)):
        assert (mine.array == other).all()


@pytest.mark.parametrize("place", ["", " place=host", " place=hybrid", " place=both"])
def test_strings_of_an_index_on_a_gpu(place):
    words = ["pear", "apple", "peach", "", "plum", "pe"]
    ix, host = sextant.Index(words, device="simt", spec="pivot" + place), sextant.Index(words)
    asked = ["p", "pe", "", "q", "apples"]
    got, want = ix.prefix(asked, limit=3, keys=True), host.prefix(asked, limit=3, keys=True)
    assert all(a.tolist() == b.tolist() for a, b in zip(got, want))
    assert ix.get(asked).tolist() == host.get(asked).tolist()


def test_collector_of_strings():
    words = ["pear", "apple", "fig", "", "zoë", "\udc80"]
    ix = sextant.Index(words)
    asked, got = words * 20 + ["kiwi", "a" * 5000], {}

    def ask(number):
        for i in range(number, len(asked), 4):
            got[i] = (c.get(asked[i]), c.rank(asked[i], "right"), c.floor(asked[i]),
                      c.ceil(asked[i], timeout=60))
    with sextant.Collector(ix, batch=4, interval_us=100) as c:
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for i, word in enumerate(asked):
        assert got[i] == (ix.get(word), ix.rank(word, "right"), ix.floor(word), ix.ceil(word))
    with sextant.Collector(sextant.Index([b"a", b"b" * 16])) as c:
        assert (c.get(b"b" * 16), c.get(b"b")) == (1, -1)


def test_estimates_of_strings():
    words = [b"%d" % i * 3 for i in range(10**4)]
    size = sum(map(len, words))
    for spec in ("sorted", "pivot", "radix", "auto"):
        told = sextant.estimate(len(words), bytes, spec, nbytes=size)
        assert size < sextant.Index(words, spec=spec).nbytes <= told.host_resident <= told.host_peak
    assert sextant.estimate(100, "S20") == sextant.estimate(100, str, nbytes=2000)
    assert sextant.estimate(100, "U20") == sextant.estimate(100, object, nbytes=8000)
    with pytest.raises(TypeError, match="nbytes= says it"):
        sextant.estimate(100, str)
    with pytest.raises(ValueError, match="nbytes is 5, which strings have"):
        sextant.estimate(100, "i8", nbytes=5)
