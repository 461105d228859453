/**
 * @file hsaco.h
 * @brief Runs kernels of gfx942 code objects on the executor, without any runtime around it.
 *
 * A sim is a small GPU address space that is identical to the host's: what has been allocated
 * through it (or loaded into it) is mapped for the GPU, everything else is not.
 */
#ifndef RP_TESTS_ISA_HSACO_H
#define RP_TESTS_ISA_HSACO_H

#include <stddef.h>
#include <stdint.h>

#include "device/exec/dispatch.h"
#include "device/timing/timing_engine.h"

enum { SIM_REGIONS = 64 };

struct sim_region {
    uint64_t begin, end;
    int writable;
};

struct sim {
    struct rp_exec_host host;
    const struct rp_arch *arch;
    struct sim_region region[SIM_REGIONS];
    unsigned region_count;
    uint64_t generation;
    uint64_t instruction_limit; /**< a launch that needs more counts as hung; 0 = 2^32 */
    uint64_t budget;            /**< per call of rp_dispatch_run; 0 = 1 million */
    void (*between)(struct sim *s,
                    void *arg); /**< called when rp_dispatch_run wants more; or NULL */
    void *between_arg;
    void (*done)(struct sim *s,
                 struct rp_dispatch *d); /**< before the launch is replayed, or NULL */
    void *done_arg;
    uint32_t args_shift; /**< of arguments, from their usual place: a multiple of 64 */
    uint32_t last_interrupt;
    unsigned interrupts;
    struct rp_counts counts; /**< of the last launch */
    uint64_t slices;         /**< of the last launch: executor.h */
    int64_t busy_ns;         /**< likewise: rp_dispatch_busy_ns */
    struct rp_fault fault;
    uint64_t *counters; /**< rp_dispatch_count of the launches from now on goes there; or NULL */
    enum rp_counting counted;     /**< what it returned of the last one */
    uint64_t *replay_counters;    /**< the same when the time is known, or NULL */
    bool replayed;                /**< the last launch, by the detailed timing model */
    struct rp_timing_stats stats; /**< then */
    int64_t replay_ns;            /**< processor time of that */
    uint64_t record_bytes,
        access_bytes; /**< of recorded waves: as counted, and of their accesses */
    uint64_t ticks;   /**< modelled duration of the last launch, when it is done */
};

struct sim_code {
    uint8_t *image;
    size_t image_bytes;
    const void *symbols; /**< dynamic symbols inside the image */
    size_t symbol_count;
    const char *strings;
};

struct sim_launch {
    uint32_t grid[3];  /**< work-items; 0 = 1 */
    uint32_t block[3]; /**< work-items; 0 = 1 */
    const void *args;  /**< explicit kernel arguments as laid out in memory */
    size_t args_bytes;
    uint32_t dynamic_lds_bytes;
    uint32_t private_bytes;    /**< per work-item, beyond the descriptor's (dynamic stack) */
    enum rp_counting counting; /**< of this one, if more than of all */
};

void sim_init(struct sim *s);

/** Unmaps everything. */
void sim_free(struct sim *s);

/** Page-aligned zeroed memory, mapped for the GPU; the page behind it is not. Never NULL. */
void *sim_alloc(struct sim *s, size_t bytes);

/** Unmaps what has been allocated since there were so many regions (region_count). */
void sim_release(struct sim *s, unsigned regions);

/** Makes the GPU see [p, p + bytes) as read-only from now on. */
void sim_protect(struct sim *s, void *p);

/** Loads an ELF code object. Returns 0, or -1 after a message on stderr. */
int sim_load(struct sim *s, const char *path, struct sim_code *ret);

/** Kernel descriptor of @p kernel, 0 if the code object has none of that name. */
uint64_t sim_kernel(const struct sim_code *code, const char *kernel);

/** Address of a symbol, such as a __device__ variable; 0 if absent. */
void *sim_symbol(const struct sim_code *code, const char *name);

/** Dispatches and runs to the end. RP_RUN_MORE = instruction limit or a million calls
 * reached. */
enum rp_run_state sim_run(struct sim *s, uint64_t kernel_va, const struct sim_launch *l);

#endif
