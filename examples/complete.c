/* complete.c - words that begin with what was typed.
 *
 *     cc complete.c $(pkg-config --cflags --libs sextant) -o complete
 *     ./complete /usr/share/dict/words hel wor
 *     ./complete /usr/share/dict/words            asks about each line of stdin
 *
 * The list has a word a line, in any order. sx_prefix() finds the first K words that begin with
 * each prefix, in the order of their bytes, all prefixes in one call. Words are results of unknown
 * size, so a call with too little space says how much is needed, and is made again. */
#include <sextant.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 5, PREFIX_MOST = 256 };

static void must(int fine, const char *why)
{
    if (!fine) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static void *space(void *old, size_t bytes)
{
    void *p = realloc(old, bytes + 1);

    must(p != NULL, "there is no memory");
    return p;
}

/* A column of strings that grows: n + 1 offsets, and the bytes between them. */
static void append(sx_column *c, const char *text, size_t length)
{
    uint64_t *at = space(c->offsets, (c->n + 2) * sizeof *at);

    c->data = space(c->data, c->bytes + length);
    memcpy((char *)c->data + c->bytes, text, length);
    at[0] = 0;
    at[++c->n] = c->bytes += length;
    c->offsets = at;
}

/* The words of a file: its bytes are the column's, without the line ends. */
static sx_column read_words(const char *path)
{
    sx_column words = { .type = SX_STR, .offset_bytes = 8 };
    FILE *file = fopen(path, "rb");
    uint64_t *at = space(NULL, sizeof *at), room = 1;
    char *bytes = NULL;
    size_t size = 0, got;

    must(file != NULL, "the list of words can't be read");
    do {
        bytes = space(bytes, size + (1 << 20));
        got = fread(bytes + size, 1, 1 << 20, file);
        size += got;
    } while (got > 0);
    fclose(file);

    at[0] = 0;
    for (size_t from = 0; from < size;) {
        const char *end = memchr(bytes + from, '\n', size - from);
        size_t length = end ? (size_t)(end - bytes) - from : size - from;

        memmove(bytes + words.bytes, bytes + from, length);
        if (words.n + 1 == room)
            at = space(at, (room *= 2) * sizeof *at);
        at[++words.n] = words.bytes += length;
        from += length + 1;
    }
    words.data = bytes;
    words.offsets = at;
    return words;
}

static void complete(const sx_index *index, const sx_column *typed)
{
    sx_prefixes ask = { .size = sizeof ask, .of = typed, .limit = K };
    uint64_t n = typed->n, most = n * K, *at = typed->offsets;
    uint64_t *first = space(NULL, (n + 1) * sizeof *first), *offset = space(NULL, (most + 1) * 8);
    sx_column starts = { .type = SX_U64, .n = n + 1, .data = first };
    sx_column found = { .type = SX_STR, .n = most, .offsets = offset, .offset_bytes = 8 };
    sx_status status = sx_prefix(index, &ask, &starts, NULL, &found, NULL);

    if (status == SX_ESPACE) {    /* all offsets are there, and the last one is the size */
        found.bytes = offset[first[n]];
        found.data = space(NULL, found.bytes);
        status = sx_prefix(index, &ask, &starts, NULL, &found, NULL);
    }
    must(status == SX_OK, sx_detail());
    for (uint64_t i = 0; i < n; i++) {
        printf("%.*s:", (int)(at[i + 1] - at[i]), (const char *)typed->data + at[i]);
        for (uint64_t w = first[i]; w < first[i + 1]; w++)
            printf(" %.*s", (int)(offset[w + 1] - offset[w]), (const char *)found.data + offset[w]);
        printf("\n");
    }
    free(found.data);
    free(offset);
    free(first);
}

int main(int argc, char **argv)
{
    sx_column typed = { .type = SX_STR, .offset_bytes = 8 }, words;
    char line[PREFIX_MOST];
    sx_device *device;
    sx_index *index;

    must(argc > 1, "usage: complete WORDS [PREFIX ...]");
    words = read_words(argv[1]);
    must(sx_open(&device, "cpu") == SX_OK &&
         sx_build(&index, device, "auto", &words, NULL, NULL) == SX_OK, sx_detail());
    for (int i = 2; i < argc; i++)
        append(&typed, argv[i], strlen(argv[i]));
    if (typed.n > 0)
        complete(index, &typed);
    while (argc == 2 && fgets(line, sizeof line, stdin)) {
        typed.n = typed.bytes = 0;
        append(&typed, line, strcspn(line, "\n"));
        complete(index, &typed);
    }
    free(typed.data);
    free(typed.offsets);
    free(words.data);
    free(words.offsets);
    sx_free(index);
    sx_close(device);
    return 0;
}
