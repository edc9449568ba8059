/* questions.h - what contenders for an index are asked, to see which is faster. */
#ifndef SX_QUESTIONS_H
#define SX_QUESTIONS_H

#include "query/index.h"

#define SX_ASK_ROUNDS 3u

/* Questions are keys of the index in random order, and ranges that begin at such keys. Each
 * round of each contender has its own, since keys that were asked before are in the
 * cache. They come again only after `sets` rounds. All are in memory of the device. */
typedef struct {
    unsigned points, ranges;      /* of one round */
    unsigned sets;                /* rounds that differ; 0: as many as two contenders have */
    unsigned rounds;              /* 0: SX_ASK_ROUNDS */
    unsigned warm;                /* points asked first, untimed, so that an upper part is
                                     in the cache as it is after a while of questions,
                                     whatever was there before */
    unsigned next;                /* set to ask */
    int there;
    void *key, *lo, *hi, *out;
} sx_questions;

/* For contenders that are asked in turn, while others are built. */
#define SX_TRIAL_SETS (4 * SX_ASK_ROUNDS)
#define SX_TRIAL_WARM 16u         /* times the points of a round */

/* Duels: from how many keys on there is anything to measure; and how many points two
 * contenders are asked in about `ns`, within limits. */
uint64_t sx_measured_from(const sx_device *dev);
unsigned sx_question_count(const sx_device *dev, uint64_t ns);

/* From how many keys on `auto` looks at them. */
uint64_t sx_look_from(const sx_device *dev);

/* Contests of several contenders, on a CPU: what each is asked. */
#define SX_POINTS_PER_RANGE 16u   /* whether points and ranges are asked or one kind only */
unsigned sx_contest_points(uint64_t n);
sx_questions sx_contest_questions(unsigned points, unsigned ranges);

/* Picks as many questions as *q says from the keys that v has. They are to be dropped even
 * if it fails. */
sx_status sx_questions_make(sx_device *dev, const sx_view *v, const sx_input *in,
                            sx_questions *q, sx_err *err);
void sx_questions_drop(sx_device *dev, sx_questions *q);
/* Nanoseconds that v takes for the next questions, in the best of some rounds. */
sx_status sx_questions_ask(sx_device *dev, const sx_view *v, const sx_input *in, sx_questions *q,
                           uint64_t *best, sx_err *err);
int sx_clearly_less(uint64_t ns, uint64_t than);

#endif
