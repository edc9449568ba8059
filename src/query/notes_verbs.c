/* notes_verbs.c - what a caller writes down in an index. */
#include "query/index.h"

#include "base/cancel.h"

sx_status sx_note(sx_index *ix, const char *name, const char *value)
{
    SX_UNCANCELLED;
    sx_err err, inner;
    sx_status st = sx_need(ix, "sx_note", "the index", &err);

    if (st == SX_OK)
        st = sx_need(name, "sx_note", "the name", &err);
    if (st == SX_OK) {
        st = sx_notes_set(&ix->notes, name, value, &inner);
        if (st != SX_OK)
            sx_fail(&err, st, "sx_note: %s", inner.text);
    }
    return sx_report(&err, st);
}

const char *sx_note_of(const sx_index *ix, const char *name)
{
    return ix && name ? sx_notes_find(&ix->notes, name) : NULL;
}

sx_status sx_note_at(const sx_index *ix, unsigned i, const char **name, const char **value)
{
    sx_err err;
    const char *its_name, *its_value;
    sx_status st = sx_need(ix, "sx_note_at", "the index", &err);

    if (st == SX_OK)
        st = sx_need(name, "sx_note_at", "the name", &err);
    if (st == SX_OK)
        st = sx_need(value, "sx_note_at", "the value", &err);
    if (st == SX_OK && !sx_notes_at(&ix->notes, i, &its_name, &its_value)) {
        unsigned count = 0;
        while (sx_notes_at(&ix->notes, count, &its_name, &its_value))
            count++;
        st = sx_fail(&err, SX_EINVAL, "sx_note_at: there is no note number %u: %u notes are there, "
                     "numbered from 0", i, count);
    }
    if (st == SX_OK) {
        *name = its_name;
        *value = its_value;
    }
    return sx_report(&err, st);
}
