/* bench_print.c - the header, then a line for each measurement. */
#include <string.h>

#include "bench.h"
#include "gen.h"
#include "hwinfo.h"
#include "json.h"
#include "say.h"

const char *op_name(int op)
{
    static const char *const names[] = {
        "get", "rank", "floor", "ceil", "key_at", "range",
        "get_pageable", "get_pinned", "small", "range_rows", "range_pageable",
        "range_pinned", "lines",
    };

    return names[op];
}

const char *options_of(const char *device)
{
    const char *comma = strchr(device, ',');

    return comma ? comma + 1 : "";
}

const char *rows_name(const bench_options *o)
{
    return o->rows == ROWS_NONE ? "none" : o->rows == ROWS_32 ? "32" : "64";
}

const char *keys_name(const bench_options *o)
{
    const char *slash;

    if (!o->keys)
        return dist_name((distribution)o->dist);
    slash = strrchr(o->keys, '/');
    return slash ? slash + 1 : o->keys;
}

const char *skew_text(const bench_options *o, char text[24])
{
    if (o->skew == SKEW_UNIFORM)
        return "";
    snprintf(text, 24, ", %s", skew_name((skew_kind)o->skew));
    return text;
}

void version_text(char text[32])
{
    int v = sx_version();

    snprintf(text, 32, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

static void print_header_json(FILE *to, const bench_options *o,
                              const sx_device_info *device)
{
    hwinfo hw = hwinfo_read();
    char version[32];
    json j = json_line(to);

    version_text(version);
    json_begin_object(&j, "header");
    json_string(&j, "cpu", hw.cpu);
    json_unsigned(&j, "cores", (uint64_t)hw.cores);
    json_string(&j, "caches", hw.caches);
    json_string(&j, "huge_pages", hw.huge_pages);
    json_string(&j, "version", version);
    json_string(&j, "device", device->name);
    json_string(&j, "device_detail", device->detail);
    json_unsigned(&j, "threads", device->threads);
    json_string(&j, "type", sx_type_name(o->type));
    json_string(&j, "dist", keys_name(o));
    json_unsigned(&j, "n", o->n);
    json_unsigned(&j, "queries", o->queries);
    json_unsigned(&j, "runs", o->runs);
    json_real(&j, "misses", o->misses);
    json_bool(&j, "zipf", o->zipf);
    json_string(&j, "skew", skew_name((skew_kind)o->skew));
    json_unsigned(&j, "hits", o->hits);
    json_string(&j, "rows", rows_name(o));
    json_unsigned(&j, "seed", o->seed);
    json_end_object(&j);
    json_end_line(&j);
}

void print_title(FILE *to, const bench_options *o,
                 const sx_device_info *device)
{
    hwinfo hw = hwinfo_read();
    char version[32];

    version_text(version);
    fprintf(to, "sextant %s on %s\n", version, hw.cpu);
    fprintf(to, "  %d cores; caches %s; huge pages %s\n", hw.cores, hw.caches,
            hw.huge_pages);
    fprintf(to, "  device %s: %s\n", device->name, device->detail);
    fprintf(to, "  %llu %s keys, %s, seed %llu; rows: %s",
            (unsigned long long)o->n, sx_type_name(o->type),
            keys_name(o), (unsigned long long)o->seed,
            rows_name(o));
}

static void print_header_text(FILE *to, const bench_options *o,
                              const sx_device_info *device)
{
    char skewed[24];

    print_title(to, o, device);
    fprintf(to, "\n  %llu queries%s, %g %% misses, ",
            (unsigned long long)o->queries, skew_text(o, skewed),
            100 * o->misses);
    if (o->batch_count > 1)
        fprintf(to, "%d lengths of calls; ", o->batch_count);
    else if (o->batch)
        fprintf(to, "%llu per call; ", (unsigned long long)o->batch);
    else
        fputs("all in one call; ", to);
    fprintf(to, "median of %llu runs\n\n", (unsigned long long)o->runs);
    fprintf(to, "%s%-48s %-6s %10s %9s %9s %9s %8s %6s%s\n", bold(to),
            "spec", "op", "M/s", "ns", "x binary", "bytes/key", "build s",
            "wrong", plain(to));
}

void print_header(output *out, const bench_options *o,
                  const sx_device_info *device)
{
    if (o->json)
        print_header_json(out->to, o, device);
    else
        print_header_text(out->to, o, device);
    output_check(out);
}

/* A time for wrong answers means nothing, so none is shown. */
static void print_speed_json(json *j, const bench_task *task,
                             const bench_result *result)
{
    double work = (double)task->work;

    if (result->wrong) {
        json_null(j, "mkeys_per_s");
        json_null(j, "ns_per_key");
        json_null(j, "vs_binary_search");
        return;
    }
    json_real(j, "mkeys_per_s", work / result->median_s * 1e-6);
    json_real(j, "ns_per_key", result->median_s / work * 1e9);
    json_real(j, "vs_binary_search", task->seconds / result->median_s);
}

void json_calls(json *j, const bench_result *result)
{
    if (result->call_p50_s <= 0)
        return;
    json_real(j, "call_us", result->call_p50_s * 1e6);
    json_real(j, "call_p99_us", result->call_p99_s * 1e6);
}

static void print_line_json(FILE *to, const bench_options *o,
                            const bench_subject *s, const bench_task *task,
                            const bench_result *result)
{
    json j = json_line(to);

    json_string(&j, "spec", s->spec);
    json_string(&j, "device", s->device);
    json_string(&j, "options", s->options ? s->options : "");
    json_string(&j, "type", sx_type_name(o->type));
    json_string(&j, "dist", keys_name(o));
    json_unsigned(&j, "n", o->n);
    json_string(&j, "op", op_name(task->op));
    json_unsigned(&j, "batch", o->batch ? o->batch : task->q.n);
    json_unsigned(&j, "threads", s->threads);
    print_speed_json(&j, task, result);
    json_real(&j, "bytes_per_key", s->bytes_per_key);
    json_real(&j, "build_s", s->build_s);
    json_unsigned(&j, "wrong", result->wrong);
    json_string(&j, "requested_spec", s->requested);
    json_unsigned(&j, "queries", task->q.n);
    json_unsigned(&j, "work", task->work);
    json_unsigned(&j, "runs", o->runs);
    json_real(&j, "misses", o->misses);
    json_string(&j, "skew", skew_name((skew_kind)o->skew));
    json_string(&j, "rows", rows_name(o));
    if (result->wrong)
        json_null(&j, "best_mkeys_per_s");
    else
        json_real(&j, "best_mkeys_per_s",
                  (double)task->work / result->least_s * 1e-6);
    json_calls(&j, result);
    if (s->explained)
        json_text(&j, "index", s->explained);
    json_end_line(&j);
}

static void print_line_text(FILE *to, const bench_subject *s,
                            const bench_task *task,
                            const bench_result *result)
{
    double work = (double)task->work;

    fprintf(to, "%-48s %-6s ", s->spec, op_name(task->op));
    if (result->wrong)
        fprintf(to, "%s%10s %9s %9s%s", red(to), "WRONG", "-", "-",
                plain(to));
    else
        fprintf(to, "%10.2f %9.2f %9.2f", work / result->median_s * 1e-6,
                result->median_s / work * 1e9,
                task->seconds / result->median_s);
    fprintf(to, " %9.2f %8.3f %6llu\n", s->bytes_per_key, s->build_s,
            (unsigned long long)result->wrong);
}

void print_line(output *out, const bench_options *o,
                const bench_subject *subject, const bench_task *task,
                const bench_result *result)
{
    if (o->json)
        print_line_json(out->to, o, subject, task, result);
    else
        print_line_text(out->to, subject, task, result);
    output_check(out);
}
