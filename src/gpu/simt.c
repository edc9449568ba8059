/* simt.c - GPU threads as fibers. See simt.h.
 *
 * The scheduler is an ordinary function on the caller's stack. It resumes
 * every thread that can run, in the chosen order, until each is done or
 * waits. A warp operation completes when every lane its mask names has
 * arrived at the same one; a barrier, when every thread that is left has;
 * the sort of a block, when every thread has. */
#define _GNU_SOURCE
#include "gpu/simt_fiber.h"

#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef SIMT_WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (64u << 10)
#define ZONE_BYTES 4096u          /* before and after shared memory; nobody's */
#define SHARED_SPACE (ZONE_BYTES + SIMT_SHARED_MAX + ZONE_BYTES)

simt_place simt_self;

fiber simt_fibers[SIMT_THREADS_MAX];
void *simt_sort_space;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static void (*kernel)(const void *);
static const void *kernel_args;
static unsigned char *shared_space, *no_space;      /* no_space: a page that traps */
static size_t shared_bytes;
static uint64_t random_state;
#ifdef WITH_UCONTEXT
static ucontext_t scheduler;
#else
static void *scheduler_sp;
#endif
#ifdef SIMT_WITH_ASAN
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_stack_bytes;
#endif

/* These belong to the thread that launches, as its kernels run in it. */
static _Thread_local char fault[256];
static _Thread_local int fault_seen, fault_is_memory;
static _Thread_local simt_order order;
static _Thread_local uint64_t order_seed;

/* The child has no launch of another thread, so its lock is free. */
static void in_child(void *object)
{
    (void)object;
    pthread_mutex_init(&one_launch, NULL);
}

__attribute__((constructor)) static void watch_fork(void)
{
    static sx_forked forked;

    sx_fork_join(&forked, in_child, NULL);
}

static void forget_fault(void)
{
    fault[0] = '\0';
    fault_is_memory = 0;
}

const char *simt_fault(void)
{
    fault_seen = 1;
    return fault;
}

simt_end simt_take_fault(char *text, size_t space)
{
    simt_end end = !fault[0] ? SIMT_FINE : fault_is_memory ? SIMT_NO_MEMORY : SIMT_FAULT;

    snprintf(text, space, "%s", fault);
    forget_fault();
    return end;
}

void simt_set_order(simt_order new_order, uint64_t seed)
{
    order = new_order;
    order_seed = seed;
}

void simt_report(const char *file, int line, unsigned thread, const char *what)
{
    if (!fault[0])
        snprintf(fault, sizeof fault, "%s:%d: thread %u of block %u %s", file, line, thread,
                 simt_self.block, what);
}

unsigned simt_dice(unsigned n)
{
    if (order != SIMT_SHUFFLED)
        return n - 1;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % n);
}

/* ---- switching stacks ---------------------------------------------------- */

#ifndef WITH_UCONTEXT
/* Saves the registers that a called function must keep, swaps stacks, takes them back. */
void simt_switch(void **save, void *to);
__asm__(".text\n"
        ".globl simt_switch\n"
        ".hidden simt_switch\n"
        ".type simt_switch, @function\n"
        "simt_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size simt_switch, . - simt_switch\n");
#endif

/* ThreadSanitizer counts calls and returns of each thread of the host. A fiber that is done
 * never returns from these two, so they are not counted. Otherwise a thread that runs many
 * kernels would seem to be ever deeper in calls. */
#ifdef __SANITIZE_THREAD__
#define NOT_COUNTED __attribute__((no_sanitize_thread, noinline))
#else
#define NOT_COUNTED
#endif

NOT_COUNTED static void to_scheduler(int for_good)
{
    fiber *f = &simt_fibers[simt_self.thread];

#ifdef SIMT_WITH_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &f->fake, scheduler_stack,
                                   scheduler_stack_bytes);
#else
    (void)for_good;
#endif
#ifdef WITH_UCONTEXT
    swapcontext(&f->context, &scheduler);
#else
    simt_switch(&f->sp, scheduler_sp);
#endif
#ifdef SIMT_WITH_ASAN
    __sanitizer_finish_switch_fiber(f->fake, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

NOT_COUNTED static void fiber_main(void)
{
#ifdef SIMT_WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_stack_bytes);
#endif
    kernel(kernel_args);
    simt_fibers[simt_self.thread].state = DONE;
    to_scheduler(1);
    abort();                      /* nobody resumes a thread that is done */
}

static void prepare(fiber *f)
{
#ifdef SIMT_WITH_ASAN
    __asan_unpoison_memory_region(f->stack, STACK_BYTES);
#endif
#ifdef WITH_UCONTEXT
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
#else
    /* As simt_switch() leaves a stack: six registers, then the return
     * address; the word above keeps the alignment of a called function. */
    void **sp = (void **)(void *)(f->stack + STACK_BYTES);
    *--sp = NULL;
    *--sp = (void *)fiber_main;
    sp -= 6;
    memset(sp, 0, 6 * sizeof *sp);
    f->sp = sp;
#endif
    f->fake = NULL;
    f->state = READY;
}

static void resume(unsigned i)
{
    fiber *f = &simt_fibers[i];

    simt_self.thread = i;
#ifdef SIMT_WITH_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK_BYTES);
#endif
#ifdef WITH_UCONTEXT
    swapcontext(&scheduler, &f->context);
#else
    simt_switch(&scheduler_sp, f->sp);
#endif
#ifdef SIMT_WITH_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

/* ---- waiting ---------------------------------------------------------------- */

void simt_wait(fiber_state state, const char *file, int line)
{
    fiber *f = &simt_fibers[simt_self.thread];

    f->state = state;
    f->file = file;
    f->line = line;
    to_scheduler(0);
}

void simt_stop(const char *file, int line, const char *what)
{
    simt_report(file, line, simt_self.thread, what);
    to_scheduler(1);
    abort();                      /* after a fault nobody is resumed */
}

void simt_barrier(const char *file, int line)
{
    simt_wait(AT_BARRIER, file, line);
}

/* ---- shared memory ------------------------------------------------------------ */

/* Shared memory lies between two zones. AddressSanitizer stops whoever touches them, or what
 * is behind them. Without it they hold a pattern, and writes there are found later. */
static void begin_shared(void)
{
    simt_self.shared = shared_bytes > 0 ? shared_space + ZONE_BYTES : no_space;
#ifdef SIMT_WITH_ASAN
    __asan_unpoison_memory_region(shared_space, SHARED_SPACE);
    __asan_poison_memory_region(shared_space, ZONE_BYTES);
    __asan_poison_memory_region(shared_space + ZONE_BYTES + shared_bytes,
                                SHARED_SPACE - ZONE_BYTES - shared_bytes);
#endif
}

#ifndef SIMT_WITH_ASAN
static unsigned char zone_byte(size_t i)
{
    return (unsigned char)(i * 37 + 91);
}
#endif

/* Shared memory is never zero by itself. */
static void fill_shared(void)
{
    if (shared_bytes == 0)
        return;
    memset(simt_self.shared, 0xa5, shared_bytes);
#ifndef SIMT_WITH_ASAN
    for (size_t i = 0; i < ZONE_BYTES; i++) {
        shared_space[i] = zone_byte(i);
        simt_self.shared[shared_bytes + i] = zone_byte(i);
    }
#endif
}

/* At a barrier; or, if file is NULL, at the end of the block. */
static void check_shared(const char *file, int line)
{
#ifdef SIMT_WITH_ASAN
    (void)file;
    (void)line;
#else
    char place[128] = "at its end";

    for (size_t i = 0; shared_bytes > 0 && i < ZONE_BYTES; i++) {
        int before = shared_space[i] != zone_byte(i);
        if (!before && simt_self.shared[shared_bytes + i] == zone_byte(i))
            continue;
        if (file)
            snprintf(place, sizeof place, "at the barrier %s:%d", file, line);
        if (!fault[0])
            snprintf(fault, sizeof fault, "block %u has written shared memory outside its %zu "
                     "bytes, at byte %td; found %s", simt_self.block, shared_bytes,
                     before ? (ptrdiff_t)i - (ptrdiff_t)ZONE_BYTES : (ptrdiff_t)(shared_bytes + i),
                     place);
        return;
    }
#endif
}

/* ---- launching ---------------------------------------------------------------- */

/* Takes all memory that launches need, once and for ever. So only the first launch of a
 * process can find that there is none, before anything has been written. */
static int make_space(void)
{
    static _Atomic int made;      /* set last: a child that was forked meanwhile makes its own */
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);     /* a page, of 64 KiB at most */
    size_t each = STACK_BYTES + guard, stacks = SIMT_THREADS_MAX * each;
    size_t bytes = stacks + SHARED_SPACE + SIMT_SORT_BYTES;
    unsigned char *space;
    int guarded = 1;

    if (atomic_load(&made))
        return 0;
    space = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (space == MAP_FAILED)
        return -1;
    for (unsigned i = 0; i < SIMT_THREADS_MAX && guarded; i++) {
        guarded = mprotect(space + i * each, guard, PROT_NONE) == 0;
        simt_fibers[i].stack = space + i * each + guard;
    }
    if (!guarded) {
        munmap(space, bytes);
        return -1;
    }
    no_space = space;               /* the first stack's guard */
    shared_space = space + stacks;
    simt_sort_space = shared_space + SHARED_SPACE;
    atomic_store(&made, 1);
    return 0;
}

static void deal_turns(unsigned *turn)
{
    unsigned threads = simt_self.block_threads;

    random_state = (order_seed * 0x9e3779b97f4a7c15u + simt_self.block) * 0xd1342543de82ef95u | 1;
    for (unsigned i = 0; i < threads; i++)
        turn[i] = order == SIMT_REVERSED ? threads - 1 - i : i;
    for (unsigned i = threads; order == SIMT_SHUFFLED && i > 1; i--) {
        unsigned j = simt_dice(i), t = turn[i - 1];
        turn[i - 1] = turn[j];
        turn[j] = t;
    }
}

/* All threads that are left wait: at one barrier, in one sort, or for ever. */
static int release_barrier(void)
{
    const fiber *first = NULL;
    unsigned done = 0;

    for (unsigned i = 0; i < simt_self.block_threads; i++) {
        fiber *f = &simt_fibers[i];
        if (f->state == DONE) {
            done++;
            continue;
        }
        if (f->state == IN_WARP) {
            simt_report(f->file, f->line, i,
                        "waits in a warp operation that other lanes never reach");
            return -1;
        }
        if (first && (f->state != first->state || f->line != first->line ||
                      f->file != first->file)) {
            simt_report(f->file, f->line, i, "waits at another barrier than the rest of its block");
            return -1;
        }
        first = f;
    }
    if (first->state == IN_SORT && done > 0) {
        simt_report(first->file, first->line, (unsigned)(first - simt_fibers),
                    "waits in a sort that other threads never reach");
        return -1;
    }
    check_shared(first->file, first->line);
    if (first->state == IN_SORT && simt_sort_now() < 0)
        return -1;
    for (unsigned i = 0; i < simt_self.block_threads; i++)
        if (simt_fibers[i].state != DONE)
            simt_fibers[i].state = READY;
    return 0;
}

static void run_block(void)
{
    unsigned turn[SIMT_THREADS_MAX], threads = simt_self.block_threads, left = threads;

    deal_turns(turn);
    fill_shared();
    for (unsigned i = 0; i < threads; i++)
        prepare(&simt_fibers[i]);
    while (left > 0 && !fault[0]) {
        int ran = 0;
        for (unsigned i = 0; i < threads && !fault[0]; i++) {
            fiber *f = &simt_fibers[turn[i]];
            if (f->state != READY)
                continue;
            resume(turn[i]);
            ran = 1;
            left -= f->state == DONE;
        }
        if (!ran && release_barrier() < 0)
            return;
    }
    check_shared(NULL, 0);
}

static void run_blocks(unsigned blocks, unsigned threads)
{
    simt_self = (simt_place){.block_threads = threads, .blocks = blocks};
    if (make_space() < 0) {
        snprintf(fault, sizeof fault, "no memory for the stacks of %u threads, %u bytes each",
                 SIMT_THREADS_MAX, STACK_BYTES);
        fault_is_memory = 1;
        return;
    }
    begin_shared();
    for (unsigned b = 0; b < blocks && !fault[0]; b++) {
        simt_self.block = b;
        run_block();
    }
}

static int allowed(unsigned threads)
{
    if (threads < 32 || threads > SIMT_THREADS_MAX || threads % 32)
        snprintf(fault, sizeof fault, "a block of %u threads; allowed: multiples of 32 up to %u",
                 threads, SIMT_THREADS_MAX);
    else if (shared_bytes > SIMT_SHARED_MAX)
        snprintf(fault, sizeof fault, "a block with %zu bytes of shared memory; allowed: up to %u",
                 shared_bytes, SIMT_SHARED_MAX);
    return !fault[0];
}

int simt_launch(void (*fn)(const void *), const void *args, unsigned blocks, unsigned threads,
                size_t shared)
{
    int failed;

    pthread_mutex_lock(&one_launch);
    if (fault_seen)
        forget_fault();
    fault_seen = 0;
    kernel = fn;
    kernel_args = args;
    shared_bytes = shared;
    if (!fault[0] && allowed(threads))
        run_blocks(blocks, threads);
    failed = fault[0] ? -1 : 0;
    pthread_mutex_unlock(&one_launch);
    return failed;
}
