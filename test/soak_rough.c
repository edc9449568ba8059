/* soak_rough.c - forks, kills, cancelled threads, failing allocations: see soak.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "soak.h"

#define CHILD_SECONDS 120

/* ---- children ------------------------------------------------------------------- */

/* A child can't use its parent's GPU. */
static const char *child_gpu(const soak_device *on)
{
    uint64_t key[1] = { 1 };
    sx_column keys = column(SX_U64, 1, key), c = { 0 };
    sx_index *ix = NULL;
    if (sx_build(&ix, on->dev, "pivot", &keys, NULL, NULL) != SX_EFORK || ix ||
        sx_column_new(&c, on->dev, SX_U64, 4) != SX_EFORK)
        return "the child could use the GPU";
    return NULL;
}

static const char *child(worker *w, const subject *s)
{
    const char *wrong = NULL;
    subject own;
    for (unsigned i = 0; i < device_count && !wrong; i++)
        wrong = devices[i].gpu ? child_gpu(&devices[i]) : NULL;
    if (!wrong)
        wrong = subject_ask(w, s, s->ix, s->on);
    if (!wrong)
        wrong = subject_make(w, &own, pick_device(w, true), 40000);
    return wrong ? wrong : subject_ask(w, &own, own.ix, own.on);
}

const char *job_fork(worker *w)
{
    subject s;
    int status = 0;
    const char *wrong = subject_make(w, &s, pick_device(w, true), 40000);
    pid_t pid = wrong ? 0 : fork();
    if (!wrong && pid == 0) {
        alarm(CHILD_SECONDS);
        const char *why = child(w, &s);
        if (why)
            fprintf(stderr, "child: %s\n", why);
        _exit(why != NULL);
    }
    if (!wrong && pid < 0)
        wrong = complain(w, "fork: %s", strerror(errno));
    if (!wrong)
        wrong = subject_ask(w, &s, s.ix, s.on);           /* at the same time */
    if (pid > 0 && waitpid(pid, &status, 0) != pid)
        wrong = complain(w, "waitpid: %s", strerror(errno));
    else if (!wrong && status)
        wrong = complain(w, "the child ended with status %#x%s", (unsigned)status,
                         WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    subject_free(&s);
    return wrong;
}

/* Removes names that a killed process left beside path: a file has such a name for a moment,
 * before it becomes the file at path. */
static unsigned remove_left(const char *path, pid_t pid)
{
    char folder[600], begin[64], file[1200];
    unsigned left = 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int length = snprintf(begin, sizeof begin, ".sextant-%ld-", (long)pid);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, begin, (size_t)length) == 0) {
            snprintf(file, sizeof file, "%s/%s", folder, e->d_name);
            left += unlink(file) == 0;
        }
    if (dir)
        closedir(dir);
    return left;
}

/* Whether the file is one of the two, and whole. */
static const char *whole(worker *w, const char *path, sx_device *dev, unsigned char *const file[2],
                         const size_t bytes[2])
{
    size_t n;
    sx_index *ix = NULL;
    unsigned char *now = read_file(path, &n);
    bool is[2];
    for (int i = 0; i < 2; i++)
        is[i] = n == bytes[i] && memcmp(now, file[i], n) == 0;
    free(now);
    w->old_files += is[0];
    w->new_files += !is[0] && is[1];
    if (!is[0] && !is[1])
        return complain(w, "the file has %zu bytes, and is neither the old nor the new one", n);
    if (sx_load(&ix, dev, path, SX_LOAD_VERIFY, NULL) != SX_OK)
        return complain(w, "load: %s", sx_detail());
    sx_free(ix);
    return NULL;
}

const char *job_kill(worker *w)
{
    subject s[2] = { { 0 } };
    char *path = worker_path(w, "killed"), *names[2] = { worker_path(w, "old"),
                                                         worker_path(w, "new") };
    unsigned char *file[2] = { NULL, NULL };
    size_t bytes[2];
    int status;
    const char *wrong = NULL;
    for (int i = 0; i < 2 && !wrong; i++) {
        wrong = subject_make(w, &s[i], pick_device(w, true), 60000);
        if (!wrong)
            file[i] = saved_bytes(s[i].ix, names[i], &bytes[i]);
    }
    for (unsigned turn = 0; turn < 3 && !wrong; turn++) {
        if (sx_save(s[0].ix, path, NULL) != SX_OK)
            wrong = complain(w, "save: %s", sx_detail());
        pid_t pid = wrong ? -1 : fork();
        if (pid == 0) {
            alarm(CHILD_SECONDS);
            for (unsigned i = 1;; i++)
                if (sx_save(s[i % 2].ix, path, NULL) != SX_OK)
                    _exit(1);
        }
        if (pid < 0)
            break;
        usleep((useconds_t)rnd_below(&w->r, 4000));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            wrong = complain(w, "saving in a child: status %#x", (unsigned)status);
        (void)remove_left(path, pid);
        if (!wrong)
            wrong = whole(w, path, s[0].on->dev, file, bytes);
    }
    for (int i = 0; i < 2; i++) {
        subject_free(&s[i]);
        free(file[i]);
        free(names[i]);
    }
    free(path);
    return wrong;
}

/* ---- cancelled threads -------------------------------------------------------------- */

/* The creator of a victim frees what the victim has, since it may end anywhere. */
typedef struct {
    const subject *s;
    const char *path;
    rnd r;
    sx_index *made;
    sx_device *opened;
    uint64_t *numbers, *first;
    _Atomic unsigned begun;
    char why[300];
} victim;

static void verb(victim *v)
{
    const dataset *d = v->s->d;
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column lo = column(d->type, d->ranges, d->lo.data);
    sx_column hi = column(d->type, d->ranges, d->hi.data);
    sx_column numbers = column(SX_U64, d->queries, v->numbers);
    sx_column first = column(SX_U64, d->ranges + 1, v->first);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    sx_status st = SX_OK;
    switch (rnd_below(&v->r, 7)) {
    case 0:
        st = sx_get(v->s->ix, &q, &numbers, NULL);
        if (st == SX_OK && d->queries && memcmp(v->numbers, d->get, d->queries * 8) != 0)
            snprintf(v->why, sizeof v->why, "get: wrong");
        break;
    case 1: st = sx_range(v->s->ix, &ranges, &first, NULL, NULL, NULL); break;
    case 2: st = sx_save(v->s->ix, v->path, NULL); break;
    case 3: case 4:
        st = sx_load(&v->made, v->s->on->dev, v->path, (unsigned)rnd_below(&v->r, 4), NULL);
        break;
    case 5: st = data_build(d, v->s->on->dev, v->s->spec, NULL, &v->made); break;
    default:
        st = sx_open(&v->opened, v->s->on->name);
        if (st == SX_OK)          /* its pool starts */
            st = data_build(d, v->opened, v->s->spec, NULL, &v->made);
        break;
    }
    if (st != SX_OK)
        snprintf(v->why, sizeof v->why, "status %d: %s", (int)st, sx_detail());
    sx_index *ix = v->made;
    v->made = NULL;
    sx_free(ix);
    sx_device *dev = v->opened;
    v->opened = NULL;
    sx_close(dev);
}

static void *be_victim(void *arg)
{
    victim *v = arg;
    while (!v->why[0]) {
        pthread_testcancel();
        atomic_fetch_add(&v->begun, 1);
        verb(v);
    }
    return NULL;
}

const char *job_cancel(worker *w)
{
    subject s;
    char *path = worker_path(w, "cancelled");
    const char *wrong = subject_make(w, &s, pick_device(w, false), 20000);
    for (unsigned turn = 0; turn < 4 && !wrong; turn++) {
        victim v = { .s = &s, .path = path, .r = rnd_start(rnd_next(&w->r)),
                     .numbers = need(s.d->queries * 8), .first = need((s.d->ranges + 1) * 8) };
        pthread_t thread;
        if (sx_save(s.ix, path, NULL) != SX_OK)
            wrong = complain(w, "save: %s", sx_detail());
        if (pthread_create(&thread, NULL, be_victim, &v))
            die("no thread");
        while (!atomic_load(&v.begun))
            usleep(50);
        usleep((useconds_t)rnd_below(&w->r, 3000));
        pthread_cancel(thread);
        void *end;
        pthread_join(thread, &end);
        w->cancelled += end == PTHREAD_CANCELED;
        if (v.why[0] && !wrong)
            wrong = complain(w, "before it was cancelled: %s", v.why);
        sx_index *ix = NULL;
        if (!wrong && sx_load(&ix, s.on->dev, path, SX_LOAD_VERIFY, NULL) != SX_OK)
            wrong = complain(w, "load: %s", sx_detail());
        sx_free(ix);
        sx_free(v.made);
        sx_close(v.opened);
        free(v.numbers);
        free(v.first);
    }
    if (!wrong)
        wrong = subject_ask(w, &s, s.ix, s.on);
    subject_free(&s);
    free(path);
    return wrong;
}

/* ---- failing allocations -------------------------------------------------------------- */

/* The kind of attempt. The caller frees *made. Outputs begin as GUARD_FILL. */
enum { TRY_BUILD, TRY_SAVE, TRY_LOAD, TRY_GET, TRY_RANGE, TRIES };

static sx_status attempt(int what, const subject *s, const char *path, sx_index **made,
                         uint64_t *out, uint64_t *first)
{
    const dataset *d = s->d;
    sx_column q = column(d->type, d->queries, d->q.data);
    sx_column lo = column(d->type, d->ranges, d->lo.data);
    sx_column hi = column(d->type, d->ranges, d->hi.data);
    sx_column numbers = column(SX_U64, d->queries, out);
    sx_column offsets = column(SX_U64, d->ranges + 1, first);
    sx_ranges ranges = { .size = sizeof ranges, .lo = &lo, .hi = &hi };
    switch (what) {
    case TRY_BUILD: return data_build(d, s->on->dev, s->spec, NULL, made);
    case TRY_SAVE: return sx_save(s->ix, path, NULL);
    case TRY_LOAD: return sx_load(made, s->on->dev, path, SX_LOAD_COPY, NULL);
    case TRY_GET: return sx_get(s->ix, &q, &numbers, NULL);
    default: return sx_range(s->ix, &ranges, &offsets, NULL, NULL, NULL);
    }
}

static bool is_fill(const uint64_t *p, uint64_t n)
{
    const unsigned char *b = (const unsigned char *)p;
    for (uint64_t i = 0; i < n * 8; i++)
        if (b[i] != GUARD_FILL)
            return false;
    return true;
}

/* One attempt; returns what is wrong with its results. */
static const char *try_once(int what, const subject *s, const char *path, bool *failed)
{
    const dataset *d = s->d;
    uint64_t *out = need(d->queries * 8), *first = need((d->ranges + 1) * 8), sum = 0;
    sx_index *made = NULL;
    const char *wrong = NULL;
    memset(out, GUARD_FILL, d->queries * 8);
    memset(first, GUARD_FILL, (d->ranges + 1) * 8);
    sx_status st = attempt(what, s, path, &made, out, first);
    *failed = st != SX_OK;
    if (st != SX_OK && st != SX_ENOMEM)
        wrong = sx_detail();
    else if (st != SX_OK && (made || !is_fill(out, d->queries) || !is_fill(first, d->ranges + 1)))
        wrong = "it failed, and wrote outputs";
    if (st == SX_OK && what == TRY_GET && memcmp(out, d->get, d->queries * 8) != 0)
        wrong = "get: wrong answers";
    for (uint64_t i = 0; st == SX_OK && what == TRY_RANGE && i <= d->ranges; i++) {
        if (first[i] != sum)
            wrong = "range: wrong offsets";
        sum += i < d->ranges ? d->spans[0][i].count : 0;
    }
    sx_free(made);
    free(out);
    free(first);
    return wrong;
}

/* Each allocation of a call fails once. */
const char *job_fail(worker *w)
{
    static const char *const names[TRIES] = { "build", "save", "load", "get", "range" };
    const soak_device *on = pick_device(w, false);
    subject s;
    char *path = worker_path(w, "failing");
    const char *wrong = subject_make(w, &s, on->gpu ? pick_device(w, true) : on, 20000);
    if (!wrong && sx_save(s.ix, path, NULL) != SX_OK)
        wrong = complain(w, "save: %s", sx_detail());
    for (int what = 0; what < TRIES && !wrong; what++) {
        unsigned well = 0;
        for (long nth = 1; well < 3 && nth < 200 && !wrong; nth++) {
            uint64_t live = sx_alloc_live();
            bool failed;
            sx_alloc_fail_at(nth);
            const char *why = try_once(what, &s, path, &failed);
            sx_alloc_fail_at(0);
            w->no_memory += failed;
            well = failed ? 0 : well + 1;
            if (why)
                wrong = complain(w, "%s, allocation %ld: %s", names[what], nth, why);
            else if (!s.on->kernels && sx_alloc_live() != live)   /* kernels keep memory */
                wrong = complain(w, "%s, allocation %ld: %lld bytes leaked", names[what], nth,
                                 (long long)(sx_alloc_live() - live));
        }
    }
    if (!wrong)
        wrong = subject_ask(w, &s, s.ix, s.on);
    subject_free(&s);
    free(path);
    return wrong;
}

#define STORM_THREADS 3u

typedef struct {
    const subject *s;
    const char *path;
    rnd r;
    atomic_int *stop;
    uint64_t failures;
    char why[300];
} sailor;

static void *sail(void *arg)
{
    sailor *a = arg;
    while (!atomic_load(a->stop) && !a->why[0]) {
        bool failed;
        const char *why = try_once((int)rnd_below(&a->r, TRIES), a->s, a->path, &failed);
        a->failures += failed;
        if (why)
            snprintf(a->why, sizeof a->why, "%s", why);
    }
    return NULL;
}

/* Allocations of all threads fail now and then. */
const char *job_storm(worker *w)
{
    subject s[STORM_THREADS] = { { 0 } };
    sailor crew[STORM_THREADS] = { 0 };
    pthread_t thread[STORM_THREADS];
    atomic_int stop = 0;
    const char *wrong = NULL;
    char *path[STORM_THREADS];
    for (unsigned i = 0; i < STORM_THREADS; i++) {
        char name[20];
        const soak_device *on = pick_device(w, false);
        snprintf(name, sizeof name, "storm%u", i);
        path[i] = worker_path(w, name);
        if (!wrong)
            wrong = subject_make(w, &s[i], on->gpu ? pick_device(w, true) : on, 9000);
        if (!wrong && sx_save(s[i].ix, path[i], NULL) != SX_OK)
            wrong = complain(w, "save: %s", sx_detail());
    }
    for (unsigned i = 0; i < STORM_THREADS && !wrong; i++) {
        crew[i] = (sailor){ .s = &s[i], .path = path[i], .r = rnd_start(rnd_next(&w->r)),
                            .stop = &stop };
        if (pthread_create(&thread[i], NULL, sail, &crew[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < 60 && !wrong; i++) {
        sx_alloc_fail_at(1 + (long)rnd_below(&w->r, 12));
        usleep((useconds_t)rnd_below(&w->r, 1500));
    }
    bool started = !wrong;
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < STORM_THREADS && started; i++) {
        pthread_join(thread[i], NULL);
        w->no_memory += crew[i].failures;
        if (crew[i].why[0] && !wrong)
            wrong = complain(w, "%s", crew[i].why);
    }
    sx_alloc_fail_at(0);
    for (unsigned i = 0; i < STORM_THREADS; i++) {
        if (!wrong)
            wrong = subject_ask(w, &s[i], s[i].ix, s[i].on);
        subject_free(&s[i]);
        free(path[i]);
    }
    return wrong;
}
