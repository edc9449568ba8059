/* bench_main.c - sextant-bench, which `sextant bench` runs: indexes beside plain
 * binary search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_gpu.h"
#include "gen.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "io.h"

/* ---- lists on the command line ----------------------------------------- */

static void add_spec(spec_list *list, const char *spec)
{
    spec += strspn(spec, " ");
    if (!*spec)
        fail_usage("--spec has an empty entry in its list");
    if (list->count == SPECS_MAX)
        fail_usage("--spec lists more than %d indexes", SPECS_MAX);
    list->spec[list->count++] = spec;
}

/* Every family, with its natural node of 64 bytes where it has a choice, and
 * specs that are the fastest on some keys and some device. */
static void add_all_specs(spec_list *list, int type)
{
    static const char *const of_width[][2] = {
        [4] = { "eytzinger(k=17)", "guide(bucket=4,layout=pairs,block=8)" },
        [8] = { "eytzinger(k=9)", "guide(bucket=4,layout=pairs,block=4)" },
        [16] = { "eytzinger(k=5)", "guide(bucket=4,layout=pairs,block=4)" },
    };

    add_spec(list, "sorted");
    add_spec(list, "eytzinger(k=2)");
    add_spec(list, of_width[sx_type_bytes(type)][0]);
    add_spec(list, "pivot(layout=split)");
    add_spec(list, "pivot(layout=pairs)");
    add_spec(list, "btree");
    add_spec(list, "btree(fill=100)");
    add_spec(list, "radix");
    add_spec(list, "guide(layout=split)");
    add_spec(list, "guide(layout=pairs)");
    add_spec(list, of_width[sx_type_bytes(type)][1]);
    add_spec(list, "pgm(eps=8)");
    add_spec(list, "pgm(eps=2,layout=pairs)");
    add_spec(list, "pgm");
    add_spec(list, "pivot(layout=once)");
    add_spec(list, "guide(layout=once)");
    add_spec(list, "auto");
}

/* Commas inside parentheses belong to a spec. */
static spec_list split_specs(const char *text, int type)
{
    spec_list list = { .text = must_alloc(strlen(text) + 1, 1) };
    char *start = strcpy(list.text, text);
    int depth = 0;

    for (char *c = list.text; ; c++) {
        bool end = !*c;

        depth += (*c == '(') - (*c == ')');
        if (!end && (*c != ',' || depth > 0))
            continue;
        *c = 0;
        if (!strcmp(start, "all"))
            add_all_specs(&list, type);
        else
            add_spec(&list, start);
        if (end)
            return list;
        start = c + 1;
    }
}

/* As a key -0.0 is 0.0, and all NaNs are one: an index answers with these. */
static void make_plain(const sx_column *keys)
{
    for (uint64_t i = 0; i < keys->n; i++)
        if (keys->type == SX_F32) {
            float *key = (float *)keys->data + i;

            *key = isnan(*key) ? NAN : *key == 0 ? 0 : *key;
        } else if (keys->type == SX_F64) {
            double *key = (double *)keys->data + i;

            *key = isnan(*key) ? NAN : *key == 0 ? 0 : *key;
        }
}

/* Reads --keys, or settles which keys are generated. */
static void settle_keys(bench_options *o, int format)
{
    if (!o->keys) {
        if (format)
            fail_usage("--format is for --keys, which is not given");
        o->type = o->type ? o->type : SX_U64;
        o->dist = o->dist ? o->dist : DIST_UNIFORM;
        o->n = o->n ? o->n : 1 << 20;
        return;
    }
    if (o->n || o->dist || o->unique)
        fail_usage("%s is for generated keys, not for those of --keys",
                   o->n ? "--n" : o->dist ? "--dist" : "--unique");
    o->file_keys = read_column(o->keys,
                               format_needed(o->keys, (file_format)format),
                               o->type);
    o->type = o->file_keys.type;
    o->n = o->file_keys.n;
    if (o->n == 0)
        fail("%s: there are no keys in it", o->keys);
    make_plain(&o->file_keys);
}

/* One batch of all queries if there is no list. */
static void split_batches(const char *text, bench_options *o)
{
    o->batch_count = 0;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        char word[24];

        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (o->batch_count == BATCHES_MAX)
            fail_usage("--batch lists more than %d", BATCHES_MAX);
        if (length >= sizeof word ||
            !parse_size(word, &o->batches[o->batch_count]) ||
            !o->batches[o->batch_count++])
            fail_usage("--batch wants numbers, at least 1, with commas "
                       "between, not '%.*s'", (int)length, text);
        text += length + (text[length] == ',');
    }
    if (!text)
        o->batches[o->batch_count++] = 0;
    if (!o->batch_count)
        fail_usage("--batch has nothing in its list");
    if (o->collect && o->batch_count > 1)
        fail_usage("--collect is for one --batch, not for %d",
                   o->batch_count);
    o->batch = o->batches[0];
}

static void split_ops(const char *text, bool wanted[OP_ALL])
{
    while (*text) {
        size_t length = strcspn(text, ",");
        int op = 0;

        while (op < OP_ALL && (strlen(op_name(op)) != length ||
                               memcmp(op_name(op), text, length)))
            op++;
        if (op == OP_ALL)
            fail_usage("--op wants some of %s, or on a GPU %s, not '%.*s'",
                       OP_WORDS, GPU_OP_WORDS, (int)length, text);
        wanted[op] = true;
        text += length + (text[length] == ',');
    }
}

/* Cuts text, a copy of --device, at the semicolons. */
static device_list split_devices(char *text)
{
    device_list list = { .count = 0 };

    for (char *at = text; at; ) {
        char *semicolon = strchr(at, ';');

        if (semicolon)
            *semicolon++ = 0;
        at += strspn(at, " ");
        if (!*at)
            fail_usage("--device has an empty entry in its list");
        if (list.count == DEVICES_MAX)
            fail_usage("--device lists more than %d", DEVICES_MAX);
        list.name[list.count++] = at;
        at = semicolon;
    }
    return list;
}

/* The user should not learn of a wrong spec after minutes of work. */
static void check_specs(sx_device *device, const spec_list *specs,
                        const bench_options *o)
{
    sx_estimate_ask ask = { .size = sizeof ask, .n = o->n, .key_type = o->type,
                            .row_type = o->rows == ROWS_NONE ? 0
                                      : o->rows == ROWS_32 ? SX_U32 : SX_U64 };

    for (int i = 0; i < specs->count; i++) {
        sx_estimate_info estimate = { .size = sizeof estimate };

        expect_ok_usage(sx_estimate(device, specs->spec[i], &ask, &estimate),
                        NULL);
    }
}

/* ---- measuring --------------------------------------------------------- */

static void print_baseline(output *out, const bench_options *o,
                           const bench_work *work)
{
    bench_subject plain_search = {
        .spec = "binary_search", .requested = "binary_search",
        .device = "cpu:scalar", .threads = 1,
        .bytes_per_key = (double)sx_type_bytes(o->type) + 8,
        .build_s = work->sort_seconds,
    };

    for (int i = 0; i < work->task_count; i++) {
        bench_result itself = { .median_s = work->tasks[i].seconds,
                                .least_s = work->tasks[i].seconds };

        print_line(out, o, &plain_search, &work->tasks[i], &itself);
    }
}

/* name: the device's, as it was given. Returns the number of wrong answers. */
static uint64_t bench_spec(output *out, const bench_options *o,
                           const bench_work *work, sx_device *device,
                           const sx_device_info *device_info,
                           const char *name, const char *spec)
{
    bench_subject subject = { .requested = spec, .device = device_info->name,
                              .options = options_of(name),
                              .threads = device_info->threads };
    char *explained = NULL;
    double start = seconds_now();
    uint64_t wrong = 0;
    sx_index_info info;
    sx_index *ix;

    progress_start("building", 0);
    expect_ok(sx_build(&ix, device, spec, &work->keys, work_rows(work),
                       NULL), spec);
    progress_stop();
    subject.build_s = seconds_now() - start;
    info = describe(ix);
    subject.spec = info.spec;
    subject.bytes_per_key = (double)info.bytes / (double)o->n;
    if (o->explain)
        subject.explained = explained = explanation(ix, SX_JSON);
    for (int i = 0; i < work->task_count * o->batch_count; i++) {
        const bench_task *task = &work->tasks[i / o->batch_count];
        bench_options turn = *o;
        bench_result result;

        turn.batch = o->batches[i % o->batch_count];
        result = bench_measure(ix, work, task, &turn);
        print_line(out, &turn, &subject, task, &result);
        wrong += result.wrong;
    }
    free(explained);
    sx_free(ix);
    return wrong;
}

/* All specs on one more device of the list. */
static uint64_t bench_cpu_device(output *out, const bench_options *o,
                                 const bench_work *work,
                                 const spec_list *specs, sx_device *device,
                                 const char *name)
{
    sx_device_info info = { .size = sizeof info };
    uint64_t wrong = 0;

    expect_ok(sx_device_describe(device, &info), NULL);
    for (int i = 0; i < specs->count; i++)
        wrong += bench_spec(out, o, work, device, &info, name,
                            specs->spec[i]);
    return wrong;
}

/* Those of a list work on the same keys and queries. */
static uint64_t bench_cpu(const bench_options *o, const spec_list *specs,
                          const device_list *devices, sx_device *device,
                          const bool wanted[OP_ALL], const char *path)
{
    sx_device_info info = { .size = sizeof info };
    uint64_t wrong = 0;
    bench_work work;
    output out;

    expect_ok(sx_device_describe(device, &info), NULL);
    check_specs(device, specs, o);
    out = output_open(path);
    print_header(&out, o, &info);
    work = work_prepare(o, wanted);
    print_baseline(&out, o, &work);
    for (int i = 0; i < devices->count; i++) {
        open_options open = o->open;
        sx_device *next = device;

        open.device = devices->name[i];
        if (i > 0)
            next = open_device(&open);
        if (!o->json && devices->count > 1)
            fprintf(out.to, "%s\n", devices->name[i]);
        wrong += bench_cpu_device(&out, o, &work, specs, next,
                                  devices->name[i]);
        if (i > 0)
            sx_close(next);
    }
    work_free(&work);
    output_close(&out);
    return wrong;
}

static void refuse_on_cpu(const bench_options *o, const device_list *devices,
                          const bool wanted[OP_ALL])
{
    open_options open = o->open;
    const char *word = o->sorted ? "--sorted"
                       : o->ranges ? "--ranges"
                       : o->from_host ? "--from-host"
                       : o->builds != NOT_GIVEN ? "--builds" : NULL;

    for (int op = OP_COUNT; op < OP_ALL; op++)
        if (wanted[op])
            word = op_name(op);
    if (word)
        fail_usage("%s is for a GPU, and %s is none", word,
                   o->open.device ? o->open.device : "the CPU");
    for (int i = 1; i < devices->count; i++) {
        sx_device *device;

        open.device = devices->name[i];
        device = open_device(&open);
        if (is_gpu(device))
            fail_usage("--device lists %s and %s, but a GPU has another "
                       "bench", devices->name[0], devices->name[i]);
        sx_close(device);
    }
}

/* Fills in options that are not given; only --collect takes these. */
static void complete_collect(bench_options *o)
{
    const char *word = o->submitters ? "--submitters"
                       : o->interval ? "--interval" : o->ms ? "--ms" : NULL;

    if (!o->collect && word)
        fail_usage("%s is for --collect", word);
    if (!o->submitters)
        o->submitters = "1,2,4,8,16,32,64,128,256";
    if (!o->ms)
        o->ms = 500;
}

static void check_json_only(const bench_options *o)
{
    const char *word = o->latency ? "--latency"
                       : o->explain ? "--explain" : NULL;

    if (word && !o->json)
        fail_usage("%s is for --json", word);
    if (word && (o->collect || o->sweep))
        fail_usage("%s is not for %s", word,
                   o->collect ? "--collect" : "--sweep");
}

static void check_sweep(const bench_options *o)
{
    const char *word = o->sizes ? "--batches" : o->plot ? "--plot" : NULL;

    if (!o->sweep && word)
        fail_usage("%s is for --sweep batch", word);
    if (o->sweep && o->collect)
        fail_usage("--sweep and --collect are two different things");
}

/* On a GPU if the first device is one. */
static uint64_t bench_all(bench_options *o, const spec_list *specs,
                          const bool wanted[OP_ALL], const char *path)
{
    char *text = NULL;
    device_list devices = { .count = 0 };
    sx_device_info info = { .size = sizeof info };
    sx_device *device;
    uint64_t wrong;

    if (o->open.device) {
        text = strcpy(must_alloc(strlen(o->open.device) + 1, 1),
                      o->open.device);
        devices = split_devices(text);
        o->open.device = devices.name[0];
    }
    device = open_device(&o->open);
    if (!devices.count) {         /* the best that is there */
        expect_ok(sx_device_describe(device, &info), NULL);
        devices.name[devices.count++] = info.name;
    }
    if (o->collect || o->sweep) {
        if (devices.count > 1)
            fail_usage("%s is for one device, not for %d",
                       o->collect ? "--collect" : "--sweep", devices.count);
        check_specs(device, specs, o);
        wrong = (o->collect ? bench_collect : bench_sweep)(o, specs, device,
                                                           wanted, path);
    } else if (is_gpu(device)) {
        for (int i = 1; i < devices.count; i++)
            expect_gpu(devices.name[i], device);
        check_specs(device, specs, o);
        wrong = bench_gpu(o, specs, &devices, device, wanted, path);
    } else {
        refuse_on_cpu(o, &devices, wanted);
        wrong = bench_cpu(o, specs, &devices, device, wanted, path);
    }
    sx_close(device);
    free(text);
    return wrong;
}

static int run(int argc, char **argv)
{
    bench_options o = { .runs = 5, .hits = 100, .rows = ROWS_64, .seed = 1,
                        .builds = NOT_GIVEN };
    const char *spec_text = NULL, *op_text = NULL, *batch_text = NULL;
    const char *path = "-";
    int format = 0;
    const operand operands[] = { OPERAND_END };
    const option options[] = {
        OPTION_TYPE(&o.type, "type of the keys (u64)"),
        { "--dist", 0, OPT_CHOICE, DIST_CHOICES, &o.dist,
          "distribution of the keys (uniform)" },
        { "--n", 'n', OPT_COUNT, "N", &o.n, "how many keys (2^20)" },
        { "--keys", 0, OPT_WORD, "FILE", &o.keys,
          "the keys of this file instead" },
        OPTION_IN_FORMAT(&format, "format of the file of --keys (by its name)"),
        { "--unique", 0, OPT_FLAG, 0, &o.unique,
          "no two keys are equal (uniform only)" },
        { "--rows", 0, OPT_CHOICE, "none|32|64", &o.rows,
          "bits of the rows; none: positions (64)" },
        { "--spec", 0, OPT_WORD, "LIST", &spec_text,
          "indexes, separated by commas; all: one of every kind (all)" },
        { "--op", 0, OPT_WORD, "LIST", &op_text,
          "operations, some of " OP_WORDS " (get,rank)" },
        { "--queries", 0, OPT_COUNT, "N", &o.queries,
          "how many queries (n, but 2^16 to 2^22)" },
        { "--batch", 0, OPT_WORD, "LIST", &batch_text,
          "queries per call (all); collect: per batch (half of submitters)" },
        { "--latency", 0, OPT_FLAG, 0, &o.latency,
          "JSON: how long a call takes, the median and 99 of 100" },
        { "--explain", 0, OPT_FLAG, 0, &o.explain,
          "JSON: with how each index is made up" },
        { "--misses", 0, OPT_FRACTION, "F", &o.misses,
          "part of the queries that are no key (0)" },
        { "--zipf", 0, OPT_FLAG, 0, &o.zipf,
          "few keys are asked for very often" },
        { "--skew", 0, OPT_CHOICE, SKEW_CHOICES, &o.skew,
          "points: " SKEW_HELP },
        { "--sorted", 0, OPT_FLAG, 0, &o.sorted,
          "GPU: queries ascend" },
        { "--hits", 0, OPT_COUNT, "H", &o.hits,
          "range: keys in each range (100)" },
        { "--ranges", 0, OPT_COUNT, "R", &o.ranges,
          "GPU, range: how many ranges (2^27 hits in all)" },
        { "--builds", 0, OPT_SIZE, "N", &o.builds,
          "GPU: timed builds after one to warm up; 0: only one, cold (3)" },
        { "--from-host", 0, OPT_FLAG, 0, &o.from_host,
          "GPU: builds read keys and rows in the host's memory" },
        { "--runs", 0, OPT_COUNT, "R", &o.runs,
          "timed runs, of which the median counts (5)" },
        { "--seed", 0, OPT_SIZE, "S", &o.seed,
          "same seed, same keys and queries (1)" },
        { "--collect", 0, OPT_FLAG, 0, &o.collect,
          "threads with one key at a time, collected into batches and not" },
        { "--submitters", 0, OPT_WORD, "LIST", &o.submitters,
          "collect: how many threads (1,2,4,...,256)" },
        { "--interval", 0, OPT_COUNT, "US", &o.interval,
          "collect: microseconds that a key waits for others at most (50)" },
        { "--ms", 0, OPT_COUNT, "MS", &o.ms,
          "collect: milliseconds that each measurement takes (500)" },
        { "--sweep", 0, OPT_CHOICE, "batch", &o.sweep,
          "place=both: batches of many sizes by the CPU, the GPU, and who is "
          "picked" },
        { "--batches", 0, OPT_WORD, "LIST", &o.sizes,
          "sweep: which sizes, ascending (1,2,4,...,2^22)" },
        { "--plot", 0, OPT_WORD, "FILE", &o.plot,
          "sweep: a gnuplot script, or the picture where FILE ends in .svg" },
        OPTION_OUTPUT(&path, "where to (stdout)"),
        OPTION_JSON(&o.json),
        { "--device", 0, OPT_WORD, "LIST", &o.open.device,
          "where to work, e.g. cpu:avx2; or a list, with ';' between" },
        OPTION_THREADS(&o.open.threads),
        OPTION_END
    };
    const command_line line = { "Measures indexes beside plain binary search, "
                                "and checks every answer.\n"
                                "On a GPU --op also takes " GPU_OP_WORDS ".",
                                operands, options };
    bool wanted[OP_ALL] = { false };
    spec_list specs;
    uint64_t wrong;

    parse_arguments(&line, argc, argv);
    o.skew = skew_settled(o.skew, o.zipf);
    check_json_only(&o);
    if (o.keys)
        expect_other_file(path, o.keys);
    expect_writable(path);        /* reading the keys may take a while */
    settle_keys(&o, format);
    if (o.unique && o.dist != DIST_UNIFORM)
        fail_usage("--unique is for --dist uniform, not for %s",
                   dist_name((distribution)o.dist));
    complete_collect(&o);
    split_batches(batch_text, &o);
    check_sweep(&o);
    split_ops(op_text ? op_text : o.collect || o.sweep ? "get" : "get,rank",
              wanted);
    specs = split_specs(spec_text ? spec_text
                        : o.sweep ? "pivot place=both"
                        : o.collect ? "pivot" : "all", o.type);
    if (!o.queries) {
        o.queries = o.n > 1 << 16 ? o.n : 1 << 16;
        o.queries = o.queries < 1 << 22 ? o.queries : 1 << 22;
    }
    wrong = bench_all(&o, &specs, wanted, path);
    free(specs.text);
    if (wrong)
        fail("%llu answers were wrong", (unsigned long long)wrong);
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    output out = { .to = stdout, .name = "stdout" };
    int status;

    output_init();
    say_verb("bench");
    status = run(argc, argv);
    output_close(&out);           /* help ends here */
    return status;
}
