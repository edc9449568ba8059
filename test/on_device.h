/* on_device.h - what tests of devices share. */
#ifndef ON_DEVICE_H
#define ON_DEVICE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"

/* The call fails with this status, and its sentence has the word. */
#define REFUSED(call, status, word) do { \
        sx_status got_ = (call); \
        if (got_ != (status) || !strstr(sx_detail(), word)) \
            fail_msg("%s: status %d, not %d; '%s' in: %s", #call, (int)got_, \
                     (int)(status), word, got_ ? sx_detail() : "none"); \
    } while (0)

#define OK(call) do { \
        sx_status got_ = (call); \
        if (got_ != SX_OK) \
            fail_msg("%s: status %d: %s", #call, (int)got_, sx_detail()); \
    } while (0)

/* Elements of a column as a column. */
static inline sx_column slice(const sx_column *c, uint64_t first, uint64_t n)
{
    sx_column s = *c;
    s.data = (char *)c->data + first * sx_type_bytes(c->type);
    s.n = n;
    return s;
}

/* A crash prints this. */
static char step_now[400];

static inline void begin_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void begin_step(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(step_now, sizeof step_now, format, args);
    va_end(args);
    say_on_crash(step_now);
}

/* An index of the data, or a failed test. */
static inline sx_index *index_of(sx_device *dev, const dataset *d, const char *spec)
{
    sx_index *ix = NULL;
    sx_status status = data_build(d, dev, spec, NULL, &ix);
    if (status != SX_OK)
        fail_msg("%s: status %d: %s", spec, (int)status, sx_detail());
    return ix;
}

/* Every question in every way (dev NULL: with host columns only), or a failed
 * test. */
static inline void ask_all(asker *a, sx_device *dev, const sx_index *ix, const dataset *d,
                           const char *what)
{
    begin_step("%s", what);
    asker_use(a, dev);
    const char *wrong = ask(a, ix, d, SX_U64, NULL);
    asker_use(a, NULL);
    if (wrong)
        fail_msg("%s: %s", what, wrong);
}

/* An index of the data, in a place ("": the usual one), which has answered everything, with
 * columns of the device too (kernels), or a failed test. */
static inline sx_index *asked_index(asker *a, sx_device *dev, bool kernels, const dataset *d,
                                    const char *spec, const char *place)
{
    char whole[2 * SX_SPEC_MAX];
    const char *wrong;
    snprintf(whole, sizeof whole, "%s%s%s", spec, *place ? " place=" : "", place);
    asker_use(a, kernels ? dev : NULL);
    a->no_streams = strcmp(place, "hybrid") == 0;
    sx_index *ix = index_of(dev, d, whole);
    wrong = ask_description(a, ix, d);
    if (!wrong)
        wrong = ask(a, ix, d, SX_U64, NULL);
    asker_use(a, NULL);
    if (wrong)
        fail_msg("%s, %llu keys of %s, rows %d: %s", whole, (unsigned long long)d->n,
                 sx_type_name(d->type), (int)d->row_kind, wrong);
    return ix;
}

#define DEVICE_SPECS 8
static const char *const device_specs[DEVICE_SPECS] = {
    "sorted", "eytzinger(k=9)", "eytzinger(k=4,layout=pairs)", "pivot", "pivot(k=5,layout=pairs)",
    "pgm(eps=2,eps2=1,cuts=5)", "btree", "btree(k=3,layout=split)",
};
static const int device_widths[3] = { SX_U32, SX_F64, SX_B16 };

#endif
