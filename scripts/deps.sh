#!/bin/sh
# Installs packages that are missing, or says how: scripts/deps.sh deps|deps-test|deps-more
set -eu
packages="gcc libc6-dev make libxxhash-dev zlib1g-dev"
case "${1:-deps}" in
deps-test) packages="$packages g++ cmake pkg-config libcmocka-dev python3 python3-dev python3-venv python3-numpy ieee-data tzdata wamerican wbritish" ;;
deps-more) packages="$packages libcmocka-dev python3 python3-dev python3-venv python3-numpy clang libclang-rt-dev zsh fish" ;;
esac

# This is not a Debian system: the compiler will name what is missing.
command -v dpkg-query >/dev/null 2>&1 || exit 0

missing=""
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing. Install them with:" >&2
    echo "    sudo apt-get install -y$missing" >&2
    exit 1
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get install -y -q $missing >/dev/null 2>&1 ||
    { apt-get update -q >/dev/null && apt-get install -y -q $missing >/dev/null; }
