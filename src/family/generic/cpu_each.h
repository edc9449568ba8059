/* cpu_each.h - code for every width and instruction set: SX_BODY is a template that stands
 * between cpu_begin.h and cpu_end.h. A family's template defines F(bounds) (cpu_side_impl.h), and
 * F(steps) if it has an upper part, and F(prefixes) if it finds these itself. SX_BOUNDS_ALL,
 * SX_STEPS_ALL and SX_PREFIXES_ALL are the tables of these. */
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

#define SX_EACH_WIDTH(name, level) {name##_4_##level, name##_8_##level, name##_16_##level}
#ifdef SX_HAVE_X86
#define SX_EACH_LEVEL(name)                                                        \
    {[SX_SCALAR] = SX_EACH_WIDTH(name, scalar), [SX_AVX2] = SX_EACH_WIDTH(name, avx2), \
     [SX_AVX512] = SX_EACH_WIDTH(name, avx512)}
#else
#define SX_EACH_LEVEL(name) {[SX_SCALAR] = SX_EACH_WIDTH(name, scalar)}
#endif
#define SX_BOUNDS_ALL SX_EACH_LEVEL(bounds)
#define SX_STEPS_ALL SX_EACH_LEVEL(steps)
#define SX_PREFIXES_ALL SX_EACH_LEVEL(prefixes)
