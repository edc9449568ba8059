/* cpu_small.c - bounds in an array so small that the nearest cache holds it. A vector of
 * queries halves it together: the first steps from registers, the rest by gathers. An
 * upper part is not needed there. */
#include "cpu/cpu_walks.h"

#include "family/generic/simd.h"

#include <string.h>

#ifdef SX_HAVE_X86

#define TOP 5u                    /* steps whose keys are in registers */
#define VECTORS 4u                /* walked at a time */

#define W 4
#define KEY sx_key4
#define LANES 16u
#define MASK __mmask16
#define SET1(x) _mm512_set1_epi32((int)(x))
#define LOAD(p) _mm512_loadu_si512(p)
#define PICK(low, high, i) ((void)(high), _mm512_permutexvar_epi32((i), (low)))
#define GATHER(keys, i) _mm512_i32gather_epi32((i), (const int *)(keys), 4)
#define LESS(a, b) _mm512_cmplt_epu32_mask((a), (b))
#define ADD(a, b) _mm512_add_epi32((a), (b))
#define ADD_IF(mask, a, b) _mm512_mask_add_epi32((a), (mask), (a), (b))
#include "cpu/cpu_small_impl.h"
#undef W
#undef KEY
#undef LANES
#undef MASK
#undef SET1
#undef LOAD
#undef PICK
#undef GATHER
#undef LESS
#undef ADD
#undef ADD_IF

#define W 8
#define KEY sx_key8
#define LANES 8u
#define MASK __mmask8
#define SET1(x) _mm512_set1_epi64((long long)(x))
#define LOAD(p) _mm512_loadu_si512(p)
#define PICK(low, high, i) _mm512_permutex2var_epi64((low), (i), (high))
#define GATHER(keys, i) _mm512_i64gather_epi64((i), (const long long *)(keys), 8)
#define LESS(a, b) _mm512_cmplt_epu64_mask((a), (b))
#define ADD(a, b) _mm512_add_epi64((a), (b))
#define ADD_IF(mask, a, b) _mm512_mask_add_epi64((a), (mask), (a), (b))
#include "cpu/cpu_small_impl.h"

#endif

sx_bounds_fn *sx_cpu_small_for(sx_simd level, const sx_view *v)
{
#ifdef SX_HAVE_X86
    if (level == SX_AVX512 && v->width <= 8 && (v->traits & SX_SLOTS_ARE_RANKS) && !v->block &&
        v->n * v->width <= SX_SMALL_BYTES)
        return v->width == 4 ? bounds_4 : bounds_8;
#endif
    (void)level;
    (void)v;
    return NULL;
}
