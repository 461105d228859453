/**
 * @file dependencies.h
 * @brief Which kernels and copies each kernel and copy waits for, from the recorded packets.
 */
#ifndef RP_COLLECT_DEPENDENCIES_H
#define RP_COLLECT_DEPENDENCIES_H

struct rp_err;
struct rp_store_writer;
struct rp_record_file;

/**
 * Resolves barrier bits, barrier packets and signals to kernels and copies and writes one row for
 * each pair. What a pair implies by way of another one in the same queue is left out.
 * Copies are numbered by copy_id, as their rows are.
 */
int rp_dependencies_put(const struct rp_record_file *file, struct rp_store_writer *writer,
                        struct rp_err *err);

#endif
