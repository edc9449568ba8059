/* cpu_fold_impl.h - minimum, maximum and sum over runs of rows, for one
 * instruction set.
 *
 * Parameter: LEVEL (scalar, avx2, avx512). */

#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, LEVEL)
#define TARGET NAME2(SX_TARGET_, LEVEL)

/* Sums alone are the common case and stream at memory speed; with minimum
 * and maximum the loop has three results and the compiler's vectors. */
#define FOLD_RUN(name, type)                                               \
    TARGET static void F(name)(const type *r, uint64_t n, sx_fold *f)      \
    {                                                                      \
        uint64_t sum = 0;                                                  \
        if (!f->extremes) {                                                \
            for (uint64_t i = 0; i < n; i++)                               \
                sum += r[i];                                               \
        } else {                                                           \
            type min = (type)~(type)0, max = 0;                            \
            for (uint64_t i = 0; i < n; i++) {                             \
                sum += r[i];                                               \
                min = r[i] < min ? r[i] : min;                             \
                max = r[i] > max ? r[i] : max;                             \
            }                                                              \
            if (n > 0) {                                                   \
                f->min = min < f->min ? min : f->min;                      \
                f->max = max > f->max ? max : f->max;                      \
            }                                                              \
        }                                                                  \
        f->sum += sum;                                                     \
    }
FOLD_RUN(fold_run4, uint32_t)
FOLD_RUN(fold_run8, uint64_t)
#undef FOLD_RUN

/* Rows of n slots of small blocks, too few in each for vectors. bytes: of a row, a constant. */
SX_INLINE void F(fold_small)(const sx_view *v, uint64_t slot, uint64_t n, uint32_t used, sx_fold *f,
                             uint32_t bytes)
{
    const unsigned char *block = v->rows + (slot >> v->block_shift) * v->block_bytes;
    uint64_t sum = 0, min = f->min, max = f->max, in = slot & (v->block - 1u);
    int extremes = f->extremes;

    for (; n > 0; block += v->block_bytes, in = 0) {
        uint64_t end = in + n < used ? in + n : used;
        n -= end - in;
        for (; in < end; in++) {
            uint64_t row = bytes == 8 ? ((const uint64_t *)(const void *)block)[in]
                                      : ((const uint32_t *)(const void *)block)[in];
            sum += row;
            if (extremes) {
                min = row < min ? row : min;
                max = row > max ? row : max;
            }
            __asm__("");          /* no vectors */
        }
    }
    f->sum += sum;
    f->min = min;
    f->max = max;
}

/* n slots, in as many pieces as the blocks cut them. */
TARGET static void F(fold_slots)(const sx_view *v, uint64_t slot, uint64_t n, uint32_t used,
                                 sx_fold *f)
{
    if (v->block && v->block <= SX_SMALL_BLOCK) {
        if (v->row_bytes == 8)
            F(fold_small)(v, slot, n, used, f, 8);
        else
            F(fold_small)(v, slot, n, used, f, 4);
        return;
    }
    while (n > 0) {
        uint64_t piece = v->block ? v->block - (slot & (v->block - 1u)) : n;
        const void *r = v->rows + sx_row_offset(v, slot);
        if (piece > n)
            piece = n;
        if (v->row_bytes == 8)
            F(fold_run8)(r, piece, f);
        else
            F(fold_run4)(r, piece, f);
        slot += piece;
        n -= piece;
    }
}

#undef TARGET
#undef F
#undef NAME3
#undef NAME3_
#undef NAME2
#undef NAME2_
