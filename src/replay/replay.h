/**
 * @file replay.h
 * @brief rocm-perf-replay: a process that has the memory of a capture at its addresses, and runs
 * the captured dispatch.
 *
 * Order: the ranges are taken (steer.c) before the runtime is loaded; the runtime comes (device.c);
 * memory is rebuilt (rebuild.c) before the code object is loaded (launch.c).
 */
#ifndef RP_REPLAY_REPLAY_H
#define RP_REPLAY_REPLAY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture_read.h"

struct rp_err;

/** hsa_queue_t */
struct rp_replay_queue {
    uint32_t type, features;
    void *base;
    uint64_t doorbell;
    uint32_t size_packets, reserved;
    uint64_t id;
};
static_assert(sizeof(struct rp_replay_queue) == 40, "hsa_queue_t");

/** hsa_amd_memory_access_desc_t */
struct rp_replay_access {
    uint32_t permissions;
    uint64_t agent;
};
static_assert(sizeof(struct rp_replay_access) == 16, "hsa_amd_memory_access_desc_t");

struct rp_replay_hsa {
#define RP_HSA(ret, name, args) ret(*name) args;
#include "replay/hsa.def"
};

/** Whole pages that one region or several in a row take. */
struct rp_replay_range {
    uint64_t base, bytes;
    bool host;
};

struct rp_replay {
    struct rp_capture *capture;
    const struct rp_capture_facts *facts;
    const struct rp_capture_memory *memory;
    size_t memory_count;
    struct rp_replay_range *ranges;
    size_t range_count;

    struct rp_replay_hsa hsa;
    uint64_t cpu, gpu; /**< agents */
    uint64_t gpu_pool, kernarg_pool, stage_pool;
    uint64_t ticks_hz;
    uint8_t *stage; /**< host memory for copies */
    char gpu_name[64];

    uint64_t kernel_object;
    uint64_t code_base; /**< where the loader has put the code object */
    struct rp_replay_variables {
        uint64_t from, bytes; /**< offsets in the loaded code object */
    } * variables;
    size_t variable_count;
    uint32_t private_bytes, group_bytes;
    void *kernarg;
    struct rp_replay_queue *queue;
    uint64_t signal;
};

enum { RP_REPLAY_STAGE_BYTES = 4 << 20 };

/* steer.c */
int rp_replay_plan(struct rp_replay *r, struct rp_err *err);
/** Takes all ranges. @return RP_VERDICT naming the range and what is there */
int rp_replay_take_ranges(struct rp_replay *r, struct rp_err *err);

/* device.c */
/** @param library  path of libhsa-runtime64.so.1 */
int rp_replay_load_runtime(struct rp_replay *r, const char *library, struct rp_err *err);
int rp_replay_find_device(struct rp_replay *r, struct rp_err *err);

/* rebuild.c */
int rp_replay_map(struct rp_replay *r, struct rp_err *err);
/** Memory gets its state before the dispatch. */
int rp_replay_fill(struct rp_replay *r, struct rp_err *err);

struct rp_replay_verdict {
    uint64_t regions, bytes; /**< compared */
    uint64_t different_pages;
    uint64_t first_address; /**< of the first byte that differs */
    uint8_t got, expected;
};

/** Compares with the state after the dispatch. */
int rp_replay_compare(struct rp_replay *r, struct rp_replay_verdict *ret, struct rp_err *err);

/* launch.c */
int rp_replay_load_kernel(struct rp_replay *r, const char *hsaco, const char *kernarg,
                          struct rp_err *err);
/** @return 0; RP_VERDICT: the kernel does not end */
int rp_replay_run(struct rp_replay *r, double *ret_us, struct rp_err *err);

#endif
