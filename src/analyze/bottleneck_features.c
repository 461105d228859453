#include "analyze/bottleneck_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/profile.h"
#include "analyze/thread_trace.h"
#include "arch/arch.h"
#include "trace/counter_set.h"

/** Adds up the counters that the rules ask for over the dispatches of each kernel. */
enum rp_asked {
    RP_ASKED_WAVE_CYCLES,
    RP_ASKED_BUSY_CU_CYCLES,
    RP_ASKED_WAIT_ANY,
    RP_ASKED_THREAD_CYCLES,
    RP_ASKED_ACTIVE_VALU,
    RP_ASKED_LDS_CONFLICT,
    RP_ASKED_LDS_ACTIVE,
    RP_ASKED_MFMA_BUSY,
    RP_ASKED_VMEM,
    RP_ASKED_L1_ACCESSES,
    RP_ASKED_SCALAR_HITS,
    RP_ASKED_SCALAR_MISSES,
    RP_ASKED_SCALAR_DUPLICATES,
    RP_ASKED_INSTRUCTION_HITS,
    RP_ASKED_INSTRUCTION_MISSES,
    RP_ASKED_INSTRUCTION_DUPLICATES,
    RP_ASKED_ATOMICS,
    RP_ASKED_RETURNING_ATOMICS,
    RP_ASKED_L2_READS,
    RP_ASKED_L2_WRITES,
    RP_ASKED_COUNT
};

struct rp_asked_sums {
    struct rp_quantity of[RP_ASKED_COUNT]; /**< known: every dispatch has it */
};

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

/* Compilers give a kernel more registers where its LDS keeps other waves out anyway. */
static void learn_limiter(const struct rp_kernel_summary *s, struct rp_residency *r)
{
    const struct rp_occupancy *o = &s->occupancy;

    r->limiter = rp_occupancy_limit_names[o->limiter];
    if (o->limiter != RP_LIMIT_LDS && o->limiter != RP_LIMIT_NONE &&
        o->lds_workgroups_per_cu <= o->workgroups_per_cu)
        r->second_limiter = rp_occupancy_limit_names[RP_LIMIT_LDS];
}

/* Says how many times as many waves would run if no resource but the wave slots limited them. */
static void learn_possible(const struct rp_kernel_summary *s, const struct rp_agent_summary *agent,
                           struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *grid = &k->features.of[RP_FEATURE_GRID_WAVES];
    const struct rp_occupancy *o = &s->occupancy;
    double slots = agent->max_waves_per_simd, today = o->theoretical * slots;
    double items = (double)s->block[0] * (double)s->block[1] * (double)s->block[2];
    double lanes = (double)o->waves_per_workgroup * o->wave_size;

    learn(k, RP_FEATURE_WORKGROUP_LANES, o->known && items > 0 && lanes > 0,
          items / (lanes > 0 ? lanes : 1));
    if (!o->known || !grid->known || today <= 0)
        return;
    today = today < grid->value ? today : grid->value;
    slots = slots < grid->value ? slots : grid->value;
    learn(k, RP_FEATURE_WAVES_POSSIBLE, today > 0, slots / (today > 0 ? today : 1));
}

/* A workgroup takes whole waves. Returns 0 when the launch is not known. */
static double waves_of_grid(const struct rp_kernel_summary *s, uint32_t wave)
{
    double workgroups = 1, items = 1;

    for (size_t i = 0; i < 3; i++) {
        if (s->block[i] == 0 || wave == 0)
            return 0;
        workgroups *= ceil((double)s->grid[i] / s->block[i]);
        items *= s->block[i];
    }
    return workgroups * ceil(items / wave);
}

static void learn_launch(const struct rp_kernel_summary *s, const struct rp_agent_summary *agent,
                         struct rp_bottleneck_kernel *k)
{
    double simds = (double)agent->compute_units * agent->simds_per_cu;
    uint32_t wave = s->occupancy.wave_size ? s->occupancy.wave_size : agent->wave_size;
    double waves = waves_of_grid(s, wave);

    k->residency.max_waves_per_simd = agent->max_waves_per_simd;
    learn(k, RP_FEATURE_OCCUPANCY_LIMIT, s->occupancy.known, s->occupancy.theoretical);
    learn(k, RP_FEATURE_GRID_WAVES, simds > 0 && waves > 0, waves / (simds > 0 ? simds : 1));
    k->launched_waves = (struct rp_quantity){.known = waves > 0, .value = waves};
    k->simds = simds;
    k->hbm_peak_gbps = agent->arch ? agent->arch->hbm_peak_gbps : 0;
    k->residency.theoretical = k->features.of[RP_FEATURE_OCCUPANCY_LIMIT];
    if (s->occupancy.known)
        learn_limiter(s, &k->residency);
    learn_possible(s, agent, k);
}

/* Each of these adds what its source knows of the kernel with this name. Earlier sources take
 * precedence. */
static void features_of_profile(const struct rp_bottleneck_inputs *in,
                                const struct rp_bottleneck_index *index,
                                struct rp_bottleneck_kernel *k)
{
    size_t names, symbols;
    const struct rp_indexed_name *name = rp_name_index_find(&index->names, k->name, &names);
    const struct rp_indexed_name *symbol = rp_name_index_find(&index->symbols, k->name, &symbols);
    double time_ns = 0, timed = 0;

    /* Both are in the order of the profile, and a kernel that is found by name and symbol counts
     * once. */
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

static void features_of_dag(const struct rp_bottleneck_inputs *in, struct rp_bottleneck_kernel *k)
{
    const struct rp_dag_result *dag = in->dag;
    const struct rp_quantity *duration = &k->features.of[RP_FEATURE_DURATION_NS];
    int64_t host_ns, launch_ns;

    if (!dag || dag->makespan_ns <= 0)
        return;
    host_ns = dag->path_ns[RP_DAG_PART_HOST_API] + dag->path_ns[RP_DAG_PART_HOST_GAP] +
              dag->path_ns[RP_DAG_PART_LAUNCH];
    /* This is the time from the call to the start of the kernel, as the trace's fastest launch
     * shows it; 0: no launch shows it. */
    launch_ns = dag->launch_ns + dag->dispatch_ns;
    learn(k, RP_FEATURE_COPY_SHARE, true,
          (double)dag->path_ns[RP_DAG_PART_COPY] / (double)dag->makespan_ns);
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

/* A kernel has a row for each GPU that it ran on, so calls and time are those of all of them. The
 * time is known where that of every row is. */
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

/* Bank conflicts keep the LDS busy as well, and move no bytes. */
static void learn_lds_busy(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *share = &k->features.of[RP_FEATURE_LDS_SHARE];
    const struct rp_quantity *conflicts = &k->features.of[RP_FEATURE_LDS_CONFLICTS];
    double useful = 1 - (conflicts->known ? conflicts->value : 0);

    learn(k, RP_FEATURE_LDS_BUSY, share->known && useful > 0,
          share->value / (useful > 0 ? useful : 1));
}

static void features_of_roofline(const struct rp_bottleneck_inputs *in,
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

    if (!r) /* The first one has most time, so rates and parts are taken from it. */
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
    k->hbm_bytes = (struct rp_quantity){.known = r->gbps[RP_LEVEL_HBM].known,
                                        .value = r->gbps[RP_LEVEL_HBM].value *
                                                 r->time_ns.value}; /* GB/s x ns are bytes. */
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
    [RP_ASKED_MFMA_BUSY] = "SQ_VALU_MFMA_BUSY_CYCLES",
    [RP_ASKED_VMEM] = "TA_TOTAL_WAVEFRONTS_sum",
    [RP_ASKED_L1_ACCESSES] = "TCP_TOTAL_CACHE_ACCESSES_sum",
    [RP_ASKED_SCALAR_HITS] = "SQC_DCACHE_HITS",
    [RP_ASKED_SCALAR_MISSES] = "SQC_DCACHE_MISSES",
    [RP_ASKED_SCALAR_DUPLICATES] = "SQC_DCACHE_MISSES_DUPLICATE",
    [RP_ASKED_INSTRUCTION_HITS] = "SQC_ICACHE_HITS",
    [RP_ASKED_INSTRUCTION_MISSES] = "SQC_ICACHE_MISSES",
    [RP_ASKED_INSTRUCTION_DUPLICATES] = "SQC_ICACHE_MISSES_DUPLICATE",
    [RP_ASKED_ATOMICS] = "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
    [RP_ASKED_RETURNING_ATOMICS] = "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
    [RP_ASKED_L2_READS] = "TCP_TCC_READ_REQ_sum",
    [RP_ASKED_L2_WRITES] = "TCP_TCC_WRITE_REQ_sum",
};

size_t rp_bottleneck_needs(const char *gfx, unsigned first_group, struct rp_roofline_need *ret,
                           size_t room)
{
    /* Parts and wholes are from one run, because those of different runs can disagree. */
    static const struct {
        enum rp_asked counter;
        unsigned group;
    } needs[] = {
        {RP_ASKED_WAVE_CYCLES, 0},
        {RP_ASKED_BUSY_CU_CYCLES, 0},
        {RP_ASKED_WAIT_ANY, 0},
        {RP_ASKED_THREAD_CYCLES, 0},
        {RP_ASKED_ACTIVE_VALU, 0},
        {RP_ASKED_MFMA_BUSY, 0},
        {RP_ASKED_VMEM, 1},
        {RP_ASKED_L1_ACCESSES, 1},
        {RP_ASKED_SCALAR_HITS, 2},
        {RP_ASKED_SCALAR_MISSES, 2},
        {RP_ASKED_SCALAR_DUPLICATES, 2},
        {RP_ASKED_INSTRUCTION_HITS, 2},
        {RP_ASKED_INSTRUCTION_MISSES, 2},
        {RP_ASKED_INSTRUCTION_DUPLICATES, 2},
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

struct rp_asked_sums *rp_asked_sums_make(const struct rp_counters *counters)
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

/* Counters of different passes disagree a little, so a value that is above @p most by no more than
 * that becomes @p most. */
static struct rp_quantity ratio(struct rp_quantity part, struct rp_quantity whole, double most)
{
    struct rp_quantity q = {.known = part.known && whole.known && whole.value > 0};

    if (q.known) {
        q.value = part.value / whole.value;
        q.known = rp_pass_part(most, &q.value);
    }
    return q;
}

/* Holds the look-ups that vector memory instructions need at least, by the widths in their names,
 * against those that there were, and the bytes that were asked for against those that HBM moved.
 * The vector L1 looks up 16 lanes of up to 4 bytes at once, or 4 of wider ones: a real vecCopy of
 * doubles has 16.0 look-ups an instruction on MI100 to MI300X. */
static void learn_bytes(const struct rp_quantity *of, struct rp_bottleneck_kernel *k)
{
    static const enum rp_wave_part parts[] = {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE,
                                              RP_WAVE_PART_ATOMIC, RP_WAVE_PART_SCRATCH};
    const struct rp_quantity *lines = &k->features.of[RP_FEATURE_L1_LINES];
    double bytes = 0, executed = 0, needed = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bytes += k->waves.of[parts[i]].bytes;
        executed += k->waves.of[parts[i]].executed;
        needed += k->waves.of[parts[i]].lookups;
    }
    if (executed <= 0 || !lines->known)
        return;
    needed /= executed;
    learn(k, RP_FEATURE_COALESCING, lines->value > 0,
          lines->value > needed ? needed / lines->value : 1);
    bytes *= of[RP_ASKED_VMEM].value / executed;
    learn(k, RP_FEATURE_USED_BYTES, k->hbm_bytes.known && k->hbm_bytes.value > 0,
          bytes < k->hbm_bytes.value ? bytes / k->hbm_bytes.value : 1);
}

static void learn_atomics(const struct rp_quantity *of, struct rp_bottleneck_kernel *k)
{
    double atomics = of[RP_ASKED_ATOMICS].value + of[RP_ASKED_RETURNING_ATOMICS].value;
    double all = atomics + of[RP_ASKED_L2_READS].value + of[RP_ASKED_L2_WRITES].value;

    learn(k, RP_FEATURE_ATOMIC_REQUESTS,
          of[RP_ASKED_ATOMICS].known && of[RP_ASKED_RETURNING_ATOMICS].known &&
              of[RP_ASKED_L2_READS].known && of[RP_ASKED_L2_WRITES].known && all > 0,
          atomics / (all > 0 ? all : 1));
}

/* An access to a line that is on its way waits as well. Not every source has counted those. */
static void learn_misses(struct rp_bottleneck_kernel *k, enum rp_feature feature,
                         struct rp_quantity hits, struct rp_quantity misses,
                         struct rp_quantity duplicates)
{
    double missed = misses.value + (duplicates.known ? duplicates.value : 0);
    double all = hits.value + missed;

    learn(k, feature, hits.known && misses.known && all > 0, missed / (all > 0 ? all : 1));
}

/* Lanes without a work-item diverge from nothing. */
static void learn_lanes(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *lanes = &k->features.of[RP_FEATURE_LANES];
    const struct rp_quantity *filled = &k->features.of[RP_FEATURE_WORKGROUP_LANES];
    double most = filled->known && filled->value > 0 ? filled->value : 1;

    learn(k, RP_FEATURE_LANES_OF_WORKGROUP, lanes->known,
          lanes->value < most ? lanes->value / most : 1);
}

static void features_of_counters(const struct rp_asked_sums *sums,
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
    /* A wave has 64 lanes: real copies give 64.0 on gfx90a, gfx942 and gfx950. */
    q = ratio(of[RP_ASKED_THREAD_CYCLES], of[RP_ASKED_ACTIVE_VALU], 64);
    learn(k, RP_FEATURE_LANES, q.known, q.value / 64);
    learn_lanes(k);
    q = ratio(of[RP_ASKED_LDS_CONFLICT], of[RP_ASKED_LDS_ACTIVE], 1);
    learn(k, RP_FEATURE_LDS_CONFLICTS, q.known, q.value);
    /* VALU quad-cycles are added up over the SIMDs, as busy cycles are over CUs. A real Philox
     * kernel on MI300X has 1.24 of them. */
    q = ratio(of[RP_ASKED_ACTIVE_VALU], of[RP_ASKED_BUSY_CU_CYCLES], 1.5);
    learn(k, RP_FEATURE_VALU_BUSY, q.known, q.value < 1 ? q.value : 1);
    q = ratio(of[RP_ASKED_MFMA_BUSY], of[RP_ASKED_BUSY_CU_CYCLES], 4);
    learn(k, RP_FEATURE_MFMA_BUSY, q.known, q.value / 4);
    q = ratio(of[RP_ASKED_L1_ACCESSES], of[RP_ASKED_VMEM], 64 * 16);
    learn(k, RP_FEATURE_L1_LINES, q.known, q.value);
    learn_bytes(of, k);
    learn_atomics(of, k);
    learn_misses(k, RP_FEATURE_SCALAR_MISSES, of[RP_ASKED_SCALAR_HITS], of[RP_ASKED_SCALAR_MISSES],
                 of[RP_ASKED_SCALAR_DUPLICATES]);
    learn_misses(k, RP_FEATURE_INSTRUCTION_MISSES, of[RP_ASKED_INSTRUCTION_HITS],
                 of[RP_ASKED_INSTRUCTION_MISSES], of[RP_ASKED_INSTRUCTION_DUPLICATES]);
}

/* --- thread traces ------------------------------------------------------------------------- */

bool rp_is_trace_of(const struct rp_thread_trace *t, const char *name)
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

/* Without counters, what the waves of the whole grid ask for is all that is known of HBM's rate: it
 * moves no more, unless lines are used in part, and less where caches hold the data. */
static void learn_asked(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *duration = &k->features.of[RP_FEATURE_DURATION_NS];
    const struct rp_wave_time *w = &k->waves;
    double bytes = w->of[RP_WAVE_PART_LOAD].bytes + w->of[RP_WAVE_PART_STORE].bytes, gbps;

    if (w->waves <= 0 || !k->launched_waves.known || !duration->known || duration->value <= 0 ||
        k->hbm_peak_gbps <= 0)
        return;
    gbps = bytes / w->waves * k->launched_waves.value / duration->value;
    learn(k, RP_FEATURE_ASKED_SHARE, true, gbps / k->hbm_peak_gbps);
}

/* Waves run one after another as often as there are more of them than run at once. A unit that all
 * share, such as that of the atomics, can take longer than the waves of one compute unit show. */
static void learn_traced_share(struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity *duration = &k->features.of[RP_FEATURE_DURATION_NS];
    const struct rp_wave_time *w = &k->waves;
    double at_once = k->simds * k->residency.waves_per_simd.value, turns, share;

    if (w->waves <= 0 || w->lives_ns <= 0 || !k->launched_waves.known || !duration->known ||
        duration->value <= 0 || !k->residency.waves_per_simd.known || at_once <= 0)
        return;
    turns = k->launched_waves.value / at_once;
    share = w->lives_ns / w->waves * (turns > 1 ? turns : 1) / duration->value;
    learn(k, RP_FEATURE_TRACED_SHARE, true, share < 1 ? share : 1);
}

static void learn_wave_time(struct rp_bottleneck_kernel *k)
{
    static const struct {
        enum rp_feature feature;
        enum rp_wave_part parts[3];
    } rows[] = {
        {RP_FEATURE_TIME_GLOBAL, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_SCRATCH, {RP_WAVE_PART_SCRATCH, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_LDS, {RP_WAVE_PART_LDS, RP_WAVE_PART_LDS_ATOMIC, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_SCALAR,
         {RP_WAVE_PART_SCALAR_LOAD, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_BARRIER, {RP_WAVE_PART_BARRIER, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_MFMA, {RP_WAVE_PART_MFMA, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_FETCH, {RP_WAVE_PART_FETCH, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        {RP_FEATURE_TIME_TRANSCENDENTAL,
         {RP_WAVE_PART_TRANSCENDENTAL, RP_WAVE_PART_COUNT, RP_WAVE_PART_COUNT}},
        /* Arithmetic needs the scalar instructions of its loops and branches. */
        {RP_FEATURE_TIME_VALU,
         {RP_WAVE_PART_VALU, RP_WAVE_PART_TRANSCENDENTAL, RP_WAVE_PART_OTHER}},
    };
    const struct rp_wave_time *w = &k->waves;
    double atomic = w->of[RP_WAVE_PART_ATOMIC].cycles + w->of[RP_WAVE_PART_LDS_ATOMIC].cycles;
    double global;

    if (w->cycles <= 0)
        return;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        double cycles = 0;

        for (size_t p = 0; p < 3; p++)
            if (rows[r].parts[p] != RP_WAVE_PART_COUNT)
                cycles += w->of[rows[r].parts[p]].cycles;
        learn(k, rows[r].feature, true, cycles / w->cycles);
    }
    global = w->of[RP_WAVE_PART_LOAD].cycles + w->of[RP_WAVE_PART_STORE].cycles;
    learn(k, RP_FEATURE_GLOBAL_QUEUE, global > 0,
          (w->of[RP_WAVE_PART_LOAD].issue + w->of[RP_WAVE_PART_STORE].issue) /
              (global > 0 ? global : 1));
    learn(k, RP_FEATURE_LOAD_WAIT, w->of[RP_WAVE_PART_LOAD].executed > 0,
          w->of[RP_WAVE_PART_LOAD].awaited / fmax(w->of[RP_WAVE_PART_LOAD].executed, 1));
    atomic = w->atomic_lines > atomic ? w->atomic_lines : atomic;
    learn(k, RP_FEATURE_TIME_ATOMIC, true, atomic / w->cycles);
    learn(k, RP_FEATURE_VALU_STALL, true,
          (w->of[RP_WAVE_PART_VALU].issue + w->of[RP_WAVE_PART_TRANSCENDENTAL].issue) / w->cycles);
}

/* All traced dispatches of a kernel are taken together: cycles over cycles.
 * @return false when memory has ended */
static bool features_of_traces(const struct rp_bottleneck_inputs *in,
                               struct rp_bottleneck_kernel *k)
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

        if (t->sampled || !rp_is_trace_of(t, k->name) || !note_trace(t, &k->traced))
            continue;
        if (!rp_wave_time_add(t, &k->waves))
            return false;
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
    learn_wave_time(k);
    return true;
}

bool rp_kernel_features(const struct rp_bottleneck_inputs *in,
                        const struct rp_bottleneck_index *index, const struct rp_asked_sums *sums,
                        struct rp_bottleneck_kernel *k)
{
    features_of_profile(in, index, k);
    features_of_roofline(in, index, k);
    features_of_dag(in, k);
    if (!features_of_traces(in, k))
        return false;
    if (sums)
        features_of_counters(sums, index, k);
    learn_lds_busy(k);
    learn_asked(k);
    learn_traced_share(k);
    return true;
}

/* A kernel that is started often and ends before the next launch would have arrived takes most of
 * its time to start and to end. */
bool rp_kernel_is_short(const struct rp_bottleneck_kernel *k)
{
    enum { SHORT_NS = 6000, OFTEN = 20 };
    const struct rp_quantity *duration = &k->features.of[RP_FEATURE_DURATION_NS];

    return duration->known && duration->value < SHORT_NS && k->calls >= OFTEN && k->weight.known;
}
