/* notation.h - keys as people write them.
 *
 * A notation turns text into a key of one type and back. The index file's notes
 * keep its name (NOTE_KEYS_AS), so that queries are read, and answers printed, as
 * the keys were. Keys without a notation are written as value.h says. */
#ifndef CLI_NOTATION_H
#define CLI_NOTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sextant.h"
#include "value.h"

#define NOTE_KEYS_AS "keys-as"    /* names of notes that the tool sets itself */
#define NOTE_UNIT    "unit"       /* of times */

typedef struct {
    const char *name;             /* as --keys-as has it; "": none */
    int types[4];                 /* that keys can have, the first one usually; 0
                                     first: any number, which --type says */
    bool (*parse)(int type, const char *text, size_t length, void *out);
    size_t (*print)(int type, const void *value, char text[VALUE_TEXT_MAX]);
    const char *(*expected)(int type);   /* what parse() takes, for errors */
    const char *unit;             /* a note beside the name; NULL: none */
    bool numbers;                 /* JSON has numbers for it */
    bool networks;                /* keys are networks, questions are addresses */
} notation;

#define NOTATION_CHOICES "dec|hex|ipv4|ipv6|cidr|iso8601|date|uuid|mac|bytes"

/* The notation of a number of NOTATION_CHOICES, from 1 on; 0: none. */
const notation *notation_at(int choice);
/* The notation that an index was built with: fails if this tool does not know it,
 * or the index has another type. */
const notation *notation_of(const sx_index *ix);

/* The type of keys in this notation if the user asks for this one (0: for none);
 * usage error if it can't be. 0: the file has to say it. */
int notation_type(const notation *as, int asked);

/* ---- of several files ------------------------------------------------------ */

/* IPv4 is u32, IPv6 is b16 (notation_net.c). */
bool parse_address(int type, const char *text, size_t length, void *out);
size_t print_address(int type, const void *value, char text[VALUE_TEXT_MAX]);
const char *expected_address(int type);
bool parse_mac(int type, const char *text, size_t length, void *out);
size_t print_mac(int type, const void *value, char text[VALUE_TEXT_MAX]);
const char *expected_mac(int type);

typedef struct {                  /* both ends included; IPv4 in the lower 32 bits */
    unsigned __int128 first, last;
} address_span;
/* A network such as 10.0.0.0/8, or an address. *type: u32 or b16; 0: it becomes
 * what the text is. NULL: all is well; else what the text should have been. */
const char *parse_network(int *type, const char *text, size_t length, address_span *out);

/* Times: nanoseconds since 1970 in UTC, t64 or i64; dates: i32 days
 * (notation_time.c). */
bool parse_time(int type, const char *text, size_t length, void *out);
size_t print_time(int type, const void *value, char text[VALUE_TEXT_MAX]);
const char *expected_time(int type);
bool parse_date(int type, const char *text, size_t length, void *out);
size_t print_date(int type, const void *value, char text[VALUE_TEXT_MAX]);
const char *expected_date(int type);

#endif
