/* support.c - see support.h. */
#define _GNU_SOURCE               /* nftw(), memfd_create() */
#include "support.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/machine.h"

_Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("test can't go on: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *need(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        die("%zu bytes of memory", bytes);
    return p;
}

void say_skipped(const char *why)
{
    printf("skipped: %s\n", why);
    fflush(stdout);
}

static const char *crash_text;

static void crashed(int signal_number)
{
    static const char begin[] = "crashed: ";
    if (write(STDOUT_FILENO, begin, sizeof begin - 1) > 0 &&
        write(STDOUT_FILENO, crash_text, strlen(crash_text)) > 0)
        (void)!write(STDOUT_FILENO, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void say_on_crash(const char *text)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    crash_text = text;
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        signal(signals[i], crashed);
}

/* ---- time ----------------------------------------------------------- */

static _Atomic uint64_t stopped_at;

static uint64_t stopped_clock(void)
{
    return stopped_at;
}

void clock_stop(void)
{
    stopped_at = sx_clock_ns();
    sx_clock_replace(stopped_clock);
}

void clock_move(uint64_t ns)
{
    stopped_at += ns;
}

void clock_go(void)
{
    sx_clock_replace(NULL);
}

/* ---- random numbers ------------------------------------------------- */

#define DEFAULT_SEED 20261115

uint64_t test_seed(void)
{
    static bool known;
    static uint64_t seed = DEFAULT_SEED;
    if (!known) {
        const char *given = getenv("SX_SEED");
        if (given && *given)
            seed = strtoull(given, NULL, 0);
        printf("SX_SEED=%" PRIu64 "\n", seed);
        fflush(stdout);
        known = true;
    }
    return seed;
}

rnd rnd_start(uint64_t seed)
{
    return (rnd){ seed };
}

uint64_t rnd_next(rnd *r)         /* splitmix64 */
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t rnd_below(rnd *r, uint64_t n)
{
    return n ? rnd_next(r) % n : 0;
}

/* ---- memory between pages that trap ------------------------------------ */

#define CANARY 64                 /* bytes looked at on the open side */

guard guard_new(size_t space)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guard g = { .space = (space + CANARY + page) / page * page };
    unsigned char *map = mmap(NULL, g.space + 2 * page, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED ||
        mprotect(map + page, g.space, PROT_READ | PROT_WRITE))
        die("mapping %zu bytes: %s", g.space, strerror(errno));
    g.base = g.data = map + page;
    return g;
}

void guard_free(guard *g)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (g->base)
        munmap(g->base - page, g->space + 2 * page);
    *g = (guard){ 0 };
}

void *guard_fit(guard *g, size_t bytes, bool at_end)
{
    if (bytes + CANARY > g->space) {
        guard_free(g);
        *g = guard_new(bytes);
    }
    g->bytes = bytes;
    g->data = at_end ? g->base + g->space - bytes : g->base;
    memset(at_end ? g->data - CANARY : g->data, GUARD_FILL, bytes + CANARY);
    return g->data;
}

bool guard_intact(const guard *g)
{
    bool at_end = g->data != g->base;
    const unsigned char *open_side = at_end ? g->data - CANARY
                                            : g->data + g->bytes;
    for (size_t i = 0; i < CANARY; i++)
        if (open_side[i] != GUARD_FILL)
            return false;
    return true;
}

/* ---- keys and rows --------------------------------------------------- */

const int key_types[8] = { SX_U32, SX_U64, SX_I32, SX_I64,
                           SX_F32, SX_F64, SX_B16, SX_T64 };

/* The i-th of a list of values, as a key. */
#define SPECIAL(ctype, ...) do { \
        const ctype list[] = { __VA_ARGS__ }; \
        if (i >= COUNT_OF(list)) \
            return false; \
        memcpy(out, &list[i], sizeof list[i]); \
        return true; \
    } while (0)

bool key_special(int type, unsigned i, void *out)
{
    union { uint32_t u; float f; } nan32 = { 0xffc12345 };   /* negative, */
    union { uint64_t u; double f; } nan64 = { 0xfff8deadbeef1234 };
    union { uint32_t u; float f; } snan32 = { 0x7f800001 };  /* signalling */
    union { uint64_t u; double f; } snan64 = { 0x7ff0000000000001 };
    switch (type) {
    case SX_U32:
        SPECIAL(uint32_t, 0, UINT32_MAX, 1, UINT32_MAX - 1, 0x7fffffff,
                0x80000000);
    case SX_U64:
        SPECIAL(uint64_t, 0, UINT64_MAX, 1, UINT64_MAX - 1, UINT32_MAX,
                1ull << 32, 1ull << 63, (1ull << 63) - 1);
    case SX_I32:
        SPECIAL(int32_t, 0, INT32_MAX, INT32_MIN, -1, 1, INT32_MAX - 1,
                INT32_MIN + 1);
    case SX_I64: case SX_T64:
        SPECIAL(int64_t, 0, INT64_MAX, INT64_MIN, -1, 1, INT64_MAX - 1,
                INT64_MIN + 1, INT32_MIN, UINT32_MAX);
    case SX_F32:
        SPECIAL(uint32_t, 0 /* 0.0 */, 0x7f800000 /* +inf */,
                0xff800000 /* -inf */, 0x80000000 /* -0.0 */,
                0x7fc00000 /* NaN */, nan32.u, snan32.u, 0x7fffffff,
                0xffffffff, 1 /* least above 0 */, 0x80000001,
                0x7f7fffff /* most finite */, 0xff7fffff, 0x3f800000);
    case SX_F64:
        SPECIAL(uint64_t, 0, 0x7ff0000000000000, 0xfff0000000000000,
                0x8000000000000000, 0x7ff8000000000000, nan64.u, snan64.u,
                0x7fffffffffffffff, 0xffffffffffffffff, 1,
                0x8000000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
                0x3ff0000000000000);
    case SX_B16:
        if (i >= 6)
            return false;
        /* 00..00 ff..ff 00..01 ff..fe 00..7f|80..00 by halves */
        memset(out, i & 1 ? 0xff : 0, 16);
        if (i == 2 || i == 3)
            ((unsigned char *)out)[15] ^= 1;
        if (i == 4)
            memset((unsigned char *)out + 8, 0xff, 8);
        if (i == 5)
            memset((unsigned char *)out + 8, 0, 8);
        return true;
    default:
        die("key type %d", type);
    }
}

void key_random(int type, rnd *r, void *out)
{
    uint64_t x[2] = { rnd_next(r), rnd_next(r) };
    size_t width = sx_type_bytes(type);
    /* 16-byte keys: often equal in the first 8, then in the first 15. */
    if (type == SX_B16 && (x[1] & 3) == 0)
        memset(&x[0], (int)(x[1] >> 60), 8);
    if (type == SX_B16 && (x[1] & 15) == 0)
        x[1] |= 0x00ffffffffffffff;
    memcpy(out, x, width);
}

void key_small(int type, uint64_t v, void *out)
{
    switch (type) {
    case SX_U32: { uint32_t x = (uint32_t)v; memcpy(out, &x, 4); break; }
    case SX_I32: { int32_t x = (int32_t)v - 50; memcpy(out, &x, 4); break; }
    case SX_U64: { uint64_t x = v; memcpy(out, &x, 8); break; }
    case SX_I64: case SX_T64: { int64_t x = (int64_t)v - 50; memcpy(out, &x, 8); break; }
    case SX_F32: {
        float x = 0.25f * (float)((int64_t)v - 50);
        memcpy(out, &x, 4);
        break;
    }
    case SX_F64: {
        double x = 0.25 * (double)((int64_t)v - 50);
        memcpy(out, &x, 8);
        break;
    }
    case SX_B16: {
        unsigned char *b = out;
        memset(b, 0, 16);
        for (int i = 15; i >= 8; i--, v >>= 8)
            b[i] = (unsigned char)v;
        b[7] = 0x5e;              /* counts in the low half only */
        break;
    }
    default: die("key type %d", type);
    }
}

#define STEP_AS(ctype) do { \
        ctype x; \
        memcpy(&x, key, sizeof x); \
        x += (ctype)direction;    /* wraps, and may */ \
        memcpy(out, &x, sizeof x); \
    } while (0)

void key_step(int type, const void *key, int direction, void *out)
{
    switch (type) {
    case SX_U32: case SX_I32: STEP_AS(uint32_t); break;
    case SX_U64: case SX_I64: case SX_T64: STEP_AS(uint64_t); break;
    case SX_F32: {
        float x;
        memcpy(&x, key, 4);
        x = nextafterf(x, direction > 0 ? HUGE_VALF : -HUGE_VALF);
        memcpy(out, &x, 4);
        break;
    }
    case SX_F64: {
        double x;
        memcpy(&x, key, 8);
        x = nextafter(x, direction > 0 ? HUGE_VAL : -HUGE_VAL);
        memcpy(out, &x, 8);
        break;
    }
    case SX_B16: {
        unsigned char *b = out;
        memmove(b, key, 16);
        for (int i = 15; i >= 0; i--) {
            b[i] = (unsigned char)(b[i] + direction);
            if (b[i] != (direction > 0 ? 0 : 0xff))
                break;            /* no carry */
        }
        break;
    }
    default: die("key type %d", type);
    }
}

void keys_make(int type, key_kind kind, uint64_t n, rnd *r, void *out)
{
    unsigned char *keys = out, tmp[16];
    size_t width = sx_type_bytes(type);
    unsigned specials = 0;
    while (key_special(type, specials, tmp))
        specials++;
    key_random(type, r, tmp);
    if (kind >= KEYS_HARD)
        keys_hard(type, kind, n, r, out);
    for (uint64_t i = 0; i < n && kind < KEYS_HARD; i++) {
        unsigned char *k = keys + i * width;
        switch (kind) {
        case KEYS_EQUAL: memcpy(k, tmp, width); break;
        case KEYS_EXTREMES:       /* the first two: 0 and a maximum */
            key_special(type, i < 2 ? (unsigned)i :
                        (unsigned)rnd_below(r, 4), k);
            break;
        case KEYS_DENSE: key_small(type, i, k); break;
        case KEYS_RANDOM: key_random(type, r, k); break;
        case KEYS_DUPLICATES: key_small(type, rnd_below(r, n / 8 + 1), k); break;
        case KEYS_SPECIAL:
            if (i < 2 * specials || rnd_below(r, 2))
                key_special(type, (unsigned)(i % specials), k);
            else
                key_random(type, r, k);
            break;
        default: die("kind of keys %d", (int)kind);
        }
    }
    for (uint64_t i = n; i > 1; i--) {              /* shuffle */
        unsigned char *a = keys + (i - 1) * width;
        unsigned char *b = keys + rnd_below(r, i) * width;
        memcpy(tmp, a, width);
        memmove(a, b, width);
        memcpy(b, tmp, width);
    }
}

void rows_make(row_kind kind, uint64_t n, rnd *r, uint64_t *out)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = rnd_next(r);
        switch (kind) {
        case ROWS_U32:            /* up to the last that is not reserved */
            out[i] = i == n / 2 ? UINT32_MAX - 1 : (uint32_t)x % UINT32_MAX;
            break;
        case ROWS_U64_SMALL: out[i] = x % 1000; break;
        case ROWS_U64_EDGE:
            out[i] = i == n / 2 ? UINT32_MAX : x % UINT32_MAX;
            break;
        case ROWS_U64_WIDE:
            out[i] = i == n / 2 ? UINT64_MAX - 1 : x % UINT64_MAX;
            break;
        default: out[i] = i; break;
        }
    }
}

sx_column column(int type, uint64_t n, const void *data)
{
    return (sx_column){ .type = type, .n = n, .data = (void *)data };
}

/* ---- devices -------------------------------------------------------- */

const char *const simd_names[SIMD_LEVELS] = {
    "cpu:scalar", "cpu:avx2", "cpu:avx512,walk=alone", "cpu:avx512,walk=whole"
};

static const char *const kernel_told[KERNEL_OPTIONS] = {
    "",
    "walk=alone,pin=none,bucket=16,side=gpu",
    "walk=alone,pin=steps,bucket=33,side=gpu,strategy=double",
    "walk=alone,pin=full,bucket=50,side=gpu",
    "walk=shared,pin=none,bucket=64,side=gpu,blocks=2",
    "walk=shared,pin=steps,schedule=dynamic,each=2",
    "walk=shared,pin=full,bucket=24,side=gpu",
    "pin=constant",
    "walk=group,bucket=17,side=gpu,strategy=sequential",
    "walk=whole,bucket=21,side=gpu",
    "reorder=lookup,bucket=40,side=gpu",
    "reorder=double,pin=steps,block=256,each=8",
    "schedule=dynamic,each=3,block=128",
    "schedule=static,side=cpu",
    "scan=thread",
    "scan=warp",
    "scan=mixed",
    "search=complete,pin=full,bucket=19",
    "search=concise,bucket=21",
    "persist=0",
    "memory=1GiB,persist=64KiB,reorder=none,block=256,each=1",
};

static const char *kernel_base(void)
{
    const char *gpu = getenv("SX_TEST_GPU");
    return gpu && *gpu ? gpu : "simt";
}

bool kernel_is_gpu(void)
{
    return strncmp(kernel_base(), "simt", 4) != 0;
}

const char *kernel_with(const char *options)
{
    static char names[8][160];
    static unsigned turn;
    char *name = names[turn++ % COUNT_OF(names)];
    snprintf(name, sizeof names[0], "%s%s%s", kernel_base(), *options ? "," : "", options);
    return name;
}

static bool orders_vary(void)
{
    return strcmp(kernel_base(), "simt") == 0;
}

unsigned kernel_devices(void)
{
    return orders_vary() ? KERNEL_DEVICES : KERNEL_OPTIONS;
}

const char *kernel_options(unsigned i)
{
    return kernel_told[i % KERNEL_OPTIONS];
}

/* 20 and 3 have no common divisor: each option meets each order. */
const char *kernel_device(unsigned i)
{
    static char names[KERNEL_DEVICES][160];
    const char *options = kernel_options(i);
    char order[32] = "";
    if (orders_vary() && i % 3 == 1)
        snprintf(order, sizeof order, ":reversed");
    else if (orders_vary() && i % 3 == 2)
        snprintf(order, sizeof order, ":seed=%u", i);
    snprintf(names[i], sizeof names[i], "%s%s%s%s", kernel_base(), order, *options ? "," : "",
             options);
    return names[i];
}

void devices_open(sx_device *out[SIMD_LEVELS])
{
    for (int i = 0; i < SIMD_LEVELS; i++) {
        out[i] = NULL;
        sx_status s = sx_open(&out[i], simd_names[i]);
        if (s != SX_OK && (s != SX_ENODEV || i == 0))
            die("opening %s: %s", simd_names[i], sx_detail());
    }
}

void devices_close(sx_device *devices[SIMD_LEVELS])
{
    for (int i = 0; i < SIMD_LEVELS; i++)
        if (devices[i])
            sx_close(devices[i]);
}

sx_device *device_open(const char *name)
{
    sx_device *dev = NULL;
    if (sx_open(&dev, name) != SX_OK)
        die("opening %s: %s", name ? name : "the best device", sx_detail());
    return dev;
}

sx_status estimate_of(sx_device *dev, const char *spec, int key_type, uint64_t n, int row_type,
                      sx_estimate_info *out)
{
    sx_estimate_ask ask = { .size = sizeof ask, .n = n, .key_type = key_type,
                            .row_type = row_type };
    return sx_estimate(dev, spec, &ask, out);
}

/* ---- files ---------------------------------------------------------- */

static char temp_dir[PATH_MAX];
static pid_t temp_owner;

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_temp_dir(void)
{
    if (getpid() == temp_owner)   /* not in forked children */
        nftw(temp_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *temp_path(const char *name)
{
    if (!temp_owner) {
        /* Thousands of small files are synced, which is faster in memory. */
        const char *dir = getenv("TMPDIR");
        if (!dir || !*dir)
            dir = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(temp_dir, sizeof temp_dir, "%s/sextant-test-XXXXXX", dir);
        if (!mkdtemp(temp_dir))
            die("making %s: %s", temp_dir, strerror(errno));
        temp_owner = getpid();
        atexit(remove_temp_dir);
    }
    size_t space = strlen(temp_dir) + strlen(name) + 2;
    char *path = need(space);
    snprintf(path, space, "%s/%s", temp_dir, name);
    return path;
}

void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
        die("writing %s: %s", path, strerror(errno));
}

unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        die("reading %s: %s", path, strerror(errno));
    long end = ftell(f);
    if (end < 0)
        die("reading %s: %s", path, strerror(errno));
    rewind(f);
    unsigned char *data = need((size_t)end);
    if (fread(data, 1, (size_t)end, f) != (size_t)end)
        die("reading %s: %s", path, strerror(errno));
    fclose(f);
    *bytes = (size_t)end;
    return data;
}

const char *memory_file(const void *data, size_t bytes)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("sextant-test", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 ||
        pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
        die("writing a file in memory: %s", strerror(errno));
    return path;
}

unsigned char *saved_bytes(const sx_index *ix, const char *path,
                           size_t *bytes)
{
    if (sx_save(ix, path, NULL) != SX_OK)
        die("saving %s: %s", path, sx_detail());
    return read_file(path, bytes);
}

/* ---- JSON ------------------------------------------------------------- */

/* Each of these returns the text behind the thing it read, or NULL. */
static const char *json_value(const char *s);

static const char *json_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

static const char *json_string(const char *s)
{
    if (*s++ != '"')
        return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x80)
            return NULL;          /* also at the end; we write ASCII only */
        if (*s == '\\') {
            s++;
            if (*s == 'u' && strspn(s + 1, "0123456789abcdefABCDEF") >= 4)
                s += 4;
            else if (!*s || !strchr("\"\\/bfnrt", *s))
                return NULL;
        }
    }
    return s + 1;
}

static const char *json_number(const char *s)
{
    size_t digits = strspn(s += *s == '-', "0123456789");
    if (digits == 0 || (digits > 1 && *s == '0'))
        return NULL;
    s += digits;
    if (*s == '.') {
        digits = strspn(++s, "0123456789");
        if (digits == 0)
            return NULL;
        s += digits;
    }
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '+' || s[1] == '-');
        digits = strspn(s, "0123456789");
        if (digits == 0)
            return NULL;
        s += digits;
    }
    return s;
}

/* [a, b ...] or {"a": b, ...} */
static const char *json_list(const char *s, char end)
{
    s = json_blanks(s + 1);
    if (*s == end)
        return s + 1;
    for (;; s++) {
        if (end == '}') {
            s = json_string(json_blanks(s));
            if (!s || *(s = json_blanks(s)) != ':')
                return NULL;
            s++;
        }
        s = json_value(s);
        if (!s || (*(s = json_blanks(s)) != ',' && *s != end))
            return NULL;
        if (*s == end)
            return s + 1;
    }
}

static const char *json_value(const char *s)
{
    static const char *const words[] = { "true", "false", "null" };
    s = json_blanks(s);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    return *s == '"' ? json_string(s) : *s == '{' ? json_list(s, '}')
         : *s == '[' ? json_list(s, ']') : json_number(s);
}

bool is_json(const char *text)
{
    const char *end = json_value(text);
    return end && *json_blanks(end) == '\0';
}
