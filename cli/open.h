/* open.h - devices and indexes, as the options of a verb ask for them. */
#ifndef CLI_OPEN_H
#define CLI_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "sextant.h"

typedef struct {
    const char *device;           /* --device; NULL: the best present */
    uint64_t threads;             /* --threads; 0: all */
    bool copy;                    /* --copy */
    int place;                    /* --place; 0: the device's usual one */
} open_options;

/* The device of this name; NULL: the best present. */
sx_device *open_named(const char *name);
sx_device *open_device(const open_options *options);

/* Loads an index on the device of the options. flags: SX_LOAD_VERIFY or 0;
 * --copy is added. */
sx_index *open_index(const open_options *options, const char *path,
                     unsigned flags);

sx_index_info describe(const sx_index *ix);

/* The text of sx_explain(), to be freed. */
char *explanation(const sx_index *ix, sx_format format);

#endif
