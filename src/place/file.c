/* file.c - saving and loading (doc/FORMAT.md).
 *
 *     header | runs | sections' entries | section | 0s | section | 0s ...
 *     '---------- the front ----------'
 *
 * A file is believed only as far as it can be checked. From the front come a
 * type, a spec and numbers of keys. Everything else, down to the offset of each
 * section, follows from these and must be exactly so. Lengths are compared with
 * the file's real size before anything is allocated. */
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

#define FORMAT 2u
#define CODES 2u                  /* how codes of strings are made (keys/strings.h); 0: all digits alike */
#define CODES_MARKED 1u           /* added to it if there are marks (keys/string_marks.h), ... */
#define CODES_LINES 2u            /* ... and if offsets are in lines */
#define ORDER_MARK 0x01020304u
#define RUNS 1u                   /* in a file */
#define FLAG_UNIQUE 1u            /* the spec says unique */
#define FLAG_DISTINCT 2u          /* no two keys are equal */
#define FLAG_META 1u              /* of a section: sizes of others follow from it */
#define OF_FILE UINT32_MAX        /* in place of a run: the section is the file's */
#define WHY_NAME "why"
#define NOTES_NAME "notes"
/* All kinds of sections, why, and notes. */
#define TABLE_MAX (SX_SECTIONS + 2)

static const unsigned char magic[8] = {0x89, 'S', 'X', 'T', 0x0d, 0x0a, 0x1a, 0x0a};

typedef struct {
    unsigned char magic[8];
    uint32_t format;
    uint32_t order_mark;
    uint64_t file_bytes;
    uint64_t front_hash;          /* of the whole front, with 0 here */
    uint32_t front_bytes;
    uint32_t runs;
    uint32_t sections;
    uint32_t key_type;
    uint64_t keys;                /* all there are, in all runs */
    uint64_t max_row;
    uint32_t flags;               /* FLAG_UNIQUE */
    unsigned char zero[60];
} file_header;

typedef struct {
    char spec[SX_SPEC_MAX];
    int32_t sign;                 /* 1: its keys are there */
    uint32_t sections;
    uint64_t stored;              /* keys in slots: as many as ranks, unless layout=once */
    uint64_t ranks;
    uint64_t max_row;
    uint8_t width, row_bytes;
    uint16_t flags;               /* FLAG_UNIQUE, FLAG_DISTINCT */
    uint32_t forks;               /* of strings (keys/strings.h), as what follows; else 0 */
    uint64_t string_bytes;
    uint32_t cells, pool;
    uint16_t base, rows;
    uint16_t codes;               /* CODES */
    uint16_t chars;
} file_run;

typedef struct {
    char name[16];
    uint32_t run;
    uint32_t flags;               /* FLAG_META */
    uint64_t offset;
    uint64_t bytes;
    uint64_t hash;                /* of the bytes and of the zeros behind them */
    unsigned char zero[16];
} file_section;

/* All that is before the sections. */
typedef struct {
    file_header head;
    file_run run;
    file_section table[TABLE_MAX];
} file_front;

_Static_assert(sizeof(file_header) == 128, "the header is 128 bytes");
_Static_assert(sizeof(file_run) == 192, "a run's entry is 192 bytes");
_Static_assert(sizeof(file_section) == 64, "a section's entry is 64 bytes");
_Static_assert(offsetof(file_front, table) == 320, "nothing is between them");
_Static_assert(SX_WHY_MAX % SX_LINE == 0, "why is read with the zeros behind it");

static uint64_t hash_front(const file_front *front)
{
    file_front copy = *front;

    copy.head.front_hash = 0;
    return XXH3_64bits(&copy, copy.head.front_bytes);
}

/* Bytes, all zero, between a section and the next one, or the end of the file. */
static uint64_t gap_behind(const file_section *e)
{
    return sx_round_up(e->bytes, SX_LINE) - e->bytes;
}

static void add_section(file_front *front, const char *name, uint32_t run, uint32_t flags,
                        uint64_t bytes)
{
    file_section *e = &front->table[front->head.sections++];

    strncpy(e->name, name, sizeof e->name - 1);
    e->run = run;
    e->flags = flags;
    e->bytes = bytes;
    e->offset = front->head.file_bytes;
    front->head.file_bytes += bytes + gap_behind(e);
    front->run.sections += run != OF_FILE;
}

/* The front that a store must have, without hashes. data[i] is where section i lies in
 * memory. Offsets count from the end of the front until all sections are known. */
static void lay_out(const sx_store *store, uint64_t why_bytes, uint64_t notes_bytes,
                    file_front *front, const void *data[TABLE_MAX])
{
    const sx_view *v = &store->view;
    const sx_family *family = sx_family_of(v->family);
    sx_spec spec = store->spec;

    memset(front, 0, sizeof *front);
    memcpy(front->head.magic, magic, sizeof magic);
    front->head.format = FORMAT;
    front->head.order_mark = ORDER_MARK;
    front->head.runs = RUNS;
    front->head.key_type = (uint32_t)store->key_type;
    front->head.keys = v->ranks;
    front->head.max_row = store->max_row;
    front->head.flags = spec.unique ? FLAG_UNIQUE : 0;

    spec.place = SX_PLACE_USUAL;  /* a file is the same wherever its index was */
    sx_spec_print(&spec, front->run.spec);
    front->run.sign = 1;
    front->run.stored = v->n;
    front->run.ranks = v->ranks;
    front->run.max_row = store->max_row;
    front->run.width = (uint8_t)v->width;
    front->run.row_bytes = (uint8_t)v->row_bytes;
    front->run.flags = (uint16_t)((spec.unique ? FLAG_UNIQUE : 0) |
                                  (v->distinct ? FLAG_DISTINCT : 0));
    front->run.string_bytes = v->strings.size;
    front->run.forks = v->strings.forks;
    front->run.cells = v->strings.cells;
    front->run.pool = v->strings.pool;
    front->run.base = v->strings.base;
    front->run.rows = v->strings.rows;
    front->run.chars = v->strings.chars;
    if (v->n > 0 && v->strings.offset_bytes)
        front->run.codes = (uint16_t)(CODES + (v->strings.marked ? CODES_MARKED : 0) +
                                      (v->strings.offset_bytes == 2 ? CODES_LINES : 0));

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(v, kind);
        if (bytes == 0)
            continue;
        data[front->head.sections] = store->base[kind];
        add_section(front, sx_section_name(v, kind), 0,
                    family->complete && kind == family->meta ? FLAG_META : 0, bytes);
    }
    if (why_bytes > 0) {
        data[front->head.sections] = store->why;
        add_section(front, WHY_NAME, 0, 0, why_bytes);
    }
    if (notes_bytes > 0) {
        data[front->head.sections] = store->notes.text;
        add_section(front, NOTES_NAME, OF_FILE, 0, notes_bytes);
    }
    front->head.front_bytes = (uint32_t)(offsetof(file_front, table) +
                                         front->head.sections * sizeof(file_section));
    front->head.file_bytes += front->head.front_bytes;
    for (uint32_t i = 0; i < front->head.sections; i++)
        front->table[i].offset += front->head.front_bytes;
}

/* ---- checksums ----------------------------------------------------------- */

#define PIECE (4u << 20)          /* bytes between two looks at progress */

static const unsigned char zeros[SX_LINE];

/* The checksum of a section and of the zeros behind it, which need not be in memory. A byte
 * is a unit of progress. */
static sx_status hash_section(const void *data, const file_section *e, sx_progress *progress,
                              uint64_t *out, sx_err *err)
{
    XXH3_state_t *state = XXH3_createState();

    if (!state)
        return sx_fail(err, SX_ENOMEM, "no memory for a checksum's state");
    XXH3_64bits_reset(state);
    for (uint64_t at = 0, n; at < e->bytes && !sx_progress_stopped(progress); at += n) {
        n = progress && e->bytes - at > PIECE ? PIECE : e->bytes - at;
        XXH3_64bits_update(state, (const unsigned char *)data + at, n);
        sx_progress_add(progress, n);
    }
    XXH3_64bits_update(state, zeros, gap_behind(e));
    *out = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return sx_progress_status(progress, err);
}

static sx_status wrong_hash(const char *path, const file_section *e, sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the checksum of section '%.15s' is "
                   "wrong", path, e->name);
}

static sx_status gap_is_set(const char *path, const file_section *e, sx_err *err)
{
    return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the %llu bytes behind section '%.15s', "
                   "at %llu, are not all zero", path, (unsigned long long)gap_behind(e), e->name,
                   (unsigned long long)(e->offset + e->bytes));
}

/* ---- saving --------------------------------------------------------------- */

static sx_status save(const sx_store *store, const char *path, sx_progress *progress, sx_err *err)
{
    file_front front;
    const void *data[TABLE_MAX];
    sx_part parts[1 + 2 * TABLE_MAX];     /* the front, then sections with gaps behind them */
    unsigned count = 0;
    sx_status st = SX_OK;

    lay_out(store, strlen(store->why), store->notes.bytes, &front, data);
    sx_progress_units(progress, (1 + SX_WRITE_UNITS) * front.head.file_bytes);
    for (uint32_t i = 0; i < front.head.sections && st == SX_OK; i++)
        st = hash_section(data[i], &front.table[i], progress, &front.table[i].hash, err);
    if (st != SX_OK)
        return st;
    front.head.front_hash = hash_front(&front);

    parts[count++] = (sx_part){&front, front.head.front_bytes};
    for (uint32_t i = 0; i < front.head.sections; i++) {
        parts[count++] = (sx_part){data[i], front.table[i].bytes};
        parts[count++] = (sx_part){zeros, gap_behind(&front.table[i])};
    }
    return sx_replace_file(path, parts, count, progress, err);
}

sx_status sx_store_save(const sx_store *store, const char *path, sx_progress *progress,
                        sx_err *err)
{
    sx_store tidy;
    sx_status st = sx_store_tidy(store, &tidy, err);

    if (st == SX_OK) {
        st = save(&tidy, path, progress, err);
        sx_store_untidy(&tidy, store);
    }
    return st;
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

/* Whether the header is ours, and has a format and a number of runs that this library reads. */
static sx_status check_format(const file_header *h, uint64_t file_bytes, const char *path,
                              sx_err *err)
{
    if (file_bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is not a Sextant index", path);
    if (h->order_mark == __builtin_bswap32(ORDER_MARK))
        return sx_fail(err, SX_ECORRUPT, "'%.200s' was written on a machine of other byte "
                       "order (mark %08x)", path, h->order_mark);
    if (h->order_mark != ORDER_MARK)
        return damaged(path, "its header has no byte order mark", err);
    if (h->format == 1)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has format 1, of Sextant before 0.3; this "
                       "library reads %u: build it again from its keys", path, FORMAT);
    if (h->format != FORMAT)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has format %u; this library reads %u",
                       path, h->format, FORMAT);
    if (h->front_bytes != sizeof *h + h->runs * (uint64_t)sizeof(file_run) +
                              h->sections * (uint64_t)sizeof(file_section))
        return damaged(path, "its header has an impossible size", err);
    if (h->runs != RUNS)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has %u runs; this library reads %u", path,
                       h->runs, RUNS);
    if (h->sections > TABLE_MAX)
        return damaged(path, "its header has an impossible size", err);
    return SX_OK;
}

/* Whether the front is whole and unchanged. Nothing it says is believed before its checksum
 * is right, except how many bytes that covers. */
static sx_status check_front(const file_front *front, uint64_t file_bytes, const char *path,
                             sx_err *err)
{
    const file_header *h = &front->head;
    sx_status st = check_format(h, file_bytes, path, err);

    if (st != SX_OK)
        return st;
    if (h->front_bytes > file_bytes)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is cut off: %llu bytes, and its header is "
                       "one of %u", path, (unsigned long long)file_bytes, h->front_bytes);
    if (hash_front(front) != h->front_hash)
        return damaged(path, "its header's checksum is wrong", err);
    if (h->file_bytes != file_bytes)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is cut off or too long: %llu bytes instead "
                       "of %llu", path, (unsigned long long)file_bytes,
                       (unsigned long long)h->file_bytes);
    return SX_OK;
}

/* What a run's entry says of its strings. */
static sx_status read_strings(sx_strings *out, const file_front *front, const char *path,
                              sx_err *err)
{
    const file_run *r = &front->run;
    uint64_t most = front->head.file_bytes;
    uint32_t kind;
    int strings = sx_type_of((int)front->head.key_type)->bytes == 0;

    *out = (sx_strings){0};
    if (!strings || r->stored == 0)
        return r->string_bytes || r->forks || r->cells || r->pool || r->base ||
                       r->rows || r->codes || r->chars
                   ? damaged(path, "it has no strings, but their numbers", err) : SX_OK;
    if (r->codes < CODES || r->codes > CODES + CODES_MARKED + CODES_LINES)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has strings with codes of kind %u, but this library "
                       "reads kinds %u to %u; build it again from its keys", path, r->codes, CODES,
                       CODES + CODES_MARKED + CODES_LINES);
    kind = r->codes - CODES;
    if (r->string_bytes > most || r->cells == 0 || r->cells > most || r->forks >= r->cells ||
        r->cells >= SX_TO_FORK || r->pool > most || r->base == 1 || r->base > 257 ||
        (r->base ? (r->rows != 1 && r->rows != r->base) || r->chars == 0 || r->chars > SX_CHARS_MOST
                 : r->rows || r->chars))
        return damaged(path, "its strings have an impossible size", err);
    *out = (sx_strings){.size = r->string_bytes, .forks = r->forks, .cells = r->cells,
                        .pool = r->pool,
                        .offset_bytes = (uint16_t)(kind & CODES_LINES ? 2 : sx_offset_bytes(r->string_bytes)),
                        .bits = (uint16_t)sx_group_bits(r->cells - r->forks), .base = r->base,
                        .rows = r->rows, .chars = r->chars, .marked = (kind & CODES_MARKED) != 0,
                        .code_bytes = r->width};
    return SX_OK;
}

/* Makes the shape of a store out of the header and the run's entry. check_table() compares
 * numbers that are in both with the shape. */
static sx_status read_shape(sx_store *s, const file_front *front, const char *path, sx_err *err)
{
    const file_header *h = &front->head;
    const file_run *r = &front->run;
    const sx_type_info *type = sx_type_of((int)h->key_type);
    char canonical[SX_SPEC_MAX];
    sx_facts facts;
    sx_strings strings;
    sx_err inner;
    sx_status st;

    if (!type || h->key_type > INT32_MAX ||
        (r->width != type->width && (type->bytes || r->width != 4)))      /* codes may be narrow */
        return damaged(path, "its key type is unknown", err);
    if (r->sign != 1)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' has a run of sign %d; this library reads 1",
                       path, r->sign);
    if (r->row_bytes != 0 && r->row_bytes != 4 && r->row_bytes != 8)
        return damaged(path, "its rows have an impossible width", err);
    if (r->ranks > SX_KEYS_MAX || r->stored > h->file_bytes)
        return damaged(path, "its number of keys can't be", err);
    if ((r->ranks == 0 && r->max_row != 0) ||
        (r->row_bytes == 0 && r->max_row != (r->ranks ? r->ranks - 1 : 0)) ||
        (r->row_bytes == 4 && r->max_row >= SX_MISS32) ||
        (r->row_bytes == 8 && r->max_row == SX_MISS))
        return damaged(path, "its largest row can't be", err);
    if (!memchr(r->spec, '\0', sizeof r->spec) ||
        sx_spec_parse(&s->spec, r->spec, &inner) != SX_OK ||
        (sx_family_of(s->spec.family)->traits & SX_CHOSEN) || s->spec.place ||
        (r->flags & ~FLAG_DISTINCT) != (s->spec.unique ? FLAG_UNIQUE : 0))
        return damaged(path, "its spec can't be read", err);
    if (s->spec.layout == SX_LAYOUT_ONCE ? r->stored > r->ranks || !r->stored != !r->ranks
                                         : r->stored != r->ranks)
        return damaged(path, "its number of stored keys can't be", err);
    if (r->ranks == 0 && (r->flags & FLAG_DISTINCT))
        return damaged(path, "it has no keys, but they are said to be distinct", err);
    st = read_strings(&strings, front, path, err);
    if (st != SX_OK)
        return st;
    facts = (sx_facts){.n = r->stored, .ranks = r->ranks, .width = r->width,
                       .row_bytes = r->row_bytes, .distinct = r->flags / FLAG_DISTINCT,
                       .strings = strings};
    if (sx_shape(&s->view, &s->spec, &sx_any_target, &facts, &inner) != SX_OK)
        return damaged(path, inner.text, err);
    sx_spec_print(&s->spec, canonical);
    if (memcmp(canonical, r->spec, sizeof canonical) != 0)
        return damaged(path, "its spec is not a resolved one", err);
    s->key_type = (int)h->key_type;
    s->max_row = r->max_row;
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

/* Reads a small section with the zeros behind it. The table's entry is known to be inside
 * the file. Its checksum is always compared. */
static sx_status read_small(int fd, void *to, const file_section *e, const char *path, sx_err *err)
{
    uint64_t bytes = e->bytes + gap_behind(e);

    if (read_all(fd, to, bytes, e->offset) < 0)
        return sx_io_failed("can't read", path, err);
    if (!all_zero((const unsigned char *)to + e->bytes, gap_behind(e)))
        return gap_is_set(path, e, err);
    return XXH3_64bits(to, bytes) == e->hash ? SX_OK : wrong_hash(path, e, err);
}

/* Reads the section `meta`: what a family must know of its index beforehand, and its number
 * of keys does not say. */
#define META_MAX 4096u

static sx_status read_meta(sx_store *s, int fd, const file_front *front, const char *path,
                           sx_err *err)
{
    const sx_family *family = sx_family_of(s->view.family);
    _Alignas(16) unsigned char meta[META_MAX];
    sx_err inner;
    sx_status st;

    if (!family->complete || s->view.n == 0)
        return SX_OK;
    for (uint32_t i = 0; i < front->head.sections; i++) {
        const file_section *e = &front->table[i];
        if (!(e->flags & FLAG_META))
            continue;
        if (e->bytes > sizeof meta || e->offset > front->head.file_bytes ||
            e->bytes + gap_behind(e) > front->head.file_bytes - e->offset)
            return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the section '%.15s' has an "
                           "impossible size", path, e->name);
        st = read_small(fd, meta, e, path, err);
        if (st == SX_OK && family->complete(&s->view, meta, e->bytes, &inner) != SX_OK)
            st = damaged(path, inner.text, err);
        return st;
    }
    return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: it has no section '%s'", path,
                   sx_section_name(&s->view, family->meta));
}

/* Bytes of the last of `count` sections, if it has that name; 0: it has another. */
static uint64_t bytes_of_last(const file_front *front, uint32_t count, const char *name)
{
    const file_section *e = count > 0 ? &front->table[count - 1] : NULL;

    return e && strncmp(e->name, name, sizeof e->name) == 0 ? e->bytes : 0;
}

/* The front must be exactly the one that this shape has. */
static sx_status check_table(const sx_store *s, const file_front *front, const char *path,
                             sx_err *err)
{
    file_front expected;
    const void *data[TABLE_MAX];
    uint32_t count = front->head.sections;
    uint64_t notes = bytes_of_last(front, count, NOTES_NAME);
    uint64_t why = bytes_of_last(front, count - (notes > 0), WHY_NAME);

    if (why >= SX_WHY_MAX || notes > SX_NOTES_BYTES_MOST)
        return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: the section '%s' has an impossible "
                       "size", path, why >= SX_WHY_MAX ? WHY_NAME : NOTES_NAME);
    lay_out(s, why, notes, &expected, data);
    if (expected.head.sections != count || expected.head.file_bytes != front->head.file_bytes)
        return damaged(path, "its sections do not fit its keys", err);
    for (uint32_t i = 0; i < count; i++) {
        expected.table[i].hash = front->table[i].hash;
        if (memcmp(&expected.table[i], &front->table[i], sizeof(file_section)) != 0)
            return sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: entry %u of its section "
                           "table is not that of '%s', %llu bytes at %llu", path, i,
                           expected.table[i].name, (unsigned long long)expected.table[i].bytes,
                           (unsigned long long)expected.table[i].offset);
    }
    if (memcmp(&expected.run, &front->run, sizeof expected.run) != 0)
        return damaged(path, "reserved bytes of its run are set, or it has another number of "
                       "sections", err);
    expected.head.front_hash = front->head.front_hash;
    if (memcmp(&expected.head, &front->head, sizeof expected.head) != 0)
        return damaged(path, "reserved bytes of its header are set, or it does not say what its "
                       "run does", err);
    return SX_OK;
}

/* Gaps behind sections must be zero. The checksum of a section covers its gap, but is
 * compared only if the caller asks for it; these few bytes are compared always. */
static sx_status check_gaps(int fd, const file_front *front, const char *path, sx_err *err)
{
    unsigned char gap[SX_LINE];

    for (uint32_t i = 0; i < front->head.sections; i++) {
        const file_section *e = &front->table[i];
        if (read_all(fd, gap, gap_behind(e), e->offset + e->bytes) < 0)
            return sx_io_failed("can't read", path, err);
        if (!all_zero(gap, gap_behind(e)))
            return gap_is_set(path, e, err);
    }
    return SX_OK;
}

/* Maps the whole file. A lack of memory is not the file's fault. */
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

/* Reads a section into memory; a byte is a unit of progress. */
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

/* check_gaps() has seen the zeros behind the section. */
static sx_status verify_section(const void *data, const file_section *e, const char *path,
                                sx_progress *progress, sx_err *err)
{
    uint64_t hash;
    sx_status st = hash_section(data, e, progress, &hash, err);

    return st == SX_OK && hash != e->hash ? wrong_hash(path, e, err) : st;
}

/* People see the text as it is, so it must be plain text. */
static sx_status read_why(sx_store *s, int fd, const file_section *e, const char *path,
                          sx_err *err)
{
    sx_status st = read_small(fd, s->why, e, path, err);

    for (uint64_t i = 0; i < e->bytes && st == SX_OK; i++)
        if (s->why[i] < ' ' || s->why[i] > '~')
            st = damaged(path, "the section 'why' is not plain text", err);
    return st;
}

static sx_status read_notes(sx_store *s, int fd, const file_section *e, const char *path,
                            sx_err *err)
{
    sx_notes notes = {NULL, e->bytes};
    sx_err inner;
    sx_status st = sx_alloc((void **)&notes.text, e->bytes + gap_behind(e), "notes", err);

    if (st == SX_OK)
        st = read_small(fd, notes.text, e, path, err);
    if (st == SX_OK && sx_notes_check(&notes, &inner) != SX_OK)
        st = sx_fail(err, SX_ECORRUPT, "'%.200s' is damaged: section '%s': %.200s", path,
                     NOTES_NAME, inner.text);
    if (st == SX_OK)
        s->notes = notes;
    else
        sx_notes_drop(&notes);
    return st;
}

/* Reads sections into memory of their own, or maps the file and finds them there. */
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
    if (st == SX_OK && at < front->run.sections)
        st = read_why(s, fd, &front->table[at++], path, err);
    if (st == SX_OK && at < front->head.sections)
        st = read_notes(s, fd, &front->table[at], path, err);
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
        st = read_shape(s, &front, path, err);
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
    /* O_NONBLOCK: opening a pipe must fail, not wait for a writer. */
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
