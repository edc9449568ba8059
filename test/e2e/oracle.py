"""What the tool must answer, worked out with NumPy alone.

The order of keys is NumPy's: integers by value; floats with -0.0 equal to
0.0 and all NaNs equal and last; 16-byte keys as in memcmp(), which is how
NumPy compares its S16 strings.
"""
import numpy as np

DTYPES = {
    "u32": np.dtype("<u4"), "u64": np.dtype("<u8"),
    "i32": np.dtype("<i4"), "i64": np.dtype("<i8"),
    "f32": np.dtype("<f4"), "f64": np.dtype("<f8"),
    "b16": np.dtype("S16"),
}
TYPES = list(DTYPES)
FLOATS = ("f32", "f64")
MODES = ("get", "rank", "floor", "ceil")
MISS = None                           # Oracle's word for "no match"


class Oracle:
    """An ordered multimap from keys to rows."""

    def __init__(self, keys, rows=None):
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        self.rows = order.astype("u8") if rows is None \
            else np.asarray(rows).astype("u8")[order]

    def __len__(self):
        return len(self.keys)

    def rank(self, queries, side="left"):
        return np.searchsorted(self.keys, queries, side).tolist()

    def _rows_at(self, ranks):
        rows = self.rows.tolist()
        return [rows[rank] if 0 <= rank < len(rows) else MISS
                for rank in ranks]

    def get(self, queries):
        left, right = self.rank(queries), self.rank(queries, "right")
        return [MISS if a == b else row
                for a, b, row in zip(left, right, self._rows_at(left))]

    def floor(self, queries):
        return self._rows_at(right - 1
                             for right in self.rank(queries, "right"))

    def ceil(self, queries):
        return self._rows_at(self.rank(queries))

    def ask(self, mode, queries):
        return getattr(self, mode)(queries)

    def ranges(self, lo, hi, limit=0, last=False):
        """The rows of each range lo[i] <= key <= hi[i], in order of keys."""
        found = []
        for begin, end in zip(self.rank(lo), self.rank(hi, "right")):
            end = max(begin, end)
            if limit and end - begin > limit:
                begin, end = (end - limit, end) if last \
                    else (begin, begin + limit)
            found.append(self.rows[begin:end].tolist())
        return found


def row_sum(rows):
    return sum(rows) % 2**64


# ---- key sets ---------------------------------------------------------------

def random_keys(rng, type_name, n):
    """n keys over the whole range of the type, few of them equal."""
    dtype = DTYPES[type_name]
    if type_name in FLOATS:
        size = rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, size=n)
        return size.astype(dtype)
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()


def extreme_keys(type_name):
    """The ends of the type's range, and other special keys."""
    dtype = DTYPES[type_name]
    if type_name in FLOATS:
        info = np.finfo(dtype)
        return np.array([-np.inf, info.min, -1.0, -info.tiny,
                         -info.smallest_subnormal, -0.0, 0.0,
                         info.smallest_subnormal, info.tiny, 1.0, info.max,
                         np.inf, np.nan, negative_nan(dtype)], dtype)
    if type_name == "b16":
        return np.array([b"", b"\0" * 15 + b"\1", b"\1",
                         b"\x7f" + b"\xff" * 15, b"\x80", b"\xff",
                         b"\xff" * 15 + b"\xfe", b"\xff" * 16], dtype)
    info = np.iinfo(dtype)
    middle = (info.min + info.max) // 2
    return np.array([info.min, info.min + 1, middle, middle + 1,
                     info.max - 1, info.max], dtype)


def negative_nan(dtype):
    """A NaN with the sign set, and bits that NumPy's own has not."""
    bits = {4: 0xFFC00001, 8: 0xFFF8000000000001}[dtype.itemsize]
    return np.array([bits], f"<u{dtype.itemsize}").view(dtype)[0]


def small_keys(rng, type_name, n, distinct):
    """n keys, few of them distinct: many duplicates."""
    numbers = rng.integers(0, distinct, size=n)
    if type_name == "b16":
        return np.array([b"%013d" % number for number in numbers], "S16")
    if type_name in ("i32", "i64", "f32", "f64"):
        numbers = numbers - distinct // 2
    return numbers.astype(DTYPES[type_name])


def mixed_keys(rng, type_name, n):
    """Random keys, duplicates and every extreme, twice, in random order."""
    extremes = extreme_keys(type_name)
    keys = np.concatenate([random_keys(rng, type_name, n),
                           small_keys(rng, type_name, n // 2, 20),
                           extremes, extremes])
    return rng.permutation(keys)


KEY_SETS = {
    "empty": lambda rng, t: random_keys(rng, t, 0),
    "one": lambda rng, t: random_keys(rng, t, 1),
    "equal": lambda rng, t: np.repeat(random_keys(rng, t, 1), 100),
    "extremes": lambda rng, t: rng.permutation(extreme_keys(t)),
    "least": lambda rng, t: np.repeat(np.sort(extreme_keys(t))[:1], 70),
    "greatest": lambda rng, t: np.repeat(np.sort(extreme_keys(t))[-1:], 70),
    "few": lambda rng, t: small_keys(rng, t, 500, 7),
    "sorted": lambda rng, t: np.sort(random_keys(rng, t, 300)),
    "descending": lambda rng, t: np.sort(random_keys(rng, t, 300))[::-1],
    "dense": lambda rng, t: np.sort(small_keys(rng, t, 600, 600)),
    "63": lambda rng, t: random_keys(rng, t, 63),
    "64": lambda rng, t: random_keys(rng, t, 64),
    "65": lambda rng, t: random_keys(rng, t, 65),
    "513": lambda rng, t: random_keys(rng, t, 513),
    "mixed": lambda rng, t: mixed_keys(rng, t, 1000),
}


def neighbours(keys, type_name):
    """The keys just above and just below each key, if the type has some."""
    dtype = DTYPES[type_name]
    if type_name in FLOATS:
        with np.errstate(over="ignore", under="ignore"):
            return np.concatenate([np.nextafter(keys, dtype.type(np.inf)),
                                   np.nextafter(keys, dtype.type(-np.inf))])
    if type_name == "b16":
        numbers = [int.from_bytes(key.ljust(16, b"\0"), "big")
                   for key in keys.tolist()]
        return np.array([(number + step).to_bytes(16, "big")
                         for number in numbers for step in (1, -1)
                         if 0 <= number + step < 2**128], dtype)
    return np.concatenate([keys + dtype.type(1), keys - dtype.type(1)])


def queries_for(rng, type_name, keys, n=200):
    """Hits, near misses, far misses and extremes, in random order."""
    picked = keys[rng.integers(0, len(keys), n)] if len(keys) else keys
    queries = np.concatenate([picked, neighbours(picked, type_name)[:n],
                              random_keys(rng, type_name, n // 4),
                              small_keys(rng, type_name, n // 4, 30),
                              extreme_keys(type_name)])
    return rng.permutation(queries)


def bounds_for(rng, type_name, keys, n=60):
    """Bounds of ranges: short, long, whole, of one key, and crossed ones."""
    ends = np.sort(queries_for(rng, type_name, keys, n))
    begin = rng.integers(0, len(ends), n)
    length = rng.choice([0, 1, 2, 5, len(ends) // 2], n)
    end = np.minimum(begin + length, len(ends) - 1)
    lo = np.concatenate([ends[begin], ends[:1], ends[-1:]])
    hi = np.concatenate([ends[end], ends[-1:], ends[:1]])
    return lo, hi
