/* bench_kernels.c - finds the kernels of a device. CUDA's are a library of the
 * bench's own, in the folder of this program or where libraries are installed.
 * Both paths are absolute, and the environment can't change them. */
#include "bench_kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

#ifndef SX_LIBDIR                 /* the Makefile says where it installs */
#define SX_LIBDIR "/usr/local/lib"
#endif

#define FILE_NAME "libsextant-bench-cuda.so"
#define INSTALLED SX_LIBDIR "/" FILE_NAME

/* A path beside this program, whose place the kernel says; "": not known. */
static void beside(char *path, size_t space)
{
    ssize_t length = readlink("/proc/self/exe", path, space - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + sizeof FILE_NAME <= space)
        strcpy(slash + 1, FILE_NAME);
    else
        path[0] = '\0';
}

static const bench_kernels *load_cuda(void)
{
    const bench_kernels *(*entry)(void) = NULL;
    char own[4096];
    const char *path;
    void *library;

    beside(own, sizeof own);
    path = own[0] && access(own, F_OK) == 0 ? own : INSTALLED;
    if (access(path, F_OK) != 0)
        fail("there is nothing to compare a GPU with: no file %s%s%s", own,
             own[0] ? " or " : "", INSTALLED);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail("there is nothing to compare a GPU with: %s", dlerror());
    *(void **)&entry = dlsym(library, "bench_kernels_entry");
    if (!entry)
        fail("%s is not the bench's: it has no bench_kernels_entry", path);
    if (entry()->abi != BENCH_KERNELS_ABI)
        fail("%s has ABI %u, this bench needs %u", path, entry()->abi,
             BENCH_KERNELS_ABI);
    return entry();
}

const bench_kernels *kernels_of(const char *name)
{
    bool cuda = !strncmp(name, "cuda:", 5);
    const bench_kernels *kernels;
    const char *why;

    if (!cuda && strcmp(name, "simt"))
        fail("there is nothing to compare %s with", name);
    kernels = cuda ? load_cuda() : &simt_kernels;
    why = kernels->open(cuda ? atoi(name + 5) : 0);
    if (why)
        fail("%s", why);
    return kernels;
}
