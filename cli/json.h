/* json.h - the one writer of JSON in the tool: an object per line.
 *
 * It is our own because keys and rows go up to 2^64 - 1 and have to arrive
 * exactly; the usual libraries hold integers as signed 64 bits. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "notation.h"

typedef struct {
    FILE *to;
    bool comma;                   /* a member stands before, at this level */
} json;

json json_line(FILE *to);         /* opens a line's object */
void json_end_line(json *j);      /* closes it */

/* Members. A NULL name leaves the name out: an element of an array. */
void json_string(json *j, const char *name, const char *text);
void json_bytes(json *j, const char *name, const char *text, size_t length);
void json_unsigned(json *j, const char *name, uint64_t value);
void json_real(json *j, const char *name, double value); /* null: not finite */
void json_bool(json *j, const char *name, bool value);
void json_null(json *j, const char *name);
/* A key of the type. 16-byte keys are strings of 32 hex digits, and so are
 * "nan", "inf" and "-inf", for which JSON has no number. */
void json_value(json *j, const char *name, int type, const void *value);

/* A key in its notation: a string, unless it is a number as above. */
void json_key(json *j, const char *name, const notation *as, int type,
              const void *value);

void json_begin_object(json *j, const char *name);
void json_end_object(json *j);
void json_begin_array(json *j, const char *name);
void json_end_array(json *j);

/* A member that is JSON text already. */
void json_text(json *j, const char *name, const char *text);

/* Copies JSON text without the blanks between its tokens, so that it fits on
 * a line. */
void json_squeeze(FILE *to, const char *text);

#endif
