#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"
#include "table.h"

typedef struct {
    const char *name;
    char *text;
    uint64_t length;
    bool mapped;
    dialect how;
    bool header;
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

/* ---- how files are written ------------------------------------------------------ */

static const char *format_word(file_format format)
{
    return format == FORMAT_CSV ? "csv" : format == FORMAT_TSV ? "tsv" : "text";
}

void lines_note(sx_index *ix, file_format format, const text_options *options,
                const text_facts *facts)
{
    dialect how = dialect_of(format, options);
    char value[128];

    snprintf(value, sizeof value, "%s header=%s delimiter=%02x comment=%02x quotes=%d "
             "ragged=%d", format_word(format), facts->header == 1 ? "yes" : "no",
             (unsigned char)how.delimiter, (unsigned char)how.comment, how.quotes,
             how.ragged);
    expect_ok(sx_note(ix, NOTE_LINES, value), NULL);
}

/* As the note says, if there is one for this format. */
static void understand(line_file *f, file_format format, const sx_index *ix, bool named)
{
    const char *note = sx_note_of(ix, NOTE_LINES);
    unsigned delimiter, comment;
    char word[8], header[8];
    int quotes, ragged;

    f->how = dialect_of(format, &(text_options){ 0 });
    f->header = named && format != FORMAT_TEXT;
    if (!note || sscanf(note, "%7s header=%7s delimiter=%x comment=%x quotes=%d ragged=%d",
                        word, header, &delimiter, &comment, &quotes, &ragged) != 6 ||
        strcmp(word, format_word(format)))
        return;
    f->how.delimiter = (char)delimiter;
    f->how.comment = (char)comment;
    f->how.quotes = quotes;
    f->how.ragged = ragged;
    f->header = !strcmp(header, "yes");
}

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
    csv c = csv_of_memory(file->text, file->length, file->name, file->how);
    uint64_t space = n + f + file->length / 64 + 16;

    l->begin = must_grow(l->begin, space, sizeof *l->begin);
    if (file->header && csv_next(&c))
        choose_columns(l, columns, &c);
    else if (!file->header)
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

lines *lines_open(const word_list *paths, const word_list *columns, const sx_index *ix)
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
        file_format format = format_of_name(paths->word[f], FORMAT_UNKNOWN);

        if (format != FORMAT_UNKNOWN && !format_is_text(format))
            fail_usage("--lines wants text, csv or tsv files, not %s", paths->word[f]);
        l->file[f] = (line_file){ 0 };
        open_file(&l->file[f], paths->word[f]);
        understand(&l->file[f], format ? format : FORMAT_TEXT, ix, named);
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
                      l->file[f].name, l->file[f].how);
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

void lines_print(const lines *l, FILE *to, uint64_t row)
{
    csv c;

    if (row == SX_MISS) {
        for (unsigned i = 0; i < (l->columns ? l->columns : 1); i++) {
            if (i)
                fputc(l->file[0].how.delimiter, to);
            fputc('-', to);
        }
        return;
    }
    c = record_of(l, row);
    if (!l->columns)
        fwrite(c.begin, 1, (size_t)(c.stop - c.begin), to);
    for (unsigned i = 0; i < l->columns; i++) {
        csv_field f = field_of(&c, l->column[i], row);

        if (i)
            fputc(c.how.delimiter, to);
        if (f.text)               /* with its quotes: what comes out is as what went in */
            fwrite(f.text - f.quoted, 1, f.length + 2u * f.quoted, to);
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
