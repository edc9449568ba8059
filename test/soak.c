/* soak.c - everything at once, for a while: nothing is wrong, and nothing is left.
 *
 * Threads take random jobs (soak.h) on all devices there are. Each answer is compared
 * with the sorted array's. After a warm-up, and in the end, all is closed. Then the
 * library has no byte allocated, and the process has as much memory and as many
 * descriptors and threads as after the warm-up. SOAK_S says for how many seconds (60),
 * SOAK_THREADS with how many threads (4), SX_SEED from which seed. A job depends on
 * seed, thread and its number alone, but the system decides what happens at the same
 * time. SX_TEST_GPU (cuda:0) adds a GPU, SOAK_ONLY ("cancel") names the only jobs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "soak.h"

#define THREADS_MOST 16u
#define FAILURES_MOST 10u         /* then the soak ends */
#define HANG_SECONDS 300u         /* beyond its time */

/* How much more there may be in the end than after the warm-up. The heap has buffers of
 * stdio and memory that libc keeps per thread; a leak in any job would be more, as there
 * are thousands. Resident memory has freed pages that the heap can't give back, because a
 * block behind them is in use, and stacks of threads that libc keeps for the next. Both
 * are bounded by what was in use at a time, not by how long it ran. With a GPU its
 * driver's tables are in the heap, too, and its pinned memory is resident: in three
 * minutes of 30,000 builds they grew by 0.4 and 66 MB, where an event lost per build would
 * be 3 MB. */
#define HEAP_SPACE (64u << 10)
#define RESIDENT_SPACE (48u << 20)
#define GPU_HEAP_SPACE (1u << 20)
#define GPU_RESIDENT_SPACE (128u << 20)

const struct job jobs[JOB_KINDS] = {
    [JOB_ASK] = { "ask", job_ask, 30, false },
    [JOB_SHARED] = { "shared", job_shared, 40, false },
    [JOB_FILE] = { "file", job_file, 15, false },
    [JOB_LOOK] = { "look", job_look, 5, false },
    [JOB_COLLECT] = { "collect", job_collect, 5, false },
    [JOB_COME_AND_GO] = { "come and go", job_come_and_go, 5, false },
    [JOB_FORK] = { "fork", job_fork, 6, false },
    [JOB_KILL] = { "kill", job_kill, 6, false },
    [JOB_CANCEL] = { "cancel", job_cancel, 6, false },
    [JOB_FAIL] = { "fail", job_fail, 2, true },
    [JOB_STORM] = { "storm", job_storm, 1, true },
};

soak_device devices[DEVICES_MOST];
unsigned device_count;

static worker workers[THREADS_MOST];
static unsigned worker_count = 4;
static atomic_uint failures;
static time_t end_time;
static const char *only;          /* jobs of this name */
static uint64_t round_of_jobs;    /* each phase has jobs of its own */

/* A job that is to be alone waits until all others have ended. Jobs that come meanwhile
 * wait at the door, so that it does not wait for ever. */
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

void doing(worker *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->doing, sizeof w->doing, format, args);
    va_end(args);
}

const char *complain(worker *w, const char *format, ...)
{
    va_list args;
    char text[400];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(w->why, sizeof w->why, "%.390s: %s", w->doing, text);
    return w->why;
}

/* ---- devices ------------------------------------------------------------------ */

static void open_one(const char *name, bool kernels, bool gpu)
{
    soak_device *on = &devices[device_count];
    *on = (soak_device){ .kernels = kernels, .gpu = gpu };
    snprintf(on->name, sizeof on->name, "%s", name);
    sx_status st = sx_open(&on->dev, name);
    if (st == SX_OK)
        device_count++;
    else if (st != SX_ENODEV || gpu)      /* instructions that this processor lacks */
        die("opening %s: %s", name, sx_detail());
}

static void open_devices(void)
{
    const char *gpu = getenv("SX_TEST_GPU");
    char with[160];
    device_count = 0;
    open_one("cpu:scalar,threads=1", false, false);
    open_one("cpu:avx2,threads=2", false, false);
    open_one("cpu:avx512,threads=3", false, false);
    open_one("cpu", false, false);
    if (!WATCHED_THREADS) {
        open_one("simt", true, false);
        open_one("simt,bucket=40,side=gpu", true, false);
    }
    if (gpu && *gpu) {
        open_one(gpu, true, true);
        snprintf(with, sizeof with, "%s,bucket=64,side=gpu", gpu);
        open_one(with, true, true);
    }
}

static void close_devices(void)
{
    for (unsigned i = 0; i < device_count; i++)
        sx_close(devices[i].dev);
    device_count = 0;
}

/* ---- workers ------------------------------------------------------------------- */

static unsigned weight(unsigned kind)
{
    return WATCHED_THREADS && (kind == JOB_FORK || kind == JOB_KILL) ? 0 : jobs[kind].weight;
}

static job_kind pick_job(rnd *r)
{
    unsigned all = 0, kind = 0;
    for (unsigned i = 0; only && i < JOB_KINDS; i++)
        if (strcmp(only, jobs[i].name) == 0)
            return (job_kind)i;
    for (unsigned i = 0; i < JOB_KINDS; i++)
        all += weight(i);
    for (uint64_t at = rnd_below(r, all); at >= weight(kind); kind++)
        at -= weight(kind);
    return (job_kind)kind;
}

static void *work(void *arg)
{
    worker *w = arg;
    uint64_t seed = test_seed() + round_of_jobs * 1000003 + w->number * 7919;
    w->asking = asker_new();
    for (uint64_t i = 0; time(NULL) < end_time && atomic_load(&failures) < FAILURES_MOST; i++) {
        w->r = rnd_start(seed + i * 104729);
        w->asking->r = rnd_start(seed + i);
        w->asking->turn = (unsigned)i;
        job_kind kind = pick_job(&w->r);
        pthread_mutex_lock(&door);
        if (jobs[kind].alone)
            pthread_rwlock_wrlock(&gate);
        else
            pthread_rwlock_rdlock(&gate);
        pthread_mutex_unlock(&door);
        doing(w, "%s", jobs[kind].name);
        const char *wrong = jobs[kind].fn(w);
        pthread_rwlock_unlock(&gate);
        w->done[kind]++;
        if (wrong) {
            atomic_fetch_add(&failures, 1);
            printf("FAILED: phase %" PRIu64 ", thread %u, job %" PRIu64 ", %s: %s\n", round_of_jobs,
                   w->number, i, jobs[kind].name, wrong);
            fflush(stdout);
        }
        doing(w, "nothing");
    }
    asker_free(w->asking);
    return NULL;
}

static void hung(int signal_number)
{
    static const char text[] = "\nhung; threads were doing:\n";
    (void)signal_number;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    for (unsigned i = 0; i < worker_count; i++) {
        (void)!write(STDOUT_FILENO, workers[i].doing, strlen(workers[i].doing));
        (void)!write(STDOUT_FILENO, "\n", 1);
    }
    _exit(1);
}

static void run_for(unsigned seconds)
{
    round_of_jobs++;
    open_devices();
    signal(SIGALRM, hung);
    alarm(seconds + HANG_SECONDS);
    end_time = time(NULL) + (time_t)seconds;
    for (unsigned i = 0; i < worker_count; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < worker_count; i++)
        pthread_join(workers[i].thread, NULL);
    alarm(0);
    shared_free();
    close_devices();
}

/* ---- what must not grow ------------------------------------------------------------- */

/* A sanitizer's heap keeps blocks that are freed. */
#define OWN_HEAP (!UNDER_ASAN && !UNDER_TSAN)

typedef struct {
    uint64_t library, heap, resident, descriptors, threads;
} state;

static uint64_t entries(const char *folder)
{
    uint64_t n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static state look(void)
{
    state s = { .library = sx_alloc_live(), .descriptors = entries("/proc/self/fd"),
                .threads = entries("/proc/self/task") };
    unsigned long size, resident = 0;
#ifdef __GLIBC__
    malloc_trim(0);
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    s.heap = m.uordblks + m.hblkhd;
#endif
#endif
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        die("/proc/self/statm");
    fclose(f);
    s.resident = resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return s;
}

static unsigned flat(const char *what, uint64_t before, uint64_t after, uint64_t space)
{
    bool good = after <= before + space;
    printf("%-12s %12" PRIu64 " after the warm-up, %12" PRIu64 " in the end%s\n", what, before, after,
           good ? "" : ": FAILED");
    return !good;
}

int main(void)
{
    const char *told = getenv("SOAK_S"), *threads = getenv("SOAK_THREADS");
    unsigned seconds = told && *told ? (unsigned)atoi(told) : 60, warm, failed = 0;
    uint64_t total = 0, sums[6] = { 0 };
    state before, after;
    test_seed();                  /* prints it */
    if (WATCHED_THREADS)
        puts("ThreadSanitizer: no children, and no emulator");
    only = getenv("SOAK_ONLY");
    for (unsigned i = 0; only && strcmp(only, jobs[i].name) != 0; i++)
        if (i + 1 == JOB_KINDS)
            die("SOAK_ONLY is '%s', which is no job", only);
    if (threads && *threads)
        worker_count = (unsigned)atoi(threads);
    if (seconds < 2 || worker_count < 1 || worker_count > THREADS_MOST)
        die("SOAK_S is %u, at least 2; SOAK_THREADS is %u, 1 to %u", seconds, worker_count,
            THREADS_MOST);
    free(temp_path("first"));     /* makes the folder, before there are threads */
    warm = seconds / 5 < 30 ? seconds / 5 + 1 : 30;
    run_for(warm);
    before = look();
    if (atomic_load(&failures) < FAILURES_MOST)
        run_for(seconds - warm);
    after = look();
    for (unsigned i = 0; i < worker_count; i++) {
        const worker *w = &workers[i];
        uint64_t each[] = { w->builds, w->questions, w->no_memory, w->old_files, w->new_files,
                            w->cancelled };
        for (size_t j = 0; j < COUNT_OF(each); j++)
            sums[j] += each[j];
    }
    for (unsigned k = 0; k < JOB_KINDS; k++) {
        uint64_t n = 0;
        for (unsigned i = 0; i < worker_count; i++)
            n += workers[i].done[k];
        printf("%-12s %8" PRIu64 "\n", jobs[k].name, n);
        total += n;
    }
    printf("%" PRIu64 " builds, %" PRIu64 " sets of questions, %" PRIu64 " calls without memory, files "
           "of killed children: %" PRIu64 " old and %" PRIu64 " new, %" PRIu64 " threads cancelled\n",
           sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]);
    failed += flat("library", 0, after.library, 0);
    failed += flat("descriptors", before.descriptors, after.descriptors, 0);
    failed += flat("threads", before.threads, after.threads, 0);
    if (OWN_HEAP) {
        bool gpu = kernel_is_gpu();
        failed += flat("heap", before.heap, after.heap, gpu ? GPU_HEAP_SPACE : HEAP_SPACE);
        failed += flat("resident", before.resident, after.resident,
                       gpu ? GPU_RESIDENT_SPACE : RESIDENT_SPACE);
    }
    total += OWN_HEAP ? 5 : 3;
    failed += atomic_load(&failures);
    printf("%" PRIu64 " passed, %u failed\n", total - failed, failed);
    return failed != 0;
}
