/* pinned.c - asks the driver by its name at run time: the tool is built without
 * CUDA, and runs where there is none. */
#include "pinned.h"

#include <dlfcn.h>

enum { PORTABLE = 1, DEVICE_MAPPED = 2 }; /* flags, as in cuda.h */

typedef int (*register_function)(void *, size_t, unsigned);
typedef int (*unregister_function)(void *);
typedef int (*error_function)(int, const char **);

static void *driver(void)
{
    static void *loaded;

    if (!loaded)
        loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return loaded;
}

bool pin(void *memory, size_t bytes, const char **why)
{
    register_function enter = NULL;
    error_function say = NULL;
    int error;

    *why = "there is no libcuda.so.1";
    if (!driver())
        return false;
    *(void **)&enter = dlsym(driver(), "cuMemHostRegister_v2");
    *(void **)&say = dlsym(driver(), "cuGetErrorString");
    *why = "libcuda.so.1 has no cuMemHostRegister_v2";
    if (!enter)
        return false;
    error = enter(memory, bytes, PORTABLE | DEVICE_MAPPED);
    if (error && (!say || say(error, why)))
        *why = "the driver refuses, and does not say why";
    return !error;
}

void unpin(void *memory)
{
    unregister_function leave = NULL;

    *(void **)&leave = dlsym(driver(), "cuMemHostUnregister");
    if (leave)
        leave(memory);
}
