/* bench_gpu_print.c - the header, then a line for each measurement. */
#include <string.h>

#include "bench_gpu.h"
#include "hwinfo.h"
#include "json.h"
#include "say.h"

static void put_workload(json *j, const bench_options *o)
{
    json_string(j, "type", sx_type_name(o->type));
    json_string(j, "dist", keys_name(o));
    json_unsigned(j, "n", o->n);
    json_bool(j, "unique", o->unique);
    json_string(j, "rows", rows_name(o));
    json_unsigned(j, "runs", o->runs);
    json_real(j, "misses", o->misses);
    json_bool(j, "zipf", o->zipf);
    json_string(j, "skew", skew_name((skew_kind)o->skew));
    json_bool(j, "sorted", o->sorted);
    json_unsigned(j, "seed", o->seed);
}

static void print_header_json(FILE *to, const bench_options *o,
                              const device_list *devices,
                              const sx_device_info *info, const hwinfo *hw)
{
    char version[32];
    json j = json_line(to);

    version_text(version);
    json_begin_object(&j, "header");
    json_string(&j, "cpu", hw->cpu);
    json_unsigned(&j, "cores", (uint64_t)hw->cores);
    json_string(&j, "version", version);
    json_string(&j, "device", info->name);
    json_string(&j, "gpu", info->detail);
    json_unsigned(&j, "memory", info->memory);
    json_begin_array(&j, "devices");
    for (int i = 0; i < devices->count; i++)
        json_string(&j, NULL, devices->name[i]);
    json_end_array(&j);
    put_workload(&j, o);
    json_unsigned(&j, "queries", o->queries);
    json_unsigned(&j, "hits", o->hits);
    json_end_object(&j);
    json_end_line(&j);
}

static void print_header_text(FILE *to, const bench_options *o,
                              const sx_device_info *info, const hwinfo *hw)
{
    char version[32], skewed[24];

    version_text(version);
    fprintf(to, "sextant %s on %s\n", version, info->name);
    fprintf(to, "  %s; host: %s\n", info->detail, hw->cpu);
    fprintf(to, "  %llu %s keys, %s%s, seed %llu; rows: %s\n",
            (unsigned long long)o->n, sx_type_name(o->type),
            keys_name(o), o->unique ? ", unique" : "",
            (unsigned long long)o->seed, rows_name(o));
    fprintf(to, "  %llu queries%s%s, %g %% misses; ",
            (unsigned long long)o->queries, skew_text(o, skewed),
            o->sorted ? ", ascending" : "", 100 * o->misses);
    fprintf(to, "median of %llu runs\n\n", (unsigned long long)o->runs);
    fprintf(to, "%s%-48s %-12s %8s %8s %8s %8s %10s %9s %8s %6s %6s%s\n",
            bold(to), "spec", "op", "G/s", "of floor", "x binary", "GB/s",
            "us", "bytes/key", "build s", "x sort", "wrong", plain(to));
}

void gpu_print_header(output *out, const bench_options *o,
                      const device_list *devices,
                      const sx_device_info *info)
{
    hwinfo hw = hwinfo_read();

    if (o->json)
        print_header_json(out->to, o, devices, info, &hw);
    else
        print_header_text(out->to, o, info, &hw);
    output_check(out);
}

void gpu_print_device(output *out, const bench_options *o,
                      const device_list *devices, int i)
{
    if (!o->json && devices->count > 1)
        fprintf(out->to, "%s\n", devices->name[i]);
}

/* ---- lines ------------------------------------------------------------- */

typedef struct {                  /* not finite: there is none */
    double speed, best;           /* 10^9 answers or hits per second */
    double of_floor, vs_plain;
    double bandwidth;             /* 10^9 bytes per second */
} figures;

/* A time for wrong answers means nothing, so none is shown. A gather is no
 * measure of ranges, which are read in a row, of small calls, which wait, or of
 * the host's memory. */
static figures figures_of(const gpu_bench *b, const gpu_task *task,
                          const bench_result *result)
{
    const double none = 0.0 / 0.0;
    figures f = { none, none, none, none, none };
    double floor_speed = (double)b->o->queries / b->gather_s * 1e-9;

    if (result->wrong)
        return f;
    f.speed = (double)task->work / result->median_s * 1e-9;
    f.best = (double)task->work / result->least_s * 1e-9;
    f.bandwidth = (double)task->bytes / result->median_s * 1e-9;
    if (task->op < OP_RANGE || task->op == OP_GET_PAGEABLE ||
        task->op == OP_GET_PINNED)
        f.of_floor = f.speed / floor_speed;
    if (task->plain_s > 0)
        f.vs_plain = task->plain_s / result->median_s;
    return f;
}

static void print_line_json(FILE *to, const gpu_bench *b,
                            const gpu_subject *s, const gpu_task *task,
                            const bench_result *result)
{
    const bench_options *o = b->o;
    figures f = figures_of(b, task, result);
    json j = json_line(to);

    json_string(&j, "spec", s->spec);
    json_string(&j, "device", s->info.name);
    json_string(&j, "options", options_of(s->device));
    json_string(&j, "gpu", s->info.detail);
    json_string(&j, "op", op_name(task->op));
    put_workload(&j, o);
    json_unsigned(&j, "queries", task->q.n);
    json_unsigned(&j, "found", b->found);
    json_unsigned(&j, "batch", o->batch ? o->batch : task->q.n);
    json_unsigned(&j, "hits", o->hits);
    json_unsigned(&j, "work", task->work);
    json_real(&j, "g_per_s", f.speed);
    json_real(&j, "best_g_per_s", f.best);
    json_real(&j, "us_per_pass", result->wrong ? 0.0 / 0.0
                                               : result->median_s * 1e6);
    json_real(&j, "of_floor", f.of_floor);
    json_real(&j, "vs_binary_search", f.vs_plain);
    json_real(&j, "gb_per_s", f.bandwidth);
    json_real(&j, "bytes_per_key", s->bytes_per_key);
    json_real(&j, "build_s", s->build_s);
    json_real(&j, "build_x_sort", s->build_s / b->sort_s);
    json_unsigned(&j, "wrong", result->wrong);
    json_unsigned(&j, "checked", task->q.n);
    json_string(&j, "requested_spec", s->requested);
    json_real(&j, "floor_g_per_s",
              (double)o->queries / b->gather_s * 1e-9);
    json_real(&j, "sort_s", b->sort_s);
    json_calls(&j, result);
    if (s->explained)
        json_text(&j, "index", s->explained);
    json_end_line(&j);
}

static void put_figure(FILE *to, int width, const char *format,
                       double value)
{
    char text[32] = "-";

    if (value == value)
        snprintf(text, sizeof text, format, value);
    fprintf(to, " %*s", width, text);
}

static void print_line_text(FILE *to, const gpu_bench *b,
                            const gpu_subject *s, const gpu_task *task,
                            const bench_result *result)
{
    figures f = figures_of(b, task, result);

    fprintf(to, "%-48s %-12s", s->spec, op_name(task->op));
    if (result->wrong)
        fprintf(to, " %s%8s%s", red(to), "WRONG", plain(to));
    else
        put_figure(to, 8, "%.3f", f.speed);
    put_figure(to, 8, "%.3f", f.of_floor);
    put_figure(to, 8, "%.2f", f.vs_plain);
    put_figure(to, 8, "%.1f", f.bandwidth);
    put_figure(to, 10, "%.1f", result->median_s * 1e6);
    fprintf(to, " %9.3f %8.4f %6.2f %6llu\n", s->bytes_per_key, s->build_s,
            s->build_s / b->sort_s, (unsigned long long)result->wrong);
}

void gpu_print_line(output *out, const gpu_bench *b, const gpu_subject *s,
                    const gpu_task *task, const bench_result *result)
{
    if (b->o->json)
        print_line_json(out->to, b, s, task, result);
    else
        print_line_text(out->to, b, s, task, result);
    output_check(out);
}
