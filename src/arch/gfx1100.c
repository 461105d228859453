/* gfx1100: RDNA3, Navi 31. Workgroups run in WGP mode, the compiler's default: the waves of one
 * workgroup share a work-group processor of two CUs.
 *
 * Sources: [DS] AMD product pages of the Radeon RX 7900 series and Radeon Pro W7900; [LLVM] LLVM's
 * AMDGPU target description; [IDS] libdrm's amdgpu.ids; [Mesa] Mesa's ac_gpu_info; [ISA] RDNA3
 * shader ISA manual; [SPEC] table of GPU hardware specifications in AMD's ROCm documentation.
 */
#include "arch/arch.h"

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Radeon RX 7900 XTX",
        .pci_device_id = 0x744c, /* [IDS] shared with RX 7900 XT and RX 7900 GRE */
        .compute_units = 96,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .shader_engines = 6,        /* [DS] 96 CUs in six engines of 16 */
        .engine_clock_mhz = 2500,   /* [DS] boost */
        .memory_clock_mhz = 1250,   /* 20 Gbit/s GDDR6 as the driver counts its clock */
        .memory_width_bits = 384,   /* [DS] */
        .memory_bytes = RP_GIB(24), /* [DS], nominal */
    },
    {
        .name = "AMD Radeon RX 7900 XT",
        .pci_device_id = 0x744c, /* [IDS] */
        .compute_units = 84,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .shader_engines = 6,
        .engine_clock_mhz = 2400,   /* [DS] boost */
        .memory_clock_mhz = 1250,   /* 20 Gbit/s */
        .memory_width_bits = 320,   /* [DS] */
        .memory_bytes = RP_GIB(20), /* [DS], nominal */
    },
    {
        .name = "AMD Radeon RX 7900 GRE",
        .pci_device_id = 0x744c, /* [IDS] */
        .compute_units = 80,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .engine_clock_mhz = 2245,   /* [DS] boost */
        .memory_clock_mhz = 1125,   /* 18 Gbit/s */
        .memory_width_bits = 256,   /* [DS] */
        .memory_bytes = RP_GIB(16), /* [DS], nominal */
    },
    {
        .name = "AMD Radeon Pro W7900",
        .pci_device_id = 0x7448, /* [IDS] */
        .compute_units = 96,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .shader_engines = 6,
        .memory_clock_mhz = 1125,   /* 18 Gbit/s: [DS] 864 GB/s */
        .memory_width_bits = 384,   /* [DS] */
        .memory_bytes = RP_GIB(48), /* [DS], nominal */
    },
    /* Known by name only, [IDS]. */
    {.name = "AMD Radeon Pro W7800 48GB", .pci_device_id = 0x7449},
    {.name = "AMD Radeon Pro W7900 Dual Slot", .pci_device_id = 0x744a},
    {.name = "AMD Radeon Pro W7900D", .pci_device_id = 0x744b},
    {.name = "AMD Radeon Pro W7800", .pci_device_id = 0x745e},
};

const struct rp_arch rp_arch_gfx1100 = {
    .name = "gfx1100",
    .product = "AMD Radeon RX 7900 XTX",
    .family = "RDNA3",
    .gfx_target_version = 110000, /* KFD's decimal coding of 11.0.0 */
    .wave_size = 32,              /* [LLVM] default of HIP; 64 is possible */

    .compute_units = 96,
    .xcc_count = 1,
    .shader_engines = 6,
    .simds_per_cu = 2,           /* [Mesa] GFX10 and later */
    .max_waves_per_simd = 16,    /* [LLVM] GFX10.3 and later */
    .max_waves_per_cu = 32,      /* 2 SIMDs of 16 */
    .max_workgroups_per_cu = 16, /* [LLVM] 32 barriers per WGP */
    .cus_per_block = 2,          /* [LLVM] WGP mode */
    .max_workgroup_size = 1024,  /* [LLVM] */

    .vgpr_file = RP_VGPR_SEPARATE,
    .vgprs_per_simd = 1536,         /* [LLVM] wave32; 768 for wave64. [SPEC] 768 KiB per WGP */
    .vgpr_granule = 24,             /* [LLVM] wave32; 12 for wave64 */
    .max_vgprs_per_lane = 256,      /* [LLVM] */
    .wave_sizes_scale_vgprs = true, /* [LLVM] */
    .sgprs_per_simd = 0,            /* [LLVM] every wave owns its 128: never a limit */
    .sgpr_granule = 0,
    .max_sgprs_per_wave = 128, /* [LLVM] */

    .lds_bytes_per_cu = RP_KIB(64),        /* [ISA], [SPEC] 128 KiB per WGP */
    .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */
    .lds_granule_bytes = 1024, /* [Mesa] what GFX10.3 and later align an allocation to */

    .engine_clock_mhz = 2500,
    .memory_clock_mhz = 1250,
    .memory_width_bits = 384,
    .memory_transfers_per_clock = 16, /* GDDR6: width / 8 * 1250 MHz * 16 */
    .memory_bytes = RP_GIB(24),
    .hbm_peak_gbps = 960.0, /* [DS] GDDR6 */
    .host_link_gbps = 28.8, /* [DS] PCIe 4.0 x16: 31.5 GB/s * 256/280, see gfx942 */

    .pci_vendor_id = 0x1002,
    .pci_device_id = 0x744c,
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .l1_bytes = RP_KIB(32),        /* [SPEC] L0 of each CU */
    .l1_line_bytes = 128,          /* [ISA] */
    .scalar_l1_bytes = RP_KIB(16), /* [SPEC] per WGP */
    .l2_bytes = RP_MIB(6),         /* [DS], [SPEC] */
    .mall_bytes = RP_MIB(96),      /* [DS], [SPEC] Infinity Cache */

    .kfd_name = "ip discovery", /* amdgpu's word for chips that it has no name of its own for */
    .software_refusal = "RDNA3 has another instruction set",

    .products = products,
    .product_count = RP_COUNT(products),
};
