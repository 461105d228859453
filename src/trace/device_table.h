/**
 * @file device_table.h
 * @brief This header says what the software device offers to the collector in the same process,
 * found with dlsym.
 */
#ifndef RP_TRACE_DEVICE_TABLE_H
#define RP_TRACE_DEVICE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_rec_simulation;
struct rp_threads_request;

/** This function returns the table, or NULL while the device is switched off. */
#define RP_DEVICE_TABLE_SYMBOL "rocm_perf_device_table"

/** The variable has names of hardware counters to collect, separated by commas. */
#define RP_DEVICE_COUNTERS_VARIABLE "ROCM_PERF_DEVICE_COUNTERS"

enum { RP_DEVICE_TABLE_VERSION = 10 };

enum rp_device_order { RP_DEVICE_FORWARD = 0, RP_DEVICE_REVERSED = 0x7fffffff };

struct rp_device_table {
    uint32_t version;
    /**
     * Returns how many counters are collected: those that the environment names and the device
     * has.
     */
    uint32_t (*counter_count)(void);
    /** Returns the name of a counter as the environment spells it. The text is never freed. */
    const char *(*counter_name)(uint32_t index);
    /**
     * Returns what is known of the dispatch that completed @p signal (the address of its
     * amd_signal_t) with these raw times. It can be taken once.
     * @param ret_values  of the counters; NAN where one is not known
     * @param ret_replay  but for its dispatch_id; replayed_waves 0: its time is from counts
     * @return false when nothing is known
     */
    bool (*take)(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                 struct rp_rec_simulation *ret_replay);
    /** Returns an enum rp_trace_timing and the version of that model. */
    uint32_t (*timing)(uint32_t *ret_version);
    /**
     * Asks for a thread trace of the next dispatch of the kernel that completes @p signal. It must
     * be called before that is submitted.
     * @return false when the device cannot: there is no detailed timing
     */
    bool (*trace_threads)(uint64_t signal, uint64_t kernel_object,
                          const struct rp_threads_request *wish);
    /** Returns the trace (records.h) of a dispatch as take() names it, which the caller frees. */
    bool (*take_threads)(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks,
                         void **ret_bytes, size_t *ret_count);
    /**
     * Callbacks of signals may come later than their signals, and only this device knows when.
     * This returns when the due ones have been made, or after 0.1 s; with @p all it waits for all
     * that have come, for at most 5 s.
     */
    void (*settle_callbacks)(bool all);
    /**
     * While a thread is within a copy, what is submitted may be held until the copy is. Around the
     * time in which the collector keeps such threads waiting: nothing is held.
     */
    void (*hold_nothing)(bool begins);
    /**
     * Sets what LDS, scratch and registers hold at the start of workgroups of dispatches from now
     * on.
     * @param seed  of words without meaning; 0: zeros
     */
    void (*set_poison)(uint32_t seed);
    /**
     * Sets in which order workgroups begin and waves take turns in dispatches from now on.
     * @param order  enum rp_device_order, or a seed: a shuffled one with short turns
     */
    void (*set_order)(uint32_t order);
    /**
     * How much work dispatches from now on may be: wavefront instructions, and about a thousand for
     * each time that a workgroup has its turn, be it to wait. What is more is ended, its memory
     * half done, and its signal completed as if it had come to its end. It follows from the program
     * alone, and not from how fast the machine is.
     * @param work  0: any
     */
    void (*set_bound)(uint64_t work);
    /**
     * Returns how much work the dispatch was that ended last.
     * @return whether it was ended by its bound
     */
    bool (*last_work)(uint64_t *ret_work);
    /**
     * Returns for how long, in host time, every dispatch that is under way has done nothing but
     * wait: all its waves sleep or poll memory. 0: one of them works, or there is none
     */
    int64_t (*only_waits_ns)(void);
};

typedef const struct rp_device_table *rp_device_table_fn(void);

#endif
