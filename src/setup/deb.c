#include "setup/deb.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

enum {
    AR_HEAD = 60,
    TAR_BLOCK = 512,
    LONGEST_NAME = 1 << 16,
    CHUNK = 1 << 18,
    NO_DECOMPRESSOR = 127, /**< exit status, as of a shell */
};

/* --- decompressing ------------------------------------------------------------------------- */

/* What liblzma's ABI says, which has been the same since version 5.0: its header is needed nowhere.
 */
struct lzma {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    void *private_part[2];
    uint64_t reserved[16];
};

enum { LZMA_RUN = 0, LZMA_FINISH = 3, LZMA_OK = 0, LZMA_STREAM_END = 1, LZMA_CONCATENATED = 8 };

typedef int lzma_begin(struct lzma *, uint64_t memory_limit, uint32_t flags);
typedef int lzma_step(struct lzma *, int action);

/** @return exit status; -1: liblzma is not here */
static int decode_xz(void)
{
    static uint8_t in[CHUNK], out[CHUNK];
    void *library = dlopen("liblzma.so.5", RTLD_NOW);
    lzma_begin *begin = library ? (lzma_begin *)dlsym(library, "lzma_stream_decoder") : NULL;
    lzma_step *step = library ? (lzma_step *)dlsym(library, "lzma_code") : NULL;
    struct lzma lzma = {0};
    int action = LZMA_RUN, rc = LZMA_OK;

    if (!begin || !step)
        return -1;
    if (begin(&lzma, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
        return 1;
    while (rc == LZMA_OK) {
        if (lzma.avail_in == 0 && action == LZMA_RUN) {
            const ssize_t got = read(STDIN_FILENO, in, sizeof in);

            if (got < 0)
                return 1;
            action = got ? LZMA_RUN : LZMA_FINISH;
            lzma.next_in = in;
            lzma.avail_in = (size_t)got;
        }
        lzma.next_out = out;
        lzma.avail_out = sizeof out;
        rc = step(&lzma, action);
        if (rp_write_all(STDOUT_FILENO, out, sizeof out - lzma.avail_out) < 0)
            return 1;
    }
    return rc == LZMA_STREAM_END ? 0 : 1;
}

/** @return exit status */
static int copy_through(void)
{
    static char chunk[CHUNK];
    ssize_t got;

    while ((got = read(STDIN_FILENO, chunk, sizeof chunk)) > 0)
        if (rp_write_all(STDOUT_FILENO, chunk, (size_t)got) < 0)
            return 1;
    return got < 0;
}

/** Decompresses standard input to standard output; never returns. */
static void decompress(const char *suffix)
{
    if (strcmp(suffix, ".xz") == 0) {
        const int status = decode_xz();

        if (status >= 0)
            _exit(status);
        execlp("xz", "xz", "-dc", (char *)NULL);
        execlp("python3", "python3", "-c",
               "import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), "
               "sys.stdout.buffer, 1 << 18)",
               (char *)NULL);
    } else if (strcmp(suffix, ".zst") == 0) {
        execlp("zstd", "zstd", "-dcq", (char *)NULL);
    } else if (strcmp(suffix, ".gz") == 0) {
        execlp("gzip", "gzip", "-dc", (char *)NULL);
    } else {
        _exit(copy_through());
    }
    _exit(NO_DECOMPRESSOR);
}

/** Part of a file, decompressed by a child; another child passes it the part, since such programs
 * read to the end. */
struct stream {
    pid_t feeder, decompressor;
    FILE *from;
};

static void feed(int file, off_t at, off_t bytes)
{
    static char chunk[CHUNK];

    while (bytes > 0) {
        const ssize_t got = pread(file, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK, at);

        if (got <= 0 || rp_write_all(STDOUT_FILENO, chunk, (size_t)got) < 0)
            break;
        at += got;
        bytes -= got;
    }
    _exit(bytes != 0);
}

/** @return the child, in which this function returns 0, with these two as standard input and output
 */
static pid_t fork_between(int in, int out, const int others[4])
{
    const pid_t child = fork();

    if (child)
        return child;
    signal(SIGPIPE, SIG_DFL);
    if (in >= 0)
        dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    for (unsigned i = 0; i < 4; i++)
        close(others[i]);
    return 0;
}

static int stream_open(int file, off_t at, off_t bytes, const char *suffix, struct stream *ret,
                       struct rp_err *err)
{
    int pipes[4];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a pipe");
    if (pipe2(pipes + 2, O_CLOEXEC) < 0) {
        close(pipes[0]);
        close(pipes[1]);
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a pipe");
    }
    ret->feeder = fork_between(-1, pipes[1], pipes);
    if (ret->feeder == 0)
        feed(file, at, bytes);
    ret->decompressor = fork_between(pipes[0], pipes[3], pipes);
    if (ret->decompressor == 0)
        decompress(suffix);
    close(pipes[0]);
    close(pipes[1]);
    close(pipes[3]);
    ret->from = rp_not_null(fdopen(pipes[2], "r"));
    return 0;
}

/** Ends both children. @return 0 when both have done their part, or the error */
static int stream_close(struct stream *stream, const char *what, const char *suffix,
                        struct rp_err *err)
{
    int status = 0, fed = 0;

    fclose(stream->from);
    if (stream->decompressor > 0)
        waitpid(stream->decompressor, &status, 0);
    if (stream->feeder > 0)
        waitpid(stream->feeder, &fed, 0);
    if (stream->decompressor < 0 || stream->feeder < 0)
        return rp_fail(err, RP_ENVIRONMENT, "cannot start a process to unpack %s", what);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DECOMPRESSOR)
        return rp_fail_with_remedy(err, RP_ENVIRONMENT, "nothing here can unpack %s: install %s",
                                   suffix,
                                   strcmp(suffix, ".xz") == 0    ? "xz (or liblzma.so.5)"
                                   : strcmp(suffix, ".zst") == 0 ? "zstd"
                                                                 : "gzip");
    return status == 0 && fed == 0 ? 0 : rp_fail(err, RP_BAD_INPUT, "%s is damaged", what);
}

/** Reads up to the end, so that the children end by themselves. */
static void drain(FILE *from)
{
    static char chunk[CHUNK];

    while (fread(chunk, 1, sizeof chunk, from))
        ;
}

static const char *suffix_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && (strcmp(dot, ".xz") == 0 || strcmp(dot, ".zst") == 0 || strcmp(dot, ".gz") == 0)
               ? dot
               : "";
}

int rp_decompress_file(const char *path, size_t most_bytes, struct rp_buf *ret, struct rp_err *err)
{
    rp_autoclose const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stream stream;
    struct stat st;
    static char chunk[CHUNK];
    size_t got;

    if (file < 0 || fstat(file, &st) < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", path);
    if (stream_open(file, 0, st.st_size, suffix_of(path), &stream, err) < 0)
        return -RP_ENVIRONMENT;
    while (ret->len <= most_bytes && (got = fread(chunk, 1, sizeof chunk, stream.from)))
        rp_buf_add(ret, chunk, got);
    if (ret->len > most_bytes) {
        drain(stream.from);
        stream_close(&stream, path, suffix_of(path), err);
        return rp_fail(err, RP_BAD_INPUT, "%s is longer than %zu MB", path, most_bytes >> 20);
    }
    return stream_close(&stream, path, suffix_of(path), err);
}

/* --- tar ----------------------------------------------------------------------------------- */

/** The member of an archive that is being unpacked. */
struct member {
    char *name, *target; /**< of a link */
    uint64_t bytes;
    mode_t mode;
    time_t changed_s;
    char type;
};

struct unpacking {
    FILE *from;
    const char *deb, *folder;
    char *long_name, *long_target; /**< of the next member, where they were too long for its head */
    struct rp_err *err;
};

static int damaged(const struct unpacking *u, const char *what)
{
    return rp_fail(u->err, RP_BAD_INPUT, "%s is damaged: %s", u->deb, what);
}

/** Numbers are octal, or, with the highest bit set, binary. */
static uint64_t tar_number(const char *field, size_t bytes)
{
    uint64_t value = 0;

    if (*field & 0x80) {
        for (size_t i = 1; i < bytes; i++)
            value = value << 8 | (uint8_t)field[i];
        return value;
    }
    for (size_t i = 0; i < bytes; i++)
        if (field[i] >= '0' && field[i] <= '7')
            value = value * 8 + (uint64_t)(field[i] - '0');
    return value;
}

static bool head_is_whole(const unsigned char *head)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : head[i];
    return sum == tar_number((const char *)head + 148, 8);
}

/** Passes over the rest of the last block of a member. */
static bool skip(struct unpacking *u, uint64_t bytes)
{
    static char chunk[CHUNK];

    while (bytes) {
        const size_t want = bytes < CHUNK ? (size_t)bytes : CHUNK;

        if (fread(chunk, 1, want, u->from) != want)
            return false;
        bytes -= want;
    }
    return true;
}

static uint64_t padding(uint64_t bytes)
{
    return (TAR_BLOCK - bytes % TAR_BLOCK) % TAR_BLOCK;
}

/** Takes a name that is a member of its own, before the one that it names. */
static int take_long(struct unpacking *u, uint64_t bytes, char **ret)
{
    char *text;

    if (bytes > LONGEST_NAME)
        return damaged(u, "a name is too long");
    text = rp_alloc_zero(bytes + 1, 1);
    if (fread(text, 1, bytes, u->from) != bytes || !skip(u, padding(bytes))) {
        free(text);
        return damaged(u, "it ends early");
    }
    free(*ret);
    *ret = text;
    return 0;
}

/** Finds the name in the folder, without "./" in front.
 * @return NULL: it leads out of it */
static const char *inside(const char *name)
{
    while (*name == '/' || (name[0] == '.' && (name[1] == '/' || !name[1])))
        name++;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || !at[2]))
            return NULL;
    }
    return name;
}

/** Says whether what is there of the path leads to a place in the folder: a link that an earlier
 * member made may lead out of it. */
static bool stays_inside(const struct unpacking *u, const char *path)
{
    rp_autofree char *folder = realpath(u->folder, NULL), *place = NULL;
    rp_autofree char *part = rp_strdup(path);
    struct stat st;
    size_t bytes;

    while (lstat(part, &st) < 0 && strrchr(part, '/') > part)
        *strrchr(part, '/') = '\0';
    place = realpath(part, NULL); /* none of a link to nothing */
    bytes = folder ? strlen(folder) : 0;
    return place && bytes && strncmp(place, folder, bytes) == 0 &&
           (place[bytes] == '/' || !place[bytes]);
}

static int cannot_write(const struct unpacking *u, const char *path)
{
    return rp_fail_errno(u->err, RP_ENVIRONMENT, errno, "cannot write %s", path);
}

static int unpack_file(struct unpacking *u, const struct member *m, const char *path)
{
    static char chunk[CHUNK];
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = m->changed_s}};
    uint64_t left = m->bytes;
    rp_autoclose int fd = -1;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (m->mode & 0777) | 0600);
    if (fd < 0)
        return cannot_write(u, path);
    while (left) {
        const size_t want = left < CHUNK ? (size_t)left : CHUNK;

        if (fread(chunk, 1, want, u->from) != want)
            return damaged(u, "it ends early");
        if (rp_write_all(fd, chunk, want) < 0)
            return cannot_write(u, path);
        left -= want;
    }
    futimens(fd, times);
    return skip(u, padding(m->bytes)) ? 0 : damaged(u, "it ends early");
}

static int unpack_link(struct unpacking *u, const struct member *m, const char *path)
{
    const char *target = m->type == '1' ? inside(m->target) : m->target;
    rp_autofree char *from = m->type == '1' && target ? rp_path_join(u->folder, target) : NULL;

    if (!target || (from && !stays_inside(u, from)))
        return damaged(u, "a link leads out of the folder");
    unlink(path);
    if (m->type == '2')
        return symlink(target, path) == 0 ? 0 : cannot_write(u, path);
    return link(from, path) == 0 ? 0 : cannot_write(u, path);
}

static int unpack_member(struct unpacking *u, const struct member *m)
{
    const char *name = inside(m->name);
    rp_autofree char *path = name ? rp_path_join(u->folder, name) : NULL;
    char *slash = path ? strrchr(path, '/') : NULL;

    if (!name)
        return damaged(u, "a name leads out of the folder");
    if (!*name)
        return 0;
    if (m->type != '5')
        *slash = '\0'; /* Folders of some members are in another package. */
    if (!stays_inside(u, path))
        return damaged(u, "a name leads out of the folder by a link");
    if (m->type == '5')
        return rp_mkdirs(path, u->err);
    if (!rp_path_is_dir(path) && rp_mkdirs(path, u->err) < 0)
        return -RP_ENVIRONMENT;
    *slash = '/';
    if (m->type == '0' || m->type == '\0' || m->type == '7')
        return unpack_file(u, m, path);
    if (m->type == '1' || m->type == '2')
        return unpack_link(u, m, path);
    return skip(u, m->bytes + padding(m->bytes)) ? 0 : damaged(u, "it ends early");
}

/** Makes the names of a member of its head, unless longer ones came before it. */
static void member_read(struct unpacking *u, const char *head, struct member *ret)
{
    const bool has_prefix = memcmp(head + 257, "ustar\0", 6) == 0 && head[345];

    *ret = (struct member){
        .name = u->long_name ? rp_steal(u->long_name)
                : has_prefix ? rp_format("%.155s/%.100s", head + 345, head)
                             : rp_format("%.100s", head),
        .target = u->long_target ? rp_steal(u->long_target) : rp_format("%.100s", head + 157),
        .bytes = tar_number(head + 124, 12),
        .mode = (mode_t)tar_number(head + 100, 8),
        .changed_s = (time_t)tar_number(head + 136, 12),
        .type = head[156],
    };
}

/** @return 1: there was a member; 0: the archive has ended */
static int unpack_next(struct unpacking *u)
{
    char head[TAR_BLOCK];
    struct member member;
    int rc;

    if (rp_proc_interrupted(u->err) < 0)
        return -RP_INTERRUPTED;
    if (fread(head, 1, sizeof head, u->from) != sizeof head)
        return damaged(u, "it ends early");
    if (!head[0])
        return 0;
    if (!head_is_whole((const unsigned char *)head))
        return damaged(u, "a head in it has a wrong sum");
    if (head[156] == 'L' || head[156] == 'K') {
        rc = take_long(u, tar_number(head + 124, 12),
                       head[156] == 'L' ? &u->long_name : &u->long_target);
        return rc < 0 ? rc : 1;
    }
    if (head[156] == 'x')
        return damaged(u, "it is a tar of a form that Debian packages do not have");
    member_read(u, head, &member);
    rc = unpack_member(u, &member);
    free(member.name);
    free(member.target);
    return rc < 0 ? rc : 1;
}

/* --- packages ------------------------------------------------------------------------------ */

/** Finds the member data.tar.* of the package, an ar archive. */
static int find_data(int file, const char *deb, off_t *ret_at, off_t *ret_bytes, char ret_name[17],
                     struct rp_err *err)
{
    char head[AR_HEAD];
    off_t at = 8;

    if (pread(file, head, 8, 0) != 8 || memcmp(head, "!<arch>\n", 8) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s is no Debian package", deb);
    while (pread(file, head, sizeof head, at) == AR_HEAD && memcmp(head + 58, "`\n", 2) == 0) {
        const char digits[11] = {head[48], head[49], head[50], head[51], head[52],
                                 head[53], head[54], head[55], head[56], head[57]};
        const long bytes = strtol(digits, NULL, 10);

        if (bytes < 0)
            break;
        memcpy(ret_name, head, 16);
        ret_name[16] = '\0';
        ret_name[strcspn(ret_name, " /")] = '\0';
        if (strncmp(ret_name, "data.tar", 8) == 0) {
            *ret_at = at + AR_HEAD;
            *ret_bytes = bytes;
            return 0;
        }
        at += AR_HEAD + bytes + bytes % 2;
    }
    return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it has no data.tar", deb);
}

int rp_deb_unpack(const char *deb, const char *folder, struct rp_err *err)
{
    rp_autoclose const int file = open(deb, O_RDONLY | O_CLOEXEC);
    struct unpacking u = {.deb = deb, .folder = folder, .err = err};
    struct stream stream;
    off_t at = 0, bytes = 0;
    char name[17];
    int rc, closed;
    struct rp_err ignored = RP_ERR_INIT;

    if (file < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", deb);
    if (find_data(file, deb, &at, &bytes, name, err) < 0)
        return -RP_BAD_INPUT;
    if (stream_open(file, at, bytes, suffix_of(name), &stream, err) < 0)
        return -RP_ENVIRONMENT;
    u.from = stream.from;
    do
        rc = unpack_next(&u);
    while (rc > 0);
    if (rc == 0)
        drain(u.from);
    free(u.long_name);
    free(u.long_target);
    closed = stream_close(&stream, deb, suffix_of(name), rc < 0 ? &ignored : err);
    /* "It ends early" is not all that is wrong where nothing can decompress. */
    if (rc == -RP_BAD_INPUT && ignored.has_remedy)
        *err = ignored;
    return rc < 0 ? -(int)err->code : closed;
}
