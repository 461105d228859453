/**
 * @file declarations.h
 * @brief Of a source file, what a kernel's text refers to: constants, types, device functions.
 */
#ifndef RP_OPTIMIZE_DECLARATIONS_H
#define RP_OPTIMIZE_DECLARATIONS_H

#include <stddef.h>

struct rp_err;
struct rp_kernel_source;

/** Bytes of the file. */
struct rp_text_range {
    size_t begin, end;
};

/**
 * By names alone, as a reader would look them up, so sometimes more than needed: the includes, and
 * every declaration outside functions that declares a name which the kernel, or a declaration that
 * was found, has in it. Other kernels are left out. In the order of the file.
 * @param ret free it; none when the file cannot be read as tokens
 */
void rp_declarations_of(const struct rp_kernel_source *source, struct rp_text_range **ret,
                        size_t *ret_count);

#endif
