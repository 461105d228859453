/**
 * @file scalars.h
 * @brief Other values of arguments that are passed by value: sizes become smaller, numbers other
 * ones, equal ones unequal. A kernel that has the captured values built in, or is right for
 * multiples of something only, is found out by them.
 */
#ifndef RP_REPLAY_SCALARS_H
#define RP_REPLAY_SCALARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_addresses;
struct rp_code_kernel;

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

#endif
