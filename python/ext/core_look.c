/* core_look.c - looks at some elements of arrays, for drop-ins that decide by it whether an
 * index pays. A look at one array takes less than a microsecond, whatever its length; one at
 * keys and queries takes a few, about as long as NumPy takes for fifty random queries. */
#include "core.h"

#define LOOKS 64
#define RUNS 4                    /* of neighbouring queries */
#define RUN 12                    /* queries of a run; the first one has none before it */
#define BEGIN 512                 /* queries that are seen to be sorted before a merge */
#define BACK 8                    /* so far back a processor knows the ways of queries */

/* Elements of an array in one dimension. */
typedef struct {
    Py_buffer view;
    int type;                     /* of ours; 0: the small ones, by their letter */
    char letter;
    bool floats;
    Py_ssize_t n, stride;
} elements;

static bool see(elements *e, PyObject *array)
{
    const char *format;

    if (PyObject_GetBuffer(array, &e->view, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        return false;
    }
    format = e->view.format;
    e->type = type_of_format(format, e->view.itemsize);
    e->letter = format && format[0] && !format[1] && strchr("?bBhH", format[0]) ? format[0] : 0;
    if ((!e->type && !e->letter) || e->type == SX_B16 || e->view.ndim != 1) {
        PyBuffer_Release(&e->view);
        return false;
    }
    e->floats = e->type == SX_F32 || e->type == SX_F64;
    e->n = e->view.shape[0];
    e->stride = e->view.strides[0];
    return true;
}

static __int128 small(char letter, const char *at)
{
    int16_t i16;
    uint16_t u16;

    switch (letter) {
    case 'h': memcpy(&i16, at, 2); return i16;
    case 'H': memcpy(&u16, at, 2); return u16;
    case 'b': return *(const signed char *)at;
    default: return *(const unsigned char *)at;
    }
}

/* An element as a number of 128 bits, or as a double, which compare as it does. */
static __int128 whole(const elements *e, Py_ssize_t i)
{
    const char *at = (const char *)e->view.buf + i * e->stride;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;

    switch (e->type) {
    case 0: return small(e->letter, at);
    case SX_U32: memcpy(&u32, at, 4); return u32;
    case SX_I32: memcpy(&i32, at, 4); return i32;
    case SX_U64: memcpy(&u64, at, 8); return u64;
    default: memcpy(&i64, at, 8); return i64;
    }
}

static double real(const elements *e, Py_ssize_t i)
{
    const char *at = (const char *)e->view.buf + i * e->stride;
    float f;
    double d;

    if (e->type == SX_F64) {
        memcpy(&d, at, 8);
        return d;
    }
    if (e->type == SX_F32) {
        memcpy(&f, at, 4);
        return (double)f;
    }
    return (double)whole(e, i);
}

/* look(array) -> (whether most neighbours ascend, greatest - least of those looked at).
 * None: not an array of numbers of ours in one dimension. The difference is a float, 0 for
 * arrays of floats. */
static PyObject *look(PyObject *module, PyObject *array)
{
    elements e;
    Py_ssize_t step;
    int pairs = 0, up = 0;
    __int128 least = 0, most = 0;

    (void)module;
    if (!see(&e, array))
        Py_RETURN_NONE;
    step = e.n / LOOKS > 1 ? e.n / LOOKS : 1;
    for (Py_ssize_t i = 0; i + 1 < e.n; i += step, pairs++) {
        if (e.floats) {
            up += real(&e, i) <= real(&e, i + 1);
            continue;
        }
        __int128 x = whole(&e, i), y = whole(&e, i + 1);
        up += x <= y;
        if (pairs == 0 || x < least)
            least = x;
        if (pairs == 0 || x > most)
            most = x;
    }
    PyBuffer_Release(&e.view);
    return Py_BuildValue("Od", pairs && up * 10 > pairs * 9 ? Py_True : Py_False,
                         (double)(most - least));
}

/* ---- what NumPy's search would do ------------------------------------------------ */

enum { BY_NUMPY, BY_MERGE, BY_INDEX, ASCENDS = 4 };

/* The way of one query. NumPy looks behind the last query's place if the query is above that
 * one, and otherwise before it. */
typedef struct {
    uint64_t way;                 /* a bit a step, the first one highest */
    int steps;
    bool above;
} search;

typedef struct {
    elements keys, queries;
    const int64_t *order;         /* keys in ascending order, or NULL: as they are */
    Py_ssize_t low, high;         /* where the last query left off */
    uint64_t asked, ups, downs, steps;
    double turns;
} foresight;

/* Whether a[i] is below b[j], as doubles or not. NaN, which NumPy has last, is below nothing
 * here. */
static inline __attribute__((always_inline)) bool below(const elements *a, Py_ssize_t i,
                                                        const elements *b, Py_ssize_t j,
                                                        bool reals)
{
    return reals ? real(a, i) < real(b, j) : whole(a, i) < whole(b, j);
}

static inline __attribute__((always_inline)) search follow(foresight *f, Py_ssize_t query,
                                                           bool above, bool reals)
{
    search s = { .above = above };

    if (above) {
        f->high = f->keys.n;
    } else {
        f->low = 0;
        f->high = f->high < f->keys.n ? f->high + 1 : f->keys.n;
    }
    while (f->low < f->high) {
        Py_ssize_t middle = f->low + (f->high - f->low) / 2;
        bool right = below(&f->keys, f->order ? f->order[middle] : middle, &f->queries, query,
                           reals);

        s.way = s.way << 1 | right;
        s.steps++;
        if (right)
            f->low = middle + 1;
        else
            f->high = middle;
    }
    return s;
}

/* What a processor does not foresee, if it expects the other's way: steps to the other side,
 * and, which costs less, another number of steps. */
static double turns(search s, search other)
{
    int both = s.steps < other.steps ? s.steps : other.steps;
    uint64_t differs = s.way >> (s.steps - both) ^ other.way >> (other.steps - both);

    return __builtin_popcountll(differs) +
           (s.steps != other.steps || s.above != other.above ? 0.5 : 0);
}

/* A processor that was wrong once may know the rest from a query not long ago. */
static double least_turns(const search *s, int i)
{
    double least = turns(s[i], s[i - 1]);

    for (int back = 2; back <= BACK && back <= i && least > 1; back++) {
        double t = 1 + turns(s[i], s[i - back]);

        least = t < least ? t : least;
    }
    return least;
}

static inline __attribute__((always_inline)) void foresee_run(foresight *f, Py_ssize_t begin,
                                                              int run, bool reals)
{
    const elements *v = &f->queries;
    search s[RUN];

    f->low = 0;
    f->high = f->keys.n;
    s[0] = follow(f, begin, true, reals);
    for (int i = 1; i < run; i++) {
        Py_ssize_t at = begin + i;
        bool above = below(v, at - 1, v, at, reals);

        s[i] = follow(f, at, above, reals);
        f->asked++;
        f->steps += (uint64_t)s[i].steps;
        f->ups += above;
        f->downs += below(v, at, v, at - 1, reals);
        f->turns += least_turns(s, i);
    }
}

static bool see_all(foresight *f, held_column *order, PyObject *keys, PyObject *queries,
                    PyObject *sorter)
{
    if (!see(&f->keys, keys))
        return false;
    if (see(&f->queries, queries)) {
        int there = hold_column(order, sorter, false, "sorter");

        if (there == 0 || (there > 0 && array_is(order, SX_I64, (uint64_t)f->keys.n))) {
            f->order = there ? order->column.data : NULL;
            return true;
        }
        let_go(order);
        PyErr_Clear();
        PyBuffer_Release(&f->queries.view);
    }
    PyBuffer_Release(&f->keys.view);
    return false;
}

static bool ascends(const foresight *f)
{
    return f->downs * 9 <= f->ups;
}

/* A longer look, since a merge that breaks off is for nothing. */
static bool begins_sorted(const foresight *f)
{
    const elements *v = &f->queries;
    bool reals = f->keys.floats || v->floats;

    for (Py_ssize_t i = 1; i < v->n && i < BEGIN; i++)
        if (below(v, i, v, i - 1, reals))
            return false;
    return true;
}

/* Nanoseconds of the three ways, measured for keys in caches; beyond, NumPy's search loses
 * most. An index has to be better by half, since processors foresee more than a look
 * says. */
static int fastest(const foresight *f, bool may_merge)
{
    double n = (double)f->keys.n, m = (double)f->queries.n;
    double asked = (double)f->asked, steps = (double)f->steps / asked;
    double gather = f->order ? 2 * n : 0;
    double tail = (n < m ? n : m) < 4096 ? 1 : 4096 / (n < m ? n : m);
    double by_numpy = m * (1 + (f->order ? 1.5 : 1) * steps + 6 * f->turns / asked);
    double by_merge = 2000 + gather + (n + m) * (2 + 2.8 * tail);
    int bits = 63 - __builtin_clzll((unsigned long long)f->keys.n);
    double by_index = 8000 + gather + 2.2 * n + m * (2.5 + 0.3 * bits);

    if (may_merge && ascends(f) && by_merge < by_numpy && by_merge < by_index && begins_sorted(f))
        return BY_MERGE;
    return by_numpy < 1.5 * by_index ? BY_NUMPY : BY_INDEX;
}

/* way(keys, queries, sorter, may_merge) -> the fastest way to search, by a look at some runs of
 * queries: 0, by NumPy; 1, by a merge; 2, by an index; and 4 more if most queries ascend. -1: not
 * numbers of ours in one dimension. Keys are sorted, or the answer means nothing; or the sorter,
 * an array of int64, has their order. Its numbers are those of keys. */
static PyObject *way(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    foresight f = { .asked = 0 };
    held_column order;
    Py_ssize_t m;
    int run, found = BY_NUMPY;

    (void)module;
    if (count != 4) {
        PyErr_SetString(invalid_type_error, "way(keys, queries, sorter, may_merge)");
        return NULL;
    }
    if (!see_all(&f, &order, args[0], args[1], args[2]))
        return PyLong_FromLong(-1);
    m = f.queries.n;
    run = m < RUN ? (int)m : RUN;
    for (int i = 0; i < RUNS && run > 1; i++) {   /* the first, the last, some between */
        Py_ssize_t begin = (m - run) / (RUNS - 1) * i;

        if (f.keys.floats || f.queries.floats)
            foresee_run(&f, begin, run, true);
        else
            foresee_run(&f, begin, run, false);
    }
    if (f.asked && f.keys.n)
        found = fastest(&f, PyObject_IsTrue(args[3]) == 1) + (ascends(&f) ? ASCENDS : 0);
    let_go(&order);
    PyBuffer_Release(&f.keys.view);
    PyBuffer_Release(&f.queries.view);
    return PyLong_FromLong(found);
}

static PyMethodDef functions[] = {
    { "look", look, METH_O, NULL },
    { "way", (PyCFunction)(void (*)(void))way, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

int look_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
