/* as_of.c - time series: which price was valid at a moment, and how many came in an hour.
 *
 *     cc as_of.c $(pkg-config --cflags --libs sextant) -o as_of
 *     ./as_of
 *
 * Keys are times, in seconds here, and need not be in order. sx_floor() finds the
 * last one at or before each moment, also among equal ones; sx_range_count() counts. */
#include <sextant.h>
#include <stdio.h>
#include <stdlib.h>

static void must(sx_status status)
{
    if (status != SX_OK) {
        fprintf(stderr, "%s\n", sx_detail());
        exit(1);
    }
}

int main(void)
{
    /* Ticks as they came in, some late. */
    int64_t when[] = { 36000, 36030, 36010, 39700, 36030, 43200 };
    double price[] = { 101.5, 101.7, 101.6, 102.0, 101.8, 99.9 };
    /* Moments to ask about: before the first tick, at one, between two, behind all. */
    int64_t moment[] = { 35999, 36030, 39699, 99999 };
    int64_t from[] = { 36000, 39600 }, to[] = { 39599, 43199 };    /* both included */
    uint32_t row[4];
    uint64_t count[2];
    sx_column keys = { .type = SX_I64, .n = 6, .data = when };
    sx_column moments = { .type = SX_I64, .n = 4, .data = moment };
    sx_column rows = { .type = SX_U32, .n = 4, .data = row };
    sx_column lo = { .type = SX_I64, .n = 2, .data = from };
    sx_column hi = { .type = SX_I64, .n = 2, .data = to };
    sx_column counts = { .type = SX_U64, .n = 2, .data = count };
    sx_ranges hours = { .size = sizeof hours, .lo = &lo, .hi = &hi };
    sx_device *device;
    sx_index *index;

    must(sx_open(&device, NULL));
    must(sx_build(&index, device, "auto", &keys, NULL, NULL));

    must(sx_floor(index, &moments, &rows, NULL, NULL));
    for (int i = 0; i < 4; i++)
        if (row[i] == SX_MISS32)
            printf("%lld: no price yet\n", (long long)moment[i]);
        else
            printf("%lld: %.1f since %lld\n", (long long)moment[i], price[row[i]],
                   (long long)when[row[i]]);

    must(sx_range_count(index, &hours, &counts, NULL));
    for (int i = 0; i < 2; i++)
        printf("%lld to %lld: %llu ticks\n", (long long)from[i], (long long)to[i],
               (unsigned long long)count[i]);
    sx_free(index);
    sx_close(device);
    return 0;
}
