/**
 * @file rocprofv3_args.h
 * @brief The command line of rocprofv3 for one run of the program.
 */
#ifndef RP_COLLECT_ROCPROFV3_ARGS_H
#define RP_COLLECT_ROCPROFV3_ARGS_H

#include <stdbool.h>

struct rp_err;

/** As the user wrote them; NULL = rocprofv3's default. */
struct rp_thread_trace_options {
#define NUMBER(member, option, least, most, help) const char *member;
#define WORD(member, option, help)                const char *member;
#include "collect/thread_trace.def"
#undef NUMBER
#undef WORD
    bool serialize_all; /**< run all kernels one after the other, not only the traced ones */
    /** For tracers that do not know names for people: the symbols that kernels selects of those
     *  that the program has launched before, NULL-terminated. */
    const char *const *symbols;
};

/** At most one of counters and thread_trace; neither: the timeline. */
struct rp_rocprofv3_job {
    const char *out_dir;         /**< absolute */
    const char *const *counters; /**< NULL-terminated: one pass */
    const struct rp_thread_trace_options *thread_trace;
    bool log; /**< many messages */
    bool no_hip_calls;
};

/**
 * @param program  its argv, passed on as it is; must outlive the result
 * @param ret      NULL-terminated; free with rp_rocprofv3_args_free
 */
int rp_rocprofv3_args(const char *rocprofv3, const struct rp_rocprofv3_job *job,
                      char *const *program, char ***ret, struct rp_err *err);
/** Frees what rocprofv3_args made, up to the "--". */
void rp_rocprofv3_args_free(char ***args);

#endif
