#!/bin/bash
# The files that `make install` leaves can be used: by pkg-config, by CMake, statically.
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/install-check
rm -rf "$root"
make -s install PREFIX="$root" DESTDIR=
cat >"$root/hello.c" <<'C'
#include <sextant.h>
#include <stdio.h>
int main(void)
{
    uint32_t key[3] = {30, 10, 20}, q[2] = {20, 25}, row[2];
    sx_column keys = {.type = SX_U32, .n = 3, .data = key};
    sx_column queries = {.type = SX_U32, .n = 2, .data = q};
    sx_column rows = {.type = SX_U32, .n = 2, .data = row};
    sx_device *dev;
    sx_index *ix;
    if (sx_open(&dev, NULL) || sx_build(&ix, dev, NULL, &keys, NULL, NULL) ||
        sx_get(ix, &queries, &rows, NULL))
        return puts(sx_detail()), 1;
    sx_free(ix);
    sx_close(dev);
    return !(row[0] == 2 && row[1] == SX_MISS32 && sx_version() == SX_VERSION);
}
C
# If nvcc is there, and meant to be used, both libraries for GPUs are installed.
for lib in libsextant-cuda.so libsextant-bench-cuda.so; do
    [ ! -f build/$lib ] || [ -z "${NVCC-nvcc}" ] || [ -f "$root/lib/$lib" ] || { echo "$lib is not installed"; exit 1; }
done
export PKG_CONFIG_PATH=$root/lib/pkgconfig LD_LIBRARY_PATH=$root/lib
cc "$root/hello.c" $(pkg-config --cflags --libs sextant) -o "$root/hello"
"$root/hello"
cc "$root/hello.c" -I"$root/include" "$root/lib/libsextant.a" -lxxhash -pthread -o "$root/hello-static"
LD_LIBRARY_PATH='' "$root/hello-static"
echo '#include <sextant_device.cuh>' | cc -I"$root/include" -fsyntax-only -x c -
mkdir "$root/cmake-project"
cp "$root/hello.c" "$root/cmake-project/"
cat >"$root/cmake-project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(sextant 0.2 REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello sextant::sextant)
C
cmake -S "$root/cmake-project" -B "$root/cmake-build" -DCMAKE_PREFIX_PATH="$root" >/dev/null
cmake --build "$root/cmake-build" >/dev/null
"$root/cmake-build/hello"
# Backends are looked for in the library's own folder, then in the folder of this PREFIX.
cat >"$root/where.c" <<'C'
#include <sextant.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    sx_device *dev;
    return chdir("/") || sx_open(&dev, "cuda:0") == SX_OK || puts(sx_detail()) < 0;
}
C
mkdir "$root/else"
rm -f "$root/lib/libsextant-cuda.so"
echo >"$root/lib/libsextant-cuda.so"
cp "$root/lib/libsextant.so.1" "$root/else/"
cc "$root/where.c" $(pkg-config --cflags --libs sextant) -o "$root/where"
where() { (cd "$root" && env -u SEXTANT_CUDA LD_LIBRARY_PATH=./else ./where); }
where | grep -F "$root/lib/libsextant-cuda.so"
echo >"$root/else/libsextant-cuda.so"
where | grep -F "$root/else/libsextant-cuda.so"
for f in share/man/man1/sextant.1 share/bash-completion/completions/sextant \
         share/zsh/site-functions/_sextant share/fish/vendor_completions.d/sextant.fish; do
    [ -f "$root/$f" ] || { echo "$f is not installed"; exit 1; }
done
version=$(pkg-config --modversion sextant)
"$root/bin/sextant" --version | grep -qF "$version"
n=$(awk '/define SX_VERSION/ {print $3}' "$root/include/sextant.h")
[ "$((n / 10000)).$((n / 100 % 100)).$((n % 100))" = "$version" ]
echo "installed and used"
