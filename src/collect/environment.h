/**
 * @file environment.h
 * @brief What this machine offers: ROCm, GPU, rocprofv3, compiler, our own libraries.
 */
#ifndef RP_COLLECT_ENVIRONMENT_H
#define RP_COLLECT_ENVIRONMENT_H

#include <stdbool.h>
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
const char *rp_environment_mend(const struct rp_environment *env);

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
bool rp_device_take_product(const char *isa, const char *product);

/** Whether it is a model of time of the software device (ROCM_PERF_DEVICE_TIMING). */
bool rp_device_timing_known(const char *word);
/** Whether it runs on the software device with detailed timing. */
bool rp_device_timing_detailed(void);
/** Whether a program started here runs on the software device without modelled times. */
bool rp_device_timing_off(void);

/** Whether the software device of a program started here has detailed timing, and so traces. */
bool rp_device_traces_threads(void);

/**
 * Resolves AUTO and checks that the device can be used here.
 * @return 0 with GPU or SOFTWARE; RP_ENVIRONMENT with the one command that mends it
 */
int rp_device_resolve(const struct rp_environment *env, enum rp_device wish, enum rp_device *ret,
                      struct rp_err *err);

/** "hardware" or "software", as it stands in results. */
const char *rp_device_label(enum rp_device device);

#endif
