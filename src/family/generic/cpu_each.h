/* cpu_each.h - code for every width and instruction set: SX_BODY is a template that stands
 * between cpu_begin.h and cpu_end.h. That of a family defines F(bounds), and SX_BOUNDS_ALL
 * is the table of these. */
#define LEVEL scalar
#define W 4
#include SX_BODY
#undef W
#define W 8
#include SX_BODY
#undef W
#define W 16
#include SX_BODY
#undef W
#undef LEVEL
#ifdef SX_HAVE_X86
#define LEVEL avx2
#define W 4
#include SX_BODY
#undef W
#define W 8
#include SX_BODY
#undef W
#define W 16
#include SX_BODY
#undef W
#undef LEVEL
#define LEVEL avx512
#define W 4
#include SX_BODY
#undef W
#define W 8
#include SX_BODY
#undef W
#define W 16
#include SX_BODY
#undef W
#undef LEVEL
#endif

#define SX_BOUNDS_OF(level) {bounds_4_##level, bounds_8_##level, bounds_16_##level}
#ifdef SX_HAVE_X86
#define SX_BOUNDS_ALL                                                              \
    {[SX_SCALAR] = SX_BOUNDS_OF(scalar), [SX_AVX2] = SX_BOUNDS_OF(avx2),           \
     [SX_AVX512] = SX_BOUNDS_OF(avx512)}
#else
#define SX_BOUNDS_ALL {[SX_SCALAR] = SX_BOUNDS_OF(scalar)}
#endif
