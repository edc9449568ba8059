/* support.h - what the tests share: random numbers, memory that traps, keys,
 * devices and temporary files. Nothing here uses cmocka, so threads and child
 * processes can call it.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "sextant.h"

#define COUNT_OF(a) (sizeof (a) / sizeof *(a))

/* Prints a sentence and exits with 1, if the test itself can't continue. */
_Noreturn void die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void *need(size_t bytes);         /* malloc() that dies */

/* Ends a cmocka test that can't be run here, and says why for the summary. */
#define SKIP(why) do { say_skipped(why); skip(); } while (0)
void say_skipped(const char *why);

/* Whether a sanitizer is compiled in; they take many times as long. */
#ifdef __has_feature              /* clang's way to say it */
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__       /* gcc's */
#define UNDER_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

/* From now on a crash prints this text, which may change, and ends the program.
 * To be called in a test. cmocka would continue, but a crash inside the emulator
 * leaves it in the middle of a kernel. */
void say_on_crash(const char *text);

/* ---- time ----------------------------------------------------------- */

/* Seconds after which a test hangs, even on the busiest machine. */
#define HANGS_S 1200

/* Stops the library's clock; moves it, which is the only way it goes on; makes it the
 * machine's again. */
void clock_stop(void);
void clock_move(uint64_t ns);
void clock_go(void);

/* ---- random numbers ------------------------------------------------- */

typedef struct { uint64_t state; } rnd;

/* SX_SEED of the environment, or the default. Printed once. */
uint64_t test_seed(void);
rnd rnd_start(uint64_t seed);
uint64_t rnd_next(rnd *r);
uint64_t rnd_below(rnd *r, uint64_t n);         /* 0 .. n-1 */

/* ---- memory between pages that trap ------------------------------------ */

typedef struct {
    unsigned char *base;          /* first usable byte, behind a trap page */
    size_t space;                  /* usable bytes, a trap page follows */
    unsigned char *data;          /* the block that guard_fit() gave out ... */
    size_t bytes;                 /* ... and its size */
} guard;

guard guard_new(size_t space);
void guard_free(guard *g);

/* A block whose end (at_end) or start touches a page that traps. The block and
 * the bytes on its other side are filled with GUARD_FILL. */
#define GUARD_FILL 0xa7
void *guard_fit(guard *g, size_t bytes, bool at_end);
bool guard_intact(const guard *g);              /* the neighbours are */

/* ---- keys and rows --------------------------------------------------- */

extern const int key_types[8];

bool key_special(int type, unsigned i, void *out);  /* false: past the last */
void key_random(int type, rnd *r, void *out);
void key_small(int type, uint64_t v, void *out);    /* v-th of a dense run */
void key_step(int type, const void *key, int direction, void *out);

typedef enum {
    KEYS_EQUAL,                   /* one key, n times */
    KEYS_EXTREMES,                /* 0, the maximum and their neighbours */
    KEYS_DENSE,                   /* no gaps, shuffled */
    KEYS_RANDOM,
    KEYS_DUPLICATES,              /* about eight of each, shuffled */
    KEYS_SPECIAL,                 /* NaNs, infinities, -0.0; then random */
    /* Keys against searches that guess (keys_hard.c): in the order of the
     * type, from its least key to its largest. */
    KEYS_POWERS,                  /* 1, 2, 4, 8 ..., more and more of each */
    KEYS_EDGES,                   /* around 0, the maximum, and halfway */
    KEYS_STEPS,                   /* long runs of equal keys, equally far apart */
    KEYS_RUNS,                    /* no gaps, but for a few huge ones */
    KEYS_OUTLIER,                 /* no gaps, but one key at the other end */
    KEYS_PIECES,                  /* equally deep pieces, empty in the middle, that
                                     begin and end with runs of equal keys */
    KEYS_LINE,                    /* on a line, some off it by 2^i or one more */
    KEYS_ROOTS,                   /* dense at one end ... */
    KEYS_SQUARES,                 /* ... and at the other */
    KEYS_LONG_RUN,                /* half of them equal, others on both sides */
    KEYS_MOST,                    /* the largest key, n times */
    KEYS_KINDS
} key_kind;
#define KEYS_HARD KEYS_POWERS     /* the first of those */
/* n keys of such a kind, in any order. */
void keys_hard(int type, key_kind kind, uint64_t n, rnd *r, void *out);
void keys_make(int type, key_kind kind, uint64_t n, rnd *r, void *out);

typedef enum {
    ROWS_NULL,                    /* positions in shuffled keys */
    ROWS_IMPLICIT,                /* positions in sorted keys */
    ROWS_U32,
    ROWS_U64_SMALL,               /* U64, but 32 bits would do */
    ROWS_U64_EDGE,                /* up to the first that 32 bits can't do */
    ROWS_U64_WIDE,
    ROWS_KINDS
} row_kind;
void rows_make(row_kind kind, uint64_t n, rnd *r, uint64_t *out);

sx_column column(int type, uint64_t n, const void *data);

/* ---- devices -------------------------------------------------------- */

#define SIMD_LEVELS 4
extern const char *const simd_names[SIMD_LEVELS];   /* "cpu:scalar" ... */

/* Devices that run the GPU's kernels: the emulator, or the GPU that SX_TEST_GPU
 * names (cuda:0). Every value of every option occurs, and on the emulator threads
 * take turns in three orders. */
#define KERNEL_OPTIONS 21u
#define KERNEL_DEVICES (3 * KERNEL_OPTIONS)         /* at most */
unsigned kernel_devices(void);
const char *kernel_device(unsigned i);              /* below kernel_devices() */
const char *kernel_options(unsigned i);             /* ... its options */
bool kernel_is_gpu(void);                           /* not the emulator */

/* The device with these options ("": none), in one of a few static buffers. */
const char *kernel_with(const char *options);

/* Opens each; NULL if the processor lacks the instructions. */
void devices_open(sx_device *out[SIMD_LEVELS]);
void devices_close(sx_device *devices[SIMD_LEVELS]);
sx_device *device_open(const char *name);           /* dies */

/* sx_estimate() of n keys and rows of these types. */
sx_status estimate_of(sx_device *dev, const char *spec, int key_type, uint64_t n, int row_type,
                      sx_estimate_info *out);

/* ---- files ---------------------------------------------------------- */

/* A path in a directory of this run, which is removed when the process ends.
 * The same name gives the same path. Free it. */
char *temp_path(const char *name);
void write_file(const char *path, const void *data, size_t bytes);
unsigned char *read_file(const char *path, size_t *bytes);   /* free it */

/* The path of a file with these bytes, which the next call replaces. */
const char *memory_file(const void *data, size_t bytes);

/* The index saved to a temporary file and read back as bytes. */
unsigned char *saved_bytes(const sx_index *ix, const char *path,
                           size_t *bytes);

/* ---- JSON ------------------------------------------------------------- */

bool is_json(const char *text);   /* one value, nothing behind it */

#endif
