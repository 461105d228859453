/**
 * @file derived_tolerance.h
 * @brief When a result is right, if nobody says so: what runs of the captured kernel itself differ
 * by. Each region has its own rule; what they agree on is exact, but for derived_tolerance.h.
 */
#ifndef RP_REPLAY_DERIVED_TOLERANCE_H
#define RP_REPLAY_DERIVED_TOLERANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"

/* What runs of the captured kernel itself differ by, and the tolerance that follows: for
 * kernels that add up in an order that varies.
 */

enum {
    RP_SPREAD_TYPES = 4, /**< RP_F32 to RP_F64 */
    RP_SPREAD_TIMES = 4, /**< another kernel may differ by so many times what the captured one does:
                              a few runs do not show the most that there is */
};

/** Taken as numbers of each type. */
struct rp_spread_of_type {
    double abs, rel;          /**< at most */
    double smallest, largest; /**< size of a number that differs, but for 0; 0: there is none */
    uint64_t steps;           /**< between representable numbers, at most */
    bool no_numbers;          /**< NaN, infinite or denormal here and not there */
};

/** Zero-initialise. */
struct rp_spread {
    uint64_t words; /**< of 4 bytes that differ */
    struct rp_spread_of_type types[RP_SPREAD_TYPES];
};

/** @param bytes  a multiple of 8; got and expected begin at the same offset of a region, likewise
 */
void rp_spread_note(struct rp_spread *spread, const uint8_t *got, const uint8_t *expected,
                    size_t bytes);

/**
 * The type whose tolerance leaves the fewest values that would be right.
 * @return whether there is such a rule: what differs is near, as numbers of some type
 */
bool rp_spread_rule(const struct rp_spread *spread, struct rp_compare_rule *ret);

struct rp_derived_region {
    struct rp_spread spread;
    struct rp_compare_rule rule; /**< RP_EXACT: runs do not differ, or are not near each other */
};

struct rp_differing_page {
    size_t region;
    uint64_t page;
    uint64_t words[RP_PAGE_MASKS];
};

/** In rising order. */
struct rp_differing_pages {
    struct rp_differing_page *at;
    size_t count, capacity;
};

/** Zero-initialise. */
struct rp_derived_tolerance {
    struct rp_derived_region *regions; /**< as those of the capture; NULL: a rule was given */
    struct rp_differing_pages differing,
        near;      /**< words that differ; words to which the rule applies */
    size_t sorted; /**< of the differing ones */
    unsigned runs;
};

/**
 * Runs the captured kernel.
 * @param ret_rule  of the first region that has one; or RP_EXACT
 */
int rp_derived_tolerance_find(struct rp_derived_tolerance *own, struct rp_replay *r,
                              struct rp_compare_rule *ret_rule, struct rp_err *err);

/** All rules, as rp_compare_rule_print writes them, with " and " between them. */
void rp_derived_tolerance_print(const struct rp_derived_tolerance *own, const struct rp_replay *r,
                                char *out, size_t room);

/** As rp_compare_words, of a page. */
void rp_derived_tolerance_compare(const struct rp_derived_tolerance *own, size_t region,
                                  uint64_t page, const uint8_t *got, const uint8_t *expected,
                                  uint64_t *ret_bad);

#endif
