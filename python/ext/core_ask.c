/* core_ask.c - questions to an index.
 *
 * _quick() is for the usual case, a plain array or number of the index's own type: it costs
 * some hundred nanoseconds over the library's call. It answers None where anything needs a
 * second look, and python/sextant/_index.py then makes columns and calls _ask(). */
#include "core.h"

#define HOLDS_GIL 64u             /* a CPU answers as many before a switch of threads pays */
#define TICKS_FROM 262144u        /* questions of fewer queries end before anybody could wait */

enum { GET, RANK_LEFT, RANK_RIGHT, FLOOR, CEIL, VERBS };

static PyObject *numpy_array, *numpy_empty, *numpy_int64;

static sx_status ask(const sx_index *ix, int verb, const sx_column *q, sx_column *rows,
                     sx_column *keys, const sx_call *call)
{
    switch (verb) {
    case GET: return sx_get(ix, q, rows, call);
    case RANK_LEFT: return sx_rank(ix, q, SX_LEFT, rows, call);
    case RANK_RIGHT: return sx_rank(ix, q, SX_RIGHT, rows, call);
    case FLOOR: return sx_floor(ix, q, rows, keys, call);
    default: return sx_ceil(ix, q, rows, keys, call);
    }
}

/* ---- the quick way ----------------------------------------------------------- */

bool key_of_scalar(int type, PyObject *value, unsigned char key[16])
{
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long i = PyLong_AsLongLongAndOverflow(value, &overflow);

        switch (type) {
        case SX_I64: memcpy(key, &i, 8); return !overflow;
        case SX_I32: { int32_t x = (int32_t)i; memcpy(key, &x, 4); return !overflow && x == i; }
        case SX_U32: { uint32_t x = (uint32_t)i; memcpy(key, &x, 4); return !overflow && x == i; }
        case SX_U64:
            if (overflow > 0) {
                unsigned long long u = PyLong_AsUnsignedLongLong(value);
                if (PyErr_Occurred()) {
                    PyErr_Clear();
                    return false;
                }
                memcpy(key, &u, 8);
                return true;
            }
            memcpy(key, &i, 8);
            return !overflow && i >= 0;
        }
        return false;
    }
    if (PyFloat_CheckExact(value) && (type == SX_F64 || type == SX_F32)) {
        double d = PyFloat_AsDouble(value);
        float f = (float)d;

        memcpy(key, type == SX_F64 ? (void *)&d : (void *)&f, sx_type_bytes(type));
        return type == SX_F64 || (double)f == d || d != d;
    }
    if (PyBytes_CheckExact(value) && type == SX_B16 && PyBytes_Size(value) == 16) {
        memcpy(key, PyBytes_AsString(value), 16);
        return true;
    }
    return false;
}

static sx_status asked(IndexObject *self, int verb, const sx_column *q, sx_column *rows,
                       released *r, bool *ok)
{
    sx_status status = SX_OK;

    *ok = true;
    if (self->device->is_cpu && q->n <= HOLDS_GIL)
        return ask(self->ix, verb, q, rows, NULL, NULL);
    *ok = begin_call(r, Py_None, q->n >= TICKS_FROM);
    if (*ok) {
        status = ask(self->ix, verb, q, rows, NULL, &r->call);
        status = end_call(r, status);
    }
    return status;
}

static PyObject *quick_number(IndexObject *self, int verb, PyObject *value)
{
    unsigned char key[16];
    uint64_t answer = SX_MISS;
    sx_column q = { .type = self->key_type, .n = 1, .data = key };
    sx_column rows = { .type = SX_U64, .n = 1, .data = &answer };
    released r;
    sx_status status;
    bool ok;

    if (!key_of_scalar(self->key_type, value, key))
        Py_RETURN_NONE;
    if (!begin_use(self))
        return NULL;
    status = asked(self, verb, &q, &rows, &r, &ok);
    end_use(self);
    if (status || !ok)
        return raise_status(status);
    return PyLong_FromLongLong((long long)answer);
}

/* An int64 array of a buffer's shape. */
static PyObject *array_like(const Py_buffer *view)
{
    PyObject *shape, *array;

    if (view->ndim == 1) {
        shape = PyLong_FromSsize_t(view->shape[0]);
    } else {
        shape = PyTuple_New(view->ndim);
        for (int i = 0; shape && i < view->ndim; i++) {
            PyObject *length = PyLong_FromSsize_t(view->shape[i]);
            if (!length || PyTuple_SetItem(shape, i, length)) {
                Py_CLEAR(shape);
            }
        }
    }
    if (!shape)
        return NULL;
    array = PyObject_CallFunctionObjArgs(numpy_empty, shape, numpy_int64, NULL);
    Py_DECREF(shape);
    return array;
}

static PyObject *quick_array(IndexObject *self, int verb, PyObject *array)
{
    Py_buffer in, out;
    PyObject *result;
    sx_column q, rows;
    released r;
    sx_status status;
    bool ok;

    if (PyObject_GetBuffer(array, &in, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear();            /* times and strides: another look */
        Py_RETURN_NONE;
    }
    if (in.ndim == 0 || type_of_format(in.format, in.itemsize) != self->key_type) {
        PyBuffer_Release(&in);
        Py_RETURN_NONE;
    }
    result = array_like(&in);
    if (!result || PyObject_GetBuffer(result, &out, PyBUF_SIMPLE | PyBUF_WRITABLE)) {
        PyBuffer_Release(&in);
        Py_XDECREF(result);
        return NULL;
    }
    q = (sx_column){ .type = self->key_type, .n = (uint64_t)(in.len / in.itemsize),
                     .data = in.buf };
    rows = (sx_column){ .type = SX_U64, .n = q.n, .data = out.buf };
    ok = begin_use(self);
    status = SX_OK;
    if (ok) {
        status = asked(self, verb, &q, &rows, &r, &ok);
        end_use(self);
    }
    PyBuffer_Release(&in);
    PyBuffer_Release(&out);
    if (status || !ok) {
        Py_DECREF(result);
        return raise_status(status);
    }
    return result;
}

/* _quick(verb, queries) -> answers, or None. */
static PyObject *quick(IndexObject *self, PyObject *const *args, Py_ssize_t n)
{
    long verb;

    if (n != 2) {
        PyErr_SetString(invalid_type_error, "_quick(verb, queries)");
        return NULL;
    }
    if (!is_open(self))
        return NULL;
    verb = PyLong_AsLong(args[0]);
    if (verb < 0 || verb >= VERBS) {
        PyErr_SetString(invalid_error, "no such verb");
        return NULL;
    }
    if ((PyObject *)Py_TYPE(args[1]) == numpy_array)
        return quick_array(self, (int)verb, args[1]);
    return quick_number(self, (int)verb, args[1]);
}

/* ---- the whole way ------------------------------------------------------------- */

/* Columns of a call; those that are None are NULL for the library. */
#define MOST 6
typedef struct {
    held_column held[MOST];
    sx_column *at[MOST];
} columns;

static void let_go_all(columns *c)
{
    for (int i = 0; i < MOST; i++)
        let_go(&c->held[i]);
}

/* The first `inputs` are read, the others are written. */
static bool hold_all(columns *c, int n, int inputs, PyObject *const *objects,
                     const char *const *names)
{
    *c = (columns){ .at = { NULL } };
    for (int i = 0; i < n; i++) {
        int there = hold_column(&c->held[i], objects[i], i >= inputs, names[i]);
        if (there < 0) {
            let_go_all(c);
            return false;
        }
        c->at[i] = there ? &c->held[i].column : NULL;
    }
    return true;
}

/* Rows of the library are unsigned; what Python has of them is signed, with -1 for all
 * ones, and both have the same bits. */
static void as_rows(sx_column *c)
{
    if (c && c->type == SX_I64)
        c->type = SX_U64;
    if (c && c->type == SX_I32)
        c->type = SX_U32;
}

static PyObject *done(IndexObject *self, columns *c, sx_status status, bool called)
{
    let_go_all(c);
    end_use(self);
    if (!called)
        return NULL;
    if (status)
        return raise_status(status);
    Py_RETURN_NONE;
}

/* _ask(verb, queries, rows, keys, options) */
static PyObject *whole_ask(IndexObject *self, PyObject *args)
{
    static const char *const names[] = { "queries", "rows", "keys" };
    PyObject *o[3], *options;
    columns c;
    released r;
    int verb;
    sx_status status = SX_OK;
    bool called;

    if (!PyArg_ParseTuple(args, "iOOOO", &verb, &o[0], &o[1], &o[2], &options) ||
        !hold_all(&c, 3, 1, o, names))
        return NULL;
    if (!begin_use(self)) {
        let_go_all(&c);
        return NULL;
    }
    as_rows(c.at[1]);
    called = begin_call(&r, options, c.held[0].column.n >= TICKS_FROM);
    if (called) {
        status = ask(self->ix, verb, c.at[0], c.at[1], c.at[2], &r.call);
        status = end_call(&r, status);
    }
    return done(self, &c, status, called);
}

/* _key_at(ranks, keys, rows, options) */
static PyObject *whole_key_at(IndexObject *self, PyObject *args)
{
    static const char *const names[] = { "ranks", "keys", "rows" };
    PyObject *o[3], *options;
    columns c;
    released r;
    sx_status status = SX_OK;
    bool called;

    if (!PyArg_ParseTuple(args, "OOOO", &o[0], &o[1], &o[2], &options) ||
        !hold_all(&c, 3, 1, o, names))
        return NULL;
    if (!begin_use(self)) {
        let_go_all(&c);
        return NULL;
    }
    as_rows(c.at[0]);
    as_rows(c.at[2]);
    called = begin_call(&r, options, c.held[0].column.n >= TICKS_FROM);
    if (called) {
        status = sx_key_at(self->ix, c.at[0], c.at[1], c.at[2], &r.call);
        status = end_call(&r, status);
    }
    return done(self, &c, status, called);
}

/* _range(lo, hi, limit, last, first, rows, keys, options); _count(..., counts, options);
 * _aggregate(..., count, min, max, sum, options) */
typedef enum { FILL, COUNT, FOLD } range_verb;

static PyObject *whole_range(IndexObject *self, PyObject *args, range_verb verb)
{
    static const char *const names[3][MOST] = {
        { "lo", "hi", "first", "rows", "keys", NULL }, { "lo", "hi", "counts" },
        { "lo", "hi", "count", "min", "max", "sum" },
    };
    static const char *const formats[3] = { "OOKpOOOO", "OOKpOO", "OOKpOOOOO" };
    static const int outs[3] = { 3, 1, 4 };
    PyObject *o[MOST + 1];
    unsigned long long limit;
    int last, n = 2 + outs[verb];
    columns c;
    released r;
    sx_status status = SX_OK;
    bool called;

    if (!PyArg_ParseTuple(args, formats[verb], &o[0], &o[1], &limit, &last, &o[2], &o[3], &o[4],
                          &o[5], &o[6]) ||
        !hold_all(&c, n, 2, o, names[verb]))
        return NULL;
    if (!begin_use(self)) {
        let_go_all(&c);
        return NULL;
    }
    for (int i = 2; i < n; i++)
        if (verb != FILL || i < 4)
            as_rows(c.at[i]);
    called = begin_call(&r, o[n], true);
    if (called) {
        sx_ranges ranges = { .size = sizeof ranges, .lo = c.at[0], .hi = c.at[1],
                             .limit = limit, .last = (uint32_t)last };
        sx_aggregates fold = { .size = sizeof fold, .count = c.at[2], .min = c.at[3],
                               .max = c.at[4], .sum = c.at[5] };
        if (verb == FILL)
            status = sx_range(self->ix, &ranges, c.at[2], c.at[3], c.at[4], &r.call);
        else if (verb == COUNT)
            status = sx_range_count(self->ix, &ranges, c.at[2], &r.call);
        else
            status = sx_range_aggregate(self->ix, &ranges, &fold, &r.call);
        status = end_call(&r, status);
    }
    return done(self, &c, status, called);
}

static PyObject *range(IndexObject *self, PyObject *args)
{
    return whole_range(self, args, FILL);
}

static PyObject *count(IndexObject *self, PyObject *args)
{
    return whole_range(self, args, COUNT);
}

static PyObject *aggregate(IndexObject *self, PyObject *args)
{
    return whole_range(self, args, FOLD);
}

/* _prefix(of, bits, length, limit, last, first, rows, keys, options); bits: None, and the length is
 * that of all. */
static PyObject *prefix(IndexObject *self, PyObject *args)
{
    static const char *const names[] = { "of", "bits", "first", "rows", "keys" };
    PyObject *o[5], *options;
    unsigned length;
    unsigned long long limit;
    int last;
    columns c;
    released r;
    sx_status status = SX_OK;
    bool called;

    if (!PyArg_ParseTuple(args, "OOIKpOOOO", &o[0], &o[1], &length, &limit, &last, &o[2], &o[3],
                          &o[4], &options) ||
        !hold_all(&c, 5, 2, o, names))
        return NULL;
    if (!begin_use(self)) {
        let_go_all(&c);
        return NULL;
    }
    for (int i = 1; i < 4; i++)
        as_rows(c.at[i]);
    called = begin_call(&r, options, true);
    if (called) {
        sx_prefixes prefixes = { .size = sizeof prefixes, .of = c.at[0], .bits = c.at[1],
                                 .length = length, .limit = limit, .last = (uint32_t)last };
        status = sx_prefix(self->ix, &prefixes, c.at[2], c.at[3], c.at[4], &r.call);
        status = end_call(&r, status);
    }
    return done(self, &c, status, called);
}

/* _climb(of, parents, limit, rows, keys, steps, options) */
static PyObject *climb(IndexObject *self, PyObject *args)
{
    static const char *const names[] = { "of", "parents", "rows", "keys", "steps" };
    PyObject *o[5], *options;
    unsigned limit;
    columns c;
    released r;
    sx_status status = SX_OK;
    bool called;

    if (!PyArg_ParseTuple(args, "OOIOOOO", &o[0], &o[1], &limit, &o[2], &o[3], &o[4], &options) ||
        !hold_all(&c, 5, 2, o, names))
        return NULL;
    if (!begin_use(self)) {
        let_go_all(&c);
        return NULL;
    }
    as_rows(c.at[2]);
    as_rows(c.at[4]);
    called = begin_call(&r, options, true);
    if (called) {
        sx_climbs climbs = { .size = sizeof climbs, .of = c.at[0], .parents = c.at[1],
                             .limit = limit };
        status = sx_climb(self->ix, &climbs, c.at[2], c.at[3], c.at[4], &r.call);
        status = end_call(&r, status);
    }
    return done(self, &c, status, called);
}

PyMethodDef index_questions[] = {
    { "_quick", (PyCFunction)(void (*)(void))quick, METH_FASTCALL, NULL },
    { "_ask", (PyCFunction)whole_ask, METH_VARARGS, NULL },
    { "_key_at", (PyCFunction)whole_key_at, METH_VARARGS, NULL },
    { "_range", (PyCFunction)range, METH_VARARGS, NULL },
    { "_count", (PyCFunction)count, METH_VARARGS, NULL },
    { "_aggregate", (PyCFunction)aggregate, METH_VARARGS, NULL },
    { "_prefix", (PyCFunction)prefix, METH_VARARGS, NULL },
    { "_climb", (PyCFunction)climb, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int ask_init(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");

    if (!numpy)
        return -1;
    numpy_array = PyObject_GetAttrString(numpy, "ndarray");
    numpy_empty = PyObject_GetAttrString(numpy, "empty");
    numpy_int64 = PyObject_CallMethod(numpy, "dtype", "s", "int64");
    Py_DECREF(numpy);
    return numpy_array && numpy_empty && numpy_int64 ? 0 : -1;
}
