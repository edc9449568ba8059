/* core_merge.c - sorted queries among sorted keys, by one pass over both.
 *
 * No index is built, so this is for queries of a drop-in that are about as many as keys.
 * A step compares one key with one query and moves on in one of the arrays, without a
 * branch that chance decides. Each step waits for the one before, so four walks go side by
 * side, each through a quarter of a tile:
 *
 *     steps   0        STEPS     2 STEPS     3 STEPS   TILE      a step is a key that was
 *             |--lane 0--|--lane 1--|--lane 2--|--lane 3--|      passed, or a query
 *
 * Where a lane begins is found by binary search: of the first d steps, i pass keys and d - i
 * queries, if i is the least number such that key i is not before query d - i - 1. All
 * elements of a tile are seen to be sorted before they are used, so that both arrays are
 * read from memory once. */
#include <stdlib.h>

#include "core.h"

#define LANES 4
#define STEPS 1024                /* of a lane */
#define TILE (LANES * STEPS)

typedef struct {                  /* what is asked of a pass */
    const void *keys, *queries;
    Py_ssize_t n, m;
    bool right;                   /* equal keys are before a query */
    int64_t add;                  /* to each rank */
    int64_t *out;
} merging;

/* sorted: no element is below the one before it, and none is a NaN. Elements before `from`
 * are known to be so. keys_of: how many of the first d steps pass keys. walk: the rest of a
 * pass, from key i and query j on, where one of both arrays is nearly used up. merge: how many
 * queries have their rank; all of them only if both arrays are sorted. */
#define MERGE(name, T)                                                                   \
    static bool sorted_##name(const T *a, Py_ssize_t from, Py_ssize_t to)                \
    {                                                                                    \
        if (from == 0 && to > 0 && !(a[from++] == a[0]))                                 \
            return false;                                                                \
        while (from < to) {                                                              \
            Py_ssize_t end = to - from < TILE ? to : from + TILE;                        \
            int wrong = 0;                                                               \
            for (; from < end; from++)        /* no branch: several at a time */         \
                wrong |= !(a[from - 1] <= a[from]);                                      \
            if (wrong)                                                                   \
                return false;                                                            \
        }                                                                                \
        return true;                                                                     \
    }                                                                                    \
    static Py_ssize_t keys_of_##name(const T *a, const T *q, Py_ssize_t d, bool right)   \
    {                                                                                    \
        Py_ssize_t low = 0, high = d;                                                    \
        while (low < high) {                                                             \
            Py_ssize_t i = (low + high) / 2;                                             \
            if (right ? a[i] <= q[d - i - 1] : a[i] < q[d - i - 1])                      \
                low = i + 1;                                                             \
            else                                                                         \
                high = i;                                                                \
        }                                                                                \
        return low;                                                                      \
    }                                                                                    \
    static inline __attribute__((always_inline)) void                                    \
    lanes_##name(const T *a, const T *q, const Py_ssize_t *at, bool right,               \
                 uint32_t found[LANES][STEPS + 1])                                       \
    {                                                                                    \
        const T *a1 = a + at[1], *a2 = a + at[2], *a3 = a + at[3];                       \
        const T *q1 = q + (STEPS - at[1]), *q2 = q + (2 * STEPS - at[2]),                \
                *q3 = q + (3 * STEPS - at[3]);                                           \
        size_t i0 = 0, i1 = 0, i2 = 0, i3 = 0;                                           \
        for (size_t s = 0; s < STEPS; s++) {                                             \
            size_t j0 = s - i0, j1 = s - i1, j2 = s - i2, j3 = s - i3;                   \
            found[0][j0] = (uint32_t)i0;                                                 \
            found[1][j1] = (uint32_t)i1;                                                 \
            found[2][j2] = (uint32_t)i2;                                                 \
            found[3][j3] = (uint32_t)i3;                                                 \
            i0 += right ? a[i0] <= q[j0] : a[i0] < q[j0];                                \
            i1 += right ? a1[i1] <= q1[j1] : a1[i1] < q1[j1];                            \
            i2 += right ? a2[i2] <= q2[j2] : a2[i2] < q2[j2];                            \
            i3 += right ? a3[i3] <= q3[j3] : a3[i3] < q3[j3];                            \
        }                                                                                \
    }                                                                                    \
    static void tile_##name(const T *a, const T *q, Py_ssize_t i, Py_ssize_t j,          \
                            const merging *w, Py_ssize_t at[LANES + 1])                  \
    {                                                                                    \
        uint32_t found[LANES][STEPS + 1];                                                \
        at[0] = 0;                                                                       \
        for (int k = 1; k <= LANES; k++)                                                 \
            at[k] = keys_of_##name(a + i, q + j, k * STEPS, w->right);                   \
        if (w->right)                                                                    \
            lanes_##name(a + i, q + j, at, true, found);                                 \
        else                                                                             \
            lanes_##name(a + i, q + j, at, false, found);                                \
        for (int k = 0; k < LANES; k++) {                                                \
            int64_t *out = w->out + j + k * STEPS - at[k];                               \
            int64_t base = w->add + i + at[k];                                           \
            Py_ssize_t answered = STEPS - (at[k + 1] - at[k]);                           \
            for (Py_ssize_t x = 0; x < answered; x++)                                    \
                out[x] = base + found[k][x];                                             \
        }                                                                                \
    }                                                                                    \
    static void walk_##name(const T *a, const T *q, Py_ssize_t i, Py_ssize_t j,          \
                            const merging *w)                                            \
    {                                                                                    \
        while (i < w->n && j < w->m) {                                                   \
            int before = w->right ? a[i] <= q[j] : a[i] < q[j];                          \
            w->out[j] = w->add + i;                                                      \
            i += before;                                                                 \
            j += !before;                                                                \
        }                                                                                \
        for (; j < w->m; j++)                                                            \
            w->out[j] = w->add + w->n;                                                   \
    }                                                                                    \
    static Py_ssize_t merge_##name(const merging *w)                                     \
    {                                                                                    \
        const T *a = w->keys, *q = w->queries;                                           \
        Py_ssize_t i = 0, j = 0, a_seen = 0, q_seen = 0, at[LANES + 1];                  \
        while (w->n - i >= TILE && w->m - j >= TILE) {                                   \
            if (!sorted_##name(a, a_seen, i + TILE) ||                                   \
                !sorted_##name(q, q_seen, j + TILE))                                     \
                return j;                                                                \
            a_seen = i + TILE;                                                           \
            q_seen = j + TILE;                                                           \
            tile_##name(a, q, i, j, w, at);                                              \
            i += at[LANES];                                                              \
            j += TILE - at[LANES];                                                       \
        }                                                                                \
        if (!sorted_##name(a, a_seen, w->n) || !sorted_##name(q, q_seen, w->m))          \
            return j < w->m ? j : w->m - 1;                                              \
        walk_##name(a, q, i, j, w);                                                      \
        return w->m;                                                                     \
    }

MERGE(u32, uint32_t)
MERGE(i32, int32_t)
MERGE(u64, uint64_t)
MERGE(i64, int64_t)
MERGE(f32, float)
MERGE(f64, double)

/* Within groups, a query has the last key of its own group that was passed: `last` has a row
 * for each group. Forward, all goes from the end to the beginning. */
typedef struct {
    merging in;                   /* right: backward, equal keys match; forward, they don't */
    const int64_t *key_group, *query_group;
    int64_t *last;
    bool forward;
} grouping;

#define GROUPED(name, T)                                                                 \
    static bool grouped_##name(const grouping *g)                                        \
    {                                                                                    \
        const merging *w = &g->in;                                                       \
        const T *a = w->keys, *q = w->queries;                                           \
        if (!sorted_##name(a, 0, w->n) || !sorted_##name(q, 0, w->m))            \
            return false;                                                                \
        for (Py_ssize_t i = 0, j = 0; !g->forward && j < w->m; j++) {                    \
            for (; i < w->n && (w->right ? a[i] <= q[j] : a[i] < q[j]); i++)             \
                g->last[g->key_group[i]] = i;                                            \
            w->out[j] = g->last[g->query_group[j]];                                      \
        }                                                                                \
        for (Py_ssize_t i = w->n, j = w->m; g->forward && j-- > 0;) {                    \
            for (; i > 0 && (w->right ? a[i - 1] > q[j] : a[i - 1] >= q[j]); i--)        \
                g->last[g->key_group[i - 1]] = i - 1;                                    \
            w->out[j] = g->last[g->query_group[j]];                                      \
        }                                                                                \
        return true;                                                                     \
    }

GROUPED(u32, uint32_t)
GROUPED(i32, int32_t)
GROUPED(u64, uint64_t)
GROUPED(i64, int64_t)
GROUPED(f32, float)
GROUPED(f64, double)

/* Which queries are among the keys, where queries are so many more that the next one mostly
 * stays at the same key. Keys are sorted; queries are seen to be so on the way. */
#define AMONG(name, T)                                                                   \
    static bool among_##name(const merging *w, unsigned char *out)                       \
    {                                                                                    \
        const T *a = w->keys, *q = w->queries;                                           \
        if (!sorted_##name(a, 0, w->n) || !sorted_##name(q, 0, w->m < 1 ? w->m : 1))     \
            return false;                                                                \
        for (Py_ssize_t i = 0, j = 0; j < w->m; j++) {                                   \
            if (j && !(q[j - 1] <= q[j]))                                                \
                return false;                                                            \
            while (i < w->n && a[i] < q[j])                                              \
                i++;                                                                     \
            out[j] = i < w->n && a[i] == q[j];                                           \
        }                                                                                \
        return true;                                                                     \
    }

AMONG(u32, uint32_t)
AMONG(i32, int32_t)
AMONG(u64, uint64_t)
AMONG(i64, int64_t)
AMONG(f32, float)
AMONG(f64, double)

static bool among_type(int type, const merging *w, unsigned char *out)
{
    switch (type) {
    case SX_U32: return among_u32(w, out);
    case SX_I32: return among_i32(w, out);
    case SX_U64: return among_u64(w, out);
    case SX_I64: return among_i64(w, out);
    case SX_F32: return among_f32(w, out);
    default: return among_f64(w, out);
    }
}

static bool sorted_type(int type, const void *a, Py_ssize_t n)
{
    switch (type) {
    case SX_U32: return sorted_u32(a, 0, n);
    case SX_I32: return sorted_i32(a, 0, n);
    case SX_U64: return sorted_u64(a, 0, n);
    case SX_I64: return sorted_i64(a, 0, n);
    case SX_F32: return sorted_f32(a, 0, n);
    default: return sorted_f64(a, 0, n);
    }
}

static Py_ssize_t merged(int type, const merging *w)
{
    switch (type) {
    case SX_U32: return merge_u32(w);
    case SX_I32: return merge_i32(w);
    case SX_U64: return merge_u64(w);
    case SX_I64: return merge_i64(w);
    case SX_F32: return merge_f32(w);
    default: return merge_f64(w);
    }
}

static bool grouped(int type, const grouping *g)
{
    switch (type) {
    case SX_U32: return grouped_u32(g);
    case SX_I32: return grouped_i32(g);
    case SX_U64: return grouped_u64(g);
    case SX_I64: return grouped_i64(g);
    case SX_F32: return grouped_f32(g);
    default: return grouped_f64(g);
    }
}

bool hold_arrays(held_column *held, PyObject *const *objects, int count, unsigned writable)
{
    for (int i = 0; i < count; i++) {
        if (hold_column(&held[i], objects[i], writable >> i & 1, "an array") < 0) {
            let_go_arrays(held, i);
            return false;
        }
    }
    return true;
}

void let_go_arrays(held_column *held, int count)
{
    for (int i = 0; i < count; i++)
        let_go(&held[i]);
}

bool array_is(const held_column *held, int type, uint64_t n)
{
    return held->has_view && held->column.type == type && held->column.n == n &&
           (uintptr_t)held->column.data % sx_type_bytes(type) == 0;
}

/* Keys, queries and what is written for these: of types that can be compared here. */
static bool can_be_merged(const held_column *keys, const held_column *queries,
                          const held_column *out)
{
    int type = keys->column.type;

    return type != SX_B16 && type != SX_STR && array_is(keys, type, keys->column.n) &&
           array_is(queries, type, queries->column.n) &&
           array_is(out, SX_I64, queries->column.n);
}

/* merge(keys, queries, right, add, out) -> how many queries, from the first on, have their rank
 * in out (int64), with `add` added to it. Those are all if both arrays are sorted, and otherwise
 * those before a place that is not. Arrays are contiguous and aligned, keys and queries of one
 * type. */
static PyObject *merge(PyObject *module, PyObject *args)
{
    PyObject *objects[3];         /* keys, queries, out */
    held_column h[3];
    int right;
    long long add;
    Py_ssize_t done = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOpLO", &objects[0], &objects[1], &right, &add, &objects[2]) ||
        !hold_arrays(h, objects, 3, 1u << 2))
        return NULL;
    if (can_be_merged(&h[0], &h[1], &h[2])) {
        merging w = { h[0].column.data, h[1].column.data, (Py_ssize_t)h[0].column.n,
                      (Py_ssize_t)h[1].column.n, right, add, h[2].column.data };

        Py_BEGIN_ALLOW_THREADS
        done = merged(h[0].column.type, &w);
        Py_END_ALLOW_THREADS
    }
    let_go_arrays(h, 3);
    return PyLong_FromSsize_t(done);
}

/* ascends(array) -> whether it is sorted, and has no NaN. */
static PyObject *ascends(PyObject *module, PyObject *array)
{
    held_column h;
    bool yes = false;

    (void)module;
    if (!hold_arrays(&h, &array, 1, 0))
        return NULL;
    if (h.column.type != SX_B16 && h.column.type != SX_STR &&
        array_is(&h, h.column.type, h.column.n)) {
        Py_BEGIN_ALLOW_THREADS
        yes = sorted_type(h.column.type, h.column.data, (Py_ssize_t)h.column.n);
        Py_END_ALLOW_THREADS
    }
    let_go(&h);
    return PyBool_FromLong(yes);
}

/* among(keys, queries, out) -> whether both are sorted; if so, out (bool) says which queries are
 * among the keys. It is for queries that are many more. */
static PyObject *among(PyObject *module, PyObject *args)
{
    PyObject *objects[2], *out;   /* keys, queries */
    held_column h[2];
    Py_buffer found;
    bool done = false;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &out) ||
        !hold_arrays(h, objects, 2, 0))
        return NULL;
    if (PyObject_GetBuffer(out, &found, PyBUF_SIMPLE | PyBUF_WRITABLE)) {
        let_go_arrays(h, 2);
        return NULL;
    }
    int type = h[0].column.type;
    if (type != SX_B16 && type != SX_STR && array_is(&h[0], type, h[0].column.n) &&
        array_is(&h[1], type, h[1].column.n) && (uint64_t)found.len == h[1].column.n) {
        merging w = { .keys = h[0].column.data, .queries = h[1].column.data,
                      .n = (Py_ssize_t)h[0].column.n, .m = (Py_ssize_t)h[1].column.n };

        Py_BEGIN_ALLOW_THREADS
        done = among_type(type, &w, found.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&found);
    let_go_arrays(h, 2);
    return PyBool_FromLong(done);
}

static bool all_below(const int64_t *group, uint64_t n, uint64_t groups)
{
    int wrong = 0;

    for (uint64_t i = 0; i < n; i++)
        wrong |= (uint64_t)group[i] >= groups;
    return !wrong;
}

/* merge_groups(keys, queries, key_group, query_group, groups, right, forward, out) ->
 * whether both are sorted; if so, out has the rows: of the last key before a query within
 * its group, or forward of the first one behind it; -1: none. Groups are int64, below
 * `groups`. */
static PyObject *merge_groups(PyObject *module, PyObject *args)
{
    PyObject *objects[5];         /* keys, queries, their groups, out */
    held_column h[5];
    int right, forward;
    unsigned long long groups;
    bool done = false;
    int64_t *last;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOKppO", &objects[0], &objects[1], &objects[2], &objects[3],
                          &groups, &right, &forward, &objects[4]))
        return NULL;
    last = groups <= PTRDIFF_MAX / sizeof *last ? malloc(groups * sizeof *last + 1) : NULL;
    if (!last)
        return PyErr_NoMemory();
    if (!hold_arrays(h, objects, 5, 1u << 4)) {
        free(last);
        return NULL;
    }
    if (can_be_merged(&h[0], &h[1], &h[4]) && array_is(&h[2], SX_I64, h[0].column.n) &&
        array_is(&h[3], SX_I64, h[1].column.n)) {
        grouping g = { { h[0].column.data, h[1].column.data, (Py_ssize_t)h[0].column.n,
                         (Py_ssize_t)h[1].column.n, right, 0, h[4].column.data },
                       h[2].column.data, h[3].column.data, last, forward };

        Py_BEGIN_ALLOW_THREADS
        memset(last, 0xff, groups * sizeof *last);
        done = all_below(g.key_group, h[0].column.n, groups) &&
               all_below(g.query_group, h[1].column.n, groups) &&
               grouped(h[0].column.type, &g);
        Py_END_ALLOW_THREADS
    }
    let_go_arrays(h, 5);
    free(last);
    return PyBool_FromLong(done);
}

static PyMethodDef functions[] = {
    { "merge", merge, METH_VARARGS, NULL },
    { "merge_groups", merge_groups, METH_VARARGS, NULL },
    { "ascends", ascends, METH_O, NULL },
    { "among", among, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int merge_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
