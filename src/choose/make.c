/* make.c - from sorted arrays to the sections of an index: first parameters that the spec
 * leaves open and the keys decide, then the build. And, beforehand, how large it can get. */
#include "choose/choose.h"

/* ---- beforehand -------------------------------------------------------------- */

static void at_least(uint64_t *most, uint64_t bytes)
{
    *most = *most > bytes ? *most : bytes;
}

/* Raises *most to what an index takes whose shape follows from n and its spec, or to the most
 * that keys can make of it. Of a guide's pieces and buckets that the spec leaves open it takes
 * the largest. */
static sx_status bound_shape(sx_device *at, sx_spec spec, uint32_t width, uint32_t row_bytes,
                             uint64_t n, sx_bounds *most, sx_err *err)
{
    sx_store store = {0};
    sx_facts facts = {.n = n, .ranks = n, .width = width, .row_bytes = row_bytes};
    sx_status st;

    if (spec.family == SX_FAM_GUIDE && !(spec.given & SX_GUIDE_PIECES)) {
        most->sample = sx_sample_bytes(n);
        spec.of.guide.pieces = SX_PIECES_MAX;
        if (!(spec.given & SX_GUIDE_BUCKET))
            spec.of.guide.bucket = SX_LEAST_BUCKET;
        spec.given |= SX_GUIDE_PIECES | SX_GUIDE_BUCKET;
    }
    st = sx_shape(&store.view, &spec, &at->backend->target, &facts, err);
    if (st == SX_OK && n > 0 && sx_family_of(spec.family)->most)
        sx_family_of(spec.family)->most(&store.view);
    if (st == SX_OK) {
        at_least(&most->resident, at->backend->gpu ? sx_store_bytes(&store)
                                                   : sx_host_bytes(&store.view));
        at_least(&most->top, sx_upper_block_bytes(&store.view));
        at_least(&most->peak, at->backend->build_peak(at->self, &store.view));
    }
    return st;
}

sx_status sx_bound(sx_device *at, const sx_spec *spec, uint32_t width, uint32_t row_bytes,
                   uint64_t n, sx_bounds *most, sx_err *err)
{
    sx_bounds its = {0};
    sx_status st;

    if (spec->family != SX_FAM_PGM)
        return bound_shape(at, *spec, width, row_bytes, n, most, err);
    st = sx_bound_pgm(at, spec, width, row_bytes, n, &its, err);
    at_least(&most->resident, its.resident);
    at_least(&most->top, its.top);
    at_least(&most->peak, its.peak);
    return st;
}

/* ---- the build ---------------------------------------------------------------- */

/* Whether the caller, the device's name or SEXTANT_THREADS asks for one thread. The number of
 * processors does not count: what is built must not depend on it. */
static int one_thread(const sx_device *dev, const sx_input *in)
{
    sx_travel t = {0};

    dev->backend->travel(dev->self, &t);
    return !dev->backend->gpu && (in->threads == 1 || t.alone);
}

void sx_make_peek(const sx_site *site, const sx_spec *spec, uint64_t n, uint32_t width,
                  sx_peek *peek)
{
    int once = (spec->given & SX_P_LAYOUT) && spec->layout == SX_LAYOUT_ONCE;
    int guide = spec->family == SX_FAM_GUIDE && !(spec->given & SX_GUIDE_PIECES) && !once;

    *peek = (sx_peek){0};
    if (site->at->backend->gpu && (guide || sx_will_look(site->at, spec, n, width)))
        sx_peek_begin(peek, site->at, n, width);
}

sx_status sx_make(const sx_site *site, sx_store *s, const sx_spec *spec, sx_sorted *sorted,
                  const sx_input *in, uint64_t spent_ns, sx_err *err)
{
    sx_device *dev = site->at;
    sx_facts facts;
    sx_status st = SX_OK;

    if (spec->family == SX_FAM_AUTO)
        return sx_choose(dev, s, spec, sorted, in, err);
    s->spec = *spec;
    if (sx_once_wanted(spec, sorted))
        st = dev->backend->once(dev->self, sorted, in->threads, err);
    if (st != SX_OK)
        return st;
    if (spec->family == SX_FAM_PGM) {
        if (one_thread(dev, in) && !(spec->given & SX_PGM_CUTS)) {
            s->spec.of.pgm.cuts = 1;      /* as few segments as there can be */
            s->spec.given |= SX_PGM_CUTS;
        }
        return sx_build_pgm(site, s, sorted, in, spent_ns, err);
    }
    if (spec->family == SX_FAM_GUIDE && !(spec->given & SX_GUIDE_PIECES))
        st = sx_resolve_pieces(dev, &s->spec, sorted, in, site->space, err);
    facts = sx_facts_of(sorted);
    if (st == SX_OK)
        st = sx_shape(&s->view, &s->spec, &dev->backend->target, &facts, err);
    return st == SX_OK ? dev->backend->build(dev->self, &s->view, sorted, in->threads, s->base, err)
                       : st;
}
