/* cmd_build.c - sextant build: from a column of keys to an index file. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "verbs.h"

typedef struct {
    open_options open;
    const char *keys, *rows, *spec, *out;
    int type, row_type, format;
    uint64_t max_bytes;
    word_list notes;
    bool json;
} build_options;

/* The format of a second file: its own name counts first, then --format. */
static file_format rows_format(const build_options *o)
{
    file_format format = format_of_name(o->rows, FORMAT_UNKNOWN);

    return format ? format : format_needed(o->rows, (file_format)o->format);
}

/* Prints why auto chose its spec: the explanation has a line for it. */
static void print_reason(const sx_index *ix)
{
    char *text = explanation(ix, SX_TEXT), *rest = text, *line;

    while ((line = strsep(&rest, "\n")))
        if (!strncmp(line, "why ", 4))
            fprintf(stderr, "auto chose %s: %s\n", describe(ix).spec,
                    line + 4 + strspn(line + 4, " "));
    free(text);
}

/* No other word of a spec contains "pairs". */
static void note_layout(const build_options *o, const sx_index *ix)
{
    sx_index_info info = describe(ix);

    if (strstr(o->spec, "pairs") && info.implicit_rows)
        fprintf(stderr, "layout=pairs became split, %s: no rows are stored, "
                "for each is its key's rank\n", info.spec);
}

/* Takes the notes of the command line into the index. */
static void set_notes(const build_options *o, sx_index *ix)
{
    for (unsigned i = 0; i < o->notes.n; i++) {
        const char *word = o->notes.word[i], *value = strchr(word, '=');
        char *name;

        if (!value)
            fail_usage("--note wants NAME=VALUE, not '%s'", word);
        name = strndup(word, (size_t)(value - word));
        if (!name)
            fail("no memory for a note");
        if (sx_note_of(ix, name))
            fail_usage("--note gives '%s' twice", name);
        expect_ok_usage(sx_note(ix, name, value + 1), NULL);
        free(name);
    }
}

/* Fails before any work is done if notes can't be: an empty index takes them, too. */
static void check_notes(const build_options *o)
{
    sx_column none = { .type = SX_U64 };
    sx_device *cpu;
    sx_index *ix;

    if (o->notes.n == 0)
        return;
    expect_ok(sx_open(&cpu, "cpu"), NULL);
    expect_ok(sx_build(&ix, cpu, "sorted", &none, NULL, NULL), NULL);
    set_notes(o, ix);
    sx_free(ix);
    sx_close(cpu);
}

static void print_summary(const sx_index *ix, double seconds)
{
    sx_index_info info = describe(ix);
    json j = json_line(stdout);

    json_string(&j, "spec", info.spec);
    json_string(&j, "type", sx_type_name(info.key_type));
    json_unsigned(&j, "n", info.n);
    json_unsigned(&j, "bytes", info.bytes);
    json_real(&j, "build_s", seconds);
    json_end_line(&j);
}

static sx_index *build(const build_options *o, const sx_column *keys,
                       const sx_column *rows, double *seconds)
{
    sx_device *device = open_device(&o->open);
    sx_call call = { .size = sizeof call, .max_bytes = o->max_bytes,
                     .tick = progress_tick };
    sx_estimate_ask ask = { .size = sizeof ask, .n = keys->n,
                            .key_type = keys->type,
                            .row_type = rows ? rows->type : 0 };
    sx_estimate_info estimate = { .size = sizeof estimate };
    sx_index *ix;

    /* Asks only whether the spec can be: a wrong word in it is an error of
     * usage, wrong keys are not. */
    expect_ok_usage(sx_estimate(device, o->spec, &ask, &estimate), NULL);
    *seconds = seconds_now();
    progress_start("building", 0);
    expect_ok(sx_build(&ix, device, o->spec, keys, rows, &call), NULL);
    progress_stop();
    *seconds = seconds_now() - *seconds;
    sx_close(device);
    return ix;
}

int cmd_build(int argc, char **argv)
{
    build_options o = { .spec = "auto" };
    const operand operands[] = { { "KEYS", &o.keys }, { 0, 0 } };
    const option options[] = {
        OPTION_TYPE(&o.type, "type of the keys (as an .npy file says)"),
        { "--spec", 0, OPT_WORD, "SPEC", &o.spec,
          "which index, e.g. pivot, guide, 'pgm(eps=16)', 'eytzinger(k=9)' (auto)" },
        { "--rows", 0, OPT_WORD, "FILE", &o.rows,
          "rows of the keys (0, 1, 2, ...)" },
        { "--row-type", 0, OPT_CHOICE, "u32|u64", &o.row_type,
          "type of the rows (as an .npy file says, else u64)" },
        { "--note", 0, OPT_WORDS, "NAME=VALUE", &o.notes,
          "text to keep in the index, e.g. unit=ns; again for more" },
        { "--max-bytes", 0, OPT_COUNT, "N", &o.max_bytes,
          "memory that building may take (no limit)" },
        OPTION_OUTPUT(&o.out, "the index file; replaced when complete"),
        OPTION_FORMAT(&o.format, "format of KEYS (by its name)"),
        OPTION_DEVICE(&o.open.device),
        OPTION_THREADS(&o.open.threads),
        OPTION_JSON(&o.json),
        OPTION_END
    };
    const command_line line = { "Builds an index over the keys of a file and "
                                "saves it.", operands, options };
    sx_call call = { .size = sizeof call, .tick = progress_tick };
    sx_column keys, rows;
    sx_index *ix;
    double seconds;

    parse_arguments(&line, argc, argv);
    require_option(o.out != NULL, "-o");
    if (is_dash(o.out))
        fail_usage("an index is written to a file, not to '-'");
    if (o.row_type && !o.rows)
        fail_usage("--row-type is for --rows, and there is none: rows are "
                   "positions");
    check_notes(&o);
    expect_other_file(o.out, o.keys);
    if (o.rows) {
        expect_one_stdin(o.keys, o.rows);
        expect_other_file(o.out, o.rows);
    }
    if (!whole_can_be(o.out))
        fail("%s: is no ordinary file, and is not replaced", o.out);
    expect_writable(o.out);
    keys = read_column(o.keys,
                       format_needed(o.keys, (file_format)o.format), o.type);
    if (o.rows) {
        rows = read_rows(o.rows, rows_format(&o), o.row_type);
        if (rows.n != keys.n)
            fail("%s has %llu keys, but %s has %llu rows", o.keys,
                 (unsigned long long)keys.n, o.rows,
                 (unsigned long long)rows.n);
    }
    ix = build(&o, &keys, o.rows ? &rows : NULL, &seconds);
    set_notes(&o, ix);
    free(keys.data);
    if (o.rows)
        free(rows.data);
    progress_start("saving", 0);
    expect_ok(sx_save(ix, o.out, &call), NULL);
    progress_stop();
    note_layout(&o, ix);
    if (!strncmp(o.spec, "auto", 4))
        print_reason(ix);
    if (o.json)
        print_summary(ix, seconds);
    sx_free(ix);
    return EXIT_OK;
}
