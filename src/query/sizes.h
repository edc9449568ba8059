/* sizes.h - structs of sextant.h that begin with their size, so that they can grow.
 *
 * A caller may be older than the library or newer. Its struct is then shorter or longer
 * than ours, and what both know lies at the same place:
 *
 *                 size                first size        ours          its
 *     older   in  | fields of the first version |.......|
 *     newer   in  | fields of the first version | later fields | unknown |
 *
 * Inputs: a field that the caller lacks is 0. Bytes that the library lacks must be 0, as
 * nobody could do what they ask for. Outputs: a field that the caller lacks is not
 * written. Bytes that the library lacks become 0.
 *
 * New fields go to the end, and 0 in them means what was before they came. Each struct
 * has a field of 8 bytes, so its size is a multiple of 8 in every version, and no version
 * ends inside of a pointer. The first sizes never change. */
#ifndef SX_SIZES_H
#define SX_SIZES_H

#include "base/status.h"

/* Bytes of a struct up to and with the last field of a version. */
#define SX_SIZE_WITH(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* The size of each in its first version. */
#define SX_CALL_SIZE_1 SX_SIZE_WITH(sx_call, hints)
#define SX_DEVICE_INFO_SIZE_1 SX_SIZE_WITH(sx_device_info, memory)
#define SX_ALLOCATOR_SIZE_1 SX_SIZE_WITH(sx_allocator, context)
#define SX_ESTIMATE_ASK_SIZE_1 SX_SIZE_WITH(sx_estimate_ask, row_type)
#define SX_ESTIMATE_INFO_SIZE_1 SX_SIZE_WITH(sx_estimate_info, device_peak)
#define SX_FAMILY_INFO_SIZE_1 SX_SIZE_WITH(sx_family_info, parameters)
#define SX_RANGES_SIZE_1 SX_SIZE_WITH(sx_ranges, reserved)
#define SX_PREFIXES_SIZE_1 SX_SIZE_WITH(sx_prefixes, reserved)
#define SX_CLIMBS_SIZE_1 SX_SIZE_WITH(sx_climbs, reserved)
#define SX_AGGREGATES_SIZE_1 SX_SIZE_WITH(sx_aggregates, sum)
#define SX_COLLECT_OPTIONS_SIZE_1 SX_SIZE_WITH(sx_collect_options, reserved)
#define SX_COLLECTOR_INFO_SIZE_1 SX_SIZE_WITH(sx_collector_info, timed_out)
#define SX_INDEX_INFO_SIZE_1 SX_SIZE_WITH(sx_index_info, spec)

/* No version will be as large: a size above this is an error. */
#define SX_STRUCT_MOST 4096u

/* Copies an input, which is not NULL, into a struct of ours. */
sx_status sx_take_struct(void *own, size_t own_bytes, const void *given, size_t first,
                         const char *verb, const char *name, sx_err *err);
#define SX_TAKE(own, given, type, first, verb, err) \
    sx_take_struct((own), sizeof(type), (const type *)(given), (first), (verb), #type, (err))

/* For an output, which is not NULL: checks its size; copies ours into it. */
sx_status sx_check_struct(const void *out, size_t first, const char *verb, const char *name,
                          sx_err *err);
void sx_give_struct(void *out, const void *own, size_t own_bytes);

#endif
