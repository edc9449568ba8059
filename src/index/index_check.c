#include "index/index_check.h"

#include "base/alloc.h"
#include "index/guide_make.h"
#include "index/pgm_check.h"
#include "index/slots.h"
#include "index/spec.h"
#include "keys/types.h"

#include <string.h>

static sx_key16 key_at_slot(const sx_view *v, const unsigned char *p)
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

static sx_key16 largest(const sx_view *v)
{
    return ~(sx_key16)0 >> (128 - 8 * v->width);
}

static sx_status broken(const sx_view *v, const char *rule, const char *what,
                        uint64_t where, sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "%s, invariant %s: %s %llu (of %llu keys)",
                   sx_family_name(v->family), rule, what, (unsigned long long)where,
                   (unsigned long long)v->n);
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
    const char *rule = v->family == SX_FAM_EYTZ ? "E1" : "P1";
    const sx_type_info *type = sx_type_of(key_type);
    sx_key16 before = 0;
    uint64_t repeats = 0;

    for (uint64_t rank = 0; rank < v->n; rank++) {
        const unsigned char *at = v->keys + sx_key_offset(v, sx_slot_of_rank(v, rank));
        sx_key16 key = key_at_slot(v, at);
        if (stopped_at(progress, rank))
            return sx_progress_status(progress, err);
        if (!is_code(type, at))
            return broken(v, "K1", "a key that no query can equal has rank", rank, err);
        if (rank > 0 && key < before)
            return broken(v, rule, "a smaller key follows rank", rank - 1, err);
        if (rank > 0 && unique && key == before)
            return broken(v, rule, "an equal key follows (unique) rank", rank - 1, err);
        if (rank > 0 && v->distinct && key == before)
            return broken(v, "K2", "an equal key follows (distinct) rank", rank - 1, err);
        repeats += rank > 0 && key == before;
        before = key;
    }
    if (!v->distinct && repeats == 0)
        return broken(v, "K2", "keys are distinct, but not said to be, up to rank", v->n - 1, err);
    return SX_OK;
}

static sx_status check_unused(const sx_view *v, sx_err *err)
{
    const char *rule = v->family == SX_FAM_EYTZ ? "E2" : "P2";

    for (uint64_t slot = v->n; slot < v->slots; slot++) {
        if (key_at_slot(v, v->keys + sx_key_offset(v, slot)) != largest(v))
            return broken(v, rule, "not the largest key in unused slot", slot, err);
        if (v->block && sx_row_at(v, slot, 0) != (v->row_bytes == 8 ? SX_MISS : SX_MISS32))
            return broken(v, "R2", "a row in unused slot", slot, err);
    }
    return SX_OK;
}

static sx_status check_pivots(const sx_view *v, sx_err *err)
{
    for (uint32_t l = 0; v->family == SX_FAM_PIVOT && l < v->levels; l++)
        for (uint64_t i = 0; i < v->level_nodes[l] * (v->k - 1); i++) {
            uint64_t source = sx_pivot_source(v, l, i), at = v->level_first[l] + i;
            sx_key16 want = source < v->n
                                ? key_at_slot(v, v->keys + sx_key_offset(v, source))
                                : largest(v);
            if (key_at_slot(v, v->pivots + at * v->width) != want)
                return broken(v, "P3", "not the key it stands for, pivot", at, err);
        }
    return SX_OK;
}

/* Against what the keys determine, which want to be in one array for that. */
static sx_status check_guide(const sx_view *v, sx_err *err)
{
    const unsigned char *keys = v->keys;
    void *copy = NULL;
    unsigned char key[16], record[SX_GUIDE_RECORD];
    sx_status st = SX_OK;

    if (v->family != SX_FAM_GUIDE)
        return SX_OK;
    if (v->block) {
        st = sx_alloc_array(&copy, v->n, v->width, "checking a guide", err);
        if (st != SX_OK)
            return st;
        for (uint64_t i = 0; i < v->n; i++)
            memcpy((unsigned char *)copy + i * v->width, v->keys + sx_key_offset(v, i), v->width);
        keys = copy;
    }
    for (uint64_t p = 0; p < sx_piece_key_bytes(v) / v->width && st == SX_OK; p++) {
        sx_guide_make_first(v, keys, p, key);
        if (memcmp(key, v->piece_keys + p * v->width, v->width) != 0)
            st = broken(v, "G1", "not the key it begins with, piece", p, err);
    }
    for (uint64_t p = 0; p < v->pieces && st == SX_OK; p++) {
        sx_piece_map map = sx_guide_make_map(v, keys, p);
        if (memcmp(&map, v->piece_maps + p * sizeof map, sizeof map) != 0)
            st = broken(v, "G1", "another map than its keys determine, piece", p, err);
    }
    for (uint64_t r = 0; r < sx_guide_records(v) && st == SX_OK; r++) {
        sx_guide_make_record(v, keys, r, record);
        if (memcmp(record, v->guide + r * SX_GUIDE_RECORD, SX_GUIDE_RECORD) != 0)
            st = broken(v, "G2", "not what the keys determine, record", r, err);
    }
    sx_release(copy);
    return st;
}

static sx_status check_rows(const sx_view *v, uint64_t max_row, sx_progress *progress,
                            sx_err *err)
{
    uint64_t max = v->row_bytes ? 0 : v->n - 1;   /* not stored: they are ranks */

    for (uint64_t slot = 0; v->row_bytes && slot < v->n; slot++) {
        uint64_t row = sx_row_at(v, slot, 0);
        if (stopped_at(progress, slot))
            return sx_progress_status(progress, err);
        if (row > max_row)
            return broken(v, "R1", "a row above the largest in slot", slot, err);
        max = row > max ? row : max;
    }
    if (max != max_row)
        return broken(v, "R1", "the largest row is not", max_row, err);
    return SX_OK;
}

/* Of a key: its order, what is above it, its row. */
#define CHECK_UNITS 3u

sx_status sx_index_check(const sx_view *v, int key_type, uint64_t max_row, int unique,
                         sx_progress *progress, sx_err *err)
{
    sx_status st;

    if (v->n == 0)
        return max_row == 0 ? SX_OK : broken(v, "R1", "the largest row is", max_row, err);
    sx_progress_units(progress, CHECK_UNITS * v->n);
    st = check_order(v, key_type, unique, progress, err);
    if (st == SX_OK)
        st = check_unused(v, err);
    if (st == SX_OK)
        st = check_pivots(v, err);
    if (st == SX_OK)
        st = check_guide(v, err);
    if (st == SX_OK && v->family == SX_FAM_PGM)
        st = sx_pgm_check(v, err);
    sx_progress_add(progress, v->n);
    if (st == SX_OK)
        st = sx_progress_status(progress, err);
    if (st == SX_OK)
        st = check_rows(v, max_row, progress, err);
    return st == SX_OK ? sx_progress_status(progress, err) : st;
}
