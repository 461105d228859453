/**
 * @file gemm_data.h
 * @brief Matrices for the kernels of gemm.hip, whose products are known exactly: elements are -2 to
 * 2 quarters (bytes: whole numbers), so that sums are exact in f32, whatever their order.
 */
#ifndef RP_TESTS_ISA_GEMM_DATA_H
#define RP_TESTS_ISA_GEMM_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hsaco.h"

enum gemm_type { GEMM_F16, GEMM_BF16, GEMM_FP8, GEMM_F32, GEMM_I8, GEMM_I32 };

enum gemm_kind { GEMM_K_INNER, GEMM_K_OUTER, GEMM_BATCHED /**< k outer; adds to C */ };

/** A kernel of gemm.hip, and a problem for it. */
struct gemm_case {
    const char *kernel;
    enum gemm_kind kind;
    enum gemm_type in, out;
    int m, n, k;
    int tile_m, tile_n;
    int batches, stride_a, stride_b; /**< GEMM_BATCHED */
};

/** A matrix, or several one behind the other; element (line, i) is at line * pitch + i. */
struct gemm_matrix {
    enum gemm_type type;
    uint32_t seed;
    size_t pitch;
    void *at;
};

/** Element i in quarters, -2 to 2, as gemm_fill has put it there. */
static inline int gemm_element(const struct gemm_matrix *m, size_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)m->seed << 32;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (int)((x >> 40) % 5) - 2;
}

/** What a launch needs; it stays where it is, for the launch points into it. */
struct gemm_run {
    struct gemm_matrix a, b, c;
    struct {
        void *a, *b, *c;
        int m, n, k; /**< GEMM_K_INNER: bytes of a row */
        int stride_a, stride_b, stride_c;
        uint32_t alpha, beta;
    } args;
    struct sim_launch launch;
};

/** Allocates and fills the matrices. */
void gemm_prepare(struct sim *s, const struct gemm_case *g, struct gemm_run *ret);

/** Fills C as before the first launch. */
void gemm_reset(const struct gemm_case *g, const struct gemm_run *run);

/** Whether an element of C is the product, and what the kernel adds to it, rounded to C's type. */
bool gemm_right(const struct gemm_case *g, const struct gemm_run *run, int batch, int row,
                int column);

#endif
