/* queries.h - questions to ask about given keys. */
#ifndef CLI_QUERIES_H
#define CLI_QUERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "reference.h"
#include "sextant.h"

typedef struct {
    double misses;                /* part of the queries that are not keys */
    bool zipf;                    /* a few keys are asked for very often */
    uint64_t seed;
} query_mix;

/* n queries, hits drawn from the keys in random order, in a column to be
 * freed. ref has the keys in order; it may be NULL if misses is 0. Fails if
 * there is no key to draw, or no value that is not a key (misses.h). */
sx_column draw_queries(const sx_column *keys, const reference *ref,
                       uint64_t n, const query_mix *mix_wanted);

#endif
