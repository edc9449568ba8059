#include "family/index_check.h"

#include "family/family.h"
#include "family/slots.h"
#include "keys/string_groups.h"
#include "keys/string_marks.h"
#include "keys/types.h"

#include <string.h>

sx_key16 sx_check_key(const sx_view *v, const unsigned char *p)
{
    sx_key4 k4;
    sx_key8 k8;
    sx_key16 k16;

    if (v->width == 4) {
        memcpy(&k4, p, 4);
        return k4;
    }
    if (v->width == 8) {
        memcpy(&k8, p, 8);
        return k8;
    }
    memcpy(&k16, p, 16);
    return k16;
}

sx_key16 sx_check_largest(const sx_view *v)
{
    return ~(sx_key16)0 >> (128 - 8 * v->width);
}

sx_status sx_check_broken(const sx_view *v, const char *rule, const char *what, uint64_t where,
                          sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "%s, invariant %s: %s %llu (of %llu keys)",
                   sx_family_of(v->family)->name, rule, what, (unsigned long long)where,
                   (unsigned long long)v->ranks);
}

/* Whether there is an element of the type that this key stands for. */
static int is_code(const sx_type_info *type, const unsigned char *key)
{
    _Alignas(16) unsigned char stored[16], element[16], again[16];

    memcpy(stored, key, type->width);
    type->decode(element, stored, 1);
    type->encode(again, element, 1);
    return memcmp(stored, again, type->width) == 0;
}

#define PIECE 65536u              /* slots between two looks at progress */

/* Whether slot i begins a piece, and progress is stopped. */
static int stopped_at(sx_progress *progress, uint64_t i)
{
    return i % PIECE == 0 && sx_progress_add(progress, i ? PIECE : 0);
}

static sx_status check_order(const sx_view *v, int key_type, int unique, sx_progress *progress,
                             sx_err *err)
{
    const char *rule = sx_family_of(v->family)->order;
    const sx_type_info *type = sx_type_of(key_type);
    sx_key16 before = 0;
    uint64_t repeats = 0;

    unique = unique && type->bytes;       /* of strings: check_strings() */
    for (uint64_t rank = 0; rank < v->n; rank++) {
        const unsigned char *at = v->keys + sx_key_offset(v, sx_slot_of_rank(v, rank));
        sx_key16 key = sx_check_key(v, at);
        if (stopped_at(progress, rank))
            return sx_progress_status(progress, err);
        if (type->bytes && !is_code(type, at))
            return sx_check_broken(v, "K1", "a key that no query can equal has rank", rank, err);
        if (rank > 0 && key < before)
            return sx_check_broken(v, rule, "a smaller key follows rank", rank - 1, err);
        if (rank > 0 && unique && key == before)
            return sx_check_broken(v, rule, "an equal key follows (unique) rank", rank - 1, err);
        if (rank > 0 && v->distinct && key == before)
            return sx_check_broken(v, "K2", "an equal key follows (distinct) rank", rank - 1, err);
        repeats += rank > 0 && key == before;
        before = key;
    }
    if (!v->distinct && repeats == 0)
        return sx_check_broken(v, "K2", "keys are distinct, but not said to be, up to rank", v->n - 1, err);
    return SX_OK;
}

typedef struct {                  /* a run of equal codes */
    uint64_t first, code, same;
} code_run;

/* Whether the run that ends here has as many strings as its mark says. */
static sx_status check_run(const sx_view *v, const code_run *run, uint64_t end, sx_err *err)
{
    uint64_t m = end - run->first < SX_MARK_MANY ? end - run->first : SX_MARK_MANY;

    if (!v->strings.marks || end == 0 || v->strings.marks[run->first] == (run->same ? m : 0))
        return SX_OK;
    return sx_check_broken(v, "S5", "another number of strings have the code of position", run->first,
                           err);
}

/* Position i belongs to the run, or begins another one. */
static sx_status check_mark(const sx_view *v, code_run *run, uint64_t i, const sx_code_walk *w,
                            sx_err *err)
{
    sx_status st;

    if (!v->strings.marks)
        return SX_OK;
    if (i > 0 && w->code == run->code) {
        if (run->same && w->same != run->same)
            return sx_check_broken(v, "S5", "codes of a run stand for other bytes from position", i,
                                   err);
        return v->strings.marks[i] == sx_mark_of(&v->strings, i, w->same)
                   ? SX_OK : sx_check_broken(v, "S5", "the wrong mark has position", i, err);
    }
    st = check_run(v, run, i, err);
    *run = (code_run){i, w->code, w->same};
    return st;
}

/* S1, of offsets in lines: each line counts from its first offset, and 0 is behind the last. */
static sx_status check_lines(const sx_view *v, sx_err *err)
{
    const sx_strings *s = &v->strings;
    uint64_t end = sx_offsets_bytes(v->n, 2) / SX_OFFSET_LINE * SX_LINE_STRINGS;

    for (uint64_t i = 0; i < end && s->offset_bytes == 2; i++) {
        const unsigned char *line = sx_offset_place(s, i);
        if ((i % SX_LINE_STRINGS == 0 || i > v->n) &&
            ((const uint16_t *)(const void *)(line + 8))[i % SX_LINE_STRINGS])
            return sx_check_broken(v, "S1", "a line of offsets should have 0 for offset", i, err);
    }
    return SX_OK;
}

/* S1: offsets never descend, from 0 to the end. S2: strings never descend, and ascend where they
 * are unique or stored once. S3: groups are a tree (keys/string_groups.h). S4: each key is the code of its
 * string. S5: each mark is as keys/string_marks.h has it. */
static sx_status check_strings(const sx_view *v, int unique, sx_progress *progress, sx_err *err)
{
    const sx_strings *s = &v->strings;
    const unsigned char *before = NULL;
    uint64_t length = 0, last = 0;
    int least = unique || (v->traits & SX_ONCE) ? 0 : 1;
    code_run run = {0};
    sx_status st = SX_OK;

    for (uint64_t i = 0; i <= v->n; i++) {
        uint64_t at = sx_offset_at(s, i);
        if (at < last || at > s->size || (i == 0 && at != 0) || (i == v->n && at != s->size))
            return sx_check_broken(v, "S1", "strings are not one behind the other, at offset", i,
                                   err);
        last = at;
    }
    st = check_lines(v, err);
    if (st == SX_OK)
        st = sx_groups_check(s, err);
    for (uint64_t i = 0; i < v->n && st == SX_OK; i++) {
        uint64_t own;
        const unsigned char *p = sx_string_at(s, i, &own);
        sx_code_walk w = sx_string_walk(s, p, own);
        if (stopped_at(progress, i))
            return sx_progress_status(progress, err);
        if (i > 0 && sx_bytes_order(before, length, p, own) >= least)
            return sx_check_broken(v, "S2", "no larger string follows position", i - 1, err);
        if (sx_check_key(v, v->keys + sx_key_offset(v, sx_slot_of_rank(v, i))) != w.code)
            return sx_check_broken(v, "S4", "a key that is not the code of its string has position",
                                   i, err);
        st = check_mark(v, &run, i, &w, err);
        before = p;
        length = own;
    }
    return st == SX_OK ? check_run(v, &run, v->n, err) : st;
}

/* V1 and V2. */
static sx_status check_starts(const sx_view *v, int unique, sx_err *err)
{
    if (!(v->traits & SX_ONCE))
        return SX_OK;
    if (unique && v->n != v->ranks)
        return sx_check_broken(v, "V1", "keys are unique, and those stored are not as many, but",
                               v->n, err);
    if (sx_start_at(v, 0) != 0)
        return sx_check_broken(v, "V1", "the first value does not begin at rank 0, but",
                               sx_start_at(v, 0), err);
    for (uint64_t i = 0; i < v->n; i++) {
        if (sx_start_at(v, i) >= sx_start_at(v, i + 1))
            return sx_check_broken(v, "V1", "no rank has value", i, err);
        if (v->row_bytes && sx_first_row(v, i) != sx_row_in(v, sx_start_at(v, i)))
            return sx_check_broken(v, "V2", "another row is said to be the first of value", i, err);
    }
    for (uint64_t i = (v->n + 1) * sx_start_bytes(v->ranks);
         v->row_bytes && i < sx_firsts_offset(v->n, v->ranks); i++)
        if (v->starts[i])
            return sx_check_broken(v, "V1", "not 0 behind starts, in byte", i, err);
    if (sx_start_raw(v, v->n) != v->ranks)
        return sx_check_broken(v, "V1", "the last value does not end where ranks do, but at",
                               sx_start_raw(v, v->n), err);
    return SX_OK;
}

static sx_status check_unused(const sx_view *v, sx_err *err)
{
    const char *rule = sx_family_of(v->family)->unused;
    int in_slots = v->block || (sx_slots_gaps(v) && v->row_bytes && !v->starts);

    for (uint64_t slot = sx_slots_gaps(v) ? 0 : v->n; slot < v->slots; slot++) {
        uint64_t rank = sx_rank_of_slot(v, slot);
        if (rank < v->n || rank == SX_HOLE)
            continue;
        if (sx_check_key(v, v->keys + sx_key_offset(v, slot)) != sx_check_largest(v))
            return sx_check_broken(v, rule, "not the largest key in unused slot", slot, err);
        if (in_slots && sx_row_in(v, slot) != (v->row_bytes == 8 ? SX_MISS : SX_MISS32))
            return sx_check_broken(v, "R2", "a row in unused slot", slot, err);
    }
    return SX_OK;
}

static sx_status check_rows(const sx_view *v, uint64_t max_row, sx_progress *progress,
                            sx_err *err)
{
    int gaps = !(v->traits & SX_ONCE) && sx_slots_gaps(v);
    uint64_t places = v->traits & SX_ONCE ? v->ranks : gaps ? v->slots : v->n;
    uint64_t max = v->row_bytes ? 0 : v->ranks - 1;   /* not stored: they are ranks */

    for (uint64_t slot = 0; v->row_bytes && slot < places; slot++) {
        uint64_t row;
        if (stopped_at(progress, slot))
            return sx_progress_status(progress, err);
        if (gaps && sx_rank_of_slot(v, slot) >= v->n)
            continue;
        row = sx_row_in(v, slot);
        if (row > max_row)
            return sx_check_broken(v, "R1", "a row above the largest in place", slot, err);
        max = row > max ? row : max;
    }
    if (max != max_row)
        return sx_check_broken(v, "R1", "the largest row is not", max_row, err);
    return SX_OK;
}

/* For each key: its order, what is above it, its row, its string. */
#define CHECK_UNITS 4u

sx_status sx_index_check(const sx_view *v, int key_type, uint64_t max_row, int unique,
                         sx_progress *progress, sx_err *err)
{
    const sx_family *family = sx_family_of(v->family);
    sx_status st;

    if (v->n == 0)
        return max_row == 0 ? SX_OK : sx_check_broken(v, "R1", "the largest row is", max_row, err);
    sx_progress_units(progress, CHECK_UNITS * v->n);
    st = check_order(v, key_type, unique, progress, err);
    if (st == SX_OK)
        st = check_starts(v, unique, err);
    if (st == SX_OK && v->strings.offset_bytes)
        st = check_strings(v, unique, progress, err);
    if (st == SX_OK)
        st = check_unused(v, err);
    if (st == SX_OK && family->check)
        st = family->check(v, err);
    sx_progress_add(progress, v->n);
    if (st == SX_OK)
        st = sx_progress_status(progress, err);
    if (st == SX_OK)
        st = check_rows(v, max_row, progress, err);
    return st == SX_OK ? sx_progress_status(progress, err) : st;
}
