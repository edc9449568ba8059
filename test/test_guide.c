/* test_guide.c - how many units of keys a walk under a guide looks at: a few, however
 * badly keys lie in their cells. Speed is not tested, but it comes from this. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "family/guide/guide.h"
#include "family/pivot/pivot.h"
#include "on_device.h"
#include "choose/choose.h"
#include "inside.h"
#include "stand_in.h"

static unsigned looked;           /* units, by the walk below */

#define W 8
#include "family/generic/width_begin.h"
#define SX_LOAD(p) (looked++, *(const KEY *)(const void *)(p))
#define SX_COUNT(p, m, q) count_unit((p), (m), (q))
#define SX_COUNT_UNIT(p, m, q) count_unit((p), (m), (q))
#define SX_RECORD_WINDOW(p, j, count) sx_record_window((p), (j), (count))

static unsigned count_unit(const unsigned char *p, uint32_t m, uint64_t q)
{
    unsigned below = 0;
    looked++;
    for (uint32_t i = 0; i < m; i++)
        below += ((const uint64_t *)(const void *)p)[i] < q;
    return below;
}

#include "family/generic/array_walk_impl.h"
#include "family/guide/guide_walk_impl.h"

enum { N = 20000, KINDS = 10 };

/* Ascending keys of every kind that misleads a guess within a cell, or the cells. */
static void make_keys(unsigned kind, rnd *r, uint64_t *keys)
{
    uint64_t x = 0;
    for (uint64_t i = 0; i < N; i++) {
        switch (kind) {
        case 0: x += 1 + rnd_below(r, 1000); break;                      /* even */
        case 1: x += i % 200 ? 1 : 1u << 30; break;                      /* dense runs, gaps */
        case 2: x += i % 60 ? 1 : (uint64_t)1 << rnd_below(r, 48); break;
        case 3: x += i % 250 < 2 ? 1u << 20 : 0; break;                  /* runs of equal ones */
        case 4: x = i * i * i; break;
        case 5: x = i < N - 1 ? i : UINT64_MAX; break;                   /* all in one cell */
        case 6: x += (uint64_t)1 << rnd_below(r, 1 + i % 40); break;
        case 7: x += i % 3000 < 300 ? 0 : 1000; break;                   /* too many equal ones */
        case 8: x += i % 1040 < 600 ? 1 : 1000; break;                   /* dense, even */
        default: x += i % 416 < 258 ? 1 : 1000; break;
        }
        keys[i] = x;
    }
}

/* The walk of one GPU thread, by the steps that all walks take (guide_guess(),
 * guide_next()): it looks as often as the layout allows, and is right. */
static void walk(const sx_view *v, const uint64_t *keys, uint64_t q, const char *what)
{
    uint32_t fraction, unit = v->unit;
    uint64_t held, rank, below = 0, bits = 0;
    uint64_t bucket = guide_cell_8(v, q, &fraction), start = guide_window_8(v, bucket, &held);
    looked = 0;
    rank = guide_finish_8(v, q, start, held, guide_guess_8(v, q, start, held, fraction, unit), unit);
    for (uint64_t at = 0, len = N; len > 0;) {           /* a plain lower bound */
        uint64_t half = len / 2;
        if (keys[at + half] < q)
            at += half + 1, len -= half + 1;
        else
            len = half;
        below = at;
    }
    while (held / unit >> bits)
        bits++;
    if (rank != below || looked > 1 + SX_GUIDE_NEXT + bits + 1)
        fail_msg("%s: %" PRIu64 " has rank %" PRIu64 ", not %" PRIu64 ", or looked at %u units, of "
                 "%" PRIu64 " keys", what, q, rank, below, looked, held);
}

static void test_looks(void **state)
{
    (void)state;
    static const char *const specs[] = { "guide", "guide(bucket=40,pieces=1)",
                                         "guide(bucket=128,pieces=16)",
                                         "guide(bucket=40,pieces=1,layout=pairs,block=4)" };
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu");
    uint64_t *keys = need(N * sizeof *keys);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned s = 0; s < COUNT_OF(specs); s++) {
            sx_column k = column(SX_U64, N, keys);
            sx_index *ix = NULL;
            char what[100];
            make_keys(kind, &r, keys);
            snprintf(what, sizeof what, "%s, keys %u", specs[s], kind);
            OK(sx_build(&ix, dev, specs[s], &k, NULL, NULL));
            for (unsigned i = 0; i < N; i++) {
                walk(view_of(ix), keys, keys[i], what);
                walk(view_of(ix), keys, keys[i] + 1, what);
                walk(view_of(ix), keys, keys[i] - 1, what);
            }
            for (unsigned i = 0; i < 1000; i++)
                walk(view_of(ix), keys, rnd_next(&r) >> rnd_below(&r, 64), what);
            sx_free(ix);
        }
    free(keys);
    sx_close(dev);
}

/* The guide that a look at some keys chooses is as good as the look says, and hardly worse
 * than one piece, by the units that walks for all keys really look at. */
static void test_chosen(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu");
    uint64_t *keys = need(N * sizeof *keys);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        double cost, mean[2];
        sx_spec spec = { .family = SX_FAM_GUIDE };
        sx_sorted sorted = { .n = N, .width = 8, .keys = keys };
        sx_input in = { .key_type = SX_U64 };
        sx_sample *sample;
        sx_err err;
        make_keys(kind, &r, keys);
        assert_int_equal(sx_sample_take(&sample, dev, &sorted, &in, &err), SX_OK);
        assert_int_equal(sx_sample_guide(sample, dev, &spec, &sorted, UINT64_MAX, UINT32_MAX, &cost,
                                         &err), SX_OK);
        sx_sample_drop(sample);
        for (unsigned s = 0; s < 2; s++) {
            sx_column k = column(SX_U64, N, keys);
            sx_index *ix = NULL;
            double sum = 0;
            OK(sx_build(&ix, dev, s ? "guide(pieces=1)" : "guide", &k, NULL, NULL));
            assert_true(s || view_of(ix)->of.guide.pieces == spec.of.guide.pieces);
            assert_true(s || !(spec.given & SX_GUIDE_BUCKET) ||
                        run_of(ix)->info.spec.of.guide.bucket == spec.of.guide.bucket);
            for (unsigned i = 0; i < N; i++) {
                walk(view_of(ix), keys, keys[i], "a guide that is chosen");
                sum += looked;
            }
            mean[s] = sum / N;
            sx_free(ix);
        }
        if (mean[0] > cost + 0.3 || mean[0] > mean[1] + 0.1 || (cost < 5 && mean[0] < cost - 1))
            fail_msg("keys %u: walks look at %.2f units, said were %.2f; one piece: %.2f", kind,
                     mean[0], cost, mean[1]);
    }
    free(keys);
    sx_close(dev);
}

/* What an index says of its guide. */
static void test_explained(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    sx_device *dev = device_open("cpu");
    uint64_t *keys = need(N * sizeof *keys);
    sx_column k = column(SX_U64, N, keys);
    sx_index *ix = NULL;
    make_keys(0, &r, keys);
    OK(sx_build(&ix, dev, "guide(bucket=4,pieces=2)", &k, NULL, NULL));
    explained(ix, "2 pieces of 2500 cells, of 4 keys on average",
              "\"bucket\": 4, \"pieces\": 2, \"piece_cells\": 2500");
    sx_free(ix);
    free(keys);
    sx_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_explained),
    };
    test_seed();
    return cmocka_run_group_tests_name("guide", tests, NULL, NULL) != 0;
}
