#include "ranks.h"

#include <stdlib.h>

#include "key_column.h"
#include "say.h"

sx_column ranks_from(uint64_t from, uint64_t n)
{
    uint64_t *ranks = must_alloc(n, 8);

    for (uint64_t i = 0; i < n; i++)
        ranks[i] = from + i;
    return column_over(SX_U64, n, ranks);
}

static void print_answers(FILE *to, const show *s, const sx_column *ranks,
                          const sx_column *rows, const sx_column *keys, uint64_t in_all)
{
    for (uint64_t i = 0; i < ranks->n; i++) {
        uint64_t row = ((const uint64_t *)rows->data)[i];
        uint64_t rank = ((const uint64_t *)ranks->data)[i];
        const sx_column *there = rank < in_all ? keys : NULL;

        if (s->json) {
            json j = json_line(to);

            json_unsigned(&j, "rank", rank);
            show_json(s, &j, row, there, i);
            json_end_line(&j);
        } else {
            show_print(s, to, row, there, i);
            fputc('\n', to);
        }
    }
}

int print_ranks(const rank_options *o, rank_chooser choose, const void *context)
{
    bool both = !o->rows && !o->keys;
    file_format format = o->json ? FORMAT_TEXT
                         : format_of_output(o->out, (file_format)o->out_format);
    sx_column ranks, rows, keys;
    sx_index *ix;
    output out;
    sx_status status;
    uint64_t n;
    show s;

    if (format != FORMAT_TEXT && !o->shown.values.n && o->rows == o->keys)
        fail_usage("a file of numbers holds one column: give --rows or --keys");
    expect_other_file(o->out, o->index);
    show_expect_other_files(&o->shown, o->out);
    show_expect_one_stdin(&o->shown, NULL);
    out = output_open(o->out);
    ix = open_index(&o->open, o->index, 0);
    s = show_open(&o->shown, ix, format, o->keys || (both && format == FORMAT_TEXT),
                  o->rows || (both && !o->shown.lines.n && !o->shown.values.n), o->json);
    s.csv = !o->json && output_is_csv(o->out, (file_format)o->out_format);
    if (o->keys && !o->rows)
        s.rows = false;
    n = describe(ix).n;
    ranks = choose(context, n);
    rows = column_over(SX_U64, ranks.n, must_alloc(ranks.n, 8));
    keys = key_space(s.key_type, ranks.n);
    do {
        status = sx_key_at(ix, &ranks, &keys, &rows, NULL);
    } while (key_again(status, &keys, ranks.n));
    expect_ok(status, NULL);
    if (format == FORMAT_TEXT) {
        show_settle(&s, rows.data, rows.n);
        print_answers(out.to, &s, &ranks, &rows, &keys, n);
        output_close(&out);
    } else {
        column_writer w = writer_start(out, format, show_type(&s), show_unit(&s),
                                       ranks.n);

        show_settle(&s, rows.data, s.keys ? 0 : rows.n);
        show_put(&s, &w, rows.data, keys.data, ranks.n, 0);
        writer_close(&w);
    }
    free(ranks.data);
    free(rows.data);
    key_free(&keys);
    show_close(&s);
    sx_free(ix);
    return EXIT_OK;
}
