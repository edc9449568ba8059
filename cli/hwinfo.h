/* hwinfo.h - the machine a measurement was made on. */
#ifndef CLI_HWINFO_H
#define CLI_HWINFO_H

typedef struct {
    char cpu[128];                /* "unknown" if the system does not say it */
    char caches[128];             /* "L1d 48K, L1i 32K, L2 2048K, L3 ..." */
    char huge_pages[32];          /* always, madvise or never */
    int cores;
} hwinfo;

hwinfo hwinfo_read(void);

#endif
