/* forge.h - sections of a specimen's file, and bytes to fill them with, for tests that
 * forge files. */
#ifndef FORGE_H
#define FORGE_H

#include "specimen.h"
#include "sxfile.h"

/* 0: zeros, 1: ones, 2: noise, 3: backwards, 4: an ascending run, then
 * noise. */
static inline void fill(unsigned char *p, uint64_t n, int how, rnd *r)
{
    for (uint64_t i = 0; i < n; i++)
        switch (how) {
        case 0: p[i] = 0; break;
        case 1: p[i] = 0xff; break;
        case 2: p[i] = (unsigned char)rnd_next(r); break;
        case 3:
            if (i < n / 2) {
                unsigned char t = p[i];
                p[i] = p[n - 1 - i];
                p[n - 1 - i] = t;
            }
            break;
        default:
            if (i > n / 3)
                p[i] = (unsigned char)rnd_next(r);
            break;
        }
}

static inline unsigned char *section(specimen *s, const char *name, uint64_t *bytes)
{
    for (uint32_t i = 0; i < get32(s->file + F_SECTIONS); i++) {
        unsigned char *e = s->file + F_TABLE + i * S_ENTRY;
        if (strncmp((char *)e, name, 16) == 0) {
            *bytes = get64(e + S_BYTES);
            return s->file + get64(e + S_OFFSET);
        }
    }
    return NULL;
}

#endif
