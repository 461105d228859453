/**
 * @file capture_open.h
 * @brief Opens files of a capture folder for reading.
 */
#ifndef RP_CAPTURE_CAPTURE_OPEN_H
#define RP_CAPTURE_CAPTURE_OPEN_H

#include <jansson.h>

struct rp_err;

/**
 * Never waits for a writer (a pipe that stands there).
 * @return 0, RP_BAD_INPUT when it is missing or no regular file, RP_ENVIRONMENT when it cannot be
 *         read
 */
int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err);

/**
 * Reads the JSON text of a file, repeated keys refused.
 * @param why  what is wrong with the text
 * @param ret  NULL: it is none
 * @return as rp_capture_open_file
 */
int rp_capture_load_json(const char *path, json_error_t *why, json_t **ret, struct rp_err *err);

#endif
