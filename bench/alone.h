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

#endif
