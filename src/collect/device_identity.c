#include "collect/device_identity.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/gpus.h"
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

    if (rp_arch_select(spec && *spec ? spec : "gfx942", &arch) < 0)
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
