/* texts.h - columns of strings with known answers, and every question about them. */
#ifndef TEXTS_H
#define TEXTS_H

#include "family/family.h"        /* sx_codes_told: what most tests of strings are done with twice */
#include "oracle_strings.h"
#include "support.h"

typedef enum {
    TEXTS_RANDOM,                 /* any bytes, 0 to 20 of them */
    TEXTS_FEW_BYTES,              /* of two bytes, 0 and another: many begin with others */
    TEXTS_EQUAL,                  /* one string, n times */
    TEXTS_ZEROS,                  /* 0 to n zero bytes */
    TEXTS_NESTED,                 /* each is the one before and a byte more; some twice */
    TEXTS_PATHS,                  /* folders and files below 60 bytes that all share */
    TEXTS_WORDS,                  /* syllables: many share 6 bytes and more */
    TEXTS_DUPLICATES,             /* some syllables, each many times */
    TEXTS_TIED,                   /* more beginnings of 24 letters than a tree can tell apart */
    TEXTS_WIDE,                   /* each of 256 bytes first, then the same */
    TEXTS_EMPTY,                  /* the empty string, n times */
    TEXTS_KINDS
} texts_kind;

/* Strings and their offsets, in memory that traps behind its end. */
typedef struct {
    uint64_t n, bytes;
    text *of;                     /* point into `data` */
    guard data, offsets;
    unsigned offset_bytes;
} texts;

texts texts_from(uint64_t n, const text *of, unsigned offset_bytes);
texts texts_make(texts_kind kind, uint64_t n, unsigned offset_bytes, rnd *r);
/* Strings that are there, and near those. */
texts texts_near(const texts *keys, uint64_t n, unsigned offset_bytes, rnd *r);
void texts_free(texts *t);
sx_column texts_column(const texts *t);

uint64_t *text_rows(uint64_t n, rnd *r);

/* A CPU of one thread; a group opens it first and closes it last. */
extern sx_device *text_cpu;
int text_cpu_open(void **state);
int text_cpu_close(void **state);

/* Runs a group twice: every family has codes of 4 bytes, and then of 8. How many tests failed. */
#define TEXT_GROUPS(name, tests, setup, teardown)                                               \
    ({                                                                                          \
        int failed_;                                                                            \
        sx_codes_told = 4;                                                                      \
        failed_ = cmocka_run_group_tests_name(name ", codes of 4 bytes", tests, setup, teardown); \
        sx_codes_told = 8;                                                                      \
        failed_ += cmocka_run_group_tests_name(name ", codes of 8 bytes", tests, setup, teardown); \
        failed_;                                                                                \
    })

/* An index as it was built. */
typedef struct {
    const texts *keys;
    const uint64_t *rows;         /* NULL: positions */
    text_oracle *truth;
    uint32_t verbs;               /* done, and right: bit i is sx_verb_at(i) */
    char why[600];
} text_case;

text_case text_case_of(const texts *keys, const uint64_t *rows);
void text_case_free(text_case *c);
sx_status text_build(const text_case *c, sx_device *dev, const char *spec, const sx_call *call,
                     sx_index **out);
/* Every question, about n queries; NULL if all is right, or what is not. */
const char *text_ask(text_case *c, const sx_index *ix, uint64_t n, rnd *r);
/* The same with columns in device memory; streams: also in calls that are queued. */
const char *text_ask_there(text_case *c, const sx_index *ix, sx_device *dev, bool streams,
                           uint64_t n, rnd *r);
/* Climbs from q, through parents of its own choice; dev: with some columns in its memory, or NULL. */
const char *text_climb(text_case *c, const sx_index *ix, sx_device *dev, const texts *q, rnd *r);
void text_note(text_case *c, const char *verb);
/* Says what is wrong, in the case's own words. */
#define WRONG(...) (snprintf(c->why, sizeof c->why, __VA_ARGS__), c->why)

/* A column for strings, its offsets and bytes in memory that traps. */
typedef struct {
    guard data, offsets;
    sx_column given;
} answers;

answers answers_new(uint64_t n, uint64_t bytes, unsigned offset_bytes);
void answers_free(answers *a);
uint64_t offset_of(const answers *a, uint64_t i);
/* Whether these n strings came, one behind the other. */
const char *compare_answers(text_case *c, const answers *a, uint64_t n, const text *want,
                            const char *what);

/* ---- texts_try.c ------------------------------------------------------------------------- */

/* A copy of a column in device memory. */
sx_column text_there(sx_device *dev, sx_column host);
/* A column comes to the host. A queued call is done when a later call on its stream is, as copies
 * within device memory are. */
void text_fetch(sx_device *dev, const sx_column *from, sx_column *to);
/* Fails the test if something is wrong. */
void text_must(const char *wrong, const char *spec, const char *device, uint64_t n, int kind);
bool text_can_be(const char *family, const char *verb, const char *place, const char *device);
/* All kinds of strings with one spec, and through files that are loaded with these flags. Returns
 * the verbs that were done and right. there: it is a device that runs kernels; then there is a third
 * of the kinds, unless SX_MATRIX is full. */
uint32_t text_try(const char *spec, sx_device *dev, const char *device, unsigned load, bool there,
                  rnd *r);
/* Fails the test unless exactly these verbs can be. */
void text_verbs(uint32_t done, const char *family, const char *place, const char *device);
/* The section of this name: where it is in the file, and its bytes. */
unsigned char *text_section(unsigned char *file, const char *name, uint64_t *bytes);
/* Writes any numbers into one of a file's sections of strings, the which-th in turn, and seals it. */
void text_damage(unsigned char *file, size_t bytes, unsigned which, rnd *r);
/* Asks a damaged index everything, about at most 64 strings; answers may be any. */
void text_ask_anything(const sx_index *ix, const texts *q);

#endif
