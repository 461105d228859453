/* gfx90a: CDNA2. One device here is one graphics compute die (GCD); an MI250X shows two.
 *
 * Sources: [DS] AMD Instinct MI200 series data sheets, halved per GCD; [LLVM] LLVM's AMDGPU target
 * description; [IDS] libdrm's amdgpu.ids; [RPC] rocprof-compute's device tables and sysinfo files
 * of real machines; [WP] AMD CDNA2 white paper;
 * [SPEC] table of GPU hardware specifications in AMD's ROCm documentation.
 */
#include "arch/arch.h"

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Instinct MI250X",
        .pci_device_id = 0x7408,    /* [IDS] */
        .compute_units = 110,       /* [DS] 220 of two GCDs */
        .xcc_count = 1,             /* one GCD is one device */
        .shader_engines = 8,        /* [WP] */
        .engine_clock_mhz = 1700,   /* [DS] */
        .memory_clock_mhz = 1600,   /* [DS] HBM2e */
        .memory_width_bits = 4096,  /* [DS] 8192 of two GCDs */
        .memory_bytes = RP_GIB(64), /* [DS] 128 GB of two GCDs, nominal */
    },
    {
        .name = "AMD Instinct MI250",
        .pci_device_id = 0x740c, /* [IDS] shared by MI250X / MI250 boards */
        .compute_units = 104,    /* [DS] 208 of two GCDs, [RPC] */
        .xcc_count = 1,
        .shader_engines = 8,      /* [WP] */
        .engine_clock_mhz = 1700, /* [DS], [RPC] */
        .memory_clock_mhz = 1600, /* [DS] */
        .memory_width_bits = 4096,
        .memory_bytes = RP_GIB(64),
    },
    {
        .name = "AMD Instinct MI210",
        .pci_device_id = 0x740f, /* [IDS] */
        .compute_units = 104,    /* [DS] */
        .xcc_count = 1,
        .shader_engines = 8,      /* [WP] */
        .engine_clock_mhz = 1700, /* [DS] */
        .memory_clock_mhz = 1600, /* [DS] 1.6 TB/s */
        .memory_width_bits = 4096,
        .memory_bytes = RP_GIB(64),
    },
};

/* Where no source is named these are gfx942's (its file has the sources, [RRZE] too), by what data
 * sheets say of both: caches take as many clocks. HBM's reads reach the share of its peak that
 * [RPC] measured on a real one. There is no Infinity Cache: no line is ever found in it, and its
 * latency only says where on the way to HBM a request is. */
static const struct rp_arch_timing timing = {
    /* As gfx942. */
    .lds_read_port_bytes = 64,
    .lds_clocks = 51,
    .scalar_l1_clocks = 48,
    .scalar_l2_clocks = 172,
    .l1_clocks = 116,
    .l2_clocks = 254, /* [RRZE] MI210: 149 ns at 1700 MHz */
    .mall_clocks = 254,
    .hbm_clocks = 590, /* [RRZE] MI210: 355 ns over 78 MB, less 13 for translations */
    .store_clocks = 351,
    .l1_bytes_per_clock = 64,
    .l2_read_bytes_per_clock = 57.38, /* of 64 [WP]; gfx942's of 128 */
    .l2_again_bytes_per_clock = 57.38,
    .l2_write_bytes_per_clock = 30, /* of 64 [WP]; 28 at least are in these 1511 GB/s */
    .hbm_read_share = 0.848,        /* [RPC] 1389 GB/s */
    .hbm_write_share = 0.925,       /* fitted to gpu-stream init on an MI210 [RRZE], 1511 GB/s */
    .hbm_turn_share = 2,   /* as gfx942; and so fitted to the Jacobi solvers on MI250 and MI250X */
    .memory_channels = 32, /* [WP] four stacks of 8 channels */
    .inst_l1_bytes = RP_KIB(32), /* [WP] shared by two CUs */
    .code_clocks = 288,
    .sqcs_per_xcc = 56, /* [RPC] of MI200 */
    .scalar_l1_bytes_per_clock = 64,
    .l1_ways = 16,
    .scalar_l1_ways = 4,
    .l2_ways = 16,
    .tlb_blocks = 32,
    .tlb_miss_clocks = 94,
    .taken_branch_clocks = 16,
    .valu_ports = 1, /* no measurement says that there are two */
    .valu_f64_clocks = 4,
    .mfma_result_slots = 4,
    .launch_clocks = 1546, /* 1910 of 2100 MHz */
    .wave_clocks = 61,     /* 75 of 2100 MHz */
    .engine_group_clocks = 14,
    .engine_wave_clocks = 3.5,
};

const struct rp_arch rp_arch_gfx90a = {
    .name = "gfx90a",
    .product = "AMD Instinct MI250X",
    .family = "CDNA2",
    .gfx_target_version = 90010, /* KFD's decimal coding of 9.0.10 */
    .wave_size = 64,             /* [LLVM] */

    .compute_units = 110,
    .xcc_count = 1,
    .shader_engines = 8,
    .simds_per_cu = 4,           /* [WP] */
    .max_waves_per_simd = 8,     /* [LLVM] */
    .max_waves_per_cu = 32,      /* 4 SIMDs of 8 */
    .max_workgroups_per_cu = 16, /* [LLVM] barrier resources of one CU */
    .cus_per_block = 1,
    .max_workgroup_size = 1024, /* [LLVM] */

    .vgpr_file = RP_VGPR_UNIFIED,
    .vgprs_per_simd = 512,     /* [LLVM], [SPEC] 512 KiB per CU */
    .vgpr_granule = 8,         /* [LLVM] */
    .max_vgprs_per_lane = 512, /* [LLVM] 256 arch + 256 accumulation */
    .sgprs_per_simd = 800,     /* [LLVM], [SPEC] 12.5 KiB per CU */
    .sgpr_granule = 16,        /* [LLVM] */
    .max_sgprs_per_wave = 112, /* [LLVM] 102 + VCC, FLAT_SCRATCH, XNACK, in granules of 16 */

    .lds_bytes_per_cu = RP_KIB(64),        /* [DS] */
    .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */
    .lds_granule_bytes = 512,              /* [LLVM] 128 dwords */

    .engine_clock_mhz = 1700,
    .memory_clock_mhz = 1600,
    .memory_width_bits = 4096,
    .memory_transfers_per_clock = 2, /* HBM2e: width / 8 * 1600 MHz * 2 */
    .memory_bytes = RP_GIB(64),
    .hbm_peak_gbps = 1638.4, /* [DS] 3276.8 of two GCDs, [RPC] */
    .hbm_efficiency = 0.848, /* [RPC] empirical roofline of a real GCD: 1389 GB/s */
    .hbm_latency_cycles = 0, /* no trusted measurement */
    .host_link_gbps = 28.8,  /* [DS] PCIe 4.0 x16: 31.5 GB/s * 256/280, see gfx942 */
    .timestamp_mhz = 25,     /* CDNA2 ISA manual, S_MEMREALTIME: constant 25 MHz */

    .pci_vendor_id = 0x1002,
    .pci_device_id = 0x7408,
    .pci_class = 0x038000,      /* lspci of an MI250X: display controller */
    .pcie_mtransfers_s = 16000, /* [DS] PCIe 4.0 x16 */
    .pcie_lanes = 16,
    .mec_firmware = 166,           /* assumed: nothing asks for a certain one */
    .sdma_firmware = 22,           /* assumed: nothing asks for a certain one */
    .l1_bytes = RP_KIB(16),        /* [SPEC], [WP] */
    .l1_line_bytes = 64,           /* [RPC] 64 bytes per clock and per request */
    .scalar_l1_bytes = RP_KIB(16), /* [SPEC] shared by two CUs */
    .scalar_l1_line_bytes = 64,    /* [WP] */
    .l2_bytes = RP_MIB(8),         /* [WP] per GCD */
    .l2_line_bytes = 128,          /* [WP] */
    .mall_bytes = 0,
    .xgmi_link_mbytes_s = 50000, /* [DS] 100 GB/s per link, both directions together */
    .sdma_engines = 2,           /* amdgpu: five SDMA instances, two of them for the host */
    .sdma_xgmi_engines = 3,
    .l2_channels_per_xcc = 32, /* [RPC], [WP] 32 slices per GCD */
    .lds_banks = 32,           /* CDNA2 ISA manual */

    .timing = &timing,

    .kfd_name = "aldebaran", /* amdgpu's name of the MI200 family */
    .isa = RP_ISA_GFX90A,

    .counter_blocks = rp_counter_blocks_gfx9,
    .derived_counters = "MI200",
    .roofline =
        {
            .traffic = RP_TRAFFIC_EA,
            .counts_by_precision = true,
            .l2_read_bytes = 64,
            .l1_bytes = 64,
            .lds_bytes = 128,
            .l2_bytes = 64,
            .valu = 128,
            .valu_f64 = 128,
            .mfma_f16 = 1024,
            .mfma_bf16 = 1024,
            .mfma_f32 = 256,
            .mfma_f64 = 256,
            .mfma_i8 = 1024, /* [DS] 383.0 TOP/s of both dies */
        },

    .products = products,
    .product_count = RP_COUNT(products),
};
