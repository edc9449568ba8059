/* family_id.h - the families by number, and what bounds them all. */
#ifndef SX_FAMILY_ID_H
#define SX_FAMILY_ID_H

#include <stdint.h>

enum {
#define SX_FAMILY(TAG, name) SX_FAM_##TAG,
#include "family/families.def"
#undef SX_FAMILY
    SX_FAM_AUTO,                  /* no index: it becomes one of the others */
    SX_FAMILIES
};

/* Sections, in the order of the file: those of the leaves, those of strings, then the family's
 * own. */
enum { SX_SEC_KEYS, SX_SEC_ROWS, SX_SEC_PAIRS, SX_SEC_STARTS, SX_SEC_OFFSETS, SX_SEC_BYTES,
       SX_SEC_GROUPS, SX_SEC_MARKS, SX_SEC_OWN, SX_SECTIONS = 11 };

#define SX_LEVELS_MAX 48u         /* of a binary tree over SX_KEYS_MAX keys */
#define SX_KEYS_MAX (1ull << 48)

/* Functions of headers that kernels include, too. */
#ifndef SX_FN
#define SX_FN static inline
#endif

SX_FN uint64_t sx_min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
