/**
 * @file wave_observer.h
 * @brief What recorded waves execute, and which cache lines and LDS banks their accesses touch.
 */
#ifndef RP_DEVICE_TIMING_WAVE_OBSERVER_H
#define RP_DEVICE_TIMING_WAVE_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

struct rp_insn;
struct rp_wave;

/* Writes down what a wave is about to execute: what rp_observer (executor.h) asks for. Steps hold
 * the distance from the kernel's entry until they are resolved (dispatch_timing.c). */

bool rp_observe_turn(struct rp_wave *w);
void rp_observe_issue(struct rp_wave *w, const struct rp_insn *in, uint64_t pc);
void rp_observe_run(struct rp_wave *w, const struct rp_insn *page, uint32_t first, uint32_t end,
                    int64_t distance);
void rp_observe_access(struct rp_wave *w, const struct rp_insn *in);

#endif
