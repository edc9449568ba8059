/* choose.c - what `auto` does: build the favourite for the purpose, ask it
 * and the plain sorted array the kind of questions to come, on the real keys
 * at their real number, and keep the favourite unless the array is clearly
 * faster.
 *
 * The sorted array is there in any case, and the favourite mostly stays, so
 * measuring costs little more than the questions. What is never faster is
 * not tried: `eytzinger` loses to `pivot` on every purpose but memory. The
 * favourite of a GPU is a guide, if a look at the keys says that it suits
 * them. */
#include "query/index.h"
#include "query/questions.h"

#include "base/machine.h"
#include "base/text.h"

#include <string.h>

/* Part of the build so far that asking may take, one in so many. */
#define BUDGET_PART 32
#define POINTS_PER_RANGE 8u       /* where both are asked */
/* Up to so many bytes of keys, all in the cache, binary search is the
 * favourite among what takes no extra memory. */
#define SORTED_BYTES (256u << 10)
/* Where a GPU's pivots take more, far more than its L2 holds, it pays to have
 * fewer of them (4-byte keys) or fewer levels (8-byte keys). */
#define PIVOT_BYTES (100u << 20)

/* On a GPU a key and its row are one read if they are side by side, so points
 * want pairs; ranges read fewer bytes from rows alone. On a CPU both lines
 * are asked for at once, and pairs win nothing. */
sx_spec sx_favourite(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width)
{
    sx_spec spec = {.family = SX_FAM_PIVOT, .unique = asked->unique, .place = asked->place};

    if (asked->purpose == SX_FOR_MEMORY) {        /* not a byte beside keys and rows */
        spec.family = n * width <= SORTED_BYTES && asked->place != SX_PLACE_HYBRID ? SX_FAM_SORTED
                                                                                 : SX_FAM_EYTZ;
    } else if (dev->backend->gpu && asked->purpose != SX_FOR_RANGE) {
        spec.layout = SX_PAIRS;
        spec.given = SX_P_LAYOUT;
        if (n / 8 * width > PIVOT_BYTES && width == 4) {
            spec.leaf = 16;
            spec.given |= SX_P_LEAF;
        } else if (n / 8 * width > PIVOT_BYTES && width == 8) {
            spec.k = 9;
            spec.given |= SX_P_K;
        }
    }
    return spec;
}

/* Asks the favourite, which is built in *s, and the sorted array, which is
 * either still in *sorted or a part of it. */
static sx_status compare(sx_device *dev, const sx_store *s, const sx_view *array,
                         const sx_input *in, sx_questions *q, int *array_wins, sx_text *why,
                         sx_err *err)
{
    uint64_t begin = sx_clock_ns(), ns[2];
    sx_status st = sx_questions_ask(dev, &s->view, in, q, &ns[0], err);

    if (st == SX_OK)
        st = sx_questions_ask(dev, array, in, q, &ns[1], err);
    if (st != SX_OK)
        return st;
    *array_wins = sx_clearly_less(ns[1], ns[0]);
    if (q->points > 0)
        sx_text_add(why, "%u points", q->points);
    if (q->ranges > 0)
        sx_text_add(why, "%s%u ranges", why->length ? " and " : "", q->ranges);
    sx_text_add(why, " among these keys took %s ", sx_family_name(s->view.family));
    sx_text_fixed(why, (double)ns[0] * 1e-3, 1);
    sx_text_add(why, " us and sorted ");
    sx_text_fixed(why, (double)ns[1] * 1e-3, 1);
    sx_text_add(why, " us, the best of %u times; asking took ", SX_ASK_ROUNDS);
    sx_text_fixed(why, (double)(sx_clock_ns() - begin) * 1e-6, 1);
    sx_text_add(why, " ms in all");
    return SX_OK;
}

/* Makes sections of the plain array in place of the favourite's. */
static sx_status fall_back(sx_device *dev, sx_store *s, const sx_view *array, sx_sorted *sorted,
                           uint32_t threads, sx_err *err)
{
    if (!sorted->keys) {          /* they had become the favourite's */
        sorted->keys = s->base[SX_SEC_KEYS];
        sorted->rows = s->base[SX_SEC_ROWS];
        s->base[SX_SEC_KEYS] = s->base[SX_SEC_ROWS] = NULL;
    }
    sx_store_drop(s, dev->backend, dev->self);
    s->view = *array;
    s->view.distinct = sorted->distinct;
    return dev->backend->build(dev->self, &s->view, sorted, threads, s->base, err);
}

static sx_status measure(sx_device *dev, sx_store *s, uint32_t purpose, sx_sorted *sorted,
                         const sx_input *in, unsigned points, sx_text *why, sx_err *err)
{
    sx_spec plain = {.family = SX_FAM_SORTED, .unique = s->spec.unique, .place = s->spec.place};
    sx_sorted arrays = *sorted;
    sx_view array;
    sx_questions q = {0};
    int array_wins = 0;
    sx_status st = sx_shape(&array, &plain, dev->backend->node_bytes, sorted->width,
                            sorted->row_bytes, sorted->n, err);

    if (st != SX_OK)
        return st;
    if (!arrays.keys) {
        arrays.keys = s->base[SX_SEC_KEYS];
        arrays.rows = s->base[SX_SEC_ROWS];
    }
    sx_view_bind(&array, (const void *const[SX_SECTION_KINDS]){
                             [SX_SEC_KEYS] = arrays.keys, [SX_SEC_ROWS] = arrays.rows});
    q.points = points;
    q.ranges = purpose == SX_FOR_POINT   ? 0
               : purpose == SX_FOR_RANGE ? q.points
                                         : q.points / POINTS_PER_RANGE;
    if (purpose == SX_FOR_RANGE)
        q.points = 0;
    sx_store_bind(s);
    st = sx_questions_make(dev, &s->view, in, &q, err);
    if (st == SX_OK)
        st = compare(dev, s, &array, in, &q, &array_wins, why, err);
    if (st == SX_ENOMEM) {                /* the index is there: it stays */
        sx_text_add(why, "the usual choice; not measured, for want of memory");
        sx_questions_drop(dev, &q);
        return SX_OK;
    }
    if (st == SX_OK && array_wins) {
        s->spec = plain;
        st = fall_back(dev, s, &array, sorted, in->threads, err);
    }
    sx_questions_drop(dev, &q);
    return st;
}

/* ---- auto ------------------------------------------------------------------- */

/* Keys from which on a guide is considered: fewer are no sample. */
#define GUIDE_FROM (1u << 16)
/* Units that a walk under a guide may look at, tolls included (pieces.c), where pivots
 * are as fast. */
#define GUIDE_COST 2.5

/* On a GPU a guide is the fastest for points, unless keys lie badly in any pieces and
 * buckets, or repeat. */
int sx_may_guide(const sx_device *dev, const sx_spec *asked, uint64_t n, uint32_t width,
                 sx_spec *guide)
{
    *guide = (sx_spec){.family = SX_FAM_GUIDE, .unique = asked->unique, .place = asked->place,
                       .layout = SX_PAIRS, .given = SX_P_LAYOUT};
    return dev->backend->gpu && width <= 8 && n >= GUIDE_FROM &&
           asked->purpose != SX_FOR_RANGE && asked->purpose != SX_FOR_MEMORY;
}

static sx_status take_guide(sx_device *dev, const sx_spec *asked, sx_spec *favourite,
                            const sx_sorted *sorted, const sx_input *in, sx_err *err)
{
    sx_spec guide;
    double cost;
    sx_status st;

    if (!sx_may_guide(dev, asked, sorted->n, sorted->width, &guide))
        return SX_OK;
    st = sx_resolve_pieces(dev, &guide, sorted, in, UINT64_MAX, &cost, err);
    if (st == SX_OK && cost < GUIDE_COST)
        *favourite = guide;
    return st == SX_ENOMEM ? SX_OK : st;  /* then without a look */
}

sx_status sx_choose(sx_device *dev, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                    const sx_input *in, uint64_t spent_ns, sx_err *err)
{
    sx_text why = {s->why, SX_WHY_MAX, strlen(s->why)};
    sx_status st;

    s->spec = sx_favourite(dev, spec, sorted->n, sorted->width);
    st = take_guide(dev, spec, &s->spec, sorted, in, err);
    if (st != SX_OK)
        return st;
    st = sx_shape(&s->view, &s->spec, dev->backend->node_bytes, sorted->width, sorted->row_bytes,
                  sorted->n, err);
    s->view.distinct = sorted->distinct;
    if (st == SX_OK)
        st = dev->backend->build(dev->self, &s->view, sorted, in->threads, s->base, err);
    if (st != SX_OK)
        return st;
    if (spec->place == SX_PLACE_HYBRID)
        sx_text_add(&why, "%sthe usual choice of what has a top; not measured", why.length ? "; "
                                                                                         : "");
    else if (sorted->n < sx_measured_from(dev) || s->view.family == SX_FAM_SORTED)
        sx_text_add(&why, "the usual choice for so few keys; not measured, since a build is over "
                    "sooner");
    else
        st = measure(dev, s, spec->purpose, sorted, in,
                     sx_question_count(dev, spent_ns / BUDGET_PART), &why, err);
    if (st != SX_OK)
        sx_store_drop(s, dev->backend, dev->self);
    return st;
}
