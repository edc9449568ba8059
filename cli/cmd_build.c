/* cmd_build.c - sextant build: from a column of keys to an index file. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "key_column.h"
#include "lines_as.h"
#include "networks.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "verbs.h"

typedef struct {
    open_options open;
    operand_list keys;
    const char *rows, *spec, *out;
    int type, row_type, format, keys_as;
    text_options text;
    uint64_t max_bytes;
    word_list notes;
    bool json;
} build_options;

/* What there is to index, and what was found out about it while it was read. */
typedef struct {
    sx_column keys, rows;
    bool has_rows;
    uint64_t none;                /* of networks */
    reading how;
    text_facts facts;
} material;

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
    const char *const own[] = { NOTE_KEYS_AS, NOTE_LINES, NOTE_NONE,
                                notation_at(o->keys_as)->unit ? NOTE_UNIT : NOTE_NONE };

    for (unsigned i = 0; i < o->notes.n; i++) {
        const char *word = o->notes.word[i], *value = strchr(word, '=');
        char *name;

        if (!value)
            fail_usage("--note wants NAME=VALUE, not '%s'", word);
        name = strndup(word, (size_t)(value - word));
        if (!name)
            fail("no memory for a note");
        for (unsigned n = 0; n < sizeof own / sizeof *own; n++)
            if (!strcmp(name, own[n]))
                fail_usage("--note %s: the tool sets this note itself", name);
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

/* Times tell their unit, which --note must not deny. */
static void check_unit_note(const build_options *o, time_unit unit)
{
    char name[TIME_UNIT_MAX];

    unit_name(unit, name);
    for (unsigned i = 0; i < o->notes.n && unit.kind; i++)
        if (!strncmp(o->notes.word[i], NOTE_UNIT "=", sizeof NOTE_UNIT))
            fail_usage("--note " NOTE_UNIT ": the tool sets this note itself, for the keys are "
                       "%s", name);
}

/* Notes of how the keys are written, unless that is as usual. */
static void note_notation(const build_options *o, const material *m, sx_index *ix)
{
    const notation *as = notation_at(o->keys_as);
    char unit[TIME_UNIT_MAX];

    if (*as->name)
        expect_ok(sx_note(ix, NOTE_KEYS_AS, as->name), NULL);
    unit_name(m->facts.unit, unit);
    if (as->unit || m->facts.unit.kind)
        expect_ok(sx_note(ix, NOTE_UNIT, as->unit ? as->unit : unit), NULL);
    if (as->networks) {
        char none[VALUE_TEXT_MAX];

        value_print(SX_U64, &m->none, none);
        expect_ok(sx_note(ix, NOTE_NONE, none), NULL);
    }
    lines_note(ix, o->keys.word, o->keys.n, &m->how, &m->facts);
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
                            .row_type = rows ? rows->type : 0,
                            .bytes = keys->bytes };
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

/* Reads keys, or networks, and rows. */
static material read_material(const build_options *o)
{
    const notation *as = notation_at(o->keys_as);
    reading how = { .format = (file_format)o->format, .as = as, .text = o->text,
                    .type = as->networks ? o->type : notation_type(as, o->type) };
    const char *const *paths = o->keys.word;
    material m = { .has_rows = o->rows || as->networks, .how = how };
    sx_column rows;

    if (as->networks)
        notation_type(as, o->type);
    if (as->unit && how.type == SX_T64)
        how.unit = (time_unit){ 'M', "ns", 1 };
    if (o->rows)
        rows = read_rows(o->rows, rows_format(o), o->row_type);
    if (as->networks) {
        pieces p = read_networks(paths, o->keys.n, &how, o->rows ? &rows : NULL,
                                 &m.facts);

        m.keys = p.keys;
        m.rows = p.rows;
        m.none = p.none;
        if (o->rows)
            free(rows.data);
        return m;
    }
    m.keys = read_keys(paths, o->keys.n, &how, &m.facts);
    check_unit_note(o, m.facts.unit);
    if (*as->name)                /* an .npy file may have told another type */
        notation_type(as, m.keys.type);
    if (!o->rows)
        return m;
    m.rows = rows;
    if (rows.n != m.keys.n)
        fail("%s%s %llu keys, but %s has %llu rows", paths[0],
             o->keys.n > 1 ? " and those behind it have" : " has",
             (unsigned long long)m.keys.n, o->rows, (unsigned long long)rows.n);
    return m;
}

/* Fails where files can't be what the options say, before any work is done. */
static void check_files(const build_options *o)
{
    unsigned dashes = o->rows && is_dash(o->rows);

    for (unsigned i = 0; i < o->keys.n; i++) {
        expect_other_file(o->out, o->keys.word[i]);
        format_needed(o->keys.word[i], (file_format)o->format);
        dashes += is_dash(o->keys.word[i]);
    }
    if (dashes > 1)
        fail_usage("only one file can be '-', for stdin is read once");
    if (o->rows)
        expect_other_file(o->out, o->rows);
    if (!whole_can_be(o->out))
        fail("%s: is no ordinary file, and is not replaced", o->out);
    expect_writable(o->out);
}

int cmd_build(int argc, char **argv)
{
    build_options o = { .spec = "auto" };
    const operand operands[] = { OPERANDS("KEYS", &o.keys), OPERAND_END };
    const option options[] = {
        { "--type", 0, OPT_TYPE, KEY_TYPE_CHOICES, &o.type,
          "type of the keys (as an .npy file or --keys-as says)" },
        { "--keys-as", 0, OPT_CHOICE, NOTATION_CHOICES, &o.keys_as,
          "how keys are written, and printed later (as the type is)" },
        OPTIONS_TEXT(&o.text, "keys"),
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
        OPTION_IN_FORMAT(&o.format, "format of KEYS (by their names)"),
        OPTION_DEVICE(&o.open.device),
        OPTION_THREADS(&o.open.threads),
        OPTION_JSON(&o.json),
        OPTION_END
    };
    const command_line line = { "Builds an index over the keys of files and "
                                "saves it.", operands, options };
    sx_call call = { .size = sizeof call, .tick = progress_tick };
    material m;
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
    check_files(&o);
    m = read_material(&o);
    ix = build(&o, &m.keys, m.has_rows ? &m.rows : NULL, &seconds);
    set_notes(&o, ix);
    note_notation(&o, &m, ix);
    free(o.keys.word);
    key_free(&m.keys);
    if (m.has_rows)
        free(m.rows.data);
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
