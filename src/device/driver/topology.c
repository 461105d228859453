#include "device/driver/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void line(struct rp_driver_text *t, const char *key, uint64_t value)
{
    rp_driver_text_add(t, "%s %" PRIu64 "\n", key, value);
}

static void word(struct rp_driver_text *t, const char *value)
{
    rp_driver_text_add(t, "%s\n", value);
}

static void generation_id(struct rp_driver_text *t)
{
    word(t, "1");
}

static void system_properties(struct rp_driver_text *t)
{
    line(t, "platform_oem", 0);
    line(t, "platform_id", 0);
    line(t, "platform_rev", 0);
}

static void cpu_gpu_id(struct rp_driver_text *t)
{
    word(t, "0");
}

static void cpu_name(struct rp_driver_text *t)
{
    word(t, "");
}

static void cpu_properties(struct rp_driver_text *t)
{
    line(t, "cpu_cores_count", t->topology->host.cores);
    line(t, "simd_count", 0);
    line(t, "mem_banks_count", 1);
    line(t, "caches_count", 0);
    line(t, "io_links_count", t->topology->gpu_count);
    line(t, "p2p_links_count", 0);
    line(t, "cpu_core_id_base", 0);
    line(t, "simd_id_base", 0);
    /* The driver writes these for every node. Tools look each of them up, and say what is missing.
     */
    static const char *const of_gpus[] = {
        "max_waves_per_simd",
        "lds_size_in_kb",
        "gds_size_in_kb",
        "num_gws",
        "wave_front_size",
        "array_count",
        "simd_arrays_per_engine",
        "cu_per_simd_array",
        "simd_per_cu",
        "max_slots_scratch_cu",
        "gfx_target_version",
        "vendor_id",
        "device_id",
        "location_id",
        "domain",
        "drm_render_minor",
        "hive_id",
        "num_sdma_engines",
        "num_sdma_xgmi_engines",
        "num_sdma_queues_per_engine",
        "num_cp_queues",
    };
    for (size_t i = 0; i < COUNT(of_gpus); i++)
        line(t, of_gpus[i], 0);
    line(t, "max_engine_clk_ccompute", t->topology->host.clock_mhz);
}

static void cpu_memory(struct rp_driver_text *t)
{
    line(t, "heap_type", 0); /* system */
    line(t, "size_in_bytes", t->topology->host.memory_bytes);
    line(t, "flags", 0);
    /* What the driver writes where no table of the firmware tells it, as on every server today. */
    line(t, "width", 0);
    line(t, "mem_clk_max", 0);
}

/** GPUs of one hive reach each other over XGMI, the host over PCI Express. */
static void link_properties(struct rp_driver_text *t, unsigned from)
{
    bool xgmi = from != 0 && t->to_node != 0;
    uint32_t mbytes_s = xgmi ? t->arch->xgmi_link_mbytes_s : 0;
    line(t, "type", xgmi ? 11 : 2);
    line(t, "version_major", 0);
    line(t, "version_minor", 0);
    line(t, "node_from", from);
    line(t, "node_to", t->to_node);
    line(t, "weight", xgmi ? 15 : 20); /* one hop; what the driver says of either kind */
    line(t, "min_latency", 0);
    line(t, "max_latency", 0);
    line(t, "min_bandwidth", mbytes_s);
    line(t, "max_bandwidth", mbytes_s);
    line(t, "recommended_transfer_size", 0);
    line(t, "recommended_sdma_engine_id_mask", 0);
    line(t, "flags", 1); /* enabled */
}

static void cpu_link(struct rp_driver_text *t)
{
    link_properties(t, 0);
}

static void gpu_link(struct rp_driver_text *t)
{
    link_properties(t, t->gpu + 1);
}

static void gpu_id(struct rp_driver_text *t)
{
    char id[16];
    snprintf(id, sizeof id, "%u", rp_topology_gpu_id(t->gpu));
    word(t, id);
}

static void gpu_name(struct rp_driver_text *t)
{
    word(t, t->arch->kfd_name);
}

/* ROCr's view of what the driver can do, as an MI300X reports it but without the debug firmware
 * bit (29): then queue errors arrive through the queue's inactive signal. */
enum { GPU_CAPABILITY = 201826944 };

/* HSA_CAP_FLAGS_COHERENTHOSTACCESS: set by the driver where processor and GPU share the memory. */
enum { COHERENT_HOST_ACCESS = 0x10000000 };
enum { SIMD_ID_BASE = 0x80001000u };
enum { HIVE_ID = 1234567890 };

/** One of the GPU's caches. */
struct cache {
    unsigned level;
    uint64_t bytes;
    uint32_t line_bytes;
    uint32_t first_cu, cus; /**< that share it */
};

/** As the driver lists them: each CU's own, and of the shared ones one of a kind, for all CUs. */
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

static void gpu_properties(struct rp_driver_text *t)
{
    const struct rp_arch *a = t->arch;
    line(t, "cpu_cores_count", 0);
    line(t, "simd_count", (uint64_t)a->compute_units * a->simds_per_cu);
    line(t, "mem_banks_count", 1);
    line(t, "caches_count", cache_count(a));
    line(t, "io_links_count", t->topology->gpu_count);
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
    line(t, "location_id", (RP_TOPOLOGY_BUS + t->gpu) << 8); /* device 0 */
    line(t, "domain", RP_TOPOLOGY_DOMAIN);
    line(t, "drm_render_minor", RP_TOPOLOGY_RENDER_MINOR + t->gpu);
    line(t, "hive_id", t->topology->gpu_count > 1 ? HIVE_ID : 0);
    line(t, "num_sdma_engines", a->sdma_engines);
    line(t, "num_sdma_xgmi_engines", a->sdma_xgmi_engines);
    line(t, "num_sdma_queues_per_engine", RP_TOPOLOGY_SDMA_QUEUES);
    line(t, "num_cp_queues", 24);
    line(t, "max_engine_clk_fcompute", a->engine_clock_mhz);
    line(t, "local_mem_size", 0);
    line(t, "fw_version", a->mec_firmware);
    line(t, "capability", GPU_CAPABILITY | (a->apu ? COHERENT_HOST_ACCESS : 0));
    line(t, "debug_prop", 1495);
    line(t, "sdma_fw_version", a->sdma_firmware);
    line(t, "unique_id", rp_topology_unique_id(t->gpu));
    line(t, "num_xcc", a->xcc_count);
    line(t, "max_engine_clk_ccompute", a->engine_clock_mhz);
}

static void gpu_memory(struct rp_driver_text *t)
{
    line(t, "heap_type", 1); /* public frame buffer: a large BAR */
    line(t, "size_in_bytes", t->arch->memory_bytes);
    line(t, "flags", 0);
    line(t, "width", t->arch->memory_width_bits);
    line(t, "mem_clk_max", t->arch->memory_clock_mhz);
}

static void gpu_cache(struct rp_driver_text *t)
{
    struct cache cache = cache_at(t->arch, t->cache);
    line(t, "processor_id_low", SIMD_ID_BASE + cache.first_cu * t->arch->simds_per_cu);
    line(t, "level", cache.level);
    line(t, "size", cache.bytes / 1024);
    line(t, "cache_line_size", cache.line_bytes);
    line(t, "cache_lines_per_tag", 1);
    line(t, "association", 16);
    line(t, "latency", 0);
    line(t, "type", 9); /* data, of the compute units */
    rp_driver_text_add(t, "sibling_map ");
    for (uint32_t cu = 0; cu < cache.cus; cu++)
        rp_driver_text_add(t, cu ? ",1" : "1");
    rp_driver_text_add(t, "\n");
}

static void module_state(struct rp_driver_text *t)
{
    word(t, "live"); /* rocminfo looks here before anything else */
}

/* ---- the tree ----------------------------------------------------------------------------- */

struct file {
    const char *path; /**< below the node's folder, if it belongs to a node */
    void (*write)(struct rp_driver_text *t);
};

#define KFD    "/sys/devices/virtual/kfd/kfd"
#define MODULE "/sys/module/amdgpu"

static const struct file common_files[] = {
    {KFD "/topology/generation_id", generation_id},
    {KFD "/topology/system_properties", system_properties},
};

static const struct file cpu_files[] = {
    {"gpu_id", cpu_gpu_id},
    {"name", cpu_name},
    {"properties", cpu_properties},
    {"mem_banks/0/properties", cpu_memory},
};

static const struct file gpu_files[] = {
    {"gpu_id", gpu_id},
    {"name", gpu_name},
    {"properties", gpu_properties},
    {"mem_banks/0/properties", gpu_memory},
};

/** Hundreds: who asks for one of them is shown that one alone. */
static bool visit_caches(const struct rp_topology *topology, const char *path,
                         struct rp_driver_file *entry, unsigned node, rp_driver_visitor *each,
                         void *ctx)
{
    unsigned begin = 0, end = cache_count(&topology->arch);
    char folder[sizeof KFD + 40];
    size_t bytes = (size_t)snprintf(folder, sizeof folder, KFD "/topology/nodes/%u/caches/", node);
    if (strncmp(path, folder, bytes) == 0) {
        unsigned long asked = strtoul(path + bytes, NULL, 10);
        begin = asked < end ? (unsigned)asked : end;
        end = asked < end ? begin + 1 : end;
    }
    entry->write = gpu_cache;
    for (unsigned i = begin; i < end; i++) {
        entry->cache = i;
        snprintf(entry->path, sizeof entry->path, KFD "/topology/nodes/%u/caches/%u/properties",
                 node, i);
        if (each(ctx, entry))
            return true;
    }
    return false;
}

static bool visit_node(const struct rp_topology *topology, const char *path, unsigned node,
                       rp_driver_visitor *each, void *ctx)
{
    const struct file *files = node ? gpu_files : cpu_files;
    size_t count = node ? COUNT(gpu_files) : COUNT(cpu_files);
    struct rp_driver_file entry = {.kind = RP_TOPOLOGY_FILE, .gpu = node ? node - 1 : 0};
    for (size_t i = 0; i < count; i++) {
        snprintf(entry.path, sizeof entry.path, KFD "/topology/nodes/%u/%s", node, files[i].path);
        entry.write = files[i].write;
        if (each(ctx, &entry))
            return true;
    }
    entry.write = node ? gpu_link : cpu_link;
    for (unsigned link = 0; link < topology->gpu_count; link++) {
        /* To every node but itself: the host first. */
        entry.to_node = link < node ? link : link + 1;
        snprintf(entry.path, sizeof entry.path, KFD "/topology/nodes/%u/io_links/%u/properties",
                 node, link);
        if (each(ctx, &entry))
            return true;
    }
    return node && visit_caches(topology, path, &entry, node, each, ctx);
}

static bool visit_topology(const struct rp_topology *topology, const char *path,
                           rp_driver_visitor *each, void *ctx)
{
    /* Of processes that use the GPUs. Every process has software GPUs of its own, so nobody else
     * is there; tools want the folder. */
    struct rp_driver_file entry = {.path = KFD "/proc", .kind = RP_TOPOLOGY_DIR};
    if (each(ctx, &entry))
        return true;
    entry.kind = RP_TOPOLOGY_FILE;
    for (size_t i = 0; i < COUNT(common_files); i++) {
        snprintf(entry.path, sizeof entry.path, "%s", common_files[i].path);
        entry.write = common_files[i].write;
        if (rp_driver_related(path, entry.path) && each(ctx, &entry))
            return true;
    }
    for (unsigned node = 0; node <= topology->gpu_count; node++) {
        snprintf(entry.path, sizeof entry.path, KFD "/topology/nodes/%u", node);
        if (rp_driver_related(path, entry.path) && visit_node(topology, path, node, each, ctx))
            return true;
    }
    return false;
}

/** libdrm's list of names: PCI device, revision, product. */
static void product_names(struct rp_driver_text *t)
{
    rp_driver_text_add(t, "1.0.0\n%04X,\t00,\t%s\n", t->arch->pci_device_id, t->arch->product);
}

/* In such an order that the files of a folder are neighbours. */
static void visit(const struct rp_topology *topology, const char *path, rp_driver_visitor *each,
                  void *ctx)
{
    struct rp_driver_file module = {
        .path = MODULE "/initstate", .kind = RP_TOPOLOGY_FILE, .write = module_state};
    struct rp_driver_file kfd = {
        .path = "/sys/class/kfd/kfd", .kind = RP_TOPOLOGY_LINK, .target = KFD};
    struct rp_driver_file names = {
        .path = RP_TOPOLOGY_NAMES, .kind = RP_TOPOLOGY_FILE, .write = product_names};
    if (each(ctx, &names) || each(ctx, &module) || each(ctx, &kfd) ||
        rp_sysfs_visit_names(topology, path, each, ctx) ||
        visit_topology(topology, path, each, ctx))
        return;
    rp_sysfs_visit_devices(topology, path, each, ctx);
}

/** The rest of @p file below directory @p dir, or NULL. */
static const char *below(const char *file, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(file, dir, n) == 0 && file[n] == '/' ? file + n + 1 : NULL;
}

struct search {
    const char *path;
    enum rp_topology_kind kind;
    struct rp_driver_file file; /**< when kind is FILE, LINK or DEVICE */
};

static bool look_for(void *ctx, const struct rp_driver_file *entry)
{
    struct search *search = ctx;
    if (strcmp(entry->path, search->path) == 0) {
        search->kind = entry->kind;
        search->file = *entry;
    } else if (below(entry->path, search->path)) {
        search->kind = RP_TOPOLOGY_DIR;
    }
    return search->kind != RP_TOPOLOGY_NONE;
}

static struct search find(const struct rp_topology *topology, const char *path)
{
    struct search search = {.path = path};
    if (path[0] == '/')
        visit(topology, path, look_for, &search);
    return search;
}

enum rp_topology_kind rp_topology_kind(const struct rp_topology *topology, const char *path)
{
    return find(topology, path).kind;
}

bool rp_topology_target(const struct rp_topology *topology, const char *path,
                        char out[RP_TOPOLOGY_PATH_BYTES])
{
    struct search search = find(topology, path);
    if (search.kind != RP_TOPOLOGY_LINK)
        return false;
    memcpy(out, search.file.target, sizeof search.file.target);
    return true;
}

bool rp_topology_device(const struct rp_topology *topology, const char *path, unsigned *ret_gpu,
                        unsigned *ret_minor)
{
    struct search search = find(topology, path);
    if (search.kind != RP_TOPOLOGY_DEVICE)
        return false;
    *ret_gpu = search.file.gpu;
    *ret_minor = search.file.minor;
    return true;
}

int rp_topology_read(const struct rp_topology *topology, const char *path,
                     char out[RP_TOPOLOGY_FILE_BYTES])
{
    struct search search = find(topology, path);
    if (search.kind != RP_TOPOLOGY_FILE)
        return -ENOENT;
    struct rp_driver_text text = {.out = out,
                                  .topology = topology,
                                  .arch = &topology->arch,
                                  .gpu = search.file.gpu,
                                  .to_node = search.file.to_node,
                                  .cache = search.file.cache};
    search.file.write(&text);
    out[text.used] = '\0';
    return (int)text.used;
}

struct listing {
    const char *dir;
    unsigned left; /**< entries to pass over */
    char previous[64];
    char *name;
    size_t room;
    enum rp_topology_kind kind;
};

static bool list(void *ctx, const struct rp_driver_file *entry)
{
    struct listing *listing = ctx;
    const char *rest = below(entry->path, listing->dir);
    if (!rest)
        return false;
    int bytes = (int)strcspn(rest, "/");
    char name[sizeof listing->previous];
    snprintf(name, sizeof name, "%.*s", bytes, rest);
    if (strcmp(name, listing->previous) == 0)
        return false;
    memcpy(listing->previous, name, sizeof name);
    if (listing->left-- > 0)
        return false;
    snprintf(listing->name, listing->room, "%s", name);
    listing->kind = rest[bytes] ? RP_TOPOLOGY_DIR : entry->kind;
    return true;
}

enum rp_topology_kind rp_topology_entry(const struct rp_topology *topology, const char *path,
                                        unsigned index, char *name, size_t room)
{
    struct listing listing = {.dir = path, .left = index, .name = name, .room = room};
    visit(topology, path, list, &listing);
    return listing.kind;
}
