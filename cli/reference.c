#include "reference.h"

#include <string.h>
#include <sys/mman.h>

#include "progress.h"
#include "say.h"

enum { RUN = 16 };                /* keys sorted by insertion before merging */

#define HUGE_PAGE (2ull << 20)

static uint64_t mapped_bytes(uint64_t bytes)
{
    return (bytes / HUGE_PAGE + 1) * HUGE_PAGE; /* never 0 */
}

/* Maps one page more than needed, and gives back the parts outside of the
 * aligned block. */
void *huge_alloc(uint64_t bytes)
{
    uint64_t need = mapped_bytes(bytes), skip;
    char *p;

    if (bytes > SIZE_MAX / 2)
        fail("%llu bytes are more than memory can address",
             (unsigned long long)bytes);
    p = mmap(NULL, need + HUGE_PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        fail("no memory for %llu bytes", (unsigned long long)bytes);
    skip = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (skip)
        munmap(p, skip);
    munmap(p + skip + need, HUGE_PAGE - skip);
    madvise(p + skip, need, MADV_HUGEPAGE); /* a wish: may be refused */
    return p + skip;
}

void huge_free(void *p, uint64_t bytes)
{
    munmap(p, mapped_bytes(bytes));
}

static inline uint64_t row_at(const sx_column *rows, uint64_t i)
{
    if (!rows)
        return i;
    return rows->type == SX_U32 ? ((const uint32_t *)rows->data)[i]
                                : ((const uint64_t *)rows->data)[i];
}

/* ---- one instance per type --------------------------------------------- */

typedef struct { unsigned char byte[16]; } b16;

/* All NaNs are equal and come last; -0.0 equals 0.0, as in comparisons. */
#define FLOAT_BEFORE(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

#define NAME(x) x##_u32
#define KEY uint32_t
#define BEFORE(a, b) ((a) < (b))
#include "reference_impl.h"

#define NAME(x) x##_u64
#define KEY uint64_t
#define BEFORE(a, b) ((a) < (b))
#include "reference_impl.h"

#define NAME(x) x##_i32
#define KEY int32_t
#define BEFORE(a, b) ((a) < (b))
#include "reference_impl.h"

#define NAME(x) x##_i64
#define KEY int64_t
#define BEFORE(a, b) ((a) < (b))
#include "reference_impl.h"

#define NAME(x) x##_t64
#define KEY int64_t
#define BEFORE(a, b) ((a) != INT64_MIN && ((b) == INT64_MIN || (a) < (b)))
#include "reference_impl.h"

#define NAME(x) x##_f32
#define KEY float
#define BEFORE(a, b) FLOAT_BEFORE(a, b)
#include "reference_impl.h"

#define NAME(x) x##_f64
#define KEY double
#define BEFORE(a, b) FLOAT_BEFORE(a, b)
#include "reference_impl.h"

#define NAME(x) x##_b16
#define KEY b16
#define BEFORE(a, b) (memcmp(&(a), &(b), 16) < 0)
#include "reference_impl.h"

static const struct {
    void (*build)(reference *, const sx_column *, const sx_column *);
    int (*compare)(const void *, const void *);
    void (*answer)(const reference *, bench_op, const void *, const void *,
                   uint64_t, uint64_t *, void *);
    uint64_t (*hits)(const reference *, const void *, const void *,
                     uint64_t);
} by_type[] = {
#define INSTANCE(t) { build_##t, compare_##t, answer_##t, hits_##t }
    [SX_U32] = INSTANCE(u32), [SX_U64] = INSTANCE(u64),
    [SX_I32] = INSTANCE(i32), [SX_I64] = INSTANCE(i64),
    [SX_F32] = INSTANCE(f32), [SX_F64] = INSTANCE(f64),
    [SX_B16] = INSTANCE(b16), [SX_T64] = INSTANCE(t64),
#undef INSTANCE
};

/* ---- any type ---------------------------------------------------------- */

static uint64_t key_bytes(const reference *ref)
{
    return ref->n * sx_type_bytes(ref->type);
}

reference reference_build(const sx_column *keys, const sx_column *rows)
{
    reference ref = { .type = keys->type, .n = keys->n };

    ref.keys = huge_alloc(key_bytes(&ref));
    ref.rows = huge_alloc(ref.n * sizeof *ref.rows);
    progress_start("sorting", 0);
    by_type[ref.type].build(&ref, keys, rows);
    progress_stop();
    return ref;
}

void reference_free(reference *ref)
{
    huge_free(ref->keys, key_bytes(ref));
    huge_free(ref->rows, ref->n * sizeof *ref->rows);
}

int reference_compare(int type, const void *a, const void *b)
{
    return by_type[type].compare(a, b);
}

void reference_answer(const reference *ref, bench_op op, const void *q,
                      const void *hi, uint64_t n, uint64_t *out,
                      void *keys_out)
{
    by_type[ref->type].answer(ref, op, q, hi, n, out, keys_out);
}

uint64_t reference_hits(const reference *ref, const void *q, const void *hi,
                        uint64_t n)
{
    return by_type[ref->type].hits(ref, q, hi, n);
}

void reference_sort_keys(sx_column *keys)
{
    reference ref = reference_build(keys, NULL);

    memcpy(keys->data, ref.keys, key_bytes(&ref));
    reference_free(&ref);
}
