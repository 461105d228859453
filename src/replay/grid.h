/**
 * @file grid.h
 * @brief Fewer workgroups than in the captured launch: a kernel that is made for the captured grid
 * is found out. More of them would touch memory that is not there.
 */
#ifndef RP_REPLAY_GRID_H
#define RP_REPLAY_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_code_kernel;

enum rp_grid_way {
    RP_GRID_HALF, /**< of the workgroups in each dimension that has several */
    RP_GRID_ODD,  /**< about three quarters, an odd number */
    RP_GRID_ONE,  /**< one workgroup in all */
    RP_GRID_WAYS,
};

/**
 * All workgroups of it are whole ones.
 * @param grid, ret_grid  work-items
 * @return NULL; or why there is no such grid: there is one workgroup, or it is that of a way before
 */
const char *rp_grid_fewer(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                          uint32_t ret_grid[3]);

/** Workgroups, partial ones included. */
uint64_t rp_grid_groups(const uint32_t grid[3], const uint16_t workgroup[3]);

/** Where the runtime tells a kernel its grid. */
struct rp_grid_args {
    struct {
        uint32_t offset, bytes; /**< no bytes: it is not told */
    } count[3], remainder[3];
};

/** By the metadata. */
void rp_grid_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                       struct rp_grid_args *ret);
/** Tells it another one, of whole workgroups. */
void rp_grid_put_args(const struct rp_grid_args *args, const uint32_t grid[3],
                      const uint16_t workgroup[3], uint8_t *kernarg);

#endif
