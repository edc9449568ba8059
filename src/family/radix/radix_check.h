/* radix_check.h - proving T1 to T6 (radix.h) of a radix tree over keys in order. */
#ifndef SX_RADIX_CHECK_H
#define SX_RADIX_CHECK_H

#include "base/status.h"
#include "family/view.h"

sx_status sx_radix_check(const sx_view *v, sx_err *err);

#endif
