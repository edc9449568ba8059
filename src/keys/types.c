#include "keys/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Columns may start at any address a caller's array has, so elements go
 * through memcpy, which compiles to plain moves. */
#define CODEC(name, bits)                                                   \
    static void encode_##name(void *keys, const void *elements, uint64_t n) \
    {                                                                       \
        const unsigned char *e = elements;                                  \
        uint##bits##_t *k = keys, b;                                        \
        for (uint64_t i = 0; i < n; i++) {                                  \
            memcpy(&b, e + i * sizeof b, sizeof b);                         \
            k[i] = sx_enc_##name(b);                                        \
        }                                                                   \
    }                                                                       \
    static void decode_##name(void *elements, const void *keys, uint64_t n) \
    {                                                                       \
        unsigned char *e = elements;                                        \
        const uint##bits##_t *k = keys;                                     \
        for (uint64_t i = 0; i < n; i++) {                                  \
            uint##bits##_t b = sx_dec_##name(k[i]);                         \
            memcpy(e + i * sizeof b, &b, sizeof b);                         \
        }                                                                   \
    }

CODEC(u32, 32)
CODEC(u64, 64)
CODEC(i32, 32)
CODEC(i64, 64)
CODEC(t64, 64)
CODEC(f32, 32)
CODEC(f64, 64)

static void encode_b16(void *keys, const void *elements, uint64_t n)
{
    sx_key16 *k = keys;
    const unsigned char *e = elements;

    for (uint64_t i = 0; i < n; i++)
        k[i] = sx_enc_b16(e + i * 16);
}

static void decode_b16(void *elements, const void *keys, uint64_t n)
{
    const sx_key16 *k = keys;
    unsigned char *e = elements;

    for (uint64_t i = 0; i < n; i++)
        sx_dec_b16(k[i], e + i * 16);
}

#define SX_TYPE(tag, name, bytes, width) \
    [tag] = {#name, bytes, width, encode_##name, decode_##name},
#define SX_TEXT_TYPE(tag, name, bytes, width) [tag] = {#name, bytes, width, NULL, NULL},
static const sx_type_info types[] = {
#include "keys/types.def"
};
#undef SX_TYPE
#undef SX_TEXT_TYPE

#define TYPES (int)(sizeof types / sizeof types[0])

const sx_type_info *sx_type_of(int type)
{
    return type > 0 && type < TYPES && types[type].name ? &types[type] : NULL;
}

const char *sx_type_list(void)
{
    return "any of"
#define SX_TYPE(tag, name, bytes, width) " " #name
#define SX_TEXT_TYPE SX_TYPE
#include "keys/types.def"
#undef SX_TYPE
#undef SX_TEXT_TYPE
    ;
}

size_t sx_type_bytes(int type)
{
    const sx_type_info *t = sx_type_of(type);

    return t ? t->bytes : 0;
}

const char *sx_type_name(int type)
{
    const sx_type_info *t = sx_type_of(type);

    return t ? t->name : "unknown";
}

int sx_type_named(const char *name)
{
    for (int i = 1; name && i < TYPES; i++)
        if (types[i].name && strcmp(types[i].name, name) == 0)
            return i;
    return 0;
}

void sx_type_print(int type, const void *element, char *text, size_t space)
{
    union {
        uint32_t u32; int32_t i32; float f32;
        uint64_t u64; int64_t i64; double f64;
        unsigned char b16[16];
    } v;

    memcpy(&v, element, sx_type_bytes(type));
    switch (type) {
    case SX_U32: snprintf(text, space, "%" PRIu32, v.u32); break;
    case SX_U64: snprintf(text, space, "%" PRIu64, v.u64); break;
    case SX_I32: snprintf(text, space, "%" PRId32, v.i32); break;
    case SX_I64: case SX_T64: snprintf(text, space, "%" PRId64, v.i64); break;
    case SX_F32: snprintf(text, space, "%.9g", (double)v.f32); break;
    case SX_F64: snprintf(text, space, "%.17g", v.f64); break;
    default:
        for (size_t i = 0; i < 16 && 2 * i + 2 < space; i++)
            snprintf(text + 2 * i, space - 2 * i, "%02x", v.b16[i]);
    }
}
