/* `srun rocm-perf profile ...`, `mpirun -np 4 rocm-perf profile ...`: each rank has a result of its
 * own in DIR/rank-N, and touches no other. The rank that ends last prints one table of all. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/profile_session.h"
#include "report/report.h"
#include "trace/ranks.h"

static const char *variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

/* @return field N of proc(5)'s stat, behind the name; to be freed, NULL: there is no such process
 */
static char *field_of(int pid, int field)
{
    rp_autofree char *path = rp_format("/proc/%d/stat", pid);
    rp_autofree char *text = rp_read_text(path, 4096);
    const char *at = text ? strrchr(text, ')') : NULL;

    for (int i = 2; i < field && at; i++)
        at = strchr(at + 1, ' ');
    return at ? strndup(at + 1, strcspn(at + 1, " ")) : NULL;
}

/* A script that the launcher has started for this rank alone has the rank's variable, too. */
static bool is_of_a_rank(int pid, const char *rank_variable)
{
    rp_autofree char *path = rp_format("/proc/%d/environ", pid);
    rp_autofree char *begin = rp_format("%s=", rank_variable);
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    rp_autobuf text = {0};
    char block[4096];

    for (ssize_t got; fd >= 0 && (got = read(fd, block, sizeof block)) > 0;)
        rp_buf_add(&text, block, (size_t)got);
    rp_buf_add(&text, "", 1);
    for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
        if (strncmp(text.data + at, begin, strlen(begin)) == 0)
            return true;
    return false;
}

/* The start of a process tells its number apart from that of another one before. */
static char *launcher_id(const char *rank_variable)
{
    rp_autofree char *start = NULL;
    struct utsname host;
    int pid = (int)getppid();

    while (pid > 1 && is_of_a_rank(pid, rank_variable)) {
        rp_autofree char *parent = field_of(pid, 4);

        pid = parent ? atoi(parent) : 0;
    }
    start = field_of(pid, 22);
    uname(&host);
    return rp_format("%s.%d.%s", host.nodename, pid, start ? start : "");
}

static const char *text_of(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* What all ranks of a job have in common, and no other job: what its launcher says, or else the
 * launcher itself, which has started all of them on one machine. Ranks that are started by hand,
 * each in a shell of its own, have nothing in common but the folder. A MASTER_PORT is often that of
 * the job before; and on the host of mpirun there is no step of Slurm, on the others there is. */
static char *job_id(const char *rank_variable)
{
    const char *pmix = text_of("PMIX_NAMESPACE");
    const char *slurm = text_of("SLURM_JOB_ID"), *step = text_of("SLURM_STEP_ID");
    const char *master = text_of("MASTER_ADDR"), *port = text_of("MASTER_PORT");
    const char *torch = text_of("TORCHELASTIC_RUN_ID"); /* It is the same in steps of many nodes. */
    const bool has_step = !*pmix && !*torch && *slurm && *step, has_port = *master && *port;

    if (*pmix || has_step || has_port)
        return rp_format("%s.%s.%s.%s.%s.%s.%s", pmix, has_step ? slurm : "", has_step ? step : "",
                         has_port ? master : "", has_port ? port : "", torch,
                         text_of("TORCHELASTIC_RESTART_COUNT"));
    return strcmp(rank_variable, "RANK") == 0 ? rp_strdup("by hand") : launcher_id(rank_variable);
}

/* Names of folders are made of it. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

static void note_what_is_no_rank(const struct rp_rank *rank)
{
    for (size_t i = 0; i < RP_RANK_VARIABLES && !rank->variable; i++) {
        const char *value = getenv(rp_rank_variables[i].rank);

        if (value && *value && rp_rank_number(value) < 0) {
            rp_cli_note("%s=%s is no rank: this is profiled as a program of its own",
                        rp_rank_variables[i].rank, value);
            return;
        }
    }
    if (!rank->variable || rank->size)
        return;
    if (strcmp(rank->variable, "RANK") != 0 || getenv("WORLD_SIZE") || getenv("MASTER_ADDR"))
        rp_cli_note("nothing says of how many ranks %s=%d is one: if there are others, give each "
                    "rank a folder of its own with -o",
                    rank->variable, rank->rank);
}

/* A job that was killed has left marks, which would let this one end too early. */
static void forget_mark(const struct rp_profile_job *job)
{
    rp_autofree char *good = rp_format("%s/.ranks-%s/rank-%d", job->root, job->id, job->rank);
    rp_autofree char *failed = rp_format("%s.failed", good);

    unlink(good);
    unlink(failed);
}

bool rp_profile_job_find(const char *output, struct rp_profile_job *ret)
{
    const struct rp_rank rank = rp_rank_find(variable, NULL);
    rp_autofree char *id = NULL;

    note_what_is_no_rank(&rank);
    if (!rank.variable || rank.size < 2)
        return false;
    id = job_id(rank.variable);
    *ret = (struct rp_profile_job){.rank = rank.rank,
                                   .size = rank.size,
                                   .root = rp_strdup(output),
                                   .output = rp_format("%s/rank-%d", output, rank.rank),
                                   .id = rp_format("%016" PRIx64, hash_of(id))};
    forget_mark(ret);
    return true;
}

void rp_profile_job_free(struct rp_profile_job *job)
{
    free(job->root);
    free(job->output);
    free(job->id);
    *job = (struct rp_profile_job){0};
}

/* --- the end --------------------------------------------------------------------------------- */

/* What each rank has left, below the folder of the job, when it ended. */
enum mark { MARK_NONE, MARK_GOOD, MARK_FAILED };

static enum mark mark_of(const char *folder, int rank)
{
    rp_autofree char *good = rp_format("%s/rank-%d", folder, rank);
    rp_autofree char *failed = rp_format("%s.failed", good);

    return rp_path_exists(failed) ? MARK_FAILED : rp_path_exists(good) ? MARK_GOOD : MARK_NONE;
}

static bool have_all_ended(const struct rp_profile_job *job, const char *folder, enum mark *marks)
{
    for (int rank = 0; rank < job->size; rank++) {
        marks[rank] = mark_of(folder, rank);
        if (marks[rank] == MARK_NONE)
            return false;
    }
    return true;
}

static void note_no_mark(const struct rp_profile_job *job, const char *path)
{
    rp_cli_note("warning: cannot write %s (%s), so no rank prints the table: rocm-perf analyze %s "
                "has it",
                path, strerror(errno), job->root);
}

/* Notes the end of this rank, and says whether it was the last one.
 * @param marks of all ranks, if it was */
static bool is_last(const struct rp_profile_job *job, bool ok, enum mark *marks)
{
    rp_autofree char *folder = rp_format("%s/.ranks-%s", job->root, job->id);
    rp_autofree char *mine = rp_format("%s/rank-%d%s", folder, job->rank, ok ? "" : ".failed");
    rp_autoclose int lock = -1, file = -1;
    struct rp_err ignored = RP_ERR_INIT;
    bool last;

    if (rp_mkdirs(folder, &ignored) < 0) {
        note_no_mark(job, folder);
        return false;
    }
    do
        lock = rp_lock_path(job->root, RP_LOCK_FOLDER | RP_LOCK_WAIT);
    while (lock < 0 && errno == EINTR);
    file = open(mine, O_WRONLY | O_CREAT | O_CLOEXEC, RP_MODE_FILE);
    if (file < 0)
        note_no_mark(job, mine);
    last = have_all_ended(job, folder, marks);
    if (last)
        rp_remove_tree(folder);
    return last;
}

static void add_traces(const struct rp_profile_job *job, int rank, struct rp_run *run)
{
    rp_autofree char *folder = rp_format("%s/rank-%d", job->root, rank);
    rp_autofree char *pattern = rp_path_pattern(folder, "trace_*results.db");
    glob_t found = {0};

    if (glob(pattern, 0, NULL, &found) == 0) {
        run->db_paths =
            rp_realloc_array(run->db_paths, run->db_count + found.gl_pathc, sizeof(char *));
        for (size_t i = 0; i < found.gl_pathc; i++)
            run->db_paths[run->db_count++] = rp_strdup(found.gl_pathv[i]);
    } else {
        rp_cli_note("warning: rank %d has left no result in %s", rank, folder);
    }
    globfree(&found);
}

void rp_profile_note_stale(const char *root, int size)
{
    rp_autofree char *stale = rp_format("%s/rank-%d", root, size);

    if (rp_path_is_dir(stale))
        rp_cli_note("warning: %s and above are of an earlier job: remove them, or name "
                    "another folder with -o",
                    stale);
}

/* Of a rank that has failed there is no report; what it would say of all ranks is in the traces.
 * @param device as rp_profile_device_of says */
static struct rp_profile_report report_without(const struct rp_profile_cli *options,
                                               const char *device, int exit_status)
{
    const bool software = device && strcmp(device, "software") == 0;

    return (struct rp_profile_report){
        .device = rp_device_label(software ? RP_DEVICE_SOFTWARE : RP_DEVICE_GPU),
        .measurement = RP_MEASURED_DISPATCHES,
        .provenance = {.command = (const char *const *)options->args.operands,
                       .command_count = options->args.operand_count,
                       .tool_version = RP_VERSION,
                       .tracer = device ? rp_tracer_builtin.name : rp_tracer_rocprofv3.name,
                       .exit_status = exit_status}};
}

static int make_report(const struct rp_run *run, const struct rp_profile_report *mine,
                       const struct rp_profile_cli *options, int exit_status,
                       struct rp_profile **ret_profile, struct rp_profile_report *ret,
                       struct rp_err *err)
{
    struct rp_losses losses = {0};
    struct rp_profile_report other;
    struct rp_store **stores;
    const char *device;
    uint64_t unrecorded = 0;
    int rc = rp_profile_open_stores(run, &stores, err);

    if (rc < 0)
        return rc;
    rc = rp_profile_device_of(stores[0], &device, err);
    if (rc == 0)
        rc = rp_profile_compute(stores, run->db_count, NULL, 0, ret_profile, err);
    other = report_without(options, rc == 0 ? device : NULL, exit_status);
    mine = mine ? mine : &other;
    for (size_t i = 0; i < run->db_count; i++) {
        rp_losses_add(&losses, stores[i]);
        unrecorded += rp_profile_unrecorded_of(stores[i]);
    }
    rp_profile_close_stores(stores, run->db_count);
    if (rc < 0)
        return rc;
    *ret = (struct rp_profile_report){.profile = *ret_profile,
                                      .device = mine->device,
                                      .measurement = mine->measurement,
                                      .runs = 1,
                                      .roofline_reason = mine->roofline_reason,
                                      .provenance = mine->provenance};
    ret->provenance.incomplete_traces = losses.incomplete_traces;
    ret->provenance.lost_records = losses.lost_records;
    ret->provenance.lost_dispatches = losses.lost_dispatches;
    ret->provenance.untraced_queues = losses.untraced_queues;
    ret->provenance.unrecorded = unrecorded;
    ret->provenance.traces = (const char *const *)run->db_paths;
    ret->provenance.trace_count = run->db_count;
    ret->provenance.wall_ms = NULL;
    ret->provenance.wall_count = 0;
    return 0;
}

static void free_profile(struct rp_profile **profile)
{
    rp_profile_free(*profile);
}

/* The folder of a rank that failed may have the result of an earlier job. */
static size_t add_good(const struct rp_profile_job *job, const enum mark *marks, struct rp_run *run)
{
    size_t failed = 0;

    for (int rank = 0; rank < job->size; rank++) {
        if (marks[rank] == MARK_GOOD) {
            add_traces(job, rank, run);
            continue;
        }
        failed++;
        rp_cli_note("rank %d of %d failed: it is in none of the sums", rank, job->size);
    }
    return failed;
}

static int print_all(const struct rp_profile_cli *options, const struct rp_profile_job *job,
                     const struct rp_profile_report *mine, int exit_status, const enum mark *marks)
{
    struct rp_err problem = RP_ERR_INIT, *err = &problem;
    size_t failed;
    rp_cleanup(rp_run_free) struct rp_run run = {0};
    rp_cleanup(free_profile) struct rp_profile *profile = NULL;
    struct rp_profile_report report;
    rp_autobuf text = {0};
    double runtime_ms;
    int rc;

    failed = add_good(job, marks, &run);
    rp_profile_note_stale(job->root, job->size);
    if (!run.db_count) {
        rp_cli_note("no rank of %d has left a result", job->size);
        return RP_OK;
    }
    rc = make_report(&run, mine, options, exit_status, &profile, &report, err);
    if (rc < 0)
        return rp_cli_error(err);
    profile->complete &= failed == 0;
    runtime_ms = (double)(profile->user_ns + profile->runtime_internal_ns) / 1e6;
    report.runtime_ms = &runtime_ms;
    if (options->json)
        rc = rp_report_profile_json(&report, &text, err);
    else if (options->quiet)
        rp_buf_printf(&text, "%.6f\n", runtime_ms);
    else
        rc = rp_report_profile_term(&report, rp_cli_style_of(options->verbose), &text, err);
    if (rc == 0 && !options->json && !options->quiet)
        rp_buf_printf(&text, "\nNext: rocm-perf analyze %s\n", job->root);
    return rc < 0 ? rp_cli_error(err) : rp_cli_result(rp_buf_text(&text));
}

int rp_profile_job_end(const struct rp_profile_cli *options, const struct rp_profile_job *job,
                       const struct rp_profile_report *report, int exit_status)
{
    rp_autofree enum mark *marks = rp_alloc_zero((size_t)job->size, sizeof *marks);
    const bool last = is_last(job, report != NULL, marks);

    if (report && !options->quiet)
        rp_cli_note("rank %d of %d: its result is in %s%s", job->rank, job->size, job->output,
                    last ? "" : "; the rank that ends last prints that of all");
    return last ? print_all(options, job, report, exit_status, marks) : RP_OK;
}
