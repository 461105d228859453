/* A result as a row of the history. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/compare.h"
#include "analyze/history_series.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sha256.h"

static void put_gpu(struct rp_buf *to, const struct rp_versus_gpu *gpu, const char *before)
{
    rp_buf_printf(to, "%s%s", before, gpu->architecture ? gpu->architecture : "unknown GPU");
    if (gpu->product)
        rp_buf_printf(to, " %s", gpu->product);
    if (gpu->compute_units)
        rp_buf_printf(to, ", %llu CUs", (unsigned long long)gpu->compute_units);
    if (gpu->engine_clock_mhz)
        rp_buf_printf(to, ", %llu MHz", (unsigned long long)gpu->engine_clock_mhz);
}

/* All that has to be the same for times to compare, as a text for people. */
static char *device_of(const struct rp_versus_side *side)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, side->software ? "software " : "hardware ");
    if (side->wall)
        rp_buf_puts(&text, "(wall clock) ");
    for (size_t i = 0; i < side->gpu_count; i++)
        put_gpu(&text, &side->gpus[i], i ? " + " : "");
    if (side->software)
        rp_buf_printf(&text, ", %s timing %u", side->timing_model ? side->timing_model : "unknown",
                      side->timing_version);
    return rp_buf_steal(&text);
}

static uint64_t launches_of(const struct rp_quantity *metrics)
{
    const struct rp_quantity *q = &metrics[RP_COMPARE_DISPATCHES];

    return q->known && q->value > 0 && q->value < 9e15 ? (uint64_t)q->value : 0;
}

/* @return whether it has usable times; < 0: no memory */
static int fill(const struct rp_versus_runs *runs, struct rp_history_times *ret)
{
    ret->runs_ms = calloc(runs->count + 1, sizeof *ret->runs_ms);
    if (!ret->runs_ms)
        return -1;
    for (size_t i = 0; i < runs->count; i++)
        if (isfinite(runs->ms[i]) && runs->ms[i] > 0)
            ret->runs_ms[ret->run_count++] = runs->ms[i];
    if (!ret->run_count)
        free(rp_steal(ret->runs_ms));
    return ret->run_count > 0;
}

static int fill_times(const struct rp_versus_side *side, struct rp_history_result *ret,
                      struct rp_err *err)
{
    int found;

    ret->times = calloc(side->kernel_count + 1, sizeof *ret->times);
    if (!ret->times)
        return rp_out_of_memory(err);
    ret->times[0].launches = launches_of(side->metrics);
    found = fill(&side->runs, &ret->times[0]);
    if (found == 0)
        return rp_fail(err, RP_BAD_INPUT, "%s: no run of it has a usable time", side->path);
    ret->times_count = 1;
    for (size_t i = 0; found >= 0 && i < side->kernel_count; i++) {
        const struct rp_versus_kernel *k = &side->kernels[i];
        struct rp_history_times *row = &ret->times[ret->times_count];

        found = fill(&k->runs, row);
        if (found <= 0)
            continue;
        ret->times_count++;
        row->runtime_internal = k->runtime_internal;
        row->launches = launches_of(k->metrics);
        row->kernel = strdup(k->name);
        if (!row->kernel)
            return rp_out_of_memory(err);
    }
    return found < 0 ? rp_out_of_memory(err) : 0;
}

static bool copy(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

static void put_field(struct rp_buf *to, const char *text)
{
    rp_buf_printf(to, "%zu:%s\n", text ? strlen(text) : 0, text ? text : "-");
}

/* Not of the time of adding: what is added twice is found by this. Modelled times of a change that
 * was taken back are those of before it: then only the runs' wall clocks say that it ran again. */
static int fill_hash(const struct rp_versus_side *side, struct rp_history_result *r,
                     struct rp_err *err)
{
    rp_autobuf text = {0};

    put_field(&text, r->commit);
    put_field(&text, r->config);
    put_field(&text, r->program);
    put_field(&text, r->device);
    put_field(&text, r->rocm_version);
    put_field(&text, r->tracer);
    rp_buf_printf(&text, "%d\n", r->complete);
    if (side->walls)
        put_field(&text, side->walls);
    for (size_t i = 0; i < r->times_count; i++) {
        put_field(&text, r->times[i].kernel);
        rp_buf_printf(&text, "%llu", (unsigned long long)r->times[i].launches);
        for (size_t j = 0; j < r->times[i].run_count; j++)
            rp_buf_printf(&text, " %a", r->times[i].runs_ms[j]);
        rp_buf_puts(&text, "\n");
    }
    if (text.failed)
        return rp_out_of_memory(err);
    rp_sha256(text.data, text.len, r->hash);
    return 0;
}

int rp_history_result_of(const struct rp_versus_side *side, const struct rp_history_labels *labels,
                         struct rp_history_result *ret, struct rp_err *err)
{
    const char *program = labels->program ? labels->program : side->command ? side->command : "";
    struct rp_history_result r = {.software = side->software,
                                  .wall = side->wall,
                                  .complete = !side->incomplete && !side->failed};
    int rc = 0;

    r.device = device_of(side);
    if (!r.device || !copy(labels->added, &r.added) || !copy(labels->commit, &r.commit) ||
        !copy(labels->config, &r.config) || !copy(program, &r.program) ||
        !copy(side->rocm_version, &r.rocm_version) || !copy(side->tracer, &r.tracer))
        rc = rp_out_of_memory(err);
    if (rc == 0)
        rc = fill_times(side, &r, err);
    if (rc == 0)
        rc = fill_hash(side, &r, err);
    if (rc < 0) {
        rp_history_result_free(&r);
        return rc;
    }
    *ret = r;
    return 0;
}

/* Times of day as RFC 3339 writes them. */

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
