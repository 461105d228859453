/**
 * @file record_to_db.h
 * @brief Turns a record file of librocm-perf-tool.so into a rocpd database.
 */
#ifndef RP_RUN_RECORD_TO_DB_H
#define RP_RUN_RECORD_TO_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/records.h"

struct rp_call_sites;
struct rp_demangler;
struct rp_err;
struct rp_hip_calls;
struct rp_record_file;
struct rp_store_writer;
struct utsname;

/** Counters of a run that do not go into its databases, in the order of these and of their
 * dispatches. Release it with rp_kept_counters_free. */
struct rp_kept_counters {
    char *const *written; /**< counters that go into the databases all the same */
    size_t written_count;
    struct {
        RP_VEC(struct rp_kept_value {
            uint32_t database; /**< number of the run's database, from 0 on */
            uint32_t name;     /**< index into names */
            int64_t dispatch;  /**< id of its row */
            double value;
        });
    } values;
    struct {
        RP_VEC(char *);
    } names;
};

/** Accepts zeros. */
void rp_kept_counters_free(struct rp_kept_counters *kept);

/** The record file does not know these. Initialise it with zeros; every member may stay 0 or NULL.
 */
struct rp_record_to_db_options {
    struct rp_demangler *demangler; /**< NULL: names stay mangled */
    const char *command;            /**< as the user gave it */
    const char *hostname;
    const struct utsname *host; /**< for info_node */
    const char *machine_id;
    const char *run;  /**< what all processes of the run have in common; NULL: there is one */
    const char *part; /**< RP_STORE_PART_TAG; NULL: all of the run is recorded, or a part that the
                       * program chooses */
    uint32_t ranks;   /**< of the job; 0: it has none */
    const char *symbolizer;        /**< llvm-symbolizer, for places of HIP calls; NULL: no lines */
    struct rp_kept_counters *kept; /**< takes the counters; NULL: the database has them */
    uint32_t database;             /**< which one of the run it is, for these */
    const char *process_extdata;   /**< JSON object for info_process, NULL = "{}" */
    /** These are parts of the UUIDv7 that names the tables. If all are 0, it is derived from the
     * record file, so that the same file gives the same database. */
    uint64_t guid_time_ms;
    uint64_t guid_random[2];
};

/**
 * Reads @p trace_path and writes @p db_path, which appears only when it is complete. A file that
 * was cut short or never closed is converted as far as it goes and marked rocm_perf_incomplete.
 * Rows are ordered by submission, not by completion: equal runs give equal databases.
 * @return 0; RP_BAD_INPUT when the record file is damaged; RP_ENVIRONMENT when it cannot be read or
 * the database cannot be written
 */
int rp_record_to_db(const char *trace_path, const char *db_path,
                    const struct rp_record_to_db_options *opt, struct rp_err *err);

/* This section finds from the recorded packets which kernels and copies each kernel and copy waits
 * for. */

/**
 * Resolves barrier bits, barrier packets and signals to kernels and copies, and writes one row for
 * each pair. A pair that follows from another one in the same queue is left out. Copies are
 * numbered by copy_id, as their rows are.
 */
int rp_dependencies_put(const struct rp_record_file *file, struct rp_store_writer *writer,
                        struct rp_err *err);

/* This section finds which stream each HIP call of a record file used and when it ran, and makes
 * its rows. */

/**
 * Puts the calls into the order of their entry and follows the streams' handles through it: streams
 * are numbered 1, 2, ... in the order of their creation, or of their first use when their creation
 * was not seen, as rocprofv3 does; 0 is the default stream.
 *
 * On the software device the calls' times are not the host's, which has nothing to do with the
 * modelled clock: a call begins when the one before it in its thread has ended, and takes no time,
 * but one that waits for work ends with that work.
 */
int rp_hip_calls_read(const struct rp_record_file *file, struct rp_hip_calls **ret,
                      struct rp_err *err);
void rp_hip_calls_free(struct rp_hip_calls *calls);

/** Returns the stream of the work that a call started, or 0 for work without a known call. */
int64_t rp_hip_calls_stream(const struct rp_hip_calls *calls, uint64_t correlation_id);

/** Writes the streams, then the calls with their arguments and the places where they were made. */
int rp_hip_calls_put(const struct rp_hip_calls *calls, const struct rp_call_sites *sites,
                     struct rp_store_writer *writer, struct rp_err *err);

/* This section finds from which lines of the program HIP was called. */

/**
 * Reads the places of a record file, which must outlive the result; each address is looked up once.
 * @param symbolizer  llvm-symbolizer; NULL: the places have no lines
 * @param scratch  name of a file that may be made and is removed
 * @return to be freed with rp_call_sites_free
 */
struct rp_call_sites *rp_call_sites_read(const struct rp_record_file *file, const char *symbolizer,
                                         const char *scratch);
/** Accepts NULL. */
void rp_call_sites_free(struct rp_call_sites *sites);

/** Returns what rocpd_event has of a place as line_info and as call_stack. NULL: it is not known.
 */
const char *rp_call_sites_line(const struct rp_call_sites *sites, uint32_t id);
const char *rp_call_sites_stack(const struct rp_call_sites *sites, uint32_t id);

/** Writes RP_STORE_CALL_SITES_TAG, if any place has a line. */
int rp_call_sites_put(const struct rp_call_sites *sites, struct rp_store_writer *writer,
                      struct rp_err *err);

/* The properties of a recorded agent become rocpd_info_agent.extdata. */

/* Counters and modelled values of dispatches become rows of a database. */

struct rp_dispatch_rows;

/** Writes which model of time it was, if the trace says so. Both must outlive the rows, which have
 * to be closed also after a failure. */
int rp_dispatch_rows_open(const struct rp_record_file *file,
                          const struct rp_record_to_db_options *opt, struct rp_store_writer *writer,
                          struct rp_dispatch_rows **ret, struct rp_err *err);

/** Writes the counters of a dispatch and the source of its time, right behind its own row, which
 * has the number @p row_id. */
int rp_dispatch_rows_put(struct rp_dispatch_rows *rows, uint64_t dispatch_id, int64_t agent_id,
                         int64_t row_id, struct rp_err *err);

/** Accepts NULL. */
void rp_dispatch_rows_close(struct rp_dispatch_rows *rows);

/* This section says when HIP calls happen on the clock of the software device, which the host does
 * not move. A program on the software device takes no modelled time for itself. So a call begins
 * when the one before it in its thread has ended, and ends at once, but a call that waits for work
 * ends when that work does. The order of the calls and the work of each determine what a call
 * waited for, not the host's time, so equal runs give equal times. When a thread has waited for
 * another one, nothing records it, and only the next work that it starts shows the time. */

/* Handles of streams and events are used again, so this says what they stand for at the moment. */

/* Launches that HIP refused become metadata of a database. */

/** Writes RP_STORE_LAUNCHES_TAG, if the program called HIP to launch anything. */
int rp_failed_launches_put(const struct rp_record_file *file, struct rp_demangler *demangler,
                           struct rp_store_writer *writer, struct rp_err *err);

#endif
