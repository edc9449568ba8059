/* real.h - real numbers that are the same on every machine.
 *
 * The logarithm and the exponential are our own, of additions and
 * multiplications alone: those of the C library differ in the last bit between
 * machines, and a seed should mean the same keys and queries everywhere. (For
 * the same reason the build must not fuse multiplications with additions:
 * -ffp-contract=off.) */
#ifndef CLI_REAL_H
#define CLI_REAL_H

#include "rng.h"

#define LN2 0.69314718055994530942

double our_log(double x);         /* x > 0 */
double our_exp(double x);

/* Of mean 0 and variance 1. */
double draw_normal(rng *r);
/* Gamma of shape 3 and scale 1. */
double draw_gamma3(rng *r);

#endif
