#include "hwinfo.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CACHES_MAX = 10 };

/* Reads the first line of a file, without its end. */
static bool first_line(const char *path, char *line, int space)
{
    FILE *f = fopen(path, "r");
    bool got = f && fgets(line, space, f);

    if (f)
        fclose(f);
    if (got)
        line[strcspn(line, "\n")] = 0;
    return got;
}

static void read_cpu(hwinfo *hw)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];

    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');

        if (colon && !strncmp(line, "model name", 10)) {
            line[strcspn(line, "\n")] = 0;
            snprintf(hw->cpu, sizeof hw->cpu, "%.120s",
                     colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    if (f)
        fclose(f);
}

static void read_caches(hwinfo *hw)
{
    size_t used = 0;

    for (int i = 0; i < CACHES_MAX; i++) {
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
        char path[128], level[8], type[32], size[16];

        snprintf(path, sizeof path, "%s%d/level", base, i);
        if (!first_line(path, level, sizeof level))
            break;
        snprintf(path, sizeof path, "%s%d/type", base, i);
        if (!first_line(path, type, sizeof type))
            break;
        snprintf(path, sizeof path, "%s%d/size", base, i);
        if (!first_line(path, size, sizeof size) ||
            used + 32 > sizeof hw->caches)
            break;
        used += (size_t)snprintf(hw->caches + used, sizeof hw->caches - used,
                                 "%sL%s%s %s", used ? ", " : "", level,
                                 *type == 'D' ? "d" : *type == 'I' ? "i" : "",
                                 size);
    }
    if (!used)
        strcpy(hw->caches, "unknown");
}

/* The file lists all settings and puts the one in force in brackets. */
static void read_huge_pages(hwinfo *hw)
{
    char line[128], *open, *close;

    strcpy(hw->huge_pages, "unknown");
    if (!first_line("/sys/kernel/mm/transparent_hugepage/enabled", line,
                    sizeof line))
        return;
    open = strchr(line, '[');
    close = open ? strchr(open, ']') : NULL;
    if (close && close - open < (int)sizeof hw->huge_pages) {
        *close = 0;
        strcpy(hw->huge_pages, open + 1);
    }
}

hwinfo hwinfo_read(void)
{
    hwinfo hw = { .cpu = "unknown" };

    read_cpu(&hw);
    read_caches(&hw);
    read_huge_pages(&hw);
    hw.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return hw;
}
