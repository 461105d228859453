/* The time of each kernel in further runs of the same program. */
#include "rocm-perf/analysis.h"

#include <math.h>
#include <string.h>

/* As rp_profile_compute makes kernels apart: GPU, name, symbol and registers. */
static bool is_same(const struct rp_kernel_summary *a, const struct rp_kernel_summary *b)
{
    return a->agent == b->agent && a->symbol_known == b->symbol_known &&
           a->runtime_internal == b->runtime_internal &&
           a->resources.arch_vgpr == b->resources.arch_vgpr &&
           a->resources.accum_vgpr == b->resources.accum_vgpr &&
           a->resources.sgpr == b->resources.sgpr && strcmp(a->name, b->name) == 0 &&
           strcmp(a->symbol, b->symbol) == 0;
}

static double ms_of(const struct rp_profile *run, size_t guess, const struct rp_kernel_summary *k)
{
    /* Runs of a program mostly have their kernels in the same order. */
    for (size_t n = 0; n < run->kernel_count; n++) {
        const struct rp_kernel_summary *other = &run->kernels[(guess + n) % run->kernel_count];

        if (is_same(other, k))
            return other->timed_calls ? (double)other->total_ns / 1e6 : NAN;
    }
    return NAN;
}

void rp_profile_kernel_ms(const struct rp_profile *base, const struct rp_profile *run,
                          double *ret_ms)
{
    for (size_t i = 0; i < base->kernel_count; i++)
        ret_ms[i] = ms_of(run, i, &base->kernels[i]);
}
