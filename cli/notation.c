#include "notation.h"

#include <stdio.h>
#include <string.h>

#include "open.h"
#include "say.h"

/* ---- hex: with or without 0x ------------------------------------------------ */

static bool parse_hex_key(int type, const char *text, size_t length, void *out)
{
    bool prefix = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    uint64_t value;

    if (type == SX_B16)
        return parse_b16(text, length, out);
    if (!parse_hex(text + 2 * prefix, length - 2 * prefix, &value))
        return false;
    if (type == SX_U64)
        *(uint64_t *)out = value;
    else
        *(uint32_t *)out = (uint32_t)value;
    return type == SX_U64 || value <= UINT32_MAX;
}

static size_t print_hex_key(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    if (type == SX_B16)
        return value_print(type, value, text);
    return (size_t)snprintf(text, VALUE_TEXT_MAX, "0x%llx", type == SX_U64
                            ? (unsigned long long)*(const uint64_t *)value
                            : (unsigned long long)*(const uint32_t *)value);
}

static const char *expected_hex(int type)
{
    return type == SX_B16 ? "32 hexadecimal digits"
           : type == SX_U64 ? "a hexadecimal number (up to 16 digits)"
                            : "a hexadecimal number (up to ffffffff)";
}

/* ---- uuid -------------------------------------------------------------------- */

static size_t print_uuid(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    char digits[VALUE_TEXT_MAX];

    value_print(type, value, digits);
    return (size_t)snprintf(text, VALUE_TEXT_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", digits,
                            digits + 8, digits + 12, digits + 16, digits + 20);
}

static bool parse_uuid(int type, const char *text, size_t length, void *out)
{
    (void)type;
    return parse_b16(text, length, out);
}

static const char *expected_uuid(int type)
{
    (void)type;
    return "a UUID (32 hexadecimal digits, or 8-4-4-4-12 of them)";
}

/* ---- bytes: short text in 16 bytes ---------------------------------------------
 *
 * Zeros fill up the 16 bytes, so the order is that of the text's bytes. A control
 * character would break lines of answers. */

static bool parse_bytes(int type, const char *text, size_t length, void *out)
{
    (void)type;
    if (!length || length > 16)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    memset(out, 0, 16);
    memcpy(out, text, length);
    return true;
}

static size_t print_bytes(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    size_t length = strnlen(value, 16);

    (void)type;
    memcpy(text, value, length);
    text[length] = 0;
    return length;
}

static const char *expected_bytes(int type)
{
    (void)type;
    return "a text of 1 to 16 bytes without control characters";
}

/* ---- the list ------------------------------------------------------------------- */

/* In the order of NOTATION_CHOICES, behind the one without a name. */
static const notation notations[] = {
    { "", { 0 }, value_parse, value_print, value_expected, NULL, true, false },
    { "dec", { 0 }, value_parse, value_print, value_expected, NULL, true, false },
    { "hex", { SX_U64, SX_U32, SX_B16 }, parse_hex_key, print_hex_key, expected_hex,
      NULL, false, false },
    { "ipv4", { SX_U32 }, parse_address, print_address, expected_address, NULL, false,
      false },
    { "ipv6", { SX_B16 }, parse_address, print_address, expected_address, NULL, false,
      false },
    { "cidr", { SX_U32, SX_B16 }, parse_address, print_address, expected_address, NULL,
      false, true },
    { "iso8601", { SX_T64, SX_I64 }, parse_time, print_time, expected_time, "ns", false, false },
    { "date", { SX_I32 }, parse_date, print_date, expected_date, "D", false, false },
    { "uuid", { SX_B16 }, parse_uuid, print_uuid, expected_uuid, NULL, false, false },
    { "mac", { SX_U64 }, parse_mac, print_mac, expected_mac, NULL, false, false },
    { "bytes", { SX_B16 }, parse_bytes, print_bytes, expected_bytes, NULL, false, false },
};

enum { NOTATIONS = sizeof notations / sizeof *notations };

const notation *notation_at(int choice)
{
    return &notations[choice];
}

static bool has_type(const notation *as, int type)
{
    if (!as->types[0])            /* numbers; without a notation, anything */
        return !as->name[0] || (type != SX_B16 && type != SX_STR);
    for (unsigned i = 0; i < sizeof as->types / sizeof *as->types; i++)
        if (as->types[i] == type)
            return true;
    return false;
}

const notation *notation_of(const sx_index *ix)
{
    const char *name = sx_note_of(ix, NOTE_KEYS_AS);
    int type = describe(ix).key_type;

    if (type == SX_STR)
        fail("the index has keys of type str, which this tool only describes: explain, verify");
    if (!name)
        return &notations[0];
    for (unsigned i = 1; i < NOTATIONS; i++)
        if (!strcmp(notations[i].name, name)) {
            if (!has_type(&notations[i], type))
                fail("the index has %s keys, and its note " NOTE_KEYS_AS "=%s does not "
                     "fit them", sx_type_name(type), name);
            return &notations[i];
        }
    fail("the index has keys written as '%s', which this tool does not know: %s", name,
         NOTATION_CHOICES);
}

int notation_type(const notation *as, int asked)
{
    if (!asked)
        return as->types[0];
    if (!has_type(as, asked))
        fail_usage("--keys-as %s is not for --type %s", as->name, sx_type_name(asked));
    return asked;
}
