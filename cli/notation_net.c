/* notation_net.c - addresses of networks and of devices. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "notation.h"

/* ---- IPv4 and IPv6 ------------------------------------------------------------ */

/* Four numbers below 256 with dots. A 0 before other digits is refused: some read
 * such numbers as octal ones. */
static bool parse_ipv4(const char *text, size_t length, uint32_t *out)
{
    const char *p = text, *end = text + length;
    uint32_t address = 0;

    for (int part = 0; part < 4; part++) {
        const char *from;
        unsigned value = 0;

        if (part && (p == end || *p++ != '.'))
            return false;
        from = p;
        while (p < end && p - from < 3 && (unsigned)(*p - '0') <= 9)
            value = value * 10 + (unsigned)(*p++ - '0');
        if (p == from || value > 255 || (*from == '0' && p - from > 1))
            return false;
        address = address << 8 | value;
    }
    *out = address;
    return p == end;
}

static bool parse_ipv6(const char *text, size_t length, unsigned char out[16])
{
    char word[INET6_ADDRSTRLEN];

    if (length >= sizeof word || memchr(text, 0, length))
        return false;
    memcpy(word, text, length);
    word[length] = 0;
    return inet_pton(AF_INET6, word, out) == 1;
}

bool parse_address(int type, const char *text, size_t length, void *out)
{
    return type == SX_U32 ? parse_ipv4(text, length, out)
                          : parse_ipv6(text, length, out);
}

size_t print_address(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    if (type == SX_U32) {
        uint32_t a = *(const uint32_t *)value;

        return (size_t)snprintf(text, VALUE_TEXT_MAX, "%u.%u.%u.%u", a >> 24,
                                a >> 16 & 255, a >> 8 & 255, a & 255);
    }
    inet_ntop(AF_INET6, value, text, VALUE_TEXT_MAX);
    return strlen(text);
}

const char *expected_address(int type)
{
    return type == SX_U32 ? "an IPv4 address, such as 192.0.2.7"
                          : "an IPv6 address, such as 2001:db8::7";
}

/* ---- networks ------------------------------------------------------------------ */

static unsigned __int128 number_of(const unsigned char bytes[16])
{
    unsigned __int128 number = 0;

    for (int i = 0; i < 16; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The number of bits behind the slash; -1: it is none. */
static int parse_bits(const char *text, size_t length, int most)
{
    int bits = 0;

    if (!length || length > 3 || (*text == '0' && length > 1))
        return -1;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned)(text[i] - '0') > 9)
            return -1;
        bits = bits * 10 + (text[i] - '0');
    }
    return bits <= most ? bits : -1;
}

const char *parse_network(int *type, const char *text, size_t length, address_span *out)
{
    const char *slash = memchr(text, '/', length);
    size_t address = slash ? (size_t)(slash - text) : length;
    bool v6 = memchr(text, ':', length) != NULL;
    int most = v6 ? 128 : 32, bits = most;
    unsigned __int128 behind;     /* ones in the bits that the network leaves free */
    unsigned char bytes[16];
    uint32_t v4;

    if (*type && (*type == SX_B16) != v6)
        return *type == SX_B16 ? "an IPv6 network, as those before it are"
                               : "an IPv4 network, as those before it are";
    if (v6 ? !parse_ipv6(text, address, bytes) : !parse_ipv4(text, address, &v4))
        return "a network, such as 10.0.0.0/8 or 2001:db8::/32, or an address";
    if (slash)
        bits = parse_bits(slash + 1, length - address - 1, most);
    if (bits < 0)
        return v6 ? "a network with 0 to 128 bits behind the slash"
                  : "a network with 0 to 32 bits behind the slash";
    out->first = v6 ? number_of(bytes) : v4;
    behind = bits == most ? 0 : ~(unsigned __int128)0 >> (128 - most + bits);
    if (out->first & behind)
        return "a network: bits behind its length are not 0";
    out->last = out->first | behind;
    *type = v6 ? SX_B16 : SX_U32;
    return NULL;
}

/* ---- mac ------------------------------------------------------------------------
 *
 * 48 bits: 28:6f:b9:00:1a:2b, with dashes, 286f.b900.1a2b, or digits alone. What is
 * assigned to makers is shorter (24, 28 or 36 bits), and stands for the first
 * address of it: 286FB9 is 28:6f:b9:00:00:00. */

static size_t mac_digits(const char *text, size_t length, char digits[12])
{
    char mark = length > 2 && hex_digit(text[2]) < 0 ? text[2]
                : length > 4 && text[4] == '.' ? '.' : 0;
    size_t each = mark == '.' ? 4 : 2, n = 0, run = 0;

    if (mark && mark != ':' && mark != '-' && mark != '.')
        return 0;
    if (mark == '.' && text[2] == '.')
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (mark && run == each) {
            if (text[i] != mark)
                return 0;
            run = 0;
            continue;
        }
        if (n == 12 || hex_digit(text[i]) < 0)
            return 0;
        digits[n++] = text[i];
        run++;
    }
    if (mark)
        return run == each && (n == 12 || (n == 6 && each == 2)) ? n : 0;
    return n == 6 || n == 7 || n == 9 || n == 12 ? n : 0;
}

bool parse_mac(int type, const char *text, size_t length, void *out)
{
    char digits[12];
    size_t n = mac_digits(text, length, digits);
    uint64_t value;

    (void)type;
    if (!n || !parse_hex(digits, n, &value))
        return false;
    *(uint64_t *)out = value << 4 * (12 - n);
    return true;
}

size_t print_mac(int type, const void *value, char text[VALUE_TEXT_MAX])
{
    uint64_t mac = *(const uint64_t *)value;

    if (mac >> 48)                /* no address: it came from a file of numbers */
        return value_print(type, value, text);
    return (size_t)snprintf(text, VALUE_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x",
                            (unsigned)(mac >> 40), (unsigned)(mac >> 32) & 255,
                            (unsigned)(mac >> 24) & 255, (unsigned)(mac >> 16) & 255,
                            (unsigned)(mac >> 8) & 255, (unsigned)mac & 255);
}

const char *expected_mac(int type)
{
    (void)type;
    return "a MAC address, such as 28:6f:b9:00:1a:2b, or the 6, 7 or 9 digits of a "
           "maker's";
}
