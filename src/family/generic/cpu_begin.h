/* cpu_begin.h - for drivers of walks on a CPU, of one width W (4, 8, 16) and one
 * instruction set LEVEL (scalar, avx2, avx512): their names F(name), the type of their
 * keys, KEY, and the parameters of walks. cpu_end.h takes all of these back. */
#define NAME4_(a, b, c) a##_##b##_##c
#define NAME4(a, b, c) NAME4_(a, b, c)
#define F(name) NAME4(name, W, LEVEL)
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define KEY NAME2(sx_key, W)
#define TARGET NAME2(SX_TARGET_, LEVEL)
#define SX_WALK TARGET SX_INLINE
#define SX_LOAD NAME2(load_, W)
#define SX_COUNT NAME4(count, W, LEVEL)
/* Units are lines here, or half lines, as indexes for a GPU have them. */
#define SX_COUNT_UNIT(p, m, q) \
    ((m) == 64 / W ? NAME4(count_line, W, LEVEL)((p), (q)) : SX_COUNT((p), (m), (q)))
