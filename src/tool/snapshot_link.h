/**
 * @file snapshot_link.h
 * @brief The sending end of trace/capture_stream.h.
 */
#ifndef RP_TOOL_SNAPSHOT_LINK_H
#define RP_TOOL_SNAPSHOT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture_stream.h"

struct rp_snapshot_link {
    int fd; /**< -1: none, or broken: nothing is sent any more */
};

/** Connects and says hello. @param timing  as of struct rp_snapshot_hello. @return false: nobody
 * listens */
bool rp_snapshot_link_open(struct rp_snapshot_link *link, const char *path, bool software,
                           uint32_t timing);
void rp_snapshot_link_close(struct rp_snapshot_link *link);

/** A message of up to two parts. @return false: the link is broken */
bool rp_snapshot_send(struct rp_snapshot_link *link, uint32_t kind, const void *a, size_t a_bytes,
                      const void *b, size_t b_bytes);

/** Whether dispatches of a kernel are wanted. */
/** What is wanted, as the answer to HELLO says it. @param ret_numbers  to be freed; NULL: none */
bool rp_snapshot_ask_selection(struct rp_snapshot_link *link, struct rp_snapshot_selection *ret,
                               uint64_t **ret_numbers);

bool rp_snapshot_ask(struct rp_snapshot_link *link, const char *symbol);

#endif
