#include "cli/busy.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/monotonic_clock.h"
#include "cli/cli.h"
#include "cli/progress.h"

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

/* Of all steps. */
static double share_of_all(const struct rp_busy_at *at, bool writes)
{
    double all = 0, done = weights[at->step] * at->share;

    for (size_t i = 0; i < RP_WORK_STEP_COUNT; i++) {
        all += i != RP_WORK_WRITE || writes ? weights[i] : 0;
        done += i < at->step ? weights[i] : 0;
    }
    return done < all ? done / all : 1;
}

void rp_busy_put(const struct rp_busy_at *at, bool writes, int64_t elapsed_ns, struct rp_buf *to)
{
    const double least = 0.02; /* what is said of less is not known */
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

static void show(struct rp_busy *b)
{
    const int64_t elapsed_ns = rp_now_ns() - b->began_ns;
    rp_autobuf text = {0};

    if (elapsed_ns < RP_PROGRESS_PATIENCE_S * SECOND_NS)
        return;
    pthread_mutex_lock(&b->lock);
    rp_busy_put(&b->at, b->writes, elapsed_ns, &text);
    rp_progress_line_show(&b->line, rp_buf_text(&text));
    pthread_mutex_unlock(&b->lock);
}

static void clear(struct rp_busy *b)
{
    pthread_mutex_lock(&b->lock);
    rp_progress_line_clear(&b->line);
    pthread_mutex_unlock(&b->lock);
}

/* Does what it would have done; who ignores it goes on. */
static void take_signal(struct rp_busy *b)
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
    struct rp_busy *b = ctx;
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

void rp_busy_begin(bool writes, struct rp_busy *ret)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t taken;

    *ret = (struct rp_busy){.line = rp_progress_line_begin(),
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

void rp_busy_end(struct rp_busy *b)
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
    struct rp_busy *b = ctx;

    if (!b->runs)
        return;
    pthread_mutex_lock(&b->lock);
    b->at = (struct rp_busy_at){step, share, rp_now_ns() - b->began_ns};
    pthread_mutex_unlock(&b->lock);
}

struct rp_work rp_busy_work(struct rp_busy *busy)
{
    return (struct rp_work){tell, busy};
}

static void note(void *ctx, const char *text)
{
    struct rp_busy *b = ctx;

    if (!b->runs) {
        rp_cli_note("%s", text);
        return;
    }
    pthread_mutex_lock(&b->lock);
    rp_progress_line_clear(&b->line);
    rp_cli_note("%s", text);
    pthread_mutex_unlock(&b->lock);
}

struct rp_note_sink rp_busy_notes(struct rp_busy *busy)
{
    return (struct rp_note_sink){note, busy};
}
