/**
 * @file cache_history.h
 * @brief This header says what earlier dispatches of a queue have left in the caches.
 *
 * The L2s and the Infinity Cache keep what they hold from one dispatch to the next. A history has
 * the latest dispatches of a queue, latest first, as far back as the Infinity Cache can remember,
 * with what each of them touched. A dispatch that does the same as an earlier one takes its place
 * at the front. What other queues and copies do is not in it, so that times do not depend on how
 * the host schedules them.
 *
 * A sample of a dispatch's workgroups tells what the others touched: runs of pages that grow with
 * the sample grow on, and so do the bytes. A sample whose end touches nothing that is new has seen
 * everything.
 */
#ifndef RP_DEVICE_TIMING_CACHE_HISTORY_H
#define RP_DEVICE_TIMING_CACHE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "device/timing/wave_record.h"

struct rp_arch;
struct rp_footprint;

/** Makes a history without dispatches. NULL: no memory. */
struct rp_cache_history *rp_cache_history_new(void);

/** Frees a history; NULL is accepted. */
void rp_cache_history_free(struct rp_cache_history *h);

/**
 * Returns a number for what the caches hold: 0 for nothing, which is also that of NULL. Histories
 * of the same dispatches have the same number.
 */
uint64_t rp_cache_history_state(const struct rp_cache_history *h);

/**
 * Notes what a record's dispatch has in the caches when it starts, in record->warm. The record is
 * not renumbered yet.
 * @param own  what the dispatch itself touches, or NULL
 * @return 0 or -ENOMEM
 */
int rp_cache_history_warm(const struct rp_cache_history *h, const struct rp_arch *arch,
                          const struct rp_footprint *own, struct rp_wave_record *record);

/** Returns what a dispatch with that key touches, or NULL: the history does not know it. */
const struct rp_footprint *rp_cache_history_find(const struct rp_cache_history *h, uint64_t key);

/**
 * Returns what a record's dispatch touches. The record is not renumbered yet.
 * @param key  of what it does, addresses included
 * @return for rp_cache_history_add() or rp_footprint_free(); NULL: no memory
 */
struct rp_footprint *rp_footprint_of(const struct rp_arch *arch, uint64_t key,
                                     const struct rp_wave_record *record);
void rp_footprint_free(struct rp_footprint *f);

/**
 * Puts a dispatch at the front of a history, which may be NULL.
 * @param f  owned by the history from now on. NULL: the history knows it, or forgets everything
 */
void rp_cache_history_add(struct rp_cache_history *h, const struct rp_arch *arch, uint64_t key,
                          struct rp_footprint *f);

#endif
