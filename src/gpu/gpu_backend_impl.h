/* gpu_backend_impl.h - a GPU as a backend: columns go to the device, kernels
 * run, results come back. For CUDA and for the emulator alike; before it
 * comes a vendor header, gpu_kernels.h, and the runtime:
 *
 *   sx_gpu                         an open device
 *   gpu_enter(g, err)              at the start of every call
 *   gpu_alloc, gpu_free            device memory
 *   gpu_in, gpu_out                host -> device, device -> host
 *   gpu_set(g, p, byte, n, err)    memset there
 *   gpu_done(g, what, err)         waits, and says what went wrong
 *   gpu_sort(g, ...)               sorts keys with rows, stably
 *   GPU_BLOCK, gpu_grid(g, n)      threads of a block, blocks for n items */

#define GPU_RUN(name, items, args) \
    SX_LAUNCH(name, gpu_grid(g, (items)), GPU_BLOCK, g->stream, (args))

/* The kernel of a width. */
#define GPU_RUN_W(name, width, items, args)            \
    do {                                               \
        if ((width) == 4)                              \
            GPU_RUN(name##_4, (items), (args));        \
        else if ((width) == 8)                         \
            GPU_RUN(name##_8, (items), (args));        \
        else                                           \
            GPU_RUN(name##_16, (items), (args));       \
    } while (0)

/* Queries, ranges or results on the device at a time: enough to fill it, and
 * bounded memory however large the batch. */
#define GPU_CHUNK (1ull << 22)

/* Device memory for a part of a column that is on the host; dev is NULL where
 * there is no such column, or where it is on the device already. */
typedef struct {
    void *dev;
    uint64_t bytes;
} gpu_part;

static sx_status gpu_part_new(sx_gpu *g, gpu_part *part, int wanted, uint64_t n, uint64_t each,
                              sx_err *err)
{
    part->dev = NULL;
    part->bytes = n * each;
    return wanted ? gpu_alloc(g, &part->dev, part->bytes, "a batch", err) : SX_OK;
}

static const void *gpu_at(const void *column, uint64_t i, uint64_t each)
{
    return (const unsigned char *)column + i * each;
}

/* ---- sort ------------------------------------------------------------------ */

static sx_status gpu_read_facts(sx_gpu *g, sx_gpu_input *in, sx_gpu_facts *facts, const char *what,
                                sx_err *err)
{
    sx_status st = gpu_done(g, what, err);

    return st == SX_OK ? gpu_out(g, facts, in->facts, sizeof *facts, err) : st;
}

static sx_status gpu_say_repeat(sx_gpu *g, const sx_sorted *s, uint64_t at, int key_type,
                                sx_err *err)
{
    unsigned char encoded[16], key[16];
    uint64_t row[2] = {at, at + 1};
    char text[64];
    sx_status st = gpu_out(g, encoded, gpu_at(s->keys, at, s->width), s->width, err);

    for (unsigned i = 0; i < 2 && st == SX_OK && s->row_bytes; i++) {
        row[i] = 0;
        st = gpu_out(g, &row[i], gpu_at(s->rows, at + i, s->row_bytes), s->row_bytes, err);
    }
    if (st != SX_OK)
        return st;
    sx_type_of(key_type)->decode(key, encoded, 1);
    sx_type_print(key_type, key, text, sizeof text);
    return sx_fail(err, SX_EINVAL, "the spec says unique, but key %s comes more than once: "
                   "with rows %llu and %llu (ranks %llu and %llu)", text,
                   (unsigned long long)row[0], (unsigned long long)row[1],
                   (unsigned long long)at, (unsigned long long)at + 1);
}

/* Encoded keys and stored rows are in *s; sorts them if they do not ascend. */
static sx_status gpu_order(sx_gpu *g, sx_sorted *s, int ascending, sx_err *err)
{
    uint64_t bytes = sx_round_up(s->n * s->width, SX_LINE);
    void *keys[2] = {s->keys, NULL}, *rows[2] = {s->rows, NULL};
    unsigned where = 0;
    sx_status st;

    if (ascending)
        return SX_OK;
    st = gpu_alloc(g, &keys[1], bytes, "sorting keys", err);
    if (st == SX_OK)
        st = gpu_alloc(g, &rows[1], s->n * s->row_bytes, "sorting rows", err);
    if (st == SX_OK)
        st = gpu_sort(g, s->width, s->row_bytes, s->n, keys, rows, &where, err);
    s->keys = keys[where];
    s->rows = rows[where];
    gpu_free(g, keys[!where]);
    gpu_free(g, rows[!where]);
    return st;
}

static sx_status gpu_sort_steps(sx_gpu *g, const sx_input *in, sx_gpu_input *a, sx_sorted *s,
                                sx_err *err)
{
    uint64_t n = in->n, bytes = sx_round_up(n * s->width, SX_LINE);
    sx_gpu_facts facts = {0, n, n, n};
    sx_status st = gpu_in(g, a->facts, &facts, sizeof facts, err);

    if (st == SX_OK && in->row_type) {
        GPU_RUN(k_scan_rows, n, a);
        st = gpu_read_facts(g, a, &facts, "looking at rows", err);
        s->max_row = facts.max_row;
    }
    if (st == SX_OK && facts.reserved_at < n)
        return sx_fail(err, SX_EINVAL, "row %llu at position %llu is reserved: all ones means no "
                       "match", (unsigned long long)(in->row_type == SX_U64 ? SX_MISS : SX_MISS32),
                       facts.reserved_at);
    if (st == SX_OK)
        st = gpu_alloc(g, &s->keys, bytes, "keys", err);
    if (st != SX_OK)
        return st;
    a->keys = s->keys;
    GPU_RUN_W(k_encode, s->width, n, a);
    GPU_RUN_W(k_descent, s->width, n, a);
    st = gpu_read_facts(g, a, &facts, "reading keys", err);
    if (st == SX_OK && (facts.descent_at < n || in->row_type)) {
        a->row_bytes = s->row_bytes = s->max_row < SX_MISS32 ? 4 : 8;
        st = gpu_alloc(g, &s->rows, n * s->row_bytes, "rows", err);
        if (st != SX_OK)
            return st;
        a->rows = s->rows;
        GPU_RUN(k_store_rows, n, a);
        st = gpu_done(g, "reading rows", err);
    }
    if (st == SX_OK)
        st = gpu_order(g, s, facts.descent_at == n, err);
    if (st == SX_OK)
        st = gpu_set(g, (unsigned char *)s->keys + n * s->width, 0xff, bytes - n * s->width, err);
    if (st == SX_OK && in->unique) {
        a->keys = s->keys;
        GPU_RUN_W(k_repeat, s->width, n, a);
        st = gpu_read_facts(g, a, &facts, "looking for equal keys", err);
        if (st == SX_OK && facts.repeat_at < n)
            st = gpu_say_repeat(g, s, facts.repeat_at, in->key_type, err);
    }
    return st;
}

static sx_status gpu_backend_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    const sx_type_info *type = sx_type_of(in->key_type);
    sx_gpu_input a = {0};
    sx_sorted s = {0};
    gpu_part keys = {0}, rows = {0}, facts = {0};
    sx_status st = gpu_enter(g, err);

    s.n = a.n = in->n;
    s.width = type->width;
    s.max_row = in->n ? in->n - 1 : 0;
    if (st != SX_OK || in->n == 0) {
        *out = s;
        return st;
    }
    a.key_type = in->key_type;
    a.row_type = in->row_type;
    st = gpu_part_new(g, &keys, !in->keys_there, in->n, type->bytes, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &rows, in->row_type != 0 && !in->rows_there, in->n,
                          in->row_type ? sx_type_bytes(in->row_type) : 0, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &facts, 1, 1, sizeof(sx_gpu_facts), err);
    if (st == SX_OK && keys.dev)
        st = gpu_in(g, keys.dev, in->keys, keys.bytes, err);
    if (st == SX_OK && rows.dev)
        st = gpu_in(g, rows.dev, in->rows, rows.bytes, err);
    a.in_keys = in->keys_there ? in->keys : keys.dev;
    a.in_rows = in->rows_there ? in->rows : rows.dev;
    a.facts = (sx_gpu_facts *)facts.dev;
    if (st == SX_OK)
        st = gpu_sort_steps(g, in, &a, &s, err);
    gpu_free(g, keys.dev);
    gpu_free(g, rows.dev);
    gpu_free(g, facts.dev);
    if (st != SX_OK) {
        gpu_free(g, s.keys);
        gpu_free(g, s.rows);
        return st;
    }
    *out = s;
    return SX_OK;
}

/* ---- build ------------------------------------------------------------------------ */

static sx_status gpu_backend_build(void *self, const sx_view *shape, sx_sorted *sorted,
                                   uint32_t threads, void *base[SX_SECTION_KINDS], sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_gpu_build a = {0};
    int keep = sx_shape_is_arrays(shape);
    sx_status st = gpu_enter(g, err);

    (void)threads;
    for (int kind = 0; kind < SX_SECTION_KINDS && st == SX_OK; kind++) {
        uint64_t bytes = sx_section_bytes(shape, (sx_section_kind)kind);
        if (bytes > 0 && !(keep && (kind == SX_SEC_KEYS || kind == SX_SEC_ROWS)))
            st = gpu_alloc(g, &base[kind], bytes, sx_section_name((sx_section_kind)kind), err);
    }
    a.v = *shape;
    a.from_keys = sorted->keys;
    a.from_rows = sorted->rows;
    a.pivots = (unsigned char *)base[SX_SEC_PIVOTS];
    if (st == SX_OK && a.pivots)
        GPU_RUN_W(k_pivots, shape->width, shape->level_first[shape->levels], &a);
    if (st == SX_OK && !keep && shape->n > 0) {
        a.keys = (unsigned char *)base[shape->block ? SX_SEC_PAIRS : SX_SEC_KEYS];
        a.rows = shape->block ? a.keys + shape->block * shape->width
                              : (unsigned char *)base[SX_SEC_ROWS];
        GPU_RUN_W(k_slots, shape->width, shape->slots, &a);
    }
    if (st == SX_OK)
        st = gpu_done(g, "building", err);
    if (st != SX_OK) {
        for (int kind = 0; kind < SX_SECTION_KINDS; kind++) {
            gpu_free(g, base[kind]);
            base[kind] = NULL;
        }
        return st;
    }
    if (keep) {
        base[SX_SEC_KEYS] = sorted->keys;
        base[SX_SEC_ROWS] = sorted->rows;
        sorted->keys = sorted->rows = NULL;
    }
    return SX_OK;
}

static uint64_t gpu_backend_peak(const void *self, const sx_view *v)
{
    /* The input, keys and rows twice while sorting, and the sort's own
     * scratch, which is less than the input; or arrays and sections. */
    uint64_t arrays = sx_round_up(v->n * v->width, SX_LINE) + v->n * 8, sections = 0;

    (void)self;
    for (int kind = 0; kind < SX_SECTION_KINDS; kind++)
        sections += sx_section_bytes(v, (sx_section_kind)kind);
    return 4 * arrays + sections + (64u << 20);
}

/* ---- lookups -------------------------------------------------------------------------- */

static sx_status gpu_backend_lookup(void *self, const sx_view *v, const sx_lookup *job, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    uint64_t key_bytes = sx_type_of(job->key_type)->bytes;
    uint64_t each = job->op == SX_OP_KEY_AT ? job->rank_bytes : key_bytes;
    int all_there = job->q_there && (job->out_there || !job->out) &&
                    (job->keys_there || !job->keys);
    uint64_t most = all_there || job->n < GPU_CHUNK ? job->n : GPU_CHUNK;
    gpu_part q = {0}, out = {0}, keys = {0};      /* of what is on the host */
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK)
        st = gpu_part_new(g, &q, !job->q_there, most, each, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &out, job->out && !job->out_there, most, job->out_bytes, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &keys, job->keys && !job->keys_there, most, key_bytes, err);
    for (uint64_t at = 0; at < job->n && st == SX_OK; at += most) {
        uint64_t n = job->n - at < most ? job->n - at : most;
        sx_gpu_lookup a = {0};
        a.v = *v;
        a.op = job->op;
        a.key_type = job->key_type;
        a.rank_bytes = job->rank_bytes;
        a.out_bytes = job->out_bytes;
        a.n = n;
        a.q = q.dev ? q.dev : gpu_at(job->q, at, each);
        a.out = out.dev || !job->out ? out.dev : (void *)gpu_at(job->out, at, job->out_bytes);
        a.keys = keys.dev || !job->keys ? keys.dev : (void *)gpu_at(job->keys, at, key_bytes);
        if (q.dev)
            st = gpu_in(g, q.dev, gpu_at(job->q, at, each), n * each, err);
        /* keys stay as they are where there is no match */
        if (st == SX_OK && keys.dev)
            st = gpu_in(g, keys.dev, gpu_at(job->keys, at, key_bytes), n * key_bytes, err);
        if (st == SX_OK) {
            GPU_RUN_W(k_lookup, v->width, n, &a);
            st = gpu_done(g, "looking up keys", err);
        }
        if (st == SX_OK && out.dev)
            st = gpu_out(g, (void *)gpu_at(job->out, at, job->out_bytes), out.dev,
                         n * job->out_bytes, err);
        if (st == SX_OK && keys.dev)
            st = gpu_out(g, (void *)gpu_at(job->keys, at, key_bytes), keys.dev, n * key_bytes, err);
    }
    gpu_free(g, q.dev);
    gpu_free(g, out.dev);
    gpu_free(g, keys.dev);
    return st;
}

/* ---- ranges ------------------------------------------------------------------------------ */

/* Device memory for a chunk of ranges and their spans. */
typedef struct {
    gpu_part lo, hi, start, count;
} gpu_ranges;

static sx_status gpu_ranges_new(sx_gpu *g, gpu_ranges *r, uint64_t n, uint64_t key_bytes,
                                sx_err *err)
{
    sx_status st = gpu_part_new(g, &r->lo, 1, n, key_bytes, err);

    if (st == SX_OK)
        st = gpu_part_new(g, &r->hi, 1, n, key_bytes, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &r->start, 1, n, 8, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &r->count, 1, n, 8, err);
    return st;
}

static void gpu_ranges_free(sx_gpu *g, gpu_ranges *r)
{
    gpu_free(g, r->lo.dev);
    gpu_free(g, r->hi.dev);
    gpu_free(g, r->start.dev);
    gpu_free(g, r->count.dev);
}

/* Spans of ranges [at, at + n), left on the device. */
static sx_status gpu_span_chunk(sx_gpu *g, const sx_view *v, const sx_span_query *job, uint64_t at,
                                uint64_t n, gpu_ranges *r, sx_err *err)
{
    uint64_t bytes = sx_type_of(job->key_type)->bytes;
    sx_gpu_spans a = {0};
    sx_status st = gpu_in(g, r->lo.dev, gpu_at(job->lo, at, bytes), n * bytes, err);

    if (st == SX_OK)
        st = gpu_in(g, r->hi.dev, gpu_at(job->hi, at, bytes), n * bytes, err);
    if (st != SX_OK)
        return st;
    a.v = *v;
    a.key_type = job->key_type;
    a.last = job->last;
    a.n = n;
    a.limit = job->limit;
    a.lo = r->lo.dev;
    a.hi = r->hi.dev;
    a.start = (uint64_t *)r->start.dev;
    a.count = (uint64_t *)r->count.dev;
    GPU_RUN_W(k_spans, v->width, n, &a);
    return gpu_done(g, "finding ranges", err);
}

static sx_status gpu_backend_spans(void *self, const sx_view *v, const sx_span_query *job,
                                   uint64_t *start, uint64_t *count, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    uint64_t most = job->n < GPU_CHUNK ? job->n : GPU_CHUNK;
    gpu_ranges r = {0};
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK)
        st = gpu_ranges_new(g, &r, most, sx_type_of(job->key_type)->bytes, err);
    for (uint64_t at = 0; at < job->n && st == SX_OK; at += most) {
        uint64_t n = job->n - at < most ? job->n - at : most;
        st = gpu_span_chunk(g, v, job, at, n, &r, err);
        if (st == SX_OK && start)
            st = gpu_out(g, start + at, r.start.dev, n * 8, err);
        if (st == SX_OK)
            st = gpu_out(g, count + at, r.count.dev, n * 8, err);
    }
    gpu_ranges_free(g, &r);
    return st;
}

static sx_status gpu_backend_fold(void *self, const sx_view *v, const sx_span_query *job,
                                  const sx_span_folds *out, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    uint64_t most = job->n < GPU_CHUNK ? job->n : GPU_CHUNK;
    gpu_ranges r = {0};
    gpu_part fold = {0};          /* min, max, sum behind each other */
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK)
        st = gpu_ranges_new(g, &r, most, sx_type_of(job->key_type)->bytes, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &fold, 1, most, 24, err);
    for (uint64_t at = 0; at < job->n && st == SX_OK; at += most) {
        uint64_t n = job->n - at < most ? job->n - at : most;
        sx_gpu_fold a = {0};
        st = gpu_span_chunk(g, v, job, at, n, &r, err);
        if (st != SX_OK)
            break;
        a.v = *v;
        a.n = n;
        a.start = (const uint64_t *)r.start.dev;
        a.count = (const uint64_t *)r.count.dev;
        a.min = (uint64_t *)fold.dev;
        a.max = a.min + most;
        a.sum = a.max + most;
        if (out->min || out->max || out->sum) {
            GPU_RUN(k_fold, n * 32, &a);
            st = gpu_done(g, "summing ranges", err);
        }
        if (st == SX_OK && out->count)
            st = gpu_out(g, out->count + at, r.count.dev, n * 8, err);
        if (st == SX_OK && out->min)
            st = gpu_out(g, out->min + at, a.min, n * 8, err);
        if (st == SX_OK && out->max)
            st = gpu_out(g, out->max + at, a.max, n * 8, err);
        if (st == SX_OK && out->sum)
            st = gpu_out(g, out->sum + at, a.sum, n * 8, err);
    }
    gpu_ranges_free(g, &r);
    gpu_free(g, fold.dev);
    return st;
}

static sx_status gpu_backend_fill(void *self, const sx_view *v, const sx_span_fill *job, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    uint64_t key_bytes = sx_type_of(job->key_type)->bytes, total = job->first[job->n];
    uint64_t most = total < GPU_CHUNK ? total : GPU_CHUNK;
    gpu_part start = {0}, first = {0}, rows = {0}, keys = {0};
    sx_status st = gpu_enter(g, err);

    if (st == SX_OK)
        st = gpu_part_new(g, &start, 1, job->n, 8, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &first, 1, job->n + 1, 8, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &rows, job->rows != NULL, most, job->row_bytes, err);
    if (st == SX_OK)
        st = gpu_part_new(g, &keys, job->keys != NULL, most, key_bytes, err);
    if (st == SX_OK)
        st = gpu_in(g, start.dev, job->start, start.bytes, err);
    if (st == SX_OK)
        st = gpu_in(g, first.dev, job->first, first.bytes, err);
    for (uint64_t at = 0; at < total && st == SX_OK; at += most) {
        sx_gpu_fill a = {0};
        a.v = *v;
        a.key_type = job->key_type;
        a.row_bytes = job->row_bytes;
        a.n = job->n;
        a.from = at;
        a.to = total - at < most ? total : at + most;
        a.start = (const uint64_t *)start.dev;
        a.first = (const uint64_t *)first.dev;
        a.rows = rows.dev;
        a.keys = keys.dev;
        GPU_RUN_W(k_fill, v->width, a.to - at, &a);
        st = gpu_done(g, "collecting ranges", err);
        if (st == SX_OK && rows.dev)
            st = gpu_out(g, (void *)gpu_at(job->rows, at, job->row_bytes), rows.dev,
                         (a.to - at) * job->row_bytes, err);
        if (st == SX_OK && keys.dev)
            st = gpu_out(g, (void *)gpu_at(job->keys, at, key_bytes), keys.dev,
                         (a.to - at) * key_bytes, err);
    }
    gpu_free(g, start.dev);
    gpu_free(g, first.dev);
    gpu_free(g, rows.dev);
    gpu_free(g, keys.dev);
    return st;
}

/* ---- sections ------------------------------------------------------------------------------ */

static sx_status gpu_backend_alloc(void *self, void **out, uint64_t bytes, const char *what,
                                   sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    return st == SX_OK ? gpu_alloc(g, out, bytes, what, err) : st;
}

static void gpu_backend_release(void *self, void *block)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_err err;

    if (block && gpu_enter(g, &err) == SX_OK)
        gpu_free(g, block);
}

static sx_status gpu_backend_copy_in(void *self, void *to, const void *host, uint64_t bytes,
                                     sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    return st == SX_OK ? gpu_in(g, to, host, bytes, err) : st;
}

static sx_status gpu_backend_copy_out(void *self, void *host, const void *from, uint64_t bytes,
                                      sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_status st = gpu_enter(g, err);

    return st == SX_OK ? gpu_out(g, host, from, bytes, err) : st;
}
