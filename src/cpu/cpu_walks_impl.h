/* cpu_walks_impl.h - work on keys other than walks, for one width and one
 * instruction set: between cpu_begin.h and cpu_end.h. */
#include "family/generic/cpu_begin.h"

TARGET static void F(equal)(const sx_view *v, const void *q, const uint64_t *slot,
                            unsigned char *hit, unsigned m)
{
    const KEY *k = q;

    for (unsigned i = 0; i < m; i++)
        hit[i] = slot[i] != SX_NO_SLOT &&
                 SX_LOAD(v->keys + sx_key_offset(v, slot[i])) == k[i];
}

TARGET static void F(crossed)(const void *lo, const void *hi, unsigned char *empty, unsigned m)
{
    const KEY *a = lo, *b = hi;

    for (unsigned i = 0; i < m; i++)
        empty[i] = a[i] > b[i];
}

TARGET static void F(set_rest)(void *q, const unsigned char *bits, unsigned m, int ones)
{
    KEY *k = q;

    for (unsigned i = 0; i < m; i++) {
        KEY rest = bits[i] < 8 * W ? (KEY)((KEY)~(KEY)0 >> bits[i]) : 0;
        k[i] = ones ? (KEY)(k[i] | rest) : (KEY)(k[i] & (KEY)~rest);
    }
}

#include "family/generic/cpu_end.h"
