/* gpu_reorders_impl.h - the sorting kernels: blocks of 1024 or 2048 questions. A lab has
 * them in all shapes. Otherwise a family whose plans sort questions has the two shapes that
 * plans take. */
#if GPU_LAB
#define BLOCK 128
#define ITEMS 8
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 16
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 256
#define ITEMS 4
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 8
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 512
#define ITEMS 2
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 4
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 1024
#define ITEMS 1
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#define ITEMS 2
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#elif SX_REORDERS
#define BLOCK 256
#define ITEMS 4
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#define BLOCK 1024
#define ITEMS 1
#include "family/generic/gpu_reorder_impl.h"
#undef ITEMS
#undef BLOCK
#endif
