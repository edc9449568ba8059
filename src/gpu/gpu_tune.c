#include "gpu/gpu_tune.h"

#include "base/size.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    const char *words[5];         /* in the order of their numbers, or none: */
    unsigned least, most;         /* ... a number in between; 0: bytes */
    size_t field;
} tune_option;

#define AT(field) offsetof(sx_gpu_tune, field)
static const tune_option options[] = {
    {"walk", {"alone", "shared", "group"}, 0, 0, AT(walk)},
    {"pin", {"none", "steps", "full", "constant"}, 0, 0, AT(pin)},
    {"reorder", {"none", "lookup", "double"}, 0, 0, AT(reorder)},
    {"schedule", {"static", "dynamic"}, 0, 0, AT(schedule)},
    {"side", {"cpu", "gpu"}, 0, 0, AT(side)},
    {"scan", {"thread", "mixed", "warp"}, 0, 0, AT(scan)},
    {"search", {"complete", "concise"}, 0, 0, AT(search)},
    {"block", {NULL}, 128, 1024, AT(block)},
    {"each", {NULL}, 1, 64, AT(each)},
    {"bucket", {NULL}, 16, 1u << 30, AT(bucket)},
    {"memory", {NULL}, 0, 0, AT(memory)},
    {"persist", {NULL}, 0, 0, AT(persist)},
};
#define OPTIONS (sizeof options / sizeof options[0])

static int same(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* A size, if it is of bytes; else digits alone. */
static sx_size_kind parse_number(const char *text, size_t length, int bytes, uint64_t *out)
{
    if (!bytes && strspn(text, "0123456789") < length)
        return SX_SIZE_NONE;
    return sx_size_parse(text, length, out);
}

static sx_status bad_word(const tune_option *o, const char *text, size_t length,
                          const char *device, sx_err *err)
{
    char allowed[80];
    sx_text t = {allowed, sizeof allowed, 0};

    for (unsigned w = 0; w < 5 && o->words[w]; w++)
        sx_text_add(&t, "%s%s", w ? ", " : "", o->words[w]);
    return sx_fail(err, SX_EINVAL, "device '%.40s': %s is '%.*s'; allowed: %s", device, o->name,
                   (int)(length < 40 ? length : 40), text, allowed);
}

static sx_status parse_value(sx_gpu_tune *t, const tune_option *o, const char *text, size_t length,
                             const char *device, sx_err *err)
{
    uint64_t n = 0;
    void *field = (char *)t + o->field;

    for (unsigned w = 0; o->words[0] && w < 5 && o->words[w]; w++)
        if (same(o->words[w], text, length)) {
            *(uint32_t *)field = w + 1;
            return SX_OK;
        }
    if (o->words[0])
        return bad_word(o, text, length, device, err);
    sx_size_kind kind = parse_number(text, length, !o->most, &n);
    int shown = (int)(length < 40 ? length : 40);
    if (kind == SX_SIZE_NONE)
        return sx_fail(err, SX_EINVAL, "device '%.40s': %s is '%.*s', not a number%s", device,
                       o->name, shown, text, o->most ? "" : " of bytes (4096, 4K or 4KiB; M, G, T)");
    if (!o->most && kind == SX_SIZE_TOO_LARGE)
        return sx_fail(err, SX_EINVAL, "device '%.40s': %s is '%.*s', which is too large: at most "
                       "%llu bytes", device, o->name, shown, text,
                       (unsigned long long)UINT64_MAX);
    if (!o->most) {
        *(uint64_t *)field = n;
        return SX_OK;
    }
    if (kind == SX_SIZE_TOO_LARGE || n < o->least || n > o->most ||
        (o->field == AT(block) && (n & (n - 1))))
        return sx_fail(err, SX_EINVAL, "device '%.40s': %s is %.*s; allowed: %s%u to %u", device,
                       o->name, shown, text, o->field == AT(block) ? "powers of two, " : "",
                       o->least, o->most);
    *(uint32_t *)field = (uint32_t)n;
    return SX_OK;
}

sx_status sx_gpu_tune_parse(sx_gpu_tune *out, const char *text, const char *device, sx_err *err)
{
    sx_gpu_tune t = {0};
    unsigned given = 0;           /* a bit for each */

    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,"), i = 0;
        sx_status st;
        while (i < OPTIONS && !same(options[i].name, text, name))
            i++;
        if (i == OPTIONS || text[name] != '=')
            return sx_fail(err, SX_EINVAL, "device '%.40s': no option '%.*s'; known: memory=, "
                           "persist=, walk=, pin=, reorder=, schedule=, block=, each=, scan=, "
                           "bucket=, search=, side=", device, (int)(length < 40 ? length : 40),
                           text);
        if (given >> i & 1)
            return sx_fail(err, SX_EINVAL, "device '%.40s': %s= is given twice; allowed: once",
                           device, options[i].name);
        given |= 1u << i;
        st = parse_value(&t, &options[i], text + name + 1, length - name - 1, device, err);
        if (st != SX_OK)
            return st;
        text += length;
        if (*text == ',' && !*++text)
            return sx_fail(err, SX_EINVAL, "device '%.40s' ends in a comma", device);
    }
    *out = t;
    return SX_OK;
}
