#!/bin/bash
# The figures of a GPU, in some minutes:
#
#     bench/gpu.sh [A] [B] [C] [D] [E]   (all of them if none is named)
#
#   A  every index on one workload
#   B  what the options of a device do
#   C  from 2^16 to 2^30 keys
#   D  table A's rows on other workloads
#   E  learned indexes: pgm and guide, and hybrid ones
#
# One JSON object per measurement is appended to bench/results/<GPU>-<date>.json.
# bench/gpu_table.py makes tables of it, bench/report.py documents. SX_BIN names
# another tool, OUT_DIR another folder; COMMIT says the commit where there is no
# repository. LESS=18 takes 18 from every power of two: with SX_DEVICE=simt that
# tests this script.
set -u
cd "$(dirname "$0")/.." || exit 1
tool=${SX_BIN:-build/lab/sextant}
device=${SX_DEVICE:-cuda:0}
less=${LESS:-0}
commit=${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}
[ -n "${COMMIT:-}" ] || git diff --quiet HEAD -- src cli include 'bench/*.[ch]' 'bench/*.cu' 2>/dev/null || commit="$commit, changed"
gpu=$("$tool" devices --json | grep "\"name\": \"$device\", \"usable\": true" |
    sed 's/.*"detail": "\([^",]*\).*/\1/' | tr -cs 'A-Za-z0-9\n' '-')
[ -n "$gpu" ] || { echo "$tool: $device is not usable here" >&2; exit 1; }
mkdir -p "${OUT_DIR:-bench/results}"
out=${OUT_DIR:-bench/results}/$gpu-$(date +%Y-%m-%d).json
failed=0
begin=$SECONDS

# run TABLE ARGUMENTS...
run() {
    local table=$1 since=$SECONDS
    shift
    "$tool" bench "$@" --json | sed "s|^{|{\"table\": \"$table\", \"commit\": \"$commit\", |" >>"$out"
    if [ "${PIPESTATUS[0]}" -eq 0 ]; then
        echo "$table: $((SECONDS - since)) s"
    else
        echo "$table: FAILED: sextant bench $*"
        failed=$((failed + 1))
    fi
}

# pow N: 2^N, at least 2^8.
pow() { echo "2^$(($1 - less < 8 ? 8 : $1 - less))"; }

# on OPTIONS...: the device with each of these options, as a list.
on() {
    local list=
    for o in "$@"; do list="$list;$device${o:+,$o}"; done
    echo "${list#;}"
}

queries=$(pow 27)
u32="--type u32 --rows 32 --queries $queries"
u64="--type u64 --rows 32 --queries $queries"
pairs16='pivot(k=9,leaf=16,layout=pairs,block=16)'
best="pivot(k=9),pivot(k=9,layout=pairs),$pairs16,eytzinger(k=17)"

# shellcheck disable=SC2086  # words in $u32 and $u64 are several
table_A() {
    run 'A 4-byte keys' $u32 --unique --n "$(pow 28)" --device "$device" --op get,rank --spec \
        "sorted,eytzinger(k=2),eytzinger(k=9),eytzinger(k=17),pivot(k=9),pivot(k=9,layout=pairs),$pairs16,pivot(k=17),auto"
    run 'A 8-byte keys' $u64 --unique --n "$(pow 28)" --device "$device" --op get,rank --spec \
        'sorted,eytzinger(k=2),eytzinger(k=5),eytzinger(k=9),pivot(k=5),pivot(k=5,layout=pairs),pivot(k=9),pivot(k=9,layout=pairs),auto'
    run 'A fewer keys' $u32 --unique --n "$(pow 24)" --device "$device" --op get,rank --spec \
        "sorted,eytzinger(k=2),$best,auto"
    run 'A ascending queries' $u32 --unique --sorted --n "$(pow 28)" --device "$device" --op get,rank \
        --spec "sorted,$best"
    for hits in 64 16384; do
        run "A ranges of $hits" $u32 --unique --n "$(pow 28)" --device "$device" --op range \
            --hits $hits --ranges "$(pow 16)" \
            --spec 'sorted,eytzinger(k=9),pivot(k=9),pivot(k=9,layout=pairs)'
    done
    run 'A memory of the host' $u32 --unique --n "$(pow 28)" --device "$device" \
        --op get_pageable,get_pinned,small --spec "sorted,$best"
}

# Every row of A again on other workloads.
# shellcheck disable=SC2086
table_D() {
    local of all=get,rank,get_pageable,get_pinned,small

    for of in '--unique --misses 0.5' '--unique --zipf' '--dist clustered' '--dist lognormal' \
              '--dist duplicates'; do
        local name=${of#--unique }
        name=${name#--}
        run "D $name" $u32 $of --n "$(pow 28)" --device "$device" --op $all \
            --spec "pivot(k=9),$pairs16"
        for hits in 64 16384; do
            run "D $name, ranges of $hits" $u32 $of --n "$(pow 28)" --device "$device" --op range \
                --hits $hits --ranges "$(pow 16)" --spec 'pivot(k=9)'
        done
        run "D $name, ascending queries" $u32 $of --sorted --n "$(pow 28)" --device "$device" \
            --op get --spec "pivot(k=9),$pairs16"
        run "D $name, 8-byte keys" $u64 $of --n "$(pow 28)" --device "$device" --op get,rank \
            --spec 'pivot(k=5,layout=pairs)'
        run "D $name, fewer keys" $u32 $of --n "$(pow 24)" --device "$device" --op get,rank \
            --spec 'pivot(k=9,layout=pairs)'
    done
}

# shellcheck disable=SC2086
table_B() {
    local base="$u32 --unique --n $(pow 28) --runs 3 --builds 0"
    local tree="pivot(k=2,levels=$((10 - less / 3))),pivot(k=2,levels=$((20 - less)))"
    tree="$tree,pivot(k=2,levels=$((24 - less))),pivot(k=2,levels=$((27 - less)))"
    local specs="sorted,eytzinger(k=2),$tree,eytzinger(k=9),pivot(k=9)"
    local list=() wide narrow

    for schedule in static dynamic; do
        for block in 128 256 512 1024; do
            list+=("schedule=$schedule,block=$block,each=$((1024 / block))"
                   "schedule=$schedule,block=$block,each=$((2048 / block))")
        done
    done
    run 'B schedule and block' $base --device "$(on "${list[@]}")" --op get --spec "$specs"
    run 'B pin' $base --device "$(on pin=none pin=steps pin=full)" --op get --spec "$specs"
    list=("")
    for how in none lookup double; do
        list+=("reorder=$how" "reorder=$how,block=128,each=16" "reorder=$how,block=1024,each=2")
    done
    run 'B reorder' $base --device "$(on "${list[@]}")" --op get --spec "$specs"
    narrow='sorted,eytzinger(k=2),eytzinger(k=9),pivot(k=9),pivot(k=17)'
    wide='sorted(layout=pairs),eytzinger(k=2,layout=pairs),eytzinger(k=9,layout=pairs),pivot(k=9,layout=pairs),pivot(k=17,layout=pairs)'
    run 'B layout' $base --device "$device" --op get,rank --spec "$narrow,$wide,$pairs16"
    run 'B walk and k' $base --device "$(on walk=alone walk=shared walk=group)" --op get --spec \
        'eytzinger(k=3),eytzinger(k=5),eytzinger(k=9),eytzinger(k=17),eytzinger(k=33),pivot(k=3),pivot(k=5),pivot(k=9),pivot(k=17),pivot(k=33)'
    for hits in 64 16384; do
        run "B scan, ranges of $hits" $base --device "$(on scan=thread scan=mixed scan=warp)" \
            --op range --hits $hits --ranges "$(pow 16)" \
            --spec 'sorted,eytzinger(k=9),pivot(k=9),pivot(k=9,layout=pairs)'
    done
}

# shellcheck disable=SC2086
table_C() {
    for log in 16 18 20 22 24 26 28 30; do
        run "C 2^$log" $u32 --unique --n "$(pow $log)" --device "$device" --op get,range --hits 1024 \
            --ranges "$(pow 16)" \
            --spec 'sorted,eytzinger(k=2),eytzinger(k=9),eytzinger(k=17),pivot(k=9),pivot(k=9,layout=pairs)'
    done
}

# shellcheck disable=SC2086
table_E() {
    local of lines='pgm(eps=8,layout=pairs),pgm(eps=16,layout=pairs),pgm(eps=64,layout=pairs)'
    local learned="guide(layout=pairs),$lines" many="--n $(pow 28) --device $device --builds 1"
    local host=''

    run 'E 4-byte keys' $u32 --unique $many --op get,rank \
        --spec "guide(layout=pairs),guide,$lines,pgm(eps=8),pgm(eps=16),sorted"
    run 'E 4-byte keys that may repeat' $u32 $many --op get,rank --spec "$learned"
    run 'E 8-byte keys' $u64 --unique $many --op get,rank --spec "$learned"
    run 'E fewer keys' $u32 --unique --n "$(pow 24)" --device "$device" --op get,rank \
        --spec "$learned"
    run 'E half of the queries miss' $u32 --unique --misses 0.5 $many --op get --spec "$learned"
    run 'E few keys asked for very often' $u32 --unique --zipf $many --op get --spec "$learned"
    for of in lognormal clustered; do
        run "E $of" $u64 --dist $of $many --op get \
            --spec "$learned,pivot(k=9,layout=pairs)"
    done
    run 'E 10^8 keys in memory of the host' $u32 --unique --n "$((100000000 >> less))" \
        --device "$device" --op get_pageable,get_pinned \
        --spec 'guide(layout=pairs),pgm(eps=8,layout=pairs)'
    for of in 'pivot(k=9)' 'pivot(k=9,layout=pairs)' 'pgm(eps=1)' 'pgm(eps=8)' \
              'eytzinger(k=9)' 'guide'; do
        host="$host,$of place=host,$of place=hybrid"
    done
    run 'E hybrid' --type u64 --rows 32 --queries "$(pow 26)" --unique \
        --n "$((100000000 >> less))" --device "$device" --builds 0 --op get_pinned --spec "${host#,}"
    run 'E fitting' $u32 --unique --n "$(pow 28)" --device "$device,search=complete" --runs 1 --op get \
        --spec 'sorted,pgm(eps=16)'
    run 'E options' $u32 --unique $many --runs 3 --op get --device \
        "$(on '' walk=alone pin=none pin=steps pin=constant persist=20MiB search=concise)" \
        --spec 'guide(layout=pairs),pgm(eps=8,layout=pairs),pgm(eps=64,layout=pairs)'
}

[ $# -gt 0 ] || set -- A B C D E
for table in "$@"; do
    case $table in
    A | B | C | D | E) "table_$table" ;;
    *) echo "$0: the tables are A, B, C, D and E, not $table" >&2; exit 2 ;;
    esac
done
echo "$((SECONDS - begin)) s, $failed failed, appended to $out"
[ "$failed" -eq 0 ]
