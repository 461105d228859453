#include "experiment/measured_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "base/regex_size.h"
#include "base/sha256.h"
#include "experiment/child_run.h"
#include "run/run_program.h"
#include "trace/counter_set.h"
#include "trace/rocpd.h"

static const uint64_t GIB = (uint64_t)1 << 30;

const struct rp_number_row rp_number_rows[RP_NUMBER_SOURCES] = {
#define NUMBER(id, word, unit, traced) [RP_NUMBER_##id] = {word, unit, traced},
#include "experiment/run_numbers.def"
#undef NUMBER
};

char *rp_build_output_path(const char *folder, const struct rp_command *command)
{
    char digits[RP_SHA256_TEXT];
    rp_autobuf words = {0};

    for (char *const *word = command->argv; *word; word++)
        rp_buf_add(&words, *word, strlen(*word) + 1);
    rp_buf_add(&words, "", 1);
    for (const struct rp_env_change *v = command->env; v && v->name; v++) {
        rp_buf_add(&words, v->name, strlen(v->name) + 1);
        rp_buf_puts(&words, v->value ? "=" : "-");
        rp_buf_add(&words, v->value ? v->value : "", v->value ? strlen(v->value) + 1 : 1);
    }
    rp_sha256(rp_buf_text(&words), words.len, digits);
    return rp_format("%s/%s/program", folder, digits);
}

/** A process that holds the lock builds. The lock goes with the process.
 * @return a descriptor or < 0 */
static int lock(const char *output, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s.lock", output);
    int fd;

    while ((fd = rp_lock_path(path, RP_LOCK_WAIT)) < 0) {
        const int why = errno;
        int rc = why == EINTR ? rp_proc_interrupted(err)
                              : rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot lock %s", path);

        if (rc < 0)
            return rc;
    }
    return fd;
}

static int make_folder(const char *output, struct rp_err *err)
{
    rp_autofree char *folder = rp_strdup(output);
    char *slash = strrchr(folder, '/'); /* The folder is absolute, so it has a slash. */

    *slash = 0;
    return *folder ? rp_mkdirs_private(folder, err) : 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/** Says why there is no program. NULL means that there is one. */
static char *why_not(const struct rp_proc_end *end, const char *output, const char *log)
{
    char *text = NULL;

    if (!end->signaled && !end->timed_out && !end->over_limits && end->status == 0) {
        if (is_program(output))
            return NULL;
        text = rp_format("the build command left no file %s", output);
    } else {
        rp_autofree char *how = rp_child_end_reason(end, log);

        text = rp_format("the build command %s", how);
    }
    return text;
}

static int measure_run_command(const struct rp_measure_context *ev,
                               const struct rp_command *command, int64_t timeout_ns,
                               const struct rp_proc_limits *limits, const char *log,
                               struct rp_proc_end *ret, struct rp_err *err);

/** A killed compiler's files are removed with the worker's folder. A setting of the command itself
 * takes precedence. */
static int run_build(const struct rp_measure_context *ev, const struct rp_evaluation_request *r,
                     const char *log, struct rp_proc_end *ret, struct rp_err *err)
{
    /* clang needs about 0.3 GB of memory for the HIP examples. */
    const struct rp_proc_limits limits = {.resident_bytes = 8 * GIB, .file_bytes = 4 * GIB};
    rp_autofree char *temporary = rp_path_join(ev->folder, "tmp");
    rp_autofree struct rp_env_change *env = NULL;
    struct rp_command command = r->build;
    size_t count = 0;
    int rc;

    while (r->build.env && r->build.env[count].name)
        count++;
    env = rp_alloc_zero(count + 2, sizeof *env);
    rp_remove_tree(temporary);
    if (rp_mkdirs_private(temporary, err) < 0)
        return -RP_ENVIRONMENT;
    env[0] = (struct rp_env_change){.name = "TMPDIR", .value = temporary};
    for (size_t i = 0; i < count; i++)
        env[1 + i] = r->build.env[i];
    command.env = env;
    rc = measure_run_command(ev, &command, r->build_timeout_ns, &limits, log, ret, err);
    rp_remove_tree(temporary);
    return rc;
}

static int build(const struct rp_measure_context *ev, const struct rp_evaluation_request *r,
                 const char *stamp, struct rp_evaluation *e, struct rp_err *err)
{
    rp_autofree char *log = rp_path_join(ev->folder, "build.log");
    struct rp_proc_end end = {0};
    int rc;

    unlink(r->build_output); /* An interrupted build has left it. */
    rc = run_build(ev, r, log, &end, err);
    if (rc == -RP_USAGE) {
        e->reason = rp_format("the build command cannot be run: %s", err->text);
        e->outcome = RP_EVALUATION_NOT_BUILT;
        return 0;
    }
    if (rc < 0)
        return rc;
    e->built = true;
    e->build_ns = end.wall_ns;
    e->reason = why_not(&end, r->build_output, log);
    if (!e->reason)
        return rp_write_private_file(stamp, "", 0, err);
    e->outcome = RP_EVALUATION_NOT_BUILT;
    e->signaled = end.signaled;
    e->status = end.status;
    return 0;
}

/**
 * Builds the program of a request unless it is there. If another worker is building it, this one
 * waits. A build that failed is not kept.
 * @param ret its outcome becomes NOT_BUILT when there is no program then; build times are added
 * @return as rp_measure_config
 */
static int build_program_once(const struct rp_measure_context *ev,
                              const struct rp_evaluation_request *r, struct rp_evaluation *e,
                              struct rp_err *err)
{
    rp_autofree char *stamp = rp_format("%s.built", r->build_output);
    rp_autoclose int locked = -1;
    int rc = make_folder(r->build_output, err);

    if (rc == 0)
        rc = locked = lock(r->build_output, err);
    if (rc < 0)
        return rc;
    if (rp_path_exists(stamp) && is_program(r->build_output))
        return 0;
    return build(ev, r, stamp, e, err);
}

enum {
    MOST_OUTPUT = 64 << 20,
    MOST_QUOTED = 60,
    MOST_WORD = 1 << 10, /**< of a match: no number is as long */
    MOST_SEARCH_S = 5,
    MOST_SEARCH_BYTES = 1 << 30,
};

enum { FOUND, NOT_FOUND, TOO_MUCH }; /* These are exit statuses of the process that searches. */

/* --- dispatches ----------------------------------------------------------------------------- */

struct sum {
    uint64_t ns, dispatches, bad;
    struct rp_losses losses;
    char *failed_launches; /**< of the first process that has any */
    bool wants_traffic;    /**< the bytes of HBM are wanted, which takes a while to compute */
    double most[RP_NUMBER_SOURCES]; /**< of any kernel; of HBM the sum */
    bool unknown[RP_NUMBER_SOURCES];
};

/** The runtime's own kernels are not the user's choice. */
static void add_resources(const struct rp_profile *profile, struct sum *sum)
{
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct rp_kernel_summary *k = &profile->kernels[i];
        const struct {
            enum rp_number_source source;
            uint32_t value;
        } of[] = {{RP_NUMBER_VGPRS, k->resources.arch_vgpr},
                  {RP_NUMBER_AGPRS, k->resources.accum_vgpr},
                  {RP_NUMBER_SGPRS, k->resources.sgpr},
                  {RP_NUMBER_LDS, k->resources.lds_bytes},
                  {RP_NUMBER_SCRATCH, k->resources.scratch_bytes}};

        for (size_t j = 0; !k->runtime_internal && j < sizeof of / sizeof *of; j++) {
            sum->most[of[j].source] = fmax(sum->most[of[j].source], of[j].value);
            sum->unknown[of[j].source] |= !k->symbol_known;
        }
    }
}

static int add_traffic(struct rp_store *store, struct sum *sum, struct rp_err *err)
{
    const struct rp_roofline_options options = {0};
    struct rp_counters *counters = NULL;
    struct rp_roofline roofline = {0};
    int rc = rp_roofline_counters(store, &counters, err);

    if (rc < 0)
        return rc;
    rc = rp_roofline_compute(counters, &options, &roofline, err);
    if (rc == 0 && roofline.program.hbm_read.known && roofline.program.hbm_write.known)
        sum->most[RP_NUMBER_HBM] +=
            roofline.program.hbm_read.value + roofline.program.hbm_write.value;
    else
        sum->unknown[RP_NUMBER_HBM] = true;
    if (rc == 0)
        rp_roofline_free(&roofline);
    rp_counters_free(counters);
    return rc;
}

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
    }
    add_resources(profile, sum);
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
    if (rc == 0 && sum->wants_traffic && dispatches)
        rc = add_traffic(store, sum, err);
    sum->ns += ns;
    sum->dispatches += dispatches;
    sum->bad += bad;
    rp_losses_add(&sum->losses, store);
    rp_store_close(store);
    return rc;
}

/** A sum without the lost dispatches would make it look fast. */
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

/**
 * Adds up all dispatches of all processes.
 * @param sum wants_traffic is set; the rest is zeros before
 * @param ret_why why there is no sum, owned by the caller; ret_ns is then not written
 * @param ret_failed launches of it failed
 * @return 0; RP_ENVIRONMENT: it ran on another device than this one; RP_BAD_INPUT
 */
static int objective_of_dispatches(const struct rp_run *run, enum rp_device device, struct sum *sum,
                                   double *ret_ns, char **ret_why, bool *ret_failed,
                                   struct rp_err *err)
{
    int rc = 0;

    *ret_why = NULL;
    *ret_failed = false;
    for (size_t i = 0; rc == 0 && i < run->db_count; i++)
        rc = add_store(run->db_paths[i], device, sum, err);
    if (rc < 0) {
        free(sum->failed_launches);
        return rc;
    }
    *ret_failed = sum->failed_launches != NULL;
    if (sum->failed_launches)
        *ret_why = sum->failed_launches;
    else if (sum->bad || !rp_losses_none(&sum->losses))
        *ret_why = why_not_whole(sum);
    else if (sum->dispatches == 0)
        *ret_why = rp_format("it launched no kernel");
    else if (sum->ns == 0)
        *ret_why = rp_format("its dispatches took no time");
    else {
        *ret_ns = (double)sum->ns;
        return 0;
    }
    return 0;
}

/**
 * Says whether launches of a run failed, where its time is not that of its dispatches.
 * @param ret_why owned by the caller; NULL: none is known to have failed
 * @return 0; RP_BAD_INPUT: the records cannot be read; RP_ENVIRONMENT
 */
static int objective_failed_launches(const struct rp_run *run, char **ret_why, struct rp_err *err)
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

/** Finds the last match in a line that is not empty, or group 1 of it if there are groups. It runs
 * in a process of its own, and ends it when memory is not enough.
 * @return whether there is one */
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
 * Searches a text in the same way. No match goes beyond a line (REG_NEWLINE), and each search takes
 * time for all of its text, so it gets one line at a time, the last ones first.
 * @return owned by the caller; NULL: none
 */
static char *last_match(const regex_t *regex, const char *text)
{
    const char *end = text + strlen(text), *found;
    size_t bytes;

    for (;;) {
        const char *before = memrchr(text, '\n', (size_t)(end - text));
        const char *line = before ? before + 1 : text;

        if (last_in_line(regex, line, (size_t)(end - line), &found, &bytes))
            return rp_strndup(found, bytes);
        if (!before)
            return NULL;
        end = before;
    }
}

/* --- a process for the search --------------------------------------------------------------- */

/* Nobody can tell beforehand how long an expression with back-references takes, or one on a long
 * line. */
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

/* The word is shorter than PIPE_BUF, so it is there at once, or not at all. */
static char *read_word(int fd)
{
    char word[MOST_WORD + 1];
    ssize_t got;

    while ((got = read(fd, word, MOST_WORD)) < 0 && errno == EINTR)
        ;
    return rp_strndup(word, got > 0 ? (size_t)got : 0);
}

/**
 * @param pattern   as the user gave it
 * @param ret_word  the word; NULL: there is none
 * @param ret_why   why there is none
 * @return 0; RP_ENVIRONMENT: it was not searched for
 */
static int search(const regex_t *regex, const char *pattern, const char *text, char **ret_word,
                  char **ret_why, struct rp_err *err)
{
    rp_autofree char *word = NULL;
    int ends[2], status = 0, rc = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot search what a program printed");
    child = fork();
    if (child == 0)
        search_main(regex, text, ends[1]);
    if (child < 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot search what a program printed");
    close(ends[1]);
    word = child > 0 ? read_word(ends[0]) : NULL;
    close(ends[0]);
    if (rc < 0)
        return rc;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == FOUND)
        *ret_word = rp_steal(word);
    else
        *ret_why =
            WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND
                ? rp_format("nothing that it printed matches %.*s", MOST_QUOTED, pattern)
                : rp_format("the search for the expression takes more than %d s of processor "
                            "time, or 1 GiB of memory: make the expression simpler",
                            MOST_SEARCH_S);
    return 0;
}

/** @param unit_ns of a time, which is above 0; 0: of any number */
static char *take_number(const char *word, double unit_ns, double *ret)
{
    char *end;
    const double value = strtod(word, &end);
    const double number = unit_ns > 0 ? value * unit_ns : value;

    if (end == word || end[strspn(end, " \t")] || (unit_ns <= 0 && !isfinite(number)))
        return rp_format("the output has %.*s, which is no number", MOST_QUOTED, word);
    if (unit_ns > 0 && (!(number > 0) || !isfinite(number)))
        return rp_format("the output has %.*s, which is no time", MOST_QUOTED, word);
    *ret = number;
    return NULL;
}

/**
 * Finds the number in the last match of the expression.
 * @param path output of the program
 * @param unit_ns as take_number
 * @param ret_why why there is none, owned by the caller; NULL: there is one
 * @return 0, RP_ENVIRONMENT
 */
static int objective_of_output(const char *path, const char *pattern, double unit_ns,
                               double *ret_ns, char **ret_why, struct rp_err *err)
{
    rp_autofree char *text = rp_read_text(path, MOST_OUTPUT);
    rp_autofree char *word = NULL;
    double ns = 0;
    regex_t regex;
    int rc = 0;

    *ret_why = NULL;
    if (!text)
        *ret_why = rp_format("what it printed cannot be read");
    else if (regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE) != 0)
        *ret_why = rp_format("the expression cannot be searched for");
    else {
        rc = search(&regex, pattern, text, &word, ret_why, err);
        regfree(&regex);
        if (word)
            *ret_why = take_number(word, unit_ns, &ns);
    }
    if (rc == 0 && !*ret_why)
        *ret_ns = ns;
    return rc;
}

/** An attempt is one run: it knows where the run writes to, and how it ended. */
struct attempt {
    const struct rp_measure_context *ev;
    const struct rp_evaluation_request *request;
    int64_t timeout_ns; /**< of this one */
    bool watched; /**< its launches are recorded, though its time is not that of its dispatches */
    char *folder, *printed, *complaints; /**< its folder; standard output and error in it */
    struct rp_output_limiter tap;
    struct rp_run run;
};

/** More of a program's output is not kept. */
enum { MOST_PRINTED = 64 << 20 };

/** Runs a command that is part of it but is not timed. Its output goes to log.
 * @return as rp_proc_run */
static int measure_run_command(const struct rp_measure_context *ev,
                               const struct rp_command *command, int64_t timeout_ns,
                               const struct rp_proc_limits *limits, const char *log,
                               struct rp_proc_end *ret, struct rp_err *err)
{
    const struct rp_child child = {.argv = (const char *const *)(uintptr_t)command->argv,
                                   .env = command->env,
                                   .stdout_path = log,
                                   .stderr_path = log,
                                   .timeout_ns = timeout_ns,
                                   .limits = *limits};
    const int rc = rp_child_run(&child, ret, err);

    rp_orphans_kill(ev->adopted, 0);
    return rc;
}

/* --- one run -------------------------------------------------------------------------------- */

static void free_attempt(struct attempt *a)
{
    rp_run_free(&a->run);
    free(a->folder);
    free(a->printed);
    free(a->complaints);
}

static int prepare(struct attempt *a, struct rp_err *err)
{
    a->folder = rp_path_join(a->ev->folder, "run");
    a->printed = rp_path_join(a->folder, "stdout");
    a->complaints = rp_path_join(a->folder, "stderr");
    rp_remove_tree(a->folder);
    return rp_mkdirs_private(a->folder, err);
}

static bool wants(const struct rp_evaluation_request *r, enum rp_number_source source)
{
    for (size_t i = 0; i < r->number_count; i++)
        if (r->numbers[i].source == source)
            return true;
    return false;
}

/** Lists what the bytes of HBM follow from; the caller owns the text. */
static char *counters_of_traffic(const struct rp_run_options *options)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    const size_t count = rp_roofline_needs(rp_software_gpu(options).name, needs, MOST_NEEDS);
    rp_autobuf names = {0};

    for (size_t i = 0; i < count && i < MOST_NEEDS; i++)
        if (strncmp(needs[i].name, "TCC_", 4) == 0 && rp_device_counter_find(needs[i].name))
            rp_buf_printf(&names, "%s%s", names.len ? "," : "", needs[i].name);
    return rp_strdup(rp_buf_text(&names));
}

static int start(struct attempt *a, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    const struct rp_proc_limits limits = {.resident_bytes = r->memory_bytes};
    const bool traced = r->objective == RP_OBJECTIVE_DISPATCH;
    struct rp_run_options options = *a->ev->options;
    rp_autofree char *counters = NULL;
    /* Each run reads its input from the beginning. */
    const char *input = r->input ? r->input : "/dev/null";
    rp_autoclose int input_fd = open(input, O_RDONLY | O_CLOEXEC);
    const struct rp_run_request request = {.env = a->ev->env,
                                           .options = &options,
                                           .argv = r->command.argv,
                                           .traced = traced || a->watched,
                                           .out_dir = a->folder,
                                           .db_prefix = "trace",
                                           .stdin_fd = input_fd,
                                           .stdout_fd = a->tap.fds[0],
                                           .stderr_fd = a->tap.fds[1],
                                           .timeout_ns = a->timeout_ns,
                                           .limits = &limits};

    int rc;

    if (input_fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s, the programs' input",
                             input);
    options.more = r->command.env;
    if (wants(r, RP_NUMBER_HBM))
        options.counters = counters = counters_of_traffic(&options);
    rc = traced ? a->ev->tracer->trace(&request, &a->run, err)
                : rp_run_program(&request, &a->run, err);
    rp_orphans_kill(a->ev->adopted, 0);
    return rc;
}

static int run_program(struct attempt *a, struct rp_err *err)
{
    int rc = prepare(a, err);
    const char *const paths[RP_TAPS] = {a->printed, a->complaints};

    if (rc == 0)
        rc = rp_output_limiter_open(paths, MOST_PRINTED, &a->tap, err);
    if (rc < 0)
        return rc;
    rc = start(a, err);
    rp_output_limiter_close(&a->tap);
    return rc;
}

/* --- what became of it ---------------------------------------------------------------------- */

/** Takes over the reason.
 * @return 0 */
static int end_as(struct rp_evaluation *e, enum rp_evaluation_outcome outcome, char *reason)
{
    e->outcome = outcome;
    e->reason = reason;
    return 0;
}

/** A check or a search of only a part of the output could give any result. */
static int judge_printed(const struct attempt *a, struct rp_evaluation *e)
{
    const struct rp_evaluation_request *r = a->request;

    bool read = r->check || r->objective == RP_OBJECTIVE_OUTPUT;

    for (size_t i = 0; i < r->number_count; i++)
        read |= r->numbers[i].source == RP_NUMBER_PRINTED;
    if (!a->tap.over[0] || !read)
        return 0;
    return end_as(e, RP_EVALUATION_FAILED,
                  rp_format("it printed more than %d MiB", MOST_PRINTED >> 20));
}

static int judge_end(const struct attempt *a, struct rp_evaluation *e)
{
    const struct rp_proc_end *end = &a->run.end;

    if (end->timed_out) {
        e->cap_ns = a->timeout_ns;
        return end_as(e, RP_EVALUATION_TIMEOUT,
                      rp_format("it did not end within %g s", (double)e->cap_ns / 1e9));
    }
    if (!end->signaled && !end->over_limits && end->status == 0)
        return 0;
    e->signaled = end->signaled;
    e->status = end->status;
    return end_as(e, RP_EVALUATION_FAILED, rp_child_end_reason(end, a->complaints));
}

/** The command is a word of its own, and never part of a text that a shell reads. */
static int check(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    const struct rp_proc_limits limits = {.resident_bytes = r->memory_bytes,
                                          .file_bytes = (uint64_t)1 << 30};
    char sh[] = "/bin/sh", c[] = "-c", name[] = "check";
    char script[] = "exec <\"$ROCM_PERF_STDOUT\"; eval \"$1\"";
    char *argv[] = {sh, c, script, name, r->check, NULL};
    struct rp_env_change env[] = {{.name = "ROCM_PERF_STDOUT", .value = a->printed},
                                  {.name = "ROCM_PERF_PROGRAM", .value = r->command.argv[0]},
                                  {.name = "ROCM_PERF_STATUS", .value = "0"},
                                  {0}};
    const struct rp_command command = {.argv = argv, .env = env};
    rp_autofree char *log = rp_path_join(a->ev->folder, "check.log");
    rp_autofree char *how = NULL;
    struct rp_proc_end end = {0};
    int rc;

    rc = measure_run_command(a->ev, &command, r->timeout_ns, &limits, log, &end, err);
    if (rc < 0)
        return rp_wrap(err, "the check");
    if (!end.signaled && !end.timed_out && !end.over_limits && end.status == 0)
        return 0;
    how = rp_child_end_reason(&end, log);
    return end_as(e, RP_EVALUATION_WRONG, how ? rp_format("the check %s", how) : NULL);
}

/** @param ret_why begins with the name, where the number has one */
static int take_printed(const struct attempt *a, const struct rp_wanted_number *number, double *ret,
                        char **ret_why, struct rp_err *err)
{
    rp_autofree char *why = NULL;
    const int rc = objective_of_output(a->printed, number->pattern, 0, ret, &why, err);

    if (why)
        *ret_why =
            number->name ? rp_format("%.*s: %s", MOST_QUOTED, number->name, why) : rp_steal(why);
    return rc;
}

/** @param ret_why why one of them is not known, owned by the caller */
static int take_numbers(const struct attempt *a, const struct sum *sum, double ns, double *ret,
                        char **ret_why, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !*ret_why && i < r->number_count; i++) {
        const enum rp_number_source source = r->numbers[i].source;

        if (source == RP_NUMBER_PRINTED)
            rc = take_printed(a, &r->numbers[i], &ret[i], ret_why, err);
        else if (source == RP_NUMBER_WALL)
            ret[i] = (double)a->run.end.wall_ns / 1e6;
        else if (source == RP_NUMBER_TIME)
            ret[i] = ns / 1e6;
        else if (sum->unknown[source])
            *ret_why = rp_format("%s is not known of its kernels", rp_number_rows[source].word);
        else
            ret[i] = sum->most[source];
    }
    return rc;
}

static int take_time(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    const struct rp_evaluation_request *r = a->request;
    struct sum sum = {.wants_traffic = wants(r, RP_NUMBER_HBM)};
    char *why = NULL;
    bool failed = false;
    double ns = (double)a->run.end.wall_ns;
    int rc = 0;

    if (r->objective == RP_OBJECTIVE_DISPATCH)
        rc =
            objective_of_dispatches(&a->run, a->ev->options->device, &sum, &ns, &why, &failed, err);
    else if (r->objective == RP_OBJECTIVE_OUTPUT)
        rc = objective_of_output(a->printed, r->pattern, r->unit_ns, &ns, &why, err);
    if (rc == 0 && !why)
        rc = take_numbers(a, &sum, ns, e->numbers + e->count * r->number_count, &why, err);
    if (rc < 0)
        return rc;
    /* The message may be that of a kernel that faults. */
    if (why && r->objective == RP_OBJECTIVE_DISPATCH)
        rp_child_add_error_line(&why, a->complaints);
    if (why)
        return end_as(e, failed ? RP_EVALUATION_FAILED : RP_EVALUATION_NO_TIME, why);
    e->runtimes_ns[e->count++] = ns;
    return 0;
}

static bool may_be_watched(const struct rp_measure_context *ev,
                           const struct rp_evaluation_request *r)
{
    return r->objective != RP_OBJECTIVE_DISPATCH && ev->env->tool_library;
}

/** A program that does not work while it is recorded may work without that. */
static bool failed_when_recorded(const struct attempt *a, int rc)
{
    const struct rp_proc_end *end = &a->run.end;

    if (rc < 0)
        return rc == -RP_BAD_INPUT;
    return !end->timed_out && !end->over_limits && (end->signaled || end->status != 0);
}

/** The first run of a configuration does not count, because recording takes time. */
static int run_watched(struct attempt *a, unsigned number, struct rp_err *err)
{
    const struct attempt fresh = *a;
    int rc;

    a->watched = number < a->request->warmups && number == 0 && may_be_watched(a->ev, a->request);
    rc = run_program(a, err);
    if (!a->watched || !failed_when_recorded(a, rc))
        return rc;
    free_attempt(a);
    *a = fresh;
    return run_program(a, err);
}

static int judge_launches(const struct attempt *a, struct rp_evaluation *e, struct rp_err *err)
{
    struct rp_err unread = RP_ERR_INIT;
    char *why = NULL;
    int rc = objective_failed_launches(&a->run, &why, &unread);

    if (rc == -RP_BAD_INPUT) /* Nothing is known, as in a run without records. */
        return 0;
    if (rc < 0) {
        *err = unread;
        return rc;
    }
    return why ? end_as(e, RP_EVALUATION_FAILED, why) : 0;
}

/** @param number from 0 on, warm-ups first */
static int run_once(const struct rp_measure_context *ev, const struct rp_evaluation_request *r,
                    unsigned number, struct rp_evaluation *e, struct rp_err *err)
{
    const bool warmup = number < r->warmups;
    rp_cleanup(free_attempt) struct attempt a = {
        .ev = ev,
        .request = r,
        .timeout_ns = warmup && r->warmup_timeout_ns ? r->warmup_timeout_ns : r->timeout_ns};
    int rc = run_watched(&a, number, err);

    /* The program cannot be executed, or its records cannot be read. */
    if (rc == -RP_USAGE || rc == -RP_BAD_INPUT)
        return end_as(e, RP_EVALUATION_FAILED, rp_strdup(err->text));
    if (rc < 0)
        return rc;
    e->bench_ns += a.run.end.wall_ns;
    e->warmup_ns += warmup ? a.run.end.wall_ns : 0;
    rc = judge_end(&a, e);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK)
        rc = judge_printed(&a, e);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && a.watched)
        rc = judge_launches(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && number == 0 && r->check)
        rc = check(&a, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && !warmup)
        rc = take_time(&a, e, err);
    return rc;
}

int rp_measure_config(const struct rp_measure_context *ev, const struct rp_evaluation_request *r,
                      struct rp_evaluation *ret, struct rp_err *err)
{
    struct rp_evaluation e = {.id = r->id, .outcome = RP_EVALUATION_OK};
    int rc = 0;

    e.runtimes_ns = rp_alloc_zero(r->samples + 1, sizeof *e.runtimes_ns);
    e.number_count = r->number_count;
    e.numbers = rp_alloc_zero(r->samples * r->number_count + 1, sizeof *e.numbers);
    if (r->build.argv)
        rc = build_program_once(ev, r, &e, err);
    for (unsigned i = 0; rc == 0 && e.outcome == RP_EVALUATION_OK && i < r->warmups + r->samples;
         i++)
        rc = run_once(ev, r, i, &e, err);
    if (rc < 0)
        rp_evaluation_free(&e);
    else
        *ret = e;
    return rc;
}

static void wanted_number_free(struct rp_wanted_number *number)
{
    free(number->pattern);
    free(number->name);
}

void rp_evaluation_request_free(struct rp_evaluation_request *request)
{
    rp_command_free(&request->command);
    rp_command_free(&request->build);
    free(request->build_output);
    free(request->pattern);
    for (size_t i = 0; i < request->number_count; i++)
        wanted_number_free(&request->numbers[i]);
    free(request->check);
    free(request->input);
    *request = (struct rp_evaluation_request){0};
}

void rp_evaluation_free(struct rp_evaluation *evaluation)
{
    free(evaluation->reason);
    free(evaluation->runtimes_ns);
    free(evaluation->numbers);
    *evaluation = (struct rp_evaluation){0};
}

void rp_command_free(struct rp_command *command)
{
    for (size_t i = 0; command->argv && command->argv[i]; i++)
        free(command->argv[i]);
    for (size_t i = 0; command->env && command->env[i].name; i++) {
        free((char *)command->env[i].name);
        free((char *)command->env[i].value);
    }
    free(command->argv);
    free(command->env);
    *command = (struct rp_command){0};
}
