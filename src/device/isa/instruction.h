/**
 * @file instruction.h
 * @brief This header declares one decoded gfx9-family instruction, its decoder, and the table of
 * instructions.
 *
 * An instruction is decoded once, on its first execution, into this structure. Everything that
 * does not depend on a wave's state is resolved here: constants become immediates, register
 * numbers become indices, the handler becomes a pointer.
 */
#ifndef RP_DEVICE_ISA_INSTRUCTION_H
#define RP_DEVICE_ISA_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "device/isa/lane.h"

struct rp_insn;
struct rp_jit_entry;
struct rp_wave;

/**
 * Executes one instruction. On entry wave->pc already points behind the instruction, so that
 * only branches write it. Returns an enum rp_step.
 */
typedef int rp_insn_fn(struct rp_wave *wave, const struct rp_insn *in);

struct rp_opnd {
    uint8_t kind;   /**< enum rp_opnd_kind */
    uint8_t dwords; /**< width: 1, 2, 3, 4, 8, 16 ...; 0 when kind is NONE */
    uint8_t index;  /**< first register; CONST: source encoding it came from (255 literal) or 0 */
    uint8_t type;   /**< enum rp_type: what the bits mean (neg, abs, inline constants, SDWA) */
    uint64_t imm;   /**< value of a CONST */
};

struct rp_insn {
    rp_insn_fn *fn; /**< never NULL: undecodable and unimplemented opcodes get a fault handler */
    const struct rp_jit_entry *native; /**< machine code from here on (jit_translate.h), or NULL */
    rp_lane_fn *lane;                  /**< VALU lane kernel, or NULL */
    rp_insn_fn *gated;    /**< the handler when fn is a gate in front of it (executor.h) */
    rp_insn_fn *watched;  /**< what a check has put itself in front of (executor.h), or NULL */
    uint16_t op;          /**< row in the opcode table (enum rp_op); 0 = undecodable */
    uint8_t fmt;          /**< enum rp_fmt */
    uint8_t size_bytes;   /**< 4, 8, 12 or 16 */
    uint8_t cost_class;   /**< enum rp_cost */
    uint8_t issue_cycles; /**< of that class, and: */
    uint16_t slot_bytes;  /**< from here to the next instruction in a code page (code_cache.c) */
    uint8_t seg;          /**< enum rp_seg */
    uint8_t neg;          /**< bit i: negate src[i]; VOP3P: neg_lo */
    uint8_t abs;          /**< bit i: |src[i]|; VOP3P: neg_hi */
    uint8_t op_sel;       /**< bits 0..2 sources, bit 3 destination (VOP3); VOP3P: op_sel */
    uint8_t op_sel_hi;    /**< VOP3P */
    uint8_t omod;         /**< 0 none, 1 *2, 2 *4, 3 /2 */
    /**
     * MFMA uses these fields. MTBUF keeps its data format in cbsz and its number format in blgp,
     * and v_bitop3 keeps its truth table in cbsz.
     */
    uint8_t cbsz, abid, blgp;
    uint8_t dst_sel, dst_unused, src_sel[2]; /**< SDWA; src sext in sdwa_sext bit i */
    uint8_t sdwa_sext;
    uint16_t dpp_ctrl;
    uint8_t row_mask, bank_mask, bound_ctrl;
    uint16_t vgpr_top; /**< VGPR rows the operands reach into: highest index + 1; 0 = none */
    uint16_t agpr_top; /**< the same for accumulation registers */
    uint32_t flags;
    int32_t offset;        /**< memory offset in bytes; SOPP/SOPK simm16 (sign-extended);
                                DS: offset0 | offset1 << 8 as encoded for two-address forms */
    struct rp_opnd dst;    /**< result (data to store/atomic is src[1]) */
    struct rp_opnd sdst;   /**< second result: carry or compare mask; VOPC and VOP2 carry: VCC.
                              No result but the scales of B in VOP3PX2 */
    struct rp_opnd src[4]; /**< src[3]: MASK input (VCC or SGPR pair) of addc, cndmask, div_fmas;
                                VOP3PX2: the scales of A;
                                memory: src[0] vector address, src[1] data, src[2] scalar base or
                                resource, src[3] soffset or second data (DS) */
    uint32_t raw[4];       /**< the encoding, for messages */
};

/** These are the encoding families of gfx9 (ISA document, chapter "Microcode formats"). */
enum rp_fmt {
    RP_FMT_INVALID = 0,
    RP_FMT_SOP1,
    RP_FMT_SOP2,
    RP_FMT_SOPC,
    RP_FMT_SOPK,
    RP_FMT_SOPP,
    RP_FMT_SMEM,
    RP_FMT_VOP1,
    RP_FMT_VOP2,
    RP_FMT_VOPC,
    RP_FMT_VOP3,    /**< VOP3a and VOP3b, and the VOP3 twins of VOP1, VOP2 and VOPC */
    RP_FMT_VOP3P,   /**< packed math and MFMA */
    RP_FMT_VOP3PX2, /**< MFMA behind a dword pair that loads its scales (gfx950) */
    RP_FMT_DS,
    RP_FMT_FLAT, /**< FLAT, GLOBAL and SCRATCH; see rp_insn.seg */
    RP_FMT_MUBUF,
    RP_FMT_MTBUF,
    RP_FMT_MAX,
};

/** This says where an operand's value lives. */
enum rp_opnd_kind {
    RP_OPND_NONE = 0,
    RP_OPND_SGPR,    /**< index 0..127 into rp_wave.sgpr: SGPRs, VCC, TTMP, M0 and EXEC alike */
    RP_OPND_VGPR,    /**< index 0..255: row rp_wave.vgpr[index] */
    RP_OPND_AGPR,    /**< index 0..255: row rp_wave.agpr[index] */
    RP_OPND_CONST,   /**< value in rp_opnd.imm, already extended to the operand's width */
    RP_OPND_SPECIAL, /**< index = source encoding 235..239, 251..254 (apertures, VCCZ, EXECZ, SCC,
                          LDS direct): read at execution */
};

/** The name of an operand type has its size; B means untyped bits. */
enum rp_type {
    RP_T_NONE = 0,
    RP_T_B8,
    RP_T_U8,
    RP_T_I8,
    RP_T_B16,
    RP_T_U16,
    RP_T_I16,
    RP_T_F16,
    RP_T_BF16,
    RP_T_B32,
    RP_T_U32,
    RP_T_I32,
    RP_T_F32,
    RP_T_B64,
    RP_T_U64,
    RP_T_I64,
    RP_T_F64,
    RP_T_PK16,   /**< two 16-bit integers */
    RP_T_PKF16,  /**< two f16 */
    RP_T_PKBF16, /**< two bf16 */
    RP_T_PKF32,  /**< two f32 in a register pair */
    RP_T_B96,
    RP_T_B128,
    RP_T_B192,
    RP_T_B256,
    RP_T_B512,
    RP_T_B1024,
    RP_T_MASK, /**< 64-bit lane mask in an SGPR pair (carry, compare result, select) */
    RP_T_MAX,
};

/** This is the segment of a FLAT instruction. */
enum rp_seg { RP_SEG_FLAT = 0, RP_SEG_SCRATCH = 1, RP_SEG_GLOBAL = 2 };

/** These are the bits of rp_insn.flags. */
enum {
    RP_IF_CLAMP = 1u << 0,
    RP_IF_SC0 = 1u << 1,   /**< gfx90a: glc. For atomics, return the value before */
    RP_IF_SC1 = 1u << 2,   /**< gfx90a: scc */
    RP_IF_NT = 1u << 3,    /**< gfx90a: slc */
    RP_IF_SADDR = 1u << 4, /**< GLOBAL/SCRATCH: src[2] holds the scalar address operand */
    RP_IF_VADDR = 1u << 5, /**< SCRATCH/MUBUF: src[0] holds a vector address/offset */
    RP_IF_GDS = 1u << 6,
    RP_IF_LDS = 1u << 7, /**< MUBUF/GLOBAL load to LDS */
    RP_IF_OFFEN = 1u << 8,
    RP_IF_IDXEN = 1u << 9,
    RP_IF_DPP = 1u << 10,
    RP_IF_SDWA = 1u << 11,
    RP_IF_SRCMOD = 1u << 12, /**< any of neg/abs/op_sel/DPP/SDWA needs the slow source path */
    RP_IF_DSTMOD =
        1u << 13, /**< any of clamp/omod/dst_sel/op_sel-on-dst needs the slow dest path */
    RP_IF_SOFFSET_EN = 1u << 14, /**< SMEM: scalar offset register in src[1] */
    RP_IF_ENDS_BLOCK = 1u << 15, /**< branch, barrier, endpgm, sleep, trap, setpc ... */
    RP_IF_FLUSH = 1u << 16,      /**< MFMA: denormals of its operands and result are zeros */
};

/** A wave's step asks the scheduler for this. */
enum rp_step {
    RP_STEP_NEXT = 0, /**< continue at rp_wave.pc */
    RP_STEP_BARRIER,  /**< wait for the other waves of the workgroup */
    RP_STEP_POLL,     /**< loaded what it loaded before: perhaps it waits */
    RP_STEP_YIELD,    /**< s_sleep and the like: let others run */
    RP_STEP_PAUSE,    /**< goes on, but the other waves of the workgroup come first */
    RP_STEP_REFETCH,  /**< goes on; code may be other code than when it was decoded */
    RP_STEP_ORDERED,  /**< as NEXT, after an ordered operation (executor.h) */
    RP_STEP_TURN,     /**< not executed: to be tried again in turn (executor.h) */
    RP_STEP_LATER,    /**< not executed: the other waves of the workgroup come first */
    RP_STEP_END,      /**< s_endpgm */
    RP_STEP_FAULT,    /**< rp_wave.fault says why; the dispatch stops */
};

/**
 * Chooses by name what the process's GPUs execute ("gfx90a"; an unknown name means gfx942). Code
 * that was decoded before stays as it is.
 */
void rp_isa_target_set(const char *gfx);

enum rp_isa_target rp_isa_target_get(void);

const char *rp_isa_target_name(void);

/**
 * Decodes the instruction at @p code.
 * @param code    dwords of the program, host pointer
 * @param dwords  how many dwords may be read (1..4 needed)
 * @param ret     written always; an undecodable word yields op 0 and the fault handler
 * @return size in bytes, or 0 when undecodable
 */
unsigned rp_isa_decode(const uint32_t *code, size_t dwords, struct rp_insn *ret);

/**
 * Writes LLVM-style text ("v_add_f32_e32 v0, v1, v2") of @p in at @p pc into buf (always
 * terminated). Used in fault messages and compared with LLVM's disassembler in tests.
 */
void rp_isa_print(const struct rp_insn *in, uint64_t pc, char *buf, size_t buf_bytes);

/**
 * Adds to the counters, indexed by enum rp_device_counter.
 * @param idle_lanes over all executions, lanes that were off; only where lanes count
 */
void rp_insn_add_counters(const struct rp_insn *in, uint64_t times, uint64_t idle_lanes,
                          uint64_t *values);

/* The instruction table of gfx942 has one row per opcode, from ops_alu.def and ops_mem.def. Behind
 * it the rows that only gfx950 has, ops_gfx950.def, and those that only gfx90a has, ops_gfx90a.def.
 * All have the same columns.
 *
 * Row forms:
 *   RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost)
 *   RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
 * fmt is an enum rp_fmt token without RP_FMT_, the operands are enum rp_type tokens without RP_T_,
 * handler is an rp_insn_fn, cost an enum rp_cost token. A NOEXEC row decodes and prints; executing
 * it faults. Mnemonics are bare words without _e32/_e64; they also name the enum constants below.
 */

/* Issue cost of instruction classes in shader clocks, for the first timing model.
 *
 * The numbers are the issue occupancy of one wave64 instruction on one SIMD16 of CDNA3.
 * Sources: AMD CDNA3 ISA guide (a wave64 VALU instruction takes four passes of 16 lanes);
 * LLVM SISchedule gfx942 model as printed by llvm-mca (transcendentals 4 slots, MFMA passes).
 * The columns are X(name, cycles, what).
 */
#define RP_COST_CLASSES(X)                                                                         \
    X(SALU, 4, "scalar arithmetic, one issue slot")                                                \
    X(BRANCH, 8, "taken or not: issue plus refetch of the wave's instruction buffer")              \
    X(MISC, 4, "s_nop, s_waitcnt, messages, barriers")                                             \
    X(VALU, 4, "wave64 on SIMD16: four passes")                                                    \
    X(VALU64, 8, "64-bit integer and double-rate-limited operations")                              \
    X(VALU_DP, 4, "f64 add, mul, fma: full rate on CDNA3 (81.7 TF = 128 flop/clk/CU)")             \
    X(TRANS, 16, "transcendental: quarter rate")                                                   \
    X(TRANS_DP, 16, "f64 reciprocal and roots: four slots, as those of f32")                       \
    X(MFMA_2, 8, "2 passes of 4 clocks")                                                           \
    X(MFMA_4, 16, "4 passes")                                                                      \
    X(MFMA_8, 32, "8 passes")                                                                      \
    X(MFMA_16, 64, "16 passes")                                                                    \
    X(SMEM, 4, "issue only; memory time is modelled from bytes")                                   \
    X(VMEM, 4, "issue only; memory time is modelled from bytes")                                   \
    X(LDS, 4, "issue only; LDS time is modelled from bytes")

enum rp_cost {
#define X(name, cycles, what) RP_COST_##name,
    RP_COST_CLASSES(X)
#undef X
        RP_COST_MAX,
};

/** These are the issue cycles per class, indexed by enum rp_cost. */
extern const unsigned char rp_cost_cycles[RP_COST_MAX];

/** The row numbers are RP_OP_v_add_f32 and so on; rp_insn.op holds one. */
enum rp_op {
    RP_OP_INVALID = 0,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_MEM(fmt, opcode, mnemonic, ...)                                     RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "device/isa/ops_alu.def"
#include "device/isa/ops_mem.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC
    RP_OP_MAX, /**< end of gfx942's rows */
    RP_OP_LAST_GFX942 = RP_OP_MAX - 1,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_MEM(fmt, opcode, mnemonic, ...)                                     RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "device/isa/ops_gfx950.def"
    RP_OP_END_GFX950,
    RP_OP_LAST_GFX950 = RP_OP_END_GFX950 - 1,
#include "device/isa/ops_gfx90a.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC
    RP_OP_ALL, /**< end of all rows */
};

/* Every handler named by a row must exist. */
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) rp_insn_fn handler;
#define RP_MEM(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost, ...)               \
    rp_insn_fn handler;
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
#include "device/isa/ops_alu.def"
#include "device/isa/ops_gfx90a.def"
#include "device/isa/ops_gfx950.def"
#include "device/isa/ops_mem.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC

/** This says what a memory instruction does. */
enum rp_access {
    RP_ACCESS_NONE, /**< clocks, cache control, messages */
    RP_ACCESS_LOAD,
    RP_ACCESS_STORE,
    RP_ACCESS_ATOMIC,
    RP_ACCESS_CMPSWAP,  /**< an atomic with two operands */
    RP_ACCESS_EXCHANGE, /**< between lanes: no banks of the LDS */
};

struct rp_op_row {
    const char *mnemonic;
    rp_insn_fn *fn;  /**< NULL: not executable */
    uint16_t opcode; /**< number in its own format */
    uint8_t fmt;     /**< enum rp_fmt */
    uint8_t dst;     /**< enum rp_type, as are sdst and src */
    uint8_t sdst;
    uint8_t src[4];
    uint8_t cost;   /**< enum rp_cost */
    uint8_t access; /**< enum rp_access */
    uint8_t bytes;  /**< of memory that a lane accesses, at each of its addresses */
    uint16_t step;  /**< DS with two addresses: bytes of a unit of their offsets; else 0 */
};

/** The table is indexed by enum rp_op; row 0 is "invalid". */
extern const struct rp_op_row rp_op_rows[RP_OP_ALL];

/** Tests whether the target has the row. */
bool rp_target_has(unsigned op);

/**
 * Returns the lane kernel of a row on the target, or NULL. In the same instructions gfx950's 8-bit
 * floats differ from gfx942's, so their kernels have "_ocp" behind the mnemonic.
 */
rp_lane_fn *rp_target_lane(unsigned op);

/** Returns the row's mnemonic as the target's assembler spells it. */
const char *rp_target_spelling(unsigned op);

/** Returns the enum rp_cost of the row on the target. */
uint8_t rp_target_cost(unsigned op);

/**
 * Returns the row of an opcode, or RP_OP_INVALID. VOP3 opcodes below 0x1c0 give the VOP1, VOP2 or
 * VOPC row whose twin they are.
 * @param seg  enum rp_seg; only used for RP_FMT_FLAT
 */
unsigned rp_op_find(enum rp_fmt fmt, enum rp_seg seg, unsigned opcode);

/** Returns the width of a type in dwords, or 0 for RP_T_NONE. */
unsigned rp_type_dwords(unsigned type);

/**
 * Chooses the handler and lane kernel of a decoded VALU instruction. The decoder calls it when
 * every other field is final.
 */
void rp_valu_bind(struct rp_insn *in);

/** Tests whether CBSZ and BLGP of a matrix instruction choose the formats of A and B. */
bool rp_mfma_any_format(unsigned op);

/** This handles NOEXEC rows and VALU rows without lane kernel. */
rp_insn_fn rp_fault_unimplemented;

/** This handles words that are not instructions. */
rp_insn_fn rp_fault_illegal;

/** This handles operand values or modes that cannot be resolved at decode time. */
rp_insn_fn rp_fault_operand;

/* These source encodings have a meaning of their own. */
enum {
    SRC_INT_0 = 128,
    SRC_INT_64 = 192,
    SRC_INT_MINUS_16 = 208,
    SRC_APERTURE_FIRST = 235,
    SRC_APERTURE_LAST = 239, /**< includes pops_exiting_wave_id */
    SRC_FLOAT_FIRST = 240,   /**< 0.5 */
    SRC_FLOAT_LAST = 248,    /**< 1/(2 pi) */
    SRC_SDWA = 249,
    SRC_DPP = 250,
    SRC_VCCZ = 251,
    SRC_EXECZ = 252,
    SRC_SCC = 253,
    SRC_LDS_DIRECT = 254,
    SRC_LITERAL = 255,
    SRC_VGPR = 256,
    SGPR_RESERVED = 125,
    SADDR_OFF = 0x7f,
};

/* Returns the pattern of an inline float. 16-bit float operands get the f16 pattern, 64-bit
 * operands the f64 pattern, and all others the f32 pattern. That includes 16-bit integers, which
 * keep the lower half (AMD's word in LLVM pull request 198005: 1.0 is 0x0000 there on gfx8 and
 * gfx9); packed ones have both halves of it.
 */
uint64_t rp_inline_float(unsigned enc, unsigned type);

/** Tests whether a counter depends on how many lanes are active. */
static inline bool rp_insn_counts_lanes(const struct rp_insn *in)
{
    return in->fmt >= RP_FMT_VOP1 && in->fmt <= RP_FMT_VOP3PX2;
}

static inline uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

/** Returns the mnemonic without encoding suffix, such as "v_add_f32", or "invalid" for op 0. */
static inline const char *rp_isa_mnemonic(unsigned op)
{
    return rp_op_rows[op < RP_OP_ALL ? op : (unsigned)RP_OP_INVALID].mnemonic;
}

static inline bool rp_type_is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_F32 || type == RP_T_F64 ||
           type == RP_T_PKF16 || type == RP_T_PKF32;
}

/** Tests whether values of the type have at most 16 bits in one lane. */
static inline bool rp_type_is_16bit(unsigned type)
{
    return type >= RP_T_B8 && type <= RP_T_BF16;
}

/** Matrix instructions and the moves of accumulation registers: VOP3P encodes them otherwise. */
static inline bool rp_op_is_mai(unsigned op)
{
    const unsigned cost = rp_op_rows[op].cost;
    return (cost >= RP_COST_MFMA_2 && cost <= RP_COST_MFMA_16) || op == RP_OP_v_accvgpr_read_b32 ||
           op == RP_OP_v_accvgpr_write_b32;
}

#endif
