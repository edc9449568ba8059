/* calendar.h - days and months of the Gregorian calendar, in the past and the future without
 * end. Day 0 is 1970-01-01. */
#ifndef CLI_CALENDAR_H
#define CLI_CALENDAR_H

#include <stdint.h>

typedef __int128 wide;

typedef struct {
    wide year;
    int month, day;               /* from 1 */
} calendar_day;

/* Whole quotients towards minus infinity. */
wide down(wide a, wide b);

int month_days(wide year, int month);
wide days_of(calendar_day d);     /* |year| is below 2^80 */
calendar_day day_of(wide days);   /* |days| is below 2^80 */

#endif
