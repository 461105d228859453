#include "experiment/child_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/box.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "experiment/judge.h"
#include "run/hip_compiler.h"
#include "run/run_program.h"

static const uint64_t GIB = (uint64_t)1 << 30;

struct rp_proc_limits rp_compiler_limits(void)
{
    /* clang needs about 2 GB of addresses and 0.3 GB of memory for the HIP examples. */
    return (struct rp_proc_limits){
        .address_bytes = 16 * GIB, .resident_bytes = 6 * GIB, .file_bytes = 2 * GIB, .cpu_s = 1800};
}

struct rp_proc_limits rp_program_limits(void)
{
    /* The software device keeps its memory in a file of the size of a GPU's. */
    return (struct rp_proc_limits){.resident_bytes = 32 * GIB};
}

/** A file of that name goes: where somebody else could have made it, it may be a link, a second
 * name of another file, or a pipe.
 * @return its descriptor, or -1 with errno */
static int open_new(const char *path, int flags)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int open_output(const char *path, struct rp_err *err)
{
    int fd = path ? open_new(path, O_WRONLY | O_APPEND) : open("/dev/null", O_WRONLY | O_CLOEXEC);

    return fd >= 0 ? fd
                   : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s",
                                   path ? path : "/dev/null");
}

/** Looks at what a child prints while it runs. */
struct watched {
    const struct rp_child *child;
    int fds[2]; /**< -1: none */
};

static bool prints_for_ever(void *context)
{
    const struct watched *w = context;
    bool over = false;

    for (size_t i = 0; i < sizeof w->fds / sizeof *w->fds; i++) {
        struct stat st;

        over |= w->fds[i] >= 0 && fstat(w->fds[i], &st) == 0 && S_ISREG(st.st_mode) &&
                (uint64_t)st.st_size > w->child->most_bytes;
    }
    return over;
}

static void pass_on(void *context, int64_t elapsed_ns)
{
    const struct watched *w = context;

    if (w->child->waiting)
        w->child->waiting(w->child->context, elapsed_ns);
}

int rp_child_run(const struct rp_child *child, struct rp_proc_end *ret, struct rp_err *err)
{
    const bool one_file = child->stdout_path && child->stderr_path &&
                          strcmp(child->stdout_path, child->stderr_path) == 0;
    rp_autofree char *path = NULL;
    rp_autoclose int in = -1;
    rp_autoclose int out = -1;
    rp_autoclose int other = -1;
    int rc = rp_find_program(child->argv[0], &path, err);

    if (rc < 0)
        return rc;
    rc = child->sandbox ? rp_box_renew(child->sandbox, err) : 0;
    if (rc < 0)
        return rc;
    /* The child has a group of its own, in which a read from the terminal would stop it for ever.
     */
    in = open(child->stdin_path ? child->stdin_path : "/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot open %s",
                             child->stdin_path ? child->stdin_path : "/dev/null");
    out = open_output(child->stdout_path, err);
    if (out < 0)
        return out;
    other = one_file ? -1 : open_output(child->stderr_path, err);
    if (!one_file && other < 0)
        return other;
    struct rp_proc_limits limits = child->limits;
    /* Compilers and programs on a device start a few dozen at most. */
    enum { MOST_PROCESSES = 512 };

    limits.processes = child->sandbox ? MOST_PROCESSES : limits.processes;
    struct watched watched = {child, {out, other}};
    const struct rp_proc proc = {.path = path,
                                 .argv = (char *const *)(uintptr_t)child->argv,
                                 .env = child->env,
                                 .directory = child->directory,
                                 .stdin_fd = in,
                                 .stdout_fd = out,
                                 .stderr_fd = one_file ? out : other,
                                 .timeout_ns = child->timeout_ns,
                                 .limits = &limits,
                                 .sandbox = child->sandbox,
                                 .waiting = child->waiting ? pass_on : NULL,
                                 .hangs = child->most_bytes ? prints_for_ever : NULL,
                                 .context = &watched};

    rc = child->compiler_of ? rp_compiler_run(child->compiler_of, &proc, child->again, ret, err)
                            : rp_proc_run(&proc, ret, err);
    ret->over_output = child->most_bytes && (ret->hung || prints_for_ever(&watched));
    return rc;
}

static bool read_part(int fd, off_t offset, char *at, size_t bytes)
{
    size_t have = 0;

    while (have < bytes) {
        ssize_t got = pread(fd, at + have, bytes - have, offset + (off_t)have);

        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

/** ROCr prints this line at the end of correct programs, too, and the program did not write it. */
static void drop_leaks(char *text)
{
    static const char leak[] = "Warning: Resource leak detected by ";

    for (char *line = text; *line;) {
        char *next = line + strcspn(line, "\n");

        next += *next != 0;
        if (strncmp(line, leak, sizeof leak - 1) == 0)
            memmove(line, next, strlen(next) + 1);
        else
            line = next;
    }
}

static char *read_text(const char *path, size_t most_bytes)
{
    static const char between[] = "\n...\n";
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rp_autofree char *text = rp_alloc(most_bytes + sizeof between);
    const size_t half = most_bytes / 2;
    struct stat st;
    size_t bytes;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    bytes = (size_t)st.st_size;
    if (bytes <= most_bytes) {
        if (!read_part(fd, 0, text, bytes))
            return NULL;
        text[bytes] = 0;
        return rp_steal(text);
    }
    if (!read_part(fd, 0, text, half) ||
        !read_part(fd, (off_t)(bytes - half), text + half + sizeof between - 1, half))
        return NULL;
    memcpy(text + half, between, sizeof between - 1);
    text[2 * half + sizeof between - 1] = 0;
    return rp_steal(text);
}

char *rp_child_text(const char *path, size_t most_bytes)
{
    char *text = read_text(path, most_bytes);

    if (text)
        drop_leaks(text);
    return text;
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

char *rp_text_join_lines(const char *text)
{
    rp_autobuf line = {0};

    while (*text) {
        const size_t bytes = strcspn(text, "\n");
        size_t first = 0, end = bytes;

        while (first < end && is_blank(text[first]))
            first++;
        while (end > first && is_blank(text[end - 1]))
            end--;
        if (end > first && line.len)
            rp_buf_puts(&line, " | ");
        for (size_t i = first; i < end; i++)
            rp_buf_add(&line, is_blank(text[i]) ? " " : text + i, 1);
        text += bytes + (text[bytes] == '\n');
    }
    return line.len ? rp_buf_steal(&line) : rp_strdup("");
}

size_t rp_text_fitting_bytes(const char *text, size_t most_bytes)
{
    size_t bytes = strnlen(text, most_bytes + 1);

    if (bytes <= most_bytes)
        return bytes;
    for (bytes = most_bytes; bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80;)
        bytes--;
    return bytes;
}

char *rp_child_last_lines(const char *path)
{
    enum { MOST_LINES = 6, MOST_BYTES = 600 };
    rp_autofree char *text = rp_child_text(path, (size_t)2 * MOST_BYTES);
    size_t length = text ? strlen(text) : 0, begin;

    while (length && text[length - 1] == '\n')
        length--;
    begin = length;
    for (unsigned lines = 0; begin && length - begin < MOST_BYTES; begin--)
        if (text[begin - 1] == '\n' && ++lines == MOST_LINES)
            break;
    while (begin < length && ((unsigned char)text[begin] & 0xC0) == 0x80)
        begin++; /* The cut must not be inside a character. */
    if (text)
        text[length] = 0;
    return rp_text_join_lines(text ? text + begin : "");
}

char *rp_child_end_sentence(const struct rp_proc_end *end)
{
    if (end->over_processes)
        return rp_format("it started more processes than it may");
    if (end->over_limits)
        return rp_format("it took more memory than it may");
    if (end->timed_out)
        return rp_format("it did not end in time");
    if (end->signaled)
        return rp_format("it was ended by SIG%s", rp_signal_abbreviation(end->status) ?: "?");
    return rp_format("it ended with exit status %d", end->status);
}

static const int64_t SECOND = 1000000000;

/* An accepted candidate is faster, so one that takes ten times as long hangs, or the machine does.
 * The minute is for machines that are busy now and were not before. Nothing else may depend on it
 * where times are modelled: only a program that hangs is ended. */
enum {
    TIMES_AS_LONG = 10,
    LEAST_S = 60,
    LEAST_MODELLED_S = 600,
    MOST_S = 4 * 3600,
    REPLAY_S = 3600
};

static bool by_original(const struct rp_run_deadline *p, enum rp_run_kind what)
{
    return what == RP_RUN_KIND_CANDIDATE && p->longest_ns > 0 &&
           p->longest_ns < MOST_S * SECOND / TIMES_AS_LONG;
}

static int least_s(const struct rp_run_deadline *p)
{
    return p->modelled ? LEAST_MODELLED_S : LEAST_S;
}

static int64_t usual_limit(const struct rp_run_deadline *p, enum rp_run_kind what)
{
    if (what == RP_RUN_KIND_REPLAY)
        return p->timeout_ns > REPLAY_S * SECOND ? p->timeout_ns : REPLAY_S * SECOND;
    if (p->timeout_ns)
        return p->timeout_ns;
    if (!by_original(p, what))
        return MOST_S * SECOND;
    return p->longest_ns * TIMES_AS_LONG > least_s(p) * SECOND ? p->longest_ns * TIMES_AS_LONG
                                                               : least_s(p) * SECOND;
}

int64_t rp_run_deadline_left_ns(struct rp_run_deadline *patience, enum rp_run_kind what)
{
    const int64_t limit_ns = usual_limit(patience, what);
    const int64_t left_ns = patience->end_ns ? patience->end_ns - rp_now_ns() : limit_ns;

    patience->by_budget = left_ns < limit_ns;
    return left_ns >= limit_ns ? limit_ns : left_ns > 0 ? left_ns : 1;
}

int rp_run_deadline_judge_end(struct rp_run_deadline *patience, enum rp_run_kind what,
                              const struct rp_proc_end *end, struct rp_err *err)
{
    if (end->timed_out && patience->by_budget) {
        patience->over = true;
        return rp_fail(err, RP_VERDICT, "the time of --budget was over before it had ended");
    }
    /* Each of its kernels has a limit of its own, so the machine is the cause of such a delay. */
    if (what == RP_RUN_KIND_REPLAY && end->timed_out)
        return rp_fail(err, RP_ENVIRONMENT,
                       "a comparison did not end within %g s, which says nothing about the "
                       "candidate: this machine is too slow, or too busy; --resume with more of "
                       "--timeout goes on",
                       (double)usual_limit(patience, what) / (double)SECOND);
    if (what == RP_RUN_KIND_ORIGINAL && !end->timed_out && end->wall_ns > patience->longest_ns)
        patience->longest_ns = end->wall_ns;
    return 0;
}

char *rp_run_deadline_sentence(const struct rp_run_deadline *patience, enum rp_run_kind what)
{
    if (patience->timeout_ns)
        return rp_format("within the %g s of --timeout",
                         (double)patience->timeout_ns / (double)SECOND);
    if (by_original(patience, what))
        return rp_format("within %d times the time of the program as it is, and %d s at least "
                         "(--timeout gives it another time)",
                         TIMES_AS_LONG, least_s(patience));
    return rp_format("within %d h (--timeout gives it another time)", MOST_S / 3600);
}

static size_t count_of(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

const char **rp_own_command_argv(const struct rp_child_context *m, const char *const *words,
                                 const char *program)
{
    /* These are the words of "rocm-perf --device D --timing T -- PROGRAM", and the end. */
    enum { MOST_OWN = 8 };
    const size_t args = program ? count_of((const char *const *)m->program) : 0;
    const char **argv = rp_alloc_zero(count_of(words) + args + MOST_OWN, sizeof *argv);
    size_t at = 0;

    argv[at++] = m->self;
    while (*words)
        argv[at++] = *words++;
    if (m->device) {
        argv[at++] = "--device";
        argv[at++] = m->device;
    }
    if (m->timing) {
        argv[at++] = "--timing";
        argv[at++] = m->timing;
    }
    if (program) {
        argv[at++] = "--";
        argv[at++] = program;
    }
    for (size_t i = 1; i < args; i++)
        argv[at++] = m->program[i];
    return argv;
}

const struct rp_sandbox *rp_child_sandbox(const struct rp_child_context *measure,
                                          enum rp_run_kind what)
{
    return what != RP_RUN_KIND_REPLAY && measure->programs_outside ? NULL : measure->sandbox;
}

int rp_own_command_run(const struct rp_child_context *measure, const struct rp_own_command *self,
                       struct rp_proc_end *ret, struct rp_err *err)
{
    rp_autofree const char **argv = rp_own_command_argv(measure, self->words, self->program);
    rp_cleanup(rp_run_env_free) struct rp_run_env env = {0};
    int rc;

    rc = measure->run ? rp_run_env_make(NULL, measure->run, &env, err) : 0;
    if (rc < 0)
        return rc;
    rc = rp_child_run(
        &(struct rp_child){.argv = argv,
                           .env = env.list,
                           .stdin_path = self->program ? measure->input : NULL,
                           .stdout_path = self->stdout_path,
                           .stderr_path = self->stderr_path,
                           .timeout_ns = rp_run_deadline_left_ns(measure->patience, self->what),
                           .limits = rp_program_limits(),
                           .sandbox = rp_child_sandbox(measure, self->what),
                           .waiting = measure->patience->waiting,
                           .context = measure->patience->context},
        ret, err);
    return rc < 0 ? rc : rp_run_deadline_judge_end(measure->patience, self->what, ret, err);
}

enum { MOST_LINE = 200, MOST_LOG = 1 << 16 };

/** Reads the end of a file, and terminates it. Zero bytes become blanks. It returns NULL when the
 * file is unreadable or empty. */
static char *tail_of(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    rp_autofree char *text = rp_alloc(MOST_LOG + 1);
    struct stat st;
    ssize_t got;

    if (fd < 0 || fstat(fd, &st) != 0)
        return NULL;
    got = pread(fd, text, MOST_LOG, st.st_size > MOST_LOG ? st.st_size - MOST_LOG : 0);
    if (got <= 0)
        return NULL;
    for (ssize_t i = 0; i < got; i++)
        if (!text[i])
            text[i] = ' ';
    text[got] = 0;
    return rp_steal(text);
}

/** The line is blank, or one that ROCr prints at the end of correct programs, too. */
static bool says_nothing(const char *line, size_t bytes)
{
    static const char leak[] = "Warning: Resource leak detected by ";

    if (bytes >= sizeof leak - 1 && memcmp(line, leak, sizeof leak - 1) == 0)
        return true;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)line[i] > ' ')
            return false;
    return true;
}

/** "emory" finds the device's own word, and ROCr's at the beginning of a line. */
static bool has_error(const char *line, size_t bytes)
{
    static const char *const words[] = {"error", "emory access fault"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, bytes, words[i], strlen(words[i])))
            return true;
    return false;
}

static char *plain(const char *line, size_t bytes)
{
    rp_autobuf mended = {0};
    char *text;

    rp_utf8_fix(&mended, line, bytes < MOST_LINE ? bytes : MOST_LINE);
    if (bytes > MOST_LINE)
        rp_buf_puts(&mended, "...");
    text = rp_buf_steal(&mended);
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return text;
}

char *rp_child_error_line(const char *path)
{
    rp_autofree char *text = tail_of(path);
    const char *best = NULL;
    size_t best_bytes = 0;

    for (const char *line = text; line && *line;) {
        const size_t bytes = strcspn(line, "\n");

        if (!says_nothing(line, bytes)) {
            best = line;
            best_bytes = bytes;
            if (has_error(line, bytes))
                break;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return best ? plain(best, best_bytes) : NULL;
}

void rp_child_add_error_line(char **why, const char *log_path)
{
    rp_autofree char *said = rp_child_error_line(log_path);
    char *both = said ? rp_format("%s: %s", *why, said) : NULL;

    if (!both)
        return;
    free(*why);
    *why = both;
}

char *rp_child_end_reason(const struct rp_proc_end *end, const char *log_path)
{
    rp_autofree char *said = rp_child_error_line(log_path);
    rp_autofree char *how = end->over_processes ? rp_format("started more processes than it may")
                            : end->over_limits  ? rp_format("took more memory than it may")
                            : end->timed_out    ? rp_format("did not end in time")
                            : end->signaled     ? rp_format("was ended by SIG%s",
                                                        rp_signal_abbreviation(end->status) ?: "?")
                                            : rp_format("ended with exit status %d", end->status);

    return how ? rp_format("%s%s%s", how, said ? ": " : "", said ? said : "") : NULL;
}

enum { STEP_BYTES = 1 << 16, STEPS_AT_END = 32 };

/** Keeps all bytes, or as much as the disk takes: then the rest counts as too much. */
static void keep(struct rp_output_limiter *tap, int i, const char *bytes, size_t count)
{
    const size_t wanted = count < tap->left_bytes[i] ? count : tap->left_bytes[i];
    size_t done = 0;

    while (done < wanted) {
        ssize_t put = write(tap->files[i], bytes + done, wanted - done);

        if (put < 0 && errno != EINTR)
            break;
        done += put > 0 ? (size_t)put : 0;
    }
    if (done < count)
        tap->over[i] = true;
    tap->left_bytes[i] = done < wanted ? 0 : tap->left_bytes[i] - done;
}

/** @return whether there may be more */
static bool read_some(struct rp_output_limiter *tap, int i)
{
    char bytes[STEP_BYTES];
    ssize_t got = read(tap->pipes[i], bytes, sizeof bytes);

    if (got > 0)
        keep(tap, i, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/* No memory is allocated or freed here, because programs are forked off meanwhile. */
static void *run(void *arg)
{
    struct rp_output_limiter *tap = arg;
    struct pollfd fds[RP_TAPS + 1] = {
        {.fd = tap->pipes[0], .events = POLLIN},
        {.fd = tap->pipes[1], .events = POLLIN},
        {.fd = tap->stop, .events = POLLIN},
    };

    while (!fds[RP_TAPS].revents) {
        if (poll(fds, RP_TAPS + 1, -1) < 0)
            continue;
        for (int i = 0; i < RP_TAPS; i++)
            if (fds[i].revents && !read_some(tap, i) && errno != EAGAIN)
                fds[i].fd = -1; /* All writers have closed it. */
    }
    for (int i = 0; i < RP_TAPS; i++)
        for (int step = 0; step < STEPS_AT_END && read_some(tap, i); step++)
            ;
    return NULL;
}

static void close_all(struct rp_output_limiter *tap)
{
    for (int i = 0; i < RP_TAPS; i++) {
        if (tap->pipes[i] >= 0)
            close(tap->pipes[i]);
        if (tap->files[i] >= 0)
            close(tap->files[i]);
        if (tap->fds[i] >= 0)
            close(tap->fds[i]);
    }
    if (tap->stop >= 0)
        close(tap->stop);
}

static int open_one(struct rp_output_limiter *tap, int i, const char *path, struct rp_err *err)
{
    int ends[2];

    tap->files[i] = open_new(path, O_RDWR);
    if (tap->files[i] < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    tap->pipes[i] = ends[0];
    tap->fds[i] = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/** Signals are for the thread that runs programs. */
static int start(struct rp_output_limiter *tap, struct rp_err *err)
{
    sigset_t all, before;
    int why;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    why = pthread_create(&tap->thread, NULL, run, tap);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why ? rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot start a thread") : 0;
}

int rp_output_limiter_open(const char *const paths[RP_TAPS], size_t most_bytes,
                           struct rp_output_limiter *tap, struct rp_err *err)
{
    int rc = 0;

    *tap = (struct rp_output_limiter){.fds = {-1, -1},
                                      .pipes = {-1, -1},
                                      .files = {-1, -1},
                                      .left_bytes = {most_bytes, most_bytes}};
    tap->stop = eventfd(0, EFD_CLOEXEC);
    if (tap->stop < 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "eventfd");
    for (int i = 0; rc == 0 && i < RP_TAPS; i++)
        rc = open_one(tap, i, paths[i], err);
    if (rc == 0)
        rc = start(tap, err);
    if (rc < 0)
        close_all(tap);
    return rc;
}

void rp_output_limiter_close(struct rp_output_limiter *tap)
{
    eventfd_write(tap->stop, 1);
    pthread_join(tap->thread, NULL);
    close_all(tap);
}

/* --- the sandbox of a candidate ------------------------------------------------------------- */

static int add_writable(const char *option, const char *path, struct rp_words *to,
                        struct rp_err *err)
{
    rp_autofree char *absolute = realpath(path, NULL);

    if (!absolute)
        return rp_fail_errno(err, *option ? RP_USAGE : RP_ENVIRONMENT, errno, "%s%s", option, path);
    rp_words_add(to, absolute);
    return 0;
}

int rp_candidate_sandbox_make(const struct rp_sandbox_choice *choice, const char *const *folders,
                              struct rp_candidate_sandbox *sandbox, struct rp_err *err)
{
    int rc = 0;

    rp_candidate_sandbox_free(sandbox);
    sandbox->asked = !choice->none;
    for (size_t i = 0; rc == 0 && sandbox->asked && folders[i]; i++)
        rc = add_writable("", folders[i], &sandbox->writable, err);
    sandbox->own_count = sandbox->writable.count;
    for (size_t i = 0; rc == 0 && sandbox->asked && i < choice->writable_count; i++)
        rc = add_writable("--writable ", choice->writable[i], &sandbox->writable, err);
    if (rc < 0 || !sandbox->asked)
        return rc;
    rp_sandbox_probe(&sandbox->sandbox.means);
    sandbox->sandbox.writable = (const char *const *)sandbox->writable.list;
    return 0;
}

const struct rp_sandbox *rp_candidate_sandbox_of(const struct rp_candidate_sandbox *sandbox)
{
    return sandbox->asked ? &sandbox->sandbox : NULL;
}

json_t *rp_candidate_sandbox_json(const struct rp_candidate_sandbox *sandbox)
{
    const struct rp_sandbox_means *means = &sandbox->sandbox.means;
    json_t *writable = json_array();

    for (size_t i = 0; i < sandbox->writable.count; i++) {
        const char *path = sandbox->writable.list[i];

        if (i < sandbox->own_count) /* A result does not depend on what its folder is called. */
            path = strrchr(path, '/') + 1;
        json_array_append_new(writable, rp_journal_string(path, strlen(path)));
    }
    return json_pack("{s:b, s:s?, s:s?, s:s?, s:o}", "asked", sandbox->asked, "files",
                     rp_sandbox_files_by(means), "network", rp_sandbox_network_by(means),
                     "processes", rp_sandbox_processes_by(means), "writable", writable);
}

void rp_candidate_sandbox_free(struct rp_candidate_sandbox *sandbox)
{
    rp_words_free(&sandbox->writable);
    *sandbox = (struct rp_candidate_sandbox){0};
}

const char *rp_candidate_sandbox_hint(const struct rp_sandbox *sandbox)
{
    return sandbox ? " (it runs in a sandbox: --writable PATH names what it may write, "
                     "--no-sandbox leaves that out)"
                   : "";
}
