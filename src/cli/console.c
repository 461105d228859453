/* Shows what a computation of this process is doing, and how long it will take: on a terminal, from
 * two seconds on, one line that changes; elsewhere nothing. A thread of its own shows it, because
 * the work has steps of seconds that report nothing. That thread also gets the signals that end a
 * process, and removes the line before one does. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/process.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "run/machine.h"

static const int64_t SECOND_NS = 1000000000;

static const char *const words[] = {
#define RP_WORK_STEP(name, words, weight) words,
#include "base/work_steps.def"
#undef RP_WORK_STEP
};

static const double weights[] = {
#define RP_WORK_STEP(name, words, weight) weight,
#include "base/work_steps.def"
#undef RP_WORK_STEP
};

/* Computes the share of all steps that is done. */
static double share_of_all(const struct rp_activity_at *at, bool writes)
{
    double all = 0, done = weights[at->step] * at->share;

    for (size_t i = 0; i < RP_WORK_STEP_COUNT; i++) {
        all += i != RP_WORK_WRITE || writes ? weights[i] : 0;
        done += i < at->step ? weights[i] : 0;
    }
    return done < all ? done / all : 1;
}

/** Writes "the graph is built: 31 %, 5 s left", or "the trace is read, 3 s" as long as nobody
 * knows. */
static void activity_put(const struct rp_activity_at *at, bool writes, int64_t elapsed_ns,
                         struct rp_buf *to)
{
    const double least = 0.02; /* A forecast from a smaller share would be a guess. */
    const double share = share_of_all(at, writes);
    double left_s;

    rp_buf_puts(to, words[at->step]);
    if (share < least) {
        rp_buf_printf(to, ", %" PRId64 " s", elapsed_ns / SECOND_NS);
        return;
    }
    left_s =
        (double)at->told_ns / 1e9 * (1 - share) / share - (double)(elapsed_ns - at->told_ns) / 1e9;
    rp_buf_printf(to, ": %.0f %%", share * 100);
    rp_progress_put_left(left_s > 0 ? left_s : 0, to);
}

static void show(struct rp_activity *b)
{
    const int64_t elapsed_ns = rp_now_ns() - b->began_ns;
    rp_autobuf text = {0};

    if (elapsed_ns < RP_PROGRESS_PATIENCE_S * SECOND_NS)
        return;
    pthread_mutex_lock(&b->lock);
    activity_put(&b->at, b->writes, elapsed_ns, &text);
    rp_progress_line_show(&b->line, rp_buf_text(&text));
    pthread_mutex_unlock(&b->lock);
}

static void clear(struct rp_activity *b)
{
    pthread_mutex_lock(&b->lock);
    rp_progress_line_clear(&b->line);
    pthread_mutex_unlock(&b->lock);
}

/* Does what the signal would have done. A process that ignores it goes on. */
static void take_signal(struct rp_activity *b)
{
    struct signalfd_siginfo info;
    sigset_t this;

    if (read(b->signal_fd, &info, sizeof info) != sizeof info)
        return;
    clear(b);
    sigemptyset(&this);
    sigaddset(&this, (int)info.ssi_signo);
    pthread_kill(pthread_self(), (int)info.ssi_signo);
    pthread_sigmask(SIG_UNBLOCK, &this, NULL);
    pthread_sigmask(SIG_BLOCK, &this, NULL);
}

static void *watch(void *ctx)
{
    enum { EACH_MS = 200 };
    struct rp_activity *b = ctx;
    struct pollfd fds[] = {{.fd = b->end_fd, .events = POLLIN},
                           {.fd = b->signal_fd, .events = POLLIN}};

    for (;;) {
        poll(fds, 2, EACH_MS);
        if (fds[0].revents)
            return NULL;
        if (fds[1].revents)
            take_signal(b);
        show(b);
    }
}

void rp_activity_begin(bool writes, struct rp_activity *ret)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t taken;

    *ret = (struct rp_activity){.line = rp_progress_line_begin(),
                                .writes = writes,
                                .began_ns = rp_now_ns(),
                                .signal_fd = -1,
                                .end_fd = -1};
    if (!ret->line.terminal)
        return;
    pthread_mutex_init(&ret->lock, NULL);
    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&taken, ending[i]);
    ret->signal_fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    ret->end_fd = eventfd(0, EFD_CLOEXEC);
    pthread_sigmask(SIG_BLOCK, &taken, &ret->before);
    ret->runs = ret->signal_fd >= 0 && ret->end_fd >= 0 &&
                pthread_create(&ret->thread, NULL, watch, ret) == 0;
    if (!ret->runs)
        pthread_sigmask(SIG_SETMASK, &ret->before, NULL);
}

void rp_activity_end(struct rp_activity *b)
{
    if (b->runs) {
        eventfd_write(b->end_fd, 1);
        pthread_join(b->thread, NULL);
        rp_progress_line_clear(&b->line);
        pthread_sigmask(SIG_SETMASK, &b->before, NULL);
        b->runs = false;
    }
    if (b->signal_fd >= 0)
        close(b->signal_fd);
    if (b->end_fd >= 0)
        close(b->end_fd);
    b->signal_fd = b->end_fd = -1;
}

static void tell(void *ctx, enum rp_work_step step, double share)
{
    struct rp_activity *b = ctx;

    if (!b->runs)
        return;
    pthread_mutex_lock(&b->lock);
    b->at = (struct rp_activity_at){step, share, rp_now_ns() - b->began_ns};
    pthread_mutex_unlock(&b->lock);
}

struct rp_work rp_activity_work(struct rp_activity *busy)
{
    return (struct rp_work){tell, busy};
}

static void note(void *ctx, const char *text)
{
    struct rp_activity *b = ctx;

    if (!b->runs) {
        rp_cli_note("%s", text);
        return;
    }
    pthread_mutex_lock(&b->lock);
    rp_progress_line_clear(&b->line);
    rp_cli_note("%s", text);
    pthread_mutex_unlock(&b->lock);
}

struct rp_note_sink rp_activity_notes(struct rp_activity *busy)
{
    return (struct rp_note_sink){note, busy};
}

void rp_progress_put_left(double seconds, struct rp_buf *to)
{
    if (seconds < 100)
        rp_buf_printf(to, ", %.0f s left", seconds);
    else if (seconds < 100 * 60)
        rp_buf_printf(to, ", %.0f min left", seconds / 60);
    else
        rp_buf_printf(to, ", %.1f h left", seconds / 3600);
}

void rp_progress_put(const char *what, uint64_t done, uint64_t most, int64_t done_ns,
                     int64_t elapsed_ns, struct rp_buf *to)
{
    const double each_s = done ? (double)done_ns / 1e9 / (double)done : 0;
    double left_s;

    rp_buf_puts(to, what);
    if (most)
        rp_buf_printf(to, " %" PRIu64 " of %" PRIu64, done < most ? done + 1 : most, most);
    if (!most || !done) {
        rp_buf_printf(to, ", %" PRId64 " s", elapsed_ns / SECOND_NS);
        return;
    }
    left_s = each_s * (double)(most - (done < most ? done : most)) -
             (double)(elapsed_ns - done_ns) / 1e9;
    rp_progress_put_left(left_s > 0 ? left_s : 0, to);
}

void rp_progress_say(const char *command, const char *what, double left_s)
{
    rp_autobuf left = {0}, clean = {0};

    if (!isatty(STDERR_FILENO))
        return;
    if (left_s >= RP_PROGRESS_PATIENCE_S)
        rp_progress_put_left(left_s, &left);
    rp_escape(&clean, what);
    fprintf(stderr, "%s: %s%s\n", command, rp_buf_text(&clean), rp_buf_text(&left));
}

struct rp_progress rp_progress_begin(void)
{
    const int64_t now = rp_now_ns();

    return (struct rp_progress){
        .line = rp_progress_line_begin(), .began_ns = now, .step_ns = now, .done_ns = now};
}

void rp_progress_at(struct rp_progress *p, const char *what, uint64_t done, uint64_t most)
{
    const int64_t now = rp_now_ns();
    rp_autobuf text = {0};

    if (what != p->what || done < p->done)
        p->step_ns = p->done_ns = now; /* This is another step, or the same one anew. */
    else if (done > p->done)
        p->done_ns = now;
    p->what = what;
    p->done = done;
    p->most = most;
    if (now - p->began_ns < RP_PROGRESS_PATIENCE_S * SECOND_NS)
        return;
    rp_progress_put(what, done, most, p->done_ns - p->step_ns, now - p->step_ns, &text);
    rp_progress_line_show(&p->line, rp_buf_text(&text));
}

void rp_progress_clear(struct rp_progress *p)
{
    rp_progress_line_clear(&p->line);
}

struct rp_progress_line rp_progress_line_begin(void)
{
    return (struct rp_progress_line){.terminal = isatty(STDERR_FILENO)};
}

static size_t columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/** Counts the columns of the UTF-8 character at text: two where it may take two. */
static size_t columns_of(const char *text)
{
    const unsigned char c = (unsigned char)*text;

    return (c & 0xc0) == 0x80 ? 0 : c >= 0xe1 ? 2 : 1;
}

/** Spaces, not an escape code, overwrite the rest of the line before. */
static void put(struct rp_progress_line *line, const char *text)
{
    const size_t most = columns() - 1; /* A character in the last column would begin a new line. */
    size_t bytes = 0, used = 0;

    while (text[bytes] && used + columns_of(&text[bytes]) <= most)
        used += columns_of(&text[bytes++]);
    fprintf(stderr, "\r%.*s", (int)bytes, text);
    for (size_t i = used; i < line->shown && i < most; i++)
        fputc(' ', stderr);
    fflush(stderr);
    line->shown = used;
}

void rp_progress_line_show(struct rp_progress_line *line, const char *text)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    if (line->terminal)
        put(line, rp_buf_text(&clean));
}

struct rp_work_progress rp_work_progress_begin(double budget_s)
{
    return (struct rp_work_progress){
        .line = rp_progress_line_begin(), .began_ns = rp_now_ns(), .budget_s = budget_s};
}

void rp_work_progress_note(void *progress, const char *line)
{
    struct rp_work_progress *p = progress;

    rp_progress_line_clear(&p->line);
    rp_cli_note("%s", line);
}

void rp_work_progress_wait(void *progress, int64_t elapsed_ns)
{
    struct rp_work_progress *p = progress;
    const double left_s = p->budget_s - (double)(rp_now_ns() - p->began_ns) / 1e9;
    rp_autobuf text = {0};

    if (elapsed_ns < RP_PROGRESS_PATIENCE_S * SECOND_NS)
        return;
    rp_buf_printf(&text, "  %" PRId64 " s", elapsed_ns / SECOND_NS);
    if (p->budget_s > 0)
        rp_buf_printf(&text, "; %.0f s of --budget left", left_s > 0 ? left_s : 0);
    rp_progress_line_show(&p->line, rp_buf_text(&text));
}

void rp_progress_line_clear(struct rp_progress_line *line)
{
    if (!line->terminal || !line->shown)
        return;
    put(line, "");
    fputc('\r', stderr);
}

/* This is the one place where messages are printed, so their quotes of files are escaped here. */
static void say(const char *before, const char *text, const char *after)
{
    rp_autobuf line = {0};

    rp_escape(&line, text);
    fprintf(stderr, "%s%s%s\n", before, rp_buf_text(&line), after);
}

static void vsay(const char *before, const char *after, const char *fmt, va_list ap)
{
    rp_autobuf text = {0};

    rp_buf_vprintf(&text, fmt, ap);
    say(before, rp_buf_text(&text), after);
}

int rp_cli_error(const struct rp_err *err)
{
    say("rocm-perf: ", err->text, "");
    return (int)err->code;
}

void rp_cli_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay("rocm-perf: ", "", fmt, ap);
    va_end(ap);
}

void rp_cli_item(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay("rocm-perf:   ", "", fmt, ap);
    va_end(ap);
}

static void put_note(void *ctx, const char *text)
{
    (void)ctx;
    rp_cli_note("%s", text);
}

struct rp_note_sink rp_cli_notes(void)
{
    return (struct rp_note_sink){.put = put_note};
}

int rp_cli_usage_error(const char *command, const char *fmt, ...)
{
    rp_autobuf before = {0}, after = {0};
    va_list ap;

    rp_buf_printf(&before, "rocm-perf %s: ", command);
    rp_buf_printf(&after, "; see rocm-perf %s --help", command);
    va_start(ap, fmt);
    vsay(rp_buf_text(&before), rp_buf_text(&after), fmt, ap);
    va_end(ap);
    return RP_USAGE;
}

int rp_cli_result(const char *text)
{
    rp_autobuf seen = {0};

    rp_escape_invisible(&seen, text); /* A JSON document may have such characters in its strings. */
    if (fputs(rp_buf_text(&seen), stdout) == EOF || fflush(stdout) == EOF) {
        struct rp_err err = RP_ERR_INIT;

        rp_fail_errno(&err, RP_ENVIRONMENT, errno, "cannot write to standard output");
        return rp_cli_error(&err);
    }
    return RP_OK;
}

/* https://no-color.org says "when present and not an empty string (regardless of its value)". */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return !(no && *no) && !(terminal && strcmp(terminal, "dumb") == 0);
}

struct rp_term_style rp_cli_style(void)
{
    struct rp_term_style style = {.colour = isatty(STDOUT_FILENO) && wants_colour(),
                                  .utf8 = rp_locale_is_utf8()};
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.width = size.ws_col;
    return style;
}

struct rp_term_style rp_cli_style_of(bool verbose)
{
    struct rp_term_style style = rp_cli_style();

    style.verbose = verbose;
    return style;
}

int rp_cli_help(const char *text)
{
    return rp_cli_result(text);
}
