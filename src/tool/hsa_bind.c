/**
 * @file hsa_bind.c
 * @brief Takes the runtime's functions out of its API tables, as far as the tables reach.
 */
#include "hsa_abi.h"

static bool reaches(const struct rp_hsa_table *table, size_t index)
{
    return table->version.minor_id >=
               offsetof(struct rp_hsa_table, fn) + (index + 1) * sizeof(table->fn[0]) &&
           table->fn[index] != NULL;
}

bool rp_hsa_bind(struct rp_hsa *hsa, const struct rp_hsa_tables *tables)
{
    enum { OPTIONAL, REQUIRED };
    const struct rp_hsa_table *core = tables->core;
    const struct rp_hsa_table *amd = tables->amd;

    if (tables->version.minor_id < sizeof(*tables) || !core || !amd ||
        core->version.major_id != RP_HSA_CORE_MAJOR || amd->version.major_id != RP_HSA_AMD_MAJOR)
        return false;

#define RP_HSA(table, index, need, ret, name, args)                                                \
    hsa->name = NULL;                                                                              \
    if (reaches(table, index))                                                                     \
        hsa->name = (__typeof__(hsa->name))table->fn[index];                                       \
    else if ((need) == REQUIRED)                                                                   \
        return false;
#include "hsa.def"
    return true;
}
