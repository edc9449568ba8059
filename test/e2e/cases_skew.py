"""Queries that ask for some places in the keys' order more often than for others."""
import math
from statistics import NormalDist

import numpy as np

import formats
import oracle
from harness import case, check, equal
from oracle import TYPES

SKEWS = ["uniform", "normal", "gamma", "zipf2"]
BY_RANK = SKEWS[1:]
KEYS, QUERIES = 2000, 20000


# ---- what the distributions are, worked out without the tool ------------------

def below(skew, x, n):
    """The part of draws that is below x, from 0 to 1."""
    if skew == "normal":              # cut off at 0 and 1
        bell = NormalDist(0.5, math.sqrt(0.125)).cdf
        return (bell(x) - bell(0)) / (bell(1) - bell(0))
    if skew == "gamma":               # shape 3, scale 3, in units of 64, cut off at 1
        def gamma(of):
            t = of * 64 / 3
            return 1 - math.exp(-t) * (1 + t + t * t / 2)
        return gamma(x) / gamma(1)
    if skew == "zipf2":
        odds = [1 / (k * k) for k in range(1, n + 1)]
        return sum(odds[:round(x * n)]) / sum(odds)
    return x


def expected(skew, n):
    """For each rank the part of queries that have this rank or a lower one."""
    if skew == "zipf2":
        odds = 1 / np.arange(1, n + 1) ** 2
        return np.cumsum(odds) / odds.sum()
    return np.array([below(skew, (i + 1) / n, n) for i in range(n)])


def has_shape(ranks, skew, n):
    """Kolmogorov and Smirnov's distance, the mean, some quantiles. By chance one seed in a
    thousand is further off; these tests always have the same seeds."""
    right = expected(skew, n)
    counts = np.bincount(ranks, minlength=n)
    equal(len(counts), n, "ranks")
    distance = abs(np.cumsum(counts) / len(ranks) - right).max()
    check(distance < 1.95 / math.sqrt(len(ranks)), f"{skew}: {distance:.4f} away")
    odds = np.diff(right, prepend=0.0)
    places = np.arange(n)
    mean = (odds * places).sum()
    deviation = math.sqrt((odds * (places - mean) ** 2).sum() / len(ranks))
    check(abs(ranks.mean() - mean) < 4 * deviation, f"{skew}: the mean is {ranks.mean()}, "
          f"expected {mean} +- {deviation}")
    for part in (0.05, 0.25, 0.5, 0.75, 0.95):
        got, near = np.quantile(ranks, part), 4 * math.sqrt(part * (1 - part) / len(ranks))
        least, most = (int(np.searchsorted(right, p)) for p in (part - near, part + near))
        check(least <= got <= most, f"{skew}: {got} is the quantile {part}, expected {least} to "
              f"{most}")


@case()
def expectations_are_sound(t):
    """A few figures from tables."""
    del t
    check(abs(below("normal", 0.5, 0) - 0.5) < 1e-12, "the normal median")
    check(abs(below("normal", 0.25, 0) - (0.2398 - 0.0786) / 0.8427) < 1e-3, "a normal quarter")
    check(abs(below("gamma", 2.674 * 3 / 64, 0) - 0.5) < 1e-3, "the gamma median")
    check(abs(expected("zipf2", 10**6)[0] - 6 / math.pi**2) < 1e-5, "the first of Zipf")


# ---- sextant gen --------------------------------------------------------------

def draw(t, skew, keys, type_name, *options, n=QUERIES):
    formats.write(t.path("keys.raw"), keys, "raw")
    t.tool.ok("gen", "--from", "keys.raw", "--type", type_name, "--n", n, "--skew", skew, "-o",
              "q.raw", *options)
    queries = formats.read(t.path("q.raw"), type_name, "raw")
    equal(len(queries), n, "queries")
    return queries


def keys_of(t, type_name, n=KEYS):
    """Different keys in random order."""
    t.tool.ok("gen", "--type", type_name, "--n", 2 * n, "-o", "drawn.raw")
    drawn = np.unique(formats.read(t.path("drawn.raw"), type_name, "raw"))
    return np.random.default_rng(5).permutation(drawn)[:n]


@case(SKEWS, TYPES)
def skew_has_its_shape(t, skew, type_name):
    """Over ranks, whatever the type and the order of the file are."""
    keys = keys_of(t, type_name)
    queries = draw(t, skew, keys, type_name)
    check(np.isin(queries, keys).all(), "a query is no key")
    has_shape(np.searchsorted(np.sort(keys), queries), skew, KEYS)
    check(not (np.sort(queries) == queries).all(), "queries came in order")
    if skew in BY_RANK:
        again = draw(t, skew, np.sort(keys), type_name)
        check(formats.bits(again) == formats.bits(queries), "the order of the file matters")


@case(BY_RANK)
def skew_of_misses(t, skew):
    """Misses lie between keys of such ranks."""
    keys = np.arange(1, KEYS + 2, dtype="<u8") * 1000
    queries = draw(t, skew, keys, "u64", "--misses", "1")
    check(not np.isin(queries, keys).any(), "a query is a key")
    has_shape(np.searchsorted(keys, queries) - 1, skew, KEYS)
    half = draw(t, skew, keys, "u64", "--misses", "0.5")
    hit = np.isin(half, keys)
    check(abs(hit.mean() - 0.5) < 0.02, "the part of misses")
    has_shape(np.searchsorted(keys, half[hit]), skew, KEYS + 1)
    has_shape(np.searchsorted(keys, half[~hit]) - 1, skew, KEYS)


@case(BY_RANK)
def skew_where_keys_repeat(t, skew):
    """Equal keys are as many places."""
    keys = np.repeat(np.arange(KEYS // 10, dtype="<u4"), 10)
    queries = draw(t, skew, keys, "u32")
    right = expected(skew, KEYS)[9::10]
    got = np.cumsum(np.bincount(queries, minlength=KEYS // 10)) / QUERIES
    check(abs(got - right).max() < 1.95 / math.sqrt(QUERIES), "another shape")


PINNED = {                            # the first of seed 1 among 10^6 keys
    "normal": [185512, 412809, 924943, 741362, 822133, 835754, 158580, 338333],
    "gamma": [97417, 203319, 132518, 30280, 95909, 119698, 113180, 245987],
    "zipf2": [2, 0, 4, 0, 0, 2, 0, 2],
}


@case(BY_RANK)
def skew_depends_on_the_seed_alone(t, skew):
    """The same queries on every machine."""
    keys = np.arange(10**6, dtype="<u8")
    equal(draw(t, skew, keys, "u64", n=8).tolist(), PINNED[skew], "queries of seed 1")
    other = draw(t, skew, keys, "u64", "--seed", "2", n=8)
    check(other.tolist() != PINNED[skew], "another seed, the same queries")
    ordered = draw(t, skew, keys, "u64", "--sorted", n=8)
    equal(ordered.tolist(), sorted(PINNED[skew]), "in order")


@case(SKEWS)
def skew_of_few_keys(t, skew):
    for n in (1, 2, 3):
        queries = draw(t, skew, np.arange(n, dtype="<u8"), "u64", n=500)
        check(queries.max() < n and (queries == 0).any(), "not of these keys")
    equal(len(draw(t, skew, np.zeros(0, "<u8"), "u64", n=0)), 0, "queries of no keys")
    t.tool.fails(1, "no keys to draw", "gen", "--from", "keys.raw", "--type", "u64", "--n", "1",
                 "--skew", skew)


@case(["f32", "f64"])
def skew_of_odd_numbers(t, type_name):
    """NaNs are the last keys, infinities the next to them."""
    keys = np.array([np.nan, np.inf, 1, -np.inf], oracle.DTYPES[type_name])
    queries = draw(t, "zipf2", keys, type_name)
    check((queries == -np.inf).mean() > 0.6, "the least key is not the most frequent")
    check(0.03 < np.isnan(queries).mean() < 0.06, "the part of the last key")


# ---- sextant bench --------------------------------------------------------------

DEVICES = {"cpu": ("--device", "cpu"), "simt": ("--device", "simt", "--builds", "0")}
SMALL = ("--queries", "600", "--runs", "1", "--spec", "pivot,sorted")


@case(DEVICES, SKEWS)
def bench_of_skewed_queries(t, device, skew):
    words = ("bench", "--n", "3000", *SMALL, *DEVICES[device], "--skew", skew)
    for more in ((), ("--misses", "0.5"), ("--unique", "--misses", "0.5")):
        header, *lines = t.tool.json(*words, *more, "--op", "get,rank,floor,ceil,key_at,range")
        equal({x["wrong"] for x in lines}, {0}, "wrong answers")
        equal({x["skew"] for x in [header["header"], *lines]}, {skew}, "skews")
    text = t.tool.ok(*words, "--op", "get").out.decode()
    equal(f"queries, {skew}," in text, skew != "uniform", text)
    equal(t.tool.json("bench", "--n", "99", *SMALL, "--zipf")[0]["header"]["skew"], "zipf",
          "the skew of --zipf")


@case()
def bench_of_skewed_collected_queries(t):
    text = t.tool.ok("bench", "--n", "3000", "--collect", "--submitters", "2", "--ms", "20",
                     "--spec", "pivot", "--skew", "gamma").out.decode()
    check("queries, gamma," in text, text)


@case()
def gpu_bench_skews_ranks(t):
    """The first tenth of ranks has neighbours without gaps, so queries that were to miss often
    hit there, and nowhere else. In the file these keys are anywhere."""
    dense = np.arange(1 << 12, dtype="<u8")
    far = np.random.default_rng(3).integers(1 << 50, 1 << 62, 9 << 12, dtype="<u8")
    keys = np.random.default_rng(4).permutation(np.concatenate([dense, far]))
    formats.write(t.path("keys.npy"), keys, "npy")

    def found(skew):
        _, *lines = t.tool.json("bench", "--keys", "keys.npy", *DEVICES["simt"], "--queries",
                                "4000", "--runs", "1", "--spec", "sorted", "--op", "get",
                                "--misses", "1", "--skew", skew)
        return lines[0]["found"] / 4000
    even, first = found("uniform"), found("zipf2")
    check(0.12 < first < 0.3, f"{first} of the queries near the first keys hit")
    check(even < 0.05, f"{even} of the queries anywhere hit")


# ---- bad input ------------------------------------------------------------------

BAD = {
    "gen --from k.raw --type u64 --n 5 --skew zipf": "uniform|normal|gamma|zipf2, not 'zipf'",
    "gen --from k.raw --type u64 --n 5 --skew": "--skew needs a value",
    "gen --from k.raw --type u64 --n 5 --skew=": "--skew wants one of",
    "gen --from k.raw --type u64 --n 5 --skew gamma --zipf": "--zipf and --skew gamma are two",
    "gen --from k.raw --type u64 --n 5 --skew uniform --zipf": "--zipf and --skew uniform are two",
    "gen --type u64 --n 5 --skew normal": "for --from",
    "bench --n 10 --skew Normal": "uniform|normal|gamma|zipf2, not 'Normal'",
    "bench --n 10 --skew zipf2 --zipf": "--zipf and --skew zipf2 are two",
}


@case(BAD)
def skews_that_are_none(t, words):
    formats.write(t.path("k.raw"), np.arange(5, dtype="<u8"), "raw")
    t.tool.fails(2, BAD[words], *words.split())
