#include "collect/snapshot_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "collect/demangle.h"
#include "collect/kernel_match.h"

enum {
    LISTEN = 0,
    STOP = 1,
    FIRST_LINK = 2,
    LAST_WORDS_MS = 2000, /* a process that the program left behind may hold its link for ever */
};

/* Kernels of HIP's own, in every program. */
#define INTERNAL "__amd_rocclr_"

/* A message comes in pieces: nobody is waited for, since a program may be stopped in the middle. */
struct link {
    struct rp_snapshot_feed *feed;
    struct rp_snapshot_message message;
    size_t got; /* bytes so far, of the header and what follows it */
    char *bytes;
    size_t room;
};

struct rp_snapshot_server {
    pthread_t thread;
    struct rp_snapshot_request *wishes;
    const struct rp_snapshot_wanted *wanted;
    struct rp_kernel_pattern pattern;
    struct rp_demangler demangler;
    int stop[2]; /* a pipe: closed at the end of the program */
    struct pollfd *polls;
    struct link *links; /* as the polls from FIRST_LINK on */
    size_t count, capacity;
    struct rp_isolation found;
    struct rp_err err; /* the first one */
};

/* --- messages ------------------------------------------------------------------------------ */

enum taken { MORE, WHOLE, OVER };

/* What has come of the next bytes, up to @p upto of the message. */
static enum taken take_some(struct link *link, int fd, char *to, size_t upto)
{
    while (link->got < upto) {
        ssize_t got = recv(fd, to, upto - link->got, MSG_DONTWAIT);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return MORE;
        if (got <= 0)
            return OVER;
        to += got;
        link->got += (size_t)got;
    }
    return WHOLE;
}

static bool make_room(struct link *link)
{
    char *bigger;

    if (link->message.bytes > rp_snapshot_max_bytes(link->message.kind))
        return false;
    if (link->message.bytes <= link->room)
        return true;
    bigger = realloc(link->bytes, link->message.bytes);
    if (!bigger)
        return false;
    link->bytes = bigger;
    link->room = link->message.bytes;
    return true;
}

/* @return OVER: the link ended, or says what cannot be taken */
static enum taken take_message(struct link *link, int fd)
{
    const size_t header = sizeof link->message;
    enum taken taken = WHOLE;

    if (link->got < header) {
        taken = take_some(link, fd, (char *)&link->message + link->got, header);
        if (taken == WHOLE && !make_room(link))
            return OVER;
    }
    if (taken == WHOLE && link->message.bytes > 0)
        taken =
            take_some(link, fd, link->bytes + (link->got - header), header + link->message.bytes);
    if (taken == WHOLE)
        link->got = 0;
    return taken;
}

static void note_passed(struct rp_isolation *found, const struct rp_snapshot_feed *feed)
{
    size_t count;
    const struct rp_snapshot_filtered *passed = rp_snapshot_feed_filtered(feed, &count);

    for (size_t i = 0; i < count && found->passed_count < RP_SNAPSHOT_MAX_FILTERED; i++)
        found->passed[found->passed_count++] = passed[i];
}

static void drop_link(struct rp_snapshot_server *s, size_t at)
{
    struct link *link = &s->links[at - FIRST_LINK];
    const char *declined = rp_snapshot_feed_declined(link->feed);
    size_t seen, wanted;

    rp_snapshot_feed_kernels(link->feed, &seen, &wanted);
    s->found.kernels_seen += seen;
    s->found.kernels_wanted += wanted;
    s->found.declines += rp_snapshot_feed_declines(link->feed);
    if (!s->found.declined && declined)
        s->found.declined = strdup(declined);
    else if (!s->found.declined && rp_snapshot_feed_is_capturing(link->feed) && !s->err.code)
        s->found.declined = strdup("the program ended in the middle of the capture");
    note_passed(&s->found, link->feed);
    rp_snapshot_feed_close(link->feed);
    free(link->bytes);
    close(s->polls[at].fd);
    s->count--;
    s->polls[at] = s->polls[s->count];
    *link = s->links[s->count - FIRST_LINK];
}

/* Some other process has begun a capture: there is one folder to write. */
static bool is_taken(const struct rp_snapshot_server *s, const struct rp_snapshot_feed *feed)
{
    if (rp_snapshot_feed_done(feed))
        return false;
    for (size_t i = 0; i < s->count - FIRST_LINK; i++)
        if (rp_snapshot_feed_is_capturing(s->links[i].feed))
            return true;
    return s->found.captured > 0;
}

static void note_capture(struct rp_snapshot_server *s, uint64_t match)
{
    uint64_t *bigger =
        realloc(s->found.matches, (s->found.captured + 1) * sizeof *s->found.matches);

    if (!bigger) {
        if (!s->err.code)
            rp_fail(&s->err, RP_ENVIRONMENT, "out of memory");
        return;
    }
    s->found.matches = bigger;
    s->found.matches[s->found.captured++] = match;
}

/* What the tool waits for. It asks one thing at a time, so that the socket has room. */
static bool answer(struct rp_snapshot_server *s, int fd, uint32_t kind, uint32_t reply)
{
    const struct rp_snapshot_selection *wish = &s->wanted->selection;
    struct iovec parts[2] = {
        {(void *)(uintptr_t)wish, sizeof *wish},
        {(void *)(uintptr_t)s->wanted->numbers, wish->number_count * sizeof *s->wanted->numbers}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t bytes = parts[0].iov_len + parts[1].iov_len;

    if (kind == RP_SNAPSHOT_KERNEL) {
        parts[0] = (struct iovec){&reply, sizeof reply};
        message.msg_iovlen = 1;
        bytes = sizeof reply;
    } else if (kind != RP_SNAPSHOT_HELLO) {
        return true;
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes;
}

/* What has come of one message of a link. */
static void serve(struct rp_snapshot_server *s, size_t at)
{
    struct link *link = &s->links[at - FIRST_LINK];
    struct rp_snapshot_feed *feed = link->feed;
    const enum taken taken = take_message(link, s->polls[at].fd);
    struct rp_err err = RP_ERR_INIT;
    uint32_t reply = 0;
    size_t done;
    int rc;

    if (taken == MORE)
        return;
    /* Of several processes the first one that has the dispatch is captured. */
    if (taken == OVER || (link->message.kind == RP_SNAPSHOT_BEGIN &&
                          !rp_snapshot_feed_is_capturing(feed) && is_taken(s, feed))) {
        drop_link(s, at);
        return;
    }
    done = rp_snapshot_feed_done(feed);
    rc = rp_proc_interrupted(&err); /* nobody wants it any more */
    if (rc == 0)
        rc = rp_snapshot_feed_take(feed, &link->message, link->bytes, &reply, &err);
    if (rc < 0) {
        if (!s->err.code)
            s->err = err;
        drop_link(s, at);
        return;
    }
    if (rp_snapshot_feed_done(feed) > done)
        note_capture(s, rp_snapshot_feed_match(feed));
    if (!answer(s, s->polls[at].fd, link->message.kind, reply))
        drop_link(s, at);
}

/* --- the loop ------------------------------------------------------------------------------ */

static void accept_link(struct rp_snapshot_server *s)
{
    int fd = accept4(s->polls[LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);
    struct rp_snapshot_feed *feed;

    if (fd < 0)
        return;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity * 2;
        struct pollfd *polls = realloc(s->polls, capacity * sizeof *polls);
        struct link *links = realloc(s->links, capacity * sizeof *links);

        s->polls = polls ? polls : s->polls;
        s->links = links ? links : s->links;
        if (!polls || !links) {
            close(fd);
            return;
        }
        s->capacity = capacity;
    }
    if (rp_snapshot_feed_open(s->wishes, &feed, &s->err) < 0) {
        close(fd);
        return;
    }
    s->polls[s->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    s->links[s->count++ - FIRST_LINK] = (struct link){.feed = feed};
    s->found.processes++;
}

static void *listen_to_tools(void *data)
{
    struct rp_snapshot_server *s = data;
    bool ending = false;

    for (;;) {
        const bool alone = s->count == FIRST_LINK; /* but some may be about to be accepted */
        int ready = poll(s->polls, s->count, !ending ? -1 : alone ? 0 : LAST_WORDS_MS);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0 || (ending && ready == 0))
            break;
        if (!ending && s->polls[STOP].revents) {
            ending = true;
            s->polls[STOP].fd = -1;
        }
        if (s->polls[LISTEN].revents)
            accept_link(s);
        for (size_t i = s->count; i-- > FIRST_LINK;)
            if (s->polls[i].revents)
                serve(s, i);
    }
    while (s->count > FIRST_LINK)
        drop_link(s, s->count - 1);
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------- */

static void note_name(struct rp_isolation *found, const char *name)
{
    size_t i = 0;

    while (i < RP_ISOLATION_NAMES && found->names[i]) /* each GPU loads them once more */
        if (strcmp(found->names[i++], name) == 0)
            return;
    if (i == RP_ISOLATION_NAMES)
        found->more_names = true;
    else
        found->names[i] = strdup(name);
}

static char *name_of(const char *symbol, void *data)
{
    struct rp_snapshot_server *s = data;

    return rp_demangle_kernel(&s->demangler, symbol);
}

static bool wants(const char *symbol, const char *name, void *data)
{
    struct rp_snapshot_server *s = data;

    if (strncmp(name, INTERNAL, sizeof INTERNAL - 1) != 0)
        note_name(&s->found, name);
    return rp_kernel_pattern_finds(&s->pattern, name, symbol);
}

static int open_socket(const char *path, struct rp_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof address.sun_path)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s is too long for a socket; set TMPDIR to a folder with a shorter name",
                       path);
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot listen on %s", path);
    if (fd >= 0)
        close(fd);
    return -RP_ENVIRONMENT;
}

static void free_server(struct rp_snapshot_server *s)
{
    for (size_t i = 0; i < 2; i++) {
        if (s->stop[i] >= 0)
            close(s->stop[i]);
        if (s->polls && i == LISTEN && s->polls[i].fd >= 0)
            close(s->polls[i].fd);
    }
    rp_kernel_pattern_free(&s->pattern);
    rp_demangler_close(&s->demangler);
    rp_isolation_free(&s->found);
    free(s->polls);
    free(s->links);
    free(s);
}

/* Signals are for the thread that waits for the program. */
static int start_thread(struct rp_snapshot_server *s, struct rp_err *err)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&s->thread, NULL, listen_to_tools, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? rp_fail_errno(err, RP_ENVIRONMENT, failed, "cannot start a thread") : 0;
}

int rp_snapshot_server_start(const char *path, struct rp_snapshot_request *wishes,
                             const struct rp_snapshot_wanted *wanted,
                             struct rp_snapshot_server **ret, struct rp_err *err)
{
    struct rp_snapshot_server *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_kernel_pattern_compile("--kernel", wanted->kernel_regex, &s->pattern, err);
    if (rc < 0) {
        free(s);
        return rc;
    }
    s->stop[0] = s->stop[1] = -1;
    s->capacity = 16;
    s->polls = calloc(s->capacity, sizeof *s->polls);
    s->links = calloc(s->capacity, sizeof *s->links);
    s->wishes = wishes;
    s->wanted = wanted;
    if (wanted->env) {
        rp_demangler_open(wanted->env, &s->demangler);
        rp_demangler_start(&s->demangler);
    }
    wishes->name = name_of;
    wishes->wants = wants;
    wishes->data = s;
    if (!s->polls || !s->links || pipe2(s->stop, O_CLOEXEC) < 0) {
        free_server(s);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    s->polls[LISTEN] = (struct pollfd){.fd = open_socket(path, err), .events = POLLIN};
    s->polls[STOP] = (struct pollfd){.fd = s->stop[0], .events = POLLIN};
    s->count = FIRST_LINK;
    rc = s->polls[LISTEN].fd < 0 ? -RP_ENVIRONMENT : 0;
    if (rc == 0)
        rc = start_thread(s, err);
    if (rc < 0)
        free_server(s);
    else
        *ret = s;
    return rc;
}

int rp_snapshot_server_stop(struct rp_snapshot_server *s, struct rp_isolation *ret,
                            struct rp_err *err)
{
    struct rp_proc_end end = ret->end;
    int rc = 0;

    close(s->stop[1]);
    s->stop[1] = -1;
    pthread_join(s->thread, NULL);
    if (s->err.code) {
        *err = s->err;
        rc = -(int)s->err.code;
    }
    *ret = s->found;
    ret->end = end;
    memset(&s->found, 0, sizeof s->found);
    free_server(s);
    return rc;
}
