/**
 * @file replay_again.h
 * @brief How rocm-perf-replay says to rocm-perf that another process may have the addresses.
 */
#ifndef RP_CAPTURE_REPLAY_AGAIN_H
#define RP_CAPTURE_REPLAY_AGAIN_H

enum { RP_REPLAY_AGAIN = 75 };

#endif
