/* replay.c - feeds files, and all files in directories, to a fuzz target:
 * the corpus as an ordinary test, without a fuzzing engine. */
#define _GNU_SOURCE               /* nftw() */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay(const char *path, const struct stat *st, int kind,
                  struct FTW *ftw)
{
    (void)ftw;
    if (kind != FTW_F)
        return kind == FTW_D ? 0 : 1;
    FILE *f = fopen(path, "rb");
    size_t bytes = (size_t)st->st_size;
    uint8_t *data = malloc(bytes + !bytes);       /* exact: overreads show */
    if (!f || !data || fread(data, 1, bytes, f) != bytes) {
        fprintf(stderr, "can't read %s\n", path);
        return 1;
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    replayed++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], replay, 8, FTW_PHYS) != 0) {
            fprintf(stderr, "replaying %s failed\n", argv[i]);
            return 1;
        }
    printf("%u inputs replayed\n", replayed);
    return replayed == 0;
}
