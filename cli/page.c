#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A page that belongs to this very program: installed beside it, or in its sources.
 * False: there is none, and man(1) may know one by its name. */
static int find_page(char *path, size_t space)
{
    static const char *const places[] = { "../share/man/man1/sextant.1",
                                          "../doc/sextant.1" };
    ssize_t length = readlink("/proc/self/exe", path, space - 1);
    char *name;

    path[length > 0 ? length : 0] = 0;
    name = strrchr(path, '/');
    for (size_t i = 0; name && i < sizeof places / sizeof *places; i++) {
        snprintf(name + 1, space - (size_t)(name + 1 - path), "%s", places[i]);
        if (!access(path, R_OK))
            return 1;
    }
    return 0;
}

void page_open(const char *verb)
{
    char path[4096], at[128];

    /* less(1) begins at the heading of the verb's options. */
    snprintf(at, sizeof at, "less -R '+/^   %s$'", verb);
    if (!getenv("MANPAGER") && !getenv("PAGER"))
        setenv("MANPAGER", at, 1);
    fflush(NULL);
    if (find_page(path, sizeof path))
        execlp("man", "man", path, (char *)NULL);
    else
        execlp("man", "man", "1", "sextant", (char *)NULL);
}
