/**
 * @file wave_host.h
 * @brief What an instruction handler may ask of the executor: its host, its dispatch, a fault.
 */
#ifndef RP_DEVICE_EXEC_WAVE_HOST_H
#define RP_DEVICE_EXEC_WAVE_HOST_H

#include <stdint.h>

#include "exec.h"
#include "wave.h"

/** The driver side of this wave's dispatch. Never NULL. */
const struct rp_exec_host *rp_wave_host(const struct rp_wave *w);

/**
 * The wave has come to s_memtime or s_memrealtime.
 * @return RP_STEP_NEXT, and the functions below tell what it reads; or RP_STEP_LATER
 */
int rp_wave_read_clock(struct rp_wave *w);

/** s_memrealtime: the 100 MHz device clock as this wave sees it. Monotonic per wave. */
uint64_t rp_wave_clock_ticks(const struct rp_wave *w);

/** s_memtime: shader clocks on the same time line as rp_wave_clock_ticks. */
uint64_t rp_wave_memtime_cycles(const struct rp_wave *w);

/** Number of the accelerator die the wave runs on: workgroups are dealt out to them in turn. */
uint32_t rp_wave_xcc(const struct rp_wave *w);

/**
 * s_sendmsg MSG_INTERRUPT: tells the host, at the latest when rp_dispatch_run returns. Waking a
 * thread takes long, and the host would answer before the wave has begun to wait, or not, by
 * chance.
 */
void rp_wave_interrupt(struct rp_wave *w, uint32_t m0);

/** Passes on what rp_wave_interrupt has kept. */
void rp_wave_host_flush(struct rp_dispatch *d);

/**
 * Stops the dispatch because of instruction @p in. Call before the handler has changed wave->pc.
 * The text becomes "<instruction>: <message>"; the address is in rp_fault.pc.
 * @return RP_STEP_FAULT, so that handlers can `return rp_wave_fault(...)`
 */
int rp_wave_fault(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** As rp_wave_fault, for MEMORY and LDS faults of one lane (-1: scalar access). */
int rp_wave_fault_address(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                          int lane, uint64_t address, const char *what);

#endif
