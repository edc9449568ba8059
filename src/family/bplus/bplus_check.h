/* bplus_check.h - the invariants of bplus.h, proved node by node. */
#ifndef SX_BPLUS_CHECK_H
#define SX_BPLUS_CHECK_H

#include "base/status.h"
#include "family/view.h"

sx_status sx_bplus_check(const sx_view *v, sx_err *err);

#endif
