#!/bin/bash
# Every test there is, on this machine. Ends in "N passed, M failed".
# SX_SEED=n repeats a run's random choices.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
logs=build/test-logs
mkdir -p "$logs"
passed=0
failed=0
skipped=0
failures=""

good() { passed=$((passed + ${2:-1})); printf '  ok    %s\n' "$1"; }
bad() {
    failed=$((failed + ${3:-1}))
    failures="$failures $1"
    printf '  FAIL  %s, see %s\n' "$1" "$2"
    tail -n 25 "$2" | sed 's/^/        /'
}

# check NAME COMMAND...: one check, which passes if the command does.
check() {
    local name=$1 log="$logs/${1//[^a-zA-Z0-9]/_}.log"
    shift
    if "$@" >"$log" 2>&1; then good "$name"; else bad "$name" "$log"; fi
}

# programs DIRECTORY SUFFIX NAME...: of each as many checks as it has tests. As many run
# at a time as there are processors, those named first before the others.
programs() {
    local dir=$1 suffix=$2 name log status n m k
    shift 2
    printf '%s\n' "$@" | xargs -P "$jobs" -I NAME sh -c \
        "'$dir/NAME' >'$logs/NAME$suffix.log' 2>&1; echo \$? >'$logs/NAME$suffix.status'"
    for name in "$@"; do
        name=$name$suffix
        log=$logs/$name.log
        status=$(cat "$logs/$name.status")
        n=$(count "$log" 'PASSED ')
        m=$(count "$log" 'FAILED ')
        k=$(count "$log" SKIPPED)
        skipped=$((skipped + k))
        [ "$n" -gt 0 ] || status=1
        if [ "$status" -eq 0 ] && [ "$m" -eq 0 ]; then
            good "$name ($n tests$([ "$k" -eq 0 ] || echo ", $k skipped: its source says why"))" "$n"
        else
            passed=$((passed + n))
            bad "$name" "$log" $((m > 0 ? m : 1))
        fi
    done
}

# count LOG WORD: how many tests of a cmocka program ended so.
count() {
    sed -n "s/^\[  $2 \] \([0-9]*\) test(s).*/\1/p" "$1" | awk '{s += $1} END {print s + 0}'
}

# build NAME DIRECTORY TARGETS...
build() {
    local name=$1 dir=$2
    shift 2
    if ! make -s -j"$jobs" B="$dir" "$@" >"$logs/build_$name.log" 2>&1; then
        bad "build $name" "$logs/build_$name.log"
        echo "0 passed, 1 failed"
        exit 1
    fi
    if grep -q 'warning:' "$logs/build_$name.log"; then
        bad "build $name without warnings" "$logs/build_$name.log"
    else
        good "build $name"
    fi
}

echo "building"
# With nvcc the CUDA backend is part of "all", and there are examples: a kernel that
# does not compile fails.
build plain build all test-programs examples gpu-streams
build asan build/asan OPT=-O1 CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" test-programs
build tsan build/tsan OPT=-O1 CFLAGS="-fsanitize=thread" build/tsan/test/bin/test_threads build/tsan/test/bin/test_fork build/tsan/test/bin/test_collect build/tsan/test/bin/test_pgm
# clang's checks find what gcc's do not: arithmetic on pointers that are NULL.
clang_tests="test_device test_epsilon test_hybrid test_cost"
if command -v clang >/dev/null; then
    # shellcheck disable=SC2046,SC2086  # several words
    build clang build/clang CC=clang OPT=-O1 CFLAGS="-fsanitize=undefined -fno-sanitize-recover=all" \
        $(printf 'build/clang/test/bin/%s ' $clang_tests)
fi

echo "the tree"
check "header is C11" cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c include/sextant.h
check "header is C++" c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++ include/sextant.h
check "rooms" python3 scripts/check_rooms.py
check "rooms check finds faults" python3 scripts/check_rooms.py --self-test
check "bare compiler" cc -std=gnu11 -fsyntax-only -Iinclude -Isrc src/*/*.c
check "exported symbols" scripts/check_symbols.sh
check "install" scripts/check_install.sh
check "device header" scripts/check_device_header.sh

# The longest first, so that the others fill the time beside it.
names="test_matrix test_pgm"
for t in test/test_*.c; do
    t=$(basename "$t" .c)
    [[ " $names " == *" $t "* ]] || names="$names $t"
done
# shellcheck disable=SC2086  # several words
{
    echo "C tests"
    programs build/test/bin "" $names
    echo "C tests, AddressSanitizer and UndefinedBehaviorSanitizer"
    export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    programs build/asan/test/bin _asan $names
}
if command -v clang >/dev/null; then
    echo "C tests, clang's UndefinedBehaviorSanitizer"
    # shellcheck disable=SC2086  # several words
    programs build/clang/test/bin _clang $clang_tests
else
    echo "clang is not installed: its checks are skipped"
    skipped=$((skipped + 1))
fi
for f in load spec; do
    check "fuzz corpus $f" "build/asan/fuzz/replay_$f" "fuzz/corpus/$f"
done
echo "C tests, ThreadSanitizer"
export TSAN_OPTIONS=halt_on_error=1
programs build/tsan/test/bin _tsan test_pgm test_threads test_fork test_collect

echo "the tool, against an oracle in Python"
# A Python with NumPy: the system's, or one of our own.
python=build/venv/bin/python
for p in /usr/bin/python3 python3; do
    "$p" -c 'import numpy' 2>/dev/null && python=$p && break
done
if ! "$python" -c 'import numpy' 2>/dev/null; then
    check "python packages" sh -c 'python3 -m venv build/venv && build/venv/bin/pip install -q numpy'
fi
log="$logs/e2e.log"
"$python" test/e2e/run.py --tool build/sextant >"$log" 2>&1
status=$?
read -r n m < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$log" | tail -n 1)
if [ $status -eq 0 ] && [ "${m:-1}" -eq 0 ] && [ "${n:-0}" -gt 0 ]; then
    good "end to end ($n tests)" "$n"
else
    passed=$((passed + ${n:-0}))
    bad "end to end" "$log" "${m:-1}"
fi

[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
