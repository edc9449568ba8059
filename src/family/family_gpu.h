/* family_gpu.h - what a family does on a GPU. Each has its kernels in a unit of its
 * own, FAM_gpu.cu, which nvcc compiles as CUDA and the C compiler for the emulator. */
#ifndef SX_FAMILY_GPU_H
#define SX_FAMILY_GPU_H

#include "gpu/gpu.h"

/* What suits an index of the family, for options that the device's name leaves out. */
typedef struct {
    int alone;                    /* lanes walk alone though they could read together */
    int stages;                   /* staging the top in shared memory pays */
    uint32_t reorder;             /* SX_REORDER_, if the array is far larger than L2 */
    int two;                      /* lanes read a leaf in twos */
    int windows;                  /* its shared kernels are for 512 threads, 1536 at a time, as
                                     gpu_window_impl.h's are */
    uint32_t lanes;               /* of a group */
    int constant;                 /* its top can be in constant memory */
    uint32_t resident;            /* threads of a multiprocessor that are fastest with a
                                     static schedule; 0: as many as can be */
} sx_gpu_habits;

typedef struct {
    sx_gpu_habits (*habits)(const sx_gpu *g, const sx_view *v);
    /* Bytes of the section that a search begins in; *top its address. */
    uint64_t (*search_bytes)(const sx_view *v, const void **top);
    /* Bytes of it to stage in `space` of shared memory: whole steps of the search, or all
     * that fits. A multiple of 16, as more may lie behind. NULL: nothing is staged. */
    uint32_t (*staged_bytes)(const sx_view *v, uint32_t staged, uint64_t space);
    /* Sets what kernels need in which lanes read together. leaf_bytes stays 0 if they
     * can't walk this index. NULL: there are no such kernels. */
    void (*shared_args)(const sx_view *v, sx_gpu_lookup *a);
    sx_status (*points)(sx_gpu *g, const gpu_plan *p, gpu_stream stream, const sx_gpu_lookup *a,
                        sx_err *err);
    void (*spans)(sx_gpu *g, gpu_stream stream, const sx_gpu_spans *a);
    void (*fold)(sx_gpu *g, gpu_stream stream, const sx_gpu_folds *a, uint64_t threads);
    void (*climb)(sx_gpu *g, gpu_stream stream, const sx_gpu_climb *a);
    void (*climb_texts)(sx_gpu *g, gpu_stream stream, const sx_gpu_text_climb *a);
    void (*steps)(sx_gpu *g, gpu_stream stream, const sx_gpu_steps *a);     /* or NULL */
    /* As in sx_family_cpu, over keys in device memory. */
    sx_status (*fit)(sx_gpu *g, gpu_stream stream, sx_view *v, const void *keys,
                     sx_progress *progress, void *base[SX_SECTIONS], sx_err *err);
    void (*fill)(sx_gpu *g, gpu_stream stream, const sx_view *v, const void *keys,
                 void *const base[SX_SECTIONS]);
    /* spans of prefixes; NULL unless it has the trait SX_FINDS_PREFIXES. */
    void (*prefixes)(sx_gpu *g, gpu_stream stream, const sx_gpu_spans *a);
} sx_family_gpu;

#ifdef __cplusplus
extern "C" {
#endif
#define SX_FAMILY(TAG, name) extern const sx_family_gpu sx_gpu_of_##name;
#include "family/families.def"
#undef SX_FAMILY
#ifdef __cplusplus
}
#endif

#endif
