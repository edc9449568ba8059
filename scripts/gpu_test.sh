#!/bin/bash
# Every test that runs kernels, on the GPU of this machine. Ends in
# "N passed, M failed, K skipped".
#   SX_GPU=cuda:0    which GPU
#   SX_GPU_BIN=DIR   programs and libraries that are built already, all in DIR
#   SX_GPU_LOGS=DIR  for what each step prints (build/gpu-test-logs)
#   SX_GPU_USERS=DIR where the plain backend, tool and bench are (build)
#   SX_GPU_STEPS="tests streams bench users sanitizer example"   only these steps
set -u
cd "$(dirname "$0")/.." || exit 1
gpu=${SX_GPU:-cuda:0}
logs=${SX_GPU_LOGS:-build/gpu-test-logs}
steps=${SX_GPU_STEPS:-tests streams bench users sanitizer example}
mkdir -p "$logs" || exit 1
. scripts/testing.sh
wanted() { [[ " $steps " == *" $1 "* ]]; }

if [ -n "${SX_GPU_BIN:-}" ]; then
    bin=$(cd "$SX_GPU_BIN" && pwd) || exit 1
    tool=$bin/sextant
    example=$bin/own_kernel
    streams=$bin/gpu-streams
    tests=$bin
    export LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export SEXTANT_CUDA=$bin/libsextant-cuda.so
else
    bin=$PWD/build/lab       # with kernels that only options choose
    tool=$bin/sextant
    example=$bin/own_kernel
    streams=$bin/gpu-streams
    tests=$bin/test/bin
    export SEXTANT_CUDA=$bin/libsextant-cuda.so
    echo "building"
    build plain make -s -j"$jobs" LAB=1 B=build/lab build-plain
    build users make -s -j"$jobs" all
fi

# Without a GPU nothing can be tested, which is no success.
"$tool" devices >"$logs/devices.log" 2>&1
line=$(grep "^$gpu " "$logs/devices.log")
echo "${line:-$gpu is not among the devices}"
if [ -z "$line" ] || [[ "$line" == *"not usable"* ]]; then
    bad "$gpu" "$logs/devices.log"
    finish
fi
export SX_TEST_GPU=$gpu

if wanted tests; then
    echo "C tests, kernels on $gpu"
    cmocka test_matrix env SX_MATRIX=full "$tests/test_matrix"
    # Kernels run in these: the matrix and device, device_memory, device_fill, hybrid, cost, property, pgm,
    # pgm_kernels, hostile_kernels, strings_gpu, epsilon, radix_prefix, questions, choose, threads,
    # collect and gpu_large.
    # The others show that on this machine a CPU's answers and errors are as they always are.
    for t in device device_memory device_fill hybrid cost property hostile_kernels strings_gpu pgm pgm_kernels \
             epsilon radix_prefix questions choose threads collect fork errors file gpu_large; do
        cmocka "test_$t" "$tests/test_$t"
    done
    # More than 2^32 keys, and 2^30 pairs with little device memory; skipped on a small host.
    cmocka test_huge env SX_HUGE_SPECS=btree SX_HUGE_KEYS=4311744517 SX_HUGE_LOG2=30 \
        "$tests/test_huge"
fi

# The program's log has a line for each thing it looked at.
if wanted streams; then
    if [ -x "$streams" ]; then
        echo "streams, threads and memory of a program's own"
        check gpu-streams "$streams"
    else
        skip gpu-streams "it is not built"
    fi
fi

# The bench's kernels are in a library of their own, and work on memory of the backend. The
# bench fails if answers are wrong.
if wanted bench; then
    if [ -x "$bin/sextant-bench" ]; then
        echo "the bench"
        for t in u32 f64 b16; do
            check "bench $t" "$bin/sextant-bench" --device "$gpu" --type "$t" --n 2^20 --runs 2 \
                --builds 1 --spec sorted,pivot --op get,rank,key_at,range --misses 0.2 --sorted
        done
    else
        skip "the bench" "it is not built" 3
    fi
fi

# The backend that users have, without the kernels of a lab: every family where its plan
# sorts questions, with all options that it allows; and options that it refuses.
if wanted users; then
    users=${SX_GPU_USERS:-$PWD/build}
    if [ -x "$users/sextant-bench" ]; then
        echo "the backend without a lab's kernels"
        export SEXTANT_CUDA=$users/libsextant-cuda.so
        for options in "" ,pin=none ,pin=steps ,pin=full ,walk=alone ,walk=shared; do
            check "users$options" "$users/sextant-bench" --device "$gpu$options" --type u64 \
                --n 2^25 --runs 1 --builds 1 --queries 2^22 --spec all --op get,rank
        done
        if "$users/sextant-bench" --device "$gpu,walk=group" --n 64 >"$logs/refused.log" 2>&1 ||
           ! grep -q "doc/LAB.md" "$logs/refused.log"; then
            bad "walk=group of a backend that has none" "$logs/refused.log"
        else
            good "walk=group of a backend that has none"
        fi
        export SEXTANT_CUDA=$bin/libsextant-cuda.so
    else
        skip "the backend without a lab's kernels" "it is not built" 7
    fi
fi

# A few cells of the matrix, under tools that watch every access. These are
# slow: cells stop after three minutes.
if wanted sanitizer; then
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    if [ -x "$sanitizer" ]; then
        echo "the matrix under compute-sanitizer"
        export SX_KERNEL_ONLY=1 SX_KERNEL_SECONDS=180
        for pair in memcheck:331 racecheck:997 synccheck:997; do
            cmocka "${pair%:*}" env SX_KERNEL_CELLS="${pair#*:}" timeout 600 "$sanitizer" \
                --tool "${pair%:*}" --error-exitcode 1 "$tests/test_matrix"
        done
        unset SX_KERNEL_ONLY SX_KERNEL_SECONDS
        cmocka "racecheck, fitting" env SX_KERNEL_ROUNDS=1 timeout 600 "$sanitizer" \
            --tool racecheck --error-exitcode 1 "$tests/test_pgm_kernels"
        cmocka "memcheck, strings" env SX_STRINGS_ONLY=test_hostile_offsets timeout 600 "$sanitizer" \
            --tool memcheck --error-exitcode 1 "$tests/test_strings_gpu"
        for name in racecheck 'racecheck, fitting'; do       # a hazard is a warning, no error
            check "$name: no hazards" grep -q 'SUMMARY: 0 hazards' "$(log_of "$name")"
        done
    else
        skip "the matrix under compute-sanitizer" "that is not installed" 6
    fi
fi

if wanted example && [ -x "$example" ]; then
    echo "the example"
    check own_kernel "$example"
fi
finish
