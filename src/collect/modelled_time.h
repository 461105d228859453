/**
 * @file modelled_time.h
 * @brief What the software device's times are from becomes metadata and rows of a database.
 */
#ifndef RP_COLLECT_MODELLED_TIME_H
#define RP_COLLECT_MODELLED_TIME_H

#include <stdint.h>

struct rp_err;
struct rp_replay_rows;
struct rp_store_writer;
struct rp_record_file;

/** Which model of time it was, if the trace says so. */
int rp_modelled_time_put(const struct rp_record_file *file, struct rp_store_writer *writer,
                         struct rp_err *err);

/** Both must outlive it. Free with rp_replay_rows_free. */
int rp_replay_rows_new(const struct rp_record_file *file, struct rp_store_writer *writer,
                       struct rp_replay_rows **ret, struct rp_err *err);

/** Writes what a dispatch's time is from, if the trace says so. @param row_id  of the dispatch */
int rp_replay_rows_put(struct rp_replay_rows *rows, uint64_t dispatch_id, int64_t row_id,
                       struct rp_err *err);

/** Accepts NULL. */
void rp_replay_rows_free(struct rp_replay_rows *rows);

#endif
