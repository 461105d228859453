/**
 * @file file.h
 * @brief How much the software device does to tell how long a kernel takes.
 */
#ifndef RP_DEVICE_TIMING_MODE_H
#define RP_DEVICE_TIMING_MODE_H

#include "trace/records.h" /* raised by what changes times */

struct rp_arch;

enum rp_timing_mode {
    RP_TIMING_FAST = 0, /**< from counts alone (surrogate.h) */
    RP_TIMING_DETAILED, /**< a replay of sampled workgroups (engine.h) */
    RP_TIMING_OFF,      /**< not at all: each kernel and copy takes a tick */
};

/** What ROCM_PERF_DEVICE_TIMING says; fast, if it says nothing, or something else. */
enum rp_timing_mode rp_timing_mode(void);

/** That of a GPU: fast, if the machine to replay on is not known. */
enum rp_timing_mode rp_timing_mode_for(const struct rp_arch *arch);

/** What a value of that variable says, or -1. */
int rp_timing_mode_of(const char *text);

/** Changes it, between dispatches. */
void rp_timing_set_mode(enum rp_timing_mode mode);

#endif
