/* pgm_make_impl.h - pgm_make.c for one width W. */
#include "family/generic/width_begin.h"

#include "family/pgm/pgm_fit_impl.h"

#include "family/generic/width_end.h"
