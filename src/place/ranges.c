#include "place/ranges.h"

uint64_t sx_ranges_sum_up(uint64_t *first, uint64_t n)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t count = first[i];
        first[i] = sum;
        sum += count;
    }
    first[n] = sum;
    return sum;
}

static sx_status check(uint64_t space, uint64_t total, const char *name, sx_err *err)
{
    if (space < total)
        return sx_fail(err, SX_ESPACE, "sx_range: %s has room for %llu, but %llu are needed", name,
                       (unsigned long long)space, (unsigned long long)total);
    return SX_OK;
}

sx_status sx_ranges_check_space(const sx_range_out *out, uint64_t total, sx_err *err)
{
    sx_status st = sx_slice_wanted(&out->rows) ? check(out->rows.n, total, "rows", err) : SX_OK;

    return st == SX_OK && sx_slice_wanted(&out->keys) ? check(out->keys.n, total, "keys", err) : st;
}
