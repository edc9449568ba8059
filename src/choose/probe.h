/* probe.h - questions about keys of an index that has two replicas, in random order, all on the
 * host: by them it is measured (cost_measure.c) and tried (balance.c). */
#ifndef SX_PROBE_H
#define SX_PROBE_H

#include "query/index.h"

typedef struct {
    uint64_t n, of_gpu;           /* all; those that a GPU is asked at once */
    int key_type;
    uint64_t *ranks;
    void *keys;
    uint64_t *out;
} sx_probe;

/* The type that an index is asked by: of strings, that of their codes. */
int sx_probe_type(const sx_index_version *now);
/* n of them; also where this fails sx_probe_drop() gives all back. */
sx_status sx_probe_make(const sx_replica *here, int key_type, sx_probe *q, sx_err *err);
void sx_probe_drop(sx_probe *q);
sx_slice sx_probe_keys(const sx_probe *q);
/* All of them, as one batch. */
sx_lookup sx_probe_get(const sx_probe *q);

/* cost_measure.c: what entries take either side, by the balance that c has. */
sx_status sx_measure_entries(const sx_replica *upper, const sx_replica *here, const sx_probe *q,
                             sx_cost *c, sx_err *err);

/* balance.c. Trials have at most this many questions. */
#define SX_TRIAL_QUESTIONS (6u << 20)
/* Tries a hybrid index that nobody else has yet: c has its balance afterwards, and whether
 * entries pay. A lack of memory is no failure: then it is not tried. */
sx_status sx_try_entries(sx_index_version *now, const sx_replica *upper, const sx_replica *here,
                         sx_cost *c, sx_err *err);

#endif
