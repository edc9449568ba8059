/* test_stack.c - every verb in a thread with a small stack.
 *
 * sextant.h says how much stack a call needs. The stack is filled with a pattern first:
 * bytes that have changed were used. Below it is a page that traps. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "on_device.h"
#include "texts.h"

#define STACK (64u << 10)
#define NEEDED (42u << 10)        /* sextant.h says 48 KiB: compilers differ */
#define PATTERN 0x5c

/* Frames are several times as large under sanitizers, and without optimization. */
#ifdef __OPTIMIZE__
#define LARGE_FRAMES (UNDER_ASAN || UNDER_TSAN)
#else
#define LARGE_FRAMES 1
#endif

typedef struct {
    const char *device, *spec;
    const dataset *d;
    const char *path;
    asker *asker;
    char why[700];
} scene;

static const char *collect(const sx_index *ix, const dataset *d)
{
    sx_collector *c;
    uint64_t answer;
    sx_collector_info info = { .size = sizeof info };
    if (sx_collector_new(&c, ix, &(sx_collect_options){ .size = sizeof(sx_collect_options),
                                                        .eager = 1 }) != SX_OK)
        return sx_detail();
    const char *why = sx_collect(c, SX_ASK_GET, d->q.data, &answer, -1) != SX_OK ||
                      sx_collector_describe(c, &info) != SX_OK ? sx_detail() : NULL;
    sx_collector_free(c);
    return why;
}

static const char *ask_index(scene *s, sx_device *dev, sx_index *ix)
{
    char *words = need(20000);
    size_t bytes = 20000, json_bytes = 20000;
    sx_index_info info = { .size = sizeof info };
    if (sx_explain(ix, SX_TEXT, words, &bytes) != SX_OK ||
        sx_explain(ix, SX_JSON, words, &json_bytes) != SX_OK || sx_describe(ix, &info) != SX_OK ||
        sx_check(ix, NULL) != SX_OK) {
        free(words);
        return sx_detail();
    }
    free(words);
    bool gpu = strncmp(s->device, "cpu", 3) != 0;
    s->asker->no_streams = gpu && strstr(s->spec, "place=h") != NULL;
    asker_use(s->asker, gpu ? dev : NULL);
    const char *why = ask(s->asker, ix, s->d, SX_U64, NULL);
    asker_use(s->asker, NULL);
    return why ? why : collect(ix, s->d);
}

/* Saves the index, and loads and checks it again. */
static const char *save_and_load(sx_device *dev, const sx_index *ix, const char *path)
{
    sx_index *loaded = NULL;
    const char *why = NULL;
    if (sx_save(ix, path, NULL) != SX_OK ||
        sx_load(&loaded, dev, path, SX_LOAD_VERIFY, NULL) != SX_OK ||
        sx_check(loaded, NULL) != SX_OK)
        why = sx_detail();
    sx_free(loaded);
    return why;
}

static const char *use(scene *s)
{
    sx_device *dev;
    sx_index *ix = NULL;
    sx_device_info listed = { .size = sizeof listed };
    sx_estimate_info estimate = { .size = sizeof estimate };
    for (unsigned i = 0; sx_device_at(i, &listed) == SX_OK; i++)
        ;
    if (sx_open(&dev, s->device) != SX_OK)
        return sx_detail();
    const char *why = NULL;
    if (sx_device_describe(dev, &listed) != SX_OK ||
        estimate_of(dev, s->spec, s->d->type, s->d->n, SX_U64, &estimate) != SX_OK ||
        data_build(s->d, dev, s->spec, NULL, &ix) != SX_OK)
        why = sx_detail();
    if (!why)
        why = ask_index(s, dev, ix);
    if (!why)
        why = save_and_load(dev, ix, s->path);
    sx_free(ix);
    sx_close(dev);
    return why;
}

static void *run(void *arg)
{
    scene *s = arg;
    const char *why = use(s);
    if (why)
        snprintf(s->why, sizeof s->why, "%s", why);
    return NULL;
}

/* Bytes of stack that fn(arg) took in a thread, and the C library for the thread. */
static size_t stack_used(void *(*fn)(void *arg), void *arg)
{
    static unsigned char *stack;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), untouched = 0;
    pthread_attr_t attr;
    pthread_t thread;
    if (!stack) {
        stack = mmap(NULL, page + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED || mprotect(stack, page, PROT_NONE) != 0)
            die("no memory for a stack");
        stack += page;
    }
    memset(stack, PATTERN, STACK);
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, STACK) != 0 ||
        pthread_create(&thread, &attr, fn, arg) != 0)
        die("no thread with a stack of %u bytes", STACK);
    pthread_attr_destroy(&attr);
    pthread_join(thread, NULL);
    while (untouched < STACK && stack[untouched] == PATTERN)
        untouched++;
    return STACK - untouched;
}

/* Checks that the measure is right. */
static void *use_some(void *bytes)
{
    volatile unsigned char space[16 << 10];
    for (size_t i = 0; i < *(size_t *)bytes; i++)
        space[sizeof space - 1 - i] = 1;
    return NULL;
}

static void test_measured(void **state)
{
    (void)state;
    size_t none = 0, all = 16 << 10;
    size_t least = stack_used(use_some, &none), most = stack_used(use_some, &all);
    assert_true(most >= all && most < STACK);
    assert_true(least <= most);
}

/* ---- strings --------------------------------------------------------------------------- */

typedef struct {
    const char *device, *spec, *path;
    text_case *c;
    rnd r;
    char why[700];
} string_scene;

static const char *use_strings(string_scene *s)
{
    sx_device *dev;
    sx_index *ix = NULL;
    if (sx_open(&dev, s->device) != SX_OK)
        return sx_detail();
    const char *why = text_build(s->c, dev, s->spec, NULL, &ix) != SX_OK ? sx_detail() : NULL;
    if (!why)
        why = text_ask(s->c, ix, 40, &s->r);
    if (!why && strncmp(s->device, "simt", 4) == 0)
        why = text_ask_there(s->c, ix, dev, !strstr(s->spec, "place=h"), 40, &s->r);
    if (!why && sx_check(ix, NULL) != SX_OK)
        why = sx_detail();
    if (!why)
        why = save_and_load(dev, ix, s->path);
    sx_free(ix);
    sx_close(dev);
    return why;
}

static void *run_strings(void *arg)
{
    string_scene *s = arg;
    const char *why = use_strings(s);
    if (why)
        snprintf(s->why, sizeof s->why, "%s", why);
    return NULL;
}

static void test_strings(void **state)
{
    (void)state;
    static const char *const devices[] = { "cpu", "cpu:scalar", "simt" };
    static const char *const specs[] = {
        "sorted", "eytzinger", "pivot(layout=pairs)", "guide", "pgm", "btree", "btree(fill=70)",
        "radix", "pivot(layout=once)", "auto", "pivot place=hybrid", "pivot place=both",
    };
    size_t most = 0;
    if (LARGE_FRAMES)
        SKIP("frames are larger under sanitizers and without optimization");
    string_scene s = { .path = temp_path("small.sxt"), .r = rnd_start(test_seed() + 3) };
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        bool cpu = strncmp(devices[i], "cpu", 3) == 0;
        /* enough that threads share the work of a CPU */
        texts keys = texts_make(TEXTS_PATHS, cpu ? 20000 : 300, 4, &s.r);
        text_case c = text_case_of(&keys, NULL);
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            if (cpu && strstr(specs[j], "place="))
                continue;         /* a GPU's only */
            begin_step("strings on %s, %s", devices[i], specs[j]);
            s.device = devices[i];
            s.spec = specs[j];
            s.c = &c;
            size_t used = stack_used(run_strings, &s);
            if (s.why[0])
                fail_msg("%s: %s", step_now, s.why);
            if (used > NEEDED)
                fail_msg("%s: %zu bytes of stack", step_now, used);
            most = used > most ? used : most;
        }
        text_case_free(&c);
        texts_free(&keys);
    }
    print_message("at most %zu bytes of stack\n", most);
    free((char *)s.path);
}

static void test_verbs(void **state)
{
    (void)state;
    static const char *const devices[] = { "cpu", "cpu:scalar", "cpu:threads=1", "simt",
                                           "simt:side=gpu,bucket=64" };
    static const char *const specs[] = {
        "sorted", "eytzinger(k=9)", "eytzinger(layout=pairs)", "pivot", "pivot(layout=pairs)",
        "guide", "guide(bucket=2,pieces=300)", "pgm(eps=2,eps2=1,cuts=5)", "pgm", "pgm(budget=64)",
        "auto", "auto(for=memory)", "pivot place=host", "pivot place=hybrid", "guide place=hybrid",
        "pgm(eps=4) place=hybrid", "pivot place=both", "btree", "btree place=hybrid",
        "btree(fill=70)", "btree(fill=90) place=hybrid",
        "radix(leaf=1)", "radix(leaf=1) place=hybrid",
    };
    static const int types[] = { SX_U32, SX_F64, SX_B16 };
    size_t most = 0;
    if (LARGE_FRAMES)
        SKIP("frames are larger under sanitizers and without optimization");
    rnd r = rnd_start(test_seed());
    scene s = { .path = temp_path("small.sxt"), .asker = asker_new() };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        dataset *small = data_make(types[t], KEYS_DUPLICATES, 500, ROWS_U64_WIDE, 100, &r);
        dataset *large = data_make(types[t], KEYS_RANDOM, 70000, ROWS_U64_WIDE, 6000, &r);
        for (size_t i = 0; i < COUNT_OF(devices); i++)
            for (size_t j = 0; j < COUNT_OF(specs); j++) {
                bool cpu = strncmp(devices[i], "cpu", 3) == 0;
                if (cpu && strstr(specs[j], "place=") && !strstr(specs[j], "place=host"))
                    continue;     /* a GPU's only */
                begin_step("%s, %s, type %d", devices[i], specs[j], types[t]);
                s.device = devices[i];
                s.spec = specs[j];
                s.d = cpu ? large : small;
                size_t used = stack_used(run, &s);
                if (s.why[0])
                    fail_msg("%s: %s", step_now, s.why);
                if (used > NEEDED)
                    fail_msg("%s: %zu bytes of stack", step_now, used);
                most = used > most ? used : most;
            }
        data_free(small);
        data_free(large);
    }
    print_message("at most %zu bytes of stack\n", most);
    asker_free(s.asker);
    free((char *)s.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_verbs),
        cmocka_unit_test(test_strings),
    };
    test_seed();
    return cmocka_run_group_tests_name("stack", tests, NULL, NULL) != 0;
}
