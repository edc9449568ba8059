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

static sx_status check(const sx_slice *to, uint64_t total, const char *verb, const char *name,
                       sx_err *err)
{
    if (sx_slice_wanted(to) && to->n < total)
        return sx_fail(err, SX_ESPACE, "%s: %s has room for %llu, but %llu are needed", verb,
                       name, (unsigned long long)to->n, (unsigned long long)total);
    return SX_OK;
}

sx_status sx_ranges_check_space(const sx_range_out *out, uint64_t total, const char *verb,
                                sx_err *err)
{
    sx_status st = check(&out->rows, total, verb, "rows", err);

    return st == SX_OK ? check(&out->keys, total, verb, "keys", err) : st;
}
