#!/bin/bash
# The tests of every change, on this machine: about 10 minutes on two processors.
# test_more.sh has the rest. Ends in "N passed, M failed, K skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
logs=build/test-logs
mkdir -p "$logs"
. scripts/testing.sh
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1

echo "building"
# Kernels are compiled for the emulator; by nvcc only where a GPU is, since that takes two minutes.
# test_more.sh does it wherever nvcc is.
command -v nvidia-smi >/dev/null || export NVCC=
build "two variants" make -s -j"$jobs" test-build

echo "the tree"
check "header is C11" cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c include/sextant.h
check "header is C++" c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -x c++ include/sextant.h
check "rooms" python3 scripts/check_rooms.py
check "rooms check finds faults" python3 scripts/check_rooms.py --self-test
check "planted faults" python3 -B scripts/plant.py --check
check "bare compiler" cc -std=gnu11 -fsyntax-only -Iinclude -Isrc src/*/*.c
check "exported symbols" scripts/check_symbols.sh
check "install" scripts/check_install.sh
check "device header" env NVCC= scripts/check_device_header.sh

echo "C tests, as they are and with AddressSanitizer and UndefinedBehaviorSanitizer"
plain=build/test/bin asan=build/asan/test/bin
# The longest first, so that the others fill the time beside them.
long="$asan/test_matrix $asan/test_hostile $plain/test_matrix $asan/test_hostile_kernels"
# Tests that take long with a sanitizer and seldom change have clang's, in test_more.sh. What is
# about wrong bytes and stopped calls has a sanitizer here and is plain there.
seldom='/test_(epsilon|total|large|changing|pgm|device_memory|alloc|choose|threads|balance|discovery|btree)$'
# shellcheck disable=SC2046  # several words
programs $(ahead "$long" $(all_tests $asan | grep -Ev "$seldom") \
                         $(all_tests $plain | grep -Ev "/($plain_later)$"))
for f in load spec; do
    check "fuzz corpus $f" "build/asan/fuzz/replay_$f" "fuzz/corpus/$f"
done

echo "the tool, against an oracle in Python"
end_to_end "end to end" build/sextant

echo "the Python package"
check "python environment" scripts/python_env.sh test
build "python" make -s -j"$jobs" PYTHON=build/venv/bin/python python
PYTHONPATH=build/python pytest_all "python" -m "not more"
finish
