/**
 * @file sysfs.c
 * @brief The GPUs as Linux shows them: PCI devices, DRM devices, hardware monitors.
 *
 * ROCm SMI, AMD SMI, libdrm and RCCL look here before they do anything else. Each GPU sits on a
 * root bus of its own, and these are in a PCI domain of their own, so that no device of the host's
 * is hidden: its buses begin at 0000:00, firmware counts further domains from 1, and Linux those
 * that have no number (of Intel's VMD) from 0x10000. The same on every host, as all that programs
 * see. Files that only a sensor, a flash chip or a power controller could fill (temperatures,
 * power, VBIOS, ECC counters) are not there, as with a driver that does not support them; clocks
 * are those that the model runs at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/topology.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    DRM_MAJOR = 226,
    HWMON_INDEX = 64, /* of GPU 0: above those of the host's own sensors */
};

static unsigned bus_of(unsigned gpu)
{
    return RP_TOPOLOGY_BUS + gpu;
}

/* ---- what the files of a GPU say ------------------------------------------------------------ */

typedef struct rp_driver_text vfs_text;

static void vendor(vfs_text *t)
{
    rp_driver_text_add(t, "0x%04x\n", t->arch->pci_vendor_id);
}

static void device(vfs_text *t)
{
    rp_driver_text_add(t, "0x%04x\n", t->arch->pci_device_id);
}

static void revision(vfs_text *t)
{
    rp_driver_text_add(t, "0x00\n");
}

static void class_code(vfs_text *t)
{
    rp_driver_text_add(t, "0x%06x\n", t->arch->pci_class);
}

static void modalias_words(vfs_text *t)
{
    const struct rp_arch *a = t->arch;
    rp_driver_text_add(t, "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X\n", a->pci_vendor_id,
                       a->pci_device_id, a->pci_vendor_id, a->pci_device_id, a->pci_class >> 16,
                       a->pci_class >> 8 & 0xff, a->pci_class & 0xff);
}

static void pci_uevent(vfs_text *t)
{
    const struct rp_arch *a = t->arch;
    rp_driver_text_add(t,
                       "DRIVER=amdgpu\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
                       "PCI_SLOT_NAME=%04x:%02x:00.0\nMODALIAS=",
                       a->pci_class, a->pci_vendor_id, a->pci_device_id, a->pci_vendor_id,
                       a->pci_device_id, RP_TOPOLOGY_DOMAIN, bus_of(t->gpu));
    modalias_words(t);
}

/** The host is one node of the topology. */
static void numa_node(vfs_text *t)
{
    rp_driver_text_add(t, "0\n");
}

static void cpu_list(vfs_text *t)
{
    uint32_t last = t->topology->host.cores - 1;
    rp_driver_text_add(t, last ? "0-%u\n" : "0\n", last);
}

/** A mask of bits, 32 a word, the highest word first. */
static void cpu_mask(vfs_text *t)
{
    uint32_t cores = t->topology->host.cores;
    for (uint32_t word = (cores + 31) / 32; word-- > 0;) {
        uint32_t bits = cores - word * 32;
        uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
        rp_driver_text_add(t, "%08x%s", mask, word ? "," : "\n");
    }
}

static void link_speed(vfs_text *t)
{
    uint32_t speed = t->arch->pcie_mtransfers_s;
    rp_driver_text_add(t, "%u.%u GT/s PCIe\n", speed / 1000, speed % 1000 / 100);
}

static void link_width(vfs_text *t)
{
    rp_driver_text_add(t, "%u\n", t->arch->pcie_lanes);
}

static void one(vfs_text *t)
{
    rp_driver_text_add(t, "1\n");
}

static void power_state(vfs_text *t)
{
    rp_driver_text_add(t, "D0\n");
}

static void runtime_status(vfs_text *t)
{
    rp_driver_text_add(t, "active\n");
}

static void runtime_enabled(vfs_text *t)
{
    rp_driver_text_add(t, "forbidden\n");
}

static void runtime_control(vfs_text *t)
{
    rp_driver_text_add(t, "on\n");
}

static void product_name(vfs_text *t)
{
    rp_driver_text_add(t, "%s\n", t->arch->product);
}

static void unique_id(vfs_text *t)
{
    rp_driver_text_add(t, "%016" PRIx64 "\n", rp_topology_unique_id(t->gpu));
}

static void memory_total(vfs_text *t)
{
    rp_driver_text_add(t, "%" PRIu64 "\n", t->arch->memory_bytes);
}

static void memory_used(vfs_text *t)
{
    rp_driver_text_add(t, "%" PRIu64 "\n", t->topology->memory_used_bytes[t->gpu]);
}

static void gtt_total(vfs_text *t)
{
    rp_driver_text_add(t, "%" PRIu64 "\n", rp_topology_gtt_bytes(t->topology));
}

/** The driver's word where the firmware does not tell. */
static void memory_vendor(vfs_text *t)
{
    rp_driver_text_add(t, "unknown\n");
}

/** A table of the one clock that the model runs at, which is in use. */
static void engine_clocks(vfs_text *t)
{
    rp_driver_text_add(t, "0: %uMhz *\n", t->arch->engine_clock_mhz);
}

static void memory_clocks(vfs_text *t)
{
    rp_driver_text_add(t, "0: %uMhz *\n", t->arch->memory_clock_mhz);
}

static void pcie_clocks(vfs_text *t)
{
    uint32_t speed = t->arch->pcie_mtransfers_s;
    rp_driver_text_add(t, "0: %u.%uGT/s, x%u *\n", speed / 1000, speed % 1000 / 100,
                       t->arch->pcie_lanes);
}

/** One device of all dies is what is modelled, and cannot be changed. */
static void compute_partition(vfs_text *t)
{
    rp_driver_text_add(t, "SPX\n");
}

static void memory_partition(vfs_text *t)
{
    rp_driver_text_add(t, "NPS1\n");
}

static void mec_firmware(vfs_text *t)
{
    rp_driver_text_add(t, "0x%08x\n", t->arch->mec_firmware);
}

static void sdma_firmware(vfs_text *t)
{
    rp_driver_text_add(t, "0x%08x\n", t->arch->sdma_firmware);
}

static void monitor_name(vfs_text *t)
{
    rp_driver_text_add(t, "amdgpu\n");
}

static void engine_clock_hz(vfs_text *t)
{
    rp_driver_text_add(t, "%" PRIu64 "\n", (uint64_t)t->arch->engine_clock_mhz * 1000000);
}

static void engine_clock_label(vfs_text *t)
{
    rp_driver_text_add(t, "sclk\n");
}

static void memory_clock_hz(vfs_text *t)
{
    rp_driver_text_add(t, "%" PRIu64 "\n", (uint64_t)t->arch->memory_clock_mhz * 1000000);
}

static void memory_clock_label(vfs_text *t)
{
    rp_driver_text_add(t, "mclk\n");
}

static void drm_version(vfs_text *t)
{
    rp_driver_text_add(t, "drm 1.1.0 20060810\n"); /* the same since 2006 */
}

static void drm_uevent_words(vfs_text *t, const char *name, unsigned number, unsigned minor)
{
    rp_driver_text_add(t, "MAJOR=%u\nMINOR=%u\nDEVNAME=dri/%s%u\nDEVTYPE=drm_minor\n", DRM_MAJOR,
                       minor, name, number);
}

static void card_uevent(vfs_text *t)
{
    drm_uevent_words(t, "card", t->gpu, t->gpu);
}

static void render_uevent(vfs_text *t)
{
    unsigned minor = RP_TOPOLOGY_RENDER_MINOR + t->gpu;
    drm_uevent_words(t, "renderD", minor, minor);
}

static void card_dev(vfs_text *t)
{
    rp_driver_text_add(t, "%u:%u\n", DRM_MAJOR, t->gpu);
}

static void render_dev(vfs_text *t)
{
    rp_driver_text_add(t, "%u:%u\n", DRM_MAJOR, RP_TOPOLOGY_RENDER_MINOR + t->gpu);
}

/* ---- which files a GPU has ------------------------------------------------------------------ */

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

struct device_file {
    const char *name; /**< below the folder of the device */
    void (*write)(vfs_text *t);
    const char *target; /**< where a link leads: an absolute path; "": the folder of the device */
    bool (*has)(const struct rp_arch *arch); /**< NULL: every GPU */
};

static const struct device_file device_files[] = {
    {.name = "class", .write = class_code},
    {.name = "current_compute_partition", .write = compute_partition, .has = has_dies},
    {.name = "available_compute_partition", .write = compute_partition, .has = has_dies},
    {.name = "current_link_speed", .write = link_speed, .has = in_slot},
    {.name = "current_link_width", .write = link_width, .has = in_slot},
    {.name = "current_memory_partition", .write = memory_partition, .has = has_dies},
    {.name = "available_memory_partition", .write = memory_partition, .has = has_dies},
    {.name = "device", .write = device},
    {.name = "driver", .target = "/sys/bus/pci/drivers/amdgpu"},
    {.name = "enable", .write = one},
    {.name = "fw_version/mec_fw_version", .write = mec_firmware},
    {.name = "fw_version/sdma_fw_version", .write = sdma_firmware},
    {.name = "local_cpulist", .write = cpu_list},
    {.name = "local_cpus", .write = cpu_mask},
    {.name = "max_link_speed", .write = link_speed, .has = in_slot},
    {.name = "max_link_width", .write = link_width, .has = in_slot},
    {.name = "mem_info_gtt_total", .write = gtt_total},
    {.name = "mem_info_vis_vram_total", .write = memory_total},
    {.name = "mem_info_vis_vram_used", .write = memory_used},
    {.name = "mem_info_vram_total", .write = memory_total},
    {.name = "mem_info_vram_used", .write = memory_used},
    {.name = "mem_info_vram_vendor", .write = memory_vendor},
    {.name = "modalias", .write = modalias_words},
    {.name = "numa_node", .write = numa_node},
    {.name = "power/control", .write = runtime_control},
    {.name = "power/runtime_enabled", .write = runtime_enabled},
    {.name = "power/runtime_status", .write = runtime_status},
    {.name = "power_state", .write = power_state},
    {.name = "pp_dpm_mclk", .write = memory_clocks, .has = knows_memory_clock},
    {.name = "pp_dpm_pcie", .write = pcie_clocks, .has = in_slot},
    {.name = "pp_dpm_sclk", .write = engine_clocks},
    {.name = "product_name", .write = product_name},
    {.name = "revision", .write = revision},
    {.name = "subsystem", .target = "/sys/bus/pci"},
    {.name = "subsystem_device", .write = device},
    {.name = "subsystem_vendor", .write = vendor},
    {.name = "uevent", .write = pci_uevent},
    {.name = "unique_id", .write = unique_id},
    {.name = "vendor", .write = vendor},
};

/** Files of the three devices that the driver makes of a GPU. */
static const struct device_file card_files[] = {
    {.name = "dev", .write = card_dev},
    {.name = "device", .target = ""},
    {.name = "subsystem", .target = "/sys/class/drm"},
    {.name = "uevent", .write = card_uevent},
};

static const struct device_file render_files[] = {
    {.name = "dev", .write = render_dev},
    {.name = "device", .target = ""},
    {.name = "subsystem", .target = "/sys/class/drm"},
    {.name = "uevent", .write = render_uevent},
};

static const struct device_file monitor_files[] = {
    {.name = "device", .target = ""},
    {.name = "freq1_input", .write = engine_clock_hz},
    {.name = "freq1_label", .write = engine_clock_label},
    {.name = "freq2_input", .write = memory_clock_hz, .has = knows_memory_clock},
    {.name = "freq2_label", .write = memory_clock_label, .has = knows_memory_clock},
    {.name = "name", .write = monitor_name},
    {.name = "subsystem", .target = "/sys/class/hwmon"},
};

/* ---- the tree ------------------------------------------------------------------------------- */

/** A walk, and the folder of the GPU's PCI device. */
struct walk {
    const struct rp_topology *topology;
    const char *path;
    rp_driver_visitor *each;
    void *ctx;
    char device[64];
    struct rp_driver_file entry;
};

/** Goes to a GPU. */
static void set_gpu(struct walk *w, unsigned gpu)
{
    unsigned bus = bus_of(gpu);
    w->entry.gpu = gpu;
    snprintf(w->device, sizeof w->device, "/sys/devices/pci%1$04x:%2$02x/%1$04x:%2$02x:00.0",
             RP_TOPOLOGY_DOMAIN, bus);
}

__attribute__((format(printf, 2, 3))) static void set_path(struct walk *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->entry.path, sizeof w->entry.path, format, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static bool link_to(struct walk *w, const char *format, ...)
{
    va_list args;
    w->entry.kind = RP_TOPOLOGY_LINK;
    va_start(args, format);
    vsnprintf(w->entry.target, sizeof w->entry.target, format, args);
    va_end(args);
    return w->each(w->ctx, &w->entry);
}

static bool visit_files(struct walk *w, const char *folder, const struct device_file *files,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct device_file *file = &files[i];
        if (file->has && !file->has(&w->topology->arch))
            continue;
        set_path(w, "%s%s/%s", w->device, folder, file->name);
        w->entry.kind = RP_TOPOLOGY_FILE;
        w->entry.write = file->write;
        bool ends = !file->target     ? w->each(w->ctx, &w->entry)
                    : file->target[0] ? link_to(w, "%s", file->target)
                                      : link_to(w, "%s", w->device);
        if (ends)
            return true;
    }
    return false;
}

/* The folder of the PCI device, those of its DRM devices and its monitor last. */
static bool visit_device(struct walk *w)
{
    char folder[40];
    unsigned gpu = w->entry.gpu;
    if (visit_files(w, "", device_files, COUNT(device_files)))
        return true;
    snprintf(folder, sizeof folder, "/drm/card%u", gpu);
    if (visit_files(w, folder, card_files, COUNT(card_files)))
        return true;
    snprintf(folder, sizeof folder, "/drm/renderD%u", RP_TOPOLOGY_RENDER_MINOR + gpu);
    if (visit_files(w, folder, render_files, COUNT(render_files)))
        return true;
    snprintf(folder, sizeof folder, "/hwmon/hwmon%u", HWMON_INDEX + gpu);
    return visit_files(w, folder, monitor_files, COUNT(monitor_files));
}

static bool visit_bus(struct walk *w)
{
    unsigned bus = bus_of(w->entry.gpu);
    if (rp_driver_related(w->path, w->device) && visit_device(w))
        return true;
    set_path(w, "/sys/devices/pci%1$04x:%2$02x/pci_bus/%1$04x:%2$02x/cpulistaffinity",
             RP_TOPOLOGY_DOMAIN, bus);
    w->entry.kind = RP_TOPOLOGY_FILE;
    w->entry.write = cpu_list;
    return w->each(w->ctx, &w->entry);
}

/** The other names of a GPU: one link in each folder of links. */
static bool card_link(struct walk *w)
{
    set_path(w, "/sys/class/drm/card%u", w->entry.gpu);
    return link_to(w, "%s/drm/card%u", w->device, w->entry.gpu);
}

static bool render_link(struct walk *w)
{
    unsigned minor = RP_TOPOLOGY_RENDER_MINOR + w->entry.gpu;
    set_path(w, "/sys/class/drm/renderD%u", minor);
    return link_to(w, "%s/drm/renderD%u", w->device, minor);
}

static bool monitor_link(struct walk *w)
{
    unsigned index = HWMON_INDEX + w->entry.gpu;
    set_path(w, "/sys/class/hwmon/hwmon%u", index);
    return link_to(w, "%s/hwmon/hwmon%u", w->device, index);
}

static bool bus_link(struct walk *w)
{
    unsigned bus = bus_of(w->entry.gpu);
    set_path(w, "/sys/class/pci_bus/%04x:%02x", RP_TOPOLOGY_DOMAIN, bus);
    return link_to(w, "/sys/devices/pci%1$04x:%2$02x/pci_bus/%1$04x:%2$02x", RP_TOPOLOGY_DOMAIN,
                   bus);
}

static bool device_link(struct walk *w)
{
    set_path(w, "/sys/bus/pci/devices/%04x:%02x:00.0", RP_TOPOLOGY_DOMAIN, bus_of(w->entry.gpu));
    return link_to(w, "%s", w->device);
}

static bool driver_link(struct walk *w)
{
    set_path(w, "/sys/bus/pci/drivers/amdgpu/%04x:%02x:00.0", RP_TOPOLOGY_DOMAIN,
             bus_of(w->entry.gpu));
    return link_to(w, "%s", w->device);
}

static bool card_number(struct walk *w)
{
    set_path(w, "/sys/dev/char/%u:%u", DRM_MAJOR, w->entry.gpu);
    return link_to(w, "%s/drm/card%u", w->device, w->entry.gpu);
}

static bool render_number(struct walk *w)
{
    unsigned minor = RP_TOPOLOGY_RENDER_MINOR + w->entry.gpu;
    set_path(w, "/sys/dev/char/%u:%u", DRM_MAJOR, minor);
    return link_to(w, "%s/drm/renderD%u", w->device, minor);
}

static bool card_file(struct walk *w)
{
    set_path(w, "/dev/dri/card%u", w->entry.gpu);
    w->entry.kind = RP_TOPOLOGY_DEVICE;
    w->entry.minor = w->entry.gpu;
    return w->each(w->ctx, &w->entry);
}

static bool render_file(struct walk *w)
{
    w->entry.minor = RP_TOPOLOGY_RENDER_MINOR + w->entry.gpu;
    set_path(w, "/dev/dri/renderD%u", w->entry.minor);
    w->entry.kind = RP_TOPOLOGY_DEVICE;
    return w->each(w->ctx, &w->entry);
}

static bool visit_gpus(struct walk *w, const char *folder, bool (*visit)(struct walk *))
{
    if (folder && !rp_driver_related(w->path, folder))
        return false;
    for (unsigned gpu = 0; gpu < w->topology->gpu_count; gpu++) {
        set_gpu(w, gpu);
        if (visit(w))
            return true;
    }
    return false;
}

bool rp_sysfs_visit_names(const struct rp_topology *topology, const char *path,
                          rp_driver_visitor *each, void *ctx)
{
    static const struct {
        const char *folder;
        bool (*visit)(struct walk *);
    } names[] = {
        {"/sys/class/drm", card_link},
        {"/sys/class/drm", render_link},
        {"/sys/class/hwmon", monitor_link},
        {"/sys/class/pci_bus", bus_link},
        {"/sys/bus/pci/devices", device_link},
        {"/sys/bus/pci/drivers/amdgpu", driver_link},
        {"/sys/dev/char", card_number},
        {"/sys/dev/char", render_number},
        {"/dev/dri", card_file},
        {"/dev/dri", render_file},
    };
    struct walk w = {.topology = topology, .path = path, .each = each, .ctx = ctx};
    set_path(&w, "/sys/class/drm/version");
    w.entry.kind = RP_TOPOLOGY_FILE;
    w.entry.write = drm_version;
    if (each(ctx, &w.entry))
        return true;
    for (size_t i = 0; i < COUNT(names); i++)
        if (visit_gpus(&w, names[i].folder, names[i].visit))
            return true;
    w.entry = (struct rp_driver_file){
        .path = "/dev/kfd", .kind = RP_TOPOLOGY_DEVICE, .minor = RP_TOPOLOGY_RENDER_MINOR};
    return each(ctx, &w.entry);
}

bool rp_sysfs_visit_devices(const struct rp_topology *topology, const char *path,
                            rp_driver_visitor *each, void *ctx)
{
    struct walk w = {.topology = topology, .path = path, .each = each, .ctx = ctx};
    return visit_gpus(&w, NULL, visit_bus);
}

void rp_driver_text_add(struct rp_driver_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->out + text->used, RP_TOPOLOGY_FILE_BYTES - text->used, format, args);
    va_end(args);
    if (n > 0 && text->used + (size_t)n < RP_TOPOLOGY_FILE_BYTES)
        text->used += (size_t)n;
}

bool rp_driver_related(const char *path, const char *root)
{
    size_t a = strlen(path), b = strlen(root);
    size_t common = a < b ? a : b;
    const char *longer = a < b ? root : path;
    return strncmp(path, root, common) == 0 && (longer[common] == '\0' || longer[common] == '/');
}
