/* input.h - a file that is read from its beginning to its end, once.
 *
 * Text may be compressed by gzip, whatever its name is: no text begins with the
 * bytes 1f 8b. Of other files only the ending .gz says so, for numbers may begin
 * with any bytes. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzFile_s;

typedef struct {
    int fd;
    struct gzFile_s *unpack;      /* zlib's; NULL: the bytes are as they are */
    const char *name;             /* for errors */
    bool sized;                   /* a regular file that is not compressed: */
    uint64_t size;                /* its bytes */
    uint64_t packed;              /* bytes of a regular file, compressed or not */
    uint64_t offset;              /* bytes read so far, for errors */
} input;

/* Opens the file, or stdin for "-". text: it may be compressed in any case. */
input input_open(const char *path, bool text);

/* Reads that many bytes, fewer only at the end of the file. */
size_t input_some(input *in, void *bytes, size_t count);

/* Fills bytes, or fails and says that the `what` is cut short. */
void input_exactly(input *in, void *bytes, size_t count, const char *what);

/* How much of in->packed has been read: for a bar. */
uint64_t input_progress(const input *in);

void input_close(input *in);

bool ends_with(const char *text, const char *end);

#endif
