/* key_column.h - columns of keys of any type: strings have offsets beside them.
 *
 * A string is the whole line of a text, or the whole field of a table, blanks
 * included, in any bytes. As text it is printed as it is, but in quotes if it has a line
 * end in it or begins with a quote, and among others also if it has a blank. That is for
 * people; what is to be read again is printed as csv. */
#ifndef CLI_KEY_COLUMN_H
#define CLI_KEY_COLUMN_H

#include "io.h"
#include "json.h"

/* Space for n keys; of strings for their offsets alone, see key_again(). */
sx_column key_space(int type, uint64_t n);
void key_free(sx_column *keys);

/* After a question with n results that had `keys` for an output: true if they are
 * strings and more space is needed for them, which is there now: ask again. */
bool key_again(sx_status status, sx_column *keys, uint64_t n);

/* Puts a string behind the others. */
void key_append(growing_column *to, const char *text, size_t length);

typedef enum {
    KEY_ALONE,                    /* on a line, or at its end */
    KEY_LISTED,                   /* blanks are between it and others */
    KEY_CSV                       /* a field of csv */
} key_style;

/* Key i, without a line end; and as a member of an object. */
void key_print(FILE *to, const notation *as, const sx_column *keys, uint64_t i,
               key_style style);
void key_json(json *j, const char *name, const notation *as, const sx_column *keys,
              uint64_t i);

#endif
