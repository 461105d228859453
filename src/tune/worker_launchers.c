/* Starts workers: on this machine, or in an allocation of Slurm. */
#include "tune/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"

/** Runs in the child. The pipe reports a failure before the program runs. */
static void child_main(const struct rp_proc *proc, int fd, pid_t parent, int report_fd)
{
    sigset_t none;
    int code;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    setpgid(0, 0); /* Ctrl-C is for this process, which ends the child in order. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    rp_proc_exec(proc, NULL);
    code = errno;
    (void)!write(report_fd, &code, sizeof code);
    _exit(127);
}

static int start_process(const struct rp_proc *proc, int fd, pid_t *ret, struct rp_err *err)
{
    const pid_t self = getpid();
    int report[2], why = 0;
    ssize_t got;
    pid_t child;

    if (pipe2(report, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    child = fork();
    if (child == 0)
        child_main(proc, fd, self, report[1]);
    if (child > 0)
        /* The child does so too, because nobody knows which of the two is first. */
        setpgid(child, child);
    close(report[1]);
    while (child > 0 && (got = read(report[0], &why, sizeof why)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (child < 0)
        return rp_fail(err, RP_ENVIRONMENT, "cannot start a process");
    if (got == (ssize_t)sizeof why) {
        waitpid(child, NULL, 0);
        return rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot execute %s", proc->path);
    }
    *ret = child;
    return 0;
}

/**
 * Starts a program that gets SIGTERM when this process dies.
 * @param path  what to execute
 * @return 0; RP_ENVIRONMENT: it cannot be executed
 */
static int launch_child(const char *path, const char *const *argv, const struct rp_env_change *env,
                        struct rp_launched *ret, struct rp_err *err)
{
    const struct rp_proc proc = {.path = path, .argv = (char *const *)(uintptr_t)argv, .env = env};
    struct rp_launched launched = {0};
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "socketpair");
    rc = start_process(&proc, ends[1], &launched.pid, err);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return rc;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    launched.fd = ends[0];
    *ret = launched;
    return 0;
}

struct local {
    const char *const *worker;
    const char *const *gpus;
    char *path;
};

static void close_local(void *state)
{
    struct local *local = state;

    if (local)
        free(local->path);
    free(local);
}

static int open_local(const struct rp_tune_pool_options *options, void **ret_state,
                      unsigned *ret_workers, struct rp_err *err)
{
    struct local *local = rp_alloc_zero(1, sizeof *local);
    unsigned count = options->gpus ? 0 : options->workers ? options->workers : 1;
    int rc;

    while (options->gpus && options->gpus[count])
        count++;
    local->worker = options->worker;
    local->gpus = options->gpus;
    rc = count ? rp_find_program(options->worker[0], &local->path, err)
               : rp_fail(err, RP_USAGE, "there is no GPU to run on: the list is empty");
    if (rc < 0) {
        close_local(local);
        return rc;
    }
    *ret_state = local;
    *ret_workers = count;
    return 0;
}

static int start_local(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err)
{
    const struct local *local = state;
    const struct rp_env_change env[] = {
        {.name = local->gpus ? "ROCR_VISIBLE_DEVICES" : NULL,
         .value = local->gpus ? local->gpus[number] : NULL},
        {0},
    };

    return launch_child(local->path, local->worker, env, ret, err);
}

const struct rp_launcher rp_launcher_local = {
    .word = "local", .open = open_local, .start = start_local, .close = close_local};

extern char **environ;

/** There is one allocation, with one step per worker. */
struct slurm {
    const struct rp_tune_pool_options *options;
    char *srun, *job;              /**< job: the number of the allocation */
    char *cpus;                    /**< per task of the allocation; "": it does not say */
    struct rp_launched allocation; /**< srun, which holds it while we live; pid 0: not ours */
};

/** Appends words to a list that has room. */
static void add_words(const char **argv, size_t *at, const char *const *words)
{
    while (words && *words)
        argv[(*at)++] = *words++;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

/** @return whether that srun has ended within that time */
static bool ends_within(pid_t holder, int64_t ms)
{
    static const struct timespec a_while = {.tv_nsec = 10000000};

    for (int64_t waited = 0; waited <= ms; waited += 10) {
        const pid_t ended = waitpid(holder, NULL, WNOHANG);

        if (ended == holder || (ended < 0 && errno != EINTR))
            return true;
        nanosleep(&a_while, NULL);
    }
    return false;
}

/** Cancels an allocation that srun did not give back. Nothing is left to be done where this fails,
 * too. */
static void cancel_job(const char *job)
{
    rp_autofree char *scancel = NULL;
    struct rp_proc_end end;
    struct rp_err err;

    if (!job || rp_find_program("scancel", &scancel, &err) < 0)
        return;
    const char *const argv[] = {"scancel", "--quiet", job, NULL};
    const struct rp_proc proc = {
        .path = scancel, .argv = (char *const *)(uintptr_t)argv, .timeout_ns = 10000000000};

    rp_proc_run(&proc, &end, &err);
}

/**
 * The program in the allocation ends, and with it srun, which gives the allocation back. If srun
 * does not end, it gets a signal, and is then killed.
 */
static void end_allocation(const struct slurm *slurm)
{
    enum { PATIENCE_MS = 10000, AFTER_SIGNAL_MS = 2000 };
    const pid_t holder = slurm->allocation.pid;

    close(slurm->allocation.fd);
    if (ends_within(holder, PATIENCE_MS))
        return;
    kill(holder, SIGTERM);
    if (!ends_within(holder, AFTER_SIGNAL_MS)) {
        kill(-holder, SIGKILL);
        ends_within(holder, AFTER_SIGNAL_MS);
    }
    cancel_job(slurm->job);
}

static void close_slurm(void *state)
{
    struct slurm *slurm = state;

    if (!slurm)
        return;
    if (slurm->allocation.pid > 0)
        end_allocation(slurm);
    free(slurm->srun);
    free(slurm->job);
    free(slurm->cpus);
    free(slurm);
}

/** Waits as long as it takes until the allocation is there, because it may be queued. */
static int read_job(struct slurm *slurm, struct rp_err *err)
{
    rp_cleanup(rp_line_reader_free) struct rp_line_reader reader = {0};
    const char *line = NULL;
    size_t bytes = 0;
    int rc = 0;

    while (rc == 0 && !reader.ended && !(line = rp_line_reader_next(&reader, &bytes))) {
        struct pollfd fd = {.fd = slurm->allocation.fd, .events = POLLIN};

        rc = poll(&fd, 1, -1) > 0 ? rp_line_reader_fill(&reader, slurm->allocation.fd, err)
                                  : rp_proc_interrupted(err);
    }
    if (rc == 0 && (!line || !bytes))
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "srun gave no allocation; its message is above, options for it are given "
                     "with --salloc");
    if (rc == 0) {
        const char *space = memchr(line, ' ', bytes);
        const size_t job_bytes = space ? (size_t)(space - line) : bytes;

        slurm->job = rp_strndup(line, job_bytes);
        slurm->cpus = space ? rp_strndup(space + 1, bytes - job_bytes - 1) : rp_strdup("");
    }
    if (rc < 0)
        kill(slurm->allocation.pid, SIGTERM);
    return rc;
}

enum { MOST_VARIABLES = 32 };

/** Variables that a user has set for salloc are meant for the allocation, which srun asks for: its
 * variables have the same names behind the first word.
 * @param ret has names to be freed; an entry without one is the last */
static void allocation_variables(struct rp_env_change ret[MOST_VARIABLES + 1])
{
    static const char prefix[] = "SALLOC_";
    size_t count = 0;

    for (char **variable = environ; *variable && count < MOST_VARIABLES; variable++) {
        const char *value = strchr(*variable, '=');
        char *name;

        if (!value || strncmp(*variable, prefix, sizeof prefix - 1) != 0)
            continue;
        name = rp_format("SLURM_%.*s", (int)(value - *variable - (int)(sizeof prefix - 1)),
                         *variable + sizeof prefix - 1);
        if (!getenv(name))
            ret[count++] = (struct rp_env_change){.name = name, .value = value + 1};
        else
            free(name);
    }
    ret[count] = (struct rp_env_change){0};
}

/**
 * The allocation lasts as long as a program in it reads from us, so it ends also when we are
 * killed. It is a step that leaves all processors and GPUs to others (--overlap). salloc is not
 * used for that: once in some hundred runs salloc of Slurm 22.05 goes on when the program has
 * ended, and uses a whole processor (wait4 says ECHILD, for ever).
 */
static int allocate(struct slurm *slurm, unsigned workers, struct rp_err *err)
{
    static const char *const holder[] = {
        "/bin/sh", "-c",
        "[ \"$SLURM_PROCID\" = 0 ] || exit 0; echo \"$SLURM_JOB_ID $SLURM_CPUS_PER_TASK\"; exec "
        "cat >/dev/null",
        NULL};
    const char *const *words = slurm->options->allocation_words;
    rp_autofree const char **argv = rp_alloc_zero(count_words(words) + 12, sizeof *argv);
    struct rp_env_change variables[MOST_VARIABLES + 1];
    rp_autofree char *tasks = rp_format("--ntasks=%u", workers);
    size_t at = 0;
    int rc;

    argv[at++] = "srun";
    argv[at++] = "--quiet"; /* Errors are printed all the same. */
    argv[at++] = "--overlap";
    /* The first task reads. The others end at once, which is no reason to end the step. */
    argv[at++] = "--input=0";
    argv[at++] = "--wait=0";
    argv[at++] = tasks;
    add_words(argv, &at, words);
    add_words(argv, &at, holder);
    allocation_variables(variables);
    rc = launch_child(slurm->srun, argv, variables, &slurm->allocation, err);
    for (size_t i = 0; variables[i].name; i++)
        free((char *)(uintptr_t)variables[i].name);
    return rc < 0 ? rc : read_job(slurm, err);
}

static int open_slurm(const struct rp_tune_pool_options *options, void **ret_state,
                      unsigned *ret_workers, struct rp_err *err)
{
    const char *inside = getenv("SLURM_JOB_ID"), *tasks = getenv("SLURM_NTASKS");
    const char *cpus = getenv("SLURM_CPUS_PER_TASK");
    struct slurm *slurm = rp_alloc_zero(1, sizeof *slurm);
    unsigned workers = options->workers;
    int rc = 0;

    slurm->options = options;
    if (options->gpus)
        rc = rp_fail(err, RP_USAGE,
                     "--gpus is for workers of this machine; Slurm chooses GPUs: --srun --gpus=1");
    else if (rp_find_program("srun", &slurm->srun, err) < 0)
        rc = rp_fail(err, RP_ENVIRONMENT, "there is no srun in $PATH: is Slurm installed?");
    if (!workers && inside && tasks)
        workers = (unsigned)strtoul(tasks, NULL, 10);
    workers = workers ? workers : 1;
    if (rc == 0 && inside) {
        slurm->job = rp_strdup(inside);
        slurm->cpus = rp_strdup(cpus ? cpus : "");
    } else if (rc == 0)
        rc = allocate(slurm, workers, err);
    if (rc < 0) {
        close_slurm(slurm);
        return rc;
    }
    *ret_state = slurm;
    *ret_workers = workers;
    return 0;
}

/** Within an allocation, srun would take these for what one step asks for. */
static const struct rp_env_change of_the_allocation[] = {
    {.name = "SLURM_GPUS"},
    {.name = "SLURM_MEM_PER_NODE"}, /* The first step would take all of it. */
    {.name = "SLURM_MEM_PER_GPU"},
    {.name = "SLURM_GPUS_PER_NODE"},
    {.name = "SLURM_GPUS_PER_SOCKET"},
    {.name = "SLURM_GPUS_PER_TASK"},
    {.name = "SLURM_NTASKS_PER_NODE"},
    {.name = "SLURM_NTASKS_PER_SOCKET"},
    {.name = "SLURM_NTASKS_PER_GPU"},
    {.name = "SLURM_TRES_PER_TASK"},
    {0},
};

static int start_slurm(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err)
{
    const struct slurm *slurm = state;
    const char *const *step = slurm->options->step_words, *const *worker = slurm->options->worker;
    rp_autofree const char **argv =
        rp_alloc_zero(count_words(step) + count_words(worker) + 9, sizeof *argv);
    rp_autofree char *job = rp_format("--jobid=%s", slurm->job);
    /* srun of Slurm 22.05 and later does not take the number from the allocation by itself. */
    rp_autofree char *cpus_word =
        rp_format("--cpus-per-task=%s", slurm->cpus[0] ? slurm->cpus : "1");
    size_t at = 0;

    (void)number;
    argv[at++] = "srun";
    argv[at++] = "--quiet";
    argv[at++] = job;
    /* Each step gets its own share of the allocation, beside other steps. */
    argv[at++] = "--exact";
    argv[at++] = "--nodes=1";
    argv[at++] = "--ntasks=1";
    argv[at++] = cpus_word;
    add_words(argv, &at, step);
    add_words(argv, &at, worker);
    return launch_child(slurm->srun, argv, of_the_allocation, ret, err);
}

const struct rp_launcher rp_launcher_slurm = {
    .word = "slurm", .open = open_slurm, .start = start_slurm, .close = close_slurm};

static const struct rp_launcher *const launchers[] = {
#define RP_LAUNCHER(id, word) &rp_launcher_##word,
#include "tune/launchers.def"
#undef RP_LAUNCHER
};

const struct rp_launcher *rp_launcher_named(const char *word)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(word, launchers[i]->word) == 0)
            return launchers[i];
    return NULL;
}
