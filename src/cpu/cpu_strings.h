/* cpu_strings.h - strings on the CPU: from a column of them to codes (keys/strings.h), and from
 * codes that were found to strings. */
#ifndef SX_CPU_STRINGS_H
#define SX_CPU_STRINGS_H

#include "base/alloc.h"
#include "cpu/cpu_backend.h"

/* ---- cpu_strings_build.c ---------------------------------------------------------------- */

/* Sorts strings, of which there is at least one: fills in keys, which are codes, rows, and all of
 * strings. On failure the caller gives back what is there. */
sx_status sx_cpu_sort_strings(sx_cpu *cpu, const sx_input *in, sx_sorted *s, sx_err *err);
/* The first string that is equal to the next, or n. */
uint64_t sx_cpu_string_repeat(const sx_sorted *s);
/* sx_cpu_once() of strings. */
sx_status sx_cpu_string_once(sx_sorted *s, sx_err *err);
/* A string for a sentence: its beginning, bytes that are not printed as \xHH. */
void sx_cpu_string_print(const sx_strings *s, uint64_t i, char *text, size_t space);

/* ---- cpu_codes.c, cpu_strings.c ------------------------------------------------------------- */

/* Strings that are asked for: those of a column, or some of these, by their numbers. */
typedef struct {
    const sx_slice *of;
    const uint64_t *number;       /* or NULL: all of them, in order */
} sx_asked;

static inline const unsigned char *sx_asked_string(const sx_asked *q, uint64_t i, uint64_t *length)
{
    return sx_slice_string(q->of, q->number ? q->number[i] : i, length);
}

/* The codes of strings [at, at + m), as keys of the view, and what these share with strings of that
 * code. */
void sx_cpu_codes(const sx_cpu *cpu, const sx_view *v, const sx_asked *q, uint64_t at, unsigned m,
                  void *codes, uint64_t *same);
/* The same of all strings of a column, as the backend's table has it. */
void sx_cpu_text_codes(void *self, const sx_views *views, const sx_slice *q, uint64_t n,
                       uint32_t threads, const sx_text_codes *to);
/* Left bounds of these codes become those of the strings, left or right. open[i]: the code at the
 * bound is the string's; where it is not, the bound is right as it is. Says then in open[i] whether
 * there is a string equal to it. m <= SX_CHUNK. */
typedef struct {
    const sx_cpu *cpu;
    const sx_view *v;
    sx_asked q;
    uint64_t at;                  /* the first string of q */
    unsigned m;
    const uint64_t *same;
    unsigned char *open;
    uint64_t *position;
    int rows;                     /* are wanted, and in slots: they come with the strings */
} sx_settle;
void sx_cpu_settle(const sx_settle *job, sx_side side);
/* Left bounds become right ones, where a string is equal. */
void sx_cpu_settle_right(const sx_settle *job);
/* Has the marks at these bounds on their way. */
void sx_cpu_settle_soon(const sx_view *v, const uint64_t *position, unsigned m);

/* A string that is searched for in a run of equal codes, [lo, hi): what is asked, and the string p,
 * at a position in the run, which it is compared with next. */
typedef struct {
    uint64_t lo, hi, at;
    const unsigned char *q, *p;
    uint64_t length, own;
    uint64_t same;                /* bytes that all strings of the run and q share */
    unsigned i;
    int marked;                   /* by marks, not by halves */
} sx_run_search;

#define SX_SEARCHES 32u           /* that go by marks together */

/* Says of each of m <= SX_SEARCHES at which string of its run, of at most SX_MARK_MOST, marks lead. There
 * are n strings, and those that are asked for end at `end`, or before; NULL: none has a byte. */
void sx_cpu_nearest(sx_simd level, const sx_strings *s, uint64_t n, const unsigned char *end,
                    sx_run_search *all, unsigned m);

/* Searches that go by marks together. Strings [from, end) of a job, at most SX_SEARCHES, take three steps,
 * each of which asks for lines that the next one reads. */
typedef struct {
    sx_run_search all[SX_SEARCHES];
    unsigned left;
} sx_marked;
void sx_marked_begin(const sx_settle *job, unsigned from, unsigned end, sx_marked *g);
void sx_marked_ask(const sx_settle *job, sx_marked *g);
void sx_marked_end(const sx_settle *job, sx_marked *g);

sx_status sx_cpu_take_strings(void *self, const sx_views *views, const sx_string_take *job,
                              sx_err *err);

#endif
