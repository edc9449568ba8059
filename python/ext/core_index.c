/* core_index.c - the index: building, files, notes, looking at it. core_ask.c asks it. */
#include "core.h"

#define TICKS_FROM 65536u         /* builds of fewer keys end before anybody could wait */

PyTypeObject *index_type;

/* ---- life -------------------------------------------------------------------- */

static void free_now(IndexObject *self)
{
    sx_index *ix = self->ix;

    self->ix = NULL;
    /* On a GPU this waits for all work of the device. */
    Py_BEGIN_ALLOW_THREADS
    sx_free(ix);
    Py_END_ALLOW_THREADS
}

static bool closed(void)
{
    PyErr_SetString(invalid_error, "the index is closed");
    return false;
}

bool is_open(IndexObject *self)
{
    return uses_open(&self->uses) || closed();
}

bool begin_use(IndexObject *self)
{
    return uses_enter(&self->uses, false) || closed();
}

void end_use(IndexObject *self)
{
    if (uses_leave(&self->uses, false))
        free_now(self);
}

static PyObject *close_index(IndexObject *self, PyObject *none)
{
    (void)none;
    if (uses_close(&self->uses))
        free_now(self);
    Py_RETURN_NONE;
}

static void index_dealloc(IndexObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));
    freefunc give = (freefunc)PyType_GetSlot(class, Py_tp_free);

    if (self->ix)
        free_now(self);
    Py_CLEAR(self->device);
    give(self);
    Py_DECREF(OBJECT(class));
}

/* Takes an index that was made, and what questions need to know of it. */
static PyObject *taken(IndexObject *self, DeviceObject *device, sx_index *ix)
{
    sx_index_info info = { .size = sizeof info };
    sx_status status = sx_describe(ix, &info);

    if (!status && info.n && info.max_row >= 1ull << 63) {
        PyErr_Format(invalid_error,
                     "row %llu is 2^63 or more: rows are int64 in Python, and -1 is a miss",
                     (unsigned long long)info.max_row);
        sx_free(ix);
        return NULL;
    }
    if (status) {
        sx_free(ix);
        return raise_status(status);
    }
    self->ix = ix;
    self->device = (DeviceObject *)Py_NewRef((PyObject *)device);
    self->key_type = info.key_type;
    self->n = info.n;
    self->max_row = info.max_row;
    uses_made(&self->uses);
    Py_RETURN_NONE;
}

/* The same of a call that may have failed. An exception of its last tick is one, too. */
static PyObject *made(IndexObject *self, DeviceObject *device, sx_index *ix, sx_status status)
{
    PyObject *answer;

    if (!status) {
        answer = taken(self, device, ix);
    } else {
        if (ix)
            sx_free(ix);
        answer = raise_status(status);
    }
    if (!answer)
        uses_give_up(&self->uses);
    return answer;
}

/* From here on nobody else makes it, until made() or uses_give_up(). */
static bool is_new(IndexObject *self)
{
    if (uses_claim(&self->uses))
        return true;
    PyErr_SetString(invalid_error, "the index is built already");
    return false;
}

/* _build(device, spec, keys, rows, options) */
static PyObject *build(IndexObject *self, PyObject *args)
{
    PyObject *device, *keys, *rows, *options;
    const char *spec;
    held_column k, r = { .owner = NULL };
    released call;
    DeviceObject *d;
    sx_index *ix = NULL;
    sx_status status;
    int have_rows;

    if (!PyArg_ParseTuple(args, "OzOOO", &device, &spec, &keys, &rows, &options) ||
        !(d = device_of(device)) || hold_column(&k, keys, false, "keys") < 0)
        return NULL;
    have_rows = hold_column(&r, rows, false, "rows");
    if (have_rows < 0 || !is_new(self)) {
        let_go(&k);
        let_go(&r);
        return NULL;
    }
    if (!begin_call(&call, options, k.column.n >= TICKS_FROM)) {
        uses_give_up(&self->uses);
        let_go(&k);
        let_go(&r);
        return NULL;
    }
    status = sx_build(&ix, d->device, spec, &k.column, have_rows ? &r.column : NULL, &call.call);
    status = end_call(&call, status);
    let_go(&k);
    let_go(&r);
    return made(self, d, ix, status);
}

/* _load(device, path, flags, options); the path is bytes. */
static PyObject *load(IndexObject *self, PyObject *args)
{
    PyObject *device, *options;
    const char *path;
    unsigned flags;
    released call;
    DeviceObject *d;
    sx_index *ix = NULL;
    sx_status status;

    if (!PyArg_ParseTuple(args, "OyIO", &device, &path, &flags, &options) ||
        !(d = device_of(device)) || !is_new(self))
        return NULL;
    if (!begin_call(&call, options, true)) {
        uses_give_up(&self->uses);
        return NULL;
    }
    status = sx_load(&ix, d->device, path, flags, &call.call);
    status = end_call(&call, status);
    return made(self, d, ix, status);
}

/* _save(path, options) */
static PyObject *save(IndexObject *self, PyObject *args)
{
    PyObject *options;
    const char *path;
    released call;
    sx_status status;

    if (!PyArg_ParseTuple(args, "yO", &path, &options) || !begin_use(self))
        return NULL;
    if (!begin_call(&call, options, true)) {
        end_use(self);
        return NULL;
    }
    status = sx_save(self->ix, path, &call.call);
    status = end_call(&call, status);
    end_use(self);
    if (status)
        return raise_status(status);
    Py_RETURN_NONE;
}

/* _check(options) */
static PyObject *check(IndexObject *self, PyObject *options)
{
    released call;
    sx_status status;

    if (!begin_use(self))
        return NULL;
    if (!begin_call(&call, options, true)) {
        end_use(self);
        return NULL;
    }
    status = sx_check(self->ix, &call.call);
    status = end_call(&call, status);
    end_use(self);
    if (status)
        return raise_status(status);
    Py_RETURN_NONE;
}

/* ---- looking ----------------------------------------------------------------- */

static PyObject *explain(IndexObject *self, PyObject *json)
{
    PyObject *text = NULL;
    size_t bytes = 0;
    char *buffer = NULL;
    int format = PyObject_IsTrue(json) ? SX_JSON : SX_TEXT;
    sx_status status;

    if (!begin_use(self))
        return NULL;
    /* Its length may change between the two calls, if times are measured anew. */
    while ((status = sx_explain(self->ix, format, buffer, &bytes)) == SX_ESPACE) {
        char *larger = PyMem_Realloc(buffer, bytes);
        if (!larger)
            break;
        buffer = larger;
    }
    end_use(self);
    if (!status)
        text = PyUnicode_DecodeUTF8(buffer, (Py_ssize_t)strlen(buffer), "replace");
    else if (status == SX_ESPACE)
        PyErr_NoMemory();
    else
        raise_status(status);
    PyMem_Free(buffer);
    return text;
}

static PyObject *describe(IndexObject *self, PyObject *none)
{
    sx_index_info info = { .size = sizeof info };
    sx_status status;

    (void)none;
    if (!begin_use(self))
        return NULL;
    status = sx_describe(self->ix, &info);
    end_use(self);
    if (status)
        return raise_status(status);
    return Py_BuildValue("{s:K,s:K,s:K,s:i,s:i,s:O,s:O,s:s}", "n", (unsigned long long)info.n,
                         "max_row", (unsigned long long)info.max_row, "bytes",
                         (unsigned long long)info.bytes, "key_type", (int)info.key_type,
                         "row_type", (int)info.row_type, "unique",
                         info.unique ? Py_True : Py_False, "implicit_rows",
                         info.implicit_rows ? Py_True : Py_False, "spec", info.spec);
}

/* _note(name, value); a value of None takes the note away. Nothing else may be inside. */
static PyObject *set_note(IndexObject *self, PyObject *args)
{
    const char *name, *value;
    sx_status status;

    if (!PyArg_ParseTuple(args, "sz", &name, &value) || !begin_use(self))
        return NULL;
    if (!uses_alone(&self->uses)) {
        end_use(self);
        PyErr_SetString(PyExc_RuntimeError, "another thread is asking the index: a note can't be set");
        return NULL;
    }
    status = sx_note(self->ix, name, value);
    if (uses_leave(&self->uses, true))
        free_now(self);
    if (status)
        return raise_status(status);
    Py_RETURN_NONE;
}

static PyObject *notes(IndexObject *self, PyObject *none)
{
    PyObject *all = PyDict_New();
    const char *name, *value;

    (void)none;
    if (!all || !begin_use(self)) {
        Py_XDECREF(all);
        return NULL;
    }
    for (unsigned i = 0; all && !sx_note_at(self->ix, i, &name, &value); i++) {
        PyObject *text = PyUnicode_FromString(value);
        if (!text || PyDict_SetItemString(all, name, text))
            Py_CLEAR(all);
        Py_XDECREF(text);
    }
    end_use(self);
    return all;
}

static Py_ssize_t index_length(IndexObject *self)
{
    return is_open(self) ? (Py_ssize_t)self->n : -1;
}

static PyObject *is_closed(IndexObject *self, void *none)
{
    (void)none;
    return PyBool_FromLong(!uses_open(&self->uses));
}

static PyObject *device(IndexObject *self, void *none)
{
    (void)none;
    return Py_NewRef(self->device ? (PyObject *)self->device : Py_None);
}

/* ---- the type ------------------------------------------------------------------ */

static PyMethodDef own_methods[] = {
    { "_build", (PyCFunction)build, METH_VARARGS, NULL },
    { "_load", (PyCFunction)load, METH_VARARGS, NULL },
    { "_save", (PyCFunction)save, METH_VARARGS, NULL },
    { "_check", (PyCFunction)check, METH_O, NULL },
    { "_explain", (PyCFunction)explain, METH_O, NULL },
    { "_describe", (PyCFunction)describe, METH_NOARGS, NULL },
    { "_note", (PyCFunction)set_note, METH_VARARGS, NULL },
    { "_notes", (PyCFunction)notes, METH_NOARGS, NULL },
    { "close", (PyCFunction)close_index, METH_NOARGS,
      "close()\n--\n\nFree the index's memory now. Calls of other threads that are inside "
      "end first; later ones raise ValueError." },
};

static PyGetSetDef properties[] = {
    { "closed", (getter)is_closed, NULL, "Whether close() was called.", NULL },
    { "_device", (getter)device, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

/* Both tables of methods in one, which the type keeps. */
static PyMethodDef methods[32];

static PyType_Slot slots[] = {
    { Py_tp_dealloc, index_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { Py_mp_length, index_length },
    { Py_tp_doc, "The library's index; sextant.Index is what one uses." },
    { 0, NULL },
};

static PyType_Spec spec = {
    .name = "sextant._core.Index", .basicsize = sizeof(IndexObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots,
};

int index_init(PyObject *module)
{
    size_t n = sizeof own_methods / sizeof own_methods[0];

    memcpy(methods, own_methods, sizeof own_methods);
    for (PyMethodDef *m = index_questions; m->ml_name; m++)
        methods[n++] = *m;
    index_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return index_type ? PyModule_AddObjectRef(module, "Index", (PyObject *)index_type) : -1;
}
