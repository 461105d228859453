#include "analysis/extdata.h"
#include "analysis/parts.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t positive_u32(const json_t *object, const char *key)
{
    return (uint32_t)rp_extdata_positive(object, key, UINT32_MAX);
}

/** Memory of the device: its largest bank. */
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

/** What the trace does not say comes from the product's, then the architecture's row. */
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
    agent->engine_clock_mhz = positive_u32(extdata, "max_engine_clk_fcompute");
    read_memory_banks(extdata, agent);
    complete_from_table(agent, positive_u32(extdata, "device_id"));
    json_decref(extdata);
    return 0;
}

/* The id is the driver's number of a GPU on one host; on another it may be another GPU. */
static bool same_gpu(const struct rp_agent_summary *a, const struct rp_agent_summary *b)
{
    return a->trace_id == b->trace_id && strcmp(a->name, b->name) == 0 &&
           strcmp(a->product, b->product) == 0 && a->compute_units == b->compute_units &&
           a->engine_clock_mhz == b->engine_clock_mhz &&
           a->memory_clock_mhz == b->memory_clock_mhz && a->memory_bytes == b->memory_bytes;
}

int rp_profile_agent(struct rp_profile *profile, const struct rp_row_agent *row, int64_t trace_id,
                     uint32_t *ret_index, struct rp_err *err)
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
    }
    grown = realloc(profile->agents, (profile->agent_count + 1) * sizeof *grown);
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    profile->agents = grown;
    grown[profile->agent_count] = agent;
    *ret_index = (uint32_t)profile->agent_count++;
    return 0;
}

/** An agent on its way to its new place. */
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

int rp_profile_sort_agents(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    size_t count = profile->agent_count;
    rp_autofree struct moving *moving = calloc(count + 1, sizeof *moving);
    rp_autofree uint32_t *place = calloc(count + 1, sizeof *place);

    if (!moving || !place)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

/* rocprofv3 of ROCm 7.0 and 7.1 reads gfx950 descriptors with the rules of older GPUs: VGPR_Count
 * is half of the unified total and the accumulation count is 0 in every kernel. */
int rp_profile_mend_gfx950(struct rp_profile_build *build, struct rp_err *err)
{
    struct rp_profile *profile = build->profile;
    size_t count = profile->agent_count;
    rp_autofree bool *whole = calloc(count + 1, sizeof *whole);

    if (!whole)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < build->group_count; i++) {
        const struct rp_dispatch_group *group = &build->groups[i];
        struct rp_agent_summary *agent = &profile->agents[group->agent];
        const struct rp_kernel_identity *id = &build->identities[group->identity];

        if (!agent->arch || strcmp(agent->arch->name, "gfx950") != 0 || group->counts_are_whole)
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
