/* question.c - what every verb that asks an index does first and last. */
#include "query/index.h"

#include "base/cancel.h"

sx_status sx_question_begin(sx_question *q, const sx_index *ix, const char *verb)
{
    sx_status st = sx_need(ix, verb, "the index", &q->err);

    q->ix = st == SX_OK ? ix : NULL;
    q->held.now = NULL;
    if (st != SX_OK)
        return st;
    q->cancel = sx_cancel_off(ix->dev->backend->gpu);
    q->held = sx_hold_version(ix);
    return SX_OK;
}

sx_status sx_question_end(sx_question *q, sx_status st)
{
    if (q->ix) {
        sx_let_go(q->ix, &q->held);
        sx_cancel_back(&q->cancel);
    }
    return sx_report(&q->err, st);
}
