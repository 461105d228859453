/**
 * @file machine.h
 * @brief Records made by hand, instruction by instruction, and their replay on an MI300X.
 */
#ifndef RP_TESTS_TIMING_MACHINE_H
#define RP_TESTS_TIMING_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "device/timing/timing_engine.h"

enum { MADE_CODES = 64 };

struct made {
    struct rp_wave_record *record;
    struct rp_rec_code code[MADE_CODES];
    uint32_t codes;
};

/** A dispatch of so many workgroups, all recorded, of so many waves. */
struct made *made_new(uint64_t groups, uint32_t waves);

/** One of which the plan's workgroups are recorded: record->group[].linear_id says which. */
struct made *made_planned(const struct rp_rec_plan *plan, uint32_t waves, uint32_t groups_per_cu);
void made_free(struct made *m);

/** An instruction of the program; its pc follows on the one before. Returns its number. */
uint32_t made_code(struct made *m, struct rp_rec_code code);

/** The common ones. Registers are numbers of VGPRs, -1 = none. */
/** Returns what a record says of an instruction. */
struct rp_rec_code made_described(const struct rp_insn *in);
uint32_t made_valu(struct made *m, uint8_t issue_clocks);
uint32_t made_mfma(struct made *m, uint8_t passes, int d, int a, int c, unsigned registers);
uint32_t made_use(struct made *m, int v);
uint32_t made_memory(struct made *m, enum rp_rec_unit unit);
uint32_t made_wait(struct made *m, uint8_t vm, uint8_t lgkm);
uint32_t made_misc(struct made *m, enum rp_rec_misc misc, uint16_t value);

struct rp_rec_wave *made_wave(struct made *m, uint64_t group, uint32_t wave);

/** The wave executes an instruction. */
void made_step(struct rp_rec_wave *w, uint32_t code);

/** The same with what it touches. @p line < 0: none. */
void made_access(struct rp_rec_wave *w, uint32_t code, struct rp_rec_access a, int64_t line,
                 uint32_t lines);

struct rp_timing_stats made_run(struct made *m);
struct rp_timing_stats made_run_on(struct made *m, const char *gfx);
struct rp_timing_stats made_run_at(struct made *m, const struct rp_arch *arch);

#endif
