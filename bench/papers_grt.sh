#!/bin/bash
# The benchmarks 1S to 4D of the paper on GRT, and its figures 2 to 6 without updates:
#
#     bench/papers_grt.sh            (on a machine with a GPU, after `make` and `make climbs`)
#
# Sparse and dense 4-byte keys, books (ISBN-13 in 8 bytes), music (random 16 bytes); single lookups,
# climbs through parents, ranges summed up and written. Prints a JSON line for each measurement, into OUT, too.
#   DEVICE=cuda:0   SIZES="16 20 24 26"   powers of two        QUERIES=2^25   RUNS=5
#   SPECS='radix,guide(layout=pairs),pivot(k=9,layout=pairs)'
#   SX_BIN, CLIMBS, PYTHON     another tool, another build/climbs, python3
#   PARTS="bulk real range rows climb"   some of these
set -u
cd "$(dirname "$0")/.." || exit 1
tool=${SX_BIN:-build/sextant} climbs=${CLIMBS:-build/climbs} device=${DEVICE:-cuda:0}
specs=${SPECS:-'radix,guide(layout=pairs),pivot(k=9,layout=pairs)'}
sizes=${SIZES:-16 20 24 26} queries=${QUERIES:-2^25} runs=${RUNS:-5} parts=${PARTS:-bulk real range rows climb}
big=${sizes##* }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# bench NAME ARGUMENTS...: one line for each spec, named.
bench() {
    local name=$1
    shift
    "$tool" bench --device "$device" --rows 32 --runs "$runs" --json "$@" |
        sed "s/^{/{\"part\": \"$name\", /"
}

for part in $parts; do
    case $part in
    bulk)                         # 1S, 1D, 2S, 2D; figures 2b (bytes), 2a (build_s), 3a, 3b, 6
        for log in $sizes; do
            bench 1S --type u32 --unique --n "2^$log" --queries "$queries" --op get --spec "$specs"
            bench 1D --type u32 --dist dense --n "2^$log" --queries "$queries" --op get --spec "$specs"
        done ;;
    real)                         # 1A, 1B; figure 4
        "${PYTHON:-python3}" - "$work/books.sosd" "${BOOKS:-7000000}" <<'P' || exit 1
import random, struct, sys, array
random.seed(13)
n, keys = int(sys.argv[2]), set()
while len(keys) < n:              # a group, a publisher, and a run of its titles
    first = (978 if random.random() < .9 else 979) * 10**9 + random.randrange(100) * 10**7 + \
        random.randrange(10000) * 10**3
    for title in range(first, first + random.choice((10, 100, 1000))):
        digits = f"{title:012d}"
        check = -sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10
        keys.add(title * 10 + check)
keys = array.array("Q", sorted(keys)[:n])
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<Q", len(keys)))
    keys.tofile(out)
P
        bench 1A --type u64 --keys "$work/books.sosd" --queries "$queries" --op get --spec "$specs"
        bench 1B --type b16 --n "${MUSIC:-9000000}" --queries "$queries" --op get --spec "$specs" ;;
    range)                        # 4S, 4D; figure 5: as many hits as r numbers have
        for hits in 1000 10000 100000 1000000; do
            bench "4D $hits" --type u32 --dist dense --n "2^$big" --op range --hits $hits \
                --ranges $((hits > 10000 ? 4096 : 65536)) --spec "$specs"
        done
        for hits in 16 156 1563 15625; do
            bench "4S ${hits} hits" --type u32 --unique --n "2^$big" --op range --hits $hits \
                --ranges 65536 --spec "$specs"
        done ;;
    rows)                         # the same written: as many rows as fit
        for hits in 1000 10000 100000 1000000; do
            bench "4D rows $hits" --type u32 --dist dense --n "2^$big" --op range_rows --hits $hits \
                --ranges $(((1 << (big + 1)) / hits + 1)) --spec "$specs"
        done ;;
    climb)                        # 3S, 3D; figure 3c
        for keys in sparse dense; do
            for spec in radix 'guide(layout=pairs)'; do
                "$climbs" "$device" "$spec" $keys $((1 << big)) $((1 << 24)) "$runs" || exit 1
            done
        done ;;
    *) echo "PARTS has '$part'; allowed: bulk, real, range, rows, climb" >&2; exit 2 ;;
    esac
done | tee "${OUT:-/dev/null}"
exit "${PIPESTATUS[0]}"
