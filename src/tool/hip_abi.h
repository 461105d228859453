/**
 * @file hip_abi.h
 * @brief How the HIP runtime reports calls to a tracer: hipRegisterTracerCallback and what it hands
 *        over. tests/unit/tool/check_hip_abi.cpp compares this with the installed headers.
 */
#ifndef RP_TOOL_HIP_ABI_H
#define RP_TOOL_HIP_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RP_HIP_DOMAIN_API = 3, /**< activity_domain_t of rocclr: calls; others are operations */

    /** Bytes of hip_api_data_t. Its largest member is the hipChooseDevice of ROCm 6, which holds a
     *  hipDeviceProp_tR0600: a struct that keeps its size for good, as its name says. */
    RP_HIP_API_DATA_BYTES = 1520,
    RP_HIP_FIRST_MAJOR = 6,
    RP_HIP_LAST_MAJOR = 7,
    RP_HIP_VERSION_PER_MAJOR = 10000000, /**< of hipRuntimeGetVersion */
};

/** hip_api_trace_data_t: lives on the stack of the call. */
struct rp_hip_trace_data {
    uint64_t correlation_id;
    uint32_t phase;
    uint32_t reserved;
    uint8_t args[RP_HIP_API_DATA_BYTES - 16];
    uint64_t enter_ns; /* these two are for the tracer to use */
    uint64_t user_data;
    void (*enter)(uint32_t operation, struct rp_hip_trace_data *data);
    void (*exit)(uint32_t operation, struct rp_hip_trace_data *data);
};
static_assert(sizeof(struct rp_hip_trace_data) == RP_HIP_API_DATA_BYTES + 32, "no padding");

/** 0: the call is to be reported through enter and exit of @p data. */
typedef int (*rp_hip_tracer)(int domain, uint32_t operation, void *data);

#endif
