/* file.c - saving and loading (doc/FORMAT.md).
 *
 * A file is believed only as far as it can be checked: from the header come
 * a spec, a type and a number of keys; everything else, down to the offset
 * of each section, follows from these and must be exactly so. Lengths are
 * compared with the file's real size before anything is allocated. */
#define _GNU_SOURCE
#include "place/store.h"

#include "base/alloc.h"
#include "place/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define FORMAT 1u
#define ORDER_MARK 0x01020304u
#define FLAG_UNIQUE 1u            /* it was told so */
#define FLAG_DISTINCT 2u          /* it is so */
#define WHY_NAME "why"
/* All kinds, and why. */
#define TABLE_MAX (SX_SECTIONS + 1)

static const unsigned char magic[8] = {0x89, 'S', 'X', 'T', 0x0d, 0x0a, 0x1a, 0x0a};

typedef struct {
    unsigned char magic[8];
    uint32_t format;
    uint32_t order_mark;
    uint64_t file_bytes;
    uint64_t header_hash;         /* of the header and table, this as 0 */
    uint32_t header_bytes;
    uint32_t sections;
    uint64_t n;
    uint64_t max_row;
    uint32_t key_type;
    uint8_t width, row_bytes;
    uint16_t flags;
    char spec[SX_SPEC_MAX];
    uint64_t keys;                /* that are stored: n, but for layout=once */
    unsigned char zero[56];
} file_header;

typedef struct {
    char name[16];
    uint64_t offset;
    uint64_t bytes;
    uint64_t hash;
    unsigned char zero[24];
} file_section;

typedef struct {
    file_header head;
    file_section table[TABLE_MAX];
} file_front;

_Static_assert(sizeof(file_header) == 256, "the header is 256 bytes");
_Static_assert(sizeof(file_section) == 64, "a table entry is 64 bytes");

static uint64_t hash_front(const file_front *front)
{
    file_front copy = *front;

    copy.head.header_hash = 0;
    return XXH3_64bits(&copy, copy.head.header_bytes);
}

/* Bytes, all zero, up to where the next section begins, or the file ends. */
static uint64_t gap_behind(const file_section *e)
{
    return sx_round_up(e->bytes, SX_LINE) - e->bytes;
}

/* The table a store must have, but for hashes; returns the file's bytes.
 * data[i] is where section i lies in memory. */
static uint64_t lay_out(const sx_store *store, size_t why_bytes, file_front *front,
                        const void *data[TABLE_MAX])
{
    uint64_t at;
    uint32_t count = 0;

    memset(front->table, 0, sizeof front->table);
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(&store->view, kind);
        if (bytes == 0)
            continue;
        strncpy(front->table[count].name, sx_section_name(&store->view, kind), 15);
        front->table[count].bytes = bytes;
        data[count++] = store->base[kind];
    }
    if (why_bytes > 0) {
        strncpy(front->table[count].name, WHY_NAME, 15);
        front->table[count].bytes = why_bytes;
        data[count++] = store->why;
    }
    front->head.sections = count;
    front->head.header_bytes = (uint32_t)(sizeof(file_header) + count * sizeof(file_section));
    at = front->head.header_bytes;
    for (uint32_t i = 0; i < count; i++) {
        front->table[i].offset = at;
        at += front->table[i].bytes + gap_behind(&front->table[i]);
    }
    return at;
}

/* ---- checksums ----------------------------------------------------------- */

#define PIECE (4u << 20)          /* bytes between two looks at progress */

/* A byte is a unit of progress. */
static sx_status hash_section(const void *data, uint64_t bytes, sx_progress *progress,
                              uint64_t *out, sx_err *err)
{
    XXH3_state_t *state;

    if (!progress) {
        *out = XXH3_64bits(data, bytes);
        return SX_OK;
    }
    state = XXH3_createState();
    if (!state)
        return sx_fail(err, SX_ENOMEM, "no memory for a checksum's state");
    XXH3_64bits_reset(state);
    for (uint64_t at = 0, n; at < bytes && !sx_progress_stopped(progress); at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        XXH3_64bits_update(state, (const unsigned char *)data + at, n);
        sx_progress_add(progress, n);
    }
    *out = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return sx_progress_status(progress, err);
}

/* ---- saving --------------------------------------------------------------- */

sx_status sx_store_save(const sx_store *store, const char *path, sx_progress *progress,
                        sx_err *err)
{
    file_front front;
    sx_spec spec = store->spec;
    const void *data[TABLE_MAX];
    static const unsigned char zeros[SX_LINE];
    sx_part parts[1 + 2 * TABLE_MAX];     /* the front, then sections with gaps behind them */
    unsigned count = 0;
    sx_status st = SX_OK;

    memset(&front, 0, sizeof front);
    memcpy(front.head.magic, magic, sizeof magic);
    front.head.format = FORMAT;
    front.head.order_mark = ORDER_MARK;
    front.head.n = store->view.ranks;
    front.head.keys = store->view.n;
    front.head.max_row = store->max_row;
    front.head.key_type = (uint32_t)store->key_type;
    front.head.width = (uint8_t)store->view.width;
    front.head.row_bytes = (uint8_t)store->view.row_bytes;
    front.head.flags = (uint16_t)((store->spec.unique ? FLAG_UNIQUE : 0) |
                                  (store->view.distinct ? FLAG_DISTINCT : 0));
    spec.place = SX_PLACE_USUAL;  /* a file is the same wherever its index was */
    sx_spec_print(&spec, front.head.spec);
    front.head.file_bytes = lay_out(store, strlen(store->why), &front, data);
    sx_progress_units(progress, (1 + SX_WRITE_UNITS) * front.head.file_bytes);
    for (uint32_t i = 0; i < front.head.sections && st == SX_OK; i++)
        st = hash_section(data[i], front.table[i].bytes, progress, &front.table[i].hash, err);
    if (st != SX_OK)
        return st;
    front.head.header_hash = hash_front(&front);

    parts[count++] = (sx_part){&front, front.head.header_bytes};
    for (uint32_t i = 0; i < front.head.sections; i++) {
        parts[count++] = (sx_part){data[i], front.table[i].bytes};
        parts[count++] = (sx_part){zeros, gap_behind(&front.table[i])};
    }
    return sx_replace_file(path, parts, count, progress, err);
}

/* ---- loading ----------------------------------------------------------------- */

static int all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return 0;
    return 1;
}

static sx_status damaged(const char *path, const char *what, sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: %s", path, what);
}

/* The header alone: is it ours, whole and unchanged? Nothing it says is believed before
 * its checksum is, but for how far that reaches. */
static sx_status check_front(const file_front *front, uint64_t file_bytes, const char *path,
                             sx_err *err)
{
    const file_header *h = &front->head;

    if (file_bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is not a Sextant index", path);
    if (h->order_mark == __builtin_bswap32(ORDER_MARK))
        return sx_fail(err, SX_ECORRUPT, "'%.200s' was written on a machine of other byte "
                       "order (mark %08x)", path, h->order_mark);
    if (h->order_mark != ORDER_MARK)
        return damaged(path, "its header has no byte order mark", err);
    if (h->format != FORMAT)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has format %u; this library reads %u",
                       path, h->format, FORMAT);
    if (h->sections > TABLE_MAX ||
        h->header_bytes != sizeof *h + h->sections * sizeof(file_section))
        return damaged(path, "its header has an impossible size", err);
    if (h->header_bytes > file_bytes)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is cut off: %llu bytes, and its header is "
                       "one of %u", path, (unsigned long long)file_bytes, h->header_bytes);
    if (hash_front(front) != h->header_hash)
        return damaged(path, "its header's checksum is wrong", err);
    if (!all_zero(h->zero, sizeof h->zero))
        return damaged(path, "reserved bytes of its header are set", err);
    if (h->file_bytes != file_bytes)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is cut off or too long: %llu bytes instead "
                       "of %llu", path, (unsigned long long)file_bytes,
                       (unsigned long long)h->file_bytes);
    return SX_OK;
}

/* What the header says, made into the shape of a store. */
static sx_status read_shape(sx_store *s, const file_header *h, const char *path, sx_err *err)
{
    const sx_type_info *type = sx_type_of((int)h->key_type);
    char canonical[SX_SPEC_MAX];
    sx_facts facts;
    sx_err inner;

    if (!type || h->key_type > INT32_MAX || h->width != type->width)
        return damaged(path, "its key type is unknown", err);
    if (h->row_bytes != 0 && h->row_bytes != 4 && h->row_bytes != 8)
        return damaged(path, "its rows have an impossible width", err);
    if (h->n > SX_KEYS_MAX || h->keys > h->file_bytes)
        return damaged(path, "its number of keys can't be", err);
    if ((h->n == 0 && h->max_row != 0) ||
        (h->row_bytes == 0 && h->max_row != (h->n ? h->n - 1 : 0)) ||
        (h->row_bytes == 4 && h->max_row >= SX_MISS32) ||
        (h->row_bytes == 8 && h->max_row == SX_MISS))
        return damaged(path, "its largest row can't be", err);
    if (!memchr(h->spec, '\0', sizeof h->spec) ||
        sx_spec_parse(&s->spec, h->spec, &inner) != SX_OK ||
        (sx_family_of(s->spec.family)->traits & SX_CHOSEN) || s->spec.place ||
        (h->flags & ~FLAG_DISTINCT) != (s->spec.unique ? FLAG_UNIQUE : 0))
        return damaged(path, "its spec can't be read", err);
    if (s->spec.layout == SX_LAYOUT_ONCE ? h->keys > h->n || !h->keys != !h->n : h->keys != h->n)
        return damaged(path, "its number of stored keys can't be", err);
    if (h->n == 0 && (h->flags & FLAG_DISTINCT))
        return damaged(path, "it has no keys, but they are said to be distinct", err);
    facts = (sx_facts){.n = h->keys, .ranks = h->n, .width = type->width,
                       .row_bytes = h->row_bytes, .distinct = h->flags / FLAG_DISTINCT};
    if (sx_shape(&s->view, &s->spec, &sx_any_target, &facts, &inner) != SX_OK)
        return damaged(path, inner.text, err);
    sx_spec_print(&s->spec, canonical);
    if (memcmp(canonical, h->spec, sizeof canonical) != 0)
        return damaged(path, "its spec is not a resolved one", err);
    s->key_type = (int)h->key_type;
    s->max_row = h->max_row;
    return SX_OK;
}

static int read_all(int fd, void *to, uint64_t bytes, uint64_t at)
{
    char *p = to;

    while (bytes > 0) {
        ssize_t n = pread(fd, p, bytes < (1u << 30) ? bytes : 1u << 30, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return -1;
        }
        p += n;
        at += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* What a family must know of its index beforehand, and its keys do not say: its section
 * `meta`. */
#define META_MAX 4096u

static sx_status read_meta(sx_store *s, int fd, const file_front *front, const char *path,
                           sx_err *err)
{
    const sx_family *family = sx_family_of(s->view.family);
    const char *name = sx_section_name(&s->view, family->meta);
    _Alignas(16) unsigned char meta[META_MAX];
    sx_err inner;

    if (!family->complete || s->view.n == 0)
        return SX_OK;
    for (uint32_t i = 0; i < front->head.sections; i++) {
        const file_section *e = &front->table[i];
        if (strncmp(e->name, name, sizeof e->name) != 0)
            continue;
        if (e->bytes > sizeof meta || e->offset > front->head.file_bytes ||
            e->bytes > front->head.file_bytes - e->offset)
            return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the section '%s' has an "
                           "impossible size", path, name);
        if (read_all(fd, meta, e->bytes, e->offset) < 0)
            return sx_io_failed("can't read", path, err);
        if (family->complete(&s->view, meta, e->bytes, &inner) != SX_OK)
            return damaged(path, inner.text, err);
        return SX_OK;
    }
    return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: it has no section '%s'", path, name);
}

/* The table must be the one this shape has. */
static sx_status check_table(const sx_store *s, const file_front *front, const char *path,
                             sx_err *err)
{
    file_front expected = *front;
    const void *data[TABLE_MAX];
    uint32_t count = front->head.sections;
    uint64_t why = 0, bytes;

    if (count > 0 && strncmp(front->table[count - 1].name, WHY_NAME, 16) == 0) {
        why = front->table[count - 1].bytes;
        if (why == 0 || why >= SX_WHY_MAX)
            return damaged(path, "the section 'why' has an impossible size", err);
    }
    bytes = lay_out(s, why, &expected, data);
    if (expected.head.sections != count || bytes != front->head.file_bytes)
        return damaged(path, "its sections do not fit its keys", err);
    for (uint32_t i = 0; i < count; i++) {
        expected.table[i].hash = front->table[i].hash;
        if (memcmp(&expected.table[i], &front->table[i], sizeof(file_section)) != 0)
            return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: entry %u of its section "
                           "table is not that of '%s', %llu bytes at %llu", path, i,
                           expected.table[i].name, (unsigned long long)expected.table[i].bytes,
                           (unsigned long long)expected.table[i].offset);
    }
    return SX_OK;
}

/* Behind sections there is nothing: no checksum covers that. */
static sx_status check_gaps(int fd, const file_front *front, const char *path, sx_err *err)
{
    unsigned char gap[SX_LINE];

    for (uint32_t i = 0; i < front->head.sections; i++) {
        const file_section *e = &front->table[i];
        uint64_t bytes = gap_behind(e), at = e->offset + e->bytes;
        if (read_all(fd, gap, bytes, at) < 0)
            return sx_io_failed("can't read", path, err);
        if (!all_zero(gap, bytes))
            return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the %llu bytes behind section "
                           "'%s', at %llu, are not all zero", path, (unsigned long long)bytes,
                           e->name, (unsigned long long)at);
    }
    return SX_OK;
}

/* The whole file; want of memory is not the file's fault. */
static sx_status map_file(sx_store *s, int fd, uint64_t bytes, const char *path, sx_err *err)
{
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (map == MAP_FAILED)
        return sx_fail(err, errno == ENOMEM || errno == EAGAIN ? SX_ENOMEM : SX_EIO,
                       "can't map the %llu bytes of '%.200s': %s", (unsigned long long)bytes, path,
                       strerror(errno));
    s->map = map;
    s->map_bytes = bytes;
    return SX_OK;
}

/* A section into memory; a byte is a unit of progress. */
static sx_status read_section(int fd, void *to, const file_section *e, const char *path,
                              sx_progress *progress, sx_err *err)
{
    for (uint64_t at = 0, n; at < e->bytes && !sx_progress_stopped(progress); at += n) {
        n = e->bytes - at < PIECE ? e->bytes - at : PIECE;
        if (read_all(fd, (unsigned char *)to + at, n, e->offset + at) < 0)
            return sx_io_failed("can't read", path, err);
        sx_progress_add(progress, n);
    }
    return sx_progress_status(progress, err);
}

static sx_status verify_section(const void *data, const file_section *e, const char *path,
                                sx_progress *progress, sx_err *err)
{
    uint64_t hash;
    sx_status st = hash_section(data, e->bytes, progress, &hash, err);

    if (st == SX_OK && hash != e->hash)
        st = sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the checksum of section '%s' "
                     "is wrong", path, e->name);
    return st;
}

/* Sections into memory of their own, or into one mapping of the file. */
static sx_status read_sections(sx_store *s, int fd, const file_front *front, unsigned flags,
                               const char *path, sx_progress *progress, sx_err *err)
{
    sx_status st = SX_OK;
    uint32_t at = 0;

    sx_progress_units(progress, (!!(flags & SX_LOAD_COPY) + !!(flags & SX_LOAD_VERIFY)) *
                                    sx_store_bytes(s));

    if (!(flags & SX_LOAD_COPY) && s->view.n > 0)
        st = map_file(s, fd, front->head.file_bytes, path, err);
    for (unsigned kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        const file_section *e = &front->table[at];
        if (sx_section_bytes(&s->view, kind) == 0)
            continue;
        at++;
        if (s->map) {
            s->base[kind] = (unsigned char *)s->map + e->offset;
        } else {
            st = sx_alloc(&s->base[kind], e->bytes, sx_section_name(&s->view, kind), err);
            if (st == SX_OK)
                st = read_section(fd, s->base[kind], e, path, progress, err);
        }
        if (st == SX_OK && (flags & SX_LOAD_VERIFY))
            st = verify_section(s->base[kind], e, path, progress, err);
    }
    if (st == SX_OK && at < front->head.sections) {
        const file_section *e = &front->table[at];
        if (read_all(fd, s->why, e->bytes, e->offset) < 0)
            st = sx_io_failed("can't read", path, err);
        else if (XXH3_64bits(s->why, e->bytes) != e->hash)
            st = damaged(path, "the checksum of section 'why' is wrong", err);
        for (uint64_t i = 0; i < e->bytes && st == SX_OK; i++)
            if (s->why[i] < ' ' || s->why[i] > '~')
                st = damaged(path, "the section 'why' is not plain text", err);
    }
    return st;
}

static sx_status load_open(sx_store *s, int fd, unsigned flags, uint64_t max_bytes,
                           const char *path, sx_progress *progress, sx_err *err)
{
    struct stat info;
    file_front front;
    sx_status st;
    uint64_t bytes;

    if (fstat(fd, &info) < 0)
        return sx_io_failed("can't look at", path, err);
    if (!S_ISREG(info.st_mode))
        return sx_fail(err, SX_EIO, "'%.200s' is not an ordinary file", path);
    bytes = (uint64_t)info.st_size;
    memset(&front, 0, sizeof front);
    if (read_all(fd, &front, bytes < sizeof front ? bytes : sizeof front, 0) < 0)
        return sx_io_failed("can't read", path, err);
    st = check_front(&front, bytes, path, err);
    if (st == SX_OK)
        st = read_shape(s, &front.head, path, err);
    if (st == SX_OK)
        st = read_meta(s, fd, &front, path, err);
    if (st == SX_OK)
        st = check_table(s, &front, path, err);
    if (st == SX_OK)
        st = check_gaps(fd, &front, path, err);
    if (st == SX_OK && (flags & SX_LOAD_COPY) && max_bytes && sx_store_bytes(s) > max_bytes)
        st = sx_fail(err, SX_ENOMEM, "a copy of '%.200s' takes %llu bytes, more than max_bytes = "
                     "%llu", path, (unsigned long long)sx_store_bytes(s),
                     (unsigned long long)max_bytes);
    if (st == SX_OK)
        st = read_sections(s, fd, &front, flags, path, progress, err);
    return st;
}

sx_status sx_store_load(sx_store *out, const char *path, unsigned flags, uint64_t max_bytes,
                        sx_progress *progress, sx_err *err)
{
    sx_status st;
    /* Not blocking: opening a pipe must fail, not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(out, 0, sizeof *out);
    if (fd < 0)
        return sx_io_failed("can't open", path, err);
    st = load_open(out, fd, flags, max_bytes, path, progress, err);
    close(fd);
    if (st != SX_OK) {
        sx_store_drop(out, &sx_backend_cpu, NULL);
        return st;
    }
    sx_store_bind(out);
    return SX_OK;
}
