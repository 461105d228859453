/**
 * @file device_identity.h
 * @brief Whose times they are: the GPU, its ROCm, and the model of time. Times of two that differ
 *        in any of these are not compared.
 */
#ifndef RP_COLLECT_DEVICE_IDENTITY_H
#define RP_COLLECT_DEVICE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/environment.h"

struct rp_err;

/** Release with rp_device_identity_free. */
struct rp_device_identity {
    bool software;           /**< the software device: its times are modelled */
    char *gfx;               /**< "gfx942" */
    char *gpu;               /**< product: "AMD Instinct MI300X"; "": not in our table */
    uint32_t compute_units;  /**< 0: not known */
    int64_t node;            /**< number of the GPU for the driver of its host; -1: software */
    char *rocm;              /**< "7.2.4"; "": not known */
    char *timing;            /**< model of time of the software device; "" on a GPU */
    uint32_t timing_version; /**< of that model; 0 on a GPU */
};

/**
 * What a program started here runs on: the first GPU that it sees, or the software device as
 * ROCM_PERF_DEVICE and ROCM_PERF_DEVICE_TIMING say.
 * @param device  resolved
 * @return 0; RP_ENVIRONMENT
 */
int rp_device_identify(const struct rp_environment *env, enum rp_device device,
                       struct rp_device_identity *ret, struct rp_err *err);

/** Accepts zeros. */
void rp_device_identity_free(struct rp_device_identity *identity);

/** "AMD Instinct MI300X (software device, gfx942, 304 CUs)"; free it. NULL: out of memory. */
char *rp_device_identity_gpu(const struct rp_device_identity *identity);

/** "fast (version 2)", "" on a GPU; free it. NULL: out of memory. */
char *rp_device_identity_timing(const struct rp_device_identity *identity);

#endif
