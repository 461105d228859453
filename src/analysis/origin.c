/* What the times of traces are from. */
#include "rocm-perf/roofline.h"
#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* What all say, or NULL. */
static const char *common(struct rp_store *const *stores, size_t count, const char *tag)
{
    const char *said = count ? rp_store_metadata(stores[0], tag) : NULL;

    for (size_t i = 1; i < count; i++)
        if (!is_same(rp_store_metadata(stores[i], tag), said))
            return NULL;
    return said;
}

struct rp_origin rp_origin_of(struct rp_store *const *stores, size_t count)
{
    const char *version = common(stores, count, RP_STORE_TIMING_VERSION_TAG);
    struct rp_origin ret = {.device = common(stores, count, "rocm_perf_device")};

    for (size_t i = 0; i < count && !ret.device; i++) {
        const char *device = rp_store_metadata(stores[i], "rocm_perf_device");
        if (device && strcmp(device, "software") == 0)
            ret.device = device; /* one modelled time in a sum spoils it */
    }
    if (version)
        ret.timing_model = common(stores, count, RP_STORE_TIMING_TAG);
    if (ret.timing_model)
        ret.timing_version = (uint32_t)strtoul(version, NULL, 10);
    return ret;
}
