/**
 * @file box.h
 * @brief The folder that a program in a sandbox may write: new for each program, and what is of
 *        use in it is copied out before another one runs.
 *
 * Whatever lies in it was chosen by somebody whom nobody trusts: links to files of others, pipes
 * that nobody writes to, folders that may not be entered. So it is walked by descriptors, and no
 * link in it is followed.
 */
#ifndef RP_BASE_BOX_H
#define RP_BASE_BOX_H

struct rp_err;
struct rp_sandbox;

/** Makes the folder anew and empty.
 * @return 0, or RP_ENVIRONMENT: what was in it cannot be removed */
int rp_box_renew(const struct rp_sandbox *sandbox, struct rp_err *err);

/** Returns where a program is to put its result, so that rp_box_take finds it: in the box, or,
 * where there is no sandbox, in its place. The caller frees it. */
char *rp_box_place(const struct rp_sandbox *sandbox, const char *place);

/** Copies a file or a folder from where rp_box_place said to its place, where nobody but us writes.
 * What was there is removed. Without a sandbox it is there already.
 * @return 0; RP_BAD_INPUT: it is missing, or has something other than files with one name; or
 * RP_ENVIRONMENT */
int rp_box_take(const struct rp_sandbox *sandbox, const char *place, struct rp_err *err);

/** Removes a folder in which such a program may have written, whatever modes it has set.
 * @return 0, also where none is there; RP_ENVIRONMENT with the remedy */
int rp_box_remove(const char *folder, struct rp_err *err);

#endif
