/* gpu_columns_impl.h - keys in columns, for one width of key. Behind gpu_begin.h. */

#if W == 8
SX_DEV KEY F(encoded)(int type, uint64_t b)
{
    return type == SX_U64 ? b : type == SX_I64 ? sx_enc_i64(b) : type == SX_T64 ? sx_enc_t64(b)
                                                                                : sx_enc_f64(b);
}
#endif

SX_DEV KEY F(read_key)(int type, const void *column, uint64_t i)
{
#if W == 4
    uint32_t b = ((const uint32_t *)column)[i];
    return type == SX_U32 ? b : type == SX_I32 ? sx_enc_i32(b) : sx_enc_f32(b);
#elif W == 8
    return F(encoded)(type, ((const uint64_t *)column)[i]);
#else
    (void)type;
    return sx_enc_b16((const unsigned char *)column + i * 16);
#endif
}

/* The same for questions, which are read once. */
SX_DEV KEY F(read_query)(int type, const void *column, uint64_t i)
{
#if W == 4
    uint32_t b = SX_STREAM_LOAD((const uint32_t *)column + i);
    return type == SX_U32 ? b : type == SX_I32 ? sx_enc_i32(b) : sx_enc_f32(b);
#elif W == 8
    return F(encoded)(type, SX_STREAM_LOAD((const uint64_t *)column + i));
#else
    return F(read_key)(type, column, i);
#endif
}

SX_DEV void F(write_key)(int type, void *column, uint64_t i, KEY k)
{
#if W == 4
    ((uint32_t *)column)[i] = type == SX_U32 ? k : type == SX_I32 ? sx_dec_i32(k) : sx_dec_f32(k);
#elif W == 8
    ((uint64_t *)column)[i] = type == SX_U64   ? k
                              : type == SX_I64 ? sx_dec_i64(k)
                              : type == SX_T64 ? sx_dec_t64(k)
                                               : sx_dec_f64(k);
#else
    (void)type;
    sx_dec_b16(k, (unsigned char *)column + i * 16);
#endif
}

/* SX_SHUFFLE() of a key. */
SX_DEV KEY F(shuffle_key)(KEY k, unsigned lane)
{
#if W == 16
    uint64_t low = SX_SHUFFLE((uint64_t)k, lane), high = SX_SHUFFLE((uint64_t)(k >> 64), lane);

    return (KEY)high << 64 | low;
#else
    return SX_SHUFFLE(k, lane);
#endif
}
