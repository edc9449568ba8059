/* matrix.c - see matrix.h.
 *
 * The library says of each cell whether it can be (sx_possible()).
 * test_matrix.c fails if it has not run a cell that can be, so all of these
 * are tested; cells of CUDA are where the tests run on a GPU. */
#include "matrix.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"

enum { FAMILIES_MAX = 32, TYPES_MAX = 32, VERBS_MAX = 32, BACKENDS_MAX = 8, REASONS_MAX = 64 };
enum { PLACES = 4 };
enum { LINE = 100 };

static const char *const places[PLACES] = { "host", "device", "hybrid", "both" };

/* A cell is 0 if it can be, and the number of the reason if it can't. */
typedef struct {
    sx_family_info family[FAMILIES_MAX];
    int type[TYPES_MAX];
    const char *verb[VERBS_MAX];
    char backend[BACKENDS_MAX][64];
    unsigned families, types, verbs, backends, reasons;
    char *reason[REASONS_MAX];            /* [0] is not used */
    unsigned char cell[FAMILIES_MAX][TYPES_MAX][VERBS_MAX][PLACES][BACKENDS_MAX];
} matrix;

/* ---- what the library says ------------------------------------------------- */

static void expect_space(unsigned n, unsigned most, const char *what)
{
    if (n >= most)
        fail("more than %u %s", most, what);
}

/* The devices' names up to the colon, without repeats. */
static void list_backends(matrix *m)
{
    sx_device_info info = { .size = sizeof info };

    for (unsigned i = 0; sx_device_at(i, &info) == SX_OK; i++) {
        bool known = false;
        info.name[strcspn(info.name, ":")] = '\0';
        for (unsigned b = 0; b < m->backends; b++)
            known = known || strcmp(m->backend[b], info.name) == 0;
        if (known)
            continue;
        expect_space(m->backends, BACKENDS_MAX, "backends");
        strcpy(m->backend[m->backends++], info.name);
    }
}

static void list_axes(matrix *m)
{
    const char *verb;

    m->family[0].size = sizeof m->family[0];
    while (sx_family_at(m->families, &m->family[m->families]) == SX_OK) {
        expect_space(++m->families, FAMILIES_MAX, "families");
        m->family[m->families].size = sizeof m->family[0];
    }
    for (int type = 1; type < TYPES_MAX; type++)
        if (sx_type_bytes(type) || type == SX_STR)
            m->type[m->types++] = type;
    while ((verb = sx_verb_at(m->verbs)) != NULL) {
        m->verb[m->verbs++] = verb;
        expect_space(m->verbs, VERBS_MAX, "verbs");
    }
    list_backends(m);
}

/* The number of a reason; a new reason gets a number. */
static unsigned char number_of(matrix *m, const char *text)
{
    unsigned i = 1;

    while (i <= m->reasons && strcmp(m->reason[i], text) != 0)
        i++;
    if (i > m->reasons) {
        expect_space(i, REASONS_MAX, "reasons");
        m->reason[i] = must_alloc(strlen(text) + 1, 1);
        strcpy(m->reason[i], text);
        m->reasons = i;
    }
    return (unsigned char)i;
}

static unsigned char ask_cell(matrix *m, unsigned f, unsigned t, unsigned v, unsigned p,
                              unsigned b)
{
    sx_status status = sx_possible(m->family[f].name, m->type[t], m->verb[v], places[p],
                                   m->backend[b]);

    if (status == SX_OK)
        return 0;
    if (status != SX_ENOSYS)
        expect_ok(status, NULL);
    return number_of(m, sx_detail());
}

static matrix *make_matrix(void)
{
    matrix *m = must_alloc(1, sizeof *m);

    memset(m, 0, sizeof *m);
    list_axes(m);
    for (unsigned f = 0; f < m->families; f++)
        for (unsigned t = 0; t < m->types; t++)
            for (unsigned v = 0; v < m->verbs; v++)
                for (unsigned p = 0; p < PLACES; p++)
                    for (unsigned b = 0; b < m->backends; b++)
                        m->cell[f][t][v][p][b] = ask_cell(m, f, t, v, p, b);
    return m;
}

static void free_matrix(matrix *m)
{
    for (unsigned i = 1; i <= m->reasons; i++)
        free(m->reason[i]);
    free(m);
}

static bool needs_gpu(const matrix *m, unsigned b)
{
    return strcmp(m->backend[b], "cuda") == 0;
}

/* ---- as JSON ---------------------------------------------------------------- */

static void print_cell_json(FILE *to, const matrix *m, unsigned f, unsigned t, unsigned v,
                            unsigned p, unsigned b)
{
    unsigned why = m->cell[f][t][v][p][b];
    json j = json_line(to);

    json_string(&j, "family", m->family[f].name);
    json_string(&j, "type", sx_type_name(m->type[t]));
    json_string(&j, "verb", m->verb[v]);
    json_string(&j, "place", places[p]);
    json_string(&j, "backend", m->backend[b]);
    json_bool(&j, "tested", why == 0);
    if (why)
        json_string(&j, "why", m->reason[why]);
    else
        json_bool(&j, "needs_gpu", needs_gpu(m, b));
    json_end_line(&j);
}

static void print_json(FILE *to, const matrix *m)
{
    for (unsigned f = 0; f < m->families; f++)
        for (unsigned t = 0; t < m->types; t++)
            for (unsigned v = 0; v < m->verbs; v++)
                for (unsigned p = 0; p < PLACES; p++)
                    for (unsigned b = 0; b < m->backends; b++)
                        print_cell_json(to, m, f, t, v, p, b);
}

/* ---- as text ---------------------------------------------------------------- */

static int column_width(const matrix *m, unsigned b)
{
    return needs_gpu(m, b) ? (int)sizeof "tested (on a GPU) " : (int)sizeof "tested ";
}

/* Words with commas between them, in lines of at most LINE characters. All
 * lines begin where the first does. */
typedef struct {
    FILE *to;
    int begin, used;
} words;

static void add_word(words *w, const char *word, bool first)
{
    if (!first)
        fputc(',', w->to);
    if (!first && w->used + 2 + (int)strlen(word) >= LINE) {
        fprintf(w->to, "\n%*s", w->begin, "");
        w->used = w->begin;
    } else if (!first) {
        fputc(' ', w->to);
        w->used += 2;
    }
    w->used += fprintf(w->to, "%s", word);
}

/* Verbs of a place that behave alike share a row. */
static bool same_verbs(const matrix *m, unsigned f, unsigned t, unsigned p, unsigned v,
                       unsigned other)
{
    return memcmp(m->cell[f][t][v][p], m->cell[f][t][other][p], m->backends) == 0;
}

static void print_row(FILE *to, const matrix *m, unsigned f, unsigned t, unsigned p, unsigned v)
{
    char text[32];
    int used = fprintf(to, "  %-8s", places[p]);

    for (unsigned b = 0; b < m->backends; b++) {
        unsigned why = m->cell[f][t][v][p][b];
        if (why)
            snprintf(text, sizeof text, "no [%u]", why);
        else
            snprintf(text, sizeof text, "tested%s", needs_gpu(m, b) ? " (on a GPU)" : "");
        used += fprintf(to, "%-*s", column_width(m, b), text);
    }
    words w = { to, used, used };
    unsigned alike = 0;
    for (unsigned i = v; i < m->verbs; i++)
        alike += same_verbs(m, f, t, p, v, i);
    for (unsigned i = v; i < m->verbs && alike < m->verbs; i++)
        if (same_verbs(m, f, t, p, v, i))
            add_word(&w, m->verb[i], i == v);
    if (alike == m->verbs)
        add_word(&w, "all", true);
    fputc('\n', to);
}

/* Prints the table of a family's key types that behave as this one does. */
static void print_table(FILE *to, const matrix *m, unsigned f, unsigned t)
{
    words w = { to, 10, 10 };

    fprintf(to, "  %-8s", "keys");
    for (unsigned i = t; i < m->types; i++)
        if (memcmp(m->cell[f][t], m->cell[f][i], sizeof m->cell[f][t]) == 0)
            add_word(&w, sx_type_name(m->type[i]), i == t);
    fprintf(to, "\n  %-8s", "place");
    for (unsigned b = 0; b < m->backends; b++)
        fprintf(to, "%-*s", column_width(m, b), m->backend[b]);
    fprintf(to, "verbs\n");
    for (unsigned p = 0; p < PLACES; p++)
        for (unsigned v = 0; v < m->verbs; v++) {
            unsigned first = 0;
            while (!same_verbs(m, f, t, p, first, v))
                first++;
            if (first == v)
                print_row(to, m, f, t, p, v);
        }
    fputc('\n', to);
}

static void print_summary(FILE *to, const matrix *m)
{
    unsigned tested = 0, on_gpu = 0, impossible = 0;

    for (unsigned f = 0; f < m->families; f++)
        for (unsigned t = 0; t < m->types; t++)
            for (unsigned v = 0; v < m->verbs; v++)
                for (unsigned p = 0; p < PLACES; p++)
                    for (unsigned b = 0; b < m->backends; b++) {
                        bool can = m->cell[f][t][v][p][b] == 0;
                        impossible += !can;
                        on_gpu += can && needs_gpu(m, b);
                        tested += can && !needs_gpu(m, b);
                    }
    fprintf(to, "%u cells (%u families x %u key types x %u verbs x %u places x %u backends): "
            "%u tested,\n%u tested on a GPU, %u impossible\n", tested + on_gpu + impossible,
            m->families, m->types, m->verbs, (unsigned)PLACES, m->backends, tested, on_gpu,
            impossible);
}

static void print_text(FILE *to, const matrix *m)
{
    for (unsigned f = 0; f < m->families; f++) {
        fprintf(to, "%s%s%s: %s (%s)\n", bold(to), m->family[f].name, plain(to),
                m->family[f].what, m->family[f].parameters);
        for (unsigned t = 0; t < m->types; t++) {
            unsigned first = 0;
            while (memcmp(m->cell[f][first], m->cell[f][t], sizeof m->cell[f][t]) != 0)
                first++;
            if (first == t)
                print_table(to, m, f, t);
        }
    }
    for (unsigned i = 1; i <= m->reasons; i++)
        fprintf(to, "[%u] %s\n", i, m->reason[i]);
    fputc('\n', to);
    print_summary(to, m);
}

void print_matrix(FILE *to, bool as_json)
{
    matrix *m = make_matrix();

    (as_json ? print_json : print_text)(to, m);
    free_matrix(m);
}
