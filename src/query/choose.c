/* choose.c - what `auto` does: build the likely families over a sample of
 * the real keys, ask each the kind of questions to come, keep the fastest.
 *
 * Measuring may take a small part of the time that the build takes anyway,
 * so the sample is as large as that allows. Every purpose has a favourite,
 * which stays unless another is clearly faster: timings are noisy, and a
 * favourite is what was fastest on machines so far. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/machine.h"
#include "base/text.h"

#include <string.h>

/* Below this a build takes less than the measuring would. */
#define MEASURE_FROM (1u << 16)
/* Part of the build so far that measuring may take: one in so many. */
#define BUDGET_PART 14
/* Nanoseconds per sampled key and candidate: taking it, building, asking. */
#define SAMPLE_NS 12
#define QUERIES 4096u
#define RANGES 512u
#define RANGE_HITS 128u
#define ROUNDS 3
/* A candidate replaces the favourite when it needs less than so many % of
 * its time. */
#define CLEARLY 93

unsigned sx_choices(sx_spec out[SX_CHOICES], uint32_t purpose)
{
    const sx_spec pivot_split = {.family = SX_FAM_PIVOT, .given = SX_P_LAYOUT, .layout = SX_SPLIT};
    const sx_spec pivot_pairs = {.family = SX_FAM_PIVOT, .given = SX_P_LAYOUT, .layout = SX_PAIRS};
    const sx_spec eytz = {.family = SX_FAM_EYTZ, .given = SX_P_LAYOUT, .layout = SX_SPLIT};
    const sx_spec sorted = {.family = SX_FAM_SORTED, .given = SX_P_LAYOUT, .layout = SX_SPLIT};
    unsigned n = 0;

    if (purpose == SX_FOR_MEMORY) {       /* not a byte beside keys and rows */
        out[n++] = eytz;
        out[n++] = sorted;
        return n;
    }
    out[n++] = pivot_split;
    out[n++] = pivot_pairs;
    if (purpose == SX_FOR_POINT)
        out[n++] = eytz;
    return n;
}

/* Every step-th key with its row, as a backend's build takes them. */
static sx_status take_sample(const sx_sorted *s, uint64_t step, sx_sorted *out, sx_err *err)
{
    sx_sorted a = {.n = s->n / step, .width = s->width, .row_bytes = s->row_bytes};
    uint64_t bytes = sx_round_up(a.n * a.width, SX_LINE);
    sx_status st = sx_alloc(&a.keys, bytes, "a sample of keys", err);

    if (st == SX_OK && a.row_bytes)
        st = sx_alloc(&a.rows, a.n * a.row_bytes, "a sample of rows", err);
    if (st != SX_OK) {
        sx_release(a.keys);
        return st;
    }
    memset((unsigned char *)a.keys + a.n * a.width, 0xff, bytes - a.n * a.width);
    for (uint64_t i = 0; i < a.n; i++) {
        memcpy((unsigned char *)a.keys + i * a.width,
               (const unsigned char *)s->keys + i * step * a.width, a.width);
        if (a.row_bytes)
            memcpy((unsigned char *)a.rows + i * a.row_bytes,
                   (const unsigned char *)s->rows + i * step * a.row_bytes, a.row_bytes);
    }
    *out = a;
    return SX_OK;
}

/* Questions about a sample: keys of it in random order, and ranges. */
typedef struct {
    _Alignas(16) unsigned char key[QUERIES * 16];
    _Alignas(16) unsigned char lo[RANGES * 16], hi[RANGES * 16];
    uint64_t out[QUERIES];
} questions;

static void make_questions(const sx_sorted *s, int key_type, questions *q)
{
    const sx_type_info *type = sx_type_of(key_type);
    const unsigned char *keys = s->keys;
    uint64_t x = 1;               /* any seed: these are only timed */

    for (unsigned i = 0; i < QUERIES + RANGES; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t at = (x >> 32) * s->n >> 32, end = at + RANGE_HITS;
        if (i < QUERIES) {
            type->decode(q->key + i * type->bytes, keys + at * s->width, 1);
        } else {
            unsigned r = i - QUERIES;
            type->decode(q->lo + r * type->bytes, keys + at * s->width, 1);
            type->decode(q->hi + r * type->bytes,
                         keys + (end < s->n ? end : s->n - 1) * s->width, 1);
        }
    }
}

/* Nanoseconds for what the purpose asks most, best of some rounds. */
static sx_status ask_all(sx_device *dev, const sx_view *v, int key_type, uint32_t purpose,
                         uint32_t threads, questions *q, uint64_t *best, sx_err *err)
{
    sx_lookup point = {.op = SX_OP_GET, .key_type = key_type, .n = QUERIES, .q = q->key,
                       .threads = threads, .out = q->out, .out_bytes = 8};
    sx_span_query range = {.key_type = key_type, .threads = threads, .n = RANGES, .lo = q->lo,
                           .hi = q->hi, .limit = UINT64_MAX};
    sx_span_folds sum = {.sum = q->out};
    sx_status st = SX_OK;

    *best = UINT64_MAX;
    for (unsigned round = 0; round < ROUNDS && st == SX_OK; round++) {
        uint64_t t = sx_clock_ns();
        if (purpose != SX_FOR_RANGE)
            st = dev->backend->lookup(dev->self, v, &point, err);
        if (st == SX_OK && purpose != SX_FOR_POINT)
            st = dev->backend->fold(dev->self, v, &range, &sum, err);
        t = sx_clock_ns() - t;
        *best = t < *best ? t : *best;
    }
    return st;
}

/* One candidate: built over the sample, asked, thrown away. */
static sx_status try_spec(sx_device *dev, sx_spec spec, const sx_sorted *sorted, uint64_t step,
                          const sx_input *in, uint32_t purpose, questions *q, uint64_t *ns,
                          sx_err *err)
{
    const sx_backend *be = dev->backend;
    sx_sorted sample;
    sx_store store = {.key_type = in->key_type};
    sx_status st = take_sample(sorted, step, &sample, err);

    if (st != SX_OK)
        return st;
    make_questions(&sample, in->key_type, q);
    st = sx_shape(&store.view, &spec, sample.width, sample.row_bytes, sample.n, err);
    if (st == SX_OK)
        st = be->build(dev->self, &store.view, &sample, in->threads, store.base, err);
    if (st == SX_OK) {
        sx_store_bind(&store);
        st = ask_all(dev, &store.view, in->key_type, purpose, in->threads, q, ns, err);
        sx_store_drop(&store, be, dev->self);
    }
    sx_release(sample.keys);
    sx_release(sample.rows);
    return st;
}

static sx_status measure(sx_device *dev, const sx_spec *spec, const sx_sorted *sorted,
                         const sx_input *in, uint64_t spent_ns, const sx_spec *tried,
                         unsigned count, unsigned *winner, sx_text *why, sx_err *err)
{
    static const char *const purposes[] = {"points and ranges", "points", "ranges",
                                           "points and ranges, no extra memory"};
    uint64_t budget = spent_ns / BUDGET_PART, begin = sx_clock_ns(), best = 0;
    uint64_t size = budget / (count * (uint64_t)SAMPLE_NS), step;
    void *room;
    sx_status st;

    if (size > sorted->n / 4)
        size = sorted->n / 4;
    if (size < 1024)
        size = 1024;
    step = sorted->n / size;
    st = sx_alloc(&room, sizeof(questions), "questions", err);
    if (st != SX_OK)
        return st;
    sx_text_add(why, "measured on every %llu. key, %s:", (unsigned long long)step,
                purposes[spec->purpose]);
    for (unsigned i = 0; i < count && st == SX_OK; i++) {
        sx_spec named = tried[i];
        char name[SX_SPEC_MAX];
        uint64_t ns = 0;
        if (named.layout == SX_PAIRS && sorted->row_bytes == 0)
            continue;             /* no rows to pair keys with */
        if (i > 0 && sx_clock_ns() - begin > budget) {
            sx_text_add(why, " (out of time)");
            break;
        }
        st = try_spec(dev, tried[i], sorted, step, in, spec->purpose, room, &ns, err);
        if (st != SX_OK)
            break;
        sx_spec_print(&named, name);
        sx_text_add(why, "%s %s %.1f us", i ? "," : "", name, (double)ns * 1e-3);
        if (i == 0 || ns < best / 100 * CLEARLY) {
            *winner = i;
            best = ns;
        }
    }
    sx_release(room);
    sx_text_add(why, "; measuring took %.1f ms, the build before it %.1f ms",
                (double)(sx_clock_ns() - begin) * 1e-6, (double)spent_ns * 1e-6);
    return st;
}

sx_status sx_choose(sx_device *dev, sx_spec *spec, const sx_sorted *sorted, const sx_input *in,
                    uint64_t spent_ns, char why[SX_WHY_MAX], sx_err *err)
{
    sx_spec tried[SX_CHOICES];
    unsigned count = sx_choices(tried, spec->purpose), winner = 0;
    sx_text t = {why, SX_WHY_MAX, 0};
    sx_status st = SX_OK;

    if (in->n < MEASURE_FROM)
        sx_text_add(&t, "not measured: below %u keys a build is over sooner", MEASURE_FROM);
    else
        st = measure(dev, spec, sorted, in, spent_ns, tried, count, &winner, &t, err);
    tried[winner].unique = spec->unique;
    if (st == SX_OK)
        *spec = tried[winner];
    return st;
}
