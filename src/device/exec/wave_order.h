/**
 * @file wave_order.h
 * @brief In which order workgroups begin, and waves of a workgroup take turns.
 *
 * Hardware promises none. Here it is the same every time: wave after wave, each until it waits or
 * has executed a few thousand instructions. Programs whose results depend on it (that lack a
 * barrier) are found by other orders.
 */
#ifndef RP_DEVICE_EXEC_WAVE_ORDER_H
#define RP_DEVICE_EXEC_WAVE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/device_table.h"

struct rp_group;

#define RP_WAVE_ORDER_VARIABLE "ROCM_PERF_DEVICE_ORDER"

/** Any other value: the seed of a shuffled one, with turns of few instructions. */
enum { RP_WAVE_ORDER_FORWARD = RP_DEVICE_FORWARD, RP_WAVE_ORDER_REVERSED = RP_DEVICE_REVERSED };

/** Of dispatches that begin from now on. */
void rp_wave_order_set(uint32_t order);
uint32_t rp_wave_order(void);
/** @return false: it is not forward, reversed, or shuffled:N with N from 1 to 1000000 */
bool rp_wave_order_parse(const char *text, uint32_t *ret);

/**
 * Which workgroup begins as the n-th. Only those change places that surely are resident together: a
 * workgroup may wait for what earlier ones do.
 * @param resident  workgroups at the same time
 */
uint64_t rp_wave_order_group(uint32_t order, uint64_t n, uint64_t count, uint64_t resident);

/** A workgroup begins: its first wave is chosen. */
void rp_wave_order_begin(uint32_t order, struct rp_group *g);
/** The wave after this one, which may have ended or wait; in any order but forward. */
uint32_t rp_wave_order_next(uint32_t order, struct rp_group *g);
/** Instructions of its turn, at most @p most. */
uint32_t rp_wave_order_turn(uint32_t order, struct rp_group *g, uint32_t most);

static inline bool rp_wave_order_is_shuffled(uint32_t order)
{
    return order != RP_WAVE_ORDER_FORWARD && order != RP_WAVE_ORDER_REVERSED;
}

#endif
