#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/profile.h"
#include "arch/arch.h"

/** What one workgroup needs of the block of CUs it runs on. */
struct demand {
    uint32_t vgprs;     /**< per lane, rounded to the allocation granule */
    uint32_t sgprs;     /**< per wave */
    uint32_t lds_bytes; /**< rounded to the allocation granule */
};

/** What that block has. */
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

/** Vector registers of a wave per lane. A kernel without any still holds one granule. */
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

/** Refuses what no launch can be; otherwise fills the demand of one workgroup. */
static bool demand_of(const struct rp_arch *arch, const struct rp_kernel_resources *res,
                      const struct supply *have, struct demand *ret, struct rp_occupancy *occ)
{
    const uint64_t vgprs = vgprs_of(arch, res), granule = have->vgpr_granule;

    if (res->workgroup_size == 0)
        unknown(occ, "the workgroup size is not known");
    else if (res->workgroup_size > arch->max_workgroup_size)
        unknown(occ, "workgroups of %u work-items do not exist on %s (at most %u)",
                res->workgroup_size, arch->name, arch->max_workgroup_size);
    else if (vgprs > arch->max_vgprs_per_lane) /* less than is allocated where it is no multiple */
        unknown(occ, "%llu VGPRs per lane do not exist on %s (at most %u)",
                (unsigned long long)vgprs, arch->name, arch->max_vgprs_per_lane);
    else if (res->lds_bytes > arch->lds_bytes_per_workgroup)
        unknown(occ, "%u bytes of LDS per workgroup do not fit on %s (at most %u)", res->lds_bytes,
                arch->name, arch->lds_bytes_per_workgroup);
    else {
        *ret = (struct demand){
            .vgprs = (uint32_t)((vgprs + granule - 1) / granule * granule),
            /* Some tracers report 128 everywhere; no wave can hold more than the maximum. */
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

/** Keeps the promise that an unknown occupancy carries no numbers. */
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
