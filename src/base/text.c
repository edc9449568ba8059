#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void sx_text_add(sx_text *t, const char *format, ...)
{
    size_t used = t->length < t->space ? t->length : t->space;
    va_list args;

    va_start(args, format);
    int n = vsnprintf(t->buf ? t->buf + used : NULL, t->space - used, format, args);
    va_end(args);
    if (n > 0)
        t->length += (size_t)n;
}

void sx_text_fixed(sx_text *t, double x, unsigned decimals)
{
    unsigned long long scale = 1, n;

    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    n = (unsigned long long)(x * (double)scale + 0.5);
    sx_text_add(t, "%llu.%0*llu", n / scale, (int)decimals, n % scale);
}

void sx_text_json(sx_text *t, const char *s)
{
    sx_text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sx_text_add(t, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            sx_text_add(t, "\\u%04x", c);
        else
            sx_text_add(t, "%c", c);
    }
    sx_text_add(t, "\"");
}
