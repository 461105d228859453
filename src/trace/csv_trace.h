/**
 * @file csv_trace.h
 * @brief This header reads traces of other formats, CSV and JSON: each becomes a private
 * database, so that there is one reader of traces.
 */
#ifndef RP_TRACE_CSV_TRACE_H
#define RP_TRACE_CSV_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/sqlite.h"

struct rp_err;
struct rp_json_stream;

enum { RP_MEMDB_STATEMENTS = 32 };

/** Zero-initialise it and release it with rp_memdb_end(). */
struct rp_memdb {
    sqlite3 *db;
    struct {
        const char *sql; /**< its address tells it apart */
        sqlite3_stmt *stmt;
    } statements[RP_MEMDB_STATEMENTS];
    struct rp_map strings;      /**< rocpd_string */
    struct rp_map instructions; /**< pc_instruction */
    int64_t events;             /**< rows of rocpd_event */
};

/** Makes the tables. The database is the caller's to close, also after a failure. */
int rp_memdb_begin(struct rp_memdb *m, const char *name, const char *tables, struct rp_err *err);
/** Releases everything but the database. */
void rp_memdb_end(struct rp_memdb *m);

/** Returns a statement, which is prepared when it is first needed. */
int rp_memdb_statement(struct rp_memdb *m, const char *sql, sqlite3_stmt **ret, struct rp_err *err);
/** Parameters are the numbers, INT64_MIN for NULL, and behind them the texts. */
int rp_memdb_run(struct rp_memdb *m, const char *sql, const int64_t *numbers, size_t count,
                 const char *const *texts, size_t text_count, struct rp_err *err);
/** Returns the id of the text's row in rocpd_string. */
int rp_memdb_string(struct rp_memdb *m, const char *text, int64_t *ret, struct rp_err *err);

/* Samples of the program counter (CSV and JSON of rocprofv3) are counted while they are read, for
 * a file has millions of them: those of one dispatch, instruction and reason are one row. */

/** Add these to the tables of a database that takes samples. */
#define RP_MEMDB_SAMPLE_TABLES                                                                     \
    "CREATE TABLE pc_instruction (id INTEGER PRIMARY KEY, code_object_id, code_object_offset,"     \
    " isa TEXT, comment TEXT);"                                                                    \
    "CREATE TABLE pc_count (stochastic, dispatch_id, instruction_id, issued, reason_id, samples,"  \
    " lanes, PRIMARY KEY (stochastic, dispatch_id, instruction_id, issued, reason_id))"            \
    " WITHOUT ROWID;"                                                                              \
    "CREATE TABLE rocpd_pc_sampling (id INTEGER PRIMARY KEY, method TEXT, dispatch_id, samples,"   \
    " lanes, instruction TEXT, instruction_comment TEXT, code_object_id, code_object_offset,"      \
    " wave_issued_instruction, stall_reason TEXT);"
/** Run these behind the last sample. */
#define RP_MEMDB_SAMPLE_ROWS                                                                       \
    "INSERT INTO rocpd_pc_sampling (method, dispatch_id, samples, lanes, instruction,"             \
    " instruction_comment, code_object_id, code_object_offset, wave_issued_instruction,"           \
    " stall_reason) SELECT CASE stochastic WHEN 1 THEN 'stochastic' ELSE 'host_trap' END,"         \
    " dispatch_id, samples, lanes, isa, comment, code_object_id, code_object_offset, issued,"      \
    " string FROM pc_count"                                                                        \
    " JOIN pc_instruction i ON i.id = instruction_id JOIN rocpd_string s ON s.id = reason_id"      \
    " ORDER BY stochastic, dispatch_id, instruction_id, issued, reason_id;"                        \
    "DROP TABLE pc_count; DROP TABLE pc_instruction;"

struct rp_memdb_sample {
    bool stochastic;
    int64_t dispatch, issued; /**< issued is 1, 0, or -1: not said */
    uint64_t exec_mask;
    int64_t code_object, offset; /**< -1: not said */
    const char *isa, *comment;   /**< without an instruction the comment is of no use */
    const char *reason;
};
int rp_memdb_add_sample(struct rp_memdb *m, const struct rp_memdb_sample *sample,
                        struct rp_err *err);

/* Which call made another, where a trace does not say: a call of a thread during which
 * another one runs has made it.
 */

struct rp_call {
    int64_t thread, start_ns, end_ns, correlation;
    int64_t parent; /**< correlation id of the call that made it; 0 = none */
    int64_t name;   /**< string */
    int64_t event;  /**< its row, if it has one already */
};

/** Release with rp_vec_free. */
struct rp_call_list {
    RP_VEC(struct rp_call);
};

/** Finds the parents, and leaves the calls sorted by correlation id. @return 0 or RP_ENVIRONMENT */
int rp_call_list_find_parents(struct rp_call_list *calls, struct rp_err *err);

/**
 * Tests whether a process of the file has a record in that section.
 * @return false: none, or the file cannot be read so far
 */
bool rp_json_has_records(const char *path, const char *section);

/**
 * Begins to read a JSON file (base/json_read.h), which may be packed by gzip. @param peek  as for
 * rp_gzip_open
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT when it cannot be read
 */
int rp_json_stream_open(struct rp_json_stream *cut, const char *path, uint64_t peek,
                        struct rp_err *err);

#endif
