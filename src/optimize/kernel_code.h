/**
 * @file kernel_code.h
 * @brief What a build has made of a kernel: its instructions, what it needs of the GPU, how it
 *        wants its arguments. Read before anything of it runs.
 */
#ifndef RP_OPTIMIZE_KERNEL_CODE_H
#define RP_OPTIMIZE_KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/sha256.h"
#include "trace/code_object.h"

struct rp_compile_command;
struct rp_err;

/** A code object of one GPU with one of its kernels. Release with rp_code_object_free. */
struct rp_code_object {
    uint8_t *bytes;
    size_t size;
    char file_sha256[RP_SHA256_TEXT];
    /** Of all its instructions and the kernel's descriptor: not of names, paths and debug lines,
     *  which differ between builds of equal code in different folders. */
    char code_sha256[RP_SHA256_TEXT];
    struct rp_code_kernel kernel;
};

/**
 * @param symbol  of the kernel, mangled, without .kd
 * @return 0; RP_BAD_INPUT: it is no code object, or has no such kernel
 */
int rp_code_object_read(const char *path, const char *symbol, struct rp_code_object *ret,
                        struct rp_err *err);
/** Accepts a zeroed one. */
void rp_code_object_free(struct rp_code_object *object);

/**
 * Whether a launch that was made for one kernel can be that of another: same arguments.
 * @return 0, or RP_VERDICT with the first difference
 */
int rp_code_object_fits(const struct rp_code_object *before, const struct rp_code_object *after,
                        struct rp_err *err);

/** A kernel's use of the GPU in a launch. */
struct rp_code_use {
    uint64_t vgprs, agprs, sgprs, lds_bytes, scratch_bytes;
    bool occupancy_known;
    double occupancy; /**< 0..1 */
    uint32_t waves_per_simd;
    const char *limiter; /**< static; NULL when unknown */
};

/**
 * @param arch            "gfx942"
 * @param workgroup_size  work-items
 * @param dynamic_bytes   LDS that the launch adds
 */
void rp_code_object_use(const struct rp_code_object *object, const char *arch,
                        uint32_t workgroup_size, uint64_t dynamic_bytes, struct rp_code_use *ret);

/* Which kernels of a code object do something else in another build: a change of one kernel
 *        may be one of others (a template's other instances).
 *
 * The code of a kernel is its descriptor, its instructions, and all that these refer to: functions
 * that are called, tables, variables. Addresses are taken for what is there, so that kernels that
 * only lie elsewhere are the same.
 */

/**
 * @param symbol  of the kernel that is meant to change, mangled, without .kd
 * @param ret     mangled names of others that have changed, or are gone, in their order; ends with
 *                NULL; free with rp_code_names_free
 * @return 0; RP_BAD_INPUT: symbols or sections of a code object cannot be read
 */
int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err);
static inline void rp_code_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

/* Which kernels the user's compiler makes of a source file. */

/** Symbols without .kd, in the order of the alphabet. Release with rp_source_kernels_free. */
struct rp_source_kernels {
    char **symbols;
    size_t count;
};

/**
 * Compiles the device code into a scratch folder and looks. Instances of templates that are used
 * are among them, those that are not are no kernels.
 * @param arch "gfx942"
 * @return 0, also with none; RP_BAD_INPUT with what the compiler says when it refuses;
 *         RP_ENVIRONMENT, RP_USAGE, RP_INTERRUPTED
 */
int rp_source_kernels(const struct rp_compile_command *command, const char *source,
                      const char *arch, struct rp_source_kernels *ret, struct rp_err *err);

void rp_source_kernels_free(struct rp_source_kernels *kernels);

#endif
