/* gfx1030: RDNA2, Navi 21. Workgroups run in WGP mode, the compiler's default: the waves of one
 * workgroup share a work-group processor of two CUs.
 *
 * Sources: [DS] AMD product pages of the Radeon RX 6000 series and Radeon Pro W6800; [LLVM] LLVM's
 * AMDGPU target description; [IDS] libdrm's amdgpu.ids; [Mesa] Mesa's ac_gpu_info; [ISA] RDNA2
 * shader ISA manual.
 */
#include "arch/arch.h"

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Radeon RX 6900 XT",
        .pci_device_id = 0x73bf, /* [IDS] shared with RX 6800 and RX 6800 XT */
        .compute_units = 80,     /* [DS] */
        .xcc_count = 1,
        .shader_engines = 4,        /* [Mesa] */
        .engine_clock_mhz = 2250,   /* [DS] boost */
        .memory_clock_mhz = 1000,   /* 16 Gbit/s GDDR6 as the driver counts its clock */
        .memory_width_bits = 256,   /* [DS] */
        .memory_bytes = RP_GIB(16), /* [DS], nominal */
    },
    {
        .name = "AMD Radeon RX 6800 XT",
        .pci_device_id = 0x73bf, /* [IDS] */
        .compute_units = 72,     /* [DS] */
        .xcc_count = 1,
        .shader_engines = 4,
        .engine_clock_mhz = 2250, /* [DS] boost */
        .memory_clock_mhz = 1000,
        .memory_width_bits = 256,
        .memory_bytes = RP_GIB(16),
    },
    {
        .name = "AMD Radeon RX 6800",
        .pci_device_id = 0x73bf, /* [IDS] */
        .compute_units = 60,     /* [DS] */
        .xcc_count = 1,
        .shader_engines = 3,      /* [DS] 60 CUs in three engines of 20 */
        .engine_clock_mhz = 2105, /* [DS] boost */
        .memory_clock_mhz = 1000,
        .memory_width_bits = 256,
        .memory_bytes = RP_GIB(16),
    },
    {
        .name = "AMD Radeon Pro W6800",
        .pci_device_id = 0x73a3, /* [IDS] */
        .compute_units = 60,     /* [DS] */
        .xcc_count = 1,
        .engine_clock_mhz = 2320, /* [DS] boost */
        .memory_clock_mhz = 1000,
        .memory_width_bits = 256,
        .memory_bytes = RP_GIB(32), /* [DS] */
    },
    /* Known by name only, [IDS]. */
    {.name = "AMD Radeon RX 6950 XT", .pci_device_id = 0x73a5},
    {.name = "AMD Radeon RX 6900 XT", .pci_device_id = 0x73af},
};

const struct rp_arch rp_arch_gfx1030 = {
    .name = "gfx1030",
    .product = "AMD Radeon RX 6900 XT",
    .family = "RDNA2",
    .gfx_target_version = 100300, /* KFD's decimal coding of 10.3.0 */
    .wave_size = 32,              /* [LLVM] default of HIP; 64 is possible */

    .compute_units = 80,
    .xcc_count = 1,
    .shader_engines = 4,
    .simds_per_cu = 2,           /* [Mesa] GFX10 and later */
    .max_waves_per_simd = 16,    /* [LLVM] GFX10.3 */
    .max_waves_per_cu = 32,      /* 2 SIMDs of 16 */
    .max_workgroups_per_cu = 16, /* [LLVM] 32 barriers per WGP */
    .cus_per_block = 2,          /* [LLVM] WGP mode */
    .max_workgroup_size = 1024,  /* [LLVM] */

    .vgpr_file = RP_VGPR_SEPARATE,
    .vgprs_per_simd = 1024,         /* [LLVM] wave32; 512 for wave64 */
    .vgpr_granule = 16,             /* [LLVM] wave32 of GFX10.3; 8 for wave64 */
    .max_vgprs_per_lane = 256,      /* [LLVM] */
    .wave_sizes_scale_vgprs = true, /* [LLVM] */
    .sgprs_per_simd = 0,            /* [LLVM] every wave owns its 128: never a limit */
    .sgpr_granule = 0,
    .max_sgprs_per_wave = 128, /* [LLVM] */

    .lds_bytes_per_cu = RP_KIB(64),        /* [ISA] 128 KiB per WGP */
    .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */
    .lds_granule_bytes = 1024,             /* [Mesa] what GFX10.3 aligns an allocation to */

    .engine_clock_mhz = 2250,
    .memory_clock_mhz = 1000,
    .memory_width_bits = 256,
    .memory_transfers_per_clock = 16, /* GDDR6: width / 8 * 1000 MHz * 16 */
    .memory_bytes = RP_GIB(16),
    .hbm_peak_gbps = 512.0,  /* [DS] GDDR6 */
    .hbm_efficiency = 0,     /* no trusted measurement */
    .hbm_latency_cycles = 0, /* no trusted measurement */
    .host_link_gbps = 28.8,  /* [DS] PCIe 4.0 x16: 31.5 GB/s * 256/280, see gfx942 */
    .timestamp_mhz = 100,    /* LLVM's GPU libc: steady counter of GFX10 */

    .pci_vendor_id = 0x1002,
    .pci_device_id = 0x73bf,
    .pci_class = 0x030000,      /* lspci of a Navi 21: VGA controller */
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .mec_firmware = 166,           /* assumed: nothing asks for a certain one */
    .sdma_firmware = 22,           /* assumed: nothing asks for a certain one */
    .l1_bytes = RP_KIB(16),        /* [ISA] L0 of each CU */
    .l1_line_bytes = 128,          /* [ISA] */
    .scalar_l1_bytes = RP_KIB(16), /* [ISA] per WGP */
    .scalar_l1_line_bytes = 64,    /* [ISA] */
    .l2_bytes = RP_MIB(4),         /* [DS] */
    .l2_line_bytes = 128,          /* [Mesa] */
    .mall_bytes = RP_MIB(128),     /* [DS] Infinity Cache */
    .l2_channels_per_xcc = 16,     /* [Mesa] 16 texture channel caches */
    .lds_banks = 32,               /* [ISA] per CU: a WGP has two halves of 32 */

    .kfd_name = "sienna_cichlid", /* amdgpu's name of Navi 21 */
    .software_refusal = "RDNA2 has another instruction set",

    .counter_blocks = rp_counter_blocks_gfx10,
    .derived_counters = "gfx10",

    .products = products,
    .product_count = RP_COUNT(products),
};
