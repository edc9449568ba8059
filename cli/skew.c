#include "skew.h"

#include "real.h"
#include "say.h"

/* sqrt(0.125) */
#define NORMAL_DEVIATION 0.35355339059327376220

/* One draw in seven million is greater, so gamma is as good as whole; a power of
 * two divides exactly. */
#define GAMMA_SPAN 64.0
#define GAMMA_SCALE 3.0

const char *skew_name(skew_kind kind)
{
    static const char *const names[] = {
        "uniform", "uniform", "normal", "gamma", "zipf2", "zipf",
    };

    return names[kind];
}

skew_kind skew_settled(int given, bool zipf)
{
    if (given && zipf)
        fail_usage("--zipf and --skew %s are two ways to ask for some keys more "
                   "often: give one", skew_name((skew_kind)given));
    return zipf ? SKEW_ZIPF : given ? (skew_kind)given : SKEW_UNIFORM;
}

bool skew_by_rank(skew_kind kind)
{
    return kind == SKEW_NORMAL || kind == SKEW_GAMMA || kind == SKEW_ZIPF2;
}

skew skew_over(skew_kind kind, uint64_t n, rng *r)
{
    return (skew){ .kind = kind, .n = n, .spread = shuffle_of(n, r) };
}

/* ---- one draw ---------------------------------------------------------- */

static double draw_place(skew_kind kind, rng *r)
{
    double x;

    do {
        x = kind == SKEW_NORMAL
            ? 0.5 + NORMAL_DEVIATION * draw_normal(r)
            : draw_gamma3(r) * GAMMA_SCALE / GAMMA_SPAN;
    } while (!(x >= 0 && x < 1));
    return x;
}

/* floor(1/u) is k with odds of 1/(k (k+1)); taking it with odds of (k+1)/2k
 * leaves 1/(2 k^2), exactly. */
static uint64_t draw_zipf2(uint64_t n, rng *r)
{
    uint64_t k;

    do {
        k = (uint64_t)(1 / rng_unit(r));
    } while (k > n || rng_unit(r) > 0.5 + 0.5 / (double)k);
    return k - 1;
}

/* Odds of about 1/rank: every length in bits of the rank is as likely as the
 * others, and so is every rank of one length. The shuffle spreads the ranks over
 * all places. */
static uint64_t draw_zipf(const skew *s, rng *r)
{
    unsigned bits = 1;
    uint64_t rank;

    while (bits < 64 && s->n >> bits)
        bits++;
    do {
        unsigned length = (unsigned)rng_below(r, bits) + 1;

        rank = (1ull << (length - 1)) +
               (length > 1 ? rng_next(r) >> (65 - length) : 0);
    } while (rank > s->n);
    return shuffle_at(&s->spread, rank - 1);
}

uint64_t skew_draw(const skew *s, rng *r)
{
    uint64_t at;

    switch (s->kind) {
    case SKEW_NORMAL: case SKEW_GAMMA:
        at = (uint64_t)(draw_place(s->kind, r) * (double)s->n);
        return at < s->n ? at : s->n - 1; /* the product was rounded up */
    case SKEW_ZIPF2:
        return draw_zipf2(s->n, r);
    case SKEW_ZIPF:
        return draw_zipf(s, r);
    default:
        return rng_below(r, s->n);
    }
}
