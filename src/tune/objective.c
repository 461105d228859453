#include "tune/objective.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/regex_size.h"
#include "collect/traced_run.h"
#include "trace/rocpd.h"

enum {
    MOST_OUTPUT = 64 << 20,
    MOST_QUOTED = 60,
    MOST_WORD = 1 << 10, /* of a match: no number is as long */
    MOST_SEARCH_S = 5,
    MOST_SEARCH_BYTES = 1 << 30,
};

enum { FOUND, NOT_FOUND, TOO_MUCH }; /* exit statuses of the process that searches */

/* --- dispatches ----------------------------------------------------------------------------- */

struct sum {
    uint64_t ns, dispatches, bad;
    struct rp_losses losses;
    char *failed_launches; /* of the first process that has any */
};

static int add_launches(struct rp_store *store, struct sum *sum, struct rp_err *err)
{
    struct rp_profile *profile;
    int rc = 0;

    if (sum->failed_launches)
        return 0;
    rc = rp_profile_compute(&store, 1, NULL, 0, &profile, err);
    if (rc < 0)
        return rc;
    if (profile->launches.failed) {
        sum->failed_launches = rp_launches_text(&profile->launches);
        rc = sum->failed_launches ? 0 : rp_out_of_memory(err);
    }
    rp_profile_free(profile);
    return rc;
}

static int add_store(const char *path, enum rp_device device, struct sum *sum, struct rp_err *err)
{
    uint64_t ns = 0, dispatches = 0, bad = 0;
    struct rp_store *store;
    const char *label;
    int rc = rp_store_open(path, &store, err);

    if (rc < 0)
        return rc;
    label = rp_store_metadata(store, "rocm_perf_device");
    if (label && strcmp(label, rp_device_label(device)) != 0)
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "the program ran on the %s device instead of the %s device; is "
                     "librocm-perf-device.so in LD_PRELOAD, or ROCM_PERF_DEVICE set?",
                     label, rp_device_label(device));
    if (rc == 0)
        rc = rp_clip_late_ends(&store, 1, err);
    if (rc == 0)
        rc = rp_store_runtime_ns(store, &ns, &dispatches, &bad, err);
    if (rc == 0)
        rc = add_launches(store, sum, err);
    sum->ns += ns;
    sum->dispatches += dispatches;
    sum->bad += bad;
    rp_losses_add(&sum->losses, store);
    rp_store_close(store);
    return rc;
}

/** A sum without what was lost would make it look fast. */
static char *why_not_whole(const struct sum *sum)
{
    const struct rp_losses *l = &sum->losses;
    const uint64_t lost = sum->bad + l->lost_dispatches + l->lost_records;

    if (lost)
        return rp_format("%" PRIu64 " of its dispatches have no times", lost);
    if (l->untraced_queues)
        return rp_format("it used a queue that could not be traced");
    return rp_format("its trace was not closed in order, so that dispatches may be missing: does "
                     "it end with _exit?");
}

int rp_objective_dispatch(const struct rp_run *run, enum rp_device device, double *ret_ns,
                          char **ret_why, bool *ret_failed, struct rp_err *err)
{
    struct sum sum = {0};
    int rc = 0;

    *ret_why = NULL;
    *ret_failed = false;
    for (size_t i = 0; rc == 0 && i < run->db_count; i++)
        rc = add_store(run->db_paths[i], device, &sum, err);
    if (rc < 0) {
        free(sum.failed_launches);
        return rc;
    }
    *ret_failed = sum.failed_launches != NULL;
    if (sum.failed_launches)
        *ret_why = sum.failed_launches;
    else if (sum.bad || !rp_losses_none(&sum.losses))
        *ret_why = why_not_whole(&sum);
    else if (sum.dispatches == 0)
        *ret_why = rp_format("it launched no kernel");
    else if (sum.ns == 0)
        *ret_why = rp_format("its dispatches took no time");
    else {
        *ret_ns = (double)sum.ns;
        return 0;
    }
    return *ret_why ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_objective_launches(const struct rp_run *run, char **ret_why, struct rp_err *err)
{
    struct sum sum = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < run->db_count && !sum.failed_launches; i++) {
        struct rp_store *store;

        rc = rp_store_open(run->db_paths[i], &store, err);
        if (rc < 0)
            break;
        rc = add_launches(store, &sum, err);
        rp_store_close(store);
    }
    if (rc == 0)
        *ret_why = sum.failed_launches;
    else
        free(sum.failed_launches);
    return rc;
}

/* --- output --------------------------------------------------------------------------------- */

int rp_objective_check_pattern(const char *pattern, struct rp_err *err)
{
    char why[128];
    regex_t regex;
    int code = rp_regex_check_size("the expression", pattern, err);

    if (code < 0)
        return code;
    code = regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE);

    if (code == 0) {
        regfree(&regex);
        return 0;
    }
    regerror(code, &regex, why, sizeof why);
    return rp_fail(err, RP_USAGE, "%.200s: it is no extended regular expression: %s", pattern, why);
}

/** The last match in a line that is not empty; of group 1 if there are groups. In a process of its
 * own, which it ends when memory is not enough. @return it is there */
static bool last_in_line(const regex_t *regex, const char *line, size_t bytes, const char **ret,
                         size_t *ret_bytes)
{
    const size_t group = regex->re_nsub ? 1 : 0;
    regmatch_t match[2] = {{.rm_so = 0, .rm_eo = (regoff_t)bytes}};
    size_t at = 0;

    *ret = NULL;
    while (at <= bytes) {
        const int rc = regexec(regex, line, 2, match, REG_STARTEND | (at ? REG_NOTBOL : 0));

        if (rc == REG_ESPACE)
            _exit(TOO_MUCH);
        if (rc != 0)
            break;
        const size_t begin = (size_t)match[0].rm_so, end = (size_t)match[0].rm_eo;

        if (match[group].rm_so >= 0 && match[group].rm_eo > match[group].rm_so) {
            *ret = line + match[group].rm_so;
            *ret_bytes = (size_t)(match[group].rm_eo - match[group].rm_so);
        }
        at = end > begin ? end : begin + 1;
        match[0] = (regmatch_t){.rm_so = (regoff_t)at, .rm_eo = (regoff_t)bytes};
    }
    return *ret != NULL;
}

/**
 * The same of a text: no match goes beyond a line (REG_NEWLINE), and each search takes time for all
 * that it is given, so it is given one line, the last ones first. @return owned; NULL: none
 */
static char *last_match(const regex_t *regex, const char *text)
{
    const char *end = text + strlen(text), *found;
    size_t bytes;

    for (;;) {
        const char *before = memrchr(text, '\n', (size_t)(end - text));
        const char *line = before ? before + 1 : text;

        if (last_in_line(regex, line, (size_t)(end - line), &found, &bytes))
            return strndup(found, bytes);
        if (!before)
            return NULL;
        end = before;
    }
}

/* --- a process for the search --------------------------------------------------------------- */

/* What an expression with back-references takes, or one on a long line, nobody can tell before. */
static void limit_search(void)
{
    const rlim_t seconds = MOST_SEARCH_S;
    unsigned long pages = 0;
    FILE *memory = fopen("/proc/self/statm", "re");

    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (memory && fscanf(memory, "%lu", &pages) == 1) {
        const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MOST_SEARCH_BYTES;

        setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
    }
}

_Noreturn static void search_main(const regex_t *regex, const char *text, int fd)
{
    char *word;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit_search();
    word = last_match(regex, text);
    if (word && write(fd, word, strnlen(word, MOST_WORD)) < 0)
        _exit(TOO_MUCH);
    _exit(word ? FOUND : NOT_FOUND);
}

/* Less than PIPE_BUF: it is there at once, or not at all. */
static char *read_word(int fd)
{
    char word[MOST_WORD + 1];
    ssize_t got;

    while ((got = read(fd, word, MOST_WORD)) < 0 && errno == EINTR)
        ;
    return strndup(word, got > 0 ? (size_t)got : 0);
}

/* @param ret_why  why there is none; NULL in both: out of memory */
static char *search(const regex_t *regex, const char *text, char **ret_why)
{
    rp_autofree char *word = NULL;
    int ends[2], status = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    child = fork();
    if (child == 0)
        search_main(regex, text, ends[1]);
    close(ends[1]);
    word = child > 0 ? read_word(ends[0]) : NULL;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == FOUND)
        return rp_steal(word);
    if (child > 0)
        *ret_why =
            WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND
                ? rp_format("nothing that it printed matches")
                : rp_format("the search for the expression takes more than %d s of processor "
                            "time, or 1 GiB of memory: make the expression simpler",
                            MOST_SEARCH_S);
    return NULL;
}

static char *take_number(const char *word, double unit_ns, double *ret_ns)
{
    char *end;
    const double value = strtod(word, &end);
    const double ns = value * unit_ns;

    if (end == word || end[strspn(end, " \t")])
        return rp_format("the output has %.*s, which is no number", MOST_QUOTED, word);
    if (!(ns > 0) || !isfinite(ns))
        return rp_format("the output has %.*s, which is no time", MOST_QUOTED, word);
    *ret_ns = ns;
    return NULL;
}

int rp_objective_output(const char *path, const char *pattern, double unit_ns, double *ret_ns,
                        char **ret_why, struct rp_err *err)
{
    rp_autofree char *text = rp_read_text(path, MOST_OUTPUT);
    rp_autofree char *word = NULL;
    double ns = 0;
    regex_t regex;

    *ret_why = NULL;
    if (!text)
        *ret_why = rp_format("what it printed cannot be read");
    else if (regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE) != 0)
        *ret_why = rp_format("the expression cannot be searched for");
    else {
        word = search(&regex, text, ret_why);
        regfree(&regex);
        if (word)
            *ret_why = take_number(word, unit_ns, &ns);
    }
    if (!*ret_why && !(ns > 0))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!*ret_why)
        *ret_ns = ns;
    return 0;
}
