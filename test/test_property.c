/* test_property.c - random indexes, random steps, always the right answer.
 *
 * A round is an index of random spec, type, size and data that goes through
 * random steps: questions in batches of random size, limits, files, another
 * device, a rebuild from its resolved spec. Round i depends on the seed and
 * on i alone. A failure prints both: SX_SEED and SX_ROUND reproduce it.
 * Rounds on devices that run kernels have random options and thread orders,
 * too, and a number of their own: SX_KERNEL_ROUND. SX_SECONDS makes the tests
 * run longer. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "ask.h"
#include "pick.h"

#define ROUNDS (UNDER_ASAN ? 300u : 1200u)
#define KERNEL_ROUNDS (ROUNDS / 2)
#define STEPS 6

static asker *asking;
static sx_device *devices[SIMD_LEVELS];
static char round_now[100];       /* how to repeat the present round */

/* ---- random choices ----------------------------------------------------- */

static int random_output(rnd *r)
{
    return rnd_below(r, 2) ? SX_U32 : SX_U64;
}

static sx_device *random_device(rnd *r)
{
    for (;;) {
        sx_device *dev = devices[rnd_below(r, SIMD_LEVELS)];
        if (dev)
            return dev;
    }
}

/* ---- a round -------------------------------------------------------------- */

typedef struct {
    uint64_t number;
    rnd r;
    char spec[SX_SPEC_MAX];
    int type;
    uint64_t n;
    unsigned char *keys;
    row_kind row_kind;
    uint64_t *rows;
    dataset *d;
    sx_index *ix;
    const char *step;             /* for the message of a failure */
    sx_device *kernel;            /* or NULL: CPU devices */
    char device[200];             /* its name */
} round_state;

static void wrong(const round_state *s, const char *why)
{
    fail_msg("SX_SEED=%" PRIu64 " SX_%sROUND=%" PRIu64 ": %s%s%s, %" PRIu64
             " keys of %s, rows %d, %s: %s", test_seed(), s->kernel ? "KERNEL_" : "", s->number,
             s->spec, s->kernel ? " on " : "", s->device,
             s->n, sx_type_name(s->type), (int)s->row_kind, s->step,
             why ? why : sx_detail());
}

static void right(const round_state *s, const char *why)
{
    if (why)
        wrong(s, why);
}

static void new_questions(round_state *s)
{
    data_free(s->d);
    s->d = data_wrap(s->type, s->n, s->keys, s->row_kind, s->rows,
                     rnd_below(&s->r, rnd_below(&s->r, 3) ? 50 : 700), &s->r);
}

static void step_file(round_state *s)
{
    unsigned flags = (unsigned)rnd_below(&s->r, 4);
    char *path = temp_path("round.sxt");
    sx_index *loaded = NULL;
    if (sx_save(s->ix, path, NULL) != SX_OK ||
        sx_load(&loaded, random_device(&s->r), path, flags, NULL) != SX_OK)
        wrong(s, NULL);
    sx_free(s->ix);
    s->ix = loaded;
    free(path);
    right(s, ask_description(asking, s->ix, s->d));
}

/* The resolved spec builds the same bytes, on any device. */
static void step_rebuild(round_state *s)
{
    sx_index_info info = { .size = sizeof info };
    sx_call call = { .size = sizeof call,
                     .threads = (uint32_t)rnd_below(&s->r, 3) };
    char *path = temp_path("rebuilt.sxt");
    size_t bytes, bytes2;
    if (sx_describe(s->ix, &info) != SX_OK)
        wrong(s, NULL);
    unsigned char *before = saved_bytes(s->ix, path, &bytes);
    sx_free(s->ix);
    s->ix = NULL;
    if (data_build(s->d, random_device(&s->r), info.spec, &call,
                   &s->ix) != SX_OK)
        wrong(s, NULL);
    unsigned char *after = saved_bytes(s->ix, path, &bytes2);
    if (bytes != bytes2 || memcmp(before, after, bytes) != 0)
        wrong(s, "other bytes");
    free(before);
    free(after);
    free(path);
}

static void step_explain(round_state *s)
{
    for (int format = SX_TEXT; format <= SX_JSON; format++) {
        size_t bytes = 0;
        if (sx_explain(s->ix, (sx_format)format, NULL, &bytes) != SX_ESPACE)
            wrong(s, "explain without room");
        guard space = guard_new(bytes);
        char *text = guard_fit(&space, bytes, true);
        if (sx_explain(s->ix, (sx_format)format, text, &bytes) != SX_OK)
            wrong(s, NULL);
        if (strlen(text) + 1 != bytes)
            wrong(s, "explain's length");
        if (format == SX_JSON && !is_json(text))
            wrong(s, text);
        guard_free(&space);
    }
}

static void one_step(round_state *s)
{
    sx_call call = { .size = sizeof call,
                     .threads = (uint32_t)rnd_below(&s->r, 3) };
    switch (rnd_below(&s->r, 8)) {
    case 0: case 1:
        s->step = "points";
        new_questions(s);
        right(s, ask_points(asking, s->ix, s->d, random_output(&s->r),
                            &call));
        break;
    case 2:
        s->step = "ranges";
        new_questions(s);
        right(s, ask_ranges(asking, s->ix, s->d, random_output(&s->r),
                            &call));
        break;
    case 3: case 4:
        s->step = "a limit";
        new_questions(s);
        right(s, ask_limit(asking, s->ix, s->d,
                           rnd_below(&s->r, 4) ? 1 + rnd_below(&s->r, 70)
                                               : rnd_next(&s->r),
                           (uint32_t)rnd_below(&s->r, 2) * 7,
                           random_output(&s->r), &call));
        break;
    case 5: s->step = "a file"; step_file(s); break;
    case 6: s->step = "a rebuild"; step_rebuild(s); break;
    case 7: s->step = "explain"; step_explain(s); break;
    }
}

static void begin_round(round_state *s)
{
    asking->r = rnd_start(s->number);           /* so a round depends on nothing else */
    asking->turn = (unsigned)s->number;
    pick_spec(&s->r, s->spec, sizeof s->spec);
    s->type = key_types[rnd_below(&s->r, COUNT_OF(key_types))];
    s->n = pick_size(&s->r);
    s->row_kind = (row_kind)rnd_below(&s->r, ROWS_KINDS);
    s->keys = need(s->n * oracle_width(s->type));
    s->rows = need(s->n * sizeof *s->rows);
    pick_keys(&s->r, s->type, s->n, s->keys);
    rows_make(s->row_kind, s->n, &s->r, s->rows);
    s->step = "build";
    new_questions(s);
}

static void end_round(round_state *s)
{
    sx_free(s->ix);
    data_free(s->d);
    free(s->keys);
    free(s->rows);
}

static void one_round(uint64_t number)
{
    round_state s = { .number = number,
                      .r = rnd_start(test_seed() + number * 7919) };
    begin_round(&s);
    if (data_build(s.d, random_device(&s.r), s.spec, NULL, &s.ix) != SX_OK)
        wrong(&s, NULL);
    right(&s, ask_description(asking, s.ix, s.d));
    for (int i = 0; i < STEPS; i++)
        one_step(&s);
    end_round(&s);
}

/* The round that the environment names, or many. */
static void run_rounds(const char *variable, uint64_t least, void round(uint64_t number))
{
    const char *given = getenv(variable), *longer = getenv("SX_SECONDS");
    time_t end = longer && *longer ? time(NULL) + atol(longer) : 0;
    uint64_t i = 0;
    say_on_crash(round_now);
    if (given && *given) {
        round(strtoull(given, NULL, 0));
        return;
    }
    while (i < least || (end && time(NULL) < end)) {
        snprintf(round_now, sizeof round_now, "SX_SEED=%" PRIu64 " %s=%" PRIu64, test_seed(),
                 variable, i);
        round(i++);
    }
    printf("%" PRIu64 " rounds\n", i);
}

static void test_rounds(void **state)
{
    (void)state;
    run_rounds("SX_ROUND", ROUNDS, one_round);
}

/* ---- rounds on devices that run kernels ------------------------------------- */

static void random_options(rnd *r, char *out, size_t space)
{
    static const struct { const char *name, *values[5]; } options[] = {
        { "walk", { "alone", "shared", "group" } },
        { "pin", { "none", "steps", "full" } },
        { "reorder", { "none", "lookup", "double" } },
        { "schedule", { "static", "dynamic" } },
        { "block", { "128", "256", "512", "1024" } },
        { "each", { "1", "2", "3", "8", "17" } },
        { "scan", { "thread", "mixed", "warp" } },
        { "persist", { "0", "1KiB", "4MiB" } },
    };
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        const char *value = options[i].values[rnd_below(r, COUNT_OF(options[i].values))];
        if (value && rnd_below(r, 3) == 0)
            used += (size_t)snprintf(out + used, space - used, "%s%s=%s", used ? "," : "",
                                     options[i].name, value);
    }
}

/* The CPU builds the same bytes from the resolved spec, and each loads what the other
 * saved. */
static void step_elsewhere(round_state *s)
{
    sx_index_info info = { .size = sizeof info };
    char *path = temp_path("elsewhere.sxt");
    sx_index *ix = NULL;
    size_t bytes, bytes2;
    if (sx_describe(s->ix, &info) != SX_OK)
        wrong(s, NULL);
    unsigned char *here = saved_bytes(s->ix, path, &bytes);
    if (data_build(s->d, random_device(&s->r), info.spec, NULL, &ix) != SX_OK)
        wrong(s, NULL);
    unsigned char *there = saved_bytes(ix, path, &bytes2);
    if (bytes != bytes2 || memcmp(here, there, bytes) != 0)
        wrong(s, "other bytes");
    sx_free(s->ix);
    sx_free(ix);
    s->ix = NULL;
    if (sx_load(&s->ix, s->kernel, path, (unsigned)rnd_below(&s->r, 4), NULL) != SX_OK)
        wrong(s, NULL);
    free(here);
    free(there);
    free(path);
}

static void kernel_step(round_state *s)
{
    sx_call call = { .size = sizeof call, .threads = (uint32_t)rnd_below(&s->r, 3) };
    uint64_t choice = rnd_below(&s->r, 8);
    if (choice < 7)
        new_questions(s);
    if (choice < 4) {
        s->step = "points";
        right(s, ask_points(asking, s->ix, s->d, random_output(&s->r), &call));
    } else if (choice < 7) {
        s->step = "ranges";
        right(s, ask_limit(asking, s->ix, s->d, rnd_below(&s->r, 3) ? rnd_below(&s->r, 100) : 0,
                           (uint32_t)rnd_below(&s->r, 2), random_output(&s->r), &call));
    } else {
        s->step = "elsewhere";
        step_elsewhere(s);
    }
}

static void kernel_round(uint64_t number)
{
    round_state s = { .number = number, .r = rnd_start(test_seed() + number * 104729 + 1) };
    char options[160];
    random_options(&s.r, options, sizeof options);
    if (kernel_is_gpu())
        snprintf(s.device, sizeof s.device, "%s", kernel_with(options));
    else
        snprintf(s.device, sizeof s.device, "simt:seed=%" PRIu64 "%s%s", rnd_below(&s.r, 1000),
                 *options ? "," : "", options);
    s.kernel = device_open(s.device);
    begin_round(&s);
    asker_use(asking, s.kernel);
    if (ask_build(asking, s.d, s.spec, &s.ix) != SX_OK)
        wrong(&s, NULL);
    right(&s, ask_description(asking, s.ix, s.d));
    for (int i = 0; i < STEPS; i++)
        kernel_step(&s);
    asker_use(asking, NULL);
    end_round(&s);
    sx_close(s.kernel);
}

static void test_kernel_rounds(void **state)
{
    (void)state;
    run_rounds("SX_KERNEL_ROUND", KERNEL_ROUNDS, kernel_round);
}

/* ---- keys at odd addresses: arrays of bytes, packed records ---------------- */

static void test_unaligned(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (size_t t = 0; t < COUNT_OF(key_types) * 3; t++) {
        const uint64_t n = t % 2 ? 300 : 90000;   /* sorted in two ways */
        static const char *const specs[] = { "sorted", "eytzinger", "pivot" };
        int type = key_types[t % COUNT_OF(key_types)];
        size_t width = oracle_width(type);
        unsigned char *in = need(n * width + 1), *out = need(n * width + 1);
        uint64_t first[2];
        sx_index *ix = NULL;
        sx_column keys = column(type, n, in + 1), found = keys;
        sx_column one = column(type, 1, in + 1);
        sx_column offsets = column(SX_U64, 2, first);
        found.data = out + 1;
        keys_make(type, KEYS_DUPLICATES, n, &r, in + 1);
        oracle *o = oracle_new(type, n, in + 1, NULL);
        assert_int_equal(sx_build(&ix, random_device(&r), specs[t % 3], &keys,
                                  NULL, NULL), SX_OK);
        assert_int_equal(sx_ceil(ix, &keys, NULL, &found, NULL), SX_OK);
        for (size_t i = 0; i < n; i++)          /* each finds itself */
            assert_true(oracle_compare(type, in + 1 + i * width,
                                       out + 1 + i * width) == 0);
        sx_ranges ranges = { .size = sizeof ranges, .lo = &one, .hi = &one };
        assert_int_equal(sx_range(ix, &ranges, &offsets, NULL, &found, NULL),
                         SX_OK);
        oracle_span span = oracle_range(o, in + 1, in + 1, 0, 0);
        assert_int_equal(first[1], span.count);
        for (size_t i = 0; i < first[1]; i++)
            assert_true(oracle_compare(type, in + 1, out + 1 + i * width) == 0);
        sx_free(ix);
        oracle_free(o);
        free(in);
        free(out);
    }
}

/* ---- the oracle itself, against loops over the unsorted keys --------------- */

static void test_oracle(void **state)
{
    (void)state;
    rnd r = rnd_start(test_seed());
    for (unsigned round = 0; round < 60; round++) {
        int type = key_types[round % COUNT_OF(key_types)];
        size_t width = oracle_width(type);
        uint64_t n = rnd_below(&r, 40), rows[40];
        unsigned char keys[40 * 16], q[16];
        pick_keys(&r, type, n, keys);
        rows_make(ROWS_U64_WIDE, n, &r, rows);
        oracle *o = oracle_new(type, n, keys, rows);
        for (unsigned i = 0; i < 60; i++) {
            uint64_t below = 0, equal = 0, first = ORACLE_NONE, sum = 0;
            if (!key_special(type, i, q))
                key_random(type, &r, q);
            if (i % 2 && n)
                memcpy(q, keys + rnd_below(&r, n) * width, width);
            for (uint64_t j = 0; j < n; j++) {
                int c = oracle_compare(type, keys + j * width, q);
                below += c < 0;
                equal += c == 0;
                sum += c == 0 ? rows[j] : 0;
                if (c == 0 && first == ORACLE_NONE)
                    first = rows[j];
            }
            assert_int_equal(oracle_rank(o, q, 0), below);
            assert_int_equal(oracle_rank(o, q, 1), below + equal);
            assert_true(oracle_get(o, q) == first);
            oracle_span s = oracle_range(o, q, q, 0, 0);
            assert_true(s.count == equal && s.sum == sum);
        }
        oracle_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_kernel_rounds),
    };
    test_seed();
    devices_open(devices);
    asking = asker_new();
    int failed = cmocka_run_group_tests_name("property", tests, NULL, NULL);
    asker_free(asking);
    devices_close(devices);
    return failed != 0;
}
