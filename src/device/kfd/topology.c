#include "topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *out;
    size_t used;
    const struct rp_arch *arch;
    const struct rp_topology_host *host;
};

static void line(struct text *t, const char *key, uint64_t value)
{
    int n = snprintf(t->out + t->used, RP_TOPOLOGY_FILE_BYTES - t->used, "%s %" PRIu64 "\n", key,
                     value);
    if (n > 0 && t->used + (size_t)n < RP_TOPOLOGY_FILE_BYTES)
        t->used += (size_t)n;
}

static void word(struct text *t, const char *value)
{
    int n = snprintf(t->out + t->used, RP_TOPOLOGY_FILE_BYTES - t->used, "%s\n", value);
    if (n > 0 && t->used + (size_t)n < RP_TOPOLOGY_FILE_BYTES)
        t->used += (size_t)n;
}

static void generation_id(struct text *t)
{
    word(t, "1");
}

static void system_properties(struct text *t)
{
    line(t, "platform_oem", 0);
    line(t, "platform_id", 0);
    line(t, "platform_rev", 0);
}

static void cpu_gpu_id(struct text *t)
{
    word(t, "0");
}

static void cpu_name(struct text *t)
{
    word(t, "");
}

static void cpu_properties(struct text *t)
{
    line(t, "cpu_cores_count", t->host->cores);
    line(t, "simd_count", 0);
    line(t, "mem_banks_count", 1);
    line(t, "caches_count", 0);
    line(t, "io_links_count", 1);
    line(t, "p2p_links_count", 0);
    line(t, "cpu_core_id_base", 0);
    line(t, "simd_id_base", 0);
    line(t, "gfx_target_version", 0);
    line(t, "vendor_id", 0);
    line(t, "device_id", 0);
    line(t, "location_id", 0);
    line(t, "domain", 0);
    line(t, "drm_render_minor", 0);
    line(t, "max_engine_clk_ccompute", 2000);
}

static void cpu_memory(struct text *t)
{
    line(t, "heap_type", 0); /* system */
    line(t, "size_in_bytes", t->host->memory_bytes);
    line(t, "flags", 0);
    line(t, "width", 64);
    line(t, "mem_clk_max", 2400);
}

static void link_properties(struct text *t, unsigned from, unsigned to)
{
    line(t, "type", 2); /* PCI Express */
    line(t, "version_major", 0);
    line(t, "version_minor", 0);
    line(t, "node_from", from);
    line(t, "node_to", to);
    line(t, "weight", 20);
    line(t, "min_latency", 0);
    line(t, "max_latency", 0);
    line(t, "min_bandwidth", 0);
    line(t, "max_bandwidth", 0);
    line(t, "recommended_transfer_size", 0);
    line(t, "recommended_sdma_engine_id_mask", 0);
    line(t, "flags", 1); /* enabled */
}

static void cpu_link(struct text *t)
{
    link_properties(t, 0, 1);
}

static void gpu_link(struct text *t)
{
    link_properties(t, 1, 0);
}

static void gpu_id(struct text *t)
{
    char id[16];
    snprintf(id, sizeof id, "%d", RP_TOPOLOGY_GPU_ID);
    word(t, id);
}

static void gpu_name(struct text *t)
{
    word(t, "aqua_vanjaram"); /* amdgpu's name of the MI300 family */
}

/* ROCr's view of what the driver can do, as an MI300X reports it but without the debug firmware
 * bit (29): then queue errors arrive through the queue's inactive signal. */
enum { GPU_CAPABILITY = 201826944 };
enum { SIMD_ID_BASE = 0x80001000u };

static void gpu_properties(struct text *t)
{
    const struct rp_arch *a = t->arch;
    line(t, "cpu_cores_count", 0);
    line(t, "simd_count", (uint64_t)a->compute_units * a->simds_per_cu);
    line(t, "mem_banks_count", 1);
    line(t, "caches_count", 3);
    line(t, "io_links_count", 1);
    line(t, "p2p_links_count", 0);
    line(t, "cpu_core_id_base", 0);
    line(t, "simd_id_base", SIMD_ID_BASE);
    line(t, "max_waves_per_simd", a->max_waves_per_simd);
    line(t, "lds_size_in_kb", a->lds_bytes_per_cu / 1024);
    line(t, "gds_size_in_kb", 0);
    line(t, "num_gws", 64);
    line(t, "wave_front_size", a->wave_size);
    line(t, "array_count", a->shader_engines);
    line(t, "simd_arrays_per_engine", 1);
    line(t, "cu_per_simd_array", (a->compute_units + a->shader_engines - 1) / a->shader_engines);
    line(t, "simd_per_cu", a->simds_per_cu);
    line(t, "max_slots_scratch_cu", 32);
    line(t, "gfx_target_version", a->gfx_target_version);
    line(t, "vendor_id", a->pci_vendor_id);
    line(t, "device_id", a->pci_device_id);
    line(t, "location_id", 256);
    line(t, "domain", 0);
    line(t, "drm_render_minor", RP_TOPOLOGY_RENDER_MINOR);
    line(t, "hive_id", 0);
    line(t, "num_sdma_engines", 2); /* ROCr divides by it; queues on them are refused (queue.c) */
    line(t, "num_sdma_xgmi_engines", 0);
    line(t, "num_sdma_queues_per_engine", 0);
    line(t, "num_cp_queues", 24);
    line(t, "max_engine_clk_fcompute", a->engine_clock_mhz);
    line(t, "local_mem_size", 0);
    line(t, "fw_version", 166);
    line(t, "capability", GPU_CAPABILITY);
    line(t, "debug_prop", 1495);
    line(t, "sdma_fw_version", 22);
    line(t, "unique_id", 1234567890);
    line(t, "num_xcc", a->xcc_count);
    line(t, "max_engine_clk_ccompute", a->engine_clock_mhz);
}

static void gpu_memory(struct text *t)
{
    line(t, "heap_type", 1); /* public frame buffer: a large BAR */
    line(t, "size_in_bytes", t->arch->memory_bytes);
    line(t, "flags", 0);
    line(t, "width", t->arch->memory_width_bits);
    line(t, "mem_clk_max", t->arch->memory_clock_mhz);
}

static void cache(struct text *t, unsigned level, uint64_t bytes, uint32_t line_bytes)
{
    line(t, "processor_id_low", SIMD_ID_BASE);
    line(t, "level", level);
    line(t, "size", bytes / 1024);
    line(t, "cache_line_size", line_bytes);
    line(t, "cache_lines_per_tag", 1);
    line(t, "association", 16);
    line(t, "latency", 0);
    line(t, "type", 9); /* data, of the compute units */
    word(t, "sibling_map 1,0,0,0");
}

static void gpu_l1(struct text *t)
{
    cache(t, 1, t->arch->l1_bytes, t->arch->l1_line_bytes);
}

static void gpu_l2(struct text *t)
{
    cache(t, 2, t->arch->l2_bytes, t->arch->l2_line_bytes);
}

static void gpu_mall(struct text *t)
{
    cache(t, 3, t->arch->mall_bytes, t->arch->l2_line_bytes);
}

static void module_state(struct text *t)
{
    word(t, "live"); /* rocminfo looks here before anything else */
}

static const struct {
    const char *path;
    void (*write)(struct text *t);
} files[] = {
    {"module/initstate", module_state},
    {"topology/generation_id", generation_id},
    {"topology/system_properties", system_properties},
    {"topology/nodes/0/gpu_id", cpu_gpu_id},
    {"topology/nodes/0/name", cpu_name},
    {"topology/nodes/0/properties", cpu_properties},
    {"topology/nodes/0/io_links/0/properties", cpu_link},
    {"topology/nodes/0/mem_banks/0/properties", cpu_memory},
    {"topology/nodes/1/gpu_id", gpu_id},
    {"topology/nodes/1/name", gpu_name},
    {"topology/nodes/1/properties", gpu_properties},
    {"topology/nodes/1/caches/0/properties", gpu_l1},
    {"topology/nodes/1/caches/1/properties", gpu_l2},
    {"topology/nodes/1/caches/2/properties", gpu_mall},
    {"topology/nodes/1/io_links/0/properties", gpu_link},
    {"topology/nodes/1/mem_banks/0/properties", gpu_memory},
};
enum { FILE_COUNT = sizeof files / sizeof *files };

/** The rest of @p file below directory @p dir, or NULL. */
static const char *below(const char *file, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(file, dir, n) == 0 && file[n] == '/' ? file + n + 1 : NULL;
}

enum rp_topology_kind rp_topology_kind(const char *path)
{
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        if (strcmp(files[i].path, path) == 0)
            return RP_TOPOLOGY_FILE;
        if (below(files[i].path, path))
            return RP_TOPOLOGY_DIR;
    }
    return RP_TOPOLOGY_NONE;
}

int rp_topology_read(const struct rp_arch *arch, const struct rp_topology_host *host,
                     const char *path, char out[RP_TOPOLOGY_FILE_BYTES])
{
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        if (strcmp(files[i].path, path) != 0)
            continue;
        struct text text = {.out = out, .arch = arch, .host = host};
        files[i].write(&text);
        out[text.used] = '\0';
        return (int)text.used;
    }
    return -ENOENT;
}

enum rp_topology_kind rp_topology_entry(const char *path, unsigned index, char *name, size_t room)
{
    const char *previous = NULL;
    size_t previous_bytes = 0;
    unsigned seen = 0;
    for (unsigned i = 0; i < FILE_COUNT; i++) {
        const char *rest = below(files[i].path, path);
        if (!rest)
            continue;
        size_t bytes = strcspn(rest, "/");
        /* The table keeps a directory's files together, so repeats are neighbours. */
        if (previous && bytes == previous_bytes && memcmp(rest, previous, bytes) == 0)
            continue;
        previous = rest;
        previous_bytes = bytes;
        if (seen++ < index)
            continue;
        snprintf(name, room, "%.*s", (int)bytes, rest);
        return rest[bytes] ? RP_TOPOLOGY_DIR : RP_TOPOLOGY_FILE;
    }
    return RP_TOPOLOGY_NONE;
}
