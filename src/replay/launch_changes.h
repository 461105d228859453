/**
 * @file launch_changes.h
 * @brief Launches of the captured kernel that are not the captured one: other values of arguments,
 * other grids, workgroups of another size.
 */
#ifndef RP_REPLAY_LAUNCH_CHANGES_H
#define RP_REPLAY_LAUNCH_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/replay.h"

struct rp_addresses;
struct rp_code_kernel;
struct rp_write_set;

/** These are the ways to change scalars, in the order of variations.def. */
enum rp_scalars_way {
    RP_SCALARS_OTHER,   /**< all but fields */
    RP_SCALARS_UNEQUAL, /**< of those that are equal all but the last */
    RP_SCALARS_FIELDS,
    RP_SCALARS_SIGNS, /**< of floating point numbers, and negative whole ones */
};

/**
 * Changes scalars. A whole number from 2 to 2^24 becomes an odd one that is about an eighth
 * smaller, and the greater of two stays the greater. Any other value that may be a floating point
 * number changes by a quarter of its power of two. All others stay, among them addresses of
 * captured memory. Equal scalars become unequal so that none grows and a later one is greater than
 * one before it, because lengths of rows mostly follow widths. A field of 1 byte that holds 0 or 1
 * is inverted.
 * @return how many were changed
 */
uint64_t rp_launch_change_scalars(const struct rp_scalars *scalars,
                                  const struct rp_addresses *addresses, enum rp_scalars_way way,
                                  uint8_t *kernarg);

/** A size becomes another one. The last ways are tried until the captured kernel survives one. */
enum rp_size_way {
    RP_SIZE_HALF,
    RP_SIZE_FEW,
    RP_SIZE_ONE,
    RP_SIZE_NONE, /**< 0 */
    RP_SIZE_LARGER,
    RP_SIZE_LARGER_ONE_GROUP,
    RP_SIZE_LARGER_THAN_OTHERS, /**< these become an eighth */
    RP_SIZE_WAYS,
};

struct rp_size_change {
    size_t scalar;
    enum rp_size_way way;
    uint64_t was, is;
    double number; /**< what is stands for, where 0 becomes another value */
};

/**
 * Returns one of the other sizes.
 * @param part  counts arguments, and of each the ways
 * @return false: there is no such argument any more
 */
bool rp_launch_size(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                    const uint8_t *kernarg, unsigned part, struct rp_size_change *ret);
/** @return how many were changed: none if it is the captured size, or nearly */
uint64_t rp_launch_change_size(const struct rp_scalars *scalars,
                               const struct rp_addresses *addresses,
                               const struct rp_size_change *change, uint8_t *kernarg);

/**
 * Returns another value for one of the first few scalars that are 0: 1, or the numbers 1 and -0.5,
 * or all of them where the kernel's signature does not say which of the two it is.
 * @param part  counts arguments, and of each the values
 * @return false: there is no such argument any more
 */
bool rp_launch_zero(const struct rp_replay *r, const struct rp_addresses *addresses, unsigned part,
                    struct rp_size_change *ret);
/** @return how many were changed */
uint64_t rp_launch_change_zero(const struct rp_scalars *scalars,
                               const struct rp_size_change *change, uint8_t *kernarg);

enum rp_grid_way {
    RP_GRID_HALF, /**< of the workgroups in each dimension that has several */
    RP_GRID_ODD,  /**< about three quarters, an odd number */
    RP_GRID_ONE,  /**< one workgroup in all */
    RP_GRID_WAYS,
};

/** Counts workgroups, partial ones included. */
uint64_t rp_launch_groups(const uint32_t grid[3], const uint16_t workgroup[3]);
/**
 * All workgroups of it are whole ones.
 * @param grid, ret_grid  work-items
 * @return NULL; or why there is no such grid: there is one workgroup, or it is that of a way before
 */
const char *rp_launch_fewer(const uint32_t grid[3], const uint16_t workgroup[3],
                            enum rp_grid_way way, uint32_t ret_grid[3]);
/** Tells the kernel of a different grid of whole workgroups. */
void rp_launch_put_grid(const struct rp_grid_args *args, const uint32_t grid[3],
                        const uint16_t workgroup[3], uint8_t *kernarg);

/**
 * As many workgroups, of half the size along an axis.
 * @return false: they cannot be halved, or would have less than 64 work-items
 */
bool rp_launch_smaller_workgroup(const uint32_t grid[3], const uint16_t workgroup[3], unsigned axis,
                                 uint16_t ret_workgroup[3], uint32_t ret_grid[3]);

/** Results go where an input is. */
struct rp_overlap {
    unsigned written, read; /**< of the visible arguments */
    uint64_t from, bytes;   /**< address and size of that input */
};

/**
 * Returns one of the pairs of arguments that a caller may give the same address: through one the
 * captured kernel writes, to the other's memory it does not, and neither is restrict.
 * @param set  what it writes
 * @return false: there is no such pair any more
 */
bool rp_launch_overlap(const struct rp_replay *r, const struct rp_write_set *set, unsigned part,
                       struct rp_overlap *ret);
/** @return how many arguments were changed */
uint64_t rp_launch_make_overlap(const struct rp_visible_args *args,
                                const struct rp_overlap *overlap, uint8_t *kernarg);

/** Returns the number of the argument at an offset, from 1; 0: there is none. */
unsigned rp_launch_argument_at(const struct rp_visible_args *args, uint32_t offset);

/** Finds where a kernel gets its number of workgroups and their size from, besides where others do.
 */
void rp_launch_find_grid_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                              struct rp_grid_args *ret);

/** Finds the arguments of a kernel: r->visible, and for changes r->scalars and r->grid_args. */
void rp_launch_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                         struct rp_replay *r);

#endif
