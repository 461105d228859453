#include "collect/environment.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

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
    env->rocm_root = strdup(root);
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

/* Value behind "key " at the start of a line of the stamp that ./setup writes. */
static char *stamp_value(const char *stamp, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = stamp; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return strndup(line + len + 1, strcspn(line + len + 1, "\n"));
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

    /* Its programs hold its path: one that was moved, or lost a part, is none. */
    if (!llvm || !path || !real || strcmp(path, real) != 0 || !hip || !hsa ||
        !rp_path_exists(hip) || !rp_path_exists(hsa))
        return false;
    env->rocm_kind = RP_ROCM_PRIVATE;
    env->rocm_root = strdup(root);
    env->rocm_version = stamp_value(stamp, "rocm");
    env->compiler = rp_format("%s/usr/lib/llvm-%s/bin/clang++", root, llvm);
    return env->rocm_root && env->rocm_version && env->compiler;
}

/* /opt/rocm-7.*, the highest version first; ./setup looks in the same places (tools/common.sh). */
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
        /* Another ROCm than the one that was asked for would measure something else. */
        if (!try_installed(env, wish) && !try_private(env, wish))
            env->rocm_refused = strdup(wish);
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

static uint64_t node_property(const char *text, const char *key)
{
    rp_autofree char *value = stamp_value(text, key);

    return value ? strtoull(value, NULL, 10) : 0;
}

/* gfx_target_version 90402 is gfx942: major 9, minor 4, stepping 2 in hexadecimal digits. */
static char *isa_name(uint64_t version)
{
    return rp_format("gfx%u%x%x", (unsigned)(version / 10000), (unsigned)(version / 100 % 100),
                     (unsigned)(version % 100));
}

static void count_gpus(struct rp_environment *env)
{
    DIR *dir = opendir(TOPOLOGY);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        rp_autofree char *path = rp_format(TOPOLOGY "/%s/properties", entry->d_name);
        rp_autofree char *text = path ? rp_read_text(path, 1 << 16) : NULL;
        uint64_t version = text ? node_property(text, "gfx_target_version") : 0;

        if (!version || !node_property(text, "simd_count"))
            continue;
        env->gpu_count++;
        if (!env->gpu_isa)
            env->gpu_isa = isa_name(version);
    }
    closedir(dir);
}

static void detect_gpu(struct rp_environment *env)
{
    int fd;

    /* With the software device preloaded into this very process, /dev/kfd would be its own. */
    if (dlsym(RTLD_DEFAULT, "rocm_perf_device_abi")) {
        env->gpu_reason = strdup("librocm-perf-device.so is in LD_PRELOAD and hides any GPU");
        return;
    }
    fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        env->gpu_reason = strdup("no AMD GPU driver: /dev/kfd does not exist");
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
        env->gpu_reason = strdup("the AMD GPU driver shows no GPU in " TOPOLOGY);
}

/* --- our libraries ------------------------------------------------------------------------- */

/* Beside the program in the build folder; in ../lib/rocm-perf-lab after installation. */
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

/* Installed with the program, for who has no clone of the sources. */
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

    if (slash) { /* beside clang++ */
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

const char *rp_environment_mend(const struct rp_environment *env)
{
    return env->setup_command ? env->setup_command
                              : "./setup in the source folder of rocm-perf-lab";
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

/* --- device -------------------------------------------------------------------------------- */

/* Whether the software device can be @p spec ("gfx942:mi325x"), which was said with @p option. */
static int check_software(const char *option, const char *spec, struct rp_err *err)
{
    char choices[512];
    struct rp_arch arch;
    int rc = rp_arch_select(spec, &arch);

    rp_arch_choices(choices, sizeof choices);
    if (rc == -ENOTSUP)
        return rp_fail(err, RP_USAGE, "%s%s: the software device cannot be a %s: %s; use %s",
                       option, spec, arch.name, arch.software_refusal, choices);
    if (rc == -ENODATA)
        return rp_fail(err, RP_USAGE,
                       "%s%s: of the %s not enough is known here to model it; use %s", option, spec,
                       arch.product, choices);
    if (rc < 0)
        return rp_fail(err, RP_USAGE, "%s%s: no such target; use %s", option, spec, choices);
    return 0;
}

static int choose_software(const char *spec, struct rp_err *err)
{
    int rc = check_software("--device software:", spec, err);
    if (rc < 0)
        return rc;
    if (setenv("ROCM_PERF_DEVICE", spec, 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

void rp_device_software(const char **ret_gfx, const char **ret_product)
{
    const char *spec = getenv("ROCM_PERF_DEVICE");
    struct rp_arch arch;

    if (!spec || rp_arch_select(spec, &arch) < 0)
        rp_arch_select("gfx942", &arch);
    *ret_gfx = arch.name;
    *ret_product = arch.product;
}

int rp_device_parse(const char *word, enum rp_device *ret, struct rp_err *err)
{
    if (strcmp(word, "auto") == 0)
        *ret = RP_DEVICE_AUTO;
    else if (strcmp(word, "gpu") == 0)
        *ret = RP_DEVICE_GPU;
    else if (strcmp(word, "software") == 0) {
        *ret = RP_DEVICE_SOFTWARE;
        unsetenv("ROCM_PERF_DEVICE"); /* an MI300X, whatever the environment says */
    } else if (strncmp(word, "software:", 9) == 0) {
        *ret = RP_DEVICE_SOFTWARE;
        return choose_software(word + 9, err);
    } else
        return rp_fail(err, RP_USAGE, "--device %s: use auto, gpu, software or software:TARGET",
                       word);
    return 0;
}

bool rp_device_take_product(const char *isa, const char *product)
{
    char spec[128];

    return rp_arch_spec(isa, product, spec, sizeof spec) == 0 &&
           setenv("ROCM_PERF_DEVICE", spec, 1) == 0;
}

bool rp_device_timing_known(const char *word)
{
    return strcmp(word, "off") == 0 || strcmp(word, "fast") == 0 || strcmp(word, "detailed") == 0;
}

static bool timing_is(const char *word)
{
    const char *timing = getenv("ROCM_PERF_DEVICE_TIMING");

    return timing && strcmp(timing, word) == 0;
}

bool rp_device_timing_off(void)
{
    return timing_is("off");
}

bool rp_device_timing_detailed(void)
{
    return timing_is("detailed");
}

bool rp_device_traces_threads(void)
{
    const char *spec = getenv("ROCM_PERF_DEVICE");
    struct rp_arch arch;

    return rp_arch_select(spec ? spec : "gfx942", &arch) == 0 && arch.timing;
}

static int check_timing(const char *target, struct rp_err *err)
{
    const char *timing = getenv("ROCM_PERF_DEVICE_TIMING");
    struct rp_arch arch;
    char others[256];

    if (!timing || !*timing)
        return 0;
    if (!rp_device_timing_known(timing))
        return rp_fail(err, RP_USAGE,
                       "ROCM_PERF_DEVICE_TIMING=%s: use off, fast or detailed, or unset it",
                       timing);
    if (strcmp(timing, "detailed") != 0)
        return 0;
    if (rp_arch_select(target ? target : "gfx942", &arch) < 0 || arch.timing)
        return 0;
    rp_arch_timed_choices(others, sizeof others);
    return rp_fail(err, RP_USAGE,
                   "there is no detailed timing of %s:%s; use fast timing, or one of %s", arch.name,
                   arch.product, others);
}

static int check_order(struct rp_err *err)
{
    static const char shuffled[] = "shuffled:";
    const char *text = getenv("ROCM_PERF_DEVICE_ORDER");
    char *end = NULL;
    long seed = 0;

    if (!text || !*text || strcmp(text, "forward") == 0 || strcmp(text, "reversed") == 0)
        return 0;
    if (strncmp(text, shuffled, strlen(shuffled)) == 0 &&
        isdigit((unsigned char)text[strlen(shuffled)]))
        seed = strtol(text + strlen(shuffled), &end, 10);
    if (end && end > text + strlen(shuffled) && !*end && seed >= 1 && seed <= 1000000)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "ROCM_PERF_DEVICE_ORDER=%s: use forward, reversed, or shuffled:N with N from 1 "
                   "to 1000000, or unset it",
                   text);
}

/** What the software device reads from the environment: refused here, before anything runs. */
static int check_inherited(struct rp_err *err)
{
    static const struct {
        const char *name;
        long most;
    } numbers[] = {{"ROCM_PERF_DEVICE_THREADS", 256},
                   {"ROCM_PERF_DEVICE_GPUS", 8},
                   {"ROCM_PERF_DEVICE_LEFTOVERS", INT32_MAX}};
    const char *target = getenv("ROCM_PERF_DEVICE"), *jit = getenv("ROCM_PERF_DEVICE_JIT");
    int rc;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = getenv(numbers[i].name);
        char *end = NULL;
        bool said = text && *text;
        long value = said ? strtol(text, &end, 10) : 1;
        if (said && (end == text || *end || value < 1 || value > numbers[i].most))
            return rp_fail(err, RP_USAGE, "%s=%s: use a whole number from 1 to %ld, or unset it",
                           numbers[i].name, text, numbers[i].most);
    }
    if (jit && *jit && strcmp(jit, "on") != 0 && strcmp(jit, "off") != 0)
        return rp_fail(err, RP_USAGE, "ROCM_PERF_DEVICE_JIT=%s: use on or off, or unset it", jit);
    rc = check_order(err);
    if (rc < 0)
        return rc;
    if (target && strcmp(target, "off") == 0)
        return rp_fail(err, RP_USAGE,
                       "ROCM_PERF_DEVICE=off: the software device is switched off; unset the "
                       "variable, or use --device gpu");
    rc = target ? check_software("ROCM_PERF_DEVICE=", target, err) : 0;
    return rc < 0 ? rc : check_timing(target, err);
}

int rp_device_resolve(const struct rp_environment *env, enum rp_device wish, enum rp_device *ret,
                      struct rp_err *err)
{
    enum rp_device device = wish;

    if (env->rocm_refused)
        return rp_fail(err, RP_ENVIRONMENT,
                       "ROCM_PATH=%s: no ROCm 7 is there; correct the variable or unset it",
                       env->rocm_refused);
    if (env->rocm_kind == RP_ROCM_NONE)
        return rp_fail(err, RP_ENVIRONMENT,
                       "no ROCm 7 found in $ROCM_PATH, /opt/rocm or %s; run %s", env->private_root,
                       rp_environment_mend(env));
    if (device == RP_DEVICE_AUTO)
        device = env->gpu_reason ? RP_DEVICE_SOFTWARE : RP_DEVICE_GPU;
    int rc = device == RP_DEVICE_SOFTWARE ? check_inherited(err) : 0;
    if (rc < 0)
        return rc;
    if (device == RP_DEVICE_GPU && env->gpu_reason)
        return rp_fail(err, RP_ENVIRONMENT, "--device gpu: %s; use --device software",
                       env->gpu_reason);
    if (device == RP_DEVICE_SOFTWARE && env->device_library && strpbrk(env->device_library, " :"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s: LD_PRELOAD cannot hold a path with a space or a colon; move or install "
                       "rocm-perf-lab to a folder without",
                       env->device_library);
    if (device == RP_DEVICE_SOFTWARE && !env->device_library)
        return rp_fail(err, RP_ENVIRONMENT,
                       "librocm-perf-device.so is not beside this program; build or install "
                       "rocm-perf-lab completely");
    *ret = device;
    return 0;
}

const char *rp_device_label(enum rp_device device)
{
    return device == RP_DEVICE_SOFTWARE ? "software" : "hardware";
}
