/**
 * @file pm4.h
 * @brief The command processor's walk over PM4 command buffers, as tools for counters and thread
 * traces submit them beside kernels.
 *
 * Each die of a GPU walks the same commands. Here one walk does it for all of them: PRED_EXEC says
 * which dies execute the commands behind it. Commands and fields are those of AMD's public
 * soc15d.h.
 */
#ifndef RP_DEVICE_DRIVER_PM4_H
#define RP_DEVICE_DRIVER_PM4_H

#include <stdbool.h>
#include <stdint.h>

struct rp_clock;
struct rp_exec_host;
struct rp_registers;

enum { RP_PM4_DEPTH = 4 /**< buffers that are called by buffers */ };

/** This is a command buffer, and how far it has been walked. */
struct rp_pm4_buffer {
    uint64_t va;
    uint32_t count, at;           /**< in dwords */
    uint32_t xccs;                /**< dies that execute it */
    uint32_t some_end, some_xccs; /**< only some_xccs execute what stands before some_end */
};

struct rp_pm4_walk {
    const struct rp_exec_host *host;
    struct rp_registers *registers;
    struct rp_pm4_buffer buffer[RP_PM4_DEPTH];
    unsigned depth;  /**< buffers in use; 0: there is no walk */
    uint64_t ticks;  /**< device time of commands; who walks on after WAITING may move it on */
    uint32_t dwords; /**< walked and copied so far: bounded */
    bool waited;     /**< it has been WAITING, which took time */
    uint64_t before; /**< what ATOMIC_MEM found, for COPY_DATA */
    char why[80];    /**< of REFUSED: a complete phrase */
};

enum rp_pm4_state {
    RP_PM4_DONE,
    RP_PM4_MORE,    /**< a turn is over: to be walked further */
    RP_PM4_WAITING, /**< for a value in memory: to be walked further later */
    RP_PM4_REFUSED, /**< walk->why */
};

/**
 * Begins a walk.
 * @param jump  the command INDIRECT_BUFFER, 4 dwords
 */
void rp_pm4_begin(struct rp_pm4_walk *walk, const struct rp_exec_host *host,
                  struct rp_registers *registers, const uint32_t *jump, uint64_t ticks);

/** Walks on for a turn; to be called again after MORE and WAITING only. */
enum rp_pm4_state rp_pm4_walk(struct rp_pm4_walk *walk);

#endif
