#include "key_column.h"

#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "say.h"

sx_column key_space(int type, uint64_t n)
{
    sx_column keys = column_over(type, n, NULL);

    if (type == SX_STR) {
        keys.offsets = must_alloc(n + 1, 8);
        keys.offset_bytes = 8;
    } else {
        keys.data = must_alloc(n, sx_type_bytes(type));
    }
    return keys;
}

void key_free(sx_column *keys)
{
    free(keys->data);
    free(keys->offsets);
}

bool key_again(sx_status status, sx_column *keys, uint64_t n)
{
    uint64_t needed;

    if (status != SX_ESPACE || keys->type != SX_STR)
        return false;
    needed = ((const uint64_t *)keys->offsets)[n];
    if (needed <= keys->bytes)
        return false;
    keys->data = must_grow(keys->data, needed, 1);
    keys->bytes = needed;
    return true;
}

void key_append(growing_column *to, const char *text, size_t length)
{
    sx_column *c = &to->column;
    uint64_t *offsets;

    if (c->n + 1 >= to->space) {
        to->space += to->space / 2 + (1 << 14);
        c->offsets = must_grow(c->offsets, to->space, 8);
    }
    if (to->bytes_space - c->bytes < length || !c->data) {
        to->bytes_space += to->bytes_space / 2 + length + (1 << 16);
        c->data = must_grow(c->data, to->bytes_space, 1);
    }
    offsets = c->offsets;
    offsets[0] = 0;
    memcpy((char *)c->data + c->bytes, text, length);
    c->bytes += length;
    offsets[++c->n] = c->bytes;
    c->offset_bytes = 8;
}

static const char *string_at(const sx_column *keys, uint64_t i, size_t *length)
{
    const uint64_t *offsets = keys->offsets;

    *length = (size_t)(offsets[i + 1] - offsets[i]);
    return *length ? (const char *)keys->data + offsets[i] : "";
}

static const void *value_at(const sx_column *keys, uint64_t i)
{
    return (const char *)keys->data + i * sx_type_bytes(keys->type);
}

/* Whether people could take it for something else. */
static bool needs_quotes(const char *string, size_t length, bool listed)
{
    return (length && *string == '"') || memchr(string, '\n', length) ||
           memchr(string, '\r', length) ||
           (listed && (!length || memchr(string, ' ', length)));
}

void key_print(FILE *to, const notation *as, const sx_column *keys, uint64_t i,
               key_style style)
{
    char text[VALUE_TEXT_MAX];

    if (keys->type == SX_STR) {
        size_t length;
        const char *string = string_at(keys, i, &length);

        if (style == KEY_CSV)
            csv_print(to, string, length);
        else if (needs_quotes(string, length, style == KEY_LISTED))
            csv_print_quoted(to, string, length);
        else
            fwrite(string, 1, length, to);
        return;
    }
    if (style == KEY_CSV)
        csv_print(to, text, as->print(keys->type, value_at(keys, i), text));
    else
        fwrite(text, 1, as->print(keys->type, value_at(keys, i), text), to);
}

void key_json(json *j, const char *name, const notation *as, const sx_column *keys,
              uint64_t i)
{
    if (keys->type == SX_STR) {
        size_t length;
        const char *string = string_at(keys, i, &length);

        json_bytes(j, name, string, length);
        return;
    }
    json_key(j, name, as, keys->type, value_at(keys, i));
}
