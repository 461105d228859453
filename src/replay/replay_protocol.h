/**
 * @file replay_protocol.h
 * @brief How rocm-perf-replay says to rocm-perf that another process may do better.
 */
#ifndef RP_REPLAY_REPLAY_PROTOCOL_H
#define RP_REPLAY_REPLAY_PROTOCOL_H

#include <stdint.h>

enum {
    RP_REPLAY_UNDECIDED = 6, /**< with --gate: neither passed nor failed; in the manual page */
    RP_REPLAY_AGAIN = 75,    /**< a range is taken here: libraries may lie elsewhere there */
    RP_REPLAY_NO_PROBE = 76, /**< the captured kernel does not end from other memory */
};

/** What it is at, a letter in a file that both have open: should it not come to its end. */
enum {
    RP_STEP_REST = 'r',
    RP_STEP_PROBE = 'p', /**< the captured kernel runs from poison */
    /** It runs from memory that is changed in the first, second, ... of several ways. */
    RP_STEP_CHANGE = '0',
    RP_STEP_CHANGES = 9,
    RP_STEP_CHANGES_ALIKE = 3, /**< the first: what stands neither of two stands none */
    /** The captured kernel runs with other inputs of the first, second, ... kind
       (input_variation.h). */
    RP_STEP_VARY = 'A',
    RP_STEP_VARIATIONS = 19, /**< capital letters: small ones are flags of the child */
    RP_STEP_OTHER = 'o',     /**< another kernel runs with other inputs */
};

/** Behind that, for who waits: how far it is. */
struct rp_replay_at {
    uint32_t phase, done, most; /**< most 0: nobody knows */
};

enum rp_replay_phase {
    RP_REPLAY_AT_NOTHING = 0,
#define RP_REPLAY_PHASE(id, words) RP_REPLAY_AT_##id,
#include "replay/replay_phases.def"
#undef RP_REPLAY_PHASE
};
enum { RP_STEP_PROGRESS_AT = 8 };

/** Behind the letter: which kernel the GPU has. */
enum {
    RP_STEP_KERNEL_AT = 1,
    RP_STEP_KERNEL_NONE = '-',
    RP_STEP_KERNEL_CAPTURED = 'c',
    RP_STEP_KERNEL_A = 'A', /**< of compare, or the one of --hsaco */
    RP_STEP_KERNEL_B = 'B',
};

/** A line for people that begins with this byte is shown as the letter behind it says. */
enum {
    RP_REPLAY_INK = 0x1e,
    RP_REPLAY_GOOD = 'g',
    RP_REPLAY_BAD = 'b',
    RP_REPLAY_CARE = 'c', /**< to be careful about */
    RP_REPLAY_BOLD = 'B',
};

#endif
