#include "base/tick.h"

#include "base/cancel.h"
#include "base/machine.h"

/* A thread that is cancelled in its tick ends the tick first: it is inside a verb. */
static int tell(sx_progress *p, uint64_t done)
{
    SX_UNCANCELLED;

    p->told = done > p->told ? done : p->told;
    return p->tick(p->context, p->told, SX_PROGRESS_ALL);
}

/* Parts that are done. It is never all of them: the last tick alone says that. */
static uint64_t parts(const sx_progress *p)
{
    uint64_t done = __atomic_load_n(&p->done, __ATOMIC_RELAXED), at = p->end;

    if (done < p->units)
        at = p->begin + (uint64_t)((double)(p->end - p->begin) * ((double)done / (double)p->units));
    return at < SX_PROGRESS_ALL ? at : SX_PROGRESS_ALL - 1;
}

static void tick_if_due(sx_progress *p)
{
    if (sx_progress_stopped(p) || sx_clock_ns() < p->next_ns)
        return;
    if (tell(p, parts(p)))
        __atomic_store_n(&p->stopped, 1, __ATOMIC_RELAXED);
    p->next_ns = sx_clock_ns() + SX_TICK_NS;
}

sx_progress *sx_progress_begin(sx_progress *p, const sx_call *call, const char *verb)
{
    if (!call->tick)
        return NULL;
    *p = (sx_progress){.tick = call->tick, .context = call->tick_context, .verb = verb,
                       .caller = pthread_self(), .units = 1};
    tick_if_due(p);
    return p;
}

void sx_progress_end(sx_progress *p, sx_status st)
{
    if (p && st == SX_OK)
        (void)tell(p, SX_PROGRESS_ALL);
}

/* The step that begins now ends at `part`. It begins where the step before it has come to. */
static void begin_step(sx_progress *p, uint64_t part, uint64_t units)
{
    p->begin = parts(p);
    p->end = part > p->begin ? part : p->begin;
    p->units = units ? units : 1;
    __atomic_store_n(&p->done, 0, __ATOMIC_RELAXED);
    tick_if_due(p);
}

void sx_progress_phase(sx_progress *p, uint64_t part)
{
    if (!p)
        return;
    p->begin = p->end = p->phase_end;
    p->phase_end = part;
    begin_step(p, part, 1);
}

void sx_progress_step(sx_progress *p, uint64_t units)
{
    uint64_t at;

    if (!p)
        return;
    at = parts(p);
    begin_step(p, p->phase_end > at ? p->phase_end - (p->phase_end - at) / 4 : at, units);
}

void sx_progress_units(sx_progress *p, uint64_t units)
{
    if (p)
        begin_step(p, p->phase_end, units);
}

int sx_progress_add(sx_progress *p, uint64_t units)
{
    if (!p)
        return 0;
    __atomic_fetch_add(&p->done, units, __ATOMIC_RELAXED);
    if (pthread_equal(p->caller, pthread_self()))
        tick_if_due(p);
    return sx_progress_stopped(p);
}

int sx_progress_stopped(const sx_progress *p)
{
    return p && __atomic_load_n(&p->stopped, __ATOMIC_RELAXED);
}

sx_status sx_progress_status(const sx_progress *p, sx_err *err)
{
    if (!sx_progress_stopped(p))
        return SX_OK;
    return sx_fail(err, SX_ECANCELED, "%s: its tick stopped it, at %llu of %llu parts of the work",
                   p->verb, (unsigned long long)p->told, (unsigned long long)SX_PROGRESS_ALL);
}
