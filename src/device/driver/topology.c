/* Describes the machine as a tree of files, whose rows are below.
 *
 * The rows of the tree have a path, and the text of a file or the target of a link. Words in
 * braces stand for what differs from GPU to GPU: "{bus:02x}" is the number called bus, as printf's
 * %02x.
 *
 * ROCm SMI, AMD SMI, libdrm and RCCL look at the PCI devices before they do anything else. Each
 * GPU sits on a root bus of its own, and these are in a PCI domain of their own, so that no device
 * of the host is hidden: its buses begin at 0000:00, firmware counts further domains from 1, and
 * Linux counts those that have no number (of Intel's VMD) from 0x10000. The domain is the same on
 * every host, like everything that programs see.
 *
 * Files that only a sensor, a flash chip or a power controller could fill (temperatures, power,
 * VBIOS, ECC counters) do not exist, as with a driver that does not support them. Clocks are those
 * that the model runs at.
 */
#include "device/driver/vfs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/** Returns the serial number that the driver reads from a GPU. No real GPU has this one. */
static inline uint64_t topology_unique_id(unsigned gpu)
{
    return 1234567890 + (uint64_t)gpu;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* This is ROCr's view of what the driver can do, as an MI300X reports it but without the debug
 * firmware bit (29). Queue errors then arrive through the queue's inactive signal. PC sampling
 * needs the bit, and with it errors arrive through the queue's exception signal.
 */
enum { GPU_CAPABILITY = 201826944, DEBUG_FIRMWARE = 1 << 29 };

/* The driver sets HSA_CAP_FLAGS_COHERENTHOSTACCESS where processor and GPU share the memory. */
enum { COHERENT_HOST_ACCESS = 0x10000000 };
enum { SIMD_ID_BASE = 0x80001000u };
enum { HIVE_ID = 1234567890 };
/* GPU 0 has this index, which is above those of the host's own sensors. */
enum { HWMON_INDEX = 64 };

/** A file is about such a subject. */
struct subject {
    const struct rp_topology *topology;
    unsigned gpu;  /**< of node 0, the host, 0 */
    unsigned node; /**< 0: the host; GPU + 1 */
    unsigned link; /**< of the node: to every other one, the host first */
    unsigned cache;
};

static unsigned linked_node(const struct subject *s)
{
    return s->link < s->node ? s->link : s->link + 1;
}

/** GPUs of one hive reach each other over XGMI, and the host over PCI Express. */
static bool is_xgmi(const struct subject *s)
{
    return s->node != 0 && linked_node(s) != 0;
}

/** This is one of the GPU's caches. */
struct cache {
    unsigned level;
    uint64_t bytes;
    uint32_t line_bytes;
    uint32_t first_cu, cus; /**< that share it */
};

/**
 * Counts caches as the driver lists them: each CU's own, and one of each shared kind for all CUs.
 */
static unsigned cache_count(const struct rp_arch *a)
{
    return a->compute_units + (a->mall_bytes ? 2 : 1);
}

static struct cache cache_at(const struct rp_arch *a, unsigned index)
{
    if (index < a->compute_units)
        return (struct cache){1, a->l1_bytes, a->l1_line_bytes, index, 1};
    if (index == a->compute_units)
        return (struct cache){2, a->l2_bytes, a->l2_line_bytes, 0, a->compute_units};
    return (struct cache){3, a->mall_bytes, a->l2_line_bytes, 0, a->compute_units};
}

/* ---- words -------------------------------------------------------------------------------- */

/** This is the text of a file, or a path. */
struct text {
    char *out;
    size_t room, used;
};

/** What is beyond the room is left out. */
__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->out + t->used, t->room - t->used, format, args);
    va_end(args);
    if (n > 0 && t->used + (size_t)n < t->room)
        t->used += (size_t)n;
}

static bool number_called(const struct subject *s, const char *word, uint64_t *ret)
{
    const struct rp_arch *a = &s->topology->arch;
    const struct cache cache = cache_at(a, s->cache);
    const struct {
        const char *word;
        uint64_t value;
    } numbers[] = {
        {"gpu", s->gpu},
        {"minor", RP_TOPOLOGY_RENDER_MINOR + s->gpu},
        {"hwmon", HWMON_INDEX + s->gpu},
        {"bus", RP_TOPOLOGY_BUS + s->gpu},
        {"node", s->node},
        {"link", s->link},
        {"cache", s->cache},
        {"gpu_id", rp_topology_gpu_id(s->gpu)},
        {"unique_id", topology_unique_id(s->gpu)},
        {"vendor", a->pci_vendor_id},
        {"device", a->pci_device_id},
        {"class", a->pci_class},
        {"base_class", a->pci_class >> 16},
        {"sub_class", a->pci_class >> 8 & 0xff},
        {"interface", a->pci_class & 0xff},
        {"lanes", a->pcie_lanes},
        {"sclk", a->engine_clock_mhz},
        {"sclk_now", s->topology->clock_mhz ? s->topology->clock_mhz : a->engine_clock_mhz},
        {"mclk", a->memory_clock_mhz},
        {"mec", a->mec_firmware},
        {"sdma", a->sdma_firmware},
        {"vram", a->memory_bytes},
        {"vram_used", s->topology->memory_used_bytes[s->gpu]},
        {"gtt", rp_topology_gtt_bytes(s->topology)},
        {"gpus", s->topology->gpu_count},
        {"cores", s->topology->host.cores},
        {"host_clock", s->topology->host.clock_mhz},
        {"host_memory", s->topology->host.memory_bytes},
        {"simds", (uint64_t)a->compute_units * a->simds_per_cu},
        {"simds_per_cu", a->simds_per_cu},
        {"caches", cache_count(a)},
        {"simd_id_base", SIMD_ID_BASE},
        {"waves", a->max_waves_per_simd},
        {"lds_kb", a->lds_bytes_per_cu / 1024},
        {"wave_size", a->wave_size},
        {"engines", a->shader_engines},
        {"engine_cus",
         a->shader_engines ? (a->compute_units + a->shader_engines - 1) / a->shader_engines : 0},
        {"version", a->gfx_target_version},
        {"location", (RP_TOPOLOGY_BUS + s->gpu) << 8}, /* Its device number is 0. */
        {"domain", RP_TOPOLOGY_DOMAIN},
        {"hive", s->topology->gpu_count > 1 ? HIVE_ID : 0},
        {"sdma_engines", a->sdma_engines},
        {"sdma_xgmi_engines", a->sdma_xgmi_engines},
        {"sdma_queues", RP_TOPOLOGY_SDMA_QUEUES},
        {"capability", GPU_CAPABILITY | (a->apu ? COHERENT_HOST_ACCESS : 0) |
                           (s->topology->reports_exceptions ? DEBUG_FIRMWARE : 0)},
        {"xccs", a->xcc_count},
        {"memory_width", a->memory_width_bits},
        {"to_node", linked_node(s)},
        {"link_type", is_xgmi(s) ? 11 : 2},
        /* One hop has this weight; the numbers are the driver's. */
        {"weight", is_xgmi(s) ? 15 : 20},
        {"link_mbytes_s", is_xgmi(s) ? a->xgmi_link_mbytes_s : 0},
        {"cache_simd", SIMD_ID_BASE + cache.first_cu * a->simds_per_cu},
        {"cache_level", cache.level},
        {"cache_kb", cache.bytes / 1024},
        {"cache_line", cache.line_bytes},
    };
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(numbers[i].word, word) == 0) {
            *ret = numbers[i].value;
            return true;
        }
    return false;
}

static void cpu_list(struct text *t, const struct subject *s)
{
    uint32_t last = s->topology->host.cores - 1;
    add(t, last ? "0-%u" : "0", last);
}

/** Prints a mask of bits, 32 a word, with the highest word first. */
static void cpu_mask(struct text *t, const struct subject *s)
{
    uint32_t cores = s->topology->host.cores;
    for (uint32_t word = (cores + 31) / 32; word-- > 0;) {
        uint32_t bits = cores - word * 32;
        uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
        add(t, "%08x%s", mask, word ? "," : "");
    }
}

/** Prints the CUs that share a cache. */
static void siblings(struct text *t, const struct subject *s)
{
    for (uint32_t cu = cache_at(&s->topology->arch, s->cache).cus; cu > 0; cu--)
        add(t, cu > 1 ? "1," : "1");
}

static void product(struct text *t, const struct subject *s)
{
    add(t, "%s", s->topology->arch.product);
}

static void kfd_name(struct text *t, const struct subject *s)
{
    add(t, "%s", s->topology->arch.kfd_name);
}

static void gtransfers_s(struct text *t, const struct subject *s)
{
    uint32_t speed = s->topology->arch.pcie_mtransfers_s;
    add(t, "%u.%u", speed / 1000, speed % 1000 / 100);
}

static void expand(struct text *t, const struct subject *s, const char *row);

static void pci(struct text *t, const struct subject *s)
{
    expand(t, s, "/sys/devices/pci7f00:{bus:02x}/7f00:{bus:02x}:00.0");
}

static const struct {
    const char *word;
    void (*add)(struct text *t, const struct subject *s);
} text_words[] = {
    {"pci", pci},           {"product", product},   {"kfd_name", kfd_name}, {"gts", gtransfers_s},
    {"cpu_list", cpu_list}, {"cpu_mask", cpu_mask}, {"siblings", siblings},
};

/** @param word  what stands in the braces */
static void add_word(struct text *t, const struct subject *s, const char *word, int bytes)
{
    char name[32], number[24], format[16] = "%lu";
    int length = (int)strcspn(word, ":}");
    uint64_t value;
    snprintf(name, sizeof name, "%.*s", length, word);
    for (size_t i = 0; i < COUNT(text_words); i++)
        if (strcmp(name, text_words[i].word) == 0) {
            text_words[i].add(t, s);
            return;
        }
    if (!number_called(s, name, &value)) {
        add(t, "{%s}", name); /* No row has such a word, because test_topology looks for braces. */
        return;
    }
    if (length < bytes) /* The format is like "02x": flags, and the letter. */
        snprintf(format, sizeof format, "%%%.*sl%c", bytes - length - 2, word + length + 1,
                 word[bytes - 1]);
    snprintf(number, sizeof number, format, (unsigned long)value);
    add(t, "%s", number);
}

static void expand(struct text *t, const struct subject *s, const char *row)
{
    const char *brace;
    for (; (brace = strchr(row, '{')); row = strchr(brace, '}') + 1) {
        add(t, "%.*s", (int)(brace - row), row);
        add_word(t, s, brace + 1, (int)strcspn(brace + 1, "}"));
    }
    add(t, "%s", row);
}

/* ---- rows --------------------------------------------------------------------------------- */

enum device { NO_DEVICE, CARD, RENDER };

/**
 * A row is an entry of the tree; without text, target and device it is a folder. A folder exists
 * where files are, so only empty folders have rows.
 */
struct row {
    const char *path;   /**< below the group's folder */
    const char *text;   /**< of a file */
    const char *target; /**< of a link: absolute, without links in it */
    enum device device;
    bool each_gpu;                           /**< the row is one of every GPU */
    bool (*has)(const struct rp_arch *arch); /**< NULL: every GPU */
};

#define KFD    "/sys/devices/virtual/kfd/kfd"
#define MODULE "/sys/module/amdgpu"

#define PCI_BUS "/sys/devices/pci7f00:{bus:02x}/pci_bus/7f00:{bus:02x}"

/* Rows of one folder are neighbours. */
static const struct row machine_rows[] = {
    /* This is libdrm's list of names: PCI device, revision, product. */
    {RP_TOPOLOGY_NAMES, .text = "1.0.0\n{device:04X},\t00,\t{product}\n"},
    {MODULE "/initstate", .text = "live\n"}, /* rocminfo looks here before anything else. */
    {"/sys/class/kfd/kfd", .target = KFD},
    /* The version has been the same since 2006. */
    {"/sys/class/drm/version", .text = "drm 1.1.0 20060810\n"},
    {"/sys/class/drm/card{gpu}", .target = "{pci}/drm/card{gpu}", .each_gpu = true},
    {"/sys/class/drm/renderD{minor}", .target = "{pci}/drm/renderD{minor}", .each_gpu = true},
    {"/sys/class/hwmon/hwmon{hwmon}", .target = "{pci}/hwmon/hwmon{hwmon}", .each_gpu = true},
    {"/sys/class/pci_bus/7f00:{bus:02x}", .target = PCI_BUS, .each_gpu = true},
    {"/sys/bus/pci/devices/7f00:{bus:02x}:00.0", .target = "{pci}", .each_gpu = true},
    {"/sys/bus/pci/drivers/amdgpu/7f00:{bus:02x}:00.0", .target = "{pci}", .each_gpu = true},
    {"/sys/dev/char/226:{gpu}", .target = "{pci}/drm/card{gpu}", .each_gpu = true},
    {"/sys/dev/char/226:{minor}", .target = "{pci}/drm/renderD{minor}", .each_gpu = true},
    {"/dev/dri/card{gpu}", .device = CARD, .each_gpu = true},
    {"/dev/dri/renderD{minor}", .device = RENDER, .each_gpu = true},
    {"/dev/kfd", .device = RENDER},
    /* The folder lists processes that use the GPUs. Every process has software GPUs of its own, so
     * there are no others, but tools need the folder.
     */
    {.path = KFD "/proc"},
    {KFD "/topology/generation_id", .text = "1\n"},
    {KFD "/topology/system_properties", .text = "platform_oem 0\nplatform_id 0\nplatform_rev 0\n"},
};

static const struct row host_rows[] = {
    {"/gpu_id", .text = "0\n"},
    {"/name", .text = "\n"},
    {"/properties", .text = "cpu_cores_count {cores}\n"
                            "simd_count 0\n"
                            "mem_banks_count 1\n"
                            "caches_count 0\n"
                            "io_links_count {gpus}\n"
                            "p2p_links_count 0\n"
                            "cpu_core_id_base 0\n"
                            "simd_id_base 0\n"
                            /* The driver writes these for every node. Tools look each of them up,
                             * and say what is missing. */
                            "max_waves_per_simd 0\n"
                            "lds_size_in_kb 0\n"
                            "gds_size_in_kb 0\n"
                            "num_gws 0\n"
                            "wave_front_size 0\n"
                            "array_count 0\n"
                            "simd_arrays_per_engine 0\n"
                            "cu_per_simd_array 0\n"
                            "simd_per_cu 0\n"
                            "max_slots_scratch_cu 0\n"
                            "gfx_target_version 0\n"
                            "vendor_id 0\n"
                            "device_id 0\n"
                            "location_id 0\n"
                            "domain 0\n"
                            "drm_render_minor 0\n"
                            "hive_id 0\n"
                            "num_sdma_engines 0\n"
                            "num_sdma_xgmi_engines 0\n"
                            "num_sdma_queues_per_engine 0\n"
                            "num_cp_queues 0\n"
                            "max_engine_clk_ccompute {host_clock}\n"},
    /* Heap 0 is the system's. Width and clock are what the driver writes where no table of the
     * firmware gives them, as on every server today.
     */
    {"/mem_banks/0/properties", .text = "heap_type 0\n"
                                        "size_in_bytes {host_memory}\n"
                                        "flags 0\n"
                                        "width 0\n"
                                        "mem_clk_max 0\n"},
};

static const struct row gpu_rows[] = {
    {"/gpu_id", .text = "{gpu_id}\n"},
    {"/name", .text = "{kfd_name}\n"},
    {"/properties", .text = "cpu_cores_count 0\n"
                            "simd_count {simds}\n"
                            "mem_banks_count 1\n"
                            "caches_count {caches}\n"
                            "io_links_count {gpus}\n"
                            "p2p_links_count 0\n"
                            "cpu_core_id_base 0\n"
                            "simd_id_base {simd_id_base}\n"
                            "max_waves_per_simd {waves}\n"
                            "lds_size_in_kb {lds_kb}\n"
                            "gds_size_in_kb 0\n"
                            "num_gws 64\n"
                            "wave_front_size {wave_size}\n"
                            "array_count {engines}\n"
                            "simd_arrays_per_engine 1\n"
                            "cu_per_simd_array {engine_cus}\n"
                            "simd_per_cu {simds_per_cu}\n"
                            "max_slots_scratch_cu 32\n"
                            "gfx_target_version {version}\n"
                            "vendor_id {vendor}\n"
                            "device_id {device}\n"
                            "location_id {location}\n"
                            "domain {domain}\n"
                            "drm_render_minor {minor}\n"
                            "hive_id {hive}\n"
                            "num_sdma_engines {sdma_engines}\n"
                            "num_sdma_xgmi_engines {sdma_xgmi_engines}\n"
                            "num_sdma_queues_per_engine {sdma_queues}\n"
                            "num_cp_queues 24\n"
                            "max_engine_clk_fcompute {sclk}\n"
                            "local_mem_size 0\n"
                            "fw_version {mec}\n"
                            "capability {capability}\n"
                            "debug_prop 1495\n"
                            "sdma_fw_version {sdma}\n"
                            "unique_id {unique_id}\n"
                            "num_xcc {xccs}\n"
                            "max_engine_clk_ccompute {sclk}\n"},
    /* Heap 1 is a public frame buffer, which means a large BAR. */
    {"/mem_banks/0/properties", .text = "heap_type 1\n"
                                        "size_in_bytes {vram}\n"
                                        "flags 0\n"
                                        "width {memory_width}\n"
                                        "mem_clk_max {mclk}\n"},
};

static const struct row link_row = {"/io_links/{link}/properties",
                                    .text = "type {link_type}\n"
                                            "version_major 0\n"
                                            "version_minor 0\n"
                                            "node_from {node}\n"
                                            "node_to {to_node}\n"
                                            "weight {weight}\n"
                                            "min_latency 0\n"
                                            "max_latency 0\n"
                                            "min_bandwidth {link_mbytes_s}\n"
                                            "max_bandwidth {link_mbytes_s}\n"
                                            "recommended_transfer_size 0\n"
                                            "recommended_sdma_engine_id_mask 0\n"
                                            "flags 1\n"}; /* The cache is enabled. */

static const struct row cache_row = {"/caches/{cache}/properties",
                                     .text = "processor_id_low {cache_simd}\n"
                                             "level {cache_level}\n"
                                             "size {cache_kb}\n"
                                             "cache_line_size {cache_line}\n"
                                             "cache_lines_per_tag 1\n"
                                             "association 16\n"
                                             "latency 0\n"
                                             /* It is a data cache of the compute units. */
                                             "type 9\n"
                                             "sibling_map {siblings}\n"};

static bool in_slot(const struct rp_arch *arch)
{
    return !arch->apu && arch->pcie_mtransfers_s;
}

static bool has_dies(const struct rp_arch *arch)
{
    return arch->xcc_count > 1;
}

static bool knows_memory_clock(const struct rp_arch *arch)
{
    return arch->memory_clock_mhz != 0;
}

#define MODALIAS                                                                                   \
    "pci:v{vendor:08X}d{device:08X}sv{vendor:08X}sd{device:08X}"                                   \
    "bc{base_class:02X}sc{sub_class:02X}i{interface:02X}\n"
#define LINK_SPEED "{gts} GT/s PCIe\n"
#define DRM_UEVENT "MAJOR=226\nMINOR="

/* The model is one device of all dies (SPX, NPS1), which cannot be changed. Tables of clocks have
 * the one that the model runs at, which is in use. The host is one node of NUMA.
 */
static const struct row device_rows[] = {
    {"/class", .text = "0x{class:06x}\n"},
    {"/current_compute_partition", .text = "SPX\n", .has = has_dies},
    {"/available_compute_partition", .text = "SPX\n", .has = has_dies},
    {"/current_link_speed", .text = LINK_SPEED, .has = in_slot},
    {"/current_link_width", .text = "{lanes}\n", .has = in_slot},
    {"/current_memory_partition", .text = "NPS1\n", .has = has_dies},
    {"/available_memory_partition", .text = "NPS1\n", .has = has_dies},
    {"/device", .text = "0x{device:04x}\n"},
    {"/driver", .target = "/sys/bus/pci/drivers/amdgpu"},
    {"/enable", .text = "1\n"},
    {"/fw_version/mec_fw_version", .text = "0x{mec:08x}\n"},
    {"/fw_version/sdma_fw_version", .text = "0x{sdma:08x}\n"},
    {"/local_cpulist", .text = "{cpu_list}\n"},
    {"/local_cpus", .text = "{cpu_mask}\n"},
    {"/max_link_speed", .text = LINK_SPEED, .has = in_slot},
    {"/max_link_width", .text = "{lanes}\n", .has = in_slot},
    {"/mem_info_gtt_total", .text = "{gtt}\n"},
    {"/mem_info_vis_vram_total", .text = "{vram}\n"},
    {"/mem_info_vis_vram_used", .text = "{vram_used}\n"},
    {"/mem_info_vram_total", .text = "{vram}\n"},
    {"/mem_info_vram_used", .text = "{vram_used}\n"},
    {"/mem_info_vram_vendor",
     .text = "unknown\n"}, /* The driver uses this word where the firmware gives none. */
    {"/modalias", .text = MODALIAS},
    {"/numa_node", .text = "0\n"},
    {"/power/control", .text = "on\n"},
    {"/power/runtime_enabled", .text = "forbidden\n"},
    {"/power/runtime_status", .text = "active\n"},
    {"/power_state", .text = "D0\n"},
    {"/pp_dpm_mclk", .text = "0: {mclk}Mhz *\n", .has = knows_memory_clock},
    {"/pp_dpm_pcie", .text = "0: {gts}GT/s, x{lanes} *\n", .has = in_slot},
    {"/pp_dpm_sclk", .text = "0: {sclk_now}Mhz *\n"},
    {"/product_name", .text = "{product}\n"},
    {"/revision", .text = "0x00\n"},
    {"/subsystem", .target = "/sys/bus/pci"},
    {"/subsystem_device", .text = "0x{device:04x}\n"},
    {"/subsystem_vendor", .text = "0x{vendor:04x}\n"},
    {"/uevent", .text = "DRIVER=amdgpu\n"
                        "PCI_CLASS={class:X}\n"
                        "PCI_ID={vendor:04X}:{device:04X}\n"
                        "PCI_SUBSYS_ID={vendor:04X}:{device:04X}\n"
                        "PCI_SLOT_NAME=7f00:{bus:02x}:00.0\n"
                        "MODALIAS=" MODALIAS},
    {"/unique_id", .text = "{unique_id:016x}\n"},
    {"/vendor", .text = "0x{vendor:04x}\n"},
    {"/drm/card{gpu}/dev", .text = "226:{gpu}\n"},
    {"/drm/card{gpu}/device", .target = "{pci}"},
    {"/drm/card{gpu}/subsystem", .target = "/sys/class/drm"},
    {"/drm/card{gpu}/uevent",
     .text = DRM_UEVENT "{gpu}\nDEVNAME=dri/card{gpu}\nDEVTYPE=drm_minor\n"},
    {"/drm/renderD{minor}/dev", .text = "226:{minor}\n"},
    {"/drm/renderD{minor}/device", .target = "{pci}"},
    {"/drm/renderD{minor}/subsystem", .target = "/sys/class/drm"},
    {"/drm/renderD{minor}/uevent",
     .text = DRM_UEVENT "{minor}\nDEVNAME=dri/renderD{minor}\nDEVTYPE=drm_minor\n"},
    {"/hwmon/hwmon{hwmon}/device", .target = "{pci}"},
    {"/hwmon/hwmon{hwmon}/freq1_input", .text = "{sclk_now}000000\n"},
    {"/hwmon/hwmon{hwmon}/freq1_label", .text = "sclk\n"},
    {"/hwmon/hwmon{hwmon}/freq2_input", .text = "{mclk}000000\n", .has = knows_memory_clock},
    {"/hwmon/hwmon{hwmon}/freq2_label", .text = "mclk\n", .has = knows_memory_clock},
    {"/hwmon/hwmon{hwmon}/name", .text = "amdgpu\n"},
    {"/hwmon/hwmon{hwmon}/subsystem", .target = "/sys/class/hwmon"},
};

static const struct row bus_row = {PCI_BUS "/cpulistaffinity", .text = "{cpu_list}\n"};

/* ---- the walk ----------------------------------------------------------------------------- */

/** Goes over the tree in the order of the rows, but leaves out what has nothing to do with asked.
 */
struct walk {
    struct subject of;
    const char *asked;
    size_t asked_bytes;
    bool (*each)(struct walk *w); /**< looks at row and path; true: that is all */
    const struct row *row;
    char path[RP_TOPOLOGY_PATH_BYTES]; /**< of the row */
    size_t folder_bytes;               /**< of these, its group's folder */

    /* What a search found. */
    enum rp_topology_kind kind;

    /* A listing uses these members. */
    unsigned left; /**< entries to pass over */
    char previous[64];
    char *name;
    size_t room;
};

static bool has_prefix(const char *path, const char *prefix, size_t bytes)
{
    return strncmp(path, prefix, bytes) == 0;
}

/** Tests whether the requested path or that folder is above the other, or both are the same. */
static bool is_related(const struct walk *w)
{
    const size_t common = w->asked_bytes < w->folder_bytes ? w->asked_bytes : w->folder_bytes;
    const char *longer = w->asked_bytes < w->folder_bytes ? w->path : w->asked;
    return has_prefix(w->asked, w->path, common) &&
           (longer[common] == '\0' || longer[common] == '/');
}

static void set_folder(struct walk *w, const char *folder)
{
    struct text text = {.out = w->path, .room = sizeof w->path};
    expand(&text, &w->of, folder);
    w->folder_bytes = text.used;
}

static bool visit_row(struct walk *w, const struct row *row)
{
    struct text text = {w->path, sizeof w->path, w->folder_bytes};
    if (row->has && !row->has(&w->of.topology->arch))
        return false;
    expand(&text, &w->of, row->path);
    w->row = row;
    return w->each(w);
}

static bool visit_rows(struct walk *w, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (visit_row(w, &rows[i]))
            return true;
    return false;
}

static bool visit_machine(struct walk *w)
{
    for (size_t i = 0; i < COUNT(machine_rows); i++) {
        const struct row *row = &machine_rows[i];
        const size_t fixed = strcspn(row->path, "{");
        if (!has_prefix(w->asked, row->path, w->asked_bytes < fixed ? w->asked_bytes : fixed))
            continue;
        const unsigned times = row->each_gpu ? w->of.topology->gpu_count : 1;
        for (w->of.gpu = 0; w->of.gpu < times; w->of.gpu++)
            if (visit_row(w, row))
                return true;
    }
    return false;
}

/** There are hundreds of caches, so a path to one of them shows that one alone. */
static bool visit_caches(struct walk *w)
{
    static const char folder[] = "/caches/";
    unsigned end = cache_count(&w->of.topology->arch);
    w->of.cache = 0;
    if (w->asked_bytes > w->folder_bytes &&
        has_prefix(w->asked + w->folder_bytes, folder, sizeof folder - 1)) {
        unsigned long one = strtoul(w->asked + w->folder_bytes + sizeof folder - 1, NULL, 10);
        w->of.cache = one < end ? (unsigned)one : end;
        end = one < end ? w->of.cache + 1 : end;
    }
    for (; w->of.cache < end; w->of.cache++)
        if (visit_row(w, &cache_row))
            return true;
    return false;
}

static bool visit_nodes(struct walk *w)
{
    for (unsigned node = 0; node <= w->of.topology->gpu_count; node++) {
        w->of.node = node;
        w->of.gpu = node ? node - 1 : 0;
        set_folder(w, KFD "/topology/nodes/{node}");
        if (!is_related(w))
            continue;
        if (node ? visit_rows(w, gpu_rows, COUNT(gpu_rows))
                 : visit_rows(w, host_rows, COUNT(host_rows)))
            return true;
        for (w->of.link = 0; w->of.link < w->of.topology->gpu_count; w->of.link++)
            if (visit_row(w, &link_row))
                return true;
        if (node && visit_caches(w))
            return true;
    }
    return false;
}

static void visit_devices(struct walk *w)
{
    for (w->of.gpu = 0; w->of.gpu < w->of.topology->gpu_count; w->of.gpu++) {
        set_folder(w, "{pci}");
        if (is_related(w) && visit_rows(w, device_rows, COUNT(device_rows)))
            return;
        w->folder_bytes = 0;
        if (visit_row(w, &bus_row))
            return;
    }
}

static void visit(struct walk *w, const struct rp_topology *topology, const char *asked)
{
    w->of.topology = topology;
    w->asked = asked;
    w->asked_bytes = strlen(asked);
    if (visit_machine(w) || visit_nodes(w))
        return;
    visit_devices(w);
}

/* ---- what is asked of it ------------------------------------------------------------------ */

/** Returns the rest of the row's path below the requested path, or NULL. */
static const char *below(const struct walk *w)
{
    const char *rest = w->path + w->asked_bytes;
    return has_prefix(w->path, w->asked, w->asked_bytes) && *rest == '/' ? rest + 1 : NULL;
}

static enum rp_topology_kind kind_of(const struct row *row)
{
    return row->text     ? RP_TOPOLOGY_FILE
           : row->target ? RP_TOPOLOGY_LINK
           : row->device ? RP_TOPOLOGY_DEVICE
                         : RP_TOPOLOGY_DIR;
}

static bool look_for(struct walk *w)
{
    if (strcmp(w->path, w->asked) == 0)
        w->kind = kind_of(w->row);
    else if (below(w))
        w->kind = RP_TOPOLOGY_DIR;
    return w->kind != RP_TOPOLOGY_NONE;
}

static struct walk find(const struct rp_topology *topology, const char *path)
{
    struct walk w = {.each = look_for};
    if (path[0] == '/')
        visit(&w, topology, path);
    return w;
}

struct rp_topology_entry rp_topology_find(const struct rp_topology *topology, const char *path)
{
    const struct walk found = find(topology, path);
    struct rp_topology_entry entry = {.kind = found.kind};
    if (found.kind == RP_TOPOLOGY_LINK) {
        struct text text = {.out = entry.target, .room = sizeof entry.target};
        expand(&text, &found.of, found.row->target);
    } else if (found.kind == RP_TOPOLOGY_DEVICE) {
        entry.gpu = found.of.gpu;
        entry.minor = found.of.gpu + (found.row->device == RENDER ? RP_TOPOLOGY_RENDER_MINOR : 0);
    }
    return entry;
}

int rp_topology_read(const struct rp_topology *topology, const char *path,
                     char out[RP_TOPOLOGY_FILE_BYTES])
{
    const struct walk found = find(topology, path);
    struct text text = {.out = out, .room = RP_TOPOLOGY_FILE_BYTES};
    if (found.kind != RP_TOPOLOGY_FILE)
        return -ENOENT;
    expand(&text, &found.of, found.row->text);
    return (int)text.used;
}

static bool list(struct walk *w)
{
    const char *rest = below(w);
    if (!rest)
        return false;
    int bytes = (int)strcspn(rest, "/");
    char name[sizeof w->previous];
    snprintf(name, sizeof name, "%.*s", bytes, rest);
    if (strcmp(name, w->previous) == 0)
        return false;
    memcpy(w->previous, name, sizeof name);
    if (w->left-- > 0)
        return false;
    snprintf(w->name, w->room, "%s", name);
    w->kind = rest[bytes] ? RP_TOPOLOGY_DIR : kind_of(w->row);
    return true;
}

enum rp_topology_kind rp_topology_list(const struct rp_topology *topology, const char *path,
                                       unsigned index, char *name, size_t room)
{
    struct walk w = {.each = list, .left = index, .name = name, .room = room};
    visit(&w, topology, path);
    return w.kind;
}
