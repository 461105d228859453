/**
 * @file roofline.h
 * @brief Computes FLOPs, bytes and rates by kernel, against what the GPU can do. Rules:
 *        docs/how-it-decides.md, "Roofline bounds".
 */
#ifndef RP_ANALYZE_ROOFLINE_H
#define RP_ANALYZE_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_counted_device;
struct rp_counters;
struct rp_err;
struct rp_store;

/** Says where the times of a result are from. The stores own the strings. */
struct rp_origin {
    const char *device;       /**< "software", "hardware"; NULL: the traces do not say */
    const char *timing_model; /**< of the software device: "counts" ...; NULL: as in rp_profile, or
                                   the traces differ */
    uint32_t timing_version;  /**< of that model */
    uint32_t clock_mhz; /**< that was modelled; 0: the highest, or not known, or they differ */
};

/** Finds the origin of traces; it is software when any of them is. */
struct rp_origin rp_origin_of(struct rp_store *const *stores, size_t count);

/** This is a number that may not be known. */
struct rp_quantity {
    bool known;
    double value;
};

/** These are kinds of floating-point work: by vector and by matrix instructions. */
enum rp_flop_type {
#define RP_FLOP(id, name, unit) RP_FLOP_##id,
#include "analyze/flop_types.def"
#undef RP_FLOP
    RP_FLOP_COUNT
};

/** The names are "valu_f32", "mfma_bf16" ... */
extern const char *const rp_flop_names[];

/** Says where bytes are moved. */
enum rp_level { RP_LEVEL_HBM, RP_LEVEL_L2, RP_LEVEL_L1, RP_LEVEL_LDS, RP_LEVEL_COUNT };

/** The names are "hbm", "l2", "l1" and "lds". */
extern const char *const rp_level_names[];

/** This resource needs most of a kernel's time. */
enum rp_bound {
    RP_BOUND_UNKNOWN,
    RP_BOUND_HBM, /**< and on in the order of rp_level */
    RP_BOUND_L2,
    RP_BOUND_L1,
    RP_BOUND_LDS,
    RP_BOUND_VALU,
    RP_BOUND_MFMA
};

/** Says whether moving a level's bytes or computing takes longer, each at its ceiling. */
enum rp_level_class { RP_CLASS_UNKNOWN, RP_CLASS_MEMORY, RP_CLASS_COMPUTE };
/** The names are "memory" and "compute"; NULL for unknown. */
extern const char *const rp_level_class_names[];

/** The names are "hbm" ... "mfma"; NULL for unknown. */
extern const char *const rp_bound_names[];

/** Published ways to count the bytes of a cache differ. */
enum rp_convention {
    RP_L2_REQUESTS_128,      /**< 128 for each request that the L2 got */
    RP_L2_FROM_L1_64,        /**< 64 for each request of the vector L1s */
    RP_L2_FROM_L1_READS_128, /**< 128 for reads, 64 for others; 64 for all on gfx90a */
    RP_L1_ACCESSES_64,
    RP_L1_ACCESSES_128,
    RP_CONVENTION_COUNT
};
extern const char *const rp_convention_names[];

/** These numbers are the rest of a counter without others (pass_differences.def). */
enum rp_difference {
#define RP_DIFFERENCE(id, what, ...) RP_DIFFERENCE_##id,
#include "analyze/pass_differences.def"
#undef RP_DIFFERENCE
    RP_DIFFERENCE_COUNT
};
/** The names are as "bytes written". */
extern const char *const rp_difference_names[];

enum { RP_DIFFERENCE_PARTS = 4 };

/** Says how far counters of different passes contradict each other in a kernel. */
struct rp_pass_difference {
    const char *whole, *parts[RP_DIFFERENCE_PARTS]; /**< as the file names them; NULL: no more */
    uint64_t negative; /**< dispatches in which the parts are more than the whole */
    double most;       /**< of those by which fraction of the whole at most; infinite: of nothing */
    double share;      /**< by which fraction of the whole, over all dispatches */
    bool asked;        /**< a number of the kernel is made of it */
    bool withheld;     /**< and is not known, since the passes disagree too much */
};

/** Passes may disagree by this fraction of the larger counter: a negative rest is then 0. */
double rp_pass_tolerance(void);
/** Limits a part to its whole, where both were counted and it is above it by no more than the
 * tolerance.
 * @return whether it can be a part */
bool rp_pass_part(double whole, double *part);

/** These values are derived from the counters of a kernel (derived_counters.def). */
enum rp_derived {
#define RP_DERIVED(id, name, title, unit, value, ...) RP_DERIVED_##id,
#include "analyze/derived_counters.def"
#undef RP_DERIVED
    RP_DERIVED_COUNT
};
struct rp_derived_info {
    const char *name;  /**< "l2_hit_rate" */
    const char *title; /**< "L2 hit rate" */
    const char *unit;  /**< "%" of a fraction; "bytes"; "" */
};
const struct rp_derived_info *rp_derived_info(enum rp_derived derived);

enum { RP_DERIVED_COUNTERS = 5 };

struct rp_derived_value {
    struct rp_quantity q;
    uint64_t dispatches;                      /**< that have all of its counters */
    bool asked;                               /**< some of its counters were collected */
    const char *missing[RP_DERIVED_COUNTERS]; /**< counters that were not, by a name to collect them
                                                   by; static; NULL: no more */
    const char *reason; /**< why it is unknown although none is missing; static; else NULL */
};

/** This is a counter of a kernel. */
struct rp_kernel_count {
    const char *name;
    uint32_t counter;    /**< index into rp_roofline.counter_names */
    uint64_t dispatches; /**< that have it */
    double sum;          /**< over these */
};

/** This compares a rate with what the GPU can do. */
enum rp_peak {
    RP_PEAK_UNKNOWN,
    RP_PEAK_BELOW,
    RP_PEAK_CACHED,    /**< above the peak of HBM, which the Infinity Cache can serve */
    RP_PEAK_MEASURED,  /**< above what a benchmark reached (--ceilings) */
    RP_PEAK_IMPOSSIBLE /**< no GPU of this kind can do it */
};
/** The names are "below", "infinity_cache", "above_measured" and "impossible"; NULL for unknown. */
extern const char *const rp_peak_names[];

/** Says what a GPU can do at most; all is unknown without an architecture. */
struct rp_ceilings {
    struct rp_quantity gbps[RP_LEVEL_COUNT];
    struct rp_quantity gflops[RP_FLOP_COUNT];
};

/** What benchmarks reached. */
struct rp_measured_ceilings {
    struct rp_ceilings of;
    bool by_bench; /**< of `rocm-perf bench`, whose file says what follows; else of rocprof-compute
                    */
    bool software; /**< modelled by the software device */
    char gpu[64], arch[32];
    uint32_t compute_units;
    char date[32];           /**< "2026-11-30T12:00:00Z" */
    char timing_model[16];   /**< of the software device; "": not said */
    uint32_t timing_version; /**< of that model */
};

/** Holds the numbers of a kernel, or of the whole program. */
struct rp_roofline_kernel {
    const char *name; /**< NULL: the whole program */
    uint64_t calls;
    struct rp_quantity time_ns;
    struct rp_quantity flops; /**< of all types that were counted */
    struct rp_quantity flops_by_type[RP_FLOP_COUNT];
    struct rp_quantity matrix_int8_ops;
    bool flops_by_width; /**< by the simple model */
    bool reads_by_width; /**< HBM reads without those of 128 bytes, by the simple model */
    struct rp_quantity hbm_read, hbm_write;
    struct rp_quantity hbm_read_least, hbm_read_most; /**< when hbm_read cannot be known */
    struct rp_quantity bytes[RP_LEVEL_COUNT];
    struct rp_quantity by_convention[RP_CONVENTION_COUNT];
    struct rp_quantity intensity[RP_LEVEL_COUNT]; /**< FLOPs for each byte */
    struct rp_quantity gflops;                    /**< achieved */
    struct rp_quantity gbps[RP_LEVEL_COUNT];      /**< achieved */
    enum rp_level_class level_class[RP_LEVEL_COUNT];
    enum rp_bound bound;
    struct rp_quantity bound_share; /**< of the measured time that the bound needs at least */
    enum rp_peak peak[RP_LEVEL_COUNT];
    struct rp_pass_difference differences[RP_DIFFERENCE_COUNT];
    struct rp_kernel_count *counts; /**< in the order of the file; none of the program */
    size_t count_count;
    struct rp_derived_value derived[RP_DERIVED_COUNT];
    uint32_t device;   /**< index into devices */
    const char *lacks; /**< why its bytes are unknown; static; NULL: they are not, or
                            nobody can tell */
};

/** Describes a GPU that ran kernels. */
struct rp_roofline_device {
    int64_t id;
    char arch[32];                                       /**< "" = unknown */
    const char *product;                                 /**< static; NULL = unknown */
    uint32_t compute_units, xcc_count, engine_clock_mhz; /**< 0 = unknown */
    uint32_t modelled_clock_mhz; /**< engine_clock_mhz is this, and not the highest; 0: it is */
    uint32_t parts;        /**< the device is one of so many of a GPU (CPX: 8); 0 = all of it */
    uint32_t memory_parts; /**< and reaches one of so many parts of the memory */
    struct rp_ceilings ceilings;
    char overruled[64]; /**< what the files say where options say another GPU; else "" */
};

enum rp_flop_model {
    RP_FLOPS_AUTO,  /**< counters by precision; by width where there are none */
    RP_FLOPS_EXACT, /**< never by width */
    RP_FLOPS_WIDTH  /**< SQ_INSTS_VALU times a width, 32- and 64-byte requests */
};

struct rp_roofline_options {
    const char *arch; /**< "gfx942", "gfx942:mi300a": when the trace does not say; NULL */
    enum rp_flop_model model;
    double memory_gbps, clock_mhz;               /**< instead of the device's own; 0 = none */
    const struct rp_measured_ceilings *measured; /**< instead of those that follow from clocks; NULL
                                                  */
    const struct rp_counted_device *measured_on; /**< GPU of those, and their file; NULL */
    struct rp_origin origin;
};

struct rp_roofline {
    struct rp_origin origin;
    struct rp_roofline_kernel *kernels; /**< by time, then name */
    size_t kernel_count;
    struct rp_roofline_kernel program;
    const char *const *counter_names; /**< of the counters, in the order of the file */
    size_t counter_name_count;
    struct rp_roofline_device *devices;
    size_t device_count;
    struct rp_measured_ceilings measured; /**< where ceilings are from; by_bench is false: no more
                                               than a note is known */
    char **notes; /**< what to know before trusting a number, each one once */
    size_t note_count;
    char *reason; /**< why there is no roofline: nothing that it needs was counted; else NULL */
};

/**
 * Computes everything. Kernel names are those of the counters, which must stay.
 * @return 0, also when there is only a reason; RP_USAGE for an unknown arch; RP_BAD_INPUT when the
 * ceilings were measured on another GPU; RP_ENVIRONMENT
 */
int rp_roofline_compute(const struct rp_counters *counters,
                        const struct rp_roofline_options *options, struct rp_roofline *ret,
                        struct rp_err *err);
void rp_roofline_free(struct rp_roofline *roofline);

/** Checks that the name of a GPU (rp_roofline_options.arch) is known.
 * @return 0; RP_USAGE */
int rp_roofline_check_arch(const char *spec, struct rp_err *err);

/** Reads what benchmarks reached: the file of `rocm-perf bench`, or roofline.csv of
 * rocprof-compute, its first GPU.
 * @return 0; RP_BAD_INPUT with what is wrong */
int rp_roofline_read_ceilings(const char *path, struct rp_measured_ceilings *ret,
                              struct rp_err *err);
/** Does the same with a text. */
int rp_roofline_parse_ceilings(const char *text, struct rp_measured_ceilings *ret,
                               struct rp_err *err);

/**
 * Checks that ceilings can be those of results.
 * @param path of the ceilings
 * @param device "hardware", "software"; NULL: not known
 * @param product "AMD Instinct MI300X"; NULL or "": not known
 * @param clock_mhz of the results, if it was modelled and is not the highest; else 0
 * @return 0; RP_BAD_INPUT: they were modelled, and the results are of hardware or of another clock,
 * or they are of another product
 */
int rp_roofline_ceilings_fit(const struct rp_measured_ceilings *measured, const char *path,
                             const char *device, const char *product, uint32_t clock_mhz,
                             struct rp_err *err);

/** Reads the counters of a rocpd trace. Free them with rp_counters_free. */
int rp_roofline_counters(struct rp_store *store, struct rp_counters **ret, struct rp_err *err);

/** Does the same for one run with several processes, with one trace of each. */
int rp_roofline_run_counters(struct rp_store *const *stores, size_t count, struct rp_counters **ret,
                             struct rp_err *err);

/** This is a counter to collect; those of one group belong to one formula. */
struct rp_roofline_need {
    const char *name; /**< as rocprofv3 knows it */
    unsigned group;
};

/**
 * Lists the counters that rooflines of a GPU ("gfx942") need; for an unknown one those of the
 * simple model.
 * @return how many there are; the first @p room are written
 */
size_t rp_roofline_needs(const char *gfx, struct rp_roofline_need *ret, size_t room);

#endif
