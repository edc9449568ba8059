#!/bin/bash
# Tests that take longer than those of every change (test.sh): kernels compiled by nvcc if that is
# there, threads under ThreadSanitizer, all programs under clang's sanitizers, the full matrix, the
# tool on random tables, fuzzers, the soak test, the Python package as a wheel and with pyarrow,
# polars and matplotlib and, if CBMC is there, proofs. They take about 30 minutes on two
# processors, 40 with proofs.
# Ends in "N passed, M failed, K skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
logs=build/test-more-logs
mkdir -p "$logs"
. scripts/testing.sh
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
fuzz_s=60

echo "building"
build "clang's sanitizers" make -s -j"$jobs" build-clang fuzz-load fuzz-spec
later=$(all_tests build/test/bin | grep -E "/($plain_later)$")
# shellcheck disable=SC2086  # several words
build "plain" make -s -j"$jobs" all examples gpu-streams build/test/bin/test_matrix \
    build/test/bin/test_property $later
build "ThreadSanitizer" make -s -j"$jobs" build-tsan
check "exported symbols" scripts/check_symbols.sh
check "install" scripts/check_install.sh

echo "the full matrix, and more rounds of random steps"
# shellcheck disable=SC2086  # several words
SX_MATRIX=full SX_SECONDS=60 programs build/test/bin/test_matrix build/test/bin/test_property $later

echo "C tests, ThreadSanitizer"
tsan=build/tsan/test/bin
# shellcheck disable=SC2046  # several words
programs $(ahead "$tsan/test_threads $tsan/test_hybrid" \
                 $(make -s tsan-tests | sed "s|[^ ]*|$tsan/&|g"))

echo "C tests, clang's AddressSanitizer and UndefinedBehaviorSanitizer"
clang=build/clang/test/bin
# shellcheck disable=SC2046  # several words
SX_MATRIX=full programs $(ahead "$clang/test_matrix $clang/test_epsilon" $(all_tests $clang))

echo "the tool under clang's sanitizers: tables, notations, strings, completion"
SX_MORE=1 end_to_end "tables" build/clang/sextant --only csv
SX_MORE=1 end_to_end "notations" build/clang/sextant --only notation
SX_MORE=1 end_to_end "networks" build/clang/sextant --only network
end_to_end "strings" build/clang/sextant --only strings_
end_to_end "completion" build/clang/sextant --only completion

# By nvcc, too, if that is there: it takes two minutes.
check "device header" scripts/check_device_header.sh

echo "fuzzers, $fuzz_s s each"
for f in load spec; do
    # An input that fails is left in build/fuzz-found; the corpus stays as it is.
    mkdir -p "build/fuzz-found" "build/fuzz-new/$f"
    check "fuzz $f" "build/fuzz-$f" -seed="$SX_SEED" -max_total_time=$fuzz_s -timeout=300 \
        -artifact_prefix="build/fuzz-found/$f-" "build/fuzz-new/$f" "fuzz/corpus/$f"
done

echo "soak"
check "soak" make -s soak SOAK_S=60

echo "the Python package: with other packages, under sanitizers, as a wheel"
check "python environment" scripts/python_env.sh more
build "python" make -s -j"$jobs" NVCC= PYTHON=build/venv/bin/python python
PYTHONPATH=build/python SX_EXAMPLES=1000 pytest_all "python"
# No CPU build of torch is on PyPI; Debian has one, for its own Python.
if /usr/bin/python3 -c 'import pytest, hypothesis, torch' 2>/dev/null; then
    PYTHONPATH=build/python pytest_by "python with torch" /usr/bin/python3 python/tests/test_py_torch.py
else
    skip "python with torch" "/usr/bin/python3 has no torch, or no pytest and hypothesis"
fi
build "python under sanitizers" make -s -j"$jobs" NVCC= PYTHON=build/venv/bin/python build-python-asan
# The library is inside the extension, and Python itself is not built with a sanitizer.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/asan/python \
    pytest_all "python under sanitizers" -k "not flat and not plot"
check "wheel" scripts/check_wheel.sh

echo "proofs"
run "prove" python3 -B scripts/prove.py
read -r status s <"$(log_of prove).status"
if [ "$status" -eq 77 ]; then
    skip "prove" "$(sed -n 's/^skipped: //p' "$(log_of prove)")"
else
    read -r n m k < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
                          "$(log_of prove)" | tail -n 1)
    tally "prove" "${n:-0}" "${m:-1}" "${k:-0}"
fi
finish
