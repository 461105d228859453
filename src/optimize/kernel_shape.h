/**
 * @file kernel_shape.h
 * @brief What of a kernel no run can show to be kept: which sizes, arguments and indices it uses,
 * and how wide it computes, in each instance of it and in the template itself.
 *
 * Everything else that a changed text does is judged by what its runs do.
 */
#ifndef RP_OPTIMIZE_KERNEL_SHAPE_H
#define RP_OPTIMIZE_KERNEL_SHAPE_H

#include <stddef.h>

struct rp_ast_node;
struct rp_err;
struct rp_kernel_shape;

/** Holds a shape and the text whose lines are named; they are counted from the kernel's beginning.
 */
struct rp_shape_text {
    const struct rp_kernel_shape *shape;
    const char *text; /**< of the file */
    size_t begin;     /**< of the kernel */
    unsigned line;    /**< as which it counts */
};

/**
 * @param functions  with bodies, all of the same text
 * @param bytes      of the file
 */
struct rp_kernel_shape *rp_kernel_shape_make(const struct rp_ast_node *const *functions,
                                             size_t count, size_t bytes);
void rp_kernel_shape_free(struct rp_kernel_shape *shape);

/** @return 0, or RP_VERDICT with the first difference and what to do */
int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err);

#endif
