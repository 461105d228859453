/**
 * @file kernel_facts.h
 * @brief What a build has made of a kernel: its instructions, what it needs of the GPU, how it
 *        wants its arguments. Read before anything of it runs.
 */
#ifndef RP_OPTIMIZE_KERNEL_FACTS_H
#define RP_OPTIMIZE_KERNEL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/roofline.h"
#include "base/sha256.h"
#include "experiment/judge.h"
#include "trace/code_object.h"

struct rp_compile_command;
struct rp_err;
struct rp_facts;

/** This is a code object of one GPU with one of its kernels. Release it with rp_code_object_free.
 */
struct rp_code_object {
    uint8_t *bytes;
    size_t size;
    char file_sha256[RP_SHA256_TEXT];
    /** The hash covers all its instructions and the kernel's descriptor. It does not cover names,
     * paths and debug lines, which differ between builds of equal code in different folders. */
    char code_sha256[RP_SHA256_TEXT];
    struct rp_code_kernel kernel;
};

/**
 * @param symbol  of the kernel, mangled, without .kd
 * @return 0; RP_BAD_INPUT: it is no code object, or has no such kernel
 */
int rp_code_object_read(const char *path, const char *symbol, struct rp_code_object *ret,
                        struct rp_err *err);
/** Reads a code object with none of its kernels. */
int rp_code_object_open(const char *path, struct rp_code_object *ret, struct rp_err *err);
/** Accepts a zeroed one. */
void rp_code_object_free(struct rp_code_object *object);

/**
 * Says whether a launch that was made for one kernel fits another, because the arguments are the
 * same. The size of workgroups is another question.
 * @return 0, or RP_VERDICT with the first difference
 */
int rp_code_object_fits(const struct rp_code_object *before, const struct rp_code_object *after,
                        struct rp_err *err);

/**
 * Says whether the launches that were seen fit a kernel that may be for smaller workgroups.
 * @param largest work-items of a workgroup that were launched
 * @param ret_note what its user has to know: which launches fail from now on; NULL: none. Free it
 * @return 0, or RP_VERDICT: some that were seen would fail
 */
int rp_code_launches_fit(const struct rp_code_object *before, const struct rp_code_object *after,
                         uint64_t largest, char **ret_note, struct rp_err *err);

/** Holds a kernel's use of the GPU in a launch. */
struct rp_code_use {
    uint64_t vgprs, agprs, sgprs, lds_bytes, scratch_bytes;
    bool occupancy_known;
    double occupancy; /**< 0..1 */
    uint32_t waves_per_simd;
    const char *limiter; /**< static; NULL when unknown */
};

/**
 * @param arch            "gfx942"
 * @param workgroup_size  work-items
 * @param dynamic_bytes   LDS that the launch adds
 */
void rp_code_object_use(const struct rp_code_object *object, const char *arch,
                        uint32_t workgroup_size, uint64_t dynamic_bytes, struct rp_code_use *ret);

/* Which kernels of a code object do something else in another build: a change of one kernel
 * may be one of others (a template's other instances).
 *
 * The code of a kernel is its descriptor, its instructions, and all that these refer to: functions
 * that are called, tables, variables. Addresses are taken for what is there, so that kernels that
 * only lie elsewhere are the same.
 */

/**
 * @param symbol of the kernel that is meant to change, mangled, without .kd; "": none
 * @param ret mangled names of others that have changed, or are gone, in their order; ends with
 * NULL; free with rp_code_names_free
 * @return 0; RP_BAD_INPUT: symbols or sections of a code object cannot be read
 */
int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err);

/* Which kernels the user's compiler makes of a source file. */

/** Symbols are without .kd, in the order of the alphabet. Release them with rp_source_kernels_free.
 */
struct rp_source_kernels {
    char **symbols;
    size_t count;
};

/**
 * Compiles the device code into a scratch folder and lists its kernels. Used instances of templates
 * are among them, unused ones are no kernels.
 * @param arch "gfx942"
 * @return 0, also with none; RP_BAD_INPUT with the compiler's message when it refuses;
 * RP_ENVIRONMENT, RP_USAGE, RP_INTERRUPTED
 */
int rp_source_kernels(const struct rp_compile_command *command, const char *source,
                      const char *arch, struct rp_source_kernels *ret, struct rp_err *err);

void rp_source_kernels_free(struct rp_source_kernels *kernels);

/* What was measured of a kernel before anybody proposes to change it: how much of the
 *        program it is, what limits it, where it waits, what it needs.
 *
 * From the files that `rocm-perf profile --deep-analysis` leaves. All of it may be unknown: a
 * quantity is not `known`, a text is NULL, a count of 0 entries says nothing.
 */

/** Holds all kernels of a profile, in the order of profile.json. */
struct rp_facts {
    struct rp_kernel_facts *kernels;
    size_t count;
    char *device;                  /**< "software", "hardware"; NULL: unknown */
    struct rp_quantity runtime_ms; /**< sum over dispatches */
    double between_ns[2]; /**< counts timing: bounds of that; 0s: there are none, or not of all */
    struct rp_quantity launches, failed_launches; /**< calls to HIP, and those that it refused */
};

/** This is a share of the waves' time, or a rate beside its ceiling. */
struct rp_named_fraction {
    char *name; /**< "memory", "hbm" ... */
    double fraction;
};

/** This is a line of the source at which waves stalled. */
struct rp_stalled_line {
    char *place;           /**< "file:line" as the compiler wrote it */
    uint64_t stall_cycles; /**< over all traced waves */
    double share;          /**< of all stalled cycles of the kernel */
};

/** Names a rule that led to the label. */
struct rp_fired_rule {
    char *id;   /**< as in analyze/bottleneck_rules.def */
    char *text; /**< its conditions with the numbers */
};

struct rp_kernel_facts {
    char *name;   /**< demangled; never NULL */
    char *symbol; /**< mangled, without .kd */

    /* These describe the GPU. */
    char *arch;    /**< "gfx942" */
    char *product; /**< "AMD Instinct MI300X" */
    char *device;  /**< "software": times are modelled; "hardware" */
    char *timing;  /**< model of time of the software device: "counts", "detailed" */

    /* These say how much of the program it is. */
    struct rp_quantity calls;
    struct rp_quantity time_ns; /**< all calls */
    double between_ns[2]; /**< counts timing: bounds of that; 0s: there are none, or not of all */
    char *weight_basis;   /**< "critical_path", "kernel_time" */
    struct rp_quantity weight;           /**< its part of that, 0..1 */
    struct rp_quantity headroom;         /**< part of its time that could go, 0..1 */
    char *headroom_assumption;           /**< ... if this held */
    struct rp_quantity end_to_end_bound; /**< speed-up of the program when the headroom is gone */
    struct rp_quantity free_bound;       /**< ... when the kernel takes no time at all */
    bool runtime_internal;               /**< one of the HIP runtime's own */

    /* These say what limits it. */
    char *bottleneck; /**< label, as in analyze/bottleneck_labels.def */
    char *cause;      /**< as in analyze/bottleneck_causes.def; NULL: older results */
    char *finding;    /**< what limits it, in words (report/finding_text.h); NULL: older results */
    char *advice;     /**< what to try; NULL: none */
    struct rp_fired_rule *rules;
    size_t rule_count;
    char *bound;                    /**< "hbm", "l2", "l1", "lds", "valu", "mfma" */
    struct rp_quantity bound_share; /**< of its time that this needs at its ceiling */
    struct rp_quantity flops, bytes, intensity, gflops, gbps;
    struct rp_named_fraction *ceilings; /**< part of each that is reached */
    size_t ceiling_count;

    /* A thread trace shows where it waits. */
    struct rp_quantity stall;         /**< of the waves' time */
    struct rp_named_fraction *stalls; /**< by kind, most first */
    size_t stall_count;
    struct rp_stalled_line *lines; /**< most first, not more than ten */
    size_t line_count;
    bool trace_partial; /**< waves or their ends are missing in it */

    /* The most frequent geometry shows what it needs. */
    struct rp_quantity vgprs, agprs, sgprs, lds_bytes, scratch_bytes;
    uint32_t grid[3], block[3];   /**< work-items; 0 = unknown */
    size_t geometry_count;        /**< distinct launches */
    struct rp_quantity occupancy; /**< theoretical, 0..1 */
    struct rp_quantity waves, waves_per_simd, max_waves_per_simd;
    struct rp_quantity achieved_waves_per_simd;
    char *limiter; /**< of occupancy: "none", "vgpr", "sgpr", "lds", "workgroup_size" */
};

/**
 * Reads profile.json and, where they are there, analysis.json, roofline.json and thread_trace.json
 * of a folder that `rocm-perf profile` left.
 * @return 0; RP_BAD_INPUT when there is no profile.json, or a file is not what its name says
 */
int rp_facts_read(const char *folder, struct rp_facts *ret, struct rp_err *err);
void rp_facts_free(struct rp_facts *facts);

/** No build of the kernel can be faster than this.
 * @param same_work a change cannot have saved FLOPs */
struct rp_time_floor rp_facts_time_floor(const struct rp_kernel_facts *facts, bool same_work);

/* Which kernels are worth a try, and in which order: by what the program could gain. */

/** Kernels below these limits are not tried. */
struct rp_rank_limits {
    double least_weight;   /**< of the critical path: 0.20 */
    double least_headroom; /**< of the kernel's time: 0.10 */
    bool best_anyway;      /**< where none has that weight, the one with most to gain is tried, if
                                that is a fiftieth of the program's time */
};

struct rp_rank_entry {
    size_t kernel;               /**< index into the facts */
    struct rp_quantity weight;   /**< of the program's time, 0..1 */
    bool weight_of_kernel_time;  /**< the critical path is not known: of the sum over all kernels */
    struct rp_quantity headroom; /**< of the kernel's time, 0..1 */
    struct rp_quantity priority; /**< weight x headroom; with an unknown headroom, the weight */
    struct rp_quantity bound;    /**< Amdahl: speed-up of the program when the headroom is gone */
    char *stop;                  /**< why it is not tried; NULL: it is */
};

struct rp_ranked_kernels {
    struct rp_rank_entry *entries; /**< by priority, weight, symbol; what is not tried comes last */
    size_t count;
    size_t tried; /**< of them, at the front */
};

/**
 * @param wanted for each kernel whether the user has named it, which counts for more than its
 * weight and headroom; NULL: nothing is named
 */
void rp_rank_kernels(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                     const bool *wanted, struct rp_ranked_kernels *ret);
void rp_ranked_kernels_free(struct rp_ranked_kernels *rank);

static inline void rp_code_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

static inline struct rp_rank_limits rp_rank_usual_limits(void)
{
    /* With less than a fifth of the time, or a tenth of its own to gain, a kernel could make the
     * program faster by 2 % at most. */
    return (struct rp_rank_limits){.least_weight = 0.20, .least_headroom = 0.10};
}

#endif
