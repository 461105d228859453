#include "tune/output_tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"

enum { STEP_BYTES = 1 << 16, STEPS_AT_END = 32 };

/** All of it, or as much as the disk takes: then the rest counts as too much. */
static void keep(struct rp_output_tap *tap, int i, const char *bytes, size_t count)
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
static bool read_some(struct rp_output_tap *tap, int i)
{
    char bytes[STEP_BYTES];
    ssize_t got = read(tap->pipes[i], bytes, sizeof bytes);

    if (got > 0)
        keep(tap, i, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Memory is neither taken nor given back here: programs are forked off meanwhile. */
static void *run(void *arg)
{
    struct rp_output_tap *tap = arg;
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
                fds[i].fd = -1; /* everybody has closed it */
    }
    for (int i = 0; i < RP_TAPS; i++)
        for (int step = 0; step < STEPS_AT_END && read_some(tap, i); step++)
            ;
    return NULL;
}

static void close_all(struct rp_output_tap *tap)
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

static int open_one(struct rp_output_tap *tap, int i, const char *path, struct rp_err *err)
{
    int ends[2];

    tap->files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
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
static int start(struct rp_output_tap *tap, struct rp_err *err)
{
    sigset_t all, before;
    int why;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    why = pthread_create(&tap->thread, NULL, run, tap);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why ? rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot start a thread") : 0;
}

int rp_output_tap_open(const char *const paths[RP_TAPS], size_t most_bytes,
                       struct rp_output_tap *tap, struct rp_err *err)
{
    int rc = 0;

    *tap = (struct rp_output_tap){.fds = {-1, -1},
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

void rp_output_tap_close(struct rp_output_tap *tap)
{
    eventfd_write(tap->stop, 1);
    pthread_join(tap->thread, NULL);
    close_all(tap);
}
