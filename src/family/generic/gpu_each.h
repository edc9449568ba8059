/* gpu_each.h - kernels for every width: SX_BODY is a template that stands between
 * gpu_begin.h and gpu_end.h, and has gpu_ranges_impl.h. */
#ifndef SX_UNIT_OF
#error "a family's unit says before all includes which family it is (slots.h)"
#endif
#include "family/generic/gpu_numbers.h"
#include "family/generic/gpu_texts.h"

#define W 4
#include SX_BODY
#undef W
#define W 8
#include SX_BODY
#undef W
#define W 16
#include SX_BODY
#undef W

#include "family/generic/gpu_fold.h"
