#include "lines_as.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "table.h"

enum {
    WAYS_MOST = 7,                /* formats that names tell, and none: no more differ */
    DIGITS_MOST = 64              /* --lines can be given so often */
};

static const struct { const char *word; file_format format; } words_of[] = {
    { "text", FORMAT_TEXT }, { "csv", FORMAT_CSV },   { "tsv", FORMAT_TSV },
    { "sosd", FORMAT_SOSD }, { "raw", FORMAT_RAW },   { "npy", FORMAT_NPY },
};

enum { WORDS = sizeof words_of / sizeof *words_of };

static const char *word_of(file_format format)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (words_of[i].format == format)
            return words_of[i].word;
    return "";
}

static file_format format_of_word(const char *word, size_t length)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (strlen(words_of[i].word) == length && !memcmp(words_of[i].word, word, length))
            return words_of[i].format;
    return FORMAT_UNKNOWN;
}

/* stdin has no name. */
static file_format named_format(const char *path)
{
    return is_dash(path) ? FORMAT_UNKNOWN : format_of_name(path, FORMAT_UNKNOWN);
}

static lines_as usual(file_format format, bool header)
{
    return (lines_as){ .format = format, .how = dialect_of(format, &(text_options){ 0 }),
                       .header = header && format != FORMAT_TEXT };
}

/* ---- the note ------------------------------------------------------------------- */

/* What the note says of a file. */
static void describe_file(const char *path, const reading *read, const text_facts *facts,
                          char out[128])
{
    file_format named = named_format(path), format = format_of_name(path, read->format);
    dialect how;

    if (!format_is_text(format)) {
        snprintf(out, 128, "none");
        return;
    }
    how = dialect_of(format, &read->text);
    snprintf(out, 128, "%s header=%s delimiter=%02x comment=%02x quotes=%d ragged=%d%s%s",
             word_of(format), facts->header == 1 ? "yes" : "no",
             (unsigned char)how.delimiter, (unsigned char)how.comment, how.quotes, how.ragged,
             named && named != format ? " named=" : "",
             named && named != format ? word_of(named) : "");
}

void lines_note(sx_index *ix, const char *const *paths, unsigned n, const reading *read,
                const text_facts *facts)
{
    static const char plain[] = "text header=no delimiter=00 comment=00 quotes=0 ragged=0";
    char way[WAYS_MOST][128], digits[DIGITS_MOST + 1], value[WAYS_MOST * 130 + 80];
    unsigned ways = 0, last = 0;
    bool needed = false;
    size_t used = 0;

    for (unsigned f = 0; f < n; f++) {
        char this[128];
        unsigned w = 0;

        describe_file(paths[f], read, facts, this);
        while (w < ways && strcmp(way[w], this))
            w++;
        if (w == ways) {
            strcpy(way[ways++], this);
            needed |= strcmp(this, "none") && strcmp(this, plain);
        }
        if (f < DIGITS_MOST)
            digits[f] = (char)('0' + w);
    }
    n = n < DIGITS_MOST ? n : DIGITS_MOST;
    for (unsigned f = 1; f < n; f++)
        last = digits[f] != digits[f - 1] ? f : last;
    digits[last + 1] = 0;
    for (unsigned w = 0; w < ways; w++)
        used += (size_t)snprintf(value + used, sizeof value - used, "%s%s", w ? "; " : "",
                                 way[w]);
    if (ways > 1)
        snprintf(value + used, sizeof value - used, "; files=%s", digits);
    if (needed)
        expect_ok(sx_note(ix, NOTE_LINES, value), NULL);
}

/* The words about file f in the note; NULL: there are none. */
static const char *note_about(const sx_index *ix, unsigned f)
{
    const char *note = sx_note_of(ix, NOTE_LINES), *digits;
    unsigned way = 0;

    if (!note)
        return NULL;
    digits = strstr(note, "; files=");
    if (digits) {
        size_t n;

        digits += 8;
        n = strspn(digits, "0123456789");
        way = n ? (unsigned)(digits[f < n ? f : n - 1] - '0') : 0;
    }
    for (; way && note; way--) {
        note = strstr(note, "; ");
        note = note ? note + 2 : NULL;
    }
    return note;
}

/* Reads these words: false if they are not about lines, or not understood. */
static bool understand(const char *words, lines_as *as, file_format *named)
{
    unsigned delimiter, comment;
    char word[8], header[8], name[8] = "";
    int quotes, ragged;

    if (!words || sscanf(words, "%7s header=%7s delimiter=%x comment=%x quotes=%d ragged=%d "
                         "named=%7[a-z]", word, header, &delimiter, &comment, &quotes,
                         &ragged, name) < 6)
        return false;
    as->format = format_of_word(word, strlen(word));
    if (!format_is_text(as->format))
        return false;
    as->how = dialect_of(as->format, &(text_options){ 0 });
    as->how.delimiter = (char)delimiter;
    as->how.comment = (char)comment;
    as->how.quotes = quotes;
    as->how.ragged = ragged;
    as->header = !strcmp(header, "yes");
    *named = *name ? format_of_word(name, strlen(name)) : as->format;
    return true;
}

lines_as lines_as_of(const sx_index *ix, unsigned f, const char *path, bool header)
{
    file_format format = named_format(path), named;
    lines_as as;

    if (understand(note_about(ix, f), &as, &named) &&
        (!format || format == named || format == as.format))
        return as;
    if (format && !format_is_text(format))
        fail_usage("--lines wants text, csv or tsv files, not %s", path);
    return usual(format ? format : FORMAT_TEXT, header);
}

/* ---- words of the command line ---------------------------------------------------- */

_Noreturn static void fail_word(const char *words, const char *at)
{
    fail_usage("--lines-as wants text, csv or tsv first, then header=, quotes=, ragged= with yes "
               "or no, delimiter= and comment= with a character, not '%.*s' in '%s'",
               (int)strcspn(at, ","), at, words);
}

static bool starts(const char **at, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*at, word, length))
        return false;
    *at += length;
    return true;
}

/* One character, which may be a comma, or a tab by its names. */
static char character(const char **at, const char *words, const char *from)
{
    if (starts(at, "tab") || starts(at, "\\t"))
        return '\t';
    if (!**at || strchr("\"\r\n", **at))
        fail_word(words, from);
    return *(*at)++;
}

void lines_as_change(lines_as *as, const char *words, bool header)
{
    static const char *const flags[] = { "header=", "quotes=", "ragged=" };
    const char *at = words;

    for (;;) {
        const char *from = at;
        size_t length = strcspn(at, ",");
        file_format format = format_of_word(at, length);

        if (format_is_text(format) && at == words) {
            if (format != as->format)
                *as = usual(format, header);
            at += length;
        } else if (starts(&at, "delimiter=")) {
            as->how.delimiter = character(&at, words, from);
        } else if (starts(&at, "comment=")) {
            as->how.comment = starts(&at, "none") ? 0 : character(&at, words, from);
        } else {
            bool *const to[] = { &as->header, &as->how.quotes, &as->how.ragged };
            unsigned i = 0;

            while (i < 3 && !starts(&at, flags[i]))
                i++;
            if (i == 3)
                fail_word(words, from);
            *to[i] = starts(&at, "yes");
            if (!*to[i] && !starts(&at, "no"))
                fail_word(words, from);
        }
        if (!*at)
            break;
        if (*at++ != ',')
            fail_word(words, from);
    }
    if (as->format == FORMAT_TEXT && (as->how.delimiter || as->how.quotes))
        fail_usage("--lines-as %s: lines of text have no fields, and no delimiter= or quotes=",
                   words);
    if (as->how.comment && as->how.comment == as->how.delimiter)
        fail_usage("--lines-as %s: comments and delimiters are the same, '%c'", words,
                   as->how.comment);
}
