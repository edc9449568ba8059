#include "query/sizes.h"

#include <string.h>

/* These are frozen: a change breaks programs that are already compiled. */
_Static_assert(SX_CALL_SIZE_1 == 24, "the first sx_call");
_Static_assert(SX_DEVICE_INFO_SIZE_1 == 344, "the first sx_device_info");
_Static_assert(SX_ALLOCATOR_SIZE_1 == 32, "the first sx_allocator");
_Static_assert(SX_ESTIMATE_ASK_SIZE_1 == 24, "the first sx_estimate_ask");
_Static_assert(SX_ESTIMATE_INFO_SIZE_1 == 40, "the first sx_estimate_info");
_Static_assert(SX_FAMILY_INFO_SIZE_1 == 264, "the first sx_family_info");
_Static_assert(SX_RANGES_SIZE_1 == 40, "the first sx_ranges");
_Static_assert(SX_AGGREGATES_SIZE_1 == 40, "the first sx_aggregates");
_Static_assert(SX_COLLECT_OPTIONS_SIZE_1 == 24, "the first sx_collect_options");
_Static_assert(SX_COLLECTOR_INFO_SIZE_1 == 64, "the first sx_collector_info");
_Static_assert(SX_INDEX_INFO_SIZE_1 == 176, "the first sx_index_info");

/* A column has no size field. It stays as large as it was, even if reserved bytes
 * get names. */
_Static_assert(sizeof(sx_column) == 64 && offsetof(sx_column, data) == 16 &&
               offsetof(sx_column, offsets) == 24, "a column never changes");

/* Every struct begins with its size. */
static size_t size_of(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof size);
    return size;
}

sx_status sx_check_struct(const void *out, size_t first, const char *verb, const char *name,
                          sx_err *err)
{
    size_t size = size_of(out);

    if (size < first || size > SX_STRUCT_MOST || size % sizeof(uint64_t))
        return sx_fail(err, SX_EINVAL, "%s: the size in %s is %zu, not sizeof(%s); allowed: "
                       "multiples of 8 from %zu to %u", verb, name, size, name, first,
                       SX_STRUCT_MOST);
    return SX_OK;
}

sx_status sx_take_struct(void *own, size_t own_bytes, const void *given, size_t first,
                         const char *verb, const char *name, sx_err *err)
{
    const unsigned char *bytes = given;
    size_t size = size_of(given), known = size < own_bytes ? size : own_bytes;
    sx_status st = sx_check_struct(given, first, verb, name, err);

    if (st != SX_OK)
        return st;
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return sx_fail(err, SX_EINVAL, "%s: byte %zu of %s is %u, not 0: that field is of a "
                           "newer version, this library knows %zu bytes", verb, i, name, bytes[i],
                           own_bytes);
    memset(own, 0, own_bytes);
    memcpy(own, given, known);
    return SX_OK;
}

void sx_give_struct(void *out, const void *own, size_t own_bytes)
{
    size_t size = size_of(out), known = size < own_bytes ? size : own_bytes;
    unsigned char *to = out;

    memcpy(to + sizeof size, (const unsigned char *)own + sizeof size, known - sizeof size);
    memset(to + known, 0, size - known);
}
