/**
 * @file wait.h
 * @brief What waiting costs: nothing that depends on how long it takes.
 *
 * A wave that polls memory goes round its loop as often as the host happens to let it. A turn of
 * such a loop that leaves the wave exactly as it was (all registers, no writes, no LDS traffic) did
 * nothing, and is taken off the counts and the wave's clock again. A loop that counts, reads the
 * clock or computes changes the wave, and is charged.
 */
#ifndef RP_DEVICE_EXEC_WAIT_H
#define RP_DEVICE_EXEC_WAIT_H

#include <stdbool.h>

#include "wave.h"

/** Adds a turn of @p w to the cost of the present turn of its loop; @p before: counts before it. */
void rp_wait_turn(struct rp_wave *w, const struct rp_counts *before, const struct rp_counts *after);

/**
 * After a turn that ended in RP_STEP_POLL, and after rp_wait_turn: takes a turn of the loop that
 * changed nothing off @p counts. Returns whether others should run first.
 */
bool rp_wait_poll(struct rp_wave *w, struct rp_counts *counts);

#endif
