/**
 * @file events.h
 * @brief Rows of rocpd_event by (guid, id): which API call something belongs to.
 *
 * A trace has more of them than of anything else. Nearly all come in ascending order without a
 * gap, with small numbers; these take eight bytes each.
 */
#ifndef RP_STORE_EVENTS_H
#define RP_STORE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store;

struct rp_event {
    int64_t call;   /**< correlation id of the call, 0 = unknown */
    int64_t parent; /**< of the call around it, 0 = none */
};

/** Zero-initialise; release with rp_events_free. */
struct rp_events {
    struct rp_event_run *runs; /**< of ids without a gap; sorted by guid_index, id */
    size_t run_count;
    uint32_t *calls, *parents;
    size_t count, room;
    struct rp_event_odd *odd; /**< what fits no run; sorted */
    size_t odd_count;
    size_t last_run; /**< that something was found in */
    bool loaded;
};

/** Loads them once. */
int rp_events_load(struct rp_store *s, struct rp_err *err);
/** @return whether there is such a row */
bool rp_events_find(struct rp_events *events, uint32_t guid_index, int64_t id,
                    struct rp_event *ret);
void rp_events_free(struct rp_events *events);

#endif
