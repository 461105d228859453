/* gfx942: CDNA3, Instinct MI300X and its relatives.
 *
 * Sources, named in the comments below:
 *   [DS]   AMD Instinct MI300X data sheet
 *   [KFD]  KFD topology / rocprofv3 agent data read from a real MI300X
 *   [LLVM] LLVM's AMDGPU target description (subtarget features and occupancy rules)
 *   [IDS]  libdrm's amdgpu.ids
 *   [RPC]  rocprof-compute's device tables and its sysinfo files of real machines
 *   [SPEC] table of GPU hardware specifications in AMD's ROCm documentation
 *   [mt4g] TUM mt4g benchmark report of an MI300X VF at 2100 MHz, 2025-08-08
 *   [BS]   AMD's acceptance floor for BabelStream on MI300X
 */
#include "arch/arch.h"

static const struct rp_arch_product products[] = {
    {
        .name = "AMD Instinct MI300X",
        .pci_device_id = 0x74a1,      /* [IDS], [KFD] 29857 */
        .compute_units = 304,         /* [DS], [KFD] cu_count */
        .xcc_count = 8,               /* [KFD] num_xcc */
        .shader_engines = 32,         /* [KFD] num_shader_banks */
        .engine_clock_mhz = 2100,     /* [DS], [KFD] max_engine_clk_fcompute */
        .memory_clock_mhz = 1300,     /* [KFD] mem_clk_max */
        .memory_width_bits = 8192,    /* [DS], [KFD] width */
        .memory_bytes = 206141652992, /* [KFD] size_in_bytes; [DS] 192 GB */
    },
    {
        .name = "AMD Instinct MI300A",
        .pci_device_id = 0x74a0,     /* [IDS] */
        .compute_units = 228,        /* [DS] of MI300A, [RPC] */
        .xcc_count = 6,              /* [RPC] */
        .shader_engines = 24,        /* [RPC] */
        .engine_clock_mhz = 2100,    /* [RPC] */
        .memory_clock_mhz = 1300,    /* [RPC]: 5324.8 GB/s */
        .memory_width_bits = 8192,   /* [DS] of MI300A */
        .memory_bytes = RP_GIB(128), /* [DS] of MI300A: 128 GB, nominal */
        .apu = true,                 /* [DS] of MI300A: 24 Zen 4 cores in the package */
    },
    {
        .name = "AMD Instinct MI325X",
        .pci_device_id = 0x74a5,     /* [IDS], [KFD] 29861 */
        .compute_units = 304,        /* [RPC] */
        .xcc_count = 8,              /* [DS] of MI325X */
        .shader_engines = 32,        /* as MI300X: same dies */
        .engine_clock_mhz = 2100,    /* [RPC] */
        .memory_clock_mhz = 1500,    /* [RPC]: 6144 GB/s; [DS] says 6.0 TB/s */
        .memory_width_bits = 8192,   /* [DS] of MI325X */
        .memory_bytes = RP_GIB(256), /* [DS] of MI325X: 256 GB, nominal */
    },
    /* Known by name only: virtual functions and cut-down parts, [IDS]. */
    /* Reports of users in public repositories say how many compute units and how much memory it
     * has, but not its clock. */
    {
        .name = "AMD Instinct MI308X",
        .pci_device_id = 0x74a2,
        .compute_units = 80,
        .memory_width_bits = 8192,
        .memory_bytes = RP_GIB(192),
    },
    {.name = "AMD Instinct MI308X HF", .pci_device_id = 0x74a8},
    {.name = "AMD Instinct MI300X HF", .pci_device_id = 0x74a9},
    {.name = "AMD Instinct MI300X VF", .pci_device_id = 0x74b5},
    {.name = "AMD Instinct MI308X VF", .pci_device_id = 0x74b6},
    {.name = "AMD Instinct MI300X HF VF", .pci_device_id = 0x74bd},
};

/*
 * Bandwidths of [mt4g] are GiB/s at 2.1 GHz: over 128 L2 channels of the device, and in all.
 *   [CC]    Chips and Cheese, "Testing AMD's Giant MI300X", 2024
 *   [WP]    AMD CDNA 3 architecture white paper
 *   [SC25]  raw outputs on bare metal in hibagus/SC25_AMD_CDNA3_Artifact, 2025
 *   [RRZE]  raw outputs in RRZE-HPC/gpu-benches, 2025
 * Fitted means: to those rows of bench/published.csv that may be fitted to.
 */
static const struct rp_arch_timing timing = {
    /* ROCm Compute Profiler documentation, "Local data share". */
    .lds_read_port_bytes = 64,
    .lds_clocks = 51,                 /* [mt4g] 51.3 */
    .scalar_l1_clocks = 48,           /* [mt4g] */
    .scalar_l2_clocks = 172,          /* [mt4g] 48, and 124 for a miss */
    .l1_clocks = 116,                 /* [mt4g] */
    .l2_clocks = 209,                 /* [SC25] 101 ns at 2051 MHz; [mt4g] 288, of a virtual one */
    .mall_clocks = 456,               /* [SC25] 217 ns; [CC] 218 ns */
    .hbm_clocks = 900,                /* [mt4g] mean; p50 876 */
    .store_clocks = 351,              /* fitted to gpu-stream with few waves [SC25] */
    .l1_bytes_per_clock = 64,         /* [SC25] gpu-cache, 61; see .roofline */
    .l2_read_bytes_per_clock = 57.38, /* [mt4g] 14,365 GiB/s; the peak is 128 */
    .l2_again_bytes_per_clock = 110,  /* [SC25] gpu-cache, 27 to 29 TB/s */
    /* Fitted: gpu-l2-stream writes 7.8 TB/s [RRZE], launches included; [mt4g] 6,562 GiB/s, which
     * are 26, in a virtual machine. */
    .l2_write_bytes_per_clock = 32,
    .die_bytes_per_clock = 305,  /* [SC25] gpu-l2-cache, 5.0 TB/s of eight dies; [RRZE] 5.4 */
    .hbm_read_share = 0.83,      /* fitted to gpu-stream read [SC25], and */
    .hbm_write_share = 0.875,    /* to init, with few waves and with many */
    .hbm_turn_share = 2,         /* fitted to copies: [BS] */
    .memory_channels = 128,      /* [WP] 8 stacks of 16 channels */
    .inst_l1_bytes = RP_KIB(64), /* [WP] shared by two CUs */
    /* Assumed: [mt4g]'s latency of the L2. Of a copy [RPC] counts 3449 fetches that wait for 160
     * lines, here there are 0.6 times as many. */
    .code_clocks = 288,
    /* [RPC] 160 of 8 XCDs, 120 of the MI300A's 6: of 40 CUs a die two are switched off, in
     * different pairs. Kernels miss once in each. */
    .sqcs_per_xcc = 20,
    /* rocprof-compute's peak of the sL1D: in each clock a request to each of them, 64 bytes.
     * Assumed: a load takes a turn for each line that it touches, whatever it wants of it. */
    .scalar_l1_bytes_per_clock = 64,
    .l1_ways = 16, /* assumed: a choice of the model */
    .scalar_l1_ways = 4,
    .l2_ways = 16, /* [WP] */
    /* Fitted: chases over rings of 84 to 242 MB are longer than those of 15 to 63 MB [SC25]. */
    .tlb_blocks = 32,
    .tlb_miss_clocks = 94,
    .taken_branch_clocks = 16, /* assumed: not documented, four slots to refill */
    /* rocprof-compute's FAQ: two VALU instructions can be issued at once "in specific
     * circumstances"; which, and how, is fitted to chains of one operation
     * (bench/published.csv, class valu-rate): see wave_record.c and compute_unit.c. */
    .valu_ports = 2,
    .valu_f64_clocks = 5, /* fitted likewise: 5.04 of adds, 5.06 of multiply-adds */
    .mfma_result_slots =
        4, /* [LLVM] hazards of gfx940: passes and 3 slots between, see wave_record.c */
    /* It is about 1 us and was fitted: vector copies of 1,048,576 doubles took 5.2 to 9.6 us
     * (median 6.8) in rocprof-compute's MI300X sample, and 4.8 us of them are in the simulation.
     */
    .launch_clocks = 1910,
    .wave_clocks = 75,         /* fitted to gpu-stream read with few waves [SC25] */
    .engine_group_clocks = 14, /* fitted: gpu-l2-stream of workgroups of 1024, 7.9 TB/s, and */
    .engine_wave_clocks = 3.5, /* gpu-small-kernels of 64 on an MI210 [RRZE] */
};

const struct rp_arch rp_arch_gfx942 = {
    .name = "gfx942",
    .product = "AMD Instinct MI300X",
    .family = "CDNA3",
    .gfx_target_version = 90402, /* [KFD] */
    .wave_size = 64,             /* [KFD] wave_front_size */

    .compute_units = 304,
    .xcc_count = 8,
    .shader_engines = 32,
    .simds_per_cu = 4,           /* [KFD] simd_per_cu; 1216 SIMDs of 304 CUs */
    .max_waves_per_simd = 8,     /* [KFD], [LLVM] */
    .max_waves_per_cu = 32,      /* [KFD] max_waves_per_cu */
    .max_workgroups_per_cu = 16, /* [LLVM] barrier resources of one CU */
    .cus_per_block = 1,
    .max_workgroup_size = 1024, /* [KFD] workgroup_max_size */

    .vgpr_file = RP_VGPR_UNIFIED,
    .vgprs_per_simd = 512,     /* [LLVM], [SPEC] 512 KiB per CU; gfx90a and later GFX9 */
    .vgpr_granule = 8,         /* [LLVM] */
    .max_vgprs_per_lane = 512, /* [LLVM] 256 arch + 256 accumulation */
    .sgprs_per_simd = 800,     /* [LLVM], [SPEC] 12.5 KiB per CU; GFX8 and GFX9 */
    .sgpr_granule = 16,        /* [LLVM] */
    .max_sgprs_per_wave = 112, /* [LLVM] 102 + VCC, FLAT_SCRATCH, XNACK, in granules of 16 */

    .architected_flat_scratch = true, /* [LLVM] */

    .lds_bytes_per_cu = RP_KIB(64),        /* [DS], [KFD] lds_size_in_kb */
    .lds_bytes_per_workgroup = RP_KIB(64), /* [LLVM] */
    .lds_granule_bytes = 512,              /* [LLVM] 128 dwords */

    .engine_clock_mhz = 2100,
    .memory_clock_mhz = 1300,
    .memory_width_bits = 8192,
    .memory_transfers_per_clock = 4, /* HBM3: width / 8 * 1300 MHz * 4 = [RPC]'s 5324.8 GB/s */
    .memory_bytes = 206141652992,
    .hbm_peak_gbps = 5324.8,   /* [RPC]; [DS] 5.3 TB/s */
    .hbm_efficiency = 0.784,   /* [BS] Copy 4177.285 GB/s of the peak */
    .hbm_latency_cycles = 900, /* [mt4g] mean of a pointer chase, p50 876, p95 1115 */
    /* PCIe 5.0 x16 [DS]: 32 GT/s * 16 lanes * 128/130 = 63.0 GB/s; packets of 256 bytes carry 24
     * of header, framing and check: 256/280 of that. */
    .host_link_gbps = 57.6,
    .peer_link_gbps = 48.0, /* AMD's ROCm blog on RCCL and xGMI: 64 GB/s raw, 48 usable a link */
    .timestamp_mhz = 100,   /* constant clock behind s_memrealtime and signal timestamps */

    .pci_vendor_id = 0x1002, /* [KFD] 4098 */
    .pci_device_id = 0x74a1,
    .pci_class = 0x120000,      /* [IDS] of PCI: processing accelerator */
    .pcie_mtransfers_s = 32000, /* [DS] PCIe 5.0 x16 */
    .pcie_lanes = 16,
    .mec_firmware =
        177, /* the first that RCCL trusts to reclaim scratch (validHsaScratchEnvSetting) */
    .sdma_firmware = 22,           /* assumed: nothing asks for a certain one */
    .l1_bytes = RP_KIB(32),        /* [SPEC], [DS], [mt4g] */
    .l1_line_bytes = 128,          /* [mt4g] */
    .scalar_l1_bytes = RP_KIB(16), /* [SPEC] shared by two CUs */
    .scalar_l1_line_bytes = 64,    /* [mt4g] */
    .l2_bytes = RP_MIB(4),         /* [DS], [mt4g]: per XCD */
    .l2_line_bytes = 128,          /* [mt4g] */
    .mall_bytes = RP_MIB(256),     /* [DS] Infinity Cache */
    .xgmi_link_mbytes_s = 64000,   /* [DS] 128 GB/s per link, both directions together */
    .sdma_engines = 2,             /* [KFD] */
    .sdma_xgmi_engines = 14,       /* [KFD] */
    .l2_channels_per_xcc = 16,     /* [RPC] 128 channels of 8 XCDs */
    .lds_banks = 32,               /* CDNA3 ISA manual: 32 banks of 4 bytes */

    .kfd_name = "aqua_vanjaram", /* amdgpu's name of the MI300 family */
    .isa = RP_ISA_GFX942,
    .is_default = true,

    .timing = &timing,

    .counter_blocks = rp_counter_blocks_gfx9,
    .derived_counters = "MI300",
    .roofline =
        {
            .traffic = RP_TRAFFIC_EA0_BUBBLE,
            .counts_by_precision = true,
            .l2_read_bytes = 128,
            /* [WP] a bus as wide as a line, and rocprof-compute's peak. [SC25] reads 61 on MI300X
             * and MI325X: .l1_bytes_per_clock. */
            .l1_bytes = 128,
            .lds_bytes = 128,
            .l2_bytes = 128,
            .mall_gbps = 17200, /* [WP] 17.2 TB/s: 128 slices of 64 bytes at 2.1 GHz */
            .valu = 128,
            .valu_f64 = 128,
            .mfma_f16 = 2048,
            .mfma_bf16 = 2048,
            .mfma_f32 = 256,
            .mfma_f64 = 256,
            .mfma_f8 = 4096,
            .mfma_xf32 = 1024, /* [DS] 653.7 TFLOP/s of TF32 */
            .mfma_i8 = 4096,   /* [DS] 2614.9 TOP/s */
        },

    .products = products,
    .product_count = RP_COUNT(products),
};
