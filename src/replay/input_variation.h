/**
 * @file input_variation.h
 * @brief Does another kernel give what the captured one gives, from inputs that are not the
 * captured ones? One that has the captured answer in itself does not.
 */
#ifndef RP_REPLAY_INPUT_VARIATION_H
#define RP_REPLAY_INPUT_VARIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/launch_changes.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_trial.h"

struct rp_variation_runs;

/** How the second run of each kernel with other inputs is another one, in a sentence. */
#define RP_VARIATION_SECOND ", and in the reverse order from other poison"

/** This is a page that the captured kernel has changed. */
struct rp_variation_page {
    struct rp_page_key key;
    uint64_t written[RP_PAGE_MASKS]; /**< words that it has changed then */
    uint8_t left[RP_PAGE_BYTES / 8]; /**< bits: bytes that it has left as they were */
    uint8_t contents[RP_PAGE_BYTES];
};

struct rp_variation_result {
    uint64_t changed;       /**< numbers, values of 4 bytes, arguments */
    uint64_t telling_bytes; /**< of results: other ones than in the capture */
    const char *reason;     /**< why it cannot be tried, or tells nothing; NULL: it was tried */
    bool open;     /**< with a reason: what the captured kernel reads may matter nevertheless */
    unsigned part; /**< of those that have several: that which was tried */
    double us[RP_REPLAY_CANDIDATES];            /**< what candidates took */
    double between_us[RP_REPLAY_CANDIDATES][2]; /**< with counts timing: bounds of that, or 0s */
};

struct rp_variation_runs {
    struct rp_replay_trial *trial;
    const char *inputs; /**< see page_changes.h */
    const char *reason; /**< why none is tried; NULL: some may be */
    struct rp_variation_result of[RP_VARIATIONS];
    bool broke; /**< the captured kernel does not end with such inputs */
    bool timed; /**< .us is wanted; a GPU has it anyway */
    /* These members describe the current variation. */
    enum rp_variation now;
    enum rp_variation
        values;      /**< that change memory, if any do: now, or a kind that is part of it */
    unsigned part;   /**< of those that have several; of memory: all of it, then region by region */
    bool alone;      /**< the captured kernel does not survive all of memory changed */
    bool second;     /**< the run is in the second way (input_variation.c) */
    bool one_way;    /**< others are not judged by it */
    bool timing;     /**< the run is one whose time is wanted */
    bool unpoisoned; /**< of orders: a flag that a wavefront waits for must begin as captured */
    bool misled;     /**< the kernel is told the captured size of workgroups */
    struct rp_size_change size;
    uint64_t zeros_tried, zeros_untried; /**< bits: scalars that are 0 */
    struct rp_overlap overlap;
    unsigned bound; /**< enum rp_bound_inputs: inputs are changed for what rounding may do, too */
    struct rp_inputs_rule rule;
    bool asked_words; /**< by .inputs */
    struct {
        RP_VEC(struct rp_variation_page);
    } pages; /**< in rising order */
    uint64_t changed;
    bool has_grid;
    uint32_t grid[3];
    uint32_t other_grid[3]; /**< of a kernel with a launch of its own */
    uint16_t workgroup[3];
};

/**
 * Runs, for each variation, the captured kernel twice and then the candidates, which must give the
 * same memory. Zero-initialise the struct and set .trial (prepared) and .inputs.
 * @param ret  for each candidate: of the first variation in which it is wrong, or the last
 * @param ret_who  on failure: which candidate ran, or count: the captured kernel
 */
int rp_variation_run(struct rp_variation_runs *v, size_t count,
                     struct rp_replay_outcome *const *ret, size_t *ret_who, struct rp_err *err);

/** Says which argument was another one ("argument 3 is 3 in place of 2048"); "": none. */
enum { RP_VARIATION_ARGUMENT_TEXT = 100 };
void rp_variation_argument(const struct rp_replay *r, const struct rp_replay_outcome *outcome,
                           char ret[RP_VARIATION_ARGUMENT_TEXT]);

enum { RP_VARIATION_RUNS = 4 }; /* Each candidate runs this many times in a block. */

/** Runs of both candidates by turns, ABBA with two runs for each letter. */
struct rp_variation_block {
    double us[RP_REPLAY_CANDIDATES][RP_VARIATION_RUNS];
};

/**
 * Times candidates with the inputs of a variation that was tried. All runs are checked as in
 * rp_variation_run(). The captured kernel runs twice again before them, because a difference now
 * means that it is not deterministic.
 * @param ret_blocks  of these, @p count
 * @param ret  of the first wrong run of each candidate, or the last
 */
int rp_variation_time(struct rp_variation_runs *v, enum rp_variation variation, size_t count,
                      struct rp_variation_block *ret_blocks,
                      struct rp_replay_outcome *const ret[RP_REPLAY_CANDIDATES], size_t *ret_who,
                      struct rp_err *err);

#endif
