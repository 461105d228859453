/* The loop with most stalls first; factors by how many registers are free. */
#include "optimize/unroll_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "arch/arch.h"
#include "optimize/facts.h"
#include "optimize/kernel_source.h"

enum { FACTORS = RP_UNROLL_MOST - RP_UNROLL_LEAST + 1 };

/* Powers of two first: trip counts mostly are multiples of them, and addresses stay cheap. */
static const unsigned usual[FACTORS] = {2, 4, 8, 3, 6, 5, 7};
/* Waves that wait want many loads on their way at once. */
static const unsigned waiting[FACTORS] = {4, 8, 2, 6, 3, 5, 7};
/* Each further copy may cost a wave. */
static const unsigned careful[FACTORS] = {2, 3, 4, 5, 6, 7, 8};

/* A loop below a third of stalled time has other troubles than latency; one copy of a small body
 * takes about 8 registers, the granule of CDNA's files. */
static const double MANY_STALLS = 0.3;
enum { FEW_REGISTERS = 8 };

static uint32_t waves_with(const struct rp_arch *gpu, uint32_t vgprs)
{
    const struct rp_kernel_resources need = {
        .arch_vgpr = vgprs, .workgroup_size = 64, .wave_size = 64};
    struct rp_occupancy occupancy;

    rp_occupancy_compute(gpu, &need, &occupancy);
    return occupancy.known ? occupancy.vgpr_waves_per_simd : 0;
}

/** Registers that may be added before fewer waves fit. @return -1: not known */
static int free_registers(const struct rp_kernel_facts *facts)
{
    const struct rp_arch *gpu = facts && facts->arch ? rp_arch_find(facts->arch) : NULL;
    uint32_t own, waves, more = 0;

    if (!gpu || !facts->vgprs.known || facts->vgprs.value < 0 ||
        facts->vgprs.value > gpu->max_vgprs_per_lane)
        return -1;
    own = (uint32_t)facts->vgprs.value;
    waves = waves_with(gpu, own);
    while (waves && own + more < gpu->max_vgprs_per_lane &&
           waves_with(gpu, own + more + 1) == waves)
        more++;
    return waves ? (int)more : -1;
}

static const unsigned *factors_for(const struct rp_kernel_facts *facts)
{
    int left = free_registers(facts);

    if (facts && facts->scratch_bytes.known && facts->scratch_bytes.value > 0)
        return careful; /* it has too few registers as it is */
    if (left >= 0 && left < FEW_REGISTERS)
        return careful;
    if (facts && facts->stall.known && facts->stall.value >= MANY_STALLS)
        return waiting;
    return usual;
}

/* --- loops --------------------------------------------------------------------------------- */

struct ranked {
    size_t loop;
    double stalls; /* of the kernel's, at its lines */
    uint32_t depth;
    uint64_t trips; /* UINT64_MAX: not known */
};

static uint32_t last_line(const struct rp_kernel_source *source, const struct rp_source_loop *loop)
{
    uint32_t line = loop->line;

    for (size_t i = loop->begin; i < loop->end; i++)
        line += source->text[i] == '\n';
    return line;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/** "kernels.hip:12" of a path that ends so, in these lines. */
static bool is_in(const char *place, const char *path, uint32_t first, uint32_t last)
{
    const char *file = base_name(place), *colon = strrchr(file, ':'), *name = base_name(path);
    unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;

    return colon && strlen(name) == (size_t)(colon - file) &&
           memcmp(name, file, strlen(name)) == 0 && line >= first && line <= last;
}

static double stalls_in(const struct rp_kernel_source *source, const struct rp_source_loop *loop,
                        const struct rp_kernel_facts *facts)
{
    uint32_t last = last_line(source, loop);
    double sum = 0;

    for (size_t i = 0; facts && i < facts->line_count; i++)
        if (is_in(facts->lines[i].place, source->path, loop->line, last))
            sum += facts->lines[i].share;
    return sum;
}

static int most_promising_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->stalls != y->stalls)
        return x->stalls > y->stalls ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    if (x->trips != y->trips)
        return x->trips > y->trips ? -1 : 1;
    return x->loop < y->loop ? -1 : x->loop > y->loop;
}

/** Whether a factor belongs to a pass: those that divide a known trip count come first. */
static bool is_of_pass(const struct ranked *ranked, unsigned factor, bool first_pass)
{
    if (ranked->trips == UINT64_MAX)
        return first_pass;
    return factor <= ranked->trips && (ranked->trips % factor == 0) == first_pass;
}

size_t rp_unroll_plan(const struct rp_kernel_source *source, const struct rp_kernel_facts *facts,
                      struct rp_unroll_step *ret)
{
    struct ranked *loops = calloc(source->loop_count + 1, sizeof *loops);
    const unsigned *factors = factors_for(facts);
    size_t count = 0, steps = 0;

    for (size_t i = 0; loops && i < source->loop_count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];

        if (!loop->why_not)
            loops[count++] =
                (struct ranked){i, stalls_in(source, loop, facts), loop->depth,
                                loop->trip_count_known ? loop->trip_count : UINT64_MAX};
    }
    if (count)
        qsort(loops, count, sizeof *loops, most_promising_first);
    for (int pass = 0; pass < 2; pass++)
        for (size_t f = 0; f < FACTORS; f++)
            for (size_t i = 0; i < count; i++)
                if (is_of_pass(&loops[i], factors[f], pass == 0))
                    ret[steps++] = (struct rp_unroll_step){loops[i].loop, factors[f]};
    free(loops);
    return steps;
}
