/* sextant.h - ordered in-memory indexes, asked in batches.
 *
 * Open a device, build an index from a column of keys, ask, free:
 *
 *     sx_device *dev;  sx_index *ix;
 *     sx_open(&dev, NULL);
 *     sx_build(&ix, dev, "auto", &keys, NULL, NULL);
 *     sx_get(ix, &queries, &rows, NULL);
 *     sx_free(ix);  sx_close(dev);
 *
 * An index is an ordered multimap from keys to rows. Keys may repeat, and
 * no key value is reserved. A row is any number but all ones, which says
 * "no match" in results. Equal keys keep the order they came in.
 *
 * Many threads may ask one index at once. A call that fails returns a status and
 * puts a sentence into sx_detail(). Its outputs stay as they were, unless the
 * comment of the call says otherwise. No call is a cancellation point: a thread
 * that is cancelled inside a call goes on to the end of it.
 *
 * Structs that begin with `size` can grow at their end, and programs need not be
 * compiled anew for that. size is sizeof the struct as the caller knows it, at least
 * that of its first version (SX_EINVAL if not). To a library that knows more, the
 * fields that the caller lacks are 0, or are not written. To a library that knows
 * less, the rest of an input must be all zero (SX_EINVAL names a byte that is not),
 * and the rest of an output becomes zero.
 *
 * A thread needs 48 KiB of free stack for a call (of a library compiled with
 * optimization).
 *
 * The library's own threads block all signals except those that a fault raises
 * (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS). Your handlers of those may
 * run in the library's threads.
 *
 * After fork() the child may use the library, whatever other threads were doing.
 * GPUs are the exception: SX_EFORK refuses them if the parent has used CUDA, or
 * was just loading its backend.
 */
#ifndef SEXTANT_H
#define SEXTANT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SX_API
#define SX_API extern
#endif

/* ---- versions and errors --------------------------------------------- */

#define SX_VERSION 300            /* major*10000 + minor*100 + patch */
SX_API int sx_version(void);      /* the same, of the library loaded */

typedef enum {                    /* ABI: append only */
    SX_OK = 0,
    SX_ENOMEM,                    /* memory: the detail says how much */
    SX_EINVAL,                    /* an argument is wrong */
    SX_ENODEV,                    /* no such device here */
    SX_ENOSYS,                    /* not possible with this device */
    SX_ESPACE,                    /* an output is too small */
    SX_EDEVICE,                   /* the device failed */
    SX_ECORRUPT,                  /* a file or an index is damaged */
    SX_EFORK,                     /* not usable after fork() */
    SX_EIO,                       /* the operating system refused a file */
    SX_ETIMEDOUT,                 /* sx_collect(): no answer in that time */
    SX_ECANCELED                  /* the call's tick stopped it */
} sx_status;

SX_API const char *sx_strerror(sx_status status);

/* What went wrong in this thread's last failed call, with the offending
 * value and its place. Valid until this thread's next failing call. */
SX_API const char *sx_detail(void);

/* ---- columns ---------------------------------------------------------- */

typedef enum {                    /* ABI and file format: append only */
    SX_U32 = 1,
    SX_U64 = 2,
    SX_I32 = 3,
    SX_I64 = 4,
    SX_F32 = 5,                   /* -0.0 equals 0.0; all NaNs are one   */
    SX_F64 = 6,                   /* key, after +infinity                */
    SX_B16 = 7,                   /* 16 bytes in memcmp() order (UUIDs)  */
    SX_STR = 8,                   /* strings of any bytes, as memcmp() has
                                     them; the shorter first if one begins
                                     with the other */
    SX_T64 = 11                   /* times: as SX_I64, but INT64_MIN, "not a time", is
                                     the last key of all */
} sx_type;                        /* 9, 10: points, later */

typedef enum {
    SX_HOST = 0,                  /* pinned memory is used as it is, without
                                     a copy in between */
    SX_DEVICE = 1                 /* memory of the device that is asked, or
                                     managed memory. Not on the CPU */
} sx_place;

typedef struct {                  /* keys, queries, rows, results */
    int32_t type;                 /* sx_type; rows and ranks: U32 or U64 */
    int32_t place;                /* sx_place: where data points to */
    uint64_t n;                   /* elements */
    void *data;                   /* only read if it is an input; on the
                                     device at a multiple of an element */
    void *offsets;                /* SX_STR: n + 1 of them, where each string begins in
                                     data and the last one ends; otherwise NULL */
    void *validity;               /* NULL; later a bitmap of elements that are there */
    uint32_t offset_bytes;        /* SX_STR: 4 or 8, bytes of an offset; otherwise 0 */
    uint32_t reserved[3];         /* zero */
    uint64_t bytes;               /* SX_STR: bytes of data, or (outputs) space for these;
                                     otherwise 0 */
} sx_column;                      /* 64 bytes */

/* A column of strings is as Arrow has it: string i is data[offsets[i]] up to data[offsets[i + 1]].
 * Offsets, in the place of data, never descend, and the last one is not above `bytes`; the first
 * need not be 0. A string has fewer than 4 GiB. Wrong offsets are refused (SX_EINVAL); those of
 * queries in device memory, which nobody looks at before, count as far as there are data.
 * Strings that are results (sx_floor(), sx_ceil(), sx_key_at(), sx_range(), sx_climb()) take two
 * calls if you don't know how long they are. If `bytes` is too few, only offsets are written, and the
 * call ends in SX_ESPACE: the last offset says how many are needed. data may be NULL if bytes is 0. A
 * query without a result has an empty string. With a stream sx_floor(), sx_ceil() and sx_key_at() have
 * strings as results, and the others don't (SX_ENOSYS): the device compares, writes rows in any case,
 * and puts SX_ESPACE into *status, or SX_EINVAL, without offsets, if 4 bytes can't say them. */

/* "No match" in a column of rows, by the column's type. */
#define SX_MISS32 UINT32_MAX
#define SX_MISS   UINT64_MAX

#define SX_ASCENDING 1u           /* a hint: most queries are not below the
                                     one before. If that is wrong, answers are
                                     right, but come later */

typedef struct {                  /* per call; NULL: all defaults */
    size_t size;                  /* sizeof(sx_call): lets it grow */
    uint64_t max_bytes;           /* memory that building (see sx_estimate()),
                                     finding ranges, or any question about
                                     strings may take; 0: no limit. A GPU's
                                     staging of columns, 128 MiB, is not
                                     counted for questions, nor are parents
                                     of sx_climb(). sx_save(), sx_load() and
                                     sx_check() say what counts there */
    uint32_t threads;             /* the most that work on this call; 0: all of the
                                     device. The thread that asks the GPU for a
                                     hybrid index does not count, nor do threads
                                     that measure for place= */
    uint32_t hints;               /* SX_ASCENDING, or 0 */
    void *stream;                 /* questions on a GPU: see below */
    uint32_t *status;
    uint64_t *device_ns;          /* NULL, or where a question without a stream puts
                                     how many nanoseconds the device worked on it:
                                     by the device's clock, or by the host's if
                                     columns travelled */
    int (*tick)(void *context, uint64_t done, uint64_t total);
    void *tick_context;           /* a tick, or NULL, learns how far the call has
                                     come and can stop it: see below */
} sx_call;

/* A tick is told how much of a call's work is done, and says whether to go on (0).
 * The work is divided into `total` parts, which are meant to take equally long;
 * only done / total says something. total stays the same in a call, and done never
 * goes back. The first tick has done = 0, and comes when the arguments are found
 * right. The last one has done = total. It comes when the call has succeeded, and
 * what it returns does not matter. Between them there is one every few milliseconds,
 * where the work can be cut into pieces: sorting, building (on a GPU between steps,
 * of a pgm between its parts), saving, loading with SX_LOAD_VERIFY or SX_LOAD_COPY,
 * checking, and questions, if their columns are on the host.
 *
 * Only the thread that called ticks. It holds no lock then that any call waits for,
 * so a tick may call the library. It must return: no longjmp(), no exception. A thread
 * that is cancelled in it goes on to the end of the call.
 *
 * If any tick but the last returns another number than 0, the call ends soon with
 * SX_ECANCELED, and all is as it was before: there is no index, the file at the path
 * is the old one, or none, *out is as it was. Only the outputs of a question are
 * undefined then. Questions that are queued on a stream have no tick (SX_EINVAL). */

/* With a stream (a cudaStream_t; 1 is the legacy default stream, 2 that of
 * the thread) a question is queued there and the call returns at once. All
 * its columns are in device memory, and stay until the stream is done with
 * them. The call still reports wrong arguments. A status that is known only
 * later goes to *status, in device memory, if that is not NULL: SX_OK, or
 * SX_ESPACE as the comments of sx_range() and of strings say. Neither the call nor other
 * questions or builds wait for the stream. But sx_free(), sx_column_free()
 * and sx_close() wait for all work of the device. sx_build() with a stream
 * reads its columns when the stream has come there, and waits.
 *
 * Without a stream a call, and sx_column_copy(), comes after all work that was
 * queued before on the default stream, the legacy one or this thread's. For
 * other streams, pass them or wait for them. A call leaves its GPU as the
 * thread's current one.
 *
 * When a GPU fails in the middle of a call (SX_EDEVICE), outputs on the host
 * are right up to some chunk and as they were behind it; outputs in device
 * memory are undefined, as CUDA leaves them. The index is as it was. */

/* ---- devices ----------------------------------------------------------- */

typedef struct sx_device sx_device;

/* "cpu" (the widest instructions present), "cpu:scalar", "cpu:avx2",
 * "cpu:avx512", each with ",threads=N" if wanted ("cpu:threads=2" too); by
 * default the environment variable SEXTANT_THREADS says how many threads, or
 * it is one for each processor. "cuda:0", an NVIDIA GPU, with the backend
 * libsextant-cuda.so (see below). "simt", its kernels emulated on the host, for
 * tests. Behind "cuda:N" and "simt" come options, each after a comma and at
 * most once:
 *
 *   memory=BYTES      take no more of the device's memory (4294967296, 2^32,
 *                     4G or 4GiB; K, M, G, T; 0: no limit)
 *   persist=BYTES     keep that much of an index's upper part in L2: faster by 10 %,
 *                     while other kernels have that much less of L2 (0)
 *   walk=alone|shared|whole    a thread reads its nodes itself; neighbours
 *                     read them together, in turns; all keys of a small
 *                     index are in shared memory ("cpu:" takes alone and
 *                     whole, too: vectors search small indexes)
 *   pin=none|steps|full    how much of the upper part is staged in shared
 *                     memory: nothing, whole steps, as much as fits
 *   scan=thread|mixed|warp     who reads the entries of a range
 *   bucket=QUERIES    the most queries of a hybrid index that the GPU and the
 *                     CPU take turns with (2097152); the CPU alone answers
 *                     batches of fewer queries than that and than 8192
 *   search=complete|concise    a pgm's segments level by level, or those of
 *                     the last level at once; "cpu:" takes it, too
 *   side=cpu|gpu      which side answers if an index has place=both, and
 *                     whether the GPU helps if it is hybrid; by default the
 *                     faster way
 *
 * How kernels run never changes an answer. Options you leave out are chosen by
 * the index's shape, or (search=) measured when it is built. doc/LAB.md has more
 * options, for a backend that `make lab` builds. NULL: "cpu".
 *
 * The backend is loaded when a "cuda" device is first opened, or listed: the
 * file that the environment variable SEXTANT_CUDA names, by an absolute path;
 * if it is not set, libsextant-cuda.so in the first of these folders that has
 * it: the library's own, the program's, the one that libraries were installed
 * in. A process with raised rights (setuid, capabilities) takes the last one
 * only. The paths are found out once, for the life of the process. */
SX_API sx_status sx_open(sx_device **out, const char *name);

/* You may close a device before its indexes are freed: they keep it open. */
SX_API void sx_close(sx_device *dev);

typedef struct {
    size_t size;                  /* sizeof(sx_device_info), set by caller */
    char name[64];                /* as sx_open() takes it */
    char detail[256];             /* the hardware, or why it can't be used */
    uint32_t usable;
    uint32_t threads;
    uint64_t memory;              /* bytes */
} sx_device_info;

/* The i-th device this library knows, usable or not. SX_ENODEV past the
 * last one. */
SX_API sx_status sx_device_at(unsigned i, sx_device_info *info);
SX_API sx_status sx_device_describe(const sx_device *dev,
                                    sx_device_info *info);

/* An allocator of your own for a GPU's memory, instead of the library's pool.
 * take() returns memory of that device, at a multiple of 256, which the stream may
 * use; or NULL. give() gets it back. Many threads may call both. memory= does not
 * limit such memory. Set the allocator while the device has no index (SX_EINVAL
 * if it has) and no column. */
typedef struct {
    size_t size;                  /* sizeof(sx_allocator) */
    void *(*take)(void *context, uint64_t bytes, void *stream);
    void (*give)(void *context, void *block, void *stream);
    void *context;
} sx_allocator;
SX_API sx_status sx_device_allocator(sx_device *dev,
                                     const sx_allocator *allocator);

/* A column in the device's memory (the host's, for the CPU), its contents
 * undefined; and copies between columns of one type, wherever they lie: all
 * elements of `from` go to the first of `to`. Of strings a column has n + 1 offsets of 4 or 8
 * bytes, and space for `bytes`; a copy has the same offsets, and all `bytes` of `from`. */
SX_API sx_status sx_column_new(sx_column *out, sx_device *dev, int type,
                               uint64_t n);
SX_API sx_status sx_column_strings(sx_column *out, sx_device *dev, uint64_t n, uint64_t bytes,
                                   unsigned offset_bytes);
SX_API void sx_column_free(sx_column *column, sx_device *dev);
SX_API sx_status sx_column_copy(sx_column *to, const sx_column *from,
                                sx_device *dev);

/* ---- building ----------------------------------------------------------- */

typedef struct sx_index sx_index;

/* Builds an index over keys, and copies what it needs. Keys and rows must not change
 * before it returns. If they do, it fails (SX_EINVAL, if it sees that), or the index
 * has some old keys and some new, and if a GPU sorted few of them perhaps others, which
 * sx_check() may refuse. But no memory outside is touched, neither here nor by questions
 * to it.
 *
 * rows  NULL: the row of a key is its position in keys. Otherwise U32 or U64.
 * spec  NULL: "auto". A family, its parameters, then optional words:
 *         sorted                 plain sorted array
 *         eytzinger(k=2..33)     search order, no extra memory
 *         pivot(k=2..33,levels=,leaf=)   sorted array under a pivot tree
 *         btree(k=2..17)         nodes of a line each over lines of keys and rows.
 *                                k is 17, 9 or 5 at most for keys of 4, 8 or 16
 *                                bytes. Its layout is pairs unless you say another,
 *                                and a block is a line (there is no block=)
 *         btree(fill=50..100)    nodes of up to 256, 64 or 16 children over large
 *                                leaves, which point to each other and are laid out
 *                                for updates. fill is what is used of each, in
 *                                percent. The same layouts as btree(k), and no k=
 *         radix(leaf=1..255)     sorted array under an adaptive radix tree, whose
 *                                leaves have so many keys at most
 *         guide(bucket=1..128,pieces=1..65536)   sorted array under a histogram.
 *                                Parameters you leave out are chosen by a look at
 *                                the keys
 *         pgm(eps=1..1048576,eps2=1..1024,cuts=1..1048576)   sorted array
 *                                under segments that know the rank of a key
 *                                within eps; levels above know segments within
 *                                eps2. Segments are made in `cuts` parts: at most
 *                                one a key, and at least n / 2^29 + 1 from 2^29
 *                                keys on. If you leave cuts out, n and eps choose
 *                                it, 4096 at most; one thread of a CPU takes one
 *                                part. If you leave eps out, it is measured on the
 *                                keys, and building takes about twice as long.
 *                                Below 2^16 keys eps is 16 then, on a GPU below
 *                                2^22 keys 8
 *         pgm(budget=KIB)        eps is measured, and the segments take at most that
 *                                much memory. SX_ENOMEM if eps=1048576 takes more
 *         auto(for=point|range|mixed|memory)  chosen by a look at the keys, on a
 *                                CPU also by measuring
 *       layout=split|pairs|once (and block=) inside the parentheses says how keys
 *       and rows lie in memory: in arrays of their own; side by side; or each value
 *       once, with the place where its rows begin. `once` pays if keys repeat: 2^24
 *       keys of 1,000 values are searched as 1,000. Answers are the same. If no rows
 *       are stored (rows NULL and keys in order: a row is its key's rank), pairs
 *       becomes split, and sx_describe() says so. Words behind the parentheses:
 *       unique (equal keys are an error), and place=host|device|hybrid|both for an
 *       index that is not, or not only, in the memory of its device.
 *
 * Places of an index on a GPU:
 *   host    All of the index is in the host's memory. The CPU builds it and answers.
 *   hybrid  The same, with a copy of the index's upper part in the GPU's memory:
 *           pivots, nodes, a guide, segments, the first levels of eytzinger (sorted has no
 *           upper part: SX_ENOSYS). The GPU walks the upper part for a batch and the
 *           CPU goes on from there, so the index may be larger than the GPU's memory.
 *           `auto` takes this place if a build would not fit the GPU's memory.
 *   both    All of the index is in either memory; the GPU builds it. For columns of
 *           the host the side answers that is faster for that many queries. For
 *           columns in device memory and streams the GPU answers.
 * On a CPU only host can be (SX_ENOSYS for the others). With host and hybrid, columns
 * may be in device memory, but there are no streams (SX_ENOSYS). Which side is faster is
 * computed from times that were measured when the device and the index were new, and so
 * is whether the GPU helps a hybrid index with a batch; sx_explain() shows the numbers.
 * A file does not keep the place: flags tell sx_load() the place. */
SX_API sx_status sx_build(sx_index **out, sx_device *dev, const char *spec,
                          const sx_column *keys, const sx_column *rows,
                          const sx_call *call);
SX_API void sx_free(sx_index *ix);

/* Upper bounds for an index that is not built yet: of these keys ... */
typedef struct {
    size_t size;                  /* sizeof(sx_estimate_ask) */
    uint64_t n;                   /* keys */
    int32_t key_type;             /* sx_type */
    int32_t row_type;             /* SX_U32, SX_U64; 0: rows are positions */
    uint64_t bytes;               /* SX_STR: of all keys together */
} sx_estimate_ask;

/* ... it takes no more than these bytes. */
typedef struct {
    size_t size;                  /* sizeof(sx_estimate_info) */
    uint64_t host_resident;       /* bytes of the finished index ... */
    uint64_t host_peak;           /* ... and the most while it is built */
    uint64_t device_resident;
    uint64_t device_peak;
} sx_estimate_info;

SX_API sx_status sx_estimate(sx_device *dev, const char *spec,
                             const sx_estimate_ask *ask,
                             sx_estimate_info *out);

/* ---- what can be -------------------------------------------------------- */

typedef struct {
    size_t size;                  /* sizeof(sx_family_info) */
    char name[32];                /* as specs have it */
    char what[96];                /* what it is, in a few words */
    char parameters[128];         /* their names: "k, layout, block" */
} sx_family_info;

/* The i-th family this library knows. SX_EINVAL past the last one. */
SX_API sx_status sx_family_at(unsigned i, sx_family_info *info);

/* The i-th thing that can be done with an index: "build", "get", ... "load", and
 * "device_columns", "streams", which questions can have. NULL past the last. */
SX_API const char *sx_verb_at(unsigned i);

/* Whether an index of this spec and key type, in this place ("host", "device",
 * "hybrid", "both"), can do this verb on such a device. The device need not be there:
 * only its name up to a colon or comma counts. SX_ENOSYS: it can't, and the detail says
 * why. The library's tests do all that can be. */
SX_API sx_status sx_possible(const char *spec, int key_type, const char *verb,
                             const char *place, const char *device);

/* ---- questions ------------------------------------------------------------
 *
 * Queries have the index's key type. Rows and ranks go to U32 or U64
 * columns of at least as many elements as there are queries; a U32 column
 * that could not hold the largest row (or rank) is refused beforehand. Rows
 * and ranks are aligned as such numbers are; keys need not be. Outputs must
 * not overlap inputs. */

/* The row of the first key equal to q[i]; all ones if there is none. */
SX_API sx_status sx_get(const sx_index *ix, const sx_column *q,
                        sx_column *rows, const sx_call *call);

/* How many keys are below q[i] (SX_LEFT), or below or equal (SX_RIGHT). */
typedef enum { SX_LEFT = 0, SX_RIGHT = 1 } sx_side;
SX_API sx_status sx_rank(const sx_index *ix, const sx_column *q,
                         sx_side side, sx_column *ranks,
                         const sx_call *call);

/* The last key at or below q[i], the first key at or above it: its row,
 * and the key itself if keys is not NULL. If there is no such key, the row is
 * all ones and the key is left alone. rows may be NULL if keys is not. */
SX_API sx_status sx_floor(const sx_index *ix, const sx_column *q,
                          sx_column *rows, sx_column *keys,
                          const sx_call *call);
SX_API sx_status sx_ceil(const sx_index *ix, const sx_column *q,
                         sx_column *rows, sx_column *keys,
                         const sx_call *call);

/* The key and the row at ranks[i] (U32 or U64) in ascending order; either
 * output may be NULL. A rank past the end: all ones in rows, keys left alone. */
SX_API sx_status sx_key_at(const sx_index *ix, const sx_column *ranks,
                           sx_column *keys, sx_column *rows,
                           const sx_call *call);

typedef struct {                  /* lo[i] <= key <= hi[i], all i */
    size_t size;                  /* sizeof(sx_ranges) */
    const sx_column *lo, *hi;     /* of equal length; lo > hi: empty */
    uint64_t limit;               /* the most results of each range, the first
                                     ones; 0: no limit */
    uint32_t last;                /* not 0: the last ones instead */
    uint32_t reserved;            /* zero */
} sx_ranges;

/* counts[i] (U64): how many keys range i holds, the limit applied. */
SX_API sx_status sx_range_count(const sx_index *ix, const sx_ranges *ranges,
                                sx_column *counts, const sx_call *call);

/* Rows, and keys, of range i go to [first[i], first[i+1]) of rows and keys, in
 * ascending order of keys. rows and keys may be NULL. first must be U64 and have one
 * element more than there are ranges (SX_EINVAL if not).
 *
 * SX_ESPACE: an output is too small. first is filled and nothing else is; first[n] is
 * how many elements are needed. So a call with rows and keys NULL tells the sizes for
 * the next call. With a stream the device compares the sizes. A GPU that runs out of
 * memory while it fills outputs on the host has filled first, too; a GPU that fails
 * leaves first undefined.
 *
 * 2^64 hits or more are refused (SX_EINVAL) before first is touched; with a stream,
 * if ranges times keys, or ranges times the limit, are as many. Columns must not
 * change meanwhile, not even first. If they do, answers are wrong, but nothing is
 * written outside of the outputs. */
SX_API sx_status sx_range(const sx_index *ix, const sx_ranges *ranges,
                          sx_column *first, sx_column *rows,
                          sx_column *keys, const sx_call *call);

typedef struct {                  /* over the rows of each range; U64; */
    size_t size;                  /* sizeof(sx_aggregates) */
    sx_column *count;             /* NULL: not wanted */
    sx_column *min, *max;         /* empty range: all ones */
    sx_column *sum;               /* modulo 2^64; empty range: 0 */
} sx_aggregates;
SX_API sx_status sx_range_aggregate(const sx_index *ix,
                                    const sx_ranges *ranges,
                                    sx_aggregates *out, const sx_call *call);

typedef struct {                  /* keys that begin as of[i] does, all i */
    size_t size;                  /* sizeof(sx_prefixes) */
    const sx_column *of;          /* of the index's type; of strings all bytes count, of
                                     others only the bits of the prefix */
    const sx_column *bits;        /* U32, as many, in the same place: how many bits of
                                     each, from the highest on; NULL: `length` of all */
    uint32_t length;              /* strings: 0, and bits NULL */
    uint32_t last;                /* as in sx_ranges */
    uint64_t limit;               /* the same */
    uint64_t reserved;            /* zero */
} sx_prefixes;

/* As sx_range() for all keys that begin with a prefix: CIDR blocks, completions of words. 0
 * bits, or no bytes: every key. Integers begin with their highest bit, 16 bytes with the
 * first; floats and times have none (SX_ENOSYS). More bits than a key has are refused
 * (SX_EINVAL); where `bits` is in device memory they count as all of the key. */
SX_API sx_status sx_prefix(const sx_index *ix, const sx_prefixes *prefixes,
                           sx_column *first, sx_column *rows,
                           sx_column *keys, const sx_call *call);

typedef struct {                  /* from of[i] to its parent, and on to the top */
    size_t size;                  /* sizeof(sx_climbs) */
    const sx_column *of;          /* keys */
    const sx_column *parents;     /* parents[r] is the parent of the key with row r, a
                                     key too; one for each row up to the largest */
    uint32_t limit;               /* the most steps of each; 0: no limit */
    uint32_t reserved;            /* zero */
} sx_climbs;

/* All steps in one call. The top is the first key that is its own parent, or whose parent
 * is not in the index, or that is `limit` steps away. rows[i]: its row, and all ones if
 * of[i] is not in the index; keys[i]: the top itself, left alone (of strings: empty) if there
 * is none; steps[i] (U32): how many steps it is away, 0 if of[i] is not in the index. Any
 * output may be NULL, not all.
 *
 * Without a limit, parents that lead in a circle have no top: the row is all ones and so
 * are the steps. Then the call fails (SX_EINVAL), names the first such key in its detail,
 * and has filled the outputs for all keys. There are no streams (SX_ENOSYS). Parents on the
 * host of an index on a GPU take as much memory there during the call. */
SX_API sx_status sx_climb(const sx_index *ix, const sx_climbs *climbs,
                          sx_column *rows, sx_column *keys, sx_column *steps,
                          const sx_call *call);

/* ---- collecting single keys ---------------------------------------------
 *
 * Threads that each have one key at a time hand it to a collector and wait;
 * it asks the index about many at once. A batch is asked when it is full, or
 * when its first key has waited for the interval, or, if the collector is
 * eager, when nothing else is being asked. The collector has no thread
 * of its own: whoever fills a batch, or sees its time over, asks for all.
 *
 * It pays on a GPU, where a call for one key takes 10 microseconds and more,
 * and where many threads have a key each: 16 got 2.4 times as many answers as
 * by calls of their own, 256 got 4.7 times, and 4 fewer (an H200, see
 * doc/PERFORMANCE.md). On a CPU it does not: a call for one key takes less
 * than handing the key over, whatever the number of threads. */

typedef struct sx_collector sx_collector;

#define SX_COLLECT_MOST 65536u    /* keys in a batch */

typedef struct {                  /* NULL: all defaults */
    size_t size;                  /* sizeof(sx_collect_options) */
    uint32_t batch;               /* keys that make a batch; 0: 1024. It never has
                                     more keys than there are threads */
    uint32_t interval_us;         /* the longest that a key waits for others; 0: 50.
                                     The system's timers come late by their
                                     slack, on Linux 50 us */
    uint32_t eager;               /* 1: keys wait only while another batch is
                                     being asked about */
    uint32_t reserved;            /* zero */
} sx_collect_options;

/* The collector does not keep the index: it has to outlive the collector. */
SX_API sx_status sx_collector_new(sx_collector **out, const sx_index *ix,
                                  const sx_collect_options *options);

/* Answers the keys that were submitted before, and waits until no thread is inside
 * sx_collect(). New calls of sx_collect() fail with SX_EINVAL, "is closing": so threads
 * that still submit learn that it is over, and you can join them before
 * sx_collector_free(), which also closes. */
SX_API void sx_collector_close(sx_collector *c);
SX_API void sx_collector_free(sx_collector *c);

/* The question about a key: its row as from sx_get(), its rank as from sx_rank(),
 * or the row as from sx_floor() and sx_ceil(). Each has batches of its own. */
typedef enum { SX_ASK_GET = 0, SX_ASK_RANK_LEFT, SX_ASK_RANK_RIGHT, SX_ASK_FLOOR,
               SX_ASK_CEIL } sx_ask;

/* A string, for sx_collect(). */
typedef struct {
    const void *data;
    uint64_t bytes;
} sx_string;

/* The answer for one key of the index's type, SX_MISS for no match. For strings, key is an
 * sx_string, which is copied.
 * timeout_us: below 0 it waits as long as it takes. Otherwise it is SX_ETIMEDOUT
 * if there is no answer in that time, and *answer stays as it is. 0: an answer
 * only if this key need not wait. A thread that asks for a batch stays until it
 * has the answer. If the batch fails, all its submitters get its status and
 * sentence. After fork() the child has the collector to itself. */
SX_API sx_status sx_collect(sx_collector *c, sx_ask what, const void *key,
                            uint64_t *answer, int64_t timeout_us);

typedef struct {
    size_t size;                  /* sizeof(sx_collector_info) */
    uint32_t batch, interval_us;  /* in use */
    uint32_t eager, reserved;
    uint64_t batches;             /* that were asked ... */
    uint64_t full;                /* ... and of these because they were full */
    uint64_t answered;            /* keys */
    uint64_t failed;              /* keys of batches that failed */
    uint64_t timed_out;           /* keys whose submitters gave up */
} sx_collector_info;
SX_API sx_status sx_collector_describe(sx_collector *c, sx_collector_info *info);

/* ---- files ------------------------------------------------------------- */

/* Writes a temporary file beside path, syncs it and renames it to path. An
 * ordinary file there is replaced; so is a link, but not the file it leads to.
 *
 * The new file belongs to the saver and its group. It keeps the old file's
 * permissions, mode bits 0777 (never set-user-ID and its like), with two
 * exceptions: if the old file was another user's, group and others may not
 * write; if it was of another group, the group may do what others may. If there
 * was no file, or a link, it is as open(path, O_CREAT, 0666) makes one. Until it
 * is whole, only its owner may open it. But on file systems without nameless
 * files a new one is open to others for a moment, before anything is written.
 *
 * While it is written it has no name, so a process that is killed leaves
 * nothing. Just before the rename it is called .sextant-PID-N.tmp, on file
 * systems without nameless files from the start: a process that is killed then
 * leaves a file of that name. Each sx_save() removes such files of its user from
 * path's folder, unless somebody has them locked (flock()), as savers do. (On a
 * network file system that does not show one machine the locks of another, that
 * can make a save on the other fail with SX_EIO, which leaves all as it was.)
 *
 * An index in a GPU's memory is copied to the host first: the copy counts for
 * max_bytes (SX_ENOMEM). One thread does the work, whatever `threads` is. */
SX_API sx_status sx_save(const sx_index *ix, const char *path,
                         const sx_call *call);

/* The file is mapped, and must not be changed while the index lives. The header and
 * the gaps between sections are always verified. The data are verified if
 * SX_LOAD_VERIFY is set: then no bit of the file can have changed.
 * A damaged file never makes a lookup read outside the index. Files of Sextant before
 * 0.3 have another format: SX_ECORRUPT, and the detail says so.
 *
 * At most one flag says a place, as place= does in a spec (sx_build()). Without one
 * the index goes to the memory of the device. With SX_LOAD_HYBRID and SX_LOAD_BOTH
 * the times of questions are measured, as in a build. Sections on the host stay mapped,
 * except those of the host's side of SX_LOAD_BOTH.
 *
 * Sections count for max_bytes once for each place where they are in memory of their
 * own: on the host with SX_LOAD_COPY, on a GPU (of a hybrid index only its upper part),
 * and on the host's side of SX_LOAD_BOTH. A mapped file does not count. One thread does
 * the work, whatever `threads` is. */
#define SX_LOAD_COPY   1u         /* read into memory instead of mapping */
#define SX_LOAD_VERIFY 2u         /* compare the checksum of all data */
#define SX_LOAD_HOST   4u         /* place=host */
#define SX_LOAD_DEVICE 8u         /* place=device */
#define SX_LOAD_HYBRID 16u        /* place=hybrid */
#define SX_LOAD_BOTH   32u        /* place=both */
SX_API sx_status sx_load(sx_index **out, sx_device *dev, const char *path,
                         unsigned flags, const sx_call *call);

/* ---- notes ---------------------------------------------------------------
 *
 * Pairs of text that you keep in an index: what its keys are, their unit, how they
 * were written. Files have them. sx_explain() lists them, and nothing else looks at
 * them. Setting a note is not safe beside any other call on the same index; reading
 * is safe beside reading and questions. */

#define SX_NOTES_MOST 64u         /* notes of an index ... */
#define SX_NOTES_BYTES_MOST 65536u  /* ... and their bytes, with a NUL for each text */
#define SX_NOTE_NAME_MOST 63u     /* bytes of a name, without the NUL: at least 1 */
#define SX_NOTE_VALUE_MOST 4095u  /* bytes of a value, without the NUL */

/* Sets a note, in place of the one of that name, or takes it away (value NULL; fine
 * if there is none). Both texts are UTF-8. A name has no control characters and no '='.
 * Notes beyond these limits are SX_EINVAL, and all notes stay as they were. */
SX_API sx_status sx_note(sx_index *ix, const char *name, const char *value);

/* The value of a note, or NULL; and the i-th note, in the order of the names' bytes
 * (SX_EINVAL past the last one). These texts are the index's, and valid until a note is
 * set or the index freed. */
SX_API const char *sx_note_of(const sx_index *ix, const char *name);
SX_API sx_status sx_note_at(const sx_index *ix, unsigned i, const char **name,
                            const char **value);

/* ---- looking at an index ------------------------------------------------- */

#define SX_SPEC_MAX 128

typedef struct {
    size_t size;                  /* sizeof(sx_index_info) */
    uint64_t n;                   /* keys */
    uint64_t max_row;             /* 0 when empty */
    uint64_t bytes;               /* of all sections, and of memory they have to grow */
    int32_t key_type;             /* sx_type */
    int32_t row_type;             /* SX_U32 if every row fits, else SX_U64 */
    uint32_t unique;              /* built as unique */
    uint32_t implicit_rows;       /* rows are positions: none are stored */
    char spec[SX_SPEC_MAX];       /* resolved: builds the same bytes again */
} sx_index_info;
SX_API sx_status sx_describe(const sx_index *ix, sx_index_info *info);

/* Writes a NUL-terminated text of how the index is made up. *bytes is the size of buf,
 * and becomes the length of the text with its NUL. buf NULL or too small: SX_ESPACE. */
typedef enum { SX_TEXT = 0, SX_JSON = 1 } sx_format;
SX_API sx_status sx_explain(const sx_index *ix, sx_format format, char *buf,
                            size_t *bytes);

/* Proves every invariant of the index; SX_ECORRUPT names the broken one. For
 * max_bytes and `threads` see sx_save(). */
SX_API sx_status sx_check(const sx_index *ix, const sx_call *call);

/* The index as kernels of the caller see it, to be passed to them by value: handle is an
 * sx_handle of sextant_device.cuh, bytes its size. It is valid as long as the index is,
 * and always has the keys that the index has now: these stay in memory for it, whatever
 * replaces them. */
SX_API sx_status sx_kernel_handle(const sx_index *ix, void *handle,
                                  size_t bytes);

/* Size of one element of a type; 0: no such type, or strings. "u64" etc. and back. */
SX_API size_t sx_type_bytes(int type);
SX_API const char *sx_type_name(int type);
SX_API int sx_type_named(const char *name);   /* 0: no such name */

#ifdef __cplusplus
}
#endif
#endif /* SEXTANT_H */
