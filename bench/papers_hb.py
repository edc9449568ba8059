"""Tables of what bench/papers_hb.sh measured: figures 7 to 20 of the paper HB+."""
from gpu_table import number, power, print_table
from paper_lines import over, rate

MILLIONS = "10^6 queries a second"


# ---- contenders -----------------------------------------------------------------

def contender(line):
    """Who was measured: a spec, with the options that its device was told."""
    return line.get("requested_spec", line["spec"]), line.get("told", "")


def contenders(lines):
    return list(dict.fromkeys(map(contender, lines)))


def title(who):
    spec, told = who
    return f"`{spec}`" + (f", `{told}`" if told else "")


def only(lines, **wanted):
    return [x for x in lines if all(x.get(name) == value for name, value in wanted.items())]


def the_line(lines, who, **wanted):
    """The contender's line with these members; None if there is none."""
    return next((x for x in only(lines, **wanted) if contender(x) == who), None)


def times(line, base):
    """A speed, and how many times the one it is held against."""
    factor = over(rate(line), rate(base))
    shown = number(rate(line))
    return shown if factor is None or line is base else f"{shown} ({number(factor)} ×)"


def host_of(who):
    """The same tree on the CPU alone."""
    spec, told = who
    return spec.replace("place=hybrid", "place=host"), told


def table(lines, first, keys, cell):
    """A row for each value of the member `first`, a column for each contender."""
    every = contenders(lines)
    values = list(dict.fromkeys(x[first] for x in lines))
    print_table([keys] + [title(who) for who in every],
                [[power(v) if isinstance(v, int) and v >= 1024 else v]
                 + [cell(who, {first: v}) for who in every] for v in values])


def by_size(lines, base=None, what=MILLIONS):
    """base: contender -> the one that it is held against."""
    def cell(who, at):
        return times(the_line(lines, who, **at),
                     the_line(lines, base(who), **at) if base else None)
    print(f"{what}.\n")
    table(lines, "set", "pairs", cell)


# ---- figures ----------------------------------------------------------------------

def fig7(figure):
    counted = only(figure.measured, run="tlb")
    lines = only(figure.measured, run="cpu")
    first = {who[0]: who for who in reversed(contenders(lines))}
    if lines:
        by_size(lines, lambda who: first[who[0]])
    if counted:
        print("Misses of the TLB per query, one thread.\n")
        table(counted, "set", "pairs",
              lambda who, at: number((the_line(counted, who, **at) or {}).get("tlb_misses")))


def fig8(figure):
    first = {who[0]: who for who in reversed(contenders(figure.measured))}
    by_size(figure.measured, lambda who: first[who[0]])


def fig9(figure):
    first = contenders(figure.measured)[0]
    by_size(figure.measured, lambda who: first, MILLIONS + ", one thread")


def fig11(figure):
    lines = [x | {"bucket": int(x["told"].rpartition("=")[2]), "told": ""}
             for x in figure.measured]
    print(f"{MILLIONS} / microseconds for a call of one bucket, the median.\n")

    def cell(who, at):
        call = the_line(lines, who, batch=at["bucket"], **at)
        most = max((x["batch"] for x in only(lines, **at)), default=0)
        return f"{number(rate(the_line(lines, who, batch=most, **at)))} / " \
            f"{number(call['call_us']) if call else '-'}"
    table(lines, "bucket", "bucket", cell)


def fig12(figure):
    lines = figure.measured
    print(f"{MILLIONS}, {lines[0]['set']} pairs; times uniform queries.\n")
    table(lines, "skew", "queries", lambda who, at: times(
        the_line(lines, who, **at), the_line(lines, who, skew="uniform")))


def fig15(figure):
    print("Milliseconds for a build from memory of the host.\n")

    def cell(who, at):
        line = the_line(figure.measured, who, **at)
        return number(line["build_s"] * 1000) if line else "-"
    table(figure.measured, "set", "pairs", cell)


def fig16(figure):
    by_size(figure.measured, host_of)


def fig16c(figure):
    lines = [x | {"told": ""} for x in figure.measured]
    few, many = min(x["batch"] for x in lines), max(x["batch"] for x in lines)
    print(f"Microseconds for a call of {power(few)} / of {power(many)} queries, the median.\n")

    def cell(who, at):
        calls = [the_line(lines, who, batch=batch, **at) for batch in (few, many)]
        return " / ".join(number(x["call_us"]) if x else "-" for x in calls)
    table(lines, "set", "pairs", cell)


def fig17(figure):
    lines = figure.measured

    def cell(who, at):
        line, base = the_line(lines, who, **at), the_line(lines, host_of(who), **at)
        return times(line, base)
    print(f"10^6 hits a second, {lines[0]['set']} pairs.\n")
    table(lines, "hits", "hits of a range", cell)


def fig18(figure):
    """All are held against the CPU alone, which has no options to heed."""
    alone = {who[0]: who for who in contenders(figure.measured) if "place=host" in who[0]}
    by_size(figure.measured, lambda who: alone.get(host_of(who)[0], who))


def fig19(figure):
    for kind in dict.fromkeys(x["type"] for x in figure.measured):
        lines = only(figure.measured, type=kind)
        first = contenders(lines)[0]
        by_size(lines, lambda who, base=first: base, f"{MILLIONS}, {kind} keys")


def fig20(figure):
    lines = [x | {"ahead": int(x["told"].rpartition("=")[2]), "told": ""}
             for x in figure.measured]
    print(f"{MILLIONS}, all threads / microseconds for a call of as many queries, one thread.\n")

    def cell(who, at):
        call = the_line(lines, who, **at, batch=at["ahead"])
        most = max((x["batch"] for x in only(lines, **at)), default=0)
        return f"{number(rate(the_line(lines, who, **at, batch=most)))} / " \
            f"{number(call['call_us']) if call else '-'}"
    table(lines, "ahead", "in flight", cell)


FIGURES = {
    "hb-plus-fig7": ("HB+ figure 7: pages", fig7),
    "hb-plus-fig8": ("HB+ figure 8: software pipelining and node search", fig8),
    "hb-plus-fig9": ("HB+ figure 9: against another tree", fig9),
    "hb-plus-fig10": ("HB+ figure 10: how buckets are handled", fig8),
    "hb-plus-fig11": ("HB+ figure 11: sizes of buckets", fig11),
    "hb-plus-fig12": ("HB+ figure 12: skewed queries", fig12),
    "hb-plus-fig15": ("HB+ figure 15: building anew", fig15),
    "hb-plus-fig16a": ("HB+ figure 16a: throughput, 64 bits", fig16),
    "hb-plus-fig16b": ("HB+ figure 16b: throughput, 32 bits", fig16),
    "hb-plus-fig16c": ("HB+ figure 16c: latency", fig16c),
    "hb-plus-fig17": ("HB+ figure 17: ranges", fig17),
    "hb-plus-fig18": ("HB+ figure 18: load balancing", fig18),
    "hb-plus-fig19": ("HB+ figure 19: the shared form on the CPU", fig19),
    "hb-plus-fig20": ("HB+ figure 20: queries in flight", fig20),
}
