/**
 * @file replay.h
 * @brief rocm-perf-replay: a process that has the memory of a capture at its addresses, and runs
 * the captured dispatch.
 *
 * Order: the ranges are taken (replay_device.c) before the runtime is loaded; the runtime comes;
 * memory is rebuilt (replay_memory.c) before the code object is loaded
 * (replay_code.c).
 */
#ifndef RP_REPLAY_REPLAY_H
#define RP_REPLAY_REPLAY_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "replay/output_rules.h"
#include "replay/replay_protocol.h"
#include "trace/capture.h"
#include "trace/records.h"

static inline int rp_replay_refused(const char *what, uint32_t status, struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "the runtime refused to %s (status 0x%x)", what, status);
}

struct rp_redzone;
struct rp_replay;
struct rp_snapshot_region;
struct rp_redzone_watch;

/* Redzones lie between the captured memory and the ends of its pages. An allocation ends where it
 * ends, but a process has whole pages. A write behind an allocation therefore harms nobody in the
 * replay, but it is wrong.
 */

/** A redzone is less than a page beside a region, where a kernel must not write. */
struct rp_redzone {
    uint64_t address, bytes;
    bool host;
};

/** This stands for hsa_queue_t. */
struct rp_replay_queue {
    uint32_t type, features;
    void *base;
    uint64_t doorbell;
    uint32_t size_packets, reserved;
    uint64_t id;
};
static_assert(sizeof(struct rp_replay_queue) == 40, "hsa_queue_t");

/** This is laid out as amd_signal_t, which the handle of a signal points to. */
struct rp_replay_signal {
    int64_t kind, value;
    uint64_t mailbox;
    uint32_t event, reserved;
    uint64_t start_ticks, end_ticks, queue;
    uint32_t reserved2[2];
};
static_assert(sizeof(struct rp_replay_signal) == 64, "amd_signal_t");

/** This is laid out as hsa_amd_memory_access_desc_t. */
struct rp_replay_access {
    uint32_t permissions;
    uint64_t agent;
};
static_assert(sizeof(struct rp_replay_access) == 16, "hsa_amd_memory_access_desc_t");

/** This is laid out as hsa_amd_event_t of a memory fault. */
struct rp_replay_event {
    uint32_t type; /**< RP_REPLAY_MEMORY_FAULT */
    uint64_t agent, address;
    uint32_t reasons;
};
static_assert(sizeof(struct rp_replay_event) == 32, "hsa_amd_event_t");

enum {
    RP_REPLAY_MEMORY_FAULT = 0, /**< hsa_amd_event_type_t */

    /** There are no more kinds of arguments by which a kernel reaches its host. */
    RP_HOST_ARGS = 8,
    /** Nothing is at the address of a queue or a buffer, nor where its parts would be. */
    RP_HOST_ARG_BYTES = 1 << 20,
};

/**
 * The runtime of the program answered what a kernel asks by these arguments. Many kernels have
 * them and never ask, because the compiler could not rule it out. In a replay they hold addresses
 * where nothing is, so that a kernel which asks is stopped, and no other is harmed.
 */
struct rp_host_args {
    uint64_t base; /**< of addresses where nothing is; 0: no argument has needed them */
    size_t count;
    struct {
        const char *kind; /**< such as "hidden_hostcall_buffer" */
        const char *why;
    } at[RP_HOST_ARGS];
    size_t asked; /**< index of the one by which the kernel has asked, plus 1; 0: none */
};

/** Returns the index of the argument whose address this is, plus 1; 0: it is of none. */
static inline size_t rp_host_args_find(const struct rp_host_args *args, uint64_t address)
{
    const uint64_t which = (address - args->base) / RP_HOST_ARG_BYTES;

    return args->base && which < args->count ? which + 1 : 0;
}

struct rp_replay_hsa {
#define RP_HSA(ret, name, args) ret(*name) args;
#include "replay/replay_hsa.def"
};

/** A range is made of the whole pages that one region or several in a row take. */
struct rp_replay_range {
    uint64_t base, bytes;
    uint32_t flags; /**< enum rp_memory_flag: host or not, and its grain where that is known */
    uint32_t node;  /**< whose it was, of device memory */
    bool code;      /**< nothing but code objects as they were loaded */
};

/** These are pools for memory that is visible to all, by grain; 0 means that there is none. */
struct rp_replay_pools {
    uint64_t coarse, fine, kernarg;
};

struct rp_replay_gpu {
    uint64_t agent;
    uint32_t node;
    struct rp_replay_pools pools;
    bool same; /**< as the captured one */
};

enum {
    RP_REPLAY_GPUS = 64,

    /** The value is a hsa_amd_memory_pool_global_flag_t. */
    RP_REPLAY_POOL_KERNARG = 1,
    RP_REPLAY_POOL_FINE = 2,
    RP_REPLAY_POOL_COARSE = 4,
    RP_REPLAY_POOL_EXTENDED_FINE = 8,
};

/** At most this many arguments are passed by value. */
enum { RP_SCALARS = 64 };

struct rp_scalars {
    size_t count;
    struct {
        uint32_t offset, bytes; /**< 4 or 8; of fields 1, 2 or 4 */
        bool field;             /**< a word of a structure, or an argument of 1 or 2 bytes */
        bool may_point;         /**< it may be half of an address */
    } at[RP_SCALARS];           /**< further ones are left as they are, fields first */
};

/** The runtime tells a kernel its grid here. */
struct rp_grid_arg {
    uint32_t offset, bytes; /**< no bytes: it is not told */
};

struct rp_grid_args {
    struct rp_grid_arg count[3], size[3], remainder[3];
};

enum { RP_VISIBLE_ARGS = 64 };

/** What a value is, as far as a kernel's signature says. */
enum rp_scalar_type { RP_SCALAR_UNKNOWN, RP_SCALAR_INTEGER, RP_SCALAR_NUMBER };

/** These are the kernel's own arguments, in their order. */
struct rp_visible_args {
    size_t count;
    struct {
        uint32_t offset;
        bool pointer;
        bool no_alias;              /**< what it points to is only reached by it */
        enum rp_number_type type;   /**< of what it points to, as the kernel's signature says */
        enum rp_scalar_type scalar; /**< what it is if it is no pointer, likewise */
    } at[RP_VISIBLE_ARGS];
};

/** A span holds variables and constants of a code object that is loaded somewhere. */
struct rp_replay_span {
    uint64_t captured; /**< offset in the captured code object */
    uint64_t from;     /**< offset in this one */
    uint64_t bytes;
    bool writable; /**< of a segment: holds variables, and not what the loader reads */
};

/** At most this many arguments of the runtime tell a kernel how it is launched. */
enum { RP_LAUNCH_NUMBERS = 16 };

/** A kernel may be launched with workgroups of a size other than the captured one (other_launch.h).
 */
struct rp_replay_launch_change {
    bool given; /**< else it is launched as the captured one */
    uint32_t grid[3];
    uint16_t workgroup[3], setup;
    size_t count; /**< of the runtime's arguments that say so */
    struct {
        uint32_t offset, bytes, value;
    } at[RP_LAUNCH_NUMBERS];
};

struct rp_replay_kernel {
    struct rp_replay_launch_change launch;
    uint64_t object;
    uint64_t code_base; /**< where the loader has put the code object */
    const char *name;   /**< "captured kernel", "kernel of PATH" */
    const char *path;   /**< of the code object, of one that takes the captured one's place */
    uint32_t private_bytes, group_bytes;
    struct rp_replay_span *segments; /**< all that can be variables */
    size_t segment_count;
    struct rp_replay_span *variables; /**< that the captured code object has as well */
    size_t variable_count;
    struct rp_replay_span *fixed; /**< code, and what the loader fills with addresses */
    size_t fixed_count;
    uint8_t *loaded_fixed; /**< likewise */
    uint8_t *loaded;       /**< contents of the segments as the loader left them; NULL: not kept */
};

/** At most this many other kernels run in the place of the captured one. */
enum { RP_REPLAY_CANDIDATES = 2 };

struct rp_replay {
    struct rp_capture *capture;
    const struct rp_capture_facts *facts;
    const struct rp_capture_memory *memory;
    size_t memory_count;
    bool reads_clock; /**< code that runs may (s_memtime, s_memrealtime) */
    const struct rp_capture_memory
        *code;        /**< of it: of the kernel; NULL: it is not in the capture */
    uint64_t *places; /**< of each region of it */
    struct rp_replay_range *ranges;
    size_t range_count;

    struct rp_replay_hsa hsa;
    struct rp_replay_gpu gpus[RP_REPLAY_GPUS];
    size_t gpu_count;
    uint64_t cpu, gpu; /**< agents; the kernel's */
    uint64_t gpu_pool; /**< its coarse-grained one */
    struct rp_replay_pools host_pools;
    uint64_t ticks_hz;
    uint8_t *stage;   /**< host memory for copies */
    uint64_t copied;  /**< signal of a copy */
    bool taken;       /**< something came to a range while it was given to the runtime */
    bool fresh;       /**< the ranges have been mapped, and nothing has been written */
    uint64_t **zeros; /**< of each region a bit per page: it is known to hold zeros now */
    char gpu_name[64], product[64]; /**< "" = the runtime does not know it */

    struct rp_replay_kernel original, candidates[RP_REPLAY_CANDIDATES];
    const struct rp_replay_kernel *kernel; /**< which of them is run */
    void *kernarg, *kernarg_kept;          /**< what the kernel gets; the same, out of its reach */
    size_t kernarg_bytes;                  /**< of both, with some behind the arguments */
    bool kernarg_on_device;                /**< the first of them; as in the program */
    struct rp_scalars scalars;             /**< among them */
    struct rp_host_args host_args;         /**< by which it could ask its host */
    struct rp_grid_args grid_args;         /**< likewise */
    struct rp_visible_args visible;
    const char
        *launch_of; /**< folder of a capture, as of which the last candidate is launched; NULL */
    const uint32_t *grid;       /**< instead of the captured one; NULL */
    const uint16_t *workgroup;  /**< instead of the captured size; NULL */
    const uint32_t *other_grid; /**< instead of that of a launch of a kernel's own; NULL */
    bool required_workgroup;    /**< one of the kernels has no other size */
    /** The captured kernel is launched as it was not captured: a fault ends it where the device can
     * be told so, and what it changes beside its memory is reported. */
    bool trying;
    bool ended_early; /**< the last kernel was ended by its bound or a fault; the queue goes on */
    struct rp_redzone_watch *watch; /**< NULL: no other kernel runs */
    struct rp_replay_queue *queue;
    uint64_t signal, ended; /**< of the kernel, and of what follows it */
    enum rp_cache cache;
    bool software;      /**< time is modelled */
    bool traced;        /**< a tracer times copies, too: each has a signal of its own */
    const char *timing; /**< by which model; NULL: it is not */
    /** Of the last run, where its time is from counts: between which times it is; 0s: unknown */
    double between_us[2];
    void *flush; /**< device memory that is larger than all caches; NULL: not needed */
    uint64_t flush_bytes;
    uint32_t flush_value;
    int step_fd;         /**< see replay_protocol.h; -1: none */
    unsigned patience_s; /**< until a copy or a kernel is taken not to end */
    unsigned bound_s;    /**< likewise a kernel, once the captured one has been timed; 0: not yet */
    double captured_s;   /**< what it took then, with launch and wait */
    /** The same as work (records.h), which decides on the software device, where time depends
     * on what else the machine does; 0: not yet, or it is no software device. */
    uint64_t bound_work, captured_work;
    unsigned waits; /**< of which kernels it was said: 1 captured, 2 and 4 candidates */
};

enum {
    RP_REPLAY_STAGE_BYTES = 4 << 20,
    RP_REPLAY_CONDITION_LT = 2, /**< hsa_signal_condition_t */
};

/* These functions are defined in replay_device.c. */
/** Takes all ranges of the capture. @return RP_VERDICT naming the range and what is there */
int rp_replay_reserve_ranges(struct rp_replay *r, struct rp_err *err);
/** @param library  path of libhsa-runtime64.so.1, which is loaded */
int rp_replay_find_device(struct rp_replay *r, const char *library, struct rp_err *err);
/**
 * Returns what the software device can be asked. NULL: the device is a GPU, or has another version
 */
const struct rp_device_table *rp_replay_software(void);

/**
 * Sets in which order workgroups begin and waves take turns from now on.
 * @param order  as of set_order (records.h)
 * @return false: the device is a GPU, which takes no such orders
 */
static inline bool rp_replay_set_wave_order(uint32_t order)
{
    const struct rp_device_table *table = rp_replay_software();

    if (table)
        table->set_order(order);
    return table != NULL;
}

/**
 * Sets whether the times of runs from now on are needed. The software device models none else,
 * which saves most of a run; a GPU takes them anyway. Where a kernel reads a clock all are
 * modelled, because it could tell which runs are looked at for what.
 */
static inline void rp_replay_set_timed(const struct rp_replay *r, bool timed)
{
    const struct rp_device_table *table = rp_replay_software();

    if (table)
        table->set_timed(timed || r->reads_clock);
}

/**
 * Returns how much work the last kernel was (records.h); 0: unknown.
 * @return whether it was stopped for it
 */
static inline bool rp_replay_hit_work_limit(uint64_t *ret_work)
{
    const struct rp_device_table *table = rp_replay_software();

    *ret_work = 0;
    return table && table->last_work(ret_work);
}

/** Maps memory at its captured addresses, each range with its own kind and on its own GPU. */
int rp_replay_map(struct rp_replay *r, struct rp_err *err);

/* These functions are defined in replay_memory.c. */
int rp_replay_copy_staged(struct rp_replay *r, uint64_t address, bool host, uint64_t bytes,
                          bool to_gpu, struct rp_err *err);

/** Changes a page before it is written. @param m  of r->memory */
typedef int (*rp_replay_edit_page)(void *data, const struct rp_capture_memory *m, uint64_t page,
                                   size_t bytes, uint8_t *contents, struct rp_err *err);
/**
 * Is called with a page.
 * @param contents, expected RP_PAGE_BYTES, with zeros behind the region's end
 */
typedef int (*rp_replay_visit_page)(void *data, const struct rp_capture_memory *m, uint64_t page,
                                    const uint8_t *contents, const uint8_t *expected,
                                    struct rp_err *err);

/** A row is made of consecutive pages of a region, at most RP_REPLAY_STAGE_BYTES. */
struct rp_replay_row {
    const struct rp_capture_memory *m;
    uint64_t first, pages;
};

/** They get their state before the dispatch. @param edit  may be NULL */
int rp_replay_fill_row(struct rp_replay *r, const struct rp_replay_row *row,
                       rp_replay_edit_page edit, void *data, struct rp_err *err);
/** Visits each page of the row with what it should hold after the dispatch. */
int rp_replay_look_at_row(struct rp_replay *r, const struct rp_replay_row *row,
                          rp_replay_visit_page look, void *data, struct rp_err *err);

/** A kernel may write anything. */
void rp_replay_forget_zeros(struct rp_replay *r);

/** Gives memory its state before the dispatch. @param edit may be NULL */
int rp_replay_fill(struct rp_replay *r, rp_replay_edit_page edit, void *data, struct rp_err *err);
/**
 * Restores memory that had this state, if only what the captured dispatch changes was changed
 * since.
 */
int rp_replay_restore(struct rp_replay *r, struct rp_err *err);
int rp_replay_restore_region(struct rp_replay *r, const struct rp_capture_memory *m,
                             struct rp_err *err);
int rp_replay_look_at_region(struct rp_replay *r, const struct rp_capture_memory *m,
                             rp_replay_visit_page look, void *data, struct rp_err *err);
/**
 * Visits all pages except those of the kernel's code object, with what they should hold after the
 * dispatch.
 */
int rp_replay_look_at(struct rp_replay *r, rp_replay_visit_page look, void *data,
                      struct rp_err *err);

struct rp_replay_verdict {
    uint64_t regions, bytes; /**< compared */
    uint64_t different_pages, different_bytes;
    uint64_t first_address; /**< of the first byte that differs */
    uint8_t got, expected;
};
/** Notes where two pages differ. */
void rp_replay_note_difference(struct rp_replay_verdict *v, uint64_t address, const uint8_t *got,
                               const uint8_t *expected, uint64_t bytes);

int rp_replay_fill_variables(struct rp_replay *r, struct rp_err *err);

struct rp_variables_written {
    uint64_t bytes;
    uint64_t blind_bytes; /**< of them: with the value that was there */
};

/** Variables of r->original get another state before a run, where its code finds them.
 * @return whether there are any, or negative */
int rp_replay_flip_variables(struct rp_replay *r, struct rp_err *err);
/** Counts which variables that run has written, or the captured dispatch had. */
int rp_replay_count_variables(struct rp_replay *r, struct rp_variables_written *ret,
                              struct rp_err *err);
/* These functions are defined in replay_launch.c. */
/** Variables are as they were loaded for r->kernel, if that was kept: what the kernel has kept for
 * its next run is gone.
 */
int rp_replay_reset_loaded(struct rp_replay *r, struct rp_err *err);
/* These functions are defined in replay_memory.c. */
int rp_replay_compare_variables(struct rp_replay *r, struct rp_replay_verdict *v,
                                struct rp_err *err);

/* These functions are defined in replay_device.c. */
/** Sees whether r->cache can be had. */
int rp_replay_prepare_cache(struct rp_replay *r, struct rp_err *err);
/** Empties the caches before a run, for RP_CACHE_COLD. */
int rp_replay_empty_caches(struct rp_replay *r, struct rp_err *err);

/* These functions are defined in replay_code.c. */
/** @param candidates  paths of code objects that are to run in place of the captured one; or NULL
 */
int rp_replay_load_kernels(struct rp_replay *r, const char *hsaco,
                           const char *const candidates[RP_REPLAY_CANDIDATES], const char *kernarg,
                           struct rp_err *err);

/* These functions are defined in replay_launch.c. */
/**
 * Prepares what launches need: numbers of places, the arguments in memory of their own, and a
 * queue. It also prepares checks of what kernels other than the captured kernel must not change.
 */
int rp_replay_prepare_launch(struct rp_replay *r, const void *args, size_t bytes,
                             struct rp_err *err);
/** Runs r->kernel. @return 0; RP_VERDICT: the kernel does not end; RP_ENVIRONMENT: the machine is
 * too slow to tell */
int rp_replay_run(struct rp_replay *r, double *ret_us, struct rp_err *err);

/* Another kernel can write this beside the captured memory: the redzones of its pages, and the
 * packets that start it. Both have the same contents before each run, so that nothing can be kept
 * there for the next one, and redzones are compared after each. What the captured kernel itself
 * changes is not counted against another.
 */

/** This counts the bytes outside its memory that a kernel has changed. */
struct rp_redzone_writes {
    uint64_t bytes;
    uint64_t first_address;
    uint8_t got, expected;
};

/** Begins to watch; kernels have been loaded. Kept in @p r for as long as the process lives. */
void rp_redzone_begin(struct rp_replay *r);

/** Fills redzones before a run. It does nothing if nothing is watched. */
int rp_redzone_fill(struct rp_replay *r, struct rp_err *err);

/** Checks redzones after a run of r->kernel. */
int rp_redzone_check(struct rp_replay *r, struct rp_err *err);

/** Returns what kernels other than the captured one have changed since the last call. */
struct rp_redzone_writes rp_redzone_take(struct rp_replay *r);

/* --- inline -------------------------------------------------------------------------------- */

/** Says what is done from here on (replay_protocol.h). */
static inline void rp_replay_step(const struct rp_replay *r, char step)
{
    /* Nobody is told: a crash is then one of the other kernel. */
    if (r->step_fd >= 0 && pwrite(r->step_fd, &step, 1, 0) < 0)
        return;
}

/** Reports progress to whoever waits. */
static inline void rp_replay_at(const struct rp_replay *r, enum rp_replay_phase phase,
                                uint64_t done, uint64_t most)
{
    const struct rp_replay_at at = {phase, (uint32_t)done, (uint32_t)most};

    if (r->step_fd >= 0 && pwrite(r->step_fd, &at, sizeof at, RP_STEP_PROGRESS_AT) < 0)
        return; /* Nobody is shown the progress then. */
}

/** Returns the launch of the kernel that is not launched as the captured one. NULL: none is. */
static inline const struct rp_replay_launch_change *
rp_replay_other_launch(const struct rp_replay *r)
{
    for (unsigned i = 0; i < RP_REPLAY_CANDIDATES; i++)
        if (r->candidates[i].launch.given)
            return &r->candidates[i].launch;
    return NULL;
}

static inline size_t rp_replay_region(const struct rp_replay *r, const struct rp_capture_memory *m)
{
    return (size_t)(m - r->memory);
}

/**
 * Returns a number for a page of a region in r->memory, in bytes, which is the same in each
 * session.
 */
static inline uint64_t rp_replay_place(const struct rp_replay *r, const struct rp_capture_memory *m,
                                       uint64_t page)
{
    return r->places[m - r->memory] + page * RP_PAGE_BYTES;
}

/** Returns how many bytes of a page belong to the region. */
static inline uint64_t rp_replay_page_bytes(const struct rp_capture_memory *m, uint64_t page)
{
    const uint64_t left = m->region.bytes - page * RP_PAGE_BYTES;

    return left < RP_PAGE_BYTES ? left : RP_PAGE_BYTES;
}

/** Tests whether rp_replay_restore() restores that page. */
static inline bool rp_replay_is_restored(const struct rp_capture_memory *m, uint64_t page)
{
    const struct rp_page_run *run = m->changed_pages ? rp_region_map_find(&m->after, page) : NULL;

    return run && run->page <= page;
}

#endif
