/**
 * @file isolate.h
 * @brief Captures dispatches: chooses one, brings the GPU to rest, takes the memory before it,
 * runs it, takes the memory after it (trace/capture.h).
 *
 * The order is: what is in its queue before it is waited for with a barrier; the gate closes, so
 * that nothing new is submitted anywhere; what is pending elsewhere is waited for. Each wait has an
 * end: then the dispatch is declined with the reason, and the program goes on. The dispatch runs
 * with a signal of the tool's, and the program's one is completed when the memory has been taken.
 */
#ifndef RP_TRACER_ISOLATE_H
#define RP_TRACER_ISOLATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture.h"
#include "trace/records.h"
#include "tracer/hsa_abi.h"
#include "tracer/memory_snapshot.h"
#include "tracer/packet_origins.h"

struct rp_captured_geometry;
struct rp_tool;
struct rp_wanted_code;
struct rp_wanted_kernel;

/* What must hold still while a snapshot is taken goes through here: packets, copies,
 *        allocations. Open and free of charge when nothing is to be captured.
 */

struct rp_pause {
    uint32_t in_use;  /**< atomic: a snapshot may come */
    uint32_t waiting; /**< atomic: threads that wait to enter */
    pthread_rwlock_t lock;
};

void rp_pause_init(struct rp_pause *gate, bool in_use);

/** Waits while a snapshot is taken. @return what rp_pause_leave takes */
bool rp_pause_enter(struct rp_pause *gate);
void rp_pause_leave(struct rp_pause *gate, bool entered);

/**
 * Closes the gate for the snapshot and waits until no thread is within.
 * @return false: a thread did not leave in time
 */
bool rp_pause_begin(struct rp_pause *gate, int64_t patience_ms);
void rp_pause_end(struct rp_pause *gate);
/** Takes a lock that the snapshot holds: who waits for it is held up as one at the gate is. */
void rp_pause_lock(struct rp_pause *gate, pthread_mutex_t *lock);
/** While it is closed: whether somebody is held up. */
bool rp_pause_holds_up_others(const struct rp_pause *gate);

/** No snapshot will come any more. */
void rp_pause_retire(struct rp_pause *gate);

/* Several operations share the completion signal of these asynchronous copies. HIP copies an area
 * with odd pitches row by row, all with one signal that starts at the number of rows. Such a
 * signal has no times of its own to be recorded, but its value says when all of them are over.
 * They are followed only where a dispatch is to be captured.
 */

struct rp_shared_copy {
    rp_hsa_signal signal;
    int64_t end;  /**< its value when all that share it are over, or below */
    bool unknown; /**< the program has changed the value while they ran */
};

struct rp_shared_copies {
    pthread_mutex_t lock;
    struct rp_shared_copy *entries;
    size_t count; /**< atomic */
    size_t capacity;
};

void rp_shared_copies_init(struct rp_shared_copies *copies);

/**
 * Adds one more copy before it is handed over.
 * @param pending  operations with this signal that are followed elsewhere and have not ended
 * @return false: no memory to follow it
 */
bool rp_shared_copies_add(struct rp_tool *tool, rp_hsa_signal signal, unsigned pending);
/** The runtime refused the copy that was added last with this signal. */
void rp_shared_copies_withdraw(struct rp_tool *tool, rp_hsa_signal signal);

/** The program is about to change the value. @param anew  whatever it was before, or to destroy the
 * signal, which must not be looked at afterwards */
void rp_shared_copies_before_change(struct rp_tool *tool, rp_hsa_signal signal, bool anew);

/** Tests whether all of them are over. */
bool rp_shared_copies_are_over(struct rp_tool *tool);

/* This says which dispatches are to be captured (struct rp_snapshot_selection). */

enum { RP_SELECT_HASHES = 64 };

struct rp_select {
    struct rp_snapshot_selection wish;
    uint64_t *numbers;
    pthread_mutex_t lock;
    uint64_t matches;                  /**< under .lock: so far */
    size_t taken;                      /**< under .lock: that were wanted */
    uint32_t over;                     /**< atomic: no more are wanted */
    uint32_t outstanding;              /**< under .lock: wanted, and not done with */
    struct rp_captured_geometry *seen; /**< under .lock; .taken of them */
    struct rp_snapshot_filtered passed[RP_SNAPSHOT_MAX_FILTERED]; /**< under .lock */
    size_t passed_count;                                          /**< atomic */
    uint64_t hashes[RP_SELECT_HASHES]; /**< atomic: of kinds that were passed, 0 = none */
};

struct rp_isolate {
    struct rp_pause gate;
    uint32_t on;     /**< atomic: dispatches are wanted, and have not all been captured */
    uint32_t survey; /**< atomic: they are only counted */
    struct rp_select select;
    struct rp_snapshot_link link;
    pthread_mutex_t link_lock; /**< .link, and writers of .map, .kernels and .codes */
    int64_t patience_ms;
    int64_t kernel_patience_ms;
    int64_t held_patience_ms;    /**< for the dispatch, while other threads wait at the gate */
    int64_t waiting_patience_ms; /**< for the dispatch, while it does nothing but wait */
    uint32_t capturing;          /**< atomic: threads within rp_isolate_run */
    uint32_t ending_tid;         /**< atomic: the thread that ends the program; 0: none does */
    uint64_t ending_ns;          /**< since when; before .ending_tid */
    uint64_t untracked;          /**< atomic: work that cannot be waited for */
    struct rp_shared_copies shared_copies;
    uint32_t queue_failed;    /**< atomic: a queue has stopped for good, its packets never end */
    struct rp_kernel_map map; /**< kernel object to number in .kernels, from 1 */
    struct rp_wanted_kernel *kernels;
    uint32_t kernel_count; /**< atomic */
    struct rp_wanted_code *codes;
};

/** Reads the environment, and connects where a dispatch is wanted. */
void rp_isolate_start(struct rp_tool *tool);
/** Runs in a forked child, to which the parent's link does not belong. */
void rp_isolate_forget(struct rp_isolate *isolate);

/** Copies the ELF file of a code object. It is needed only when rp_isolate_kernel() says so. */
void rp_isolate_code(struct rp_tool *tool, rp_hsa_executable executable, uint32_t code_object_id,
                     uint64_t load_base, uint64_t load_bytes, const void *bytes, uint64_t count);
/** Notes a kernel where another one may have been. @return whether its dispatches are wanted */
bool rp_isolate_kernel(struct rp_tool *tool, rp_hsa_executable executable,
                       const struct rp_rec_kernel *kernel, const char *symbol);
/** An executable is about to go, with its kernels and code objects. Not with the gate entered: it
 * waits for a capture to end. */
void rp_isolate_unload(struct rp_tool *tool, rp_hsa_executable executable);

/** The program begins to end in this thread: waits for a capture that goes on in another one, and
 * no other thread begins one. */
void rp_isolate_end(struct rp_tool *tool);

/** The runtime says that a queue has failed: whoever waits for a dispatch waits in vain. */
void rp_isolate_queue_failed(struct rp_tool *tool);

/** This says where a dispatch is to run. */
struct rp_isolate_place {
    rp_hsa_agent agent;
    uint32_t queue_index;
    uint64_t stream; /**< what HIP calls it; UINT64_MAX: not known */
    uint64_t match;  /**< its number among those that match */
    uint64_t dispatch_id;
    rp_hsa_packet_writer writer;
    uint64_t put;     /**< packets that were handed over */
    bool handed_over; /**< the dispatch is among them */
};

/**
 * Returns the number of packets before the first one that is to be captured; @p count: none is.
 * Packets before it are counted, so ask again only for those behind it.
 * @param place    where they are to run; gets .match and .stream
 * @param origins  of the packets
 */
uint64_t rp_isolate_find(struct rp_tool *tool, struct rp_isolate_place *place,
                         const struct rp_hsa_packet *packets,
                         const struct rp_packet_origin *origins, uint64_t count);

/**
 * Returns, in a scan, the number of a dispatch among those that match. 0: it does not, or there is
 * none
 */
uint64_t rp_isolate_scan(struct rp_tool *tool, rp_hsa_agent agent, uint32_t queue_index,
                         uint64_t stream, const struct rp_hsa_packet *packet);

/** @return whether the packet was handed over; false: it is still to be */
bool rp_isolate_run(struct rp_tool *tool, struct rp_isolate_place *place,
                    const struct rp_hsa_packet *packet);

#endif
