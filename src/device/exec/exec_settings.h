/**
 * @file exec_settings.h
 * @brief This header says what dispatches of this process are executed with: order, poison and
 * bound.
 *
 * In which order workgroups begin, and waves of a workgroup take turns: hardware promises none.
 * Here it is the same every time: wave after wave, each until it waits or has executed a few
 * thousand instructions. Programs whose results depend on it (that lack a barrier) are found by
 * other orders. In an interleaved one workgroups take turns of a few instructions as well, so that
 * what several of them read, change and write without an atomic is found; one thread executes it,
 * because such accesses are not ordered otherwise (access_order.c).
 */
#ifndef RP_DEVICE_EXEC_EXEC_SETTINGS_H
#define RP_DEVICE_EXEC_EXEC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_group;
struct rp_resident_group;
struct rp_wave;

/** Any other value is the seed of a shuffled order with turns of few instructions. */
enum {
    RP_WAVE_ORDER_FORWARD = RP_DEVICE_FORWARD,
    RP_WAVE_ORDER_REVERSED = RP_DEVICE_REVERSED,
    RP_WAVE_ORDER_INTERLEAVED = RP_DEVICE_INTERLEAVED, /**< a bit beside the seed */
};

/** A dispatch that begins now is executed with these settings. */
struct rp_exec_settings {
    uint32_t order;  /**< of workgroups and waves */
    uint32_t poison; /**< seed of what memory and registers hold; 0: zeros */
    uint64_t bound;  /**< the most work; 0: any */
    bool fault_ends; /**< a fault ends it like its bound */
};
struct rp_exec_settings rp_exec_settings(void);

/** Sets the order of dispatches that begin from now on. */
void rp_wave_order_set(uint32_t order);
/** @return false: it is not forward, reversed, shuffled:N or interleaved:N, N from 1 to 1000000 */
bool rp_wave_order_parse(const char *text, uint32_t *ret);

/**
 * Returns which workgroup begins as the n-th. Only workgroups that are surely resident together
 * change places, because a workgroup may wait for what earlier ones do.
 * @param resident  workgroups at the same time
 */
uint64_t rp_wave_order_group(uint32_t order, uint64_t n, uint64_t count, uint64_t resident);

/** A workgroup begins: its first wave is chosen. */
void rp_wave_order_begin(uint32_t order, struct rp_group *g);
/** Returns the wave after this one, in any order but forward. It may have ended or may wait. */
uint32_t rp_wave_order_next(uint32_t order, struct rp_group *g);
/** Returns the number of instructions of its turn, at most @p most. */
uint32_t rp_wave_order_turn(uint32_t order, struct rp_group *g, uint32_t most);
/** Returns the number of instructions of a slice, in an interleaved order. */
uint32_t rp_wave_order_slice(uint32_t order, uint64_t slice);
/**
 * Returns for how many slices a workgroup stands still behind an operation by which others may
 * notice it, in an interleaved order: what it should have written before is then not there.
 */
uint32_t rp_wave_order_stall(uint32_t order, uint64_t slice);

/* This part decides what LDS, scratch and registers hold before a workgroup has written there.
 * Hardware leaves what was there before. Here all of it begins as zero, so that a program that
 * reads it too early gives the same result every time; or, to find such programs, with words that
 * follow from a seed.
 */

/** Sets the poison of dispatches that begin from now on. 0 means zeros. */
void rp_exec_poison_set(uint32_t seed);
/** @return false: it is not a whole number from 1 to 2^31 - 1 */
bool rp_exec_poison_parse(const char *text, uint32_t *ret);

/** Returns the word at an index of what is filled: LDS by the seed, scratch by the next one. */
static inline uint32_t rp_exec_poison_word(uint32_t seed, uint64_t index)
{
    uint32_t x = (uint32_t)index * 0x9e3779b1u ^ seed * 0x85ebca6bu;
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    return (x ^ x >> 13) | 1;
}

/** Fills LDS and scratch, which are zero before. */
void rp_exec_poison_group(uint32_t seed, struct rp_resident_group *slot);
/**
 * Fills the registers of a wave that is ready to start, except the first row, which holds
 * work-item ids.
 * @param first_sgpr  behind those that the launch sets
 */
void rp_exec_poison_wave(uint32_t seed, uint32_t vgpr_rows, unsigned first_sgpr, struct rp_wave *w);

/* A bound limits how much work a dispatch may be, for callers that must know whether it ends,
 * whatever else the machine does. Work is what is executed: wavefront instructions, and something
 * for each slice (executor.h), so that a dispatch that waits for ever comes to an end as well,
 * though turns of a waiting loop are not counted. It follows from the program alone, and not from
 * time or the number of threads.
 */

/** The most work of dispatches that begin from now on; 0: any. More is a fault, RP_FAULT_BOUND. */
void rp_bound_set(uint64_t work);

/** As rp_device_table.take_clock_read. */
bool rp_clock_read_take(void);

/** Sets whether faults of dispatches that begin from now on end these and not their queue. */
void rp_fault_ends_set(bool ends);

/** A dispatch has come to its end. */
void rp_bound_note(uint64_t work, bool exceeded, bool faulted);
/** Returns whether a fault has ended the last one. */
bool rp_fault_ended_last(void);
/** Returns the work of the last bound. @return whether it ended the dispatch */
bool rp_bound_last(uint64_t *ret_work);

static inline bool rp_wave_order_is_shuffled(uint32_t order)
{
    return order != RP_WAVE_ORDER_FORWARD && order != RP_WAVE_ORDER_REVERSED;
}

static inline bool rp_wave_order_is_interleaved(uint32_t order)
{
    return rp_wave_order_is_shuffled(order) && order & RP_WAVE_ORDER_INTERLEAVED;
}

#endif
