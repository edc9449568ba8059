#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef SX_ZLIB                    /* the Makefile sets it where zlib is */
#include <zlib.h>
#endif

#include "io.h"
#include "say.h"

enum { READ_MOST = 1 << 30 };     /* bytes of one call: zlib counts in an int */

/* ---- unpacking ------------------------------------------------------------------ */

#ifdef SX_ZLIB
enum { UNPACK_BYTES = 1 << 17 };  /* zlib's buffer */

static bool can_unpack(bool text, const char *path)
{
    return text || ends_with(path, ".gz");
}

static void unpack_open(input *in)
{
    in->unpack = gzdopen(in->fd, "rb");
    if (!in->unpack || gzbuffer(in->unpack, UNPACK_BYTES))
        fail("%s: no memory to read it", in->name);
}

_Noreturn static void fail_to_unpack(const input *in)
{
    int code, reason = errno;
    const char *what = gzerror(in->unpack, &code);

    if (code == Z_ERRNO)
        fail("%s: %s", in->name, strerror(reason));
    if (code == Z_BUF_ERROR)
        fail("%s: cut short: the compressed file ends in the middle, after %llu bytes "
             "of its contents", in->name, (unsigned long long)in->offset);
    fail("%s: damaged behind %llu bytes of its contents: %s", in->name,
         (unsigned long long)in->offset, what);
}

static size_t unpack_part(input *in, char *bytes, size_t count)
{
    int got, code;

    errno = 0;
    got = gzread(in->unpack, bytes, (unsigned)count);
    gzerror(in->unpack, &code);
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR))
        fail_to_unpack(in);
    return (size_t)got;
}

static int64_t unpack_offset(const input *in)
{
    return gzoffset(in->unpack);
}

static void unpack_close(input *in)
{
    gzclose_r(in->unpack);        /* closes fd, too */
}
#else
/* Text that is compressed is found out when it is read (csv.c). */
static bool can_unpack(bool text, const char *path)
{
    if (!text && ends_with(path, ".gz"))
        fail("%s: is compressed, and this tool was built without zlib", path);
    return false;
}

static void unpack_open(input *in) { (void)in; }
static size_t unpack_part(input *in, char *bytes, size_t count)
{
    (void)in, (void)bytes, (void)count;
    return 0;
}
static int64_t unpack_offset(const input *in) { (void)in; return -1; }
static void unpack_close(input *in) { (void)in; }
#endif

/* ---- files ------------------------------------------------------------------------ */

bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a >= b && !strcmp(text + a - b, end);
}

input input_open(const char *path, bool text)
{
    input in = { .name = is_dash(path) ? "stdin" : path };
    struct stat st;

    in.fd = is_dash(path) ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (in.fd < 0 || fstat(in.fd, &st))
        fail("%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        fail("%s: is a directory", path);
    if (can_unpack(text, path))
        unpack_open(&in);
    /* Where stdin stands in a file is not known, so it is read to its end. */
    if (S_ISREG(st.st_mode) && !is_dash(path)) {
        in.packed = (uint64_t)st.st_size;
        in.sized = !in.unpack;
        in.size = in.packed;
    }
    return in;
}

/* A part of what is wanted; 0 at the end. */
static size_t read_part(input *in, char *bytes, size_t count)
{
    ssize_t got;

    count = count < READ_MOST ? count : READ_MOST;
    if (in->unpack)
        return unpack_part(in, bytes, count);
    do {
        got = read(in->fd, bytes, count);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        fail("%s: %s", in->name, strerror(errno));
    return (size_t)got;
}

size_t input_some(input *in, void *bytes, size_t count)
{
    size_t have = 0;

    while (have < count) {
        size_t got = read_part(in, (char *)bytes + have, count - have);

        if (got == 0)
            break;
        have += got;
        in->offset += got;
    }
    return have;
}

void input_exactly(input *in, void *bytes, size_t count, const char *what)
{
    if (input_some(in, bytes, count) < count)
        fail("%s: the %s is cut short: the file ends at byte %llu",
             in->name, what, (unsigned long long)in->offset);
}

uint64_t input_progress(const input *in)
{
    int64_t at = in->unpack ? unpack_offset(in) : -1;

    return at < 0 ? in->offset : (uint64_t)at;
}

void input_close(input *in)
{
    if (in->unpack)
        unpack_close(in);
    else
        close(in->fd);
}
