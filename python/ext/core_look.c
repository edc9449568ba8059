/* core_look.c - a look at some elements of an array, for drop-ins that decide by it whether
 * an index pays. It takes less than a microsecond, whatever the array's length. */
#include "core.h"

#define LOOKS 64

/* An element as a number of 128 bits, or of a double, that compare as it does. */
static __int128 whole(int type, const char *at)
{
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;

    switch (type) {
    case SX_U32: memcpy(&u32, at, 4); return u32;
    case SX_I32: memcpy(&i32, at, 4); return i32;
    case SX_U64: memcpy(&u64, at, 8); return u64;
    default: memcpy(&i64, at, 8); return i64;
    }
}

static double real(int type, const char *at)
{
    float f;
    double d;

    if (type == SX_F32) {
        memcpy(&f, at, 4);
        return (double)f;
    }
    memcpy(&d, at, 8);
    return d;
}

/* look(array) -> (whether most neighbours ascend, greatest - least of those looked at).
 * None: not an array of numbers of ours in one dimension. The difference is a float, 0 for
 * arrays of floats. */
static PyObject *look(PyObject *module, PyObject *array)
{
    Py_buffer view;
    Py_ssize_t n, step, stride;
    int type, pairs = 0, up = 0;
    __int128 least = 0, most = 0;
    bool floats;

    (void)module;
    if (PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    type = type_of_format(view.format, view.itemsize);
    if (!type || type == SX_B16 || view.ndim != 1) {
        PyBuffer_Release(&view);
        Py_RETURN_NONE;
    }
    floats = type == SX_F32 || type == SX_F64;
    n = view.shape[0];
    stride = view.strides[0];
    step = n / LOOKS > 1 ? n / LOOKS : 1;
    for (Py_ssize_t i = 0; i + 1 < n; i += step, pairs++) {
        const char *a = (const char *)view.buf + i * stride, *b = a + stride;

        if (floats) {
            up += real(type, a) <= real(type, b);
            continue;
        }
        __int128 x = whole(type, a), y = whole(type, b);
        up += x <= y;
        if (pairs == 0 || x < least)
            least = x;
        if (pairs == 0 || x > most)
            most = x;
    }
    PyBuffer_Release(&view);
    return Py_BuildValue("Od", pairs && up * 10 > pairs * 9 ? Py_True : Py_False,
                         (double)(most - least));
}

static PyMethodDef functions[] = {
    { "look", look, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

int look_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
