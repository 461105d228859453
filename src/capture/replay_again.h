/**
 * @file replay_again.h
 * @brief How rocm-perf-replay says to rocm-perf that another process may do better.
 */
#ifndef RP_CAPTURE_REPLAY_AGAIN_H
#define RP_CAPTURE_REPLAY_AGAIN_H

enum {
    RP_REPLAY_UNDECIDED = 6, /**< with --gate: neither passed nor failed; in the manual page */
    RP_REPLAY_AGAIN = 75,    /**< a range is taken here: libraries may lie elsewhere there */
    RP_REPLAY_NO_PROBE = 76, /**< the captured kernel does not end from other memory */
};

#endif
