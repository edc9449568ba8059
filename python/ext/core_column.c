/* core_column.c - Python objects as columns. */
#include "core.h"

typedef struct {
    PyObject_HEAD
    held_column held;
} ColumnObject;

static PyTypeObject *column_type;

/* ---- buffers --------------------------------------------------------------- */

int type_of_format(const char *format, Py_ssize_t itemsize)
{
    if (!format)
        return 0;
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (itemsize == 16 && (!strcmp(format, "16s") || !strcmp(format, "16x")))
        return SX_B16;
    if (format[0] == 0 || format[1] != 0 || (itemsize != 4 && itemsize != 8))
        return 0;
    switch (format[0]) {
    case 'i': case 'l': case 'q': case 'n': return itemsize == 4 ? SX_I32 : SX_I64;
    case 'I': case 'L': case 'Q': case 'N': return itemsize == 4 ? SX_U32 : SX_U64;
    case 'f': return itemsize == 4 ? SX_F32 : 0;
    case 'd': return itemsize == 8 ? SX_F64 : 0;
    default: return 0;
    }
}

static int hold_buffer(held_column *held, PyObject *object, int type, bool writable,
                       const char *what)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    int found;

    if (PyObject_GetBuffer(object, &held->view, flags))
        return -1;
    held->has_view = true;
    found = type_of_format(held->view.format, held->view.itemsize);
    if (!found || (type && sx_type_bytes(type) != sx_type_bytes(found))) {
        PyErr_Format(invalid_type_error, "%s: a buffer of format '%s' (%zd bytes an element) "
                     "is no column; 4- and 8-byte integers and floats and 16-byte void are",
                     what, held->view.format ? held->view.format : "B", held->view.itemsize);
        let_go(held);
        return -1;
    }
    held->column = (sx_column){
        .type = type ? type : found, .place = SX_HOST, .data = held->view.buf,
        .n = (uint64_t)(held->view.len / held->view.itemsize),
    };
    return 1;
}

int hold_column(held_column *held, PyObject *object, bool writable, const char *what)
{
    *held = (held_column){ .owner = NULL };
    if (object == Py_None)
        return 0;
    if (Py_TYPE(object) == column_type) {
        held->column = ((ColumnObject *)object)->held.column;
        held->owner = Py_NewRef(object);
        return 1;
    }
    return hold_buffer(held, object, 0, writable, what);
}

void let_go(held_column *held)
{
    if (held->has_view)
        PyBuffer_Release(&held->view);
    held->has_view = false;
    if (held->has_offsets)
        PyBuffer_Release(&held->offsets);
    held->has_offsets = false;
    Py_CLEAR(held->owner);
}

/* Strings: bytes, and 4- or 8-byte offsets of one more than there are strings. */
static int hold_strings(held_column *held, PyObject *bytes, PyObject *offsets, bool writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    int type;

    if (PyObject_GetBuffer(bytes, &held->view, flags))
        return -1;
    held->has_view = true;
    if (PyObject_GetBuffer(offsets, &held->offsets, flags)) {
        let_go(held);
        return -1;
    }
    held->has_offsets = true;
    type = type_of_format(held->offsets.format, held->offsets.itemsize);
    if ((type != SX_I32 && type != SX_I64) || held->offsets.len < held->offsets.itemsize) {
        PyErr_SetString(invalid_type_error, "offsets are int32 or int64, one more than strings");
        let_go(held);
        return -1;
    }
    held->column = (sx_column){
        .type = SX_STR, .place = SX_HOST, .data = held->view.buf,
        .n = (uint64_t)(held->offsets.len / held->offsets.itemsize - 1),
        .offsets = held->offsets.buf, .offset_bytes = (uint32_t)held->offsets.itemsize,
        .bytes = (uint64_t)held->view.len,
    };
    return 1;
}

/* ---- Column: memory of a stated type, or on a device --------------------------- */

/* Column(source, type, place=0, n=0, writable=False, owner=None): source is an object with
 * a buffer, whose bytes are then elements of that type; or an address of n elements, which
 * owner keeps there. With offsets=, source is the bytes of strings. */
static PyObject *column_new(PyTypeObject *class, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "source", "type", "place", "n", "writable", "owner", "offsets",
                             NULL };
    PyObject *source, *owner = Py_None, *offsets = Py_None;
    int type, place = SX_HOST, writable = 0;
    unsigned long long n = 0;
    ColumnObject *self;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Oi|iKpOO", names, &source, &type,
                                     &place, &n, &writable, &owner, &offsets))
        return NULL;
    if (!sx_type_bytes(type) && type != SX_STR)
        return PyErr_Format(invalid_error, "there is no key type %d", type);
    self = (ColumnObject *)PyType_GenericAlloc(class, 0);
    if (!self)
        return NULL;
    if (type == SX_STR) {
        if (hold_strings(&self->held, source, offsets, writable) < 0)
            Py_CLEAR(self);
    } else if (PyLong_Check(source)) {
        self->held.column = (sx_column){ .type = type, .place = place, .n = n,
                                         .data = PyLong_AsVoidPtr(source) };
        self->held.owner = Py_NewRef(owner);
        if (PyErr_Occurred())
            Py_CLEAR(self);
    } else if (hold_buffer(&self->held, source, type, writable, "a column") < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void column_dealloc(ColumnObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));

    let_go(&self->held);
    PyObject_Free(self);
    Py_DECREF(OBJECT(class));
}

static Py_ssize_t column_length(ColumnObject *self)
{
    return (Py_ssize_t)self->held.column.n;
}

static PyType_Slot column_slots[] = {
    { Py_tp_new, column_new },
    { Py_tp_dealloc, column_dealloc },
    { Py_sq_length, column_length },
    { Py_tp_doc, "Memory as the library takes it: a type, a place, elements." },
    { 0, NULL },
};

static PyType_Spec column_spec = {
    .name = "sextant._core.Column", .basicsize = sizeof(ColumnObject),
    .flags = Py_TPFLAGS_DEFAULT, .slots = column_slots,
};

int column_init(PyObject *module)
{
    column_type = (PyTypeObject *)PyType_FromSpec(&column_spec);
    return column_type ? PyModule_AddObjectRef(module, "Column", (PyObject *)column_type) : -1;
}
