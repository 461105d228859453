/**
 * @file arch.h
 * @brief This header says what is known of each GPU: one row in archs.def each.
 */
#ifndef RP_ARCH_ARCH_H
#define RP_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each GPU, or a family of nearly equal ones, has a data file. All numbers are data, each with its
 * source beside it; rules that use them (occupancy, roofline) are in analyze, and the software
 * device reads the same table. 0 or an empty string means "unknown", never a real zero; fields
 * where zero is meaningful say so.
 */

/** How the register counts of a code object relate to the allocated vector registers. */
enum rp_vgpr_file {
    RP_VGPR_SEPARATE = 1, /**< arch and accumulation VGPRs are two files (gfx908) or no AGPRs */
    RP_VGPR_UNIFIED = 2,  /**< one file: allocated = arch + accum (gfx90a, gfx942, gfx950) */
};

struct rp_arch_timing;

/** One product of an architecture, told apart by what the driver says about the device. */
struct rp_arch_product {
    const char *name; /**< "AMD Instinct MI300A" */
    uint32_t pci_device_id;
    uint32_t compute_units;
    uint32_t xcc_count;
    uint32_t shader_engines; /**< all of the device */
    uint32_t engine_clock_mhz;
    uint32_t memory_clock_mhz; /**< KFD's mem_clk_max */
    uint32_t memory_width_bits;
    uint64_t memory_bytes;
    bool apu;                            /**< processor and GPU in one package, with one memory */
    const struct rp_arch_timing *timing; /**< NULL: the architecture's, with as fast a clock */
};

/** How many hardware counters of a block can be read in one run; each is read in all instances. */
struct rp_counter_block {
    const char *name;   /**< "TCC": of TCC_HIT, TCC_MISS_sum ... */
    const char *shares; /**< block whose counters it uses; NULL: it has its own */
    uint32_t counters;
};

/**
 * What the detailed timing model knows of an architecture. Latencies are from the issue of the
 * access to that of an instruction that uses its result, nothing else going on; in engine clocks.
 */
struct rp_arch_timing {
    uint32_t lds_clocks;
    uint32_t lds_read_port_bytes;                /**< of a clock, of one of two ports */
    uint32_t scalar_l1_clocks, scalar_l2_clocks; /**< served by the scalar L1, by the L2 */
    uint32_t l1_clocks, l2_clocks, mall_clocks, hbm_clocks;
    uint32_t store_clocks;           /**< until a vector store is acknowledged */
    uint32_t l1_bytes_per_clock;     /**< of one CU */
    double l2_read_bytes_per_clock;  /**< of one channel, as sustained */
    double l2_again_bytes_per_clock; /**< the same for a line that was read a moment ago */
    double l2_write_bytes_per_clock;
    uint32_t highest_clock_mhz; /**< where another one is modelled; 0: that is the highest */
    /** Of one die, from and to the Infinity Cache and memory together, at the highest clock; 0: as
     * fast as memory. */
    double die_bytes_per_clock;
    double hbm_read_share, hbm_write_share; /**< of its peak, as sustained */
    double hbm_turn_share;    /**< more that a request takes that follows one of the other kind */
    uint32_t memory_channels; /**< of HBM, and as many slices of the MALL */
    uint32_t inst_l1_bytes, code_clocks; /**< until a line comes that it does not have */
    uint32_t sqcs_per_xcc; /**< scalar and instruction caches, each for one CU or two neighbours */
    uint32_t scalar_l1_bytes_per_clock; /**< of each scalar cache */
    uint32_t l1_ways, scalar_l1_ways, l2_ways;
    /* Translations of 2 MiB that the vector L1 keeps, and how long another one takes. */
    uint32_t tlb_blocks, tlb_miss_clocks;
    uint32_t taken_branch_clocks; /**< until the wave's next instruction */
    uint32_t valu_ports;        /**< of a SIMD; 2: two waves' instructions may be issued at once */
    uint32_t valu_f64_clocks;   /**< of f64 instructions that read vector registers alone */
    uint32_t mfma_result_slots; /**< of 4 clocks, after the passes, until others may use it */
    uint32_t launch_clocks;     /**< of a dispatch that does nothing */
    uint32_t wave_clocks;       /**< from the launch of a wave to its first instruction */
    /* A shader engine launches a workgroup in so many, and so many more for each of its waves. */
    double engine_group_clocks, engine_wave_clocks;
};

/** This says which counters give the traffic between L2 and memory. */
enum rp_traffic_counters {
    RP_TRAFFIC_UNKNOWN,
    RP_TRAFFIC_EA,         /**< TCC_EA_: reads of 32 and 64 bytes */
    RP_TRAFFIC_EA0_BUBBLE, /**< TCC_EA0_; TCC_BUBBLE counts reads of 128 bytes */
    RP_TRAFFIC_EA0_128B    /**< TCC_BUBBLE is always 0; TCC_EA0_RDREQ_128B */
};

/**
 * What a roofline needs; 0 = not there, or unknown. Bytes and FLOPs are those of a clock.
 *
 * FLOPs are of a CU, as the counters count them: a packed FP32 instruction counts once although it
 * does twice the work, so 128 and not the data sheets' 256.
 *
 * Sources, where a GPU's file names no other: rocprof-compute's roofline and its tables of peaks
 * (MIT), compared with the data sheets of MI250X (F16 383.0, F64 matrix 95.7 TFLOP/s), MI300X (F16
 * 1307.4, F8 2614.9, F32 matrix 163.4, F64 vector 81.7) and MI350X (F16 2306.9, F8 4614, F6 and F4
 * 9227, F64 matrix 72.1); its 16834 of gfx950's F6F4 is a slip of 16384. Sizes of requests: vector
 * copies on real GPUs.
 */
struct rp_arch_roofline {
    enum rp_traffic_counters traffic; /**< unknown: the GPU has no roofline */
    bool counts_by_precision;         /**< its counters tell F16, F32 and F64 instructions apart */
    uint32_t l2_read_bytes;           /**< of a read request of a vector L1 */
    uint32_t l1_bytes, lds_bytes;     /**< of a CU */
    uint32_t l2_bytes;                /**< of a channel */
    double mall_gbps;                 /**< of the Infinity Cache */
    uint32_t valu, valu_f64, mfma_f16, mfma_bf16, mfma_f32, mfma_f64, mfma_f8, mfma_f6f4;
    uint32_t mfma_xf32, mfma_i8; /**< not in rooflines; operations of whole numbers */
};

/** Whose instructions the software device executes: what it has is in device/isa. */
enum rp_isa_target { RP_ISA_GFX942, RP_ISA_GFX950, RP_ISA_GFX90A };

struct rp_arch {
    const char *name;            /**< "gfx942" */
    const char *product;         /**< default product: "AMD Instinct MI300X" */
    const char *family;          /**< "CDNA3", "RDNA2" */
    uint32_t gfx_target_version; /**< KFD: 90402 for gfx942 */
    uint32_t wave_size;          /**< default wavefront size: 64 on CDNA, 32 on RDNA */

    /* These members are the shape of the default product. */
    uint32_t compute_units;
    uint32_t xcc_count;
    uint32_t shader_engines; /**< all of the device */
    uint32_t simds_per_cu;
    uint32_t max_waves_per_simd;
    uint32_t max_waves_per_cu;
    uint32_t max_workgroups_per_cu; /**< limit on multi-wave workgroups */
    uint32_t cus_per_block;         /**< CUs that the waves of one workgroup share: 1; 2 = a WGP */
    uint32_t max_workgroup_size;    /**< work-items */

    /* These members count registers per SIMD lane. */
    enum rp_vgpr_file vgpr_file;
    uint32_t vgprs_per_simd; /**< per lane of the default wave size */
    uint32_t vgpr_granule;
    uint32_t max_vgprs_per_lane; /**< addressable by one wave, accumulation VGPRs included */
    bool wave_sizes_scale_vgprs; /**< the other wave size (64 on RDNA) has half of both */
    uint32_t sgprs_per_simd;     /**< 0 = SGPRs never limit (gfx10+) */
    uint32_t sgpr_granule;
    uint32_t max_sgprs_per_wave; /**< allocated at most, VCC and trap registers included */

    /* These members describe private memory. */
    bool architected_flat_scratch; /**< waves know theirs; else SGPRs tell them where it is */

    /* LDS. */
    uint32_t lds_bytes_per_cu;
    uint32_t lds_bytes_per_workgroup;
    uint32_t lds_granule_bytes;

    /* These members are clocks and memory of the default product. */
    uint32_t engine_clock_mhz;
    uint32_t memory_clock_mhz;
    uint32_t memory_width_bits;
    uint32_t memory_transfers_per_clock; /**< peak = width / 8 * clock * this */
    uint64_t memory_bytes;
    bool apu;                    /**< as of rp_arch_product */
    double hbm_peak_gbps;        /**< 1e9 bytes per second; may be known where the clock is not */
    double hbm_efficiency;       /**< share of the peak that streaming kernels reach; 0 = unknown */
    uint32_t hbm_latency_cycles; /**< engine clocks, load to use, cache miss */
    double host_link_gbps;       /**< payload to or from host memory, one direction; 0 = unknown */
    double peer_link_gbps;       /**< payload to or from one other GPU, one direction */
    uint32_t timestamp_mhz;      /**< rate of the dispatch timestamps */

    /* These members identify the GPU on the PCI bus and in KFD's topology, for the software
     * device.
     */
    uint32_t pci_vendor_id;
    uint32_t pci_device_id;
    uint32_t pci_class;         /**< PCI's class code: 0x120000 is a processing accelerator */
    uint32_t pcie_mtransfers_s; /**< of its slot, per lane: 32000 for PCIe 5.0; 0 = no slot */
    uint32_t pcie_lanes;
    uint32_t mec_firmware;  /**< version of the command processor's firmware that is modelled */
    uint32_t sdma_firmware; /**< likewise, of the DMA engines */
    uint32_t l1_bytes, l1_line_bytes; /**< vector L1 per CU */
    uint32_t scalar_l1_bytes, scalar_l1_line_bytes;
    uint32_t l2_bytes, l2_line_bytes; /**< per XCC */
    uint64_t mall_bytes;              /**< Infinity Cache, 0 = none */
    uint32_t xgmi_link_mbytes_s; /**< one link to another GPU, one direction; 0 = no such links */
    uint32_t sdma_engines, sdma_xgmi_engines; /**< DMA engines for the host, and for its peers */
    uint32_t l2_channels_per_xcc;
    uint32_t lds_banks;

    const struct rp_arch_timing *timing; /**< NULL: the detailed model does not know it */

    const struct rp_counter_block *counter_blocks; /**< ends with a NULL name; NULL: unknown */
    const char *derived_counters; /**< word of its rows in counter_inputs.def; NULL: none known */
    struct rp_arch_roofline roofline;
    /** rocprofv3 of ROCm 7.0 and 7.1 reports half of its VGPRs, and no accumulation VGPRs. */
    bool vgprs_halved_by_rocm_7;

    const char *kfd_name;         /**< the driver's word for the chip */
    const char *software_refusal; /**< why the software device cannot be one; NULL: it can */
    enum rp_isa_target isa;       /**< of no meaning where there is a refusal */
    bool is_default; /**< of one: what the software device is, and what is compiled for, unless
                          somebody says otherwise */

    const struct rp_arch_product *products; /**< first = the default product */
    uint32_t product_count;
};

/** Finds by name: "gfx942", also "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-". NULL if unknown. */
const struct rp_arch *rp_arch_find(const char *name);

/**
 * Tells the product by the PCI device id; where products share one (or it is 0, unknown), by the
 * CU count and the memory clock, each ignored when 0. Known ids need no known clock. NULL if none
 * fits or nothing is known.
 */
const struct rp_arch_product *rp_arch_product_find(const struct rp_arch *arch,
                                                   uint32_t pci_device_id, uint32_t compute_units,
                                                   uint32_t memory_clock_mhz);

/** Returns the peak bandwidth of a product's memory in 1e9 bytes per second. 0: not known */
double rp_arch_memory_peak(const struct rp_arch *arch, const struct rp_arch_product *product);

/**
 * The architecture with the shape, clocks and memory of one of its products.
 * @param spec  "gfx942", "gfx942:mi325x" or "mi325x", in any case; NULL: the default
 * @return 0; -ENOENT nothing is called that; -ENODATA a product known by name only; -ENOTSUP the
 *         software device cannot be one (ret->software_refusal says why). With the last two *ret
 *         is set as far as known.
 */
int rp_arch_select(const char *spec, struct rp_arch *ret);

/* Engine clocks that can be modelled. The lowest is the lowest level that rocm-smi lists of an
 * MI300X at work (asleep it has 132 MHz), and assumed of all others; the highest is the MI355X's.
 */
enum { RP_ARCH_LOWEST_CLOCK_MHZ = 500, RP_ARCH_HIGHEST_CLOCK_MHZ = 2400 };

/**
 * Reads an engine clock at which the product can run.
 * @return whether it is a whole number from RP_ARCH_LOWEST_CLOCK_MHZ to the product's highest clock
 */
bool rp_arch_clock_parse(const struct rp_arch *arch, const char *text, uint32_t *ret_mhz);

/**
 * Lets a product run at another engine clock: what is on its dies takes as many clocks, and what
 * lies beyond (Infinity Cache, memory, the launch) as many nanoseconds.
 * @param ret_timing  becomes arch->timing, unless that is NULL or the clock is the product's own
 */
void rp_arch_set_clock(struct rp_arch *arch, uint32_t mhz, struct rp_arch_timing *ret_timing);

/**
 * What rp_arch_select takes for a product: "gfx942:mi325x" for "AMD Instinct MI325X" of gfx942.
 * @param isa  as of rp_arch_find
 * @return 0; -ENOENT: no product is called that, or the software device cannot be one
 */
int rp_arch_spec(const char *isa, const char *product, char *out, size_t room);

enum rp_arch_choice {
    RP_ARCH_SOFTWARE, /**< what the software device can be */
    RP_ARCH_TIMED,    /**< of these, what has detailed timing */
    RP_ARCH_ANY,      /**< what analyze can be told: these, and the names of all others */
};

/**
 * What rp_arch_select takes, for messages: "gfx942:mi300x, gfx942:mi300a, ...".
 * @return length, as snprintf
 */
int rp_arch_choices(enum rp_arch_choice of, char *out, size_t room);

/**
 * Where a counter is read: "TCC_HIT_sum" in block TCC.
 * @return NULL when no block of the architecture has that name: a derived counter
 */
const struct rp_counter_block *rp_arch_counter_block(const struct rp_arch *arch,
                                                     const char *counter);

/** Returns the architecture that is_default. */
const struct rp_arch *rp_arch_default(void);

/** Returns all known architectures in table order; *ret_count entries. */
const struct rp_arch *const *rp_arch_all(unsigned *ret_count);

#define RP_ARCH(id) extern const struct rp_arch rp_arch_##id;
#include "arch/archs.def"
#undef RP_ARCH

/* These are the counters of a family (arch.c). */
extern const struct rp_counter_block rp_counter_blocks_gfx9[], rp_counter_blocks_gfx10[];

#define RP_KIB(n) ((uint32_t)(n)*1024u)
#define RP_MIB(n) ((uint32_t)(n)*1024u * 1024u)
#define RP_GIB(n) ((uint64_t)(n)*1024u * 1024u * 1024u)

#define RP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The software device has these hardware counters; arch/hardware_counters.def says why it has no
 * others. */

/** They are indices of values. */
enum rp_device_counter {
#define COUNTER(name, block, kind, text) RP_COUNTER_##name,
#define NO_COUNTER(name, block, why)
#include "arch/hardware_counters.def"
#undef COUNTER
#undef NO_COUNTER
    RP_DEVICE_COUNTERS
};

enum rp_device_counter_kind {
    RP_COUNTER_NONE, /**< the device cannot know it */
    RP_COUNTER_EXACT,
    RP_COUNTER_CACHES,
    RP_COUNTER_TIME,
    RP_COUNTER_WAVES, /**< with detailed timing only */
};

struct rp_device_counter_row {
    const char *name, *block;
    enum rp_device_counter_kind kind;
    const char *text; /**< what it counts; NONE: why the device cannot */
    int value;        /**< enum rp_device_counter; -1 of NONE */
};

/** Returns all rows in the table's order, even those that the device does not have. */
const struct rp_device_counter_row *rp_device_counter_rows(size_t *ret_count);

/**
 * By its name, or of instances by "NAME_sum"; gfx90a's TCC_EA_ is TCC_EA0_.
 * @return NULL when there is no such counter
 */
const struct rp_device_counter_row *rp_device_counter_find(const char *name);

/** The name in the table that is most like @p name; NULL: none is near. */
const char *rp_device_counter_nearest(const char *name);

/** Returns "exact", "caches", "time" or "waves". */
const char *rp_device_counter_kind_name(enum rp_device_counter_kind kind);

#endif
