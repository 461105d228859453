#include "tune/pool_slot.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/evaluation.h"
#include "tune/json_text.h"

void rp_job_free(struct rp_job *job)
{
    if (job)
        free(job->line);
    free(job);
}

void rp_slot_begin(struct rp_slot *slot, const struct rp_launched *child)
{
    free(slot->why); /* of the one before */
    slot->why = NULL;
    slot->state = RP_SLOT_STARTING;
    slot->child = *child;
}

void rp_slot_free(struct rp_slot *slot)
{
    rp_line_reader_free(&slot->reader);
    rp_worker_hello_free(&slot->hello);
    rp_job_free(slot->job);
    free(slot->why);
    *slot = (struct rp_slot){0};
}

void rp_slot_give(struct rp_slot *slot, struct rp_job *job)
{
    slot->job = job;
    slot->sent = 0;
    slot->state = RP_SLOT_BUSY;
}

short rp_slot_events(const struct rp_slot *slot)
{
    return slot->state == RP_SLOT_BUSY && slot->sent < slot->job->bytes ? POLLIN | POLLOUT : POLLIN;
}

bool rp_slot_has_line(struct rp_slot *slot)
{
    const struct rp_buf *buf = &slot->reader.buf;

    return slot->state != RP_SLOT_GONE && buf->len > slot->reader.begin &&
           memchr(buf->data + slot->reader.begin, '\n', buf->len - slot->reader.begin);
}

/** A full socket is no error, and that nobody reads any more is seen when its answer is read. */
static void send_more(struct rp_slot *slot)
{
    const struct rp_job *job = slot->job;
    ssize_t put = send(slot->child.fd, job->line + slot->sent, job->bytes - slot->sent,
                       MSG_NOSIGNAL | MSG_DONTWAIT);

    slot->sent += put > 0 ? (size_t)put : 0;
}

/** Keeps the first reason. */
static enum rp_slot_event died(struct rp_slot *slot, const char *why)
{
    if (!slot->why && why)
        slot->why = strdup(why);
    return RP_SLOT_DIED;
}

/** {"fatal": why}: its last words. @return NULL: it is another line. Owned */
static char *fatal_of(const char *line, size_t bytes)
{
    struct rp_err ignored = RP_ERR_INIT;
    json_t *object = rp_json_read_line(line, bytes, &ignored);
    char *text = NULL;

    if (object)
        rp_json_take_text(object, "fatal", false, &text, &ignored);
    json_decref(object);
    return text;
}

static enum rp_slot_event take_hello(struct rp_slot *slot, const char *line, size_t bytes)
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
    rp_job_free(slot->job);
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
    rp_autofree char *fatal = line ? fatal_of(line, bytes) : NULL;

    if (!line)
        return slot->reader.ended ? died(slot, NULL) : RP_SLOT_NOTHING;
    if (fatal)
        return died(slot, fatal);
    return slot->state == RP_SLOT_STARTING ? take_hello(slot, line, bytes)
                                           : take_answer(slot, line, bytes, ret);
}

enum rp_slot_event rp_slot_look(struct rp_slot *slot, short revents, struct rp_evaluation *ret)
{
    struct rp_err err = RP_ERR_INIT;

    if (slot->state == RP_SLOT_GONE)
        return RP_SLOT_NOTHING;
    if (rp_slot_has_line(slot))
        return take_line(slot, ret);
    if ((revents & POLLOUT) && slot->state == RP_SLOT_BUSY)
        send_more(slot);
    if (!(revents & (POLLIN | POLLHUP | POLLERR)))
        return RP_SLOT_NOTHING;
    if (rp_line_reader_fill(&slot->reader, slot->child.fd, &err) < 0)
        return err.code == RP_INTERRUPTED ? RP_SLOT_NOTHING : died(slot, err.text);
    return take_line(slot, ret);
}

/** It has had a moment to write its last words: the socket may close before the process ends. */
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

void rp_slot_bury(struct rp_slot *slot)
{
    const int status = wait_for(slot->child.pid);
    rp_autofree char *how =
        WIFSIGNALED(status) ? rp_format("was ended by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?")
                            : rp_format("ended with exit status %d", WEXITSTATUS(status));
    char *why =
        how ? rp_format("%s%s%s", how, slot->why ? ": " : "", slot->why ? slot->why : "") : NULL;

    free(slot->why);
    slot->why = why;
    close(slot->child.fd);
    slot->child = (struct rp_launched){.fd = -1};
    rp_line_reader_free(&slot->reader);
    slot->state = RP_SLOT_GONE;
    slot->deaths++;
}
