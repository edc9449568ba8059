#!/bin/bash
# The Python package as a wheel: built by pip out of the sources, installed into an
# environment that has nothing else, and what its binaries need of the system.
set -eu
cd "$(dirname "$0")/.."
out=build/wheel
rm -rf "$out"
mkdir -p "$out"
NVCC='' build/venv/bin/pip wheel -q --disable-pip-version-check --no-deps -w "$out" .
wheel=$(ls "$out"/sextant-*-cp311-abi3-linux_*.whl)
echo "$wheel"

build/venv/bin/python -m venv "$out/venv"
"$out/venv/bin/pip" install -q --disable-pip-version-check "$wheel" pytest hypothesis pandas
# Away from the sources, so that the package is the installed one.
tests=$PWD/python/tests
(cd "$out" && unset PYTHONPATH && venv/bin/python -c '
import sextant, sys
assert sextant.__file__.startswith(sys.prefix), sextant.__file__
assert sextant.Index([3, 1, 2]).get(2) == 2
' && venv/bin/sextant --version && venv/bin/python -m sextant --version &&
    venv/bin/python -m pytest -q -p no:cacheprovider "$tests/test_py_index.py" "$tests/test_py_life.py" \
        -k "not flat" -m "not more")

# The stable ABI from 3.11 on, and no newer glibc than manylinux_2_34 has.
build/venv/bin/abi3audit --strict --verbose "$wheel"
build/venv/bin/auditwheel show "$wheel" | tee "$out/auditwheel.txt"
tr '\n' ' ' <"$out/auditwheel.txt" | grep -Eq 'consistent with +the following platform tag:? +"manylinux_2_(1?[0-9]|2[0-9]|3[0-4])_x86_64"'
if build/venv/bin/python - "$wheel" <<'PY'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
for name in ("_core.abi3.so", "sextant", "py.typed", "__init__.pyi"):
    assert "sextant/" + name in names, name
PY
then echo "the wheel is whole"; else exit 1; fi
