/**
 * @file dispatch.h
 * @brief A dispatch in execution: internal to exec/ and to the memory handlers of isa/.
 */
#ifndef RP_DEVICE_EXEC_DISPATCH_H
#define RP_DEVICE_EXEC_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "code.h"
#include "exec.h"
#include "kernel.h"
#include "memory.h"

struct rp_mem_lanes;

enum { RP_CODE_WAYS = 64, RP_INTERRUPTS = 8 };

/**
 * Room for one resident workgroup. Register rows are reserved for the whole 512-entry file plus
 * the widest operand, so that no encodable register index can leave the reservation; only the rows
 * a kernel uses are ever touched.
 */
struct rp_slot {
    struct rp_group group; /**< first member: a group's slot is a cast away */
    uint32_t (*rows)[RP_LANES];
    uint8_t *scratch;
    struct rp_slot *next; /**< free list, or queue of resident workgroups */
};

struct rp_dispatch {
    const struct rp_exec_host *host;
    const struct rp_arch *arch;
    struct rp_launch launch;
    struct rp_kernel kernel;
    struct rp_mem mem;
    const struct rp_mem_lanes *lanes; /**< lane loops for this CPU */
    struct rp_counts counts;
    struct rp_fault fault;
    enum rp_run_state state;
    uint64_t start_ticks; /**< device clock at the first run */
    bool started;

    /* Decoded code in use, direct-mapped by page number; each holds a reference. */
    struct rp_code_page *code[RP_CODE_WAYS];

    /* Workgroups. */
    uint64_t next_group;      /**< linear id of the first not yet started */
    uint64_t resident;        /**< started and not finished */
    uint64_t resident_target; /**< how many the scheduler presently wants */
    uint64_t round_left;      /**< visits until the present round is over */
    bool round_finished_one;  /**< some workgroup ended in this round */
    uint64_t idle_visits;     /**< slices in a row that ended because every wave was waiting */
    uint64_t retired_cycles;  /**< issue cycles of finished workgroups' waves */
    uint32_t interrupt[RP_INTERRUPTS]; /**< sent by waves, not yet passed on: their M0 */
    unsigned interrupt_count;
    struct rp_slot *current;
    struct rp_slot *queue_head, *queue_tail; /**< resident, waiting for their next slice */
    struct rp_slot *free_slots;
    struct rp_slot **slots; /**< all, for release */
    size_t slot_count, slot_capacity;
};

#endif
