/* prove_cpu.h - for proofs of a CPU's drivers, behind prove.h: their names for reads, and
 * CPU(name) for the scalar function. A group has one walk. */
#include "sextant.h"

#define GROUP 1u
#define FEW 1u
#ifndef SX_CHUNK
#define SX_CHUNK 1u
#endif
#define SX_INLINE static inline
#define SX_TARGET_scalar
#define LEVEL scalar
#undef SX_COUNT_UNIT
#undef SX_COUNT
#undef SX_LOAD
#include "family/generic/width_end.h"
#define CPU_(name, w) name##_##w##_scalar
#define CPU__(name, w) CPU_(name, w)
#define CPU(name) CPU__(name, W)
#if W == 4
#define load_4(p) read_key(p)
#define count_4_scalar(p, m, q) read_count((p), (m), W)
#define count_line_4_scalar(p, q) read_count((p), 64 / W, W)
#elif W == 8
#define load_8(p) read_key(p)
#define count_8_scalar(p, m, q) read_count((p), (m), W)
#define count_line_8_scalar(p, q) read_count((p), 64 / W, W)
#else
#define load_16(p) read_key(p)
#define count_16_scalar(p, m, q) read_count((p), (m), W)
#define count_line_16_scalar(p, q) read_count((p), 64 / W, W)
#endif

static inline const void *sx_ahead(const void *p, uint64_t bytes)
{
    return (const void *)((uintptr_t)p + bytes);
}
