/* columns.c - a device's memory for the caller: columns, the allocator that a
 * GPU takes its own from, handles for kernels. */
#include "query/index.h"

#include "base/cancel.h"

#include <string.h>

sx_status sx_device_allocator(sx_device *dev, const sx_allocator *given)
{
    SX_UNCANCELLED;
    static const char verb[] = "sx_device_allocator";
    sx_err err;
    sx_allocator own, *allocator = &own;
    sx_status st = sx_need(dev, verb, "the device", &err);

    if (st == SX_OK)
        st = sx_need(given, verb, "the allocator", &err);
    if (st == SX_OK)
        st = SX_TAKE(allocator, given, sx_allocator, SX_ALLOCATOR_SIZE_1, verb, &err);
    if (st == SX_OK && (!allocator->take || !allocator->give))
        st = sx_fail(&err, SX_EINVAL, "%s: %s() is NULL", verb, allocator->take ? "give" : "take");
    if (st == SX_OK && !dev->backend->use_allocator)
        st = sx_fail(&err, SX_ENOSYS, "%s: %s takes memory from the C library only", verb,
                     dev->backend->name);
    if (st == SX_OK && atomic_load(&dev->refs) > 1)
        st = sx_fail(&err, SX_EINVAL, "%s: the device has %u indexes already", verb,
                     atomic_load(&dev->refs) - 1);
    if (st == SX_OK)
        st = dev->backend->use_allocator(dev->self, allocator, &err);
    return sx_report(&err, st);
}

sx_status sx_column_new(sx_column *out, sx_device *dev, int type, uint64_t n)
{
    SX_UNCANCELLED;
    static const char verb[] = "sx_column_new";
    sx_err err;
    sx_column c = {.type = type, .n = n};
    const sx_type_info *info = sx_type_of(type);
    uint64_t bytes = 0;
    sx_status st = sx_need(out, verb, "the output", &err);

    if (st == SX_OK && type == SX_STR)
        st = sx_fail(&err, SX_EINVAL, "%s: the type is str; sx_column_strings() takes their bytes, "
                     "too", verb);
    if (st == SX_OK)
        st = sx_need(dev, verb, "the device", &err);
    if (st == SX_OK && !info)
        st = sx_fail(&err, SX_EINVAL, "%s: the type is %d; allowed: %s", verb, type,
                     sx_type_list());
    if (st == SX_OK && (__builtin_mul_overflow(n, (uint64_t)info->bytes, &bytes) ||
                        bytes > PTRDIFF_MAX))
        st = sx_fail(&err, SX_EINVAL, "%s: a column can't have %llu elements of %u bytes", verb,
                     (unsigned long long)n, info->bytes);
    if (st == SX_OK && n > 0)
        st = dev->backend->alloc(dev->self, &c.data, bytes, "a column", &err);
    if (st == SX_OK) {
        c.place = dev->backend->gpu ? SX_DEVICE : SX_HOST;
        *out = c;
    }
    return sx_report(&err, st);
}

sx_status sx_column_strings(sx_column *out, sx_device *dev, uint64_t n, uint64_t bytes,
                            unsigned offset_bytes)
{
    SX_UNCANCELLED;
    static const char verb[] = "sx_column_strings";
    sx_err err;
    sx_column c = {.type = SX_STR, .n = n, .offset_bytes = offset_bytes, .bytes = bytes};
    uint64_t offsets = 0;
    sx_status st = sx_need(out, verb, "the output", &err);

    if (st == SX_OK)
        st = sx_need(dev, verb, "the device", &err);
    if (st == SX_OK && offset_bytes != 4 && offset_bytes != 8)
        st = sx_fail(&err, SX_EINVAL, "%s: offset_bytes is %u; allowed: 4, 8", verb, offset_bytes);
    if (st == SX_OK && (n == UINT64_MAX ||
                        __builtin_mul_overflow(n + 1, (uint64_t)offset_bytes, &offsets) ||
                        offsets > PTRDIFF_MAX || bytes > PTRDIFF_MAX))
        st = sx_fail(&err, SX_EINVAL, "%s: a column can't have %llu strings of %llu bytes together",
                     verb, (unsigned long long)n, (unsigned long long)bytes);
    if (st == SX_OK)
        st = dev->backend->alloc(dev->self, &c.offsets, offsets, "a column", &err);
    if (st == SX_OK && bytes > 0)
        st = dev->backend->alloc(dev->self, &c.data, bytes, "a column", &err);
    if (st == SX_OK) {
        c.place = dev->backend->gpu ? SX_DEVICE : SX_HOST;
        *out = c;
    } else if (c.offsets) {
        dev->backend->release(dev->self, c.offsets);
    }
    return sx_report(&err, st);
}

void sx_column_free(sx_column *column, sx_device *dev)
{
    SX_UNCANCELLED;
    if (!column || !dev)
        return;
    if (dev->backend->settle)
        dev->backend->settle(dev->self);
    dev->backend->release(dev->self, column->data);
    if (column->type == SX_STR)
        dev->backend->release(dev->self, column->offsets);
    column->data = column->offsets = NULL;
    column->n = column->bytes = 0;
}

static sx_status copy_bytes(const sx_column *to, void *data, const sx_column *from,
                            const void *source, uint64_t bytes, sx_device *dev, sx_err *err)
{
    if (bytes == 0)
        return SX_OK;
    if (to->place != SX_HOST || from->place != SX_HOST)
        return dev->backend->copy(dev->self, data, to->place == SX_DEVICE, source,
                                  from->place == SX_DEVICE, bytes, err);
    memmove(data, source, bytes);
    return SX_OK;
}

/* Offsets as they are, and all bytes of data. */
static sx_status copy_strings(sx_column *to, const sx_column *from, sx_device *dev,
                              const char *verb, sx_err *err)
{
    sx_status st;

    if (to->offset_bytes != from->offset_bytes)
        return sx_fail(err, SX_EINVAL, "%s: offsets of %u bytes, to offsets of %u", verb,
                       from->offset_bytes, to->offset_bytes);
    if (to->bytes < from->bytes)
        return sx_fail(err, SX_ESPACE, "%s: to has room for %llu bytes, but %llu are needed", verb,
                       (unsigned long long)to->bytes, (unsigned long long)from->bytes);
    st = copy_bytes(to, to->offsets, from, from->offsets, (from->n + 1) * from->offset_bytes, dev,
                    err);
    return st == SX_OK ? copy_bytes(to, to->data, from, from->data, from->bytes, dev, err) : st;
}

sx_status sx_column_copy(sx_column *to, const sx_column *from, sx_device *dev)
{
    SX_UNCANCELLED;
    static const char verb[] = "sx_column_copy";
    static const sx_call here = {0};
    sx_err err;
    sx_status st = sx_need(dev, verb, "the device", &err);

    if (st == SX_OK)
        st = sx_check_column(from, dev, &here, verb, "from", &err);
    if (st == SX_OK)
        st = sx_check_column(to, dev, &here, verb, "to", &err);
    if (st == SX_OK && to->type != from->type)
        st = sx_fail(&err, SX_EINVAL, "%s: from %s to %s", verb, sx_type_name(from->type),
                     sx_type_name(to->type));
    if (st == SX_OK)
        st = sx_check_space(to, from->n, verb, "to", &err);
    if (st == SX_OK && from->type == SX_STR)
        st = copy_strings(to, from, dev, verb, &err);
    else if (st == SX_OK)
        st = copy_bytes(to, to->data, from, from->data, from->n * sx_type_bytes(from->type), dev,
                        &err);
    return sx_report(&err, st);
}

sx_status sx_kernel_handle(const sx_index *ix, void *handle, size_t bytes)
{
    static const char verb[] = "sx_kernel_handle";
    const sx_replica *whole;
    sx_hold held;
    sx_err err;
    sx_status st = sx_need(ix, verb, "the index", &err);

    if (st == SX_OK)
        st = sx_need(handle, verb, "the handle", &err);
    if (st == SX_OK && bytes != sizeof(sx_kernel_view))
        st = sx_fail(&err, SX_EINVAL, "%s: the handle has %zu bytes, this library's has %zu: "
                     "sextant_device.cuh is of another version", verb, bytes,
                     sizeof(sx_kernel_view));
    if (st != SX_OK)
        return sx_report(&err, st);
    held = sx_hold_version(ix);
    whole = &sx_one_run(held.now)->replica[0];
    if (!whole->dev->backend->gpu)
        st = sx_fail(&err, SX_ENOSYS, "%s: the index is on %s, not on a GPU", verb,
                     whole->dev->backend->name);
    if (st == SX_OK) {
        /* Nobody says when a handle is given up, so the version stays. */
        atomic_store(&((sx_index_version *)held.now)->stays, 1);
        sx_kernel_view *to = handle;
        *to = (sx_kernel_view){.version = SX_KERNEL_VIEW_VERSION, .key_type = held.now->key_type};
        memcpy(to->view, &whole->view, sizeof to->view);
    }
    sx_let_go(ix, &held);
    return sx_report(&err, st);
}
