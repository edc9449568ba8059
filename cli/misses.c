#include "misses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/* ---- keys as whole numbers ------------------------------------------------
 *
 * The numbers have the order of the keys and no holes: the next float is one
 * more. 16-byte keys are their own numbers; those of all others are shifted by
 * 2^64, so that none is negative. */

typedef unsigned __int128 place;

#define ZERO ((place)1 << 64)

/* magnitude: the bits of a float without its sign. */
static place place_of_float(bool minus, uint64_t magnitude)
{
    return minus ? ZERO - magnitude : ZERO + magnitude;
}

static place place_of(int type, const void *key)
{
    const unsigned char *bytes = key;
    place p = 0;
    uint32_t u32;
    uint64_t u64;

    switch (type) {
    case SX_U32: return ZERO + *(const uint32_t *)key;
    case SX_U64: return ZERO + *(const uint64_t *)key;
    case SX_I32: return ZERO + (place)(__int128)*(const int32_t *)key;
    case SX_I64: return ZERO + (place)(__int128)*(const int64_t *)key;
    case SX_T64:                  /* INT64_MIN comes last: 2^63 has its bits */
        memcpy(&u64, key, 8);
        return u64 == 1ull << 63 ? ZERO + u64 : ZERO + (place)(__int128)*(const int64_t *)key;
    case SX_F32:
        memcpy(&u32, key, 4);
        return place_of_float(u32 >> 31, u32 & INT32_MAX);
    case SX_F64:
        memcpy(&u64, key, 8);
        return place_of_float(u64 >> 63, u64 & INT64_MAX);
    }
    for (int i = 0; i < 16; i++)
        p = p << 8 | bytes[i];
    return p;
}

static void put_place(int type, place p, void *out)
{
    bool minus = p < ZERO;
    uint64_t magnitude = (uint64_t)(minus ? ZERO - p : p - ZERO);
    uint64_t number = (uint64_t)(p - ZERO);
    uint32_t half;

    switch (type) {
    case SX_U32: case SX_I32:
        half = (uint32_t)number;
        memcpy(out, &half, 4);
        return;
    case SX_U64: case SX_I64: case SX_T64:
        memcpy(out, &number, 8);
        return;
    case SX_F32:
        half = (uint32_t)magnitude | (uint32_t)minus << 31;
        memcpy(out, &half, 4);
        return;
    case SX_F64:
        magnitude |= (uint64_t)minus << 63;
        memcpy(out, &magnitude, 8);
        return;
    }
    for (int i = 0; i < 16; i++)
        ((unsigned char *)out)[i] = (unsigned char)(p >> (120 - 8 * i));
}

/* The least and the greatest value of the type, without infinities. */
static void range_of(int type, place *least, place *greatest)
{
    *least = ZERO;
    switch (type) {
    case SX_U32: *greatest = ZERO + UINT32_MAX; return;
    case SX_U64: *greatest = ZERO + UINT64_MAX; return;
    case SX_I32: *greatest = ZERO + INT32_MAX; *least -= 1ull << 31; return;
    case SX_I64: *greatest = ZERO + INT64_MAX; *least -= 1ull << 63; return;
    case SX_T64: *greatest = ZERO + INT64_MAX; *least -= INT64_MAX; return;
    case SX_F32: *greatest = ZERO + 0x7f7fffff; break;
    case SX_F64: *greatest = ZERO + 0x7fefffffffffffff; break;
    default: *least = 0; *greatest = ~(place)0; return;
    }
    *least = 2 * ZERO - *greatest;
}

/* ---- gaps ------------------------------------------------------------------- */

static const void *key_at(const misses *m, uint64_t rank)
{
    return (const char *)m->ref->keys + rank * sx_type_bytes(m->ref->type);
}

/* The values from first to last lie before the key of this rank and behind
 * the one before it. False: there are none. */
static bool gap_at(const misses *m, uint64_t rank, place *first, place *last)
{
    int type = m->ref->type;
    place greatest, key;

    range_of(type, first, &greatest);
    *last = greatest;
    if (rank > 0) {
        key = place_of(type, key_at(m, rank - 1));
        if (key >= greatest)
            return false;
        *first = key + 1;
    }
    if (rank < m->ordered) {
        key = place_of(type, key_at(m, rank));
        if (key <= *first)
            return false;
        *last = key - 1;
    }
    return true;
}

/* Lists the gaps among ranks from..to; list NULL: only counts them. */
static uint64_t list_gaps(const misses *m, uint64_t from, uint64_t to,
                          uint64_t *list)
{
    uint64_t count = 0;
    place first, last;

    for (uint64_t rank = from; rank <= to; rank++)
        if (gap_at(m, rank, &first, &last)) {
            if (list)
                list[count] = rank;
            count++;
        }
    return count;
}

static bool is_nan(int type, const void *key)
{
    return (type == SX_F32 && isnan(*(const float *)key)) ||
           (type == SX_F64 && isnan(*(const double *)key));
}

misses misses_of(const reference *ref)
{
    misses m = { .ref = ref, .ordered = ref->n };

    while (m.ordered && is_nan(ref->type, key_at(&m, m.ordered - 1)))
        m.ordered--;
    if (m.ordered > 1)
        m.gaps = list_gaps(&m, 1, m.ordered - 1, NULL);
    if (m.gaps) {
        m.gap = must_alloc(m.gaps, sizeof *m.gap);
        list_gaps(&m, 1, m.ordered - 1, m.gap);
        return m;
    }
    m.gap = must_alloc(2, sizeof *m.gap);   /* below all keys, and above all */
    m.gaps = list_gaps(&m, 0, 0, m.gap);
    if (m.ordered)
        m.gaps += list_gaps(&m, m.ordered, m.ordered, m.gap + m.gaps);
    if (!m.gaps)
        fail("every value of %s is a key, so there are no misses to ask for",
             sx_type_name(ref->type));
    return m;
}

void misses_free(misses *m)
{
    free(m->gap);
}

/* From 0 to most; every length in bits is as likely as the others. */
static place draw_distance(place most, rng *r)
{
    unsigned bits = 0;
    place distance = (place)rng_next(r) << 64;

    distance |= rng_next(r);
    while (bits < 128 && most >> bits)
        bits++;
    bits = (unsigned)rng_below(r, bits + 1);
    distance = bits ? distance >> (128 - bits) : 0;
    return distance > most ? distance % (most + 1) : distance;
}

void misses_draw(const misses *m, uint64_t number, rng *r, void *out)
{
    uint64_t rank = m->gap[number];
    bool from_below = rng_next(r) & 1;
    place first = 0, last = 0, distance;

    gap_at(m, rank, &first, &last);
    distance = draw_distance(last - first, r);
    if (rank == 0)                /* there is a key on one side only */
        from_below = false;
    else if (rank == m->ordered)
        from_below = true;
    put_place(m->ref->type, from_below ? first + distance : last - distance,
              out);
}
