/* core.h - what the files of the extension module share.
 *
 * The module is thin: it turns Python objects into columns (sx_column), calls the public
 * C API without the GIL, and turns a status into an exception. What can be said in Python
 * is said there (python/sextant). It keeps to the limited API of Python 3.11, so that one
 * binary serves all later versions. Before, buffers were not part of that API, and a Python
 * without a GIL has none: for these a binary serves one version. NumPy is met through the
 * buffer protocol, so that its ABI does not matter either.
 *
 * Nothing here relies on the GIL: what calls share is written before anybody sees it, or is
 * atomic (core_uses.h), or is guarded by a critical section of its object. */
#ifndef SX_PY_CORE_H
#define SX_PY_CORE_H

#include <patchlevel.h>
#include <pyconfig.h>
#if PY_VERSION_HEX >= 0x030B0000 && !defined(Py_GIL_DISABLED) && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "core_uses.h"
#include "sextant.h"

#ifndef Py_BEGIN_CRITICAL_SECTION /* with a GIL: it is one */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#if PY_VERSION_HEX < 0x030A0000   /* what 3.9 does not have yet */
#define Py_TPFLAGS_DISALLOW_INSTANTIATION 0   /* such an object is empty, and does no harm */

static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static inline int PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *object)
{
    Py_XINCREF(object);
    if (!PyModule_AddObject(module, name, object))
        return 0;
    Py_XDECREF(object);
    return -1;
}
#endif

#define OBJECT(pointer) ((PyObject *)(pointer))

/* ---- core_errors.c ----------------------------------------------------- */

/* Sets the exception of a status, with the library's sentence. Returns NULL. An exception
 * that a tick has left is kept. */
PyObject *raise_status(sx_status status);
extern PyObject *invalid_error, *invalid_type_error;
int errors_init(PyObject *module);

/* ---- core_column.c ------------------------------------------------------- */

/* A column of a Python object, and what keeps its memory there. */
typedef struct {
    sx_column column;
    Py_buffer view;               /* if has_view */
    Py_buffer offsets;            /* of strings, if has_offsets */
    bool has_view, has_offsets;
    PyObject *owner;              /* or NULL */
} held_column;

/* The type of elements that a buffer says; 0: none of ours. */
int type_of_format(const char *format, Py_ssize_t itemsize);

/* Takes a Column, or anything with a contiguous buffer of a type of ours. None becomes a
 * column without data and returns 0; 1: there is a column; -1: an exception is set. */
int hold_column(held_column *held, PyObject *object, bool writable, const char *what);
void let_go(held_column *held);

int column_init(PyObject *module);

/* ---- core_foreign.c -------------------------------------------------------- */

int foreign_init(PyObject *module);

/* ---- core_device.c --------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    sx_device *device;
    bool is_cpu;
} DeviceObject;

/* The Device in an argument, or NULL and an exception. */
DeviceObject *device_of(PyObject *object);
int device_init(PyObject *module);

/* ---- core_index.c ---------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    uses uses;                    /* guards all that follows, which is written before MADE */
    sx_index *ix;                 /* NULL: closed, or not built */
    DeviceObject *device;
    int32_t key_type;
    uint64_t n, max_row;
} IndexObject;

/* Whether it can be used: what is in it may be read then, but for ix. Otherwise an exception
 * is set. */
bool is_open(IndexObject *self);

/* Between these an index stays, whoever closes it. begin_use() returns false and sets an
 * exception if it is closed. */
bool begin_use(IndexObject *self);
void end_use(IndexObject *self);

extern PyTypeObject *index_type;
int index_init(PyObject *module);

/* ---- core_ask.c ------------------------------------------------------------ */

extern PyMethodDef index_questions[];
int ask_init(void);

/* ---- core_call.c ------------------------------------------------------------ */

/* A call of the library without the GIL, which ticks for signals and for progress. */
typedef struct {
    sx_call call;
    PyThreadState *thread;        /* while the GIL is released */
    PyObject *progress;           /* a callable (done, total), or NULL */
    int64_t asked_ns;             /* when signals were looked for last */
} released;

/* options: None, or a tuple (threads, hints, max_bytes, stream, progress). ticks: the
 * call can take long enough to be worth it. False: an exception is set. */
bool begin_call(released *r, PyObject *options, bool ticks);

/* Takes the GIL again. An exception that the last tick has left, which the library does not
 * ask, makes SX_ECANCELED of a status that is fine. */
sx_status end_call(released *r, sx_status status);

/* ---- core_look.c ------------------------------------------------------------- */

int look_init(PyObject *module);

/* ---- core_merge.c ------------------------------------------------------------ */

/* Holds several arrays; a bit of `writable` for each that is written. False: an exception is
 * set, and none is held. */
bool hold_arrays(held_column *held, PyObject *const *objects, int count, unsigned writable);
void let_go_arrays(held_column *held, int count);

/* Whether it is n aligned elements of that type, in memory of the host. */
bool array_is(const held_column *held, int type, uint64_t n);

int merge_init(PyObject *module);

/* ---- core_asof.c ------------------------------------------------------------- */

int asof_init(PyObject *module);

/* ---- core_collector.c --------------------------------------------------------- */

int collector_init(PyObject *module);

/* The bytes of one key, out of a Python number or 16 bytes. False: not possible exactly,
 * and no exception is set. */
bool key_of_scalar(int type, PyObject *value, unsigned char key[16]);

#endif
