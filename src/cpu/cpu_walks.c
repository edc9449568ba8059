#include "cpu/cpu_walks.h"

#include "family/generic/simd.h"

#define LEVEL scalar
#include "cpu/cpu_fold_impl.h"
#undef LEVEL
#ifdef SX_HAVE_X86
#define LEVEL avx2
#include "cpu/cpu_fold_impl.h"
#undef LEVEL
#define LEVEL avx512
#include "cpu/cpu_fold_impl.h"
#undef LEVEL
#endif

#define SX_BODY "cpu/cpu_walks_impl.h"
#include "family/generic/cpu_each.h"

#define WALKS(w, level)                                                     \
    {equal_##w##_##level, crossed_##w##_##level, set_rest_##w##_##level, fold_slots_##level}
#define LEVELS(level) {WALKS(4, level), WALKS(8, level), WALKS(16, level)}

static const sx_cpu_walks walks[SX_SIMD_LEVELS][3] = {
    [SX_SCALAR] = LEVELS(scalar),
#ifdef SX_HAVE_X86
    [SX_AVX2] = LEVELS(avx2),
    [SX_AVX512] = LEVELS(avx512),
#endif
};

const sx_cpu_walks *sx_cpu_walks_for(sx_simd level, uint32_t width)
{
    const sx_cpu_walks *w = &walks[level][width == 4 ? 0 : width == 8 ? 1 : 2];

    return w->equal ? w : NULL;
}
