/**
 * @file err.h
 * @brief Error values: a category that becomes the exit code, and a message read outside in.
 *
 * A fallible function takes `struct rp_err *err` last, returns 0 or a negative value, and writes
 * its outputs only on success. Callers add context on the way out:
 *
 *     if (open_trace(path, &db, err) < 0)
 *         return rp_wrap(err, "profile %s", program);
 *
 * gives "profile ./app: read trace x.db: table rocpd_info_agent is missing". Only cli prints.
 */
#ifndef RP_BASE_ERR_H
#define RP_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

/** These are the categories of errors. Their values are the exit codes of the command line
 * (docs/commands/rocm-perf.in). */
enum rp_code {
    RP_OK = 0,
    RP_VERDICT = 1,       /**< a negative verdict: a gate failed, not equal */
    RP_USAGE = 2,         /**< the command line is wrong */
    RP_BAD_INPUT = 3,     /**< input data cannot be used */
    RP_ENVIRONMENT = 4,   /**< something the machine lacks: ROCm, device, disk space, permission */
    RP_PROGRAM = 5,       /**< the profiled program failed */
    RP_INTERRUPTED = 130, /**< stopped by SIGINT or SIGTERM */
};

enum { RP_ERR_TEXT_BYTES = 1024 };

/** Initialise it with RP_ERR_INIT before use. The text is always terminated. */
struct rp_err {
    enum rp_code code;
    char text[RP_ERR_TEXT_BYTES];
    bool has_remedy; /**< the text says what helps, so that nobody puts a guess before it */
};

#define RP_ERR_INIT                                                                                \
    {                                                                                              \
        .code = RP_OK                                                                              \
    }

/** Sets category and message; err may be NULL. Returns -code, so `return rp_fail(...)` works. */
int rp_fail(struct rp_err *err, enum rp_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Does what rp_fail does, with a message that says what helps. */
int rp_fail_with_remedy(struct rp_err *err, enum rp_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Does what rp_fail does, and adds ": strerror(errno_value)" at the end. Of a file that is too
 * large it says what helps. */
int rp_fail_errno(struct rp_err *err, enum rp_code code, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** Says the same sentence everywhere. */
int rp_out_of_memory(struct rp_err *err);

/** Puts "context: " in front of the message; returns -err->code. */
int rp_wrap(struct rp_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
