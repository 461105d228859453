/* gfx1250: CDNA5, Instinct MI455X. A CU is here what LLVM takes for one: the work-group processor
 * of four SIMDs, whose waves share a workgroup. Nothing was taken from a real one.
 *
 * Sources: [DS] AMD's product page and white paper of the Instinct MI455X, and its talk at Hot
 * Chips 2026, as those who read them quote them; [LLVM] LLVM 22's AMDGPU target description, user
 * guide and what its compiler reports. LLVM says 16 wave slots of a SIMD; an article of
 * chipsandcheese.com on LLVM's changes says 20.
 */
#include "arch/arch.h"

/* [DS]; how the driver counts the memory's clock is not published. */
#define MI455X                                                                                     \
    .compute_units = 256, /* work-group processors */                                              \
        .xcc_count = 8, .engine_clock_mhz = 2400, .memory_bytes = RP_GIB(432) /* nominal */

static const struct rp_arch_product products[] = {
    {.name = "AMD Instinct MI455X", MI455X},
};

const struct rp_arch rp_arch_gfx1250 = {
    .name = "gfx1250",
    .product = "AMD Instinct MI455X",
    .family = "CDNA5",
    .gfx_target_version = 120500, /* KFD's decimal coding of 12.5.0 */
    .wave_size = 32,              /* [LLVM] no other */
    MI455X,

    .simds_per_cu = 4,           /* [LLVM] */
    .max_waves_per_simd = 16,    /* [LLVM] */
    .max_waves_per_cu = 64,      /* 4 SIMDs of 16 */
    .max_workgroups_per_cu = 16, /* [LLVM] */
    .cus_per_block = 1,          /* [LLVM] no WGP mode */
    .max_workgroup_size = 1024,  /* [LLVM] */

    .vgpr_file = RP_VGPR_SEPARATE, /* [LLVM] no accumulation registers */
    .vgprs_per_simd = 1024,        /* [LLVM] */
    .vgpr_granule = 16,            /* [LLVM] */
    .max_vgprs_per_lane = 1024,    /* [LLVM] */
    .max_sgprs_per_wave = 128,     /* [LLVM] every wave owns them: never a limit */

    .architected_flat_scratch = true, /* [LLVM] */

    .lds_bytes_per_cu = RP_KIB(320),        /* [LLVM] */
    .lds_bytes_per_workgroup = RP_KIB(320), /* [LLVM] */
    .lds_granule_bytes = 2048,              /* [LLVM] 512 dwords */

    .hbm_peak_gbps = 23300, /* [DS] 12 stacks of HBM4 */

    .pci_vendor_id = 0x1002,
    .kfd_name = "ip discovery", /* amdgpu's word for chips that it has no name of its own for */
    .software_refusal = "CDNA5 has another instruction set",

    .products = products,
    .product_count = RP_COUNT(products),
};
