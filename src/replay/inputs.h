/**
 * @file inputs.h
 * @brief Other inputs for a kernel: numbers in captured memory, changed so that a result that was
 * stored instead of computed is found out.
 *
 * What is a number and what an index, a flag or an address, memory does not say. A page is changed
 * only if all of it can be numbers of one type, and then so that these keep their signs, zeros,
 * infinities and NaNs: most become at most a fifth smaller or a quarter larger, some are doubled or
 * halved. Whatever is structure (pointers, indices, counts, text) is no such page, or must be
 * vouched for by name.
 */
#ifndef RP_REPLAY_INPUTS_H
#define RP_REPLAY_INPUTS_H

#include "replay/numbers.h"

enum { RP_INPUT_TYPES = 3 };

struct rp_inputs_rule {
    bool none;                                 /**< nothing is changed */
    bool words;                                /**< any word of 4 bytes is a number: its last bit */
    bool vouched;                              /**< also few numbers, or of few values */
    enum rp_number_type types[RP_INPUT_TYPES]; /**< in this order */
    unsigned type_count;
};

/**
 * "auto", "none", "f32", "f16", "bf16", "f64", "i32".
 * @param output  of what type results are said to be; RP_EXACT: nothing is said
 * @return 0 or RP_USAGE
 */
int rp_inputs_parse(const char *text, enum rp_number_type output, struct rp_inputs_rule *ret,
                    struct rp_err *err);

/**
 * Changes about half of the numbers of a page, if it is one of numbers.
 * @param bytes      of it that are in the region
 * @param low, high  addresses in captured memory
 * @param seed       which half; of each page another one
 * @return how many were changed
 */
uint64_t rp_inputs_change(const struct rp_inputs_rule *rule, uint64_t low, uint64_t high,
                          uint64_t seed, size_t bytes, uint8_t *page);

#endif
