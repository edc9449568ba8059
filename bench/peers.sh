#!/bin/bash
# How many times absl::btree_map, and JudyL where it is built, indexes are, on one thread of this CPU:
#
#     bench/peers.sh [SPEC]...       (btree, its relatives, pivot, guide)
#
# u64 keys, uniform, with 64-bit rows; random hits. Both have the same keys and
# the same queries, and take turns: the trees, then `sextant bench`, ROUNDS times.
# The median of the rounds is printed, and every answer is checked. Run
# `make peers` first. A spec that this build does not have is left out. Behind it,
# unless there are SPECs: what walks that go down together and huge pages give a btree,
# as the paper HB+ asks, with a tool of `make lab` (SX_BIN=build/lab/sextant).
#   LOG=26      2^26 keys         QUERIES=2^22   RUNS=3, ROUNDS=3
#   OUT         a file for all lines, as JSON (none)
#   SX_BIN, PEERS, PYTHON   another tool, other programs of `make peers`, python3
set -u
cd "$(dirname "$0")/.." || exit 1
tool=${SX_BIN:-build/sextant}
peer=${PEERS:-build/peers}/absl_btree_map
judy=${PEERS:-build/peers}/judyl
queries=${QUERIES:-2^22} rounds=${ROUNDS:-3}
# shellcheck source=bench/hb_specs.sh
. bench/hb_specs.sh
[ -x "$peer" ] || { echo "absl::btree_map is not measured: $peer is not built (make peers, with libabsl-dev)"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

specs=
if [ $# -gt 0 ]; then
    specs=$(printf ',%s' "$@")
else
    for spec in "${hb_peer_specs[@]}"; do
        if why=$(hb_refused cpu "$spec"); then
            echo "$spec: not measured, $why"
        else
            specs="$specs,$spec"
        fi
    done
fi
"$tool" gen --type u64 --n "2^${LOG:-26}" --sorted -o "$work/keys.sosd" &&
    "$tool" gen --from "$work/keys.sosd" --type u64 --n "$queries" -o "$work/queries.sosd" || exit 1
for ((i = 0; i < rounds; i++)); do
    "$peer" u64 "$work/keys.sosd" "$work/queries.sosd" "${RUNS:-3}" 0 &&
        { [ ! -x "$judy" ] || "$judy" u64 "$work/keys.sosd" "$work/queries.sosd" "${RUNS:-3}" 0; } &&
        "$tool" bench --keys "$work/keys.sosd" --type u64 --rows 64 --device cpu --threads 1 \
            --queries "$queries" --runs "${RUNS:-3}" --op get --spec "${specs#,}" --json || exit 1
done >"$work/lines.json"
[ -z "${OUT:-}" ] || cp "$work/lines.json" "$OUT" || exit 1
"${PYTHON:-python3}" -B bench/peers_table.py "$work/lines.json" || exit 1
[ $# -eq 0 ] || exit 0

ways=$(printf ';cpu,%s' "${hb_ways[@]}")
if why=$(hb_refused "${ways#;}" "$hb_implicit"); then
    echo "Pipelining and pages are not measured: $why"
    exit 0
fi
for ((i = 0; i < rounds; i++)); do
    "$tool" bench --keys "$work/keys.sosd" --type u64 --rows 64 --device "${ways#;}" --threads 1 \
        --queries "$queries" --runs "${RUNS:-3}" --op get --spec "$hb_implicit" --json || exit 1
done >"$work/ways.json"
[ -z "${OUT:-}" ] || cat "$work/ways.json" >>"$OUT" || exit 1
echo
"${PYTHON:-python3}" -B bench/peers_table.py --ways "$work/ways.json"
