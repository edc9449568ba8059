/* types.h - what the library knows about each key type. */
#ifndef SX_TYPES_H
#define SX_TYPES_H

#include "base/status.h"
#include "keys/encode.h"

typedef struct {
    const char *name;
    uint32_t bytes;               /* of one element in a column; 0: they differ in length */
    uint32_t width;               /* of the unsigned key: 4, 8 or 16 */
    /* n elements of the type <-> n unsigned keys of that width; NULL if these are codes */
    void (*encode)(void *keys, const void *elements, uint64_t n);
    void (*decode)(void *elements, const void *keys, uint64_t n);
} sx_type_info;

/* NULL: no such key type. */
const sx_type_info *sx_type_of(int type);

/* The type that codes of strings are searched as, of 4 or 8 bytes. */
static inline int sx_code_type(uint32_t code_bytes)
{
    return code_bytes == 4 ? SX_U32 : SX_U64;
}

/* "any of u32 u64 ...", for sentences that list what is allowed. */
const char *sx_type_list(void);

/* One element as text, for sentences: 18, -3.5, 00112233... */
void sx_type_print(int type, const void *element, char *text, size_t space);

#endif
