/* gfx950: CDNA4, Instinct MI350X and MI355X.
 *
 * Sources: [DS] AMD Instinct MI350X / MI355X data sheets; [LLVM] LLVM's AMDGPU target description;
 * [IDS] libdrm's amdgpu.ids; [RPC] rocprof-compute's device tables and sysinfo files of real
 * machines; [HW] what hipBLASLt printed on a real MI350X (2200 MHz engine, 1900 MHz memory);
 * [SPEC] table of GPU hardware specifications in AMD's ROCm documentation; [LDS] AMD's ROCm blog,
 * "FP8 GEMM Optimization on AMD CDNA4 Architecture", 10 March 2026, which quotes the ISA guide: 160
 * KB of 64 banks, 256 bytes a clock for reads, and which lanes of ds_read_b128 go together.
 */
#include "arch/arch.h"

/* Nobody has published micro-benchmarks of this GPU that the model could be fitted to. These are
 * gfx942's (its file has the sources), by what data sheets say of both: caches take as many clocks
 * and give as many bytes per clock; the Infinity Cache, HBM and a launch take as many nanoseconds,
 * at 2200 or 2400 MHz instead of 2100; HBM reaches the same share of its peak. */
#define OF_A_DIE                                                                                   \
    .lds_read_port_bytes = 128, /* [LDS] 256 of both ports; gfx942 has 128 */                      \
        .lds_clocks = 51, .scalar_l1_clocks = 48, .scalar_l2_clocks = 172, .l1_clocks = 116,       \
    .l2_clocks = 209, .store_clocks = 351,                                                         \
    .l1_bytes_per_clock = 128, /* [DS] 128 bytes per clock and CU; gfx942 has 64 */                \
        .l2_read_bytes_per_clock = 57.38, .l2_again_bytes_per_clock = 110,                         \
    .l2_write_bytes_per_clock = 32, .hbm_read_share = 0.83, .hbm_write_share = 0.875,              \
    .hbm_turn_share = 2, .engine_group_clocks = 14, .engine_wave_clocks = 3.5,                     \
    .memory_channels = 128, /* [DS] 8 stacks of 16 channels */                                     \
        .inst_l1_bytes = RP_KIB(64), .code_clocks = 288,                                           \
    .sqcs_per_xcc = 16, /* one for two of 32 CUs */                                                \
        .scalar_l1_bytes_per_clock = 64, .l1_ways = 16, .scalar_l1_ways = 4, .l2_ways = 16,        \
    .taken_branch_clocks = 16,                                                                     \
    .valu_ports = 2, /* its counter SQ_ACTIVE_INST_VALU2 counts when there are two */              \
        .valu_f64_clocks = 5, .mfma_result_slots = 4, .tlb_blocks = 32, .tlb_miss_clocks = 94

static const struct rp_arch_timing timing = {
    OF_A_DIE,
    .mall_clocks = 478,         /* 456 of 2100 MHz */
    .hbm_clocks = 943,          /* 900 */
    .die_bytes_per_clock = 425, /* 305 of 2100 MHz, by as much more as HBM's peak is */
    .launch_clocks = 2001,      /* 1910 */
    .wave_clocks = 79,          /* 75 */
};

/* The same at 2400 MHz. */
static const struct rp_arch_timing timing_mi355x = {
    OF_A_DIE,
    .mall_clocks = 521,
    .hbm_clocks = 1029,
    .die_bytes_per_clock = 390,
    .launch_clocks = 2183,
    .wave_clocks = 86,
};

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Instinct MI350X",
        .pci_device_id = 0x75a0,     /* [IDS], rocprofv3 agent data 30112 */
        .compute_units = 256,        /* [DS], [RPC] */
        .xcc_count = 8,              /* [DS] */
        .shader_engines = 32,        /* [DS] 4 per XCD */
        .engine_clock_mhz = 2200,    /* [DS], [RPC], [HW] */
        .memory_clock_mhz = 1900,    /* [RPC], [HW] */
        .memory_width_bits = 8192,   /* [DS] */
        .memory_bytes = RP_GIB(288), /* [DS] 288 GB, nominal */
    },
    {
        .name = "AMD Instinct MI355X",
        .pci_device_id = 0x75a3, /* [IDS] */
        .compute_units = 256,    /* [DS] */
        .xcc_count = 8,
        .shader_engines = 32,
        .engine_clock_mhz = 2400, /* [DS] */
        .memory_clock_mhz = 1900, /* assumed to be the MI350X's: [DS] says 8 TB/s of both */
        .memory_width_bits = 8192,
        .memory_bytes = RP_GIB(288), /* [DS], nominal */
        .timing = &timing_mi355x,
    },
};

const struct rp_arch rp_arch_gfx950 = {
    .name = "gfx950",
    .product = "AMD Instinct MI350X",
    .family = "CDNA4",
    .gfx_target_version = 90500, /* KFD's decimal coding of 9.5.0 */
    .wave_size = 64,             /* [LLVM] */

    .compute_units = 256,
    .xcc_count = 8,
    .shader_engines = 32,
    .simds_per_cu = 4,           /* [DS] */
    .max_waves_per_simd = 8,     /* [LLVM] */
    .max_waves_per_cu = 32,      /* 4 SIMDs of 8 */
    .max_workgroups_per_cu = 16, /* [LLVM] barrier resources of one CU */
    .cus_per_block = 1,
    .max_workgroup_size = 1024, /* [LLVM], [HW] */

    .vgpr_file = RP_VGPR_UNIFIED,
    .vgprs_per_simd = 512,     /* [LLVM], [SPEC] 512 KiB per CU */
    .vgpr_granule = 8,         /* [LLVM] */
    .max_vgprs_per_lane = 512, /* [LLVM] 256 arch + 256 accumulation */
    .sgprs_per_simd = 800,     /* [LLVM], [SPEC] 12.5 KiB per CU */
    .sgpr_granule = 16,        /* [LLVM] */
    .max_sgprs_per_wave = 112, /* [LLVM] 102 + VCC, FLAT_SCRATCH, XNACK, in granules of 16 */

    .architected_flat_scratch = true, /* [LLVM] */

    .lds_bytes_per_cu = RP_KIB(160),        /* [DS], [RPC] */
    .lds_bytes_per_workgroup = RP_KIB(160), /* [LLVM], [HW] */
    .lds_granule_bytes = 1280,              /* [LLVM] 320 dwords */

    .engine_clock_mhz = 2200,
    .memory_clock_mhz = 1900,
    .memory_width_bits = 8192,
    .memory_transfers_per_clock = 4, /* HBM3E: width / 8 * 1900 MHz * 4 */
    .memory_bytes = RP_GIB(288),
    .hbm_peak_gbps = 7782.4, /* [RPC] at 1900 MHz; [DS] rounds up to 8 TB/s */
    .hbm_efficiency = 0.628, /* [RPC] empirical roofline of a real MI350X: 4886 GB/s */
    .hbm_latency_cycles = 0, /* no trusted measurement */
    .host_link_gbps = 57.6,  /* [DS] PCIe 5.0 x16, as gfx942 */
    .peer_link_gbps = 57.6,  /* [DS] 76.8 GB/s raw; of that the share usable on gfx942 */
    .timestamp_mhz = 100,    /* as gfx942 */

    .pci_vendor_id = 0x1002,
    .pci_device_id = 0x75a0,
    .pci_class = 0x120000,      /* as gfx942 */
    .pcie_mtransfers_s = 32000, /* [DS] PCIe 5.0 x16 */
    .pcie_lanes = 16,
    .mec_firmware =
        24, /* the first that RCCL trusts to reclaim scratch (validHsaScratchEnvSetting) */
    .sdma_firmware = 22,           /* assumed: nothing asks for a certain one */
    .l1_bytes = RP_KIB(32),        /* [SPEC], [DS] */
    .l1_line_bytes = 128,          /* [RPC] */
    .scalar_l1_bytes = RP_KIB(16), /* [SPEC] shared by two CUs */
    .scalar_l1_line_bytes = 64,    /* as gfx942 */
    .l2_bytes = RP_MIB(4),         /* [DS] per XCD */
    .l2_line_bytes = 128,          /* [RPC] */
    .mall_bytes = RP_MIB(256),     /* [DS] Infinity Cache */
    .xgmi_link_mbytes_s = 76800,   /* [DS] 153.6 GB/s per link, both directions together */
    .sdma_engines = 2,             /* as gfx942 */
    .sdma_xgmi_engines = 14,       /* as gfx942 */
    .l2_channels_per_xcc = 16,     /* [RPC] 128 channels of 8 XCDs */
    .lds_banks = 64,               /* [LDS]; [RPC] goes on with gfx942's 32 */

    .timing = &timing,

    .kfd_name = "ip discovery", /* amdgpu's word for chips that it has no name of its own for */
    .isa = RP_ISA_GFX950,

    .counter_blocks = rp_counter_blocks_gfx9,
    .derived_counters = "MI300",
    .roofline =
        {
            .traffic = RP_TRAFFIC_EA0_128B,
            .counts_by_precision = true,
            .l2_read_bytes = 128,
            .l1_bytes = 128,
            .lds_bytes = 256, /* [LDS], reads */
            .l2_bytes = 128,
            .mall_gbps = 0, /* no number is published */
            .valu = 128,
            .valu_f64 = 128,
            .mfma_f16 = 4096,
            .mfma_bf16 = 4096,
            .mfma_f32 = 256,
            .mfma_f64 = 128,
            .mfma_f8 = 8192,
            .mfma_f6f4 = 16384,
            .mfma_i8 = 8192, /* [DS] 4614 TOP/s */
        },
    .vgprs_halved_by_rocm_7 = true, /* seen in traces of both */

    .products = products,
    .product_count = RP_COUNT(products),
};
