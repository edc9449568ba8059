/* gpu_begin.h - for kernels and walks on a GPU, of one width W (4, 8, 16): their names
 * F(name), the type of their keys, KEY, and the parameters of walks. gpu_end.h takes all
 * of these back. All code between the two is in the common subset of C11 and CUDA C++,
 * over vendor_cuda.h or vendor_simt.h. */
#define NAME3_(a, b) a##_##b
#define NAME3(a, b) NAME3_(a, b)
#define F(name) NAME3(name, W)
#define NAME5_(a, b, c, d) a##_##b##_##c##_##d
#define NAME5(a, b, c, d) NAME5_(a, b, c, d)
#define NAME2_(a, b) a##b
#define NAME2(a, b) NAME2_(a, b)
#define KEY NAME2(sx_key, W)
#include "family/generic/gpu_count_impl.h"
