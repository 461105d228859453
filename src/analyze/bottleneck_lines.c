/* Finds the lines of findings that are about no instruction: launches, other HIP calls, and
 * declarations. What a kernel's own code does has its line from the wave time. */
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck_steps.h"
#include "analyze/profile.h"
#include "analyze/thread_trace.h"
#include "base/cleanup.h"

/* --- launches ------------------------------------------------------------------------------ */

/* Returns what the profile says of the kernel, or NULL. */
static const struct rp_kernel_summary *summary_of(const struct rp_bottleneck_inputs *in,
                                                  const struct rp_bottleneck_index *index,
                                                  const char *name)
{
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->names, name, &count);

    if (!found || !count)
        found = rp_name_index_find(&index->symbols, name, &count);
    return found && count ? &in->profile->kernels[found->at] : NULL;
}

/* A grid, and workgroups that do not fill their waves, are written down where the kernel is
 * launched. What a kernel's own code does has its line from the wave time. */
static bool is_about_launch(const struct rp_finding *f)
{
    return f->cause == RP_CAUSE_SMALL_GRID || f->cause == RP_CAUSE_LAUNCH ||
           (f->rule && f->rule->gain == RP_GAIN_WORKGROUP) ||
           (f->limiter &&
            strcmp(f->limiter, rp_occupancy_limit_names[RP_LIMIT_WORKGROUP_SIZE]) == 0);
}

/* Returns the line that makes most of the short launches, or NULL. Of the kernels of a loop, which
 * are launched equally often, the first one's line counts: there the loop begins. */
static const char *line_of_short_launches(const struct rp_bottleneck_inputs *in,
                                          const struct rp_bottleneck_index *index,
                                          const struct rp_bottlenecks *b)
{
    const struct rp_kernel_summary *most = NULL;

    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_kernel_summary *s =
            rp_kernel_is_short(&b->kernels[i]) ? summary_of(in, index, b->kernels[i].name) : NULL;

        if (s && s->launch_line &&
            (!most || s->calls > most->calls ||
             (s->calls == most->calls && s->launch_order < most->launch_order)))
            most = s;
    }
    return most ? most->launch_line : NULL;
}

/* --- declarations -------------------------------------------------------------------------- */

/** What a kernel declares. A place is NULL where it declares nothing of the kind. */
struct declarations {
    const char *kernel;                         /**< there are its launch bounds */
    const struct rp_att_variable *in_lds;       /**< the largest array in LDS */
    const struct rp_att_variable *in_registers; /**< the largest array of a work-item */
    bool launch_adds_most;                      /**< of the LDS */
    bool registers_full;                        /**< one more costs a wave */
    uint64_t register_bytes, scratch_bytes;     /**< that a work-item has */
};

enum { USUAL_BYTES = 4 * 128 }; /* Workgroups of 1024, HIP's default, leave 128 registers. */

enum { SMALLEST_ARRAY = 64 }; /* 16 registers of a work-item are few enough to keep. */

static int by_size(const void *a, const void *b)
{
    const struct rp_att_variable *const *l = a, *const *r = b;

    if ((*l)->bytes != (*r)->bytes)
        return (*l)->bytes > (*r)->bytes ? -1 : 1;
    return strcmp((*l)->place, (*r)->place);
}

/* Debug information does not say where an array is. Those that fit into the LDS of the code, the
 * largest first, are taken to be there.
 * @return false: memory has ended */
static bool find_arrays(const struct rp_thread_trace *t, struct declarations *ret)
{
    uint64_t lds_bytes = t->kernel_lds_bytes;
    rp_autofree const struct rp_att_variable **sorted =
        malloc((t->variable_count + 1) * sizeof *sorted);

    if (!sorted)
        return false;
    for (size_t i = 0; i < t->variable_count; i++)
        sorted[i] = &t->variables[i];
    if (t->variable_count)
        qsort(sorted, t->variable_count, sizeof *sorted, by_size);
    for (size_t i = 0; i < t->variable_count && sorted[i]->bytes >= SMALLEST_ARRAY; i++) {
        const bool in_lds = sorted[i]->bytes <= lds_bytes;
        const struct rp_att_variable **kind = in_lds ? &ret->in_lds : &ret->in_registers;

        lds_bytes -= in_lds ? sorted[i]->bytes : 0;
        *kind = *kind ? *kind : sorted[i];
    }
    return true;
}

static const struct rp_thread_trace *trace_with_variables(const struct rp_bottleneck_inputs *in,
                                                          const char *kernel)
{
    for (size_t i = 0; in->traces && i < in->traces->count; i++)
        if (in->traces->traces[i].kernel_place && rp_is_trace_of(&in->traces->traces[i], kernel))
            return &in->traces->traces[i];
    return NULL;
}

static bool is_limited_by(const struct rp_finding *f, enum rp_occupancy_limit limit)
{
    return f->cause == RP_CAUSE_OCCUPANCY && f->limiter &&
           strcmp(f->limiter, rp_occupancy_limit_names[limit]) == 0;
}

/* An array is to blame for the registers if it takes a good part of them, and for spills if they
 * do not hold it, although launch bounds allow as many as compilers give without any. Otherwise it
 * is the kernel: its launch bounds, and what it keeps alive. */
static const char *array_or_kernel(const struct declarations *d, uint64_t bytes)
{
    return d->in_registers && d->in_registers->bytes >= bytes ? d->in_registers->place : d->kernel;
}

/* While registers are left, what is in scratch memory is an array whose indices are computed. */
static bool is_array_in_scratch(const struct declarations *d)
{
    return !d->registers_full && d->in_registers && 2 * d->in_registers->bytes >= d->scratch_bytes;
}

static void take_declaration(const struct declarations *d, const char *launch_line,
                             struct rp_finding *f)
{
    const char *place = NULL;

    if (is_limited_by(f, RP_LIMIT_LDS)) {
        place = d->launch_adds_most ? launch_line : d->in_lds ? d->in_lds->place : NULL;
    } else if (is_limited_by(f, RP_LIMIT_VGPR)) {
        place = array_or_kernel(d, d->register_bytes / 8);
    } else if (f->cause == RP_CAUSE_SPILLS && is_array_in_scratch(d)) {
        place = d->in_registers->place;
        f->limiter = RP_LIMITER_ARRAY;
    } else if (f->cause == RP_CAUSE_SPILLS) {
        place =
            array_or_kernel(d, d->register_bytes < USUAL_BYTES ? UINT64_MAX : d->register_bytes);
    }
    if (!place)
        return;
    f->waits_at = f->line;
    f->line = place;
    f->outer = NULL;
}

/* --- kernels and program ------------------------------------------------------------------- */

static void find_lines(const struct rp_kernel_summary *s, const struct declarations *d,
                       struct rp_finding *f)
{
    const char *launch_line = s ? s->launch_line : NULL;

    if (is_about_launch(f))
        f->line = launch_line ? launch_line : f->line;
    else
        take_declaration(d, launch_line, f);
}

/* A SIMD of CDNA has 512 vector registers for each lane, which waves get by eights. */
static bool are_registers_full(uint64_t registers)
{
    enum { OF_SIMD = 512, GRANULE = 8, MOST_WAVES = 8 };
    const uint64_t taken = (registers + GRANULE - 1) / GRANULE * GRANULE;
    const uint64_t waves = taken ? OF_SIMD / taken : MOST_WAVES + 1;

    return waves <= MOST_WAVES && waves > OF_SIMD / (taken + GRANULE);
}

/* Where memory has ended, or nothing is known, it stays empty. */
static struct declarations declarations_of(const struct rp_bottleneck_inputs *in,
                                           const struct rp_kernel_summary *s, const char *kernel)
{
    const struct rp_thread_trace *t = trace_with_variables(in, kernel);
    struct declarations d = {0};
    uint64_t registers;

    if (!s || !t || !find_arrays(t, &d))
        return (struct declarations){0};
    registers = (uint64_t)s->resources.arch_vgpr + s->resources.accum_vgpr;
    d.kernel = t->kernel_place;
    d.launch_adds_most = s->resources.lds_bytes > 2 * t->kernel_lds_bytes;
    d.registers_full = are_registers_full(registers);
    d.register_bytes = 4 * registers;
    d.scratch_bytes = s->resources.scratch_bytes;
    return d;
}

void rp_bottleneck_lines_of_kernels(const struct rp_bottleneck_inputs *in,
                                    const struct rp_bottleneck_index *index,
                                    struct rp_bottlenecks *b)
{
    for (size_t i = 0; i < b->kernel_count; i++) {
        struct rp_bottleneck_kernel *k = &b->kernels[i];
        const struct rp_kernel_summary *s = in->profile ? summary_of(in, index, k->name) : NULL;
        const struct declarations d = declarations_of(in, s, k->name);

        find_lines(s, &d, &k->finding);
        for (size_t a = 0; a < k->also_count; a++)
            find_lines(s, &d, &k->also[a]);
    }
}

void rp_bottleneck_line_of_program(const struct rp_bottleneck_inputs *in,
                                   const struct rp_bottleneck_index *index,
                                   struct rp_bottlenecks *b)
{
    if (!in->profile || b->program_is_kernel)
        return;
    if (b->program.cause == RP_CAUSE_LAUNCH)
        b->program.line = line_of_short_launches(in, index, b);
    else if (b->program.cause == RP_CAUSE_COPY)
        b->program.line = in->profile->copy_line;
    else if (b->program.cause == RP_CAUSE_HOST)
        b->program.line = in->profile->host_line;
}
