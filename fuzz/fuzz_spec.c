/* fuzz_spec.c - any bytes as a spec string: estimate and build.
 *
 * The input is the spec; its sum decides type, number of keys and rows. Build and
 * estimate must refuse alike, with a detail and SX_EINVAL, or SX_ENOSYS for a place
 * that a CPU has not. Only what keys alone can tell may differ: equal keys that are
 * to be unique, and segments that take more than their budget. An index that is
 * built must be sound, as small as estimated, and its resolved spec must build the
 * same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sextant.h"

#define KEYS_MAX 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int right, const char *what, const char *spec)
{
    if (right)
        return;
    fprintf(stderr, "%s; spec: %s; detail: %s\n", what, spec, sx_detail());
    abort();
}

static void build(sx_device *dev, const char *spec, const sx_column *keys,
                  const sx_column *rows, uint64_t limit)
{
    sx_index *ix = NULL, *again = NULL;
    sx_index_info info = { .size = sizeof info }, info2 = info;
    sx_status s = sx_build(&ix, dev, spec, keys, rows, NULL);
    if (s == SX_EINVAL && strstr(spec, "unique"))
        return;                   /* equal keys */
    if (s == SX_ENOMEM && strstr(spec, "budget") && strstr(sx_detail(), "more than budget="))
        return;                   /* too many segments, whatever eps is */
    must(s == SX_OK, "estimated, but not built", spec);
    must(sx_check(ix, NULL) == SX_OK, "check", spec);
    must(sx_describe(ix, &info) == SX_OK, "describe", spec);
    must(info.bytes <= limit, "larger than estimated", spec);
    must(sx_build(&again, dev, info.spec, keys, rows, NULL) == SX_OK,
         "the resolved spec does not build", info.spec);
    must(sx_describe(again, &info2) == SX_OK, "describe", info.spec);
    must(memcmp(&info, &info2, sizeof info) == 0,
         "the resolved spec builds something else", info.spec);
    sx_free(ix);
    sx_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sx_device *dev;
    if (!dev && sx_open(&dev, "cpu:threads=1") != SX_OK)
        abort();
    char *spec = malloc(size + 1);
    if (!spec)
        abort();
    memcpy(spec, data, size);
    spec[size] = '\0';

    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    static const int row_types[] = { 0, SX_U32, SX_U64 };
    int type = SX_U32 + (int)(sum % 7), row_type = row_types[sum / 7 % 3];
    unsigned char bytes[KEYS_MAX * 16];
    uint64_t rows[KEYS_MAX];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((sum >> i % 24) * (i / 5));
    for (unsigned i = 0; i < KEYS_MAX; i++)
        rows[i] = (uint64_t)i << (sum & 32);
    sx_column keys = { .type = type, .n = sum / 64 % (KEYS_MAX + 1),
                       .data = bytes };
    sx_column row_column = { .type = row_type, .n = keys.n, .data = rows };

    sx_estimate_info estimate = { .size = sizeof estimate };
    sx_estimate_ask ask = { .size = sizeof ask, .n = keys.n, .key_type = type,
                            .row_type = row_type };
    sx_status s = sx_estimate(dev, spec, &ask, &estimate);
    if (s == SX_OK) {
        build(dev, spec, &keys, row_type ? &row_column : NULL,
              estimate.host_resident);
    } else {
        sx_index *ix = NULL;
        must((s == SX_EINVAL || (s == SX_ENOSYS && strstr(spec, "place="))) &&
                 strlen(sx_detail()) > 10, "estimate", spec);
        must(sx_build(&ix, dev, spec, &keys, NULL, NULL) == s && !ix,
             "refused by estimate, but not by build", spec);
    }
    free(spec);
    return 0;
}
