/* Reads rows "ISA vgpr agpr sgpr lds block wave" and prints for each the waves per SIMD that
 * registers, wave slots and LDS allow, each by itself: what LLVM calls occupancy. 0 = unknown. */
#include "analyze/profile.h"
#include "arch/arch.h"

#include <stdio.h>

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

int main(void)
{
    struct rp_kernel_resources res = {0};
    char isa[32];

    while (scanf("%31s %u %u %u %u %u %u", isa, &res.arch_vgpr, &res.accum_vgpr, &res.sgpr,
                 &res.lds_bytes, &res.workgroup_size, &res.wave_size) == 7) {
        const struct rp_arch *arch = rp_arch_find(isa);
        struct rp_occupancy o;
        unsigned simds, waves;

        rp_occupancy_compute(arch, &res, &o);
        if (!o.known) {
            printf("0\n");
            continue;
        }
        simds = arch->simds_per_cu * arch->cus_per_block;
        waves = least(o.slot_workgroups_per_cu, o.lds_workgroups_per_cu) * o.waves_per_workgroup;
        printf("%u\n", least(least(o.vgpr_waves_per_simd, o.sgpr_waves_per_simd),
                             (waves + simds - 1) / simds));
    }
    return 0;
}
