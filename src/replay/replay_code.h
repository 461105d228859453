/**
 * @file replay_code.h
 * @brief Whether another kernel can take the place of the captured one: it reads the arguments as
 * they were written, and what it needs is there.
 */
#ifndef RP_REPLAY_REPLAY_CODE_H
#define RP_REPLAY_REPLAY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_addresses;
struct rp_code_kernel;
struct rp_err;

/** The captured launch. */
struct rp_abi_dispatch {
    const char *gpu; /**< "gfx942" */
    uint32_t workgroup[3], grid[3];
    uint32_t group_bytes; /**< of LDS, what the launch has added to the kernel's own included */
    uint32_t kernarg_bytes;
};

/** LDS that the launch has added to what the kernel declares. */
uint32_t rp_abi_dynamic_group_bytes(const struct rp_code_kernel *original,
                                    const struct rp_abi_dispatch *dispatch);

/** @return 0; RP_VERDICT naming the first difference */
int rp_abi_check(const struct rp_code_kernel *original, const struct rp_code_kernel *candidate,
                 const struct rp_abi_dispatch *dispatch, struct rp_err *err);

/* Code objects of several GPUs in one file, as hipcc --genco writes them (clang's offload
 *        bundle).
 */

/**
 * The code object for a GPU; that is the whole file where it is not a bundle.
 * @param gpu  "gfx942"
 * @return 0; RP_VERDICT: there is none for that GPU; RP_BAD_INPUT: it is damaged, or packed
 */
int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err);

/* Arguments that the runtime of the captured process has added, and that mean nothing here. */

struct rp_kernarg {
    const uint8_t *bytes;
    size_t size;
    /** Whether memory at an address is in the capture. */
    bool (*is_captured)(const void *data, uint64_t address);
    const void *data;
};

/**
 * Looks among the arguments of a kernel for what it wants of the process that was captured.
 * @return 0; RP_VERDICT: such an argument is set, so that the kernel would wait for the host for
 *         ever, or reach for memory that is not here; RP_BAD_INPUT: the metadata is damaged
 */
int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel,
                                const struct rp_kernarg *kernarg, struct rp_err *err);

/* Other values of arguments that are passed by value: sizes become smaller, numbers other
 * ones, equal ones unequal. A kernel that has the captured values built in, or is right for
 * multiples of something only, is found out by them.
 */

enum { RP_SCALARS = 64 };

struct rp_scalars {
    size_t count;
    struct {
        uint32_t offset, bytes; /**< 4 or 8; of fields 1, 2 or 4 */
        bool field;             /**< a word of a structure, or an argument of 1 or 2 bytes */
        bool may_point;         /**< it may be half of an address */
    } at[RP_SCALARS];           /**< further ones are left as they are, fields first */
};

/** What becomes other; in the order of variations.def. */
enum rp_scalars_way {
    RP_SCALARS_OTHER,   /**< all but fields */
    RP_SCALARS_UNEQUAL, /**< of those that are equal all but the last */
    RP_SCALARS_FIELDS,
    RP_SCALARS_SIGNS, /**< of floating point numbers, and negative whole ones */
};

/** By the metadata: no pointers, nothing that the runtime adds. */
void rp_scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                     struct rp_scalars *ret);

/**
 * Changes them: a whole number from 2 up to 2^24 becomes an odd one about an eighth smaller, the
 * greater of two not the smaller one; what else may be a floating point number gets a quarter of
 * its power of two more or less. All others stay, addresses of captured memory among
 * them. Equal ones become unequal so that none is greater than it was, and a later one greater than
 * one before: lengths of rows mostly come behind widths. A field of 1 byte that is 0 or 1 becomes
 * the other of both.
 * @return how many were changed
 */
uint64_t rp_scalars_change(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                           enum rp_scalars_way way, uint8_t *kernarg);

/* Fewer workgroups than in the captured launch: a kernel that is made for the captured grid
 * is found out. More of them would touch memory that is not there.
 */

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
