/**
 * @file wave_observer.h
 * @brief Which cache lines and LDS banks the lanes of one instruction touch.
 */
#ifndef RP_DEVICE_TIMING_WAVE_OBSERVER_H
#define RP_DEVICE_TIMING_WAVE_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "device/timing/wave_record.h"

struct rp_insn;
struct rp_wave;

/** Addresses of one instruction's lanes; those not in lanes are not looked at. */
struct rp_lane_access {
    const uint64_t *va; /**< 64 of them */
    uint64_t lanes;     /**< a bit for each that takes part */
    uint32_t bytes;     /**< per lane */
    uint8_t flags;      /**< RP_REC_READS and so on */
};

/**
 * Appends the lines to a wave's record, and counts them in *a; once for an access.
 * @return false when the host is out of memory
 */
bool rp_lane_access_lines(struct rp_rec_wave *w, struct rp_rec_access *a,
                          const struct rp_lane_access *t);

/**
 * Adds the clocks the LDS needs: it has 32 banks of 4 bytes (CDNA3 ISA guide, "LDS"), and serves
 * in each clock as many lanes as fill them (32 lanes of a dword, 16 of two, 8 of more; loads of 16
 * bytes take lanes 0 to 3 with 20 to 23, and so on), unless two
 * of these want different dwords of one bank. Atomics on the same dword come one after another.
 * @param t  addresses are offsets in the LDS
 */
void rp_lane_access_lds(struct rp_rec_access *a, const struct rp_lane_access *t);

/* What the lanes of an access touch, remembered: an instruction in a loop mostly touches the
 * same again, some bytes further on.
 *
 * Banks of the LDS are the same distance apart wherever a pattern of addresses begins, as long as
 * that is the same part of a dword; lines of a cache, as long as it is the same byte of a line.
 */

enum {
    RP_PATTERN_CACHE_LANES = 64,
    RP_PATTERN_CACHE_LINES = 64,
    RP_PATTERN_CACHE_LDS = 32,
    RP_PATTERN_CACHE_VMEM = 16
};

/** The latest patterns of a thread; zeroed: none. */
struct rp_pattern_cache {
    struct rp_pattern_cache_lds {
        uint64_t lanes;  /**< 0: nothing is known */
        uint32_t bytes;  /**< as in rp_lane_access */
        uint8_t flags;   /**< likewise */
        uint8_t part;    /**< of a dword where it begins */
        uint16_t clocks; /**< of the LDS */
        uint16_t conflict_clocks;
        uint32_t
            distance[RP_PATTERN_CACHE_LANES]; /**< of each lane's address from the first lane's */
    } lds[RP_PATTERN_CACHE_LDS];
    struct rp_pattern_cache_lines {
        uint64_t lanes;
        uint32_t bytes;
        uint8_t flags;
        uint64_t first; /**< lane's address */
        uint64_t distance[RP_PATTERN_CACHE_LANES];
        uint16_t lookups, line_count;
        struct rp_rec_line line[RP_PATTERN_CACHE_LINES];
    } vmem[RP_PATTERN_CACHE_VMEM];
};

/**
 * As rp_lane_access_lds, for addresses that are a row of registers and a distance from there.
 * @param patterns  NULL: nothing is remembered
 * @param key    what is alike mostly has the same
 */
void rp_pattern_cache_lds(struct rp_pattern_cache *patterns, uint32_t key,
                          const uint32_t row[RP_PATTERN_CACHE_LANES], uint32_t from_row,
                          struct rp_rec_access *a, const struct rp_lane_access *t);

/** As rp_lane_access_lines. */
bool rp_pattern_cache_lines(struct rp_pattern_cache *patterns, uint32_t key, struct rp_rec_wave *w,
                            struct rp_rec_access *a, const struct rp_lane_access *t);

/* Writes down what a wave is about to execute: what rp_observer (executor.h) asks for. Steps hold
 * the distance from the kernel's entry until they are resolved (dispatch_timing.c). */

bool rp_observe_turn(struct rp_wave *w);
void rp_observe_issue(struct rp_wave *w, const struct rp_insn *in, uint64_t pc);
void rp_observe_run(struct rp_wave *w, const struct rp_insn *page, uint32_t first, uint32_t end,
                    int64_t distance);
void rp_observe_access(struct rp_wave *w, const struct rp_insn *in);

#endif
