/* possible.c - families, verbs, places and devices: what goes together, and
 * why the rest does not. */
#include "query/possible.h"

#include "base/text.h"
#include "query/index.h"

#include <stdio.h>
#include <string.h>

/* Everything that can be done with an index. test_matrix.c does each of these with
 * every index that can be. */
enum { ANYWHERE, OF_PREFIXES, WITH_A_GPU, ON_A_GPU };
static const struct {
    const char *name;
    int where;                    /* OF_PREFIXES: of keys that have some; ON_A_GPU: with
                                     streams */
} verbs[] = {
    {"build", ANYWHERE},
    {"get", ANYWHERE},
    {"rank", ANYWHERE},
    {"floor", ANYWHERE},
    {"ceil", ANYWHERE},
    {"key_at", ANYWHERE},
    {"range_count", ANYWHERE},
    {"range_rows", ANYWHERE},
    {"range_keys", ANYWHERE},
    {"aggregate", ANYWHERE},
    {"prefix", OF_PREFIXES},
    {"climb", ANYWHERE},
    {"check", ANYWHERE},
    {"save", ANYWHERE},
    {"load", ANYWHERE},
    {"device_columns", WITH_A_GPU},
    {"streams", ON_A_GPU},
};
#define VERBS (sizeof verbs / sizeof verbs[0])

/* ---- what goes together ------------------------------------------------------ */

/* Names of the families that have an upper part. */
static void list_upper(sx_text *t)
{
    const char *sep = "";

    for (unsigned i = 0; i < SX_FAMILIES; i++)
        if ((sx_family_of(i)->traits & (SX_HAS_UPPER | SX_CHOSEN)) == SX_HAS_UPPER &&
            !sx_family_of(i)->by) {
            sx_text_add(t, "%s%s", sep, sx_family_of(i)->name);
            sep = ", ";
        }
}

sx_status sx_check_place(uint32_t family, uint32_t place, const sx_backend_kind *kind, sx_err *err)
{
    if (place != SX_PLACE_USUAL && place != SX_PLACE_HOST && !kind->gpu)
        return sx_fail(err, SX_ENOSYS, "place=%s needs a GPU: %s has no memory of its own",
                       sx_place_name(place), kind->name);
    if (place == SX_PLACE_HYBRID && !(sx_family_of(family)->traits & SX_HAS_UPPER)) {
        char list[128] = "";
        sx_text t = {list, sizeof list, 0};
        list_upper(&t);
        return sx_fail(err, SX_ENOSYS, "%s has no upper part for place=hybrid; allowed: %s",
                       sx_family_of(family)->name, list);
    }
    return SX_OK;
}

sx_status sx_check_streams(uint32_t place, const sx_backend_kind *kind, sx_err *err)
{
    if (!kind->gpu)
        return sx_fail(err, SX_ENOSYS, "%s has no streams", kind->name);
    if (place == SX_PLACE_HOST || place == SX_PLACE_HYBRID)
        return sx_fail(err, SX_ENOSYS, "with place=%s the host builds and answers, which has no "
                       "streams", sx_place_name(place));
    return SX_OK;
}

sx_status sx_check_prefixes(int key_type, sx_err *err)
{
    if (key_type == SX_F32 || key_type == SX_F64 || key_type == SX_T64)
        return sx_fail(err, SX_ENOSYS, "keys of %s have no prefixes; allowed: integers, b16, str",
                       sx_type_name(key_type));
    return SX_OK;
}

static sx_status check_verb(unsigned verb, int key_type, uint32_t place,
                            const sx_backend_kind *kind, sx_err *err)
{
    if (verbs[verb].where == OF_PREFIXES)
        return sx_check_prefixes(key_type, err);
    if (verbs[verb].where == WITH_A_GPU && !kind->gpu)
        return sx_fail(err, SX_ENOSYS, "%s has no memory of its own that columns could be in",
                       kind->name);
    return verbs[verb].where == ON_A_GPU ? sx_check_streams(place, kind, err) : SX_OK;
}

/* ---- by their names ------------------------------------------------------------ */

static sx_status find_verb(const char *name, unsigned *out, sx_err *err)
{
    for (*out = 0; *out < VERBS; ++*out)
        if (strcmp(name, verbs[*out].name) == 0)
            return SX_OK;
    return sx_fail(err, SX_EINVAL, "sx_possible: there is no verb '%.40s'; sx_verb_at() lists them",
                   name);
}

static sx_status find_place(const char *name, uint32_t *out, sx_err *err)
{
    for (*out = SX_PLACE_HOST; *out <= SX_PLACE_BOTH; ++*out)
        if (strcmp(name, sx_place_name(*out)) == 0)
            return SX_OK;
    return sx_fail(err, SX_EINVAL, "sx_possible: the place is '%.40s'; allowed: host, device, "
                   "hybrid, both", name);
}

static sx_status possible(const char *text, int key_type, const char *verb_name,
                          const char *place_name, const char *device, sx_err *err)
{
    sx_spec spec;
    unsigned verb;
    uint32_t place;
    const sx_backend_kind *kind;
    const char *args;
    sx_status st = sx_spec_parse(&spec, text, err);

    if (st == SX_OK && !sx_type_of(key_type))
        st = sx_fail(err, SX_EINVAL, "sx_possible: the key type is %d; allowed: %s", key_type,
                     sx_type_list());
    if (st == SX_OK)
        st = find_verb(verb_name, &verb, err);
    if (st == SX_OK)
        st = find_place(place_name, &place, err);
    if (st == SX_OK && spec.place && spec.place != place)
        st = sx_fail(err, SX_EINVAL, "sx_possible: the spec says place=%s, the argument %s",
                     sx_place_name(spec.place), sx_place_name(place));
    if (st == SX_OK)
        st = sx_backend_of(device, &kind, &args, err);
    if (st == SX_OK)
        st = sx_check_place(spec.family, place, kind, err);
    return st == SX_OK ? check_verb(verb, key_type, place, kind, err) : st;
}

sx_status sx_possible(const char *spec, int key_type, const char *verb, const char *place,
                      const char *device)
{
    const struct { const void *argument; const char *name; } needed[] = {
        {spec, "the spec"}, {verb, "the verb"}, {place, "the place"}, {device, "the device"}
    };
    sx_err err;
    sx_status st = SX_OK;

    for (unsigned i = 0; i < sizeof needed / sizeof needed[0] && st == SX_OK; i++)
        st = sx_need(needed[i].argument, "sx_possible", needed[i].name, &err);
    if (st == SX_OK)
        st = possible(spec, key_type, verb, place, device, &err);
    return sx_report(&err, st);
}

/* ---- lists ----------------------------------------------------------------------- */

sx_status sx_family_at(unsigned i, sx_family_info *out)
{
    sx_err err;
    sx_family_info own = {.size = sizeof own}, *info = &own;
    sx_status st = sx_need(out, "sx_family_at", "the output", &err);

    if (st == SX_OK)
        st = sx_check_struct(out, SX_FAMILY_INFO_SIZE_1, "sx_family_at", "sx_family_info", &err);
    if (st == SX_OK && i >= SX_FAMILIES)
        st = sx_fail(&err, SX_EINVAL, "sx_family_at: there is no family number %u; there are %u",
                     i, (unsigned)SX_FAMILIES);
    if (st != SX_OK)
        return sx_report(&err, st);
    sx_text t = {info->parameters, sizeof info->parameters, 0};
    snprintf(info->name, sizeof info->name, "%s", sx_family_listed(i));
    snprintf(info->what, sizeof info->what, "%s", sx_family_of(i)->what);
    info->parameters[0] = '\0';
    sx_family_params(sx_family_of(i), &t);
    sx_give_struct(out, info, sizeof *info);
    return SX_OK;
}

const char *sx_verb_at(unsigned i)
{
    return i < VERBS ? verbs[i].name : NULL;
}
