/**
 * @file child.h
 * @brief Everything that runs for a candidate runs in a child with limits; what it says goes to
 *        files, and what it reads is empty: each run has the same input, and none waits for a
 *        terminal that is not its own.
 */
#ifndef RP_OPTIMIZE_CHILD_H
#define RP_OPTIMIZE_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/process.h"

struct rp_environment;
struct rp_err;

struct rp_child {
    const char *const *argv; /**< NULL-terminated; the first is a path, or stands in $PATH */
    const struct rp_env_change *env; /**< may be NULL */
    const char *directory;           /**< to run in; NULL: here */
    const char *stdin_path;          /**< NULL: nothing to read */
    const char *stdout_path;         /**< written anew; NULL: nowhere */
    const char *stderr_path;         /**< likewise; may be stdout_path */
    int64_t timeout_ns;
    struct rp_proc_limits limits;
    const struct rp_environment
        *compiler_of; /**< it may be this one's compiler, whose results are kept
                       * (collect/compiler_cache.h); NULL: no compiler */
    bool again;       /**< as of rp_compiler_run */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of rp_proc */
    void *context;
};

/** Of compilers, and of programs on a device, whose reservations of addresses are huge. */
struct rp_proc_limits rp_compiler_limits(void);
struct rp_proc_limits rp_program_limits(void);

/** @return as rp_proc_run */
int rp_child_run(const struct rp_child *child, struct rp_proc_end *ret, struct rp_err *err);

/** The beginning of a file and, when it is longer than most_bytes, its end, without ROCr's lines
 * about leaks of its own. NULL: unreadable. */
char *rp_child_text(const char *path, size_t most_bytes);

/** Lines as one, for a message: " | " between them, without blank ones. Characters that control a
 * terminal are blanks. NULL: out of memory. Free it. */
char *rp_child_one_line(const char *text);

/** @return how many bytes of a text to show, so that no character of UTF-8 is cut */
size_t rp_child_whole_bytes(const char *text, size_t most_bytes);

/** The last lines of a file, six at most, as one; "" when it cannot be read. NULL: out of memory.
 * Free it. */
char *rp_child_last_lines(const char *path);

/** How it ended, half a sentence: "it ended with exit status 3". Free it. */
char *rp_child_end_text(const struct rp_proc_end *end);

#endif
