/**
 * @file bottleneck.h
 * @brief Finds what limits each kernel, how much there is to gain, and which kernel to look at
 * first. Rules: docs/how-it-decides.md, "Bottleneck verdict".
 */
#ifndef RP_ANALYZE_BOTTLENECK_H
#define RP_ANALYZE_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/finding.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"

struct rp_bottleneck_inputs;
struct rp_counters;
struct rp_dag_result;
struct rp_err;
struct rp_kernel_stats;
struct rp_profile;
struct rp_thread_traces;

/** Says of what a kernel's weight is a part. */
enum rp_rank_basis {
    RP_RANK_NOTHING,       /**< no times: weights are unknown */
    RP_RANK_KERNEL_TIME,   /**< the sum over all kernels */
    RP_RANK_CRITICAL_PATH, /**< the end-to-end time */
};
/** The names are "critical_path" and "kernel_time"; NULL stands for nothing. */
extern const char *const rp_rank_basis_names[];

/** Says how many waves there were, and could be. */
struct rp_residency {
    struct rp_quantity waves_per_simd; /**< mean on a SIMD with any */
    const char *formula;               /**< where that is from; NULL = unknown */
    uint32_t max_waves_per_simd;       /**< 0 = unknown */
    struct rp_quantity theoretical;    /**< 0..1 */
    const char *limiter;               /**< "vgpr" ...; NULL = unknown */
    const char *second_limiter;        /**< allows no more waves than the first; NULL = none */
};

/** These thread traces of a kernel give its stalls and waves. */
struct rp_traced {
    uint64_t used;    /**< dispatches */
    uint64_t partial; /**< of these: something is missing, such as the ends of waves */
    uint64_t sampled; /**< of these: not all workgroups were modelled */
    uint64_t damaged; /**< not used */
};

enum { RP_OTHER_FINDINGS = 3 };

struct rp_bottleneck_kernel {
    char *name;
    uint64_t calls; /**< 0 = unknown */
    struct rp_quantity time_ns;
    struct rp_quantity min_ns, max_ns, deviation_ns; /**< of a dispatch; with sums_alone */
    struct rp_features features;
    struct rp_residency residency;
    struct rp_traced traced;
    struct rp_quantity hbm_bytes;      /**< moved by the counted dispatches */
    double simds;                      /**< of the GPU; 0 = unknown */
    struct rp_quantity launched_waves; /**< of a dispatch */
    double hbm_peak_gbps;              /**< of the GPU; 0 = unknown */
    struct rp_wave_time waves;         /**< of its thread traces; cycles are 0 without any */
    struct rp_finding finding;
    struct rp_finding also[RP_OTHER_FINDINGS]; /**< further mistakes, by their gain */
    size_t also_count;
    enum rp_bottleneck label;            /**< of the finding's cause */
    struct rp_quantity headroom;         /**< part of the kernel's time that could go */
    const char *assumption;              /**< of the headroom; NULL when it is unknown */
    struct rp_quantity weight;           /**< of the basis */
    struct rp_quantity priority;         /**< weight x headroom */
    struct rp_quantity end_to_end_bound; /**< speed-up of the program when that part is gone */
    struct rp_quantity free_bound;       /**< when the kernel takes no time at all */
};

struct rp_bottlenecks {
    struct rp_origin origin; /**< of all times but those of waves */
    bool modelled_waves;     /**< those are of thread traces of the software device */
    bool sums_alone;         /**< of statistics of kernels: nothing is known of any dispatch */
    enum rp_rank_basis basis;
    struct rp_quantity total_ns; /**< of the basis */
    /** Says what limits the program as a whole: launches, the host, copies, communication, or the
     * cause of the first kernel, whose line and gain it then has, too. */
    struct rp_finding program;
    struct rp_quantity program_share;     /**< part of the total that the program's cause takes */
    bool program_is_kernel;               /**< the cause is that of a kernel */
    size_t program_kernel;                /**< index of that one */
    struct rp_bottleneck_kernel *kernels; /**< by priority (unknown: weight), weight, time, name */
    size_t kernel_count;
    const struct rp_profile *profile; /**< of the inputs, which has to stay; NULL: none */
};

/** Everything may be NULL. Kernels are the same when their names or symbols are. */
struct rp_bottleneck_inputs {
    const struct rp_dag_result *dag;
    const struct rp_profile *profile;
    const struct rp_roofline *roofline;
    const struct rp_counters *counters;  /**< that the roofline is from */
    const struct rp_kernel_stats *stats; /**< where there is neither profile nor roofline */
    const struct rp_thread_traces *traces;
    const char *arch; /**< --arch; NULL */
    struct rp_origin origin;
};

/**
 * Lists the counters that the rules need beside those of a roofline, as rp_roofline_needs does.
 * Groups are numbered from @p first_group. There are none for GPUs other than CDNA, whose counters
 * have other meanings.
 */
size_t rp_bottleneck_needs(const char *gfx, unsigned first_group, struct rp_roofline_need *ret,
                           size_t room);

/** @return 0 or RP_ENVIRONMENT */
int rp_bottlenecks_find(const struct rp_bottleneck_inputs *inputs, struct rp_bottlenecks *ret,
                        struct rp_err *err);
void rp_bottlenecks_free(struct rp_bottlenecks *bottlenecks);

#endif
