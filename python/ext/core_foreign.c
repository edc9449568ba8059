/* core_foreign.c - memory of others: the Arrow C data interface and stream, and DLPack.
 *
 * Both hand over structs in capsules. The structs' layouts are public standards, and
 * written down here so that none of these packages is needed to build. Ownership moves
 * into a Guard, which releases the struct when the last view of its memory is gone. */
#include "core.h"

/* ---- Arrow's structs ------------------------------------------------------------ */

typedef struct arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct arrow_schema **children, *dictionary;
    void (*release)(struct arrow_schema *);
    void *private_data;
} arrow_schema;

typedef struct arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
} arrow_array;

typedef struct arrow_stream {
    int (*get_schema)(struct arrow_stream *, arrow_schema *);
    int (*get_next)(struct arrow_stream *, arrow_array *);
    const char *(*get_last_error)(struct arrow_stream *);
    void (*release)(struct arrow_stream *);
    void *private_data;
} arrow_stream;

/* ---- DLPack's structs, those that every version has ------------------------------- */

typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager_context;
    void (*deleter)(struct dl_managed *);
} dl_managed;

/* ---- Guard: keeps a struct of somebody else's -------------------------------------- */

typedef struct {
    PyObject_HEAD
    arrow_array array;            /* released if release is not NULL */
    dl_managed *managed;
} GuardObject;

static PyTypeObject *guard_type;

static void guard_dealloc(GuardObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));

    if (self->array.release)
        self->array.release(&self->array);
    if (self->managed && self->managed->deleter)
        self->managed->deleter(self->managed);
    PyObject_Free(self);
    Py_DECREF(OBJECT(class));
}

/* ---- Memory: bytes at an address, with a buffer --------------------------------- */

typedef struct {
    PyObject_HEAD
    void *address;
    Py_ssize_t bytes;
    PyObject *owner;
} MemoryObject;

static PyObject *memory_new(PyTypeObject *class, PyObject *args, PyObject *keywords)
{
    unsigned long long address;
    Py_ssize_t bytes;
    PyObject *owner;
    MemoryObject *self;

    (void)keywords;
    if (!PyArg_ParseTuple(args, "KnO", &address, &bytes, &owner))
        return NULL;
    if (bytes < 0) {
        PyErr_SetString(invalid_error, "memory has fewer than 0 bytes");
        return NULL;
    }
    self = (MemoryObject *)PyType_GenericAlloc(class, 0);
    if (self) {
        self->address = (void *)(uintptr_t)address;
        self->bytes = bytes;
        self->owner = Py_NewRef(owner);
    }
    return (PyObject *)self;
}

static void memory_dealloc(MemoryObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));

    Py_CLEAR(self->owner);
    PyObject_Free(self);
    Py_DECREF(OBJECT(class));
}

static int memory_buffer(MemoryObject *self, Py_buffer *view, int flags)
{
    static char none[1];

    return PyBuffer_FillInfo(view, (PyObject *)self, self->bytes ? self->address : none,
                             self->bytes, 1, flags);
}

/* ---- taking arrays --------------------------------------------------------------- */

/* (length, offset, nulls, (address of each buffer), guard). Takes the array. */
static PyObject *described(arrow_array *array)
{
    GuardObject *guard = (GuardObject *)PyType_GenericAlloc(guard_type, 0);
    PyObject *buffers, *result;

    if (!guard)
        return NULL;
    guard->array = *array;
    array->release = NULL;
    buffers = PyTuple_New((Py_ssize_t)guard->array.n_buffers);
    for (Py_ssize_t i = 0; buffers && i < guard->array.n_buffers; i++) {
        PyObject *address = PyLong_FromVoidPtr((void *)(uintptr_t)guard->array.buffers[i]);
        if (!address || PyTuple_SetItem(buffers, i, address))
            Py_CLEAR(buffers);
    }
    if (!buffers) {
        Py_DECREF(OBJECT(guard));
        return NULL;
    }
    result = Py_BuildValue("LLLNN", (long long)guard->array.length,
                           (long long)guard->array.offset, (long long)guard->array.null_count,
                           buffers, guard);
    return result;
}

/* What the schema says: (format, whether it is a dictionary). */
static PyObject *schema_text(const arrow_schema *schema)
{
    return Py_BuildValue("sO", schema->format, schema->dictionary ? Py_True : Py_False);
}

static PyObject *array_of(PyObject *schema_capsule, PyObject *array_capsule)
{
    arrow_schema *schema = PyCapsule_GetPointer(schema_capsule, "arrow_schema");
    arrow_array *array = schema ? PyCapsule_GetPointer(array_capsule, "arrow_array") : NULL;
    PyObject *text, *one;

    if (!array)
        return NULL;
    if (!schema->release || !array->release) {
        PyErr_SetString(invalid_error, "this Arrow array was taken before");
        return NULL;
    }
    text = schema_text(schema);
    one = text ? described(array) : NULL;
    if (!one) {
        Py_XDECREF(text);
        return NULL;
    }
    return Py_BuildValue("N[N]", text, one);
}

/* arrow_array(schema, array), capsules -> ((format, dictionary), [array]). Of two threads with
 * one capsule the second finds that it was taken; so do those with a stream or a tensor. */
static PyObject *take_array(PyObject *module, PyObject *args)
{
    PyObject *schema, *array, *taken;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &schema, &array))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(array);
    taken = array_of(schema, array);
    Py_END_CRITICAL_SECTION();
    return taken;
}

static PyObject *stream_failed(arrow_stream *stream, int code)
{
    const char *why = stream->get_last_error(stream);

    return PyErr_Format(invalid_error, "the Arrow stream failed: %s (%d)",
                        why ? why : "no reason is given", code);
}

static PyObject *stream_of(PyObject *capsule)
{
    arrow_stream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    arrow_schema schema;
    PyObject *text, *list;
    int code;

    if (!stream)
        return NULL;
    if (!stream->release) {
        PyErr_SetString(invalid_error, "this Arrow stream was taken before");
        return NULL;
    }
    code = stream->get_schema(stream, &schema);
    if (code)
        return stream_failed(stream, code);
    text = schema_text(&schema);
    schema.release(&schema);
    list = text ? PyList_New(0) : NULL;
    while (list) {
        arrow_array array = { .release = NULL };
        PyObject *one;

        code = stream->get_next(stream, &array);
        if (code) {
            stream_failed(stream, code);
            Py_CLEAR(list);
            break;
        }
        if (!array.release)       /* the end */
            break;
        one = described(&array);
        if (!one || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    if (!list) {
        Py_XDECREF(text);
        return NULL;
    }
    return Py_BuildValue("NN", text, list);
}

/* arrow_stream(capsule) -> ((format, dictionary), [array, ...]) */
static PyObject *take_stream(PyObject *module, PyObject *capsule)
{
    PyObject *taken;

    (void)module;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    taken = stream_of(capsule);
    Py_END_CRITICAL_SECTION();
    return taken;
}

static PyObject *numbers(const int64_t *values, int n)
{
    PyObject *tuple = PyTuple_New(n);

    for (int i = 0; tuple && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (!value || PyTuple_SetItem(tuple, i, value))
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *tensor_of(PyObject *capsule)
{
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    GuardObject *guard;
    const dl_tensor *t;
    PyObject *shape, *strides;

    if (!managed)
        return NULL;
    t = &managed->tensor;
    if (t->lanes != 1) {
        PyErr_Format(invalid_type_error, "a tensor of vectors of %d elements is no column",
                     (int)t->lanes);
        return NULL;
    }
    shape = numbers(t->shape, t->ndim);
    strides = t->strides ? numbers(t->strides, t->ndim) : Py_NewRef(Py_None);
    guard = shape && strides ? (GuardObject *)PyType_GenericAlloc(guard_type, 0) : NULL;
    if (!guard || PyCapsule_SetName(capsule, "used_dltensor")) {
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        Py_XDECREF(OBJECT(guard));
        return NULL;
    }
    guard->managed = managed;
    return Py_BuildValue("iiiiKNNN", (int)t->device_type, (int)t->device_id, (int)t->code,
                         (int)t->bits,
                         (unsigned long long)((uintptr_t)t->data + t->byte_offset), shape,
                         strides, guard);
}

/* dlpack(capsule) -> (device type, device, code, bits, address, shape, strides or None,
 * guard). Strides are in elements. */
static PyObject *take_tensor(PyObject *module, PyObject *capsule)
{
    PyObject *taken;

    (void)module;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    taken = tensor_of(capsule);
    Py_END_CRITICAL_SECTION();
    return taken;
}

/* ---- the types --------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    { "arrow_array", take_array, METH_VARARGS, NULL },
    { "arrow_stream", take_stream, METH_O, NULL },
    { "dlpack", take_tensor, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot guard_slots[] = {
    { Py_tp_dealloc, guard_dealloc },
    { 0, NULL },
};
static PyType_Spec guard_spec = {
    .name = "sextant._core.Guard", .basicsize = sizeof(GuardObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, .slots = guard_slots,
};

static PyType_Slot memory_slots[] = {
    { Py_tp_new, memory_new },
    { Py_tp_dealloc, memory_dealloc },
    { Py_bf_getbuffer, memory_buffer },
    { Py_tp_doc, "Memory(address, bytes, owner): a read-only buffer." },
    { 0, NULL },
};
static PyType_Spec memory_spec = {
    .name = "sextant._core.Memory", .basicsize = sizeof(MemoryObject),
    .flags = Py_TPFLAGS_DEFAULT, .slots = memory_slots,
};

int foreign_init(PyObject *module)
{
    PyObject *memory = PyType_FromSpec(&memory_spec);
    int failed;

    guard_type = (PyTypeObject *)PyType_FromSpec(&guard_spec);
    if (!memory || !guard_type || PyModule_AddFunctions(module, functions))
        return -1;
    failed = PyModule_AddObjectRef(module, "Memory", memory);
    Py_DECREF(memory);
    return failed;
}
