#include "opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "io.h"
#include "say.h"

/* ---- values ------------------------------------------------------------ */

bool parse_size(const char *text, uint64_t *out)
{
    return sx_size_parse(text, strlen(text), out) == SX_SIZE_OK;
}

/* The place of a word in "a|b|c", from 1 on; 0: it is not there. */
static int choice_of(const char *choices, const char *word)
{
    size_t length = strlen(word);
    int place = 1;

    for (const char *c = choices; ; place++) {
        size_t here = strcspn(c, "|");

        if (here == length && !memcmp(c, word, length))
            return place;
        if (!c[here])
            return 0;
        c += here + 1;
    }
}

static void set_option(const option *o, const char *text)
{
    char *end;

    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)o->to = true;
        return;
    case OPT_WORD:
        if (!*text)
            fail_usage("%s needs a value that is not empty", o->name);
        *(const char **)o->to = text;
        return;
    case OPT_WORDS: {
        word_list *list = o->to;

        if (list->n == WORDS_MOST)
            fail_usage("%s is given more than %u times", o->name, WORDS_MOST);
        list->word[list->n++] = text;
        return;
    }
    case OPT_SIZE:
    case OPT_COUNT:
        if (!parse_size(text, o->to))
            fail_usage("%s wants a number below 2^64 such as 1000, 2^24, "
                       "16M, 4GiB or 1e6, not '%s'", o->name, text);
        if (o->kind == OPT_COUNT && *(uint64_t *)o->to == 0)
            fail_usage("%s wants at least 1, not '%s'", o->name, text);
        return;
    case OPT_FRACTION:
        *(double *)o->to = strtod(text, &end);
        if (!*text || *end || !(*(double *)o->to >= 0 &&
                                *(double *)o->to <= 1))
            fail_usage("%s wants a number from 0 to 1, not '%s'", o->name,
                       text);
        return;
    case OPT_CHOICE:
    case OPT_TYPE:
        *(int *)o->to = choice_of(o->value, text);
        if (*(int *)o->to && o->kind == OPT_TYPE)
            *(int *)o->to = sx_type_named(text);
        if (*(int *)o->to == 0)
            fail_usage("%s wants one of %s, not '%s'", o->name, o->value,
                       text);
        return;
    }
}

/* ---- help -------------------------------------------------------------- */

/* Long lists of words continue on the next line, behind a '|'. */
static void print_left(const char *left)
{
    while (strlen(left) > 90) {
        size_t end = 90;

        while (end > 1 && left[end - 1] != '|')
            end--;
        printf("  %.*s\n      ", (int)end, left);
        left += end;
    }
    printf("  %s\n", left);
}

static void print_help(const command_line *line)
{
    printf("usage: sextant %s", said_verb());
    for (const operand *p = line->operands; p->name; p++)
        printf(p->optional ? " [%s]" : p->all ? " %s..." : " %s", p->name);
    printf(" [OPTION]...\n%s\n\n", line->summary);
    for (const option *o = line->options; o->name; o++) {
        const char *value = o->value ? o->value : "";
        /* Choices may be many: no size would be enough for all. "-l, " and the
         * space before the value are five more. */
        size_t size = strlen(o->name) + strlen(value) + 5 + 1;
        char *left = must_alloc(size, 1);

        snprintf(left, size, "%s%.1s%s%s%s%s", o->letter ? "-" : "",
                 o->letter ? &o->letter : "", o->letter ? ", " : "", o->name,
                 o->value ? " " : "", value);
        if (strlen(left) > 24) {
            print_left(left);
            printf("  %24s  %s\n", "", o->help);
        } else {
            printf("  %-24s  %s\n", left, o->help);
        }
        free(left);
    }
    printf("  %-24s  %s\n", "-h, --help", "this text");
}

static void print_completion(const command_line *line)
{
    for (const option *o = line->options; o->name; o++)
        printf("%s\t%s\t%.*s\n", o->name, o->value ? o->value : "",
               (int)strcspn(o->help, "\n"), o->help);
    printf("--help\t\tthis text\n");
}

/* ---- words ------------------------------------------------------------- */

/* The option of that name, or the only one whose name begins so. */
static const option *find_long(const option *options, const char *word,
                               size_t length)
{
    const option *found = NULL;

    for (const option *o = options; o->name; o++)
        if (strlen(o->name) == length && !memcmp(o->name, word, length))
            return o;
    for (const option *o = options; o->name && length > 2; o++) {
        if (strncmp(o->name, word, length))
            continue;
        if (found)
            fail_usage("'%.*s' may be %s or %s", (int)length, word, found->name, o->name);
        found = o;
    }
    return found;
}

static const option *find_letter(const option *options, char letter)
{
    for (const option *o = options; o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

/* Handles argv[i], an option; returns the index of its last word. */
static int take_option(const command_line *line, int argc, char **argv,
                       int i)
{
    const char *word = argv[i];
    bool is_long = word[1] == '-';
    size_t length = is_long ? strcspn(word, "=") : 2;
    const char *attached = NULL;
    const option *o;

    if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
        !strcmp(word, "--complete")) {
        output out = { .to = stdout, .name = "stdout" };

        (word[2] == 'c' ? print_completion : print_help)(line);
        output_close(&out);
        exit(EXIT_OK);
    }
    o = is_long ? find_long(line->options, word, length)
                : find_letter(line->options, word[1]);
    if (!o)
        fail_usage("unknown option '%s'", word);
    if (word[length])
        attached = word + length + (is_long ? 1 : 0);
    if (o->kind == OPT_FLAG) {
        if (attached)
            fail_usage("%s takes no value: '%s'", o->name, word);
        set_option(o, NULL);
        return i;
    }
    if (!attached) {
        if (i + 1 >= argc)
            fail_usage("%s needs a value, %s", o->name, o->value);
        attached = argv[++i];
    }
    set_option(o, attached);
    return i;
}

void parse_arguments(const command_line *line, int argc, char **argv)
{
    const operand *next = line->operands;
    bool options_over = false;

    for (const operand *p = next; p->name; p++)
        if (p->all)               /* to the end of the process, as argv is */
            p->all->word = must_alloc((uint64_t)argc, sizeof *p->all->word);
    for (int i = 1; i < argc; i++) {
        if (!options_over && !strcmp(argv[i], "--")) {
            options_over = true;
        } else if (!options_over && argv[i][0] == '-' && argv[i][1]) {
            i = take_option(line, argc, argv, i);
        } else if (next->all) {
            next->all->word[next->all->n++] = argv[i];
        } else if (next->name) {
            *next++->to = argv[i];
        } else {
            fail_usage("stray argument '%s'", argv[i]);
        }
    }
    if (next->name && !next->optional && !(next->all && next->all->n))
        fail_usage("%s is missing", next->name);
}

void require_option(bool given, const char *name)
{
    if (!given)
        fail_usage("%s is missing", name);
}
