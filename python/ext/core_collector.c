/* core_collector.c - a collector: threads with one key each ask in batches. */
#include "core.h"

typedef struct {
    PyObject_HEAD
    uses uses;                    /* guards both */
    sx_collector *collector;      /* NULL: closed */
    IndexObject *index;
} CollectorObject;

static PyObject *collector_new(PyTypeObject *class, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "index", "batch", "interval_us", "eager", NULL };
    PyObject *index;
    sx_collect_options options = { .size = sizeof options };
    int eager = 0;
    CollectorObject *self;
    sx_status status;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|IIp", names, index_type, &index,
                                     &options.batch, &options.interval_us, &eager))
        return NULL;
    options.eager = (uint32_t)eager;
    self = (CollectorObject *)PyType_GenericAlloc(class, 0);
    if (!self)
        return NULL;
    if (!begin_use((IndexObject *)index)) {
        Py_DECREF(OBJECT(self));
        return NULL;
    }
    /* The index is in use, and so it stays, until the collector is freed. */
    self->index = (IndexObject *)Py_NewRef(index);
    status = sx_collector_new(&self->collector, self->index->ix, &options);
    if (status) {
        Py_DECREF(OBJECT(self));
        return raise_status(status);
    }
    uses_made(&self->uses);
    return (PyObject *)self;
}

static void free_collector(CollectorObject *self)
{
    sx_collector *collector = self->collector;
    IndexObject *index = self->index;

    self->collector = NULL;
    self->index = NULL;
    if (collector) {
        Py_BEGIN_ALLOW_THREADS
        sx_collector_free(collector);
        Py_END_ALLOW_THREADS
    }
    if (index) {
        end_use(index);
        Py_DECREF((PyObject *)index);
    }
}

static void leave_collector(CollectorObject *self)
{
    if (uses_leave(&self->uses, false))
        free_collector(self);
}

static void collector_dealloc(CollectorObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));
    freefunc give = (freefunc)PyType_GetSlot(class, Py_tp_free);

    free_collector(self);
    give(self);
    Py_DECREF(OBJECT(class));
}

/* Those inside are answered; whoever leaves last frees. */
static PyObject *collector_close(CollectorObject *self, PyObject *none)
{
    (void)none;
    if (uses_enter(&self->uses, true)) {
        Py_BEGIN_ALLOW_THREADS
        sx_collector_close(self->collector);
        Py_END_ALLOW_THREADS
        leave_collector(self);
    }
    Py_RETURN_NONE;
}

static bool enter_collector(CollectorObject *self)
{
    if (uses_enter(&self->uses, false))
        return true;
    PyErr_SetString(invalid_error, "the collector is closed");
    return false;
}

/* A key as sx_collect() takes it, which lives as long as the object. */
typedef union {
    unsigned char fixed[16];
    sx_string string;
} collected_key;

/* False: the object is none, and no exception is set. */
static bool collected_key_of(int type, PyObject *value, collected_key *key)
{
    if (type != SX_STR && key_of_scalar(type, value, key->fixed))
        return true;
    if (!PyBytes_CheckExact(value))
        return false;
    if (type == SX_STR) {
        key->string = (sx_string){ PyBytes_AsString(value), (uint64_t)PyBytes_Size(value) };
        return true;
    }
    /* The bytes of a key, as sextant._inputs makes them. */
    if ((size_t)PyBytes_Size(value) != sx_type_bytes(type))
        return false;
    memcpy(key->fixed, PyBytes_AsString(value), sx_type_bytes(type));
    return true;
}

/* _collect(what, key, timeout in us): the key is a number or bytes. */
static PyObject *collector_ask(CollectorObject *self, PyObject *args)
{
    PyObject *value;
    int what;
    long long timeout_us;
    collected_key key;
    uint64_t answer = SX_MISS;
    sx_status status;

    if (!PyArg_ParseTuple(args, "iOL", &what, &value, &timeout_us) || !enter_collector(self))
        return NULL;
    if (!collected_key_of(self->index->key_type, value, &key)) {
        leave_collector(self);
        Py_RETURN_NONE;
    }
    Py_BEGIN_ALLOW_THREADS
    status = sx_collect(self->collector, (sx_ask)what, &key, &answer, timeout_us);
    Py_END_ALLOW_THREADS
    if (status) {
        PyObject *type, *raised, *trace;      /* freeing must not lose the sentence */

        raise_status(status);
        PyErr_Fetch(&type, &raised, &trace);
        leave_collector(self);
        PyErr_Restore(type, raised, trace);
        return NULL;
    }
    leave_collector(self);
    return PyLong_FromLongLong((long long)answer);
}

static PyObject *collector_describe(CollectorObject *self, PyObject *none)
{
    sx_collector_info info = { .size = sizeof info };
    sx_status status;

    (void)none;
    if (!enter_collector(self))
        return NULL;
    status = sx_collector_describe(self->collector, &info);
    leave_collector(self);
    if (status)
        return raise_status(status);
    return Py_BuildValue("{s:I,s:I,s:O,s:K,s:K,s:K,s:K,s:K}", "batch", (unsigned)info.batch,
                         "interval_us", (unsigned)info.interval_us, "eager",
                         info.eager ? Py_True : Py_False, "batches",
                         (unsigned long long)info.batches, "full",
                         (unsigned long long)info.full, "answered",
                         (unsigned long long)info.answered, "failed",
                         (unsigned long long)info.failed, "timed_out",
                         (unsigned long long)info.timed_out);
}

static PyMethodDef methods[] = {
    { "_collect", (PyCFunction)collector_ask, METH_VARARGS, NULL },
    { "close", (PyCFunction)collector_close, METH_NOARGS,
      "close()\n--\n\nAnswer the keys that wait, and refuse others from now on." },
    { "describe", (PyCFunction)collector_describe, METH_NOARGS,
      "describe()\n--\n\nCounts of batches and answers, as a dict." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, collector_new },
    { Py_tp_dealloc, collector_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_doc, "The library's collector; sextant.Collector is what one uses." },
    { 0, NULL },
};

static PyType_Spec spec = {
    .name = "sextant._core.Collector", .basicsize = sizeof(CollectorObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots,
};

int collector_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int failed = type ? PyModule_AddObjectRef(module, "Collector", type) : -1;

    Py_XDECREF(type);
    return failed;
}
