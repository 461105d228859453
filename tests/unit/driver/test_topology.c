/* The generated files: what ROCr reads from them, and that the tree is consistent. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/driver/vfs.h"

#define KFD "/sys/devices/virtual/kfd/kfd"

/* What is described; tests that need something else change it and put it back. */
static struct rp_topology topology = {
    .gpu_count = 1, .host.cores = 2, .host.memory_bytes = 1ull << 34};

static char *text_of(const char *path)
{
    static char text[RP_TOPOLOGY_FILE_BYTES];
    int n = rp_topology_read(&topology, path, text);
    assert_true(n > 0);
    assert_int_equal((size_t)n, strlen(text));
    assert_int_equal(text[n - 1], '\n');
    return text;
}

static uint64_t value_of(const char *path, const char *key)
{
    char *text = text_of(path), wanted[64];
    snprintf(wanted, sizeof wanted, "%s ", key);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, wanted, strlen(wanted)) == 0)
            return strtoull(line + strlen(wanted), NULL, 10);
    fail_msg("%s has no %s", path, key);
    return 0;
}

static void mi300x(void **state)
{
    (void)state;
    const char *gpu = KFD "/topology/nodes/1/properties";
    assert_int_equal(value_of(gpu, "simd_count"), 1216);
    assert_int_equal(value_of(gpu, "simd_per_cu"), 4);
    assert_int_equal(value_of(gpu, "num_xcc"), 8);
    assert_int_equal(value_of(gpu, "array_count"), 32);
    assert_int_equal(value_of(gpu, "max_waves_per_simd"), 8);
    assert_int_equal(value_of(gpu, "lds_size_in_kb"), 64);
    assert_int_equal(value_of(gpu, "wave_front_size"), 64);
    assert_int_equal(value_of(gpu, "gfx_target_version"), 90402);
    assert_int_equal(value_of(gpu, "device_id"), 29857);
    assert_int_equal(value_of(gpu, "vendor_id"), 4098);
    assert_int_equal(value_of(gpu, "max_engine_clk_fcompute"), 2100);
    assert_int_equal(value_of(gpu, "drm_render_minor"), 128);
    assert_int_equal(value_of(KFD "/topology/nodes/1/mem_banks/0/properties", "size_in_bytes"),
                     206141652992);
    assert_int_equal(value_of(KFD "/topology/nodes/1/mem_banks/0/properties", "width"), 8192);
    assert_int_equal(value_of(gpu, "caches_count"), 304 + 2);
    const char *last_l1 = KFD "/topology/nodes/1/caches/303/properties";
    assert_int_equal(value_of(last_l1, "size"), 32);
    assert_int_equal(value_of(last_l1, "processor_id_low"), 0x80001000u + 303 * 4);
    const char *l2 = KFD "/topology/nodes/1/caches/304/properties";
    assert_int_equal(value_of(l2, "size"), 4096);
    const char *sharing = strstr(text_of(l2), "sibling_map ");
    assert_int_equal(strlen(sharing), strlen("sibling_map ") + 2 * 304);
    assert_int_equal(value_of(KFD "/topology/nodes/1/caches/305/properties", "size"), 262144);
    assert_int_equal(rp_topology_kind(&topology, KFD "/topology/nodes/1/caches/306"),
                     RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_kind(&topology, KFD "/topology/nodes/1/caches/00"),
                     RP_TOPOLOGY_NONE);
    assert_int_equal(value_of(KFD "/topology/nodes/0/properties", "cpu_cores_count"), 2);
    assert_string_equal(text_of(KFD "/topology/nodes/1/gpu_id"), "2\n");
}

static unsigned entries_of(const char *path)
{
    char name[64];
    unsigned n = 0;
    while (rp_topology_list(&topology, path, n, name, sizeof name) != RP_TOPOLOGY_NONE)
        n++;
    return n;
}

/* The runtime walks directories and trusts these counts. */
static void counts_match_directories(void **state)
{
    (void)state;
    static const char *const parts[][2] = {{"mem_banks", "mem_banks_count"},
                                           {"caches", "caches_count"},
                                           {"io_links", "io_links_count"}};
    assert_int_equal(entries_of(KFD "/topology/nodes"), 2);
    for (int node = 0; node < 2; node++)
        for (unsigned i = 0; i < 3; i++) {
            char dir[96], properties[96];
            snprintf(dir, sizeof dir, KFD "/topology/nodes/%d/%s", node, parts[i][0]);
            snprintf(properties, sizeof properties, KFD "/topology/nodes/%d/properties", node);
            assert_int_equal(entries_of(dir), value_of(properties, parts[i][1]));
        }
}

/* A hive: each GPU has a name, a place and a node of its own, and a link to everybody else. */
static void eight_gpus(void **state)
{
    (void)state;
    enum { GPUS = 8 };
    topology.gpu_count = GPUS;
    assert_int_equal(entries_of(KFD "/topology/nodes"), GPUS + 1);
    for (unsigned node = 0; node <= GPUS; node++) {
        char path[128], id[16];
        snprintf(path, sizeof path, KFD "/topology/nodes/%u/properties", node);
        assert_int_equal(value_of(path, "io_links_count"), GPUS);
        if (node) {
            assert_int_equal(value_of(path, "drm_render_minor"), 127 + node);
            assert_int_equal(value_of(path, "location_id"), node << 8);
            assert_int_equal(value_of(path, "unique_id") - 1234567890, node - 1);
            assert_int_not_equal(value_of(path, "hive_id"), 0);
            snprintf(path, sizeof path, KFD "/topology/nodes/%u/gpu_id", node);
            snprintf(id, sizeof id, "%u\n", node + 1);
            assert_string_equal(text_of(path), id);
        }
        unsigned reached = 1u << node;
        for (unsigned link = 0; link < GPUS; link++) {
            snprintf(path, sizeof path, KFD "/topology/nodes/%u/io_links/%u/properties", node,
                     link);
            uint64_t to = value_of(path, "node_to");
            assert_int_equal(value_of(path, "node_from"), node);
            assert_int_equal(value_of(path, "type"), node && to ? 11 : 2);
            reached |= 1u << to;
        }
        assert_int_equal(reached, (1u << (GPUS + 1)) - 1);
    }
    topology.gpu_count = 1;
    assert_int_equal(rp_topology_kind(&topology, KFD "/topology/nodes/2"), RP_TOPOLOGY_NONE);
}

/* Every entry of every directory exists and is what the listing says. Returns files seen. */
static unsigned walk(const char *path)
{
    unsigned files = 0;
    char name[64], child[256];
    for (unsigned i = 0;; i++) {
        enum rp_topology_kind kind = rp_topology_list(&topology, path, i, name, sizeof name);
        if (kind == RP_TOPOLOGY_NONE)
            return files;
        snprintf(child, sizeof child, "%s/%s", path, name);
        assert_int_equal(rp_topology_kind(&topology, child), kind);
        assert_null(strchr(child, '{')); /* a word that the rows do not know */
        const struct rp_topology_entry entry = rp_topology_find(&topology, child);
        if (kind == RP_TOPOLOGY_DIR)
            files += walk(child);
        else if (kind == RP_TOPOLOGY_FILE)
            files += text_of(child)[0] != '\0' && !strchr(text_of(child), '{');
        assert_int_equal(entry.target[0] != '\0', kind == RP_TOPOLOGY_LINK);
        if (kind == RP_TOPOLOGY_LINK)
            assert_int_equal(rp_topology_kind(&topology, entry.target), RP_TOPOLOGY_DIR);
        assert_int_equal(entry.kind, kind);
        assert_true(entry.gpu < topology.gpu_count);
        assert_int_equal(entry.minor % RP_TOPOLOGY_RENDER_MINOR, entry.gpu);
    }
}

static void tree_is_consistent(void **state)
{
    (void)state;
    char text[RP_TOPOLOGY_FILE_BYTES];
    assert_int_equal(walk(KFD "/topology"), 12 + 306);
    assert_int_equal(walk("/sys/module"), 1);
    assert_int_equal(walk("/dev"), 0);
    for (unsigned gpus = 1; gpus <= RP_GPU_LIMIT; gpus++) {
        topology.gpu_count = gpus;
        assert_true(walk("/sys/class") == 1); /* the version of DRM; all else are links */
        assert_true(walk("/sys/devices/pci7f00:01/7f00:01:00.0") > 40);
        assert_int_equal(entries_of("/sys/class/drm"), 1 + 2 * gpus);
        assert_int_equal(entries_of("/sys/bus/pci/devices"), gpus);
        assert_int_equal(entries_of("/dev/dri"), 2 * gpus);
    }
    topology.gpu_count = 1;
    assert_int_equal(rp_topology_kind(&topology, KFD "/topology/nodes/2"), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_kind(&topology, KFD "/topology/node"), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_kind(&topology, ""), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_read(&topology, KFD "/topology", text), -ENOENT);
}

/* The real driver writes every key for every node; rocprofiler looks each of them up. */
static void processor_has_all_keys(void **state)
{
    (void)state;
    char keys[RP_TOPOLOGY_FILE_BYTES];
    unsigned count = 0;
    snprintf(keys, sizeof keys, "%s", text_of(KFD "/topology/nodes/1/properties"));
    /* Up to here: what follows is written for GPUs alone. */
    *strstr(keys, "max_engine_clk_fcompute") = '\0';
    for (char *end, *key = keys; (end = strchr(key, '\n')); key = end + 1) {
        char name[64];
        sscanf(key, "%63s", name);
        uint64_t value = value_of(KFD "/topology/nodes/0/properties", name);
        if (strcmp(name, "cpu_cores_count") != 0 && strcmp(name, "mem_banks_count") != 0 &&
            strcmp(name, "io_links_count") != 0)
            assert_int_equal(value, 0);
        count++;
    }
    assert_int_equal(count, 29);
}

#define DEVICE "/sys/devices/pci7f00:01/7f00:01:00.0"

/* ROCm SMI, AMD SMI and RCCL read these; KFD and PCI tell of the same GPU. */
static void device_of_mi300x(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"vendor", "0x1002\n"},
        {"device", "0x74a1\n"},
        {"class", "0x120000\n"},
        {"unique_id", "00000000499602d2\n"},
        {"mem_info_vram_total", "206141652992\n"},
        {"mem_info_vram_used", "4096\n"},
        {"mem_info_gtt_total", "8589934592\n"},
        {"pp_dpm_sclk", "0: 2100Mhz *\n"},
        {"pp_dpm_mclk", "0: 1300Mhz *\n"},
        {"pp_dpm_pcie", "0: 32.0GT/s, x16 *\n"},
        {"current_link_speed", "32.0 GT/s PCIe\n"},
        {"max_link_width", "16\n"},
        {"numa_node", "0\n"},
        {"local_cpulist", "0-1\n"},
        {"local_cpus", "00000003\n"},
        {"current_compute_partition", "SPX\n"},
        {"current_memory_partition", "NPS1\n"},
        {"fw_version/mec_fw_version", "0x000000b1\n"},
        {"product_name", "AMD Instinct MI300X\n"},
        {"drm/card0/dev", "226:0\n"},
        {"drm/renderD128/dev", "226:128\n"},
        {"hwmon/hwmon64/name", "amdgpu\n"},
        {"hwmon/hwmon64/freq1_input", "2100000000\n"},
        {"modalias", "pci:v00001002d000074A1sv00001002sd000074A1bc12sc00i00\n"},
    };
    char path[RP_TOPOLOGY_PATH_BYTES];
    topology.memory_used_bytes[0] = 4096;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(path, sizeof path, DEVICE "/%s", texts[i][0]);
        assert_string_equal(text_of(path), texts[i][1]);
    }
    topology.memory_used_bytes[0] = 0;
    assert_non_null(strstr(text_of(DEVICE "/uevent"), "PCI_SLOT_NAME=7f00:01:00.0\n"));
    assert_int_equal(value_of(KFD "/topology/nodes/1/properties", "unique_id"), 0x499602d2);
    assert_int_equal(value_of(KFD "/topology/nodes/1/properties", "location_id"), 0x100);
    assert_int_equal(value_of(KFD "/topology/nodes/1/properties", "domain"), 0x7f00);
    assert_int_equal(value_of(KFD "/topology/nodes/1/properties", "fw_version"), 0xb1);
}

/* What a stand-in cannot measure is not there, as with a driver that lacks it. */
static void nothing_is_invented(void **state)
{
    (void)state;
    static const char *const absent[] = {"vbios_version",
                                         "serial_number",
                                         "gpu_busy_percent",
                                         "hwmon/hwmon64/temp1_input",
                                         "hwmon/hwmon64/power1_average",
                                         "hwmon/hwmon64/power1_cap",
                                         "hwmon/hwmon64/fan1_input",
                                         "ras/features",
                                         "fw_version/smc_fw_version"};
    char path[RP_TOPOLOGY_PATH_BYTES];
    for (unsigned i = 0; i < sizeof absent / sizeof *absent; i++) {
        snprintf(path, sizeof path, DEVICE "/%s", absent[i]);
        assert_int_equal(rp_topology_kind(&topology, path), RP_TOPOLOGY_NONE);
    }
}

/* Partitions are of GPUs of several dies; an APU is in no slot. */
static void files_of_other_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        bool partitions, slot;
    } cases[] = {{"mi250x", false, true},
                 {"mi300a", true, false},
                 {"mi325x", true, true},
                 {"mi350x", true, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rp_arch_select(cases[i].gpu, &topology.arch), 0);
        assert_int_equal(rp_topology_kind(&topology, DEVICE "/current_compute_partition") !=
                             RP_TOPOLOGY_NONE,
                         cases[i].partitions);
        assert_int_equal(rp_topology_kind(&topology, DEVICE "/max_link_speed") != RP_TOPOLOGY_NONE,
                         cases[i].slot);
        assert_true(walk(DEVICE) > 20);
    }
    assert_int_equal(rp_arch_select("mi250x", &topology.arch), 0);
    assert_string_equal(text_of(DEVICE "/max_link_speed"), "16.0 GT/s PCIe\n");
    topology.arch = *rp_arch_find("gfx942");
}

static void masks_of_processors(void **state)
{
    (void)state;
    static const struct {
        uint32_t cores;
        const char *list, *mask;
    } cases[] = {{1, "0\n", "00000001\n"},
                 {32, "0-31\n", "ffffffff\n"},
                 {33, "0-32\n", "00000001,ffffffff\n"},
                 {96, "0-95\n", "ffffffff,ffffffff,ffffffff\n"}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        topology.host.cores = cases[i].cores;
        assert_string_equal(text_of(DEVICE "/local_cpulist"), cases[i].list);
        assert_string_equal(text_of(DEVICE "/local_cpus"), cases[i].mask);
    }
    topology.host.cores = 2;
}

static void paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum rp_vfs_kind kind;
    } cases[] = {
        {"/dev/kfd", RP_VFS_DEVICE},
        {"/dev/dri", RP_VFS_SHARED},
        {"/dev/dri/renderD128", RP_VFS_DEVICE},
        {"/dev/dri/card0", RP_VFS_DEVICE},
        {"/dev/dri/renderD129", RP_VFS_NONE},
        {"/dev/kfdx", RP_VFS_NONE},
        {"/sys/class/kfd/kfd/topology", RP_VFS_DIR},
        {"/sys/class/kfd/kfd/topology/", RP_VFS_DIR},
        {"/sys/class/kfd/kfd/proc", RP_VFS_DIR},
        {"/sys/class/kfd/kfd/topology/nodes/1/gpu_id", RP_VFS_FILE},
        {"/sys/devices/virtual/kfd/kfd/topology/generation_id", RP_VFS_FILE},
        {"/sys/devices/virtual/kfd/kfd/topology/nodes/9", RP_VFS_ABSENT},
        {"/sys/class/kfd/kfd/topologyx", RP_VFS_ABSENT},
        {"/sys/module/amdgpu", RP_VFS_DIR},
        {"/sys/module/amdgpu/initstate", RP_VFS_FILE},
        {"/sys/module/amdgpu_more", RP_VFS_NONE},
        {"/sys/class", RP_VFS_SHARED},
        {"/sys/class/net", RP_VFS_NONE},
        {"/sys/class/drm", RP_VFS_DIR},
        {"/sys/class/drm/card0/device/vendor", RP_VFS_FILE},
        {"/sys/class/drm/card0/device", RP_VFS_DIR},
        {"/sys/class/drm/card1", RP_VFS_ABSENT},
        {"/sys/class/drm/card0/device/vendor/x", RP_VFS_ABSENT},
        {"/sys/class/hwmon", RP_VFS_SHARED},
        {"/sys/class/hwmon/hwmon0", RP_VFS_NONE},
        {"/sys/class/hwmon/hwmon64/device/device", RP_VFS_FILE},
        {"/sys/dev/char/226:128/device/drm/renderD128", RP_VFS_DIR},
        {"/sys/bus/pci/devices/0000:00:00.0", RP_VFS_NONE},
        {"/sys/bus/pci/devices/7f00:01:00.0/./drm//card0/", RP_VFS_DIR},
        {"/sys/class/net/eth0/device/../7f00:01:00.0", RP_VFS_NONE},
        {"/sys/devices/pci0000:00", RP_VFS_NONE},
        {"/sys/devices/pci0000:01/0000:01:00.0/config", RP_VFS_NONE}, /* often a host's disk */
        {"/sys/bus/pci/devices/0000:01:00.0/config", RP_VFS_NONE},
        {"/sys/class/../..", RP_VFS_NONE},
        {"/sys/class/drm/../../..", RP_VFS_NONE},
        {"/sys/class/drm/..", RP_VFS_SHARED},
        {"/sys/devices/system/../virtual/kfd", RP_VFS_DIR}, /* every Linux has these */
        {"/sys/devices/system/cpu/../../virtual/kfd", RP_VFS_DIR},
        {"/sys/devices/nothing/../virtual/kfd", RP_VFS_NONE},
        {"/sys/class/tty/console/../../drm", RP_VFS_NONE}, /* through a link */
        {"/sys/devices/system/node", RP_VFS_NONE},
        {"/proc/cpuinfo", RP_VFS_NONE},
        {"dev/kfd", RP_VFS_NONE},
        {"", RP_VFS_NONE},
        {NULL, RP_VFS_NONE},
    };
    unsetenv("ROCM_PERF_DEVICE");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rp_vfs_lookup(cases[i].path, true).kind != cases[i].kind)
            fail_msg("%s", cases[i].path);
    setenv("ROCM_PERF_DEVICE", "off", 1);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rp_vfs_lookup(cases[i].path, true).kind, RP_VFS_NONE);
    unsetenv("ROCM_PERF_DEVICE");
}

/* RCCL and libdrm go up from a link; readlink() says what the kernel would. */
static void links(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"/sys/class/pci_bus/7f00:01/../../7f00:01:00.0", DEVICE, NULL},
        {"/sys/class/../..", "/", NULL},
        {"/sys/class/drm/card0", DEVICE "/drm/card0",
         "../../devices/pci7f00:01/7f00:01:00.0/drm/card0"},
        {"/sys/class/drm/card0/device", DEVICE, "../../../7f00:01:00.0"},
        {"/sys/class/drm/renderD128/device/subsystem", "/sys/bus/pci", "../../../bus/pci"},
        {"/sys/class/hwmon/hwmon64/../../..", "/sys/devices/pci7f00:01", NULL},
        {"/sys/dev/char/226:128", DEVICE "/drm/renderD128",
         "../../devices/pci7f00:01/7f00:01:00.0/drm/renderD128"},
        {"/sys/class/kfd/kfd", KFD, "../../devices/virtual/kfd/kfd"},
    };
    char target[2 * RP_TOPOLOGY_PATH_BYTES];
    struct stat st;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_vfs_node followed = rp_vfs_lookup(cases[i][0], true);
        struct rp_vfs_node itself = rp_vfs_lookup(cases[i][0], false);
        assert_string_equal(followed.path, cases[i][1]);
        assert_int_equal(itself.kind == RP_VFS_LINK, cases[i][2] != NULL);
        if (!cases[i][2])
            continue;
        int bytes = rp_vfs_readlink(&itself, target);
        assert_int_equal(bytes, strlen(cases[i][2]));
        assert_string_equal(target, cases[i][2]);
        rp_vfs_stat(&itself, &st);
        assert_true(S_ISLNK(st.st_mode));
        rp_vfs_stat(&followed, &st);
        assert_true(S_ISDIR(st.st_mode));
    }
}

/* A descriptor of a folder says where it is; what the host has is asked of the kernel. */
static void folders(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum rp_vfs_kind kind;
        const char *hosts; /* what the kernel is asked; NULL: nothing, or the same */
    } cases[] = {
        {"card0", RP_VFS_LINK, NULL},
        {"card0/device/vendor", RP_VFS_FILE, NULL},
        {"card7", RP_VFS_ABSENT, NULL},
        {"..", RP_VFS_SHARED, "/sys/class"},
        {"../tty", RP_VFS_NONE, "/sys/class/tty"},
        {"../../..", RP_VFS_NONE, "/"},
        {"/dev/kfd", RP_VFS_DEVICE, NULL},
        {"/sys/class/tty", RP_VFS_NONE, NULL},
        {"", RP_VFS_NONE, NULL},
    };
    struct rp_vfs_node node = rp_vfs_lookup("/sys/class/drm", true), found;
    int fd = rp_vfs_open(&node, true), copy = dup(fd);
    struct rp_vfs_at at;
    struct stat st;
    assert_true(fd >= 0 && copy >= 0);
    assert_int_equal(fstat(copy, &st), 0);
    assert_true(rp_vfs_is_like_ours(&st));
    assert_true(rp_vfs_of_fd(copy, &found));
    assert_string_equal(found.path, "/sys/class/drm");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_vfs_lookup_at(copy, cases[i].path, false, &at);
        if (at.node.kind != cases[i].kind)
            fail_msg("%s", cases[i].path);
        if (cases[i].hosts) {
            assert_int_equal(at.dir, AT_FDCWD);
            assert_string_equal(at.path, cases[i].hosts);
        } else if (at.node.kind == RP_VFS_NONE) {
            assert_int_equal(at.dir, copy);
            assert_ptr_equal(at.path, cases[i].path);
        }
    }
    close(fd);
    close(copy);
    fd = open("/sys/devices", O_RDONLY | O_DIRECTORY); /* the kernel's own */
    rp_vfs_lookup_at(fd, "virtual/kfd/kfd", true, &at);
    assert_int_equal(at.node.kind, RP_VFS_DIR);
    rp_vfs_lookup_at(fd, "system", true, &at);
    assert_int_equal(at.node.kind, RP_VFS_NONE);
    assert_int_equal(at.dir, fd);
    close(fd);
    assert_false(rp_vfs_of_fd(fd, &found));
    fd = open("/", O_RDONLY | O_DIRECTORY);
    rp_vfs_lookup_at(fd, "sys/class/drm/card0/device/vendor", true, &at);
    assert_int_equal(at.node.kind, RP_VFS_FILE);
    rp_vfs_lookup_at(fd, "usr/../dev/kfd", true, &at);
    assert_int_equal(at.node.kind, RP_VFS_DEVICE);
    rp_vfs_lookup_at(fd, "sys", true, &at);
    assert_int_equal(at.node.kind, RP_VFS_NONE);
    assert_int_equal(at.dir, fd);
    close(fd);
    node = rp_vfs_lookup("/sys/class/drm/version", true);
    fd = rp_vfs_open(&node, true);
    assert_true(rp_vfs_of_fd(fd, &found));
    assert_int_equal(found.kind, RP_VFS_FILE);
    assert_string_equal(found.path, node.path);
    rp_vfs_lookup_at(fd, "..", true, &at); /* no folder */
    assert_int_equal(at.node.kind, RP_VFS_NONE);
    assert_int_equal(at.dir, fd);
    close(fd);
    assert_int_not_equal(rp_vfs_inode("/sys/class/drm"), rp_vfs_inode("/sys/class/kfd"));
}

int main(void)
{
    topology.arch = *rp_arch_find("gfx942");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mi300x),
        cmocka_unit_test(counts_match_directories),
        cmocka_unit_test(eight_gpus),
        cmocka_unit_test(tree_is_consistent),
        cmocka_unit_test(paths),
        cmocka_unit_test(processor_has_all_keys),
        cmocka_unit_test(device_of_mi300x),
        cmocka_unit_test(nothing_is_invented),
        cmocka_unit_test(files_of_other_gpus),
        cmocka_unit_test(masks_of_processors),
        cmocka_unit_test(links),
        cmocka_unit_test(folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
