/**
 * @file program.h
 * @brief Recorded code in the form that the replay reads: 16 bytes an instruction, and the lines of
 * the instruction cache that it lies in.
 */
#ifndef RP_DEVICE_TIMING_PROGRAM_H
#define RP_DEVICE_TIMING_PROGRAM_H

#include "record.h"

/** rp_program_code.flags */
enum {
    RP_PROGRAM_VM = 1u << 0,       /**< a later s_waitcnt vmcnt waits for it */
    RP_PROGRAM_LGKM = 1u << 1,     /**< the same for lgkmcnt */
    RP_PROGRAM_IN_ORDER = 1u << 2, /**< among those that lgkmcnt counts */
};

struct rp_program_code {
    uint32_t pc_dwords; /**< its low bits */
    uint16_t line;      /**< index into rp_program.line */
    uint16_t value;
    uint8_t unit, misc;  /**< enum rp_rec_unit, rp_rec_misc */
    uint8_t port;        /**< whose port it takes: scalar loads go through the scalar unit's */
    uint8_t port_clocks; /**< how long it takes its unit's port; matrix: its passes */
    uint8_t clocks;      /**< until its result is there, when that is no memory's business */
    uint8_t vm, lgkm;    /**< WAITCNT */
    uint8_t flags : 4, size_dwords : 4;
};
_Static_assert(sizeof(struct rp_program_code) == 16, "four in a cache line");

enum { RP_PROGRAM_LINES = UINT16_MAX }; /* of 128 bytes: more than 8 MiB of code share numbers */

struct rp_program {
    struct rp_program_code *code; /**< as rp_record.code */
    uint64_t *line;               /**< addresses / 128 of lines with code, ascending */
    uint32_t line_count;
    bool grows; /**< lines are numbered from the entry on, and there is one behind each */
};

/** 0 or -ENOMEM: *p holds nothing. */
int rp_program_init(struct rp_program *p, const struct rp_wave_record *record);
void rp_program_release(struct rp_program *p);

/** An instruction of a program that grows: one whose code is not known before it is executed. */
struct rp_program_code rp_program_add(const struct rp_rec_code *code, uint64_t entry_va);

/** Whether the line behind a line of the program is one, too. */
static inline bool rp_program_goes_on(const struct rp_program *p, uint32_t line)
{
    return p->grows || (line + 1 < p->line_count && p->line[line + 1] == p->line[line] + 1);
}

#endif
