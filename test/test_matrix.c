/* test_matrix.c - everything times everything.
 *
 * families x parameters x layouts x key types x instruction sets, each with
 * all small data sets and some of the larger and of the hard ones. SX_MATRIX=full
 * does all of it. Otherwise each gets a sample of about 15 data sets, or 6 under a
 * sanitizer, which depends on the seed. Each index is checked, described and asked
 * every question (ask.h).
 * One cmocka test is one family with one key type. The last one compares what was
 * done with what the library says can be (sx_possible()), so that what `sextant
 * devices --matrix` calls tested is.
 *
 * A cell is one index that was built and asked. Kernels get some of all cells,
 * with each list of options in turn (support.h). SX_KERNEL_ONLY=1 leaves out the
 * CPU's cells, and SX_KERNEL_SECONDS=n those of kernels after that time: for tools
 * that watch a GPU and slow it down. SX_MATRIX_ONLY='sorted*' does only the tests of
 * such names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "ask.h"

/* ---- the axes --------------------------------------------------------- */

static const struct {
    const char *name;             /* a spec that means it: parameters take the place of its own */
    const char *parameters[16];   /* of each spec, then NULL */
    bool no_layouts;              /* it takes none */
    bool no_blocks;               /* it takes no block: the last layout is not its */
} families[] = {
    { .name = "auto", .no_layouts = true,
      .parameters = { "", "for=point", "for=range", "for=mixed", "for=memory" } },
    { .name = "sorted", .parameters = { "" } },
    { .name = "eytzinger",
      .parameters = { "k=2", "k=3", "k=4", "k=5", "k=9", "k=10", "k=17", "k=33" } },
    { .name = "guide",
      .parameters = { "", "bucket=1", "bucket=5,pieces=3", "pieces=64", "bucket=128,pieces=7",
                      "bucket=2,pieces=65536" } },
    { .name = "pgm",
      .parameters = { "", "eps=1", "eps=1,eps2=1", "eps=2,cuts=7", "eps=4,eps2=2,cuts=64", "eps=16",
                      "eps=1000000", "eps=3,eps2=1024,cuts=3",
                      "budget=1", "budget=2,eps2=1" } },
    { .name = "pivot",
      .parameters = { "k=2", "k=3", "k=5", "k=8", "k=9", "k=17", "k=33",
                      "k=9,levels=0", "k=9,levels=1", "k=3,levels=2",
                      "k=5,leaf=1", "k=17,leaf=3", "k=4,leaf=40,levels=1" } },
    { .name = "radix", .parameters = { "", "leaf=1", "leaf=2", "leaf=5", "leaf=255" } },
    { .name = "btree", .no_blocks = true, .parameters = { "", "k=2", "k=3", "k=4", "k=5" } },
    { .name = "btree(fill=100)", .no_blocks = true,
      .parameters = { "fill=50", "fill=77", "fill=100" } },
};

static const char *const places[] = { "host", "device", "hybrid", "both" };

static const char *const layouts[] = {
    "layout=split", "layout=pairs", "layout=once", "layout=pairs,block=1"
};

/* Every cell gets all of these with all kinds of rows ... */
static const struct { key_kind kind; uint64_t n; } small_sets[] = {
    { KEYS_RANDOM, 0 },
    { KEYS_RANDOM, 1 },
    { KEYS_EQUAL, 9 },
    { KEYS_EXTREMES, 5 },
    { KEYS_DENSE, 17 },
    { KEYS_RANDOM, 33 },
    { KEYS_DUPLICATES, 40 },
    { KEYS_SPECIAL, 48 },
};

/* ... and some of these, with one kind each. */
static const struct { key_kind kind; uint64_t n; } large_sets[] = {
    { KEYS_RANDOM, 2 },
    { KEYS_RANDOM, 3 },
    { KEYS_DENSE, 7 },
    { KEYS_RANDOM, 8 },
    { KEYS_DENSE, 15 },
    { KEYS_DENSE, 16 },
    { KEYS_RANDOM, 63 },
    { KEYS_RANDOM, 64 },
    { KEYS_RANDOM, 65 },
    { KEYS_EXTREMES, 64 },
    { KEYS_EQUAL, 100 },
    { KEYS_EQUAL, 257 },
    { KEYS_SPECIAL, 127 },
    { KEYS_RANDOM, 128 },
    { KEYS_DUPLICATES, 129 },
    { KEYS_RANDOM, 255 },
    { KEYS_DENSE, 256 },
    { KEYS_SPECIAL, 257 },
    { KEYS_DUPLICATES, 511 },
    { KEYS_RANDOM, 512 },
    { KEYS_DENSE, 513 },
    { KEYS_RANDOM, 1023 },
    { KEYS_DENSE, 1024 },
    { KEYS_DUPLICATES, 1025 },
    { KEYS_EXTREMES, 1500 },
    { KEYS_RANDOM, 2047 },
    { KEYS_DUPLICATES, 2048 },
    { KEYS_SPECIAL, 2049 },
    { KEYS_RANDOM, 4095 },
    { KEYS_RANDOM, 4096 },
    { KEYS_DUPLICATES, 4097 },
};

/* Each hard kind has two sets, and each cell gets the next few. */
#define HARD_KINDS (KEYS_KINDS - KEYS_HARD)
#define HARD_SETS (2 * HARD_KINDS)
static const uint64_t hard_sizes[] = { 260, 700, 300, 1100, 1500, 2600, 4097 };

#define LARGE_PER_CELL 9
#define HARD_PER_CELL 4
#define DATA_SETS (COUNT_OF(small_sets) * ROWS_KINDS + LARGE_PER_CELL + HARD_PER_CELL)
#define SAVED_EVERY 5             /* cells: one is also saved and loaded */
/* Batches of many lengths: they are worked off in groups, with a rest. */
#define SMALL_QUERIES(r) (1 + rnd_below(r, 90))
#define LARGE_QUERIES(r) (60 + rnd_below(r, 200))

/* ---- data, made once for each key type ----------------------------------- */

typedef struct {
    dataset *small[COUNT_OF(small_sets)][ROWS_KINDS];
    dataset *large[COUNT_OF(large_sets)];
    dataset *hard[HARD_SETS];
} type_data;

static type_data data[COUNT_OF(key_types)];

static void make_data(unsigned t)
{
    rnd r = rnd_start(test_seed() + t);
    if (data[t].large[0])
        return;
    for (size_t s = 0; s < COUNT_OF(small_sets); s++)
        for (int rows = 0; rows < ROWS_KINDS; rows++)
            data[t].small[s][rows] =
                data_make(key_types[t], small_sets[s].kind, small_sets[s].n,
                          (row_kind)rows, SMALL_QUERIES(&r), &r);
    for (size_t s = 0; s < COUNT_OF(large_sets); s++)
        data[t].large[s] =
            data_make(key_types[t], large_sets[s].kind, large_sets[s].n,
                      (row_kind)(s % ROWS_KINDS), LARGE_QUERIES(&r),
                      &r);
    for (size_t s = 0; s < HARD_SETS; s++)
        data[t].hard[s] =
            data_make(key_types[t], (key_kind)(KEYS_HARD + s % HARD_KINDS),
                      hard_sizes[(s + t) % COUNT_OF(hard_sizes)],
                      (row_kind)((s + t) % ROWS_KINDS), LARGE_QUERIES(&r), &r);
}

static void free_data(unsigned t)
{
    for (size_t s = 0; s < COUNT_OF(small_sets); s++)
        for (int rows = 0; rows < ROWS_KINDS; rows++)
            data_free(data[t].small[s][rows]);
    for (size_t s = 0; s < COUNT_OF(large_sets); s++)
        data_free(data[t].large[s]);
    for (size_t s = 0; s < HARD_SETS; s++)
        data_free(data[t].hard[s]);
}

/* ---- what was done ------------------------------------------------------- */

enum { BY_CPU, BY_KERNELS, BACKENDS };
typedef struct { unsigned family, type, layout; } subject;

/* Bit v: sx_verb_at(v) was done, and came out right. */
static uint32_t done[COUNT_OF(families)][COUNT_OF(key_types)][COUNT_OF(layouts)]
                    [COUNT_OF(places)][BACKENDS];
static subject now;

static unsigned layouts_of(unsigned family)
{
    return families[family].no_layouts ? 1 : COUNT_OF(layouts) - families[family].no_blocks;
}

static const char *backend_name(unsigned backend)
{
    return backend == BY_CPU ? "cpu" : kernel_device(0);
}

static bool can_be(const char *family, int type, const char *verb, unsigned place,
                   unsigned backend)
{
    sx_status st = sx_possible(family, type, verb, places[place], backend_name(backend));
    if (st != SX_OK && st != SX_ENOSYS)
        die("sx_possible: %s", sx_detail());
    return st == SX_OK;
}

/* ---- one cell ---------------------------------------------------------- */

/* The CPU's instruction sets, then the devices that run kernels. */
#define DEVICES (SIMD_LEVELS + KERNEL_DEVICES)
/* A spec on a level gets one in `cells` data sets. Kernels get one in `kernel_cells` of all
 * cells, each device in turn, since the emulator is slow. None of these numbers divides
 * DATA_SETS, so that all sets come up. SX_KERNEL_CELLS=1 gives kernels all cells. In the full
 * matrix a family with a type has at least 22 such cells in a row, more than there are lists
 * of options. */
static const struct { uint64_t cells, kernel_cells; } sampled = { UNDER_ASAN ? 17 : 7, 149 }, full = { 1, 23 };
_Static_assert(DATA_SETS % 7 != 0 && DATA_SETS % 17 != 0 && DATA_SETS % 23 != 0 && DATA_SETS % 149 != 0,
               "the same sets each time");

static sx_device *devices[DEVICES];
static const char *device_names[DEVICES];
/* A pgm's segments are searched in two ways. Its cells of the CPU are tried in
 * both, on devices with search=; kernels have it among their options. */
#define SEARCHES 2u
static sx_device *searching[SEARCHES][SIMD_LEVELS];
static char searching_names[SEARCHES][SIMD_LEVELS][40];
static bool kernel_only;
static time_t kernel_end;         /* 0: never */
static uint64_t turn, every, kernel_turn, kernel_every, per_option[KERNEL_OPTIONS];
static asker *asking;
static char cell_now[400];
static uint64_t cells, cells_left_out, cells_saved, kernel_cells, hybrid_cells,
                both_cells;

static const char *through_a_file(const sx_index *ix, sx_device *dev,
                                  const dataset *d, int out_type,
                                  unsigned flags)
{
    static char why[600];
    char *path = temp_path("cell.sxt");
    sx_index *loaded = NULL;
    const char *wrong = NULL;
    if (sx_save(ix, path, NULL) != SX_OK ||
        sx_load(&loaded, dev, path, flags, NULL) != SX_OK)
        wrong = sx_detail();
    if (!wrong)
        wrong = ask_description(asking, loaded, d);
    if (!wrong)
        wrong = ask(asking, loaded, d, out_type, NULL);
    if (!wrong) {
        ask_note(asking, "save");
        ask_note(asking, "load");
    }
    if (wrong) {
        snprintf(why, sizeof why, "through a file, flags %u: %s", flags,
                 wrong);
        wrong = why;
    }
    sx_free(loaded);
    free(path);
    return wrong;
}

/* Indexes without keys have turns of their own: a saved one of them proves nothing. */
static bool is_saved(bool kernels, uint64_t n)
{
    static unsigned turns[BACKENDS][2];
    return ++turns[kernels][n > 0] % SAVED_EVERY == 0;
}

static void try_cell(const char *shape, int level, unsigned place, const dataset *d, rnd *r)
{
    char spec[SX_SPEC_MAX + 16];
    sx_index *ix = NULL;
    const char *wrong = NULL;
    int out_type = rnd_below(r, 2) ? SX_U32 : SX_U64;
    bool kernels = level >= SIMD_LEVELS;
    unsigned backend = kernels ? BY_KERNELS : BY_CPU;
    bool usual = place == (kernels ? 1 : 0);    /* device, host: the spec need not say it */
    snprintf(spec, sizeof spec, "%s%s%s", shape, usual ? "" : " place=",
             usual ? "" : places[place]);
    snprintf(cell_now, sizeof cell_now, "%s on %s, %llu keys of %s, rows %d, outputs %s", spec,
             device_names[level], (unsigned long long)d->n, sx_type_name(d->type),
             (int)d->row_kind, sx_type_name(out_type));
    asking->verbs = 0;
    asking->no_streams = !can_be(families[now.family].name, d->type, "streams", place, backend);
    asker_use(asking, kernels ? devices[level] : NULL);
    if ((kernels ? ask_build(asking, d, spec, &ix)
                 : data_build(d, devices[level], spec, NULL, &ix)) != SX_OK)
        wrong = sx_detail();
    if (!wrong)
        wrong = ask_description(asking, ix, d);
    if (!wrong)
        wrong = ask(asking, ix, d, out_type, NULL);
    if (!wrong)
        ask_note(asking, "build");
    cells++;
    kernel_cells += kernels;
    hybrid_cells += place == 2;
    both_cells += place == 3;
    if (!wrong && is_saved(kernels, d->n))
        wrong = through_a_file(ix, devices[level], d, out_type, cells_saved++ % 4);
    if (wrong)
        fail_msg("%s: %s", cell_now, wrong);
    if (d->n)
        done[now.family][now.type][now.layout][place][backend] |= asking->verbs;
    sx_free(ix);
}

/* Tries the cell in every place where it can be. */
static void try_places(const char *shape, int level, const dataset *d, rnd *r)
{
    unsigned backend = level >= SIMD_LEVELS ? BY_KERNELS : BY_CPU;
    for (unsigned place = 0; place < COUNT_OF(places); place++)
        if (can_be(families[now.family].name, d->type, "build", place, backend))
            try_cell(shape, level, place, d, r);
}

/* Tries the cell on a device that runs kernels, if it is its turn. */
static void try_kernels(const char *spec, const dataset *d, rnd *r)
{
    if (++kernel_turn % kernel_every == 0) {
        unsigned device = (unsigned)(kernel_turn / kernel_every % kernel_devices());
        if (kernel_end && time(NULL) >= kernel_end) {
            cells_left_out++;
            return;
        }
        try_places(spec, SIMD_LEVELS + (int)device, d, r);
        per_option[device % KERNEL_OPTIONS]++;
    }
}

static void try_data(const char *spec, int level, const dataset *d, rnd *r)
{
    sx_device *any = devices[level];
    unsigned searches = strcmp(families[now.family].name, "pgm") == 0 ? SEARCHES : 0;
    try_kernels(spec, d, r);
    if (++turn % every != 0)
        return;
    if (!any || kernel_only) {
        cells_left_out++;
        return;
    }
    if (searches == 0)
        try_places(spec, level, d, r);
    for (unsigned s = 0; s < searches; s++) {
        devices[level] = searching[s][level];
        device_names[level] = searching_names[s][level];
        try_places(spec, level, d, r);
    }
    devices[level] = any;
    device_names[level] = simd_names[level];
}

/* All data for one spec on one level of instructions. */
static void try_spec(const char *spec, int level, unsigned t, rnd *r)
{
    static uint64_t hard;
    for (size_t s = 0; s < COUNT_OF(small_sets); s++)
        for (int rows = 0; rows < ROWS_KINDS; rows++)
            try_data(spec, level, data[t].small[s][rows], r);
    uint64_t first = rnd_below(r, COUNT_OF(large_sets));
    for (size_t i = 0; i < LARGE_PER_CELL; i++)
        /* 7 apart, of 31: no set twice, sizes of all magnitudes */
        try_data(spec, level, data[t].large[(first + 7 * i) % COUNT_OF(large_sets)], r);
    for (size_t i = 0; i < HARD_PER_CELL; i++)
        try_data(spec, level, data[t].hard[hard++ % HARD_SETS], r);
}

/* ---- tests --------------------------------------------------------------- */

/* Whether this run was asked for all cells of a backend. */
static bool all_wanted(unsigned backend)
{
    return backend == BY_CPU ? !kernel_only
                             : !kernel_end && kernel_every <= sampled.kernel_cells;
}

static bool is_missing(unsigned place, unsigned backend)
{
    uint32_t here = done[now.family][now.type][now.layout][place][backend];
    for (unsigned v = 0; sx_verb_at(v); v++)
        if (!(here >> v & 1) && can_be(families[now.family].name, key_types[now.type],
                                       sx_verb_at(v), place, backend))
            return true;
    return false;
}

/* Chance decides which verbs an index is asked, and which index is saved. Verbs that chance has
 * left out are tried with a spec of this layout, until they came: soon, or test_every_cell()
 * fails. */
static void try_missing(const char *spec, rnd *r)
{
    int best = SIMD_LEVELS - 1;
    while (!devices[best])
        best--;
    for (unsigned backend = 0; backend < BACKENDS; backend++)
        for (unsigned place = 0; place < COUNT_OF(places); place++)
            for (unsigned i = 0; i < 200 && all_wanted(backend) && is_missing(place, backend); i++)
                try_cell(spec, backend == BY_CPU ? best
                                                 : SIMD_LEVELS + (int)rnd_below(r, kernel_devices()),
                         place, data[now.type].large[rnd_below(r, COUNT_OF(large_sets))], r);
}

static void test_subject(void **state)
{
    const subject *s = *state;
    rnd r = rnd_start(test_seed() ^ (uint64_t)(s->family * 8 + s->type) << 32);
    bool no_layouts = families[s->family].no_layouts;
    now = *s;
    make_data(s->type);
    say_on_crash(cell_now);
    for (now.layout = 0; now.layout < layouts_of(s->family); now.layout++) {
        char spec[SX_SPEC_MAX];
        for (const char *const *p = families[s->family].parameters; *p; p++)
            for (int level = 0; level < SIMD_LEVELS; level++) {
                snprintf(spec, sizeof spec, "%.*s(%s%s%s)",
                         (int)strcspn(families[s->family].name, "("), families[s->family].name, *p, **p && !no_layouts ? "," : "",
                         no_layouts ? "" : layouts[now.layout]);
                try_spec(spec, level, s->type, &r);
            }
        try_missing(spec, &r);
    }
}

/* In how many layouts of the family it was done, and whether in all. */
static unsigned times_done(const char *family, unsigned type, unsigned verb, unsigned place,
                           unsigned backend, bool *all)
{
    unsigned times = 0, f = 0;
    while (f < COUNT_OF(families) && strcmp(families[f].name, family) != 0)
        f++;
    for (unsigned l = 0; f < COUNT_OF(families) && l < layouts_of(f); l++)
        times += done[f][type][l][place][backend] >> verb & 1;
    *all = f < COUNT_OF(families) && times == layouts_of(f);
    return times;
}

/* Returns 1 for a cell that is as it should be. */
static unsigned check_cell(const char *family, unsigned type, unsigned verb, unsigned place,
                           unsigned backend)
{
    bool all, can = can_be(family, key_types[type], sx_verb_at(verb), place, backend);
    unsigned times = times_done(family, type, verb, place, backend, &all);
    if (can ? all : times == 0)
        return 1;
    print_error("%s of %s: %s, place %s on %s %s\n", family, sx_type_name(key_types[type]),
                sx_verb_at(verb), places[place], backend_name(backend),
                can ? "can be but was not tried in every layout" : "can't be but was done");
    return 0;
}

/* What the library says can be, and nothing else, was done. */
static void test_every_cell(void **state)
{
    (void)state;
    sx_family_info f = { .size = sizeof f };
    uint64_t right = 0, all = 0;
    unsigned types = 0;
    for (int type = 0; type < 64; type++)
        types += sx_type_bytes(type) > 0;
    assert_int_equal(types, COUNT_OF(key_types));
    for (unsigned i = 0; sx_family_at(i, &f) == SX_OK; i++)
        for (unsigned t = 0; t < COUNT_OF(key_types); t++)
            for (unsigned v = 0; sx_verb_at(v); v++)
                for (unsigned p = 0; p < COUNT_OF(places); p++)
                    for (unsigned b = 0; b < BACKENDS; b++)
                        if (all_wanted(b)) {
                            right += check_cell(f.name, t, v, p, b);
                            all++;
                        }
    assert_int_equal(right, all);
}

int main(void)
{
    static subject subjects[COUNT_OF(families) * COUNT_OF(key_types)];
    static char names[COUNT_OF(subjects)][32];
    struct CMUnitTest tests[COUNT_OF(subjects) + 1];
    for (unsigned i = 0; i < COUNT_OF(subjects); i++) {
        subjects[i].family = i / COUNT_OF(key_types);
        subjects[i].type = i % COUNT_OF(key_types);
        snprintf(names[i], sizeof names[i], "%s of %s",
                 families[subjects[i].family].name,
                 sx_type_name(key_types[subjects[i].type]));
        tests[i] = (struct CMUnitTest){ names[i], test_subject, NULL, NULL,
                                        &subjects[i] };
    }
    tests[COUNT_OF(subjects)] = (struct CMUnitTest)cmocka_unit_test(test_every_cell);
    const char *wanted = getenv("SX_MATRIX");
    bool all = wanted && strcmp(wanted, "full") == 0;
    if (wanted && *wanted && !all)
        die("SX_MATRIX is '%s'; allowed: full", wanted);
    every = (all ? full : sampled).cells;
    kernel_every = (all ? full : sampled).kernel_cells;
    turn = test_seed();
    kernel_turn = turn / every;
    if (getenv("SX_KERNEL_CELLS") && atoi(getenv("SX_KERNEL_CELLS")) > 0)
        kernel_every = (uint64_t)atoi(getenv("SX_KERNEL_CELLS"));
    kernel_only = getenv("SX_KERNEL_ONLY") && atoi(getenv("SX_KERNEL_ONLY")) > 0;
    if (getenv("SX_KERNEL_SECONDS") && atoi(getenv("SX_KERNEL_SECONDS")) > 0)
        kernel_end = time(NULL) + atoi(getenv("SX_KERNEL_SECONDS"));
    devices_open(devices);
    for (unsigned i = 0; i < SIMD_LEVELS; i++) {
        device_names[i] = simd_names[i];
        for (unsigned s = 0; s < SEARCHES; s++) {
            snprintf(searching_names[s][i], sizeof searching_names[s][i], "%s,search=%s",
                     simd_names[i], s ? "concise" : "complete");
            searching[s][i] = devices[i] ? device_open(searching_names[s][i]) : NULL;
        }
    }
    for (unsigned i = 0; i < kernel_devices(); i++) {
        device_names[SIMD_LEVELS + i] = kernel_device(i);
        devices[SIMD_LEVELS + i] = device_open(kernel_device(i));
    }
    asking = asker_new();
    if (getenv("SX_MATRIX_ONLY"))
        cmocka_set_test_filter(getenv("SX_MATRIX_ONLY"));
    int failed = cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
    printf("%s: %llu cells, %llu of them by kernels (%s), of these %llu hybrid and %llu on both "
           "sides, %llu also through a "
           "file; %llu left out\n",
           all ? "the full matrix" : "a sample; SX_MATRIX=full is all of it",
           (unsigned long long)cells, (unsigned long long)kernel_cells,
           device_names[SIMD_LEVELS], (unsigned long long)hybrid_cells, (unsigned long long)both_cells,
           (unsigned long long)cells_saved, (unsigned long long)cells_left_out);
    printf("questions: %llu of host columns, %llu of device columns, %llu on a stream, %llu of "
           "both; %llu hinted\n", (unsigned long long)asking->ways[WAY_HOST],
           (unsigned long long)asking->ways[WAY_DEVICE],
           (unsigned long long)asking->ways[WAY_STREAM],
           (unsigned long long)asking->ways[WAY_MIXED], (unsigned long long)asking->hinted);
    for (unsigned i = 0; i < KERNEL_OPTIONS; i++)
        printf("%6llu cells %s\n", (unsigned long long)per_option[i],
               *kernel_options(i) ? kernel_options(i) : "without options");
    asker_free(asking);
    for (unsigned t = 0; t < COUNT_OF(key_types); t++)
        if (data[t].large[0])
            free_data(t);
    devices_close(devices);
    for (unsigned s = 0; s < SEARCHES; s++)
        devices_close(searching[s]);
    for (unsigned i = 0; i < kernel_devices(); i++)
        sx_close(devices[SIMD_LEVELS + i]);
    return failed != 0;
}
