/**
 * @file file.h
 * @brief Modes of files, lines from a pipe or socket, and files without a name.
 */
#ifndef RP_BASE_FILE_H
#define RP_BASE_FILE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/buf.h"

struct rp_err;

/* Modes of the files and folders that we make. This is the one place that says who reads and writes
 * them. The umask is taken off. An existing file keeps its mode, also where a new one takes its
 * place. */

enum rp_mode {
    /** Nobody but owner and group writes to results, whatever the umask allows. */
    RP_MODE_FILE = 0664,
    RP_MODE_FOLDER = 0775,
    /** Histories outlive a session, and other results are added to them. */
    RP_MODE_HISTORY = 0644,
    /** Captures and sessions hold the memory, the sources and the input of a user's program. */
    RP_MODE_PRIVATE_FILE = 0600,
    RP_MODE_PRIVATE_FOLDER = 0700,
};

/** Initialise it with zeros, and release it with rp_line_reader_free. */
struct rp_line_reader {
    struct rp_buf buf;
    size_t begin;      /**< of the next line in buf */
    size_t scanned;    /**< without a newline up to here */
    bool ended;        /**< the other side has closed */
    size_t most_bytes; /**< of a line; 0: RP_LINE_MAX_BYTES */
    bool skipping;     /**< what comes up to the next newline is passed over */
};

/** Takes the bytes that have arrived, or waits for some.
 * @return 0; RP_INTERRUPTED: a signal was caught; RP_BAD_INPUT: a line is too long; RP_ENVIRONMENT
 */
int rp_line_reader_fill(struct rp_line_reader *reader, int fd, struct rp_err *err);

/** @return a whole line without its newline, valid until the next fill; NULL: there is none yet */
const char *rp_line_reader_next(struct rp_line_reader *reader, size_t *ret_bytes);

/** @return what has come after the last newline once the other side has closed, until the next
 * fill; NULL: nothing, or the end of a line that is passed over */
const char *rp_line_reader_rest(struct rp_line_reader *reader, size_t *ret_bytes);

/** Drops the line that was too long, with the part of it that is still to come, for callers that go
 * on after such a line. */
void rp_line_reader_skip(struct rp_line_reader *reader);

void rp_line_reader_free(struct rp_line_reader *reader);

/* A file in memory, also where the administrator forbids those that could be executed. */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* The flag is in linux/memfd.h since Linux 6.3. */
#endif

/** Does what memfd_create() does. Where vm.memfd_noexec is 2, Linux 6.3 to 6.5 refuse a file that
 * is not declared never to be executed, and older kernels do not know that flag. Nobody may rely on
 * the right to execute the file. It keeps errno on success. */
static inline int rp_memfd(const char *name, unsigned flags)
{
    const int errno_before = errno;
    int fd = memfd_create(name, flags);

    if (fd < 0 && errno == EACCES)
        fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd >= 0)
        errno = errno_before;
    return fd;
}

#endif
