/**
 * @file rocprofv3_messages.h
 * @brief What rocprofv3 and its library print on standard error, and what it means.
 *
 * The program prints there, too: a line is rocprofv3's where its words or its log say so.
 */
#ifndef RP_RUN_ROCPROFV3_MESSAGES_H
#define RP_RUN_ROCPROFV3_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Remedies that tracer_rocprofv3.c names where it finds the cause itself. */
#define RP_DECODER_REMEDY                                                                          \
    "install rocprof-trace-decoder (ROCm 7.13 and later have it), or name the folder of "          \
    "librocprof-trace-decoder.so with --att-library-path or ROCPROF_ATT_LIBRARY_PATH"

#define RP_ATTACH_NEEDS                                                                            \
    "the process must have been started with ROCP_TOOL_ATTACH=1, must have used the GPU, and "     \
    "this user must be allowed to trace it (kernel.yama.ptrace_scope=0; in a container --cap-add " \
    "SYS_PTRACE, and rocm-perf in the same one)"

/** Release it with rp_rocprofv3_messages_free. */
struct rp_rocprofv3_messages {
    char *fatal;        /**< its line; NULL: none */
    const char *remedy; /**< static; NULL: none is known */
    bool too_much;      /**< the GPU cannot count all of it in one run */
    char **warnings;    /**< "line: meaning", each one once */
    size_t warning_count;
};

/**
 * @param text standard error of the run: rocprofv3's messages and the program's
 * @param has_trace whether it left a trace: then the program was started, and a plain "Fatal
 * error:" may be its own
 * @param program its file; NULL: not known
 */
void rp_rocprofv3_read_messages(const char *text, bool has_trace, const char *program,
                                struct rp_rocprofv3_messages *ret);
void rp_rocprofv3_messages_free(struct rp_rocprofv3_messages *verdict);

/** A line of the log that is explained elsewhere or says nothing need not be shown. */
bool rp_rocprofv3_hides_line(const char *line, size_t length);

/** Says whether rocprofv3 ends behind this line of its log, or should. Logs that a program prints
 * again are of another day. */
bool rp_rocprofv3_is_last_word(const char *line, const char *end, time_t now);

/** The line so far may be the stamp of a log, as "W20260101 ...". */
bool rp_rocprofv3_may_be_log(const char *line, size_t len);

#endif
