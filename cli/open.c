#include "open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "progress.h"
#include "say.h"

#define THREADS_MAX 256           /* of a device */

/* A word that is no device's name is an error of usage. sx_possible() knows the
 * names of devices that this machine has not. */
sx_device *open_named(const char *name)
{
    sx_device *device;
    sx_status status = sx_open(&device, name);

    if (status == SX_ENODEV && name &&
        sx_possible("sorted", SX_U64, "build", "host", name) == SX_ENODEV)
        status = SX_EINVAL;
    expect_ok_usage(status, NULL);
    return device;
}

/* "cpu:avx2" and 2 threads make "cpu:avx2,threads=2". A GPU's name has no
 * threads=: an environment variable tells the CPU beside it. */
sx_device *open_device(const open_options *options)
{
    const char *name = options->device;
    char composed[256];

    if (options->threads) {
        if (!name)
            name = "cpu";
        if (strstr(name, "threads="))
            fail_usage("--threads %llu and --device %s both say how many "
                       "threads", (unsigned long long)options->threads, name);
        if (options->threads > THREADS_MAX)
            fail_usage("--threads wants at most %d, not '%llu'", THREADS_MAX,
                       (unsigned long long)options->threads);
        if (strncmp(name, "cpu", 3)) {
            snprintf(composed, sizeof composed, "%llu",
                     (unsigned long long)options->threads);
            setenv("SEXTANT_THREADS", composed, 1);
        } else if ((size_t)snprintf(composed, sizeof composed, "%s%sthreads=%llu",
                             name, strpbrk(name, ":,") ? "," : ":",
                             (unsigned long long)options->threads) >=
            sizeof composed)
            fail_usage("--device %s is too long a name", name);
        else
            name = composed;
    }
    return open_named(name);
}

sx_index *open_index(const open_options *options, const char *path,
                     unsigned flags)
{
    static const unsigned places[] = {         /* as --place has */
        0, SX_LOAD_HOST, SX_LOAD_DEVICE, SX_LOAD_HYBRID, SX_LOAD_BOTH
    };
    sx_call call = { .size = sizeof call, .tick = progress_tick };
    sx_device *device;
    sx_index *index;

    if (is_dash(path))
        fail_usage("an index is read from a file, not from '-'");
    device = open_device(options);
    if (options->copy)
        flags |= SX_LOAD_COPY;
    flags |= places[options->place];
    /* --place may be one that the device or the index can't have. */
    expect_ok_usage(sx_load(&index, device, path, flags, &call), NULL);
    sx_close(device);             /* the index keeps it open */
    return index;
}

sx_index_info describe(const sx_index *ix)
{
    sx_index_info info = { .size = sizeof info };

    expect_ok(sx_describe(ix, &info), NULL);
    return info;
}

char *explanation(const sx_index *ix, sx_format format)
{
    size_t bytes = 0;
    sx_status status = sx_explain(ix, format, NULL, &bytes);
    char *text;

    if (status != SX_ESPACE)
        expect_ok(status, NULL);
    text = must_alloc(bytes, 1);
    expect_ok(sx_explain(ix, format, text, &bytes), NULL);
    return text;
}
