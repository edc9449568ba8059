/* pgm_check.h - proves a pgm's segments (S1 to S3 of pgm.h). */
#ifndef SX_PGM_CHECK_H
#define SX_PGM_CHECK_H

#include "base/status.h"
#include "family/view.h"

/* Of keys that are known to ascend. */
sx_status sx_pgm_check(const sx_view *v, sx_err *err);

#endif
