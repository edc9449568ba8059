# papers_hb.sh - figures 7 to 20 of the paper HB+ (A. Shahvarani and others, A
# Hybrid B+-tree as Solution for In-Memory Indexing on CPU-GPU Heterogeneous Computing
# Platforms): a part of papers.sh, whose variables and functions it uses. Figures 13, 14
# and 21 are of updates.
#   HB_LOGS='23 25 27'   trees of 2^23 to 2^27 pairs
#   HB_CPU_LOGS='23 25'  those of figures that only a CPU answers: 7, 8, 9, 19
#   HB_SECONDS=480       what is not begun by then, since papers.sh began, is left out
#   HB_LIMIT=100         seconds after which one measurement is given up
#   HB_SPECS             another file than bench/hb_specs.sh
# Keys are uniform, with rows of their width, and all queries are hits.
# shellcheck shell=bash disable=SC2154  # papers.sh says these

# shellcheck source=bench/hb_specs.sh
. "${HB_SPECS:-bench/hb_specs.sh}"

hb_figures=
for hb_number in 7 8 9 10 11 12 15 16a 16b 16c 17 18 19 20; do
    hb_figures="$hb_figures hb-plus-fig$hb_number"
done
if [ -n "$small" ]; then
    hb_logs='10 12' hb_cpu_logs='10 12' hb_log=12 hb_queries=2048 hb_cpu_queries=2048
    hb_buckets='256 512' hb_bucket=512 hb_call=64
else
    hb_logs=${HB_LOGS:-23 25 27} hb_queries=2^22 hb_buckets='8192 16384 32768 65536' hb_bucket=16384
    hb_cpu_logs=${HB_CPU_LOGS:-23 25} hb_cpu_queries=2^21 hb_call=256
    hb_log=${hb_logs##* }                # where a figure is of one tree
fi
hb_cpu_log=${hb_cpu_logs##* }

# ---- measuring ----------------------------------------------------------------

# hb_keys TYPE LOG: a file of keys; its name tells the type.
hb_keys() {
    local path=$work/hb-$2_uint${1#u}
    [ -f "$path" ] || "$tool" gen --type "$1" --n "2^$2" --sorted --format sosd -o "$path" || return 1
    echo "$path"
}

# hb_missing FIGURE WHAT WHY
hb_missing() {
    printf '{"figure": "%s", "spec": "%s", "not_measured": "%s"}\n' "$@" >>"$out/$1.json"
}

# hb_bench TYPE LOG DEVICES SPECS ARGUMENTS...: lines go to $work/hb.json. DEVICES and SPECS are
# lists with semicolons.
hb_bench() {
    local type=$1 log=$2 devices=$3 specs=${4//;/,} keys
    shift 4
    keys=$(hb_keys "$type" "$log") &&
        timeout "${HB_LIMIT:-100}" "$tool" bench --keys "$keys" --type "$type" --rows "${type#u}" \
            --device "$devices" --runs "$runs" --json --spec "$specs" "$@" >"$work/hb.json" 2>"$work/hb.err"
}

# hb_why DEVICE SPEC TYPE: why that is refused, or nothing; asked once.
declare -A hb_known
hb_why() {
    local key="$3 $1 $2"
    [ -n "${hb_known["$key"]+told}" ] || hb_known["$key"]=$(hb_refused "$@")
    why=${hb_known["$key"]}
}

# hb_allowed FIGURE TYPE DEVICES SPECS: of lists that were refused, the devices and specs that
# are not; a line says why each other one is.
hb_allowed() {
    local figure=$1 type=$2 name spec why good_devices='' good_specs=''
    local IFS=';'
    for spec in $4; do
        hb_why "${3%%[,;]*}" "$spec" "$type"
        if [ -n "$why" ]; then           # whatever the options are
            hb_missing "$figure" "$spec" "$why"
            continue
        fi
        good_specs="$good_specs;$spec"
        for name in $3; do
            hb_why "$name" "$spec" "$type"
            if [ -n "$why" ]; then
                hb_missing "$figure" "$spec with ${name#*,}" "$why"
            elif [[ ";$good_devices;" != *";$name;"* ]]; then
                good_devices="$good_devices;$name"
            fi
        done
    done
    hb_devices=${good_devices#;} hb_these=${good_specs#;}
}

# hb FIGURE cpu|gpu TYPE LOG OPTIONS SPECS ARGUMENTS...: measures SPECS on a device with each of
# OPTIONS, two lists with semicolons, in one go. Lines say the size as their set, and the
# options as told.
hb() {
    local figure=$1 run=$2 type=$3 log=$4 specs=$6 base=cpu names='' told since=$SECONDS
    local IFS=';'
    if [ $((SECONDS - begin)) -gt "${HB_SECONDS:-480}" ]; then
        hb_missing "$figure" "$6, 2^$log" "its turn had not come after ${HB_SECONDS:-480} s"
        return 0
    fi
    [ "$run" = cpu ] || base=$device
    for told in ${5:-;}; do
        names="$names;$base${told:+,$told}"
    done
    IFS=' ' names=${names#;}
    shift 6
    if ! hb_bench "$type" "$log" "$names" "$specs" "$@"; then
        hb_allowed "$figure" "$type" "$names" "$specs"
        [ -n "$hb_devices" ] || return 0
        if [ "$hb_devices;$hb_these" = "$names;$specs" ] ||
            ! hb_bench "$type" "$log" "$hb_devices" "$hb_these" "$@"; then
            echo "$figure, 2^$log: FAILED: $hb_devices, $hb_these: $(tail -n 1 "$work/hb.err")"
            hb_missing "$figure" "$hb_these, 2^$log" "it failed, or took more than ${HB_LIMIT:-100} s"
            failed=$((failed + 1))
            return 0
        fi
    fi
    grep -v '^{"header"\|"spec": "binary_search"' "$work/hb.json" |
        sed "s|^{\(.*\)\"options\": \"\([^\"]*\)\"|{\"figure\": \"$figure\", \"set\": \"2^$log\", \"run\": \"$run\", \"told\": \"\2\", \1\"options\": \"\2\"|" \
            >>"$out/$figure.json"
    echo "$figure, 2^$log: $((SECONDS - since)) s"
}

# hb_gpu FIGURE TYPE LOG OPTIONS SPECS ARGUMENTS...: queries and results are the host's.
hb_gpu() {
    local figure=$1 type=$2 log=$3 told=$4 specs=$5
    shift 5
    hb "$figure" gpu "$type" "$log" "$told" "$specs" --builds 0 --queries "$hb_queries" --op get_pageable "$@"
}

hb_cpu() {
    local figure=$1 type=$2 log=$3 told=$4 specs=$5
    shift 5
    hb "$figure" cpu "$type" "$log" "$told" "$specs" --queries "$hb_cpu_queries" --op get "$@"
}

# A list with semicolons of all arguments.
hb_list() {
    local IFS=';'
    echo "$*"
}

hb_both="$hb_implicit;$hb_regular"
hb_places="$hb_implicit place=host;$hb_implicit place=hybrid;$hb_regular place=host;$hb_regular place=hybrid"
hb_hybrid="$hb_implicit place=hybrid;$hb_regular place=hybrid"

# hb_counted DEVICE KEYS SPECS RUNS: misses of the TLB in a whole run of the bench.
hb_counted() {
    perf stat -x, -e dTLB-load-misses -o "$work/perf" "$tool" bench --keys "$2" --type u64 --rows 64 \
        --device "$1" --threads 1 --queries "$hb_cpu_queries" --runs "$4" --op get --spec "$3" \
        >/dev/null 2>&1 || return 1
    sed -n 's/^\([0-9][0-9]*\),.*dTLB-load-misses.*/\1/p' "$work/perf" | grep .
}

# hb_tlb LOG OPTIONS SPEC: misses per query. All that is no lookup of the spec is the same
# whether it is listed once or twice, but for its build, and whether it has 1 run or 3, but
# for plain binary search: the difference of the differences has two passes alone.
hb_tlb() {
    local name=cpu${2:+,$2} keys a b c d
    [ -z "$(hb_refused "$name" "$3")" ] || return 0     # is said already
    keys=$(hb_keys u64 "$1") || return 0
    if a=$(hb_counted "$name" "$keys" "$3" 1) && b=$(hb_counted "$name" "$keys" "$3,$3" 1) &&
        c=$(hb_counted "$name" "$keys" "$3" 3) && d=$(hb_counted "$name" "$keys" "$3,$3" 3); then
        printf '{"figure": "hb-plus-fig7", "set": "2^%s", "run": "tlb", "told": "%s", "spec": "%s", ' \
            "$1" "$2" "$3" >>"$out/hb-plus-fig7.json"
        printf '"requested_spec": "%s", "op": "get", "batch": 0, "tlb_misses": %s, "wrong": 0}\n' "$3" \
            "$(awk "BEGIN { print ($d - $c - $b + $a) / (2 * $(number "$hb_cpu_queries")) }")" \
            >>"$out/hb-plus-fig7.json"
    else
        hb_missing hb-plus-fig7 'TLB misses' 'perf can not read the counters here'
    fi
}

# ---- figures ------------------------------------------------------------------

# Pages: both segments small, inner nodes huge, both huge.
hb_plus_fig7() {
    for log in $hb_cpu_logs; do
        hb_cpu hb-plus-fig7 u64 "$log" "$(hb_list "${hb_pages[@]}")" "$hb_both"
        for told in "${hb_pages[@]}"; do
            hb_tlb "$log" "$told" "$hb_implicit"
            hb_tlb "$log" "$told" "$hb_regular"
        done
    done
}

hb_plus_fig8() {
    for log in $hb_cpu_logs; do
        hb_cpu hb-plus-fig8 u64 "$log" "$(hb_list "${hb_searches[@]}")" "$hb_both"
    done
}

# FAST is not to be had. A static k-ary tree in search order stands in for it, and
# absl::btree_map shows the scale.
hb_plus_fig9() {
    for log in $hb_cpu_logs; do
        hb_cpu hb-plus-fig9 u64 "$log" '' "$hb_fast_stand_in;$hb_implicit" --threads 1
        if [ -x "$peers/absl_btree_map" ]; then
            hb_peer "$log"
        else
            hb_missing hb-plus-fig9 absl::btree_map 'not built: make peers'
        fi
    done
}

hb_peer() {
    local keys queries=$work/hb-queries.sosd
    keys=$(hb_keys u64 "$1") &&
        "$tool" gen --from "$keys" --type u64 --n "$cpu_queries" -o "$queries" &&
        "$peers/absl_btree_map" u64 "$keys" "$queries" 1 0 |
        sed "s|^{|{\"figure\": \"hb-plus-fig9\", \"set\": \"2^$1\", \"run\": \"peer\", \"told\": \"\", |" \
            >>"$out/hb-plus-fig9.json"
}

hb_plus_fig10() {
    local told strategies=
    for told in "${hb_strategies[@]}"; do
        strategies="$strategies;$hb_forced,$hb_plain,$told,bucket=$hb_bucket"
    done
    for log in $hb_logs; do
        hb_gpu hb-plus-fig10 u64 "$log" "${strategies#;}" "$hb_hybrid"
    done
}

# Throughput by all queries in one call; latency by calls of one bucket.
hb_plus_fig11() {
    local bucket sizes= batches=
    for bucket in $hb_buckets; do
        sizes="$sizes;$hb_forced,bucket=$bucket"
        batches="$batches,$bucket"
    done
    hb_gpu hb-plus-fig11 u64 "$hb_log" "${sizes#;}" "$hb_hybrid" --latency --batch "${batches#,},$hb_queries"
}

hb_plus_fig12() {
    for skew in uniform normal gamma zipf2; do
        hb_gpu hb-plus-fig12 u64 "$hb_cpu_log" '' "$hb_hybrid;$hb_implicit place=host" --skew $skew
    done
}

# An update of the implicit tree builds it anew.
hb_plus_fig15() {
    for log in $hb_logs; do
        hb hb-plus-fig15 gpu u64 "$log" '' "sorted place=host;$hb_implicit place=host;$hb_implicit place=hybrid" \
            --from-host --builds 1 --queries "$hb_queries" --op get_pageable
    done
}

hb_plus_fig16a() {
    for log in $hb_logs; do hb_gpu hb-plus-fig16a u64 "$log" '' "$hb_places"; done
}

hb_plus_fig16b() {
    for log in $hb_logs; do hb_gpu hb-plus-fig16b u32 "$log" '' "$hb_places"; done
}

# As many queries in a call as the paper has in flight: 2^14 by both, 2^8 by the CPU.
hb_plus_fig16c() {
    for log in $hb_logs; do
        hb_gpu hb-plus-fig16c u64 "$log" "$hb_forced,bucket=$hb_bucket" "$hb_places" --latency \
            --batch "$hb_call,$hb_bucket"
    done
}

# Ends and rows of ranges are the host's.
hb_plus_fig17() {
    for hits in 1 4 8 32; do
        hb hb-plus-fig17 gpu u64 "$hb_log" '' "$hb_places" --builds 0 --op range_pageable --hits $hits \
            --queries "$hb_queries" --ranges "$hb_queries"
    done
}

# A GPU that is made slow: plain, and balanced by what is discovered. Host trees heed
# neither.
hb_plus_fig18() {
    for log in $hb_logs; do
        hb_gpu hb-plus-fig18 u64 "$log" "$hb_weak,$hb_forced,$hb_plain" "$hb_places"
        hb_gpu hb-plus-fig18 u64 "$log" "$hb_weak" "$hb_hybrid"
    done
}

hb_plus_fig19() {
    for log in $hb_cpu_logs; do
        hb_cpu hb-plus-fig19 u64 "$log" '' "$hb_implicit;$hb_shared_64;$hb_regular"
        hb_cpu hb-plus-fig19 u32 "$log" '' "$hb_implicit;$hb_shared_32;$hb_regular"
    done
}

# Latency by calls of as many queries as are in flight, which one thread answers.
hb_plus_fig20() {
    local told calls=
    for told in "${hb_ahead[@]}"; do
        calls="$calls,${told##*=}"
    done
    hb_cpu hb-plus-fig20 u64 "$hb_cpu_log" "$(hb_list "${hb_ahead[@]}")" "$hb_both"
    hb hb-plus-fig20 cpu u64 "$hb_cpu_log" "$(hb_list "${hb_ahead[@]}")" "$hb_both" --op get --latency \
        --batch "${calls#,}" --queries "$hb_bucket"
}
