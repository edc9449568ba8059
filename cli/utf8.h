/* utf8.h - which bytes are UTF-8. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stddef.h>

/* The bytes of the UTF-8 character at the text; 0: it is none. length is at least 1. */
size_t utf8_character(const unsigned char *text, size_t length);

#endif
