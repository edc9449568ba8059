/* stand_in.h - for tests of indexes that two backends answer: a backend that stands in for
 * a device's own, counts its calls and fails when the test wants; tables for both sides of a
 * hybrid index; what an index tells of itself; and its file. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ask.h"
#include "inside.h"

/* Which calls are counted, and may fail; the others go to the device. */
typedef enum { OF_QUESTIONS, OF_ENTRIES } stand_in_kind;

extern _Atomic unsigned asked;    /* calls since stand_in(), or since set to 0 */
extern sx_status fail_with;       /* what calls fail with; SX_OK: they do not */
extern unsigned fail_from;        /* calls before the first that fails */
extern bool entries_lie;            /* entries are all 0 */
extern bool all_pinned;           /* the device says that all memory is pinned */
extern bool none_pinned;          /* or that none is */
/* OF_ENTRIES: calls whose queries are not in the `column_bytes` from `column_from` on. */
extern const void *column_from;
extern uint64_t column_bytes;
extern _Atomic unsigned elsewhere;
/* OF_QUESTIONS, while the clock is stopped (support.h): by how much it moves in a lookup in v,
 * the n-th since stand_in(), or in a sort (v NULL); NULL: not at all. */
extern uint64_t (*takes_ns)(const sx_view *v, unsigned n);

/* For one device at a time. Sets all of the above to 0. */
void stand_in(sx_device *dev, stand_in_kind kind);
void stand_back(sx_device *dev);  /* the device's own backend, and no failures */

/* Tables that are those of a device and its host, and may be changed until both_back(). */
extern const sx_backend *gpu_own, *cpu_own;
extern sx_backend gpu_table, cpu_table;
void both_stand_in(sx_device *dev);
void both_back(void);

/* The i-th spec of a hybrid index, of some with parameters and of all families with an upper part;
 * NULL: behind the last. Then the levels of the upper part that a GPU has. */
const char *hybrid_spec_at(size_t i);
uint32_t upper_levels(const sx_index *ix);

/* The explanation has these words, or the test fails. */
void explained(const sx_index *ix, const char *text_has, const char *json_has);

/* The index's file is the plain one's, and says nothing of places. Loaded on the
 * device, and into every place, it is right. */
void check_file(asker *a, sx_device *dev, const sx_index *ix, const sx_index *plain,
                const dataset *d);

#endif
