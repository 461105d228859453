#include "tune/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "run/run_options.h"
#include "run/run_program.h"
#include "tune/worker_protocol.h"

struct rp_worker_folder {
    char *path; /**< NULL: there is none */
    int lock;   /**< held while the worker lives */
};

#define PREFIX "rocm-perf-worker-"

enum { LOCKED = RP_LOCK_FOLDER | RP_LOCK_NO_LINK };

/** Nobody holds its lock: its worker has ended without its clean-up. */
static void remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        rp_autofree char *path = NULL;
        rp_autoclose int fd = -1;
        struct stat st;

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        path = rp_path_join(base, entry->d_name);
        fd = rp_lock_path(path, LOCKED);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
            rp_remove_tree(path);
    }
    if (dir)
        closedir(dir);
}

/** Another worker may have removed it before it was locked. */
static bool is_there(const char *path, int fd)
{
    struct stat by_name, by_fd;

    return stat(path, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
           by_name.st_dev == by_fd.st_dev;
}

/**
 * A new folder in $TMPDIR, or /tmp. Those of workers that were killed are removed.
 * @return 0, RP_ENVIRONMENT
 */
static int rp_worker_folder_open(struct rp_worker_folder *ret, struct rp_err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *base = tmp && *tmp ? tmp : "/tmp";

    remove_stale(base);
    for (;;) {
        rp_autofree char *path = rp_path_join(base, PREFIX "XXXXXX");
        int fd;

        if (!mkdtemp(path))
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a folder in %s", base);
        fd = rp_lock_path(path, LOCKED);
        if (fd >= 0 && is_there(path, fd)) {
            *ret = (struct rp_worker_folder){.path = rp_steal(path), .lock = fd};
            return 0;
        }
        if (fd >= 0)
            close(fd);
        else if (errno != EWOULDBLOCK && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot lock %s", path);
    }
}

/** Removes it. Accepts one that has no path. */
static void rp_worker_folder_close(struct rp_worker_folder *folder)
{
    if (!folder->path)
        return;
    rp_remove_tree(folder->path);
    close(folder->lock);
    free(folder->path);
    *folder = (struct rp_worker_folder){0};
}

/* Nobody asks for this process any more: it ends, and what it runs with it. */

/** Time for a program to end by itself. */
enum { GRACE_MS = 3000 };

static void *watch(void *arg)
{
    struct pollfd parent = {.fd = (int)(intptr_t)arg, .events = POLLIN};

    while (poll(&parent, 1, -1) < 1)
        ;
    kill(getpid(), SIGTERM);
    poll(NULL, 0, GRACE_MS);
    kill(getpid(), SIGTERM);
    return NULL;
}

/**
 * From here on the end of the parent is SIGTERM for this process, and a while later SIGTERM again:
 * what rp_proc_run runs is killed by the second one. Without pidfds (Linux before 5.3) there is
 * none.
 */
static void rp_orphan_watch_begin(void)
{
    const int parent = pidfd_open(getppid(), 0);
    sigset_t all, before;
    pthread_t thread;

    if (parent < 0)
        return;
    sigfillset(&all); /* signals are for the thread that runs programs */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, (void *)(intptr_t)parent) == 0)
        pthread_detach(thread);
    else
        close(parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct worker {
    const struct rp_worker_options *options;
    struct rp_environment env;
    struct rp_run_options run; /**< resolved */
    const struct rp_tracer *tracer;
    struct rp_orphans adopted;
    struct rp_worker_folder folder;
    int in, out;
};

/* --- who it is ------------------------------------------------------------------------------- */

static int describe(const struct worker *w, struct rp_worker_hello *h, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    struct utsname host;

    uname(&host);
    *h = (struct rp_worker_hello){.protocol = RP_WORKER_PROTOCOL,
                                  .version = rp_strdup(w->options->version),
                                  .host = rp_strdup(host.nodename),
                                  .pid = getpid(),
                                  .visible = rp_strdup(visible ? visible : "")};
    return rp_device_identify(&w->env, &w->run, &h->on, err);
}

/* --- talking --------------------------------------------------------------------------------- */

static int say(const struct worker *w, const struct rp_buf *text, struct rp_err *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t put = write(w->out, text->data + at, text->len - at);
        const int why = errno;

        if (put < 0 && why == EAGAIN) { /* who gave us the socket does not wait for it */
            poll(&(struct pollfd){.fd = w->out, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (put < 0 && why != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, why, "nobody reads the answers");
        at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int send_hello(const struct worker *w, struct rp_err *err)
{
    rp_cleanup(rp_worker_hello_free) struct rp_worker_hello hello = {0};
    rp_autobuf line = {0};
    int rc = describe(w, &hello, err);

    if (rc == 0)
        rc = rp_worker_hello_write(&hello, &line, err);
    return rc < 0 ? rc : say(w, &line, err);
}

/** The last words: it ends for a reason that no configuration has. */
static void send_fatal(const struct worker *w, const struct rp_err *why)
{
    rp_autobuf line = {0};
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_json_write_line(json_pack("{s:o}", "fatal", rp_json_of_text(why->text)), &line,
                           &ignored) == 0)
        say(w, &line, &ignored);
}

static int answer(const struct worker *w, const char *line, size_t bytes, struct rp_err *err)
{
    const struct rp_measure_context evaluator = {.env = &w->env,
                                                 .options = &w->run,
                                                 .tracer = w->tracer,
                                                 .folder = w->folder.path,
                                                 .adopted = &w->adopted};
    rp_cleanup(rp_evaluation_request_free) struct rp_evaluation_request request = {0};
    rp_cleanup(rp_evaluation_free) struct rp_evaluation evaluation = {0};
    rp_autobuf text = {0};
    int rc = rp_evaluation_request_parse(line, bytes, &request, err);

    if (rc == 0)
        rc = rp_measure_config(&evaluator, &request, &evaluation, err);
    if (rc == 0)
        rc = rp_evaluation_write(&evaluation, &text, err);
    return rc < 0 ? rc : say(w, &text, err);
}

static int answer_all(const struct worker *w, struct rp_err *err)
{
    rp_cleanup(rp_line_reader_free) struct rp_line_reader reader = {0};
    int rc = 0;

    while (rc == 0) {
        size_t bytes;
        const char *line = rp_line_reader_next(&reader, &bytes);

        rc = rp_proc_interrupted(err);
        if (rc < 0 || (!line && reader.ended))
            break;
        rc = line ? answer(w, line, bytes, err) : rp_line_reader_fill(&reader, w->in, err);
    }
    return rc;
}

/* --- beginning and end ----------------------------------------------------------------------- */

static void hear_pipe(int signo)
{
    (void)signo; /* caught, not ignored: the programs that it runs do not inherit that */
}

/** Programs see neither the requests nor the way for answers. */
static int take_standard_files(struct worker *w, struct rp_err *err)
{
    const struct sigaction pipe_action = {.sa_handler = hear_pipe};
    rp_autoclose int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    w->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    w->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (null < 0 || w->in < 0 || w->out < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                             "a worker needs standard input, output and error");
    sigaction(SIGPIPE, &pipe_action, NULL);
    return 0;
}

/** Slurm may tell a step its GPU in a variable of its own only. */
static void take_step_gpus(void)
{
    const char *of_step = getenv("SLURM_STEP_GPUS");

    if (of_step && *of_step)
        setenv("ROCR_VISIBLE_DEVICES", of_step, 0);
}

static int prepare(struct worker *w, struct rp_err *err)
{
    int rc = rp_environment_detect(&w->env, err);

    w->run = w->options->run;
    if (rc == 0)
        rc = rp_device_resolve(&w->env, &w->run, err);
    if (rc == 0)
        rc = rp_tracer_choose(&w->env, w->run.device, RP_TRACER_AUTO, &w->tracer, err);
    return rc < 0 ? rc : rp_worker_folder_open(&w->folder, err);
}

static void close_worker(struct worker *w)
{
    rp_worker_folder_close(&w->folder);
    rp_environment_free(&w->env);
    rp_orphans_end(&w->adopted);
    if (w->in >= 0)
        close(w->in);
    if (w->out >= 0)
        close(w->out);
}

int rp_worker_serve(const struct rp_worker_options *options, struct rp_err *err)
{
    struct worker w = {.options = options, .in = -1, .out = -1};
    int rc;

    rp_proc_catch_signals();
    rp_orphan_watch_begin();
    rp_orphans_begin(&w.adopted); /* all that programs leave behind is ours from here on */
    take_step_gpus();
    rc = take_standard_files(&w, err);
    if (rc == 0)
        rc = prepare(&w, err);
    if (rc == 0)
        rc = send_hello(&w, err);
    if (rc == 0)
        rc = answer_all(&w, err);
    if (rc < 0 && rc != -RP_INTERRUPTED && w.out >= 0)
        send_fatal(&w, err);
    close_worker(&w);
    return rc;
}
