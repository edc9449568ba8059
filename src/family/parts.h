/* parts.h - what each family keeps of its own in a view (struct sx_part_NAME) and in a
 * spec (struct sx_params_NAME). */
#ifndef SX_PARTS_H
#define SX_PARTS_H

#include "family/stretch.h"       /* it has the list in another way */

#define SX_FAMILY_PARTS
#include "family/families.def"
#undef SX_FAMILY_PARTS

#endif
