/**
 * @file line_reader.h
 * @brief Lines from a pipe or socket, as they come.
 */
#ifndef RP_BASE_LINE_READER_H
#define RP_BASE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct rp_err;

/** No request or answer is longer: all words of a command together have at most 2 MiB. */
enum { RP_MOST_LINE_BYTES = 32 << 20 };

/** Zero-initialise; release with rp_line_reader_free. */
struct rp_line_reader {
    struct rp_buf buf;
    size_t begin;      /**< of the next line in buf */
    size_t scanned;    /**< without a newline up to here */
    bool ended;        /**< the other side has closed */
    size_t most_bytes; /**< of a line; 0: RP_MOST_LINE_BYTES */
    bool skipping;     /**< what comes up to the next newline is passed over */
};

/**
 * Takes what is there, or waits for it.
 * @return 0; RP_INTERRUPTED: a signal was caught; RP_BAD_INPUT: a line is too long; RP_ENVIRONMENT
 */
int rp_line_reader_fill(struct rp_line_reader *reader, int fd, struct rp_err *err);

/** @return a whole line without its newline, valid until the next fill; NULL: there is none yet */
const char *rp_line_reader_next(struct rp_line_reader *reader, size_t *ret_bytes);

/** @return what has come after the last newline once the other side has closed, until the next
 * fill; NULL: nothing, or the end of a line that is passed over */
const char *rp_line_reader_rest(struct rp_line_reader *reader, size_t *ret_bytes);

/** Drops the line that was too long, also what of it is still to come: for who goes on after one.
 */
void rp_line_reader_skip(struct rp_line_reader *reader);

void rp_line_reader_free(struct rp_line_reader *reader);

#endif
