/* cmd_bench.c - sextant bench: runs sextant-bench, a program of its own, which
 * is installed beside this one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "verbs.h"

#define NAME "sextant-bench"

/* The program in the folder of this one; "": that folder is not known. */
static void beside(char *path, size_t space)
{
    ssize_t length = readlink("/proc/self/exe", path, space - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash && (size_t)(slash + 1 - path) + sizeof NAME <= space)
        strcpy(slash + 1, NAME);
    else
        path[0] = '\0';
}

int cmd_bench(int argc, char **argv)
{
    static char name[] = NAME;
    char path[4096];

    (void)argc;
    beside(path, sizeof path);
    argv[0] = name;
    if (path[0])
        execv(path, argv);
    execvp(name, argv);
    fail("%s can't be run: %s; it belongs beside sextant, or into a folder of "
         "PATH", path[0] ? path : name, strerror(errno));
}
