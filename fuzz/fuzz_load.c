/* fuzz_load.c - any bytes as a file: load, ask everything, check.
 *
 * The first byte of the input chooses:
 *   bits 0-1   flags of sx_load()
 *   bit  2     make the header's hash right, or few inputs get past it
 *   bit  3     make the sections' hashes right
 * The rest is the file. Loading may fail with SX_ECORRUPT and no other status. An
 * index that loads must answer every question inside its bounds. */
#define _GNU_SOURCE               /* memfd_create() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../test/exercise.h"
#include "../test/sxfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s; detail: %s\n", what, sx_detail());
    abort();
}

/* Whatever the file says, the index can be explained. */
static void explain(const sx_index *ix)
{
    for (int format = SX_TEXT; format <= SX_JSON; format++) {
        size_t bytes = 0;
        must(sx_explain(ix, (sx_format)format, NULL, &bytes) == SX_ESPACE,
             "explain without room");
        char *text = malloc(bytes);
        must(text != NULL, "no memory");
        must(sx_explain(ix, (sx_format)format, text, &bytes) == SX_OK,
             "explain");
        must(strlen(text) + 1 == bytes, "explain's length");
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sx_device *dev;
    static int fd = -1;
    static char path[64];
    if (!dev) {
        must(sx_open(&dev, "cpu:threads=1") == SX_OK, "open");
        fd = memfd_create("fuzz_load", 0);
        must(fd >= 0, "a file in memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (size < 1 || size > 1 << 20)
        return 0;

    unsigned how = data[0];
    size_t bytes = size - 1;
    unsigned char *file = malloc(bytes + 1);
    must(file != NULL, "no memory");
    memcpy(file, data + 1, bytes);
    if (how & 8 && bytes >= F_HEADER)
        seal_sections(file, bytes);
    if (how & 4)
        seal_header(file, bytes);
    must(ftruncate(fd, 0) == 0 && pwrite(fd, file, bytes, 0) ==
         (ssize_t)bytes, "writing the file");
    free(file);

    sx_index *ix = NULL;
    sx_status status = sx_load(&ix, dev, path, how & 3, NULL);
    if (status != SX_OK) {
        must(status == SX_ECORRUPT && ix == NULL, "a refusal");
        return 0;
    }
    const char *wrong = exercise(ix, size);
    must(wrong == NULL, wrong);
    explain(ix);
    sx_free(ix);
    return 0;
}
