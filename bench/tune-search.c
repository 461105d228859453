/* How many evaluations searches need on recorded spaces: every strategy on every space, again and
 * again with other seeds, by the same loop. What is printed is deterministic, but for the time. */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "tune/recorded_space.h"
#include "tune/space.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"

#include "compared_strategies.h"

enum { MOST_SPACES = 64, MOST_STRATEGIES = 16, MOST_REPETITIONS = 1000, MOST_JOBS = 256 };
/** Of the space, in which the product's search has to end; the others may go on to the end. */
static const double product_share = 0.2, mark_share = 0.05;

struct options {
    size_t repetitions;
    const char *strategies, *spaces; /**< those whose names contain it; NULL: all */
    bool median;                     /**< the objective is the median of repeats, not their mean */
    bool each;                       /**< a line for each search as well */
    uint64_t seed;
    size_t jobs; /**< processes that search at the same time */
};

/** One search of one space. Evaluations are counted from 1; HUGE_VAL: never. */
struct run {
    double within5, within1;
    double at50, at100, at200, at_mark; /**< optimum / best found by then */
    double evaluated, seconds;
};

static double objective(const struct rp_recorded *recorded, size_t config, bool median)
{
    const struct rp_recorded_run *run = &recorded->runs[config];

    return median && run->median_ms > 0 ? run->median_ms : run->runtime_ms;
}

static double optimum_of(const struct rp_recorded *recorded, bool median)
{
    double best = HUGE_VAL;

    for (size_t i = 0; i < recorded->space->count; i++)
        if (recorded->runs[i].ok && objective(recorded, i, median) < best)
            best = objective(recorded, i, median);
    return best;
}

static double processor_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note(struct run *run, size_t evaluated, double found, size_t mark)
{
    const double n = (double)evaluated;

    run->within5 = found >= 1 / 1.05 && n < run->within5 ? n : run->within5;
    run->within1 = found >= 1 / 1.01 && n < run->within1 ? n : run->within1;
    run->at50 = evaluated <= 50 ? found : run->at50;
    run->at100 = evaluated <= 100 ? found : run->at100;
    run->at200 = evaluated <= 200 ? found : run->at200;
    run->at_mark = evaluated <= mark ? found : run->at_mark;
    run->evaluated = n;
}

/** A search that has found the optimum has nothing left to show, but where it would have ended. */
static void search(const struct rp_recorded *recorded, const struct rp_strategy *strategy,
                   const struct options *options, uint64_t seed, struct run *run)
{
    const size_t count = recorded->space->count, mark = (size_t)(mark_share * (double)count);
    const bool product = strategy == rp_strategy_number(0);
    const bool to_the_end = strcmp(strategy->name, "regression") == 0;
    const double optimum = optimum_of(recorded, options->median), start = processor_seconds();
    const struct rp_strategy_options how = {
        .seed = seed,
        .most_evaluations = product ? (size_t)(product_share * (double)count) : count,
        .workers = 1};
    void *state = strategy->open(recorded->space, &how);
    double best = HUGE_VAL;

    *run = (struct run){.within5 = HUGE_VAL, .within1 = HUGE_VAL};
    for (size_t i = 1; i <= how.most_evaluations && (best > optimum || to_the_end); i++) {
        const int64_t config = strategy->ask(state);
        const struct rp_recorded_run *told;

        if (config < 0)
            break;
        told = &recorded->runs[config];
        strategy->tell(state, (size_t)config, told->ok ? RP_REPORTED_OK : RP_REPORTED_FAILED,
                       told->ok ? objective(recorded, (size_t)config, options->median) : 0);
        if (told->ok && objective(recorded, (size_t)config, options->median) < best)
            best = objective(recorded, (size_t)config, options->median);
        note(run, i, best < HUGE_VAL ? optimum / best : 0, mark);
    }
    if (best <= optimum) {
        run->at50 = run->evaluated <= 50 ? 1 : run->at50;
        run->at100 = run->evaluated <= 100 ? 1 : run->at100;
        run->at200 = run->evaluated <= 200 ? 1 : run->at200;
        run->at_mark = run->evaluated <= (double)mark ? 1 : run->at_mark;
    }
    strategy->close(state);
    run->seconds = processor_seconds() - start;
}

/** All repetitions, some in each process. What they find does not depend on how many there are. */
static void search_all(const struct rp_recorded *recorded, const struct rp_strategy *strategy,
                       const struct options *options, struct run *runs)
{
    const size_t jobs = options->jobs < options->repetitions ? options->jobs : options->repetitions;
    bool failed = false;
    pid_t children[MOST_JOBS];
    int status;

    fflush(stdout);
    for (size_t job = 0; job < jobs; job++) {
        children[job] = fork();
        if (children[job] > 0)
            continue;
        if (children[job] < 0) {
            perror("tune-search: fork");
            exit(4);
        }
        for (size_t i = job; i < options->repetitions; i += jobs)
            search(recorded, strategy, options, options->seed + i, &runs[i]);
        _exit(0);
    }
    for (size_t job = 0; job < jobs; job++)
        failed |= waitpid(children[job], &status, 0) < 0 || status != 0;
    if (failed)
        exit(4);
}

/* --- what is printed -------------------------------------------------------------------------- */

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/** Of one number of all runs, which lies at that offset in each. */
static double median_of(const struct run *runs, size_t count, size_t offset)
{
    double values[MOST_REPETITIONS];

    for (size_t i = 0; i < count; i++)
        values[i] = *(const double *)((const char *)&runs[i] + offset);
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 || values[count / 2] == HUGE_VAL
               ? values[count / 2]
               : (values[count / 2 - 1] + values[count / 2]) / 2;
}
#define MEDIAN(runs, count, member) median_of(runs, count, offsetof(struct run, member))

struct summary {
    double within5, within1, at50, at100, at200, at_mark, seconds;
    size_t most_evaluated, whole;
};

static struct summary sum_up(const struct run *runs, size_t count, size_t configs)
{
    struct summary summary = {.within5 = MEDIAN(runs, count, within5),
                              .within1 = MEDIAN(runs, count, within1),
                              .at50 = MEDIAN(runs, count, at50),
                              .at100 = MEDIAN(runs, count, at100),
                              .at200 = MEDIAN(runs, count, at200),
                              .at_mark = MEDIAN(runs, count, at_mark)};

    for (size_t i = 0; i < count; i++) {
        const size_t evaluated = (size_t)runs[i].evaluated;

        summary.seconds += runs[i].seconds / (double)count;
        summary.most_evaluated =
            evaluated > summary.most_evaluated ? evaluated : summary.most_evaluated;
        summary.whole += evaluated == configs;
    }
    return summary;
}

static void print_evaluations(double evaluations)
{
    if (evaluations == HUGE_VAL)
        printf("      >cap");
    else
        printf("%10.1f", evaluations);
}

static void print_line(const char *space, size_t configs, const char *strategy,
                       const struct summary *s)
{
    printf("%-22s%7zu  %-11s", space, configs, strategy);
    print_evaluations(s->within5);
    print_evaluations(s->within1);
    printf("%7.3f%7.3f%7.3f%7.3f%8zu%6zu%8.2f\n", s->at50, s->at100, s->at200, s->at_mark,
           s->most_evaluated, s->whole, s->seconds);
    fflush(stdout);
}

/** For whoever wants more than medians; 0 evaluations: never. */
static void print_each(const char *space, const char *strategy, const struct options *options,
                       const struct run *runs)
{
    for (size_t i = 0; i < options->repetitions; i++)
        printf("each %s %s %llu %.0f %.0f %.4f\n", space, strategy,
               (unsigned long long)(options->seed + i),
               runs[i].within5 < HUGE_VAL ? runs[i].within5 : 0,
               runs[i].within1 < HUGE_VAL ? runs[i].within1 : 0, runs[i].at_mark);
}

/** Geometric means of evaluations; where the median run never got there the whole space counts. */
static void print_means(struct rp_recorded *const spaces, size_t space_count, const char *strategy,
                        const struct summary *of)
{
    double logs5 = 0, logs1 = 0, n = (double)space_count;
    struct summary mean = {0};

    for (size_t i = 0; i < space_count; i++) {
        const double whole = (double)spaces[i].space->count;

        logs5 += log(of[i].within5 < whole ? of[i].within5 : whole);
        logs1 += log(of[i].within1 < whole ? of[i].within1 : whole);
        mean.at50 += of[i].at50 / n;
        mean.at100 += of[i].at100 / n;
        mean.at200 += of[i].at200 / n;
        mean.at_mark += of[i].at_mark / n;
        mean.seconds += of[i].seconds / n;
        mean.whole += of[i].whole;
    }
    printf("%-29s  %-11s%10.1f%10.1f%7.3f%7.3f%7.3f%7.3f%8s%6zu%8.2f\n", "all spaces", strategy,
           exp(logs5 / n), exp(logs1 / n), mean.at50, mean.at100, mean.at200, mean.at_mark, "",
           mean.whole, mean.seconds);
}

/* --- spaces and strategies ----------------------------------------------------------------- */

static int is_space(const struct dirent *entry)
{
    const char *dot = strstr(entry->d_name, ".json");

    return dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".json.gz") == 0);
}

static size_t read_spaces(const char *folder, const struct options *options,
                          struct rp_recorded *spaces)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_space, alphasort);
    size_t kept = 0;

    for (int i = 0; i < count; i++) {
        struct rp_err err = RP_ERR_INIT;
        char *path = rp_path_join(folder, entries[i]->d_name);
        const bool wanted = !options->spaces || strstr(entries[i]->d_name, options->spaces);

        if (wanted && kept < MOST_SPACES && rp_recorded_read(path, &spaces[kept], &err) < 0) {
            fprintf(stderr, "tune-search: %s\n", err.text);
            exit(err.code);
        }
        kept += wanted && kept < MOST_SPACES;
        free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (kept == 0) {
        fprintf(stderr, "tune-search: %s: no recorded spaces (*.json, *.json.gz) there\n", folder);
        exit(3);
    }
    return kept;
}

static void compare(struct rp_recorded *spaces, size_t space_count, const struct options *options)
{
    static struct summary summaries[MOST_STRATEGIES][MOST_SPACES];
    struct run *runs = mmap(NULL, MOST_REPETITIONS * sizeof *runs, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct rp_strategy *strategy;

    if (runs == MAP_FAILED) {
        perror("tune-search");
        exit(4);
    }

    printf("median of %zu runs; evaluations until 5 %% and 1 %% from the optimum; optimum / best "
           "after 50, 100, 200 evaluations and 5 %% of the space;\nmost evaluations of a run, runs "
           "of the whole space, processor seconds per run\n",
           options->repetitions);
    printf("%-22s%7s  %-11s%10s%10s%7s%7s%7s%7s%8s%6s%8s\n", "space", "configs", "strategy",
           "to 5 %", "to 1 %", "@50", "@100", "@200", "@5 %", "most", "whole", "s");
    for (size_t i = 0; i < space_count; i++)
        for (size_t j = 0; (strategy = compared_strategy(j)) && j < MOST_STRATEGIES; j++) {
            if (options->strategies && !strstr(options->strategies, strategy->name))
                continue;
            search_all(&spaces[i], strategy, options, runs);
            summaries[j][i] = sum_up(runs, options->repetitions, spaces[i].space->count);
            print_line(spaces[i].name, spaces[i].space->count, strategy->name, &summaries[j][i]);
            if (options->each)
                print_each(spaces[i].name, strategy->name, options, runs);
        }
    for (size_t j = 0; (strategy = compared_strategy(j)) && j < MOST_STRATEGIES; j++)
        if (!options->strategies || strstr(options->strategies, strategy->name))
            print_means(spaces, space_count, strategy->name, summaries[j]);
    munmap(runs, MOST_REPETITIONS * sizeof *runs);
}

static void usage(int status)
{
    fputs(
        "usage: tune-search [--repetitions N] [--strategies NAME,...] [--spaces TEXT] [--median]\n"
        "                   [--each] [--seed S] [--jobs N] FOLDER\n\n"
        "Runs every search strategy on the recorded spaces of a folder (*.json, *.json.gz).\n"
        "  --repetitions N   searches per strategy and space, each with its own seed (30)\n"
        "  --strategies ...  only these\n"
        "  --spaces TEXT     only files whose name contains it\n"
        "  --median          search for the least median of the repeats instead of their mean\n"
        "  --each            a line for each search: each SPACE STRATEGY SEED, evaluations until 5 "
        "%\n"
        "                    and 1 % (0: never), optimum / best after 5 % of the space\n"
        "  --seed S          of the first repetition; the next one has S + 1 (1)\n"
        "  --jobs N          processes at the same time (as many as processors)\n",
        status ? stderr : stdout);
    exit(status);
}

int main(int argc, char **argv)
{
    static struct rp_recorded spaces[MOST_SPACES];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = {
        .repetitions = 30, .seed = 1, .jobs = processors > 0 ? (size_t)processors : 1};
    const char *folder = NULL;
    size_t count;

    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--help") == 0)
            usage(0);
        else if (strcmp(argv[i], "--median") == 0)
            options.median = true;
        else if (strcmp(argv[i], "--each") == 0)
            options.each = true;
        else if (strcmp(argv[i], "--repetitions") == 0 && next)
            options.repetitions = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--strategies") == 0 && next)
            options.strategies = argv[++i];
        else if (strcmp(argv[i], "--spaces") == 0 && next)
            options.spaces = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && next)
            options.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--jobs") == 0 && next)
            options.jobs = strtoul(argv[++i], NULL, 10);
        else if (argv[i][0] == '-' || folder)
            usage(2);
        else
            folder = argv[i];
    }
    if (!folder || options.repetitions == 0 || options.repetitions > MOST_REPETITIONS ||
        options.jobs == 0)
        usage(2);
    options.jobs = options.jobs < MOST_JOBS ? options.jobs : MOST_JOBS;
    count = read_spaces(folder, &options, spaces);
    compare(spaces, count, &options);
    for (size_t i = 0; i < count; i++)
        rp_recorded_free(&spaces[i]);
    return 0;
}
