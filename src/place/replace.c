/* replace.c - a file is written beside its place and renamed when it is whole.
 *
 * While it is written it has no name, so that it is gone with the process if that is
 * killed. A link can't replace a file, so just before the rename it gets a name beside
 * path. Where the file system has no nameless files, it has that name from the start.
 * A kill can leave a file of that name: a leftover, which the next to write into the
 * folder takes away. A lock tells leftovers from files that are being written. It is taken
 * before the file gets its name, or as soon as it is made. It is held until the rename is
 * done, and ends with the process, wherever that ran. Process numbers would not do:
 * containers that share a folder have the same ones. */
#define _GNU_SOURCE
#include "place/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SPACE 4096u           /* bytes of a name, its NUL included */
#define PATH_MOST (PATH_SPACE - 40)
#define NAMES_TRIED 1000u
#define PRIVATE 0600u

sx_status sx_io_failed(const char *doing, const char *path, sx_err *err)
{
    return sx_fail(err, SX_EIO, "%s '%.200s': %s", doing, path, strerror(errno));
}

/* ---- names; a path has at most PATH_MOST bytes ------------------------------- */

static void folder_of(const char *path, char folder[PATH_SPACE])
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        snprintf(folder, PATH_SPACE, ".");
    else
        snprintf(folder, PATH_SPACE, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* The i-th name of this process in the folder of path. It has no part of path's own name,
 * which may be as long as names can be. */
static void name_beside(const char *path, unsigned i, char temp[PATH_SPACE])
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;

    snprintf(temp, PATH_SPACE, "%.*s.sextant-%ld-%u.tmp", folder, path, (long)getpid(), i);
}

/* Whether it is a name of name_beside(), of any process. */
static int is_beside(const char *name)
{
    static const char digits[] = "0123456789", start[] = ".sextant-";
    size_t n;

    if (strncmp(name, start, sizeof start - 1) != 0)
        return 0;
    name += sizeof start - 1;
    n = strspn(name, digits);
    if (n == 0 || name[n] != '-')
        return 0;
    name += n + 1;
    n = strspn(name, digits);
    return n > 0 && strcmp(name + n, ".tmp") == 0;
}

/* ---- leftovers ------------------------------------------------------------------ */

/* Takes the file away if it belongs to the caller and nobody writes it, so that its lock is
 * free. While the lock is held, a name that is still that file's stays that file's. */
static void take_away(int folder, const char *name)
{
    struct stat file, named;
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        file.st_uid == geteuid() && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        named.st_dev == file.st_dev && named.st_ino == file.st_ino)
        unlinkat(folder, name, 0);
    close(fd);
}

/* Leftovers that can't be taken away stay. That is no failure. */
static void take_leftovers(const char *path)
{
    char folder[PATH_SPACE];
    struct dirent *entry;
    DIR *dir;

    folder_of(path, folder);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir)) != NULL)
        if (is_beside(entry->d_name))
            take_away(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

/* ---- a new file ------------------------------------------------------------------- */

/* Below 0: the file system has no nameless files. */
static int create_nameless(const char *path, mode_t mode)
{
    char folder[PATH_SPACE];
    int fd;

    folder_of(path, folder);
    fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* Locks a file that has just been made under a name. 0: another saver was faster, and takes
 * it for a leftover. Where there are no locks, nobody takes anything away. */
static int keep(int fd)
{
    struct stat now;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return 0;
    return fstat(fd, &now) == 0 && now.st_nlink > 0;
}

static int create_beside(const char *path, mode_t mode, char temp[PATH_SPACE])
{
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        name_beside(path, i, temp);
        int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && keep(fd))
            return fd;
        if (fd >= 0)
            close(fd);
        errno = EEXIST;
    }
    return -1;
}

/* Gives a nameless file a name. Below 0: there is no /proc, or the file system refuses. */
static int link_beside(int fd, const char *path, char temp[PATH_SPACE])
{
    char self[40];

    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        name_beside(path, i, temp);
        if (linkat(AT_FDCWD, self, AT_FDCWD, temp, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* ---- who may do what with it --------------------------------------------------------- */

/* Whether there is a file to take permissions from. A link is replaced itself, so the file
 * it leads to does not matter. */
static int is_old_file(const char *path, struct stat *old)
{
    return lstat(path, old) == 0 && S_ISREG(old->st_mode);
}

/* Until the file is whole, its owner alone may read it. A file that replaces another is
 * created so. A new one is created as the system creates files in this folder (umask,
 * default ACL). Its mode is noted, reduced while it is written, and given back. A process
 * that opens it in between, when it is empty, can read it in the end, too. */
static mode_t mode_to_create(const char *path)
{
    struct stat old;

    return is_old_file(path, &old) ? PRIVATE : 0666;
}

/* The mode of a file that takes another's place and has an owner of its own. It allows what
 * the old one allowed, but never to run as its owner or group. A group that differs gets what
 * all others get. If the owner differs, nobody else may write. */
static mode_t inherited(const struct stat *old, const struct stat *mine)
{
    mode_t mode = old->st_mode & 0777;

    if (old->st_gid != mine->st_gid)
        mode = (mode & 0707) | (mode & 07) << 3;
    if (old->st_uid != mine->st_uid)
        mode &= 0755;
    return mode;
}

/* A file system that gives all files one mode may refuse fchmod(); then the mode is right. */
static int set_mode(int fd, mode_t mode)
{
    struct stat now;

    if (fstat(fd, &now) < 0)
        return -1;
    return (now.st_mode & 07777) == mode ? 0 : fchmod(fd, mode);
}

/* ---- writing ------------------------------------------------------------------------ */

#define WRITE_PIECE (4u << 20)    /* between two looks at progress */

/* Writes all bytes, unless progress is stopped. */
static int write_all(int fd, const void *data, uint64_t bytes, sx_progress *progress)
{
    const char *p = data;

    while (bytes > 0 && !sx_progress_stopped(progress)) {
        ssize_t n = write(fd, p, bytes < WRITE_PIECE ? bytes : WRITE_PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        bytes -= (uint64_t)n;
        sx_progress_add(progress, SX_WRITE_UNITS * (uint64_t)n);
    }
    return 0;
}

/* Writes all that must be in the file before it gets path's name. */
static sx_status fill_file(int fd, const char *path, const sx_part *parts, unsigned count,
                           sx_progress *progress, sx_err *err)
{
    struct stat mine, old;
    int failed = fstat(fd, &mine) < 0;
    sx_status st;

    /* A file system that gives all files one mode may refuse this. */
    if (!failed && (mine.st_mode & 077))
        (void)!fchmod(fd, PRIVATE);
    for (unsigned i = 0; i < count && !failed; i++)
        failed = write_all(fd, parts[i].data, parts[i].bytes, progress) < 0;
    st = failed ? SX_OK : sx_progress_status(progress, err);
    if (st != SX_OK)
        return st;
    if (failed ||
        set_mode(fd, is_old_file(path, &old) ? inherited(&old, &mine) : mine.st_mode & 0777) < 0 ||
        fsync(fd) < 0)
        return sx_io_failed("can't write what is to become", path, err);
    return SX_OK;
}

/* Makes a whole file beside path, open, and says its name. On failure there is none. */
static sx_status write_beside(const char *path, const sx_part *parts, unsigned count,
                              sx_progress *progress, int *out, char temp[PATH_SPACE], sx_err *err)
{
    mode_t mode = mode_to_create(path);
    int fd = create_nameless(path, mode);
    sx_status st;

    if (fd >= 0) {
        st = fill_file(fd, path, parts, count, progress, err);
        if (st == SX_OK && link_beside(fd, path, temp) == 0) {
            *out = fd;
            return SX_OK;
        }
        close(fd);
        if (st != SX_OK)
            return st;
    }
    fd = create_beside(path, mode, temp);
    if (fd < 0)
        return sx_io_failed("can't create a file beside", path, err);
    st = fill_file(fd, path, parts, count, progress, err);
    if (st != SX_OK) {
        unlink(temp);
        close(fd);
        return st;
    }
    *out = fd;
    return SX_OK;
}

/* The rename lasts only once the folder is synced too. */
static int sync_folder(const char *path)
{
    char folder[PATH_SPACE];
    int fd, failed;

    folder_of(path, folder);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : -1;          /* a folder that we may only write */
    failed = fsync(fd) < 0 && errno != EINVAL;    /* some file systems can't */
    close(fd);
    return failed ? -1 : 0;
}

/* Whether temp is still this file. Where not all see locks, another saver may have taken the
 * name. */
static int is_still(int fd, const char *temp)
{
    struct stat file, named;

    if (fstat(fd, &file) < 0 || lstat(temp, &named) < 0)
        return 0;
    errno = ESTALE;
    return file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

sx_status sx_replace_file(const char *path, const sx_part *parts, unsigned count,
                          sx_progress *progress, sx_err *err)
{
    char temp[PATH_SPACE];
    struct stat old;
    int fd = -1;
    sx_status st;

    if (strlen(path) > PATH_MOST)
        return sx_fail(err, SX_EINVAL, "path '%.60s...' is too long: %zu bytes, at most %u",
                       path, strlen(path), PATH_MOST);
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return sx_fail(err, SX_EIO, "'%.200s' is not an ordinary file, and is not replaced", path);
    take_leftovers(path);
    st = write_beside(path, parts, count, progress, &fd, temp, err);
    if (st != SX_OK)
        return st;
    if (!is_still(fd, temp)) {
        st = sx_io_failed("can't replace", path, err);
    } else if (rename(temp, path) < 0) {
        st = sx_io_failed("can't replace", path, err);
        unlink(temp);
    } else if (sync_folder(path) < 0) {
        st = sx_io_failed("can't sync the folder of", path, err);
    }
    if (close(fd) < 0 && st == SX_OK)
        st = sx_io_failed("can't close", path, err);
    return st;
}
