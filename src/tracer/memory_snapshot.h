/**
 * @file memory_snapshot.h
 * @brief Reads the memory that a kernel can reach, and sends what is not zero.
 */
#ifndef RP_TRACER_MEMORY_SNAPSHOT_H
#define RP_TRACER_MEMORY_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture.h"
#include "tracer/hsa_abi.h"
#include "tracer/memory_map.h"

struct rp_tool;

/* The sending end of trace/capture.h. */

struct rp_snapshot_link {
    int fd; /**< -1: none, or broken: nothing is sent any more */
};

/** Connects and says hello. @param timing  as of struct rp_snapshot_hello. @return false: nobody
 * listens */
bool rp_snapshot_link_open(struct rp_snapshot_link *link, const char *path, bool software,
                           uint32_t timing);
void rp_snapshot_link_close(struct rp_snapshot_link *link);

/** Sends a message of up to two parts. @return false: the link is broken */
bool rp_snapshot_send(struct rp_snapshot_link *link, uint32_t kind, const void *a, size_t a_bytes,
                      const void *b, size_t b_bytes);

/** Asks what is wanted, which is the answer to HELLO. @param ret_numbers to be freed; NULL: none */
bool rp_snapshot_ask_selection(struct rp_snapshot_link *link, struct rp_snapshot_selection *ret,
                               uint64_t **ret_numbers);

/** Asks whether dispatches of a kernel are wanted. */
bool rp_snapshot_ask(struct rp_snapshot_link *link, const char *symbol, uint32_t code);

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
