#!/bin/bash
# make demo: 2^24 keys, every family beside plain binary search.
set -eu
cd "$(dirname "$0")/.."
echo "building (once)"
make -s -j"$(nproc)" all
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tool=build/sextant

echo
echo "1. 2^24 random 8-byte keys, and an index of them in a file"
"$tool" gen --type u64 --dist uniform --n 2^24 --seed 1 -o "$dir/keys.sosd"
"$tool" build "$dir/keys.sosd" --type u64 --spec auto -o "$dir/keys.sxt"
"$tool" explain "$dir/keys.sxt"

echo
echo "2. the file mapped again, and asked"
"$tool" verify "$dir/keys.sxt"
"$tool" gen --from "$dir/keys.sosd" --type u64 --n 5 --misses 0.4 --seed 2 -o "$dir/some.txt"
"$tool" lookup "$dir/keys.sxt" "$dir/some.txt" --mode get | paste "$dir/some.txt" - |
    awk 'BEGIN {print "   key -> row"} {print "   " $1 " -> " $2}'

"$tool" gen --from "$dir/keys.sosd" --type u64 --n 2^24 --seed 3 -o "$dir/queries.sosd"
begin=$(date +%s%N)
"$tool" lookup "$dir/keys.sxt" "$dir/queries.sosd" --mode get -o "$dir/rows.raw"
echo "   and 2^24 queries from a file to a file in $((($(date +%s%N) - begin) / 1000000)) ms"

echo
echo "3. 2^24 queries to every family; every answer is compared with binary search"
"$tool" bench --type u64 --dist uniform --n 2^24 --queries 2^24 --runs 1 --op get --spec all
