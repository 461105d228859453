/**
 * @file profile.h
 * @brief Computes plain results from traces. The functions are pure: the same input gives the same
 * output.
 */
#ifndef RP_ANALYZE_PROFILE_H
#define RP_ANALYZE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct rp_arch;
struct rp_buf;
struct rp_err;
struct rp_profile_memory;
struct rp_row_dispatch;
struct rp_store;

/* The steps of rp_profile_compute: GPUs, kernel identities, grouping. */

/** Holds the strings of one profile. */
struct rp_profile_memory {
    char **strings;
    size_t count, capacity;
};

/** Says what keeps more waves from being resident. */
enum rp_occupancy_limit {
    RP_LIMIT_NONE = 0, /**< the hardware's wave slots are all usable */
    RP_LIMIT_VGPR,
    RP_LIMIT_SGPR,
    RP_LIMIT_LDS,
    RP_LIMIT_WORKGROUP_SIZE, /**< whole workgroups do not fill the wave slots, or the workgroup cap
                              */
};

/** These are the resources of one kernel as a dispatch uses them. */
struct rp_kernel_resources {
    uint32_t arch_vgpr; /**< as stored in rocpd: multiple of the granule on gfx9 */
    uint32_t accum_vgpr;
    uint32_t sgpr;
    uint32_t lds_bytes;      /**< static + dynamic, per workgroup */
    uint32_t scratch_bytes;  /**< per work-item */
    uint32_t workgroup_size; /**< work-items */
    uint32_t wave_size;      /**< 0 = the architecture's default */
};

#define RP_NO_LIMIT UINT32_MAX

/** "Per CU" means per block of CUs that one workgroup's waves share: one CU on CDNA, a WGP of two
 *  CUs on RDNA (cus_per_block). With known == false only reason and wave_size are set. */
struct rp_occupancy {
    bool known;              /**< false: not a launchable combination or unknown architecture */
    double theoretical;      /**< resident waves / wave slots, 0..1 */
    uint32_t waves_per_simd; /**< floor(waves_per_cu / SIMDs) */
    uint32_t max_waves_per_simd;
    uint32_t waves_per_cu, workgroups_per_cu, max_waves_per_cu;
    uint32_t cus_per_block;
    uint32_t wave_size; /**< lanes of a wave that were reckoned with */
    uint32_t waves_per_workgroup;
    enum rp_occupancy_limit limiter;
    /* Each resource alone would allow so much: waves per SIMD (VGPR, SGPR; at most the wave slots)
     * and workgroups per CU (slots: wave slots and workgroup cap; LDS: RP_NO_LIMIT without). */
    uint32_t vgpr_waves_per_simd, sgpr_waves_per_simd;
    uint32_t slot_workgroups_per_cu, lds_workgroups_per_cu;
    char reason[128]; /**< one sentence; why unknown, or what the limiter is */
};

/** The rules are LLVM's and the hardware's limits; docs/formats.md has them. It never fails: an
 * unknown architecture (NULL) or a launch that cannot exist gives known == false with the reason.
 * When several limits tie, the first of workgroup size, VGPR, SGPR, LDS is named. */
void rp_occupancy_compute(const struct rp_arch *arch, const struct rp_kernel_resources *res,
                          struct rp_occupancy *ret);
extern const char *const rp_occupancy_limit_names[];

enum rp_stability_class { RP_STABLE = 0, RP_MODERATE, RP_UNSTABLE, RP_STABILITY_UNKNOWN };

struct rp_stability {
    uint32_t runs;
    double mean_ms, stddev_ms;              /**< sample standard deviation; 0 with one run */
    double cv;                              /**< stddev / mean */
    enum rp_stability_class classification; /**< stable <= 0.05 < moderate <= 0.10 < unstable;
                                                 unknown with one run */
};

void rp_stability_compute(const double *runtime_ms, size_t runs, struct rp_stability *ret);
extern const char *const rp_stability_class_names[];

/** This covers dispatches that the software device timed by simulations of some of their waves. */
struct rp_simulated_timing {
    uint64_t calls;          /**< 0: none, and the rest says nothing */
    uint64_t waves;          /**< of these dispatches */
    uint64_t replayed_waves; /**< of these */
    double error_share;      /**< of their time: estimate of the error that the other waves add */
    bool fast_clocks_known;
    uint64_t fast_clock_waves; /**< of waves: those that read a clock which went on as with fast
                                    timing, because they were not sampled, or were too long */
    /** Of dispatches without a replay, their bounds, and sums of them. */
    uint64_t bounded_calls;
    double shortest_ns, longest_ns;
};

/** This counts dispatches that ran at the same time on one device of one process. */
struct rp_overlapped {
    uint64_t dispatches; /**< that overlap another one */
    uint64_t ns;         /**< in which two or more ran, summed over devices */
};

/**
 * This is one kernel over all its dispatches of the base run: same GPU, name, symbol and registers.
 * A geometry is what one launch chose: grid, block, LDS and scratch bytes. grid, block, resources
 * and occupancy are those of the most frequent geometry (the first launched on ties).
 */
struct rp_kernel_summary {
    const char *name;      /**< demangled; owned by the profile */
    const char *symbol;    /**< mangled, without .kd */
    uint64_t code_hash;    /**< rp_kernel_contents; 0 = unknown */
    bool symbol_known;     /**< false: the trace lacks the symbol, registers are not known */
    bool runtime_internal; /**< __amd_rocclr_*: the runtime's own copy and fill kernels */
    uint64_t calls;
    uint64_t timed_calls;              /**< those with usable times; the times below are theirs */
    uint64_t total_ns, min_ns, max_ns; /**< all 0 when timed_calls is 0 */
    double share;                      /**< of the runtime of its class (user or runtime kernels) */
    struct rp_simulated_timing replayed;
    uint64_t grid[3]; /**< work-items */
    uint32_t block[3];
    uint32_t geometries; /**< distinct geometries */
    struct rp_kernel_resources resources;
    struct rp_occupancy occupancy;
    uint32_t agent; /**< index into rp_profile.agents */
    uint32_t rank;  /**< order of the kernel's identity (name, symbol, registers) */
    /** "file:line" from which most launches came, on any GPU; owned by the profile. NULL: unknown
     */
    const char *launch_line;
    uint32_t launch_order; /**< of that line among all that call HIP, by their first calls */
};

/** Says whether bytes of LDS or scratch memory are known: 0 is only where the trace has the symbol,
 * which the PyTorch profiler's has not. */
static inline bool rp_kernel_bytes_known(const struct rp_kernel_summary *k, uint32_t bytes)
{
    return k && (k->symbol_known || bytes > 0);
}

/** Says whether the launch is known: a grid and a workgroup have one work-item at least. */
static inline bool rp_kernel_launch_known(const struct rp_kernel_summary *k)
{
    return k && k->grid[0] && k->block[0];
}

struct rp_agent_summary {
    char name[32]; /**< gfx942 */
    char product[96];
    const struct rp_arch *arch; /**< NULL: not in our table */
    int64_t trace_id;           /**< the trace's agent id (driver node) */
    uint32_t compute_units; /**< from the trace if present, else the architecture's; 0 = unknown */
    uint32_t wave_size;     /**< likewise */
    uint32_t xcc_count;     /**< likewise */
    uint32_t engine_clock_mhz;   /**< likewise; the highest, unless another one was modelled */
    uint32_t modelled_clock_mhz; /**< that; 0: none was */
    uint32_t memory_clock_mhz;   /**< likewise */
    uint64_t memory_bytes;       /**< likewise */
    const char *family;          /**< "CDNA3"; static; NULL: not in our table */
    uint32_t simds_per_cu, max_waves_per_simd, lds_bytes_per_cu; /**< 0: not in our table */
    bool vgprs_doubled; /**< gfx950 trace of ROCm 7.0/7.1: register counts were mended */
};

/** These launches were refused by HIP in the same way, or their kernel is not in the trace. */
struct rp_failed_launch {
    const char *api;    /**< "hipLaunchKernel" */
    const char *error;  /**< "hipErrorInvalidConfiguration"; NULL: the trace does not say */
    uint32_t code;      /**< of the error, likewise 0 */
    const char *kernel; /**< demangled; NULL: not known, or a graph */
    const char *symbol; /**< mangled, likewise */
    uint64_t calls;
    uint64_t grid[3]; /**< work-items, of the first of them; 0: not known */
    uint32_t block[3];
    uint64_t dynamic_lds_bytes;
};

/** Says what the program asked HIP to launch, and what of it started no kernel. */
struct rp_launches {
    bool known;      /**< false: the traces have no HIP calls */
    bool inferred;   /**< of a trace that has no results of calls: its dispatches were missed */
    uint64_t calls;  /**< that launch kernels or graphs */
    uint64_t failed; /**< of these */
    struct rp_failed_launch *list; /**< the first 64 kinds of failed ones of each process */
    size_t count;
};

/** This is what one process ran, beside the others. */
struct rp_process_summary {
    int64_t pid;
    int64_t rank; /**< with rank_known: of MPI, Slurm or torchrun */
    bool rank_known;
    bool complete;        /**< its trace was closed in order, and nothing of it was lost */
    const char *hostname; /**< "": not known */
    const char *command;  /**< "": not known */
    uint64_t dispatches;
    uint64_t total_ns; /**< sum of (end - start) */
    uint64_t
        span_ns; /**< from the start of its first kernel to the end of its last, on its clock */
    const char *kernel; /**< the one that took most of its time; NULL: none did */
    uint64_t kernel_ns;
    size_t order; /**< in which the traces were given */
};

struct rp_profile {
    struct rp_agent_summary *agents; /**< GPUs that ran something */
    size_t agent_count;
    struct rp_kernel_summary *kernels; /**< user kernels first by total time, then runtime ones */
    size_t kernel_count;
    uint64_t user_ns, runtime_internal_ns; /**< base run: sum of (end - start) */
    /** From the start of the first kernel or copy to the end of the last one; 0: unknown, or of
     * several processes, whose clocks may differ. */
    uint64_t gpu_span_ns;
    uint64_t dispatches;          /**< all of the base run, unusable ones included */
    uint64_t unknown_kernels;     /**< dispatches whose kernel row is missing: listed by their id */
    uint64_t repaired_timestamps; /**< dispatches with end < start or a missing time: excluded */
    uint64_t clipped_ends;        /**< dispatches whose end cannot be: rp_clip_late_ends */
    struct rp_process_summary *processes; /**< by rank, then by machine and pid */
    size_t process_count;
    bool own_clocks;  /**< the processes' times do not compare: they ran on the software device */
    bool complete;    /**< by what its traces say, nothing was lost */
    const char *part; /**< RP_STORE_PART_TAG of a trace; NULL: all of the run is recorded, or a
                           part that the program chooses */
    struct rp_launches launches; /**< of the base run */
    const char *timing_model;    /**< of the software device: "counts", "detailed", "off"; NULL: the
                                      times are measured, or the traces do not say */
    uint32_t timing_version;     /**< of that model */
    struct rp_simulated_timing replayed; /**< over all kernels */
    struct rp_overlapped overlapped;     /**< with timing_model; simulated ones share the device */
    const char *copy_line; /**< "file:line" whose copies take most time; NULL: unknown */
    const char *host_line; /**< of the waiting or working call before which the program's own code
                              takes most time; NULL: unknown, or the times are modelled */
    struct rp_stability stability;    /**< over all runs, on the sum over all kernels */
    struct rp_profile_memory *memory; /**< owns the strings */
};

/**
 * Finds the dispatches with impossible ends: after the start of the next packet of their queue by
 * far, or after the return of a call that waited for them. From then on all sums of the stores'
 * times have the assumed times instead (docs/format/dag.md). Call it once for each store;
 * rp_dag_analyze does so, too.
 */
int rp_clip_late_ends(struct rp_store *const *stores, size_t count, struct rp_err *err);

/**
 * Summarises the base run (stores[0 .. base_count-1]: one per process) and takes the runtimes
 * of all runs for the stability.
 * @param runtime_ms  Σ(end - start) over all dispatches of each run, base run first
 */
int rp_profile_compute(struct rp_store *const *stores, size_t base_count, const double *runtime_ms,
                       size_t runs, struct rp_profile **ret, struct rp_err *err);
void rp_profile_free(struct rp_profile *profile);

/**
 * Adds up the times that each kernel of @p base took in a run of the same program, itself included.
 * @param ret_ms one for each kernel of base; NAN: the run has no usable time of it
 */
void rp_profile_kernel_ms(const struct rp_profile *base, const struct rp_profile *run,
                          double *ret_ms);

/** This is a kernel that the base run did not launch. */
struct rp_repeat_kernel {
    struct rp_kernel_summary
        summary;     /**< of the first run that launched it, which owns the strings;
                          agent counts in the base run, beyond it: not there */
    uint64_t *calls; /**< of each run */
    double *ms;      /**< of each run; NAN: no usable time */
    double total_ms; /**< over all runs */
};

struct rp_repeat_kernels {
    struct rp_repeat_kernel *list; /**< the program's first, each by falling time */
    size_t count;
};

/**
 * Lists what only further runs of a program launched, and in which of them.
 * @param repeats one for each run; the first, which is the base run, is not looked at. They have to
 * stay
 */
int rp_profile_repeat_kernels(const struct rp_profile *base, struct rp_profile *const *repeats,
                              size_t runs, struct rp_repeat_kernels *ret, struct rp_err *err);
void rp_repeat_kernels_free(struct rp_repeat_kernels *kernels);

/** This is a kernel that runs of the same program launched differently. */
struct rp_run_difference {
    const char *name, *symbol; /**< the profile's of the first run that launched it */
    uint32_t agent;            /**< index into the base profile's agents; beyond it: not there */
    uint64_t *calls;           /**< of each run */
    bool geometry; /**< grid, block, LDS or scratch of some run differ from those of the base run */
};

struct rp_run_differences {
    struct rp_run_difference *list; /**< in the order of the base profile's kernels, then those
                                       that it has not, by falling time */
    size_t count;
    bool failed; /**< the runs differ in how many launches failed */
};

/**
 * Lists kernels of the program that the runs launched more or less often than the base run did, or
 * with another geometry, and those that the base run did not launch at all.
 * @param repeats as there
 */
int rp_profile_run_differences(const struct rp_profile *base, struct rp_profile *const *repeats,
                               size_t runs, struct rp_run_differences *ret, struct rp_err *err);
void rp_run_differences_free(struct rp_run_differences *differences);

/** Writes "hipLaunchKernel of f(int*): hipErrorInvalidValue (block 64 x 1 x 1)" in the trace's own
 * words. */
void rp_failed_launch_put(struct rp_buf *to, const struct rp_failed_launch *launch);
/** Returns "1 of 2 launch calls started no kernel: ..." with the first kinds; NULL when memory has
 * ended. */
char *rp_launches_text(const struct rp_launches *launches);

/** Computes Σ(end - start) of all dispatches of one store, and counts unusable ones. */
int rp_store_runtime_ns(struct rp_store *store, uint64_t *ret_total_ns, uint64_t *ret_dispatches,
                        uint64_t *ret_bad, struct rp_err *err);

/** Copies len bytes, which the memory owns. It returns NULL when memory has ended. */
const char *rp_profile_keep(struct rp_profile_memory *memory, const char *text, size_t len);

enum { RP_GEOMETRY_COLUMNS = 8 }; /**< grid, block, LDS, scratch: what one launch chose */

/** Holds dispatches of one trace that differ only in their times. */
struct rp_dispatch_group {
    int64_t agent_id, kernel_id; /**< in the trace */
    int64_t geometry[RP_GEOMETRY_COLUMNS];
    int64_t first_start_ns, first_id; /**< of the first of them */
    int64_t last_end_ns;              /**< of those with good times */
    uint64_t count, timed_count;      /**< all; those whose times are good */
    uint64_t total_ns, min_ns, max_ns;
    struct rp_simulated_timing replayed;
    uint64_t replayed_ns; /**< the time of these, which their errors are of */
    uint32_t guid_index;
    uint32_t store;        /**< index of the trace */
    uint32_t agent;        /**< index into rp_profile.agents */
    size_t identity;       /**< index of the kernel identity */
    const char *name;      /**< of that kernel; the profile's */
    bool counts_are_whole; /**< our own tracer: register counts are right by construction */
};

/** Is from the start of the first kernel or copy to the end of the last one. */
struct rp_gpu_span {
    int64_t first_ns, last_ns; /**< last_ns 0: there was none with usable times */
};

/** Groups the dispatches of a trace, in the order of their first ones. The caller frees the array.
 */
int rp_profile_read_groups(struct rp_store *store, uint32_t number, struct rp_dispatch_group **ret,
                           size_t *ret_count, struct rp_overlapped *ret_overlapped,
                           struct rp_gpu_span *ret_span, struct rp_err *err);
/** Computes end - start, or the assumed time after rp_clip_late_ends. It returns false when a time
 * is missing or end < start. */
bool rp_dispatch_duration_ns(const struct rp_store *store, const struct rp_row_dispatch *row,
                             uint64_t *ret_ns);
/** Compares which was launched first, over all traces; it is the last resort of every comparison.
 */
int rp_profile_by_first(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b);

/** Adds what is known of other dispatches, of @p ns in all, to *@p sum of *@p sum_ns. */
void rp_simulated_timing_add(struct rp_simulated_timing *sum, uint64_t *sum_ns,
                             const struct rp_simulated_timing *more, uint64_t ns);
/** Finds the model of time of the traces, which must have the same. */
int rp_profile_timing(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                      struct rp_err *err);

/** Adds up what each process ran.
 * @param groups by trace; they get another order within each
 * @param identity_count of kernels */
int rp_profile_processes(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                         struct rp_dispatch_group *groups, size_t group_count,
                         size_t identity_count, struct rp_err *err);

/** Finds which launches of the traces started no kernel. */
int rp_profile_launches(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                        struct rp_err *err);

/** Grows an array of *capacity elements to hold one more. It returns NULL when memory has ended,
 * and keeps the old array. */
void *rp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes);

/** Refuses kernels whose times add up to more than 64 bits hold.
 * @param store NULL: several */
int rp_refuse_sum(const struct rp_store *store, struct rp_err *err);

/** Limits a column of unknown origin to what the result holds; negative values become 0. */
uint32_t rp_column_u32(int64_t value);

/* Lines of the program's source (call_lines.c). */

/** Adds up what happened at each line. */
struct rp_call_lines;

/** Initialised; to be freed with rp_call_lines_free. NULL: memory has ended */
struct rp_call_lines *rp_call_lines_new(void);
/** Accepts NULL. */
void rp_call_lines_free(struct rp_call_lines *lines);

/** Returns the number of the kernel that a row of a trace is; SIZE_MAX: it is not known. */
typedef size_t rp_kernel_number_fn(const void *ctx, uint32_t guid_index, int64_t kernel_id);

/** Adds a trace, which costs nothing if its calls have no lines. */
int rp_call_lines_add(struct rp_call_lines *lines, struct rp_store *store,
                      rp_kernel_number_fn *number, const void *ctx, struct rp_err *err);

/** Writes the lines of copies and of the host, and of each kernel.
 * @param ranks  of the kernels' numbers, as rp_kernel_summary.rank
 * @return 0, or RP_ENVIRONMENT (memory has ended) */
int rp_call_lines_put(struct rp_call_lines *lines, const uint32_t *ranks, size_t count,
                      struct rp_profile *profile, struct rp_err *err);

/* The JSON columns of a trace. They add detail: text that is not JSON counts as empty. */

/**
 * Reads an extdata column (NULL = none). The result may be NULL, which every json_object_get
 * accepts. Release it with json_decref.
 * @return 0, or RP_ENVIRONMENT (memory has ended)
 */
int rp_extdata_load(const char *text, struct json_t **ret, struct rp_err *err);

/** Finds the rank that a launcher has put into the environment column of a process.
 * @return whether there is one */
bool rp_environment_rank(const struct json_t *environment, int64_t *ret);

/** Reads what traces' metadata say of a modelled clock. NULL: nothing, which is 0. */
uint32_t rp_clock_of(const char *said);

/** Returns a positive integer of the object, or 0 when it is absent, of another kind or above most.
 */
uint64_t rp_extdata_positive(const struct json_t *object, const char *key, uint64_t most);

/* Where a list names a kernel, found without looking at every name. */

/** Holds a name, its rp_kernel_name_length, and its place in the source's list. */
struct rp_indexed_name {
    const char *name;
    size_t length, at;
};

/** It is sorted by name, then place. */
struct rp_name_index {
    struct rp_indexed_name *list;
    size_t count;
};

/** Returns the name at a place of the list; NULL names nothing. */
typedef const char *(*rp_name_of)(const void *list, size_t at);

/** @return false: memory has ended */
bool rp_name_index_make(struct rp_name_index *ret, const void *list, size_t count, rp_name_of name);
/** Finds the places of names that are equal as far as rp_kernel_name_length counts, in ascending
 * order. */
const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count);
void rp_name_index_free(struct rp_name_index *index);

#endif
