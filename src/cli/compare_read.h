/**
 * @file compare_read.h
 * @brief Whatever holds a result as one side of a comparison.
 */
#ifndef RP_CLI_COMPARE_READ_H
#define RP_CLI_COMPARE_READ_H

struct rp_versus_side;
struct rp_err;

/**
 * The folder of `profile`, its profile.json, what `replay compare --json` printed, or traces as
 * `analyze` takes them.
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_versus_read(char *path, struct rp_versus_side *ret, struct rp_err *err);

#endif
