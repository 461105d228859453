#include "analysis/extdata.h"
#include "analysis/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/** The columns of 3.0.x have no wave size; a tracer that knows it says so in the extra data. */
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

int rp_profile_identity(struct rp_profile_build *build, const struct rp_row_kernel *row,
                        int64_t kernel_id, size_t *ret_index, struct rp_err *err)
{
    struct rp_profile_memory *memory = build->profile->memory;
    struct rp_kernel_identity id = {0};
    struct rp_kernel_identity *grown;
    const char *symbol = row && row->kernel_name ? row->kernel_name : "";
    const char *name = row && row->display_name && *row->display_name ? row->display_name : symbol;
    char missing[64];

    /* Counts are what the hardware allocates, never all zero: a row without any only keeps the
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

int rp_profile_rank(struct rp_profile_build *build, struct rp_err *err)
{
    size_t count = build->identity_count;
    rp_autofree struct rp_kernel_identity **sorted = calloc(count + 1, sizeof *sorted);
    uint32_t rank = 0;

    if (!sorted)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
