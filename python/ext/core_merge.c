/* core_merge.c - ranks of sorted queries among sorted keys, by one pass over both.
 *
 * No index is built, so this is for queries of a drop-in that are about as many as keys.
 * A step compares one key with one query and moves on in one of the arrays, without a
 * branch that chance decides. */
#include "core.h"

#define CHUNK 4096                /* elements between two looks at a flag */

/* Sorted: no element is below the one before, and none is a NaN. */
#define MERGE(name, T)                                                                   \
    static bool sorted_##name(const T *a, Py_ssize_t n)                                  \
    {                                                                                    \
        if (n && !(a[0] == a[0]))                                                        \
            return false;                                                                \
        for (Py_ssize_t i = 1; i < n;) {                                                 \
            Py_ssize_t end = n - i > CHUNK ? i + CHUNK : n;                              \
            int wrong = 0;                                                               \
            for (; i < end; i++)                                                         \
                wrong |= !(a[i - 1] <= a[i]);                                            \
            if (wrong)                                                                   \
                return false;                                                            \
        }                                                                                \
        return true;                                                                     \
    }                                                                                    \
    static bool merge_##name(const void *keys, Py_ssize_t n, const void *queries,        \
                             Py_ssize_t m, bool right, int64_t *out)                     \
    {                                                                                    \
        const T *a = keys, *q = queries;                                                 \
        Py_ssize_t i = 0, j = 0;                                                         \
        if (!sorted_##name(q, m) || !sorted_##name(a, n))                                \
            return false;                                                                \
        while (i < n && j < m) {                                                         \
            int before = right ? a[i] <= q[j] : a[i] < q[j];                             \
            out[j] = i;                                                                  \
            i += before;                                                                 \
            j += !before;                                                                \
        }                                                                                \
        for (; j < m; j++)                                                               \
            out[j] = n;                                                                  \
        return true;                                                                     \
    }

MERGE(u32, uint32_t)
MERGE(i32, int32_t)
MERGE(u64, uint64_t)
MERGE(i64, int64_t)
MERGE(f32, float)
MERGE(f64, double)

static bool merged(int type, const void *keys, Py_ssize_t n, const void *queries, Py_ssize_t m,
                   bool right, int64_t *out)
{
    switch (type) {
    case SX_U32: return merge_u32(keys, n, queries, m, right, out);
    case SX_I32: return merge_i32(keys, n, queries, m, right, out);
    case SX_U64: return merge_u64(keys, n, queries, m, right, out);
    case SX_I64: return merge_i64(keys, n, queries, m, right, out);
    case SX_F32: return merge_f32(keys, n, queries, m, right, out);
    default: return merge_f64(keys, n, queries, m, right, out);
    }
}

/* merge(keys, queries, right, out) -> whether both are sorted; if so, out (int64) has the
 * ranks. Arrays are contiguous and aligned, keys and queries of one type. */
static PyObject *merge(PyObject *module, PyObject *args)
{
    PyObject *keys, *queries, *out;
    held_column k, q, o;
    int right;
    bool fine, done = false;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOpO", &keys, &queries, &right, &out))
        return NULL;
    if (hold_column(&k, keys, false, "keys") < 0)
        return NULL;
    if (hold_column(&q, queries, false, "queries") < 0) {
        let_go(&k);
        return NULL;
    }
    if (hold_column(&o, out, true, "out") < 0) {
        let_go(&k);
        let_go(&q);
        return NULL;
    }
    fine = k.has_view && q.has_view && o.has_view && k.column.type == q.column.type &&
           k.column.type != SX_B16 && o.column.type == SX_I64 && o.column.n == q.column.n &&
           (uintptr_t)k.column.data % sx_type_bytes(k.column.type) == 0 &&
           (uintptr_t)q.column.data % sx_type_bytes(q.column.type) == 0 &&
           (uintptr_t)o.column.data % sizeof(int64_t) == 0;
    if (fine) {
        Py_BEGIN_ALLOW_THREADS
        done = merged(k.column.type, k.column.data, (Py_ssize_t)k.column.n, q.column.data,
                      (Py_ssize_t)q.column.n, right, o.column.data);
        Py_END_ALLOW_THREADS
    }
    let_go(&k);
    let_go(&q);
    let_go(&o);
    return PyBool_FromLong(done);
}

static PyMethodDef functions[] = {
    { "merge", merge, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int merge_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
