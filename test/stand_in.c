/* stand_in.c - see stand_in.h. */
#include "stand_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "on_device.h"

_Atomic unsigned asked;
sx_status fail_with;
unsigned fail_from;
bool entries_lie, all_pinned, none_pinned;
const void *column_from;
uint64_t column_bytes;
_Atomic unsigned elsewhere;
uint64_t (*takes_ns)(const sx_view *v, unsigned n);

static const sx_backend *honest;
static sx_backend table;          /* as `honest`, but with calls that count */

static sx_status counted(sx_err *err)
{
    unsigned before = atomic_fetch_add(&asked, 1);
    if (fail_with == SX_OK || before < fail_from)
        return SX_OK;
    return sx_fail(err, fail_with, "told to fail at call %u", before);
}

static void take_time(const sx_view *v)
{
    if (takes_ns)
        clock_move(takes_ns(v, atomic_load(&asked)));
}

static sx_status counted_lookup(void *self, const sx_views *v, const sx_lookup *job, sx_err *err)
{
    sx_status status = counted(err);
    take_time(sx_one_view(v));
    return status ? status : honest->lookup(self, v, job, err);
}

static sx_status timed_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err)
{
    take_time(NULL);
    return honest->sort(self, in, out, err);
}

static sx_status counted_spans(void *self, const sx_views *v, const sx_span_query *job,
                               const sx_spans *to, sx_err *err)
{
    sx_status status = counted(err);
    return status ? status : honest->spans(self, v, job, to, err);
}

static sx_status counted_fold(void *self, const sx_views *v, const sx_span_query *job,
                              const sx_range_folds *out, sx_err *err)
{
    sx_status status = counted(err);
    return status ? status : honest->fold(self, v, job, out, err);
}

static sx_status counted_steps(void *self, const sx_views *upper, const sx_steps *job, sx_err *err)
{
    sx_status status = counted(err);
    if ((uintptr_t)job->q.data - (uintptr_t)column_from >= column_bytes)
        elsewhere++;
    if (status == SX_OK)
        status = honest->steps(self, upper, job, err);
    if (status == SX_OK && entries_lie)
        memset(job->out, 0, job->n * sizeof *job->out);
    return status;
}

static int told_pinned(void *self, const void *p)
{
    return all_pinned || (!none_pinned && honest->is_pinned(self, p));
}

void stand_in(sx_device *dev, stand_in_kind kind)
{
    asked = 0;
    fail_with = SX_OK;
    fail_from = 0;
    entries_lie = all_pinned = none_pinned = false;
    column_from = NULL;
    column_bytes = 0;
    elsewhere = 0;
    takes_ns = NULL;
    honest = dev->backend;
    table = *honest;
    table.is_pinned = told_pinned;
    if (kind == OF_ENTRIES) {
        table.steps = counted_steps;
    } else {
        table.lookup = counted_lookup;
        table.sort = timed_sort;
        table.spans = counted_spans;
        table.fold = counted_fold;
    }
    dev->backend = &table;
}

void stand_back(sx_device *dev)
{
    fail_with = SX_OK;
    dev->backend = honest;
}

void explained(const sx_index *ix, const char *text_has, const char *json_has)
{
    char text[8000];
    size_t bytes = sizeof text;
    OK(sx_explain(ix, SX_TEXT, text, &bytes));
    if (!strstr(text, text_has))
        fail_msg("'%s' is not in:\n%s", text_has, text);
    bytes = sizeof text;
    OK(sx_explain(ix, SX_JSON, text, &bytes));
    assert_true(is_json(text));
    if (!strstr(text, json_has))
        fail_msg("'%s' is not in:\n%s", json_has, text);
}

/* Loads the file at path into every place: it is there, and right. */
static void check_places(asker *a, sx_device *dev, const char *path, const dataset *d)
{
    static const struct {
        unsigned flag;
        const char *word, *told;
    } places[] = {
        { SX_LOAD_HOST, " place=host", "\"place\": \"host\"" },
        { SX_LOAD_DEVICE, NULL, "\"place\": \"device\"" },
        { SX_LOAD_HYBRID, " place=hybrid", "\"place\": \"hybrid\"" },
        { SX_LOAD_BOTH, " place=both", "\"place\": \"both\"" },
    };
    sx_device *cpu = device_open("cpu");
    for (unsigned i = 0; i < COUNT_OF(places); i++) {
        sx_index *loaded = NULL;
        sx_index_info info = { .size = sizeof info };
        unsigned copy = i % 2 ? SX_LOAD_COPY : SX_LOAD_VERIFY;
        OK(sx_load(&loaded, dev, path, places[i].flag | copy, NULL));
        OK(sx_describe(loaded, &info));
        if (places[i].word ? !strstr(info.spec, places[i].word) : !!strstr(info.spec, "place="))
            fail_msg("loaded with flag %u: '%s'", places[i].flag, info.spec);
        explained(loaded, "place ", places[i].told);
        OK(sx_check(loaded, NULL));
        a->no_streams = replica_of(loaded, 0)->dev != dev;
        ask_all(a, dev, loaded, d, info.spec);
        a->no_streams = false;
        sx_free(loaded);
        loaded = NULL;
        if (places[i].flag == SX_LOAD_HOST)
            OK(sx_load(&loaded, cpu, path, places[i].flag, NULL));      /* its usual one */
        else
            REFUSED(sx_load(&loaded, cpu, path, places[i].flag, NULL), SX_ENOSYS, "needs a GPU");
        sx_free(loaded);
    }
    sx_close(cpu);
}

void check_file(asker *a, sx_device *dev, const sx_index *ix, const sx_index *plain,
                const dataset *d)
{
    char *path = temp_path("placed.sxt"), *other = temp_path("plain.sxt");
    sx_index *loaded = NULL;
    sx_index_info info = { .size = sizeof info };
    size_t bytes, plain_bytes;
    unsigned char *ours = saved_bytes(ix, path, &bytes);
    unsigned char *theirs = saved_bytes(plain, other, &plain_bytes);
    assert_int_equal(bytes, plain_bytes);
    assert_memory_equal(ours, theirs, bytes);
    OK(sx_load(&loaded, dev, path, SX_LOAD_VERIFY, NULL));
    OK(sx_describe(loaded, &info));
    assert_null(strstr(info.spec, "place="));
    ask_all(a, dev, loaded, d, "loaded");
    sx_free(loaded);
    check_places(a, dev, path, d);
    free(ours);
    free(theirs);
    free(path);
    free(other);
}

/* ---- both sides of a hybrid index ---------------------------------------------------- */

const sx_backend *gpu_own, *cpu_own;
sx_backend gpu_table, cpu_table;
static sx_device *gpu_dev, *cpu_dev;

void both_stand_in(sx_device *dev)
{
    sx_err err;
    gpu_dev = dev;
    assert_int_equal(sx_device_host(dev, &cpu_dev, &err), SX_OK);
    gpu_own = gpu_dev->backend;
    cpu_own = cpu_dev->backend;
    gpu_table = *gpu_own;
    cpu_table = *cpu_own;
    gpu_dev->backend = &gpu_table;
    cpu_dev->backend = &cpu_table;
}

void both_back(void)
{
    gpu_dev->backend = gpu_own;
    cpu_dev->backend = cpu_own;
}

/* Beside the families as they are, which a loop over all of them adds. */
static const char *const hybrid_specs[] = {
    "pivot(k=3,leaf=3)", "pivot(k=5,levels=2,layout=pairs)", "guide(bucket=3,pieces=5,layout=pairs)",
    "eytzinger(k=2)", "eytzinger(k=4,layout=pairs)", "pgm(eps=3,eps2=2,layout=pairs)",
};

const char *hybrid_spec_at(size_t i)
{
    static char text[SX_SPEC_MAX];
    uint32_t family = 0;
    if (i < COUNT_OF(hybrid_specs)) {
        snprintf(text, sizeof text, "%s place=hybrid", hybrid_specs[i]);
        return text;
    }
    for (i -= COUNT_OF(hybrid_specs); family < SX_FAMILIES; family++)
        if (sx_family_of(family)->levels && i-- == 0)
            break;
    if (family == SX_FAMILIES)
        return NULL;
    snprintf(text, sizeof text, "%s place=hybrid", sx_family_listed(family));
    return text;
}

uint32_t upper_levels(const sx_index *ix)
{
    return sx_view_levels(&replica_of(ix, 1)->view);
}
