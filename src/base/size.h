/* size.h - how sizes are written, for the library and the tool alike:
 *
 *     1000         digits
 *     2^24, 1e6    a power, or a number with more zeros behind it
 *     16M, 16MiB   K, M, G and T in steps of 1024, with iB or without it
 *
 * Letters may be large or small. "MB" is refused: it could be 10^6 or 2^20 bytes. */
#ifndef SX_SIZE_H
#define SX_SIZE_H

#include <stddef.h>
#include <stdint.h>

typedef enum { SX_SIZE_NONE, SX_SIZE_OK, SX_SIZE_TOO_LARGE } sx_size_kind;

/* The first `length` bytes of text, all of which must be the size. out is written if it is. */
sx_size_kind sx_size_parse(const char *text, size_t length, uint64_t *out);

#endif
