/* collect.c - gathers single keys of many threads into batches.
 *
 * The submitters do the work themselves. So there is no thread to start, to
 * schedule, to stop or to lose in fork(), and nothing runs that nobody waits
 * for. A batch goes this way:
 *
 *              first key            full, or time over           answered
 *     FREE  --------------->  OPEN  ------------------>  SENT  ------------>  DONE
 *       ^                      | all gave up              (no lock held)       |
 *       +----------------------+-----------------<----- the last one has left -+
 *
 * Time is over when the interval is; for an eager collector, as soon as no
 * batch of the same question is SENT.
 *
 * One lock guards everything but a SENT batch's keys and answers. It is held
 * for a few instructions at a time. While one batch is asked about, the next
 * one opens: as many are under way as there are threads to ask.
 *
 * Answers stay in the batch, and each submitter fetches its own. So nobody
 * ever writes into a submitter's memory, and giving up is leaving: the slot is
 * answered, and nobody looks at it. Invariants, whenever the lock is free:
 *
 *   1. here counts the threads that a batch concerns: those that wait for it
 *      and the one that asks. It is FREE if and only if here is 0.
 *   2. open[what] is NULL or the one OPEN batch of that question, 0 < n < batch.
 *   3. One of the waiters of an OPEN batch keeps the time, or is being woken to
 *      do so. The others sleep until the batch is DONE or their own time is
 *      over. So the end of a batch's time wakes one thread, not all.
 *   4. SENT: its keys do not change, and only the thread that asks writes its
 *      answers. DONE: nothing changes. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/fork.h"
#include "base/machine.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define BATCH_DEFAULT 1024u
#define INTERVAL_DEFAULT 50u      /* five times a GPU's round trip */
#define NEVER UINT64_MAX
#define NOBODY UINT32_MAX
#define QUESTIONS (SX_ASK_CEIL + 1)

typedef enum { FREE, OPEN, SENT, DONE } batch_state;

typedef struct batch batch;
struct batch {
    batch *link;                  /* in the list of all batches */
    batch *next;                  /* in the list of FREE batches */
    pthread_cond_t turn;          /* it is DONE, or nobody keeps its time */
    batch_state state;
    sx_ask what;
    uint32_t n;                   /* slots taken */
    uint32_t here;
    uint32_t keeper;              /* slot of who keeps the time, or NOBODY */
    uint64_t deadline;            /* when the interval is over */
    sx_status st;
    sx_err err;
    uint64_t *answers;
    sx_slice keys;                /* space for a whole batch */
    uint64_t *offsets;            /* of strings: where each key begins in `text`; or NULL */
    unsigned char *text;          /* their bytes, of which there is space for text_space */
    uint64_t text_space;
};

struct sx_collector {
    const sx_index *ix;
    int key_type;                 /* of all versions of the index */
    sx_forked forked;
    pthread_mutex_t lock;
    pthread_cond_t idle;          /* busy is 0 */
    int closing;
    unsigned busy;                /* batches that are not FREE */
    batch *all, *free;
    batch *open[QUESTIONS];
    unsigned sent[QUESTIONS];     /* batches that are SENT */
    sx_collector_info info;       /* options and counters */
};

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

/* The thread that forked is in no collector, and the child has no other thread. So all
 * its batches are free, whatever state they and the lock were in. */
static void reset(void *object)
{
    sx_collector *c = object;

    pthread_mutex_init(&c->lock, NULL);
    init_cond(&c->idle);
    c->busy = 0;
    c->free = NULL;
    memset(c->open, 0, sizeof c->open);
    memset(c->sent, 0, sizeof c->sent);
    for (batch *b = c->all; b; b = b->link) {
        init_cond(&b->turn);
        b->state = FREE;
        b->here = 0;
        b->next = c->free;
        c->free = b;
    }
}

/* ---- batches; the lock is held in all of these -------------------------------- */

static sx_status batch_new(sx_collector *c, batch **out, sx_err *err)
{
    uint64_t head = sx_round_up(sizeof(batch), SX_LINE), n = c->info.batch;
    sx_slice keys = sx_slice_fixed(NULL, sx_type_bytes(c->key_type), n, SX_HOST);
    int strings = c->key_type == SX_STR;
    void *block;
    sx_status st = sx_alloc(&block, head + n * sizeof(uint64_t) +
                                        (strings ? (n + 1) * sizeof(uint64_t)
                                                 : sx_slice_bytes(&keys, 0, n)),
                            "a batch of a collector", err);
    batch *b = block;

    if (st != SX_OK)
        return st;
    memset(b, 0, sizeof *b);
    b->answers = (uint64_t *)(void *)((unsigned char *)block + head);
    if (strings) {
        b->offsets = b->answers + n;
        b->offsets[0] = 0;
    } else {
        keys.data = b->answers + n;
    }
    b->keys = keys;
    init_cond(&b->turn);
    b->link = c->all;
    c->all = b;
    *out = b;
    return SX_OK;
}

/* The OPEN batch of a question. */
static sx_status open_batch(sx_collector *c, sx_ask what, batch **out, sx_err *err)
{
    batch *b = c->free;

    *out = c->open[what];
    if (*out)
        return SX_OK;
    if (b) {
        c->free = b->next;
    } else {
        sx_status st = batch_new(c, &b, err);
        if (st != SX_OK)
            return st;
    }
    c->busy++;
    c->open[what] = *out = b;
    b->state = OPEN;
    b->what = what;
    b->n = 0;
    b->keeper = NOBODY;
    b->deadline = sx_clock_ns() + c->info.interval_us * 1000ull;
    return SX_OK;
}

/* slot: that of the submitter that leaves; NOBODY: it has none. */
static void leave(sx_collector *c, batch *b, uint32_t slot)
{
    b->here--;
    if (b->state == OPEN && b->keeper == slot)
        b->keeper = NOBODY;
    if (b->here > 0) {
        /* A thread that was woken to keep the time, but leaves, wakes the next. */
        if (b->state == OPEN && b->keeper == NOBODY)
            pthread_cond_signal(&b->turn);
        return;
    }
    if (b->state == OPEN)
        c->open[b->what] = NULL;
    b->state = FREE;
    b->next = c->free;
    c->free = b;
    c->busy--;
    if (c->closing && c->busy == 0)
        pthread_cond_broadcast(&c->idle);
}

static sx_status ask_index(const sx_collector *c, const batch *b)
{
    sx_column q = {.type = c->key_type, .n = b->n, .data = b->keys.data};

    if (b->offsets) {
        q.data = b->text;
        q.offsets = b->offsets;
        q.offset_bytes = sizeof *b->offsets;
        q.bytes = b->offsets[b->n];
    }
    sx_column out = {.type = SX_U64, .n = b->n, .data = b->answers};

    switch (b->what) {
    case SX_ASK_GET:        return sx_get(c->ix, &q, &out, NULL);
    case SX_ASK_RANK_LEFT:  return sx_rank(c->ix, &q, SX_LEFT, &out, NULL);
    case SX_ASK_RANK_RIGHT: return sx_rank(c->ix, &q, SX_RIGHT, &out, NULL);
    case SX_ASK_FLOOR:      return sx_floor(c->ix, &q, &out, NULL, NULL);
    case SX_ASK_CEIL:       return sx_ceil(c->ix, &q, &out, NULL, NULL);
    }
    return SX_EINVAL;
}

/* From OPEN to DONE. The caller counts in b->here, so the batch stays. The lock is
 * released twice: to ask, and to wake the others, who could not go on otherwise. An
 * eager collector's next batch has waited for this one. Its time is over now, and one
 * of its submitters is woken to see that. */
static void send_batch(sx_collector *c, batch *b)
{
    sx_status st;
    batch *next;

    c->open[b->what] = NULL;
    c->sent[b->what]++;
    b->state = SENT;
    pthread_mutex_unlock(&c->lock);
    st = ask_index(c, b);
    if (st != SX_OK)
        sx_fail(&b->err, st, "%s", sx_detail());
    pthread_mutex_lock(&c->lock);
    b->st = st;
    b->state = DONE;
    c->info.batches++;
    c->info.full += b->n == c->info.batch;
    next = c->open[b->what];
    if (--c->sent[b->what] == 0 && c->info.eager && next) {
        next->deadline = 0;
        pthread_cond_signal(&next->turn);
    }
    if (b->here == 1)
        return;
    pthread_mutex_unlock(&c->lock);
    pthread_cond_broadcast(&b->turn);
    pthread_mutex_lock(&c->lock);
}

static void sleep_until(sx_collector *c, batch *b, uint64_t ns)
{
    if (ns == NEVER)
        pthread_cond_wait(&b->turn, &c->lock);
    else
        sx_wait_until(&b->turn, &c->lock, ns);
}

/* Returns when the batch is DONE, or when `until` is over. */
static void wait_for(sx_collector *c, batch *b, uint32_t slot, uint64_t until)
{
    while (b->state != DONE) {
        uint64_t wake = until, now = sx_clock_ns();

        if (b->state == OPEN && b->deadline <= now) {
            send_batch(c, b);
            return;
        }
        if (until <= now)
            return;
        if (b->state == OPEN && b->keeper == NOBODY)
            b->keeper = slot;
        if (b->state == OPEN && b->keeper == slot && b->deadline < wake)
            wake = b->deadline;
        sleep_until(c, b, wake);
    }
}

/* ---- collectors --------------------------------------------------------------- */

static sx_status check_options(const sx_collect_options *given, sx_collector_info *info,
                               sx_err *err)
{
    static const char verb[] = "sx_collector_new";
    sx_collect_options own = {0}, *o = &own;
    sx_status st = given ? SX_TAKE(o, given, sx_collect_options, SX_COLLECT_OPTIONS_SIZE_1, verb,
                                   err)
                         : SX_OK;

    if (st != SX_OK)
        return st;
    *info = (sx_collector_info){.size = sizeof *info,
                                .batch = o->batch ? o->batch : BATCH_DEFAULT,
                                .interval_us = o->interval_us ? o->interval_us
                                                              : INTERVAL_DEFAULT,
                                .eager = o->eager};
    if (o->eager > 1)
        return sx_fail(err, SX_EINVAL, "%s: eager of sx_collect_options is %u; allowed: 0, 1", verb,
                       o->eager);
    if (o->reserved)
        return sx_fail(err, SX_EINVAL, "%s: reserved of sx_collect_options is %u, not 0", verb,
                       o->reserved);
    if (info->batch > SX_COLLECT_MOST)
        return sx_fail(err, SX_EINVAL, "%s: batch of sx_collect_options is %u; at most: %u", verb,
                       info->batch, SX_COLLECT_MOST);
    return SX_OK;
}

sx_status sx_collector_new(sx_collector **out, const sx_index *ix,
                           const sx_collect_options *options)
{
    static const char verb[] = "sx_collector_new";
    sx_collector *c = NULL;
    sx_collector_info info;
    sx_hold held;
    sx_err err;
    sx_status st = sx_need(out, verb, "the output", &err);

    if (st == SX_OK)
        st = sx_need(ix, verb, "the index", &err);
    if (st == SX_OK)
        st = check_options(options, &info, &err);
    if (st == SX_OK)
        st = sx_alloc_zero((void **)&c, sizeof *c, "a collector", &err);
    if (st != SX_OK)
        return sx_report(&err, st);
    c->ix = ix;
    held = sx_hold_version(ix);
    c->key_type = held.now->key_type;
    sx_let_go(ix, &held);
    c->info = info;
    reset(c);
    sx_fork_join(&c->forked, reset, c);
    *out = c;
    return SX_OK;
}

void sx_collector_close(sx_collector *c)
{
    if (!c)
        return;
    SX_UNCANCELLED;
    pthread_mutex_lock(&c->lock);
    c->closing = 1;               /* no batch is opened any more */
    for (unsigned i = 0; i < QUESTIONS; i++) {
        batch *b = c->open[i];
        if (!b)
            continue;
        b->here++;
        send_batch(c, b);
        leave(c, b, NOBODY);
    }
    while (c->busy > 0)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void sx_collector_free(sx_collector *c)
{
    if (!c)
        return;
    sx_collector_close(c);
    sx_fork_leave(&c->forked);
    for (batch *b = c->all, *next; b; b = next) {
        next = b->link;
        pthread_cond_destroy(&b->turn);
        sx_release(b->text);
        sx_release(b);
    }
    pthread_cond_destroy(&c->idle);
    pthread_mutex_destroy(&c->lock);
    sx_release(c);
}

sx_status sx_collector_describe(sx_collector *c, sx_collector_info *info)
{
    static const char verb[] = "sx_collector_describe";
    sx_err err;
    sx_collector_info own;
    sx_status st = sx_need(c, verb, "the collector", &err);

    if (st == SX_OK)
        st = sx_need(info, verb, "the output", &err);
    if (st == SX_OK)
        st = sx_check_struct(info, SX_COLLECTOR_INFO_SIZE_1, verb, "sx_collector_info", &err);
    if (st != SX_OK)
        return sx_report(&err, st);
    pthread_mutex_lock(&c->lock);
    own = c->info;
    pthread_mutex_unlock(&c->lock);
    sx_give_struct(info, &own, sizeof own);
    return SX_OK;
}

/* ---- submitting ------------------------------------------------------------------ */

/* The slot's answer, or that its time is over. Counts which. */
static sx_status outcome(sx_collector *c, const batch *b, uint32_t slot, uint64_t *answer,
                         int64_t timeout_us, sx_err *err)
{
    if (b->state != DONE) {
        c->info.timed_out++;
        return sx_fail(err, SX_ETIMEDOUT, "sx_collect: no answer in %lld us, the batch of %u keys "
                       "is %s", (long long)timeout_us, b->n,
                       b->state == OPEN ? "not full" : "being asked about");
    }
    if (b->st != SX_OK) {
        c->info.failed++;
        *err = b->err;
        return b->st;
    }
    c->info.answered++;
    *answer = b->answers[slot];
    return SX_OK;
}

/* Copies a string behind those of slots before. Others have the lock while it is copied, so a long
 * string holds them up: longer than SX_STRING_MOST it can't be. */
static sx_status keep_string(batch *b, uint32_t slot, const sx_string *key, sx_err *err)
{
    uint64_t at = b->offsets[slot];

    if (key->bytes > SX_STRING_MOST || (key->bytes > 0 && !key->data))
        return sx_fail(err, SX_EINVAL, "sx_collect: the key has %llu bytes at %p; allowed: up to "
                       "%llu, and not at NULL", (unsigned long long)key->bytes, key->data,
                       (unsigned long long)SX_STRING_MOST);
    if (key->bytes > b->text_space - at) {
        uint64_t space = 2 * (at + key->bytes);
        void *text;
        sx_status st = sx_alloc(&text, space, "a batch of a collector", err);
        if (st != SX_OK)
            return st;
        if (at > 0)
            memcpy(text, b->text, at);
        sx_release(b->text);
        b->text = text;
        b->text_space = space;
    }
    if (key->bytes > 0)
        memcpy(b->text + at, key->data, key->bytes);
    b->offsets[slot + 1] = at + key->bytes;
    return SX_OK;
}

static sx_status keep_key(batch *b, uint32_t slot, const void *key, sx_err *err)
{
    if (b->offsets)
        return keep_string(b, slot, key, err);
    memcpy(sx_slice_at(&b->keys, slot), key, sx_slice_bytes(&b->keys, slot, slot + 1));
    return SX_OK;
}

static sx_status submit(sx_collector *c, sx_ask what, const void *key, uint64_t *answer,
                        int64_t timeout_us, uint64_t until, sx_err *err)
{
    batch *b;
    uint32_t slot;
    sx_status st;

    if (c->closing)
        return sx_fail(err, SX_EINVAL, "sx_collect: the collector is closing");
    st = open_batch(c, what, &b, err);
    if (st != SX_OK)
        return st;
    slot = b->n;
    b->here++;
    st = keep_key(b, slot, key, err);
    if (st != SX_OK) {            /* the slot is not taken; a batch without any is free again */
        leave(c, b, NOBODY);
        return st;
    }
    b->n++;
    if (b->n == c->info.batch || (c->info.eager && c->sent[what] == 0))
        send_batch(c, b);
    else
        wait_for(c, b, slot, until);
    st = outcome(c, b, slot, answer, timeout_us, err);
    leave(c, b, slot);
    return st;
}

sx_status sx_collect(sx_collector *c, sx_ask what, const void *key, uint64_t *answer,
                     int64_t timeout_us)
{
    static const char verb[] = "sx_collect";
    uint64_t until = NEVER;
    sx_err err;
    sx_status st = sx_need(c, verb, "the collector", &err);

    if (st == SX_OK)
        st = sx_need(key, verb, "the key", &err);
    if (st == SX_OK)
        st = sx_need(answer, verb, "the answer", &err);
    if (st == SX_OK && (unsigned)what >= QUESTIONS)
        st = sx_fail(&err, SX_EINVAL, "%s: the question is %d; allowed: 0 (get), 1 (rank, left), "
                     "2 (rank, right), 3 (floor), 4 (ceil)", verb, (int)what);
    if (st != SX_OK)
        return sx_report(&err, st);
    /* Longer than 2^61 ns, 73 years, is as good as forever. */
    if (timeout_us >= 0 && timeout_us < (1ll << 51))
        until = sx_clock_ns() + (uint64_t)timeout_us * 1000u;
    SX_UNCANCELLED;
    pthread_mutex_lock(&c->lock);
    st = submit(c, what, key, answer, timeout_us, until, &err);
    pthread_mutex_unlock(&c->lock);
    return sx_report(&err, st);
}
