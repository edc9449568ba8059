"""Keys as people write them, against ipaddress, datetime and uuid."""
import datetime
import ipaddress
import os
import uuid

import numpy as np

from harness import case, check, equal
from oracle import TYPES

MORE = 15 if os.environ.get("SX_MORE") else 1     # as often, in `make test-more`
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
N = 300 * MORE                        # keys of each notation


def number(rng, bits):
    return int.from_bytes(rng.bytes(bits // 8), "little")


def ipv6_text(rng, address):
    text = rng.choice([address.compressed, address.exploded, address.exploded.upper()])
    return str(text)


def random_time(rng):
    """A moment as text, and its nanoseconds since 1970 in UTC."""
    moment = EPOCH + datetime.timedelta(seconds=int(rng.integers(-9 * 10**9, 9 * 10**9)))
    ns = int(rng.choice([0, 500_000_000, 1, rng.integers(10**9)]))
    minutes = int(rng.choice([0, 60, -570, 345]))
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    text = moment.astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    text = text.replace("T", str(rng.choice(["T", " "])))
    if ns:
        text += f".{ns:09d}".rstrip("0") + "0" * int(rng.integers(3))
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    text += str(rng.choice([f"{sign}{hours:02d}:{rest:02d}", f"{sign}{hours:02d}{rest:02d}"]
                           if minutes else ["Z", "", "+00:00", "+00"]))
    return text, (moment - EPOCH) // datetime.timedelta(seconds=1) * 10**9 + ns


def time_text(ns):
    seconds, rest = divmod(ns, 10**9)
    text = (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return text.rjust(19, "0") + (f".{rest:09d}".rstrip("0") if rest else "") + "Z"


def some(rng, kind):
    """A text, what it has to be as a key of the type, and how it is printed."""
    if kind == "ipv4":
        address = ipaddress.IPv4Address(number(rng, 32))
        return str(address), int(address), str(address)
    if kind == "ipv6":
        address = ipaddress.IPv6Address(number(rng, 128) >> int(rng.choice([0, 64, 100]))
                                        << int(rng.choice([0, 0, 64])) & (1 << 128) - 1)
        return ipv6_text(rng, address), address.packed, address
    if kind == "uuid":
        u = uuid.UUID(int=number(rng, 128))
        return str(rng.choice([str(u), u.hex, str(u).upper()])), u.bytes, str(u)
    if kind == "mac":
        digits = f"{number(rng, 48):012x}"
        pairs = [digits[i:i + 2] for i in range(0, 12, 2)]
        forms = [":".join(pairs), "-".join(pairs).upper(), digits,
                 ".".join(digits[i:i + 4] for i in range(0, 12, 4))]
        return str(rng.choice(forms)), int(digits, 16), ":".join(pairs)
    if kind == "hex":
        value = number(rng, 64) >> int(rng.integers(60))
        return str(rng.choice([f"{value:x}", f"0x{value:X}", f"{value:016x}"])), value, f"0x{value:x}"
    if kind == "dec":
        value = number(rng, 64)
        return str(value), value, str(value)
    if kind == "date":
        day = datetime.date.fromordinal(int(rng.integers(1, 3652060)))
        return day.isoformat(), day.toordinal() - 719163, day.isoformat()
    if kind == "iso8601":
        text, ns = random_time(rng)
        return text, ns, time_text(ns)
    text = "".join(chr(c) for c in rng.integers(33, 127, rng.integers(1, 17)))
    return text, text.encode().ljust(16, b"\0"), text


KINDS = {"ipv4": "<u4", "ipv6": "V16", "uuid": "V16", "mac": "<u8", "hex": "<u8", "dec": "<u8",
         "date": "<i4", "iso8601": "<i8", "bytes": "V16"}


def same(kind, text, printed):
    return ipaddress.IPv6Address(text) == printed if kind == "ipv6" else text == printed


@case(KINDS)
def keys_in_a_notation(t, kind):
    """Read, looked up, printed, as text, JSON and numbers."""
    texts, values, printed = zip(*(some(t.rng, kind) for _ in range(N)))
    t.path("k.txt").write_text("".join(f"{text}\n" for text in texts))
    words = ("--type", "u64") if kind == "dec" else ()
    t.tool.ok("build", "k.txt", "--keys-as", kind, "--spec", "sorted", "-o", "k.sxt", *words)
    column = np.array(values, KINDS[kind]) if KINDS[kind] != "V16" else \
        np.frombuffer(b"".join(values), "V16")
    order = sorted(range(N), key=lambda i: (values[i], i))
    shown = t.tool.ok("head", "k.sxt", "--keys", "-n", N).lines
    for line, i in zip(shown, order):
        check(same(kind, line, printed[i]), f"{texts[i]!r} was printed as {line!r}")
    t.tool.ok("head", "k.sxt", "--keys", "-n", N, "-o", "k.npy")
    equal(np.load(t.path("k.npy")).tobytes(), column[order].tobytes(), "keys as numbers")
    # Queries of a file, as written and as printed, and of the command line.
    first = {}
    for i, value in enumerate(values):
        first.setdefault(value, i)
    expected = [str(first[value]) for value in values]
    equal(t.tool.ok("lookup", "k.sxt", "k.txt").lines, expected, "rows")
    t.path("again.txt").write_text("".join(f"{line}\n" for line in shown))
    equal(t.tool.ok("lookup", "k.sxt", "again.txt").lines, [expected[i] for i in order],
          "rows of keys as they are printed")
    answer, = t.tool.json("lookup", "k.sxt", "--key=" + texts[7], "--mode", "floor", "--keys")
    check(same(kind, str(answer["query"]), printed[7]) and answer["key"] == answer["query"],
          f"{answer}")
    first_of, last_of = shown.index(shown[3]), N - 1 - shown[::-1].index(shown[5])
    equal(t.tool.ok("range", "k.sxt", "--lo=" + shown[3], "--hi=" + shown[5], "--keys").lines[0]
          .split(" "), shown[first_of:last_of + 1], "range")
    equal(t.tool.explain("k.sxt")["notes"]["keys-as"], kind, "note")


NOT_KEYS = {
    "ipv4": ["1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.04", "1.2.3.4 x", "::1", "a.b.c.d", ""],
    "ipv6": ["1.2.3.4", ":::", "1::2::3", "12345::", "fe80::1%eth0", "x"],
    "cidr": ["10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/08", "::/129", "10/8", "/8"],
    "iso8601": ["2026-13-01", "2026-02-29", "2026-11-16T24:00", "2026-11-16T23:59:60", "12:00",
                "2026-11-16T1:00", "2026-11-16T10:00+1", "2262-04-12", "1677-09-21T00:12:43.1",
                "2026-11-16T10:00:00.1234567891", "2026-11-16T10:00:00.", "20261116", "2026-11-16x"],
    "date": ["2026-02-30", "2026-11-16T10:00", "26-11-16", "2026/11/16", "+12-01-01"],
    "uuid": ["12345678", "g" * 32, "0" * 33, "00112233-44556677-8899-aabb-ccddeeff"],
    "mac": ["1:2:3:4:5:6", "00:11:22:33:44", "00:11-22:33:44:55", "0" * 8, "0" * 13, "xyz"],
    "hex": ["0x", "1g", "-1", "1" + "0" * 16],
    "dec": ["1.5x", "abc"],
    "bytes": ["x" * 17, "tab\there", ""],
}


@case([(kind, i) for kind, texts in NOT_KEYS.items() for i in range(len(texts))])
def not_a_key(t, which):
    kind, i = which
    text = NOT_KEYS[kind][i]
    good = {"cidr": "10.0.0.0/8", "dec": "1", "iso8601": "2026-01-01", "date": "2026-01-01",
            "ipv4": "1.1.1.1", "ipv6": "::1", "uuid": "0" * 32, "mac": "001122334455",
            "hex": "ff", "bytes": "x"}[kind]
    t.path("k.csv").write_text(f'id;"t"\n1;{good}\n2;"{text}"\n')
    words = ("--type", "u64") if kind == "dec" else ()
    shown = text.strip().replace("\t", "?")
    t.tool.fails(1, f"k.csv:3:4: '{shown}' is not ", "build", "k.csv",
                 "--delimiter", ";", "--column", "t", "--keys-as", kind, "-o", "k.sxt", *words)
    check(not t.path("k.sxt").exists(), "an index was left behind")


@case()
def limits_of_times(t):
    for type_name, first, number_of_first in (
            ("t64", "1677-09-21T00:12:43.145224193Z", -2**63 + 1),
            ("i64", "1677-09-21T00:12:43.145224192Z", -2**63)):
        ends = [first, "2262-04-11T23:47:16.854775807Z"] + ["NaT"] * (type_name == "t64")
        t.path("k.txt").write_text("".join(f"{end}\n" for end in reversed(ends)))
        t.tool.ok("build", "k.txt", "--keys-as", "iso8601", "--type", type_name, "--spec",
                  "sorted", "-o", "k.sxt")
        equal(t.tool.ok("head", "k.sxt", "--keys").lines, ends, "ends")
        t.tool.ok("head", "k.sxt", "--keys", "-o", "k.npy")
        keys = np.load(t.path("k.npy"))
        equal(keys.dtype.name, {"t64": "datetime64[ns]", "i64": "int64"}[type_name], "dtype")
        equal(keys.view("i8").tolist(),
              [number_of_first, 2**63 - 1, -2**63][:len(ends)], "numbers")
    t.path("k.txt").write_text("1677-09-21T00:12:43.145224192Z\n")
    t.tool.fails(1, "k.txt:1:1: '1677", "build", "k.txt", "--keys-as", "iso8601", "-o", "n.sxt")
    days = ["-5877641-06-23", "+5881580-07-11", "0000-02-29", "-0001-12-31"]
    t.path("d.txt").write_text("".join(f"{day}\n" for day in days))
    t.tool.ok("build", "d.txt", "--keys-as", "date", "--spec", "sorted", "-o", "d.sxt")
    equal(t.tool.ok("at", "d.sxt", 0, 1, 2, 3, "--keys").lines,
          [days[0], days[3], days[2], days[1]], "days")


@case()
def makers_of_macs(t):
    """Short assignments stand for their first address, so floor finds the maker."""
    t.path("m.csv").write_text("Assignment,Name\n28-6F-B9,Nokia\n70B3D5,IEEE\n70B3D5F2F,small\n"
                               "8C147D4,medium\n")
    t.tool.ok("build", "m.csv", "--column", "Assignment", "--keys-as", "mac", "--spec", "sorted",
              "-o", "m.sxt")
    equal(t.tool.ok("lookup", "m.sxt", "--mode", "floor", "--lines", "m.csv", "--columns", "Name",
                    "--key", "28:6f:b9:12:34:56", "--key", "70:b3:d5:f2:f1:23", "--key",
                    "8c14.7d4f.0001", "--key", "00:00:00:00:00:01").lines,
          ["Nokia", "small", "medium", "-"], "names")


# ---- networks ---------------------------------------------------------------

def random_network(rng, version):
    bits = 32 if version == 4 else 128
    length = int(rng.integers(0, 13)) if rng.random() < 0.7 else int(rng.integers(0, bits + 1))
    base = int(rng.choice([0, 10, 255])) << bits - 8 | number(rng, bits) >> int(rng.choice([8, 12]))
    base = base >> bits - length << bits - length if length else 0
    return (ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network)((base, length))


def owner(networks, address):
    """The first of the longest networks that hold the address."""
    holding = [(-n.prefixlen, i) for i, n in enumerate(networks) if address in n]
    return str(min(holding)[1]) if holding else "-"


@case([4, 6], range(MORE * 4))
def the_most_specific_network(t, version, number_of_case):
    networks = [random_network(t.rng, version) for _ in range(int(t.rng.integers(1, 40)))]
    if number_of_case % 2:
        networks = [n for n in networks if n.prefixlen] or networks
    networks += networks[:2]
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    most = 2**(32 if version == 4 else 128) - 1
    points = {0, most, most // 2}
    for n in networks:
        first, last = int(n.network_address), int(n.broadcast_address)
        points |= {first, last, max(first - 1, 0), min(last + 1, most), (first + last) // 2}
    addresses = [kind(p) for p in sorted(points)]
    t.path("n.csv").write_text("net,name\n" + "".join(
        f"{n if n.prefixlen < n.max_prefixlen else n.network_address},n{i}\n"
        for i, n in enumerate(networks)))
    t.path("a.txt").write_text("".join(f"{a}\n" for a in addresses))
    t.tool.ok("build", "n.csv", "--column", "net", "--keys-as", "cidr", "--spec", "sorted", "-o",
              "n.sxt")
    expected = [owner(networks, a) for a in addresses]
    equal(t.tool.ok("lookup", "n.sxt", "a.txt").lines, expected, "rows")
    equal(t.tool.ok("lookup", "n.sxt", "a.txt", "--mode", "floor", "--lines", "n.csv",
                    "--columns", "name").lines,
          [e if e == "-" else f"n{e}" for e in expected], "names")
    # Rows of one's own, some equal, as of networks of one country.
    rows = t.rng.integers(0, 3, len(networks)).astype("<u4")
    np.save(t.path("r.npy"), rows)
    t.tool.ok("build", "n.csv", "--column", "net", "--keys-as", "cidr", "--spec", "pivot", "-o",
              "r.sxt", "--rows", "r.npy")
    equal(t.tool.ok("lookup", "r.sxt", "a.txt").lines,
          [e if e == "-" else str(rows[int(e)]) for e in expected], "rows of one's own")


@case()
def networks_and_what_is_not_for_them(t):
    t.path("n.txt").write_text("10.0.0.0/8\n2001:db8::/32\n")
    t.tool.fails(1, "n.txt:2:1: '2001:db8::/32' is not an IPv4 network, as those before it are",
                 "build", "n.txt", "--keys-as", "cidr", "-o", "n.sxt")
    t.path("n.txt").write_text("2001:db8::/32\n10.0.0.0/8\n")
    t.tool.fails(1, "n.txt:2:1: '10.0.0.0/8' is not an IPv6 network", "build", "n.txt",
                 "--keys-as", "cidr", "-o", "n.sxt")
    t.path("n.txt").write_text("10.0.0.0/8\n10.1.0.0/16\n")
    t.tool.ok("build", "n.txt", "--keys-as", "cidr", "--spec", "sorted", "-o", "n.sxt")
    t.tool.fails(2, "--key '::1' is not an IPv4 address", "lookup", "n.sxt", "--key", "::1")
    t.tool.fails(2, "--mode floor", "lookup", "n.sxt", "--key", "10.0.0.1", "--mode", "get")
    t.tool.fails(1, "has no ranges", "range", "n.sxt", "--lo", "10.0.0.1", "--hi", "10.0.0.2",
                 "--count")
    equal(t.tool.ok("head", "n.sxt").lines,
          ["0 10.0.0.0", "1 10.1.0.0", "0 10.2.0.0", "- 11.0.0.0"], "pieces")
    t.path("a.txt").write_text("10.0.0.1\n::1\n")
    t.tool.fails(1, "a.txt:2:1: '::1' is not an IPv4 address", "lookup", "n.sxt", "a.txt", "-o",
                 "out.txt")
    check(not t.path("out.txt").exists(), "an output was left behind")
    t.path("e.txt").write_text("")
    t.tool.ok("build", "e.txt", "--keys-as", "cidr", "--spec", "sorted", "-o", "e.sxt")
    equal(t.tool.ok("lookup", "e.sxt", "--key", "1.2.3.4").lines, ["-"], "of no networks")


@case()
def notations_of_numbers(t):
    """A file of numbers can have a notation, too, if its type fits."""
    t.path("k.txt").write_text("1\n2\n")
    t.tool.ok("build", "k.txt", "--type", "u32", "--keys-as", "hex", "--spec", "sorted", "-o",
              "k.sxt")
    equal(t.tool.ok("head", "k.sxt", "--keys").lines, ["0x1", "0x2"], "keys")
    np.save(t.path("k.npy"), np.array([5, 6], "<u4"))
    t.tool.fails(1, "holds u32 values, but t64 are needed", "build", "k.npy", "--keys-as",
                 "iso8601", "-o", "n.sxt")
    t.tool.ok("build", "k.npy", "--keys-as", "ipv4", "--spec", "sorted", "-o", "n.sxt")
    equal(t.tool.ok("head", "n.sxt", "--keys").lines, ["0.0.0.5", "0.0.0.6"], "addresses")
    np.save(t.path("t.npy"), np.array(["2026-11-16T23:15:40.5", "NaT"], "M8[ns]"))
    t.tool.ok("build", "t.npy", "--keys-as", "iso8601", "--spec", "sorted", "-o", "t.sxt")
    equal(t.tool.ok("head", "t.sxt", "--keys").lines, ["2026-11-16T23:15:40.5Z", "NaT"], "times")
    equal(t.tool.json("verify", "t.sxt")[0]["type"], "t64", "type")


@case()
def every_type_by_its_name(t):
    """--type takes the names that the library has, and the keys have that type."""
    for type_name in (*TYPES, "t64"):
        t.path("k.txt").write_text("0" * 32 + "\n" if type_name == "b16" else "7\n")
        t.tool.ok("build", "k.txt", "--type", type_name, "--spec", "sorted", "-o", "k.sxt")
        equal(t.tool.json("verify", "k.sxt")[0]["type"], type_name, "type")
