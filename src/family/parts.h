/* parts.h - what each family keeps of its own in a view (struct sx_part_NAME) and in a
 * spec (struct sx_params_NAME). */
#ifndef SX_PARTS_H
#define SX_PARTS_H

#include "family/btree/btree.h"
#include "family/eytzinger/eytzinger.h"
#include "family/guide/guide.h"
#include "family/pgm/pgm.h"
#include "family/pivot/pivot.h"
#include "family/sorted/sorted.h"

#endif
