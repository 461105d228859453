#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "cli/ci.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "experiment/child_run.h"
#include "report/ci_text.h"
#include "run/git_tree.h"
#include "run/run_program.h"
#include "trace/history_db.h"

enum { UNDECIDED = 6, MOST_CONFIG_BYTES = 1 << 20 };

struct command {
    struct rp_ci_cli args;
    struct rp_ci_config config;
    struct rp_ci_job job;
    char *root, *config_path, *self, *output;
    char *scratch;   /**< has the trees; removed at the end */
    int lock;        /**< on it; -1: its name is used once only */
    int output_lock; /**< on the folder of the results; -1: none */
    bool has_page;   /**< of its history */
};

static void free_command(struct command *c)
{
    rp_git_tree_remove(&c->job.base.tree);
    rp_git_tree_remove(&c->job.head.tree);
    rp_temporary_folder_remove(&c->scratch);
    if (c->lock >= 0)
        close(c->lock);
    if (c->output_lock >= 0)
        close(c->output_lock);
    rp_ci_result_free(&c->job.result);
    rp_ci_config_free(&c->config);
    rp_args_free(&c->args);
    free(c->job.path);
    free(c->job.temporary);
    free(c->root);
    free(c->config_path);
    free(c->self);
    free(c->output);
}

/* --- before anything runs --------------------------------------------------------------------- */

static int read_config(struct command *c, struct rp_err *err)
{
    rp_autofree void *data = NULL;
    rp_autofree char *toml = rp_path_join(c->root, "rocm-perf.toml");
    rp_autobuf text = {0};
    size_t bytes = 0;

    c->config_path =
        c->args.config ? rp_strdup(c->args.config) : rp_path_join(c->root, "rocm-perf.json");
    if (!rp_path_exists(c->config_path))
        return rp_fail_with_remedy(err, RP_USAGE,
                                   "%s is not there%s: write one, as {\"version\": 1, \"build\": "
                                   "\"make\", \"programs\": [{\"name\": \"mm\", \"command\": "
                                   "[\"./mm\"]}]}, or name one with --config",
                                   c->config_path,
                                   !c->args.config && rp_path_exists(toml)
                                       ? ", and rocm-perf.toml is not read, as this file is JSON"
                                       : "");
    if (rp_check_input(c->config_path, err) < 0 ||
        rp_read_file(c->config_path, MOST_CONFIG_BYTES, RP_USAGE, &data, &bytes, err) < 0)
        return -(int)(err->code = RP_USAGE);
    rp_buf_add(&text, data, bytes);
    if (strlen(rp_buf_text(&text)) != bytes)
        return rp_fail(err, RP_USAGE, "%s: it has a zero byte, which no JSON has", c->config_path);
    return rp_ci_config_parse(rp_buf_text(&text), c->config_path, &c->config, err);
}

/* Options stand above the configuration. */
static int choose_device(struct command *c, struct rp_err *err)
{
    struct rp_device_identity on = {0};
    struct rp_run_options run = {0};
    struct rp_ci_job *job = &c->job;
    const char *said = rp_timing_variable();
    int timing = c->args.timing, rc;

    job->device = c->args.device ? c->args.device : c->config.device;
    job->timing = timing >= 0 ? rp_ci_timings[timing] : c->config.timing;
    /* What the variable says reaches each step as a word, because steps differ in what they take.
     */
    if (!job->timing && said && strcmp(said, "warm") == 0)
        job->timing = said;
    for (timing = 0; job->timing && strcmp(rp_timing_words[timing], job->timing) != 0; timing++)
        ;
    rp_device_options_read(job->device, 0, 0, job->timing ? timing : -1, &run);
    rc = rp_cli_device_of_times(&run, &on, err);
    if (rc == 0) {
        job->software = on.software;
        job->result.device = rp_strdup(on.software ? "software" : "hardware");
        job->result.timing = on.software ? rp_device_identity_timing(&on) : NULL;
    }
    rp_device_identity_free(&on);
    return rc;
}

static const char *const result_files[] = {
    "comment.md", "junit.xml",      "codequality.json", "metrics.txt",  "ci.json",    "programs",
    "bin",        "build-base.log", "build-head.log",   "history.html", "history.log"};

static bool has_files(const char *folder)
{
    DIR *dir = opendir(folder);
    bool found = false;

    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return found;
}

/* What an earlier run has left must not be taken for this one's. A new folder is none of the
 * repository's files, so git is told to leave it out. */
static int clear_output(struct command *c, struct rp_err *err)
{
    rp_autofree char *mark = rp_path_join(c->args.output, ".rocm-perf-ci");
    int rc = 0;

    if (!rp_path_exists(mark))
        return 0;
    c->output_lock = rp_lock_path(c->args.output, RP_LOCK_FOLDER);
    if (c->output_lock < 0 && errno == EWOULDBLOCK)
        return rp_fail_with_remedy(err, RP_USAGE,
                                   "--output %s: another run is writing there: name another folder",
                                   c->args.output);
    for (size_t i = 0; rc == 0 && i < sizeof result_files / sizeof *result_files; i++) {
        rp_autofree char *file = rp_path_join(c->args.output, result_files[i]);

        rp_remove_tree(file);
        if (rp_path_exists(file))
            rc =
                rp_fail(err, RP_ENVIRONMENT, "%s is of an earlier run and cannot be removed", file);
    }
    return rc;
}

static int make_output(struct command *c, struct rp_err *err)
{
    static const char ignore[] = "*\n";
    const bool fresh = !rp_path_exists(c->args.output);
    rp_autofree char *path = NULL, *mark = rp_path_join(c->args.output, ".rocm-perf-ci");
    int rc;

    if (!fresh && has_files(c->args.output) && !rp_path_exists(mark))
        return rp_fail_with_remedy(err, RP_USAGE,
                                   "--output %s: it has files that are none of this command's, and "
                                   "it would remove some: name a new folder",
                                   c->args.output);
    rc = rp_mkdirs(c->args.output, err);
    if (rc == 0)
        rc = rp_write_file(mark, "", 0, err);

    if (rc < 0)
        return rc;
    c->output = realpath(c->args.output, NULL); /* without "..", as git writes paths, too */
    if (!c->output)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", c->args.output);
    c->job.output = c->output;
    path = rp_path_join(c->output, ".gitignore");
    if (c->output_lock < 0)
        rc = clear_output(c, err); /* It may have been made since. */
    for (size_t i = 0; rc == 0 && i < c->config.program_count; i++) {
        rp_autofree char *folder = rp_ci_path(&c->job, &c->config.programs[i], "");

        rc = rp_mkdirs(folder, err);
    }
    return rc == 0 && fresh ? rp_write_file(path, ignore, sizeof ignore - 1, err) : rc;
}

/* --- the place of the trees ---------------------------------------------------------------- */

/* Anybody can have made something of that name in a folder of all users.
 * @return whether the folder that is locked is ours alone, and still there */
static bool is_ours(const char *path, int fd)
{
    struct stat here, locked;

    return lstat(path, &here) == 0 && fstat(fd, &locked) == 0 && S_ISDIR(here.st_mode) &&
           here.st_ino == locked.st_ino && here.st_dev == locked.st_dev &&
           here.st_uid == geteuid() && !(here.st_mode & (S_IRWXG | S_IRWXO));
}

/** Takes a folder for this run, unless another run or another user has it.
 * @return the lock; -1 */
static int take_folder(const char *path)
{
    enum { TRIES = 8 }; /* Who had it may remove it between two steps. */

    for (int i = 0; i < TRIES; i++) {
        int fd;

        if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
            return -1;
        fd = rp_lock_path(path, RP_LOCK_FOLDER | RP_LOCK_NO_LINK);
        if (fd >= 0 && is_ours(path, fd))
            return fd;
        if (fd < 0 && errno != ENOENT)
            return -1;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* What a killed run has left goes. Its notes in the repository are replaced as the trees are made
 * at the same places. */
static int empty_folder(const char *path, struct rp_err *err)
{
    static const char *const parts[] = {"base", "head", "tmp", "index", "index.lock"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        rp_autofree char *part = rp_path_join(path, parts[i]);

        rp_remove_tree(part);
        if (rp_path_exists(part))
            return rp_fail(err, RP_ENVIRONMENT,
                           "%s is of a run that was killed and cannot be removed", part);
    }
    return 0;
}

/* A compiler's cache knows files by their paths, so the trees of a repository are at the same place
 * in each run. Runs at the same time have places of their own. What a run has started has its lock,
 * too: the place is not free before all of it has ended, also where the run was killed. */
static int make_scratch(struct command *c, struct rp_err *err)
{
    static const char places[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    enum { DIGITS = 7 }; /* Sockets below it have short names: it is as long as a temporary one. */
    const char *wish = getenv("TMPDIR"), *folder = wish && *wish ? wish : "/tmp";
    rp_autofree char *parent = realpath(folder, NULL), *of = NULL;
    char key[RP_SHA256_TEXT];

    if (!parent)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the trees have no place in $TMPDIR, %s",
                             folder);
    of = rp_format("%u %s", (unsigned)geteuid(), c->root);
    rp_sha256(of, strlen(of), key);
    for (const char *place = places; *place; place++) {
        rp_autofree char *path = rp_format("%s/rocm-ci-%.*s%c", parent, DIGITS, key, *place);

        c->lock = take_folder(path);
        if (c->lock < 0)
            continue;
        fcntl(c->lock, F_SETFD, 0);
        c->scratch = rp_steal(path);
        return empty_folder(c->scratch, err);
    }
    return rp_temporary_folder(&c->scratch, err);
}

/* --- what to know of both sides ------------------------------------------------------------ */

static void remark(struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void remark(struct command *c, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    rp_vec_push(&c->job.result.remarks, rp_strdup(rp_buf_text(&text)));
}

static bool has_program(const struct rp_ci_config *config, const char *name)
{
    bool found = false;

    for (size_t i = 0; i < config->program_count; i++)
        found |= strcmp(config->programs[i].name, name) == 0;
    return found;
}

/* A change may loosen the limits that it is held to, or leave out a program. */
static void remark_on_config(struct command *c)
{
    rp_autofree char *path = rp_path_join(c->job.base.tree.path, c->job.result.config);
    rp_autofree char *now = rp_read_text(c->config_path, MOST_CONFIG_BYTES);
    rp_autofree char *then = rp_read_text(path, MOST_CONFIG_BYTES);
    rp_cleanup(rp_ci_config_free) struct rp_ci_config of_base = {0};
    struct rp_err why = RP_ERR_INIT;
    enum { MOST_NAMES = 3 };
    rp_autobuf gone = {0};
    size_t missing = 0;

    if (!now || !then || strcmp(now, then) == 0)
        return;
    if (rp_ci_config_parse(then, path, &of_base, &why) == 0)
        for (size_t i = 0; i < of_base.program_count; i++)
            if (!has_program(&c->config, of_base.programs[i].name) && missing++ < MOST_NAMES)
                rp_buf_printf(&gone, "%s%s", gone.len ? ", " : "", of_base.programs[i].name);
    if (missing > MOST_NAMES)
        rp_buf_printf(&gone, " and %zu more", missing - MOST_NAMES);
    remark(c, "%s is not that of base, so that programs and limits may be other ones%s%s",
           c->job.result.config, gone.len ? "; not tried any more: " : "", rp_buf_text(&gone));
}

static void remark_on_trees(struct command *c, const char *snapshot)
{
    const size_t submodules = rp_git_changed_submodules(c->root);

    if (rp_git_same_files(c->root, c->job.result.base_commit, snapshot))
        remark(c, "base and head have the same files, so that this run says nothing of a change");
    if (submodules)
        remark(c, "%zu submodule%s changes of %s own, which are not in the head: commit them there",
               submodules, submodules == 1 ? " has" : "s have", submodules == 1 ? "its" : "their");
    if (!c->args.config)
        remark_on_config(c);
}

/* The work tree without what this command itself writes there: results, trees, the history. */
static int take_snapshot(struct command *c, char **ret, struct rp_err *err)
{
    const char *history = c->args.history;
    rp_autofree char *database =
        history && rp_history_is_file(history) ? realpath(history, NULL) : NULL;
    rp_autofree char *journal = database ? rp_format("%s-journal", database) : NULL;
    const char *const leave_out[] = {c->output, c->scratch, database, journal, NULL};

    return rp_git_snapshot(c->root, leave_out, c->scratch, ret, &c->job.result.head_changed, err);
}

/* Both sides are trees of their own below one folder, so that their paths are alike. */
static int make_trees(struct command *c, struct rp_err *err)
{
    struct rp_ci_job *job = &c->job;
    rp_autofree char *base = NULL, *head = NULL, *snapshot = NULL;
    int rc = rp_git_commit_of(c->root, c->args.base, &job->result.base_commit, err);

    if (rc == 0)
        rc = rp_git_commit_of(c->root, "HEAD", &job->result.head_commit, err);
    if (rc == 0)
        rc = make_output(c, err);
    if (rc == 0)
        rc = make_scratch(c, err);
    if (rc == 0)
        rc = take_snapshot(c, &snapshot, err);
    if (rc < 0)
        return rc;
    job->temporary = rp_path_join(c->scratch, "tmp");
    rc = rp_mkdirs(job->temporary, err);
    if (rc < 0)
        return rc;
    base = rp_path_join(c->scratch, "base");
    head = rp_path_join(c->scratch, "head");
    rc = rp_git_tree_make(c->root, job->result.base_commit, base, &job->base.tree, err);
    if (rc == 0)
        rc = rp_git_tree_make(c->root, snapshot, head, &job->head.tree, err);
    if (rc == 0)
        remark_on_trees(c, snapshot);
    return rc;
}

/* What can be known of the history now is said now, and not behind minutes of work. */
static int check_history(const char *name, struct rp_err *err)
{
    if (!name || rp_history_check_path(name, err) == 0)
        return 0;
    err->code = err->code == RP_BAD_INPUT ? RP_USAGE : err->code;
    return rp_wrap(err, "--history");
}

static int prepare(struct command *c, struct rp_err *err)
{
    struct rp_ci_job *job = &c->job;
    int rc = clear_output(c, err);

    if (rc == 0)
        rc = check_history(c->args.history, err);
    if (rc == 0)
        rc = rp_git_root(&c->root, err);
    job->result.base_name = rp_strdup(c->args.base);
    c->self = realpath("/proc/self/exe", NULL);
    if (rc == 0 && !c->self)
        rc = rp_fail(err, RP_ENVIRONMENT, "/proc is not there");
    if (rc == 0)
        rc = read_config(c, err);
    if (rc < 0)
        return rc;
    job->config = &c->config;
    job->self = c->self;
    job->build = c->args.build ? c->args.build : c->config.build;
    job->base.word = "base";
    job->head.word = "head";
    job->line = rp_progress_line_begin();
    job->result.config =
        rp_strdup(c->args.config ? c->args.config : c->config_path + strlen(c->root) + 1);
    rc = choose_device(c, err);
    if (rc == 0)
        rc = make_trees(c, err);
    return rc < 0 ? rc : rp_ci_offer_hipcc(job, err);
}

/* --- after it ------------------------------------------------------------------------------ */

/* The history is told by its own command, which many may use at once. */
static int run_history(const char *const *argv, const char *log, struct rp_err *err)
{
    const struct rp_child child = {.argv = argv, .stdout_path = log, .stderr_path = log};
    struct rp_proc_end end = {0};
    static const char own[] = "rocm-perf: ";
    rp_autofree char *said = NULL;
    int rc = rp_child_run(&child, &end, err);

    if (rc < 0 || (!end.signaled && end.status == 0))
        return rc;
    said = rp_child_last_lines(log);
    return rp_fail(err, RP_ENVIRONMENT, "%s",
                   said + (strncmp(said, own, sizeof own - 1) == 0 ? sizeof own - 1 : 0));
}

/** @param branch a line of the configuration; NULL: none */
static int note_history(const struct command *c, const struct rp_ci_program *p, const char *branch,
                        bool *ret_any, struct rp_err *err)
{
    const struct rp_ci_result *r = &c->job.result;
    rp_autofree char *folder = rp_ci_path(&c->job, p, "head");
    rp_autofree char *log = rp_ci_path(&c->job, p, "history.log");
    rp_autofree char *commit = rp_format("%s%s", r->head_commit, r->head_changed ? "-dirty" : "");
    const char *const argv[] = {c->self,
                                "history",
                                "add",
                                "--db",
                                c->args.history,
                                "--commit",
                                commit,
                                "--program",
                                p->name,
                                folder,
                                branch ? "--config" : NULL,
                                branch,
                                NULL};

    if (!rp_path_is_dir(folder))
        return 0;
    *ret_any = true;
    return run_history(argv, log, err);
}

/* Results of a change are not among those of the branch that it may get into. On a service the
 * work tree is on no branch, and a request of another repository may have a branch called alike. */
static char *series_of_branch(const struct command *c)
{
    const char *request = getenv("CI_MERGE_REQUEST_IID"); /* of GitLab */
    const char *name = getenv("GITHUB_REF_NAME");         /* "7/merge" of a request */
    rp_autofree char *here = NULL;

    if (request && *request)
        return rp_format("branch=!%s", request);
    name = name && *name ? name : getenv("CI_COMMIT_REF_NAME");
    if (!name || !*name)
        name = here = rp_git_branch(c->root);
    return name && *name ? rp_format("branch=%.*s", (int)strcspn(name, "\r\n"), name) : NULL;
}

static int write_history_page(const struct command *c, struct rp_err *err)
{
    rp_autofree char *page = rp_path_join(c->output, "history.html");
    rp_autofree char *log = rp_path_join(c->output, "history.log");
    const char *const argv[] = {c->self,         "history", "page", "--db",
                                c->args.history, "-o",      page,   NULL};

    return run_history(argv, log, err);
}

static int keep_history(struct command *c, struct rp_err *err)
{
    rp_autofree char *branch = series_of_branch(c);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->config.program_count; i++)
        rc = note_history(c, &c->config.programs[i], branch, &c->has_page, err);
    return rc == 0 && c->has_page ? write_history_page(c, err) : rc;
}

static int write_form(const struct command *c, const char *name, const struct rp_buf *text,
                      struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(c->output, name);

    if (text->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_write_file(path, rp_buf_text(text), text->len, err);
}

static int write_forms(const struct command *c, struct rp_buf *json, struct rp_err *err)
{
    static const struct {
        const char *name;
        void (*write)(const struct rp_ci_result *result, struct rp_buf *to);
    } forms[] = {{"comment.md", rp_ci_comment},
                 {"junit.xml", rp_ci_junit},
                 {"codequality.json", rp_ci_code_quality},
                 {"metrics.txt", rp_ci_metrics}};
    int rc = rp_ci_json(&c->job.result, json, err);

    for (size_t i = 0; rc == 0 && i < sizeof forms / sizeof *forms; i++) {
        rp_autobuf text = {0};

        forms[i].write(&c->job.result, &text);
        rc = write_form(c, forms[i].name, &text, err);
    }
    return rc < 0 ? rc : write_form(c, "ci.json", json, err);
}

static void put_gates(const struct rp_page *page, const struct rp_ci_result *r,
                      enum rp_ci_outcome outcome)
{
    for (size_t i = 0; i < r->gates.count; i++) {
        const size_t repeats = rp_ci_gate_repeats(r, i);
        rp_autobuf line = {0};

        if (r->gates.items[i].outcome != outcome || !repeats)
            continue;
        rp_ci_gate_text(&line, &r->gates.items[i], repeats);
        rp_page_words(page, outcome == RP_CI_FAILS ? RP_INK_RED : RP_INK_YELLOW, 0, 2, "%s%s",
                      outcome == RP_CI_FAILS ? "" : "undecided: ", rp_buf_text(&line));
    }
}

static void put_text(const struct command *c, struct rp_buf *text)
{
    const struct rp_ci_result *r = &c->job.result;
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    const enum rp_ci_outcome verdict = rp_ci_verdict(r);
    rp_autobuf line = {0};

    rp_ci_verdict_text(&line, r);
    rp_page_words(&page,
                  verdict == RP_CI_HOLDS   ? RP_INK_GREEN
                  : verdict == RP_CI_FAILS ? RP_INK_RED
                                           : RP_INK_YELLOW,
                  0, 2, "%s", rp_buf_text(&line));
    put_gates(&page, r, RP_CI_FAILS);
    put_gates(&page, r, RP_CI_UNDECIDED);
    for (size_t i = 0; i < r->remarks.count; i++)
        rp_page_words(&page, RP_INK_YELLOW, 0, 2, "note: %s", r->remarks.items[i]);
    rp_buf_free(&line);
    rp_ci_device_text(&line, r);
    if (line.len)
        rp_page_words(&page, RP_INK_PLAIN, 0, 2, "%s", rp_buf_text(&line));
    rp_page_words(&page, RP_INK_PLAIN, 0, 2, "all of it: %s/ci.json; for a comment: %s/comment.md",
                  c->args.output, c->args.output);
    if (c->has_page)
        rp_page_words(&page, RP_INK_PLAIN, 0, 2, "times over commits: %s/history.html",
                      c->args.output);
}

/* Only GitHub is to act on workflow commands. */
static bool is_github(void)
{
    const char *word = getenv("GITHUB_ACTIONS");

    return word && strcmp(word, "true") == 0;
}

static int print(const struct command *c, const struct rp_buf *json)
{
    const enum rp_ci_outcome verdict = rp_ci_verdict(&c->job.result);
    rp_autobuf text = {0};
    int code;

    if (c->args.json)
        rp_buf_add(&text, rp_buf_text(json), json->len);
    else
        put_text(c, &text);
    if (!c->args.json && is_github())
        rp_ci_annotations(&c->job.result, &text);
    code = rp_cli_result(rp_buf_text(&text));
    if (code != RP_OK)
        return code;
    return verdict == RP_CI_FAILS ? RP_VERDICT : verdict == RP_CI_UNDECIDED ? UNDECIDED : RP_OK;
}

static int work(struct command *c, struct rp_buf *json, struct rp_err *err)
{
    int rc = prepare(c, err);

    if (rc == 0) {
        rp_ci_list_gates(&c->job);
        rc = rp_ci_decide_builds(&c->job, err);
    }
    for (size_t i = 0; rc == 0 && i < c->config.program_count; i++)
        rc = rp_ci_decide_program(&c->job, &c->config.programs[i], err);
    return rc < 0 ? rc : write_forms(c, json, err);
}

/* On a service an error stands in its list of annotations, too. */
static int refuse(const struct command *c, const struct rp_err *err)
{
    rp_autobuf text = {0};

    if (is_github() && !c->args.json) {
        rp_workflow_annotate(&text, "error", "rocm-perf ci", NULL, 0, err->text);
        rp_cli_result(rp_buf_text(&text));
    }
    return rp_cli_error(err);
}

/* What was found is there and is said, also where the history cannot be told it. */
static int finish(struct command *c, const struct rp_buf *json)
{
    struct rp_err err = RP_ERR_INIT;
    const int rc = c->args.history ? keep_history(c, &err) : 0;
    int code;

    c->has_page &= rc == 0;
    code = print(c, json);
    if (rc == 0)
        return code;
    rp_wrap(&err, "the results are there, but not in the history");
    return code == RP_OK || code == UNDECIDED ? refuse(c, &err) : (refuse(c, &err), code);
}

int rp_cmd_ci(int argc, char **argv)
{
    rp_cleanup(free_command) struct command c = {.lock = -1, .output_lock = -1};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf json = {0};
    int code = 0;

    if (!rp_options_parse(RP_COMMAND_ci, argc, argv, &c.args, &code))
        return code;
    /* Signals are caught until the end, because the trees must go. */
    rp_proc_catch_signals();
    return work(&c, &json, &err) < 0 ? refuse(&c, &err) : finish(&c, &json);
}
