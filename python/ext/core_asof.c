/* core_asof.c - how far the key of a row is from a query, for asof(): rows that are too far
 * away, and the nearer of two. One pass each, without an array of distances. */
#include <math.h>

#include "core.h"

typedef struct {
    const void *keys, *queries;
    int64_t *rows;                /* -1: none */
    const int64_t *front;         /* of nearer() */
    uint64_t n, m;
    uint64_t most;                /* of within(), for integers */
    double most_real;             /* ... for floats */
} distances;

/* Integers may be farther apart than their own type can say. */
static inline uint64_t apart_i64(int64_t x, int64_t y)
{
    return x >= y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static inline uint64_t apart_u64(uint64_t x, uint64_t y)
{
    return x >= y ? x - y : y - x;
}

static inline float apart_f32(float x, float y)
{
    return fabsf(x - y);
}

static inline double apart_f64(double x, double y)
{
    return fabs(x - y);
}

/* D is what a distance is. A row that is not one of a key is none. Of two keys as close, the
 * one before is nearer. */
#define DISTANCES(name, T, D, apart, limit)                                              \
    static void within_##name(const distances *w)                                        \
    {                                                                                    \
        const T *a = w->keys, *q = w->queries;                                           \
        const D most = (D)w->limit;                                                      \
        for (uint64_t j = 0; j < w->m; j++) {                                            \
            uint64_t row = (uint64_t)w->rows[j];                                         \
            if (row >= w->n || apart(q[j], a[row]) > most)                               \
                w->rows[j] = -1;                                                         \
        }                                                                                \
    }                                                                                    \
    static void nearer_##name(const distances *w)                                        \
    {                                                                                    \
        const T *a = w->keys, *q = w->queries;                                           \
        for (uint64_t j = 0; j < w->m; j++) {                                            \
            uint64_t back = (uint64_t)w->rows[j], front = (uint64_t)w->front[j];         \
            if (front < w->n && !(back < w->n && apart(q[j], a[back]) <= apart(q[j], a[front]))) \
                w->rows[j] = (int64_t)front;                                             \
        }                                                                                \
    }

DISTANCES(u32, uint32_t, uint64_t, apart_u64, most)
DISTANCES(i32, int32_t, uint64_t, apart_i64, most)
DISTANCES(u64, uint64_t, uint64_t, apart_u64, most)
DISTANCES(i64, int64_t, uint64_t, apart_i64, most)
DISTANCES(f32, float, float, apart_f32, most_real)
DISTANCES(f64, double, double, apart_f64, most_real)

static void within_type(int type, const distances *w)
{
    switch (type) {
    case SX_U32: within_u32(w); break;
    case SX_I32: within_i32(w); break;
    case SX_U64: within_u64(w); break;
    case SX_I64: within_i64(w); break;
    case SX_F32: within_f32(w); break;
    default: within_f64(w);
    }
}

static void nearer_type(int type, const distances *w)
{
    switch (type) {
    case SX_U32: nearer_u32(w); break;
    case SX_I32: nearer_i32(w); break;
    case SX_U64: nearer_u64(w); break;
    case SX_I64: nearer_i64(w); break;
    case SX_F32: nearer_f32(w); break;
    default: nearer_f64(w);
    }
}

/* Whether arrays are as they have to be: keys, queries, rows that are written, and others.
 * An exception says if not. */
static bool can_be_compared(const held_column *h, int count)
{
    int type = h[0].column.type;
    bool fine = type != SX_B16 && type != SX_STR && array_is(&h[0], type, h[0].column.n) &&
                array_is(&h[1], type, h[1].column.n);

    for (int i = 2; i < count; i++)
        fine = fine && array_is(&h[i], SX_I64, h[1].column.n);
    if (!fine)
        PyErr_SetString(invalid_type_error, "distances are those of numbers and times: keys and "
                        "queries of one type, aligned, and a row of int64 for each query");
    return fine;
}

/* within(keys, queries, rows, most): rows of keys that are farther away become -1. most is
 * an int for integers, otherwise a float. */
static PyObject *within(PyObject *module, PyObject *args)
{
    PyObject *objects[3], *most;  /* keys, queries, rows */
    held_column h[3];
    distances w = { 0 };

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO", &objects[0], &objects[1], &objects[2], &most) ||
        !hold_arrays(h, objects, 3, 1u << 2))
        return NULL;
    if (can_be_compared(h, 3)) {
        if (h[0].column.type == SX_F32 || h[0].column.type == SX_F64)
            w.most_real = PyFloat_AsDouble(most);
        else
            w.most = PyLong_AsUnsignedLongLong(most);
    }
    if (!PyErr_Occurred()) {
        w.keys = h[0].column.data;
        w.queries = h[1].column.data;
        w.rows = h[2].column.data;
        w.n = h[0].column.n;
        w.m = h[1].column.n;
        Py_BEGIN_ALLOW_THREADS
        within_type(h[0].column.type, &w);
        Py_END_ALLOW_THREADS
    }
    let_go_arrays(h, 3);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* nearer(keys, queries, rows, front): a row of front whose key is nearer comes in place of
 * the row. */
static PyObject *nearer(PyObject *module, PyObject *args)
{
    PyObject *objects[4];         /* keys, queries, rows, front */
    held_column h[4];
    bool fine;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO", &objects[0], &objects[1], &objects[2], &objects[3]) ||
        !hold_arrays(h, objects, 4, 1u << 2))
        return NULL;
    fine = can_be_compared(h, 4);
    if (fine) {
        distances w = { h[0].column.data, h[1].column.data, h[2].column.data,
                        h[3].column.data, h[0].column.n, h[1].column.n, 0, 0 };

        Py_BEGIN_ALLOW_THREADS
        nearer_type(h[0].column.type, &w);
        Py_END_ALLOW_THREADS
    }
    let_go_arrays(h, 4);
    return fine ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    { "within", within, METH_VARARGS, NULL },
    { "nearer", nearer, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int asof_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
