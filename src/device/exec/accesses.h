/**
 * @file accesses.h
 * @brief Notes which memory the waves of sampled workgroups access, for memory counters.
 *
 * While it is on, memory instructions are decoded with this handler in front of their own; what is
 * translated calls it, too. Everything else runs as ever.
 */
#ifndef RP_DEVICE_EXEC_ACCESSES_H
#define RP_DEVICE_EXEC_ACCESSES_H

#include <stdbool.h>

#include "../isa/insn.h"

struct rp_arch;
struct rp_kernel;
struct rp_record;

/** A decoded instruction: puts the handler in front of it, if it accesses memory. */
void rp_accesses_bind(struct rp_insn *in);

/** What a dispatch's accesses will be noted in; NULL when the host is out of memory. */
struct rp_record *rp_accesses_new(const struct rp_arch *arch, const struct rp_kernel *kernel);

#endif
