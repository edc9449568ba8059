#include "cpu/cpu_pairs.h"

#include "family/slots.h"
#include "sextant.h"

#include <string.h>

/* Loops so short that a core has many of their reads on the way at once, without
 * prefetching. */
#define GET_PAIRS(w, r)                                                                     \
    static void get_pairs_##w##_##r(const sx_view *v, const void *queries,                  \
                                    const uint64_t *slot, unsigned m, uint64_t *out)        \
    {                                                                                       \
        const sx_key##w *q = queries;                                                       \
        const unsigned char *keys = v->keys, *rows = v->rows;                               \
        uint64_t shift = v->block_shift, bytes = v->block_bytes, mask = v->block - 1u;      \
        for (unsigned i = 0; i < m; i++) {                                                  \
            uint64_t at = slot[i] == SX_NO_SLOT ? 0 : slot[i];                              \
            uint64_t block = (at >> shift) * bytes, in = at & mask;                         \
            sx_key##w key = *(const sx_key##w *)(const void *)(keys + block + in * w);      \
            uint64_t its = *(const uint##r##_t *)(const void *)(rows + block + in * (r / 8)); \
            int hit = (slot[i] != SX_NO_SLOT) & (key == q[i]);                              \
            out[i] = hit ? its : SX_MISS;                                                   \
        }                                                                                   \
    }
GET_PAIRS(4, 32)
GET_PAIRS(4, 64)
GET_PAIRS(8, 32)
GET_PAIRS(8, 64)
GET_PAIRS(16, 32)
GET_PAIRS(16, 64)

void sx_cpu_get_pairs(const sx_view *v, const void *q, const uint64_t *slot, unsigned m,
                      uint64_t *row)
{
    switch (v->width * 16 + v->row_bytes) {
    case 0x044: get_pairs_4_32(v, q, slot, m, row); break;
    case 0x048: get_pairs_4_64(v, q, slot, m, row); break;
    case 0x084: get_pairs_8_32(v, q, slot, m, row); break;
    case 0x088: get_pairs_8_64(v, q, slot, m, row); break;
    case 0x104: get_pairs_16_32(v, q, slot, m, row); break;
    default:    get_pairs_16_64(v, q, slot, m, row); break;
    }
}

/* n <= SX_BLOCK_MAX rows of one block. Most blocks have a few rows, and all of them are
 * wanted: moves of a constant size, no call. */
static inline __attribute__((always_inline)) void
copy_rows(unsigned char *to, const unsigned char *from, uint64_t n, uint32_t from_bytes,
          uint32_t to_bytes)
{
    if (from_bytes == to_bytes) {
        switch (n * from_bytes) {
        case 12: memcpy(to, from, 12); return;
        case 16: memcpy(to, from, 16); return;
        case 20: memcpy(to, from, 20); return;
        case 32: memcpy(to, from, 32); return;
        case 40: memcpy(to, from, 40); return;
        case 64: memcpy(to, from, 64); return;
        default: break;
        }
        if (n > 8) {
            memcpy(to, from, n * from_bytes);
            return;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = from_bytes == 8 ? ((const uint64_t *)(const void *)from)[i]
                                       : ((const uint32_t *)(const void *)from)[i];
        if (to_bytes == 8)
            ((uint64_t *)(void *)to)[i] = row;
        else
            ((uint32_t *)(void *)to)[i] = (uint32_t)row;
        __asm__("");              /* not worth a vector */
    }
}

static inline __attribute__((always_inline)) void
pair_rows(const sx_view *v, uint64_t a, uint64_t b, unsigned char *to, uint32_t from_bytes,
          uint32_t to_bytes)
{
    uint64_t stretches = sx_slots_gaps(v) ? sx_stretch_count(v, a, b) : 1;

    for (uint64_t i = 0; i < stretches; i++) {
        sx_stretch r = sx_slots_gaps(v) ? sx_stretch_of(v, i, a, b) : sx_stretch_whole(a, b);
        unsigned char *at = to + (r.first - a) * to_bytes;
        while (r.n > 0) {
            uint64_t n = v->block - (r.slot & (v->block - 1u));
            n = n < r.n ? n : r.n;
            copy_rows(at, v->rows + sx_row_offset(v, r.slot), n, from_bytes, to_bytes);
            at += n * to_bytes;
            r.slot += n;
            r.n -= n;
        }
    }
}

void sx_cpu_pair_rows(const sx_view *v, uint64_t a, uint64_t b, void *out, uint32_t bytes)
{
    if (v->row_bytes == 8 && bytes == 8)
        pair_rows(v, a, b, out, 8, 8);
    else if (v->row_bytes == 8)
        pair_rows(v, a, b, out, 8, 4);
    else if (bytes == 8)
        pair_rows(v, a, b, out, 4, 8);
    else
        pair_rows(v, a, b, out, 4, 4);
}
