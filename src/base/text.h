/* text.h - a bounded string that knows how long it wanted to be. */
#ifndef SX_TEXT_H
#define SX_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *buf;                    /* NUL-terminated if space > 0 */
    size_t space;
    size_t length;                /* wanted so far, without the NUL */
} sx_text;

void sx_text_add(sx_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* x with that many decimals, and a point in every locale. */
void sx_text_fixed(sx_text *t, double x, unsigned decimals);
/* s as a JSON string, quotes included, in ASCII. */
void sx_text_json(sx_text *t, const char *s);
/* s as a part of a line, with control characters and backslashes as JSON has them. */
void sx_text_line(sx_text *t, const char *s);

/* The character that s begins with: its code, and as the result its bytes of UTF-8. 0: s
 * begins with none, or is at its end. */
unsigned sx_text_char(const char *s, uint32_t *code);
/* Whether a terminal would obey this character. */
int sx_text_control(uint32_t code);

#endif
