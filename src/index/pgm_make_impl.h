/* pgm_make_impl.h - pgm_make.c for one width W. */
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, W)
#define KEY NAME2(sx_key, W)
#define SX_WALK static inline __attribute__((unused))

#include "index/pgm_fit_impl.h"

#undef SX_WALK
#undef KEY
#undef F
#undef NAME3
#undef NAME3_
#undef NAME2
#undef NAME2_
