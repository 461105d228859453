/**
 * @file scalars.h
 * @brief Other values of arguments that are passed by value: sizes become smaller, numbers other
 * ones. A kernel that has the captured values built in, or is right for multiples of something
 * only, is found out by them.
 */
#ifndef RP_REPLAY_SCALARS_H
#define RP_REPLAY_SCALARS_H

#include <stddef.h>
#include <stdint.h>

struct rp_addresses;
struct rp_code_kernel;

enum { RP_SCALARS = 64 };

struct rp_scalars {
    size_t count;
    struct {
        uint32_t offset, bytes; /**< 4 or 8 */
    } at[RP_SCALARS];           /**< further ones are left as they are */
};

/** By the metadata: no pointers, no structs, nothing that the runtime adds. */
void rp_scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                     struct rp_scalars *ret);

/**
 * Changes them: a whole number from 2 up to 2^24 becomes an odd one about an eighth smaller, the
 * greater of two not the smaller one; what else may be a floating point number gets a quarter of
 * its power of two more or less. All others stay, addresses of captured memory among
 * them.
 * @return how many were changed
 */
uint64_t rp_scalars_change(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                           uint8_t *kernarg);

#endif
