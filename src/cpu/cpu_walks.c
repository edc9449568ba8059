#include "cpu/cpu_walks.h"

#include "cpu/cpu_simd.h"
#include "index/eytz_layout.h"
#include "index/guide_layout.h"
#include "index/pgm_layout.h"
#include "index/pivot_layout.h"

/* Walks that go down together. Measured on Zen 4 at 2^24 and 2^26 keys: 32
 * hides memory; 64 gives no more, 16 a third less. */
#define GROUP 32u
#define FEW 4u

/* Under a guide walks ask for lines PART at a time: a core has buffers for about
 * two dozen, and drops what it is asked for beyond that. While walk i asks for its
 * record, walk i - ENTER has got its own and asks for a unit of keys, and walk
 * i - LOOK looks at its unit. Measured on Zen 4 at 2^26 keys, against 32 at a time:
 * half the time. */
#define PART 8u
#define ENTER PART
#define LOOK (3 * PART)

/* The walks of a chunk under a guide: the window that holds a walk's bound, and
 * the unit that the walk looks at. */
typedef struct {
    uint64_t start[SX_CHUNK], end[SX_CHUNK], rank[SX_CHUNK];
    uint64_t at[SX_CHUNK];        /* at first, the bucket */
    uint32_t fraction[SX_CHUNK];
    /* Walks whose guess was wrong. One is written behind the last. */
    uint16_t late[SX_CHUNK + 1];
    unsigned lates;
} guide_walks;

#define LEVEL scalar
#include "cpu/cpu_fold_impl.h"
#define W 4
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 8
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 16
#include "cpu/cpu_walks_impl.h"
#undef W
#undef LEVEL

#ifdef SX_HAVE_X86
#define LEVEL avx2
#include "cpu/cpu_fold_impl.h"
#define W 4
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 8
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 16
#include "cpu/cpu_walks_impl.h"
#undef W
#undef LEVEL

#define LEVEL avx512
#include "cpu/cpu_fold_impl.h"
#define W 4
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 8
#include "cpu/cpu_walks_impl.h"
#undef W
#define W 16
#include "cpu/cpu_walks_impl.h"
#undef W
#undef LEVEL
#endif

#define WALKS(w, level)                                                     \
    {bounds_##w##_##level, successors_##w##_##level, equal_##w##_##level,   \
     crossed_##w##_##level, fold_slots_##level}
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

    return w->bounds ? w : NULL;
}
