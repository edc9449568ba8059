/* alone.h - what programs of this folder that stand alone, each with one question, share. */
#ifndef ALONE_H
#define ALONE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sextant.h"

static inline void expect(sx_status st)
{
    if (st != SX_OK) {
        fprintf(stderr, "%s\n", sx_detail());
        exit(1);
    }
}

/* A number that depends on x as if it were drawn. */
static inline uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A copy of a host column in the device's memory, if that has one of its own. */
static inline sx_column placed(sx_device *dev, sx_column here)
{
    sx_column there;

    if (sx_column_new(&there, dev, here.type, here.n) != SX_OK)
        return here;
    expect(sx_column_copy(&there, &here, dev));
    return there;
}

static inline sx_column made(int type, uint64_t n)
{
    sx_column c = { .type = type, .n = n, .data = calloc(n, sx_type_bytes(type)) };

    if (!c.data)
        exit(1);
    return c;
}

#endif
