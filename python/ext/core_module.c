/* core_module.c - the module sextant._core. */
#include "core.h"

static int fill(PyObject *module)
{
    if (errors_init(module) || ask_init() || column_init(module) || foreign_init(module) ||
        device_init(module) || index_init(module) || collector_init(module) || look_init(module) ||
        merge_init(module) || asof_init(module))
        return -1;
    return PyModule_AddIntConstant(module, "VERSION", sx_version());
}

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "sextant._core",
    .m_doc = "The library. sextant is what one imports.", .m_size = -1,
};

/* Types and exceptions are kept in static variables, so there is one module a process:
 * initialization in one phase says so, and other interpreters refuse it. */
PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && fill(module))
        Py_CLEAR(module);
#ifdef Py_GIL_DISABLED
    if (module && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED))
        Py_CLEAR(module);
#endif
    return module;
}
