#include "run/machine.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static void take_rocm(struct rp_environment *env, const struct rp_rocm *rocm)
{
    env->rocm_kind = rocm->kind;
    env->rocm_root = rp_strdup(rocm->root);
    env->rocm_libraries = rp_strdup(rocm->libraries);
    env->rocm_version = rocm->version ? rp_strdup(rocm->version) : NULL;
    env->rocm_libc = rocm->libc ? rp_strdup(rocm->libc) : NULL;
    if (rocm->parts[RP_ROCM_COMPILER])
        env->compiler = rp_strdup(rocm->parts[RP_ROCM_COMPILER]);
    if (rocm->parts[RP_ROCM_ROCPROFV3])
        env->rocprofv3 = rp_strdup(rocm->parts[RP_ROCM_ROCPROFV3]);
}

/* The variable was set on purpose, so nothing is taken in its place. */
static char *problem_of_variable(const char *value, const struct rp_rocm *rocm)
{
    /* A release in that folder has a name of its own. */
    const bool same = strcmp(value, rocm->root) == 0;

    if (rocm->remedy)
        return rp_format("ROCM_PATH=%s: %s%s%s; %s, or unset the variable", value,
                         same ? "" : rocm->root, same ? "" : ": ", rocm->reason, rocm->remedy);
    return rp_format("ROCM_PATH=%s: %s%s%s; correct the variable or unset it", value,
                     same ? "" : rocm->root, same ? "" : ": ", rocm->reason);
}

static char *problem_of(const struct rp_rocms *rocms, const struct rp_rocm_places *places)
{
    const struct rp_rocm *first = rocms->count ? rocms->items : NULL;

    if (!first)
        return rp_format("no " RP_ROCM_RELEASES " found in $ROCM_PATH, /opt/rocm, /usr, Python's "
                         "packages or %s; run %s",
                         places->private_root, RP_ROCM_FIX);
    if (strcmp(first->from, "$ROCM_PATH") == 0)
        return problem_of_variable(places->rocm_path, first);
    return rp_format("no ROCm that can be used: %s: %s; run %s%s%s", first->root, first->reason,
                     RP_ROCM_FIX, first->remedy ? ", or " : "", first->remedy ? first->remedy : "");
}

/* A library of HIP in /usr may be there for any program, and is nobody's ROCm. */
static char *note_of(const struct rp_rocms *rocms)
{
    const struct rp_rocm *used = rocms->used, *first = rocms->items;

    if (first == used || strcmp(first->from, "/usr") == 0)
        return NULL;
    return rp_format("%s: %s; using %s (%s)", first->root, first->reason, used->root,
                     used->version ? used->version : "version unknown");
}

/* One that is below the root of a ROCm that cannot be used is of that ROCm. */
static bool is_of_another(const struct rp_rocms *rocms, const char *program)
{
    rp_autofree char *real = realpath(program, NULL);

    for (size_t i = 0; real && i < rocms->count; i++) {
        rp_autofree char *root = realpath(rocms->items[i].root, NULL);
        const size_t bytes = root ? strlen(root) : 0;

        if (rocms->items[i].reason && bytes && strncmp(real, root, bytes) == 0 &&
            real[bytes] == '/')
            return true;
    }
    return false;
}

static void detect_rocm(struct rp_environment *env)
{
    rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0};
    struct rp_err ignored = RP_ERR_INIT;
    struct rp_rocm_places places;

    env->private_root = rp_rocm_private_root();
    places = rp_rocm_places_here(env->private_root);
    rp_rocm_search(&places, false, &rocms);
    if (!rocms.used) {
        env->rocm_problem = problem_of(&rocms, &places);
    } else {
        take_rocm(env, rocms.used);
        env->rocm_note = note_of(&rocms);
    }
    if (!env->rocprofv3 && rp_find_program("rocprofv3", &env->rocprofv3, &ignored) == 0 &&
        is_of_another(&rocms, env->rocprofv3)) {
        free(env->rocprofv3);
        env->rocprofv3 = NULL;
    }
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
    detect_gpu(&env);
    env.device_library = find_library(exe_dir, "librocm-perf-device.so");
    env.tool_library = find_library(exe_dir, "librocm-perf-tool.so");
    *ret = env;
    return 0;
}

void rp_environment_free(struct rp_environment *env)
{
    free(env->rocm_root);
    free(env->rocm_version);
    free(env->rocm_libraries);
    free(env->rocm_libc);
    free(env->rocm_problem);
    free(env->rocm_note);
    free(env->compiler);
    free(env->rocprofv3);
    free(env->private_root);
    free(env->device_library);
    free(env->tool_library);
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
