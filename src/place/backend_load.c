#define _GNU_SOURCE
#include "place/backend_load.h"

#include "base/fork.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#ifndef SX_LIBDIR                 /* the Makefile says where it installs */
#define SX_LIBDIR "/usr/local/lib"
#endif

#define PATH_SPACE 4096u           /* the system's own limit */
#define PATHS_MOST 3u

static const char file_name[] = "libsextant-cuda.so";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[PATHS_MOST][PATH_SPACE];
static unsigned paths;
static int refused;               /* path[0] is what SEXTANT_CUDA says, and is no absolute path */
static _Atomic int known;         /* the three above are set */
static _Atomic(const sx_backend *) cuda_backend;

/* ---- fork ------------------------------------------------------------------- */

static _Atomic int inside;        /* the dynamic loader is at work for us */
static int cut_off;               /* it was, in the parent, when this process was forked */
static sx_forked forked;

/* The lock may be held by a thread that the child does not have. What the dynamic loader
 * did for that thread is half done and stays so: the C library makes its own locks usable
 * in a child, not what they guard. */
static void in_child(void *object)
{
    (void)object;
    pthread_mutex_init(&lock, NULL);
    cut_off |= atomic_load(&inside);
    atomic_store(&inside, 0);
}

__attribute__((constructor)) static void watch_fork(void)
{
    sx_fork_join(&forked, in_child, NULL);
}

/* ---- where it can be ---------------------------------------------------------- */

/* If another user may have started this process with more rights than theirs, that user
 * chose the environment, and may have chosen the program's folder. */
static int has_raised_rights(void)
{
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return geteuid() != getuid() || getegid() != getgid();
#endif
}

/* The file this code was mapped from: the shared library, or the program that has it
 * inside. The kernel says it, since the dynamic loader knows a program by argv[0] and a
 * library by the path it was asked for. */
static int find_own_file(char out[PATH_SPACE])
{
    static char line[PATH_SPACE + 128];
    uintptr_t here = (uintptr_t)find_own_file;
    FILE *maps = fopen("/proc/self/maps", "re");
    int found = 0;

    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        int at = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &at) < 2 || at == 0 ||
            here < from || here >= to)
            continue;
        line[strcspn(line, "\n")] = '\0';
        found = snprintf(out, PATH_SPACE, "%s", line + at) < (int)PATH_SPACE;
    }
    if (maps)
        fclose(maps);
    return found;
}

static int find_program(char out[PATH_SPACE])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_SPACE);

    if (n <= 0 || (size_t)n >= PATH_SPACE)
        return 0;
    out[n] = '\0';
    return 1;
}

static void add_folder(const char *folder, size_t length)
{
    char *p = path[paths];

    if (folder[0] != '/' ||
        snprintf(p, PATH_SPACE, "%.*s/%s", (int)length, folder, file_name) >= (int)PATH_SPACE)
        return;
    for (unsigned i = 0; i < paths; i++)
        if (strcmp(path[i], p) == 0)
            return;
    paths++;
}

static void add_folder_of(int (*find)(char out[PATH_SPACE]))
{
    static char file[PATH_SPACE];

    if (find(file) && strrchr(file, '/'))
        add_folder(file, (size_t)(strrchr(file, '/') - file));
}

static void find_paths(void)
{
    const char *variable = has_raised_rights() ? NULL : getenv("SEXTANT_CUDA");

    paths = 0;
    if (variable && variable[0]) {
        refused = variable[0] != '/' ||
                  snprintf(path[0], PATH_SPACE, "%s", variable) >= (int)PATH_SPACE;
        if (refused)
            snprintf(path[0], PATH_SPACE, "%.200s", variable);
        paths = 1;
    } else {
        if (!has_raised_rights()) {
            add_folder_of(find_own_file);
            add_folder_of(find_program);
        }
        add_folder(SX_LIBDIR, strlen(SX_LIBDIR));
    }
    atomic_store(&known, 1);
}

/* ---- loading --------------------------------------------------------------------- */

/* The first path with a file. NULL: there is none, and err says so. */
static const char *find_file(const char *device, sx_err *err)
{
    int length;

    for (unsigned i = 0; i < paths; i++)
        if (access(path[i], F_OK) == 0)
            return path[i];
    (void)sx_fail(err, SX_ENODEV, "no device '%.40s': the CUDA backend is not installed: there is "
                  "no file", device);
    for (unsigned i = 0; i < paths; i++) {
        length = (int)strlen(err->text);
        snprintf(err->text + length, sizeof err->text - (size_t)length, "%s %.120s",
                 i == 0 ? "" : i + 1 < paths ? "," : " or", path[i]);
    }
    return NULL;
}

static sx_status load_file(const char *file, const char *device, sx_err *err)
{
    const sx_backend *(*entry)(void) = NULL;
    void *lib;

    atomic_store(&inside, 1);
    lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (lib)
        *(void **)&entry = dlsym(lib, "sx_backend_entry");
    atomic_store(&inside, 0);
    if (!lib)
        return sx_fail(err, SX_ENODEV, "no device '%.40s': the CUDA backend can't be loaded: "
                       "%.300s", device, dlerror());
    if (!entry)
        return sx_fail(err, SX_ENODEV, "%.200s is not a backend: it has no sx_backend_entry", file);
    if (entry()->abi != SX_BACKEND_ABI)
        return sx_fail(err, SX_ENODEV, "%.200s has backend ABI %u, this library needs %u", file,
                       entry()->abi, SX_BACKEND_ABI);
    atomic_store(&cuda_backend, entry());
    return SX_OK;
}

static sx_status find_and_load(const char *device, sx_err *err)
{
    const char *file;

    if (cut_off)
        return sx_fail(err, SX_EFORK, "no device '%.40s': another thread was loading the CUDA "
                       "backend when this process was forked; a child can load it after exec()",
                       device);
    if (!atomic_load(&known))
        find_paths();
    if (refused)
        return sx_fail(err, SX_ENODEV, "no device '%.40s': SEXTANT_CUDA is '%.200s'; it has to be "
                       "an absolute path of less than %u bytes", device, path[0], PATH_SPACE);
    file = find_file(device, err);
    return file ? load_file(file, device, err) : SX_ENODEV;
}

sx_status sx_load_cuda(const sx_backend **out, const char *device, sx_err *err)
{
    sx_status st = SX_OK;

    pthread_mutex_lock(&lock);
    if (!atomic_load(&cuda_backend))
        st = find_and_load(device, err);
    *out = atomic_load(&cuda_backend);
    pthread_mutex_unlock(&lock);
    return st;
}
