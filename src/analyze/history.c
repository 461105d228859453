/* Makes series of results, and judges each. */
#include "analyze/history.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/stats.h"
#include "trace/records.h"

/* This section decides whether the last results of a series differ from those before.
 * docs/how-it-decides.md explains why it is done so. */

/* The error and the allowance for drift are multiplied by this. It was found by simulation: with it
 * no kind of noise in tests/unit/analyze/test_history.c makes more than 1 % of false alarms. */
static const double error_factor = 1.7;
static const double drift_factor = 2;

/* A single result that is so many standard deviations from those before does not fit them. */
static const double odd_from = 3;

/* A result that is so many from both of its neighbours is not used to judge those before. */
static const double alone_from = 6;
enum { LEAST_TO_TAME = 6 };

/* Results from long ago say little about today's machine. */
enum { MOST_BEFORE = 30 };

/* So many of the last results are looked at together. */
static const size_t lengths[] = {2, 3, 5, 8};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST_AFTER = 8 };

/* Divides one series in two. */
struct parted {
    struct rp_versus_shift shift;
    double scatter; /**< standard deviation of a result, of its logarithm */
    double mean;    /**< of the logarithms of those before */
};

static double mean_of_squares(const struct rp_history_point *points, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += points[i].error * points[i].error;
    return sum / (double)count;
}

static double max_tick(const struct rp_history_point *points, size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].tick);
    return most;
}

/* Estimates the standard deviation of a result by the median step from one to the next, which a few
 * odd results do not change. */
static double scatter_of_steps(const double *ms, size_t n)
{
    double steps[MOST_BEFORE] = {0};
    const size_t count = n - 1;

    for (size_t i = 0; i < count; i++)
        steps[i] = fabs(log(ms[i + 1] / ms[i]));
    return 1.4826 / sqrt(2) * rp_median(steps, count);
}

/* A single result far off both of its neighbours on the same side is moved to them, because it
 * would hide any change for as long as it is among those before. */
static void smooth_outliers(double *ms, size_t n)
{
    const double far = n >= LEAST_TO_TAME ? alone_from * scatter_of_steps(ms, n) : 0;
    double before;

    if (!(far > 0))
        return;
    before = ms[0];
    for (size_t i = 1; i + 1 < n; i++) {
        const double x = log(ms[i] / before), y = log(ms[i] / ms[i + 1]), own = ms[i];

        if (x * y > 0 && fmin(fabs(x), fabs(y)) > far)
            ms[i] = sqrt(before * ms[i + 1]);
        before = own;
    }
}

/* Estimates the step of a clock that shows where times repeat, in logarithms; 0: none. */
static double step_of_clock(const double *ms, size_t n)
{
    double sorted[MOST_BEFORE] = {0};
    double least = INFINITY;
    bool repeats = false;

    memcpy(sorted, ms, n * sizeof *sorted);
    rp_sort_numbers(sorted, n);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] > sorted[i - 1])
            least = fmin(least, log(sorted[i] / sorted[i - 1]));
        else
            repeats = true;
    return repeats && isfinite(least) ? least : 0;
}

/* This is done as between two sides of a comparison (analyze/compare.c), but for a few new results,
 * whose scatter is known from those before. */
static struct parted part(const struct rp_history_point *points, size_t before, size_t after)
{
    double ms[MOST_BEFORE + MOST_AFTER] = {0};
    const double n = (double)before, m = (double)after, degrees = n - 2 + m - 1;
    struct parted ret = {.shift = {.degrees = degrees}};
    struct rp_trend old, new;
    double squares = 0, spread, of_new, step, r;

    for (size_t i = 0; i < before + after; i++)
        ms[i] = points[i].ms;
    step = step_of_clock(ms, before);
    smooth_outliers(ms, before);
    old = rp_trend_of(ms, before);
    new = rp_trend_of(ms + before, after);
    for (size_t i = before; i < before + after; i++)
        squares += (log(ms[i]) - new.mean) * (log(ms[i]) - new.mean);
    /* Equal times of a coarse clock still have noise. */
    spread = fmax((old.squares + squares) / degrees, step * step / 12);
    of_new = fmax(spread, mean_of_squares(points + before, after));
    r = rp_trend_dependence(&old, &old, n);
    ret.scatter = sqrt(old.squares / (n - 2));
    ret.mean = old.mean;
    ret.shift.log_ratio = new.mean - old.mean;
    ret.shift.error = error_factor * sqrt((1 + r) / (1 - r) * (spread / n + of_new / m));
    ret.shift.drift = drift_factor * fabs(old.slope) * (n + m) / 2 + step +
                      max_tick(points, before) + max_tick(points + before, after);
    return ret;
}

static struct parted part_at_end(const struct rp_history_point *points, size_t count, size_t after)
{
    const size_t all = count - after, before = all < MOST_BEFORE ? all : MOST_BEFORE;

    return part(points + all - before, before, after);
}

/* Counts the lengths that leave enough results before them. */
static size_t parts_of(size_t count)
{
    size_t ret = 0;

    while (ret < LENGTHS && lengths[ret] + RP_CHANGE_LEAST_BEFORE <= count)
        ret++;
    return ret;
}

/** Says whether the last points differ from those before.
 * @return 0: no, else how many of them */
static size_t change_at_end(const struct rp_history_point *points, size_t count, double alpha,
                            double margin, double *ret_ratio)
{
    const size_t parts = parts_of(count);
    double least = alpha / (double)parts;
    size_t found = 0;

    for (size_t i = 0; i < parts; i++) {
        const struct parted parted = part_at_end(points, count, lengths[i]);
        const double p = rp_versus_p_value(&parted.shift, 1 + margin);

        if (p < least) {
            least = p;
            found = lengths[i];
            *ret_ratio = exp(parted.shift.log_ratio);
        }
    }
    return found;
}

/* Finds the newest result, among two at least, that is farthest from those before. */
static void find_odd(const struct rp_history_point *points, size_t count, double margin,
                     struct rp_change_newest *ret)
{
    const size_t after = RP_CHANGE_LEAST_AFTER;
    const struct parted parted = part_at_end(points, count, after);
    const double least = fmax(odd_from * parted.scatter, log(1 + margin) + parted.shift.drift);
    double farthest = 0;

    for (size_t i = count - after; i < count; i++) {
        const double off = log(points[i].ms) - parted.mean;

        if (fabs(off) <= fmax(least, fabs(farthest)))
            continue;
        farthest = off;
        ret->odd = &points[i];
        ret->odd_ratio = exp(off);
    }
}

bool rp_change_newest(const struct rp_history_point *points, size_t count, double alpha,
                      double margin, struct rp_change_newest *ret)
{
    const size_t parts = parts_of(count);
    double narrowest = INFINITY;

    *ret = (struct rp_change_newest){0};
    for (size_t i = 0; i < parts; i++) {
        const struct parted parted = part_at_end(points, count, lengths[i]);
        const double half = rp_versus_half_interval(&parted.shift, alpha / (double)parts);

        if (half >= narrowest)
            continue;
        narrowest = half;
        ret->low = exp(parted.shift.log_ratio - half);
        ret->high = exp(parted.shift.log_ratio + half);
    }
    if (parts)
        find_odd(points, count, margin, ret);
    return parts > 0;
}

/* A GPU's timestamps have this step, and begin and end each launch; analyze/compare.c has it, too.
 */
static const double tick_ms = 10e-6;

const char *const rp_series_state_names[] = {[RP_SERIES_STEADY] = "steady",
                                             [RP_SERIES_SLOWER] = "slower",
                                             [RP_SERIES_FASTER] = "faster",
                                             [RP_SERIES_UNDECIDED] = "undecided",
                                             [RP_SERIES_ENDED] = "ended"};

void rp_series_list_free(struct rp_series_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->list[i].points);
        free(list->list[i].changes);
    }
    free(list->list);
    free(list->groups);
    *list = (struct rp_series_list){0};
}

/* --- which --------------------------------------------------------------------------------- */

bool rp_history_matches(const char *pattern, const char *text)
{
    return !pattern || fnmatch(pattern, text, 0) == 0;
}

/* "./app" matches every "./app ARGS...", but no "./app2". */
static bool is_program(const char *program, const char *wanted)
{
    const size_t len = strlen(wanted);

    return (strncmp(program, wanted, len) == 0 && (!program[len] || program[len] == ' ')) ||
           rp_history_matches(wanted, program);
}

/* KEY=VALUE is a line of the configuration, or a pattern of one. */
static bool has_line(const char *config, const char *wanted)
{
    while (*config) {
        const size_t len = strcspn(config, "\n");
        char *line = strndup(config, len);
        bool found = line && (strcmp(line, wanted) == 0 || rp_history_matches(wanted, line));

        free(line);
        if (found)
            return true;
        config += len + (config[len] == '\n');
    }
    return false;
}

bool rp_history_result_matches(const struct rp_history_result *r,
                               const struct rp_series_filter *filter)
{
    if (filter->commit &&
        (!r->commit || strncmp(r->commit, filter->commit, strlen(filter->commit)) != 0))
        return false;
    if (filter->program && !is_program(r->program, filter->program))
        return false;
    for (size_t i = 0; i < filter->config_count; i++)
        if (!has_line(r->config, filter->config[i]))
            return false;
    /* "hardware" means "hardware*", because nobody types all of it. */
    return !filter->device || rp_history_matches(filter->device, r->device) ||
           strncmp(r->device, filter->device, strlen(filter->device)) == 0;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_of(const struct rp_series *s, const struct rp_history_result *r)
{
    return is_same(s->program, r->program) && is_same(s->device, r->device) &&
           is_same(s->config, r->config);
}

/* The list is being made, and a hash of what distinguishes a series finds its place in it. */
struct growing {
    struct rp_series_list list;
    uint32_t *slots; /**< places + 1 */
    size_t slot_count;
    struct rp_map groups; /**< by what is the same in all series of one */
};

static void growing_free(struct growing *growing)
{
    rp_series_list_free(&growing->list);
    free(growing->slots);
    rp_map_free(&growing->groups);
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 1099511628211u; /* The hash is FNV-1a. */
    return (hash ^ 0xff) * 1099511628211u;
}

/* Finds the slot of a series, or the free one where it belongs. */
static uint32_t *slot_of(const struct growing *growing, const struct rp_history_result *r,
                         const char *kernel)
{
    const uint64_t hash =
        mix(mix(mix(mix(14695981039346656037u, kernel), r->program), r->device), r->config);
    size_t at = (size_t)(hash ^ hash >> 32) & (growing->slot_count - 1);

    for (; growing->slots[at]; at = (at + 1) & (growing->slot_count - 1)) {
        const struct rp_series *s = &growing->list.list[growing->slots[at] - 1];

        if (is_same(s->kernel, kernel) && is_of(s, r))
            break;
    }
    return &growing->slots[at];
}

/* Makes room for one more series, and keeps half of the slots free. */
static bool make_room(struct growing *growing)
{
    struct rp_series_list *list = &growing->list;
    const size_t room = growing->slot_count ? growing->slot_count : 32;
    struct rp_series *grown;
    uint32_t *slots;

    if (list->count < growing->slot_count / 2)
        return true;
    grown = list->count < UINT32_MAX / 4 ? reallocarray(list->list, room, sizeof *grown) : NULL;
    if (!grown)
        return false;
    list->list = grown;
    slots = calloc(2 * room, sizeof *slots);
    if (!slots)
        return false;
    free(growing->slots);
    growing->slots = slots;
    growing->slot_count = 2 * room;
    for (size_t i = 0; i < list->count; i++)
        *slot_of(growing, list->list[i].newest, list->list[i].kernel) = (uint32_t)i + 1;
    return true;
}

/** Writes what is the same in all results of a group; of the device so many bytes. */
static void put_key(struct rp_buf *to, const struct rp_history_result *r, size_t device_bytes)
{
    const char *const texts[] = {r->program ? r->program : "", r->config ? r->config : ""};

    for (size_t i = 0; i < 2; i++)
        rp_buf_add(to, texts[i], strlen(texts[i]) + 1);
    rp_buf_add(to, r->device ? r->device : "", device_bytes);
}

static size_t device_bytes_of(const struct rp_history_result *r)
{
    return r->device ? strlen(r->device) : 0;
}

/** Returns the group of a result; RP_NO_NUMBER: there is none yet. */
static size_t group_of(const struct growing *growing, const struct rp_history_result *r)
{
    rp_autobuf key = {0};

    put_key(&key, r, device_bytes_of(r));
    return key.failed ? RP_NO_NUMBER : rp_map_find(&growing->groups, key.data, key.len);
}

/* A history of a team has a group for each branch that there was, so they are found by a hash.
 * @return false: memory has ended */
static bool find_group(struct growing *growing, const struct rp_history_result *r, size_t *ret)
{
    struct rp_series_list *list = &growing->list;
    struct rp_series_group *grown;
    rp_autobuf key = {0};

    put_key(&key, r, device_bytes_of(r));
    *ret = key.failed ? RP_NO_NUMBER : rp_map_add(&growing->groups, key.data, key.len);
    if (*ret == RP_NO_NUMBER)
        return false;
    if (*ret < list->group_count)
        return true;
    grown = reallocarray(list->groups, list->group_count + 1, sizeof *grown);
    if (!grown)
        return false;
    list->groups = grown;
    list->groups[list->group_count++] = (struct rp_series_group){.first = r, .newest = r};
    return true;
}

static struct rp_series *series_for(struct growing *growing, const struct rp_history_result *r,
                                    const struct rp_history_times *times)
{
    struct rp_series *series;
    uint32_t *slot;
    size_t group;

    if (!make_room(growing))
        return NULL;
    slot = slot_of(growing, r, times->kernel);
    if (*slot)
        return &growing->list.list[*slot - 1];
    if (!find_group(growing, r, &group))
        return NULL;
    series = &growing->list.list[growing->list.count++];
    *slot = (uint32_t)growing->list.count;
    *series = (struct rp_series){.kernel = times->kernel,
                                 .program = r->program,
                                 .device = r->device,
                                 .config = r->config,
                                 .group = group,
                                 .newest = r,
                                 .software = r->software,
                                 .runtime_internal = times->runtime_internal};
    return series;
}

/* --- points -------------------------------------------------------------------------------- */

double rp_history_median(const struct rp_history_times *times)
{
    const size_t n = times->run_count;
    rp_autofree double *sorted = calloc(n + 1, sizeof *sorted);

    if (!sorted || !n)
        return NAN;
    memcpy(sorted, times->runs_ms, n * sizeof *sorted);
    return rp_median(sorted, n);
}

/* The error of a mean is multiplied by 1.25, which gives that of a median with normal noise. */
static int point_of(const struct rp_history_result *r, const struct rp_history_times *times,
                    struct rp_history_point *ret, struct rp_err *err)
{
    const size_t n = times->run_count;
    struct rp_history_point point = {
        .result = r, .ms = rp_history_median(times), .low = INFINITY, .exact = r->software};
    double mean = 0, squares = 0;

    if (isnan(point.ms))
        return rp_out_of_memory(err);
    for (size_t i = 0; i < n; i++) {
        mean += log(times->runs_ms[i]) / (double)n;
        point.low = fmin(point.low, times->runs_ms[i]);
        point.high = fmax(point.high, times->runs_ms[i]);
        point.exact &= times->runs_ms[i] == times->runs_ms[0];
    }
    for (size_t i = 0; i < n; i++)
        squares += (log(times->runs_ms[i]) - mean) * (log(times->runs_ms[i]) - mean);
    if (n > 1)
        point.error = 1.25 * sqrt(squares / (double)(n - 1) / (double)n);
    if (!r->software && !r->wall)
        point.tick = tick_ms * (double)times->launches / point.ms;
    *ret = point;
    return 0;
}

static int add_point(struct growing *growing, const struct rp_history_result *r,
                     const struct rp_history_times *times, struct rp_err *err)
{
    struct rp_series *series = series_for(growing, r, times);
    struct rp_history_point *grown;
    int rc;

    if (!series)
        return rp_out_of_memory(err);
    grown = reallocarray(series->points, series->point_count + 1, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    series->points = grown;
    rc = point_of(r, times, &grown[series->point_count], err);
    series->point_count += rc == 0;
    return rc;
}

/* --- models of time ------------------------------------------------------------------------ */

/* Returns how much of a software device's name comes before its model of time. */
static size_t before_model(const struct rp_history_result *r)
{
    const char *comma = r->software ? strrchr(r->device, ',') : NULL;

    return comma ? (size_t)(comma - r->device) : 0;
}

/* Says whether times are of counts timing, also under the name that it had. */
static bool is_of_counts(const struct rp_history_result *r)
{
    static const char *const names[] = {", counts timing ", ", " RP_TIMING_COUNTS_WAS " timing "};
    const size_t at = before_model(r);

    for (size_t i = 0; at && i < sizeof names / sizeof *names; i++)
        if (strncmp(r->device + at, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/** A group among those of the same program, configuration and device, whatever its model of time.
 */
struct model {
    uint32_t kin;
    struct rp_series_group *group;
    const struct model *last_of_bounds; /**< this one, or the last of its kin before it; NULL */
};

/* Results lie in the order of time. */
static int by_kin(const void *left, const void *right)
{
    const struct model *a = left, *b = right;

    if (a->kin != b->kin)
        return a->kin < b->kin ? -1 : 1;
    return (a->group->newest > b->group->newest) - (a->group->newest < b->group->newest);
}

/* Bounds do not take the place of times, because a regression would no longer be told for one
 * profile with counts timing.
 * @return the last model that had ended when this group began, and whose place it can take; NULL */
static const struct model *replaced_by(const struct rp_series_group *later,
                                       const struct model *models, size_t count)
{
    const struct model *last;
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (models[middle].group->newest < later->first)
            low = middle + 1;
        else
            high = middle;
    }
    last = low ? &models[low - 1] : NULL;
    return last && later->bounds ? last->last_of_bounds : last;
}

/** Finds of each of these what took its place, and the latest whose place it took.
 * @param models of one kin, in the order of their newest results */
static void find_replaced(struct model *models, size_t count)
{
    const struct rp_history_result *latest = NULL, *latest_times = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct rp_series_group *g = models[i].group;

        latest = latest < g->first || !latest ? g->first : latest;
        if (!g->bounds && (!latest_times || latest_times < g->first))
            latest_times = g->first;
        models[i].last_of_bounds = g->bounds ? &models[i] : i ? models[i - 1].last_of_bounds : NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct rp_series_group *g = models[i].group;
        const struct rp_history_result *after = g->bounds ? latest : latest_times;
        const struct model *before = replaced_by(g, models, count);

        g->replaced = after && g->newest < after;
        if (before)
            g->model_before =
                before->group->newest->device + before_model(before->group->newest) + strlen(", ");
    }
}

/** @return false: memory has ended */
static bool find_all_replaced(struct rp_series_list *list)
{
    rp_autofree struct model *models = calloc(list->group_count + 1, sizeof *models);
    rp_cleanup(rp_map_free) struct rp_map kin = {0};
    size_t count = 0;

    for (size_t i = 0; models && i < list->group_count; i++) {
        struct rp_series_group *g = &list->groups[i];
        const size_t length = before_model(g->newest);
        rp_autobuf key = {0};

        g->bounds = is_of_counts(g->first);
        if (!length)
            continue;
        put_key(&key, g->newest, length);
        models[count].kin = key.failed ? RP_NO_NUMBER : rp_map_add(&kin, key.data, key.len);
        models[count].group = g;
        if (models[count++].kin == RP_NO_NUMBER)
            return false;
    }
    if (count)
        qsort(models, count, sizeof *models, by_kin);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && models[end].kin == models[i].kin;)
            end++;
        find_replaced(models + i, end - i);
    }
    return models;
}

static bool put_groups(struct rp_series_list *list)
{
    if (!find_all_replaced(list))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        struct rp_series *s = &list->list[i];

        s->newest = list->groups[s->group].newest;
        s->bounds = list->groups[s->group].bounds;
        s->replaced = list->groups[s->group].replaced;
    }
    return true;
}

int rp_series_of(const struct rp_history *history, const struct rp_series_filter *filter,
                 struct rp_series_list *ret, struct rp_err *err)
{
    rp_cleanup(growing_free) struct growing growing = {0};
    int rc = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct rp_history_result *r = &history->results[i];
        size_t group;

        if (!r->complete || !rp_history_result_matches(r, filter))
            continue;
        for (size_t j = 0; rc == 0 && j < r->times_count; j++)
            if (r->times[j].run_count &&
                rp_history_matches(filter->kernel, r->times[j].kernel ? r->times[j].kernel : ""))
                rc = add_point(&growing, r, &r->times[j], err);
        if (rc < 0)
            return rc;
        group = group_of(&growing, r);
        if (group != RP_NO_NUMBER)
            growing.list.groups[group].newest = r;
    }
    if (!put_groups(&growing.list))
        return rp_out_of_memory(err);
    *ret = growing.list;
    growing.list = (struct rp_series_list){0};
    return 0;
}

/* --- judging ------------------------------------------------------------------------------- */

/* A series is exact if its times are modelled, but no bounds, and most of its results are the same
 * in each run; a few others do not matter. */
static void find_exact(struct rp_series *s)
{
    for (size_t i = 0; i < s->point_count; i++)
        s->inexact += !s->points[i].exact;
    s->exact = s->software && !s->bounds && 2 * s->inexact <= s->point_count;
    if (!s->exact)
        s->inexact = 0;
}

static void put_change(struct rp_series *s, size_t at, size_t found, double ratio)
{
    s->changes[s->change_count++] = (struct rp_change){.at = at, .found = found, .ratio = ratio};
}

/* Compares with the first time since the last change, so that creeping changes are found, too. A
 * result whose runs differ does not serve as that time. */
static void judge_exact(struct rp_series *s, double margin)
{
    const struct rp_history_point *first = NULL;

    for (size_t i = 0; i < s->point_count; i++) {
        const struct rp_history_point *p = &s->points[i];
        double ratio;

        if (!p->exact)
            continue;
        first = first ? first : p;
        ratio = p->ms / first->ms;
        if (ratio <= 1 + margin && ratio >= 1 / (1 + margin))
            continue;
        put_change(s, i, i, ratio);
        first = p;
    }
}

/* Judges as if each result had been checked when it came. */
static void judge_measured(struct rp_series *s, double alpha, double margin)
{
    size_t start = 0;

    for (size_t n = 1; n <= s->point_count; n++) {
        double ratio;
        const size_t after = change_at_end(s->points + start, n - start, alpha, margin, &ratio);

        if (!after)
            continue;
        start = n - after;
        put_change(s, start, n - 1, ratio);
    }
}

static enum rp_series_state state_of_exact(struct rp_series *s, size_t since)
{
    const bool told = s->points[s->point_count - 1].exact;

    if (told && (since >= 2 || s->change_count))
        return RP_SERIES_STEADY;
    s->missing = told ? 2 - since : 1;
    return RP_SERIES_UNDECIDED;
}

/* Results belong together if they are of the same commit, or have none and were added at the same
 * time, as ten runs of a night are. */
static bool are_of_one_session(const struct rp_history_result *a, const struct rp_history_result *b)
{
    return a->commit || b->commit ? is_same(a->commit, b->commit) : is_same(a->added, b->added);
}

static size_t sessions_from(const struct rp_series *s, size_t at)
{
    size_t sessions = 1;

    for (size_t i = at + 1; i < s->point_count; i++)
        sessions += !are_of_one_session(s->points[i - 1].result, s->points[i].result);
    return sessions;
}

/* Says whether the newest results are nearer to those before the change. Until that is sure,
 * nothing is. */
static bool seems_taken_back(const struct rp_series *s, const struct rp_change *last)
{
    const size_t after = s->point_count - last->at;
    double before = 0;

    if (after < 2 * RP_CHANGE_LEAST_AFTER)
        return false;
    for (size_t i = last->at; i < last->at + RP_CHANGE_LEAST_AFTER; i++)
        before += log(s->points[i].ms / last->ratio) / RP_CHANGE_LEAST_AFTER;
    for (size_t i = s->point_count - RP_CHANGE_LEAST_AFTER; i < s->point_count; i++)
        if (fabs(log(s->points[i].ms) - before) >= fabs(log(last->ratio)) / 2)
            return false;
    return true;
}

/* A series that could have changed by more than the margin is never called steady. */
static enum rp_series_state state_of_measured(struct rp_series *s, size_t since, double alpha,
                                              double margin)
{
    struct rp_change_newest *is = &s->newest_is;

    if (!rp_change_newest(s->points + s->point_count - since, since, alpha, margin, is)) {
        s->missing = RP_CHANGE_LEAST - since;
        return RP_SERIES_UNDECIDED;
    }
    return !is->odd && is->low >= 1 / (1 + margin) && is->high <= 1 + margin ? RP_SERIES_STEADY
                                                                             : RP_SERIES_UNDECIDED;
}

static enum rp_series_state state_of(struct rp_series *s, double alpha,
                                     const struct rp_change_rule *rule)
{
    const struct rp_change *last = s->change_count ? &s->changes[s->change_count - 1] : NULL;
    const size_t since = s->point_count - (last ? last->at : 0);
    bool is_new;

    if (s->replaced || s->points[s->point_count - 1].result != s->newest)
        return RP_SERIES_ENDED;
    if (s->bounds)
        return RP_SERIES_UNDECIDED;
    is_new =
        last && (last->found + 1 == s->point_count || sessions_from(s, last->at) <= rule->recent);
    s->taken_back = is_new && !s->exact && seems_taken_back(s, last);
    if (is_new && !s->taken_back)
        return last->ratio > 1 ? RP_SERIES_SLOWER : RP_SERIES_FASTER;
    return s->exact ? state_of_exact(s, since) : state_of_measured(s, since, alpha, rule->margin);
}

/* Counts by group the series in which a change can be found, because other series in the file, or
 * ended ones, make no verdict less sure. */
static void count_judged(const struct rp_series_list *list, size_t *counts)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct rp_series *s = &list->list[i];

        counts[s->group] += !s->exact && s->point_count >= RP_CHANGE_LEAST &&
                            s->points[s->point_count - 1].result == s->newest;
    }
}

int rp_series_judge(struct rp_series_list *list, const struct rp_change_rule *rule,
                    struct rp_err *err)
{
    rp_autofree size_t *judged = calloc(list->group_count + 1, sizeof *judged);

    if (!judged)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < list->count; i++)
        find_exact(&list->list[i]);
    count_judged(list, judged);
    for (size_t i = 0; i < list->count; i++) {
        struct rp_series *s = &list->list[i];
        const double alpha = rule->alpha / (judged[s->group] ? (double)judged[s->group] : 1);

        s->changes = calloc(s->point_count + 1, sizeof *s->changes);
        if (!s->changes)
            return rp_out_of_memory(err);
        if (s->exact)
            judge_exact(s, rule->exact);
        else if (!s->bounds)
            judge_measured(s, alpha, rule->margin);
        s->state = state_of(s, alpha, rule);
    }
    return 0;
}

/* This section makes a row of the history of a result. */

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

/* Writes everything that has to be the same for times to compare, as a text for people. */
static char *device_of(const struct rp_versus_side *side, const char *model)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, side->software ? "software " : "hardware ");
    if (side->wall)
        rp_buf_puts(&text, "(wall clock) ");
    for (size_t i = 0; i < side->gpu_count; i++)
        put_gpu(&text, &side->gpus[i], i ? " + " : "");
    if (side->software)
        rp_buf_printf(&text, ", %s timing %u", model ? model : "unknown", side->timing_version);
    return rp_buf_steal(&text);
}

static uint64_t launches_of(const struct rp_quantity *metrics)
{
    const struct rp_quantity *q = &metrics[RP_COMPARE_DISPATCHES];

    return q->known && q->value > 0 && q->value < 9e15 ? (uint64_t)q->value : 0;
}

/* @return whether it has usable times; < 0: memory has ended */
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

/* The hash leaves out the time of adding, so that a result which is added twice is found. Modelled
 * times are the same again after a change was taken back, so the runs' wall clocks distinguish
 * them. The model of time has its old name here, by which older histories know their results. */
static int fill_hash(const struct rp_versus_side *side, struct rp_history_result *r,
                     struct rp_err *err)
{
    const char *model = side->timing_model;
    const bool counts = model && strcmp(model, rp_timing_model_today(RP_TIMING_COUNTS_WAS)) == 0;
    rp_autofree char *device = device_of(side, counts ? RP_TIMING_COUNTS_WAS : model);
    rp_autobuf text = {0};

    if (!device)
        return rp_out_of_memory(err);
    put_field(&text, r->commit);
    put_field(&text, r->config);
    put_field(&text, r->program);
    put_field(&text, device);
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
                                  .complete = !side->incomplete && !side->failed && !side->part};
    int rc = 0;

    r.device = device_of(side, side->timing_model);
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

/* This section reads times as RFC 3339 writes them. */

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
static int part_of_text(const char **at, char mark, int count)
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
    hours = part_of_text(at, 0, 2);
    minutes = hours < 0 ? -1 : part_of_text(at, ':', 2);
    *ret_minutes = sign * (60 * hours + minutes);
    return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

static bool read_time(const char *at, struct tm *ret, int *ret_minutes)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = part_of_text(&at, 0, 4);
    int month = year < 0 ? -1 : part_of_text(&at, '-', 2);
    int day = month < 0 ? -1 : part_of_text(&at, '-', 2);
    int hour, minute, second;

    if (day < 1 || month < 1 || month > 12 || (*at != 'T' && *at != 't' && *at != ' '))
        return false;
    if (day > days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 || year % 400 == 0)))
        return false;
    at++;
    hour = part_of_text(&at, 0, 2);
    minute = hour < 0 ? -1 : part_of_text(&at, ':', 2);
    second = minute < 0 ? -1 : part_of_text(&at, ':', 2);
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
