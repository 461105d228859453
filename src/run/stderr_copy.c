#include "run/stderr_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "run/rocprofv3_messages.h"

/* Warnings come when the library starts, and the cause of its end comes last, so both parts are
 * kept. */
enum { HEAD_BYTES = 256 * 1024, TAIL_BYTES = 256 * 1024, LINE_BYTES = 16384, BEGIN_BYTES = 512 };

struct rp_stderr_copy {
    int pipe[2]; /**< the child writes into [1] */
    int stop[2]; /**< closed [1]: take what is there, then end */
    int log_fd;
    int shown_fd; /**< where it is shown; borrowed */
    rp_stderr_filter *hides;
    size_t line_len; /**< of a line that waits for its end */
    bool shown;      /**< the line began to be shown: it cannot be hidden any more */
    pthread_t thread;
    size_t head_len, tail_len, tail_at; /**< tail is a ring that begins at tail_at when full */
    char line[LINE_BYTES], head[HEAD_BYTES], tail[TAIL_BYTES];
    char begin[BEGIN_BYTES]; /**< of the line that is being read, shown or not */
    size_t begin_len;
    /* These two are for the thread that waits for the end. */
    _Atomic int64_t fatal_ns; /**< when the log said that rocprofv3 cannot go on; 0: it did not */
    _Atomic uint64_t bytes;   /**< that were read */
};

static void write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t done = write(fd, data, len);

        if (done < 0 && errno != EINTR)
            return;
        data += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
}

static void show_line(struct rp_stderr_copy *tap)
{
    write_all(tap->shown_fd, tap->line, tap->line_len);
    tap->line_len = 0;
}

static void show(struct rp_stderr_copy *tap, const char *data, size_t len)
{
    if (!tap->hides) {
        write_all(tap->shown_fd, data, len);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        tap->line[tap->line_len++] = data[i];
        if (data[i] == '\n') {
            if (!tap->shown && tap->hides(tap->line, tap->line_len - 1))
                tap->line_len = 0;
            tap->shown = false;
            show_line(tap);
        } else if (tap->line_len == LINE_BYTES ||
                   (!tap->shown && !rp_rocprofv3_may_be_log(tap->line, tap->line_len))) {
            tap->shown = true;
            if (tap->line_len == LINE_BYTES)
                show_line(tap);
        }
    }
    if (tap->shown)
        show_line(tap);
}

/* Notes when rocprofv3 says its last word. */
static void watch(struct rp_stderr_copy *tap, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\n') {
            if (tap->begin_len < BEGIN_BYTES)
                tap->begin[tap->begin_len++] = data[i];
            continue;
        }
        if (!tap->fatal_ns &&
            rp_rocprofv3_is_last_word(tap->begin, tap->begin + tap->begin_len, time(NULL)))
            tap->fatal_ns = rp_now_ns();
        tap->begin_len = 0;
    }
    tap->bytes += len;
}

static void keep(struct rp_stderr_copy *tap, const char *data, size_t len)
{
    size_t room = HEAD_BYTES - tap->head_len, first = len < room ? len : room;

    memcpy(tap->head + tap->head_len, data, first);
    tap->head_len += first;
    for (size_t i = first; i < len; i++) {
        tap->tail[(tap->tail_at + tap->tail_len) % TAIL_BYTES] = data[i];
        if (tap->tail_len < TAIL_BYTES)
            tap->tail_len++;
        else
            tap->tail_at = (tap->tail_at + 1) % TAIL_BYTES;
    }
}

/* @return false at the end of the pipe, or when there is nothing in it now */
static bool take_some(struct rp_stderr_copy *tap)
{
    char room[16384];
    ssize_t got = read(tap->pipe[0], room, sizeof room);

    if (got <= 0)
        return got < 0 && errno == EINTR;
    show(tap, room, (size_t)got);
    watch(tap, room, (size_t)got);
    if (tap->log_fd >= 0)
        write_all(tap->log_fd, room, (size_t)got);
    keep(tap, room, (size_t)got);
    return true;
}

static void *run(void *arg)
{
    struct rp_stderr_copy *tap = arg;
    struct pollfd fds[2] = {{.fd = tap->pipe[0], .events = POLLIN},
                            {.fd = tap->stop[0], .events = POLLIN}};

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents & POLLIN) {
            take_some(tap);
        } else if (fds[1].revents || fds[0].revents) {
            while (take_some(tap))
                ;
            break;
        }
    }
    return NULL;
}

static void free_tap(struct rp_stderr_copy *tap)
{
    int *const fds[] = {&tap->pipe[0], &tap->pipe[1], &tap->stop[0], &tap->stop[1], &tap->log_fd};

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
    free(tap);
}

/* Signals are for the main thread. */
static int start_thread(struct rp_stderr_copy *tap)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&tap->thread, NULL, run, tap);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int rp_stderr_copy_open(rp_stderr_filter *hides, const char *log_path, int shown_fd,
                        struct rp_stderr_copy **ret, struct rp_err *err)
{
    struct rp_stderr_copy *tap = rp_alloc_zero(1, sizeof *tap);
    int rc;

    tap->hides = hides;
    tap->shown_fd = shown_fd > 0 ? shown_fd : STDERR_FILENO;
    tap->pipe[0] = tap->pipe[1] = tap->stop[0] = tap->stop[1] = tap->log_fd = -1;
    if (log_path)
        tap->log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, RP_MODE_FILE);
    rc = (log_path && tap->log_fd < 0) || pipe2(tap->pipe, O_CLOEXEC) < 0 ||
                 pipe2(tap->stop, O_CLOEXEC) < 0
             ? errno
             : 0;
    if (rc == 0)
        fcntl(tap->pipe[0], F_SETFL, O_NONBLOCK);
    if (rc == 0)
        rc = start_thread(tap);
    if (rc != 0) {
        free_tap(tap);
        return rp_fail_errno(err, RP_ENVIRONMENT, rc, "cannot watch the tracer's messages");
    }
    *ret = tap;
    return 0;
}

int rp_stderr_copy_fd(const struct rp_stderr_copy *tap)
{
    return tap->pipe[1];
}

char *rp_stderr_copy_close(struct rp_stderr_copy *tap)
{
    size_t len;
    char *text;

    close(tap->pipe[1]);
    close(tap->stop[1]);
    tap->pipe[1] = tap->stop[1] = -1;
    pthread_join(tap->thread, NULL);
    show_line(tap); /* The last line has no end. */
    len = tap->head_len;
    text = rp_alloc(len + tap->tail_len + 2);
    memcpy(text, tap->head, len);
    if (tap->tail_len == TAIL_BYTES)
        text[len++] = '\n'; /* Something is left out here. */
    for (size_t i = 0; i < tap->tail_len; i++)
        text[len++] = tap->tail[(tap->tail_at + i) % TAIL_BYTES];
    text[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if (!text[i])
            text[i] = ' ';
    free_tap(tap);
    return text;
}

int64_t rp_stderr_copy_fatal_ns(const struct rp_stderr_copy *tap)
{
    return tap->fatal_ns;
}

uint64_t rp_stderr_copy_bytes(const struct rp_stderr_copy *tap)
{
    return tap->bytes;
}
