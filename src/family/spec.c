#include "family/spec.h"

#include "family/family.h"

#include <stdio.h>
#include <string.h>

#define PARAMS 8u                 /* most that a family has */

static const char *const places[] = {"", "host", "device", "hybrid", "both"};
#define PLACES (sizeof places / sizeof places[0])

const char *sx_place_name(uint32_t place)
{
    return places[place];
}

/* ---- reading ---------------------------------------------------------- */

typedef struct {
    const char *text;             /* the whole spec */
    const char *at;
    sx_err *err;
    const char *given[PARAMS];    /* where each was given */
} reader;

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

/* The word here, cut to fit; "" if there is none. */
static void read_word(reader *r, char word[32])
{
    size_t n = 0;

    skip_blanks(r);
    while (is_word(*r->at)) {
        if (n < 31)
            word[n++] = *r->at;
        r->at++;
    }
    word[n] = '\0';
}

static int accept(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return 0;
    r->at++;
    return 1;
}

/* Most characters that sentences show of a text, which may be anything. */
#define SHOWN 60

static sx_status complain(const reader *r, const char *at, const char *what)
{
    return sx_fail(r->err, SX_EINVAL, "spec '%.*s', character %u: %s", SHOWN,
                   r->text, (unsigned)(at - r->text) + 1, what);
}

static sx_status complain_allowed(const reader *r, const char *at,
                                  const char *word, const char *what,
                                  const char *allowed)
{
    char text[320];

    snprintf(text, sizeof text, "%s '%s'; allowed: %s", what, word, allowed);
    return complain(r, at, text);
}

static sx_status unknown_family(const reader *r, const char *at, const char *word)
{
    char list[128];
    sx_text t = {list, sizeof list, 0};

    for (unsigned f = 0; f < SX_FAMILIES; f++)
        if (!sx_family_of(f)->by)
            sx_text_add(&t, "%s%s", f ? ", " : "", sx_family_of(f)->name);
    return complain_allowed(r, at, word, "unknown family", list);
}

static sx_status unknown_param(const reader *r, const char *at,
                               const char *word, const sx_family *family)
{
    char list[128], what[64];
    sx_text t = {list, sizeof list, 0};

    sx_family_params(family, &t);
    if (family->by)
        snprintf(what, sizeof what, "%s with %s= has no parameter", family->name, family->by);
    else
        snprintf(what, sizeof what, "%s has no parameter", family->name);
    return complain_allowed(r, at, word, what, list);
}

static sx_status read_value(reader *r, const sx_param *p, uint32_t *value)
{
    char word[32], list[96], what[64];
    sx_text t = {list, sizeof list, 0};

    skip_blanks(r);
    const char *at = r->at;
    read_word(r, word);
    if (p->words[0]) {
        for (uint32_t i = 0; p->words[i]; i++) {
            if (strcmp(word, p->words[i]) == 0) {
                *value = i;
                return SX_OK;
            }
            sx_text_add(&t, "%s%s", i ? ", " : "", p->words[i]);
        }
    } else {
        uint32_t v = 0;
        size_t n = strspn(word, "0123456789");
        for (size_t i = 0; i < n && i < 9; i++)
            v = v * 10 + (uint32_t)(word[i] - '0');
        if (n > 0 && n < 10 && word[n] == '\0' && v >= p->min && v <= p->max) {
            *value = v;
            return SX_OK;
        }
        sx_text_add(&t, "%u to %u", p->min, p->max);
    }
    snprintf(what, sizeof what, "%s can't be", p->name);
    return complain_allowed(r, at, word, what, list);
}

static sx_status read_params(reader *r, sx_spec *spec)
{
    const sx_family *family = sx_family_of(spec->family);
    const sx_param *params = family->params;
    char word[32];
    sx_status st;

    if (accept(r, ')'))
        return SX_OK;
    do {
        unsigned p = 0;
        skip_blanks(r);
        const char *at = r->at;
        read_word(r, word);
        while (params[p].name && strcmp(word, params[p].name) != 0)
            p++;
        if (!params[p].name)
            return unknown_param(r, at, word, family);
        if (spec->given & params[p].bit)
            return complain_allowed(r, at, word, "given twice:", "once");
        if (!accept(r, '='))
            return complain(r, r->at, "'=' and a value are missing here");
        st = read_value(r, &params[p], (uint32_t *)(void *)((char *)spec + params[p].field));
        if (st != SX_OK)
            return st;
        spec->given |= params[p].bit;
        r->given[p] = at;
    } while (accept(r, ','));
    if (!accept(r, ')'))
        return complain(r, r->at, "',' or ')' is missing here");
    return SX_OK;
}

static sx_status read_words(reader *r, sx_spec *spec)
{
    char word[32];

    for (skip_blanks(r); *r->at; skip_blanks(r)) {
        const char *at = r->at;
        read_word(r, word);
        if (strcmp(word, "unique") == 0 && !spec->unique) {
            spec->unique = 1;
        } else if (strcmp(word, "place") == 0 && !spec->place) {
            uint32_t p = 1;
            if (!accept(r, '='))
                return complain(r, r->at, "'=' and a place are missing here");
            skip_blanks(r);
            at = r->at;
            read_word(r, word);
            while (p < PLACES && strcmp(word, places[p]) != 0)
                p++;
            if (p == PLACES)
                return complain_allowed(r, at, word, "place can't be",
                                        "host, device, hybrid, both");
            spec->place = p;
        } else {
            if (!word[0])
                snprintf(word, sizeof word, "%c", *at);
            return complain_allowed(r, at, word, "unknown or repeated word",
                                    "unique, place=host|device|hybrid|both");
        }
    }
    return SX_OK;
}

/* Where a parameter was given. */
static const char *place_of(const reader *r, const sx_spec *spec, uint32_t bit)
{
    const sx_param *params = sx_family_of(spec->family)->params;
    unsigned p = 0;

    while (params[p].bit != bit)
        p++;
    return r->given[p];
}

/* Whether parameters that are right each by itself go together. */
static sx_status check_together(const reader *r, const sx_spec *spec)
{
    const sx_family *family = sx_family_of(spec->family);
    uint32_t bits[2];
    const char *why = family->together ? family->together(spec, bits) : NULL;

    if (why) {
        const char *a = place_of(r, spec, bits[0]), *b = place_of(r, spec, bits[1]);
        return complain(r, a > b ? a : b, why);
    }
    if (!(spec->given & SX_P_BLOCK))
        return SX_OK;
    if (spec->layout != SX_PAIRS)
        return complain(r, place_of(r, spec, SX_P_BLOCK), "block= goes with layout=pairs only");
    if (spec->block & (spec->block - 1)) {
        char what[80];
        snprintf(what, sizeof what, "block can't be %u; allowed: powers of two up to %u",
                 spec->block, SX_BLOCK_MAX);
        return complain(r, place_of(r, spec, SX_P_BLOCK), what);
    }
    return SX_OK;
}

/* Of the families of one name, of which f is the first: the one whose parameter comes in the
 * parentheses that the reader is at. */
static unsigned family_by(reader r, unsigned f)
{
    char word[32];

    if (!accept(&r, '('))
        return f;
    do {
        read_word(&r, word);
        for (unsigned g = 0; g < SX_FAMILIES; g++)
            if (sx_family_of(g)->by && strcmp(sx_family_of(g)->by, word) == 0 &&
                strcmp(sx_family_of(g)->name, sx_family_of(f)->name) == 0)
                return g;
        r.at += strcspn(r.at, ",)");
    } while (accept(&r, ','));
    return f;
}

sx_status sx_spec_parse(sx_spec *out, const char *text, sx_err *err)
{
    reader r = {text, text, err, {NULL}};
    sx_spec spec = {0};
    char word[32];
    unsigned f = 0;
    sx_status st = SX_OK;

    skip_blanks(&r);
    const char *at = r.at;
    read_word(&r, word);
    while (f < SX_FAMILIES && strcmp(word, sx_family_of(f)->name) != 0)
        f++;
    if (f == SX_FAMILIES)
        return unknown_family(&r, at, word);
    spec.family = family_by(r, f);
    if (accept(&r, '('))
        st = read_params(&r, &spec);
    if (st == SX_OK)
        st = read_words(&r, &spec);
    if (st != SX_OK)
        return st;
    st = check_together(&r, &spec);
    if (st != SX_OK)
        return st;
    *out = spec;
    return SX_OK;
}

/* ---- writing ------------------------------------------------------------ */

void sx_spec_print(const sx_spec *spec, char text[SX_SPEC_MAX])
{
    const sx_family *family = sx_family_of(spec->family);
    sx_text t = {text, SX_SPEC_MAX, 0};
    const char *sep = "(";

    memset(text, 0, SX_SPEC_MAX);
    sx_text_add(&t, "%s", family->name);
    for (const sx_param *p = family->params; p->name; p++) {
        uint32_t v;
        if (!(spec->given & p->bit))
            continue;
        memcpy(&v, (const char *)spec + p->field, sizeof v);
        if (p->words[0])
            sx_text_add(&t, "%s%s=%s", sep, p->name, p->words[v]);
        else
            sx_text_add(&t, "%s%s=%u", sep, p->name, v);
        sep = ",";
    }
    sx_text_add(&t, "%s%s", *sep == ',' ? ")" : "", spec->unique ? " unique" : "");
    if (spec->place)
        sx_text_add(&t, " place=%s", places[spec->place]);
}
