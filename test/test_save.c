/* test_save.c - saving happens, or does not, whatever fails and wherever the process is
 * killed; and who may read the file. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "ask.h"
#include "specimen.h"

static sx_device *dev;

static unsigned files_in(const char *path)
{
    DIR *dir = opendir(path);
    unsigned n = 0;
    if (!dir)
        die("opening %s", path);
    for (struct dirent *e; (e = readdir(dir)); )
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(dir);
    return n;
}

/* ---- a system of our own -------------------------------------------------------- */

/* A system without nameless files, or without a way to name them. */
enum { ALL_THERE, NO_NAMELESS, NO_LINKS, SYSTEMS };
static int system_now;
static unsigned refused;

/* The rights that others have on a file while it is made and while it is written. */
static mode_t made_for_others, written_for_others;
static unsigned writes;

/* What happened to the file, in order: w written, s synced, r renamed, d its folder synced. */
static char happened[16];
/* The error of the next such call, or 0. */
static int sync_fails, sync_folder_fails, rename_fails;
static bool stolen;               /* another process takes the name that a file gets */

static void happens(char what)
{
    size_t n = strlen(happened);
    if (n + 1 < sizeof happened && (n == 0 || happened[n - 1] != what))
        happened[n] = what;
}

static int failing(int *error)
{
    errno = *error;
    *error = 0;
    return errno ? -1 : 0;
}

/* Where this process stops: it is killed there, or reports it and waits. */
enum { NOWHERE, AT_LOCK, AT_RENAME };
static int stop_at;
static int say_stopped = -1, may_go_on = -1;      /* -1: it is killed */

static void reach(int point)
{
    char byte = 0;
    if (stop_at != point)
        return;
    if (may_go_on < 0)
        kill(getpid(), SIGKILL);
    stop_at = NOWHERE;
    if (syscall(SYS_write, say_stopped, &byte, 1) != 1 || read(may_go_on, &byte, 1) != 1)
        _exit(99);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (system_now == NO_NAMELESS && (flags & O_TMPFILE) == O_TMPFILE) {
        refused++;
        errno = EOPNOTSUPP;
        return -1;
    }
    made_for_others |= mode & 077;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (system_now == NO_LINKS) {
        refused++;
        errno = ENOENT;           /* as where there is no /proc */
        return -1;
    }
    int failed = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (stolen && !failed) {
        unlink(to);
        write_file(to, "another's", 9);
    }
    return failed;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    struct stat now;
    if (fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) {
        written_for_others |= now.st_mode & 077;
        writes++;
        happens('w');
    }
    return (ssize_t)syscall(SYS_write, fd, data, bytes);
}

int flock(int fd, int how)
{
    reach(AT_LOCK);
    return (int)syscall(SYS_flock, fd, how);
}

int fsync(int fd)
{
    struct stat now;
    int folder = fstat(fd, &now) == 0 && S_ISDIR(now.st_mode);
    happens(folder ? 'd' : 's');
    return failing(folder ? &sync_folder_fails : &sync_fails) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    reach(AT_RENAME);
    happens('r');
    if (failing(&rename_fails))
        return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- failures ------------------------------------------------------------------ */

static bool has_nameless(const char *dir)
{
    int fd = open(dir, O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The disk is full, in effect: nothing changes, nothing is left over. */
static void failed_save(void)
{
    specimen s = make_specimen(dev, 0, 100), big = make_specimen(dev, 0, 9999);
    char *dir = temp_path("full"), *path = temp_path("full/old.sxt");
    struct rlimit before, small;
    mkdir(dir, 0700);
    assert_int_equal(sx_save(s.ix, path, NULL), SX_OK);
    assert_int_equal(files_in(dir), 1);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most < big.bytes; most += big.bytes / 3) {
        getrlimit(RLIMIT_FSIZE, &before);
        small = before;
        small.rlim_cur = most;
        setrlimit(RLIMIT_FSIZE, &small);
        sx_status status = sx_save(big.ix, path, NULL);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(status, SX_EIO);
        assert_non_null(strstr(sx_detail(), path));
        check_file_is(path, s.file, s.bytes);
        assert_int_equal(files_in(dir), 1);
    }
    /* A folder where no file can be made; the superuser can in any. */
    if (geteuid() != 0) {
        chmod(dir, 0500);
        assert_int_equal(sx_save(big.ix, path, NULL), SX_EIO);
        chmod(dir, 0700);
        check_file_is(path, s.file, s.bytes);
    }
    /* A directory in its place stays one. */
    char *sub = temp_path("full/sub.sxt");
    mkdir(sub, 0700);
    assert_int_equal(sx_save(big.ix, sub, NULL), SX_EIO);
    assert_int_equal(files_in(dir), 2);
    assert_int_equal(files_in(sub), 0);
    /* And with space it works. */
    assert_int_equal(sx_save(big.ix, path, NULL), SX_OK);
    check_file_is(path, big.file, big.bytes);
    assert_int_equal(files_in(dir), 2);
    rmdir(sub);
    free(sub);
    free(path);
    free(dir);
    free_specimen(&s);
    free_specimen(&big);
}

static void test_failed_save(void **state)
{
    (void)state;
    char *dir = temp_path("");
    for (int way = 0; way < SYSTEMS; way++) {
        system_now = way;
        refused = 0;
        failed_save();
        system_now = ALL_THERE;
        bool expected = way == NO_NAMELESS || (way == NO_LINKS && has_nameless(dir));
        assert_true((refused > 0) == expected);
    }
    free(dir);
}

/* A file gets its name when it is on the disk, and then the folder is synced. Whichever of
 * these fails, the old file stays, or the new one is there; and nothing else. */
static void test_synced(void **state)
{
    (void)state;
    specimen s = make_specimen(dev, 0, 100), big = make_specimen(dev, 0, 9999);
    char *dir = temp_path("synced"), *path = temp_path("synced/old.sxt");
    mkdir(dir, 0700);
    for (int way = 0; way < SYSTEMS; way++) {
        static const char *const words[] = { "can't write", "can't replace", "can't sync" };
        system_now = way;
        assert_int_equal(sx_save(s.ix, path, NULL), SX_OK);
        for (unsigned i = 0; i < COUNT_OF(words); i++) {
            int *const fails[] = { &sync_fails, &rename_fails, &sync_folder_fails };
            *fails[i] = EIO;
            assert_int_equal(sx_save(big.ix, path, NULL), SX_EIO);
            assert_true(strstr(sx_detail(), words[i]) && strstr(sx_detail(), path));
            assert_int_equal(*fails[i], 0);
            check_file_is(path, i < 2 ? s.file : big.file, i < 2 ? s.bytes : big.bytes);
            assert_int_equal(files_in(dir), 1);
        }
        sync_folder_fails = EINVAL;       /* a system that can't sync folders */
        memset(happened, 0, sizeof happened);
        assert_int_equal(sx_save(s.ix, path, NULL), SX_OK);
        assert_string_equal(strstr(happened, "wsr"), "wsrd");
    }
    system_now = ALL_THERE;
    free(path);
    free(dir);
    free_specimen(&s);
    free_specimen(&big);
}

/* If not all see locks, another saver may take the file for a leftover and the name for its
 * own. */
static void test_stolen_name(void **state)
{
    (void)state;
    specimen s = make_specimen(dev, 0, 100), big = make_specimen(dev, 0, 9999);
    char *dir = temp_path("stolen"), *path = temp_path("stolen/old.sxt");
    mkdir(dir, 0700);
    assert_int_equal(sx_save(s.ix, path, NULL), SX_OK);
    if (has_nameless(dir)) {
        stolen = true;
        assert_int_equal(sx_save(big.ix, path, NULL), SX_EIO);
        stolen = false;
        check_file_is(path, s.file, s.bytes);
        assert_int_equal(files_in(dir), 2);       /* the other saver's file stays */
    }
    free(path);
    free(dir);
    free_specimen(&s);
    free_specimen(&big);
}

/* A process that is killed while it writes leaves nothing, either. */
static void test_killed_save(void **state)
{
    (void)state;
    specimen s = make_specimen(dev, 0, 100), big = make_specimen(dev, 0, 9999);
    char *dir = temp_path("killed"), *path = temp_path("killed/old.sxt");
    mkdir(dir, 0700);
    assert_int_equal(sx_save(s.ix, path, NULL), SX_OK);
    bool can = has_nameless(dir);
    for (rlim_t most = 0; can && most < big.bytes; most += big.bytes / 3) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = { 0, 0 }, small = { most, most };
            setrlimit(RLIMIT_CORE, &none);
            setrlimit(RLIMIT_FSIZE, &small);
            signal(SIGXFSZ, SIG_DFL);
            _exit(sx_save(big.ix, path, NULL) == SX_OK ? 0 : 1);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
        check_file_is(path, s.file, s.bytes);
        assert_int_equal(files_in(dir), 1);
    }
    free(path);
    free(dir);
    free_specimen(&s);
    free_specimen(&big);
    if (!can)
        SKIP("the file system has no files without a name");
}

/* ---- leftovers ----------------------------------------------------------------- */

/* A folder with one saved file in it. */
typedef struct {
    char *dir, *old, *path;
    specimen s;
} scene;

static scene scene_new(void)
{
    static unsigned scenes;       /* one that failed leaves its folder as it is */
    char name[32], old[48], new[48];
    snprintf(name, sizeof name, "folder%u", scenes++);
    snprintf(old, sizeof old, "%s/old.sxt", name);
    snprintf(new, sizeof new, "%s/new.sxt", name);
    scene c = { temp_path(name), temp_path(old), temp_path(new), make_specimen(dev, 0, 500) };
    mkdir(c.dir, 0755);
    assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
    assert_int_equal(files_in(c.dir), 1);
    return c;
}

static void scene_free(scene *c)
{
    unlink(c->old);
    unlink(c->path);
    if (rmdir(c->dir) != 0)
        fail_msg("something is left in %s", c->dir);
    free_specimen(&c->s);
    free(c->dir);
    free(c->old);
    free(c->path);
}

/* A kill just before the rename leaves a file; the next save takes it away. */
static void test_killed_before_rename(void **state)
{
    (void)state;
    for (system_now = 0; system_now < SYSTEMS; system_now++) {
        scene c = scene_new();
        for (unsigned left = 1; left <= 3; left++) {
            int status = 0;
            pid_t child = fork();
            if (child == 0) {
                stop_at = AT_RENAME;
                _exit(sx_save(c.s.ix, c.old, NULL) == SX_OK ? 0 : 1);
            }
            assert_true(child > 0 && waitpid(child, &status, 0) == child);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            check_file_is(c.old, c.s.file, c.s.bytes);
            assert_int_equal(files_in(c.dir), 2);
        }
        assert_int_equal(sx_save(c.s.ix, c.path, NULL), SX_OK);
        check_file_is(c.path, c.s.file, c.s.bytes);
        assert_int_equal(files_in(c.dir), 2);
        scene_free(&c);
    }
    system_now = ALL_THERE;
}

/* The same if a file has a name while it is written. */
static void test_killed_while_writing(void **state)
{
    (void)state;
    scene c = scene_new();
    int status = 0;
    system_now = NO_NAMELESS;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = { 0, 0 }, small = { 700, 700 };
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_FSIZE, &small);
        signal(SIGXFSZ, SIG_DFL);
        _exit(sx_save(c.s.ix, c.path, NULL) == SX_OK ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_int_equal(files_in(c.dir), 2);
    system_now = ALL_THERE;
    assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
    assert_int_equal(files_in(c.dir), 1);
    scene_free(&c);
}

/* A process that saves loses nothing to one that takes leftovers away, wherever it is: before
 * it has locked its file, or before the file has its last name. */
static void test_others_at_work(void **state)
{
    (void)state;
    for (system_now = 0; system_now < SYSTEMS; system_now++)
        for (int point = AT_LOCK; point <= AT_RENAME; point++) {
            scene c = scene_new();
            int stopped[2], go_on[2], status = 0;
            char byte;
            assert_true(pipe(stopped) == 0 && pipe(go_on) == 0);
            pid_t child = fork();
            if (child == 0) {
                say_stopped = stopped[1];
                may_go_on = go_on[0];
                stop_at = point;
                sx_status st = sx_save(c.s.ix, c.path, NULL);
                _exit(stop_at != NOWHERE ? 98 : (int)st);
            }
            assert_true(child > 0);
            close(stopped[1]);
            close(go_on[0]);
            assert_int_equal(read(stopped[0], &byte, 1), 1);
            assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
            assert_int_equal(syscall(SYS_write, go_on[1], "", 1), 1);
            assert_int_equal(waitpid(child, &status, 0), child);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != SX_OK)
                fail_msg("system %d, point %d: status %d", system_now, point, status);
            check_file_is(c.path, c.s.file, c.s.bytes);
            check_file_is(c.old, c.s.file, c.s.bytes);
            assert_int_equal(files_in(c.dir), 2);
            close(stopped[0]);
            close(go_on[1]);
            scene_free(&c);
        }
    system_now = ALL_THERE;
}

/* Files that are not certainly leftovers of the saver's stay. */
static void test_not_leftovers(void **state)
{
    (void)state;
    static const char *const names[] = {
        ".sextant-1-1.tmpx", ".sextant--1.tmp", ".sextant-1-.tmp", ".sextant-1.tmp",
        ".sextant-x-1.tmp", ".sextant-1-+1.tmp", "sextant-1-1.tmp", ".sextant-1-1.tmp/",
        ".sextant-1-2.tmp|", ".sextant-1-3.tmp@", ".sextant-1-4.tmp!", ".sextant-123456-78.tmp"
    };
    enum { MINE = COUNT_OF(names) - 1 };
    scene c = scene_new();
    char path[COUNT_OF(names)][512];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char kind = names[i][strlen(names[i]) - 1];
        snprintf(path[i], sizeof path[i], "%s/%s", c.dir, names[i]);
        if (strchr("/|@!", kind))
            path[i][strlen(path[i]) - 1] = '\0';
        int failed = kind == '/' ? mkdir(path[i], 0700)
                   : kind == '|' ? mkfifo(path[i], 0600)
                   : kind == '@' ? symlink("old.sxt", path[i]) : 0;
        if (failed)
            die("making %s", path[i]);
        if (!strchr("/|@", kind))
            write_file(path[i], "", 0);
        if (kind == '!' && geteuid() == 0)        /* another user's, if we can give it away */
            assert_int_equal(chown(path[i], 12345, 12345), 0);
        else if (kind == '!')
            unlink(path[i]);
    }
    unsigned before = files_in(c.dir);
    assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
    assert_int_equal(files_in(c.dir), before - 1);
    assert_int_equal(access(path[MINE], F_OK), -1);
    for (size_t i = 0; i < MINE; i++)
        remove(path[i]);
    scene_free(&c);
}

/* ---- who may read it ------------------------------------------------------------- */

static mode_t mode_of(const char *path)
{
    struct stat now;
    if (stat(path, &now) != 0)
        die("looking at %s", path);
    return now.st_mode & 07777;
}

/* Only the owner may read it before it is whole. Then it has the system's mode for new files,
 * or the old file's, but no bits beyond read, write and run. */
static void test_modes(void **state)
{
    (void)state;
    static const mode_t umasks[] = { 022, 077, 0, 0137 };
    static const mode_t modes[] = { 0600, 0640, 0644, 0666, 0400, 0777, 06777, 04755, 02755, 01644 };
    for (system_now = 0; system_now < SYSTEMS; system_now++) {
        scene c = scene_new();
        mode_t before = umask(0);
        for (size_t i = 0; i < COUNT_OF(umasks); i++) {
            umask(umasks[i]);
            written_for_others = writes = 0;
            assert_int_equal(sx_save(c.s.ix, c.path, NULL), SX_OK);
            assert_true(writes > 0);
            assert_int_equal(written_for_others, 0);
            assert_int_equal(mode_of(c.path), 0666 & ~umasks[i]);
            unlink(c.path);
        }
        for (size_t i = 0; i < COUNT_OF(modes); i++) {
            umask(umasks[i % COUNT_OF(umasks)]);
            assert_int_equal(chmod(c.old, modes[i]), 0);
            assert_int_equal(mode_of(c.old), modes[i]);
            made_for_others = written_for_others = writes = 0;
            assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
            assert_true(writes > 0);
            assert_int_equal(made_for_others | written_for_others, 0);
            assert_int_equal(mode_of(c.old), modes[i] & 0777);
        }
        /* The file that a link leads to does not say who may use the one that replaces it. */
        umask(077);
        assert_int_equal(chmod(c.old, 0666), 0);
        assert_int_equal(symlink(c.old, c.path), 0);
        assert_int_equal(sx_save(c.s.ix, c.path, NULL), SX_OK);
        assert_int_equal(mode_of(c.path), 0600);
        assert_int_equal(mode_of(c.old), 0666);
        umask(before);
        scene_free(&c);
    }
    system_now = ALL_THERE;
}

/* Rights of another user or group do not become those of the saver's. */
static void test_modes_of_others(void **state)
{
    (void)state;
    static const struct { uid_t owner; gid_t group; mode_t old, now; } cases[] = {
        { 12345, 12345, 06777, 0755 }, { 12345, 12345, 0640, 0600 }, { 12345, 12345, 0664, 0644 },
        { 12345, 0, 0664, 0644 }, { 12345, 0, 02660, 0640 }, { 0, 12345, 0660, 0600 },
        { 0, 12345, 0604, 0644 }, { 0, 0, 02660, 0660 },
    };
    if (geteuid() != 0 || getegid() != 0)
        SKIP("only the superuser can give files away");
    scene c = scene_new();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct stat now;
        assert_int_equal(chown(c.old, cases[i].owner, cases[i].group), 0);
        assert_int_equal(chmod(c.old, cases[i].old), 0);
        assert_int_equal(sx_save(c.s.ix, c.old, NULL), SX_OK);
        assert_int_equal(stat(c.old, &now), 0);
        assert_true(now.st_uid == 0 && now.st_gid == 0);
        if ((now.st_mode & 07777) != cases[i].now)
            fail_msg("case %zu: mode %o", i, (unsigned)now.st_mode & 07777);
    }
    scene_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_save),
        cmocka_unit_test(test_synced),
        cmocka_unit_test(test_stolen_name),
        cmocka_unit_test(test_killed_save),
        cmocka_unit_test(test_killed_before_rename),
        cmocka_unit_test(test_killed_while_writing),
        cmocka_unit_test(test_others_at_work),
        cmocka_unit_test(test_not_leftovers),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_modes_of_others),
    };
    test_seed();
    dev = device_open("cpu:threads=1");
    int failed = cmocka_run_group_tests_name("save", tests, NULL, NULL);
    sx_close(dev);
    return failed != 0;
}
