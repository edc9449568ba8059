#include "cpu/cpu_backend.h"

#include "cpu/cpu_strings.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 256u

static sx_status bad_word(const char *args, const char *word, size_t length, sx_err *err)
{
    return sx_fail(err, SX_EINVAL, "device 'cpu:%.40s': '%.*s' is not one of scalar, avx2, "
                   "avx512, threads=1..%u, search=complete, search=concise, walk=alone, walk=whole",
                   args,
                   (int)(length < 40 ? length : 40), word, THREADS_MAX);
}

static sx_status given_twice(const char *args, const char *what, sx_err *err)
{
    return sx_fail(err, SX_EINVAL, "device 'cpu:%.40s': %s given twice; allowed: once", args, what);
}

/* A number from 1 to `most`. */
static int parse_number(const char *text, size_t length, unsigned most, unsigned *number)
{
    unsigned t = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || t > most)
            return 0;
        t = t * 10 + (unsigned)(text[i] - '0');
    }
    if (t < 1 || t > most)
        return 0;
    *number = t;
    return 1;
}

static int parse_threads(const char *text, size_t length, unsigned *threads)
{
    return parse_number(text, length, THREADS_MAX, threads);
}

static int is(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* ---- options of laboratories (doc/LAB.md) ---------------------------------------------- */

static int is_lab_word(const char *text, size_t length)
{
    return (length > 5 && memcmp(text, "node=", 5) == 0) ||
           (length > 9 && memcmp(text, "pipeline=", 9) == 0) ||
           (length > 6 && memcmp(text, "pages=", 6) == 0);
}

#ifdef SX_LAB
static const char *const node_words[] = {"node=sequential", "node=linear", "node=hierarchical"};
static const char *const page_words[] = {"pages=huge", "pages=small", "pages=upper"};

static sx_status bad_lab_word(const char *args, const char *word, size_t length, sx_err *err)
{
    return sx_fail(err, SX_EINVAL, "device 'cpu:%.40s': '%.*s' is not one of node=sequential, "
                   "node=linear, node=hierarchical, pipeline=1..%u, pages=huge, pages=small, "
                   "pages=upper", args, (int)(length < 40 ? length : 40), word, SX_PIPELINE_MAX);
}

/* given: bits of what was there before. */
static sx_status parse_lab(const char *whole, const char *text, size_t length, sx_cpu *cpu,
                           unsigned *given, sx_err *err)
{
    unsigned which = text[0] == 'n' ? 1 : text[1] == 'i' ? 2 : 4, number = 0, word = 0;
    const char *const *words = which == 1 ? node_words : page_words;

    if (*given & which)
        return given_twice(whole, which == 1 ? "node= is" : which == 2 ? "pipeline= is" : "pages= is",
                           err);
    *given |= which;
    if (which == 2) {
        if (!parse_number(text + 9, length - 9, SX_PIPELINE_MAX, &number))
            return bad_lab_word(whole, text, length, err);
        cpu->lab.pipeline = number;
        return SX_OK;
    }
    while (word < 3 && !is(words[word], text, length))
        word++;
    if (word == 3)
        return bad_lab_word(whole, text, length, err);
    if (which == 1)
        cpu->lab.node = SX_NODE_SEQUENTIAL + word;
    else
        cpu->pages = (sx_cpu_pages)word;
    return SX_OK;
}
#else
static sx_status parse_lab(const char *whole, const char *text, size_t length, sx_cpu *cpu,
                           unsigned *given, sx_err *err)
{
    (void)cpu;
    (void)given;
    return sx_fail(err, SX_EINVAL, "device 'cpu:%.40s': '%.*s' is an option of laboratories: `make lab` "
                   "builds a library that has it (doc/LAB.md)", whole,
                   (int)(length < 40 ? length : 40), text);
}
#endif

/* "avx2", "threads=4", "avx2,threads=4,search=concise" */
static sx_status parse_args(const char *args, sx_cpu *cpu, sx_err *err)
{
    const char *whole = args;
    int level_given = 0, threads_given = 0, search_given = 0, walk_given = 0;
    unsigned lab_given = 0;

    while (*args) {
        size_t n = strcspn(args, ",");
        unsigned level = 0;
        while (level < SX_SIMD_LEVELS && !is(sx_simd_name(level), args, n))
            level++;
        if (level < SX_SIMD_LEVELS) {
            if (level_given++)
                return given_twice(whole, "instructions are", err);
            cpu->level = (sx_simd)level;
        } else if (n > 8 && memcmp(args, "threads=", 8) == 0) {
            if (!parse_threads(args + 8, n - 8, &cpu->threads))
                return bad_word(whole, args, n, err);
            cpu->threads_told = 1;
            if (threads_given++)
                return given_twice(whole, "threads= is", err);
        } else if (is("search=complete", args, n) || is("search=concise", args, n)) {
            if (search_given++)
                return given_twice(whole, "search= is", err);
            cpu->search = is("search=concise", args, n) ? SX_SEARCH_CONCISE : SX_SEARCH_COMPLETE;
        } else if (is("walk=alone", args, n) || is("walk=whole", args, n)) {
            if (walk_given++)
                return given_twice(whole, "walk= is", err);
            cpu->whole = is("walk=whole", args, n);
        } else if (is_lab_word(args, n)) {
            sx_status st = parse_lab(whole, args, n, cpu, &lab_given, err);
            if (st != SX_OK)
                return st;
        } else {
            return bad_word(whole, args, n, err);
        }
        args += n;
        if (*args == ',' && !*++args)
            return bad_word(whole, "", 0, err);
    }
    return SX_OK;
}

static sx_status cpu_open(void **self, const char *args, sx_err *err)
{
    sx_cpu asked = {.level = sx_simd_best(), .threads = sx_cpu_count(),
                    .whole = sx_gathers_fast()}, *cpu;
    const char *env = getenv("SEXTANT_THREADS");
    sx_status st;

    if (asked.threads > THREADS_MAX)
        asked.threads = THREADS_MAX;
    asked.threads_told = env && *env;
    if (asked.threads_told && !parse_threads(env, strlen(env), &asked.threads))
        return sx_fail(err, SX_EINVAL, "the environment variable SEXTANT_THREADS is '%.40s'; "
                       "allowed: 1 to %u", env, THREADS_MAX);
    st = parse_args(args, &asked, err);
    if (st != SX_OK)
        return st;
    if (asked.level > sx_simd_best())
        return sx_fail(err, SX_ENODEV, "device 'cpu:%.40s': this processor has no %s "
                       "(the best it has is %s)", args, sx_simd_name(asked.level),
                       sx_simd_name(sx_simd_best()));
    st = sx_alloc((void **)&cpu, sizeof *cpu, "a device", err);
    if (st != SX_OK)
        return st;
    *cpu = asked;
    st = sx_pool_new(&cpu->pool, cpu->threads, 1, err);
    if (st != SX_OK) {
        sx_release(cpu);
        return st;
    }
    *self = cpu;
    return SX_OK;
}

static void cpu_close(void *self)
{
    sx_cpu *cpu = self;

    sx_pool_free(cpu->pool);
    sx_release(cpu);
}

static void cpu_describe(const void *self, sx_device_info *info)
{
    const sx_cpu *cpu = self;
    char model[128];

    sx_cpu_model(model, sizeof model);
    snprintf(info->name, sizeof info->name, "cpu:%s,threads=%u", sx_simd_name(cpu->level),
             cpu->threads);
    snprintf(info->detail, sizeof info->detail, "%s, %u thread%s, %s", model, cpu->threads,
             cpu->threads == 1 ? "" : "s", sx_simd_name(cpu->level));
    info->usable = 1;
    info->threads = cpu->threads;
    info->memory = sx_memory_bytes();
}

static sx_search cpu_search(const void *self)
{
    return ((const sx_cpu *)self)->search;
}

static sx_status cpu_alloc(void *self, void **out, uint64_t bytes, const char *what, sx_err *err)
{
    (void)self;
    return sx_alloc(out, bytes, what, err);
}

static void cpu_release(void *self, void *block)
{
    (void)self;
    sx_release(block);
}

sx_sharing sx_cpu_sharing(const sx_cpu *cpu, uint32_t threads, sx_progress *progress)
{
    return (sx_sharing){cpu->pool, threads == 0 || threads > cpu->threads ? cpu->threads : threads,
                        progress};
}

void sx_cpu_share(const sx_cpu *cpu, uint32_t threads, sx_progress *progress, uint64_t n,
                  uint64_t grain, sx_share_fn *fn, void *work)
{
    sx_sharing sharing = sx_cpu_sharing(cpu, threads, progress);

    sx_share(&sharing, n, grain, fn, work);
}

static void cpu_travel(const void *self, sx_travel *out)
{
    const sx_cpu *cpu = self;

    *out = (sx_travel){.chunk = SX_SHARE_EACH * SX_CHUNK,
                       .alone = cpu->threads_told && cpu->threads == 1};
}

const sx_backend sx_backend_cpu = {
    .abi = SX_BACKEND_ABI,
    .name = "cpu",
    .target = {.gpu = 0, .node_bytes = 64},       /* a cache line */
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .sort = sx_cpu_sort,
    .once = sx_cpu_once,
    .build = sx_cpu_build,
    .build_peak = sx_cpu_build_peak,
    .lookup = sx_cpu_lookup,
    .spans = sx_cpu_spans,
    .sum_up = sx_cpu_sum_up,
    .fill = sx_cpu_fill,
    .take_strings = sx_cpu_take_strings,
    .codes = sx_cpu_text_codes,
    .fold = sx_cpu_fold,
    .climb = sx_cpu_climb,
    .steps = sx_cpu_steps,
    .search = cpu_search,
    .travel = cpu_travel,
};
