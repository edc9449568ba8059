/* gpu_climb_impl.h - the kernel for climbs, for one width and one family: a thread goes up from
 * its key, all steps. Behind gpu_bound_impl.h.
 *
 * To see a circle it leaves a mark, each time twice as far from the last one, and looks whether
 * it comes by there again (as cpu_climb.c). */

/* The row of q, or SX_MISS. */
SX_DEV uint64_t F(climb_get)(const sx_view *v, KEY q)
{
    uint64_t slot, at = F(bound_near)(v, q, &slot, v->unit, 0, 0);

    return slot == SX_NO_SLOT || F(slot_key)(v, slot) != q ? SX_MISS : sx_row_of(v, slot, at, 0);
}

/* Where a key's way stands. */
typedef struct {
    KEY key, mark;
    uint64_t row;
    uint32_t steps, next_mark;
    int circle;
} F(way);

SX_DEV F(way) F(way_begin)(KEY key, uint64_t row)
{
    F(way) a = {key, key, row, 0, 2, 0};

    return a;
}

/* Takes a step to the parent, which has this row. Returns whether the way goes on. */
SX_DEV int F(way_up)(const sx_gpu_climb *c, F(way) *a, KEY above, uint64_t row)
{
    if (row == SX_MISS)           /* nobody knows the parent */
        return 0;
    a->key = above;
    a->row = row;
    a->steps++;
    a->circle = c->limit == SX_CLIMB_ENDLESS && above == a->mark;
    if (a->circle)
        return 0;
    if (a->steps == a->next_mark) {
        a->mark = above;
        a->next_mark *= 2;
    }
    return 1;
}

/* Row and steps of the top; a circle has none. */
SX_DEV void F(way_end)(const sx_gpu_climb *c, F(way) *a, uint64_t i)
{
    if (a->circle) {
        a->row = SX_MISS;
        a->steps = SX_MISS32;
        atomicAdd(&c->circles[1], 1ull);
        atomicMin(&c->circles[0], (sx_word)(c->before + i));
    }
    if (c->rows)
        sx_put_result(c->rows, c->row_bytes, i, a->row);
    if (c->steps)
        c->steps[i] = a->steps;
}

/* Whether the way may go on from where it stands. */
SX_DEV int F(way_on)(const sx_gpu_climb *c, const F(way) *a)
{
    return a->row < c->parents_n && a->steps < c->limit;      /* SX_MISS is not below */
}

SX_KERNEL_1024(F(k_climb), sx_gpu_climb)
{
    const sx_view *v = SX_GPU_VIEW(&ap->views);

    for (uint64_t i = SX_THREAD; i < ap->n; i += SX_THREADS) {
        KEY key = F(read_key)(ap->key_type, ap->of, i);
        F(way) a = F(way_begin)(key, SX_MISS);
        for (int begun = 0;; begun = 1) { /* one walk in the code: to the key, then to parents */
            uint64_t row = F(climb_get)(v, key);
            if (!begun)
                a.row = row;
            else if (!F(way_up)(ap, &a, key, row))
                break;
            if (!F(way_on)(ap, &a))
                break;
            key = F(read_key)(ap->key_type, ap->parents, a.row);
            if (key == a.key)     /* the top is its own parent */
                break;
        }
        F(way_end)(ap, &a, i);
        if (ap->keys && a.row != SX_MISS)
            F(write_key)(ap->key_type, ap->keys, i, a.key);
    }
}

#if W != 16
/* The row of a string, which is found by its code (gpu_texts.h), or SX_MISS; and its position. */
SX_DEV uint64_t F(climb_find)(const sx_view *v, const unsigned char *q, uint64_t length,
                              uint64_t *position)
{
    sx_code_walk w = {0, 0, 0, 0};
    sx_gpu_search s;
    uint64_t slot, at;

    *position = SX_MISS;
    if (v->n == 0)
        return SX_MISS;
    s.q = q;
    s.length = length;
    while (!sx_code_step(&v->strings, s.q, s.length, &w))
        ;
    s.code = w.code;
    s.same = w.same;
    s.right = 0;
    at = sx_text_bound(v, F(bound_near)(v, (KEY)w.code, &slot, v->unit, 0, 0), &s);
    if (at >= v->n || !s.equal)
        return SX_MISS;
    *position = at;
    return sx_row_of(v, sx_slot_of_rank(v, at), at, 0);
}
#endif

#if W == 8
/* The same for strings. One stands for itself by the position of the first one equal to it: two are
 * equal if these numbers are. */
SX_KERNEL(k_climb_texts, sx_gpu_text_climb)
{
    const sx_gpu_climb *c = &ap->a;
    const sx_view *v = SX_GPU_VIEW(&c->views);

    for (uint64_t i = SX_THREAD; i < c->n; i += SX_THREADS) {
        uint64_t length;
        const unsigned char *q = sx_text_at(&ap->of, i, &length);
        F(way) a = F(way_begin)(SX_MISS, SX_MISS);
        for (int begun = 0;; begun = 1) {
            uint64_t key, row = v->width == 4 ? climb_find_4(v, q, length, &key)
                                              : climb_find_8(v, q, length, &key);
            if (!begun)
                a = F(way_begin)(key, row);
            else if (key == a.key) /* the top is its own parent */
                break;
            else if (!F(way_up)(c, &a, key, row))
                break;
            if (!F(way_on)(c, &a))
                break;
            q = sx_text_at(&ap->parents, a.row, &length);
        }
        F(way_end)(c, &a, i);
        if (ap->at)
            ap->at[i] = a.row == SX_MISS ? SX_MISS : a.key;
    }
}
#endif
