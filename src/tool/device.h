/**
 * @file device.h
 * @brief What the software device knows of its dispatches besides their times: hardware counters,
 *        and what the times are from.
 */
#ifndef RP_TOOL_DEVICE_H
#define RP_TOOL_DEVICE_H

struct rp_device_table;
struct rp_pending;
struct rp_tool;

/** NULL: there is none in this process, or it speaks another version. */
const struct rp_device_table *rp_tool_device_find(void);

/** Records what there is of a dispatch that is complete. */
void rp_tool_device_facts(struct rp_tool *tool, const struct rp_pending *entry);

#endif
