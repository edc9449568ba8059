/* core_device.c - devices, families and estimates. */
#include "core.h"

static PyTypeObject *device_type;

static PyObject *describe(const sx_device_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:O,s:I,s:K}", "name", info->name, "detail", info->detail,
                         "usable", info->usable ? Py_True : Py_False, "threads",
                         (unsigned)info->threads, "memory", (unsigned long long)info->memory);
}

static PyObject *device_new(PyTypeObject *class, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "name", NULL };
    const char *name = NULL;
    sx_device *device = NULL;
    sx_device_info info = { .size = sizeof info };
    DeviceObject *self;
    sx_status status;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", names, &name))
        return NULL;
    /* A GPU's first opening loads its backend and takes a while. */
    Py_BEGIN_ALLOW_THREADS
    status = sx_open(&device, name);
    if (!status)
        status = sx_device_describe(device, &info);
    Py_END_ALLOW_THREADS
    if (status)
        return raise_status(status);
    self = (DeviceObject *)PyType_GenericAlloc(class, 0);
    if (!self) {
        sx_close(device);
        return NULL;
    }
    self->device = device;
    self->is_cpu = !strncmp(info.name, "cpu", 3);
    return (PyObject *)self;
}

static void device_dealloc(DeviceObject *self)
{
    PyTypeObject *class = Py_TYPE(OBJECT(self));

    if (self->device) {
        Py_BEGIN_ALLOW_THREADS
        sx_close(self->device);
        Py_END_ALLOW_THREADS
    }
    PyObject_Free(self);
    Py_DECREF(OBJECT(class));
}

static PyObject *device_describe(DeviceObject *self, PyObject *none)
{
    sx_device_info info = { .size = sizeof info };
    sx_status status = sx_device_describe(self->device, &info);

    (void)none;
    return status ? raise_status(status) : describe(&info);
}

DeviceObject *device_of(PyObject *object)
{
    if (Py_TYPE(object) == device_type)
        return (DeviceObject *)object;
    PyErr_SetString(invalid_type_error, "this is no Device");
    return NULL;
}

/* ---- functions of the module ------------------------------------------------ */

static PyObject *devices(PyObject *module, PyObject *none)
{
    PyObject *list = PyList_New(0);
    sx_device_info info = { .size = sizeof info };
    sx_status status;

    (void)module;
    (void)none;
    for (unsigned i = 0; list; i++) {
        Py_BEGIN_ALLOW_THREADS
        status = sx_device_at(i, &info);
        Py_END_ALLOW_THREADS
        if (status)
            break;
        PyObject *item = describe(&info);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *estimate(PyObject *module, PyObject *args)
{
    PyObject *device;
    const char *spec;
    unsigned long long n, bytes = 0;
    sx_estimate_ask ask = { .size = sizeof ask };
    sx_estimate_info out = { .size = sizeof out };
    DeviceObject *d;
    sx_status status;

    (void)module;
    if (!PyArg_ParseTuple(args, "OzKii|K", &device, &spec, &n, &ask.key_type, &ask.row_type,
                          &bytes) ||
        !(d = device_of(device)))
        return NULL;
    ask.n = n;
    ask.bytes = bytes;
    status = sx_estimate(d->device, spec, &ask, &out);
    if (status)
        return raise_status(status);
    return Py_BuildValue("KKKK", (unsigned long long)out.host_resident,
                         (unsigned long long)out.host_peak,
                         (unsigned long long)out.device_resident,
                         (unsigned long long)out.device_peak);
}

static PyObject *families(PyObject *module, PyObject *none)
{
    PyObject *list = PyList_New(0);
    sx_family_info info = { .size = sizeof info };

    (void)module;
    (void)none;
    for (unsigned i = 0; list && !sx_family_at(i, &info); i++) {
        PyObject *item = Py_BuildValue("sss", info.name, info.what, info.parameters);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyMethodDef functions[] = {
    { "devices", devices, METH_NOARGS, "All devices, as a list of dicts." },
    { "estimate", estimate, METH_VARARGS,
      "(device, spec, n, key type, row type, bytes of strings) -> bytes" },
    { "families", families, METH_NOARGS, "Families: (name, what, parameters)." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef device_methods[] = {
    { "describe", (PyCFunction)device_describe, METH_NOARGS, "What it is, as a dict." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot device_slots[] = {
    { Py_tp_new, device_new },
    { Py_tp_dealloc, device_dealloc },
    { Py_tp_methods, device_methods },
    { Py_tp_doc, "An open device." },
    { 0, NULL },
};

static PyType_Spec device_spec = {
    .name = "sextant._core.Device", .basicsize = sizeof(DeviceObject),
    .flags = Py_TPFLAGS_DEFAULT, .slots = device_slots,
};

int device_init(PyObject *module)
{
    device_type = (PyTypeObject *)PyType_FromSpec(&device_spec);
    if (!device_type || PyModule_AddFunctions(module, functions))
        return -1;
    return PyModule_AddObjectRef(module, "Device", (PyObject *)device_type);
}
