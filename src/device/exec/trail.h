/**
 * @file trail.h
 * @brief The way of a recorded wave through translated code.
 *
 * Translated code notes each straight run of instructions that it has executed; before anything
 * looks at the wave's record (timing/record.h) the runs are written out there, an instruction each.
 */
#ifndef RP_DEVICE_EXEC_TRAIL_H
#define RP_DEVICE_EXEC_TRAIL_H

#include "code.h"

struct rp_alike;

enum { RP_TRAIL_RUNS = 2048 }; /* each is an instruction at least */

struct rp_trail {
    uint32_t *next; /**< first: translated code knows where it is */
    const struct rp_code_page *page;
    struct rp_alike *alike; /**< what its accesses are compared with (timing/alike.h), or NULL */
    uint32_t run[RP_TRAIL_RUNS]; /**< first slot of the page, and from bit 16 the one behind */
};

/** The wave is about to execute up to RP_TRAIL_RUNS instructions in translated code of a page. */
static inline void rp_trail_begin(struct rp_trail *t, const struct rp_code_page *page)
{
    t->next = t->run;
    t->page = page;
}

/** A hand's, before its first recorded wave. */
void rp_trail_open(struct rp_trail *t);
void rp_trail_release(struct rp_trail *t);

/** Writes out what there is; the trail is empty. */
void rp_trail_flush(struct rp_trail *t, struct rp_wave *w);

/**
 * What translated code calls for a memory instruction of a recorded wave, which is the last one of
 * the trail: notes what it accesses, and executes it.
 */
int rp_trail_access(struct rp_wave *w, const struct rp_insn *in);

#endif
