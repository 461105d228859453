/**
 * @file accesses.h
 * @brief Notes which memory the waves of sampled workgroups access, for memory counters. Far more
 *        of it fits than where instructions are recorded, too (recording.h).
 *
 * While it is on, memory instructions are decoded with this handler in front of their own; what is
 * translated calls it, too. Everything else runs as ever.
 */
#ifndef RP_DEVICE_EXEC_ACCESSES_H
#define RP_DEVICE_EXEC_ACCESSES_H

#include <stdbool.h>

#include "../isa/insn.h"

/** A decoded instruction: puts the handler in front of it, if it accesses memory. */
void rp_accesses_bind(struct rp_insn *in);

#endif
