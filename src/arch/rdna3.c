/* RDNA3 and what followed: gfx1100 (Navi 31), gfx1101 (Navi 32), gfx1102 (Navi 33), gfx1151
 * (RDNA3.5, Strix Halo), gfx1200 (RDNA4, Navi 44) and gfx1201 (Navi 48). Workgroups run in WGP
 * mode, the compiler's default: the waves of one workgroup share a work-group processor of two CUs.
 *
 * Sources: [DS] AMD product pages of the Radeon RX 7000 and RX 9000 series, Radeon Pro W7900,
 * Radeon AI PRO R9700 and Ryzen AI Max (of all but gfx1100 as others quote them); [LLVM] LLVM's
 * AMDGPU target description; [IDS] libdrm's amdgpu.ids; [Mesa] Mesa's ac_gpu_info; [ISA] RDNA3
 * shader ISA manual; [SPEC] table of GPU hardware specifications in AMD's ROCm documentation; [SMI]
 * what rocm-smi and rocminfo print on real ones.
 */
#include "arch/arch.h"

/* These members are the same in all of them. */
#define OF_RDNA3                                                                                   \
    .wave_size = 32,                       /* [LLVM] default of HIP; 64 is possible */             \
        .xcc_count = 1, .simds_per_cu = 2, /* [Mesa] GFX10 and later */                            \
        .max_waves_per_simd = 16,          /* [LLVM] GFX10.3 and later */                          \
        .max_waves_per_cu = 32,            /* 2 SIMDs of 16 */                                     \
        .max_workgroups_per_cu = 16,       /* [LLVM] 32 barriers per WGP */                        \
        .cus_per_block = 2,                /* [LLVM] WGP mode */                                   \
        .max_workgroup_size = 1024,        /* [LLVM] */                                            \
        .vgpr_file = RP_VGPR_SEPARATE, .max_vgprs_per_lane = 256, /* [LLVM] */                     \
        .wave_sizes_scale_vgprs = true,                           /* [LLVM] */                     \
        .max_sgprs_per_wave = 128,             /* [LLVM] every wave owns them: never a limit */    \
        .lds_bytes_per_cu = RP_KIB(64),        /* [ISA], [SPEC] 128 KiB per WGP */                 \
        .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */                                        \
        .lds_granule_bytes = 1024, /* [Mesa] what GFX10.3 and later align an allocation to */      \
        .pci_vendor_id = 0x1002, .l1_bytes = RP_KIB(32), /* [SPEC] L0 of each CU */                \
        .scalar_l1_bytes = RP_KIB(16),                   /* [SPEC] per WGP */                      \
        .kfd_name =                                                                                \
            "ip discovery" /* amdgpu's word for chips that it has no name of its own for */

/* [LLVM] These are registers of wave32; a wave64 has half of both. [SPEC] 768 or 512 KiB per WGP.
 */
#define MANY_VGPRS .vgprs_per_simd = 1536, .vgpr_granule = 24
#define FEW_VGPRS  .vgprs_per_simd = 1024, .vgpr_granule = 16

/* What an architecture and its default product say alike. Clocks are [DS] boost; GDDR6 of 20 Gbit/s
 * has 1250 MHz as the driver counts; memory sizes are nominal. */
#define RX_7900_XTX                                                                                \
    .compute_units = 96,     /* [DS], [SPEC] */                                                    \
        .shader_engines = 6, /* [DS] 96 CUs in six engines of 16 */                                \
        .engine_clock_mhz = 2500, .memory_clock_mhz = 1250, .memory_width_bits = 384, /* [DS] */   \
        .memory_bytes = RP_GIB(24)                                                    /* [DS] */

#define RX_7800_XT                                                                                 \
    .compute_units = 60,                                     /* [DS], [SPEC] */                    \
        .engine_clock_mhz = 2430, .memory_clock_mhz = 1219,  /* 19.5 Gbit/s */                     \
        .memory_width_bits = 256, .memory_bytes = RP_GIB(16) /* [DS] */

#define RX_7600                                                                                    \
    .compute_units = 32,                                    /* [DS], [SPEC] */                     \
        .engine_clock_mhz = 2655, .memory_clock_mhz = 1125, /* 18 Gbit/s */                        \
        .memory_width_bits = 128, .memory_bytes = RP_GIB(8) /* [DS] */

/* The machine's builder chooses how much memory there is. */
#define RADEON_8060S                                                                               \
    .compute_units = 40,                                    /* [DS], [SPEC] */                     \
        .engine_clock_mhz = 2900, .memory_clock_mhz = 1000, /* assumed of LPDDR5X-8000 */          \
        .memory_width_bits = 256, .apu = true               /* [DS] */

#define RX_9060_XT                                                                                 \
    .compute_units = 32,                                     /* [DS], [SPEC] */                    \
        .engine_clock_mhz = 3130, .memory_clock_mhz = 1258,  /* assumed to be Navi 48's */         \
        .memory_width_bits = 128, .memory_bytes = RP_GIB(16) /* [DS]; there is one with 8 */

#define RX_9070_XT                                                                                 \
    .compute_units = 64,                                     /* [DS], [SPEC] */                    \
        .engine_clock_mhz = 2970, .memory_clock_mhz = 1258,  /* [SMI]; [DS] rounds to 20 Gbit/s */ \
        .memory_width_bits = 256, .memory_bytes = RP_GIB(16) /* [DS] */

static const struct rp_arch_product products_gfx1100[] = {
    {
        .name = "AMD Radeon RX 7900 XTX",
        .pci_device_id = 0x744c, /* [IDS] shared with RX 7900 XT and RX 7900 GRE */
        .xcc_count = 1,
        RX_7900_XTX,
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
    OF_RDNA3,
    MANY_VGPRS,
    RX_7900_XTX,
    .memory_transfers_per_clock = 16,
    .hbm_peak_gbps = 960.0,     /* [DS] GDDR6 */
    .host_link_gbps = 28.8,     /* [DS] PCIe 4.0 x16: 31.5 GB/s * 256/280, see gfx942 */
    .pci_device_id = 0x744c,    /* [IDS] */
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .l1_line_bytes = 128,     /* [ISA] */
    .l2_bytes = RP_MIB(6),    /* [DS], [SPEC] */
    .mall_bytes = RP_MIB(96), /* [DS], [SPEC] Infinity Cache */
    .software_refusal = "RDNA3 has another instruction set",
    .products = products_gfx1100,
    .product_count = RP_COUNT(products_gfx1100),
};

static const struct rp_arch_product products_gfx1101[] = {
    {
        .name = "AMD Radeon RX 7800 XT",
        .pci_device_id = 0x747e, /* [IDS] shared with RX 7700, RX 7700 XT and RX 7800M */
        .xcc_count = 1,
        RX_7800_XT,
    },
    {
        .name = "AMD Radeon RX 7700 XT",
        .pci_device_id = 0x747e, /* [IDS] */
        .compute_units = 54,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .engine_clock_mhz = 2544,   /* [DS] boost */
        .memory_clock_mhz = 1125,   /* 18 Gbit/s */
        .memory_width_bits = 192,   /* [DS] */
        .memory_bytes = RP_GIB(12), /* [DS], nominal */
    },
    /* The rest is [IDS] and [SPEC]. */
    {.name = "AMD Radeon RX 7700",
     .pci_device_id = 0x747e,
     .compute_units = 40,
     .xcc_count = 1,
     .memory_bytes = RP_GIB(16)},
    {.name = "AMD Radeon Pro W7700",
     .pci_device_id = 0x7470,
     .compute_units = 48,
     .xcc_count = 1,
     .memory_bytes = RP_GIB(16)},
    {.name = "AMD Radeon Pro V710",
     .pci_device_id = 0x7460,
     .compute_units = 54,
     .xcc_count = 1,
     .memory_bytes = RP_GIB(28)},
    {.name = "AMD Radeon Pro V710 MxGPU", .pci_device_id = 0x7461},
    {.name = "AMD Radeon RX 7800M", .pci_device_id = 0x747e},
};

const struct rp_arch rp_arch_gfx1101 = {
    .name = "gfx1101",
    .product = "AMD Radeon RX 7800 XT",
    .family = "RDNA3",
    .gfx_target_version = 110001, /* KFD's decimal coding of 11.0.1 */
    OF_RDNA3,
    MANY_VGPRS,
    RX_7800_XT,
    .memory_transfers_per_clock = 16,
    .hbm_peak_gbps = 624.1,     /* [DS] 624 GB/s */
    .host_link_gbps = 28.8,     /* as gfx1100 */
    .pci_device_id = 0x747e,    /* [IDS] */
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .l1_line_bytes = 128,     /* [ISA] */
    .l2_bytes = RP_MIB(4),    /* [SPEC] */
    .mall_bytes = RP_MIB(64), /* [DS], [SPEC] Infinity Cache */
    .software_refusal = "RDNA3 has another instruction set",
    .products = products_gfx1101,
    .product_count = RP_COUNT(products_gfx1101),
};

static const struct rp_arch_product products_gfx1102[] = {
    {
        .name = "AMD Radeon RX 7600",
        .pci_device_id = 0x7480, /* [IDS] shared with all but the last two */
        .xcc_count = 1,
        RX_7600,
    },
    {
        .name = "AMD Radeon RX 7600 XT",
        .pci_device_id = 0x7480, /* [IDS] told from the RX 7600 by its name alone */
        .compute_units = 32,     /* [DS] */
        .xcc_count = 1,
        .engine_clock_mhz = 2755,   /* [DS] boost */
        .memory_clock_mhz = 1125,   /* 18 Gbit/s */
        .memory_width_bits = 128,   /* [DS] */
        .memory_bytes = RP_GIB(16), /* [DS], nominal */
    },
    /* Known by name only, [IDS]. */
    {.name = "AMD Radeon Pro W7600", .pci_device_id = 0x7480},
    {.name = "AMD Radeon RX 7700S", .pci_device_id = 0x7480},
    {.name = "AMD Radeon RX 7650 GRE", .pci_device_id = 0x7480},
    {.name = "AMD Radeon RX 7600S", .pci_device_id = 0x7480},
    {.name = "AMD Radeon RX 7600M XT", .pci_device_id = 0x7480},
    {.name = "AMD Radeon RX 7600M", .pci_device_id = 0x7483},
    {.name = "AMD Radeon Pro W7500", .pci_device_id = 0x7489},
};

const struct rp_arch rp_arch_gfx1102 = {
    .name = "gfx1102",
    .product = "AMD Radeon RX 7600",
    .family = "RDNA3",
    .gfx_target_version = 110002, /* KFD's decimal coding of 11.0.2 */
    OF_RDNA3,
    FEW_VGPRS,
    RX_7600,
    .memory_transfers_per_clock = 16,
    .hbm_peak_gbps = 288.0,     /* [DS] */
    .host_link_gbps = 14.4,     /* half of gfx1100's */
    .pci_device_id = 0x7480,    /* [IDS] */
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x8 */
    .pcie_lanes = 8,
    .l1_line_bytes = 128,     /* [ISA] */
    .l2_bytes = RP_MIB(2),    /* [SPEC] */
    .mall_bytes = RP_MIB(32), /* [DS], [SPEC] Infinity Cache */
    .software_refusal = "RDNA3 has another instruction set",
    .products = products_gfx1102,
    .product_count = RP_COUNT(products_gfx1102),
};

static const struct rp_arch_product products_gfx1151[] = {
    {
        .name = "AMD Radeon 8060S Graphics",
        .pci_device_id = 0x1586, /* [IDS] shared with the others */
        .xcc_count = 1,
        RADEON_8060S,
    },
    {
        .name = "AMD Radeon 8050S Graphics",
        .pci_device_id = 0x1586,
        .compute_units = 32, /* [DS] */
        .xcc_count = 1,
        .memory_clock_mhz = 1000,
        .memory_width_bits = 256,
        .apu = true,
    },
    {
        .name = "AMD Radeon 8040S Graphics",
        .pci_device_id = 0x1586,
        .compute_units = 16, /* [DS] */
        .xcc_count = 1,
        .memory_clock_mhz = 1000,
        .memory_width_bits = 256,
        .apu = true,
    },
};

const struct rp_arch rp_arch_gfx1151 = {
    .name = "gfx1151",
    .product = "AMD Radeon 8060S Graphics",
    .family = "RDNA3.5",
    .gfx_target_version = 110501, /* KFD's decimal coding of 11.5.1 */
    OF_RDNA3,
    MANY_VGPRS,
    RADEON_8060S,
    .memory_transfers_per_clock = 8,
    .hbm_peak_gbps = 256.0,   /* [DS] shared with the processor */
    .pci_device_id = 0x1586,  /* [IDS] */
    .l1_line_bytes = 128,     /* [SMI] */
    .l2_bytes = RP_MIB(2),    /* [SPEC], [SMI] */
    .mall_bytes = RP_MIB(32), /* [SPEC], [SMI] Infinity Cache */
    .software_refusal = "RDNA3.5 has another instruction set",
    .products = products_gfx1151,
    .product_count = RP_COUNT(products_gfx1151),
};

static const struct rp_arch_product products_gfx1200[] = {
    {
        .name = "AMD Radeon RX 9060 XT",
        .pci_device_id = 0x7590, /* [IDS] shared with the others */
        .xcc_count = 1,
        RX_9060_XT,
    },
    {
        .name = "AMD Radeon RX 9060",
        .pci_device_id = 0x7590,
        .compute_units = 28, /* [DS], [SPEC] */
        .xcc_count = 1,
        .engine_clock_mhz = 2990,  /* [DS] boost */
        .memory_clock_mhz = 1125,  /* 18 Gbit/s */
        .memory_width_bits = 128,  /* [DS] */
        .memory_bytes = RP_GIB(8), /* [DS], nominal */
    },
    {.name = "AMD Radeon RX 9060 XT LP", /* [SPEC] */
     .pci_device_id = 0x7590,
     .compute_units = 32,
     .xcc_count = 1,
     .memory_bytes = RP_GIB(16)},
};

const struct rp_arch rp_arch_gfx1200 = {
    .name = "gfx1200",
    .product = "AMD Radeon RX 9060 XT",
    .family = "RDNA4",
    .gfx_target_version = 120000, /* KFD's decimal coding of 12.0.0 */
    OF_RDNA3,
    MANY_VGPRS,
    RX_9060_XT,
    .memory_transfers_per_clock = 16,
    .hbm_peak_gbps = 322.0,     /* [DS] 322 GB/s */
    .host_link_gbps = 57.6,     /* [DS] PCIe 5.0 x16, as gfx942 */
    .pci_device_id = 0x7590,    /* [IDS] */
    .pcie_mtransfers_s = 32000, /* [DS] PCIe 5.0 x16 */
    .pcie_lanes = 16,
    .l2_bytes = RP_MIB(4),    /* [SPEC] */
    .mall_bytes = RP_MIB(32), /* [SPEC] Infinity Cache */
    .software_refusal = "RDNA4 has another instruction set",
    .products = products_gfx1200,
    .product_count = RP_COUNT(products_gfx1200),
};

static const struct rp_arch_product products_gfx1201[] = {
    {
        .name = "AMD Radeon RX 9070 XT",
        .pci_device_id = 0x7550, /* [IDS] shared with RX 9070 and RX 9070 GRE */
        .xcc_count = 1,
        RX_9070_XT,
    },
    {
        .name = "AMD Radeon RX 9070",
        .pci_device_id = 0x7550, /* [IDS] */
        .compute_units = 56,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .engine_clock_mhz = 2520, /* [DS] boost */
        .memory_clock_mhz = 1258,
        .memory_width_bits = 256,   /* [DS] */
        .memory_bytes = RP_GIB(16), /* [DS], nominal */
    },
    {
        .name = "AMD Radeon AI PRO R9700",
        .pci_device_id = 0x7551, /* [IDS] shared with R9600D */
        .compute_units = 64,     /* [DS], [SPEC] */
        .xcc_count = 1,
        .engine_clock_mhz = 2920,   /* [DS] boost */
        .memory_clock_mhz = 1258,   /* [SMI] */
        .memory_width_bits = 256,   /* [DS] */
        .memory_bytes = RP_GIB(32), /* [DS], nominal */
    },
    {.name = "AMD Radeon AI PRO R9600D", /* [SPEC] */
     .pci_device_id = 0x7551,
     .compute_units = 48,
     .xcc_count = 1,
     .memory_bytes = RP_GIB(32)},
    /* Sources do not agree on its memory. */
    {.name = "AMD Radeon RX 9070 GRE",
     .pci_device_id = 0x7550,
     .compute_units = 48, /* [SPEC] */
     .xcc_count = 1},
};

const struct rp_arch rp_arch_gfx1201 = {
    .name = "gfx1201",
    .product = "AMD Radeon RX 9070 XT",
    .family = "RDNA4",
    .gfx_target_version = 120001, /* KFD's decimal coding of 12.0.1 */
    OF_RDNA3,
    MANY_VGPRS,
    RX_9070_XT,
    .memory_transfers_per_clock = 16,
    .hbm_peak_gbps = 644.1,     /* [SMI] 1258 MHz; [DS] says 640 of 20 Gbit/s */
    .host_link_gbps = 57.6,     /* [DS] PCIe 5.0 x16, as gfx942 */
    .pci_device_id = 0x7550,    /* [IDS] */
    .pcie_mtransfers_s = 32000, /* [DS] PCIe 5.0 x16 */
    .pcie_lanes = 16,
    .l2_bytes = RP_MIB(8),    /* [SPEC] */
    .mall_bytes = RP_MIB(64), /* [DS], [SPEC] Infinity Cache */
    .software_refusal = "RDNA4 has another instruction set",
    .products = products_gfx1201,
    .product_count = RP_COUNT(products_gfx1201),
};
