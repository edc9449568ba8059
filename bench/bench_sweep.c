/* bench_sweep.c - batches of many sizes, asked of an index that is on both
 * sides (place=both): the time of the CPU, of the GPU, and of the side which
 * the model picks, and the times that the model predicts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "json.h"
#include "opts.h"
#include "progress.h"
#include "query/measure.h"
#include "say.h"

enum { SIZES_MOST = 64, CALLS_MOST = 1000 };
#define LARGEST (1ull << 22)      /* batch, by default */
#define SIZE_SECONDS 0.06         /* of all calls of a size, at least */
/* Sides whose times are this near are equally fast. */
#define LEVEL 1.02

enum { BY_CPU, BY_GPU, BY_MODEL, WAYS };

typedef struct {                  /* of one batch size */
    uint64_t batch;
    double ns[WAYS];              /* measured, a call */
    double predicted[2];
    bool gpu;                     /* the model picks it */
    uint64_t wrong;
} size_result;

typedef struct {
    const bench_options *o;
    const char *spec, *requested, *device;
    bench_op op;
    const sx_cost *cost;
    size_result size[SIZES_MOST];
    int sizes;
    uint64_t crossover;           /* the model's; 0: none */
} sweep;

/* ---- the list of sizes --------------------------------------------------- */

static void add_size(sweep *s, uint64_t batch)
{
    if (s->sizes == SIZES_MOST)
        fail_usage("--batches lists more than %d", SIZES_MOST);
    if (s->sizes > 0 && s->size[s->sizes - 1].batch >= batch)
        fail_usage("--batches ascend, but %llu comes behind %llu",
                   (unsigned long long)batch,
                   (unsigned long long)s->size[s->sizes - 1].batch);
    s->size[s->sizes++].batch = batch;
}

static void split_sizes(sweep *s, const char *text)
{
    for (bool more = true; more; ) {
        size_t length = strcspn(text, ",");
        char word[24];
        uint64_t batch = 0;

        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (length >= sizeof word || !parse_size(word, &batch) || batch < 1)
            fail_usage("--batches wants sizes with commas between, not "
                       "'%.*s'", (int)length, text);
        add_size(s, batch);
        more = text[length] == ',';
        text += length + more;
    }
}

static void list_sizes(sweep *s, const char *text)
{
    if (text)
        split_sizes(s, text);
    else
        for (uint64_t batch = 1; batch <= LARGEST; batch *= 2)
            add_size(s, batch);
}

/* ---- measuring ----------------------------------------------------------- */

static sx_status ask(const sx_index *ix, bench_op op, const sx_column *q,
                     sx_column *out)
{
    switch (op) {
    case OP_RANK: return sx_rank(ix, q, SX_LEFT, out, NULL);
    case OP_FLOOR: return sx_floor(ix, q, out, NULL, NULL);
    case OP_CEIL: return sx_ceil(ix, q, out, NULL, NULL);
    default: return sx_get(ix, q, out, NULL);
    }
}

/* One call of queries [at, at + batch); adds wrong answers. */
static double call(sx_index *ix, const bench_task *task, int way,
                   uint64_t at, sx_column *out, size_result *r)
{
    static const uint32_t side[WAYS] = { SX_SIDE_CPU, SX_SIDE_GPU, 0 };
    sx_column q = column_part(&task->q, at, r->batch);
    double begin, seconds;

    sx_index_side(ix, side[way]);
    begin = seconds_now();
    expect_ok(ask(ix, task->op, &q, out), op_name(task->op));
    seconds = seconds_now() - begin;
    for (uint64_t i = 0; i < r->batch; i++)
        r->wrong += ((uint64_t *)out->data)[i] != task->right[at + i];
    return seconds * 1e9;
}

/* The sides take turns, with other queries each time, since caches hold what
 * was asked before. The first round warms up. */
static void measure_size(sx_index *ix, const bench_task *task, uint64_t runs,
                         size_result *r)
{
    double *ns[WAYS], until = seconds_now() + SIZE_SECONDS;
    sx_column out = column_over(SX_U64, r->batch, must_alloc(r->batch, 8));
    uint64_t at = 0, calls = 0;

    for (int way = 0; way < WAYS; way++)
        ns[way] = must_alloc(CALLS_MOST + 1, sizeof *ns[way]);
    while (calls < CALLS_MOST && (calls < runs || seconds_now() < until)) {
        for (int way = 0; way < WAYS; way++) {
            if (at + r->batch > task->q.n)
                at = 0;
            memset(out.data, 0xa5, (size_t)r->batch * 8);
            ns[way][calls] = call(ix, task, way, at, &out, r);
            at += r->batch;
        }
        if (calls++ == 0)
            until = seconds_now() + SIZE_SECONDS;
    }
    for (int way = 0; way < WAYS; way++) {
        r->ns[way] = calls > 1 ? median_of(ns[way] + 1, calls - 1)
                               : ns[way][0];
        free(ns[way]);
    }
    free(out.data);
}

static void predict(const sweep *s, size_result *r)
{
    sx_batch b = { .n = r->batch, .out_bytes = 8, .searches = 1, .trips = 1,
                   .in_bytes = (uint32_t)sx_type_bytes(s->o->type) };

    r->predicted[BY_CPU] = sx_cost_of_cpu(s->cost, &b);
    r->predicted[BY_GPU] = sx_cost_of_gpu(s->cost, &b);
    r->gpu = sx_cost_side(s->cost, &b) == SX_SIDE_GPU;
}

/* ---- what came out ------------------------------------------------------- */

static bool picked_faster(const size_result *r)
{
    return r->ns[r->gpu ? BY_GPU : BY_CPU] <=
           LEVEL * r->ns[r->gpu ? BY_CPU : BY_GPU];
}

static int picked_right(const sweep *s)
{
    int right = 0;

    for (int i = 0; i < s->sizes; i++)
        right += picked_faster(&s->size[i]);
    return right;
}

/* The size at which the sides' lines meet, just before the first size that the
 * GPU wins; the model's crossover is the first one, too. NAN: there is none. */
static double measured_crossover(const sweep *s)
{
    int i = 0;
    const size_result *a, *b;
    double before, behind;

    while (i < s->sizes && s->size[i].ns[BY_GPU] >= s->size[i].ns[BY_CPU])
        i++;
    if (i == s->sizes)
        return NAN;
    if (i == 0)
        return (double)s->size[0].batch;
    a = &s->size[i - 1];
    b = &s->size[i];
    before = log(a->ns[BY_GPU] / a->ns[BY_CPU]);
    behind = log(b->ns[BY_CPU] / b->ns[BY_GPU]);
    return (double)a->batch * pow((double)b->batch / (double)a->batch,
                                  before / (before + behind));
}

/* ---- printing ------------------------------------------------------------ */

/* The numbers of the model, from the index's explanation. */
static void print_model(FILE *to, const sx_index *ix, bool as_json)
{
    char *text = explanation(ix, as_json ? SX_JSON : SX_TEXT);
    const char *from = strstr(text, "\ncost "), *end = strstr(text, "\ndevice ");

    if (as_json) {
        fputs("{\"explain\":", to);
        json_squeeze(to, text);
        fputs("}\n", to);
    } else if (from && end) {
        fprintf(to, "%.*s\n", (int)(end - from), from);
    }
    free(text);
}

static void print_sizes(FILE *to, const sweep *s)
{
    double measured = measured_crossover(s);

    fprintf(to, "\n%s, %s: microseconds of a call\n", s->spec, op_name(s->op));
    fprintf(to, "%s%12s %12s %12s %12s %6s %12s %12s  %s%s\n", bold(to),
            "batch", "cpu", "gpu", "picked", "picks", "model: cpu", "gpu", "",
            plain(to));
    for (int i = 0; i < s->sizes; i++) {
        const size_result *r = &s->size[i];

        fprintf(to, "%12llu %12.2f %12.2f %12.2f %6s %12.2f %12.2f  ",
                (unsigned long long)r->batch, r->ns[BY_CPU] / 1e3,
                r->ns[BY_GPU] / 1e3, r->ns[BY_MODEL] / 1e3,
                r->gpu ? "gpu" : "cpu", r->predicted[BY_CPU] / 1e3,
                r->predicted[BY_GPU] / 1e3);
        fprintf(to, "%s%s%s\n",
                r->wrong ? red(to) : "",
                r->wrong ? "WRONG" : picked_faster(r) ? "faster" : "slower",
                r->wrong ? plain(to) : "");
    }
    fprintf(to, "crossover: measured ");
    if (isnan(measured))
        fprintf(to, "none");
    else
        fprintf(to, "%.0f", measured);
    if (s->crossover)
        fprintf(to, ", predicted %llu", (unsigned long long)s->crossover);
    else
        fprintf(to, ", predicted none");
    fprintf(to, "; the model picked the faster side in %d of %d sizes\n",
            picked_right(s), s->sizes);
}

static void json_subject(json *j, const sweep *s)
{
    json_string(j, "spec", s->spec);
    json_string(j, "requested_spec", s->requested);
    json_string(j, "device", s->device);
    json_string(j, "type", sx_type_name(s->o->type));
    json_string(j, "dist", keys_name(s->o));
    json_unsigned(j, "n", s->o->n);
    json_string(j, "op", op_name(s->op));
}

static void print_size_json(FILE *to, const sweep *s, const size_result *r)
{
    json j = json_line(to);

    json_subject(&j, s);
    json_unsigned(&j, "batch", r->batch);
    json_real(&j, "cpu_us", r->ns[BY_CPU] / 1e3);
    json_real(&j, "gpu_us", r->ns[BY_GPU] / 1e3);
    json_real(&j, "picked_us", r->ns[BY_MODEL] / 1e3);
    json_string(&j, "picked", r->gpu ? "gpu" : "cpu");
    json_real(&j, "predicted_cpu_us", r->predicted[BY_CPU] / 1e3);
    json_real(&j, "predicted_gpu_us", r->predicted[BY_GPU] / 1e3);
    json_bool(&j, "faster", picked_faster(r));
    json_unsigned(&j, "wrong", r->wrong);
    json_end_line(&j);
}

static void print_json(FILE *to, const sweep *s)
{
    json j;

    for (int i = 0; i < s->sizes; i++)
        print_size_json(to, s, &s->size[i]);
    j = json_line(to);
    json_subject(&j, s);
    json_begin_object(&j, "summary");
    json_unsigned(&j, "sizes", (uint64_t)s->sizes);
    json_unsigned(&j, "picked_faster", (uint64_t)picked_right(s));
    json_real(&j, "measured_crossover", measured_crossover(s));
    if (s->crossover)
        json_unsigned(&j, "predicted_crossover", s->crossover);
    else
        json_null(&j, "predicted_crossover");
    json_end_object(&j);
    json_end_line(&j);
}

/* ---- a picture ----------------------------------------------------------- */

static void write_crossover(FILE *to, const char *what, const char *colour,
                            double at)
{
    if (!isnan(at) && at >= 1)
        fprintf(to, "set arrow from %.1f, graph 0 to %.1f, graph 1 nohead "
                "dashtype 3 lc rgb '%s'\nset label '%s %.0f' at %.1f, graph "
                "%s rotate by 90 offset -0.7,0 tc rgb '%s'\n", at, at, colour,
                what, at, at, *what == 'm' ? "0.55" : "0.05", colour);
}

/* Writes a gnuplot script with its data inside, which makes the file svg. */
static void write_script(const char *path, const char *svg, const sweep *s)
{
    output out = output_open(path);
    FILE *to = out.to;

    fprintf(to, "# made by sextant bench --sweep batch\n$data << EOD\n"
            "# batch, us: cpu, gpu, picked, predicted cpu, predicted gpu\n");
    for (int i = 0; i < s->sizes; i++) {
        const size_result *r = &s->size[i];

        fprintf(to, "%llu %.6g %.6g %.6g %.6g %.6g\n",
                (unsigned long long)r->batch, r->ns[BY_CPU] / 1e3,
                r->ns[BY_GPU] / 1e3, r->ns[BY_MODEL] / 1e3,
                r->predicted[BY_CPU] / 1e3, r->predicted[BY_GPU] / 1e3);
    }
    fprintf(to, "EOD\nset terminal svg size 900,600 background rgb 'white'\n"
            "set output '%s'\nset logscale xy\nset key left top\nset grid\n"
            "set title \"%s, %llu keys of %s, %s\" noenhanced\n"
            "set xlabel 'queries of a call'\n"
            "set ylabel 'microseconds of a call'\n", svg, s->spec,
            (unsigned long long)s->o->n, sx_type_name(s->o->type),
            op_name(s->op));
    write_crossover(to, "measured", "#000000", measured_crossover(s));
    write_crossover(to, "predicted", "#999999",
                    s->crossover ? (double)s->crossover : NAN);
    fprintf(to,
            "plot $data using 1:2 with linespoints lw 2 pt 7 lc rgb '#0060ad'"
            " title 'CPU', \\\n"
            "     $data using 1:3 with linespoints lw 2 pt 7 lc rgb '#dd181f'"
            " title 'GPU', \\\n"
            "     $data using 1:4 with points pt 6 ps 1.6 lc rgb '#000000'"
            " title 'picked', \\\n"
            "     $data using 1:5 with lines dt 2 lc rgb '#0060ad'"
            " title 'CPU, predicted', \\\n"
            "     $data using 1:6 with lines dt 2 lc rgb '#dd181f'"
            " title 'GPU, predicted'\n");
    output_close(&out);
}

/* False: there is no gnuplot, or it failed. */
static bool run_gnuplot(const char *script)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* FILE.svg is drawn by the script FILE.svg.gp. Any other FILE is the script,
 * which would draw FILE.svg. */
typedef struct {
    char *script, *picture;
    bool drawn;
} plot_files;

static plot_files files_of_plot(const char *path)
{
    size_t length = strlen(path);
    plot_files files = { must_alloc(length + 5, 1), must_alloc(length + 5, 1),
                         length > 4 && !strcmp(path + length - 4, ".svg") };

    sprintf(files.script, "%s%s", path, files.drawn ? ".gp" : "");
    sprintf(files.picture, "%s%s", path, files.drawn ? "" : ".svg");
    return files;
}

static void free_plot(plot_files *files)
{
    free(files->script);
    free(files->picture);
}

/* The user should not learn after minutes of work what can't be written. */
static void check_plot(const char *path, const char *keys)
{
    plot_files files = files_of_plot(path);

    if (strchr(path, '\''))
        fail_usage("--plot can't have a quote in its name: %s", path);
    if (keys) {
        expect_other_file(files.script, keys);
        expect_other_file(files.picture, keys);
    }
    expect_writable(files.script);
    if (files.drawn)
        expect_writable(files.picture);
    free_plot(&files);
}

static void plot(const char *path, const sweep *s)
{
    plot_files files = files_of_plot(path);

    write_script(files.script, files.picture, s);
    if (files.drawn && !run_gnuplot(files.script))
        fprintf(stderr, "sextant: bench: gnuplot did not draw %s; its script "
                "is %s\n", files.picture, files.script);
    free_plot(&files);
}

/* ---- all of it ----------------------------------------------------------- */

static uint64_t sweep_task(output *out, sweep *s, sx_index *ix,
                           const bench_task *task)
{
    sx_batch like = { .out_bytes = 8, .searches = 1, .trips = 1,
                      .in_bytes = (uint32_t)sx_type_bytes(s->o->type) };
    uint64_t wrong = 0;

    s->op = task->op;
    sx_index_side(ix, 0);
    s->crossover = sx_cost_crossover(s->cost, &like);
    progress_start("measuring", 0);
    for (int i = 0; i < s->sizes; i++) {
        s->size[i].wrong = 0;
        predict(s, &s->size[i]);
        measure_size(ix, task, s->o->runs + 1, &s->size[i]);
        sx_index_side(ix, 0);
        wrong += s->size[i].wrong;
    }
    progress_stop();
    if (s->o->json)
        print_json(out->to, s);
    else
        print_sizes(out->to, s);
    output_check(out);
    if (s->o->plot)
        plot(s->o->plot, s);
    return wrong;
}

static uint64_t sweep_spec(output *out, sweep *s, const bench_work *work,
                           sx_device *device, const char *spec)
{
    uint64_t wrong = 0;
    sx_index_info info;
    sx_index *ix;

    progress_start("building", 0);
    expect_ok(sx_build(&ix, device, spec, &work->keys, work_rows(work), NULL),
              spec);
    progress_stop();
    info = describe(ix);
    s->spec = info.spec;
    s->requested = spec;
    s->cost = sx_index_cost(ix);
    print_model(out->to, ix, s->o->json);
    for (int i = 0; i < work->task_count; i++)
        wrong += sweep_task(out, s, ix, &work->tasks[i]);
    sx_free(ix);
    return wrong;
}

static void expect_both(const spec_list *specs)
{
    sx_spec spec;
    sx_err err;

    for (int i = 0; i < specs->count; i++)
        if (sx_spec_parse(&spec, specs->spec[i], &err) != SX_OK ||
            spec.place != SX_PLACE_BOTH)
            fail_usage("--sweep batch is for indexes with place=both, not for "
                       "'%s'", specs->spec[i]);
}

uint64_t bench_sweep(const bench_options *o, const spec_list *specs,
                     sx_device *device, const bool wanted[OP_ALL],
                     const char *path)
{
    sx_device_info info = { .size = sizeof info };
    bench_options prepare = *o;
    sweep s = { .o = &prepare };
    uint64_t wrong = 0, largest;
    int ops = 0;
    bench_work work;
    output out;

    for (int op = 0; op < OP_ALL; op++) {
        if (op >= OP_KEY_AT && wanted[op])
            fail_usage("--sweep batch is for get, rank, floor and ceil, not "
                       "for %s", op_name(op));
        ops += wanted[op];
    }
    if (o->plot && (ops > 1 || specs->count > 1))
        fail_usage("--plot is for one index and one operation, not for %d "
                   "and %d", specs->count, ops);
    if (o->plot)
        check_plot(o->plot, o->keys);
    expect_both(specs);
    list_sizes(&s, o->sizes);
    largest = s.size[s.sizes - 1].batch;
    if (prepare.queries < largest)
        prepare.queries = largest;
    expect_ok(sx_device_describe(device, &info), NULL);
    s.device = info.name;
    out = output_open(path);
    if (o->json) {
        print_header(&out, &prepare, &info);
    } else {
        print_title(out.to, o, &info);
        fprintf(out.to, "; %g %% misses\n", 100 * o->misses);
    }
    prepare.runs = 1;             /* of plain binary search */
    work = work_prepare(&prepare, wanted);
    prepare.runs = o->runs;
    for (int i = 0; i < specs->count; i++)
        wrong += sweep_spec(&out, &s, &work, device, specs->spec[i]);
    work_free(&work);
    output_close(&out);
    return wrong;
}
