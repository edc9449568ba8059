#include "family/pgm/pgm_shape.h"

#include "base/alloc.h"
#include "family/pgm/pgm_check.h"
#include "family/shape.h"

#include <inttypes.h>

static const sx_param params[] = {
    SX_PARAM("eps", SX_PGM_EPS, of.pgm.eps, 1, SX_EPS_MAX),
    SX_PARAM("eps2", SX_PGM_EPS2, of.pgm.eps2, 1, SX_EPS2_MAX),
    SX_PARAM("cuts", SX_PGM_CUTS, of.pgm.cuts, 1, 1u << 20),
    SX_PARAM("budget", SX_PGM_BUDGET, of.pgm.budget, 1, SX_BUDGET_MAX),
    SX_PARAMS_OF_LEAVES,
    SX_PARAMS_END,
};

static const char *together(const sx_spec *spec, uint32_t bits[2])
{
    if (!(spec->given & SX_PGM_EPS) || !(spec->given & SX_PGM_BUDGET))
        return NULL;
    bits[0] = SX_PGM_EPS;
    bits[1] = SX_PGM_BUDGET;
    return "eps= and budget= don't go together: with a budget eps is chosen";
}

/* Builds say eps, and find it if the spec does not. Segments that are wrong by 64
 * ranks mostly take a thousandth of the keys' memory. */
static sx_status shape(sx_view *v, sx_spec *spec, const sx_target *target, sx_err *err)
{
    sx_pgm_params *p = &spec->of.pgm;
    sx_pgm *t = &v->of.pgm;

    (void)target;
    if (v->n > SX_PGM_MOST)
        return sx_fail(err, SX_EINVAL, "%llu keys are more than a pgm can hold (%llu)",
                       (unsigned long long)v->n, (unsigned long long)SX_PGM_MOST);
    if (!(spec->given & SX_PGM_EPS))
        p->eps = 64;
    if (!(spec->given & SX_PGM_EPS2))
        p->eps2 = 4;
    if (p->eps2 == 1 && v->n > SX_PGM_MOST_TIGHT)
        return sx_fail(err, SX_EINVAL, "%llu keys are more than a pgm with eps2=1 can hold (%llu); "
                       "allowed: eps2=2 and more", (unsigned long long)v->n,
                       (unsigned long long)SX_PGM_MOST_TIGHT);
    if (!(spec->given & SX_PGM_CUTS))
        p->cuts = sx_pgm_cuts(v->n, p->eps);
    if (v->n / p->cuts >= SX_PART_MOST)
        p->cuts = (uint32_t)(v->n / SX_PART_MOST) + 1;
    if (p->cuts > v->n)                   /* parts without keys take memory, too */
        p->cuts = v->n ? (uint32_t)v->n : 1;
    t->cuts = p->cuts;
    t->eps = p->eps;
    t->eps2 = p->eps2;
    spec->given = SX_PGM_EPS | SX_PGM_EPS2 | SX_PGM_CUTS;
    sx_shape_slots(v, v->n);
    v->unit = sx_array_unit(v);
    return SX_OK;
}

static void add_level(sx_pgm *t, uint64_t segments)
{
    t->level_count[t->levels] = segments;
    t->level_first[t->levels + 1] = t->level_first[t->levels] + sx_level_entries(segments);
    t->levels++;
}

sx_status sx_shape_levels(sx_view *v, const uint64_t *segments, uint64_t levels, sx_err *err)
{
    sx_pgm *t = &v->of.pgm;

    t->levels = 0;
    t->level_first[0] = 0;
    if (levels == 0 || levels > SX_PGM_LEVELS || segments[0] != 1)
        return sx_fail(err, SX_ECORRUPT, "%llu levels of segments, the first of %llu",
                       (unsigned long long)levels,
                       (unsigned long long)(levels ? segments[0] : 0));
    for (uint64_t l = 0; l < levels; l++) {
        uint64_t below = l + 1 < levels ? segments[l + 1] : v->n;
        if (segments[l] == 0 || segments[l] > below || below > v->n ||
            (l + 1 < levels && segments[l] >= below)) {
            t->levels = 0;
            return sx_fail(err, SX_ECORRUPT, "level %llu has %llu segments over %llu",
                           (unsigned long long)l, (unsigned long long)segments[l],
                           (unsigned long long)below);
        }
        add_level(t, segments[l]);
    }
    return SX_OK;
}

static sx_status complete(sx_view *v, const void *meta, uint64_t bytes, sx_err *err)
{
    if (bytes == 0 || bytes > SX_PGM_LEVELS * sizeof(uint64_t) || bytes % sizeof(uint64_t))
        return sx_fail(err, SX_ECORRUPT, "the section 'levels' has an impossible size");
    return sx_shape_levels(v, meta, bytes / sizeof(uint64_t), err);
}

static void most(sx_view *v)
{
    sx_pgm *t = &v->of.pgm;
    uint64_t segments[SX_PGM_LEVELS], m = v->n;
    uint32_t levels = 0;

    do {                          /* as sx_pgm_most(), for all parts together */
        sx_fitting f = sx_level_fitting(t, m, levels);
        uint64_t its = m / (2 * (uint64_t)f.eps + 1) + 1 + 2 * ((uint64_t)f.cuts - 1);
        m = its < m || m == 1 ? its : m;
        segments[levels++] = m;
    } while (m > 1 && levels < SX_PGM_LEVELS);
    t->levels = 0;
    t->level_first[0] = 0;
    while (levels > 0)
        add_level(t, segments[--levels]);
}

static uint64_t bytes(const sx_view *v, unsigned section)
{
    const sx_pgm *t = &v->of.pgm;

    if (section == SX_SEC_LEVELS)
        return t->levels * sizeof(uint64_t);
    return section == SX_SEC_SEGMENTS && t->levels
               ? sx_segment_key_bytes(t, v->width) + t->level_first[t->levels] * SX_SEGMENT : 0;
}

static uint64_t upper(const sx_view *v, unsigned section)
{
    return section == SX_SEC_SEGMENTS ? bytes(v, section) : 0;
}

static void bind(sx_view *v, const void *const base[SX_SECTIONS])
{
    sx_pgm *t = &v->of.pgm;

    t->segment_keys = base[SX_SEC_SEGMENTS];
    t->segments = t->segment_keys ? t->segment_keys + sx_segment_key_bytes(t, v->width) : NULL;
}

static void explain(const sx_view *v, const sx_spec *spec, sx_text *text, sx_format format)
{
    const sx_pgm *t = &v->of.pgm;

    (void)spec;
    if (format == SX_JSON)
        sx_text_add(text, ", \"eps\": %u, \"eps2\": %u, \"cuts\": %u, \"concise\": %s, "
                    "\"segments\": [", t->eps, t->eps2, t->cuts, t->concise ? "true" : "false");
    else
        sx_text_add(text, "segments wrong by at most %u ranks, inner ones by %u, made in %u part%s; "
                    "in each level:", t->eps, t->eps2, t->cuts, t->cuts == 1 ? "" : "s");
    for (uint32_t l = 0; l < t->levels; l++)
        sx_text_add(text, "%s%" PRIu64, format == SX_TEXT ? " " : l ? ", " : "",
                    t->level_count[l]);
    if (format == SX_JSON)
        sx_text_add(text, "]");
    else
        sx_text_add(text, "%s\n", t->concise ? "; the last is searched at once" : "");
}

static uint32_t levels(const sx_view *v)
{
    return sx_pgm_walk_levels(&v->of.pgm);
}

const sx_family sx_family_pgm = {
    .name = "pgm",
    .what = "sorted array under segments that know its ranks",
    .traits = SX_SLOTS_ARE_RANKS | SX_HAS_UPPER,
    .params = params,
    .sections = {"levels", "segments"},
    .shape = shape,
    .complete = complete,
    .most = most,
    .meta = SX_SEC_LEVELS,
    .bytes = bytes,
    .upper = upper,
    .levels = levels,
    .bind = bind,
    .check = sx_pgm_check,
    .order = "P1",
    .unused = "P2",
    .explain = explain,
    .together = together,
};
