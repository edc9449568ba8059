/* gpu_tune.h - how kernels run on a device: the options behind its name, each after a
 * comma (sextant.h lists them). A field that is 0 was left out: it is chosen by the
 * shape of the index, see gpu_points_plan(). */
#ifndef SX_GPU_TUNE_H
#define SX_GPU_TUNE_H

#include "base/status.h"

enum { SX_WALK_ALONE = 1, SX_WALK_SHARED, SX_WALK_WHOLE, SX_WALK_GROUP };
enum { SX_STAGE_NONE = 1, SX_STAGE_STEPS, SX_STAGE_FULL, SX_STAGE_CONSTANT };
enum { SX_REORDER_NONE = 1, SX_REORDER_LOOKUP, SX_REORDER_DOUBLE };
enum { SX_SCHEDULE_STATIC = 1, SX_SCHEDULE_DYNAMIC };

typedef struct {
    uint64_t memory;              /* bytes; 0: all */
    uint64_t persist;             /* bytes of L2; 0: none */
    uint32_t walk, staged, reorder, schedule, scan;
    uint32_t search;              /* sx_search */
    uint32_t block;               /* threads: 128, 256, 512, 1024 */
    uint32_t each;                /* questions of a thread: 1 to 64 */
    uint32_t blocks;              /* of a launch, at most */
    uint32_t bucket;              /* hybrid: questions of a trip */
    uint32_t side;                /* who answers where either could: SX_SIDE_ of
                                     place/backend.h */
    uint32_t strategy;            /* hybrid: SX_BUCKETS_ of place/backend.h */
    uint32_t balanced;            /* hybrid: whether one of these is told, */
    uint32_t depth, share, own;   /* of which 0 is a number like others: sx_balance */
} sx_gpu_tune;

/* device: its name in errors. lab: it has the kernels of doc/LAB.md, too. */
sx_status sx_gpu_tune_parse(sx_gpu_tune *out, const char *text, const char *device, int lab,
                            sx_err *err);

#endif
