/**
 * @file source_kernels.h
 * @brief Which kernels the user's compiler makes of a source file.
 */
#ifndef RP_OPTIMIZE_SOURCE_KERNELS_H
#define RP_OPTIMIZE_SOURCE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

struct rp_compile_command;
struct rp_err;

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

/** Those of a code object. @return 0 or RP_BAD_INPUT */
int rp_source_kernels_of(const uint8_t *bytes, size_t size, struct rp_source_kernels *ret,
                         struct rp_err *err);

void rp_source_kernels_free(struct rp_source_kernels *kernels);

#endif
