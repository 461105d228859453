/**
 * @file machine.h
 * @brief What this machine offers: ROCm, GPU, rocprofv3, compiler, our own libraries.
 */
#ifndef RP_RUN_MACHINE_H
#define RP_RUN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/rocm.h"

struct rp_err;

/** The struct owns all strings; NULL means not found. Release it with rp_environment_free. */
struct rp_environment {
    enum rp_rocm_kind rocm_kind;
    char *rocm_root;
    char *rocm_version;   /**< "7.2.4", "10.1.0" */
    char *rocm_libraries; /**< the folder of its libraries */
    char *rocm_libc;      /**< version of a private one's libc: "2.44-3"; NULL: not known */
    char *rocm_problem;   /**< why there is none, and what helps: then rocm_kind is NONE */
    char *rocm_note;      /**< what was passed over for this one, though it seems to be a ROCm */
    char *compiler;       /**< hipcc of an installed ROCm, clang++ of the private one */
    char *rocprofv3;
    char *private_root;   /**< where the private ROCm is or would be */
    char *device_library; /**< librocm-perf-device.so */
    char *tool_library;   /**< librocm-perf-tool.so */
    char *gpu_isa;        /**< "gfx942" of the first GPU that the driver shows */
    char *gpu_reason;     /**< why there is no usable GPU; NULL when there is one */
    uint32_t gpu_count;
};

/** A missing thing is no failure. It fails only when memory has ended or /proc is absent. */
int rp_environment_detect(struct rp_environment *ret, struct rp_err *err);
void rp_environment_free(struct rp_environment *env);

/** Finds a program of ROCm's LLVM, or of $PATH. The caller owns the path; NULL means that there is
 * none. */
char *rp_find_llvm_program(const struct rp_environment *env, const char *name);

/** This command makes a ROCm where there is none. */
#define RP_ROCM_FIX "rocm-perf setup"

/* This section lists the GPUs that the driver shows, in the order in which ROCR_VISIBLE_DEVICES
 * counts them. */

#define RP_GPU_NODES "/sys/class/kfd/kfd/topology/nodes"
/** Programs use them through these files: renderD128, ... */
#define RP_GPU_FILES "/dev/dri"

struct rp_gpu {
    uint32_t node;
    char gfx[32];           /**< "gfx942" */
    uint32_t pci_device_id; /**< 0: not known */
    uint32_t compute_units; /**< 0: not known */
    uint64_t unique_id;     /**< 0: it has none */
    const char *product;    /**< "AMD Instinct MI300X"; static; "": not in our table */
};

/**
 * Lists only the GPUs that this process may use, because in a container or a job ROCr does not
 * count others either.
 * @param nodes RP_GPU_NODES
 * @param files RP_GPU_FILES; NULL: also those that this process may not use
 * @param ret owned by the caller, ret_count of them; NULL without any
 */
void rp_gpus_list(const char *nodes, const char *files, struct rp_gpu **ret, size_t *ret_count);

/**
 * Returns the first GPU that a program sees.
 * @param visible value of ROCR_VISIBLE_DEVICES: "1,0", "GPU-0123456789abcdef"; NULL or "": all
 * @return NULL: it sees none
 */
const struct rp_gpu *rp_gpus_first_visible(const struct rp_gpu *gpus, size_t count,
                                           const char *visible);

#endif
