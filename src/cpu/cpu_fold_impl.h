/* cpu_fold_impl.h - minimum, maximum and sum of consecutive rows, for one
 * instruction set.
 *
 * Parameter: LEVEL (scalar, avx2, avx512). */

#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, LEVEL)
#define TARGET NAME2(SX_TARGET_, LEVEL)

/* Sums alone are the common case and stream at memory speed. With minimum and
 * maximum the loop has three results, in the compiler's vectors. */
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

/* Slots [slot, slot + n), in pieces that each lie in one block. */
TARGET static void F(fold_slots)(const sx_view *v, uint64_t slot, uint64_t n, sx_fold *f)
{
    while (n > 0) {
        uint64_t piece = v->block ? v->block - slot % v->block : n;
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
