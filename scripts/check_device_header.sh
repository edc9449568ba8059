#!/bin/bash
# sextant_device.cuh needs sextant.h and no other file of ours, leaves the
# user's macros alone, and can be in several files of a program.
set -eu
cd "$(dirname "$0")/.."
make -s build/sextant_device.cuh
root=build/device-header-check
rm -rf "$root"
mkdir -p "$root"
cp include/sextant.h build/sextant_device.cuh "$root/"
cd "$root"

# On the host only the handle can be used.
echo '#include "sextant_device.cuh"' >host.c
echo 'int main(void) { sx_handle h = {0}; return (int)h.view.n; }' >>host.c
cc -std=c11 -Wall -Wextra -Werror -fsyntax-only host.c
c++ -std=c++11 -Wall -Wextra -Werror -Wno-missing-field-initializers -fsyntax-only -x c++ host.c

# Names of macros that the header leaves behind, as nvcc would see it.
macros() { cpp -dM -D__CUDACC__ -x c++ "$1" | awk '{sub(/\(.*/, "", $2); print $2}' | sort; }
printf '#include "sextant.h"\n#include <string.h>\n' >before.cc
cat before.cc host.c >after.cc
foreign=$(comm -13 <(macros before.cc) <(macros after.cc) | grep -v '^SX_\|^SEXTANT_' || true)
[ -z "$foreign" ] || { echo "macros that are not ours:" $foreign; exit 1; }
short=$(comm -13 <(macros before.cc) <(macros after.cc) |
        grep -x 'SX_DEV\|SX_FN\|SX_ENC\|SX_WALK\|SX_LOAD\|SX_COUNT.*' || true)
[ -z "$short" ] || { echo "macros left behind:" $short; exit 1; }

nvcc=${NVCC-$(command -v nvcc || true)}
[ -n "$nvcc" ] || { echo "on the host; no nvcc here"; exit 0; }
cat >one.cu <<'C'
#define W 1                       /* the user's own */
#define F(x) (x)
#define KEY 2
#include "sextant_device.cuh"
static_assert(W + F(KEY) == 3, "macros are as they were");

template <typename T>
__global__ void ask(const __grid_constant__ sx_handle h, const T *q, T *key, uint64_t *out)
{
    uint64_t start;
    out[0] = sx_keys<T>::get(&h, q[0]) + sx_keys<T>::rank(&h, 5, SX_RIGHT);
    out[1] = sx_keys<T>::range(&h, q[0], q[1], &start);
    out[2] = sx_device_row_at(&h, start) + sx_device_count(&h);
    *key = sx_keys<T>::key_at(&h, start);
}

/* By plain value, and of the type that templates don't have. */
__global__ static void ask_b16(sx_handle h, const unsigned char *q, unsigned char *key,
                               uint64_t *out)
{
    uint64_t start;
    out[0] = sx_device_get_b16(&h, q) + sx_device_rank_b16(&h, q, SX_LEFT);
    out[1] = sx_device_range_b16(&h, q, q + 16, &start);
    sx_device_key_at_b16(&h, start, key);
}

void PART()
{
    sx_handle h = sx_handle();
    ask<<<1, 1>>>(h, (uint32_t *)0, (uint32_t *)0, 0);
    ask<<<1, 1>>>(h, (uint64_t *)0, (uint64_t *)0, 0);
    ask<<<1, 1>>>(h, (unsigned long long *)0, (unsigned long long *)0, 0);
    ask<<<1, 1>>>(h, (int32_t *)0, (int32_t *)0, 0);
    ask<<<1, 1>>>(h, (int64_t *)0, (int64_t *)0, 0);
    ask<<<1, 1>>>(h, (float *)0, (float *)0, 0);
    ask<<<1, 1>>>(h, (double *)0, (double *)0, 0);
    ask_b16<<<1, 1>>>(h, 0, 0, 0);
}
C
{ echo '#define PART part_two'; cat one.cu; } >two.cu
echo 'void part_one(), part_two(); int main() { part_one(); part_two(); return 0; }' >main.cc
options="-arch=sm_75 -Werror all-warnings -Xcompiler -Wall,-Wextra"
"$nvcc" -std=c++14 $options -DPART=part_one -c one.cu
"$nvcc" -std=c++17 $options -c two.cu
"$nvcc" main.cc one.o two.o -o program
echo "on the host and by nvcc"
