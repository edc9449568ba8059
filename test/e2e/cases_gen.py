"""sextant gen: every distribution of every type."""
import numpy as np

import formats
import oracle
from formats import FORMATS
from harness import case, check, equal
from oracle import DTYPES, TYPES

DISTRIBUTIONS = ["uniform", "dense", "normal", "lognormal", "exponential",
                 "zipf-gapped", "clustered", "duplicates", "books-like",
                 "wiki-like", "fb-like"]
N = 4096


def generate(t, dist, type_name, *options, n=N, seed=1):
    t.tool.ok("gen", "--type", type_name, "--dist", dist, "--n", n, "--seed",
              seed, "-o", "out.raw", *options)
    return formats.read(t.path("out.raw"), type_name, "raw")


@case(DISTRIBUTIONS, TYPES)
def gen_depends_on_the_seed_alone(t, dist, type_name):
    first = generate(t, dist, type_name, seed=7)
    again = generate(t, dist, type_name, seed=7)
    other = generate(t, dist, type_name, seed=8)
    equal(len(first), N, "keys")
    check(formats.bits(first) == formats.bits(again), "same seed, other keys")
    check(formats.bits(first) != formats.bits(other), "other seed, same keys")
    if type_name in oracle.FLOATS:
        check(np.isfinite(first).all(), "a key is not finite")


@case(DISTRIBUTIONS, TYPES)
def gen_shape(t, dist, type_name):
    keys = generate(t, dist, type_name, n=20000)
    check(not (np.sort(keys) == keys).all(), "keys came in order")
    SHAPES[dist](np.sort(keys), type_name)


def as_floats(keys):
    """Keys as numbers; of 16-byte keys the first eight bytes, or the last eight
    if the first are all equal."""
    if keys.dtype != "S16":
        return keys.astype("f8")
    halves = np.frombuffer(keys.tobytes(), ">u8").reshape(-1, 2)
    return halves[:, int((halves[:, 0] == halves[0, 0]).all())].astype("f8")


def between(value, least, most, what):
    check(least <= value <= most, f"{what} is {value}, expected {least} to "
          f"{most}")


def span(type_name):
    """The range that uniform keys of a type fill."""
    if type_name in oracle.FLOATS:
        return -1.0, 1.0
    if type_name == "b16":
        return 0.0, 2.0**64
    info = np.iinfo(DTYPES[type_name])
    return float(info.min), float(info.max)


def position(keys, type_name):
    """Keys scaled so that the type's range is 0 to 1."""
    least, most = span(type_name)
    return (as_floats(keys) - least) / (most - least)


def is_uniform(keys, type_name):
    counts, _ = np.histogram(position(keys, type_name), 10, (0, 1))
    equal(int(counts.sum()), len(keys), "keys in the range")
    between(counts.min(), 1800, 2200, "the emptiest tenth")
    between(counts.max(), 1800, 2200, "the fullest tenth")


def is_dense(keys, type_name):
    numbers = as_floats(keys)
    equal(numbers.tolist(), (numbers[0] + np.arange(len(keys))).tolist(),
          "neighbours")


def is_normal(keys, type_name):
    numbers = as_floats(keys)
    z = (numbers - numbers.mean()) / numbers.std()
    between((abs(z) < 1).mean(), 0.66, 0.71, "within one deviation")
    between((abs(z) < 2).mean(), 0.94, 0.97, "within two deviations")
    if type_name not in oracle.FLOATS:
        between(position(keys, type_name).mean(), 0.49, 0.51, "the middle")


def is_lognormal(keys, type_name):
    """ln(x) is normal with a deviation of 2: e^2 lies between the median and
    the quantile one deviation above it."""
    numbers = as_floats(keys)
    quantile = np.quantile(numbers, [0.5, 0.8413])
    check(numbers[0] >= 0, "a key is negative")
    between(quantile[1] / quantile[0], 6.5, 8.4, "one deviation")
    between(numbers.mean() / quantile[0], 4, 15, "mean / median")


def is_exponential(keys, type_name):
    numbers = as_floats(keys)
    check(numbers[0] >= 0, "a key is negative")
    between((numbers > numbers.mean()).mean(), 0.35, 0.385, "above the mean")
    between(np.median(numbers) / numbers.mean(), 0.67, 0.72, "median / mean")


def is_zipf_gapped(keys, type_name):
    gaps = np.diff(as_floats(keys))
    between((gaps <= 1).mean(), 0.45, 0.55, "the part of gaps of 1")
    check(gaps.max() > 1000 * np.median(gaps), "no gap is very wide")


def is_clustered(keys, type_name):
    """The keys crowd in few of many cells; uniform ones fill over 99 %."""
    cells = np.floor(position(keys, type_name) * 4096).astype(int)
    counts = np.sort(np.bincount(cells.clip(0, 4095), minlength=4096))[::-1]
    check(counts[:410].sum() > 0.5 * len(keys),
          "the fullest tenth of the cells does not have half of the keys")
    check(len(np.unique(keys)) > 0.5 * len(keys), "most keys are equal")


def is_duplicates(keys, type_name):
    _, counts = np.unique(keys, return_counts=True)
    between(len(counts), 100, len(keys) // 100 + 1, "the distinct keys")
    between(counts.max() / len(keys), 0.05, 0.5, "the most frequent key")


def is_books_like(keys, type_name):
    """One hump with a long tail over the range, and few equal keys."""
    places = position(keys, type_name)
    between(np.median(places), 0.1, 0.16, "the median's place")
    between((places > 0.5).mean(), 0.01, 0.06, "the tail")
    check(len(np.unique(keys)) > 0.98 * len(keys), "keys are equal")


def is_wiki_like(keys, type_name):
    """Whole numbers below 3/2 n, more and more of them, and many equal."""
    numbers = as_floats(keys)
    numbers = numbers - numbers[0]
    between(numbers[-1] / len(keys), 1.4, 1.5, "the last second / n")
    between(np.median(numbers) / numbers[-1], 0.6, 0.8, "the median")
    between(len(np.unique(keys)) / len(keys), 0.6, 0.85, "different keys")


def is_fb_like(keys, type_name):
    """All but 21 keys are in a small part of the range."""
    numbers = as_floats(keys)
    spread = numbers[-22] - numbers[0]
    check(numbers[-21] - numbers[-22] > spread, "the outliers are near")
    cells = np.floor((numbers[:-21] - numbers[0]) / spread * 512)
    counts = np.sort(np.bincount(cells.astype(int).clip(0, 511)))
    check(counts[256:].sum() > 0.75 * len(keys), "the keys are too even")


SHAPES = {
    "uniform": is_uniform, "dense": is_dense, "normal": is_normal,
    "lognormal": is_lognormal, "exponential": is_exponential,
    "zipf-gapped": is_zipf_gapped, "clustered": is_clustered,
    "duplicates": is_duplicates, "books-like": is_books_like,
    "wiki-like": is_wiki_like, "fb-like": is_fb_like,
}


@case(TYPES, FORMATS)
def gen_formats(t, type_name, format_name):
    """One set of keys in every format, by name and on stdout."""
    expected = formats.bits(generate(t, "uniform", type_name))
    command = ("gen", "--type", type_name, "--n", N)
    name = "keys" + FORMATS[format_name]
    t.tool.ok(*command, "-o", name)
    data = t.path(name).read_bytes()
    check(formats.bits(formats.decode(data, format_name, type_name))
          == expected, "other keys")
    piped = t.tool.ok(*command, "-o", "-", "--format", format_name).out
    check(piped == data, "other bytes on stdout")
    if format_name == "text":
        check(t.tool.ok(*command).out == data, "stdout is not text")


@case(TYPES, DISTRIBUTIONS)
def gen_sorted(t, type_name, dist):
    keys = generate(t, dist, type_name, "--sorted")
    equal(len(keys), N, "keys")
    plain = np.sort(generate(t, dist, type_name))
    check((plain == keys).all(), "--sorted is not the same keys, sorted")


SIZES = {"0": 0, "1": 1, "12": 12, "2^0": 1, "2^12": 4096, "3^4": 81,
         "4K": 4096, "4kib": 4096, "1e3": 1000, "1M": 2**20, "1MiB": 2**20}


@case(SIZES)
def gen_sizes(t, text):
    equal(len(generate(t, "uniform", "u32", n=text)), SIZES[text], text)


@case(TYPES, FORMATS)
def gen_nothing(t, type_name, format_name):
    data = t.tool.ok("gen", "--type", type_name, "--n", "0", "--format",
                     format_name).out
    equal(len(formats.decode(data, format_name, type_name)), 0, "keys")


@case(TYPES)
def gen_of_one_and_two_keys(t, type_name):
    for dist in DISTRIBUTIONS:
        for n in (1, 2):
            equal(len(generate(t, dist, type_name, n=n)), n, dist)


@case()
def osm_like_is_clustered(t):
    check(formats.bits(generate(t, "osm-like", "u64"))
          == formats.bits(generate(t, "clustered", "u64")), "other keys")


@case(TYPES, [0, 0.25, 1])
def gen_queries_from_keys(t, type_name, misses):
    keys = generate(t, "uniform", type_name, n=500)
    t.tool.ok("gen", "--from", "out.raw", "--type", type_name, "--n", "4000",
              "--misses", misses, "-o", "q.raw")
    queries = formats.read(t.path("q.raw"), type_name, "raw")
    equal(len(queries), 4000, "queries")
    missing = (~np.isin(queries, keys)).mean()
    between(missing, misses - 0.05 * (misses < 1) * (misses > 0),
            misses + 0.05 * (misses > 0), "the part of misses")
    check(len(np.unique(queries)) > 300, "few different queries")


# ---- misses -----------------------------------------------------------------

def draw_misses(t, keys, type_name, n=2000):
    """Queries that are all misses, none of them a key or a NaN."""
    formats.write(t.path("keys.raw"), keys, "raw")
    t.tool.ok("gen", "--from", "keys.raw", "--type", type_name, "--n", n,
              "--misses", "1", "-o", "q.raw")
    queries = formats.read(t.path("q.raw"), type_name, "raw")
    equal(len(queries), n, "queries")
    check(not np.isin(queries, keys).any(), "a query is a key")
    if type_name in oracle.FLOATS:
        check(np.isfinite(queries).all(), "a query is not finite")
    return queries


@case(TYPES, DISTRIBUTIONS)
def misses_lie_between_keys(t, type_name, dist):
    """All queries miss, and some are in each tenth of the different keys."""
    keys = np.sort(generate(t, dist, type_name, n=3000))
    if dist == "dense":               # nothing is between two integers
        keys = keys[np.arange(len(keys)) % 3 > 0]
    queries = draw_misses(t, keys, type_name)
    keys = np.unique(keys)
    ranks = np.searchsorted(keys, queries)
    check(ranks.min() > 0 and ranks.max() < len(keys),
          "a miss is below or above all keys")
    tenths = np.bincount(ranks * 10 // len(keys), minlength=10)
    check(len(np.unique(ranks)) > 100 or dist == "duplicates",
          f"only {len(np.unique(ranks))} gaps have misses")
    check(tenths.all(), f"misses of each tenth: {tenths}")


@case("u32", "u64", "i32", "i64", "f64")
def misses_lie_near_keys(t, type_name):
    """About half of them are within a thousandth of the gap."""
    keys = np.sort(generate(t, "uniform", type_name, n=1000))
    queries = draw_misses(t, keys, type_name)
    at = np.searchsorted(keys, queries)
    below, above = as_floats(keys[at - 1]), as_floats(keys[at])
    distance = np.minimum(as_floats(queries) - below, above - as_floats(queries))
    between((distance < (above - below) / 1000).mean(), 0.3, 0.95, "the part that is near")


def dense_keys(type_name, n):
    """Keys without gaps between them: the next float, the next bytes."""
    if type_name == "b16":
        return np.array([(2**100 + i).to_bytes(16, "big") for i in range(n)], "S16")
    if type_name in oracle.FLOATS:
        bits = np.arange(n, dtype=f"<u{DTYPES[type_name].itemsize}")
        numbers = (bits + np.array([1.0], DTYPES[type_name]).view(bits.dtype)[0]).astype(bits.dtype)
        return numbers.view(DTYPES[type_name])
    return np.arange(500, 500 + n).astype(DTYPES[type_name])


@case(TYPES)
def misses_where_keys_are_dense(t, type_name):
    """In the only gap there is; if there is none, outside, on both sides."""
    keys = dense_keys(type_name, 1000)
    queries = draw_misses(t, np.delete(keys, 700), type_name, 20)
    equal(np.unique(queries).tolist(), keys[700:701].tolist(), "misses of a single gap")
    keys = np.repeat(keys, 2)
    queries = draw_misses(t, keys, type_name, 400)
    ranks = np.searchsorted(keys, queries)
    equal(np.unique(ranks).tolist(), [0, len(keys)], "ranks of misses outside")
    between((ranks == 0).mean(), 0.25, 0.75, "the part below")


@case(TYPES)
def misses_at_the_edges_of_a_type(t, type_name):
    """Of one key, the least or the greatest, and of unusual floats."""
    extremes = np.sort(oracle.extreme_keys(type_name))
    draw_misses(t, np.unique(extremes), type_name)
    for key in (extremes[:1], extremes[-1:]):
        draw_misses(t, key, type_name)
    if type_name in oracle.FLOATS:
        info = np.finfo(DTYPES[type_name])
        tiny = info.smallest_subnormal
        for some in ([np.nan], [np.inf], [-np.inf], [np.nan, np.inf, -np.inf], [-0.0, tiny],
                     [0.0, -tiny], [-tiny, -0.0, tiny], [info.max, np.inf], [-tiny, tiny]):
            draw_misses(t, np.array(some, DTYPES[type_name]), type_name, 100)
