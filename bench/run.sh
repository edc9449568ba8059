#!/bin/bash
# Writes the figures of the CPU into bench/results/. BIG= leaves out 2^26 keys. `make report`
# puts the figures of the tree into documents.
set -eu
cd "$(dirname "$0")/.."
tool=build/sextant
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -cs 'A-Za-z0-9' '-' | sed 's/-$//')
out=bench/results/${cpu:-cpu}-$(date +%Y-%m-%d).json
# COMMIT says the commit where there is no repository.
commit=${COMMIT:-$(git rev-parse --short HEAD)}
[ -n "${COMMIT:-}" ] || git diff --quiet HEAD -- src cli include 'bench/*.[ch]' 'bench/*.cu' || commit="$commit, changed"
: "${BIG=2^26}"
printf '{"commit": "%s", "cores": %s, "memory_kib": %s, "compiler": "%s"}\n' "$commit" "$(nproc)" \
    "$(awk '/MemTotal/ {print $2}' /proc/meminfo)" "$(cc --version 2>/dev/null | head -n 1)" >"$out"

# run NAME ARGUMENTS...: shows the lines as a table, and keeps them as JSON with the command.
run() {
    local name=$1
    shift
    echo
    echo "== $name: sextant bench $*"
    printf '{"run": "%s", "command": "sextant bench %s"}\n' "$name" "$*" >>"$out"
    "$tool" bench "$@" --json | tee -a "$out" | python3 bench/show.py
}

pivot='pivot,pivot(layout=pairs)'
for n in 2^24 $BIG; do
    run "points $n" --type u64 --dist uniform --n "$n" --op get,rank --threads 1 \
        --spec "sorted,eytzinger(k=2),eytzinger(k=9),$pivot"
    for dist in clustered lognormal dense duplicates; do
        run "points $n $dist" --type u64 --dist $dist --n "$n" --op get,rank --threads 1 --spec "$pivot"
    done
done
run "narrow keys" --type u32 --dist uniform --n "${BIG:-2^24}" --op get,rank --threads 1 --spec "$pivot"
run "wide keys" --type b16 --dist uniform --n 2^24 --op get,rank --threads 1 --spec "$pivot"
run "two threads" --type u64 --dist uniform --n 2^24 --op get,rank --threads 2 --spec "$pivot"
run "misses" --type u64 --dist uniform --n 2^24 --op get,rank --threads 1 --spec pivot --misses 0.5
run "ranges" --type u64 --dist uniform --n 2^24 --op range --hits 10000 --queries 2^13 --threads 1 \
    --spec "sorted,eytzinger(k=9),$pivot"
for n in 2^10 2^16 2^20 2^24; do
    run "one key a call $n" --type u64 --dist uniform --n $n --op get,rank --threads 1 --batch 1 \
        --queries 2^20 --spec "sorted,eytzinger(k=2),eytzinger(k=9),pivot"
done
echo
echo "== sorting and building"
printf '{"run": "sorting and building", "command": "build/bench-sort"}\n' >>"$out"
[ -x build/bench-sort ] || make -s build/bench-sort
build/bench-sort | tee -a "$out"
echo
echo "written to $out"
