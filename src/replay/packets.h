/**
 * @file packets.h
 * @brief What one run of a captured dispatch submits.
 */
#ifndef RP_REPLAY_PACKETS_H
#define RP_REPLAY_PACKETS_H

#include <assert.h>
#include <stdint.h>

struct rp_snapshot_dispatch;

/** An AQL packet; header and set-up lie in its first four bytes. */
struct rp_replay_packet {
    uint16_t header, setup, workgroup[3], reserved0;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t kernel_object, kernarg, reserved2, completion;
};
static_assert(sizeof(struct rp_replay_packet) == 64, "AQL packet");

enum { RP_REPLAY_PACKETS = 3 };

/** What is other than in the captured packet. */
struct rp_replay_launch {
    uint32_t private_bytes, group_bytes;
    uint64_t kernel_object, kernarg;
    uint64_t timed; /**< signal that gets the times of the kernel */
    uint64_t ended; /**< signal after which memory can be read */
};

/**
 * The captured packet with its acquire and release scopes, between two barriers: memory has been
 * restored beside the queue before, and is read beside it afterwards, which takes system scope. The
 * kernel's time is that of its own packet.
 */
void rp_replay_make_packets(const struct rp_snapshot_dispatch *dispatch,
                            const struct rp_replay_launch *launch,
                            struct rp_replay_packet ret[RP_REPLAY_PACKETS]);

#endif
