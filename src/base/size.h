/* size.h - how sizes are written, for the library and the tool alike:
 *
 *     1000         digits
 *     2^24, 1e6    a power of it, or so many zeros more
 *     16M, 16MiB   K, M, G and T in steps of 1024, with iB or without it
 *
 * Letters may be large or small. "MB" is none: it could be either million. */
#ifndef SX_SIZE_H
#define SX_SIZE_H

#include <stddef.h>
#include <stdint.h>

typedef enum { SX_SIZE_NONE, SX_SIZE_OK, SX_SIZE_TOO_LARGE } sx_size_kind;

/* The first length bytes of text, all of them. out is written if it is one. */
sx_size_kind sx_size_parse(const char *text, size_t length, uint64_t *out);

#endif
