#include "analysis/roofline/parts.h"

#include "arch/arch.h"

#include <stdlib.h>
#include <string.h>

/* A counter belongs to what one formula needs: those should be counted in one run. */
enum group { F16, F32, F64, MATRIX, READ, WRITE, LDS, L1_MISS, L1, L2, SIMPLE_WORK, SIMPLE_MEMORY };

static const struct {
    enum rp_roof_counter counter;
    enum group group;
} needs[] = {
    {RP_ROOF_ADD_F16, F16},
    {RP_ROOF_MUL_F16, F16},
    {RP_ROOF_TRANS_F16, F16},
    {RP_ROOF_FMA_F16, F16},
    {RP_ROOF_ADD_F32, F32},
    {RP_ROOF_MUL_F32, F32},
    {RP_ROOF_TRANS_F32, F32},
    {RP_ROOF_FMA_F32, F32},
    {RP_ROOF_ADD_F64, F64},
    {RP_ROOF_MUL_F64, F64},
    {RP_ROOF_TRANS_F64, F64},
    {RP_ROOF_FMA_F64, F64},
    {RP_ROOF_MOPS_F16, MATRIX},
    {RP_ROOF_MOPS_BF16, MATRIX},
    {RP_ROOF_MOPS_F32, MATRIX},
    {RP_ROOF_MOPS_F64, MATRIX},
    {RP_ROOF_MOPS_F8, MATRIX},
    {RP_ROOF_MOPS_F6F4, MATRIX},
    {RP_ROOF_MOPS_I8, MATRIX},
    {RP_ROOF_READS, READ},
    {RP_ROOF_READS_32, READ},
    {RP_ROOF_READS_64, READ},
    {RP_ROOF_READS_128, READ},
    {RP_ROOF_BUBBLES, READ},
    {RP_ROOF_WRITES, WRITE},
    {RP_ROOF_WRITES_64, WRITE},
    {RP_ROOF_LDS_ACTIVE, LDS},
    {RP_ROOF_LDS_CONFLICT, LDS},
    {RP_ROOF_L1_MISS_READS, L1_MISS},
    {RP_ROOF_L1_MISS_WRITES, L1_MISS},
    {RP_ROOF_L1_MISS_ATOMICS, L1_MISS},
    {RP_ROOF_L1_MISS_ATOMICS_NO_RET, L1_MISS},
    {RP_ROOF_L1_ACCESSES, L1},
    {RP_ROOF_L2_REQUESTS, L2},
    {RP_ROOF_INSTS_VALU, SIMPLE_WORK},
    {RP_ROOF_FETCH_SIZE, SIMPLE_MEMORY},
    {RP_ROOF_WRITE_SIZE, SIMPLE_MEMORY},
};

/* gfx908 counts vector instructions, but not by precision; unknown GPUs get the simple model. */
static bool counts_by_precision(const struct rp_roof_arch *arch)
{
    return arch && arch->valu > 0;
}

static bool is_matrix_counter_of(const struct rp_roof_arch *arch, enum rp_roof_counter counter)
{
    if (!counts_by_precision(arch))
        return false;
    if (counter == RP_ROOF_MOPS_F8)
        return arch->mfma_f8 > 0;
    return counter != RP_ROOF_MOPS_F6F4 || arch->mfma_f6f4 > 0;
}

static bool is_read_counter_of(const struct rp_roof_arch *arch, enum rp_roof_counter counter)
{
    switch (arch ? arch->memory : MEMORY_UNKNOWN) {
    case MEMORY_EA:
        return counter == RP_ROOF_READS || counter == RP_ROOF_READS_32;
    case MEMORY_EA0_BUBBLE:
        return counter == RP_ROOF_READS || counter == RP_ROOF_READS_32 ||
               counter == RP_ROOF_BUBBLES;
    case MEMORY_EA0_128B:
        return counter != RP_ROOF_BUBBLES;
    case MEMORY_UNKNOWN:
        break;
    }
    return false;
}

static bool is_needed(const struct rp_roof_arch *arch, size_t at)
{
    switch (needs[at].group) {
    case F16:
    case F32:
    case F64:
        return counts_by_precision(arch);
    case MATRIX:
        return is_matrix_counter_of(arch, needs[at].counter);
    case READ:
        return is_read_counter_of(arch, needs[at].counter);
    case WRITE:
    case LDS:
    case L1_MISS:
    case L1:
    case L2:
        return arch != NULL;
    case SIMPLE_WORK:
        return !counts_by_precision(arch);
    case SIMPLE_MEMORY:
        return arch == NULL;
    }
    return false;
}

size_t rp_roofline_needs(const char *gfx, struct rp_roofline_need *ret, size_t room)
{
    const struct rp_arch *known = rp_arch_find(gfx);
    const struct rp_roof_arch *arch = rp_roof_arch_find(known ? known->name : gfx);
    bool old_names = arch && arch->memory == MEMORY_EA;
    size_t count = 0;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (!is_needed(arch, i))
            continue;
        if (count < room)
            ret[count] = (struct rp_roofline_need){
                .name = rp_roof_collected_name(needs[i].counter, old_names),
                .group = needs[i].group,
            };
        count++;
    }
    return count;
}
