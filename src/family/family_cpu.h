/* family_cpu.h - what a family does on a CPU: bounds by width and instruction set, and the
 * sections of its own. */
#ifndef SX_FAMILY_CPU_H
#define SX_FAMILY_CPU_H

#include "base/machine.h"
#include "base/share.h"
#include "family/shape.h"

/* Queries handled at a time: encoded, walked, answered. A chunk's state
 * stays in L1 and L2. */
#define SX_CHUNK 256u

/* Bounds of m <= SX_CHUNK keys of the view's width, left or right of keys equal to them: the
 * positions, and, unless slot is NULL, the slots (SX_NO_SLOT: every key is before the bound).
 * rows: the rows there are wanted soon. entry: NULL, or where each walk goes on
 * (family/state.h), made with the same side. The view has keys. */
typedef void sx_bounds_fn(const sx_view *v, const void *q, unsigned m, sx_side side,
                          const sx_state *entry, uint64_t *rank, uint64_t *slot, int rows);

/* Levels [from, to) of walks to these bounds in the upper part, for m <= SX_CHUNK keys. in:
 * states at level `from`, or NULL if that is 0. out: states at level `to`; may be `in`. */
typedef void sx_steps_fn(const sx_view *v, const void *q, unsigned m, sx_side side, uint32_t from,
                         uint32_t to, const sx_state *in, sx_state *out);

/* Keys that begin with the first bits[i] of q[i], which has zeros behind them, for m <= SX_CHUNK keys
 * of the view's width: the positions of the first of them and behind the last. The view has keys. */
typedef void sx_prefixes_fn(const sx_view *v, const void *q, const unsigned char *bits,
                            unsigned m, uint64_t *from, uint64_t *to);

/* Asks for the memory at which walks go on from m entries, and for the rows there if they are
 * wanted: a while before bounds are wanted of these. */
typedef void sx_ask_fn(const sx_view *v, const sx_state *entry, unsigned m, int rows);

/* How walks are driven in a laboratory (doc/LAB.md). 0: as ever. */
enum { SX_NODE_USUAL, SX_NODE_SEQUENTIAL, SX_NODE_LINEAR, SX_NODE_HIERARCHICAL };
#define SX_PIPELINE_MAX 32u
typedef struct {
    uint32_t node;                /* SX_NODE_: how a node is searched */
    uint32_t pipeline;            /* walks that go down together: 1 to SX_PIPELINE_MAX */
} sx_cpu_lab;

typedef struct {
    sx_bounds_fn *bounds[SX_SIMD_LEVELS][3];      /* of widths 4, 8, 16; NULL: this build
                                                     lacks the instruction set */
    sx_steps_fn *steps[SX_SIMD_LEVELS][3];        /* the same; NULL, too, if there is no upper
                                                     part */
    sx_ask_fn *ask;               /* NULL if there is no upper part */
    sx_prefixes_fn *prefixes[SX_SIMD_LEVELS][3];  /* as bounds; NULL, too, unless it has the trait
                                                     SX_FINDS_PREFIXES */
    /* Sections of its own, over the sorted keys. fit, if keys determine the shape: completes it
     * and makes the sections. fill: fills the sections in base[]. NULL: it has none. */
    sx_status (*fit)(sx_view *v, const void *keys, const sx_sharing *sharing,
                     void *base[SX_SECTIONS], sx_err *err);
    void (*fill)(const sx_view *v, const void *keys, const sx_sharing *sharing,
                 void *const base[SX_SECTIONS]);
    /* Units of progress that fit or fill count. */
    uint64_t (*units)(const sx_view *v);
    /* Most bytes that fit takes beside keys and sections, with any number of threads. */
    uint64_t (*fit_peak)(const sx_view *v);
    /* Has walks in this view go another way. NULL: there are none, or this is no laboratory. */
    void (*lab)(sx_view *v, const sx_cpu_lab *how);
} sx_family_cpu;

const sx_family_cpu *sx_family_cpu_of(uint32_t family);

#endif
