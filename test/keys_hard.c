/* keys_hard.c - keys against searches that guess: guides and segments are right
 * only if their corrections are.
 *
 * Keys are made as numbers of as many bits as the type has: 0 is its least key
 * and all ones its largest, whatever the type. */
#include "support.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 number;

/* ---- numbers as keys ---------------------------------------------------- */

/* The number of -infinity, when floats are numbered in their order. Below it are
 * negative NaNs, which are the largest key. */
#define LEAST_F32 0x007fffffu
#define LEAST_F64 0x000fffffffffffffull

static unsigned bits_of(int type)
{
    return 8 * (unsigned)sx_type_bytes(type);
}

static number most_of(int type)
{
    return (number)-1 >> (128 - bits_of(type));
}

/* Positive floats ascend with their bits, negative ones descend. */
static void put_float(int type, uint64_t x, void *out)
{
    uint64_t most = (uint64_t)most_of(type), sign = most / 2 + 1;
    uint64_t least = type == SX_F32 ? LEAST_F32 : LEAST_F64;
    x = x > most - least ? most : x + least;
    x = x & sign ? x ^ sign : ~x & most;
    memcpy(out, &x, sx_type_bytes(type));       /* little-endian */
}

static void put(int type, number x, void *out)
{
    unsigned char *b = out;
    x &= most_of(type);
    if (type == SX_F32 || type == SX_F64) {
        put_float(type, (uint64_t)x, out);
        return;
    }
    if (type == SX_I32 || type == SX_I64)
        x ^= most_of(type) / 2 + 1;
    if (type == SX_T64)           /* what is not a time comes last */
        x = (x + 1) ^ (most_of(type) / 2 + 1);
    for (unsigned i = 0; i < sx_type_bytes(type); i++, x >>= 8)
        b[type == SX_B16 ? 15 - i : i] = (unsigned char)x;
}

/* ---- one number ------------------------------------------------------------ */

/* 2^b, and now and then its neighbours. */
static number power(int type, uint64_t i)
{
    static const int off[] = { 0, 1, 0, -1 };
    return ((number)1 << i % bits_of(type)) + (number)off[i / bits_of(type) % COUNT_OF(off)];
}

static number edge(int type, rnd *r)
{
    unsigned bits = bits_of(type);
    const number at[] = { 0, most_of(type), (number)1 << bits / 2, (number)1 << (bits - 1) };
    return at[rnd_below(r, COUNT_OF(at))] + rnd_below(r, 9) - 4;      /* wraps, and may */
}

/* y of [0, 1] as a part of the whole space, as precise as a double is. */
static number part(int type, double y)
{
    unsigned bits = bits_of(type);
    uint64_t x = (uint64_t)(y * 9007199254740991.0);    /* 2^53 - 1 */
    return bits > 53 ? (number)x << (bits - 53) : x >> (53 - bits);
}

/* Key i of n, with pieces that begin where a guide's do. */
static number in_piece(int type, uint64_t i, uint64_t n, uint64_t pieces)
{
    uint64_t p = i * pieces / n;
    while ((p + 1) * n / pieces <= i)
        p++;
    uint64_t first = p * n / pieces, m = (p + 1) * n / pieces - first, j = i - first;
    number width = most_of(type) / pieces, begin = p * width;
    number end = p + 1 < pieces ? begin + width : most_of(type);
    if (j < m / 4)
        return begin;
    if (j < m / 2)
        return begin + j;
    return j < m - m / 8 ? end - (m - j) : end;
}

/* ---- all of them ----------------------------------------------------------- */

/* Keys on a line, with groups of eps - 1, eps or eps + 1 keys (or twice as many)
 * that all equal their first key: they are off the line by up to that many ranks. */
static void on_line(int type, uint64_t n, rnd *r, unsigned char *out)
{
    size_t width = sx_type_bytes(type);
    number step = rnd_below(r, 2) ? 16 : most_of(type) / (n + 1);
    uint64_t eps = 1ull << rnd_below(r, 8), i = 0;
    bool equal = rnd_below(r, 2);
    while (i < n) {
        uint64_t straight = i + 1 + rnd_below(r, 4 * eps + 8);
        for (; i < n && i < straight; i++)
            put(type, i * step, out + i * width);
        uint64_t first = i, group = eps * (1 + rnd_below(r, 2)) + rnd_below(r, 3) - 1;
        for (; i < n && i < first + group; i++)
            put(type, first * step + (equal || step < group ? 0 : i - first), out + i * width);
    }
}

void keys_hard(int type, key_kind kind, uint64_t n, rnd *r, void *out)
{
    static const uint64_t pieces[] = { 3, 7, 64, 2, 300 };
    unsigned char *k = out;
    const number most = most_of(type);
    /* As many equal keys in a cell as its count of one byte can just say. */
    const uint64_t equal[] = { 3 + (uint64_t)sqrt((double)n), 253, 254, 255, 256, 257 };
    uint64_t many = pieces[rnd_below(r, COUNT_OF(pieces))], run = equal[0];
    bool high = rnd_below(r, 2);
    if (kind == KEYS_LINE) {
        on_line(type, n, r, out);
        return;
    }
    if (kind == KEYS_STEPS && n >= 600)
        run = equal[rnd_below(r, COUNT_OF(equal))];
    for (uint64_t i = 0; i < n; i++, k += sx_type_bytes(type)) {
        number x = 0;
        switch (kind) {
        case KEYS_POWERS: x = power(type, i); break;
        case KEYS_EDGES: x = edge(type, r); break;
        case KEYS_STEPS: x = i / run * (most / (n / run + 1)); break;
        case KEYS_RUNS: x = i / run * (most / (n / run + 1)) + i % run; break;
        case KEYS_OUTLIER: x = i == 0 ? high ? 0 : most : high ? most - i : i; break;
        case KEYS_PIECES: x = in_piece(type, i, n, many); break;
        case KEYS_ROOTS: x = part(type, sqrt((double)i / (double)n)); break;
        case KEYS_SQUARES: x = part(type, (double)i / (double)n * ((double)i / (double)n)); break;
        case KEYS_LONG_RUN:
            x = i < n / 4 ? i : i < 3 * n / 4 ? most / 3 : most / 3 * 2 + i * (most / 4 / n);
            break;
        default: x = most; break; /* KEYS_MOST */
        }
        put(type, x, k);
    }
}
