/**
 * @file capture_stream.h
 * @brief Reads the memory that a kernel can reach, and sends what is not zero.
 */
#ifndef RP_TOOL_SNAPSHOT_H
#define RP_TOOL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/hsa_abi.h"
#include "tool/memory.h"
#include "tool/snapshot_link.h"

struct rp_tool;

enum { RP_SNAPSHOT_STAGES = 2 };

struct rp_snapshot {
    struct rp_tool *tool;
    struct rp_snapshot_link *link;
    struct rp_memory_entry *entries;
    size_t count;
    bool *refused; /**< by entry: not captured */
    rp_hsa_agent cpu;
    uint8_t *stage[RP_SNAPSHOT_STAGES]; /**< host memory that the GPU can write */
    rp_hsa_signal signal[RP_SNAPSHOT_STAGES];
    int64_t patience_ms;
    bool stuck;      /**< a copy did not end: its stage must stay */
    char text[80];   /**< why a region is refused, where that needs numbers */
    const char *why; /**< what went wrong; NULL: nothing */
};

/** Lists the memory and makes room for copies. @return false: .why */
bool rp_snapshot_begin(struct rp_snapshot *s, struct rp_tool *tool, struct rp_snapshot_link *link,
                       int64_t patience_ms);

/** Sends all regions. @param before  also what is refused. @return false: .why */
bool rp_snapshot_take(struct rp_snapshot *s, bool before);

void rp_snapshot_end(struct rp_snapshot *s);

#endif
