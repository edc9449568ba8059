#include "real.h"

#include <math.h>

/* x = m 2^e with m near 1; ln m = 2 artanh((m-1)/(m+1)), whose series
 * converges fast because the argument is at most 0.172. */
double our_log(double x)
{
    int e;
    double m = frexp(x, &e), s, square, term, sum;

    if (m < 0.70710678118654752440) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    term = sum = s;
    for (int k = 3; k <= 21; k += 2) {
        term *= square;
        sum += term / k;
    }
    return 2 * sum + e * LN2;
}

/* exp(x) = 2^k exp(r) with |r| <= 0.347; 16 terms of the series. */
double our_exp(double x)
{
    double k = floor(x / LN2 + 0.5), r = x - k * LN2, term = 1, sum = 1;

    for (int i = 1; i <= 16; i++) {
        term *= r / i;
        sum += term;
    }
    return ldexp(sum, (int)k);
}

/* Marsaglia's polar method. The second value of each pair is not used, so
 * that a draw depends on the generator's state alone. */
double draw_normal(rng *r)
{
    double u, v, s;

    do {
        u = 2 * rng_unit(r) - 1;
        v = 2 * rng_unit(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * our_log(s) / s);
}

/* The sum of three exponential ones: -ln of a product. The product is at least
 * 2^-159, so it has a logarithm. */
double draw_gamma3(rng *r)
{
    double product = rng_unit(r);

    product *= rng_unit(r);
    return -our_log(product * rng_unit(r));
}
