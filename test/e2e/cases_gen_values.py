"""sextant gen: few and frequent values, steps, gaps, for every type."""
import numpy as np

import formats
import oracle
from cases_gen import as_floats, between, generate
from harness import case, check, equal
from oracle import TYPES

N = 20000


def most_frequent(keys):
    return np.unique(keys, return_counts=True)[1].max() / len(keys)


def different(keys):
    return len(np.unique(keys))


def gaps(keys):
    return np.diff(as_floats(keys))


def narrow(type_name):
    return type_name in ("u32", "i32", "f32")


def is_one_value(keys, type_name):
    equal(different(keys), 1, "values")


def is_two_values(keys, type_name):
    equal(different(keys), 2, "values")
    between(most_frequent(keys), 0.5, 0.55, "the more frequent")


def is_few_values(keys, type_name):
    between(different(keys), 990, 1000, "values")
    check(most_frequent(keys) < 0.004, "a value is frequent")


def is_zipf_values(keys, type_name):
    between(as_floats(keys)[-1] - as_floats(keys)[0], 1000, N / 16 + 2, "span")
    between(most_frequent(keys), 0.05, 0.2, "the most frequent")


def is_half_equal(keys, type_name):
    between(most_frequent(keys), 0.47, 0.53, "the frequent one")
    between(different(keys), 0.45 * N, 0.55 * N, "values")


def is_repeated(keys, type_name):
    between(different(keys), N // 16 - 5, N // 16 + 1, "values")
    check(most_frequent(keys) < 0.003, "a value is frequent")


def is_blocks(keys, type_name):
    """64 crowds, far from each other; floats are too coarse to tell a crowd's
    keys apart."""
    wide = np.sort(gaps(keys))[::-1]
    check(wide[62] > 1000 * np.median(wide), "the blocks are near")
    check(wide[63] < wide[62] / 4, "there are more than 64 blocks")


def is_holes(keys, type_name):
    numbers = as_floats(keys)
    between(numbers[-1] - numbers[0], 1.45 * N, 1.5 * N + 100, "span")
    equal(int((gaps(keys) >= 100).sum()), N // 200 - 1, "holes")


def is_outliers(keys, type_name):
    numbers = as_floats(keys)
    inner = np.quantile(numbers, [0.01, 0.99])
    width = inner[1] - inner[0]
    far = (np.abs(numbers - np.median(numbers)) > 10 * width).mean()
    between(far, 0.0002, 0.003, "far keys")


def is_jitter(keys, type_name):
    """Keys of one tick are together."""
    steps = np.sort(gaps(keys))
    step = (as_floats(keys)[-1] - as_floats(keys)[0]) / N
    part = ((steps > step / 15) & (steps < step * 14 / 15)).mean()
    between(part, 0, 0.001, "keys between ticks")


def is_power(keys, type_name):
    numbers = as_floats(keys)
    between(np.median(numbers) / numbers[-1], 0.11, 0.14, "the median")
    between((numbers < numbers[-1] / 1000).mean(), 0.08, 0.12, "the lowest")


def is_log_uniform(keys, type_name):
    bits = np.log2(np.maximum(as_floats(keys), 1))
    top = 31 if narrow(type_name) else 63
    for low in range(0, top - 9, 10):
        between(((bits >= low) & (bits < low + 10)).mean() * top / 10, 0.85,
                1.15, f"keys from 2^{low} on")


def is_two_bells(keys, type_name):
    numbers = as_floats(keys)
    middle = (numbers[0] + numbers[-1]) / 2
    between((numbers < middle).mean(), 0.48, 0.52, "the lower bell")
    width = numbers[-1] - numbers[0]
    equal(int((np.abs(numbers - middle) < width / 4).sum()), 0, "between")


def is_segments(keys, type_name):
    """Most of the range is empty: few gaps take most of it."""
    wide = np.sort(gaps(keys))[::-1]
    check(wide[:1000].sum() > 0.6 * wide.sum(), "keys are even")
    check(wide[:1000].sum() < 0.999 * wide.sum(), "all stretches are crowded")
    check(different(keys) > 0.5 * N, "most keys are equal")


SHAPES = {
    "one-value": is_one_value, "two-values": is_two_values,
    "few-values": is_few_values, "zipf-values": is_zipf_values,
    "half-equal": is_half_equal, "repeated": is_repeated,
    "blocks": is_blocks, "holes": is_holes, "outliers": is_outliers,
    "jitter": is_jitter, "power": is_power, "log-uniform": is_log_uniform,
    "two-bells": is_two_bells, "segments": is_segments,
}


@case(SHAPES, TYPES)
def values_of_gen(t, dist, type_name):
    first = generate(t, dist, type_name, n=N, seed=7)
    again = generate(t, dist, type_name, n=N, seed=7)
    check(formats.bits(first) == formats.bits(again), "same seed, other keys")
    other = generate(t, dist, type_name, n=N, seed=8)
    check(formats.bits(first) != formats.bits(other), "other seed, same keys")
    equal(len(first), N, "keys")
    if type_name in oracle.FLOATS:
        check(np.isfinite(first).all(), "a key is not finite")
    SHAPES[dist](np.sort(first), type_name)
