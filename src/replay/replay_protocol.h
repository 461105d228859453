/**
 * @file replay_protocol.h
 * @brief This header says what rocm-perf asks of rocm-perf-replay, and how that says what it is at,
 * and that another process may do better.
 */
#ifndef RP_REPLAY_REPLAY_PROTOCOL_H
#define RP_REPLAY_REPLAY_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

struct rp_err;

enum rp_replay_action {
    RP_REPLAY_FULL_VM,
    RP_REPLAY_COMPARE,
    RP_REPLAY_RESERVE_CHECK,
    RP_REPLAY_SELF_CHECK, /**< does the capture replay to its own state? */
};

/** This says what the caches hold when a timed run begins. */
enum rp_cache {
    RP_CACHE_AS_IS, /**< what restoring memory and the run before have left */
    RP_CACHE_WARM,  /**< what a run of the same kernel has left, and restoring what it wrote */
    RP_CACHE_COLD,  /**< nothing of the capture */
};

/** This says what makes compare fail. */
enum rp_gate {
    RP_GATE_NONE,
    RP_GATE_FASTER,
    RP_GATE_NOT_SLOWER, /**< also where it is undecided whether B is faster or equal */
};

/** These are the words for actions and caches on command lines; NULL ends each list. */
extern const char *const rp_replay_actions[], *const rp_replay_caches[];

enum {
    RP_REPLAY_UNDECIDED = 6, /**< with --gate: neither passed nor failed; in the manual page */
    RP_REPLAY_AGAIN = 75,    /**< a range is taken here: libraries may lie elsewhere there */
    RP_REPLAY_NO_PROBE = 76, /**< the captured kernel does not end from other memory */
};

/**
 * A letter in a file that both processes have open says what the child does, in case it does not
 * come to its end.
 */
enum {
    RP_STEP_REST = 'r',
    RP_STEP_PROBE = 'p', /**< the captured kernel runs from poison */
    /** It runs from memory that is changed in the first, second, ... of several ways. */
    RP_STEP_CHANGE = '0',
    RP_STEP_CHANGES = 9,
    RP_STEP_CHANGES_ALIKE = 3, /**< the first: what stands neither of two stands none */
    /** The captured kernel runs with other inputs of one kind (input_variation.h). */
    RP_STEP_VARY = 'A',
    RP_STEP_VARIATIONS = 31, /**< all that a GPU can be told to try */
    RP_STEP_OTHER = 'o',     /**< another kernel runs with other inputs */
};

/** The fields are described in replay_options.def. */
struct rp_replay_options {
    enum rp_replay_action action;
#define RP_REPLAY_TYPE_TEXT                     const char *
#define RP_REPLAY_TYPE_NUMBER                   unsigned long
#define RP_REPLAY_TYPE_REAL                     double
#define RP_REPLAY_TYPE_FD                       int
#define RP_REPLAY_TYPE_WORD                     unsigned
#define RP_REPLAY_TYPE_FLAG                     bool
#define RP_REPLAY_TYPE_SET                      unsigned
#define RP_REPLAY_OPTION(kind, field, name, of) RP_REPLAY_TYPE_##kind field;
#include "replay/replay_options.def"
#undef RP_REPLAY_OPTION
};

/** The arguments after the program's name are the action and one option each. NULL ends them. */
enum { RP_REPLAY_MOST_ARGS = 32 };
struct rp_replay_args {
    char *argv[RP_REPLAY_MOST_ARGS]; /**< owned */
};

/** @param ret  to be released with rp_replay_args_free */
void rp_replay_options_print(const struct rp_replay_options *o, struct rp_replay_args *ret);
void rp_replay_args_free(struct rp_replay_args *args);
/**
 * Parses what rp_replay_options_print() wrote.
 * @param ret  has texts of @p argv
 * @return 0 or RP_USAGE
 */
int rp_replay_options_parse(char *const *argv, struct rp_replay_options *ret, struct rp_err *err);

/** This follows the letter, so that whoever waits can see the progress. */
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

/** This follows the letter and says which kernel runs on the GPU. */
enum {
    RP_STEP_KERNEL_AT = 1,
    RP_STEP_KERNEL_NONE = '-',
    RP_STEP_KERNEL_CAPTURED = 'c',
    RP_STEP_KERNEL_A = 'A', /**< of compare, or the one of --hsaco */
    RP_STEP_KERNEL_B = 'B',
};

/** A line of text that begins with this byte is styled as the letter behind it says. */
enum {
    RP_REPLAY_INK = 0x1e,
    RP_REPLAY_GOOD = 'g',
    RP_REPLAY_BAD = 'b',
    RP_REPLAY_CARE = 'c', /**< to be careful about */
    RP_REPLAY_BOLD = 'B',
    /** This last line is not for people: compare is undecided, by the word behind it. */
    RP_REPLAY_OPEN = 'o',
};

#endif
