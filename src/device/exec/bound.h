/**
 * @file bound.h
 * @brief How much work a dispatch may be: for who must know whether it ends, whatever the machine
 * does beside it.
 *
 * Work is what is executed: wavefront instructions, and something for each slice (dispatch.h), so
 * that what waits for ever comes to an end as well, though turns of a waiting loop are not counted.
 * It follows from the program alone, and not from time or the number of threads.
 */
#ifndef RP_DEVICE_EXEC_BOUND_H
#define RP_DEVICE_EXEC_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/** Of a slice, beside its instructions. */
enum { RP_BOUND_SLICE_WORK = 1024 };

/** The most work of dispatches that begin from now on; 0: any. More is a fault, RP_FAULT_BOUND. */
void rp_bound_set(uint64_t work);
uint64_t rp_bound(void);

/** A dispatch has come to its end. */
void rp_bound_note(uint64_t work, bool exceeded);
/** Of the last one. @return whether it was ended by its bound */
bool rp_bound_last(uint64_t *ret_work);

#endif
