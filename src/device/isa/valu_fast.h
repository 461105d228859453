/**
 * @file valu_fast.h
 * @brief Handlers of hot vector instructions with their arithmetic inside, for CPUs with AVX-512.
 *
 * They do what the short ways of valu.c do with a lane kernel, but call nothing, and keep scalar
 * operands in one CPU register instead of a row in memory.
 */
#ifndef RP_DEVICE_ISA_VALU_FAST_H
#define RP_DEVICE_ISA_VALU_FAST_H

#include <stdbool.h>

#include "device/isa/instruction.h"

/**
 * Handler for an instruction without modifiers but op_sel of packed f32, and, if @p signs, neg and
 * abs of f32, or op_sel and neg of packed f16. Only to be called on a CPU of lane level v4.
 * @return NULL when there is none for this opcode and these operands
 */
rp_insn_fn *rp_valu_fast_find(const struct rp_insn *in, bool signs);

/** The same for v_fma_mix_f32, v_fma_mixlo_f16 and v_fma_mixhi_f16. */
rp_insn_fn *rp_valu_fast_mix(const struct rp_insn *in);

#endif
