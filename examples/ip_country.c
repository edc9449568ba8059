/* ip_country.c - from an address to the country of its network.
 *
 *     cc ip_country.c $(pkg-config --cflags --libs sextant) -o ip_country
 *     ./ip_country 8.8.8.8 192.0.2.77 1.1.1.1
 *
 * The table has where each block of addresses begins and ends. An index over the
 * beginnings finds the last one at or below an address; the end says whether the
 * address still belongs to the block. */
#include <arpa/inet.h>
#include <sextant.h>
#include <stdio.h>
#include <stdlib.h>

static const struct { const char *first, *last, *country; } blocks[] = {
    { "8.0.0.0", "8.127.255.255", "US" },
    { "81.200.64.0", "81.200.79.255", "DE" },
    { "192.0.2.0", "192.0.2.255", "documentation" },
    { "133.0.0.0", "133.255.255.255", "JP" },
};
enum { BLOCKS = sizeof blocks / sizeof *blocks, MOST = 64 };

/* Addresses in the byte order of the machine, so that numbers are in order. */
static uint32_t address(const char *text)
{
    struct in_addr a;

    if (inet_pton(AF_INET, text, &a) != 1) {
        fprintf(stderr, "'%s' is not an IPv4 address\n", text);
        exit(2);
    }
    return ntohl(a.s_addr);
}

static void must(sx_status status)
{
    if (status != SX_OK) {
        fprintf(stderr, "%s\n", sx_detail());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    uint32_t first[BLOCKS], query[MOST], row[MOST];
    uint32_t n = argc - 1 < MOST ? (uint32_t)(argc - 1) : MOST;
    sx_column keys = { .type = SX_U32, .n = BLOCKS, .data = first };
    sx_column queries = { .type = SX_U32, .n = n, .data = query };
    sx_column rows = { .type = SX_U32, .n = n, .data = row };
    sx_device *device;
    sx_index *index;

    for (unsigned i = 0; i < BLOCKS; i++)
        first[i] = address(blocks[i].first);
    for (uint32_t i = 0; i < n; i++)
        query[i] = address(argv[i + 1]);

    must(sx_open(&device, NULL));
    must(sx_build(&index, device, "auto", &keys, NULL, NULL));
    must(sx_floor(index, &queries, &rows, NULL, NULL));

    for (uint32_t i = 0; i < n; i++) {
        int known = row[i] != SX_MISS32 && query[i] <= address(blocks[row[i]].last);

        printf("%s %s\n", argv[i + 1], known ? blocks[row[i]].country : "-");
    }
    sx_free(index);
    sx_close(device);
    return 0;
}
