/**
 * @file builtin.h
 * @brief Turns a record file of librocm-perf-tool.so into a rocpd database.
 */
#ifndef RP_COLLECT_BUILTIN_H
#define RP_COLLECT_BUILTIN_H

#include <stdint.h>

struct rp_demangler;
struct rp_err;
struct utsname;

/** What the record file does not know. Zero-initialise; every member may stay 0 or NULL. */
struct rp_builtin_options {
    struct rp_demangler *demangler; /**< NULL: names stay mangled */
    const char *command;            /**< as the user gave it */
    const char *hostname;
    const struct utsname *host; /**< for info_node */
    const char *machine_id;
    const char *process_extdata; /**< JSON object for info_process, NULL = "{}" */
    /** Parts of the UUIDv7 that names the tables. All 0: derived from the record file, so that the
     *  same file gives the same database. */
    uint64_t guid_time_ms;
    uint64_t guid_random[2];
};

/**
 * Reads @p trace_path and writes @p db_path, which appears only when it is whole. A file that was
 * cut short or never closed is converted as far as it goes and marked rocm_perf_incomplete.
 * Rows are ordered by submission, not by completion: equal runs give equal databases.
 * @return 0; RP_BAD_INPUT when the record file is damaged; RP_ENVIRONMENT when it cannot be read or
 *         the database cannot be written
 */
int rp_builtin_trace_to_rocpd(const char *trace_path, const char *db_path,
                              const struct rp_builtin_options *opt, struct rp_err *err);

#endif
