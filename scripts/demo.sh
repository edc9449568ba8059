#!/bin/bash
# make demo: an index in a file, every family beside plain binary search, and
# then, if there is a GPU, the same there. What a step does not need is built
# behind it, and CUDA only for a GPU: on two cores the first answers come within
# a minute.
#   SX_DEMO_KEYS=2^24   how many keys
set -eu
cd "$(dirname "$0")/.."
keys=${SX_DEMO_KEYS:-2^24}
fewer=${SX_DEMO_KEYS:-2^22}       # plain binary search takes its time
tool=build/sextant
jobs=$(nproc 2>/dev/null || echo 2)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

echo "building the tool (once)"
make -s -j"$jobs" NVCC= build/sextant

echo
echo "1. $keys random 8-byte keys, and an index of them in a file"
"$tool" gen --type u64 --dist uniform --n "$keys" --seed 1 -o "$dir/keys.sosd"
"$tool" build "$dir/keys.sosd" --type u64 --spec auto -o "$dir/keys.sxt"
"$tool" explain "$dir/keys.sxt"

echo
echo "2. the file mapped again, and asked"
"$tool" verify "$dir/keys.sxt"
"$tool" gen --from "$dir/keys.sosd" --type u64 --n 5 --misses 0.4 --seed 2 -o "$dir/some.txt"
"$tool" lookup "$dir/keys.sxt" "$dir/some.txt" --mode get | paste "$dir/some.txt" - |
    awk 'BEGIN {print "   key -> row"} {print "   " $1 " -> " $2}'

"$tool" gen --from "$dir/keys.sosd" --type u64 --n "$keys" --seed 3 -o "$dir/queries.sosd"
begin=$(date +%s%N)
"$tool" lookup "$dir/keys.sxt" "$dir/queries.sosd" --mode get -o "$dir/rows.raw"
echo "   and $keys queries from a file to a file in $((($(date +%s%N) - begin) / 1000000)) ms"

echo
make -s -j"$jobs" NVCC= all
echo "3. $fewer queries to every family; every answer is compared with binary search"
"$tool" bench --type u64 --dist uniform --n "$fewer" --queries "$fewer" --runs 1 --op get --spec all

echo
if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "4. on a GPU: nvidia-smi finds none here"
    exit 0
fi
echo "4. $keys queries on the GPU; building its backend first, which takes a minute or two"
make -s -j"$jobs" all
if [ ! -e build/libsextant-cuda.so ]; then
    echo "   there is a GPU, but no nvcc to build the backend with"
    exit 0
fi
"$tool" bench --device cuda:0 --type u64 --dist uniform --n "$keys" --queries "$keys" --runs 3 \
    --op get --rows 32 --spec guide,pivot
