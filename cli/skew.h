/* skew.h - which keys are asked for, and how often.
 *
 *     uniform  every key alike
 *     normal   Normal(0.5, variance 0.125); below 0 and from 1 on (one in six)
 *              drawn again
 *     gamma    Gamma(shape 3, scale 3) / 64; from 1 on (one in seven million)
 *              drawn again. Its mean is 9/64, its mode 6/64
 *     zipf2    the first key, the second, ... with odds of 1/1^2, 1/2^2, ...:
 *              six of ten queries ask for the first key
 *
 * Normal and gamma draw a number x in [0,1), a place among the keys in their
 * order: the query is the key of rank floor(x n). For uniform keys that is a
 * linear map to the key space, with the nearest key for each value. Neighbours
 * in order are about equally frequent, so some parts of an index are asked for
 * more often than others, not only some keys.
 *
 * These are the distributions of figure 12 of A. Shahvarani and others, A
 * Hybrid B+-tree (doc/papers/hb-plus.md). It does not say how gamma and Zipf
 * values become numbers from 0 to 1; what is said here is our reading.
 *
 *     zipf     (the option --zipf:) odds of about 1/1, 1/2, ..., for keys that
 *              are spread over all places
 *
 * The draws depend on the seed alone, on every machine (real.h). */
#ifndef CLI_SKEW_H
#define CLI_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

typedef enum {                    /* in the order of SKEW_CHOICES */
    SKEW_NOT_GIVEN,
    SKEW_UNIFORM,
    SKEW_NORMAL,
    SKEW_GAMMA,
    SKEW_ZIPF2,
    SKEW_ZIPF                     /* by an option of its own */
} skew_kind;

#define SKEW_CHOICES "uniform|normal|gamma|zipf2"
#define SKEW_HELP \
    "places in the keys' order that are asked for (uniform):\n" \
    "                            Normal(0.5, variance 0.125), Gamma(3,3) / 64, " \
    "1/rank^2"

const char *skew_name(skew_kind kind);

/* The two options as one kind. Fails if both are given. */
skew_kind skew_settled(int given, bool zipf);

/* Whether draws are ranks: places among the keys in their order, not in that of
 * their file. */
bool skew_by_rank(skew_kind kind);

typedef struct {
    skew_kind kind;
    uint64_t n;                   /* places */
    shuffle spread;               /* zipf: where frequent ones are */
} skew;

/* Takes the same numbers of r for every kind. */
skew skew_over(skew_kind kind, uint64_t n, rng *r);

/* A place, from 0 to n - 1; n > 0. */
uint64_t skew_draw(const skew *s, rng *r);

#endif
