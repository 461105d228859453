/* What a search costs on large spaces: time and memory to make the space, to open the default
 * strategy, and of its questions, those that fit the model anew and the others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/err.h"
#include "tune/space.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"

/** Ten parameters as of a tiled product; the last one has as many values as the size asks for. */
static const size_t values_of[] = {8, 8, 8, 5, 5, 2, 2, 2, 1};
enum { PARAMETERS = sizeof values_of / sizeof *values_of, EVALUATIONS = 1000, MARKS = 4 };
static const size_t marks[MARKS] = {50, 200, 500, 1000};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double megabytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void must(int rc, const struct rp_err *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "tune-scale: %s\n", err->text);
    exit(4);
}

static size_t count_of(size_t parameter, size_t configs)
{
    size_t others = 1;

    for (size_t i = 0; i + 1 < PARAMETERS; i++)
        others *= values_of[i];
    return parameter + 1 < PARAMETERS ? values_of[parameter] : (configs + others - 1) / others;
}

static struct rp_space *make(size_t configs)
{
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    uint16_t row[PARAMETERS] = {0};

    for (size_t i = 0; i < PARAMETERS; i++) {
        struct rp_value values[RP_MAX_PARAMETER_VALUES];
        const size_t count = count_of(i, configs);
        char name[8];

        snprintf(name, sizeof name, "p%zu", i);
        for (size_t j = 0; j < count; j++)
            values[j] = (struct rp_value){.kind = RP_VALUE_INTEGER,
                                          .integer = i < 6 ? (int64_t)1 << j : (int64_t)j + 1};
        must(rp_space_add_parameter(space, name, values, count, &err), &err);
    }
    for (size_t i = 0; i < configs; i++) {
        size_t rest = i;

        for (size_t j = PARAMETERS; j-- > 0;) {
            row[j] = (uint16_t)(rest % count_of(j, configs));
            rest /= count_of(j, configs);
        }
        must(rp_space_add(space, row, &err), &err);
    }
    return space;
}

/** Milliseconds: a valley in some parameters, ripples in others. */
static double time_of(const struct rp_space *space, size_t config)
{
    const uint16_t *row = rp_space_row(space, config);
    const double threads = row[0] + row[1] - 6.0, tile = row[2] - row[3] - 2.0;

    return exp(0.2 * threads * threads + 0.1 * tile * tile + 0.3 * (row[4] % 3) + 0.1 * row[5] +
               0.05 * (row[8] % 7));
}

static void measure(size_t configs)
{
    const double start = seconds();
    struct rp_space *space = make(configs);
    const double made = seconds(), before = megabytes();
    const struct rp_strategy *strategy = rp_strategy_number(0);
    const struct rp_strategy_options how = {
        .seed = 1, .most_evaluations = EVALUATIONS, .workers = 1};
    double opened, sum = 0, most = 0, best = HUGE_VAL;
    void *state;
    size_t mark = 0;

    state = strategy->open(space, &how);
    opened = seconds();
    printf("%9zu  %8.2f%8.3f", configs, made - start, opened - made);
    for (size_t i = 1; i <= EVALUATIONS; i++) {
        const double asked = seconds();
        const int64_t config = strategy->ask(state);
        const double took = seconds() - asked, ms = config < 0 ? 0 : time_of(space, (size_t)config);

        if (config < 0)
            break;
        strategy->tell(state, (size_t)config, RP_REPORTED_OK, ms);
        best = ms < best ? ms : best;
        sum += took;
        most = took > most ? took : most;
        if (i == marks[mark]) {
            printf("%8.1f%8.1f", 1e3 * sum / (double)(i - (mark ? marks[mark - 1] : 0)),
                   1e3 * most);
            sum = most = 0;
            mark++;
        }
    }
    printf("%9.1f%9.1f%8.3f\n", before, megabytes(), best);
    strategy->close(state);
    rp_space_free(space);
}

int main(int argc, char **argv)
{
    printf(
        "processor seconds to make the space and to open the search; milliseconds of a question, "
        "mean and most, up to the 50th, 200th, 500th and 1000th;\nmegabytes at most, without and "
        "with the search; the fastest found\n");
    for (int i = 1; i < argc; i++)
        measure(strtoul(argv[i], NULL, 10));
    return argc > 1 ? 0 : 2;
}
