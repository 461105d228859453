#include "run/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

/* --- ROCm ---------------------------------------------------------------------------------- */

static char *first_existing(const char *dir, const char *const *names)
{
    for (; *names; names++) {
        char *path = rp_path_join(dir, *names);

        if (path && access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* An installed ROCm counts when it is version 7 and has the runtime. */
static bool try_installed(struct rp_environment *env, const char *root)
{
    static const char *const compilers[] = {"bin/hipcc", "lib/llvm/bin/clang++", NULL};
    rp_autofree char *runtime = rp_path_join(root, "lib/libhsa-runtime64.so.1");
    rp_autofree char *version_file = rp_path_join(root, ".info/version");
    rp_autofree char *version = NULL;

    if (!runtime || !version_file || !rp_path_exists(runtime))
        return false;
    version = rp_read_line(version_file);
    if (!version || strncmp(version, "7.", 2) != 0)
        return false;
    env->rocm_kind = RP_ROCM_INSTALLED;
    env->rocm_root = rp_strdup(root);
    env->rocm_version = rp_steal(version);
    env->compiler = first_existing(root, compilers);
    return env->rocm_root != NULL;
}

static char *private_rocm_path(void)
{
    const char *cache = getenv("ROCM_PERF_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const struct passwd *user = home && *home ? NULL : getpwuid(getuid());

    if (cache && *cache)
        return rp_format("%s/rocm", cache);
    if (xdg && *xdg)
        return rp_format("%s/rocm-perf-lab/rocm", xdg);
    return rp_format("%s/.cache/rocm-perf-lab/rocm", user ? user->pw_dir : home);
}

/* Returns the value behind "key " at the start of a line of the stamp that ./setup writes. */
static char *stamp_value(const char *stamp, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = stamp; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return rp_strndup(line + len + 1, strcspn(line + len + 1, "\n"));
    }
    return NULL;
}

static bool try_private(struct rp_environment *env, const char *root)
{
    rp_autofree char *stamp_path = rp_path_join(root, ".rocm-perf-prefix");
    rp_autofree char *stamp = stamp_path ? rp_read_text(stamp_path, 1 << 20) : NULL;
    rp_autofree char *llvm = stamp ? stamp_value(stamp, "llvm") : NULL;
    rp_autofree char *path = stamp ? stamp_value(stamp, "path") : NULL;
    rp_autofree char *real = realpath(root, NULL);
    rp_autofree char *hip = rp_path_join(root, "usr/lib/x86_64-linux-gnu/libamdhip64.so.7");
    rp_autofree char *hsa = rp_path_join(root, "usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1");

    /* Its programs hold its path, so one that was moved, or lost a part, cannot be used. */
    if (!llvm || !path || !real || strcmp(path, real) != 0 || !hip || !hsa ||
        !rp_path_exists(hip) || !rp_path_exists(hsa))
        return false;
    env->rocm_kind = RP_ROCM_PRIVATE;
    env->rocm_root = rp_strdup(root);
    env->rocm_version = stamp_value(stamp, "rocm");
    env->compiler = rp_format("%s/usr/lib/llvm-%s/bin/clang++", root, llvm);
    return env->rocm_root && env->rocm_version && env->compiler;
}

/* Tries /opt/rocm-7.*, the highest version first. ./setup looks in the same places
 * (tools/common.sh). */
static bool try_versioned(struct rp_environment *env)
{
    glob_t found = {0};
    bool taken = false;

    if (glob("/opt/rocm-7*", 0, NULL, &found) == 0) {
        for (size_t left = found.gl_pathc; left && !taken; left--) {
            size_t best = 0;

            for (size_t i = 1; i < left; i++)
                if (strverscmp(found.gl_pathv[i], found.gl_pathv[best]) > 0)
                    best = i;
            taken = try_installed(env, found.gl_pathv[best]);
            if (best != left - 1) {
                char *last = found.gl_pathv[left - 1];
                found.gl_pathv[left - 1] = found.gl_pathv[best];
                found.gl_pathv[best] = last;
            }
        }
    }
    globfree(&found);
    return taken;
}

static void detect_rocm(struct rp_environment *env)
{
    const char *wish = getenv("ROCM_PATH");

    env->private_root = private_rocm_path();
    if (wish && *wish) {
        /* Any ROCm but the one that was asked for would measure something else. */
        if (!try_installed(env, wish) && !try_private(env, wish))
            env->rocm_refused = rp_strdup(wish);
        return;
    }
    if (try_installed(env, "/opt/rocm") || try_versioned(env))
        return;
    if (env->private_root)
        try_private(env, env->private_root);
}

static void detect_rocprofv3(struct rp_environment *env)
{
    struct rp_err ignored = RP_ERR_INIT;

    if (env->rocm_kind == RP_ROCM_INSTALLED) {
        static const char *const names[] = {"bin/rocprofv3", NULL};
        env->rocprofv3 = first_existing(env->rocm_root, names);
    }
    if (!env->rocprofv3)
        rp_find_program("rocprofv3", &env->rocprofv3, &ignored);
}

/* --- GPU ----------------------------------------------------------------------------------- */

enum { MOST_PROPERTIES_BYTES = 1 << 16 };

/** Returns the number behind "KEY " at the beginning of a line, or 0. */
static uint64_t property(const char *text, const char *key)
{
    const size_t bytes = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, bytes) == 0 && line[bytes] == ' ')
            return strtoull(line + bytes, NULL, 10);
    }
    return 0;
}

/** gfx_target_version 90402 is gfx942, with the stepping in hexadecimal.
 * @return false: it is a CPU */
static bool read_gpu(const char *text, struct rp_gpu *gpu)
{
    const uint64_t version = property(text, "gfx_target_version");
    const uint64_t simds = property(text, "simd_count");
    const uint64_t simds_per_cu = property(text, "simd_per_cu");
    const struct rp_arch_product *product;
    const struct rp_arch *arch;

    if (!version || !simds)
        return false;
    snprintf(gpu->gfx, sizeof gpu->gfx, "gfx%u%x%x", (unsigned)(version / 10000),
             (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    gpu->pci_device_id = (uint32_t)property(text, "device_id");
    gpu->compute_units = simds_per_cu ? (uint32_t)(simds / simds_per_cu) : 0;
    gpu->unique_id = property(text, "unique_id");
    arch = rp_arch_find(gpu->gfx);
    product = arch ? rp_arch_product_find(arch, gpu->pci_device_id, gpu->compute_units, 0) : NULL;
    gpu->product = product ? product->name : "";
    return true;
}

/** Control groups refuse it in open(), not in access(). If the driver names no file, the GPU counts
 * as usable. */
static bool is_usable(const char *text, const char *files)
{
    const uint64_t minor = property(text, "drm_render_minor");
    rp_autofree char *path = rp_format("%s/renderD%" PRIu64, files, minor);
    rp_autoclose int fd = minor ? open(path, O_RDWR | O_CLOEXEC) : -1;

    return !minor || fd >= 0;
}

static int by_node(const void *a, const void *b)
{
    const struct rp_gpu *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

void rp_gpus_list(const char *nodes, const char *files, struct rp_gpu **ret, size_t *ret_count)
{
    DIR *dir = opendir(nodes);
    struct rp_gpu *gpus = NULL;
    struct dirent *entry;
    size_t count = 0;

    while (dir && (entry = readdir(dir))) {
        rp_autofree char *path = rp_format("%s/%s/properties", nodes, entry->d_name);
        rp_autofree char *text = rp_read_text(path, MOST_PROPERTIES_BYTES);
        struct rp_gpu gpu = {.node = (uint32_t)strtoul(entry->d_name, NULL, 10)};

        if (!text || !read_gpu(text, &gpu) || (files && !is_usable(text, files)))
            continue;
        gpus = rp_realloc_array(gpus, count + 1, sizeof *gpus);
        gpus[count++] = gpu;
    }
    if (dir)
        closedir(dir);
    if (count)
        qsort(gpus, count, sizeof *gpus, by_node);
    *ret = gpus;
    *ret_count = count;
}

static void count_gpus(struct rp_environment *env)
{
    rp_autofree struct rp_gpu *gpus = NULL;
    size_t count;

    rp_gpus_list(RP_GPU_NODES, NULL, &gpus, &count);
    env->gpu_count = (uint32_t)count;
    if (count)
        env->gpu_isa = rp_strdup(gpus[0].gfx);
}

static void detect_gpu(struct rp_environment *env)
{
    int fd;

    /* With the software device preloaded into this very process, /dev/kfd would be its own. */
    if (dlsym(RTLD_DEFAULT, "rocm_perf_device_abi")) {
        env->gpu_reason = rp_strdup("librocm-perf-device.so is in LD_PRELOAD and hides any GPU");
        return;
    }
    fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        env->gpu_reason = rp_strdup("no AMD GPU driver: /dev/kfd does not exist");
        return;
    }
    if (fd < 0) {
        env->gpu_reason = rp_format("/dev/kfd cannot be opened: %s; is the user in the groups "
                                    "render and video?",
                                    strerror(errno));
        return;
    }
    close(fd);
    count_gpus(env);
    if (!env->gpu_count)
        env->gpu_reason = rp_strdup("the AMD GPU driver shows no GPU in " RP_GPU_NODES);
}

/* --- our libraries ------------------------------------------------------------------------- */

/* The library is beside the program in the build folder, and in ../lib/rocm-perf-lab after
 * installation. */
static char *find_library(const char *exe_dir, const char *name)
{
    static const char *const places[] = {"lib", "../lib/rocm-perf-lab"};

    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        rp_autofree char *path = rp_format("%s/%s/%s", exe_dir, places[i], name);

        if (path && access(path, R_OK) == 0)
            return realpath(path, NULL);
    }
    return NULL;
}

/* It is installed with the program, for users without a clone of the sources. */
static char *find_setup(const char *exe_dir)
{
    rp_autofree char *path = rp_format("%s/../share/rocm-perf-lab/setup", exe_dir);
    rp_autofree char *real = path && access(path, X_OK) == 0 ? realpath(path, NULL) : NULL;

    return real ? rp_format("%s --rocm", real) : NULL;
}

char *rp_find_llvm_program(const struct rp_environment *env, const char *name)
{
    static const char *const places[] = {"llvm/bin", "lib/llvm/bin"};
    const char *slash = env->compiler ? strrchr(env->compiler, '/') : NULL;
    struct rp_err ignored = RP_ERR_INIT;
    char *path = NULL;

    if (slash) { /* The program is beside clang++. */
        path = rp_format("%.*s/%s", (int)(slash - env->compiler), env->compiler, name);
        if (path && access(path, X_OK) == 0)
            return path;
        free(path);
    }
    for (size_t i = 0; env->rocm_root && i < sizeof places / sizeof *places; i++) {
        path = rp_format("%s/%s/%s", env->rocm_root, places[i], name);
        if (path && access(path, X_OK) == 0)
            return path;
        free(path);
    }
    return rp_find_program(name, &path, &ignored) == 0 ? path : NULL;
}

int rp_environment_detect(struct rp_environment *ret, struct rp_err *err)
{
    struct rp_environment env = {0};
    rp_autofree char *exe_dir = NULL;
    int rc = rp_executable_dir(&exe_dir, err);

    if (rc < 0)
        return rc;
    detect_rocm(&env);
    detect_rocprofv3(&env);
    detect_gpu(&env);
    env.device_library = find_library(exe_dir, "librocm-perf-device.so");
    env.tool_library = find_library(exe_dir, "librocm-perf-tool.so");
    env.setup_command = find_setup(exe_dir);
    *ret = env;
    return 0;
}

void rp_environment_free(struct rp_environment *env)
{
    free(env->rocm_root);
    free(env->rocm_version);
    free(env->compiler);
    free(env->rocprofv3);
    free(env->private_root);
    free(env->rocm_refused);
    free(env->device_library);
    free(env->tool_library);
    free(env->setup_command);
    free(env->gpu_isa);
    free(env->gpu_reason);
    memset(env, 0, sizeof *env);
}

const struct rp_gpu *rp_gpus_first_visible(const struct rp_gpu *gpus, size_t count,
                                           const char *visible)
{
    static const char by_id[] = "GPU-";
    char *end;

    if (!visible || !*visible)
        return count ? gpus : NULL;
    if (strncasecmp(visible, by_id, strlen(by_id)) == 0) {
        const uint64_t id = strtoull(visible + strlen(by_id), &end, 16);

        for (size_t i = 0; id && i < count; i++)
            if (gpus[i].unique_id == id)
                return &gpus[i];
        return NULL;
    }
    const unsigned long number = strtoul(visible, &end, 10);

    return end != visible && number < count ? &gpus[number] : NULL;
}
