/**
 * @file rocm-perf.h
 * @brief librocm-perf.so: opens traces and results of profile, analyses them, reads what was found.
 *
 * This header is the stable interface, docs/library.md its reference. Numbers of enumerators never
 * change, and new ones come last: programs of an older header keep working with a newer library of
 * the same soname. Functions that can fail return 0 or a negative value.
 *
 * A struct rocm_perf and what it hands out is for one thread at a time; several are independent of
 * each other. Strings that are handed out live until rocm_perf_close. Numbers are read and
 * written as in the locale "C", whatever the program has set.
 */
#ifndef ROCM_PERF_H
#define ROCM_PERF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Says why a function failed. The numbers are the exit codes of the command line. */
enum rocm_perf_code {
    ROCM_PERF_OK = 0,
    ROCM_PERF_USAGE = 2,       /**< an argument is wrong */
    ROCM_PERF_BAD_INPUT = 3,   /**< a file cannot be used */
    ROCM_PERF_ENVIRONMENT = 4, /**< memory or the disk failed */
};

/** The caller owns it. Only functions that fail write to it. It may be NULL everywhere. */
struct rocm_perf_error {
    int code; /**< enum rocm_perf_code */
    char text[1024];
};

/** Holds the opened traces of one run, and what was found in them. */
struct rocm_perf;

/** Returns the version of the library that runs, as "0.1.0", and not that of this header. */
const char *rocm_perf_version(void);

/* --- open, analyse, close --------------------------------------------------------------------- */

/**
 * Opens what `rocm-perf analyze` takes, all of one run: result folders of `profile`, rocpd
 * databases, JSON and CSV files of rocprofv3, counters, thread traces.
 * @param ret release with rocm_perf_close; untouched on failure
 */
int rocm_perf_open(const char *const *paths, size_t count, struct rocm_perf **ret,
                   struct rocm_perf_error *error);

/** Names the GPU that the files do not name, as `analyze --arch` does. It must be called before
 * rocm_perf_analyze. */
int rocm_perf_set_arch(struct rocm_perf *run, const char *arch, struct rocm_perf_error *error);

/** Runs all analyses that the files allow: runtime, occupancy, execution graph, roofline,
 * bottlenecks. Before it, everything below is empty or unknown. More calls change nothing, but
 * after a failure the files have to be opened again. */
int rocm_perf_analyze(struct rocm_perf *run, struct rocm_perf_error *error);

/** Releases everything; NULL is accepted. */
void rocm_perf_close(struct rocm_perf *run);

/** Counts remarks about the files that are no failures, one sentence each. */
size_t rocm_perf_note_count(const struct rocm_perf *run);
/** Returns NULL when there are fewer. */
const char *rocm_perf_note(const struct rocm_perf *run, size_t index);

/* --- the run ---------------------------------------------------------------------------------- */

enum rocm_perf_number {
    ROCM_PERF_END_TO_END_NS = 0,      /**< from the first to the last event */
    ROCM_PERF_KERNELS_NS = 1,         /**< sum over the program's kernels */
    ROCM_PERF_RUNTIME_KERNELS_NS = 2, /**< sum over the HIP runtime's own kernels */
    ROCM_PERF_COPIES_NS = 3,          /**< sum over copies */
    ROCM_PERF_DISPATCHES = 4,         /**< of kernels */
    ROCM_PERF_BAD_TIMESTAMPS = 5,     /**< dispatches without usable times: left out of sums */
    ROCM_PERF_GUESSED_PATH_SHARE = 6, /**< of the critical path: on guessed dependencies */
    ROCM_PERF_SPAN_NS = 7, /**< longest chain of kernels and copies: no faster host goes below */
};
/** @return 1 and the number; 0 when it is not known; negative when there is no such number */
int rocm_perf_number(const struct rocm_perf *run, enum rocm_perf_number which, double *ret);

enum rocm_perf_text {
    ROCM_PERF_DEVICE = 0,       /**< "hardware", "software": then times are modelled */
    ROCM_PERF_TIMING_MODEL = 1, /**< of the software device: "counts", "detailed", "off" */
    ROCM_PERF_NO_ROOFLINE = 2,  /**< why there is no roofline */
};
/** @return NULL when it is not known */
const char *rocm_perf_text(const struct rocm_perf *run, enum rocm_perf_text which);

/* --- kernels ---------------------------------------------------------------------------------- */

/** Counts kernels by name. The one to look at first is number 0. */
size_t rocm_perf_kernel_count(const struct rocm_perf *run);

/** Several GPUs may have run a name, or it may have been compiled more than once: registers and
 * occupancy are then those of the kernel that took most time. */
enum rocm_perf_kernel_number {
    ROCM_PERF_KERNEL_CALLS = 0,
    ROCM_PERF_KERNEL_TIME_NS = 1, /**< sum over all calls */
    ROCM_PERF_KERNEL_VGPRS = 2,   /**< a work-item, as allocated, without accumulation registers */
    ROCM_PERF_KERNEL_SGPRS = 3,   /**< a wavefront */
    ROCM_PERF_KERNEL_LDS_BYTES = 4,         /**< a workgroup */
    ROCM_PERF_KERNEL_SCRATCH_BYTES = 5,     /**< a work-item */
    ROCM_PERF_KERNEL_WORKGROUP_SIZE = 6,    /**< work-items */
    ROCM_PERF_KERNEL_OCCUPANCY = 7,         /**< theoretical, 0 to 1 */
    ROCM_PERF_KERNEL_FLOPS = 8,             /**< counted, all calls */
    ROCM_PERF_KERNEL_HBM_BYTES = 9,         /**< counted, all calls */
    ROCM_PERF_KERNEL_INTENSITY = 10,        /**< FLOPs for each byte of HBM */
    ROCM_PERF_KERNEL_GFLOPS = 11,           /**< achieved */
    ROCM_PERF_KERNEL_HBM_GBPS = 12,         /**< achieved */
    ROCM_PERF_KERNEL_BOUND_SHARE = 13,      /**< of the time: what its bound needs at least */
    ROCM_PERF_KERNEL_WEIGHT = 14,           /**< of the critical path, or of all kernels' time */
    ROCM_PERF_KERNEL_HEADROOM = 15,         /**< part of its time that could go */
    ROCM_PERF_KERNEL_PRIORITY = 16,         /**< weight times headroom */
    ROCM_PERF_KERNEL_END_TO_END_BOUND = 17, /**< speed-up of the program when the headroom goes */
    ROCM_PERF_KERNEL_FREE_BOUND = 18,       /**< the same when the kernel takes no time at all */
    ROCM_PERF_KERNEL_AGPRS = 19,            /**< accumulation registers of a work-item */
};
/** @return as rocm_perf_number; negative also when there are not so many kernels */
int rocm_perf_kernel_number(const struct rocm_perf *run, size_t kernel,
                            enum rocm_perf_kernel_number which, double *ret);

enum rocm_perf_kernel_text {
    ROCM_PERF_KERNEL_NAME = 0,              /**< demangled, where the trace says so */
    ROCM_PERF_KERNEL_SYMBOL = 1,            /**< mangled */
    ROCM_PERF_KERNEL_BOTTLENECK = 2,        /**< "memory_bandwidth_bound" ..., "unknown" */
    ROCM_PERF_KERNEL_BOUND = 3,             /**< of the roofline: "hbm" ... "mfma" */
    ROCM_PERF_KERNEL_OCCUPANCY_LIMITER = 4, /**< "vgpr", "lds" ... */
    ROCM_PERF_KERNEL_GPU = 5,               /**< "gfx942" */
};
/** @return NULL when it is not known, or there are not so many kernels */
const char *rocm_perf_kernel_text(const struct rocm_perf *run, size_t kernel,
                                  enum rocm_perf_kernel_text which);

/* --- the critical path ------------------------------------------------------------------------ */

/** Counts kernels, copies and HIP calls on the critical path, the longest first. */
size_t rocm_perf_path_count(const struct rocm_perf *run);
/** Returns NULL when there are fewer. */
const char *rocm_perf_path_name(const struct rocm_perf *run, size_t index);
/** Reads the time on the path.
 * @return as rocm_perf_number */
int rocm_perf_path_ns(const struct rocm_perf *run, size_t index, double *ret);

/* --- everything ------------------------------------------------------------------------------- */

/** These are the files of `rocm-perf analyze -o`, with schemas in share/rocm-perf-lab/schemas. */
enum rocm_perf_json {
    ROCM_PERF_JSON_DAG = 0,
    ROCM_PERF_JSON_ROOFLINE = 1,
    ROCM_PERF_JSON_ANALYSIS = 2,
    ROCM_PERF_JSON_THREAD_TRACE = 3,
};
/** Writes a document. It fails with ROCM_PERF_BAD_INPUT when the files hold nothing for it.
 * @param ret rocm_perf_free */
int rocm_perf_json(const struct rocm_perf *run, enum rocm_perf_json which, char **ret,
                   struct rocm_perf_error *error);
/** Frees what rocm_perf_json gave; NULL is accepted. */
void rocm_perf_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
