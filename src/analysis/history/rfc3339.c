/* Times of day as RFC 3339 writes them. */
#include "rocm-perf/changes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

/* @return the number in @p count digits, -1 for other text */
static int digits(const char **at, int count)
{
    int value = 0;

    for (; count; count--, ++*at) {
        if (!isdigit((unsigned char)**at))
            return -1;
        value = 10 * value + (**at - '0');
    }
    return value;
}

/* @return the number before which @p mark has to stand, -1 for other text */
static int part(const char **at, char mark, int count)
{
    if (mark && *(*at)++ != mark) {
        --*at;
        return -1;
    }
    return digits(at, count);
}

static bool read_zone(const char **at, int *ret_minutes)
{
    int sign = **at == '+' ? 1 : -1, hours, minutes;

    *ret_minutes = 0;
    if (**at == 'Z' || **at == 'z') {
        ++*at;
        return true;
    }
    if (**at != '+' && **at != '-')
        return false;
    ++*at;
    hours = part(at, 0, 2);
    minutes = hours < 0 ? -1 : part(at, ':', 2);
    *ret_minutes = sign * (60 * hours + minutes);
    return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

static bool read_time(const char *at, struct tm *ret, int *ret_minutes)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = part(&at, 0, 4);
    int month = year < 0 ? -1 : part(&at, '-', 2);
    int day = month < 0 ? -1 : part(&at, '-', 2);
    int hour, minute, second;

    if (day < 1 || month < 1 || month > 12 || (*at != 'T' && *at != 't' && *at != ' '))
        return false;
    if (day > days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 || year % 400 == 0)))
        return false;
    at++;
    hour = part(&at, 0, 2);
    minute = hour < 0 ? -1 : part(&at, ':', 2);
    second = minute < 0 ? -1 : part(&at, ':', 2);
    if (hour > 23 || minute > 59 || second < 0 || second > 59)
        return false;
    if (*at == '.' && isdigit((unsigned char)at[1]))
        for (at++; isdigit((unsigned char)*at); at++)
            ;
    *ret = (struct tm){.tm_year = year - 1900,
                       .tm_mon = month - 1,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_sec = second};
    return read_zone(&at, ret_minutes) && !*at;
}

int rp_rfc3339(const char *text, char ret[RP_RFC3339_BYTES], struct rp_err *err)
{
    struct tm parts;
    int minutes;
    time_t seconds;

    if (read_time(text, &parts, &minutes)) {
        seconds = timegm(&parts) - 60 * (time_t)minutes;
        if (gmtime_r(&seconds, &parts) && parts.tm_year >= -1900 && parts.tm_year <= 8099) {
            snprintf(ret, RP_RFC3339_BYTES, "%04u-%02u-%02uT%02u:%02u:%02uZ",
                     ((unsigned)parts.tm_year + 1900) % 10000, ((unsigned)parts.tm_mon + 1) % 100,
                     (unsigned)parts.tm_mday % 100, (unsigned)parts.tm_hour % 100,
                     (unsigned)parts.tm_min % 100, (unsigned)parts.tm_sec % 100);
            return 0;
        }
    }
    return rp_fail(err, RP_USAGE, "%.80s: use a time as 2026-11-23T20:15:00Z", text);
}
