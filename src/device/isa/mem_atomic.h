/**
 * @file mem_atomic.h
 * @brief Read-modify-write operations, once for memory shared with the host and once for LDS.
 *
 * Each operation is an expression of the old value and up to two data values. On global memory it
 * runs in a compare-and-swap loop, because host threads and other queues may touch the same word;
 * on LDS it needs no atomicity: a workgroup is always executed by one host thread.
 */
#ifndef RP_DEVICE_ISA_MEM_ATOMIC_H
#define RP_DEVICE_ISA_MEM_ATOMIC_H

#include <stdint.h>

/* X(name, word type, new value of `old`, `a` (data), `b` (second data)) */
#define RP_ATOMIC_INT_OPS(X, bits)                                                                 \
    X(swap_##bits, uint##bits##_t, a)                                                              \
    X(add_##bits, uint##bits##_t, old + a)                                                         \
    X(sub_##bits, uint##bits##_t, old - a)                                                         \
    X(smin_##bits, uint##bits##_t, (int##bits##_t)old < (int##bits##_t)a ? old : a)                \
    X(umin_##bits, uint##bits##_t, old < a ? old : a)                                              \
    X(smax_##bits, uint##bits##_t, (int##bits##_t)old > (int##bits##_t)a ? old : a)                \
    X(umax_##bits, uint##bits##_t, old > a ? old : a)                                              \
    X(and_##bits, uint##bits##_t, (old)&a)                                                         \
    X(or_##bits, uint##bits##_t, old | a)                                                          \
    X(xor_##bits, uint##bits##_t, old ^ a)                                                         \
    X(inc_##bits, uint##bits##_t, old >= a ? 0 : old + 1)                                          \
    X(dec_##bits, uint##bits##_t, old == 0 || old > a ? a : old - 1)

/** Compare and swap of FLAT, GLOBAL and MUBUF: new value first, expected value second. */
#define RP_ATOMIC_CMPSWAP_OPS(X)                                                                   \
    X(cmpswap_32, uint32_t, old == b ? a : old)                                                    \
    X(cmpswap_64, uint64_t, old == b ? a : old)

/** Operations FLAT, GLOBAL, MUBUF and DS have in common. */
#define RP_ATOMIC_MEM_OPS(X)                                                                       \
    RP_ATOMIC_INT_OPS(X, 32)                                                                       \
    RP_ATOMIC_INT_OPS(X, 64)                                                                       \
    X(add_f32, uint32_t, rp_f32_add(old, a))                                                       \
    X(pk_add_f16, uint32_t, rp_pk_f16_add(old, a))                                                 \
    X(add_f64, uint64_t, rp_f64_add(old, a))                                                       \
    X(min_f64, uint64_t, rp_f64_min(old, a))                                                       \
    X(max_f64, uint64_t, rp_f64_max(old, a))

/** In FLAT, GLOBAL and DS, but not in MUBUF. */
#define RP_ATOMIC_BF16_OPS(X) X(pk_add_bf16, uint32_t, rp_pk_bf16_add(old, a))

/* DS compares with its first data and writes the second. */
#define RP_ATOMIC_DS_INT_OPS(X, bits)                                                              \
    X(rsub_##bits, uint##bits##_t, a - old)                                                        \
    X(mskor_##bits, uint##bits##_t, (old & ~a) | b)                                                \
    X(cmpst_##bits, uint##bits##_t, old == a ? b : old)                                            \
    X(cmpst_f_##bits, uint##bits##_t, rp_f##bits##_equal(old, a) ? b : old)

/** Operations only DS has. */
#define RP_ATOMIC_DS_OPS(X)                                                                        \
    RP_ATOMIC_DS_INT_OPS(X, 32)                                                                    \
    RP_ATOMIC_DS_INT_OPS(X, 64)                                                                    \
    X(wrap_32, uint32_t, old >= a ? old - a : old + b)                                             \
    X(min_f32, uint32_t, rp_f32_min(old, a))                                                       \
    X(max_f32, uint32_t, rp_f32_max(old, a))

#endif
