/* soak_jobs.c - the peaceful jobs of the soak: see soak.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pick.h"
#include "soak.h"

const soak_device *pick_device(worker *w, bool cpu)
{
    for (;;) {
        const soak_device *on = &devices[rnd_below(&w->r, device_count)];
        if (!cpu || !on->kernels)
            return on;
    }
}

/* ---- subjects ---------------------------------------------------------------------- */

static void pick_place(worker *w, subject *s)
{
    static const char *const places[] = { "", "", " place=host", " place=device", " place=hybrid",
                                          " place=both" };
    const char *place = places[rnd_below(&w->r, COUNT_OF(places))];
    size_t used = strlen(s->spec);
    if (!s->on->kernels || (strncmp(s->spec, "sorted", 6) == 0 && strstr(place, "hybrid")))
        return;
    snprintf(s->spec + used, sizeof s->spec - used, "%s", place);
}

void subject_plan(worker *w, subject *s, const soak_device *on, uint64_t most)
{
    rnd *r = &w->r;
    int type = key_types[rnd_below(r, COUNT_OF(key_types))];
    row_kind rows_as = (row_kind)rnd_below(r, ROWS_KINDS);
    /* The emulator is slow: it gets few keys, and few questions. */
    uint64_t space = on->kernels && !on->gpu && most > 3000 ? 3000 : most;
    uint64_t n = pick_size(r) % (space + 1);
    if (rnd_below(r, 8) == 0)
        n = space - rnd_below(r, space / 4 + 1);            /* shared by threads, spread */
    unsigned char *keys = need(n * oracle_width(type));
    uint64_t *rows = need(n * sizeof *rows);
    *s = (subject){ .on = on };
    pick_spec(r, s->spec, sizeof s->spec);
    if (rnd_below(r, 12) == 0)
        snprintf(s->spec, sizeof s->spec, rnd_below(r, 2) ? "auto" : "pgm");
    pick_place(w, s);
    pick_keys(r, type, n, keys);
    rows_make(rows_as, n, r, rows);
    s->d = data_wrap(type, n, keys, rows_as, rows,
                     rnd_below(r, on->kernels || rnd_below(r, 4) ? 120 : 3000), r);
    free(keys);
    free(rows);
}

const char *subject_make(worker *w, subject *s, const soak_device *on, uint64_t most)
{
    subject_plan(w, s, on, most);
    doing(w, "%s, %llu keys of %s, rows %d, on %s", s->spec, (unsigned long long)s->d->n,
          sx_type_name(s->d->type), (int)s->d->row_kind, on->name);
    sx_status st;
    if (on->kernels && !strstr(s->spec, "place=")) {
        asker_use(w->asking, on->dev);
        st = ask_build(w->asking, s->d, s->spec, &s->ix);
        asker_use(w->asking, NULL);
    } else {
        sx_call call = { .size = sizeof call, .threads = (uint32_t)rnd_below(&w->r, 3) };
        st = data_build(s->d, on->dev, s->spec, &call, &s->ix);
    }
    w->builds++;
    return st == SX_OK ? NULL : complain(w, "build: status %d: %s", (int)st, sx_detail());
}

void subject_free(subject *s)
{
    sx_free(s->ix);
    data_free(s->d);
    *s = (subject){ 0 };
}

const char *subject_ask(worker *w, const subject *s, const sx_index *ix, const soak_device *on)
{
    asker *a = w->asking;
    sx_call call = { .size = sizeof call, .threads = (uint32_t)rnd_below(&w->r, 3) };
    int out = rnd_below(&w->r, 2) ? SX_U32 : SX_U64;
    const char *wrong;
    asker_use(a, on->kernels ? on->dev : NULL);
    a->no_streams = true;         /* unless all of it is on the device */
    if (on->kernels && !strstr(s->spec, "place=") && ix == s->ix)
        a->no_streams = false;
    switch (rnd_below(&w->r, 4)) {
    case 0: wrong = ask_description(a, ix, s->d); break;
    case 1: wrong = ask_points(a, ix, s->d, out, &call); break;
    case 2: wrong = ask_ranges(a, ix, s->d, out, &call); break;
    default:
        wrong = ask_limit(a, ix, s->d, rnd_below(&w->r, 50), (uint32_t)rnd_below(&w->r, 2), out,
                          &call);
        break;
    }
    a->no_streams = false;
    asker_use(a, NULL);
    w->questions++;
    return wrong ? complain(w, "%s", wrong) : NULL;
}

char *worker_path(const worker *w, const char *name)
{
    char file[80];
    snprintf(file, sizeof file, "soak-%u-%s.sxt", w->number, name);
    return temp_path(file);
}

/* ---- jobs -------------------------------------------------------------------------- */

const char *job_ask(worker *w)
{
    subject s;
    const char *wrong = subject_make(w, &s, pick_device(w, false), 70000);
    for (unsigned i = 0; i < 3 && !wrong; i++)
        wrong = subject_ask(w, &s, s.ix, s.on);
    /* Its resolved spec builds it again, if it is in its usual place. */
    if (!wrong && rnd_below(&w->r, 4) == 0 && !strstr(s.spec, "place=")) {
        sx_index_info info = { .size = sizeof info };
        sx_index *again = NULL;
        if (sx_describe(s.ix, &info) != SX_OK ||
            data_build(s.d, pick_device(w, true)->dev, info.spec, NULL, &again) != SX_OK)
            wrong = complain(w, "again: %s", sx_detail());
        else
            wrong = subject_ask(w, &s, again, pick_device(w, true));
        sx_free(again);
    }
    subject_free(&s);
    return wrong;
}

/* Indexes that all workers ask. The worker that replaces one writes its slot. */
#define SLOTS 4u
static struct {
    pthread_rwlock_t lock;
    subject s;
} slots[SLOTS] = { { PTHREAD_RWLOCK_INITIALIZER, { 0 } }, { PTHREAD_RWLOCK_INITIALIZER, { 0 } },
                   { PTHREAD_RWLOCK_INITIALIZER, { 0 } }, { PTHREAD_RWLOCK_INITIALIZER, { 0 } } };

const char *job_shared(worker *w)
{
    unsigned at = (unsigned)rnd_below(&w->r, SLOTS);
    const char *wrong = NULL;
    pthread_rwlock_rdlock(&slots[at].lock);
    bool replace = !slots[at].s.ix || rnd_below(&w->r, 10) == 0;
    if (!replace) {
        doing(w, "slot %u: %s", at, slots[at].s.spec);
        for (unsigned i = 0; i < 3 && !wrong; i++)
            wrong = subject_ask(w, &slots[at].s, slots[at].s.ix, slots[at].s.on);
    }
    pthread_rwlock_unlock(&slots[at].lock);
    if (!replace)
        return wrong;
    subject fresh, before;
    wrong = subject_make(w, &fresh, pick_device(w, false), 70000);
    if (wrong) {
        subject_free(&fresh);
        return wrong;
    }
    pthread_rwlock_wrlock(&slots[at].lock);
    before = slots[at].s;
    slots[at].s = fresh;
    pthread_rwlock_unlock(&slots[at].lock);
    subject_free(&before);
    return NULL;
}

void shared_free(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        subject_free(&slots[i].s);
}

const char *job_file(worker *w)
{
    static const unsigned places[] = { 0, 0, SX_LOAD_HOST, SX_LOAD_DEVICE, SX_LOAD_HYBRID,
                                       SX_LOAD_BOTH };
    subject s;
    const char *wrong = subject_make(w, &s, pick_device(w, false), 30000);
    char *path = worker_path(w, "file"), *path2 = worker_path(w, "again");
    for (unsigned i = 0; i < 2 && !wrong; i++) {
        const soak_device *on = pick_device(w, false);
        unsigned place = on->kernels ? places[rnd_below(&w->r, COUNT_OF(places))] : 0;
        unsigned flags = (unsigned)rnd_below(&w->r, 4) | place;
        sx_index *loaded = NULL;
        size_t bytes, bytes2;
        if (place == SX_LOAD_HYBRID && strncmp(s.spec, "sorted", 6) == 0)
            continue;
        if (strncmp(s.spec, "auto", 4) == 0 && place == SX_LOAD_HYBRID)
            continue;             /* its keys may be sorted now */
        unsigned char *file = saved_bytes(s.ix, path, &bytes), *file2;
        doing(w, "%s, loaded with flags %u on %s", s.spec, flags, on->name);
        if (sx_load(&loaded, on->dev, path, flags, NULL) != SX_OK) {
            wrong = complain(w, "load: %s", sx_detail());
        } else {
            wrong = subject_ask(w, &s, loaded, on);
            file2 = saved_bytes(loaded, path2, &bytes2);
            if (!wrong && (bytes != bytes2 || memcmp(file, file2, bytes) != 0))
                wrong = complain(w, "saved again it is another file");
            free(file2);
        }
        free(file);
        sx_free(loaded);
    }
    free(path);
    free(path2);
    subject_free(&s);
    return wrong;
}

const char *job_look(worker *w)
{
    subject s;
    const char *wrong = subject_make(w, &s, pick_device(w, false), 20000);
    char buf[16384];
    size_t bytes = sizeof buf;
    sx_estimate_info e = { .size = sizeof e };
    sx_device_info info = { .size = sizeof info };
    sx_index_info what = { .size = sizeof what };
    if (wrong)
        goto end;
    if (sx_check(s.ix, NULL) != SX_OK || sx_describe(s.ix, &what) != SX_OK ||
        sx_explain(s.ix, rnd_below(&w->r, 2) ? SX_TEXT : SX_JSON, buf, &bytes) != SX_OK ||
        estimate_of(s.on->dev, s.spec, s.d->type, s.d->n, 0, &e) != SX_OK ||
        sx_device_describe(s.on->dev, &info) != SX_OK)
        wrong = complain(w, "%s", sx_detail());
    for (unsigned i = 0; sx_verb_at(i); i++)
        (void)sx_possible(what.spec, s.d->type, sx_verb_at(i), "device", info.name);
    for (unsigned i = 0; rnd_below(&w->r, 8) == 0 && sx_device_at(i, &info) == SX_OK; i++)
        ;
end:
    subject_free(&s);
    return wrong;
}

/* ---- the collector -------------------------------------------------------------------- */

#define SUBMITTERS 3u

typedef struct {
    sx_collector *c;
    const dataset *d;
    unsigned first;
    char why[300];
} submitter;

static void *submit(void *arg)
{
    submitter *s = arg;
    const dataset *d = s->d;
    const uint64_t *const truth[] = { d->get, d->left, d->right };
    static const sx_ask what[] = { SX_ASK_GET, SX_ASK_RANK_LEFT, SX_ASK_RANK_RIGHT };
    for (uint64_t i = s->first; i < d->queries && i < 200; i += SUBMITTERS) {
        uint64_t answer = 0;
        sx_status st = sx_collect(s->c, what[i % 3], d->q.data + i * d->width, &answer, -1);
        if (st != SX_OK || answer != truth[i % 3][i]) {
            snprintf(s->why, sizeof s->why, "collect: status %d, %llu and not %llu", (int)st,
                     (unsigned long long)answer, (unsigned long long)truth[i % 3][i]);
            break;
        }
    }
    return NULL;
}

const char *job_collect(worker *w)
{
    subject s;
    sx_collect_options how = { .size = sizeof how, .batch = 1 + (uint32_t)rnd_below(&w->r, 6),
                               .interval_us = 1 + (uint32_t)rnd_below(&w->r, 300),
                               .eager = (uint32_t)rnd_below(&w->r, 2) };
    submitter all[SUBMITTERS] = { 0 };
    pthread_t thread[SUBMITTERS];
    sx_collector *c = NULL;
    const char *wrong = subject_make(w, &s, pick_device(w, rnd_below(&w->r, 2)), 20000);
    if (!wrong && sx_collector_new(&c, s.ix, &how) != SX_OK)
        wrong = complain(w, "%s", sx_detail());
    for (unsigned i = 0; i < SUBMITTERS && c; i++) {
        all[i] = (submitter){ .c = c, .d = s.d, .first = i };
        if (pthread_create(&thread[i], NULL, submit, &all[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < SUBMITTERS && c; i++) {
        pthread_join(thread[i], NULL);
        if (all[i].why[0] && !wrong)
            wrong = complain(w, "%s", all[i].why);
    }
    sx_collector_free(c);
    subject_free(&s);
    return wrong;
}

/* The device is closed before its index is asked and freed. */
const char *job_come_and_go(worker *w)
{
    soak_device on = *pick_device(w, false);
    subject s;
    doing(w, "opening %s", on.name);
    if (sx_open(&on.dev, on.name) != SX_OK)
        return complain(w, "%s", sx_detail());
    const char *wrong = subject_make(w, &s, &on, 9000);
    if (!wrong)
        wrong = subject_ask(w, &s, s.ix, &on);
    sx_close(on.dev);
    if (!wrong && !on.kernels)    /* an asker's columns need the device */
        wrong = subject_ask(w, &s, s.ix, &on);
    subject_free(&s);
    return wrong;
}
