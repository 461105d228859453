/**
 * @file gzip.h
 * @brief This header reads files that may be packed by gzip, whatever they are called, as if they
 * were not.
 *
 * What a packed file holds goes into a file without a name in $TMPDIR, or /tmp. It may be 256 MB,
 * or 100 times the packed file if that is more: traces shrink by 10 to 50, a bomb by 1000.
 */
#ifndef RP_TRACE_GZIP_H
#define RP_TRACE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rp_err;

/** Length of a path without ".gz" at its end. */
size_t rp_gzip_name_length(const char *path);
/** Tests whether a path ends so, with or without ".gz" behind, in any case of the letters. */
bool rp_gzip_name_ends_with(const char *path, const char *end);
/** Returns the path, or the path with ".gz", whichever exists; NULL: none. The caller frees it. */
char *rp_gzip_find(const char *path);

/** Tests whether the name is that of a packed file, and the unpacked file exists as well. */
bool rp_gzip_has_unpacked(const char *path);

/** Tests, in addition, whether the two hold different things, or cannot be compared. */
bool rp_gzip_differs(const char *path);

/**
 * Opens a regular file for reading, unpacked.
 * @param peek  only so many bytes are wanted from a packed file; 0: all
 * @return 0; RP_BAD_INPUT: it is not there, not a regular file, damaged or too large when unpacked;
 *         RP_ENVIRONMENT
 */
int rp_gzip_open(const char *path, uint64_t peek, int *ret_fd, struct rp_err *err);

/**
 * Reads the whole text of a file, unpacked; the caller frees it.
 * @return as rp_gzip_open; RP_BAD_INPUT also when it has more than @p most_bytes
 */
int rp_gzip_read_text(const char *path, uint64_t most_bytes, char **ret, struct rp_err *err);

/**
 * Unpacks a file for libraries that open files by name.
 * @param ret_path  to be unlinked and freed; left alone when the file is not packed, or cannot be
 *         read
 */
int rp_gzip_unpack(const char *path, char **ret_path, struct rp_err *err);

/** Reads a whole file, which gzip may have packed. @return 0; RP_BAD_INPUT when it does not exist;
 * RP_ENVIRONMENT */
int rp_gzip_read_buf(const char *path, struct rp_buf *text, struct rp_err *err);

#endif
