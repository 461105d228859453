/**
 * @file unlike_dies.h
 * @brief Dispatches whose dies do different work, because a workgroup's number says what it does.
 *
 * Workgroups are dealt out to dies in turn, so those of the one die that is recorded may all do
 * what others do not. Then those of another die are recorded as well, from when that is seen on.
 * The dispatch is simulated twice: as though all dies did what the one does, and what the other
 * does. The slower one decides how long it takes.
 */
#ifndef RP_DEVICE_TIMING_UNLIKE_DIES_H
#define RP_DEVICE_TIMING_UNLIKE_DIES_H

#include <stdbool.h>

#include "device/exec/executor.h"
#include "device/timing/timing_engine.h"
#include "device/timing/wave_record.h"

/** Beside a dispatch's first record; zeroed means that dies are alike, as far as is known. */
struct rp_unlike {
    struct rp_wave_record *record;   /**< of another die, or NULL */
    unsigned die;                    /**< which one */
    unsigned first_dies, other_dies; /**< settled: so many do what each record's die does */
    uint64_t group_count;            /**< settled: of the dispatch */
    bool no_memory;                  /**< for the record */
};

/**
 * Looks at what workgroups that have ended executed, and begins a record where waves of another
 * die are longer than those of the first one, or if none are, shorter.
 * @return the die whose workgroups are recorded as well from here on, or -1
 */
int rp_unlike_look(struct rp_unlike *u, const struct rp_wave_record *first,
                   const struct rp_die_work *known);

/**
 * All is known: drops the record if dies are alike after all. Otherwise copies of others take the
 * place of workgroups that it lacks, with memory of their own, each record is made to stand for a
 * dispatch of alike dies, and they change places if the other's waves are longer.
 * @return 0 or -ENOMEM
 */
int rp_unlike_settle(struct rp_unlike *u, struct rp_wave_record *first,
                     const struct rp_die_work *die);

/**
 * Simulates both records, which are resolved.
 * @param watch  is told about the first one; or NULL
 * @return as rp_engine_run(), and its statistics are those of the slower one
 */
int rp_unlike_run(const struct rp_unlike *u, const struct rp_arch *arch,
                  struct rp_wave_record *first, const struct rp_engine_watch *watch,
                  struct rp_timing_stats *ret);

/** Returns how much longer waves of the die whose are longest are than on average; 1: no longer. */
double rp_unlike_share(const struct rp_die_work *die, unsigned dies);

#endif
