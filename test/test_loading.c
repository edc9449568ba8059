/* test_loading.c - which file the CUDA backend is loaded from, and who can choose it.
 *
 * The files here are no libraries: the sentence of the failure names the file that was
 * tried. A copy of this program, called with --list, prints that sentence. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support.h"

#define FILE_NAME "libsextant-cuda.so"
#define NOBODY 65534

/* ---- the copy ------------------------------------------------------------------ */

static void tell(void)
{
    sx_device_info info = { .size = sizeof info };
    for (unsigned i = 0; sx_device_at(i, &info) == SX_OK; i++)
        ;                         /* listing devices loads the backend, too */
    sx_device *dev = NULL;
    sx_status status = sx_open(&dev, "cuda:0");
    printf("%d %s\n", (int)status, status == SX_OK ? "usable" : sx_detail());
    sx_close(dev);
}

/* --list DIR NAMED: goes to DIR and prints; sets SEXTANT_CUDA to NAMED and prints again. */
static int list(char **argv)
{
    printf("secure=%lu\n", getauxval(AT_SECURE));
    if (argv[2] && chdir(argv[2]) != 0)
        die("chdir %s: %s", argv[2], strerror(errno));
    tell();
    if (argv[2] && argv[3]) {
        setenv("SEXTANT_CUDA", argv[3], 1);
        tell();
    }
    fflush(NULL);
    _exit(0);                     /* a leak checker can't look at a setuid program */
}

/* ---- its folders ------------------------------------------------------------------ */

static char top[PATH_MAX - 512];  /* beside this program, where programs may be run */
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_folders(void)
{
    if (getpid() == owner)
        nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static char *in_top(const char *name)
{
    char *path = need(PATH_MAX);
    snprintf(path, PATH_MAX, "%s/%s", top, name);
    return path;
}

static void make_file(const char *name)
{
    char *path = in_top(name);
    write_file(path, "no library\n", 11);
    chmod(path, 0755);
    free(path);
}

static void make_folders(void)
{
    static const char *const folders[] = { "a", "a/bin", "b", "b/bin" };
    size_t bytes;
    ssize_t n = readlink("/proc/self/exe", top, sizeof top - 32);
    if (n <= 0 || n >= (ssize_t)sizeof top - 32)
        die("/proc/self/exe: %s", strerror(errno));
    top[n] = '\0';
    unsigned char *program = read_file(top, &bytes);
    snprintf(strrchr(top, '/'), 32, "/loading-XXXXXX");
    if (!mkdtemp(top))
        die("making %s: %s", top, strerror(errno));
    owner = getpid();
    atexit(remove_folders);
    chmod(top, 0755);
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        char *path = in_top(folders[i]);
        if (mkdir(path, 0755) != 0)
            die("making %s: %s", path, strerror(errno));
        free(path);
    }
    char *copy = in_top("a/bin/prog");
    write_file(copy, program, bytes);
    chmod(copy, 0755);
    free(copy);
    free(program);
}

/* Runs program in the folder `in`, as the user uid, with the variable `named` (NULL:
 * without it) and the arguments of list(); returns what it printed. */
static const char *run(const char *in, const char *program, uid_t uid, const char *named,
                       const char *to, const char *named_then)
{
    static char text[4096];
    size_t length = 0;
    int ends[2], status;
    ssize_t n;
    fflush(NULL);
    if (pipe(ends) != 0)
        die("pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0) {
        if (dup2(ends[1], 1) < 0 || chdir(in) != 0)
            die("%s: %s", in, strerror(errno));
        if (named)
            setenv("SEXTANT_CUDA", named, 1);
        else
            unsetenv("SEXTANT_CUDA");
        if (uid != getuid() && (setgid(uid) != 0 || setuid(uid) != 0))
            die("becoming user %d: %s", (int)uid, strerror(errno));
        execl(program, program, "--list", to, named_then, (char *)NULL);
        dprintf(1, "secure=0\nexec: %s\n", strerror(errno));
        _exit(0);
    }
    close(ends[1]);
    while ((n = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        fail_msg("%s ended with %d; it said:\n%s", program, status, text);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in:\n%s", part, text);
}

/* ---- tests ----------------------------------------------------------------------- */

/* A program that is called by a relative path and changes its folder finds the file beside
 * itself, not one with the same path there. */
static void test_argv0(void **state)
{
    (void)state;
    char *a = in_top("a"), *b = in_top("b"), *right = in_top("a/bin/" FILE_NAME);
    make_file("a/bin/" FILE_NAME);
    make_file("b/bin/" FILE_NAME);
    const char *text = run(a, "bin/prog", getuid(), NULL, b, NULL);
    has(text, right);
    has(text, "can't be loaded");

    /* Without a file beside the program only the folder of libraries is left. */
    remove(right);
    text = run(a, "bin/prog", getuid(), NULL, b, NULL);
    has_not(text, b);
    has_not(text, " bin/" FILE_NAME);
    free(a);
    free(b);
    free(right);
}

static void test_variable(void **state)
{
    (void)state;
    char *a = in_top("a"), *b = in_top("b"), *named = in_top("b/named.so");
    make_file("b/named.so");
    make_file("b/other.so");
    make_file("a/bin/" FILE_NAME);

    /* The variable comes first, and its first value stays. */
    char *other = in_top("b/other.so");
    const char *text = run(a, "bin/prog", getuid(), named, b, other);
    has(text, named);
    has_not(text, other);
    has_not(text, FILE_NAME);

    /* No other file is taken if that one is missing. */
    char *missing = in_top("b/missing.so");
    text = run(a, "bin/prog", getuid(), missing, b, NULL);
    has(text, missing);
    has(text, "not installed");
    has_not(text, FILE_NAME);

    /* With a relative path the working directory would choose. */
    static const char *const relative[] = { "named.so", "./named.so", "../b/named.so" };
    for (size_t i = 0; i < COUNT_OF(relative); i++) {
        text = run(a, "bin/prog", getuid(), relative[i], b, NULL);
        has(text, relative[i]);
        has(text, "it has to be an absolute path");
    }

    /* Nor is the start of a path that is too long. */
    char *longer = need(5001);
    memset(longer, 'x', 5000);
    longer[0] = '/';
    longer[5000] = '\0';
    has(run(a, "bin/prog", getuid(), longer, b, NULL), "less than 4096 bytes");
    free(longer);

    /* An empty variable counts as none. */
    text = run(a, "bin/prog", getuid(), "", b, NULL);
    has(text, "a/bin/" FILE_NAME);
    char *beside = in_top("a/bin/" FILE_NAME);
    remove(beside);
    free(beside);
    free(a);
    free(b);
    free(named);
    free(other);
    free(missing);
}

/* Neither the variable counts, nor a folder that its user chose. */
static void test_setuid(void **state)
{
    (void)state;
    struct statvfs fs;
    char *a = in_top("a"), *named = in_top("b/named.so"), *copy = in_top("a/bin/prog");
    const char *why = NULL, *text = "";
    if (getuid() != 0)
        why = "this needs root";
    else if (statvfs(top, &fs) != 0 || fs.f_flag & ST_NOSUID)
        why = "programs of this file system can't be setuid";
    if (!why) {
        make_file("b/named.so");
        make_file("a/bin/" FILE_NAME);
        chmod(copy, 04755);
        text = run(a, "bin/prog", NOBODY, named, NULL, NULL);
        chmod(copy, 0755);
        if (strncmp(text, "secure=1", 8) != 0)
            why = "a setuid program gets no rights here, or another user can't reach it";
    }
    if (!why)
        has_not(text, top);
    free(a);
    free(named);
    free(copy);
    if (why)
        SKIP(why);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return list(argv);
    make_folders();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argv0),
        cmocka_unit_test(test_variable),
        cmocka_unit_test(test_setuid),
    };
    return cmocka_run_group_tests_name("loading", tests, NULL, NULL) != 0;
}
