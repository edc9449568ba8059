/* pgm_make_impl.h - pgm_make.c for one width W. */
#include "index/width_begin.h"

#include "index/pgm_fit_impl.h"

#include "index/width_end.h"
