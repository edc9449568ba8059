/* family.h - the families, and how deep their trees are: what a view needs to
 * know of specs. */
#ifndef SX_FAMILY_H
#define SX_FAMILY_H

typedef enum {
#define SX_FAMILY(tag, name, params, what) SX_FAM_##tag,
#include "index/families.def"
#undef SX_FAMILY
    SX_FAMILIES
} sx_family;

#define SX_LEVELS_MAX 48u         /* of a binary tree over SX_KEYS_MAX keys */
#define SX_KEYS_MAX (1ull << 48)

#endif
