/**
 * @file capture_open.h
 * @brief Opens a file of a capture folder for reading.
 */
#ifndef RP_CAPTURE_CAPTURE_OPEN_H
#define RP_CAPTURE_CAPTURE_OPEN_H

struct rp_err;

/**
 * Never waits for a writer (a pipe that stands there).
 * @return 0, RP_BAD_INPUT when it is missing or no regular file, RP_ENVIRONMENT when it cannot be
 *         read
 */
int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err);

#endif
