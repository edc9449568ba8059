#!/bin/bash
# The figures and tables of three papers again, on a machine with a GPU:
#
#     bench/papers.sh FIGURE...      (or all, in some four minutes; or hb-plus)
#
#   gpu-pgm-fig4    gpu-pgm-fig5    gpu-pgm-table2    gpu-pgm-table3
#   g-learned-fig7  g-learned-fig8  g-learned-fig9    g-learned-fig10
#   g-learned-fig13 g-learned-table1  g-learned-table2
#   hb-plus-fig7 to 12, 15, 16a, 16b, 16c, 17 to 20   (all of them: hb-plus)
#
# GPU-PGM: X. Zhong and others, Learned Index on GPU. G-Learned: J. Liu and
# others, G-Learned Index: Enabling Efficient Learned Index on GPU. Both: all. HB+:
# bench/papers_hb.sh; figures 7, 8, 9, 19 and 20 of it need no GPU (DEVICE=cpu).
# doc/papers/ says what they show.
#
# Each becomes a file FIGURE.json of OUT_DIR (bench/results/papers-GPU-DATE),
# one JSON object per measurement; bench/papers.py makes tables of them.
#   SX_BIN, COMMIT, DEVICE   another tool, its commit, another GPU
#   SOSD_DIR    has files of the SOSD benchmark, such as books_200M_uint32;
#               sets that it does not have are generated
#   LOG=26      the generated stand-ins for them have 2^26 keys
#   PEERS       the programs of `make peers` (build/peers)
#   PYTHON      a Python that has NumPy (build/venv/bin/python)
#   SMALL=1     few keys, on the emulator: tests this script, in seconds
# shellcheck disable=SC2086  # lists of sets and runs are several words
set -u
cd "$(dirname "$0")/.." || exit 1
tool=${SX_BIN:-build/lab/sextant}
small=${SMALL:-}
device=${DEVICE:-$([ -n "$small" ] && echo simt || echo cuda:0)}
peers=${PEERS:-build/peers}
python=${PYTHON:-build/venv/bin/python}
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
[ -n "${COMMIT:-}" ] || git diff --quiet HEAD -- src cli include 'bench/*.[ch]' 'bench/*.cu' 2>/dev/null || commit="$commit, changed"
gpu=$("$tool" devices --json | grep "\"name\": \"$device\", \"usable\": true" |
    sed 's/.*"detail": "\([^",]*\).*/\1/' | tr -cs 'A-Za-z0-9\n' '-')
[ -n "$gpu" ] || { echo "$tool: $device is not usable here" >&2; exit 1; }
out=${OUT_DIR:-bench/results/papers-$gpu-$(date +%Y-%m-%d)}
mkdir -p "$out" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
begin=$SECONDS

# As many queries as G-Learned asks, 2^22, in batches from 2^10 queries to all of
# them. One CPU thread gets fewer.
if [ -n "$small" ]; then
    big=4096 most=4096 queries=2048 cpu_queries=2048 runs=1
    few=256 all=2048 three=256,512,2048 seven=256,512,1024,2048
else
    big=2^${LOG:-26} most='' queries=2^22 cpu_queries=2^20 runs=2
    few=2^10 all=2^22 three=2^10,2^16,2^22 seven=2^10,2^12,2^14,2^16,2^18,2^20,2^22
fi
eps='pgm(eps=128)'

# ---- keys -------------------------------------------------------------------

# set_of NAME: type, distribution, how many keys, files of SOSD. Normal and
# exponential keys are real numbers, scaled: a PGM-index does not see that.
set_of() {
    case $1 in
    books) echo "u32 books-like $big books_200M_uint32" ;;
    wiki) echo "u64 wiki-like $big wiki_ts_200M_uint64" ;;
    fb) echo "u64 fb-like $big fb_200M_uint64" ;;
    osm) echo "u64 osm-like $big osm_cellids_200M_uint64" ;;
    1e5) echo "u32 uniform ${most:-1e5} -" ;;
    1e6) echo "u64 normal ${most:-1e6} -" ;;
    1e7) echo "u64 exponential ${most:-1e7} -" ;;
    1e8) echo "u32 uniform ${most:-1e8} -" ;;
    esac
}

# keys_of NAME: the file of the keys. Its ending tells the type.
keys_of() {
    local type dist n sosd
    read -r type dist n sosd <<<"$(set_of "$1")"
    if [ -n "${SOSD_DIR:-}" ] && [ -z "$small" ] && [ -f "$SOSD_DIR/$sosd" ]; then
        echo "$SOSD_DIR/$sosd"
    else
        echo "$work/$1-${dist}_uint${type#u}"
    fi
}

# need NAME...: makes sure that these keys are there, sorted.
need() {
    local name type dist n sosd path since=$SECONDS
    for name in "$@"; do
        read -r type dist n sosd <<<"$(set_of "$name")"
        path=$(keys_of "$name")
        [ -f "$path" ] || "$tool" gen --type "$type" --dist "$dist" --n "$n" --sorted \
            --format sosd -o "$path" &
    done
    wait
    [ $((SECONDS - since)) -eq 0 ] || echo "keys: $((SECONDS - since)) s"
}

# queries_of NAME: the file of the queries that peers get.
queries_of() {
    local keys path=$work/$1-queries.sosd type _
    read -r type _ <<<"$(set_of "$1")"
    keys=$(keys_of "$1")
    [ -f "$path" ] || "$tool" gen --from "$keys" --type "$type" --n "$cpu_queries" -o "$path"
    echo "$path"
}

# ---- measuring --------------------------------------------------------------

# run NAME COMMAND...: its lines go to $work/NAME.json, once for all figures.
run() {
    local name=$1 since=$SECONDS
    shift
    [ ! -f "$work/$name.json" ] || return 0
    if "$@" >"$work/$name.json"; then
        echo "$name: $((SECONDS - since)) s"
    else
        echo "$name: FAILED: $*"
        failed=$((failed + 1))
    fi
}

# bench NAME SET ARGUMENTS...: measures the positions of the keys of a set.
bench() {
    local name=$1 set=$2
    shift 2
    run "$name-$set" "$tool" bench --keys "$(keys_of "$set")" --rows none --runs $runs --json "$@"
}

gpu() {
    bench gpu "$1" --device "$device" --queries $queries --batch $three --latency --builds 0 \
        --op get,get_pageable,get_pinned --spec "$eps,$eps place=hybrid,$eps place=host,pivot,guide"
}

cpu() {
    bench cpu "$1" --device cpu --threads 1 --queries $cpu_queries --batch $few,$cpu_queries \
        --latency --explain --op get --spec "$eps,sorted"
}

builds() {
    bench builds "$1" --device "$device" --queries 2^10 --from-host --builds 2 --explain --op get \
        --spec "sorted,$eps,$eps place=hybrid,$eps place=host,pivot,guide"
}

# peer NAME SET COMMAND...
peer() {
    local name=$1 set=$2 type _
    read -r type _ <<<"$(set_of "$set")"
    shift 2
    run "$name-$set" "$@" "$type" "$(keys_of "$set")" "$(queries_of "$set")" 1 0
}

tree() {
    if [ -x "$peers/btree_map" ]; then
        peer tree "$1" "$peers/btree_map"
    else
        missing "tree-$1" "B+-tree" "not built: make peers"
    fi
    if "$python" -c 'import numpy' 2>/dev/null; then
        peer numpy "$1" "$python" bench/peers/searchsorted.py
    else
        missing "numpy-$1" numpy.searchsorted "no NumPy here"
    fi
}

# missing NAME SPEC WHY
missing() {
    [ -f "$work/$1.json" ] || echo "$1: not measured, $3"
    printf '{"spec": "%s", "not_measured": "%s"}\n' "$2" "$3" >"$work/$1.json"
}

# ---- writing ----------------------------------------------------------------

cpu_name=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -d '"')
start() {
    printf '{"figure": "%s", "commit": "%s", "command": "bench/papers.sh %s", "small": %s, ' "$1" \
        "$commit" "$1" "$([ -n "$small" ] && echo true || echo false)" >"$out/$1.json"
    printf '"cpu": "%s", "cores": %s}\n' "$cpu_name" "$(nproc)" >>"$out/$1.json"
}

# put FIGURE SET [PATTERN] RUN...: takes lines of those runs that match.
put() {
    local figure=$1 set=$2 pattern=$3 run
    shift 3
    for run in "$@"; do
        grep -v '^{"header"' "$work/$run.json" | grep -E "\"not_measured\"|$pattern" |
            sed "s|^{|{\"figure\": \"$figure\", \"set\": \"$set\", \"run\": \"${run%%-*}\", |" >>"$out/$figure.json"
    done
}

# A power of two, as a JSON number.
number() { echo "$((${1/^/**}))"; }
of_batch() { echo "\"batch\": $(number "$1"),"; }

# ---- GPU-PGM ----------------------------------------------------------------

four='books wiki fb osm'
seven_sets='books fb osm 1e5 1e6 1e7 1e8'

gpu_pgm_fig4() {
    need $four
    for s in $four; do
        gpu "$s"; cpu "$s"; tree "$s"
        put gpu-pgm-fig4 "$s" 'get_p|"threads": 1' gpu-$s cpu-$s tree-$s numpy-$s
    done
}

gpu_pgm_fig5() {
    need $four
    for s in $four; do
        gpu "$s"; tree "$s"
        put gpu-pgm-fig5 "$s" 'get_p|"threads": 1' gpu-$s tree-$s
    done
}

gpu_pgm_table2() {
    need $four
    for s in $four; do
        builds "$s"; cpu "$s"; tree "$s"
        put gpu-pgm-table2 "$s" '"build_s"' builds-$s cpu-$s tree-$s
    done
}

gpu_pgm_table3() {
    need $four
    for s in $four; do
        builds "$s"; cpu "$s"; tree "$s"
        put gpu-pgm-table3 "$s" '"index"|"bytes"' builds-$s cpu-$s tree-$s
    done
}

# ---- G-Learned --------------------------------------------------------------

g_learned_fig7() {
    need $seven_sets
    for s in $seven_sets; do
        gpu "$s"; cpu "$s"
        put g-learned-fig7 "$s" "get_p.*$(of_batch $all)|$(of_batch $cpu_queries).*\"threads\": 1" \
            gpu-$s cpu-$s
    done
}

g_learned_fig8() {
    need $seven_sets
    for s in $seven_sets; do
        gpu "$s"; cpu "$s"
        put g-learned-fig8 "$s" "get_p.*$(of_batch $few)|$(of_batch $few).*\"threads\": 1" gpu-$s cpu-$s
    done
}

g_learned_fig9() {
    need 1e7 osm
    for s in 1e7 osm; do
        bench batches $s --device "$device" --queries $queries --batch $seven --latency --builds 0 \
            --op get_pageable,get_pinned --spec "$eps,$eps place=hybrid,$eps place=host"
        put g-learned-fig9 $s get_p batches-$s
    done
}

g_learned_fig10() {
    local specs='' e
    need 1e7
    for e in 16 32 64 128 256 512 1024 2048; do
        specs="$specs,pgm(eps=$e),pgm(eps=$e) place=hybrid"
    done
    bench eps 1e7 --device "$device" --queries $queries --batch $few,$all --latency --explain \
        --builds 0 --op get,get_pageable,get_pinned --spec "${specs#,}"
    put g-learned-fig10 1e7 '"index"' eps-1e7
}

g_learned_fig13() {
    need $seven_sets
    for s in $seven_sets; do
        gpu "$s"; cpu "$s"
        put g-learned-fig13 "$s" \
            "\"op\": \"get\".*($(of_batch $all)|$(of_batch $few))|$(of_batch $cpu_queries).*\"threads\": 1" \
            gpu-$s cpu-$s
    done
}

# Which memory segments are in while queries run. Memory that the device does not
# have is left out.
g_learned_table1() {
    local list=$device,pin=none p
    need 1e6
    for p in constant steps; do
        if "$tool" bench --device "$device,pin=$p" --n 64 --queries 64 --runs 1 --builds 0 --op get \
            --spec "$eps" >"$work/try" 2>&1; then
            list="$list;$device,pin=$p"
        else
            missing "pin$p-1e6" "pin=$p" "the device has no pin=$p"
            pins="$pins pin$p-1e6"
        fi
    done
    bench pins 1e6 --device "$list" --queries $queries --batch $three --latency --explain \
        --builds 0 --op get --spec 'pgm(eps=32),pgm(eps=64),pgm(eps=128),pgm(eps=256)'
    # shellcheck disable=SC2086
    put g-learned-table1 1e6 '"index"' pins-1e6 $pins
}

# How long each takes for a batch: the whole index on the GPU, with columns there
# and on the host; hybrid, with half of a batch on the GPU's way at a time; the CPU.
g_learned_table2() {
    local k b batches='10 12 14 16 17 18'
    [ -z "$small" ] || batches='8 9'
    need 1e7
    for k in $batches; do
        b=$((1 << k))
        bench "parts$k" 1e7 --device "$device,bucket=$((b / 2))" --queries $((b * 64 < 1 << 22 ? b * 64 : 1 << 22)) \
            --batch $b --latency --builds 0 --op get,get_pageable,get_pinned \
            --spec "$eps,$eps place=hybrid,$eps place=host"
        put g-learned-table2 1e7 '"op": "get' "parts$k-1e7"
    done
}

# ---- all of it --------------------------------------------------------------

figures='gpu-pgm-fig4 gpu-pgm-fig5 gpu-pgm-table2 gpu-pgm-table3'
figures="$figures g-learned-fig7 g-learned-fig8 g-learned-fig9 g-learned-fig10 g-learned-fig13"
figures="$figures g-learned-table1 g-learned-table2"
pins=
# shellcheck source=bench/papers_hb.sh
. bench/papers_hb.sh
[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
[ "$*" != all ] || set -- $figures
[ "$*" != hb-plus ] || set -- $hb_figures
figures="$figures$hb_figures"
for figure in "$@"; do
    case " $figures " in
    *" $figure "*) ;;
    *) echo "$0: the figures are all, hb-plus, ${figures// /, }, not $figure" >&2; exit 2 ;;
    esac
done
case "$*" in
*hb-plus*) ;;
*) [ $# -lt 4 ] || need books wiki fb osm 1e5 1e6 1e7 1e8 ;;
esac
for figure in "$@"; do
    start "$figure"
    "${figure//-/_}"
done
echo "$((SECONDS - begin)) s, $failed failed, written to $out"
[ "$failed" -eq 0 ]
