/** @file kernels.h @brief Kernels of tests/isa that stand for what programs do, ready to launch. */
#ifndef RP_BENCH_KERNELS_H
#define RP_BENCH_KERNELS_H

#include "hsaco.h"

struct bench {
    const char *name;
    const char *kernel;
    struct sim_launch launch;
    uint8_t args[64]; /**< launch.args points here once it stands where it stays */
};

struct bench_sizes {
    int elements;          /**< of streams; a byte count of four times that */
    int matrix;            /**< rows and columns */
    int chain_rounds;      /**< of dependent multiply-adds, for each work-item */
    int blend_rounds;      /**< of mixed arithmetic */
    uint32_t items;        /**< work-items of arithmetic kernels */
    uint32_t softmax_rows; /**< workgroups of 256; rows of 1024 elements */
    uint32_t histogram_groups;
};

enum { BENCH_KERNELS = 9 };

/** Buffers are allocated in the simulation and live as long. */
void bench_kernels(struct sim *s, const struct bench_sizes *sizes, struct bench *ret);
/** The one of a name, with its arguments; NULL: there is none. */
struct bench *bench_find(struct bench *benches, const char *name);

/** Processor seconds of this process: others may use the machine too. */
double bench_cpu_s(void);

#endif
