/**
 * @file software_device.h
 * @brief This header says what the software device knows of its dispatches besides their times:
 * hardware counters, and what the times are from.
 */
#ifndef RP_TRACER_SOFTWARE_DEVICE_H
#define RP_TRACER_SOFTWARE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_device_table;
struct rp_hsa_packet;
struct rp_pending;
struct rp_tool;

/** Finds the device's table. NULL: there is none in this process, or it has another version */
const struct rp_device_table *rp_software_device_find(void);

/** A dispatch is complete, its times are in its signal: records the rest that there is of it. */
void rp_software_device_finish(struct rp_tool *tool, const struct rp_pending *entry);

/* Thread traces are made by both: the collector chooses launches of kernels, and the software
 * device traces their waves. The result becomes a file beside the record file (trace/records.h).
 */

enum { RP_THREADS_MOST_KERNELS = 1024, RP_THREADS_MOST_RANGES = 64 };

struct rp_thread_choice {
    const char *kernels; /**< of the environment; NULL: nothing is traced */
    const char *path;    /**< of the record file */
    struct rp_threads_request wish;
    struct {
        uint64_t first, last;
    } launches[RP_THREADS_MOST_RANGES];
    uint32_t range_count;
    struct {
        uint32_t id;
        uint32_t launches; /**< so far; atomic */
    } kernel[RP_THREADS_MOST_KERNELS];
    uint32_t kernel_count; /**< atomic */
};

/** Drops what the device knows of a dispatch that is not recorded. */
void rp_software_device_forget(struct rp_tool *tool, const struct rp_pending *entry);

/** Reads the environment. @param path  of the record file, copied */
void rp_threads_choose(struct rp_tool *tool, const char *path);

/** A kernel is there; whether launches of it may be traced. Calls must be serialised. */
bool rp_threads_kernel(struct rp_tool *tool, uint32_t id, const char *symbol);

/** Writes the ELF file of a code object for readers of the traces. */
void rp_threads_code(struct rp_tool *tool, uint32_t id, const void *bytes, uint64_t count);

/** Announces a dispatch with its completion signal before it is submitted. */
void rp_threads_submit(struct rp_tool *tool, struct rp_pending *entry,
                       const struct rp_hsa_packet *packet);

#endif
