/* text.h - a bounded string that knows how long it wanted to be. */
#ifndef SX_TEXT_H
#define SX_TEXT_H

#include <stddef.h>

typedef struct {
    char *buf;                    /* NUL-terminated if space > 0 */
    size_t space;
    size_t length;                /* wanted so far, without the NUL */
} sx_text;

void sx_text_add(sx_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* x with so many decimals, and a point whatever the locale. */
void sx_text_fixed(sx_text *t, double x, unsigned decimals);
/* s as a JSON string, quotes included. */
void sx_text_json(sx_text *t, const char *s);

#endif
