#include "replay/packets.h"

#include "trace/capture_stream.h"

/* HSA system architecture, 2.9.1: type in bits 0-7, barrier bit 8, acquire scope 9-10, release
 * scope 11-12. */
enum {
    KERNEL_DISPATCH = 2,
    BARRIER_AND = 3,
    BARRIER_BIT = 1 << 8,
    ACQUIRE_SYSTEM = 2 << 9,
    RELEASE_SYSTEM = 2 << 11,
    SCOPES = 15 << 9,
};

void rp_replay_make_packets(const struct rp_snapshot_dispatch *d, const struct rp_replay_launch *l,
                            struct rp_replay_packet ret[RP_REPLAY_PACKETS])
{
    ret[0] = (struct rp_replay_packet){.header = BARRIER_AND | BARRIER_BIT | ACQUIRE_SYSTEM};
    ret[1] = (struct rp_replay_packet){
        .header = (uint16_t)(KERNEL_DISPATCH | BARRIER_BIT | (d->header & SCOPES)),
        .setup = d->setup,
        .workgroup = {d->workgroup[0], d->workgroup[1], d->workgroup[2]},
        .grid = {d->grid[0], d->grid[1], d->grid[2]},
        .private_bytes = l->private_bytes,
        .group_bytes = l->group_bytes,
        .kernel_object = l->kernel_object,
        .kernarg = l->kernarg,
        .completion = l->timed};
    ret[2] = (struct rp_replay_packet){.header = BARRIER_AND | BARRIER_BIT | RELEASE_SYSTEM,
                                       .completion = l->ended};
}
