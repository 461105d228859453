#include "cli/isolate_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { MOST_GEOMETRIES = 16 /* captures may be large */ };

/* A whole number up to the next comma, x or end. */
static bool read_number(const char **at, uint64_t least, uint64_t most, uint64_t *ret)
{
    char *end;
    unsigned long long value;

    if (**at < '0' || **at > '9')
        return false;
    value = strtoull(*at, &end, 10);
    if ((size_t)(end - *at) > 19 || value < least || value > most)
        return false;
    *at = end;
    *ret = value;
    return true;
}

static int add(struct rp_isolate_choice *choice, uint64_t number, struct rp_err *err)
{
    size_t at = 0;

    while (at < choice->count && choice->numbers[at] < number)
        at++;
    if (at < choice->count && choice->numbers[at] == number)
        return 0;
    if (choice->count == RP_SNAPSHOT_MAX_NUMBERS)
        return rp_fail(err, RP_USAGE, "--dispatch: no more than %d in one run",
                       RP_SNAPSHOT_MAX_NUMBERS);
    memmove(&choice->numbers[at + 1], &choice->numbers[at],
            (choice->count++ - at) * sizeof *choice->numbers);
    choice->numbers[at] = number;
    return 0;
}

static int make_room(struct rp_isolate_choice *choice, struct rp_err *err)
{
    if (!choice->numbers)
        choice->numbers = calloc(RP_SNAPSHOT_MAX_NUMBERS + 1, sizeof *choice->numbers);
    return choice->numbers ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_isolate_choose_number_of(struct rp_isolate_choice *choice, uint64_t match,
                                struct rp_err *err)
{
    int rc = make_room(choice, err);

    if (rc == 0)
        rc = add(choice, match, err);
    choice->selection.number_count = (uint32_t)choice->count;
    return rc;
}

int rp_isolate_choose_dispatches(struct rp_isolate_choice *choice, const char *word,
                                 struct rp_err *err)
{
    const char *at = word;
    uint64_t number;
    int rc = make_room(choice, err);

    while (rc == 0) {
        if (!read_number(&at, 1, INT64_MAX, &number) || (*at && *at != ','))
            return rp_fail(err, RP_USAGE,
                           "--dispatch %s: use whole numbers with commas between them, 1 being the "
                           "first",
                           word);
        rc = add(choice, number, err);
        if (!*at)
            break;
        at++;
    }
    return rc;
}

int rp_isolate_choose_size(struct rp_isolate_choice *choice, enum rp_snapshot_filter filter,
                           const char *word, struct rp_err *err)
{
    const bool grid = filter == RP_SNAPSHOT_GRID;
    uint64_t numbers[3] = {1, 1, 1};
    const char *at = word;

    for (size_t i = 0; i < 3; i++) {
        if (!read_number(&at, 1, grid ? UINT32_MAX : UINT16_MAX, &numbers[i]))
            break;
        if (!*at) {
            for (size_t k = 0; k < 3; k++)
                (grid ? choice->selection.grid : choice->selection.workgroup)[k] =
                    (uint32_t)numbers[k];
            choice->selection.filters |= filter;
            return 0;
        }
        if (*at != ',' && *at != 'x')
            break;
        at++;
    }
    return rp_fail(err, RP_USAGE, "--%s %s: use X, X,Y or X,Y,Z in work-items%s",
                   grid ? "grid" : "workgroup", word, grid ? ", as isolate --list prints it" : "");
}

int rp_isolate_choose_number(struct rp_isolate_choice *choice, enum rp_snapshot_filter filter,
                             const char *word, struct rp_err *err)
{
    const char *name = filter == RP_SNAPSHOT_QUEUE    ? "queue"
                       : filter == RP_SNAPSHOT_STREAM ? "stream"
                                                      : "gpu";
    uint32_t *to = filter == RP_SNAPSHOT_QUEUE    ? &choice->selection.queue
                   : filter == RP_SNAPSHOT_STREAM ? &choice->selection.stream
                                                  : &choice->selection.gpu;
    const char *at = word;
    uint64_t number;

    if (!read_number(&at, 0, UINT32_MAX - 1, &number) || *at)
        return rp_fail(err, RP_USAGE, "--%s %s: use a whole number, 0 being the %s", name, word,
                       filter == RP_SNAPSHOT_STREAM ? "default stream" : "first");
    *to = (uint32_t)number;
    choice->selection.filters |= filter;
    return 0;
}

int rp_isolate_choose_most(struct rp_isolate_choice *choice, const char *word, struct rp_err *err)
{
    const char *at = word;
    uint64_t number;

    if (!read_number(&at, 1, RP_SNAPSHOT_MAX_NUMBERS, &number) || *at)
        return rp_fail(err, RP_USAGE, "--most %s: use a whole number from 1 to %d", word,
                       RP_SNAPSHOT_MAX_NUMBERS);
    choice->selection.most = (uint32_t)number;
    choice->has_most = true;
    return 0;
}

bool rp_isolate_choice_is_made(const struct rp_isolate_choice *choice)
{
    return choice->numbers || choice->selection.filters || choice->longest ||
           choice->representative || choice->has_most;
}

int rp_isolate_choice_finish(struct rp_isolate_choice *choice, struct rp_err *err)
{
    struct rp_snapshot_selection *s = &choice->selection;
    int rc = 0;

    if (choice->longest && (choice->representative || choice->count))
        return rp_fail(err, RP_USAGE,
                       "--longest chooses one dispatch itself: leave out %s, or narrow its choice "
                       "with --grid, --workgroup, --queue, --stream or --gpu",
                       choice->count ? "--dispatch" : "--representative");
    if (choice->representative && choice->count)
        return rp_fail(err, RP_USAGE,
                       "--representative takes the first dispatch of each geometry: leave out "
                       "--dispatch, or name the geometry with --grid and --workgroup");
    if (choice->has_most && !choice->representative)
        return rp_fail(err, RP_USAGE, "--most is for --representative");
    if (!choice->representative && !choice->longest && choice->count == 0)
        rc = rp_isolate_choose_dispatches(choice, "1", err);
    if (rc < 0)
        return rc;
    s->mode = choice->representative ? RP_SNAPSHOT_GEOMETRIES : RP_SNAPSHOT_NUMBERS;
    if (choice->representative && !choice->has_most)
        s->most = MOST_GEOMETRIES;
    s->number_count = (uint32_t)choice->count;
    choice->several = choice->representative || choice->count > 1;
    return 0;
}

void rp_isolate_choice_free(struct rp_isolate_choice *choice)
{
    free(choice->numbers);
    memset(choice, 0, sizeof *choice);
}
