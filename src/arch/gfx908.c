/* gfx908: CDNA, Instinct MI100.
 *
 * Sources: [DS] AMD Instinct MI100 data sheet; [DOC] "AMD Instinct MI100 microarchitecture" in
 * AMD's ROCm documentation; [LLVM] LLVM's AMDGPU target description; [IDS] libdrm's amdgpu.ids;
 * [RPC] rocprof-compute's device tables, its documentation, and its sysinfo file of a real MI100;
 * [WP] AMD CDNA white paper; [SPEC] table of GPU hardware specifications in AMD's ROCm
 * documentation.
 */
#include "arch/arch.h"

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Instinct MI100",
        .pci_device_id = 0x738c,    /* [IDS] */
        .compute_units = 120,       /* [DS], [RPC] */
        .xcc_count = 1,             /* [RPC] */
        .shader_engines = 8,        /* [RPC] */
        .engine_clock_mhz = 1502,   /* [DS], [RPC] */
        .memory_clock_mhz = 1200,   /* [DS], [RPC] HBM2 */
        .memory_width_bits = 4096,  /* [DS] */
        .memory_bytes = RP_GIB(32), /* [DS], nominal */
    },
};

const struct rp_arch rp_arch_gfx908 = {
    .name = "gfx908",
    .product = "AMD Instinct MI100",
    .family = "CDNA",
    .gfx_target_version = 90008, /* KFD's decimal coding of 9.0.8 */
    .wave_size = 64,             /* [LLVM] */

    .compute_units = 120,
    .xcc_count = 1,
    .shader_engines = 8,
    .simds_per_cu = 4,           /* [WP], [RPC] */
    .max_waves_per_simd = 10,    /* [LLVM] */
    .max_waves_per_cu = 40,      /* [RPC] */
    .max_workgroups_per_cu = 16, /* [LLVM] barrier resources of one CU */
    .cus_per_block = 1,
    .max_workgroup_size = 1024, /* [LLVM], [RPC] */

    .vgpr_file = RP_VGPR_SEPARATE,
    .vgprs_per_simd = 256,     /* [LLVM], [SPEC] 256 KiB per CU, and as much for accumulation */
    .vgpr_granule = 4,         /* [LLVM] */
    .max_vgprs_per_lane = 256, /* [LLVM] of each file */
    .sgprs_per_simd = 800,     /* [LLVM], [SPEC] 12.5 KiB per CU */
    .sgpr_granule = 16,        /* [LLVM] */
    .max_sgprs_per_wave = 112, /* [LLVM] 102 + VCC, FLAT_SCRATCH, XNACK, in granules of 16 */

    .lds_bytes_per_cu = RP_KIB(64),        /* [DOC] */
    .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */
    .lds_granule_bytes = 512,              /* [LLVM] 128 dwords */

    .engine_clock_mhz = 1502,
    .memory_clock_mhz = 1200,
    .memory_width_bits = 4096,
    .memory_transfers_per_clock = 2, /* HBM2: width / 8 * 1200 MHz * 2 */
    .memory_bytes = RP_GIB(32),
    .hbm_peak_gbps = 1228.8, /* [DS], [RPC] */
    .hbm_efficiency = 0,     /* no trusted measurement */
    .hbm_latency_cycles = 0, /* no trusted measurement */
    .host_link_gbps = 28.8,  /* [DS] PCIe 4.0 x16: 31.5 GB/s * 256/280, see gfx942 */
    .timestamp_mhz = 0,      /* no trusted source */

    .pci_vendor_id = 0x1002,
    .pci_device_id = 0x738c,
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .l1_bytes = RP_KIB(16),        /* [SPEC], [RPC] */
    .l1_line_bytes = 64,           /* [DOC] 64 bytes per clock */
    .scalar_l1_bytes = RP_KIB(16), /* [SPEC] shared by three CUs */
    .scalar_l1_line_bytes = 64,    /* as gfx90a */
    .l2_bytes = RP_MIB(8),         /* [DOC], [RPC] */
    .l2_line_bytes = 64,           /* [RPC] */
    .mall_bytes = 0,
    .xgmi_link_mbytes_s = 46000, /* [DS] 92 GB/s per link, both directions together */
    .l2_channels_per_xcc = 32,   /* [DOC], [RPC] */
    .lds_banks = 32,             /* [RPC] */

    .kfd_name = "arcturus", /* amdgpu's name of the MI100 */
    .software_refusal = "the instructions of CDNA are not modelled, only those of CDNA 2 and later",

    .counter_blocks = rp_counter_blocks_gfx9,
    .roofline =
        {
            .traffic = RP_TRAFFIC_EA,     /* vector copy on a real one */
            .counts_by_precision = false, /* [RPC] only SQ_INSTS_VALU */
            .l2_read_bytes = 64,          /* vector copy on a real one */
            .l1_bytes = 64,               /* [DOC] */
            .lds_bytes = 128,             /* [WP] 32 banks of 4 bytes */
            .l2_bytes = 128,              /* [WP] 4096 bytes of 32 slices */
            .valu = 128,                  /* [DOC] */
            .valu_f64 = 64,               /* [DOC] 11.5 TFLOP/s */
            .mfma_f16 = 1024,             /* [DOC] 184.6 TFLOP/s */
            .mfma_bf16 = 512,             /* [DOC] 92.3 TFLOP/s */
            .mfma_f32 = 256,              /* [DOC] 46.1 TFLOP/s */
            .mfma_i8 = 1024,              /* [DOC] 184.6 TOP/s */
        },

    .products = products,
    .product_count = RP_COUNT(products),
};
