/**
 * @file machine.h
 * @brief What this machine offers: ROCm, GPU, rocprofv3, compiler, our own libraries.
 */
#ifndef RP_RUN_MACHINE_H
#define RP_RUN_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

enum rp_rocm_kind {
    RP_ROCM_NONE = 0,
    RP_ROCM_INSTALLED, /**< $ROCM_PATH or /opt/rocm */
    RP_ROCM_PRIVATE,   /**< unpacked from Debian by ./setup */
};

/** All strings owned; NULL = not found. Release with rp_environment_free. */
struct rp_environment {
    enum rp_rocm_kind rocm_kind;
    char *rocm_root;
    char *rocm_version; /**< "7.2.4" */
    char *compiler;     /**< hipcc of an installed ROCm, clang++ of the private one */
    char *rocprofv3;
    char *private_root;   /**< where the private ROCm is or would be */
    char *rocm_refused;   /**< $ROCM_PATH when it names no ROCm 7: then rocm_kind is NONE */
    char *device_library; /**< librocm-perf-device.so */
    char *tool_library;   /**< librocm-perf-tool.so */
    char *setup_command;  /**< of the installed setup; NULL: in the build folder */
    char *gpu_isa;        /**< "gfx942" of the first GPU that the driver shows */
    char *gpu_reason;     /**< why there is no usable GPU; NULL when there is one */
    uint32_t gpu_count;
};

/** Never fails for what is missing, only when out of memory or /proc is not there. */
int rp_environment_detect(struct rp_environment *ret, struct rp_err *err);
void rp_environment_free(struct rp_environment *env);

/** A program of ROCm's LLVM, else of $PATH; owned by the caller, NULL: none. */
char *rp_find_llvm_program(const struct rp_environment *env, const char *name);

/** What brings a ROCm where there is none: a command, or where to run which. */
const char *rp_environment_fix(const struct rp_environment *env);

/** How the user named the device. */
enum rp_device { RP_DEVICE_AUTO = 0, RP_DEVICE_GPU, RP_DEVICE_SOFTWARE };

/**
 * "auto", "gpu", "software" or "software:TARGET", TARGET as of rp_arch_select. What the software
 * device shall be goes to the program's environment (ROCM_PERF_DEVICE).
 * @return 0, or RP_USAGE for another word or a target that the software device cannot be
 */
int rp_device_parse(const char *word, enum rp_device *ret, struct rp_err *err);

/** The GPU that the software device of a program started here is: "gfx942", and its product. */
void rp_device_software(const char **ret_gfx, const char **ret_product);

/**
 * The software device of programs started from now on is this GPU (ROCM_PERF_DEVICE).
 * @param isa, product  as the runtime names them: "gfx90a", "AMD Instinct MI250X"
 * @return false: it cannot be that one, and the environment is as it was
 */
bool rp_device_choose_product(const char *isa, const char *product);

/** Whether it is a model of time of the software device (ROCM_PERF_DEVICE_TIMING). */
bool rp_device_timing_known(const char *word);
/** Whether it runs on the software device with detailed timing. */
bool rp_device_timing_detailed(void);
/** Whether a program started here runs on the software device without modelled times. */
bool rp_device_timing_off(void);

/** Whether the software device of a program started here has detailed timing, and so traces. */
bool rp_device_has_thread_traces(void);

/**
 * Resolves AUTO and checks that the device can be used here.
 * @return 0 with GPU or SOFTWARE; RP_ENVIRONMENT with the one command that mends it
 */
int rp_device_resolve(const struct rp_environment *env, enum rp_device wish, enum rp_device *ret,
                      struct rp_err *err);

/** "hardware" or "software", as it stands in results. */
const char *rp_device_label(enum rp_device device);

/* Whose times they are: the GPU, its ROCm, and the model of time. Times of two that differ
 *        in any of these are not compared.
 */

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

/* The GPUs that the driver shows, in the order in which ROCR_VISIBLE_DEVICES counts them. */

/** Where the driver shows them. */
#define RP_GPU_NODES "/sys/class/kfd/kfd/topology/nodes"
/** The files through which programs use them: renderD128, ... */
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
 * Only those that this process may use: in a container or a job, ROCr does not count others either.
 * @param nodes  RP_GPU_NODES
 * @param files  RP_GPU_FILES
 * @param ret    owned, ret_count of them; NULL without any, or when out of memory
 */
void rp_gpus_list(const char *nodes, const char *files, struct rp_gpu **ret, size_t *ret_count);

/**
 * The first GPU that a program sees.
 * @param visible  value of ROCR_VISIBLE_DEVICES: "1,0", "GPU-0123456789abcdef"; NULL or "": all
 * @return NULL: it sees none
 */
const struct rp_gpu *rp_gpus_first_visible(const struct rp_gpu *gpus, size_t count,
                                           const char *visible);

#endif
