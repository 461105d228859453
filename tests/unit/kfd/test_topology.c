/* The generated files: what ROCr reads from them, and that the tree is consistent. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/kfd/topology.h"
#include "device/kfd/vfs.h"

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
    const char *gpu = "topology/nodes/1/properties";
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
    assert_int_equal(value_of("topology/nodes/1/mem_banks/0/properties", "size_in_bytes"),
                     206141652992);
    assert_int_equal(value_of("topology/nodes/1/mem_banks/0/properties", "width"), 8192);
    assert_int_equal(value_of("topology/nodes/1/caches/1/properties", "size"), 4096);
    assert_int_equal(value_of("topology/nodes/0/properties", "cpu_cores_count"), 2);
    assert_string_equal(text_of("topology/nodes/1/gpu_id"), "2\n");
}

static unsigned entries_of(const char *path)
{
    char name[64];
    unsigned n = 0;
    while (rp_topology_entry(&topology, path, n, name, sizeof name) != RP_TOPOLOGY_NONE)
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
    assert_int_equal(entries_of("topology/nodes"), 2);
    for (int node = 0; node < 2; node++)
        for (unsigned i = 0; i < 3; i++) {
            char dir[64], properties[64];
            snprintf(dir, sizeof dir, "topology/nodes/%d/%s", node, parts[i][0]);
            snprintf(properties, sizeof properties, "topology/nodes/%d/properties", node);
            assert_int_equal(entries_of(dir), value_of(properties, parts[i][1]));
        }
}

/* A hive: each GPU has a name, a place and a node of its own, and a link to everybody else. */
static void eight_gpus(void **state)
{
    (void)state;
    enum { GPUS = 8 };
    topology.gpu_count = GPUS;
    assert_int_equal(entries_of("topology/nodes"), GPUS + 1);
    for (unsigned node = 0; node <= GPUS; node++) {
        char path[96], id[16];
        snprintf(path, sizeof path, "topology/nodes/%u/properties", node);
        assert_int_equal(value_of(path, "io_links_count"), GPUS);
        if (node) {
            assert_int_equal(value_of(path, "drm_render_minor"), 127 + node);
            assert_int_equal(value_of(path, "location_id"), node << 8);
            assert_int_equal(value_of(path, "unique_id") - 1234567890, node - 1);
            assert_int_not_equal(value_of(path, "hive_id"), 0);
            snprintf(path, sizeof path, "topology/nodes/%u/gpu_id", node);
            snprintf(id, sizeof id, "%u\n", node + 1);
            assert_string_equal(text_of(path), id);
        }
        unsigned reached = 1u << node;
        for (unsigned link = 0; link < GPUS; link++) {
            snprintf(path, sizeof path, "topology/nodes/%u/io_links/%u/properties", node, link);
            uint64_t to = value_of(path, "node_to");
            assert_int_equal(value_of(path, "node_from"), node);
            assert_int_equal(value_of(path, "type"), node && to ? 11 : 2);
            reached |= 1u << to;
        }
        assert_int_equal(reached, (1u << (GPUS + 1)) - 1);
    }
    topology.gpu_count = 1;
    assert_int_equal(rp_topology_kind(&topology, "topology/nodes/2"), RP_TOPOLOGY_NONE);
}

/* Every entry of every directory exists and is what the listing says. Returns files seen. */
static unsigned walk(const char *path)
{
    unsigned files = 0;
    char name[64], child[192];
    for (unsigned i = 0;; i++) {
        enum rp_topology_kind kind = rp_topology_entry(&topology, path, i, name, sizeof name);
        if (kind == RP_TOPOLOGY_NONE)
            return files;
        snprintf(child, sizeof child, "%s/%s", path, name);
        assert_int_equal(rp_topology_kind(&topology, child), kind);
        if (kind == RP_TOPOLOGY_DIR)
            files += walk(child);
        else
            files += text_of(child)[0] != '\0';
    }
}

static void tree_is_consistent(void **state)
{
    (void)state;
    char text[RP_TOPOLOGY_FILE_BYTES];
    assert_int_equal(walk("topology"), 15);
    assert_int_equal(walk("module"), 1);
    assert_int_equal(rp_topology_kind(&topology, "topology/nodes/2"), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_kind(&topology, "topology/node"), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_kind(&topology, ""), RP_TOPOLOGY_NONE);
    assert_int_equal(rp_topology_read(&topology, "topology", text), -ENOENT);
}

static void paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum rp_vfs_kind kind;
    } cases[] = {
        {"/dev/kfd", RP_VFS_DEVICE},
        {"/dev/dri/renderD128", RP_VFS_DEVICE},
        {"/dev/dri/renderD129", RP_VFS_NONE},
        {"/dev/kfdx", RP_VFS_NONE},
        {"/sys/class/kfd/kfd/topology", RP_VFS_DIR},
        {"/sys/class/kfd/kfd/topology/", RP_VFS_DIR},
        {"/sys/class/kfd/kfd/topology/nodes/1/gpu_id", RP_VFS_FILE},
        {"/sys/devices/virtual/kfd/kfd/topology/generation_id", RP_VFS_FILE},
        {"/sys/devices/virtual/kfd/kfd/topology/nodes/9", RP_VFS_ABSENT},
        {"/sys/class/kfd/kfd/topologyx", RP_VFS_NONE},
        {"/sys/module/amdgpu", RP_VFS_DIR},
        {"/sys/module/amdgpu/initstate", RP_VFS_FILE},
        {"/sys/devices/system/node", RP_VFS_NONE},
        {"/proc/cpuinfo", RP_VFS_NONE},
        {"dev/kfd", RP_VFS_NONE},
        {"", RP_VFS_NONE},
        {NULL, RP_VFS_NONE},
    };
    unsetenv("ROCM_PERF_DEVICE");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rp_vfs_lookup(cases[i].path).kind, cases[i].kind);
    setenv("ROCM_PERF_DEVICE", "off", 1);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rp_vfs_lookup(cases[i].path).kind, RP_VFS_NONE);
    unsetenv("ROCM_PERF_DEVICE");
}

int main(void)
{
    topology.arch = *rp_arch_find("gfx942");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mi300x),     cmocka_unit_test(counts_match_directories),
        cmocka_unit_test(eight_gpus), cmocka_unit_test(tree_is_consistent),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
