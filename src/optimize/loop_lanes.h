/**
 * @file loop_lanes.h
 * @brief How the lanes of a grid, a workgroup or a part of one share the rounds of a counting loop:
 *        lane 0 takes the first, lane 1 the next, and each goes on as many further as there are.
 */
#ifndef RP_OPTIMIZE_LOOP_LANES_H
#define RP_OPTIMIZE_LOOP_LANES_H

#include <stdbool.h>
#include <stdint.h>

struct rp_ast_node;
struct rp_buf;

enum rp_sharing_kind {
    RP_SHARED_BY_GRID,      /**< blockIdx.x * blockDim.x + threadIdx.x, by gridDim.x * blockDim.x */
    RP_SHARED_BY_WORKGROUP, /**< threadIdx.x, by blockDim.x */
    RP_SHARED_BY_GROUP,     /**< threadIdx.x % 64, by 64 */
};

/** Of a workgroup or a part of one, as the text has it. */
struct rp_sharing_size {
    int64_t number;   /**< 0: it is not known */
    uint64_t name;    /**< of a constant outside of the kernel; 0: it has none */
    const char *text; /**< "blockDim.x", or that name; NULL: it is the number */
};

struct rp_loop_lanes {
    const struct rp_ast_node *function, *loop;
    enum rp_sharing_kind kind;
    struct rp_sharing_size size;
    bool offset; /**< lane 0 begins elsewhere than at 0 */
};

/** @param loop a ForStmt that counts up
 * @param start the first value of its counter
 * @param step by which it goes on
 * @return false: nothing shows that it is so */
bool rp_loop_lanes_find(const struct rp_ast_node *function, const struct rp_ast_node *loop,
                        const struct rp_ast_node *start, const struct rp_ast_node *step,
                        struct rp_loop_lanes *ret);

/** Says whether an expression has the same value in all lanes, what is declared in the loop apart,
 * as far as the text shows it. */
bool rp_is_same_in_lanes(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node);

/** Says whether it is threadIdx.x / 64 or the like, the same in all lanes of a part of a workgroup
 * of 64, though threadIdx.x is not. */
bool rp_is_group_number(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node);

/** Returns the name of a constant whose declaration is not in the kernel, or NULL. */
const char *rp_outer_constant(const struct rp_ast_node *node, const struct rp_ast_node *function);

/** Adds the number of the lane, as an operand of a product. */
void rp_add_lane(const struct rp_loop_lanes *lanes, struct rp_buf *out);

#endif
