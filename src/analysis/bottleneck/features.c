#include "analysis/bottleneck/parts.h"

#include "arch/arch.h"
#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

bool rp_same_kernel(const char *a, const char *b)
{
    size_t length;

    if (!a || !b)
        return false;
    length = rp_kernel_name_length(a);
    return length == rp_kernel_name_length(b) && memcmp(a, b, length) == 0;
}

static void learn(struct rp_bottleneck_kernel *k, enum rp_feature feature, bool known, double value)
{
    if (known && !k->features.of[feature].known)
        k->features.of[feature] = (struct rp_quantity){.known = true, .value = value};
}

static void learn_waves(struct rp_bottleneck_kernel *k, double waves, const char *formula)
{
    struct rp_residency *r = &k->residency;

    if (!r->waves_per_simd.known) {
        r->waves_per_simd = (struct rp_quantity){.known = true, .value = waves};
        r->formula = formula;
    }
    learn(k, RP_FEATURE_OCCUPANCY, r->max_waves_per_simd > 0,
          r->waves_per_simd.value / (r->max_waves_per_simd ? r->max_waves_per_simd : 1));
}

static void learn_arch(struct rp_bottleneck_kernel *k, const char *name)
{
    const struct rp_arch *arch = name && *name ? rp_arch_find(name) : NULL;

    if (arch && k->residency.max_waves_per_simd == 0)
        k->residency.max_waves_per_simd = arch->max_waves_per_simd;
}

/* --- the trace ----------------------------------------------------------------------------- */

static void learn_launch(const struct rp_kernel_summary *s, const struct rp_agent_summary *agent,
                         struct rp_bottleneck_kernel *k)
{
    double items = (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2];
    double simds = (double)agent->compute_units * agent->simds_per_cu;
    uint32_t wave = s->occupancy.wave_size ? s->occupancy.wave_size : agent->wave_size;

    k->residency.max_waves_per_simd = agent->max_waves_per_simd;
    learn(k, RP_FEATURE_OCCUPANCY_LIMIT, s->occupancy.known, s->occupancy.theoretical);
    learn(k, RP_FEATURE_GRID_WAVES, simds > 0 && wave > 0 && items > 0,
          items / (wave ? wave : 1) / (simds > 0 ? simds : 1));
    k->residency.theoretical = k->features.of[RP_FEATURE_OCCUPANCY_LIMIT];
    if (s->occupancy.known)
        k->residency.limiter = rp_occupancy_limit_name(s->occupancy.limiter);
}

void rp_features_of_profile(const struct rp_bottleneck_inputs *in,
                            const struct rp_bottleneck_index *index, struct rp_bottleneck_kernel *k)
{
    size_t names, symbols;
    const struct rp_indexed_name *name = rp_name_index_find(&index->names, k->name, &names);
    const struct rp_indexed_name *symbol = rp_name_index_find(&index->symbols, k->name, &symbols);
    double time_ns = 0, timed = 0;

    /* Both in the order of the profile; what is found by name and symbol counts once. */
    for (bool first = true; names || symbols; first = false) {
        size_t at = names && (!symbols || name->at <= symbol->at) ? name->at : symbol->at;
        const struct rp_kernel_summary *s = &in->profile->kernels[at];

        if (names && name->at == at)
            names--, name++;
        if (symbols && symbol->at == at)
            symbols--, symbol++;
        k->calls += s->calls;
        time_ns += (double)s->total_ns;
        timed += (double)s->timed_calls;
        if (first)
            learn_launch(s, &in->profile->agents[s->agent], k);
    }
    if (timed > 0 && !k->time_ns.known)
        k->time_ns = (struct rp_quantity){.known = true, .value = time_ns};
    learn(k, RP_FEATURE_DURATION_NS, timed > 0, time_ns / (timed > 0 ? timed : 1));
}

void rp_features_of_dag(const struct rp_bottleneck_inputs *in, struct rp_bottleneck_kernel *k)
{
    const struct rp_dag_result *dag = in->dag;
    const struct rp_quantity *duration = &k->features.of[RP_FEATURE_DURATION_NS];
    int64_t host_ns, launch_ns;

    if (!dag || dag->makespan_ns <= 0)
        return;
    host_ns = dag->path_ns[RP_DAG_PART_HOST_API] + dag->path_ns[RP_DAG_PART_HOST_GAP] +
              dag->path_ns[RP_DAG_PART_LAUNCH];
    /* From the call to the start of the kernel, as the trace's fastest launch shows; 0: none is
     * there to learn from. */
    launch_ns = dag->launch_ns + dag->dispatch_ns;
    learn(k, RP_FEATURE_HOST_SHARE, true, (double)host_ns / (double)dag->makespan_ns);
    learn(k, RP_FEATURE_LAUNCH_SHARE, launch_ns > 0 && duration->known,
          (double)launch_ns / ((double)launch_ns + duration->value));
}

/* --- counters ------------------------------------------------------------------------------ */

static struct rp_quantity flops_share(const struct rp_roofline_kernel *k,
                                      const struct rp_ceilings *c, enum rp_flop_type first,
                                      enum rp_flop_type last)
{
    struct rp_quantity share = {0};

    for (unsigned t = first; t <= (unsigned)last; t++) {
        if (!k->flops_by_type[t].known || !c->gflops[t].known || c->gflops[t].value <= 0)
            continue;
        share.known = true;
        share.value += k->flops_by_type[t].value / c->gflops[t].value / k->time_ns.value;
    }
    return share;
}

/* A kernel has a row for each GPU that it ran on: calls and time are of all of them. The time is
 * known where that of every row is. */
static void learn_amounts(const struct rp_roofline *roofline, const struct rp_indexed_name *found,
                          size_t count, struct rp_bottleneck_kernel *k)
{
    struct rp_quantity time_ns = {.known = true};
    uint64_t calls = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rp_roofline_kernel *r = &roofline->kernels[found[i].at];

        calls += r->calls;
        time_ns.known = time_ns.known && r->time_ns.known;
        time_ns.value += r->time_ns.value;
    }
    if (k->calls == 0)
        k->calls = calls;
    if (!time_ns.known || time_ns.value <= 0)
        return;
    if (!k->time_ns.known)
        k->time_ns = time_ns;
    learn(k, RP_FEATURE_DURATION_NS, calls > 0, time_ns.value / (double)(calls ? calls : 1));
}

void rp_features_of_roofline(const struct rp_bottleneck_inputs *in,
                             const struct rp_bottleneck_index *index,
                             struct rp_bottleneck_kernel *k)
{
    static const enum rp_feature levels[RP_LEVEL_COUNT] = {
        [RP_LEVEL_HBM] = RP_FEATURE_HBM_SHARE,
        [RP_LEVEL_L2] = RP_FEATURE_L2_SHARE,
        [RP_LEVEL_L1] = RP_FEATURE_L1_SHARE,
        [RP_LEVEL_LDS] = RP_FEATURE_LDS_SHARE,
    };

    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->roofline, k->name, &count);
    const struct rp_roofline_kernel *r = found ? &in->roofline->kernels[found->at] : NULL;
    const struct rp_ceilings *c;
    struct rp_quantity share;

    if (!r) /* the first is the one with most time: rates and parts are of that */
        return;
    c = &in->roofline->devices[r->device].ceilings;
    learn_arch(k, in->roofline->devices[r->device].arch);
    learn_amounts(in->roofline, found, count, k);
    if (!r->time_ns.known || r->time_ns.value <= 0)
        return;
    learn(k, RP_FEATURE_BOUND_SHARE, r->bound_share.known, r->bound_share.value);
    for (size_t l = 0; l < RP_LEVEL_COUNT; l++)
        learn(k, levels[l],
              r->gbps[l].known && c->gbps[l].known && c->gbps[l].value > 0 &&
                  r->peak[l] != RP_PEAK_IMPOSSIBLE,
              r->gbps[l].value / (c->gbps[l].value > 0 ? c->gbps[l].value : 1));
    share = flops_share(r, c, RP_FLOP_VALU_F16, RP_FLOP_VALU_F64);
    learn(k, RP_FEATURE_VALU_SHARE, share.known, share.value);
    share = flops_share(r, c, RP_FLOP_MFMA_F16, RP_FLOP_MFMA_F6F4);
    learn(k, RP_FEATURE_MFMA_SHARE, share.known, share.value);
}

static const char *const asked[RP_ASKED_COUNT] = {
    [RP_ASKED_WAVE_CYCLES] = "SQ_WAVE_CYCLES",
    [RP_ASKED_BUSY_CU_CYCLES] = "SQ_BUSY_CU_CYCLES",
    [RP_ASKED_WAIT_ANY] = "SQ_WAIT_ANY",
    [RP_ASKED_THREAD_CYCLES] = "SQ_THREAD_CYCLES_VALU",
    [RP_ASKED_ACTIVE_VALU] = "SQ_ACTIVE_INST_VALU",
    [RP_ASKED_LDS_CONFLICT] = "SQ_LDS_BANK_CONFLICT",
    [RP_ASKED_LDS_ACTIVE] = "SQ_LDS_IDX_ACTIVE",
};

size_t rp_bottleneck_needs(const char *gfx, unsigned first_group, struct rp_roofline_need *ret,
                           size_t room)
{
    /* Parts and wholes are of one run: those of different runs can disagree. */
    static const struct {
        enum rp_asked counter;
        unsigned group;
    } needs[] = {
        {RP_ASKED_WAVE_CYCLES, 0},   {RP_ASKED_BUSY_CU_CYCLES, 0}, {RP_ASKED_WAIT_ANY, 0},
        {RP_ASKED_THREAD_CYCLES, 1}, {RP_ASKED_ACTIVE_VALU, 1},
    };
    const struct rp_arch *arch = rp_arch_find(gfx);
    size_t count = sizeof needs / sizeof needs[0];

    if (!arch || arch->gfx_target_version / 10000 != 9)
        return 0;
    for (size_t i = 0; i < count && i < room; i++)
        ret[i] = (struct rp_roofline_need){.name = asked[needs[i].counter],
                                           .group = first_group + needs[i].group};
    return count;
}

static uint32_t find_counter(const struct rp_counters *counters, const char *name)
{
    uint32_t at = 0;

    while (at < counters->name_count && strcmp(counters->names[at], name) != 0)
        at++;
    return at;
}

struct rp_asked_sums *rp_ask_counters(const struct rp_counters *counters)
{
    struct rp_asked_sums *sums = calloc(counters->kernel_count + 1, sizeof *sums);
    uint32_t columns[RP_ASKED_COUNT];

    if (!sums)
        return NULL;
    for (size_t a = 0; a < RP_ASKED_COUNT; a++) {
        columns[a] = find_counter(counters, asked[a]);
        for (size_t k = 0; k < counters->kernel_count; k++)
            sums[k].of[a].known = columns[a] < counters->name_count;
    }
    for (size_t i = 0; i < counters->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &counters->dispatches[i];

        for (size_t a = 0; a < RP_ASKED_COUNT; a++) {
            struct rp_quantity *sum = &sums[d->kernel].of[a];
            double value = 0;

            sum->known = sum->known && rp_counters_value(d, columns[a], &value);
            sum->value += value;
        }
    }
    return sums;
}

/* Counters of different passes disagree a little: what is above @p most by no more than that is it.
 */
static struct rp_quantity ratio(struct rp_quantity part, struct rp_quantity whole, double most)
{
    struct rp_quantity q = {.known = part.known && whole.known && whole.value > 0};

    if (q.known) {
        q.value = part.value / whole.value;
        q.known = rp_pass_part(most, &q.value);
    }
    return q;
}

void rp_features_of_counters(const struct rp_asked_sums *sums,
                             const struct rp_bottleneck_index *index,
                             struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *of;
    struct rp_quantity q;
    size_t count;
    const struct rp_indexed_name *found = rp_name_index_find(&index->counters, k->name, &count);

    if (!found)
        return;
    of = sums[found->at].of;
    /* Both count quad-cycles and are added up over SIMDs (counter descriptions of ROCm; 16384 waves
     * of a real copy on MI300X agree: SQ_LEVEL_WAVES accumulates to 4.05 times SQ_WAVE_CYCLES). */
    q = ratio(of[RP_ASKED_WAVE_CYCLES], of[RP_ASKED_BUSY_CU_CYCLES],
              k->residency.max_waves_per_simd ? k->residency.max_waves_per_simd : 20);
    if (q.known)
        learn_waves(k, q.value, "SQ_WAVE_CYCLES / SQ_BUSY_CU_CYCLES");
    q = ratio(of[RP_ASKED_WAIT_ANY], of[RP_ASKED_WAVE_CYCLES], 1);
    learn(k, RP_FEATURE_WAIT, q.known, q.value);
    /* Of 64 lanes: real copies give 64.0 on gfx90a, gfx942 and gfx950. */
    q = ratio(of[RP_ASKED_THREAD_CYCLES], of[RP_ASKED_ACTIVE_VALU], 64);
    learn(k, RP_FEATURE_LANES, q.known, q.value / 64);
    q = ratio(of[RP_ASKED_LDS_CONFLICT], of[RP_ASKED_LDS_ACTIVE], 1);
    learn(k, RP_FEATURE_LDS_CONFLICTS, q.known, q.value);
}

/* --- thread traces ------------------------------------------------------------------------- */

static bool has_kernel(const struct rp_thread_trace *t, const char *name)
{
    return t->kernel < t->kernel_count && (rp_same_kernel(t->kernels[t->kernel].name, name) ||
                                           rp_same_kernel(t->kernels[t->kernel].symbol, name));
}

static uint64_t waited(const struct rp_thread_trace *t, const enum rp_att_reason *reasons,
                       size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += t->waited_cycles[reasons[i]];
    return sum;
}

static bool note_trace(const struct rp_thread_trace *t, struct rp_traced *ret)
{
    if (t->completeness == RP_ATT_DAMAGED) {
        ret->damaged++;
        return false;
    }
    ret->used++;
    ret->partial += t->completeness == RP_ATT_PARTIAL;
    ret->sampled += t->part_of_grid;
    return true;
}

/* All traced dispatches of a kernel are taken together: cycles over cycles. */
void rp_features_of_traces(const struct rp_bottleneck_inputs *in, struct rp_bottleneck_kernel *k)
{
    static const enum rp_att_reason memory[] = {
        RP_ATT_WAITED_VECTOR_MEMORY, RP_ATT_WAITED_SCALAR_MEMORY, RP_ATT_WAITED_MEMORY_MIXED,
        RP_ATT_WAITED_VECTOR_MEMORY_ISSUE};
    static const enum rp_att_reason lds[] = {RP_ATT_WAITED_LDS, RP_ATT_WAITED_LDS_ISSUE};
    static const enum rp_att_reason math[] = {RP_ATT_WAITED_VALU_DEPENDENCY,
                                              RP_ATT_WAITED_MFMA_DEPENDENCY};
    static const enum rp_att_reason barrier[] = {RP_ATT_WAITED_BARRIER};
    double all = 0, stall = 0, sums[4] = {0}, waves, waves_sum = 0, counted = 0;

    for (size_t i = 0; in->traces && i < in->traces->count; i++) {
        const struct rp_thread_trace *t = &in->traces->traces[i];

        if (!has_kernel(t, k->name) || !note_trace(t, &k->traced))
            continue;
        all += (double)(t->sums.latency_cycles + t->sums.idle_cycles);
        stall += (double)t->sums.stall_cycles;
        sums[0] += (double)waited(t, memory, sizeof memory / sizeof memory[0]);
        sums[1] += (double)waited(t, lds, sizeof lds / sizeof lds[0]);
        sums[2] += (double)waited(t, math, sizeof math / sizeof math[0]);
        sums[3] += (double)waited(t, barrier, 1);
        if ((t->engine_count == 0 || t->engines_of_kernel) &&
            rp_thread_trace_occupancy(t, &waves)) {
            waves_sum += waves;
            counted++;
        }
    }
    learn_arch(k, in->arch);
    if (counted > 0)
        learn_waves(k, waves_sum / counted, "thread trace: wave cycles / SIMD cycles with a wave");
    learn(k, RP_FEATURE_STALL, all > 0, stall / (all > 0 ? all : 1));
    learn(k, RP_FEATURE_STALL_MEMORY, all > 0, sums[0] / (all > 0 ? all : 1));
    learn(k, RP_FEATURE_STALL_LDS, all > 0, sums[1] / (all > 0 ? all : 1));
    learn(k, RP_FEATURE_STALL_MATH, all > 0, sums[2] / (all > 0 ? all : 1));
    learn(k, RP_FEATURE_STALL_BARRIER, all > 0, sums[3] / (all > 0 ? all : 1));
}
