#!/bin/bash
# Every test that runs kernels, on the GPU of this machine. Ends in
# "N passed, M failed".
#   SX_GPU=cuda:0    which GPU
#   SX_GPU_BIN=DIR   programs and libraries that are built already, all in DIR
#   SX_GPU_LOGS=DIR  what each step printed (build/gpu-test-logs)
#   SX_GPU_STEPS="tests streams sanitizer example"   only some of the steps
set -u
cd "$(dirname "$0")/.." || exit 1
gpu=${SX_GPU:-cuda:0}
logs=${SX_GPU_LOGS:-build/gpu-test-logs}
steps=${SX_GPU_STEPS:-tests streams sanitizer example}
mkdir -p "$logs" || exit 1
passed=0
failed=0
skipped=0
failures=""

good() { passed=$((passed + ${2:-1})); printf '  ok    %s (%d s)\n' "$1" $((SECONDS - begun)); }
bad() {
    failed=$((failed + ${3:-1}))
    failures="$failures $1"
    printf '  FAIL  %s (%d s), see %s\n' "$1" $((SECONDS - begun)) "$2"
    tail -n 25 "$2" | sed 's/^/        /'
}
log_of() { echo "$logs/${1//[^a-zA-Z0-9]/_}.log"; }
wanted() { [[ " $steps " == *" $1 "* ]]; }
finish() {
    [ -z "$failures" ] || echo "failed:$failures"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

# check NAME COMMAND...: one check, which passes if the command does.
check() {
    local name=$1 log
    log=$(log_of "$1")
    shift
    begun=$SECONDS
    if "$@" >"$log" 2>&1; then good "$name"; else bad "$name" "$log"; fi
}

# count LOG WORD: how many tests of a cmocka program ended so.
count() {
    sed -n "s/^\[  $2 \] \([0-9]*\) test(s).*/\1/p" "$1" | awk '{s += $1} END {print s + 0}'
}

# cmocka NAME COMMAND...: as many checks as the program has tests.
cmocka() {
    local name=$1 log status n m k
    log=$(log_of "$1")
    shift
    begun=$SECONDS
    "$@" >"$log" 2>&1
    status=$?
    n=$(count "$log" 'PASSED ')
    m=$(count "$log" 'FAILED ')
    k=$(count "$log" SKIPPED)
    skipped=$((skipped + k))
    [ "$n" -gt 0 ] || status=1
    if [ $status -eq 0 ] && [ "$m" -eq 0 ]; then
        good "$name: $n tests$([ "$k" -eq 0 ] || echo ", $k skipped")" "$n"
    else
        passed=$((passed + n))
        bad "$name" "$log" $((m > 0 ? m : 1))
    fi
}

begun=$SECONDS
if [ -n "${SX_GPU_BIN:-}" ]; then
    bin=$(cd "$SX_GPU_BIN" && pwd) || exit 1
    tool=$bin/sextant
    example=$bin/own_kernel
    streams=$bin/gpu-streams
    tests=$bin
    export LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export SEXTANT_CUDA=$bin/libsextant-cuda.so
else
    bin=$PWD/build
    tool=$bin/sextant
    example=$bin/own_kernel
    streams=$bin/gpu-streams
    tests=$bin/test/bin
    export SEXTANT_CUDA=$bin/libsextant-cuda.so
    echo "building"
    jobs=$(nproc 2>/dev/null || echo 2)
    if make -s -j"$jobs" all test-programs examples gpu-streams >"$logs/build.log" 2>&1; then
        good "build"
    else
        bad "build" "$logs/build.log"
        finish
    fi
fi

# Without a GPU there is nothing to test, which is no success.
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
    # 23 does not divide the 61 cells of a spec and level: all data sets come up.
    cmocka test_matrix env SX_KERNEL_CELLS=23 "$tests/test_matrix"
    # Kernels run in these: the matrix and device, device_memory, hybrid, cost, property, pgm,
    # pgm_kernels, hostile_kernels, epsilon, questions, choose, threads, collect and gpu_large. The others
    # show that a CPU's answers and errors are as ever here.
    for t in device device_memory hybrid cost property hostile_kernels pgm pgm_kernels epsilon questions \
             choose threads collect fork errors file gpu_large; do
        cmocka "test_$t" "$tests/test_$t"
    done
fi

# A program of its own; its log has a line for each thing it looked at.
if wanted streams; then
    if [ -x "$streams" ]; then
        echo "streams, threads and memory of a program's own"
        check gpu-streams "$streams"
    else
        echo "gpu-streams is not built: skipped"
        skipped=$((skipped + 1))
    fi
fi

# A few cells of the matrix, under the tools that watch every access. They
# are slow: cells stop after three minutes.
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
        for name in racecheck 'racecheck, fitting'; do       # a warning is no error to it
            check "$name: no hazards" grep -q 'SUMMARY: 0 hazards' "$(log_of "$name")"
        done
    else
        echo "compute-sanitizer is not installed: skipped"
        skipped=$((skipped + 6))
    fi
fi

if wanted example && [ -x "$example" ]; then
    echo "the example"
    check own_kernel "$example"
fi
finish
