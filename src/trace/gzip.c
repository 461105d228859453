#include "trace/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/csv_read.h"

static const char suffix[] = ".gz";

enum { MOST_TIMES = 100 };
static const uint64_t always_allowed = (uint64_t)256 << 20;

/* --- names -------------------------------------------------------------------------------- */

size_t rp_gzip_name_length(const char *path)
{
    size_t len = strlen(path), end = strlen(suffix);

    return len > end && strcasecmp(path + len - end, suffix) == 0 ? len - end : len;
}

bool rp_gzip_name_ends_with(const char *path, const char *end)
{
    size_t len = rp_gzip_name_length(path), part = strlen(end);

    return len >= part && strncasecmp(path + len - part, end, part) == 0;
}

char *rp_gzip_find(const char *path)
{
    char *packed;

    if (rp_path_exists(path))
        return strdup(path);
    packed = rp_format("%s%s", path, suffix);
    if (packed && rp_path_exists(packed))
        return packed;
    free(packed);
    return NULL;
}

bool rp_gzip_has_unpacked(const char *path)
{
    size_t len = rp_gzip_name_length(path);
    rp_autofree char *plain = path[len] ? strndup(path, len) : NULL;

    return plain && rp_path_exists(plain);
}

/* --- contents ----------------------------------------------------------------------------- */

/* RFC 1952 begins a file with these two bytes, and then the only method that exists. */
static bool begins_packed(int fd)
{
    static const unsigned char magic[] = {0x1f, 0x8b, 8};
    unsigned char head[sizeof magic];

    return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
           memcmp(head, magic, sizeof magic) == 0;
}

static int open_regular(const char *path, int *ret_fd, struct stat *st, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, st) < 0)
        return rp_fail_errno(err,
                             errno == ENOENT || errno == ENOTDIR ? RP_BAD_INPUT : RP_ENVIRONMENT,
                             errno, "cannot open it");
    if (!S_ISREG(st->st_mode))
        return rp_fail(err, RP_BAD_INPUT, "it is not a regular file");
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static bool is_packed(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd >= 0 && begins_packed(fd);
}

static const char *temporary_folder(void)
{
    const char *wish = getenv("TMPDIR");

    return wish && *wish ? wish : "/tmp";
}

static int put_all(int fd, const char *bytes, size_t len, struct rp_err *err)
{
    if (rp_write_all(fd, bytes, len) == 0)
        return 0;
    return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                         "it is packed by gzip, and cannot be unpacked in %s (set TMPDIR to"
                         " another folder)",
                         temporary_folder());
}

/* @param ret_ended  the end was reached, or damage */
static int unpack_all(gzFile packed, int to, uint64_t most, bool peeks, bool *ret_ended,
                      struct rp_err *err)
{
    enum { CHUNK_BYTES = 1 << 18 };
    rp_autofree char *chunk = malloc(CHUNK_BYTES);
    uint64_t total = 0;
    int got, result = chunk ? 0 : rp_out_of_memory(err);

    *ret_ended = false;
    while (result == 0 && !(peeks && total >= most)) {
        got = gzread(packed, chunk, CHUNK_BYTES);
        *ret_ended = got <= 0;
        if (got <= 0)
            return got < 0 ? rp_fail(err, RP_BAD_INPUT, "it is packed by gzip, and damaged") : 0;
        total += (uint64_t)got;
        if (total > most && !peeks)
            return rp_fail(err, RP_BAD_INPUT,
                           "it is packed by gzip, and more than %" PRIu64
                           " MB come out of it: unpack it yourself if that is right",
                           most >> 20);
        result = put_all(to, chunk, (size_t)got, err);
    }
    return result;
}

/* Takes the first descriptor. */
static int unpack_into(int from, int to, uint64_t most, bool peeks, struct rp_err *err)
{
    gzFile packed = gzdopen(from, "rb");
    bool ended;
    int result, closed;

    if (!packed) {
        close(from);
        return rp_out_of_memory(err);
    }
    result = unpack_all(packed, to, most, peeks, &ended, err);
    closed = gzclose_r(packed);
    if (result == 0 && ended && closed != Z_OK)
        return rp_fail(err, RP_BAD_INPUT, "it is packed by gzip, and cut short");
    return result;
}

static uint64_t max_unpacked_bytes(const struct stat *st)
{
    uint64_t by_size = (uint64_t)st->st_size * MOST_TIMES;

    return by_size > always_allowed ? by_size : always_allowed;
}

static char *new_file(int *ret_fd, struct rp_err *err)
{
    char *path = rp_format("%s/rocm-perf-XXXXXX", temporary_folder());

    *ret_fd = path ? mkostemp(path, O_CLOEXEC) : -1;
    if (*ret_fd >= 0)
        return path;
    if (!path)
        rp_out_of_memory(err);
    else
        rp_fail_errno(err, RP_ENVIRONMENT, errno,
                      "it is packed by gzip, and %s cannot be used to unpack it (set TMPDIR to"
                      " another folder)",
                      temporary_folder());
    free(path);
    return NULL;
}

int rp_gzip_open(const char *path, uint64_t peek, int *ret_fd, struct rp_err *err)
{
    rp_autofree char *name = NULL;
    rp_autoclose int fd = -1, to = -1;
    struct stat st;
    int result = open_regular(path, &fd, &st, err), from;

    if (result < 0)
        return result;
    if (!begins_packed(fd)) {
        *ret_fd = fd;
        fd = -1;
        return 0;
    }
    name = new_file(&to, err);
    if (!name)
        return -(int)RP_ENVIRONMENT;
    unlink(name);
    from = fd;
    fd = -1;
    result = unpack_into(from, to, peek ? peek : max_unpacked_bytes(&st), peek > 0, err);
    if (result < 0)
        return result;
    if (lseek(to, 0, SEEK_SET) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read what was unpacked");
    *ret_fd = to;
    to = -1;
    return 0;
}

/* Reads as many bytes as there are, or as fit. */
static ssize_t read_full(int fd, char *to, size_t room)
{
    size_t got = 0;

    while (got < room) {
        ssize_t more = read(fd, to + got, room - got);

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

static bool same_bytes(int a, int b)
{
    enum { CHUNK_BYTES = 1 << 18 };
    rp_autofree char *of_a = malloc(CHUNK_BYTES), *of_b = malloc(CHUNK_BYTES);
    ssize_t got = 1;

    while (of_a && of_b && got > 0) {
        got = read_full(a, of_a, CHUNK_BYTES);
        if (got < 0 || got != read_full(b, of_b, CHUNK_BYTES) ||
            memcmp(of_a, of_b, (size_t)got) != 0)
            return false;
    }
    return of_a && of_b;
}

bool rp_gzip_differs(const char *path)
{
    rp_autofree char *plain = strndup(path, rp_gzip_name_length(path));
    rp_autoclose int a = -1, b = -1;
    struct rp_err why = RP_ERR_INIT;

    if (!plain || !rp_gzip_has_unpacked(path))
        return false;
    return rp_gzip_open(path, 0, &a, &why) < 0 || rp_gzip_open(plain, 0, &b, &why) < 0 ||
           !same_bytes(a, b);
}

int rp_gzip_read_text(const char *path, uint64_t most_bytes, char **ret, struct rp_err *err)
{
    enum { CHUNK_BYTES = 1 << 18 };
    rp_autoclose int fd = -1;
    rp_autobuf text = {0};
    rp_autofree char *chunk = malloc(CHUNK_BYTES);
    ssize_t got = 0;
    int result = chunk ? rp_gzip_open(path, 0, &fd, err) : rp_out_of_memory(err);

    while (result == 0 && !text.failed && (got = read(fd, chunk, CHUNK_BYTES)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read it");
        if (text.len + (size_t)got > most_bytes)
            return rp_fail(err, RP_BAD_INPUT, "it is larger than %" PRIu64 " MB", most_bytes >> 20);
        rp_buf_add(&text, chunk, (size_t)got);
    }
    if (result < 0)
        return result;
    *ret = rp_buf_steal(&text);
    return *ret ? 0 : rp_out_of_memory(err);
}

int rp_gzip_unpack(const char *path, char **ret_path, struct rp_err *err)
{
    rp_autofree char *name = NULL;
    rp_autoclose int to = -1;
    struct stat st;
    int from, result;

    if (!is_packed(path))
        return 0;
    result = open_regular(path, &from, &st, err);
    if (result < 0)
        return result;
    name = new_file(&to, err);
    if (!name) {
        close(from);
        return -(int)RP_ENVIRONMENT;
    }
    result = unpack_into(from, to, max_unpacked_bytes(&st), false, err);
    if (result < 0) {
        unlink(name);
        return result;
    }
    *ret_path = rp_steal(name);
    return 0;
}

int rp_gzip_read_buf(const char *path, struct rp_buf *text, struct rp_err *err)
{
    rp_autoclose int fd = -1;
    char chunk[65536];
    ssize_t got = -1;
    int result = rp_gzip_open(path, 0, &fd, err);

    if (result < 0)
        return result;
    while ((got = read(fd, chunk, sizeof chunk)) > 0)
        rp_buf_add(text, chunk, (size_t)got);
    if (got < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
    return text->failed ? rp_out_of_memory(err) : 0;
}
