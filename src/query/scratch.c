/* scratch.c - what a question about strings takes beside its columns, for max_bytes.
 *
 *     who answers   codes                        strings as results, which are n
 *     a GPU         what its backend says        positions; lengths, and as much to sum them up
 *     the host      hybrid: 16 bytes a string    positions; offsets and bytes, if they go to a device
 *                   and column; else its stacks
 *
 * Numbers that come with strings wait on the host until there is space for these. Columns in
 * device memory visit the host if it answers. */
#include "query/index.h"

/* Adds count * each, and stays at the largest number there is. */
static void add(uint64_t *bytes, uint64_t count, uint64_t each)
{
    uint64_t more;

    if (__builtin_mul_overflow(count, each, &more) || __builtin_add_overflow(*bytes, more, bytes))
        *bytes = UINT64_MAX;
}

/* A column of n strings or numbers that visits the host. */
static void add_visit(uint64_t *bytes, const sx_slice *s, uint64_t n)
{
    if (!s || !sx_slice_there(s) || !sx_slice_wanted(s))
        return;
    add(bytes, n, s->each);
    if (s->offsets) {
        add(bytes, 1, s->each);
        add(bytes, s->bytes, 1);
    }
}

uint64_t sx_found_scratch(const sx_device *at, uint64_t n, const sx_slice *keys)
{
    uint64_t bytes = 0, word = sizeof(uint64_t);

    add(&bytes, n, word);
    if (at->backend->gpu)
        add(&bytes, n + 1, 2 * word);
    else
        add_visit(&bytes, keys, n);
    return bytes;
}

uint64_t sx_text_scratch(const sx_index_version *now, const sx_text_asked *of)
{
    const sx_run *run = sx_one_run(now);
    const sx_device *at = run->replica[0].dev;
    uint64_t bytes = 0, n = of->n, word = sizeof(uint64_t);
    int gpu = at->backend->gpu != 0, strings = of->keys && of->keys->offsets;
    int travels = 0;

    for (unsigned i = 0; i < SX_TEXT_COLUMNS; i++) {
        const sx_slice *s = of->column[i];
        if (s && sx_slice_wanted(s))
            travels |= !sx_slice_there(s);
        if (s && strings && i >= SX_TEXT_NUMBERS && sx_slice_wanted(s))
            add(&bytes, n, s->each);
        else if (!gpu)
            add_visit(&bytes, s, n);
    }
    if (of->searches && gpu)
        add(&bytes, 1, at->backend->text_scratch(at->self, n, of->ranges, travels));
    else if (of->searches && sx_run_place(run) == SX_PLACE_HYBRID)
        add(&bytes, n, of->searches * 2 * word);
    if (strings)
        add(&bytes, 1, sx_found_scratch(at, n, of->keys));
    return bytes;
}

sx_status sx_check_text_scratch(const sx_index_version *now, const sx_text_asked *of,
                                uint64_t max_bytes, const char *verb, sx_err *err)
{
    uint64_t bytes;

    if (max_bytes == 0 || now->key_type != SX_STR || of->n == 0)
        return SX_OK;
    bytes = sx_text_scratch(now, of);
    return bytes <= max_bytes
               ? SX_OK
               : sx_fail(err, SX_ENOMEM, "%s: %llu strings need up to %llu bytes of scratch, more "
                         "than max_bytes = %llu", verb, (unsigned long long)of->n,
                         (unsigned long long)bytes, (unsigned long long)max_bytes);
}
