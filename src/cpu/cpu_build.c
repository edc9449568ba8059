/* cpu_build.c - sort on the CPU, then the sections of a shape. */
#include "cpu/cpu_backend.h"

#include "base/alloc.h"
#include "cpu/cpu_strings.h"
#include "family/slots.h"
#include "place/store.h"
#include "sort/sort.h"
#include "sort/values.h"

#include <stdatomic.h>
#include <string.h>

/* ---- input -> sorted arrays ------------------------------------------------- */

typedef struct {
    const sx_input *in;
    const sx_type_info *type;
    void *keys, *rows;
    uint32_t row_bytes;
    _Atomic uint64_t max_row;
    _Atomic uint64_t reserved_at; /* first row that is all ones; n: none */
} input_work;

static void scan_rows(void *work, uint64_t first, uint64_t end)
{
    input_work *w = work;
    uint64_t max = 0, at = end;
    uint64_t reserved = w->in->row_type == SX_U64 ? SX_MISS : SX_MISS32;

    for (uint64_t i = first; i < end; i++) {
        uint64_t row = w->in->row_type == SX_U64 ? ((const uint64_t *)w->in->rows.data)[i]
                                                 : ((const uint32_t *)w->in->rows.data)[i];
        if (row == reserved && i < at)
            at = i;
        max = row > max ? row : max;
    }
    uint64_t seen = atomic_load(&w->max_row);
    while (max > seen && !atomic_compare_exchange_weak(&w->max_row, &seen, max))
        ;
    if (at < end) {
        seen = atomic_load(&w->reserved_at);
        while (at < seen && !atomic_compare_exchange_weak(&w->reserved_at, &seen, at))
            ;
    }
}

static void encode_keys(void *work, uint64_t first, uint64_t end)
{
    input_work *w = work;

    w->type->encode((unsigned char *)w->keys + first * w->type->width,
                    sx_slice_at(&w->in->keys, first), end - first);
}

static void store_rows(void *work, uint64_t first, uint64_t end)
{
    input_work *w = work;

    for (uint64_t i = first; i < end; i++) {
        uint64_t row = w->in->row_type == SX_U64   ? ((const uint64_t *)w->in->rows.data)[i]
                       : w->in->row_type == SX_U32 ? ((const uint32_t *)w->in->rows.data)[i]
                                                   : i;
        if (w->row_bytes == 8)
            ((uint64_t *)w->rows)[i] = row;
        else
            ((uint32_t *)w->rows)[i] = (uint32_t)row;
    }
}

static uint64_t sorted_row(const sx_sorted *s, uint64_t rank)
{
    return s->row_bytes == 8   ? ((const uint64_t *)s->rows)[rank]
           : s->row_bytes == 4 ? ((const uint32_t *)s->rows)[rank]
                               : rank;
}

/* Says that key i is equal to the next. */
static sx_status say_repeat(const sx_sorted *s, const sx_input *in, uint64_t i, sx_err *err)
{
    int key_type = in->key_type;
    _Alignas(16) unsigned char key[16];
    char text[64];

    if (s->strings.offset_bytes) {
        sx_cpu_string_print(&s->strings, i, text, sizeof text);
    } else {
        sx_type_of(key_type)->decode(key, (unsigned char *)s->keys + i * s->width, 1);
        sx_type_print(key_type, key, text, sizeof text);
    }
    return sx_fail(err, SX_EINVAL, "the spec says unique, but key %s comes more than once: "
                   "with rows %llu and %llu (ranks %llu and %llu)", text,
                   (unsigned long long)sorted_row(s, i), (unsigned long long)sorted_row(s, i + 1),
                   (unsigned long long)i, (unsigned long long)i + 1);
}

/* Space behind the sort's second array of keys, for the padding of a tree in level order.
 * That array may become its section: memory that has been touched is the cheapest. */
#define SPARE_KEYS (2 * SX_K_MAX)

/* Whether a column's elements are stored as they are: without encoding, aligned. */
static int stored_as_is(int type, const void *data, uint32_t width)
{
    return (type == SX_U32 || type == SX_U64) && (uintptr_t)data % width == 0;
}

/* Encodes keys into [0], or leaves them where they are if they are stored so. */
static void read_keys(const sx_cpu *cpu, input_work *w, sx_sort_arrays *a)
{
    const sx_input *in = w->in;

    a->in_keys = in->keys.data;
    if (!stored_as_is(in->key_type, in->keys.data, a->width)) {
        w->keys = a->keys[0];
        sx_cpu_share(cpu, in->threads, in->progress, in->n, 4096, encode_keys, w);
        a->in_keys = w->keys;
    }
}

/* The same for rows. */
static void read_rows(const sx_cpu *cpu, input_work *w, sx_sort_arrays *a)
{
    const sx_input *in = w->in;

    a->in_rows = in->rows.data;
    if (in->row_type == 0 || in->rows.each != a->row_bytes) {
        w->rows = a->rows[0];
        w->row_bytes = a->row_bytes;
        sx_cpu_share(cpu, in->threads, in->progress, in->n, 4096, store_rows, w);
        a->in_rows = w->rows;
    }
}

static sx_status sort_numbers(sx_cpu *cpu, input_work *w, sx_sorted *s, sx_err *err)
{
    const sx_input *in = w->in;
    uint32_t threads = in->threads && in->threads < cpu->threads ? in->threads : cpu->threads;
    sx_sort_arrays a = {.width = s->width, .n = s->n, .progress = in->progress};
    uint64_t bytes = sx_round_up(s->n * s->width, SX_LINE);
    sx_status st;

    st = sx_alloc(&s->keys, bytes, "keys", err);
    if (st != SX_OK)
        return st;
    a.keys[0] = s->keys;
    read_keys(cpu, w, &a);
    int ascending = sx_take_ascending(cpu->pool, threads, s->width, s->n, s->keys, a.in_keys,
                                      in->progress);
    st = sx_progress_status(in->progress, err);
    if (st != SX_OK)
        return st;
    if (!ascending || in->row_type) {     /* otherwise rows are ranks: none are stored */
        a.row_bytes = s->row_bytes = s->max_row < SX_MISS32 ? 4 : 8;
        st = sx_alloc_array(&s->rows, s->n, s->row_bytes, "rows", err);
        if (st != SX_OK)
            return st;
        a.rows[0] = s->rows;
        read_rows(cpu, w, &a);
    }
    if (ascending) {
        if (a.in_rows != a.rows[0])
            memcpy(a.rows[0], a.in_rows, a.n * a.row_bytes);
    } else {
        s->spare_key_bytes = bytes + SPARE_KEYS * s->width;
        st = sx_alloc(&s->spare_keys, s->spare_key_bytes, "sorting keys", err);
        if (st == SX_OK)
            st = sx_alloc_array(&s->spare_rows, s->n, s->row_bytes, "sorting rows", err);
        a.keys[1] = s->spare_keys;
        a.rows[1] = s->spare_rows;
        if (st == SX_OK)
            st = sx_sort(cpu->pool, threads, &a, err);
    }
    memset((unsigned char *)s->keys + s->n * s->width, 0xff, bytes - s->n * s->width);
    return st;
}

/* Passes over the input: one scans rows, two take keys and rows, one looks whether keys
 * ascend, one counts values; and the sort's. */
#define SORT_UNITS (5u + SX_SORT_UNITS)

sx_status sx_cpu_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err)
{
    sx_cpu *cpu = self;
    const sx_type_info *type = sx_type_of(in->key_type);
    input_work w = {.in = in, .type = type, .reserved_at = in->n};
    sx_sorted s = {.n = in->n, .ranks = in->n,
                   .width = type->bytes ? type->width : in->code_bytes};
    sx_status st;

    sx_progress_units(in->progress, SORT_UNITS * in->n);
    if (in->row_type) {
        sx_cpu_share(cpu, in->threads, in->progress, in->n, 4096, scan_rows, &w);
        if (w.reserved_at < in->n)
            return sx_fail(err, SX_EINVAL, "row %llu at position %llu is reserved: all ones "
                           "means no match",
                           (unsigned long long)(in->row_type == SX_U64 ? SX_MISS : SX_MISS32),
                           (unsigned long long)w.reserved_at);
        s.max_row = w.max_row;
    } else {
        s.max_row = in->n ? in->n - 1 : 0;
    }
    if (in->n == 0) {
        *out = s;
        return SX_OK;
    }
    st = type->bytes ? sort_numbers(cpu, &w, &s, err) : sx_cpu_sort_strings(cpu, in, &s, err);
    if (st == SX_OK) {
        sx_ascending keys = {s.width, s.n, s.keys, in->progress};
        uint64_t repeat;
        s.values = sx_values_count(cpu->pool, in->threads, &keys, &repeat);
        st = sx_progress_status(in->progress, err);
        if (s.strings.offset_bytes)
            repeat = sx_cpu_string_repeat(&s);
        if (st == SX_OK && in->unique && repeat < s.n)
            st = say_repeat(&s, in, repeat, err);
    }
    if (st != SX_OK) {
        sx_release(s.offsets);
        sx_release(s.bytes);
        sx_release(s.groups);
        sx_release(s.marks);
        sx_release(s.keys);
        sx_release(s.rows);
        sx_release(s.spare_keys);
        sx_release(s.spare_rows);
        return st;
    }
    *out = s;
    return SX_OK;
}

sx_status sx_cpu_once(void *self, sx_sorted *sorted, uint32_t threads, sx_err *err)
{
    sx_cpu *cpu = self;
    sx_ascending from = {sorted->width, sorted->n, sorted->keys, sorted->progress};
    sx_values to = {.values = sorted->values, .start_bytes = sx_start_bytes(sorted->n),
                    .row_bytes = sorted->row_bytes, .rows = sorted->rows};
    uint64_t used = to.values * sorted->width, bytes = sx_round_up(used, SX_LINE);
    uint64_t firsts = sx_firsts_offset(to.values, sorted->n);
    sx_status st;

    if (sorted->starts || sorted->n == 0)
        return SX_OK;
    if (sorted->strings.offset_bytes)
        return sx_cpu_string_once(sorted, err);
    sx_release(sorted->spare_keys);
    sx_release(sorted->spare_rows);
    sorted->spare_keys = sorted->spare_rows = NULL;
    st = sx_alloc(&to.keys, bytes, "keys", err);
    if (st == SX_OK)
        st = sx_alloc(&to.starts, sx_starts_bytes(to.values, sorted->n, to.row_bytes), "starts",
                      err);
    if (st == SX_OK) {
        unsigned char *starts = to.starts;
        uint64_t end = (to.values + 1) * to.start_bytes;
        if (to.row_bytes) {
            memset(starts + end, 0, firsts - end);
            to.firsts = starts + firsts;
        }
        sx_progress_step(sorted->progress, sorted->n);
        sx_values_take(cpu->pool, threads, &from, &to);
        st = sx_progress_status(sorted->progress, err);
    }
    if (st != SX_OK) {
        sx_release(to.keys);
        sx_release(to.starts);
        return st;
    }
    memset((unsigned char *)to.keys + used, 0xff, bytes - used);
    sx_release(sorted->keys);
    sorted->keys = to.keys;
    sorted->starts = to.starts;
    sorted->n = to.values;
    return SX_OK;
}

/* ---- sorted arrays -> sections ------------------------------------------------ */

typedef struct {
    const sx_view *v;             /* bound to the sections to fill */
    const sx_sorted *sorted;
    unsigned char *keys, *rows;   /* rows NULL: they stay, or there are none */
    uint32_t level;
} build_work;

static inline __attribute__((always_inline)) void
copy_one(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    memcpy(to, from, bytes);      /* a plain move: bytes is a constant */
}

/* Keys, or rows, [first, end) of one stretch, `bytes` each. */
static inline __attribute__((always_inline)) void
copy_stretch(const build_work *w, const sx_stretch *r, uint64_t first, uint64_t end,
         unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    const sx_view *v = w->v;
    sx_stretch_ranks it = sx_stretch_begin(v, r, first);

    for (uint64_t slot = r->slot + first; slot < r->slot + end; slot++) {
        uint64_t at = (slot >> v->block_shift) * v->block_bytes +
                      (slot & ((1ull << v->block_shift) - 1)) * bytes;
        copy_one(to + at, from + sx_stretch_next(v, &it) * bytes, bytes);
    }
}

static void copy_stretch_of(const build_work *w, const sx_stretch *r, uint64_t first, uint64_t end,
                        unsigned char *to, const void *from, uint32_t bytes)
{
    if (bytes == 4)
        copy_stretch(w, r, first, end, to, from, 4);
    else if (bytes == 8)
        copy_stretch(w, r, first, end, to, from, 8);
    else
        copy_stretch(w, r, first, end, to, from, 16);
}

/* Fills slots behind the last key: with the largest key and the row that matches nothing. */
static void pad_slots(const build_work *w)
{
    const sx_view *v = w->v;

    for (uint64_t slot = v->n; slot < v->slots; slot++) {
        memset(w->keys + sx_key_offset(v, slot), 0xff, v->width);
        if (v->block)
            memset(w->rows + sx_row_offset(v, slot), 0xff, v->row_bytes);
    }
}

/* Keys, or rows, of slots [first, end); slots without a key get the same padding. */
static inline __attribute__((always_inline)) void
copy_slots(const build_work *w, uint64_t first, uint64_t end, unsigned char *to,
           const unsigned char *from, uint32_t bytes)
{
    const sx_view *v = w->v;

    for (uint64_t slot = first; slot < end; slot++) {
        uint64_t rank = sx_rank_of_slot(v, slot);
        unsigned char *at = to + (slot >> v->block_shift) * v->block_bytes +
                            (slot & ((1ull << v->block_shift) - 1)) * bytes;
        if (rank < v->n)
            copy_one(at, from + rank * bytes, bytes);
        else if (rank != SX_HOLE)
            memset(at, 0xff, bytes);
    }
}

static void copy_slots_of(const build_work *w, uint64_t first, uint64_t end, unsigned char *to,
                          const void *from, uint32_t bytes)
{
    if (bytes == 4)
        copy_slots(w, first, end, to, from, 4);
    else if (bytes == 8)
        copy_slots(w, first, end, to, from, 8);
    else
        copy_slots(w, first, end, to, from, 16);
}

static void build_slots(void *work, uint64_t first, uint64_t end)
{
    const build_work *w = work;

    copy_slots_of(w, first, end, w->keys, w->sorted->keys, w->v->width);
    if (w->rows)
        copy_slots_of(w, first, end, w->rows, w->sorted->rows, w->v->row_bytes);
}

/* Keys [first, end) of one stretch: a level, or everything. */
static void build_run(void *work, uint64_t first, uint64_t end)
{
    const build_work *w = work;
    const sx_view *v = w->v;
    sx_stretch r = sx_stretch_of(v, w->level, 0, v->n);

    copy_stretch_of(w, &r, first, end, w->keys, w->sorted->keys, v->width);
    if (w->rows)
        copy_stretch_of(w, &r, first, end, w->rows, w->sorted->rows, v->row_bytes);
}

static void drop_sections(void *base[SX_SECTIONS])
{
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        sx_release(base[kind]);
        base[kind] = NULL;
    }
}

/* SX_OK, unless the build was stopped. Then the sections are gone. */
static sx_status built(const sx_sorted *sorted, void *base[SX_SECTIONS], sx_err *err)
{
    sx_status st = sx_progress_status(sorted->progress, err);

    if (st != SX_OK)
        drop_sections(base);
    return st;
}

/* Units of making sections: what is above the leaves, and leaves unless arrays stay. */
static uint64_t build_units(const sx_view *v, int keep)
{
    const sx_family_cpu *family = sx_family_cpu_of(v->family);

    return (keep ? 0 : sx_slots_gaps(v) ? v->slots : v->n) + (family->units && v->n > 0 ? family->units(v) : 0);
}

static sx_status alloc_section(const sx_cpu *cpu, const sx_view *v, unsigned kind, uint64_t bytes,
                               void **out, sx_err *err)
{
    const char *what = sx_section_name(v, kind);
    sx_status st = sx_section_pool(v, kind) ? sx_alloc_pool(out, bytes, what, err)
                                            : sx_alloc(out, bytes, what, err);

    if (st == SX_OK && (cpu->pages == SX_PAGES_SMALL ||
                        (cpu->pages == SX_PAGES_UPPER && sx_upper_bytes(v, kind) == 0)))
        sx_small_pages(*out);
    return st;
}

sx_status sx_cpu_build(void *self, sx_view *shape, sx_sorted *sorted,
                       uint32_t threads, void *base[SX_SECTIONS], sx_err *err)
{
    sx_cpu *cpu = self;
    sx_view v;
    build_work w = {.v = &v, .sorted = sorted};
    const sx_family_cpu *family = sx_family_cpu_of(shape->family);
    sx_sharing sharing = sx_cpu_sharing(cpu, threads, sorted->progress);
    int keep = sx_section_stays(shape, SX_SEC_KEYS);
    sx_status st = SX_OK;

    if (!keep && !shape->block && sorted->spare_keys &&
        sx_section_bytes(shape, SX_SEC_KEYS) <= sorted->spare_key_bytes &&
        sx_section_bytes(shape, SX_SEC_ROWS) <= sorted->ranks * sorted->row_bytes) {
        base[SX_SEC_KEYS] = sorted->spare_keys;
        base[SX_SEC_ROWS] = sorted->spare_rows;
    } else {
        sx_release(sorted->spare_keys);
        sx_release(sorted->spare_rows);
    }
    sorted->spare_keys = sorted->spare_rows = NULL;
    sx_progress_step(sorted->progress, build_units(shape, keep));
    if (family->fit && shape->n > 0)
        st = family->fit(shape, sorted->keys, &sharing, base, err);
    v = *shape;
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        uint64_t bytes = sx_section_bytes(&v, kind);
        if (bytes > 0 && !base[kind] && !sx_section_stays(&v, kind))
            st = alloc_section(cpu, &v, kind, bytes, &base[kind], err);
    }
    if (st != SX_OK) {
        drop_sections(base);
        return st;
    }
    if (family->fill && v.n > 0)
        family->fill(&v, sorted->keys, &sharing, base);
    if (!keep && v.n > 0) {
        sx_view_bind(&v, (const void *const *)base);
        w.keys = (unsigned char *)v.keys;
        w.rows = (unsigned char *)v.rows;
        if (sx_slots_gaps(&v)) {
            sx_cpu_share(cpu, threads, sorted->progress, v.slots, 4096, build_slots, &w);
        } else {
            for (w.level = 0; w.level < sx_stretch_count(&v, 0, v.n); w.level++)
                sx_cpu_share(cpu, threads, sorted->progress, sx_stretch_of(&v, w.level, 0, v.n).n,
                             4096, build_run, &w);
            pad_slots(&w);
        }
    }
    st = built(sorted, base, err);
    if (st == SX_OK)
        sx_sorted_give(sorted, shape, base);
    return st;
}

uint64_t sx_cpu_build_peak(const void *self, const sx_view *v)
{
    const sx_cpu *cpu = self;
    uint64_t arrays = sx_round_up(v->ranks * v->width, SX_LINE) +
                      v->ranks * (v->row_bytes ? v->row_bytes : 8);
    uint64_t sections, sorting;

    sorting = 2 * arrays + SPARE_KEYS * (uint64_t)v->width +
             sx_sort_scratch(cpu->threads, v->ranks, v->width + (v->row_bytes ? v->row_bytes : 8));

    sections = sx_host_bytes(v);
    /* Sorting has the arrays twice; building has them beside the sections,
     * unless they become the sections. */
    uint64_t building = sx_section_stays(v, SX_SEC_KEYS) ? sections : arrays + sections;

    /* Values are copied beside all keys. */
    if (v->traits & SX_ONCE)
        building = arrays + sections;

    if (sx_family_cpu_of(v->family)->fit) {
        uint64_t fitting = arrays + sx_family_cpu_of(v->family)->fit_peak(v);
        for (unsigned kind = SX_SEC_OWN; kind < SX_SECTIONS; kind++)
            fitting += sx_section_bytes(v, kind);
        building = fitting > building ? fitting : building;
    }
    return sorting > building ? sorting : building;
}
