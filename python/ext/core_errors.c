/* core_errors.c - a status becomes an exception of sextant._errors. */
#include "core.h"

static PyObject *classes[SX_ECANCELED + 1];   /* by status */
static PyObject *other;                       /* of a status that is newer than this file */
PyObject *invalid_error, *invalid_type_error; /* of what this module finds wrong itself */

PyObject *raise_status(sx_status status)
{
    PyObject *class = other;

    if (PyErr_Occurred())
        return NULL;
    if (status > SX_OK && status <= SX_ECANCELED && classes[status])
        class = classes[status];
    const char *detail = sx_detail();
    PyErr_SetString(class, detail && detail[0] ? detail : sx_strerror(status));
    return NULL;
}

int errors_init(PyObject *module)
{
    static const char *const names[SX_ECANCELED + 1] = {
        [SX_ENOMEM] = "OutOfMemoryError", [SX_EINVAL] = "InvalidError",
        [SX_ENODEV] = "DeviceNotFoundError", [SX_ENOSYS] = "NotSupportedError",
        [SX_ESPACE] = "SpaceError", [SX_EDEVICE] = "DeviceError",
        [SX_ECORRUPT] = "CorruptError", [SX_EFORK] = "ForkError", [SX_EIO] = "FileError",
        [SX_ETIMEDOUT] = "TimeoutError", [SX_ECANCELED] = "CanceledError",
    };
    PyObject *errors = PyImport_ImportModule("sextant._errors");

    (void)module;
    if (!errors)
        return -1;
    for (int i = 1; i <= SX_ECANCELED; i++) {
        classes[i] = PyObject_GetAttrString(errors, names[i]);
        if (!classes[i])
            return -1;
    }
    other = PyObject_GetAttrString(errors, "Error");
    invalid_error = classes[SX_EINVAL];
    invalid_type_error = PyObject_GetAttrString(errors, "InvalidTypeError");
    Py_DECREF(errors);
    return other && invalid_type_error ? 0 : -1;
}
