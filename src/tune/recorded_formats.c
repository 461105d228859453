#include "tune/recorded_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/recorded.h"

/* --- text that is no JSON yet ---------------------------------------------------------------- */

/** Behind the string that begins at at. */
static size_t after_string(const char *text, size_t bytes, size_t at)
{
    for (at++; at < bytes && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < bytes ? at + 1 : bytes;
}

bool rp_json_without_nan(const char *text, size_t bytes, struct rp_buf *ret)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    size_t copied = 0;
    bool any = false;

    for (size_t at = 0; at < bytes;) {
        size_t length = 0;

        if (text[at] == '"') {
            at = after_string(text, bytes, at);
            continue;
        }
        for (size_t i = 0; !length && i < 3; i++)
            if (bytes - at >= strlen(words[i]) &&
                memcmp(text + at, words[i], strlen(words[i])) == 0)
                length = strlen(words[i]);
        if (length) {
            rp_buf_add(ret, text + copied, at - copied);
            rp_buf_puts(ret, "null");
            copied = at + length;
            any = true;
        }
        at += length ? length : 1;
    }
    rp_buf_add(ret, text + copied, bytes - copied);
    return any;
}

/** How far the object of entries goes that are whole. 0: there is none */
static size_t end_of_entries(const char *text, size_t bytes, size_t from)
{
    size_t end = 0;
    int depth = 0;

    for (size_t at = from; at < bytes;) {
        if (text[at] == '"') {
            at = after_string(text, bytes, at);
            continue;
        }
        if (text[at] == '{' || text[at] == '[')
            depth++;
        if (depth == 1 && text[at] == '{' && !end)
            end = at + 1;
        if (text[at] == '}' || text[at] == ']') {
            if (--depth == 0)
                return 0; /* it was closed: something else is wrong with it */
            if (depth == 1)
                end = at + 1;
        }
        at++;
    }
    return end;
}

static size_t find(const char *text, size_t bytes, const char *what)
{
    const char *found = memmem(text, bytes, what, strlen(what));

    return found ? (size_t)(found - text) + strlen(what) : 0;
}

bool rp_kernel_tuner_close(const char *text, size_t bytes, struct rp_buf *ret)
{
    const size_t keys = find(text, bytes, "\"tune_params_keys\"");
    const size_t entries = keys ? find(text + keys, bytes - keys, "\"cache\"") : 0;
    const size_t end = entries ? end_of_entries(text, bytes, keys + entries) : 0;

    if (!end)
        return false;
    rp_buf_add(ret, text, end);
    rp_buf_puts(ret, "}}");
    return true;
}

/* --- parts of an entry ----------------------------------------------------------------------- */

int rp_recorded_set(json_t *object, const char *key, json_t *value, struct rp_err *err)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
    return 0;
}

int rp_recorded_add_parameters(json_t *config, const json_t *names, const json_t *from,
                               struct rp_err *err)
{
    static const char *const ours[] = {
        "runtime_ms",       "runtime_median_ms", "runtime_std_ms", "runtime_min_ms",
        "runtime_first_ms", "compile_ms",        "bench_ms",       "repeats"};

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        json_t *value = name ? json_object_get(from, name) : NULL;

        for (size_t k = 0; name && k < sizeof ours / sizeof *ours; k++)
            if (strcmp(name, ours[k]) == 0)
                return rp_fail(err, RP_BAD_INPUT, "a parameter must not be named %s", name);
        if (value && rp_recorded_set(config, name, json_incref(value), err) < 0)
            return -(int)err->code;
    }
    return 0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int set_time(json_t *config, const char *key, double ms, struct rp_err *err)
{
    return isfinite(ms) && ms >= 0 ? rp_recorded_set(config, key, json_real(ms), err) : 0;
}

int rp_recorded_add_repeats(json_t *config, const json_t *times, double unit_ms, struct rp_err *err)
{
    const size_t count = json_array_size(times);
    rp_autofree double *list = calloc(count + 1, sizeof *list);
    double mean = 0, squares = 0, first;

    if (!list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
    for (size_t i = 0; i < count; i++) {
        if (!json_is_number(json_array_get(times, i)))
            return 0; /* what is no list of times says nothing about them */
        list[i] = json_number_value(json_array_get(times, i)) * unit_ms;
        mean += list[i] / (double)count;
    }
    if (count == 0)
        return 0;
    first = list[0];
    for (size_t i = 0; i < count; i++)
        squares += (list[i] - mean) * (list[i] - mean);
    qsort(list, count, sizeof *list, by_size);
    if (set_time(config, "runtime_median_ms", (list[(count - 1) / 2] + list[count / 2]) / 2, err) <
            0 ||
        set_time(config, "runtime_min_ms", list[0], err) < 0 ||
        set_time(config, "runtime_first_ms", first, err) < 0 ||
        (count > 1 &&
         set_time(config, "runtime_std_ms", sqrt(squares / (double)(count - 1)), err) < 0))
        return -(int)err->code;
    return rp_recorded_set(config, "repeats", json_integer((json_int_t)count), err);
}
