/* io_write.c - columns and lines to files. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "progress.h"
#include "say.h"
#include "value.h"

enum { BUFFER_BYTES = 1 << 18 };

/* A closed pipe sets a flag, because stdio may have forgotten EPIPE by the
 * time it is asked. */
static volatile sig_atomic_t reader_gone;

static void note_reader_gone(int signal_number)
{
    (void)signal_number;
    reader_gone = 1;
}

void output_init(void)
{
    struct sigaction action = { .sa_handler = note_reader_gone,
                                .sa_flags = SA_RESTART };

    sigaction(SIGPIPE, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);     /* past a limit of file size, write() fails */
    whole_init();
}

_Noreturn static void fail_to_open(const char *path)
{
    fail("%s: %s", path, strerror(errno));
}

output output_open(const char *path)
{
    output out = { .to = stdout, .name = "stdout" };
    int fd;

    if (!is_dash(path)) {
        out.name = path;
        if (whole_can_be(path)) {
            out.file = whole_begin(path, &fd);
            out.to = out.file ? fdopen(fd, "wb") : NULL;
        } else {
            out.to = fopen(path, "wb");
        }
        if (!out.to)
            fail_to_open(path);
    }
    setvbuf(out.to, NULL, _IOFBF, BUFFER_BYTES);
    errno = 0;                    /* see output_check() */
    return out;
}

void expect_writable(const char *path)
{
    whole_file *file;
    int fd;

    if (is_dash(path))
        return;
    if (!whole_can_be(path)) {
        struct stat there;

        if (!stat(path, &there) && S_ISDIR(there.st_mode)) {
            errno = EISDIR;
            fail_to_open(path);
        }
        return;                   /* a reader of a pipe would notice */
    }
    file = whole_begin(path, &fd);
    if (!file)
        fail_to_open(path);
    close(fd);
    whole_drop(file);
}

_Noreturn static void fail_to_write(const output *out)
{
    int reason = errno ? errno : EIO;

    /* The reader had enough, as head(1) does: that is no failure. */
    if (reader_gone) {
        progress_stop();
        exit(EXIT_FAILED);
    }
    fail("%s: writing failed: %s", out->name, strerror(reason));
}

/* Any write since the last check may have failed, so errno is kept at 0
 * between checks: the reason can be found there. */
void output_check(output *out)
{
    if (fflush(out->to) || ferror(out->to))
        fail_to_write(out);
    errno = 0;
}

/* The file is synced before it takes the name, or a crash of the machine could
 * leave an empty file of that name. Some file systems can't sync. */
void output_close(output *out)
{
    output_check(out);
    if (out->file && fsync(fileno(out->to)) && errno != EINVAL)
        fail_to_write(out);
    if (out->to != stdout && fclose(out->to))
        fail_to_write(out);
    if (out->file && !whole_end(out->file))
        fail_to_write(out);
}

column_writer writer_start(output out, file_format format, int type, time_unit unit,
                           uint64_t n)
{
    column_writer w = { .out = out, .format = format, .type = type };
    uint64_t count = n;

    if (format == FORMAT_SOSD) {
        swap_if_big_endian(SX_U64, &count, 1);
        fwrite(&count, sizeof count, 1, w.out.to);
    } else if (format == FORMAT_NPY) {
        npy_write_header(w.out.to, type, unit, n);
    }
    return w;
}

static void put_text(column_writer *w, const unsigned char *values,
                     uint64_t n, size_t size)
{
    char text[VALUE_TEXT_MAX];

    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *value = values + i * size;
        size_t length;

        if (w->dash_for_miss && *(const uint64_t *)(const void *)value ==
                                    SX_MISS)
            length = (size_t)sprintf(text, "-");
        else
            length = value_print(w->type, value, text);
        text[length++] = '\n';
        fwrite(text, 1, length, w->out.to);
    }
}

void writer_put(column_writer *w, const void *values, uint64_t n)
{
    size_t size = sx_type_bytes(w->type);

    if (w->format == FORMAT_TEXT) {
        put_text(w, values, n, size);
    } else {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        for (uint64_t i = 0; i < n; i++) {
            unsigned char value[16];

            memcpy(value, (const char *)values + i * size, size);
            swap_if_big_endian(w->type, value, 1);
            fwrite(value, size, 1, w->out.to);
        }
#else
        fwrite(values, size, (size_t)n, w->out.to);
#endif
    }
    output_check(&w->out);
}

void writer_close(column_writer *w)
{
    output_close(&w->out);
}

void expect_other_file(const char *out, const char *in)
{
    struct stat a, b;

    if (!is_dash(out) && !stat(out, &a) && S_ISREG(a.st_mode) &&
        !(is_dash(in) ? fstat(STDIN_FILENO, &b) : stat(in, &b)) &&
        a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        fail_usage("%s is read here, and would be overwritten: it can't be "
                   "the output, too", out);
}
