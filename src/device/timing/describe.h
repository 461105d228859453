/**
 * @file describe.h
 * @brief What the timing model needs to know of a decoded instruction.
 */
#ifndef RP_DEVICE_TIMING_DESCRIBE_H
#define RP_DEVICE_TIMING_DESCRIBE_H

#include "record.h"

struct rp_insn;

/** An instruction at @p pc as the engine sees it. */
struct rp_rec_code rp_rec_describe(const struct rp_insn *in, uint64_t pc);

#endif
