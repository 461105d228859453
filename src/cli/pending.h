/**
 * @file pending.h
 * @brief Files that appear together, when all of them are written: of a result that cannot be
 *        finished, none does.
 */
#ifndef RP_CLI_PENDING_H
#define RP_CLI_PENDING_H

#include <stddef.h>

struct rp_buf;
struct rp_err;

enum { RP_PENDING_MOST = 4 };

/** Zero-initialise; release with rp_pending_drop. */
struct rp_file_set {
    struct {
        char *path, *partial;
    } files[RP_PENDING_MOST];
    size_t count;
};

/** Writes the file under a temporary name beside its own. @return 0 or RP_ENVIRONMENT */
int rp_pending_write(struct rp_file_set *pending, const char *path, const struct rp_buf *text,
                     struct rp_err *err);
/** Gives them their names. @return 0 or RP_ENVIRONMENT */
int rp_pending_commit(struct rp_file_set *pending, struct rp_err *err);
/** Removes those that have not got theirs. */
void rp_pending_drop(struct rp_file_set *pending);

#endif
