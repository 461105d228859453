#include "run/isolate_run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "run/kernel_names.h"
#include "run/run_program.h"
#include "trace/capture.h"
#include "trace/records.h"

struct rp_snapshot_server_request {
    const struct rp_environment *env; /**< has the demangler; NULL: none */
    const char *kernel_regex;
    struct rp_snapshot_selection selection;
    const uint64_t *numbers; /**< .selection.number_count of them */
};

enum {
    LISTEN = 0,
    STOP = 1,
    FIRST_LINK = 2,
    LAST_WORDS_MS = 2000, /**< a process that the program left behind may hold its link for ever */
};

/* These kernels are HIP's own, and in every program. */
#define INTERNAL "__amd_rocclr_"

/* A message comes in pieces. Nothing waits for the rest, because a program may be stopped in the
 * middle. */
struct link {
    struct rp_snapshot_feed *feed;
    struct rp_snapshot_message message;
    size_t got; /**< bytes so far, of the header and what follows it */
    char *bytes;
    size_t room;
};

struct rp_snapshot_server {
    pthread_t thread;
    struct rp_snapshot_request *wishes;
    const struct rp_snapshot_server_request *wanted;
    struct rp_kernel_pattern pattern;
    struct rp_demangler demangler;
    int stop[2]; /**< a pipe: closed at the end of the program */
    struct pollfd *polls;
    struct link *links; /**< as the polls from FIRST_LINK on */
    size_t count, capacity;
    struct rp_captured_run found;
    struct rp_err err; /**< the first one */
};

/* --- messages ------------------------------------------------------------------------------ */

enum taken { MORE, WHOLE, OVER };

/* Takes the bytes that have arrived, up to @p upto of the message. */
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
    if (link->message.bytes > rp_snapshot_max_bytes(link->message.kind))
        return false;
    if (link->message.bytes <= link->room)
        return true;
    link->bytes = rp_realloc(link->bytes, link->message.bytes);
    link->room = link->message.bytes;
    return true;
}

/* @return OVER: the link ended, or sent what cannot be accepted */
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

static void note_passed(struct rp_captured_run *found, const struct rp_snapshot_feed *feed)
{
    const struct rp_snapshot_state *state = rp_snapshot_feed_state(feed);

    for (size_t i = 0; i < state->passed_count && found->passed_count < RP_SNAPSHOT_MAX_FILTERED;
         i++)
        found->passed[found->passed_count++] = state->passed[i];
}

static void drop_link(struct rp_snapshot_server *s, size_t at)
{
    struct link *link = &s->links[at - FIRST_LINK];
    const struct rp_snapshot_state *state = rp_snapshot_feed_state(link->feed);

    s->found.kernels_seen += state->seen;
    s->found.kernels_wanted += state->wanted;
    s->found.declines += state->declines;
    if (!s->found.declined && state->declined)
        s->found.declined = rp_strdup(state->declined);
    else if (!s->found.declined && state->writer && !s->err.code)
        s->found.declined = rp_strdup("the program ended in the middle of the capture");
    note_passed(&s->found, link->feed);
    rp_snapshot_feed_close(link->feed);
    free(link->bytes);
    close(s->polls[at].fd);
    s->count--;
    s->polls[at] = s->polls[s->count];
    *link = s->links[s->count - FIRST_LINK];
}

/* Says whether another process has begun a capture, because there is only one folder to write. */
static bool is_taken(const struct rp_snapshot_server *s, const struct rp_snapshot_feed *feed)
{
    if (rp_snapshot_feed_state(feed)->done)
        return false;
    for (size_t i = 0; i < s->count - FIRST_LINK; i++)
        if (rp_snapshot_feed_state(s->links[i].feed)->writer)
            return true;
    return s->found.captured > 0;
}

static void note_capture(struct rp_snapshot_server *s, uint64_t match)
{
    s->found.matches =
        rp_realloc_array(s->found.matches, s->found.captured + 1, sizeof *s->found.matches);
    s->found.matches[s->found.captured++] = match;
}

/* Sends the answer that the tool waits for. It asks one thing at a time, so the socket has room. */
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

/* Handles the part of a message that a link has sent. */
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
    /* The first of several processes that has the dispatch is captured. */
    if (taken == OVER || (link->message.kind == RP_SNAPSHOT_BEGIN &&
                          !rp_snapshot_feed_state(feed)->writer && is_taken(s, feed))) {
        drop_link(s, at);
        return;
    }
    done = rp_snapshot_feed_state(feed)->done;
    rc = rp_proc_interrupted(&err); /* Nobody wants it any more. */
    if (rc == 0)
        rc = rp_snapshot_feed_take(feed, &link->message, link->bytes, &reply, &err);
    if (rc < 0) {
        if (!s->err.code)
            s->err = err;
        drop_link(s, at);
        return;
    }
    if (rp_snapshot_feed_state(feed)->done > done)
        note_capture(s, rp_snapshot_feed_state(feed)->match);
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
        s->capacity *= 2;
        s->polls = rp_realloc_array(s->polls, s->capacity, sizeof *s->polls);
        s->links = rp_realloc_array(s->links, s->capacity, sizeof *s->links);
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
        const bool alone = s->count == FIRST_LINK; /* Others may be about to be accepted. */
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

static void note_name(struct rp_captured_run *found, const char *name)
{
    size_t i = 0;

    /* Each GPU loads the kernels once more, so names are noted once. */
    while (i < RP_CAPTURED_RUN_NAMES && found->names[i])
        if (strcmp(found->names[i++], name) == 0)
            return;
    if (i == RP_CAPTURED_RUN_NAMES)
        found->more_names = true;
    else
        found->names[i] = rp_strdup(name);
}

static char *name_of(const char *symbol, void *data)
{
    struct rp_snapshot_server *s = data;

    return rp_demangle_kernel(&s->demangler, symbol);
}

static bool wants(const char *symbol, const char *name, uint32_t code, void *data)
{
    struct rp_snapshot_server *s = data;

    if (strncmp(name, INTERNAL, sizeof INTERNAL - 1) != 0)
        note_name(&s->found, name);
    return rp_kernel_pattern_finds_code(&s->pattern, name, symbol, code);
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
    rp_captured_run_free(&s->found);
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

/** @param path of the socket
 * @param wishes must outlive the server, which sets .wants and .name
 * @param wanted must outlive it, too */
static int snapshot_server_start(const char *path, struct rp_snapshot_request *wishes,
                                 const struct rp_snapshot_server_request *wanted,
                                 struct rp_snapshot_server **ret, struct rp_err *err)
{
    struct rp_snapshot_server *s = rp_alloc_zero(1, sizeof *s);
    int rc;

    rc = rp_kernel_pattern_compile("--kernel", wanted->kernel_regex, &s->pattern, err);
    if (rc < 0) {
        free(s);
        return rc;
    }
    s->stop[0] = s->stop[1] = -1;
    s->capacity = 16;
    s->polls = rp_alloc_zero(s->capacity, sizeof *s->polls);
    s->links = rp_alloc_zero(s->capacity, sizeof *s->links);
    s->wishes = wishes;
    s->wanted = wanted;
    if (wanted->env) {
        rp_demangler_open(wanted->env, &s->demangler);
        rp_demangler_start(&s->demangler);
    }
    wishes->name = name_of;
    wishes->wants = wants;
    wishes->data = s;
    if (pipe2(s->stop, O_CLOEXEC) < 0) {
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a pipe");
        free_server(s);
        return rc;
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

/**
 * The program has ended, so this takes what is still on its way.
 * @return 0, or the error that kept a capture from being written
 */
static int snapshot_server_stop(struct rp_snapshot_server *s, struct rp_captured_run *ret,
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

void rp_captured_run_free(struct rp_captured_run *isolation)
{
    free(isolation->declined);
    free(isolation->matches);
    for (size_t i = 0; i < RP_CAPTURED_RUN_NAMES; i++)
        free(isolation->names[i]);
    memset(isolation, 0, sizeof *isolation);
}

#define SCRATCH_NAME "rocm-perf-capture-"

enum { SCRATCH_YOUNG_S = 60 }; /* A young folder may have been made, and not be locked yet. */

/* Removes what a killed rocm-perf has left: nobody holds the lock on it. */
static void remove_if_stale(const char *path)
{
    rp_autoclose int fd = rp_lock_path(path, RP_LOCK_FOLDER | RP_LOCK_NO_LINK);
    struct stat about;

    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
        time(NULL) - about.st_mtime > SCRATCH_YOUNG_S)
        rp_remove_tree(path);
}

static void remove_stale(const char *parent)
{
    rp_autofree char *pattern = rp_path_pattern(parent, SCRATCH_NAME "??????");
    glob_t found = {0};

    if (pattern && glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            remove_if_stale(found.gl_pathv[i]);
    globfree(&found);
}

struct scratch {
    char *folder, *socket;
    int lock; /**< 0: none */
};

/* Makes a folder of our own for the socket and the collector's records, which nobody reads. */
static int make_scratch(struct scratch *scratch, struct rp_err *err)
{
    const char *wish = getenv("TMPDIR"), *parent = wish && *wish ? wish : "/tmp";
    rp_autofree char *path = rp_format("%s/" SCRATCH_NAME "XXXXXX", parent);
    int fd;

    remove_stale(parent);
    if (!mkdtemp(path))
        return rp_fail(err, RP_ENVIRONMENT, "cannot make a folder %s; set TMPDIR to another place",
                       path);
    fd = rp_lock_path(path, RP_LOCK_FOLDER | RP_LOCK_WAIT);
    if (fd > 0)
        scratch->lock = fd;
    scratch->folder = rp_steal(path);
    return 0;
}

static void drop_scratch(struct scratch *scratch)
{
    if (scratch->folder)
        rp_remove_tree(scratch->folder);
    if (scratch->lock)
        close(scratch->lock);
    free(scratch->folder);
    free(scratch->socket);
}

static int start(const struct rp_captured_run_request *request, const struct scratch *scratch,
                 int stdout_fd, struct rp_proc_end *ret, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    struct rp_proc proc = {.stdout_fd = stdout_fd};
    struct rp_run_options options = *request->options;
    int rc;

    options.trace_dir = scratch->folder;
    options.tracer_log = getenv("ROCM_PERF_TOOL_DEBUG"); /* There is no option for it. */
    options.capture_socket = scratch->socket;
    rc = rp_launch_plan(request->env, &options, request->argv, &plan, err);
    if (rc < 0)
        return rc;
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env.list;
    return rp_proc_run(&proc, ret, err);
}

/* Runs the program once, with a server that listens. */
static int run(const struct rp_captured_run_request *request, struct scratch *scratch,
               int stdout_fd, struct rp_captured_run *ret, struct rp_err *err)
{
    struct rp_snapshot_request wishes = {.folder = request->folder,
                                         .several = request->several,
                                         .waits = request->waits,
                                         .origin = {.command = (const char *const *)request->argv,
                                                    .version = request->version,
                                                    .rocm = request->env->rocm_version}};
    const struct rp_snapshot_server_request wanted = {.env = request->env,
                                                      .kernel_regex = request->kernel,
                                                      .selection = request->selection,
                                                      .numbers = request->numbers};
    struct rp_snapshot_server *server = NULL;
    struct rp_err late = RP_ERR_INIT;
    int rc = make_scratch(scratch, err), late_rc;

    if (rc < 0)
        return rc;
    scratch->socket = rp_path_join(scratch->folder, "socket");
    rc = snapshot_server_start(scratch->socket, &wishes, &wanted, &server, err);
    if (rc < 0)
        return rc;
    rc = start(request, scratch, stdout_fd, &ret->end, err);
    late_rc = snapshot_server_stop(server, ret, &late);
    if (rc == 0 && late_rc < 0) {
        *err = late;
        rc = late_rc;
    }
    return rc;
}

/* Captures that are complete stay, so the message names them. */
static void name_kept(const struct rp_captured_run_request *request,
                      const struct rp_captured_run *found, struct rp_err *err)
{
    rp_cleanup(rp_buf_free) struct rp_buf text = {0};
    const enum rp_code code = err->code;

    rp_buf_printf(&text, "%s; whole and kept, but not replayed: ", err->text);
    for (size_t i = 0; request->several && i < found->captured; i++)
        rp_buf_printf(&text, "%s%s/" RP_CAPTURE_SEVERAL_FOLDER, i ? ", " : "", request->folder,
                      found->matches[i]);
    if (!request->several)
        rp_buf_printf(&text, "%s", request->folder);
    if (!text.failed)
        rp_fail(err, code, "%s", rp_buf_text(&text));
}

int rp_run_capturing(const struct rp_captured_run_request *request, struct rp_captured_run *ret,
                     struct rp_err *err)
{
    rp_cleanup(drop_scratch) struct scratch scratch = {0};
    struct rp_captured_run isolation = {0};
    int rc;

    if (rp_path_exists(request->folder))
        return rp_fail(err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                       request->folder);
    rc = run(request, &scratch, 0, &isolation, err);
    if (rc == 0 && !isolation.captured)
        rc = rp_proc_interrupted(err);
    if (request->several)
        rmdir(request->folder); /* This fails when there is something in it. */
    if (rc < 0 && isolation.captured)
        name_kept(request, &isolation, err);
    if (rc < 0)
        rp_captured_run_free(&isolation);
    else
        *ret = isolation;
    return rc;
}

/* --- the longest --------------------------------------------------------------------------- */

RP_DEFINE_CLEANUP(struct rp_record_file, rp_record_file_close)

static void look_at(const struct rp_rec_dispatch *d, struct rp_longest_dispatch *longest)
{
    const uint64_t duration_ns = d->end_ns > d->start_ns ? d->end_ns - d->start_ns : 0;

    if (d->match == 0)
        return;
    if (longest->match == 0 || duration_ns > longest->duration_ns ||
        (duration_ns == longest->duration_ns && d->match < longest->match)) {
        longest->match = d->match;
        longest->duration_ns = duration_ns;
        memcpy(longest->grid, d->grid, sizeof longest->grid);
        memcpy(longest->workgroup, d->workgroup, sizeof longest->workgroup);
    }
    longest->matches = d->match > longest->matches ? d->match : longest->matches;
}

static int read_trace(const char *path, struct rp_longest_dispatch *ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_record_file_close) struct rp_record_file *file = NULL;
    struct rp_longest_dispatch longest = {0};
    const struct rp_record *records;
    uint64_t seen = 0;
    size_t count;
    int rc = rp_record_file_open(path, &file, err);

    if (rc < 0)
        return rc;
    records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_DISPATCH) {
            look_at(&records[i].u.dispatch, &longest);
            seen += records[i].u.dispatch.match > 0;
        }
    if (seen < longest.matches || rp_record_file_header(file)->lost_records > 0)
        return rp_fail(
            err, RP_BAD_INPUT,
            "--longest: not all dispatches of the program could be timed: choose one with "
            "--dispatch");
    if (longest.match > 0 && longest.duration_ns == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "--longest: the device gives no times: choose one with --dispatch");
    if (longest.match > 0 && ret->match > 0)
        return rp_fail(
            err, RP_VERDICT,
            "--longest: several processes have dispatches that match, and which one is "
            "captured is not known beforehand: trace the one, or choose with --dispatch");
    if (longest.match > 0)
        *ret = longest;
    return 0;
}

static int read_traces(const char *folder, struct rp_longest_dispatch *ret, struct rp_err *err)
{
    rp_autofree char *pattern = rp_path_pattern(folder, "*.rptrace");
    struct rp_longest_dispatch longest = {0};
    glob_t found = {0};
    int rc = 0;

    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
            rc = read_trace(found.gl_pathv[i], &longest, err);
    globfree(&found);
    if (rc == 0)
        *ret = longest;
    return rc;
}

int rp_run_finding_longest(const struct rp_captured_run_request *request,
                           struct rp_longest_dispatch *ret, struct rp_captured_run *ret_isolation,
                           struct rp_err *err)
{
    rp_cleanup(drop_scratch) struct scratch scratch = {0};
    rp_autoclose int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rp_captured_run_request survey = *request;
    struct rp_captured_run isolation = {0};
    int rc;

    survey.selection.mode = RP_SNAPSHOT_SCAN;
    survey.selection.number_count = 0;
    rc = run(&survey, &scratch, nowhere, &isolation, err);
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    if (rc == 0)
        rc = read_traces(scratch.folder, ret, err);
    if (rc < 0)
        rp_captured_run_free(&isolation);
    else
        *ret_isolation = isolation;
    return rc;
}
