/* gen.h - keys of a distribution, from the seed alone.
 *
 *     uniform      every value of the type alike; floats from -1 to 1
 *     dense        a run of neighbouring integers
 *     normal       a bell in the middle of the type's range; floats: N(0,1)
 *     lognormal    exp(2 N(0,1)), scaled: most keys crowd near the bottom
 *     exponential  gaps as between arrivals, scaled
 *     zipf-gapped  neighbours mostly 1 apart, a few very far (P(gap>=g)=1/g)
 *     clustered    a fractal: places on a map ("osm-like")
 *     duplicates   n/100 values, a few of them very frequent (Zipf)
 *
 * and coarse stand-ins for data sets of the SOSD benchmark:
 *
 *     books-like   a smooth hump over the whole range, rough in the small:
 *                  how often books were sold
 *     wiki-like    seconds at which pages were edited, later ones more often,
 *                  fewer by night; many share a second
 *     fb-like      ids that were handed out in bursts, even in the large and
 *                  very rough in the small, and 21 ids far above all others
 *
 * (osm-like is clustered;) and columns as real data have them beside curves:
 *
 *     one-value, two-values, few-values (1000), each as frequent as the others
 *     zipf-values  numbers from 0 on, number v with odds of about 1/(v+1)
 *     half-equal   uniform, but every other key is one and the same
 *     repeated     n/16 neighbouring integers, each about 16 times
 *     blocks       64 runs of neighbouring integers, far apart
 *     holes        neighbouring integers, without every third hundred
 *     outliers     even, but one key in a thousand is anywhere
 *     jitter       ticks of a clock, each early or late by a little
 *     power        cubes: crowded at the lower end
 *     log-uniform  equally many between 2^k and 2^(k+1) for every k
 *     two-bells    two narrow bells far apart
 *     segments     1000 stretches, some a million times as crowded as others
 *
 * The order is random for all of them. */
#ifndef CLI_GEN_H
#define CLI_GEN_H

#include <stdint.h>

#include "rng.h"

typedef enum {                    /* in the order of DIST_CHOICES */
    DIST_NONE,
    DIST_UNIFORM,
    DIST_DENSE,
    DIST_NORMAL,
    DIST_LOGNORMAL,
    DIST_EXPONENTIAL,
    DIST_ZIPF_GAPPED,
    DIST_CLUSTERED,
    DIST_DUPLICATES,
    DIST_OSM_LIKE,                /* another word for clustered */
    DIST_BOOKS_LIKE,
    DIST_WIKI_LIKE,
    DIST_FB_LIKE,
    DIST_ONE_VALUE,
    DIST_TWO_VALUES,
    DIST_FEW_VALUES,
    DIST_ZIPF_VALUES,
    DIST_HALF_EQUAL,
    DIST_REPEATED,
    DIST_BLOCKS,
    DIST_HOLES,
    DIST_OUTLIERS,
    DIST_JITTER,
    DIST_POWER,
    DIST_LOG_UNIFORM,
    DIST_TWO_BELLS,
    DIST_SEGMENTS
} distribution;

#define DIST_CHOICES "uniform|dense|normal|lognormal|exponential|" \
                     "zipf-gapped|clustered|duplicates|osm-like|" \
                     "books-like|wiki-like|fb-like|one-value|two-values|" \
                     "few-values|zipf-values|half-equal|repeated|blocks|" \
                     "holes|outliers|jitter|power|log-uniform|two-bells|" \
                     "segments"

const char *dist_name(distribution dist);

/* n keys of the type into out. Fails if the type has no space for them. */
void gen_keys(distribution dist, int type, uint64_t n, uint64_t seed,
              void *out);

/* The same by many threads. The first PARALLEL_PART keys are those of
 * gen_keys(); further ones have the same distribution, but differ. */
void gen_keys_parallel(distribution dist, int type, uint64_t n,
                       uint64_t seed, void *out);

/* Uniform keys no two of which are equal: key i is the i-th of a random order
 * of all values that uniform has. */
typedef struct {
    int type;
    unsigned bits;                /* 2^bits values; 64: one less */
    shuffle order;
} unique_keys;

unique_keys unique_of(int type, uint64_t seed);
uint64_t unique_count(const unique_keys *u);
void unique_put(const unique_keys *u, uint64_t number, void *out,
                uint64_t i);
/* The first n of them, by many threads. Fails if the type has fewer. */
void gen_unique(int type, uint64_t n, uint64_t seed, void *out);

#endif
