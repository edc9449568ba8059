#!/bin/sh
# The shared library exports what sextant.h declares, and nothing else.
set -eu
cd "$(dirname "$0")/.."
declared=$(sed -n 's/^SX_API.*[ *]\(sx_[a-z0-9_]*\)(.*/\1/p' include/sextant.h | sort)
exported=$(nm -D --defined-only build/libsextant.so | awk '$3 ~ /^sx_/ {sub("@.*", "", $3); print $3}' | sort)
other=$(nm -D --defined-only build/libsextant.so | awk '$3 !~ /^sx_/ && $2 != "A" {print $3}')
[ -z "$other" ] || { echo "exported but not ours: $other"; exit 1; }
[ "$declared" = "$exported" ] || { echo "declared:" $declared; echo "exported:" $exported; exit 1; }
echo "$(echo "$declared" | wc -l) symbols"
