/**
 * @file hardware_counters.h
 * @brief Recorded hardware counters become rows of a database.
 */
#ifndef RP_COLLECT_DEVICE_COUNTERS_H
#define RP_COLLECT_DEVICE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct rp_counter_rows;
struct rp_err;
struct rp_store_writer;
struct rp_record_file;

/** Both must outlive it. Free with rp_counter_rows_free. */
int rp_counter_rows_new(const struct rp_record_file *file, struct rp_store_writer *writer,
                        struct rp_counter_rows **ret, struct rp_err *err);

/** Writes the counters of a dispatch, right behind its own row. */
int rp_counter_rows_put(struct rp_counter_rows *rows, uint64_t dispatch_id, int64_t agent_id,
                        struct rp_err *err);

/** Accepts NULL. */
void rp_counter_rows_free(struct rp_counter_rows *rows);

#endif
