/* Whose times they are: the GPU, its ROCm, and the model of time. Times of two that differ
 *        in any of these are not compared.
 */
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
#include "run/machine.h"
#include "trace/records.h"

void rp_device_identity_free(struct rp_device_identity *identity)
{
    free(identity->gfx);
    free(identity->gpu);
    free(identity->rocm);
    free(identity->timing);
    *identity = (struct rp_device_identity){0};
}

static uint32_t version_of(const char *timing)
{
    return strcmp(timing, "detailed") == 0 ? RP_TIMING_DETAILED_VERSION
           : strcmp(timing, "off") == 0    ? RP_TIMING_OFF_VERSION
                                           : RP_TIMING_FAST_VERSION;
}

static int identify_software(struct rp_device_identity *ret, struct rp_err *err)
{
    const char *spec = getenv("ROCM_PERF_DEVICE"), *timing = getenv("ROCM_PERF_DEVICE_TIMING");
    struct rp_arch arch;

    if (rp_arch_select(spec && *spec ? spec : NULL, &arch) < 0)
        return rp_fail(err, RP_ENVIRONMENT,
                       "ROCM_PERF_DEVICE=%s: no such target; `rocm-perf doctor` lists them", spec);
    timing = timing && *timing ? timing : "fast";
    ret->gfx = strdup(arch.name);
    ret->gpu = strdup(arch.product);
    ret->compute_units = arch.compute_units;
    ret->node = -1;
    ret->timing = strdup(timing);
    ret->timing_version = version_of(timing);
    return 0;
}

static int identify_gpu(struct rp_device_identity *ret, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    rp_autofree struct rp_gpu *gpus = NULL;
    const struct rp_gpu *gpu;
    size_t count;

    rp_gpus_list(RP_GPU_NODES, RP_GPU_FILES, &gpus, &count);
    gpu = rp_gpus_first_visible(gpus, count, visible);
    if (!gpu)
        return rp_fail(err, RP_ENVIRONMENT,
                       "ROCR_VISIBLE_DEVICES=%s names no GPU of this machine, which has %zu",
                       visible ? visible : "", count);
    ret->gfx = strdup(gpu->gfx);
    ret->gpu = strdup(gpu->product);
    ret->compute_units = gpu->compute_units;
    ret->node = gpu->node;
    ret->timing = strdup("");
    return 0;
}

int rp_device_identify(const struct rp_environment *env, enum rp_device device,
                       struct rp_device_identity *ret, struct rp_err *err)
{
    int rc;

    *ret = (struct rp_device_identity){.software = device == RP_DEVICE_SOFTWARE,
                                       .rocm = strdup(env->rocm_version ? env->rocm_version : "")};
    rc = ret->software ? identify_software(ret, err) : identify_gpu(ret, err);
    if (rc == 0 && (!ret->gfx || !ret->gpu || !ret->rocm || !ret->timing))
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc < 0)
        rp_device_identity_free(ret);
    return rc;
}

char *rp_device_identity_gpu(const struct rp_device_identity *identity)
{
    return rp_format("%s (%s%s, %u CUs)", identity->gpu[0] ? identity->gpu : "GPU",
                     identity->software ? "software device, " : "", identity->gfx,
                     identity->compute_units);
}

char *rp_device_identity_timing(const struct rp_device_identity *identity)
{
    return *identity->timing
               ? rp_format("%s (version %u)", identity->timing, identity->timing_version)
               : strdup("");
}

/* Whether the software device can be @p spec ("gfx942:mi325x"), which was said with @p option. */
static int check_software(const char *option, const char *spec, struct rp_err *err)
{
    char choices[512];
    struct rp_arch arch;
    int rc = rp_arch_select(spec, &arch);

    rp_arch_choices(RP_ARCH_SOFTWARE, choices, sizeof choices);
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

    if (rp_arch_select(spec, &arch) < 0)
        rp_arch_select(NULL, &arch);
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

bool rp_device_choose_product(const char *isa, const char *product)
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

bool rp_device_has_thread_traces(void)
{
    const char *spec = getenv("ROCM_PERF_DEVICE");
    struct rp_arch arch;

    return rp_arch_select(spec, &arch) == 0 && arch.timing;
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
    if (rp_arch_select(target, &arch) < 0 || arch.timing)
        return 0;
    rp_arch_choices(RP_ARCH_TIMED, others, sizeof others);
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
                       rp_environment_fix(env));
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
