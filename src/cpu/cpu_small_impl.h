/* cpu_small_impl.h - cpu_small.c for one width of key, 4 or 8.
 *
 * Parameters: W; KEY; LANES of a vector; and for vectors of such keys SET1(x),
 * LOAD(p), PICK(low, high, i), element i of 2 * LANES (or, if LANES is 16, of low
 * alone), GATHER(keys, i), LESS(a, b), ADD(a, b), ADD_IF(mask, a, b). */

#define NAME2_(a, b) a##_##b
#define NAME2(a, b) NAME2_(a, b)
#define F(name) NAME2(name, W)
#define TARGET SX_TARGET_avx512
#define SX_WALK TARGET SX_INLINE

/* The keys of the first steps: node e of a tree in level order is compared in step
 * log2(e + 1). The last step's keys are apart, in `far`. */
typedef struct {
    _Alignas(64) KEY near[16], far[16];
} F(top);

/* Takes the keys of the first halvings of n keys, and the halves. Returns how many
 * halvings these are. */
static unsigned F(take_top)(const KEY *keys, uint64_t n, F(top) *top, uint32_t half[TOP])
{
    uint64_t at[16] = {0};        /* where each way so far leads */
    unsigned s = 0;

    for (; s < TOP && n > 1; s++) {
        half[s] = (uint32_t)(n / 2);
        n -= half[s];
        for (unsigned way = 1u << s; way-- > 0;) {
            unsigned e = (1u << s) - 1 + way;
            KEY key = keys[at[way] + half[s] - 1];
            if (e < 15)
                top->near[e] = key;
            else
                top->far[e - 15] = key;
            if (s + 1 < TOP) {
                at[2 * way + 1] = at[way] + half[s];
                at[2 * way] = at[way];
            }
        }
    }
    return s;
}

/* VECTORS * LANES left bounds, each vector's steps beside those of the others. */
TARGET static inline void F(small_group)(const KEY *keys, uint64_t n, const F(top) *top,
                                         const uint32_t half[TOP], unsigned steps, const KEY *q,
                                         KEY *rank)
{
    __m512i x[VECTORS], e[VECTORS], at[VECTORS];
    __m512i near_low = LOAD(top->near), near_high = LOAD(top->near + 16 - LANES);
    __m512i far_low = LOAD(top->far), far_high = LOAD(top->far + 16 - LANES), one = SET1(1);

    for (unsigned j = 0; j < VECTORS; j++) {
        x[j] = LOAD(q + j * LANES);
        e[j] = at[j] = _mm512_setzero_si512();
    }
    for (unsigned s = 0; s < steps; s++) {
        __m512i skip = SET1(half[s]);
        n -= half[s];
        for (unsigned j = 0; j < VECTORS; j++) {
            __m512i key = s < 4 ? PICK(near_low, near_high, e[j])
                                : PICK(far_low, far_high, ADD(e[j], SET1(-15)));
            MASK below = LESS(key, x[j]);
            at[j] = ADD_IF(below, at[j], skip);
            e[j] = ADD(ADD(e[j], e[j]), one);
            e[j] = ADD_IF(below, e[j], one);
        }
    }
    while (n > 1) {
        uint64_t h = n / 2;
        __m512i skip = SET1(h), last = SET1(h - 1);
        n -= h;
        for (unsigned j = 0; j < VECTORS; j++)
            at[j] = ADD_IF(LESS(GATHER(keys, ADD(at[j], last)), x[j]), at[j], skip);
    }
    for (unsigned j = 0; j < VECTORS; j++) {
        at[j] = ADD_IF(LESS(GATHER(keys, at[j]), x[j]), at[j], one);
        _mm512_storeu_si512(rank + j * LANES, at[j]);
    }
}

TARGET static void F(left_bounds)(const sx_view *v, const void *queries, unsigned m,
                                  const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows)
{
    const KEY *keys = (const KEY *)(const void *)v->keys, *q = queries;
    F(top) top = {{0}, {0}};
    uint32_t half[TOP];
    unsigned steps = F(take_top)(keys, v->n, &top, half);
    _Alignas(64) KEY found[VECTORS * LANES], last[VECTORS * LANES];

    (void)entry;                  /* there is none */
    (void)rows;
    for (unsigned i = 0; i < m; i += VECTORS * LANES) {
        unsigned part = m - i < VECTORS * LANES ? m - i : VECTORS * LANES;
        if (part < VECTORS * LANES) {
            memset(last, 0, sizeof last);
            memcpy(last, q + i, part * W);
        }
        F(small_group)(keys, v->n, &top, half, steps, part < VECTORS * LANES ? last : q + i, found);
        for (unsigned j = 0; j < part; j++)
            rank[i + j] = found[j];
    }
    for (unsigned i = 0; slot && i < m; i++)
        slot[i] = rank[i] < v->n ? rank[i] : SX_NO_SLOT;
}

#include "family/generic/cpu_side_impl.h"

#undef SX_WALK
#undef TARGET
#undef F
#undef NAME2
#undef NAME2_
