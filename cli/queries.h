/* queries.h - questions to ask about given keys. */
#ifndef CLI_QUERIES_H
#define CLI_QUERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "reference.h"
#include "sextant.h"
#include "skew.h"

typedef struct {
    double misses;                /* part of the queries that are not keys */
    skew_kind skew;               /* which keys are asked for more often */
    uint64_t seed;
} query_mix;

/* Whether draw_queries() needs the keys in order. */
bool needs_order(const query_mix *wanted);

/* n queries, hits drawn from the keys in random order, in a column to be
 * freed. ref has the keys in order; it may be NULL if that is not needed. Where
 * the skew is one of ranks, misses lie between keys of such ranks; else any two
 * neighbours are as likely as others. Fails if there is no key to draw, or no
 * value that is not a key (misses.h). */
sx_column draw_queries(const sx_column *keys, const reference *ref,
                       uint64_t n, const query_mix *wanted);

#endif
