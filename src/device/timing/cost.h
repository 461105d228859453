/**
 * @file cost.h
 * @brief Issue cost of instruction classes in shader clocks, for the first timing model.
 *
 * The numbers are the issue occupancy of one wave64 instruction on one SIMD16 of CDNA3.
 * Sources: AMD CDNA3 ISA guide (a wave64 VALU instruction takes four passes of 16 lanes);
 * LLVM SISchedule gfx942 model as printed by llvm-mca (transcendentals 4 slots, MFMA passes).
 */
#ifndef RP_DEVICE_TIMING_COST_H
#define RP_DEVICE_TIMING_COST_H

/* X(name, cycles, what) */
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

/** Issue cycles per class, indexed by enum rp_cost. */
extern const unsigned char rp_cost_cycles[RP_COST_MAX];

#endif
