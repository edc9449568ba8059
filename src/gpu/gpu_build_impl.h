/* gpu_build_impl.h - from columns to sections on a GPU: encode the input, look at it,
 * sort, arrange. A thread mostly makes one element, by arithmetic. */

/* ---- what the host is told ------------------------------------------------------- */

/* Pinned memory that the GPU and the host both see. So the host waits for no copies, and mostly not
 * for the end of a kernel:
 *
 *     | facts | keys that are peeked at | their ranks |
 *
 * It is a stage's. memory NULL: there is none. */
typedef struct {
    gpu_stage *stage;
    unsigned char *memory;
} gpu_board;

#define GPU_PEEKED SX_LINE
static uint64_t gpu_board_ranks(const sx_peek *peek, uint32_t width)
{
    return GPU_PEEKED + (peek ? sx_round_up(peek->n * width, SX_LINE) : 0);
}

static void gpu_board_take(sx_gpu *g, gpu_board *board, const sx_peek *peek, uint32_t width)
{
    uint64_t bytes = gpu_board_ranks(peek, width) + (peek ? peek->n * 8 : 0);
    gpu_channel *c;
    sx_err err;

    if (gpu_stage_take(g, &board->stage, &err) != SX_OK)
        return;
    c = &board->stage->channel[0];
    if (gpu_channel_pin(c, bytes, &err) == SX_OK)
        board->memory = (unsigned char *)c->pinned;
}

static void gpu_board_give(sx_gpu *g, gpu_board *board)
{
    if (board->stage)
        gpu_stage_give(g, board->stage);
}

/* Tells a kernel where these ranks are, and where keys go. */
static void gpu_peek_args(const gpu_board *board, const sx_peek *peek, uint32_t width,
                          sx_gpu_input *a)
{
    uint64_t ranks = gpu_board_ranks(peek, width);

    if (!peek || !board->memory)
        return;
    if (peek->choose)
        peek->choose(peek);
    memcpy(board->memory + ranks, peek->rank, peek->n * 8);
    a->rank = (const uint64_t *)(void *)(board->memory + ranks);
    a->ranks = peek->n;
    a->peeked = board->memory + GPU_PEEKED;
}

/* The kernel is over. */
static void gpu_peeked(const gpu_board *board, sx_peek *peek, uint32_t width)
{
    if (!peek || !board->memory)
        return;
    memcpy(peek->keys, board->memory + GPU_PEEKED, peek->n * width);
    peek->taken = 1;
}

/* Arrays of one build, all in device memory. Those that are not handed on are freed. The first has
 *
 *     | facts | a little space for a sort | values of each tile | keys and rows that are sorted unseen |
 *     0       SX_LINE                     GPU_FACTS             gpu_tally_bytes()
 *
 * and is the sort's tally. For few keys it ends in facts of each group. */
typedef struct {
    sx_gpu *g;
    gpu_stream stream;
    const sx_input *in;
    sx_gpu_facts *facts;
    gpu_board board;
    const void *rows;             /* the input's, there: the caller's, or a copy */
    void *staged_keys, *staged_rows;
    void *encoded, *stored;       /* keys and rows as the sort wants them */
} gpu_building;

#define GPU_FACTS (4 * SX_LINE)

static uint64_t gpu_tiles(uint64_t n)
{
    return (n + SX_VALUES_TILE - 1) / SX_VALUES_TILE;
}

static uint64_t *gpu_tally_counts(void *tally)
{
    return (uint64_t *)(void *)((unsigned char *)tally + GPU_FACTS);
}

static uint64_t gpu_tally_bytes(uint64_t n)
{
    return GPU_FACTS + sx_round_up(gpu_tiles(n) * sizeof(uint64_t), SX_LINE);
}

/* Where a kernel posts facts, or NULL. It is about to be launched. */
static sx_gpu_facts *gpu_posts(const gpu_building *b)
{
    sx_gpu_facts *post = (sx_gpu_facts *)(void *)b->board.memory;

    if (post)
        post->blocks = 0;
    return post;
}

/* Waits for facts: until they are on the board, or, if there is none, for a copy. */
static sx_status gpu_fetch(gpu_building *b, sx_gpu_facts *facts, const char *what, sx_err *err)
{
    const sx_gpu_facts *post = (const sx_gpu_facts *)(const void *)b->board.memory;
    sx_status st = sx_gpu_launched(b->g, what, err);

    if (st == SX_OK && !post)
        st = sx_gpu_copy(b->g, b->stream, facts, b->facts, sizeof *facts, err);
    if (st == SX_OK && !(post && gpu_told(&post->blocks)))
        st = sx_gpu_wait(b->g, b->stream, what, err);
    if (st == SX_OK && post)
        *facts = *post;
    return st;
}

/* Launches a kernel of a width whose blocks have shared memory. */
#define GPU_RUN_SHARED_W(name, width, grid, block, bytes, stream, args)             \
    do {                                                                            \
        if ((width) == 4)                                                           \
            SX_LAUNCH(name##_4, (grid), (block), (bytes), (stream), (args));        \
        else if ((width) == 8)                                                      \
            SX_LAUNCH(name##_8, (grid), (block), (bytes), (stream), (args));        \
        else                                                                        \
            SX_LAUNCH(name##_16, (grid), (block), (bytes), (stream), (args));       \
    } while (0)

/* The same for one that ends in sx_block_max() or sx_block_sum(): as many blocks as there can be at a time,
 * since each has an atomic. */
#define GPU_MERGE_BLOCKS 8u       /* of a multiprocessor */
#define GPU_RUN_MERGE_W(name, width, grid, block, stream, args) \
    GPU_RUN_SHARED_W(name, width, grid, block, SX_MERGE_SHARED(block), stream, args)

/* Blocks for so many keys. */
static unsigned gpu_merge_grid(const sx_gpu *g, uint64_t n)
{
    return gpu_grid_of(g, (n + GPU_BLOCK - 1) / GPU_BLOCK,
                       (uint64_t)g->multiprocessors * GPU_MERGE_BLOCKS);
}

static sx_status gpu_say_repeat(gpu_building *b, const sx_sorted *s, uint64_t at, sx_err *err)
{
    unsigned char encoded[16], key[16];
    uint64_t row[2] = {at, at + 1};
    char text[64];
    sx_status st = sx_gpu_copy(b->g, b->stream, encoded, (const unsigned char *)s->keys + at * s->width,
                               s->width, err);

    for (unsigned i = 0; i < 2 && st == SX_OK && s->row_bytes; i++) {
        row[i] = 0;
        st = sx_gpu_copy(b->g, b->stream, &row[i], (const unsigned char *)s->rows + (at + i) * s->row_bytes,
                      s->row_bytes, err);
    }
    if (st == SX_OK)
        st = sx_gpu_wait(b->g, b->stream, "reading equal keys", err);
    if (st != SX_OK)
        return st;
    sx_type_of(b->in->key_type)->decode(key, encoded, 1);
    sx_type_print(b->in->key_type, key, text, sizeof text);
    return sx_fail(err, SX_EINVAL, "the spec says unique, but key %s comes more than once: "
                   "with rows %llu and %llu (ranks %llu and %llu)", text,
                   (unsigned long long)row[0], (unsigned long long)row[1],
                   (unsigned long long)at, (unsigned long long)at + 1);
}

/* ---- the input ------------------------------------------------------------------ */

static sx_status gpu_stage_work(sx_gpu *g, gpu_stream stream, const void *job, uint64_t at,
                                uint64_t n, void *const dev[], sx_err *err)
{
    const sx_slice *to = (const sx_slice *)job;

    return sx_gpu_copy(g, stream, sx_slice_at(to, at), dev[0], sx_slice_bytes(to, at, at + n), err);
}

/* Copies a column of the host into device memory of ours, in whole lines. */
static sx_status gpu_stage_column(gpu_building *b, void **out, const sx_slice *from,
                                  const char *what, sx_err *err)
{
    gpu_column column = {*from, 1, 0, 0, 0};
    sx_slice to = sx_slice_fixed(NULL, from->each, from->n, SX_DEVICE);
    sx_how how = {0};
    sx_status st = sx_gpu_alloc(b->g, b->stream, out,
                                sx_round_up(sx_slice_bytes(from, 0, from->n), SX_LINE), what, err);

    if (st == SX_OK)
        st = sx_gpu_wait(b->g, b->stream, what, err);        /* channels are other streams */
    to.data = *out;
    how.threads = b->in->threads;
    how.progress = b->in->progress;
    return st == SX_OK ? gpu_run_columns(b->g, &how, &column, 1, from->n, gpu_stage_work, &to, what,
                                         err)
                       : st;
}

static sx_status gpu_find_rows(gpu_building *b, sx_err *err)
{
    const sx_input *in = b->in;
    sx_status st = SX_OK;

    b->rows = in->rows.data;
    if (in->row_type && !sx_slice_there(&in->rows)) {
        st = gpu_stage_column(b, &b->staged_rows, &in->rows, "copying rows", err);
        b->rows = b->staged_rows;
    }
    return st;
}

/* ---- sort -------------------------------------------------------------------------- */

static sx_gpu_input gpu_input_args(const gpu_building *b, uint32_t row_bytes)
{
    sx_gpu_input a = {0};

    a.n = b->in->n;
    a.key_type = b->in->key_type;
    a.row_type = b->in->row_type;
    a.row_bytes = row_bytes;
    a.in_rows = b->rows;
    a.keys = b->encoded;
    a.facts = b->facts;
    return a;
}

/* The caller's keys in device memory: where they are, or a copy. */
static sx_status gpu_find_keys(gpu_building *b, const void **keys, sx_err *err)
{
    const sx_input *in = b->in;
    sx_status st = SX_OK;

    *keys = in->keys.data;
    if (!sx_slice_there(&in->keys)) {
        st = gpu_stage_column(b, &b->staged_keys, &in->keys, "copying keys", err);
        *keys = b->staged_keys;
    }
    return st;
}

/* Takes keys as they are stored, in the order they came, into memory of ours, and queues what
 * finds out whether they ascend, the largest row, and whether a row is reserved. The sort counts
 * keys and then puts them where there is space for as many, so nobody may change them in between. */
static sx_status gpu_take_keys(gpu_building *b, const void *keys, uint32_t width, sx_err *err)
{
    const sx_input *in = b->in;
    sx_gpu_input a = {0};
    sx_gpu *g = b->g;
    sx_status st = SX_OK;

    if (b->staged_keys && (in->key_type == SX_U32 || in->key_type == SX_U64)) {
        b->encoded = b->staged_keys;
        b->staged_keys = NULL;
    } else {
        st = sx_gpu_alloc(g, b->stream, &b->encoded, sx_round_up(in->n * width, SX_LINE), "keys", err);
    }
    if (st != SX_OK)
        return st;
    st = gpu_set(g, b->stream, b->facts, 0, sizeof *b->facts, err);
    if (st != SX_OK)
        return st;
    a = gpu_input_args(b, 0);
    a.in_keys = keys;
    a.post = gpu_posts(b);
    if (b->encoded != keys || in->row_type)
        GPU_RUN_MERGE_W(k_take, width, gpu_merge_grid(g, in->n), GPU_BLOCK, b->stream, &a);
    GPU_RUN_MERGE_W(k_descent, width, gpu_merge_grid(g, in->n), GPU_BLOCK, b->stream, &a);
    st = sx_gpu_launched(g, "storing the input", err);
    sx_gpu_free(g, b->stream, b->staged_keys);
    b->staged_keys = NULL;
    return st;
}

/* Waits for it. */
static sx_status gpu_looked(gpu_building *b, sx_gpu_facts *facts, const char *what, sx_err *err)
{
    sx_status st = gpu_fetch(b, facts, what, err);

    if (st == SX_OK && facts->reserved_from > 0)
        return sx_fail(err, SX_EINVAL, "row %llu at position %llu is reserved: all ones means no "
                       "match", (unsigned long long)(b->in->row_type == SX_U64 ? SX_MISS
                                                                                : SX_MISS32),
                       (unsigned long long)b->in->n - facts->reserved_from);
    return st;
}

/* Stores rows in the order they came. b->stored stays NULL if the input's are such
 * already, and the sort only reads them. */
static sx_status gpu_store_rows(gpu_building *b, sx_sorted *s, int ascending, sx_err *err)
{
    int same_rows = b->in->row_type && sx_type_bytes(b->in->row_type) == s->row_bytes;
    sx_gpu_input a = gpu_input_args(b, s->row_bytes);
    sx_gpu *g = b->g;
    sx_status st = SX_OK;

    if (s->row_bytes && (ascending || !same_rows))
        st = sx_gpu_alloc(g, b->stream, &b->stored, s->n * s->row_bytes, "rows", err);
    a.rows = b->stored;
    if (st == SX_OK && a.rows)
        GPU_RUN(k_store_rows, s->n, b->stream, &a);
    return st == SX_OK ? sx_gpu_launched(g, "storing the input", err) : st;
}

/* Units of progress for each key: two columns come, one look, four for the sort, another
 * look. */
#define GPU_SORT_UNITS 8u

/* `units` of a build are done. */
static sx_status gpu_step_done(sx_progress *progress, uint64_t units, sx_err *err)
{
    sx_progress_add(progress, units);
    return sx_progress_status(progress, err);
}

/* Whether rows have 4 bytes, whatever they are. */
static int gpu_rows_are_4(const sx_input *in)
{
    return in->row_type ? in->row_type == SX_U32 : in->n <= SX_MISS32;
}

/* Arrays of its own for keys and rows of s->row_bytes, to be sorted into. */
static sx_status gpu_sort_space(gpu_building *b, sx_sorted *s, uint64_t bytes, sx_err *err)
{
    sx_status st = sx_gpu_alloc(b->g, b->stream, &s->keys, bytes, "sorting keys", err);

    return st == SX_OK ? sx_gpu_alloc(b->g, b->stream, &s->rows, s->n * s->row_bytes, "sorting rows",
                                      err)
                       : st;
}

/* Queues the sort. */
static sx_status gpu_queue_sort(gpu_building *b, sx_sorted *s, uint64_t bytes, sx_err *err)
{
    sx_status st = gpu_sort_space(b, s, bytes, err);

    return st == SX_OK ? gpu_sort(b->g, b->stream, s, b->encoded, b->stored ? b->stored : b->rows,
                                  (unsigned char *)b->facts + SX_LINE, GPU_FACTS - SX_LINE, err)
                       : st;
}

/* Tells k_repeat what to do with keys that are sorted. */
static void gpu_repeat_args(const gpu_building *b, const sx_sorted *s, uint64_t bytes,
                            sx_gpu_input *a)
{
    a->space = bytes / s->width;
    a->count = gpu_tally_counts(b->facts);
    a->post = gpu_posts(b);
    gpu_peek_args(&b->board, b->in->peek, s->width, a);
}

/* Queues the sort before anything is known of the keys. */
static sx_status gpu_sort_unseen(gpu_building *b, sx_sorted *s, const void *keys, uint64_t bytes,
                                 sx_err *err)
{
    sx_gpu *g = b->g;
    sx_gpu_input a;
    sx_status st = gpu_set(g, b->stream, b->facts, 0, sizeof *b->facts, err);

    if (st != SX_OK)
        return st;
    s->row_bytes = 4;
    a = gpu_input_args(b, s->row_bytes);
    a.in_keys = keys;
    a.keys = (unsigned char *)b->facts + gpu_tally_bytes(s->n);
    a.rows = (unsigned char *)a.keys + bytes;
    GPU_RUN_MERGE_W(k_take, s->width, gpu_merge_grid(g, s->n), GPU_BLOCK, b->stream, &a);
    st = sx_gpu_launched(g, "storing the input", err);
    b->encoded = a.keys;
    b->stored = a.rows;
    if (st == SX_OK)
        st = gpu_queue_sort(b, s, bytes, err);
    b->encoded = b->stored = NULL;
    return st;
}

/* Tells k_values what does not depend on how many values there are. */
static sx_gpu_values gpu_values_args(const sx_sorted *s, void *tally, void *keys, void *starts)
{
    sx_gpu_values a = {0};

    a.n = s->n;
    a.keys = s->keys;
    a.rows = s->rows;
    a.row_bytes = s->row_bytes;
    a.count = gpu_tally_counts(tally);
    a.few = gpu_tiles(s->n) <= SX_VALUES_FEW;     /* a warp sums up the counts before it itself */
    a.to_keys = keys;
    a.starts = starts;
    a.start_bytes = sx_start_bytes(s->n);
    return a;
}

/* Memory for each value of few keys once, of which there may be as many as keys. Without it values are not
 * taken early. */
static void gpu_early_space(gpu_building *b, sx_sorted *s, uint64_t bytes)
{
    sx_err none;

    if (b->in->unique ||
        sx_gpu_alloc(b->g, b->stream, &s->early_keys, bytes, "keys", &none) != SX_OK)
        return;
    if (sx_gpu_alloc(b->g, b->stream, &s->early_starts, sx_starts_bytes(s->n, s->n, s->row_bytes), "starts",
                     &none) != SX_OK) {
        sx_gpu_free(b->g, b->stream, s->early_keys);
        s->early_keys = NULL;
    }
}

/* Queues all that few keys get: a sort, a look at what is sorted, and each value once, as the host waits for
 * what is seen now, and the GPU would wait for the host later. */
static sx_status gpu_sort_few(gpu_building *b, sx_sorted *s, const void *keys, uint64_t bytes,
                              sx_err *err)
{
    sx_gpu *g = b->g;
    sx_gpu_few a = {0};
    sx_status st;

    s->row_bytes = 4;
    st = gpu_sort_space(b, s, bytes, err);
    if (st != SX_OK)
        return st;
    a.in = gpu_input_args(b, s->row_bytes);
    a.in.in_keys = keys;
    a.in.to_keys = s->keys;
    a.in.to_rows = s->rows;
    a.part = (sx_gpu_facts *)(void *)((unsigned char *)b->facts + gpu_tally_bytes(s->n));
    GPU_RUN_SHARED_W(k_few_sort, s->width, gpu_grid_of(g, SX_FEW_GROUPS(s->n), GPU_GRID_MOST), GPU_BLOCK,
                     SX_FEW_SHARED(GPU_BLOCK), b->stream, &a);
    gpu_early_space(b, s, bytes);         /* meanwhile */
    a.once = gpu_values_args(s, b->facts, s->early_keys, s->early_starts);
    a.once.early = 1;
    gpu_repeat_args(b, s, bytes, &a.in);
    GPU_RUN_MERGE_W(k_few_look, s->width, 1, GPU_BLOCK_MOST, b->stream, &a);
    return SX_OK;
}

/* Sorts, if keys do not ascend. */
static sx_status gpu_sort_seen(gpu_building *b, sx_sorted *s, const void *keys, uint64_t bytes,
                               sx_err *err)
{
    sx_gpu_facts facts;
    sx_status st = gpu_take_keys(b, keys, s->width, err);

    if (st == SX_OK)
        st = gpu_looked(b, &facts, "looking at the input", err);
    if (st != SX_OK)
        return st;
    if (b->in->row_type)
        s->max_row = facts.max_row;
    if (b->in->row_type || facts.descends)
        s->row_bytes = s->max_row < SX_MISS32 ? 4 : 8;
    st = gpu_store_rows(b, s, !facts.descends, err);
    if (st == SX_OK && facts.descends)
        return gpu_queue_sort(b, s, bytes, err);
    if (st == SX_OK) {
        s->keys = b->encoded;
        s->rows = b->stored;
        b->encoded = b->stored = NULL;
    }
    return st;
}

/* What is known when keys are sorted. Ascending keys whose rows are positions need no rows. */
static sx_status gpu_take_facts(gpu_building *b, sx_sorted *s, sx_err *err)
{
    sx_gpu_facts facts;
    sx_status st = gpu_looked(b, &facts, "looking for equal keys", err);

    if (st != SX_OK)
        return st;
    s->values = facts.values;
    if (b->in->row_type)
        s->max_row = facts.max_row;
    if (!b->in->row_type && !facts.descends && s->rows) {
        sx_gpu_free(b->g, b->stream, s->rows);
        s->rows = NULL;
        s->row_bytes = 0;
    }
    return b->in->unique && s->values < s->n ? gpu_say_repeat(b, s, s->n - facts.repeat_from, err)
                                             : SX_OK;
}

/* Whether keys, so many bytes, are sorted before anything is known of them. */
static int gpu_sorts_unseen(const sx_input *in, uint64_t bytes)
{
    return bytes <= GPU_SORT_AT_ONCE && gpu_rows_are_4(in);
}

static int gpu_sorts_few(const sx_input *in, uint64_t bytes)
{
    return gpu_sorts_unseen(in, bytes) && in->n <= GPU_FEW;
}

/* Bytes that the tally ends in. */
static uint64_t gpu_tally_more(const sx_input *in, uint64_t bytes)
{
    return gpu_sorts_few(in, bytes)      ? SX_FEW_GROUPS(in->n) * sizeof(sx_gpu_facts)
           : gpu_sorts_unseen(in, bytes) ? bytes + in->n * 4
                                         : 0;
}

static sx_status gpu_sort_steps(gpu_building *b, sx_sorted *s, sx_err *err)
{
    uint64_t n = b->in->n, bytes = sx_round_up(n * s->width, SX_LINE);
    int unseen = gpu_sorts_unseen(b->in, bytes), few = gpu_sorts_few(b->in, bytes);
    const void *keys;
    sx_gpu *g = b->g;
    sx_status st;

    sx_progress_units(b->in->progress, GPU_SORT_UNITS * n);
    st = gpu_find_keys(b, &keys, err);
    if (st == SX_OK)
        st = gpu_find_rows(b, err);
    if (st == SX_OK)
        st = gpu_step_done(b->in->progress, n, err);
    if (st == SX_OK)
        st = few      ? gpu_sort_few(b, s, keys, bytes, err)
             : unseen ? gpu_sort_unseen(b, s, keys, bytes, err)
                      : gpu_sort_seen(b, s, keys, bytes, err);
    if (st == SX_OK)
        st = gpu_step_done(b->in->progress, 4 * n, err);
    if (st == SX_OK && !few) {
        sx_gpu_input a = gpu_input_args(b, 0);
        a.keys = s->keys;
        gpu_repeat_args(b, s, bytes, &a);
        GPU_RUN_MERGE_W(k_repeat, s->width, gpu_merge_grid(g, n), GPU_BLOCK, b->stream, &a);
    }
    if (st == SX_OK)
        st = gpu_take_facts(b, s, err);
    if (st == SX_OK)
        gpu_peeked(&b->board, b->in->peek, s->width);
    return st == SX_OK ? gpu_step_done(b->in->progress, n, err) : st;
}

static sx_status gpu_backend_sort(void *self, const sx_input *in, sx_sorted *out, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_building b = {0};
    sx_sorted s = {0};
    void *facts = NULL;
    uint64_t bytes;
    sx_err other;
    sx_status st = gpu_enter(g, err);

    s.n = s.ranks = in->n;
    s.width = sx_type_of(in->key_type)->width;
    s.max_row = in->n ? in->n - 1 : 0;
    if (st != SX_OK || in->n == 0) {
        *out = s;
        return st;
    }
    b.g = g;
    b.in = in;
    b.stream = gpu_stream_of(NULL);
    if (in->stream)
        st = sx_gpu_wait(g, gpu_stream_of(in->stream), "waiting for the stream", err);
    bytes = sx_round_up(in->n * s.width, SX_LINE);
    if (st == SX_OK)
        st = sx_gpu_alloc(g, b.stream, &facts, gpu_tally_bytes(in->n) + gpu_tally_more(in, bytes), "facts",
                          err);
    b.facts = (sx_gpu_facts *)facts;
    if (st == SX_OK) {
        gpu_board_take(g, &b.board, in->peek, s.width);
        st = gpu_sort_steps(&b, &s, err);
        if (st != SX_OK)          /* kernels may still write to the board */
            (void)sx_gpu_wait(g, b.stream, "sorting", &other);
        gpu_board_give(g, &b.board);
    }
    sx_gpu_free(g, b.stream, b.staged_keys);
    sx_gpu_free(g, b.stream, b.staged_rows);
    sx_gpu_free(g, b.stream, b.encoded);
    sx_gpu_free(g, b.stream, b.stored);
    if (st != SX_OK) {
        sx_gpu_free(g, b.stream, facts);
        sx_gpu_free(g, b.stream, s.keys);
        sx_gpu_free(g, b.stream, s.rows);
        sx_gpu_free(g, b.stream, s.early_keys);
        sx_gpu_free(g, b.stream, s.early_starts);
        return st;
    }
    s.tally = facts;
    *out = s;
    return SX_OK;
}

/* Brings keys of an array that is sorted. */
static sx_status gpu_backend_peek(void *self, const sx_sorted *sorted, sx_peek *peek, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream stream = gpu_stream_of(NULL);
    gpu_board board = {0};
    sx_gpu_input a = {0};
    sx_status st = gpu_enter(g, err);

    if (st != SX_OK)
        return st;
    gpu_board_take(g, &board, peek, sorted->width);
    a.n = sorted->n;
    a.keys = sorted->keys;
    gpu_peek_args(&board, peek, sorted->width, &a);
    if (a.ranks > 0) {
        GPU_RUN_W(k_peek, sorted->width, a.ranks, stream, &a);
        st = sx_gpu_launched(g, "looking at keys", err);
        if (st == SX_OK)
            st = sx_gpu_wait(g, stream, "looking at keys", err);
        if (st == SX_OK)
            gpu_peeked(&board, peek, sorted->width);
    }
    gpu_board_give(g, &board);
    return st;
}

/* ---- each value once --------------------------------------------------------------- */

/* Queues what takes each value once, by the counts of the sort. */
static sx_status gpu_queue_values(sx_gpu *g, gpu_stream stream, const sx_sorted *sorted, void **keys,
                                  void **starts, sx_err *err)
{
    uint64_t bytes = sx_round_up(sorted->values * sorted->width, SX_LINE), scratch_bytes = 0;
    uint64_t tiles = gpu_tiles(sorted->n), firsts = sx_firsts_offset(sorted->values, sorted->n);
    void *scratch = NULL;
    sx_gpu_values a;
    sx_status st = sx_gpu_alloc(g, stream, keys, bytes, "keys", err);

    if (st == SX_OK)
        st = sx_gpu_alloc(g, stream, starts,
                          sx_starts_bytes(sorted->values, sorted->n, sorted->row_bytes), "starts",
                          err);
    a = gpu_values_args(sorted, sorted->tally, *keys, *starts);
    if (st == SX_OK && !a.few)
        st = gpu_sum_up(g, stream, NULL, &scratch_bytes, gpu_tally_counts(sorted->tally), tiles, err);
    if (st == SX_OK && !a.few)
        st = sx_gpu_alloc(g, stream, &scratch, scratch_bytes, "values", err);
    if (st == SX_OK && !a.few)
        st = gpu_sum_up(g, stream, scratch, &scratch_bytes, gpu_tally_counts(sorted->tally), tiles, err);
    if (st == SX_OK) {
        a.space = bytes / sorted->width;
        a.firsts = (unsigned char *)*starts + firsts;
        a.start_space = sorted->row_bytes ? firsts / a.start_bytes : sorted->values + 1;
        GPU_RUN_W(k_values, sorted->width, tiles * 32, stream, &a);
        st = sx_gpu_launched(g, "taking values", err);
    }
    sx_gpu_free(g, stream, scratch);
    return st;
}

static sx_status gpu_backend_once(void *self, sx_sorted *sorted, uint32_t threads, sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    gpu_stream stream = gpu_stream_of(NULL);
    void *keys = NULL, *starts = NULL;
    sx_status st = gpu_enter(g, err);

    (void)threads;
    if (st != SX_OK || sorted->starts || sorted->n == 0)
        return st;
    if (sorted->strings.offset_bytes)     /* they come once, or not (query/build.c) */
        return SX_OK;
    sx_progress_step(sorted->progress, sorted->n);
    if (!sorted->early_keys)
        st = gpu_queue_values(g, stream, sorted, &keys, &starts, err);
    if (st == SX_OK)
        st = gpu_step_done(sorted->progress, sorted->n, err);
    if (st != SX_OK) {
        sx_gpu_free(g, stream, keys);
        sx_gpu_free(g, stream, starts);
        return st;
    }
    if (sorted->early_keys) {             /* all keys are freed in their place, while the GPU works */
        keys = sorted->early_keys;
        starts = sorted->early_starts;
        sorted->early_keys = sorted->keys;
        sorted->early_starts = NULL;
    } else {
        sx_gpu_free(g, stream, sorted->keys);
    }
    sorted->keys = keys;
    sorted->starts = starts;
    sorted->n = sorted->values;
    return SX_OK;
}

/* ---- build ------------------------------------------------------------------------ */

static sx_status gpu_backend_build(void *self, sx_view *shape, sx_sorted *sorted,
                                   uint32_t threads, void *base[SX_SECTIONS], sx_err *err)
{
    sx_gpu *g = (sx_gpu *)self;
    sx_gpu_build a = {0};
    const sx_family_gpu *family = sx_family_gpu_of(shape->family);
    int keep = sx_section_stays(shape, SX_SEC_KEYS);
    gpu_stream stream = gpu_stream_of(NULL);
    sx_status st = gpu_enter(g, err);

    (void)threads;
    sx_progress_step(sorted->progress, 2 * shape->n);
    if (st == SX_OK && family->fit && shape->n > 0)
        st = family->fit(g, stream, shape, sorted->keys, sorted->progress, base, err);
    for (int kind = 0; kind < SX_SECTIONS && st == SX_OK; kind++) {
        uint64_t bytes = sx_section_bytes(shape, (unsigned)kind);
        if (bytes > 0 && !base[kind] && !sx_section_stays(shape, (unsigned)kind))
            st = sx_gpu_alloc(g, stream, &base[kind], bytes, sx_section_name(shape, (unsigned)kind),
                           err);
    }
    a.v = *shape;
    a.from_keys = sorted->keys;
    a.from_rows = sorted->rows;
    if (st == SX_OK && family->fill && shape->n > 0)
        family->fill(g, stream, shape, sorted->keys, base);
    if (st == SX_OK && !keep && shape->n > 0) {
        sx_view bound = *shape;
        sx_view_bind(&bound, (const void *const *)base);
        a.v = bound;
        a.keys = (unsigned char *)bound.keys;
        a.rows = (unsigned char *)bound.rows;
        if ((shape->traits & SX_SLOTS_ARE_RANKS) && shape->block * shape->width % 16 == 0 &&
            shape->block * shape->row_bytes % 16 == 0 &&
            shape->block_bytes == shape->block * (uint32_t)(shape->width + shape->row_bytes))
            a.whole = shape->n / shape->block;
        if (a.whole > 0)
            GPU_RUN(k_blocks, a.whole * (shape->block_bytes / 16), stream, &a);
        a.whole *= shape->block;
        if (shape->slots > a.whole)
            GPU_RUN_W(k_slots, shape->width, shape->slots - a.whole, stream, &a);
    }
    if (st == SX_OK)
        st = sx_gpu_launched(g, "building", err);
    sx_gpu_free(g, stream, sorted->tally);        /* before the wait, as it takes a while */
    sx_gpu_free(g, stream, sorted->early_keys);
    sx_gpu_free(g, stream, sorted->early_starts);
    sorted->tally = sorted->early_keys = sorted->early_starts = NULL;
    if (st == SX_OK)
        st = sx_gpu_wait(g, stream, "building", err);
    if (st == SX_OK)
        st = gpu_step_done(sorted->progress, shape->n, err);
    if (st != SX_OK) {
        for (int kind = 0; kind < SX_SECTIONS; kind++) {
            sx_gpu_free(g, stream, base[kind]);
            base[kind] = NULL;
        }
        return st;
    }
    sx_sorted_give(sorted, shape, base);
    return SX_OK;
}

static uint64_t gpu_backend_peak(const void *self, const sx_view *v)
{
    /* At most keys and rows four times: as they come in, encoded, sorted, and as scratch
     * of the sort; then sections; and scratch that does not depend on n. */
    uint64_t arrays = sx_round_up(v->ranks * v->width, SX_LINE) + v->ranks * 8, sections = 0;

    (void)self;
    for (int kind = 0; kind < SX_SECTIONS; kind++)
        sections += sx_section_bytes(v, (unsigned)kind);
    return 4 * arrays + sections + GPU_SCRATCH;
}
