#include "place/registry.h"

#include "base/alloc.h"
#include "place/backend_load.h"

#include <stdio.h>
#include <string.h>

/* The devices that sx_device_at() lists: backends, and ways to open them. */
static const char *const known[] = {"cpu", "cpu:scalar", "cpu:avx2", "cpu:avx512", "cuda:0",
                                    "simt"};
#define KNOWN (sizeof known / sizeof known[0])

/* ---- backends ------------------------------------------------------------ */

enum { KIND_CPU, KIND_CUDA };
static const sx_backend_kind kinds[] = {{"cpu", 0}, {"cuda", 1}, {"simt", 1}};

sx_status sx_backend_of(const char *name, const sx_backend_kind **out, const char **args,
                        sx_err *err)
{
    size_t n = strcspn(name, ":,");

    *args = name[n] ? name + n + 1 : "";
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *kind = kinds[i].name;
        if (strlen(kind) != n || memcmp(name, kind, n) != 0 || (name[n] && !name[n + 1]))
            continue;
        *out = &kinds[i];
        return SX_OK;
    }
    return sx_fail(err, SX_ENODEV, "no device '%.60s'; known: cpu, cpu:scalar, cpu:avx2, "
                   "cpu:avx512 (with threads=N, search=HOW behind a comma or colon), cuda:N, simt", name);
}

static sx_status find_backend(const char *name, const sx_backend **out, const char **args,
                              sx_err *err)
{
    const sx_backend_kind *kind;
    sx_status st = sx_backend_of(name, &kind, args, err);

    if (st != SX_OK)
        return st;
    if (kind == &kinds[KIND_CUDA])
        return sx_load_cuda(out, name, err);
    *out = kind == &kinds[KIND_CPU] ? &sx_backend_cpu : &sx_backend_simt;
    return SX_OK;
}

/* Locks may be held by a thread that the child does not have. */
static void in_child(void *object)
{
    sx_device *dev = object;

    pthread_mutex_init(&dev->link_lock, NULL);
    sx_workers_in_child(&dev->workers);
}

sx_status sx_device_open(sx_device **out, const char *name, sx_err *err)
{
    const sx_backend *backend = NULL;
    const char *args;
    sx_device *dev;
    sx_status st = find_backend(name ? name : "cpu", &backend, &args, err);

    if (st == SX_OK)
        st = sx_alloc((void **)&dev, sizeof *dev, "a device", err);
    if (st != SX_OK)
        return st;
    dev->backend = backend;
    atomic_init(&dev->refs, 1);
    atomic_init(&dev->host, NULL);
    atomic_init(&dev->entries, NULL);
    atomic_init(&dev->spare, NULL);
    atomic_init(&dev->link_known, 0);
    st = backend->open(&dev->self, args, err);
    if (st != SX_OK) {
        sx_release(dev);
        return st;
    }
    pthread_mutex_init(&dev->link_lock, NULL);
    sx_workers_begin(&dev->workers);
    sx_fork_join(&dev->forked, in_child, dev);
    *out = dev;
    return SX_OK;
}

void sx_device_hold(sx_device *dev)
{
    atomic_fetch_add(&dev->refs, 1);
}

void sx_device_drop(sx_device *dev)
{
    if (atomic_fetch_sub(&dev->refs, 1) != 1)
        return;
    if (atomic_load(&dev->host))
        sx_device_drop(atomic_load(&dev->host));
    sx_fork_leave(&dev->forked);
    sx_workers_end(&dev->workers);
    if (atomic_load(&dev->entries))
        dev->backend->unpin(dev->self, atomic_load(&dev->entries));
    sx_device_rest(dev);
    dev->backend->close(dev->self);
    pthread_mutex_destroy(&dev->link_lock);
    sx_release(dev);
}

sx_status sx_device_host(sx_device *dev, sx_device **out, sx_err *err)
{
    sx_device *host = atomic_load(&dev->host), *first = NULL;
    sx_status st;

    if (!dev->backend->gpu)
        host = dev;
    if (!host) {
        st = sx_device_open(&host, "cpu", err);
        if (st != SX_OK)
            return st;
        if (!atomic_compare_exchange_strong(&dev->host, &first, host)) {
            sx_device_drop(host);         /* another thread was faster */
            host = first;
        }
    }
    *out = host;
    return SX_OK;
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

/* ---- memory for calls ------------------------------------------------------------------- */

sx_status sx_device_spare(sx_device *dev, void **out, uint64_t bytes, const char *what, sx_err *err)
{
    void *block = bytes >= SX_SPARE_LEAST ? atomic_exchange(&dev->spare, NULL) : NULL;

    if (block && sx_alloc_most_of(block) >= bytes) {
        *out = block;
        return SX_OK;
    }
    sx_release(block);
    return sx_alloc(out, bytes, what, err);
}

void sx_device_keep(sx_device *dev, void *block)
{
    uint64_t bytes = block ? sx_alloc_most_of(block) : 0;
    void *none = NULL;

    if (bytes < SX_SPARE_LEAST || bytes > SX_SPARE_MOST ||
        !atomic_compare_exchange_strong(&dev->spare, &none, block))
        sx_release(block);
}

void sx_device_rest(sx_device *dev)
{
    sx_release(atomic_exchange(&dev->spare, NULL));
}
