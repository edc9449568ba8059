#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILES_MAX = 4,                /* at a time; bench has two */
    NAMES_TRIED = 1000,
    LINKS_MAX = 40                /* in a row, as in the kernel */
};

/* An element is in use while its temporary file has a name. Signal handlers
 * look at these, so they are an array: a list might be in a change. */
struct whole_file {
    volatile sig_atomic_t used;
    char temp[PATH_MAX];
    char target[PATH_MAX];        /* behind all links */
};

static struct whole_file files[FILES_MAX];

/* ---- leaving nothing behind ---------------------------------------------- */

static void drop_all(void)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (files[i].used)
            unlink(files[i].temp);
}

static void drop_all_and_die(int signal_number)
{
    drop_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void whole_init(void)
{
    /* All that end a process from outside, but SIGKILL. SIGPIPE is for io_write.c. */
    static const int deadly[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM,
                                  SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2 };

    atexit(drop_all);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction action = { .sa_handler = drop_all_and_die }, old;

        /* nohup(1), and a shell for jobs in the background, have it ignored. */
        if (!sigaction(deadly[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(deadly[i], &action, NULL);
    }
}

/* ---- names ----------------------------------------------------------------- */

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool name_too_long(void)
{
    errno = ENAMETOOLONG;
    return false;
}

/* Whether another user may have laid out this link for us: it is in a folder where
 * all may make files, and belongs neither to us nor to the folder's owner. Systems
 * refuse to open such links (fs.protected_symlinks), but not to read them. */
static bool is_planted(const char *link)
{
    char folder[PATH_MAX];
    struct stat in, of;
    size_t length = folder_length(link);

    snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1,
             length ? link : ".");
    return lstat(link, &of) || stat(folder, &in) ||
           ((in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH) &&
            of.st_uid != geteuid() && of.st_uid != in.st_uid);
}

/* The file that path is a link to, or path itself. The file may not exist yet, so
 * realpath(3) would not do. */
static bool follow_links(const char *path, char target[PATH_MAX])
{
    if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX)
        return name_too_long();
    for (int i = 0; i < LINKS_MAX; i++) {
        char next[PATH_MAX];
        ssize_t length = readlink(target, next, sizeof next);
        size_t folder;

        if (length < 0)           /* no link */
            return true;
        if (is_planted(target)) {
            errno = EACCES;
            return false;
        }
        folder = length && next[0] == '/' ? 0 : folder_length(target);
        if (folder + (size_t)length >= PATH_MAX)
            return name_too_long();
        memcpy(target + folder, next, (size_t)length);
        target[folder + (size_t)length] = 0;
    }
    errno = ELOOP;
    return false;
}

static int create_beside(const char *target, char temp[PATH_MAX])
{
    int fd = -1;

    errno = EEXIST;
    for (int i = 0; i < NAMES_TRIED && fd < 0 && errno == EEXIST; i++) {
        if (snprintf(temp, PATH_MAX, "%.*s.sextant-out-%ld-%d.tmp",
                     (int)folder_length(target), target, (long)getpid(),
                     i) >= PATH_MAX)
            return name_too_long() - 1;
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return fd;
}

/* ---- files ------------------------------------------------------------------ */

bool whole_can_be(const char *path)
{
    struct stat there;

    return stat(path, &there) ? errno != EACCES : S_ISREG(there.st_mode);
}

whole_file *whole_begin(const char *path, int *fd)
{
    struct whole_file *w = files;
    struct stat old;
    bool is_old;

    while (w < files + FILES_MAX && w->used)
        w++;
    if (w == files + FILES_MAX) {
        errno = EMFILE;
        return NULL;
    }
    if (!follow_links(path, w->target))
        return NULL;
    is_old = !stat(w->target, &old);
    if (is_old && access(w->target, W_OK))
        return NULL;              /* a rename would not ask */
    *fd = create_beside(w->target, w->temp);
    if (*fd < 0)
        return NULL;
    w->used = 1;
    if (is_old && fchmod(*fd, old.st_mode & 0777)) {
        int reason = errno;

        close(*fd);
        whole_drop(w);
        errno = reason;
        return NULL;
    }
    return w;
}

bool whole_end(whole_file *w)
{
    if (rename(w->temp, w->target))
        return false;
    w->used = 0;
    return true;
}

void whole_drop(whole_file *w)
{
    unlink(w->temp);
    w->used = 0;
}
