#include "analyze/profile.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/counter_set.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/** One workgroup needs these of the block of CUs it runs on. */
struct demand {
    uint32_t vgprs;     /**< per lane, rounded to the allocation granule */
    uint32_t sgprs;     /**< per wave */
    uint32_t lds_bytes; /**< rounded to the allocation granule */
};

/** That block has these. */
struct supply {
    const char *name; /**< "CU" or "WGP" */
    uint32_t simds, slots, vgprs, vgpr_granule, lds_bytes, max_workgroups;
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t round_up(uint32_t n, uint32_t granule)
{
    return (n + granule - 1) / granule * granule;
}

static void __attribute__((format(printf, 2, 3)))
unknown(struct rp_occupancy *occ, const char *fmt, ...)
{
    va_list ap;

    occ->known = false;
    va_start(ap, fmt);
    vsnprintf(occ->reason, sizeof occ->reason, fmt, ap);
    va_end(ap);
}

static struct supply supply_of(const struct rp_arch *arch, uint32_t wave_size)
{
    bool halved = arch->wave_sizes_scale_vgprs && wave_size != arch->wave_size;
    uint32_t simds = arch->simds_per_cu * arch->cus_per_block;

    return (struct supply){
        .name = arch->cus_per_block > 1 ? "WGP" : "CU",
        .simds = simds,
        .slots = arch->max_waves_per_simd * simds,
        .vgprs = halved ? arch->vgprs_per_simd / 2 : arch->vgprs_per_simd,
        .vgpr_granule = halved ? arch->vgpr_granule / 2 : arch->vgpr_granule,
        .lds_bytes = arch->lds_bytes_per_cu * arch->cus_per_block,
        .max_workgroups = arch->max_workgroups_per_cu * arch->cus_per_block,
    };
}

/** Returns the vector registers of a wave per lane. A kernel without any still holds one granule.
 */
static uint64_t vgprs_of(const struct rp_arch *arch, const struct rp_kernel_resources *res)
{
    uint64_t n;

    if (arch->vgpr_file == RP_VGPR_UNIFIED) {
        /* Accumulation registers begin at a multiple of 4 (ACCUM_OFFSET). */
        n = res->accum_vgpr ? ((uint64_t)res->arch_vgpr + 3) / 4 * 4 : res->arch_vgpr;
        n += res->accum_vgpr;
    } else {
        n = res->arch_vgpr > res->accum_vgpr ? res->arch_vgpr : res->accum_vgpr;
    }
    return n ? n : 1;
}

/** Refuses a launch that cannot exist; otherwise fills the demand of one workgroup. */
static bool demand_of(const struct rp_arch *arch, const struct rp_kernel_resources *res,
                      const struct supply *have, struct demand *ret, struct rp_occupancy *occ)
{
    const uint64_t vgprs = vgprs_of(arch, res), granule = have->vgpr_granule;

    if (res->workgroup_size == 0)
        unknown(occ, "the workgroup size is not known");
    else if (res->workgroup_size > arch->max_workgroup_size)
        unknown(occ, "workgroups of %u work-items do not exist on %s (at most %u)",
                res->workgroup_size, arch->name, arch->max_workgroup_size);
    else if (vgprs > arch->max_vgprs_per_lane) /* Fewer are allocated where it is no multiple. */
        unknown(occ, "%llu VGPRs per lane do not exist on %s (at most %u)",
                (unsigned long long)vgprs, arch->name, arch->max_vgprs_per_lane);
    else if (res->lds_bytes > arch->lds_bytes_per_workgroup)
        unknown(occ, "%u bytes of LDS per workgroup do not fit on %s (at most %u)", res->lds_bytes,
                arch->name, arch->lds_bytes_per_workgroup);
    else {
        *ret = (struct demand){
            .vgprs = (uint32_t)((vgprs + granule - 1) / granule * granule),
            /* Some tracers report 128 everywhere, but no wave can hold more than the maximum. */
            .sgprs = min_u32(res->sgpr, arch->max_sgprs_per_wave),
            .lds_bytes = round_up(res->lds_bytes, arch->lds_granule_bytes),
        };
        return true;
    }
    return false;
}

static void explain(struct rp_occupancy *occ, const struct rp_arch *arch, const struct supply *have,
                    const struct demand *need)
{
    char *text = occ->reason;
    size_t size = sizeof occ->reason;

    switch (occ->limiter) {
    case RP_LIMIT_NONE:
        snprintf(text, size, "all %u wave slots of a %s can be filled", have->slots, have->name);
        break;
    case RP_LIMIT_VGPR:
        snprintf(text, size, "a wave takes %u of %u VGPRs per lane: %u waves per SIMD", need->vgprs,
                 have->vgprs, occ->vgpr_waves_per_simd);
        break;
    case RP_LIMIT_SGPR:
        snprintf(text, size, "a wave takes %u of %u SGPRs: %u waves per SIMD", need->sgprs,
                 arch->sgprs_per_simd, occ->sgpr_waves_per_simd);
        break;
    case RP_LIMIT_LDS:
        snprintf(text, size, "a workgroup takes %u of %u bytes of LDS: %u per %s", need->lds_bytes,
                 have->lds_bytes, occ->lds_workgroups_per_cu, have->name);
        break;
    case RP_LIMIT_WORKGROUP_SIZE:
        snprintf(text, size, "workgroups of %u waves: %u per %s fill %u of %u wave slots",
                 occ->waves_per_workgroup, occ->workgroups_per_cu, have->name, occ->waves_per_cu,
                 have->slots);
        break;
    }
}

/** Finds the tightest limit, workgroups per block of CUs, and names it. */
static void decide(const struct rp_arch *arch, const struct supply *have, const struct demand *need,
                   struct rp_occupancy *occ)
{
    uint32_t waves = occ->waves_per_workgroup;
    const struct {
        enum rp_occupancy_limit limit;
        uint32_t workgroups;
    } limits[] = {
        {RP_LIMIT_WORKGROUP_SIZE, occ->slot_workgroups_per_cu},
        {RP_LIMIT_VGPR, occ->vgpr_waves_per_simd * have->simds / waves},
        {RP_LIMIT_SGPR, occ->sgpr_waves_per_simd * have->simds / waves},
        {RP_LIMIT_LDS, occ->lds_workgroups_per_cu},
    };
    size_t tightest = 0;

    for (size_t i = 1; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].workgroups < limits[tightest].workgroups)
            tightest = i;
    }
    occ->limiter = limits[tightest].limit;
    occ->workgroups_per_cu = limits[tightest].workgroups;
    if (occ->workgroups_per_cu == 0) {
        unknown(occ, "one workgroup of %u waves with %u VGPRs per lane does not fit on a %s", waves,
                need->vgprs, have->name);
        return;
    }
    occ->known = true;
    occ->waves_per_cu = occ->workgroups_per_cu * waves;
    occ->waves_per_simd = occ->waves_per_cu / have->simds;
    occ->theoretical = (double)occ->waves_per_cu / have->slots;
    if (occ->waves_per_cu == have->slots)
        occ->limiter = RP_LIMIT_NONE;
    explain(occ, arch, have, need);
}

/** An unknown occupancy must not carry numbers. */
static void keep_reason_only(struct rp_occupancy *occ)
{
    struct rp_occupancy bare = {.known = false, .wave_size = occ->wave_size};

    memcpy(bare.reason, occ->reason, sizeof bare.reason);
    *occ = bare;
}

void rp_occupancy_compute(const struct rp_arch *arch, const struct rp_kernel_resources *res,
                          struct rp_occupancy *ret)
{
    struct rp_occupancy occ = {.wave_size = res->wave_size};
    struct supply have;
    struct demand need;

    if (!arch) {
        unknown(&occ, "the architecture is not in the table");
        *ret = occ;
        return;
    }
    if (occ.wave_size == 0)
        occ.wave_size = arch->wave_size;
    if (occ.wave_size != arch->wave_size &&
        !(arch->wave_sizes_scale_vgprs && occ.wave_size == 64)) {
        unknown(&occ, "waves of %u lanes do not exist on %s", occ.wave_size, arch->name);
        *ret = occ;
        return;
    }
    have = supply_of(arch, occ.wave_size);
    if (demand_of(arch, res, &have, &need, &occ)) {
        uint32_t most = arch->max_waves_per_simd;
        uint32_t waves = (res->workgroup_size + occ.wave_size - 1) / occ.wave_size;

        occ.cus_per_block = arch->cus_per_block;
        occ.max_waves_per_simd = most;
        occ.max_waves_per_cu = have.slots;
        occ.waves_per_workgroup = waves;
        occ.vgpr_waves_per_simd = min_u32(most, have.vgprs / need.vgprs);
        occ.sgpr_waves_per_simd = arch->sgprs_per_simd && need.sgprs
                                      ? min_u32(most, arch->sgprs_per_simd / need.sgprs)
                                      : most;
        occ.slot_workgroups_per_cu = have.slots / waves;
        /* Only workgroups of several waves need one of the barrier resources. */
        if (waves > 1)
            occ.slot_workgroups_per_cu = min_u32(occ.slot_workgroups_per_cu, have.max_workgroups);
        occ.lds_workgroups_per_cu = need.lds_bytes ? have.lds_bytes / need.lds_bytes : RP_NO_LIMIT;
        decide(arch, &have, &need, &occ);
    }
    if (!occ.known)
        keep_reason_only(&occ);
    *ret = occ;
}

const char *const rp_occupancy_limit_names[] = {[RP_LIMIT_NONE] = "none",
                                                [RP_LIMIT_VGPR] = "vgpr",
                                                [RP_LIMIT_SGPR] = "sgpr",
                                                [RP_LIMIT_LDS] = "lds",
                                                [RP_LIMIT_WORKGROUP_SIZE] = "workgroup_size"};

/** Two kernel symbols with these equal are the same kernel, whichever process loaded them. */
struct rp_kernel_identity {
    const char *name, *symbol; /**< owned by the profile's memory */
    bool runtime_internal;
    bool symbol_known; /**< false: the trace has no row for the kernel id */
    uint32_t arch_vgpr, accum_vgpr, sgpr, wave_size;
    uint64_t code_hash; /**< rp_kernel_contents */
    uint32_t rank;      /**< equal for equal kernels, ordered by name; set by the ranking */
};

/** This is working state; the caller owns the profile under construction. */
struct rp_profile_build {
    struct rp_profile *profile;
    struct rp_kernel_identity *identities;
    size_t identity_count, identity_capacity;
    struct rp_dispatch_group *groups;
    size_t group_count;
};

static uint32_t positive_u32(const json_t *object, const char *key)
{
    return (uint32_t)rp_extdata_positive(object, key, UINT32_MAX);
}

/** The memory of the device is its largest bank. */
static void read_memory_banks(const json_t *extdata, struct rp_agent_summary *agent)
{
    const json_t *banks = json_object_get(extdata, "mem_banks");

    for (size_t i = 0; i < json_array_size(banks); i++) {
        const json_t *bank = json_array_get(banks, i);
        uint64_t bytes = rp_extdata_positive(bank, "size_in_bytes", INT64_MAX);

        if (bytes > agent->memory_bytes)
            agent->memory_bytes = bytes;
        if (!agent->memory_clock_mhz)
            agent->memory_clock_mhz = positive_u32(bank, "mem_clk_max");
    }
}

static void fall_back(uint32_t *value, uint32_t product, uint32_t arch)
{
    if (*value == 0)
        *value = product ? product : arch;
}

/** Values that the trace lacks come from the product's row, then from the architecture's. */
static void complete_from_table(struct rp_agent_summary *agent, uint32_t pci_device_id)
{
    static const struct rp_arch_product nothing;
    const struct rp_arch *arch = agent->arch;
    const struct rp_arch_product *product;

    if (!arch)
        return;
    agent->family = arch->family;
    agent->simds_per_cu = arch->simds_per_cu;
    agent->max_waves_per_simd = arch->max_waves_per_simd;
    agent->lds_bytes_per_cu = arch->lds_bytes_per_cu;
    product =
        rp_arch_product_find(arch, pci_device_id, agent->compute_units, agent->memory_clock_mhz);
    if (product && agent->product[0] == '\0')
        snprintf(agent->product, sizeof agent->product, "%s", product->name);
    if (!product)
        product = &nothing;
    fall_back(&agent->compute_units, product->compute_units, arch->compute_units);
    fall_back(&agent->xcc_count, product->xcc_count, arch->xcc_count);
    fall_back(&agent->engine_clock_mhz, product->engine_clock_mhz, arch->engine_clock_mhz);
    fall_back(&agent->memory_clock_mhz, product->memory_clock_mhz, arch->memory_clock_mhz);
    fall_back(&agent->wave_size, 0, arch->wave_size);
    if (agent->memory_bytes == 0)
        agent->memory_bytes = product->memory_bytes ? product->memory_bytes : arch->memory_bytes;
}

static int describe(const struct rp_row_agent *row, struct rp_agent_summary *agent,
                    struct rp_err *err)
{
    json_t *extdata;
    int rc = rp_extdata_load(row->extdata, &extdata, err);

    if (rc < 0)
        return rc;

    snprintf(agent->name, sizeof agent->name, "%s",
             row->name && *row->name ? row->name : "unknown");
    if (row->product_name)
        snprintf(agent->product, sizeof agent->product, "%s", row->product_name);
    agent->arch = rp_arch_find(agent->name);
    agent->compute_units = positive_u32(extdata, "cu_count");
    agent->wave_size = positive_u32(extdata, "wave_front_size");
    agent->xcc_count = positive_u32(extdata, "num_xcc");
    agent->modelled_clock_mhz = positive_u32(extdata, RP_CLOCK_KEY);
    agent->engine_clock_mhz = agent->modelled_clock_mhz
                                  ? agent->modelled_clock_mhz
                                  : positive_u32(extdata, "max_engine_clk_fcompute");
    read_memory_banks(extdata, agent);
    complete_from_table(agent, positive_u32(extdata, "device_id"));
    json_decref(extdata);
    return 0;
}

/* The id is the driver's number of a GPU on one host; on another host it may be another GPU. */
static bool same_gpu(const struct rp_agent_summary *a, const struct rp_agent_summary *b)
{
    return a->trace_id == b->trace_id && strcmp(a->name, b->name) == 0 &&
           strcmp(a->product, b->product) == 0 && a->compute_units == b->compute_units &&
           a->engine_clock_mhz == b->engine_clock_mhz &&
           a->memory_clock_mhz == b->memory_clock_mhz && a->memory_bytes == b->memory_bytes;
}

/**
 * Returns the index of the GPU in the profile's agents, and adds it when new.
 * @param row NULL: the trace has no such agent; then only trace_id is known of it
 */
static int profile_agent(struct rp_profile *profile, const struct rp_row_agent *row,
                         int64_t trace_id, uint32_t *ret_index, struct rp_err *err)
{
    struct rp_agent_summary agent = {.name = "unknown", .trace_id = trace_id};
    struct rp_agent_summary *grown;

    if (row && describe(row, &agent, err) < 0)
        return -(int)RP_ENVIRONMENT;
    for (size_t i = 0; i < profile->agent_count; i++) {
        if (same_gpu(&profile->agents[i], &agent)) {
            *ret_index = (uint32_t)i;
            return 0;
        }
        if (strcmp(profile->agents[i].product, agent.product) == 0 &&
            strcmp(profile->agents[i].name, agent.name) == 0 &&
            profile->agents[i].modelled_clock_mhz != agent.modelled_clock_mhz)
            return rp_refuse_clocks("one trace", profile->agents[i].modelled_clock_mhz, "one trace",
                                    agent.modelled_clock_mhz, RP_ONE_CLOCK, err);
    }
    grown = realloc(profile->agents, (profile->agent_count + 1) * sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    profile->agents = grown;
    grown[profile->agent_count] = agent;
    *ret_index = (uint32_t)profile->agent_count++;
    return 0;
}

/** This is an agent on its way to its new place. */
struct moving {
    struct rp_agent_summary agent;
    uint32_t from;
};

static int by_trace_id(const void *left, const void *right)
{
    const struct moving *a = left, *b = right;
    int order = (a->agent.trace_id > b->agent.trace_id) - (a->agent.trace_id < b->agent.trace_id);

    if (order == 0)
        order = strcmp(a->agent.name, b->agent.name);
    if (order == 0)
        order = strcmp(a->agent.product, b->agent.product);
    return order ? order : (a->from > b->from) - (a->from < b->from);
}

/** Sorts the agents by trace id and name, and renumbers the groups. */
static int profile_sort_agents(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    size_t count = profile->agent_count;
    rp_autofree struct moving *moving = calloc(count + 1, sizeof *moving);
    rp_autofree uint32_t *place = calloc(count + 1, sizeof *place);

    if (!moving || !place)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        moving[i] = (struct moving){.agent = profile->agents[i], .from = (uint32_t)i};
    qsort(moving, count, sizeof *moving, by_trace_id);
    for (size_t i = 0; i < count; i++) {
        profile->agents[i] = moving[i].agent;
        place[moving[i].from] = (uint32_t)i;
    }
    for (size_t i = 0; i < build->group_count; i++)
        build->groups[i].agent = place[build->groups[i].agent];
    return 0;
}

/* rocprofv3 of ROCm 7.0 and 7.1 reads gfx950's descriptors with the rules of older GPUs: VGPR_Count
 * is half of the unified total and the accumulation count is 0 in every kernel. This finds the
 * agents whose trace shows it. */
static int find_halved_vgprs(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    size_t count = profile->agent_count;
    rp_autofree bool *whole = calloc(count + 1, sizeof *whole);

    if (!whole)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < build->group_count; i++) {
        const struct rp_dispatch_group *group = &build->groups[i];
        struct rp_agent_summary *agent = &profile->agents[group->agent];
        const struct rp_kernel_identity *id = &build->identities[group->identity];

        if (!agent->arch || !agent->arch->vgprs_halved_by_rocm_7 || group->counts_are_whole)
            whole[group->agent] = true;
        else if (id->accum_vgpr > 0)
            whole[group->agent] = true;
        else if (id->arch_vgpr > 0)
            agent->vgprs_doubled = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (whole[i])
            profile->agents[i].vgprs_doubled = false;
    }
    return 0;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/** The columns of 3.0.x have no wave size; a tracer that knows it writes it to the extra data. */
static int read_wave_size(const struct rp_row_kernel *row, uint32_t *ret, struct rp_err *err)
{
    json_t *extdata;
    int rc = rp_extdata_load(row->extdata, &extdata, err);

    if (rc < 0)
        return rc;
    *ret = (uint32_t)rp_extdata_positive(extdata, "wave_size", UINT32_MAX);
    json_decref(extdata);
    return 0;
}

/** Adds an identity for a kernel row (NULL: kernel_id is unknown in the trace). */
static int profile_identity(struct rp_profile_build *build, const struct rp_row_kernel *row,
                            int64_t kernel_id, size_t *ret_index, struct rp_err *err)
{
    struct rp_profile_memory *memory = build->profile->memory;
    struct rp_kernel_identity id = {0};
    struct rp_kernel_identity *grown;
    const char *symbol = row && row->kernel_name ? row->kernel_name : "";
    const char *name = row && row->display_name && *row->display_name ? row->display_name : symbol;
    char missing[64];

    /* Counts are what the hardware allocates, never all zero. A row without any only keeps the
     * trace's references whole and says nothing of the kernel. */
    id.symbol_known = row && (row->arch_vgpr_count || row->accum_vgpr_count || row->sgpr_count);
    if (*name == '\0') {
        snprintf(missing, sizeof missing, "(unknown kernel %lld)", (long long)kernel_id);
        name = missing;
    }
    id.symbol = rp_profile_keep(memory, symbol, rp_kernel_name_length(symbol));
    id.name = rp_profile_keep(memory, name, rp_kernel_name_length(name));
    grown =
        rp_grow(build->identities, build->identity_count, &build->identity_capacity, sizeof *grown);
    if (grown)
        build->identities = grown;
    if (!id.symbol || !id.name || !grown)
        return rp_out_of_memory(err);
    id.runtime_internal =
        starts_with(id.name, "__amd_rocclr_") || starts_with(id.symbol, "__amd_rocclr_");
    id.code_hash = row ? rp_kernel_contents(row) : 0;
    if (id.symbol_known) {
        id.arch_vgpr = rp_column_u32(row->arch_vgpr_count);
        id.accum_vgpr = rp_column_u32(row->accum_vgpr_count);
        id.sgpr = rp_column_u32(row->sgpr_count);
        if (read_wave_size(row, &id.wave_size, err) < 0)
            return -(int)RP_ENVIRONMENT;
    }
    grown[build->identity_count] = id;
    *ret_index = build->identity_count++;
    return 0;
}

static int order_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_identities(const struct rp_kernel_identity *a,
                              const struct rp_kernel_identity *b)
{
    int order = strcmp(a->name, b->name);

    if (!order)
        order = strcmp(a->symbol, b->symbol);
    if (!order)
        order = order_u32(a->symbol_known, b->symbol_known);
    if (!order)
        order = order_u32(a->arch_vgpr, b->arch_vgpr);
    if (!order)
        order = order_u32(a->accum_vgpr, b->accum_vgpr);
    if (!order)
        order = order_u32(a->sgpr, b->sgpr);
    if (!order)
        order = order_u32(a->wave_size, b->wave_size);
    return order;
}

static int by_identity(const void *left, const void *right)
{
    struct rp_kernel_identity *const *a = left, *const *b = right;

    return compare_identities(*a, *b);
}

/** Gives equal identities equal ranks. */
static int profile_rank(struct rp_profile_build *build, struct rp_err *err)
{
    size_t count = build->identity_count;
    rp_autofree struct rp_kernel_identity **sorted = calloc(count + 1, sizeof *sorted);
    uint32_t rank = 0;

    if (!sorted)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &build->identities[i];
    qsort(sorted, count, sizeof *sorted, by_identity);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && compare_identities(sorted[i - 1], sorted[i]) != 0)
            rank++;
        sorted[i]->rank = rank;
    }
    return 0;
}

static int compare_geometries(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b)
{
    for (size_t i = 0; i < RP_GEOMETRY_COLUMNS; i++) {
        if (a->geometry[i] != b->geometry[i])
            return a->geometry[i] < b->geometry[i] ? -1 : 1;
    }
    return 0;
}

static int by_kernel_and_geometry(const void *left, const void *right, void *identities)
{
    const struct rp_dispatch_group *a = left, *b = right;
    const struct rp_kernel_identity *ids = identities;
    uint32_t rank_a = ids[a->identity].rank, rank_b = ids[b->identity].rank;
    int order;

    if (a->agent != b->agent)
        return a->agent < b->agent ? -1 : 1;
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    order = compare_geometries(a, b);
    return order ? order : rp_profile_by_first(a, b);
}

static bool same_kernel(const struct rp_profile_build *build, const struct rp_dispatch_group *a,
                        const struct rp_dispatch_group *b)
{
    return a->agent == b->agent &&
           build->identities[a->identity].rank == build->identities[b->identity].rank;
}

static uint32_t work_items(const uint32_t block[3])
{
    uint64_t n = (uint64_t)block[0] * block[1];

    if (n > UINT32_MAX)
        return UINT32_MAX;
    n *= block[2];
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/** Takes grid, block, LDS and scratch from the launches, the registers from the symbol. */
static void set_geometry(const struct rp_profile *profile, const struct rp_kernel_identity *id,
                         const int64_t *geometry, struct rp_kernel_summary *kernel)
{
    const struct rp_agent_summary *agent = &profile->agents[kernel->agent];
    struct rp_kernel_resources *res = &kernel->resources;

    for (int i = 0; i < 3; i++) {
        kernel->grid[i] = geometry[i] > 0 ? (uint64_t)geometry[i] : 0;
        kernel->block[i] = rp_column_u32(geometry[3 + i]);
    }
    *res = (struct rp_kernel_resources){
        .arch_vgpr = id->arch_vgpr,
        .accum_vgpr = id->accum_vgpr,
        .sgpr = id->sgpr,
        .lds_bytes = rp_column_u32(geometry[6]),
        .scratch_bytes = rp_column_u32(geometry[7]),
        .workgroup_size = work_items(kernel->block),
        .wave_size = id->wave_size ? id->wave_size : agent->wave_size,
    };
    if (agent->vgprs_doubled && res->arch_vgpr <= UINT32_MAX / 2)
        res->arch_vgpr *= 2;
    if (id->symbol_known) {
        rp_occupancy_compute(agent->arch, res, &kernel->occupancy);
        if (!agent->arch && strcmp(agent->name, "unknown") != 0)
            snprintf(kernel->occupancy.reason, sizeof kernel->occupancy.reason,
                     "the architecture %s is not in the table", agent->name);
    } else
        snprintf(kernel->occupancy.reason, sizeof kernel->occupancy.reason,
                 "the trace has no symbol of this kernel");
}

static int add_times(struct rp_kernel_summary *kernel, const struct rp_dispatch_group *group,
                     uint64_t *replayed_ns, struct rp_err *err)
{
    kernel->calls += group->count;
    rp_simulated_timing_add(&kernel->replayed, replayed_ns, &group->replayed, group->replayed_ns);
    if (group->timed_count == 0)
        return 0;
    if (__builtin_add_overflow(kernel->total_ns, group->total_ns, &kernel->total_ns))
        return rp_refuse_sum(NULL, err);
    if (kernel->timed_calls == 0 || group->min_ns < kernel->min_ns)
        kernel->min_ns = group->min_ns;
    if (group->max_ns > kernel->max_ns)
        kernel->max_ns = group->max_ns;
    kernel->timed_calls += group->timed_count;
    return 0;
}

/** Summarises groups[0..count), all of one kernel, equal geometries side by side. */
static int summarise(const struct rp_profile_build *build, const struct rp_dispatch_group *groups,
                     size_t count, struct rp_kernel_summary *kernel, struct rp_err *err)
{
    const struct rp_kernel_identity *id = &build->identities[groups[0].identity];
    const struct rp_dispatch_group *frequent = groups;
    uint64_t most = 0, calls = 0, replayed_ns = 0;
    size_t first = 0;

    *kernel = (struct rp_kernel_summary){
        .name = id->name,
        .symbol = id->symbol,
        .code_hash = id->code_hash,
        .symbol_known = id->symbol_known,
        .runtime_internal = id->runtime_internal,
        .agent = groups[0].agent,
    };
    for (size_t i = 0; i < count; i++) {
        int rc = add_times(kernel, &groups[i], &replayed_ns, err);

        if (rc < 0)
            return rc;
        calls += groups[i].count;
        if (i + 1 < count && compare_geometries(&groups[i], &groups[i + 1]) == 0)
            continue;
        /* groups[first..i] have one geometry, and groups[first] was launched before the rest of
         * them. */
        kernel->geometries++;
        if (calls > most || (calls == most && rp_profile_by_first(&groups[first], frequent) < 0)) {
            most = calls;
            frequent = &groups[first];
        }
        first = i + 1;
        calls = 0;
    }
    set_geometry(build->profile, id, frequent->geometry, kernel);
    return 0;
}

static int by_class_time_name(const void *left, const void *right)
{
    const struct rp_kernel_summary *a = left, *b = right;
    int order;

    if (a->runtime_internal != b->runtime_internal)
        return a->runtime_internal ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    order = strcmp(a->name, b->name);
    if (!order)
        order = (a->agent > b->agent) - (a->agent < b->agent);
    if (!order)
        order = strcmp(a->symbol, b->symbol);
    /* The rest was distinguished by its registers, in this order. */
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int set_totals(struct rp_profile *profile, struct rp_err *err)
{
    for (size_t i = 0; i < profile->kernel_count; i++) {
        const struct rp_kernel_summary *k = &profile->kernels[i];
        uint64_t *total = k->runtime_internal ? &profile->runtime_internal_ns : &profile->user_ns;

        if (__builtin_add_overflow(*total, k->total_ns, total))
            return rp_refuse_sum(NULL, err);
    }
    for (size_t i = 0; i < profile->kernel_count; i++) {
        struct rp_kernel_summary *k = &profile->kernels[i];
        uint64_t total = k->runtime_internal ? profile->runtime_internal_ns : profile->user_ns;

        k->share = total ? (double)k->total_ns / (double)total : 0;
    }
    return 0;
}

/** Puts the groups together in profile->kernels, with totals, geometries, occupancy and order. */
static int profile_group(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    struct rp_dispatch_group *groups = build->groups;
    size_t capacity = 0;
    uint64_t replayed_ns = 0;

    for (size_t i = 0; i < build->group_count; i++)
        rp_simulated_timing_add(&profile->replayed, &replayed_ns, &groups[i].replayed,
                                groups[i].replayed_ns);
    if (build->group_count) /* Without any group the array is NULL. */
        qsort_r(groups, build->group_count, sizeof *groups, by_kernel_and_geometry,
                build->identities);
    for (size_t first = 0, next; first < build->group_count; first = next) {
        struct rp_kernel_summary *grown =
            rp_grow(profile->kernels, profile->kernel_count, &capacity, sizeof *grown);
        int rc;

        if (!grown)
            return rp_out_of_memory(err);
        profile->kernels = grown;
        for (next = first + 1; next < build->group_count; next++) {
            if (!same_kernel(build, &groups[first], &groups[next]))
                break;
        }
        rc = summarise(build, groups + first, next - first, &grown[profile->kernel_count], err);
        if (rc < 0)
            return rc;
        grown[profile->kernel_count].rank = build->identities[groups[first].identity].rank;
        profile->kernel_count++;
    }
    if (profile->kernel_count)
        qsort(profile->kernels, profile->kernel_count, sizeof *profile->kernels,
              by_class_time_name);
    return set_totals(profile, err);
}

RP_DEFINE_CLEANUP(struct rp_profile, rp_profile_free)

/** Holds rows of one store and what has been made of them so far. */
struct loaded {
    const struct rp_store *store;
    const struct rp_row_agent *agents;
    const struct rp_row_kernel *kernels;
    struct rp_dispatch_group *groups;
    size_t agent_count, kernel_count, group_count;
    /* Holds an index + 1 into profile->agents / build->identities per row; 0 means not needed yet.
     */
    size_t *agent_index, *kernel_index;
    struct rp_overlapped overlapped;
    struct rp_gpu_span span;
    bool built_in;
};

static void free_lines(struct rp_call_lines **lines)
{
    rp_call_lines_free(*lines);
}

static void loaded_free(struct loaded *l)
{
    free(l->agent_index);
    free(l->kernel_index);
    free(l->groups);
}

static int load(struct rp_store *store, uint32_t number, struct loaded *ret, struct rp_err *err)
{
    int rc = rp_store_agents(store, &ret->agents, &ret->agent_count, err);

    if (rc == 0)
        rc = rp_store_kernels(store, &ret->kernels, &ret->kernel_count, err);
    if (rc == 0)
        rc = rp_profile_read_groups(store, number, &ret->groups, &ret->group_count,
                                    &ret->overlapped, &ret->span, err);
    if (rc < 0)
        return rc;
    ret->agent_index = calloc(ret->agent_count + 1, sizeof *ret->agent_index);
    ret->kernel_index = calloc(ret->kernel_count + 1, sizeof *ret->kernel_index);
    if (!ret->agent_index || !ret->kernel_index)
        return rp_out_of_memory(err);
    ret->store = store;
    ret->built_in = rp_store_metadata(store, "rocm_perf_device") != NULL;
    return 0;
}

/* Ids are unique within one traced process only, because a merged database has several of each. */
static int resolve_agent(struct rp_profile_build *build, const struct loaded *l,
                         const struct rp_dispatch_group *group, uint32_t *ret, struct rp_err *err)
{
    int64_t id = group->agent_id;
    const struct rp_row_agent *row = rp_store_find_agent(l->store, group->guid_index, id);
    size_t *known = row ? &l->agent_index[row - l->agents] : NULL;
    int rc;

    if (known && *known) {
        *ret = (uint32_t)(*known - 1);
        return 0;
    }
    rc = profile_agent(build->profile, row, id, ret, err);
    if (rc == 0 && known)
        *known = (size_t)*ret + 1;
    return rc;
}

static int resolve_kernel(struct rp_profile_build *build, const struct loaded *l,
                          const struct rp_dispatch_group *group, size_t *ret, struct rp_err *err)
{
    int64_t id = group->kernel_id;
    const struct rp_row_kernel *row = rp_store_find_kernel(l->store, group->guid_index, id);
    size_t *known = row ? &l->kernel_index[row - l->kernels] : NULL;
    int rc;

    if (known && *known) {
        *ret = *known - 1;
        return 0;
    }
    rc = profile_identity(build, row, id, ret, err);
    if (rc == 0 && known)
        *known = *ret + 1;
    return rc;
}

static int resolve(struct rp_profile_build *build, const struct loaded *l, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    struct rp_dispatch_group *grown =
        reallocarray(build->groups, build->group_count + l->group_count + 1, sizeof *grown);

    if (!grown)
        return rp_out_of_memory(err);
    build->groups = grown;
    for (size_t i = 0; i < l->group_count; i++) {
        struct rp_dispatch_group *group = &build->groups[build->group_count];
        int rc;

        *group = l->groups[i];
        group->counts_are_whole = l->built_in;
        rc = resolve_agent(build, l, group, &group->agent, err);
        if (rc == 0)
            rc = resolve_kernel(build, l, group, &group->identity, err);
        if (rc < 0)
            return rc;
        group->name = build->identities[group->identity].name;
        build->group_count++;
        profile->dispatches += group->count;
        if (!build->identities[group->identity].symbol_known)
            profile->unknown_kernels += group->count;
        profile->repaired_timestamps += group->count - group->timed_count;
    }
    return 0;
}

static int analyse(struct rp_profile_build *build, struct rp_err *err)
{
    int rc = profile_sort_agents(build, err);

    if (rc == 0)
        rc = find_halved_vgprs(build, err);
    if (rc == 0)
        rc = profile_rank(build, err);
    if (rc == 0)
        rc = profile_group(build, err);
    return rc;
}

/* Numbers kernels as build->identities. */
static size_t number_of_kernel(const void *ctx, uint32_t guid_index, int64_t kernel_id)
{
    const struct loaded *l = ctx;
    const struct rp_row_kernel *row = rp_store_find_kernel(l->store, guid_index, kernel_id);

    return row && l->kernel_index[row - l->kernels] ? l->kernel_index[row - l->kernels] - 1
                                                    : SIZE_MAX;
}

static int find_lines(struct rp_profile_build *build, struct rp_store *const *stores, size_t count,
                      const struct loaded *loaded, struct rp_err *err)
{
    rp_cleanup(free_lines) struct rp_call_lines *lines = rp_call_lines_new();
    rp_autofree uint32_t *ranks = calloc(build->identity_count + 1, sizeof *ranks);
    int rc = 0;

    if (!lines || !ranks)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < build->identity_count; i++)
        ranks[i] = build->identities[i].rank;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = rp_call_lines_add(lines, stores[i], number_of_kernel, &loaded[i], err);
    return rc < 0 ? rc
                  : rp_call_lines_put(lines, ranks, build->identity_count, build->profile, err);
}

static int build_from(struct rp_profile_build *build, struct rp_store *const *stores, size_t count,
                      struct loaded *loaded, struct rp_err *err)
{
    struct rp_losses losses = {0};
    const struct rp_corrected_end *ends;
    size_t end_count;

    for (size_t i = 0; i < count; i++) {
        int rc = load(stores[i], (uint32_t)i, &loaded[i], err);

        if (rc == 0)
            rc = resolve(build, &loaded[i], err);
        if (rc < 0)
            return rc;
        build->profile->overlapped.dispatches += loaded[i].overlapped.dispatches;
        build->profile->overlapped.ns += loaded[i].overlapped.ns;
        if (rp_store_corrected_ends(stores[i], &ends, &end_count))
            build->profile->clipped_ends += end_count;
        rp_losses_add(&losses, stores[i]);
    }
    build->profile->complete = rp_losses_none(&losses);
    if (count == 1)
        build->profile->gpu_span_ns = (uint64_t)(loaded->span.last_ns - loaded->span.first_ns);
    int rc = rp_profile_timing(build->profile, stores, count, err);
    if (rc == 0)
        rc = rp_profile_launches(build->profile, stores, count, err);
    if (rc == 0)
        rc = rp_profile_processes(build->profile, stores, count, build->groups, build->group_count,
                                  build->identity_count, err);
    if (rc == 0)
        rc = analyse(build, err);
    return rc < 0 ? rc : find_lines(build, stores, count, loaded, err);
}

int rp_profile_compute(struct rp_store *const *stores, size_t base_count, const double *runtime_ms,
                       size_t runs, struct rp_profile **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_profile_free) struct rp_profile *profile = calloc(1, sizeof *profile);
    struct rp_profile_build build = {.profile = profile};
    rp_autofree struct loaded *loaded = calloc(base_count + 1, sizeof *loaded);
    int rc;

    if (!profile || !loaded)
        return rp_out_of_memory(err);
    profile->memory = calloc(1, sizeof *profile->memory);
    if (!profile->memory)
        return rp_out_of_memory(err);
    rc = build_from(&build, stores, base_count, loaded, err);
    for (size_t i = 0; i < base_count; i++)
        loaded_free(&loaded[i]);
    free(build.identities);
    free(build.groups);
    if (rc < 0)
        return rc;
    rp_stability_compute(runtime_ms, runs, &profile->stability);
    *ret = rp_steal(profile);
    return 0;
}

void rp_profile_free(struct rp_profile *profile)
{
    if (!profile)
        return;
    if (profile->memory) {
        for (size_t i = 0; i < profile->memory->count; i++)
            free(profile->memory->strings[i]);
        free(profile->memory->strings);
    }
    free(profile->memory);
    free(profile->agents);
    free(profile->launches.list);
    free(profile->processes);
    free(profile->kernels);
    free(profile);
}

/* Up to this coefficient of variation repeated runs count as stable, or moderate. */
static const double stable_cv = 0.05;
static const double moderate_cv = 0.10;

static enum rp_stability_class classify(const struct rp_stability *s)
{
    if (s->runs < 2 || !isfinite(s->cv))
        return RP_STABILITY_UNKNOWN;
    if (s->cv <= stable_cv)
        return RP_STABLE;
    return s->cv <= moderate_cv ? RP_MODERATE : RP_UNSTABLE;
}

void rp_stability_compute(const double *runtime_ms, size_t runs, struct rp_stability *ret)
{
    struct rp_stability s = {.runs = (uint32_t)runs, .classification = RP_STABILITY_UNKNOWN};
    double sum_of_squares = 0;

    /* Deviations are taken from the first run: equal runs then have exactly their own value as
     * mean, and two passes keep deviations that are small against the mean. */
    for (size_t i = 1; i < runs; i++)
        s.mean_ms += (runtime_ms[i] - runtime_ms[0]) / (double)runs;
    if (runs > 0)
        s.mean_ms += runtime_ms[0];
    for (size_t i = 0; i < runs; i++)
        sum_of_squares += (runtime_ms[i] - s.mean_ms) * (runtime_ms[i] - s.mean_ms);
    if (runs > 1)
        s.stddev_ms = sqrt(sum_of_squares / (double)(runs - 1));
    /* Runs without any kernel time agree perfectly. */
    s.cv = s.mean_ms > 0 ? s.stddev_ms / s.mean_ms : 0;
    s.classification = classify(&s);
    *ret = s;
}

const char *const rp_stability_class_names[] = {[RP_STABLE] = "stable",
                                                [RP_MODERATE] = "moderate",
                                                [RP_UNSTABLE] = "unstable",
                                                [RP_STABILITY_UNKNOWN] = "unknown"};
