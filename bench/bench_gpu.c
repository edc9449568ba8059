/* bench_gpu.c - the loop over devices, specs and operations. */
#include "bench_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "opts.h"
#include "progress.h"
#include "say.h"

#define BUILDS 3

bool is_gpu(sx_device *device)
{
    sx_column probe;
    bool there;

    expect_ok(sx_column_new(&probe, device, SX_U32, 1), NULL);
    there = probe.place == SX_DEVICE;
    sx_column_free(&probe, device);
    return there;
}

static sx_device_info info_of(const sx_device *device)
{
    sx_device_info info = { .size = sizeof info };

    expect_ok(sx_device_describe(device, &info), NULL);
    return info;
}

void expect_gpu(const char *name, sx_device *same)
{
    sx_device_info wanted = info_of(same), info;
    sx_device *device = open_named(name);

    info = info_of(device);
    if (strcmp(info.name, wanted.name))
        fail_usage("--device lists %s and %s, but all of a list work on the "
                   "same data", wanted.name, name);
    sx_close(device);
}

/* ---- one device -------------------------------------------------------- */

static double build_once(gpu_bench *b, sx_device *device, const char *spec,
                         sx_index **ix)
{
    bool positions = b->o->rows == ROWS_NONE, here = b->o->from_host;
    const sx_column *keys = here ? &b->host_keys : &b->keys;
    const sx_column *rows = here ? &b->host_rows : &b->rows;
    double start = seconds_now();

    expect_ok(sx_build(ix, device, spec, keys, positions ? NULL : rows,
                       NULL), spec);
    return seconds_now() - start;
}

/* The median of the timed builds; the last index is kept. */
static double build(gpu_bench *b, sx_device *device, const char *spec,
                    sx_index **ix)
{
    uint64_t builds = b->o->builds == NOT_GIVEN ? BUILDS : b->o->builds;
    double *times = must_alloc(builds + 1, sizeof *times), median;

    progress_start("building", 0);
    median = build_once(b, device, spec, ix);
    for (uint64_t i = 0; i < builds; i++) {
        sx_free(*ix);
        times[i] = build_once(b, device, spec, ix);
    }
    progress_stop();
    if (builds)
        median = median_of(times, builds);
    free(times);
    return median;
}

/* Measures every batch; the operation small has one length of call. */
static uint64_t bench_task_of(output *out, gpu_bench *b, const sx_index *ix,
                              const gpu_subject *s, const gpu_task *task)
{
    const bench_options *o = b->o;
    int turns = task->op == OP_SMALL ? 1 : o->batch_count;
    bench_options turn = *o;
    uint64_t wrong = 0;

    b->o = &turn;
    for (int i = 0; i < turns; i++) {
        bench_result result;

        turn.batch = o->batches[i];
        result = gpu_run(b, ix, task);
        if (result.median_s < 0)  /* this device can't do it */
            continue;
        gpu_print_line(out, b, s, task, &result);
        wrong += result.wrong;
    }
    b->o = o;
    return wrong;
}

static uint64_t bench_spec(output *out, gpu_bench *b, sx_device *device,
                           gpu_subject *s, const char *spec)
{
    char *explained = NULL;
    uint64_t wrong = 0;
    sx_index_info info;
    sx_index *ix;

    s->requested = spec;
    s->build_s = build(b, device, spec, &ix);
    info = describe(ix);
    s->spec = info.spec;
    s->bytes_per_key = (double)info.bytes / (double)b->o->n;
    if (b->o->explain)
        s->explained = explained = explanation(ix, SX_JSON);
    for (int i = 0; i < b->task_count; i++)
        wrong += bench_task_of(out, b, ix, s, &b->tasks[i]);
    s->explained = NULL;
    free(explained);
    sx_free(ix);
    return wrong;
}

/* Each device is opened when its turn comes and closed after it, so that its
 * share of the GPU's memory and caches is gone for the next. */
static uint64_t bench_device(output *out, gpu_bench *b, const char *name,
                             const spec_list *specs)
{
    gpu_subject s = { .device = name };
    sx_device *device = open_named(name);
    uint64_t wrong = 0;

    s.info = info_of(device);
    for (int i = 0; i < specs->count; i++)
        wrong += bench_spec(out, b, device, &s, specs->spec[i]);
    sx_close(device);
    return wrong;
}

/* ---- all of it --------------------------------------------------------- */

/* What the host's memory can do, beside hybrid indexes. */
static void print_lines(output *out, const gpu_bench *b, const gpu_task *task,
                        gpu_subject s)
{
    double *times = must_alloc(b->o->runs, sizeof *times);
    bench_result result = lines_run(b, times);

    s.spec = s.requested = "lines";
    s.build_s = 0;
    gpu_print_line(out, b, &s, task, &result);
    free(times);
}

static void print_baseline(output *out, const gpu_bench *b,
                           const char *device)
{
    gpu_subject s = {
        .spec = "binary_search", .requested = "binary_search",
        .device = device, .info = info_of(b->device),
        .bytes_per_key = (double)(sx_type_bytes(b->o->type) +
                                  sx_type_bytes(b->number)),
        .build_s = b->sort_s,
    };

    for (int i = 0; i < b->task_count; i++) {
        const gpu_task *task = &b->tasks[i];
        bench_result itself = { .median_s = task->plain_s,
                                .least_s = task->plain_s };

        if (task->op == OP_GET || task->op == OP_RANK)
            gpu_print_line(out, b, &s, task, &itself);
        else if (task->op == OP_LINES)
            print_lines(out, b, task, s);
    }
}

uint64_t bench_gpu(const bench_options *o, const spec_list *specs,
                   const device_list *devices, sx_device *device,
                   const bool wanted[OP_ALL], const char *path)
{
    sx_device_info info = info_of(device);
    gpu_bench b = { .o = o, .device = device,
                    .kernels = kernels_of(info.name) };
    output out = output_open(path);
    uint64_t wrong = 0;

    gpu_print_header(&out, o, devices, &info);
    gpu_prepare(&b);
    gpu_answer(&b, wanted);
    print_baseline(&out, &b, info.name);
    for (int i = 0; i < devices->count; i++) {
        gpu_print_device(&out, o, devices, i);
        wrong += bench_device(&out, &b, devices->name[i], specs);
    }
    gpu_release(&b);
    output_close(&out);
    return wrong;
}
