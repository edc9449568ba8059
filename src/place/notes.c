#include "place/notes.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

/* The block as a text, even where there is none. */
static const char *block_of(const sx_notes *notes)
{
    return notes->text ? notes->text : "";
}

/* The pair behind the one at `text`. */
static const char *next_pair(const char *text)
{
    const char *value = text + strlen(text) + 1;

    return value + strlen(value) + 1;
}

int sx_notes_at(const sx_notes *notes, unsigned i, const char **name, const char **value)
{
    const char *at = block_of(notes), *end = at + notes->bytes;

    while (at < end && i-- > 0)
        at = next_pair(at);
    if (at == end)
        return 0;
    *name = at;
    *value = at + strlen(at) + 1;
    return 1;
}

const char *sx_notes_find(const sx_notes *notes, const char *name)
{
    const char *its, *value;

    for (unsigned i = 0; sx_notes_at(notes, i, &its, &value); i++)
        if (strcmp(its, name) == 0)
            return value;
    return NULL;
}

/* ---- what a note can be ---------------------------------------------------------- */

static sx_status check_name(const char *name, sx_err *err)
{
    size_t bytes = strlen(name);
    uint32_t code;

    if (bytes == 0 || bytes > SX_NOTE_NAME_MOST)
        return sx_fail(err, SX_EINVAL, "the name of a note has %zu bytes; allowed: 1 to %u", bytes,
                       SX_NOTE_NAME_MOST);
    for (unsigned at = 0, n; at < bytes; at += n) {
        n = sx_text_char(name + at, &code);
        if (n == 0)
            return sx_fail(err, SX_EINVAL, "the name of a note is not UTF-8: byte %u is 0x%02x", at,
                           (unsigned char)name[at]);
        if (sx_text_control(code) || code == '=')
            return sx_fail(err, SX_EINVAL, "the name of a note has the character U+%04X at byte "
                           "%u; allowed: all but control characters and '='", code, at);
    }
    return SX_OK;
}

static sx_status check_value(const char *name, const char *value, sx_err *err)
{
    size_t bytes = strlen(value);
    uint32_t code;

    if (bytes > SX_NOTE_VALUE_MOST)
        return sx_fail(err, SX_EINVAL, "the value of note '%s' has %zu bytes; allowed: up to %u",
                       name, bytes, SX_NOTE_VALUE_MOST);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = sx_text_char(value + at, &code);
        if (n == 0)
            return sx_fail(err, SX_EINVAL, "the value of note '%s' is not UTF-8: byte %zu is "
                           "0x%02x", name, at, (unsigned char)value[at]);
    }
    return SX_OK;
}

sx_status sx_notes_check(const sx_notes *notes, sx_err *err)
{
    const char *before = NULL, *name, *value;
    unsigned zeros = 0;
    sx_status st = SX_OK;

    for (uint64_t i = 0; i < notes->bytes; i++)
        zeros += notes->text[i] == '\0';
    if (notes->bytes > SX_NOTES_BYTES_MOST || notes->bytes == 0 ||
        notes->text[notes->bytes - 1] != '\0' || zeros % 2 || zeros > 2 * SX_NOTES_MOST)
        return sx_fail(err, SX_EINVAL, "%u texts in %llu bytes are not the names and values of 1 "
                       "to %u notes", zeros, (unsigned long long)notes->bytes, SX_NOTES_MOST);
    for (unsigned i = 0; st == SX_OK && sx_notes_at(notes, i, &name, &value); i++) {
        st = check_name(name, err);
        if (st == SX_OK)
            st = check_value(name, value, err);
        if (st == SX_OK && before && strcmp(before, name) >= 0)
            st = sx_fail(err, SX_EINVAL, "note '%s' comes before note '%s'", before, name);
        before = name;
    }
    return st;
}

/* ---- setting ----------------------------------------------------------------------- */

/* Adds a text with its 0; returns the place behind it. */
static char *put_text(char *to, const char *text)
{
    size_t bytes = strlen(text) + 1;

    memcpy(to, text, bytes);
    return to + bytes;
}

sx_status sx_notes_set(sx_notes *notes, const char *name, const char *value, sx_err *err)
{
    const char *old = sx_notes_find(notes, name), *begin = block_of(notes), *here = begin;
    const char *end = begin + notes->bytes, *behind, *a, *b;
    uint64_t bytes = notes->bytes;
    unsigned count = 0;
    void *text = NULL;
    sx_status st = check_name(name, err);

    if (st == SX_OK && value)
        st = check_value(name, value, err);
    if (st != SX_OK || (!value && !old))
        return st;
    while (sx_notes_at(notes, count, &a, &b))
        count++;
    if (value && !old && count == SX_NOTES_MOST)
        return sx_fail(err, SX_EINVAL, "note '%s' would be one more than the %u that an index can "
                       "have", name, SX_NOTES_MOST);
    bytes -= old ? strlen(name) + strlen(old) + 2 : 0;
    bytes += value ? strlen(name) + strlen(value) + 2 : 0;
    if (bytes > SX_NOTES_BYTES_MOST)
        return sx_fail(err, SX_EINVAL, "with note '%s' all notes would have %llu bytes; allowed: "
                       "up to %u", name, (unsigned long long)bytes, SX_NOTES_BYTES_MOST);
    if (bytes > 0)
        st = sx_alloc(&text, bytes, "notes", err);
    if (st != SX_OK)
        return st;
    if (bytes > 0) {
        char *to = text;
        while (here < end && strcmp(here, name) < 0)
            here = next_pair(here);
        behind = old ? next_pair(here) : here;
        memcpy(to, begin, (size_t)(here - begin));
        to += here - begin;
        if (value)
            to = put_text(put_text(to, name), value);
        memcpy(to, behind, (size_t)(end - behind));
    }
    sx_notes_drop(notes);
    *notes = (sx_notes){text, bytes};
    return SX_OK;
}

void sx_notes_drop(sx_notes *notes)
{
    sx_release(notes->text);
    *notes = (sx_notes){NULL, 0};
}
