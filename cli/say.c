#include "say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "utf8.h"

static const char *verb_now;

void say_verb(const char *verb)
{
    verb_now = verb;
}

const char *said_verb(void)
{
    return verb_now;
}

static bool colourful(FILE *stream)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return !(no && *no) && !(term && !strcmp(term, "dumb")) &&
           isatty(fileno(stream));
}

const char *bold(FILE *stream)
{
    return colourful(stream) ? "\033[1m" : "";
}

const char *red(FILE *stream)
{
    return colourful(stream) ? "\033[1;31m" : "";
}

const char *plain(FILE *stream)
{
    return colourful(stream) ? "\033[0m" : "";
}

/* Words from the command line or from a file may hold anything. A control
 * character would break the promise of one line, so it becomes '?', and so does what
 * is no UTF-8. */
static void print_one_line(const char *format, va_list args)
{
    char line[1024];
    size_t n = 0, length;

    vsnprintf(line, sizeof line, format, args);
    length = strlen(line);
    for (size_t i = 0; i < length; i += n ? n : 1) {
        n = utf8_character((unsigned char *)line + i, length - i);
        if (n == 0 || (unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    }
    fputs(line, stderr);
}

static void complain(const char *format, va_list args)
{
    progress_stop();
    fflush(stdout);               /* answers so far come first */
    fprintf(stderr, "%ssextant:%s ", red(stderr), plain(stderr));
    if (verb_now)
        fprintf(stderr, "%s: ", verb_now);
    print_one_line(format, args);
}

void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILED);
}

void fail_usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    fprintf(stderr, " (see sextant %s%s--help)\n", verb_now ? verb_now : "",
            verb_now ? " " : "");
    exit(EXIT_USAGE);
}

/* The library's detail says what happened; if it has none, the status must
 * do. The detail begins with a function of the library, "sx_build: ", which is
 * of no use to people who type commands. */
static const char *sentence_of(sx_status status)
{
    const char *detail = sx_detail();
    size_t name;

    if (!detail || !*detail)
        return sx_strerror(status);
    name = strspn(detail, "abcdefghijklmnopqrstuvwxyz_");
    if (!strncmp(detail, "sx_", 3) && !strncmp(detail + name, ": ", 2))
        detail += name + 2;
    return detail;
}

void expect_ok(sx_status status, const char *what)
{
    if (status != SX_OK)
        fail("%s%s%s", what ? what : "", what ? ": " : "",
             sentence_of(status));
}

void expect_ok_usage(sx_status status, const char *what)
{
    if (status == SX_EINVAL || status == SX_ENOSYS)
        fail_usage("%s%s%s", what ? what : "", what ? ": " : "",
                   sentence_of(status));
    expect_ok(status, what);
}

void *must_alloc(uint64_t count, size_t bytes_each)
{
    return must_grow(NULL, count, bytes_each);
}

void *must_grow(void *old, uint64_t count, size_t bytes_each)
{
    void *p;

    if (count > (SIZE_MAX - 1) / bytes_each)
        fail("%llu elements of %zu bytes are more than memory can address",
             (unsigned long long)count, bytes_each);
    p = realloc(old, count ? (size_t)count * bytes_each : 1);
    if (!p)
        fail("no memory for %llu elements of %zu bytes",
             (unsigned long long)count, bytes_each);
    return p;
}

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
