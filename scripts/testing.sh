# testing.sh - what test.sh, test_more.sh and gpu_test.sh share. Bash sources it, in the root
# of the tree. $logs is where each step's output goes.
# shellcheck shell=bash
jobs=$(nproc 2>/dev/null || echo 2)
passed=0
failed=0
skipped=0
failures=""
# Programs that only test_more.sh runs as they are: most have a sanitizer in test.sh.
plain_later='test_(hostile|hostile_kernels|strings_gpu|tick|large|epsilon|changing)'
# The makes of tests are not parts of this one; its command line's variables are exported.
unset MAKEFLAGS MFLAGS MAKELEVEL
# No step takes this long on a machine of its own: one that does hangs, and fails.
limit_s=1800

# The random choices of all programs. They differ from run to run; SX_SEED=n repeats a run.
export SX_SEED=${SX_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "SX_SEED=$SX_SEED"

# good NAME [CHECKS]; bad NAME LOG [CHECKS]; skip NAME WHY [CHECKS].
good() { passed=$((passed + ${2:-1})); printf '  ok    %s\n' "$1"; }
bad() {
    failed=$((failed + ${3:-1}))
    failures="$failures $1;"
    printf '  FAIL  %s, see %s\n' "$1" "$2"
    tail -n 25 "$2" | sed 's/^/        /'
}
skip() { skipped=$((skipped + ${3:-1})); printf '  skip  %s: %s\n' "$1" "$2"; }

finish() {
    [ -z "$failures" ] || echo "failed:$failures SX_SEED=$SX_SEED repeats it"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

log_of() { echo "$logs/${1//[^a-zA-Z0-9]/_}.log"; }

# limit_now: the limit beside what runs now: as many times as long as there are processes that
# want each processor.
limit_now() {
    local running=1
    read -r _ _ _ running _ </proc/loadavg || true
    running=$((${running%/*} / jobs))
    echo $((limit_s * (running > 1 ? running : 1)))
}

# run NAME COMMAND...: its output goes into a log; its status and seconds go beside that.
run() {
    local log begun=$SECONDS status limit
    log=$(log_of "$1")
    limit=$(limit_now)
    shift
    timeout -k 10 "$limit" "$@" >"$log" 2>&1
    status=$?
    [ $status -ne 124 ] || echo "ended after $limit s: it hangs" >>"$log"
    echo "$status $((SECONDS - begun))" >"$log.status"
}

# check NAME COMMAND...: one check, which passes if the command does.
check() {
    local status s
    run "$@"
    read -r status s <"$(log_of "$1").status"
    if [ "$status" -eq 0 ]; then good "$1 ($s s)"; else bad "$1" "$(log_of "$1")"; fi
}

# count LOG WORD: how many tests of a cmocka program ended with this word.
count() {
    sed -n "s/^\[  $2 \] \([0-9]*\) test(s).*/\1/p" "$1" | awk '{s += $1} END {print s + 0}'
}

# tally NAME PASSED FAILED SKIPPED: counts the tests of a step that was run. Its log has a line
# "skipped: WHY" for each that was skipped.
tally() {
    local name=$1 n=$2 m=$3 k=$4 log status s
    log=$(log_of "$name")
    read -r status s <"$log.status"
    [ "$k" -eq 0 ] || sed -n 's/^skipped: //p' "$log" | sort | uniq -c | while read -r times why; do
        skip "$name" "$why ($times)" 0
    done
    skipped=$((skipped + k))
    if [ "$status" -eq 0 ] && [ "$m" -eq 0 ] && [ $((n + k)) -gt 0 ]; then
        good "$name ($n tests, $s s)" "$n"
    else
        passed=$((passed + n))
        bad "$name" "$log" $((m > 0 ? m : 1))
    fi
}

# cmocka NAME COMMAND...: counts each test of the program as a check.
cmocka() {
    run "$@"
    cmocka_tally "$1"
}
cmocka_tally() {
    local log
    log=$(log_of "$1")
    tally "$1" "$(count "$log" 'PASSED ')" "$(count "$log" 'FAILED ')" "$(count "$log" SKIPPED)"
}

# pytest_all NAME [OPTION...]: the tests of the Python package, each a check.
pytest_all() {
    local name=$1
    shift
    pytest_by "$name" build/venv/bin/python python/tests "$@"
}

# pytest_by NAME PYTHON TESTS [OPTION...]: some of them, by another Python.
pytest_by() {
    local name=$1 python=$2 log n m k
    shift 2
    run "$name" "$python" -m pytest -q -rs -p no:cacheprovider "$@"
    log=$(log_of "$name")
    sed -i 's/^SKIPPED \(.*\)/skipped: \1/' "$log"
    n=$(grep -oE '[0-9]+ passed' "$log" | tail -n 1 | cut -d' ' -f1)
    m=$(grep -oE '[0-9]+ (failed|error)' "$log" | tail -n 1 | cut -d' ' -f1)
    k=$(grep -oE '[0-9]+ skipped' "$log" | tail -n 1 | cut -d' ' -f1)
    tally "$name" "${n:-0}" "${m:-0}" "${k:-0}"
}

# programs PATH...: the same for many programs. As many run at a time as there are processors,
# in this order. build/asan/test/bin/test_file is called asan/test_file.
programs() {
    local path
    export -f run log_of name_of limit_now
    export logs limit_s jobs
    # shellcheck disable=SC2016  # the inner shell expands it
    printf '%s\n' "$@" | xargs -P "$jobs" -I PATH bash -c 'run "$(name_of "$1")" "$1"' run PATH
    for path in "$@"; do
        cmocka_tally "$(name_of "$path")"
    done
}
# all_tests DIRECTORY: the paths of all test programs there.
all_tests() {
    local t
    for t in test/test_*.c; do
        echo "$1/$(basename "$t" .c)"
    done
}
# ahead "WORD..." WORD...: all words, those of the first list first.
ahead() {
    local first=$1 word
    shift
    for word in $first; do
        echo "$word"
    done
    for word in "$@"; do
        [[ " $first " == *" $word "* ]] || echo "$word"
    done
}
name_of() {
    local name=${1#build/}
    echo "${name/test\/bin\//}"
}

# build NAME COMMAND...: fails on warnings, too. If it fails, nothing can be tested.
build() {
    local log before=$failed
    log=$(log_of "build $1")
    check "build $1" "${@:2}"
    [ "$failed" -eq "$before" ] || finish
    ! grep -qE 'warning( #[0-9A-Z-]+)?:' "$log" || bad "build $1 without warnings" "$log"
}

# end_to_end NAME TOOL [OPTION]...: runs test/e2e by a Python with NumPy, the system's or one of
# our own.
end_to_end() {
    local name=$1 tool=$2 python=build/venv/bin/python p n m k
    shift 2
    for p in /usr/bin/python3 python3; do
        "$p" -c 'import numpy' 2>/dev/null && python=$p && break
    done
    if ! "$python" -c 'import numpy' 2>/dev/null; then
        check "python packages" sh -c 'python3 -m venv build/venv && build/venv/bin/pip install -q numpy'
    fi
    run "$name" "$python" test/e2e/run.py --tool "$tool" --seed "$SX_SEED" --jobs "$jobs" "$@"
    read -r n m k < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
                          "$(log_of "$name")" | tail -n 1)
    tally "$name" "${n:-0}" "${m:-1}" "${k:-0}"
}
