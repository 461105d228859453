#include "tune/worker_pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "trace/records.h"

/* One worker of a pool: its process, what it is running, what is on its way to it. */

enum rp_slot_state {
    RP_SLOT_GONE = 0, /**< it is not started again */
    RP_SLOT_STARTING, /**< it has not said hello */
    RP_SLOT_IDLE,
    RP_SLOT_BUSY,
};

enum rp_slot_event {
    RP_SLOT_NOTHING = 0,
    RP_SLOT_HELLO,  /**< slot->hello */
    RP_SLOT_ANSWER, /**< its job is done */
    RP_SLOT_DIED,   /**< slot->why */
};

/** This is a request on its way. Release it with worker_job_free. */
struct rp_worker_job {
    uint64_t id;
    char *line;
    size_t bytes;
    unsigned deaths; /**< workers that have died with it */
    struct rp_worker_job *next;
};

struct rp_slot {
    enum rp_slot_state state;
    struct rp_launched child;
    struct rp_line_reader reader;
    struct rp_worker_hello hello;
    struct rp_worker_job *job; /**< BUSY */
    size_t sent;               /**< bytes of job->line */
    unsigned deaths;           /**< since its last answer */
    char *why;                 /**< how it ended, half a sentence; NULL */
};

static void worker_job_free(struct rp_worker_job *job)
{
    if (job)
        free(job->line);
    free(job);
}

/** Begins with the child of a slot that was just started. */
static void worker_slot_begin(struct rp_slot *slot, const struct rp_launched *child)
{
    free(slot->why); /* The reason is that of the worker before. */
    slot->why = NULL;
    slot->state = RP_SLOT_STARTING;
    slot->child = *child;
}

static void worker_slot_free(struct rp_slot *slot)
{
    rp_line_reader_free(&slot->reader);
    rp_worker_hello_free(&slot->hello);
    worker_job_free(slot->job);
    free(slot->why);
    *slot = (struct rp_slot){0};
}

/** Gives the job to an idle worker. */
static void slot_give(struct rp_slot *slot, struct rp_worker_job *job)
{
    slot->job = job;
    slot->sent = 0;
    slot->state = RP_SLOT_BUSY;
}

/** Returns what poll() is to look at: POLLIN, and POLLOUT while the request is not sent. */
static short worker_slot_events(const struct rp_slot *slot)
{
    return slot->state == RP_SLOT_BUSY && slot->sent < slot->job->bytes ? POLLIN | POLLOUT : POLLIN;
}

/** Says whether a line has come already, because poll() does not know. */
static bool worker_slot_has_line(struct rp_slot *slot)
{
    const struct rp_buf *buf = &slot->reader.buf;

    return slot->state != RP_SLOT_GONE && buf->len > slot->reader.begin &&
           memchr(buf->data + slot->reader.begin, '\n', buf->len - slot->reader.begin);
}

/** A full socket is no error. A worker that does not read any more is noticed when its answer is
 * read. */
static void send_more(struct rp_slot *slot)
{
    const struct rp_worker_job *job = slot->job;
    ssize_t put = send(slot->child.fd, job->line + slot->sent, job->bytes - slot->sent,
                       MSG_NOSIGNAL | MSG_DONTWAIT);

    slot->sent += put > 0 ? (size_t)put : 0;
}

/** Keeps only the first reason. */
static enum rp_slot_event died(struct rp_slot *slot, const char *why)
{
    if (!slot->why && why)
        slot->why = rp_strdup(why);
    return RP_SLOT_DIED;
}

static enum rp_slot_event pool_slot_take_hello(struct rp_slot *slot, const char *line, size_t bytes)
{
    struct rp_err err = RP_ERR_INIT;

    rp_worker_hello_free(&slot->hello);
    if (rp_worker_hello_parse(line, bytes, &slot->hello, &err) < 0)
        return died(slot, err.text);
    slot->state = RP_SLOT_IDLE;
    return RP_SLOT_HELLO;
}

static enum rp_slot_event take_answer(struct rp_slot *slot, const char *line, size_t bytes,
                                      struct rp_evaluation *ret)
{
    struct rp_evaluation answer = {0};
    struct rp_err err = RP_ERR_INIT;

    if (slot->state != RP_SLOT_BUSY)
        return died(slot, "it answered what it was not asked");
    if (rp_evaluation_parse(line, bytes, &answer, &err) < 0)
        return died(slot, err.text);
    if (answer.id != slot->job->id) {
        rp_evaluation_free(&answer);
        return died(slot, "it answered another request");
    }
    worker_job_free(slot->job);
    slot->job = NULL;
    slot->deaths = 0;
    slot->state = RP_SLOT_IDLE;
    *ret = answer;
    return RP_SLOT_ANSWER;
}

static enum rp_slot_event take_line(struct rp_slot *slot, struct rp_evaluation *ret)
{
    size_t bytes;
    const char *line = rp_line_reader_next(&slot->reader, &bytes);
    rp_autofree char *fatal = line ? rp_worker_fatal_of(line, bytes) : NULL;

    if (!line)
        return slot->reader.ended ? died(slot, NULL) : RP_SLOT_NOTHING;
    if (fatal)
        return died(slot, fatal);
    return slot->state == RP_SLOT_STARTING ? pool_slot_take_hello(slot, line, bytes)
                                           : take_answer(slot, line, bytes, ret);
}

/**
 * Call it after poll: it sends, receives, and parses at most one line.
 * @param ret with RP_SLOT_ANSWER: owned by the caller
 * @return an event; DIED also when it does not keep to the protocol: the child is still there
 */
static enum rp_slot_event worker_slot_poll(struct rp_slot *slot, short revents,
                                           struct rp_evaluation *ret)
{
    struct rp_err err = RP_ERR_INIT;

    if (slot->state == RP_SLOT_GONE)
        return RP_SLOT_NOTHING;
    if (worker_slot_has_line(slot))
        return take_line(slot, ret);
    if ((revents & POLLOUT) && slot->state == RP_SLOT_BUSY)
        send_more(slot);
    if (!(revents & (POLLIN | POLLHUP | POLLERR)))
        return RP_SLOT_NOTHING;
    if (rp_line_reader_fill(&slot->reader, slot->child.fd, &err) < 0)
        return err.code == RP_INTERRUPTED ? RP_SLOT_NOTHING : died(slot, err.text);
    return take_line(slot, ret);
}

/** The worker has had a moment to write its last line, because the socket may close before the
 * process ends. */
static int wait_for(pid_t pid)
{
    enum { ROUNDS = 200, ROUND_MS = 10 };
    int status = 0;
    pid_t got = 0;

    for (int i = 0; i < ROUNDS && got == 0; i++) {
        got = waitpid(pid, &status, WNOHANG);
        if (got == 0)
            poll(NULL, 0, ROUND_MS);
    }
    if (got == 0) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return status;
}

/** Ends the slot's process, reaps it, and completes slot->why. The job stays. */
static void worker_slot_end(struct rp_slot *slot)
{
    const int status = wait_for(slot->child.pid);
    rp_autofree char *how =
        WIFSIGNALED(status)
            ? rp_format("was ended by SIG%s", rp_signal_abbreviation(WTERMSIG(status)) ?: "?")
            : rp_format("ended with exit status %d", WEXITSTATUS(status));
    char *why = rp_format("%s%s%s", how, slot->why ? ": " : "", slot->why ? slot->why : "");

    free(slot->why);
    slot->why = why;
    close(slot->child.fd);
    slot->child = (struct rp_launched){.fd = -1};
    rp_line_reader_free(&slot->reader);
    slot->state = RP_SLOT_GONE;
    slot->deaths++;
}

/** A worker is not started again after so many deaths in a row; one request may cause two of them.
 */
enum { MOST_DEATHS = 3, MOST_DEATHS_OF_JOB = 2 };
enum { NS_PER_MS = 1000000, START_TIMEOUT_MS = 600000 };

struct rp_tune_pool {
    struct rp_tune_pool_options options;
    const struct rp_launcher *launcher;
    void *state;
    struct rp_slot *slots;
    struct pollfd *fds;
    unsigned count;
    bool opened; /**< all have said hello */
    struct rp_worker_hello
        device;                /**< of worker 0, as it was then: whom others are compared with */
    struct rp_orphans adopted; /**< since when children that are no workers were a worker's */
    struct rp_worker_job *waiting; /**< in order */
    struct rp_evaluation *ready;
    size_t ready_count;
};

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / NS_PER_MS;
}

static void note(const struct rp_tune_pool *pool, const char *line)
{
    if (pool->options.note && line)
        pool->options.note(pool->options.context, line);
}

/* --- starting --------------------------------------------------------------------------------- */

static int start(struct rp_tune_pool *pool, unsigned number, struct rp_err *err)
{
    struct rp_launched child;
    pid_t *ours = rp_realloc_array(pool->adopted.before, pool->adopted.befores + 1, sizeof *ours);
    int rc;

    pool->adopted.before = ours;
    rc = pool->launcher->start(pool->state, number, &child, err);
    if (rc < 0)
        return rc;
    ours[pool->adopted.befores++] = child.pid;
    worker_slot_begin(&pool->slots[number], &child);
    return 0;
}

/** Makes "worker 2 (host b, GPU 1)". */
static char *name_of(const struct rp_tune_pool *pool, unsigned number)
{
    const struct rp_worker_hello *h = &pool->slots[number].hello;

    if (!h->host)
        return rp_format("worker %u", number + 1);
    return rp_format("worker %u (%s%s%s)", number + 1, h->host, h->visible[0] ? ", GPU " : "",
                     h->visible);
}

/** Says whether both would run on the same GPU. */
static bool hello_shares(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    return !a->on.software && !b->on.software && a->on.node == b->on.node &&
           strcmp(a->host, b->host) == 0;
}

/** Says why times of both must not be compared: "is a gfx90a (...), not a gfx942 (...)". NULL means
 * that they may be. The caller owns the text. */
static char *hello_differs(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    if (a->on.software != b->on.software || strcmp(a->on.gfx, b->on.gfx) != 0 ||
        strcmp(a->on.gpu, b->on.gpu) != 0 || a->on.compute_units != b->on.compute_units) {
        char *one = rp_device_identity_gpu(&a->on), *other = rp_device_identity_gpu(&b->on);
        char *text = one && other ? rp_format("is a %s, not a %s", one, other) : NULL;

        free(one);
        free(other);
        return text ? text : rp_strdup("is another GPU");
    }
    if (strcmp(a->on.rocm, b->on.rocm) != 0)
        return rp_format("has ROCm %s, not %s", a->on.rocm, b->on.rocm);
    if (strcmp(rp_timing_model_today(a->on.timing), rp_timing_model_today(b->on.timing)) != 0 ||
        a->on.timing_version != b->on.timing_version)
        return rp_format("has the model of time %s (version %u), not %s (version %u)",
                         rp_timing_model_today(a->on.timing), a->on.timing_version,
                         rp_timing_model_today(b->on.timing), b->on.timing_version);
    if (strcmp(a->version, b->version) != 0 || a->protocol != b->protocol)
        return rp_format("is of rocm-perf %s (protocol %d), not %s (protocol %d)", a->version,
                         a->protocol, b->version, b->protocol);
    return NULL;
}

/** Only times of the same GPU model are compared.
 * @return owned by the caller; NULL: it may be used */
static char *why_not_used(const struct rp_worker_hello *hello, const struct rp_worker_hello *first)
{
    rp_autofree char *differs = NULL;

    if (hello->protocol != RP_WORKER_PROTOCOL)
        return rp_format("speaks protocol %d, not %d: it is another rocm-perf", hello->protocol,
                         RP_WORKER_PROTOCOL);
    differs = hello_differs(hello, first);
    return differs ? rp_format("%s as worker 1; only runs on the same are compared: use GPUs of "
                               "one model",
                               differs)
                   : NULL;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void add_ready(struct rp_tune_pool *pool, struct rp_evaluation *evaluation)
{
    pool->ready = rp_realloc_array(pool->ready, pool->ready_count + 1, sizeof *pool->ready);
    pool->ready[pool->ready_count++] = *evaluation;
}

/** The job of a dead worker is run again, before all others; or its answer is that it killed two.
 */
static void answer_lost_job(struct rp_tune_pool *pool, unsigned number)
{
    struct rp_slot *slot = &pool->slots[number];
    struct rp_worker_job *job = rp_steal(slot->job);
    struct rp_evaluation e;

    if (!job)
        return;
    if (++job->deaths < MOST_DEATHS_OF_JOB) {
        job->next = pool->waiting;
        pool->waiting = job;
        return;
    }
    for (size_t i = 0; i < pool->count; i++)
        pool->slots[i].deaths = 0; /* The job caused it, and the next one may be like it. */
    e = (struct rp_evaluation){
        .id = job->id,
        .outcome = RP_EVALUATION_FAILED,
        .reason = rp_format("%u workers died with it; the last one %s", job->deaths, slot->why),
        .runtimes_ns = rp_alloc_zero(1, sizeof *e.runtimes_ns),
        .worker = number};
    worker_job_free(job);
    add_ready(pool, &e);
}

/** @param again whether it may be started again */
static void bury(struct rp_tune_pool *pool, unsigned number, bool again)
{
    struct rp_slot *slot = &pool->slots[number];
    struct rp_err why = RP_ERR_INIT;
    rp_autofree char *name = name_of(pool, number);
    rp_autofree char *line = NULL;

    worker_slot_end(slot);
    /* A worker that was killed could not end the program that it ran. */
    rp_orphans_kill(&pool->adopted, 0);
    again = again && slot->deaths < MOST_DEATHS;
    line = rp_format("%s %s%s", name, slot->why, again ? "; it is started again" : "");
    if (pool->opened) /* Before that it is an error, and whoever opens the pool says it. */
        note(pool, line);
    answer_lost_job(pool, number);
    if (again && start(pool, number, &why) < 0)
        note(pool, why.text);
}

/* --- events ----------------------------------------------------------------------------------- */

/** A worker that was started again may now have another GPU. */
static void take_hello(struct rp_tune_pool *pool, unsigned number)
{
    struct rp_slot *slot = &pool->slots[number];

    if (!pool->opened) /* All are compared when all are there. */
        return;
    slot->why = why_not_used(&slot->hello, &pool->device);
    if (!slot->why)
        return;
    kill(slot->child.pid, SIGTERM);
    bury(pool, number, false);
}

static void take_event(struct rp_tune_pool *pool, unsigned number, short revents)
{
    struct rp_slot *slot = &pool->slots[number];
    struct rp_evaluation answer = {0};

    switch (worker_slot_poll(slot, revents, &answer)) {
    case RP_SLOT_HELLO:
        take_hello(pool, number);
        break;
    case RP_SLOT_ANSWER:
        answer.worker = number;
        add_ready(pool, &answer);
        break;
    case RP_SLOT_DIED:
        kill(slot->child.pid, SIGTERM); /* It may have closed its output only. */
        bury(pool, number, pool->opened);
        break;
    case RP_SLOT_NOTHING:
        break;
    }
}

static void hand_out(struct rp_tune_pool *pool)
{
    for (unsigned i = 0; i < pool->count && pool->waiting; i++) {
        struct rp_worker_job *job = pool->waiting;

        if (pool->slots[i].state != RP_SLOT_IDLE)
            continue;
        pool->waiting = job->next;
        job->next = NULL;
        slot_give(&pool->slots[i], job);
    }
}

/** Computes the timeout of poll(), which waits no longer than until_ms (negative: for ever). */
static int left_ms(int64_t until_ms)
{
    enum { MOST_MS = 60000 };
    const int64_t left = until_ms < 0 ? MOST_MS : until_ms - now_ms();

    return left < 0 ? 0 : left < MOST_MS ? (int)left : MOST_MS;
}

/** Waits for something to happen, and deals with it. */
static int wait_for_events(struct rp_tune_pool *pool, int64_t until_ms, struct rp_err *err)
{
    bool has_lines = false;

    hand_out(pool);
    for (unsigned i = 0; i < pool->count; i++) {
        const bool alive = pool->slots[i].state != RP_SLOT_GONE;

        pool->fds[i] = (struct pollfd){.fd = alive ? pool->slots[i].child.fd : -1,
                                       .events = alive ? worker_slot_events(&pool->slots[i]) : 0};
        has_lines = has_lines || worker_slot_has_line(&pool->slots[i]);
    }
    if (poll(pool->fds, pool->count, has_lines ? 0 : left_ms(until_ms)) < 0)
        return rp_proc_interrupted(err);
    for (unsigned i = 0; i < pool->count; i++)
        take_event(pool, i, pool->fds[i].revents);
    return rp_proc_interrupted(err);
}

/* --- the pool --------------------------------------------------------------------------------- */

static int fail_gone(const struct rp_tune_pool *pool, struct rp_err *err)
{
    for (unsigned i = 0; i < pool->count; i++) {
        const struct rp_slot *slot = &pool->slots[i];
        rp_autofree char *name = name_of(pool, i);

        if (slot->state == RP_SLOT_GONE && slot->why)
            return rp_fail(err, RP_ENVIRONMENT, "%s %s", name, slot->why);
    }
    return rp_fail(err, RP_ENVIRONMENT, "no worker is left");
}

static unsigned count_state(const struct rp_tune_pool *pool, enum rp_slot_state state)
{
    unsigned count = 0;

    for (unsigned i = 0; i < pool->count; i++)
        count += pool->slots[i].state == state;
    return count;
}

/** A worker that does not start at first is an error, because the user has asked for it. */
static int wait_for_hellos(struct rp_tune_pool *pool, struct rp_err *err)
{
    const int64_t timeout_ns = pool->options.start_timeout_ns;
    const int64_t until_ms = now_ms() + (timeout_ns ? timeout_ns / NS_PER_MS : START_TIMEOUT_MS);
    int rc = 0;

    while (rc == 0 && count_state(pool, RP_SLOT_STARTING) > 0) {
        rc = wait_for_events(pool, until_ms, err);
        if (rc == 0 && count_state(pool, RP_SLOT_GONE) > 0)
            rc = fail_gone(pool, err);
        if (rc == 0 && count_state(pool, RP_SLOT_STARTING) > 0 && now_ms() >= until_ms)
            rc = rp_fail(err, RP_ENVIRONMENT, "%u of %u workers have not come up in time",
                         count_state(pool, RP_SLOT_STARTING), pool->count);
    }
    return rc;
}

/** Keeps the description of worker 0, and compares the others with it. */
static int compare_hellos(struct rp_tune_pool *pool, struct rp_err *err)
{
    rp_autobuf line = {0};
    int rc = rp_worker_hello_write(&pool->slots[0].hello, &line, err);

    if (rc == 0)
        rc = rp_worker_hello_parse(line.data, line.len, &pool->device, err);
    for (unsigned i = 0; rc == 0 && i < pool->count; i++) {
        rp_autofree char *why = why_not_used(&pool->slots[i].hello, &pool->device);
        rp_autofree char *name = name_of(pool, i);

        for (unsigned j = 0; !why && j < i; j++)
            if (hello_shares(&pool->slots[i].hello, &pool->slots[j].hello))
                why =
                    rp_format("has the GPU of worker %u: their times would say nothing; give each "
                              "its own (--gpus, or options of Slurm)",
                              j + 1);
        if (why)
            rc = rp_fail(err, RP_ENVIRONMENT, "%s %s", name, why);
    }
    pool->opened = rc == 0;
    return rc;
}

static int open_pool(struct rp_tune_pool *pool, struct rp_err *err)
{
    int rc = pool->launcher->open(&pool->options, &pool->state, &pool->count, err);

    rp_orphans_begin(&pool->adopted);
    if (rc < 0)
        return rc;
    pool->slots = rp_alloc_zero(pool->count, sizeof *pool->slots);
    pool->fds = rp_alloc_zero(pool->count, sizeof *pool->fds);
    for (unsigned i = 0; rc == 0 && i < pool->count; i++)
        rc = start(pool, i, err);
    if (rc == 0)
        rc = wait_for_hellos(pool, err);
    return rc < 0 ? rc : compare_hellos(pool, err);
}

int rp_tune_pool_open(const struct rp_tune_pool_options *options, struct rp_tune_pool **ret,
                      struct rp_err *err)
{
    struct rp_tune_pool *pool = rp_alloc_zero(1, sizeof *pool);
    int rc;

    pool->options = *options;
    pool->launcher = options->launcher ? options->launcher : &rp_launcher_local;
    rc = open_pool(pool, err);
    if (rc < 0)
        rp_tune_pool_close(pool);
    else
        *ret = pool;
    return rc;
}

/** @return whether all have ended by then */
static bool reap_until(struct rp_tune_pool *pool, int64_t until_ms)
{
    for (;;) {
        bool any = false;

        for (unsigned i = 0; i < pool->count; i++) {
            struct rp_slot *slot = &pool->slots[i];

            if (slot->state == RP_SLOT_GONE)
                continue;
            if (waitpid(slot->child.pid, NULL, WNOHANG) != 0) {
                close(slot->child.fd);
                slot->state = RP_SLOT_GONE;
            } else {
                any = true;
            }
        }
        if (!any || now_ms() >= until_ms)
            return !any;
        poll(NULL, 0, 5);
    }
}

/** @param idle whether those that run nothing get it, too */
static void signal_all(struct rp_tune_pool *pool, int signo, bool idle)
{
    for (unsigned i = 0; i < pool->count; i++)
        if (pool->slots[i].state != RP_SLOT_GONE && (idle || pool->slots[i].state != RP_SLOT_IDLE))
            kill(signo == SIGKILL ? -pool->slots[i].child.pid : pool->slots[i].child.pid, signo);
}

/** The end of input ends idle workers. Others get a signal, for programs that clean up, and a
 * second one, which kills them (process.h). */
static void end_workers(struct rp_tune_pool *pool)
{
    enum { GRACE_MS = 2000, MORE_MS = 10000 };

    for (unsigned i = 0; i < pool->count; i++)
        if (pool->slots[i].state != RP_SLOT_GONE)
            shutdown(pool->slots[i].child.fd, SHUT_WR);
    signal_all(pool, SIGTERM, false);
    if (reap_until(pool, now_ms() + GRACE_MS))
        return;
    signal_all(pool, SIGTERM, true);
    if (reap_until(pool, now_ms() + MORE_MS))
        return;
    signal_all(pool, SIGKILL, true);
    reap_until(pool, now_ms() + MORE_MS);
}

void rp_tune_pool_close(struct rp_tune_pool *pool)
{
    if (!pool)
        return;
    if (pool->slots) {
        end_workers(pool);
        rp_orphans_kill(&pool->adopted, 0);
    }
    rp_orphans_end(&pool->adopted);
    if (pool->state)
        pool->launcher->close(pool->state);
    for (unsigned i = 0; pool->slots && i < pool->count; i++)
        worker_slot_free(&pool->slots[i]);
    while (pool->waiting) {
        struct rp_worker_job *next = pool->waiting->next;

        worker_job_free(pool->waiting);
        pool->waiting = next;
    }
    for (size_t i = 0; i < pool->ready_count; i++)
        rp_evaluation_free(&pool->ready[i]);
    rp_worker_hello_free(&pool->device);
    free(pool->ready);
    free(pool->slots);
    free(pool->fds);
    free(pool);
}

unsigned rp_tune_pool_workers(const struct rp_tune_pool *pool)
{
    return pool->count - count_state(pool, RP_SLOT_GONE);
}

const struct rp_worker_hello *rp_tune_pool_device(const struct rp_tune_pool *pool)
{
    return &pool->device;
}

/** Counts requests that no worker has begun. If it is 0 and there are fewer requests than workers,
 * one is free. */
static size_t tune_pool_waiting(const struct rp_tune_pool *pool)
{
    size_t count = 0;

    for (const struct rp_worker_job *job = pool->waiting; job; job = job->next)
        count++;
    return count;
}

/** Counts requests that have no answer yet, including those that wait. */
static size_t tune_pool_pending(const struct rp_tune_pool *pool)
{
    return tune_pool_waiting(pool) + count_state(pool, RP_SLOT_BUSY) + pool->ready_count;
}

int rp_tune_pool_submit(struct rp_tune_pool *pool, const struct rp_evaluation_request *request,
                        struct rp_err *err)
{
    rp_autobuf line = {0};
    struct rp_worker_job *job, **last = &pool->waiting;
    int rc = rp_evaluation_request_write(request, &line, err);

    if (rc < 0)
        return rc;
    job = rp_alloc_zero(1, sizeof *job);
    job->id = request->id;
    job->bytes = line.len;
    job->line = rp_buf_steal(&line);
    while (*last)
        last = &(*last)->next;
    *last = job;
    hand_out(pool);
    return 0;
}

int rp_tune_pool_next(struct rp_tune_pool *pool, int timeout_ms, struct rp_evaluation *ret,
                      struct rp_err *err)
{
    const int64_t until_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    int rc = rp_proc_interrupted(err);

    while (rc == 0 && pool->ready_count == 0) {
        if (tune_pool_pending(pool) == 0)
            return 0;
        if (rp_tune_pool_workers(pool) == 0)
            return fail_gone(pool, err);
        rc = wait_for_events(pool, until_ms, err);
        if (rc == 0 && pool->ready_count == 0 && until_ms >= 0 && now_ms() >= until_ms)
            return 0;
    }
    if (rc < 0)
        return rc;
    *ret = pool->ready[0];
    memmove(pool->ready, pool->ready + 1, --pool->ready_count * sizeof *pool->ready);
    return 1;
}
