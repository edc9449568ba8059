/* time_unit.h - what a number of a time counts, as NumPy has it: datetime64[D] are days since
 * 1970, timedelta64[25s] are durations in steps of 25 seconds.
 *
 * An .npy file says it, and an index keeps it in a note, in NumPy's words: unit=datetime64[D];
 * the Python package does the same. Of keys-as=iso8601 the note is unit=ns. Times of another
 * unit become exact numbers of the wanted one, or there is an error. */
#ifndef CLI_TIME_UNIT_H
#define CLI_TIME_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sextant.h"

typedef struct {
    char kind;                    /* 'M': moments, 'm': durations, 0: nothing is known */
    char word[3];                 /* Y M W D h m s ms us ns ps fs as; "": NumPy's generic one */
    uint32_t count;               /* of these are one step */
} time_unit;

#define TIME_UNIT_MAX 40          /* bytes of a name with its NUL */

/* "datetime64[D]", or as an .npy file has it, "<M8[D]"; false if it is neither. */
bool unit_parse(const char *text, time_unit *out);
void unit_name(time_unit u, char out[TIME_UNIT_MAX]);
void unit_descr(time_unit u, char out[TIME_UNIT_MAX]);   /* "<M8[D]" */

/* The unit of an index's keys; kind 0 if it has no times, or does not say it. */
time_unit unit_of_index(const sx_index *ix);

/* Makes n times of one unit numbers of the other. Fails with a sentence about the file and
 * the first time that there is no such number for. Without a word on either side numbers
 * stay as they are. */
void unit_convert(int64_t *times, uint64_t n, time_unit from, time_unit to,
                  const char *path);

#endif
