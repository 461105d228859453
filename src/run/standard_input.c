#include "run/standard_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

enum {
    MEMORY_BYTES = 64 << 20,
    MOST_BYTES = 1 << 30, /**< more is an endless stream, or better a file */
    CHUNK_BYTES = 64 << 10,
    PIECE_BYTES = 4096, /**< at most a page, which one slot of a pipe holds */
    /* Pieces are slow, 50 us each. A program that reads that much reads on, and its time counts. */
    MOST_IN_PIECES_BYTES = 256 << 10,
    PAUSE_MS = 1,
    LOOK_MS = 100,
    LOOKS = 3, /**< in a row: a program that reads what was typed already does not wait */
};

/* Says whether the input can be looked at without being taken. */
static bool can_peek(struct rp_kept_input *in, mode_t mode)
{
    int type = 0;
    socklen_t bytes = sizeof type;

    if (S_ISFIFO(mode))
        return pipe2(in->side, O_CLOEXEC) == 0;
    return getsockopt(in->source, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

int rp_kept_input_open(bool several, const char *remedy, struct rp_kept_input *ret,
                       struct rp_err *err)
{
    struct stat info;

    *ret = (struct rp_kept_input){.source = -1,
                                  .remedy = remedy,
                                  .file = -1,
                                  .to_program = -1,
                                  .stop = {-1, -1},
                                  .side = {-1, -1},
                                  .most_bytes = MOST_BYTES,
                                  .memory_bytes = MEMORY_BYTES};
    if (!several || fstat(STDIN_FILENO, &info) < 0)
        return 0;
    if (S_ISREG(info.st_mode))
        ret->kind = RP_INPUT_FILE;
    else if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode))
        ret->kind = RP_INPUT_STREAM;
    else if (isatty(STDIN_FILENO))
        ret->kind = RP_INPUT_TERMINAL;
    else
        return 0;
    ret->offset = ret->kind == RP_INPUT_FILE ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    ret->source = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (ret->source < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "standard input");
    ret->peeks = ret->kind == RP_INPUT_STREAM && can_peek(ret, info.st_mode);
    return 0;
}

/* --- what was read ------------------------------------------------------------------------- */

static int open_file(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    rp_autofree char *name = NULL;

    if (fd >= 0)
        return fd;
    name = rp_path_join(folder && *folder ? folder : "/tmp", "rocm-perf-input-XXXXXX");
    fd = name ? mkostemp(name, O_CLOEXEC) : -1; /* The file system has no nameless files. */
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int keep_in_file(struct rp_kept_input *in, const uint8_t *bytes, size_t count)
{
    if (in->file < 0)
        in->file = open_file();
    while (in->file >= 0 && count > 0) {
        ssize_t n = pwrite(in->file, bytes, count, (off_t)(in->bytes - in->memory_bytes));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes += n;
        count -= (size_t)n;
        in->bytes += (uint64_t)n;
    }
    return count == 0 ? 0 : errno ? errno : ENOSPC;
}

static int keep(struct rp_kept_input *in, const uint8_t *bytes, size_t count)
{
    size_t part = 0;

    if (in->bytes < in->memory_bytes)
        part =
            count < in->memory_bytes - in->bytes ? count : (size_t)(in->memory_bytes - in->bytes);
    if (in->bytes + part > in->capacity && part) {
        uint64_t wanted = in->capacity ? 2 * in->capacity : CHUNK_BYTES;

        while (wanted < in->bytes + part)
            wanted *= 2;
        in->memory = rp_realloc(in->memory, wanted);
        in->capacity = wanted;
    }
    if (part)
        memcpy(in->memory + in->bytes, bytes, part);
    in->bytes += part;
    return part < count ? keep_in_file(in, bytes + part, count - part) : 0;
}

/* @return how many bytes of the kept input are at *ret; 0: they cannot be read */
static size_t kept_at(struct rp_kept_input *in, uint64_t at, uint8_t *buffer, const uint8_t **ret)
{
    uint64_t in_memory = in->bytes < in->memory_bytes ? in->bytes : in->memory_bytes;
    ssize_t n;

    if (at < in_memory) {
        *ret = in->memory + at;
        return in_memory - at < CHUNK_BYTES ? (size_t)(in_memory - at) : CHUNK_BYTES;
    }
    *ret = buffer;
    do
        n = pread(in->file, buffer, CHUNK_BYTES, (off_t)(at - in->memory_bytes));
    while (n < 0 && errno == EINTR);
    return n > 0 ? (size_t)n : 0;
}

/* --- the feeder of a stream ---------------------------------------------------------------- */

/* @return false: the run is over */
static bool wait_for(struct rp_kept_input *in, int fd, short events)
{
    struct pollfd fds[] = {{.fd = in->stop[0], .events = POLLIN}, {.fd = fd, .events = events}};

    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return false;
    return !fds[0].revents;
}

/* Reads one more piece of the source, when it has one.
 * @return false: the run is over */
static bool read_on(struct rp_kept_input *in, uint8_t *buffer)
{
    ssize_t n;

    if (!wait_for(in, in->source, POLLIN))
        return false;
    n = read(in->source, buffer, CHUNK_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        in->ended = true;
    } else if (in->bytes + (uint64_t)n > in->most_bytes) {
        /* The program finds the end of its input, and ends by itself. */
        in->too_much = in->ended = true;
    } else {
        in->trouble = keep(in, buffer, (size_t)n);
        in->ended |= in->trouble != 0;
    }
    return true;
}

/* Input that the program does not read stays in the source, for a program that reads it after this
 * command. So a piece is only looked at, and is taken from the source when the program has read it:
 * the program's pipe has one slot then, and can be written to when it is empty. After
 * MOST_IN_PIECES_BYTES the source is read as far as the pipe has room. */
struct piece {
    uint8_t bytes[PIECE_BYTES];
    size_t count; /**< in the program's pipe, or read by it, and in the source as well */
};

static ssize_t peek(struct rp_kept_input *in, uint8_t *ret)
{
    ssize_t n;

    if (in->side[0] < 0)
        return recv(in->source, ret, PIECE_BYTES, MSG_PEEK | MSG_DONTWAIT);
    n = tee(in->source, in->side[1], PIECE_BYTES, SPLICE_F_NONBLOCK);
    return n > 0 ? read(in->side[0], ret, (size_t)n) : n;
}

static size_t unread_bytes(const struct rp_kept_input *in)
{
    int count = 0;

    return ioctl(in->to_program, FIONREAD, &count) == 0 && count > 0 ? (size_t)count : 0;
}

/* The program has read so much of the piece, so it is taken from the source. */
static void take(struct rp_kept_input *in, struct piece *piece, size_t count)
{
    struct pollfd source = {.fd = in->source, .events = POLLIN};
    uint8_t taken[PIECE_BYTES];
    size_t left = count;

    if (count)
        in->trouble = keep(in, piece->bytes, count);
    /* The input is still there, if nobody else has taken it. */
    while (left > 0 && poll(&source, 1, 0) > 0) {
        ssize_t n = read(in->source, taken, left);

        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        left -= n > 0 ? (size_t)n : 0;
    }
    piece->count = 0;
}

/* Gives one more piece to the program, which has read all before.
 * @return false: the run is over */
static bool look_on(struct rp_kept_input *in, struct piece *piece)
{
    ssize_t n;

    take(in, piece, piece->count);
    if (in->bytes >= MOST_IN_PIECES_BYTES) {
        in->peeks = false;
        fcntl(in->to_program, F_SETPIPE_SZ, CHUNK_BYTES);
        return true;
    }
    if (in->trouble || !wait_for(in, in->source, POLLIN))
        return false;
    n = peek(in, piece->bytes);
    if (n < 0) {
        /* Otherwise the source is read, which may work. */
        in->peeks = errno == EINTR || errno == EAGAIN;
        return true;
    }
    if (n == 0) {
        in->ended = true;
    } else if (in->bytes + (uint64_t)n > in->most_bytes) {
        /* The program finds the end of its input, and ends by itself. */
        in->too_much = in->ended = true;
    } else {
        n = write(in->to_program, piece->bytes, (size_t)n);
        piece->count = n > 0 ? (size_t)n : 0;
    }
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

/* @return false: the run is over */
static bool send_kept(struct rp_kept_input *in, uint8_t *buffer, uint64_t *sent)
{
    const uint8_t *bytes;
    const size_t count = kept_at(in, *sent, buffer, &bytes);
    const ssize_t n = count ? write(in->to_program, bytes, count) : 0;

    if (count == 0)
        in->trouble = EIO;
    *sent += n > 0 ? (uint64_t)n : 0;
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void *feed(void *context)
{
    struct rp_kept_input *in = context;
    struct pollfd stop = {.fd = in->stop[0], .events = POLLIN};
    uint8_t *buffer = rp_alloc(CHUNK_BYTES);
    struct piece piece = {.count = 0};
    bool goes_on = true;
    uint64_t sent = 0;

    while (goes_on && !in->trouble && (sent < in->bytes || !in->ended)) {
        /* Input for which the pipe has no room is not read. */
        goes_on = wait_for(in, in->to_program, POLLOUT);
        if (!goes_on)
            break;
        if (sent < in->bytes) {
            goes_on = send_kept(in, buffer, &sent);
        } else if (!in->peeks) {
            goes_on = read_on(in, buffer);
        } else if (unread_bytes(in) > 0) { /* On some systems pipes can have room nevertheless. */
            poll(&stop, 1, PAUSE_MS);
        } else {
            goes_on = look_on(in, &piece);
            sent = in->bytes; /* The piece does not belong to them yet. */
        }
    }
    if (piece.count > 0) {
        const size_t unread = unread_bytes(in);

        take(in, &piece, piece.count - (unread < piece.count ? unread : piece.count));
    }
    free(buffer);
    close(in->to_program); /* This is the end of the program's input. */
    in->to_program = -1;
    return NULL;
}

/* --- a terminal ---------------------------------------------------------------------------- */

static bool reads_input(const char *pid, const char *task)
{
    char path[300], text[64] = "";
    FILE *file;
    bool reads;

    snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/syscall", pid, task);
    file = fopen(path, "re");
    if (!file)
        return false;
    /* The line is that of read(0, ...). */
    reads = fgets(text, sizeof text, file) && strncmp(text, "0 0x0 ", 6) == 0;
    fclose(file);
    return reads;
}

/* Says whether a thread waits for this terminal. */
static bool waits_for(const struct rp_kept_input *in, const char *pid)
{
    struct stat theirs, ours;
    struct dirent *task;
    bool found = false;
    char path[300];
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%.20s/fd/0", pid);
    if (stat(path, &theirs) < 0 || fstat(in->source, &ours) < 0 || theirs.st_rdev != ours.st_rdev ||
        !S_ISCHR(theirs.st_mode))
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/task", pid);
    tasks = opendir(path);
    while (tasks && !found && (task = readdir(tasks)))
        found = task->d_name[0] != '.' && reads_input(pid, task->d_name);
    if (tasks)
        closedir(tasks);
    return found;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = "", *end;
    FILE *file;
    int parent = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fgets(text, sizeof text, file) && (end = strrchr(text, ')')))
        sscanf(end + 1, " %*c %d", &parent);
    fclose(file);
    return parent;
}

static bool is_of_us(pid_t pid)
{
    for (int depth = 0; pid > 1 && depth < 64; depth++) {
        pid = parent_of(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

/* @return a process that this one has started and that waits for the terminal; 0: none */
static pid_t find_reader(const struct rp_kept_input *in)
{
    DIR *all = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;

    while (all && !found && (entry = readdir(all))) {
        pid_t pid = (pid_t)atoi(entry->d_name);

        if (pid > 0 && waits_for(in, entry->d_name) && is_of_us(pid))
            found = pid;
    }
    if (all)
        closedir(all);
    return found;
}

static void *watch(void *context)
{
    struct rp_kept_input *in = context;
    struct pollfd stop = {.fd = in->stop[0], .events = POLLIN};
    int looks = 0;

    while (poll(&stop, 1, LOOK_MS) <= 0) {
        pid_t reader = find_reader(in);

        looks = reader ? looks + 1 : 0;
        if (looks < LOOKS)
            continue;
        in->asked_person = true;
        kill(reader, SIGKILL);
        looks = 0;
    }
    return NULL;
}

/* --- runs ---------------------------------------------------------------------------------- */

static int start_thread(struct rp_kept_input *in, void *(*thread)(void *context),
                        struct rp_err *err)
{
    sigset_t all, old;
    int code;

    if (pipe2(in->stop, O_CLOEXEC) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    sigfillset(&all); /* Signals are for the thread that runs the program. */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    code = pthread_create(&in->feeder, NULL, thread, in);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code)
        return rp_fail_errno(err, RP_ENVIRONMENT, code, "cannot start a thread");
    in->feeding = true;
    return 0;
}

static int begin_stream(struct rp_kept_input *in, struct rp_err *err)
{
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    in->to_program = ends[1];
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    if (in->ended || in->bytes >= MOST_IN_PIECES_BYTES ||
        (in->peeks && fcntl(ends[1], F_SETPIPE_SZ, PIECE_BYTES) < 0))
        in->peeks = false; /* It need not be done, or it cannot. */
    rc = dup2(ends[0], STDIN_FILENO) < 0
             ? rp_fail_errno(err, RP_ENVIRONMENT, errno, "standard input")
             : start_thread(in, feed, err);
    close(ends[0]);
    return rc;
}

/* The first run reads the file itself, so that a program after this command goes on behind it. */
static int begin_file(struct rp_kept_input *in, struct rp_err *err)
{
    rp_autoclose int fd = -1;

    if (!in->again)
        return 0;
    fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (fd < 0) { /* If the file may not be opened any more, its own place is moved back. */
        if (lseek(in->source, in->offset, SEEK_SET) >= 0)
            return 0;
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "standard input");
    }
    if (lseek(fd, in->offset, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "standard input");
    return 0;
}

int rp_kept_input_begin(struct rp_kept_input *in, struct rp_err *err)
{
    int rc = 0;

    if (in->kind == RP_INPUT_FILE)
        rc = begin_file(in, err);
    else if (in->kind == RP_INPUT_STREAM)
        rc = begin_stream(in, err);
    else if (in->kind == RP_INPUT_TERMINAL)
        rc = start_thread(in, watch, err);
    in->again = true;
    return rc;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int rp_kept_input_end(struct rp_kept_input *in, struct rp_err *err)
{
    if (in->kind == RP_INPUT_INHERITED)
        return 0;
    if (in->feeding) {
        close_fd(&in->stop[1]); /* The other end notices that it is closed. */
        pthread_join(in->feeder, NULL);
        in->feeding = false;
    }
    close_fd(&in->stop[0]);
    close_fd(&in->stop[1]);
    close_fd(&in->to_program);
    if (in->kind != RP_INPUT_TERMINAL)
        dup2(in->source, STDIN_FILENO);
    if (in->asked_person)
        return rp_fail(err, RP_USAGE,
                       "the program waits for input from the terminal, which cannot be given to "
                       "each run: %s, or give it a file (< FILE)",
                       in->remedy);
    if (in->too_much)
        return rp_fail(
            err, RP_USAGE,
            "the program has read %" PRIu64 " MiB of standard input, which does not end "
            "there, and more cannot be kept for further runs: %s, or give it a file (< FILE)",
            in->most_bytes >> 20, in->remedy);
    if (in->trouble)
        return rp_fail_errno(err, RP_ENVIRONMENT, in->trouble,
                             "standard input cannot be kept for further runs in %s: %s",
                             getenv("TMPDIR") ?: "/tmp", in->remedy);
    return 0;
}

void rp_kept_input_free(struct rp_kept_input *in)
{
    if (in->kind != RP_INPUT_INHERITED) {
        struct rp_err err = RP_ERR_INIT;

        rp_kept_input_end(in, &err);
        close_fd(&in->source);
        close_fd(&in->file);
        close_fd(&in->side[0]);
        close_fd(&in->side[1]);
    }
    free(in->memory);
    *in = (struct rp_kept_input){0};
}

enum {
    WHOLE_INPUT_CHUNK_BYTES = 64 << 10,
    SLICE_MS = 500,
    NOTICE_MS = 2000,
    /* Our parent may leave a pipe open into which nobody writes, and that must not last for ever.
     */
    PATIENCE_MS = 60000,
};

static bool is_readable(void)
{
    struct stat info;

    return fstat(STDIN_FILENO, &info) == 0 &&
           (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

__attribute__((format(printf, 2, 3))) static void note(const struct rp_saved_input *in,
                                                       const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!in->note)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    in->note(in->context, rp_buf_text(&text));
}

static int paused_too_long(uint64_t bytes, int patience_ms, struct rp_err *err)
{
    return rp_fail(
        err, RP_USAGE,
        "standard input has paused for %g s after %" PRIu64
        " bytes, and has not ended; each run gets all of it: give it as a file (< FILE), "
        "or an empty one (< /dev/null)",
        patience_ms / 1000.0, bytes);
}

/* Waits until something can be read, or until the end. */
static int wait_for_some(const struct rp_saved_input *in, uint64_t bytes, bool *noted,
                         struct rp_err *err)
{
    const int patience_ms = in->patience_ms ? in->patience_ms : PATIENCE_MS;
    const int notice_ms = in->notice_ms ? in->notice_ms : NOTICE_MS;
    struct pollfd fds = {.fd = STDIN_FILENO, .events = POLLIN};

    for (int waited_ms = 0; waited_ms < patience_ms;) {
        const int left_ms = patience_ms - waited_ms;
        const int slice_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
        const int ready = poll(&fds, 1, slice_ms);
        const int code = errno, rc = rp_proc_interrupted(err);

        if (rc < 0)
            return rc;
        if (ready > 0)
            return 0;
        if (ready < 0 && code != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, code, "standard input");
        waited_ms += ready == 0 ? slice_ms : 0;
        if (waited_ms >= notice_ms && !*noted) {
            note(in, "waiting for the end of standard input, all of which each run gets; "
                     "< /dev/null gives an empty one");
            *noted = true;
        }
    }
    return paused_too_long(bytes, patience_ms, err);
}

/* @return 0; *ret_bytes: what was read */
static int copy(const struct rp_saved_input *in, int fd, const char *path, uint64_t *ret_bytes,
                struct rp_err *err)
{
    const uint64_t most_bytes = in->most_bytes ? in->most_bytes : RP_SAVED_INPUT_MAX_BYTES;
    char bytes[WHOLE_INPUT_CHUNK_BYTES];
    bool noted = false;
    uint64_t count = 0;

    for (;;) {
        int rc = wait_for_some(in, count, &noted, err);
        ssize_t n;

        if (rc < 0)
            return rc;
        n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read standard input");
        if (n == 0)
            break;
        count += (uint64_t)n;
        if (count > most_bytes)
            return rp_fail(err, RP_USAGE,
                           "standard input has more than %" PRIu64
                           " MiB, or no end; each run gets all of "
                           "it: let the program read a file instead",
                           most_bytes >> 20);
        if (rp_write_all(fd, bytes, (size_t)n) < 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    }
    *ret_bytes = count;
    return 0;
}

static bool is_same(const char *a, const char *b)
{
    rp_autoclose int x = open(a, O_RDONLY | O_CLOEXEC), y = -1;
    char p[WHOLE_INPUT_CHUNK_BYTES / 2], q[WHOLE_INPUT_CHUNK_BYTES / 2];
    bool same;
    ssize_t n = 1;

    y = open(b, O_RDONLY | O_CLOEXEC);
    same = x >= 0 && y >= 0;
    while (same && n > 0) {
        n = read(x, p, sizeof p);
        same = n >= 0 && read(y, q, sizeof q) == n && memcmp(p, q, (size_t)n) == 0;
    }
    if (y >= 0)
        close(y);
    return same;
}

/* The input differs from that of the first programs, so it is refused. */
static int differs(const char *path, struct rp_err *err)
{
    const char *slash = strrchr(path, '/');

    if (rp_path_exists(path))
        return rp_fail(err, RP_USAGE,
                       "standard input is not what it was when this was begun (%s): give the same, "
                       "or none (< /dev/null), which goes on with that",
                       path);
    return rp_fail(err, RP_USAGE,
                   "programs of %.*s had no standard input when this was begun: give none "
                   "(< /dev/null)",
                   slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int whole_input_take(const char *fresh, const struct rp_saved_input *in, uint64_t bytes,
                            struct rp_err *err)
{
    if (bytes == 0 || (in->resumed && is_same(fresh, in->path))) {
        unlink(fresh);
        if (!in->resumed)
            unlink(in->path);
        return 0;
    }
    if (in->resumed)
        return differs(in->path, err);
    return rename(fresh, in->path) == 0
               ? 0
               : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", in->path);
}

int rp_saved_input_read(const struct rp_saved_input *in, bool *ret_has, struct rp_err *err)
{
    rp_autofree char *fresh = rp_format("%s.new", in->path);
    /* Another file may take the place of a file that is opened. */
    const bool readable = is_readable();
    rp_autoclose int fd = -1;
    uint64_t bytes = 0;
    int rc = 0;

    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", fresh);
    if (readable)
        rc = copy(in, fd, fresh, &bytes, err);
    if (rc == 0)
        rc = whole_input_take(fresh, in, bytes, err);
    if (rc < 0) {
        unlink(fresh);
        return rc;
    }
    if (bytes > 0)
        note(in, "%" PRIu64 " bytes of standard input were read; each run gets all of them", bytes);
    *ret_has = rp_path_exists(in->path);
    return 0;
}
