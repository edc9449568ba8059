#!/bin/sh
# Installs packages that are missing, or says how: scripts/deps.sh deps|deps-test|deps-more
set -eu
optional=""                       # what tests do without, and say so
packages="gcc libc6-dev make libxxhash-dev zlib1g-dev"
case "${1:-deps}" in
deps-test) packages="$packages g++ cmake pkg-config libcmocka-dev python3 python3-dev python3-venv python3-numpy ieee-data tzdata wamerican wbritish" ;;
deps-more) packages="$packages libcmocka-dev python3 python3-dev python3-venv python3-numpy clang libclang-rt-dev zsh fish"
    optional="python3-torch python3-pytest python3-hypothesis" ;;
esac

# This is not a Debian system: the compiler will name what is missing.
command -v dpkg-query >/dev/null 2>&1 || exit 0

missing_of() {
    for p in "$@"; do
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$p"
    done
}

# shellcheck disable=SC2086
missing=$(missing_of $packages) more=$(missing_of $optional)
[ -n "$missing$more" ] || exit 0
[ -n "$missing" ] || [ "$(id -u)" -eq 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing. Install them with:" >&2
    echo "    sudo apt-get install -y$missing" >&2
    exit 1
fi
echo "installing$missing$more"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
[ -z "$missing" ] || apt-get install -y -q $missing >/dev/null 2>&1 ||
    { apt-get update -q >/dev/null && apt-get install -y -q $missing >/dev/null; }
# shellcheck disable=SC2086
[ -z "$more" ] || apt-get install -y -q --no-install-recommends $more >/dev/null 2>&1 || true
