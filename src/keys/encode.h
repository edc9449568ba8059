/* encode.h - a key of any type <-> an unsigned key of the same order.
 *
 *   u32 u64   as they are
 *   i32 i64   sign bit flipped
 *   t64       sign bit flipped, minus one: INT64_MIN becomes the greatest
 *   f32 f64   -0.0 becomes 0.0 and every NaN one NaN; then negative numbers
 *             have all bits flipped and others the sign bit: numbers ascend,
 *             +infinity comes after them, the NaN after that
 *   b16       16 bytes read as one big-endian number: memcmp() order
 *
 * The code is C11 and CUDA alike; SX_ENC goes in front of each function. */
#ifndef SX_ENCODE_H
#define SX_ENCODE_H

#include <stdint.h>

#ifndef SX_ENC
#define SX_ENC static inline
#endif

typedef uint32_t sx_key4;
typedef uint64_t sx_key8;
__extension__ typedef unsigned __int128 sx_key16;

SX_ENC uint32_t sx_enc_u32(uint32_t b) { return b; }
SX_ENC uint32_t sx_dec_u32(uint32_t k) { return k; }
SX_ENC uint64_t sx_enc_u64(uint64_t b) { return b; }
SX_ENC uint64_t sx_dec_u64(uint64_t k) { return k; }

SX_ENC uint32_t sx_enc_i32(uint32_t b) { return b ^ 0x80000000u; }
SX_ENC uint32_t sx_dec_i32(uint32_t k) { return k ^ 0x80000000u; }
SX_ENC uint64_t sx_enc_i64(uint64_t b) { return b ^ 0x8000000000000000u; }
SX_ENC uint64_t sx_dec_i64(uint64_t k) { return k ^ 0x8000000000000000u; }

SX_ENC uint64_t sx_enc_t64(uint64_t b) { return (b ^ 0x8000000000000000u) - 1; }
SX_ENC uint64_t sx_dec_t64(uint64_t k) { return (k + 1) ^ 0x8000000000000000u; }

SX_ENC uint32_t sx_enc_f32(uint32_t b)
{
    if ((b & 0x7fffffffu) > 0x7f800000u)
        b = 0x7fc00000u;
    if (b == 0x80000000u)
        b = 0;
    return b & 0x80000000u ? ~b : b | 0x80000000u;
}

SX_ENC uint32_t sx_dec_f32(uint32_t k)
{
    return k & 0x80000000u ? k ^ 0x80000000u : ~k;
}

SX_ENC uint64_t sx_enc_f64(uint64_t b)
{
    if ((b & 0x7fffffffffffffffu) > 0x7ff0000000000000u)
        b = 0x7ff8000000000000u;
    if (b == 0x8000000000000000u)
        b = 0;
    return b & 0x8000000000000000u ? ~b : b | 0x8000000000000000u;
}

SX_ENC uint64_t sx_dec_f64(uint64_t k)
{
    return k & 0x8000000000000000u ? k ^ 0x8000000000000000u : ~k;
}

SX_ENC sx_key16 sx_enc_b16(const unsigned char *b)
{
    sx_key16 k = 0;

    for (int i = 0; i < 16; i++)
        k = k << 8 | b[i];
    return k;
}

SX_ENC void sx_dec_b16(sx_key16 k, unsigned char *b)
{
    for (int i = 15; i >= 0; i--, k >>= 8)
        b[i] = (unsigned char)k;
}

#endif
