/* pick.c - see pick.h. */
#include "pick.h"

#include <stdio.h>
#include <string.h>

#include "oracle.h"

void pick_spec(rnd *r, char *out, size_t space)
{
    static const char *const layouts[] = {
        "layout=split", "layout=pairs", "layout=pairs,block=1",
        "layout=pairs,block=4", "layout=pairs,block=64", "layout=once", ""
    };
    const char *layout = layouts[rnd_below(r, COUNT_OF(layouts))];
    unsigned k = 2 + (unsigned)rnd_below(r, 32);
    char more[64] = "";
    switch (rnd_below(r, 20)) {
    case 0:
        snprintf(out, space, *layout ? "sorted(%s)" : "sorted", layout);
        return;
    case 8: case 9: case 10:
        snprintf(out, space, "guide(bucket=%u,pieces=%u%s%s)", 1 + (unsigned)rnd_below(r, 128),
                 1 + (unsigned)rnd_below(r, rnd_below(r, 2) ? 9 : 300), *layout ? "," : "", layout);
        return;
    case 11:                      /* as many pieces as suit the keys */
        snprintf(out, space, *layout ? "guide(%s)" : "guide", layout);
        return;
    case 12: case 13: case 14:
        if (rnd_below(r, 2))
            snprintf(more, sizeof more, ",cuts=%u", 1 + (unsigned)rnd_below(r, 80));
        snprintf(out, space, "pgm(eps=%u,eps2=%u%s%s%s)",
                 1 + (unsigned)rnd_below(r, 1u << rnd_below(r, 21)),
                 1 + (unsigned)rnd_below(r, 1u << rnd_below(r, 11)), more, *layout ? "," : "",
                 layout);
        return;
    case 15: case 16: case 17:    /* every width has a node of so many */
        if (rnd_below(r, 2))
            snprintf(more, sizeof more, "fill=%u", 50 + (unsigned)rnd_below(r, 51));
        else
            snprintf(more, sizeof more, "k=%u", 2 + k % 4);
        snprintf(out, space, "btree(%s%s)", more,
                 strstr(layout, "split") ? ",layout=split" : strstr(layout, "once") ? ",layout=once"
                 : *layout ? ",layout=pairs" : "");
        return;
    case 18: case 19:
        snprintf(out, space, "radix(leaf=%u%s%s)", 1 + (unsigned)rnd_below(r, rnd_below(r, 2) ? 4 : 255),
                 *layout ? "," : "", layout);
        return;
    case 1: case 2: case 3:
        snprintf(out, space, "eytzinger(k=%u%s%s)", k, *layout ? "," : "",
                 layout);
        return;
    case 4:
        snprintf(more, sizeof more, ",levels=%u", (unsigned)rnd_below(r, 4));
        break;
    case 5:
        snprintf(more, sizeof more, ",leaf=%u",
                 1 + (unsigned)rnd_below(r, 64));
        break;
    }
    snprintf(out, space, "pivot(k=%u%s%s%s)", k, more, *layout ? "," : "",
             layout);
}

uint64_t pick_size(rnd *r)
{
    switch (rnd_below(r, 4)) {
    case 0: return rnd_below(r, 20);
    case 1: {                     /* around a power of two */
        uint64_t n = 1ull << rnd_below(r, 13);
        return n - 1 + rnd_below(r, 3);
    }
    case 2: return rnd_below(r, 300);
    default: return rnd_below(r, 6000);
    }
}

void pick_keys(rnd *r, int type, uint64_t n, unsigned char *out)
{
    size_t width = oracle_width(type);
    uint64_t at = 0;
    while (at < n) {
        key_kind kind = (key_kind)rnd_below(r, KEYS_KINDS);
        uint64_t run = rnd_below(r, 2) ? n - at : 1 + rnd_below(r, n - at);
        keys_make(type, kind, run, r, out + at * width);
        at += run;
    }
}
