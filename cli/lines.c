#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lines_as.h"
#include "say.h"
#include "table.h"

typedef struct {
    const char *name;
    char *text;
    uint64_t length;
    bool mapped;
    lines_as as;
} line_file;

struct lines {
    line_file *file;
    unsigned files;
    const char **begin;           /* of each record; behind the last one of a file is
                                     the end of the file */
    uint64_t *first;              /* of file f: records [first[f], first[f+1]), which
                                     are begin[first[f] + f] and so on */
    unsigned *column;             /* that are printed */
    unsigned columns;             /* 0: whole lines */
};

/* ---- opening -------------------------------------------------------------------- */

/* Compressed files and pipes are read into memory, others are mapped. */
static void read_whole(line_file *f, const char *path)
{
    input in = input_open(path, true);
    uint64_t space = 0;
    size_t got;

    f->text = NULL;
    do {
        space += space / 2 + (1 << 20);
        f->text = must_grow(f->text, space, 1);
        got = input_some(&in, f->text + f->length, space - f->length);
        f->length += got;
    } while (f->length == space);
    input_close(&in);
}

static void open_file(line_file *f, const char *path)
{
    unsigned char magic[2] = { 0 };
    int fd = is_dash(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    f->name = is_dash(path) ? "stdin" : path;
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
        pread(fd, magic, 2, 0) >= 0 && !(magic[0] == 0x1f && magic[1] == 0x8b)) {
        f->text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        f->mapped = f->text != MAP_FAILED;
        f->length = (uint64_t)st.st_size;
    }
    if (fd >= 0)
        close(fd);
    if (!f->mapped) {
        f->length = 0;
        read_whole(f, path);
    }
}

static void choose_columns(lines *l, const word_list *columns, csv *header)
{
    unsigned n = 0;               /* columns so far */

    for (unsigned i = 0; i < columns->n; i++) {
        char *list = strdup(columns->word[i]), *rest = list, *word;

        if (!list)
            fail("no memory for columns");
        while ((word = strsep(&rest, ","))) {
            unsigned c;

            if (!*word)
                fail_usage("--columns wants names or numbers with commas between, not '%s'",
                           columns->word[i]);
            if (column_is_named(word) && !header)
                fail("--columns %s: the lines have no header, only numbers", word);
            c = column_is_named(word) ? column_named(header, word)
                                      : column_numbered("--columns", word);
            if (n < l->columns && l->column[n] != c)
                fail("%s: column %s is in another place than in %s", header->name, word,
                     l->file[0].name);
            if (n == l->columns) {
                l->column = must_grow(l->column, n + 1, sizeof *l->column);
                l->column[l->columns++] = c;
            }
            n++;
        }
        free(list);
    }
}

/* Notes where the records of file f begin; n are known before. */
static uint64_t find_records(lines *l, unsigned f, uint64_t n, const word_list *columns)
{
    line_file *file = &l->file[f];
    csv c = csv_of_memory(file->text, file->length, file->name, file->as.how);
    uint64_t space = n + f + file->length / 64 + 16;

    l->begin = must_grow(l->begin, space, sizeof *l->begin);
    if (file->as.header && csv_next(&c))
        choose_columns(l, columns, &c);
    else if (!file->as.header)
        choose_columns(l, columns, NULL);
    while (csv_next(&c)) {
        if (n + f + 1 >= space) {
            space += space / 2;
            l->begin = must_grow(l->begin, space, sizeof *l->begin);
        }
        l->begin[n++ + f] = c.begin;
    }
    l->begin[n + f] = file->text + file->length;
    csv_free(&c);
    return n;
}

/* --lines-as: the first for the first file and so on, the last for all behind it. */
static lines_as as_asked(const sx_index *ix, unsigned f, const char *path,
                         const word_list *ways, bool named)
{
    lines_as as = lines_as_of(ix, f, path, named);

    if (ways->n)
        lines_as_change(&as, ways->word[f < ways->n ? f : ways->n - 1], named);
    return as;
}

lines *lines_open(const word_list *paths, const word_list *ways, const word_list *columns,
                  const sx_index *ix)
{
    lines *l = must_alloc(1, sizeof *l);
    bool named = false;

    for (unsigned i = 0; i < columns->n; i++)
        named |= column_is_named(columns->word[i]) &&
                 strspn(columns->word[i], "0123456789,") < strlen(columns->word[i]);
    *l = (lines){ .files = paths->n };
    l->file = must_alloc(paths->n, sizeof *l->file);
    l->first = must_alloc(paths->n + 1, sizeof *l->first);
    l->first[0] = 0;
    for (unsigned f = 0; f < paths->n; f++) {
        l->file[f] = (line_file){ .as = as_asked(ix, f, paths->word[f], ways, named) };
        open_file(&l->file[f], paths->word[f]);
        l->first[f + 1] = find_records(l, f, l->first[f], columns);
    }
    return l;
}

void lines_free(lines *l)
{
    for (unsigned f = 0; f < l->files; f++)
        if (l->file[f].mapped)
            munmap(l->file[f].text, (size_t)l->file[f].length);
        else
            free(l->file[f].text);
    free(l->file);
    free(l->first);
    free(l->begin);
    free(l->column);
    free(l);
}

/* ---- a record --------------------------------------------------------------------- */

static csv record_of(const lines *l, uint64_t row)
{
    unsigned f = 0;
    csv c;

    if (row >= l->first[l->files])
        fail("row %llu has no line: %s%s %s %llu", (unsigned long long)row,
             l->file[0].name, l->files > 1 ? " and those behind it" : "",
             l->files > 1 ? "have" : "has", (unsigned long long)l->first[l->files]);
    while (row >= l->first[f + 1])
        f++;
    row += f;
    c = csv_of_memory(l->begin[row], (uint64_t)(l->begin[row + 1] - l->begin[row]),
                      l->file[f].name, l->file[f].as.how);
    csv_next(&c);
    return c;
}

/* A ragged file may have no such field in this line: it has no text then. */
static csv_field field_of(csv *c, unsigned i, uint64_t row)
{
    csv_field field = csv_get(c, i);

    if (!field.text && !c->how.ragged)
        fail("%s: the line of row %llu has no column %u", c->name,
             (unsigned long long)row, i + 1);
    return field;
}

/* A field, or a line, of a text that is written like this. */
static void print_field(FILE *to, const dialect *how, const csv_field *f, bool as_csv)
{
    char *scratch = NULL;
    size_t length;
    const char *text;

    if (!as_csv || (how->quotes && how->delimiter == ',')) {
        /* with its quotes: what comes out is as what went in */
        fwrite(f->text - f->quoted, 1, f->length + 2u * f->quoted, to);
        return;
    }
    text = csv_meant(f, &scratch, &length);
    csv_print(to, text, length);
    free(scratch);
}

void lines_print(const lines *l, FILE *to, uint64_t row, bool as_csv)
{
    csv c;

    if (row == SX_MISS) {
        for (unsigned i = 0; i < (l->columns ? l->columns : 1); i++) {
            if (i)
                fputc(as_csv ? ',' : l->file[0].as.how.delimiter, to);
            fputc('-', to);
        }
        return;
    }
    c = record_of(l, row);
    if (!l->columns)
        print_field(to, &c.how, &(csv_field){ .text = c.begin,
                                              .length = (size_t)(c.stop - c.begin) }, as_csv);
    for (unsigned i = 0; i < l->columns; i++) {
        csv_field f = field_of(&c, l->column[i], row);

        if (i)
            fputc(as_csv ? ',' : c.how.delimiter, to);
        if (f.text)
            print_field(to, &c.how, &f, as_csv);
    }
    csv_free(&c);
}

void lines_json(const lines *l, json *j, uint64_t row)
{
    const char *name = l->columns ? "fields" : "line";
    char *scratch = NULL;
    csv c;

    if (row == SX_MISS) {
        json_null(j, name);
        return;
    }
    c = record_of(l, row);
    if (!l->columns) {
        json_bytes(j, name, c.begin, (size_t)(c.stop - c.begin));
    } else {
        json_begin_array(j, name);
        for (unsigned i = 0; i < l->columns; i++) {
            csv_field f = field_of(&c, l->column[i], row);
            size_t length = 0;
            const char *text = f.text ? csv_meant(&f, &scratch, &length) : NULL;

            if (text)
                json_bytes(j, NULL, text, length);
            else
                json_null(j, NULL);
        }
        json_end_array(j);
    }
    free(scratch);
    csv_free(&c);
}
