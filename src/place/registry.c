#include "place/registry.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* What sx_device_at() lists: the backends, and how each can be opened. */
static const char *const known[] = {"cpu", "cpu:scalar", "cpu:avx2", "cpu:avx512"};
#define KNOWN (sizeof known / sizeof known[0])

static const sx_backend *const backends[] = {&sx_backend_cpu};
#define BACKENDS (sizeof backends / sizeof backends[0])

sx_status sx_device_open(sx_device **out, const char *name, sx_err *err)
{
    sx_device *dev;
    sx_status st;

    if (!name)
        name = "cpu";
    for (unsigned i = 0; i < BACKENDS; i++) {
        size_t n = strlen(backends[i]->name);
        if (strncmp(name, backends[i]->name, n) != 0 ||
            (name[n] != '\0' && (name[n] != ':' || name[n + 1] == '\0')))
            continue;
        st = sx_alloc((void **)&dev, sizeof *dev, "a device", err);
        if (st != SX_OK)
            return st;
        dev->backend = backends[i];
        atomic_init(&dev->refs, 1);
        st = dev->backend->open(&dev->self, name[n] ? name + n + 1 : "", err);
        if (st != SX_OK) {
            sx_release(dev);
            return st;
        }
        *out = dev;
        return SX_OK;
    }
    return sx_fail(err, SX_ENODEV, "no device '%.60s'; known: cpu, cpu:scalar, cpu:avx2, "
                   "cpu:avx512, each with threads=N behind a comma or colon", name);
}

void sx_device_hold(sx_device *dev)
{
    atomic_fetch_add(&dev->refs, 1);
}

void sx_device_drop(sx_device *dev)
{
    if (atomic_fetch_sub(&dev->refs, 1) != 1)
        return;
    dev->backend->close(dev->self);
    sx_release(dev);
}

int sx_device_known(unsigned i, sx_device_info *info)
{
    sx_device *dev;
    sx_err err;

    if (i >= KNOWN)
        return 0;
    if (sx_device_open(&dev, known[i], &err) == SX_OK) {
        dev->backend->describe(dev->self, info);
        sx_device_drop(dev);
    } else {
        snprintf(info->detail, sizeof info->detail, "%.255s", err.text);
        info->usable = 0;
        info->threads = 0;
        info->memory = 0;
    }
    snprintf(info->name, sizeof info->name, "%s", known[i]);
    return 1;
}
