/**
 * @file check.h
 * @brief This header declares the checks of `run --check`: what waves do to memory is watched, and
 * what no order of the program guards becomes a finding.
 *
 * Everything is told by instructions, because they are what the device executes. The rules are
 * those of LLVM's memory model for gfx90a and gfx942 ("User Guide for AMDGPU Backend", Memory
 * Model): which waits, write-backs and invalidations order accesses of which scope.
 *
 * A dispatch is executed by one thread while it is checked, so that findings are the same every
 * time.
 */
#ifndef RP_DEVICE_CHECK_CHECK_H
#define RP_DEVICE_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

struct rp_check_record;
struct rp_check_update;
struct rp_dispatch;
struct rp_kernel;

/** These are the bits of what is checked. */
enum {
    RP_CHECK_RACES = 1u << 0,
    RP_CHECK_UNINIT = 1u << 1,
    RP_CHECK_BOUNDS = 1u << 2,
    RP_CHECK_WAITS = 1u << 3,
};

/** Returns the bits of a list of words with commas, or 0 for any other text. */
unsigned rp_check_parse(const char *text);

/**
 * Watches all dispatches from now on. Nothing may be executed meanwhile.
 * @param folder  where findings are written; each process writes files of its own. NULL: they are
 *                taken (rp_finding_take)
 */
void rp_check_begin(unsigned what, const char *folder);
/** Watches no more. */
void rp_check_end(void);
/** A dispatch of a queue has ended that began and ended at these times of the device. */
void rp_check_dispatch_over(struct rp_dispatch *d, uint64_t queue, uint64_t start, uint64_t end);

/** Returns what is checked. */
unsigned rp_check_what(void);

/* ---- the order of accesses (access_order of the program, not of the host) ---- */

/* Each wave numbers its memory instructions from 1 on. What a wave knows of another one is the
 * number up to which that one's accesses have happened before; there are several such numbers,
 * because accesses of LDS and memory are completed, and become visible, by different instructions.
 */

enum { RP_CHECK_WAVES = 16 }; /**< of a workgroup */

/** What lies so far behind a pointer that an atomic has given may be reached through it. */
enum { RP_CHECK_POINTERS = 8, RP_CHECK_POINTER_REACH = 2 << 20 };

/** What is known of the waves of one workgroup. */
struct rp_known {
    uint32_t issued[RP_CHECK_WAVES];   /**< in order for the waves of one compute unit */
    uint32_t lds[RP_CHECK_WAVES];      /**< LDS accesses that are complete */
    uint32_t done[RP_CHECK_WAVES];     /**< memory accesses that are complete */
    uint32_t released[RP_CHECK_WAVES]; /**< writes that other compute units can see */
};

struct rp_known_groups;

/** Registers that a load fills when it is complete; kind RP_OPND_NONE: it fills none. */
struct rp_pending {
    uint32_t site;
    uint8_t kind, index, dwords; /**< as of struct rp_opnd */
    uint8_t fmt;                 /**< of the load */
};

struct rp_order_wave {
    uint32_t number;  /**< of the latest memory instruction */
    uint32_t version; /**< changes whenever the rest does */
    uint32_t stored;  /**< number of the latest plain store to memory; 0: none */
    struct rp_known known;
    struct rp_known_groups
        *met; /**< of other workgroups: what an access past the near cache sees */
    struct rp_known_groups *fresh; /**< and what any access sees: after an invalidation */
    const void *met_from;          /**< the place whose publications met is a copy of, or NULL */
    uint32_t written_back[RP_CHECK_WAVES]; /**< by a write-back that is not complete */
    uint32_t write_back;                   /**< its number, or 0 */
    uint64_t pointer[RP_CHECK_POINTERS];   /**< the latest that atomics have given it */
    uint32_t pointers;                     /**< how many have come */
    uint32_t phase;                        /**< barriers that it has come to */
    bool at_barrier;
    uint8_t memory_first, memory_count; /**< accesses that are not complete, in order */
    uint8_t lds_first, lds_count;
    bool scalar;         /**< some of those that lgkmcnt counts complete in any order */
    uint32_t memory[64]; /**< their numbers: a ring */
    uint32_t lds[16];
    struct rp_pending memory_fills[64],
        lds_fills[16]; /**< what they fill, where waits are checked */
};

/** What the waves of a workgroup told at their latest two barriers. */
struct rp_order_barrier {
    struct rp_known known;
    struct rp_known_groups *met, *fresh;
};

struct rp_order_group {
    uint32_t index;  /**< of the workgroup in its dispatch */
    uint32_t levels; /**< of trees of all workgroups */
    uint32_t wave_count;
    uint32_t phase;
    struct rp_order_barrier barrier[2]; /**< by the lowest bit of the phase */
    struct rp_order_wave wave[RP_CHECK_WAVES];
};

void rp_order_group_begin(struct rp_order_group *g, uint32_t index, uint64_t group_count,
                          uint32_t wave_count);
void rp_order_group_end(struct rp_order_group *g);

/** Takes over what other waves told at the barrier; to be called before anything else of a wave. */
void rp_order_catch_up(struct rp_order_group *g, struct rp_order_wave *w);

/** The wave has come to a barrier, or has ended. */
void rp_order_barrier_reached(struct rp_order_group *g, struct rp_order_wave *w, bool ended);

/** The wave issues a memory instruction. Returns its number. */
uint32_t rp_order_issue(struct rp_order_group *g, struct rp_order_wave *w,
                        const struct rp_insn *in);
/** s_waitcnt with these counts. */
void rp_order_wait(struct rp_order_group *g, struct rp_order_wave *w, unsigned memory,
                   unsigned lds);
/** buffer_wbl2 and buffer_inv at the scope of the agent, or a wider one. */
void rp_order_write_back(struct rp_order_group *g, struct rp_order_wave *w);
void rp_order_invalidate(struct rp_order_wave *w);

/** A place that waves synchronise at: an address that is accessed by atomics. */
struct rp_sync {
    uint64_t address; /**< in dwords */
    struct rp_known_groups *told;
    bool atomic; /**< surely: not only by stores that may be plain */
    bool taken;  /**< a wave has looked what others published there */
    bool waited; /**< a loop that only waits has loaded it */
    uint32_t last_group, last_wave, last_version; /**< who told last */
};

/** The wave's access publishes what it knows, or takes over what others have published. */
void rp_order_publish(struct rp_order_group *g, struct rp_order_wave *w, struct rp_sync *sync);
void rp_order_acquire(struct rp_order_group *g, struct rp_order_wave *w, struct rp_sync *sync);
/** The same for LDS, whose places are known to one workgroup. */
void rp_order_publish_lds(const struct rp_order_group *g, const struct rp_order_wave *w,
                          struct rp_known *place);
void rp_order_acquire_lds(struct rp_order_wave *w, const struct rp_known *place);
/** Everything of a wave of its workgroup up to a number has happened before. */
void rp_order_acquire_from(struct rp_order_wave *w, unsigned wave, uint32_t number);

/** Returns what is known of another workgroup, or NULL. */
const struct rp_known *rp_known_find(const struct rp_known_groups *groups, uint32_t index);

void rp_known_drop(struct rp_known_groups *groups);

/* ---- registers that loads have not filled yet ---- */

/** The wave has issued a memory instruction. */
void rp_pending_issued(struct rp_order_wave *w, const struct rp_insn *in, uint32_t number,
                       uint32_t site);
/** Returns what the instruction uses too early, or NULL. @param ret_written  else it is read */
const struct rp_pending *rp_pending_used(const struct rp_order_wave *w, const struct rp_insn *in,
                                         bool *ret_written);

/* ---- what the program has allocated ---- */

enum { RP_ALLOCATION_PADDING = 4096 };

/** An allocation of the program, or the LDS of a workgroup. */
struct rp_allocation {
    uint64_t begin, bytes;
    bool filled; /**< with rp_allocation_word() */
    bool freed;
    bool of_hip; /**< HIP has made it of memory of its own, which it keeps */
};

/** Returns how many bytes an allocation is to get more than was asked for; none where no number
 * has so many. */
uint64_t rp_allocation_padding(uint64_t bytes);
/** Returns how many bytes more the allocation has that begins there; 0 if none is known. */
uint64_t rp_allocation_padding_of(uint64_t begin);
/** Tests whether an allocation is to be filled, which takes the host's memory. */
bool rp_allocation_is_filled(uint64_t bytes);
/** Returns what a dword holds that nobody has written. */
uint32_t rp_allocation_word(uint64_t va);
void rp_allocation_add(const struct rp_allocation *fresh);
/** What hipFree() frees in other ways than rp_allocation_free() is told of is known no more. */
void rp_allocation_forget(uint64_t begin);
/**
 * The program has freed it. It stays known as such until another one takes its place.
 * @return false: it is to be given back now. Otherwise it is held back, so that what still comes
 * there is found
 */
bool rp_allocation_free(uint64_t begin);
/** Returns one that was held back and is to be given back now, because there are more than enough;
 * 0: there is none. */
uint64_t rp_allocation_release(void);
/** Finds the allocation that an access is in, or else the nearest one, if one is near. */
bool rp_allocation_near(uint64_t va, uint64_t bytes, struct rp_allocation *ret);
/** Tests whether it is in the padding of an allocation, and so nobody's. */
bool rp_allocation_is_padding(uint64_t va);
/** Finds the nearest one, however far it is. */
bool rp_allocation_nearest(uint64_t va, uint64_t bytes, struct rp_allocation *ret);

/* ---- what has been accessed ---- */

/** The kind of an access. */
enum {
    RP_PAST_WRITE = 1u << 0,
    RP_PAST_ATOMIC = 1u << 1, /**< an atomic of the agent's scope, or of a wider one */
    RP_PAST_LOCAL = 1u << 2,  /**< an atomic of the workgroup's scope */
    RP_PAST_BOTH = 1u << 3,   /**< it reads and writes */
    RP_PAST_BY_DMA = 1u << 4, /**< LDS written by a load from memory */
    RP_PAST_MAYBE = 1u << 5,  /**< instructions do not tell whether it is atomic (gfx90a) */
};

/** One access of a dword; wave 0 means none. */
struct rp_past {
    uint32_t wave;   /**< index of the workgroup * RP_CHECK_WAVES + number of the wave + 1 */
    uint32_t number; /**< of the instruction */
    uint32_t site : 20, lane : 6, mask : 4, same : 1;
    uint32_t lucky : 1; /**< only by what it has read itself it is ordered with the latest update */
    uint8_t kind;
};

/**
 * What is known of a dword: its latest plain write, the latest write by an atomic, and two reads
 * since that are by different waves. An atomic does not take the place of a plain write, which
 * other atomics may not be ordered with.
 */
struct rp_shadow {
    struct rp_past write, update, read[2];
};

enum { RP_SHADOW_PAGE = 4096, RP_SHADOW_CELLS = RP_SHADOW_PAGE / 4 };

/** What a workgroup keeps while it is executed. */
struct rp_check_group {
    struct rp_order_group order; /**< first member */
    struct rp_check_dispatch *dispatch;
    struct rp_group *group;
    uint32_t cells;
    struct rp_shadow *lds;
    struct rp_known **lds_sync; /**< by dword; NULL: none yet */
    struct rp_check_group *next;
};

/** One memory instruction of a wave. */
struct rp_watch {
    struct rp_check_group *group;
    struct rp_order_wave *order;
    struct rp_wave *wave;
    const struct rp_insn *in;
    uint64_t pc;
    uint32_t site, number;
    uint8_t kind;
    bool lds;
    uint8_t bytes;
    uint8_t first_dword; /**< of the destination, that this part of the instruction loads */
    uint64_t lanes;
    uint64_t va[RP_LANES];       /**< offsets in the LDS, or addresses */
    struct rp_allocation inside; /**< that the latest lane was in */
    const uint32_t *value;       /**< first row of what is stored, or NULL */
    uint8_t value_shift;         /**< bits */
    bool through_pointer; /**< it may be reached through a pointer that an atomic has given */
};

struct rp_check_dispatch;
struct rp_check_dispatch *rp_check_dispatch_new(struct rp_dispatch *d);
void rp_check_dispatch_free(struct rp_check_dispatch *c);

/** Returns the dispatch of a workgroup, and which one of the process it is. */
const struct rp_dispatch *rp_check_dispatch_of(const struct rp_check_group *g,
                                               uint64_t *ret_number);

/** Calls for each page of memory that the dispatch has accessed. */
void rp_shadow_visit(const struct rp_check_dispatch *c,
                     void (*visit)(void *data, uint64_t page, const struct rp_shadow *cells),
                     void *data);

/** Calls for each place in memory that waves of the dispatch have synchronised at. */
void rp_shadow_visit_syncs(const struct rp_check_dispatch *c,
                           void (*visit)(void *data, const struct rp_sync *sync), void *data);

/** The first access was in a dispatch before this one, of so many workgroups in each dimension. */
void rp_shadow_report_between(const struct rp_check_dispatch *c, const struct rp_past *first,
                              const uint32_t first_groups[3], const struct rp_past *second,
                              uint64_t address);

/** Compares a dispatch that has ended with those before it that nothing orders. */
void rp_footprint_add(struct rp_check_dispatch *c, const struct rp_kernel *kernel, uint64_t queue,
                      uint64_t start, uint64_t end);

struct rp_check_group *rp_check_group_new(struct rp_check_dispatch *c, struct rp_group *g);
void rp_check_group_free(struct rp_check_group *g);

/** The place that all waves synchronise at that come to a barrier of the whole dispatch. */
struct rp_sync *rp_check_grid_barrier(struct rp_check_dispatch *c, unsigned resource,
                                      uint32_t phase);

/** Compares an access with those before it, and remembers it. */
void rp_shadow_access(struct rp_watch *a);
/**
 * A load from the private memory of the lanes, whose dwords are at these places of rp_wave.scratch.
 * @param fixed  the same place for all lanes, which may be that of a register that is kept there:
 *               some lanes of it may never have been used, but not all
 */
void rp_shadow_load_private(struct rp_watch *a, bool fixed);

/* ---- what atomics do ---- */

/** Forgets all; from now on they are noted, or not. */
void rp_updates_begin(bool wanted);
/** Notes what an atomic that reads and writes does to memory. */
void rp_updates_note(const struct rp_watch *a);
/** As rp_device_table.take_update. */
bool rp_updates_take(struct rp_check_update *ret, bool *ret_incomplete);

/* ---- findings ---- */

enum rp_finding_kind {
    RP_FINDING_RACE,       /**< of two waves */
    RP_FINDING_LANES,      /**< lanes of one store write different values */
    RP_FINDING_LOST,       /**< a load and a store in place of an atomic */
    RP_FINDING_SAME_VALUE, /**< a note: the values are the same */
    RP_FINDING_BOUNDS,     /**< outside of what was allocated */
    RP_FINDING_UNINIT,     /**< nothing has written what is read */
    RP_FINDING_WAIT,       /**< a register is used before a load has filled it */
    RP_FINDING_KINDS,
};

/** One of the two accesses of a finding. */
struct rp_finding_side {
    uint32_t site;
    uint32_t group, wave, lane; /**< wave in the workgroup */
    uint8_t kind;
};

struct rp_finding {
    const struct rp_dispatch *dispatch;
    uint64_t dispatch_number; /**< of the process */
    enum rp_finding_kind kind;
    bool lds, scratch;
    bool alone;                   /**< there is no second access */
    const uint32_t *first_groups; /**< of another dispatch, in which the first was; NULL */
    struct rp_finding_side first, second;
    struct rp_allocation buffer; /**< that the address is in, or near; 0 bytes: unknown */
    uint64_t address;            /**< or offset in the LDS, or a register: VGPRs from 256 on, AGPRs
                                      from 512 on */
    uint32_t bytes;
    const char *why; /**< what is missing between them */
};

/** Returns a number for the instruction at @p pc; 0: there are too many. */
uint32_t rp_check_site(uint64_t pc, const struct rp_insn *in, const struct rp_wave *w);

/** What code around a load says of it. */
bool rp_site_polls(uint32_t site, struct rp_wave *w);
/** An atomic of the same address follows, which does not go by the value read (compare and swap).
 */
bool rp_site_begins_atomic(uint32_t site, struct rp_wave *w);

/** What the code behind a load does first with what it has loaded: on the path where that is most.
 */
enum rp_site_use {
    RP_USE_NONE,     /**< it is never read: a register that compilers restore for nothing */
    RP_USE_SELECTS,  /**< it may be thrown away */
    RP_USE_KEEPS,    /**< it is stored, perhaps to private memory: a copy of a whole structure */
    RP_USE_STORES,   /**< it is stored to memory */
    RP_USE_COMPUTES, /**< anything else, or unknown */
};
enum rp_site_use rp_site_use(uint32_t site, unsigned dword, struct rp_wave *w);

/** Notes a finding of a dispatch, or counts it again. */
void rp_finding_add(const struct rp_finding *f);

/** Counts something that is not compared with anything, because there is no room for it. */
void rp_check_not_compared(void);
/** As rp_device_table.take_not_compared. */
uint64_t rp_check_take_not_compared(void);

/** Takes the first finding that has not been taken. @return false: there is none */
bool rp_finding_take(struct rp_check_record *ret);

/** Sets what is checked, and begins the file of this process, if there is a folder. */
void rp_findings_begin(unsigned what, const char *folder);
/** Writes it if there are new ones. */
void rp_findings_flush(void);

#endif
