/**
 * @file dispatch.h
 * @brief This header executes one kernel dispatch on the CPU: the only face the driver
 * side sees.
 *
 * A dispatch is resumable: rp_dispatch_run executes at most a budget of wave instructions and
 * returns, so that the caller can interleave queues fairly; a spinning kernel never hangs another.
 * All functions may be called from any thread, but a dispatch from one at a time.
 */
#ifndef RP_DEVICE_EXEC_DISPATCH_H
#define RP_DEVICE_EXEC_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/isa/wave_state.h"

struct rp_arch;
struct rp_dispatch;

enum rp_counting {
    RP_COUNT_NOTHING = 0,
    RP_COUNT_INSTRUCTIONS, /**< executions */
    RP_COUNT_MEMORY,       /**< and what sampled workgroups access */
};

/** These values come from an AQL kernel dispatch packet and its queue. */
struct rp_launch {
    uint64_t packet_va;        /**< the packet itself (dispatch pointer) */
    uint64_t queue_va;         /**< amd_queue_t (queue pointer) */
    uint64_t kernel_object_va; /**< kernel descriptor, 64 bytes */
    uint64_t kernarg_va;
    uint64_t dispatch_id;
    uint16_t setup_dimensions;
    uint16_t workgroup_size[3];
    uint32_t grid_size[3];          /**< work-items */
    uint32_t private_segment_bytes; /**< per work-item, from the packet */
    uint32_t group_segment_bytes;   /**< from the packet: static + dynamic */
    bool keeps_masks;               /**< records say which lanes were on: somebody samples it */
    uint64_t start_ticks;           /**< what clocks begin with; 0: with host->clock_ticks */
    enum rp_counting counting;      /**< what is counted of it, if more than of all dispatches */
    bool detailed; /**< it will be traced: timing is detailed for it, whatever it is for others */
    struct rp_cache_history *history; /**< of its queue, not owned; NULL: caches are cold */
};

enum rp_run_state { RP_RUN_MORE = 0, RP_RUN_DONE = 1, RP_RUN_FAULT = -1 };

/**
 * Prepares a dispatch. It is NULL only when the host is out of memory: a launch that hardware
 * would refuse becomes a dispatch whose first run returns RP_RUN_FAULT.
 * @param arch  which GPU: wave slots, LDS, register granularity
 */
struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch);

/**
 * Executes up to @p budget wave instructions (a little more at most). Returns MORE earlier when
 * every workgroup waits (s_sleep, polling one address) for something outside the dispatch.
 */
enum rp_run_state rp_dispatch_run(struct rp_dispatch *d, uint64_t budget);

/** The counts are valid after the first run, and final after DONE or FAULT. */
const struct rp_counts *rp_dispatch_counts(const struct rp_dispatch *d);

/**
 * Returns the processor time that its runs after the first have taken: of each run, that of the
 * thread that worked longest. It grows about as fast as time passes, however many threads there
 * are, but not while the machine does other things.
 */
int64_t rp_dispatch_busy_ns(const struct rp_dispatch *d);

/** Returns what happened and where, after RP_RUN_FAULT. */
const struct rp_fault *rp_dispatch_fault(const struct rp_dispatch *d);

/**
 * Tests, after RP_RUN_FAULT, whether its queue goes on: it was ended by its bound, or is one whose
 * faults end it like that (exec_settings.h).
 */
bool rp_dispatch_is_ended(const struct rp_dispatch *d);

/**
 * Tests, after RP_RUN_MORE, whether every workgroup waits (s_sleep, polling one address), so that
 * the dispatch can only go on when something outside it changes.
 */
bool rp_dispatch_waits(const struct rp_dispatch *d);

/**
 * Disassembles code from @p from_va, where an instruction must begin, and writes the last
 * @p lines instructions up to and including the one at @p pc, a line each, with their distance
 * from @p from_va; an arrow marks the last.
 * @return length of @p text, 0 when pc is not reached: far away, not code, not mapped
 */
size_t rp_exec_listing(const struct rp_exec_host *host, uint64_t from_va, uint64_t pc,
                       unsigned lines, char *text, size_t room);

/** Sets what is counted of all dispatches that begin from now on. */
void rp_exec_set_counts(enum rp_counting what);

/** Frees a dispatch; NULL and unfinished dispatches are accepted. */
void rp_dispatch_free(struct rp_dispatch *d);

/**
 * Returns how many threads may work on a dispatch, the caller's included:
 * ROCM_PERF_DEVICE_THREADS, or else the processors that this process may use. Results, counts and
 * faults do not depend on it (executor.h says what programs must do for that).
 */
unsigned rp_exec_threads(void);

enum { RP_EXEC_MOST_THREADS = 256 };

/**
 * Returns the number in a value of that variable. 0: not a whole number from 1 to
 * RP_EXEC_MOST_THREADS
 */
unsigned rp_exec_threads_of(const char *text);

/** Changes the number of threads, which is at least 1. It may be called between dispatches only. */
void rp_exec_set_threads(unsigned count);

/** Lets other threads help a dispatch after this many instructions, even a small one, for tests. */
void rp_exec_set_help_after(uint64_t wave_insts);

/**
 * Returns when no thread uses host addresses any more that it looked up before the call. It is
 * called after memory was taken away from the GPU and the generation was raised, and before the
 * memory is really unmapped. The caller must not hold a lock that the functions of rp_exec_host
 * take.
 */
void rp_exec_settle(void);

/**
 * Surrounds a piece of work of the DMA engine, from its look-up of host addresses to their last
 * use, so that rp_exec_settle() waits for it as for a thread that executes. Only one thread may do
 * so at a time.
 */
void rp_exec_dma_begin(void);
void rp_exec_dma_end(void);

/** Forgets decoded instructions in a range (code object unloaded or rewritten). */
void rp_exec_invalidate_code(uint64_t gpu_va, uint64_t bytes);

#endif
