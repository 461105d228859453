/**
 * @file agenda.h
 * @brief What happens next: numbers of waves by time. Of those of one time, first come, first
 * served.
 */
#ifndef RP_DEVICE_TIMING_AGENDA_H
#define RP_DEVICE_TIMING_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

enum { RP_AGENDA_LAP = 4096, RP_AGENDA_NONE = UINT32_MAX };

struct rp_agenda {
    uint64_t base; /**< begin of the lap: a bucket for each clock of it */
    uint32_t at;   /**< bucket that is looked at next */
    uint64_t set[RP_AGENDA_LAP / 64];
    uint32_t head[RP_AGENDA_LAP], tail[RP_AGENDA_LAP];
    uint32_t far_head, far_tail; /**< beyond the lap */
    uint64_t far_first;          /**< the earliest of these */
    uint32_t *next;              /**< by number */
    uint64_t *time;
};

/** For numbers below @p count, each in at most once. 0 or -ENOMEM. */
int rp_agenda_init(struct rp_agenda *e, uint32_t count);
void rp_agenda_release(struct rp_agenda *e);

/** @p time must not be before that of the latest rp_agenda_take. */
void rp_agenda_put(struct rp_agenda *e, uint32_t number, uint64_t time);

/** The next one and its time, or RP_AGENDA_NONE. */
uint32_t rp_agenda_take(struct rp_agenda *e, uint64_t *ret_time);

#endif
