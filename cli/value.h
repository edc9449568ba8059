/* value.h - one key, row or rank as text and back, as its type is usually written.
 * notation.h has other ways to write keys. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every type and notation with its NUL. */
#define VALUE_TEXT_MAX 64

/* Reads a whole text as a value of the type (an sx_type): integers in decimal or
 * 0x..., floats as strtod() takes them, 16-byte keys as 32 hex digits with or
 * without the dashes of a UUID. False if the text is no such value, or out of
 * range. */
bool value_parse(int type, const char *text, size_t length, void *out);

/* Writes the value, NUL-terminated, so that reading it back gives the same
 * value; returns the length. Floats get the fewest digits that do. */
size_t value_print(int type, const void *value, char text[VALUE_TEXT_MAX]);

/* What the type accepts, for an error's sentence: "a u32 (0 to 4294967295)". */
const char *value_expected(int type);

/* True for floats that JSON has no number for. */
bool value_is_not_finite(int type, const void *value);

/* Parts of the above. */
int hex_digit(char c);            /* -1: it is none */
bool parse_hex(const char *text, size_t length, uint64_t *out);
bool parse_b16(const char *text, size_t length, unsigned char out[16]);

#endif
