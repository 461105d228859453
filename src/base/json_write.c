#include "base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static uint64_t bit_of(const struct rp_json_writer *json)
{
    return UINT64_C(1) << (json->depth - 1);
}

static void begin_line(struct rp_json_writer *json, size_t blanks)
{
    static const char room[] = "                                ";

    rp_buf_add(json->out, "\n", 1);
    for (; blanks > sizeof room - 1; blanks -= sizeof room - 1)
        rp_buf_add(json->out, room, sizeof room - 1);
    rp_buf_add(json->out, room, blanks);
}

static bool has_lines(const struct rp_json_writer *json)
{
    return json->indent && json->depth && (!json->levels || json->depth <= json->levels);
}

/* Writes everything before the value: comma, line end and key. */
static void begin(struct rp_json_writer *json, const char *key)
{
    const bool follows = json->depth && json->filled & bit_of(json);

    if (follows)
        rp_buf_add(json->out, ",", 1);
    if (json->breaks)
        begin_line(json, json->blanks);
    else if (has_lines(json))
        begin_line(json, (size_t)json->indent * json->depth);
    else if (follows && !json->compact)
        rp_buf_add(json->out, " ", 1);
    json->breaks = false;
    if (json->depth)
        json->filled |= bit_of(json);
    if (!key)
        return;
    rp_buf_add(json->out, "\"", 1);
    rp_escape_json(json->out, key);
    rp_buf_add(json->out, "\": ", json->compact ? 2 : 3);
}

static void open_value(struct rp_json_writer *json, const char *key, bool is_array)
{
    begin(json, key);
    rp_buf_add(json->out, is_array ? "[" : "{", 1);
    if (json->depth == RP_JSON_MOST_DEPTH) {
        json->out->failed = true;
        return;
    }
    json->depth++;
    json->filled &= ~bit_of(json);
    json->arrays &= ~bit_of(json);
    if (is_array)
        json->arrays |= bit_of(json);
}

void rp_json_add_object(struct rp_json_writer *json, const char *key)
{
    open_value(json, key, false);
}

void rp_json_add_array(struct rp_json_writer *json, const char *key)
{
    open_value(json, key, true);
}

void rp_json_end(struct rp_json_writer *json)
{
    const bool is_array = json->arrays & bit_of(json);
    const bool on_lines = has_lines(json) && json->filled & bit_of(json);

    json->depth--;
    if (json->breaks)
        begin_line(json, json->blanks);
    else if (on_lines)
        begin_line(json, (size_t)json->indent * json->depth);
    json->breaks = false;
    rp_buf_add(json->out, is_array ? "]" : "}", 1);
}

void rp_json_break(struct rp_json_writer *json, unsigned blanks)
{
    json->breaks = true;
    json->blanks = blanks;
}

void rp_json_add_text(struct rp_json_writer *json, const char *key, const char *text)
{
    if (!text) {
        rp_json_add_null(json, key);
        return;
    }
    begin(json, key);
    rp_buf_add(json->out, "\"", 1);
    rp_escape_json(json->out, text);
    rp_buf_add(json->out, "\"", 1);
}

/* Documents of millions of numbers are written, and printf would take most of the time. */
static void put_digits(struct rp_buf *buf, bool negative, uint64_t value)
{
    char room[24];
    size_t at = sizeof room;

    do
        room[--at] = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        room[--at] = '-';
    rp_buf_add(buf, room + at, sizeof room - at);
}

void rp_json_add_int(struct rp_json_writer *json, const char *key, int64_t value)
{
    begin(json, key);
    put_digits(json->out, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void rp_json_add_count(struct rp_json_writer *json, const char *key, uint64_t value)
{
    begin(json, key);
    put_digits(json->out, false, value);
}

void rp_json_add_int_if(struct rp_json_writer *json, const char *key, bool known, int64_t value)
{
    if (known)
        rp_json_add_int(json, key, value);
    else
        rp_json_add_null(json, key);
}

void rp_json_add_count_if(struct rp_json_writer *json, const char *key, bool known, uint64_t value)
{
    if (known)
        rp_json_add_count(json, key, value);
    else
        rp_json_add_null(json, key);
}

void rp_json_add_bool(struct rp_json_writer *json, const char *key, bool value)
{
    begin(json, key);
    rp_buf_puts(json->out, value ? "true" : "false");
}

void rp_json_add_null(struct rp_json_writer *json, const char *key)
{
    begin(json, key);
    rp_buf_puts(json->out, "null");
}

/* printf's decimal point may be a comma, or several bytes, in the locale of a host program. */
static void fix_point(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++)
        if (strchr("+-0123456789e", *at))
            *to++ = *at;
        else if (to == text || to[-1] != '.')
            *to++ = '.';
    *to = '\0';
}

void rp_buf_number(struct rp_buf *buf, double value)
{
    char room[40];

    if (value >= 0 && value < 9e15 && value == (double)(int64_t)value) {
        put_digits(buf, false, (uint64_t)value);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(room, sizeof room, "%.*g", digits, value);
        if (strtod(room, NULL) == value)
            break;
    }
    if (isfinite(value))
        fix_point(room);
    rp_buf_puts(buf, room);
}

void rp_json_add_number(struct rp_json_writer *json, const char *key, double value)
{
    if (!isfinite(value)) {
        rp_json_add_null(json, key);
        return;
    }
    begin(json, key);
    rp_buf_number(json->out, value);
}

void rp_json_add_real(struct rp_json_writer *json, const char *key, double value, int digits)
{
    char room[40], *exponent;

    if (!isfinite(value)) {
        rp_json_add_null(json, key);
        return;
    }
    begin(json, key);
    snprintf(room, sizeof room, "%.*g", digits, value);
    fix_point(room);
    exponent = strchr(room, 'e');
    if (!exponent && !strchr(room, '.'))
        strcat(room, ".0");
    if (exponent) { /* "1e+09" is written 1e9. */
        const long power = strtol(exponent + 1, NULL, 10);

        snprintf(exponent + 1, (size_t)(room + sizeof room - exponent - 1), "%ld", power);
    }
    rp_buf_puts(json->out, room);
}

void rp_json_add_json(struct rp_json_writer *json, const char *key, const char *fmt, ...)
{
    va_list ap;

    begin(json, key);
    va_start(ap, fmt);
    rp_buf_vprintf(json->out, fmt, ap);
    va_end(ap);
}

double rp_round6(double value)
{
    double rounded = round(value * 1e6) / 1e6;

    return isfinite(rounded) ? rounded : value;
}
