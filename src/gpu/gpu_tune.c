#include "gpu/gpu_tune.h"

#include "base/size.h"
#include "base/text.h"
#include "place/backend.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    const char *words[5];         /* in the order of their numbers, or none: */
    unsigned least, most;         /* ... a number in between; 0: bytes */
    size_t field;
    unsigned plain;               /* so many of the words are for all, the rest for a lab;
                                     0, and of numbers: all are, or (LAB) none */
    unsigned parts;               /* it is a number from 0 to 1, told in so many parts; 0: not */
} tune_option;
#define LAB 99u

/* No upper part has more levels: one of them at least halves what is left. */
#define DEPTH_MOST 64u

#define AT(field) offsetof(sx_gpu_tune, field)
static const tune_option options[] = {
    {"walk", {"alone", "shared", "whole", "group"}, 0, 0, AT(walk), 3, 0},
    {"pin", {"none", "steps", "full", "constant"}, 0, 0, AT(staged), 3, 0},
    {"reorder", {"none", "lookup", "double"}, 0, 0, AT(reorder), LAB, 0},
    {"schedule", {"static", "dynamic"}, 0, 0, AT(schedule), LAB, 0},
    {"side", {"cpu", "gpu"}, 0, 0, AT(side), 0, 0},
    {"strategy", {"sequential", "pipelined", "double"}, 0, 0, AT(strategy), LAB, 0},
    {"scan", {"thread", "mixed", "warp"}, 0, 0, AT(scan), 0, 0},
    {"search", {"complete", "concise"}, 0, 0, AT(search), 0, 0},
    {"block", {NULL}, 128, 1024, AT(block), LAB, 0},
    {"each", {NULL}, 1, 64, AT(each), LAB, 0},
    {"blocks", {NULL}, 1, 65536, AT(blocks), LAB, 0},
    {"bucket", {NULL}, 16, 1u << 30, AT(bucket), 0, 0},
    {"depth", {NULL}, 0, DEPTH_MOST, AT(depth), LAB, 0},
    {"share", {NULL}, 0, 1, AT(share), LAB, SX_SHARE_ALL},
    {"own", {NULL}, 0, 1, AT(own), LAB, SX_SHARE_ALL},
    {"memory", {NULL}, 0, 0, AT(memory), 0, 0},
    {"persist", {NULL}, 0, 0, AT(persist), 0, 0},
};
#define OPTIONS (sizeof options / sizeof options[0])

static int same(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* A size, if it is of bytes; otherwise digits alone. */
static sx_size_kind parse_number(const char *text, size_t length, int bytes, uint64_t *out)
{
    if (!bytes && strspn(text, "0123456789") < length)
        return SX_SIZE_NONE;
    return sx_size_parse(text, length, out);
}

/* Words of an option that this build has. */
static unsigned words_of(const tune_option *o, int lab)
{
    unsigned count = 0;

    while (count < 5 && o->words[count])
        count++;
    return !lab && o->plain && o->plain < count ? o->plain : count;
}

static sx_status for_labs(const char *what, size_t length, const char *device, sx_err *err)
{
    return sx_fail(err, SX_EINVAL, "device '%.40s': '%.*s' is an option of laboratories: `make lab` "
                   "builds a backend that has it (doc/LAB.md)", device,
                   (int)(length < 40 ? length : 40), what);
}

static sx_status bad_word(const tune_option *o, const char *text, size_t length,
                          const char *device, int lab, sx_err *err)
{
    char allowed[80];
    sx_text t = {allowed, sizeof allowed, 0};

    for (unsigned w = 0; w < words_of(o, lab); w++)
        sx_text_add(&t, "%s%s", w ? ", " : "", o->words[w]);
    return sx_fail(err, SX_EINVAL, "device '%.40s': %s is '%.*s'; allowed: %s", device, o->name,
                   (int)(length < 40 ? length : 40), text, allowed);
}

/* A decimal number from 0 to 1, in parts of 1, to the nearest; whether it is one. Decimals
 * behind the sixth change nothing. */
static int parse_part(const char *text, size_t length, unsigned parts, uint32_t *out)
{
    size_t whole = strspn(text, "0123456789"), i = whole + 1;
    uint64_t n = 0, ones = 1;

    if (whole > length)
        whole = length;
    for (size_t d = 0; d < whole; d++)
        n = n > 1 ? n : n * 10 + (uint64_t)(text[d] - '0');
    if (length == 0 || (whole < length && (text[whole] != '.' || length < 2)))
        return 0;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        if (ones < 1000000) {
            n = n * 10 + (uint64_t)(text[i] - '0');
            ones *= 10;
        }
    }
    if (n > ones)
        return 0;
    *out = (uint32_t)((n * parts + ones / 2) / ones);
    return 1;
}

static sx_status parse_value(sx_gpu_tune *t, const tune_option *o, const char *text, size_t length,
                             const char *device, int lab, sx_err *err)
{
    uint64_t n = 0;
    void *field = (char *)t + o->field;

    for (unsigned w = 0; o->words[0] && w < 5 && o->words[w]; w++)
        if (same(o->words[w], text, length)) {
            if (w >= words_of(o, lab))
                return for_labs(text, length, device, err);
            *(uint32_t *)field = w + 1;
            return SX_OK;
        }
    if (o->words[0])
        return bad_word(o, text, length, device, lab, err);
    int shown = (int)(length < 40 ? length : 40);
    if (o->parts)
        return parse_part(text, length, o->parts, field)
                   ? SX_OK
                   : sx_fail(err, SX_EINVAL, "device '%.40s': %s is '%.*s'; allowed: a number from "
                             "%u to %u, such as 0.25", device, o->name, shown, text, o->least,
                             o->most);
    sx_size_kind kind = parse_number(text, length, !o->most, &n);
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

sx_status sx_gpu_tune_parse(sx_gpu_tune *out, const char *text, const char *device, int lab,
                            sx_err *err)
{
    sx_gpu_tune t = {0};
    unsigned given = 0;           /* a bit for each option */

    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,"), i = 0;
        sx_status st;
        while (i < OPTIONS && !same(options[i].name, text, name))
            i++;
        if (i == OPTIONS || text[name] != '=')
            return sx_fail(err, SX_EINVAL, "device '%.40s': no option '%.*s'; known: memory=, "
                           "persist=, walk=, pin=, %sscan=, bucket=, search=, side=", device,
                           (int)(length < 40 ? length : 40), text,
                           lab ? "reorder=, schedule=, block=, each=, blocks=, depth=, share=, own=, "
                                 "strategy=, " : "");
        if (options[i].plain == LAB && !lab)
            return for_labs(text, length, device, err);
        if (given >> i & 1)
            return sx_fail(err, SX_EINVAL, "device '%.40s': %s= is given twice; allowed: once",
                           device, options[i].name);
        given |= 1u << i;
        st = parse_value(&t, &options[i], text + name + 1, length - name - 1, device, lab, err);
        t.balanced |= options[i].field == AT(depth) || options[i].field == AT(share) ||
                      options[i].field == AT(own);
        if (st != SX_OK)
            return st;
        text += length;
        if (*text == ',' && !*++text)
            return sx_fail(err, SX_EINVAL, "device '%.40s' ends in a comma", device);
    }
    *out = t;
    return SX_OK;
}
