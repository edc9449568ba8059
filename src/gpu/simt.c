/* simt.c - GPU threads as fibers. See simt.h.
 *
 * The scheduler is an ordinary function on the caller's stack. It resumes
 * every thread that can run, in the chosen order, until each is done or
 * waits. A warp operation completes when every lane its mask names has
 * arrived at the same one; a barrier, when every thread that is left has. */
#define _GNU_SOURCE
#include "gpu/simt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#define WITH_UCONTEXT 1
#endif

#define STACK_BYTES (64u << 10)
#define GUARD_BYTES 4096u
#define THREADS_MAX 1024u

typedef enum { READY, AT_BARRIER, IN_WARP, DONE } fiber_state;
typedef enum { OP_SHUFFLE_XOR, OP_BALLOT } warp_op;

typedef struct {
    fiber_state state;
    const char *file;             /* where it waits */
    int line;
    warp_op op;
    unsigned mask, lanes;
    uint64_t value, result;
    unsigned char *stack;
    void *fake;                   /* AddressSanitizer's, while switched away */
#ifdef WITH_UCONTEXT
    ucontext_t context;
#else
    void *sp;
#endif
} fiber;

simt_place simt_self;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static fiber *fibers;             /* THREADS_MAX of them, made once */
static unsigned current, threads;
static void (*kernel)(const void *);
static const void *kernel_args;
static char fault[256];
static simt_order order;
static uint64_t order_seed;
#ifdef WITH_UCONTEXT
static ucontext_t scheduler;
#else
static void *scheduler_sp;
#endif
#ifdef WITH_ASAN
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_stack_bytes;
#endif

const char *simt_fault(void)
{
    return fault;
}

void simt_set_order(simt_order new_order, uint64_t seed)
{
    pthread_mutex_lock(&one_launch);
    order = new_order;
    order_seed = seed;
    pthread_mutex_unlock(&one_launch);
}

/* The first fault of a launch is kept: what follows is often its echo. */
static void report(const char *file, int line, unsigned thread, const char *what)
{
    if (!fault[0])
        snprintf(fault, sizeof fault, "%s:%d: thread %u of block %u %s", file, line, thread,
                 simt_self.block, what);
}

/* ---- switching stacks ---------------------------------------------------- */

#ifndef WITH_UCONTEXT
/* Saves what a called function must keep, swaps stacks, takes it back. */
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

static void to_scheduler(int for_good)
{
    fiber *f = &fibers[current];

#ifdef WITH_ASAN
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
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(f->fake, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

static void fiber_main(void)
{
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_stack_bytes);
#endif
    kernel(kernel_args);
    fibers[current].state = DONE;
    to_scheduler(1);
    abort();                      /* nobody resumes a thread that is done */
}

static void prepare(fiber *f)
{
#ifdef WITH_ASAN
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
    fiber *f = &fibers[i];

    current = i;
    simt_self.thread = i;
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK_BYTES);
#endif
#ifdef WITH_UCONTEXT
    swapcontext(&scheduler, &f->context);
#else
    simt_switch(&scheduler_sp, f->sp);
#endif
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

/* ---- what kernels call ------------------------------------------------------ */

void simt_barrier(const char *file, int line)
{
    fiber *f = &fibers[current];

    f->state = AT_BARRIER;
    f->file = file;
    f->line = line;
    to_scheduler(0);
}

/* Every lane of the mask waits at the operation that lane `me` waits at. */
static int warp_complete(unsigned first, const fiber *me)
{
    for (unsigned l = 0; l < 32; l++) {
        if (!(me->mask >> l & 1))
            continue;
        if (first + l >= threads)
            return 0;
        const fiber *f = &fibers[first + l];
        if (f->state != IN_WARP || f->mask != me->mask || f->op != me->op || f->line != me->line)
            return 0;
    }
    return 1;
}

static void finish_warp(unsigned first, const fiber *me)
{
    unsigned mask = me->mask, ballot = 0;

    for (unsigned l = 0; l < 32; l++)
        if ((mask >> l & 1) && fibers[first + l].value)
            ballot |= 1u << l;
    for (unsigned l = 0; l < 32; l++) {
        fiber *f = &fibers[first + l];
        if (!(mask >> l & 1))
            continue;
        unsigned from = (l ^ f->lanes) & 31;
        if (f->op == OP_BALLOT) {
            f->result = ballot;
        } else if (mask >> from & 1) {
            f->result = fibers[first + from].value;
        } else {
            report(f->file, f->line, first + l, "shuffles from a lane that its mask leaves out");
            f->result = 0;
        }
        f->state = READY;
    }
}

static uint64_t warp(warp_op op, unsigned mask, uint64_t v, unsigned lanes, const char *file,
                     int line)
{
    fiber *f = &fibers[current];

    if (!(mask >> (current & 31) & 1)) {
        report(file, line, current, "calls a warp operation whose mask leaves it out");
        return 0;
    }
    f->op = op;
    f->mask = mask;
    f->lanes = lanes;
    f->value = v;
    f->file = file;
    f->line = line;
    f->state = IN_WARP;
    if (warp_complete(current & ~31u, f))
        finish_warp(current & ~31u, f);
    else
        to_scheduler(0);
    return f->result;
}

uint64_t simt_shuffle_xor(unsigned mask, uint64_t v, unsigned lanes, const char *file, int line)
{
    return warp(OP_SHUFFLE_XOR, mask, v, lanes, file, line);
}

unsigned simt_ballot(unsigned mask, int v, const char *file, int line)
{
    return (unsigned)warp(OP_BALLOT, mask, v != 0, 0, file, line);
}

unsigned long long simt_atomic_min(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = *p;

    *p = v < old ? v : old;
    return old;
}

unsigned long long simt_atomic_max(unsigned long long *p, unsigned long long v)
{
    unsigned long long old = *p;

    *p = v > old ? v : old;
    return old;
}

void simt_expect_aligned(const void *p, size_t bytes, const char *file, int line)
{
    if ((uintptr_t)p % bytes)
        report(file, line, current, "loads a vector from a misaligned address");
}

/* ---- launching ---------------------------------------------------------------- */

static int make_fibers(void)
{
    size_t each = STACK_BYTES + GUARD_BYTES;
    unsigned char *stacks;

    if (fibers)
        return 0;
    stacks = mmap(NULL, THREADS_MAX * each, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        return -1;
    fibers = calloc(THREADS_MAX, sizeof *fibers);
    if (!fibers) {
        munmap(stacks, THREADS_MAX * each);
        return -1;
    }
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        mprotect(stacks + i * each, GUARD_BYTES, PROT_NONE);
        fibers[i].stack = stacks + i * each + GUARD_BYTES;
    }
    return 0;
}

static void deal_turns(unsigned *turn)
{
    uint64_t x = order_seed * 0x9e3779b97f4a7c15u + simt_self.block + 1;

    for (unsigned i = 0; i < threads; i++)
        turn[i] = order == SIMT_REVERSED ? threads - 1 - i : i;
    for (unsigned i = threads; order == SIMT_SHUFFLED && i > 1; i--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        unsigned j = (unsigned)(x % i), t = turn[i - 1];
        turn[i - 1] = turn[j];
        turn[j] = t;
    }
}

/* All threads that are left wait: at one barrier, or for ever. */
static int release_barrier(void)
{
    const fiber *first = NULL;

    for (unsigned i = 0; i < threads; i++) {
        fiber *f = &fibers[i];
        if (f->state == DONE)
            continue;
        if (f->state == IN_WARP) {
            report(f->file, f->line, i, "waits in a warp operation that other lanes never reach");
            return -1;
        }
        if (first && (f->line != first->line || f->file != first->file)) {
            report(f->file, f->line, i, "waits at another barrier than the rest of its block");
            return -1;
        }
        first = f;
    }
    for (unsigned i = 0; i < threads; i++)
        if (fibers[i].state == AT_BARRIER)
            fibers[i].state = READY;
    return 0;
}

static void run_block(void)
{
    unsigned turn[THREADS_MAX], left = threads;

    deal_turns(turn);
    for (unsigned i = 0; i < threads; i++)
        prepare(&fibers[i]);
    while (left > 0 && !fault[0]) {
        int ran = 0;
        for (unsigned i = 0; i < threads && !fault[0]; i++) {
            fiber *f = &fibers[turn[i]];
            if (f->state != READY)
                continue;
            resume(turn[i]);
            ran = 1;
            left -= f->state == DONE;
        }
        if (!ran && release_barrier() < 0)
            return;
    }
}

int simt_launch(void (*fn)(const void *), const void *args, unsigned blocks, unsigned block_threads)
{
    int failed = -1;

    pthread_mutex_lock(&one_launch);
    fault[0] = '\0';
    if (block_threads < 1 || block_threads > THREADS_MAX) {
        snprintf(fault, sizeof fault, "a block of %u threads; allowed: 1 to %u", block_threads,
                 THREADS_MAX);
    } else if (make_fibers() < 0) {
        snprintf(fault, sizeof fault, "no memory for the stacks of %u threads", THREADS_MAX);
    } else {
        kernel = fn;
        kernel_args = args;
        threads = block_threads;
        for (unsigned b = 0; b < blocks && !fault[0]; b++) {
            simt_self = (simt_place){0, b, block_threads, blocks};
            run_block();
        }
        failed = fault[0] ? -1 : 0;
    }
    pthread_mutex_unlock(&one_launch);
    return failed;
}
