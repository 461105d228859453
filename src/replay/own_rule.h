/**
 * @file own_rule.h
 * @brief When a result is right, if nobody says so: what runs of the captured kernel itself differ
 * by. Each region has its own rule; what they agree on is exact, but for near.h.
 */
#ifndef RP_REPLAY_OWN_RULE_H
#define RP_REPLAY_OWN_RULE_H

#include "replay/numbers.h"
#include "replay/replay.h"
#include "replay/spread.h"
#include "replay/write_set.h"

struct rp_own_region {
    struct rp_spread spread;
    struct rp_compare_rule rule; /**< RP_EXACT: runs do not differ, or are not near each other */
};

struct rp_own_page {
    size_t region;
    uint64_t page;
    uint64_t words[RP_PAGE_MASKS];
};

/** In rising order. */
struct rp_own_pages {
    struct rp_own_page *at;
    size_t count, capacity;
};

/** Zero-initialise. */
struct rp_own_rule {
    struct rp_own_region *regions;       /**< as those of the capture; NULL: a rule was given */
    struct rp_own_pages differing, near; /**< words that differ; words to which the rule applies */
    size_t sorted;                       /**< of the differing ones */
    unsigned runs;
};

/**
 * Runs the captured kernel.
 * @param ret_rule  of the first region that has one; or RP_EXACT
 */
int rp_own_rule_find(struct rp_own_rule *own, struct rp_replay *r, struct rp_compare_rule *ret_rule,
                     struct rp_err *err);

/** All rules, as rp_compare_rule_print writes them, with " and " between them. */
void rp_own_rule_print(const struct rp_own_rule *own, const struct rp_replay *r, char *out,
                       size_t room);

/** As rp_compare_words, of a page. */
void rp_own_rule_compare(const struct rp_own_rule *own, size_t region, uint64_t page,
                         const uint8_t *got, const uint8_t *expected, uint64_t *ret_bad);

#endif
