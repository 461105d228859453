/**
 * @file overlap_time.h
 * @brief This header makes kernels and copies that overlap share the modelled GPU.
 *
 * The software device times each as though it were alone, because it tells a program when a launch
 * ends before it is known what runs beside it. Together they may then move more bytes than memory
 * or a link can. What they need is known once the program has ended: time is stretched wherever
 * there is not enough for all that run, by the resource that lacks most. Order, and what waits for
 * what, stay as they are.
 */
#ifndef RP_RUN_OVERLAP_TIME_H
#define RP_RUN_OVERLAP_TIME_H

#include <stddef.h>

struct rp_record_file;

/** Stretches the times of dispatches and copies, where they are modelled. */
void rp_overlap_time_share(struct rp_record_file *file);

#endif
