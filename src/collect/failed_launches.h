/**
 * @file failed_launches.h
 * @brief Launches that HIP refused become metadata of a database.
 */
#ifndef RP_COLLECT_FAILED_LAUNCHES_H
#define RP_COLLECT_FAILED_LAUNCHES_H

struct rp_demangler;
struct rp_err;
struct rp_store_writer;
struct rp_record_file;

/** Writes RP_STORE_LAUNCHES_TAG, if the program called HIP to launch anything. */
int rp_failed_launches_put(const struct rp_record_file *file, struct rp_demangler *demangler,
                           struct rp_store_writer *writer, struct rp_err *err);

#endif
