/**
 * @file thread_trace.h
 * @brief Reads decoded thread traces (ATT) of rocprofv3, which show what the waves of a compute
 * unit did, instruction by instruction. docs/format/rocpd.md describes the files.
 *
 * Times are shader clock cycles. Each shader engine has its own origin.
 */
#ifndef RP_ANALYZE_THREAD_TRACE_H
#define RP_ANALYZE_THREAD_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store;

enum rp_att_kind {
#define RP_ATT_KIND(id, name) RP_ATT_##id,
#include "analyze/thread_trace_kinds.def"
#undef RP_ATT_KIND
    RP_ATT_KIND_COUNT
};
extern const char *const rp_att_kind_names[];

enum rp_att_reason {
#define RP_ATT_REASON(id, name) RP_ATT_WAITED_##id,
#include "analyze/thread_trace_reasons.def"
#undef RP_ATT_REASON
    RP_ATT_REASON_COUNT
};
extern const char *const rp_att_reason_names[];

enum rp_att_sample {
#define RP_ATT_SAMPLE(id, name) RP_ATT_SAMPLED_##id,
#include "analyze/thread_trace_samples.def"
#undef RP_ATT_SAMPLE
    RP_ATT_SAMPLE_COUNT
};
extern const char *const rp_att_sample_names[];

/** Says what a wave does, with the numbers of the files. */
enum rp_att_state {
    RP_ATT_EMPTY,
    RP_ATT_IDLE,
    RP_ATT_EXEC,
    RP_ATT_WAITING,
    RP_ATT_STALLED,
    RP_ATT_STATE_COUNT
};
extern const char *const rp_att_state_names[];

/** These are sums over all traced waves. Latency contains stall; idle is beside it. */
struct rp_att_sums {
    uint64_t executed;
    uint64_t latency_cycles, stall_cycles, idle_cycles;
};

/** Says how the program counter was sampled. */
enum rp_pc_method {
    RP_PC_NOT_SAID,  /**< by the decoded files of a thread trace */
    RP_PC_HOST_TRAP, /**< the driver interrupts waves: an address is up to two instructions off */
    RP_PC_STOCHASTIC /**< the hardware does, and says whether the instruction issued */
};
extern const char *const rp_pc_method_names[]; /**< NULL where it is not said */

/** Counts PC samples. Of those of host traps nobody knows whether they issued. */
struct rp_att_samples {
    uint64_t taken, issued, stalled;
    uint64_t lanes; /**< active ones, of all of them; if trace.lanes_known */
    uint64_t by_reason[RP_ATT_SAMPLE_COUNT];
};

struct rp_att_instruction {
    char *isa;     /**< "v_add_f32_e32 v1, v2, v3" */
    char *source;  /**< "file:line", an inlining chain, or "" */
    uint32_t line; /**< its number in the wave files */
    uint32_t code_object;
    uint64_t address; /**< in the ELF file */
    uint32_t kernel;  /**< index into kernels; UINT32_MAX = before the first label */
    enum rp_att_kind kind;
    struct rp_att_sums sums;
    struct rp_att_samples samples;
    uint64_t waited_cycles[RP_ATT_REASON_COUNT]; /**< sum: sums.stall_cycles */
    /** Sums up the latency of the waits that this instruction ended, because it was the last one
     * that they needed. A wait that no instruction is known for is put down to itself. */
    uint64_t awaited_cycles;
    /** Look-ups of the vector L1 beyond those that the accesses need, and cycles of LDS bank
     * conflicts, over all simulated waves; only the software device's traces have them. */
    uint64_t wasted_lookups, lds_conflict_cycles;
};

/** This is a function of the listing, between two labels. */
struct rp_att_kernel {
    char *symbol; /**< mangled */
    char *name;   /**< demangled, or as symbol */
    struct rp_att_sums sums;
    struct rp_att_samples samples;
};

struct rp_att_wave {
    uint32_t shader_engine, cu, simd, slot, id;
    int64_t begin_cycle, end_cycle;
    uint64_t instructions;
    uint64_t state_cycles[RP_ATT_STATE_COUNT];
};

/** Measures from the issue of a memory instruction to the end of the wait that needed it, where it
 * stalled. */
struct rp_att_latency {
    uint64_t count;
    uint64_t least_cycles, most_cycles, median_cycles, sum_cycles;
};

enum { RP_ATT_BINS = 32 };

/** Counts waves of a shader engine over time. */
struct rp_att_engine {
    uint32_t id;
    uint32_t cus, simds;       /**< on which waves were seen */
    uint64_t waves;            /**< that began */
    uint64_t unended;          /**< whose end is not there: they count to the last event */
    uint64_t busy_cycles;      /**< at least one wave */
    uint64_t wave_cycles;      /**< sum of the waves' lives */
    uint64_t simd_busy_cycles; /**< sum over SIMDs of the time with a wave */
    uint32_t peak_waves_per_simd;
    int64_t first_cycle, last_cycle;
    double mean_waves[RP_ATT_BINS]; /**< first to last in equal parts */
};

/** These are of realtime.json. */
struct rp_att_clock {
    uint32_t shader_engine;
    double mhz;
};

/** This is a variable that the kernel, or a function that was inlined into it, declares. */
struct rp_att_variable {
    char *place; /**< "file:line" */
    uint64_t bytes;
};

enum rp_att_completeness {
    RP_ATT_COMPLETE, /**< nothing that can be checked is missing; lost data cannot be seen */
    RP_ATT_PARTIAL,
    RP_ATT_NOTHING, /**< no instruction was executed on the traced compute units */
    RP_ATT_DAMAGED
};
extern const char *const rp_att_completeness_names[];

struct rp_att_problem {
    bool damage; /**< false: something is missing */
    char *file;
    char *text;
};

/** Counts the traced waves by compute unit, when their files are there. */
struct rp_att_issue {
    uint64_t wave_cycles;      /**< sum of end - begin */
    uint64_t simd_span_cycles; /**< sum over SIMDs: first begin to last end */
    uint64_t simd_busy_cycles; /**< sum over SIMDs of the time with a wave */
    uint32_t simds;
};

/** This is one dispatch: a ui_output_agent_A_dispatch_D folder. */
struct rp_thread_trace {
    char *path;
    bool identified;          /**< by the name of the folder */
    uint64_t agent, dispatch; /**< agent: a handle, not an index */
    enum rp_att_completeness completeness;
    bool sampled; /**< PC samples instead of a trace */
    /** These are of PC samples. */
    enum rp_pc_method method;
    bool lanes_known;
    uint64_t sampled_dispatches; /**< 0: not known */
    uint64_t undecoded_samples;  /**< of code that the profiler could not read */
    bool software;   /**< of the software device: times are modelled. False: nothing says so */
    uint32_t gfx_ip; /**< 9, 10, 11, 12; 0 = unknown */
    bool sums_known; /**< executed ... of the instructions: false with samples only */

    struct rp_att_kernel *kernels;
    size_t kernel_count;
    size_t kernel;      /**< that needed most cycles; kernel_count: none */
    uint64_t code_hash; /**< of what the kernel consists of, as the software device says; 0 =
                             unknown */
    char *launched; /**< name of the dispatch's kernel, though no wave was traced; NULL: unknown */
    struct rp_att_instruction *instructions;
    size_t instruction_count;
    struct rp_att_wave *waves; /**< by engine, cu, simd, slot, id */
    size_t wave_count;
    size_t listed_waves;                /**< in filenames.json */
    bool cuts_known;                    /**< the software device says so; hardware does not */
    uint64_t cut_waves;                 /**< of which only the first instructions are there */
    uint64_t cut_by_buffer, lost_waves; /**< of these; not listed: the buffer was full */
    bool part_of_grid; /**< the software device says that it modelled a sample of the workgroups */

    struct rp_att_sums sums;
    struct rp_att_sums by_kind[RP_ATT_KIND_COUNT];
    struct rp_att_samples samples;
    uint64_t waited_cycles[RP_ATT_REASON_COUNT];
    uint64_t state_cycles[RP_ATT_STATE_COUNT];
    uint64_t branches_taken, branches_not_taken; /**< from the waves */
    struct rp_att_latency latency[RP_ATT_KIND_COUNT];
    struct rp_att_issue issue;

    struct rp_att_engine *engines;
    size_t engine_count;
    bool engines_of_kernel; /**< waves of this kernel only; false: of whatever ran */
    struct rp_att_clock *clocks;
    size_t clock_count;
    /** Only the software device's traces have these: where the kernel is declared (NULL = unknown),
     * and what it declares, in the order of the debug information. */
    char *kernel_place;
    uint64_t kernel_lds_bytes; /**< of the code itself; a launch may add some */
    struct rp_att_variable *variables;
    size_t variable_count;
    struct rp_att_problem *problems; /**< by file */
    size_t problem_count;
};

struct rp_thread_traces {
    struct rp_thread_trace *traces; /**< by dispatch, agent, path */
    size_t count;
};

/** Says whether it is a folder of decoded files, or a stats CSV. */
bool rp_thread_trace_is_one(const char *path);
/** Says whether it is one, or a folder that holds some. */
bool rp_thread_trace_can_open(const char *path);

/**
 * Adds the traces of a path to the set. Missing or damaged parts of a trace are in problems.
 * @return 0; RP_BAD_INPUT when nothing of a trace can be read; RP_ENVIRONMENT
 */
int rp_thread_trace_open(const char *path, struct rp_thread_traces *set, struct rp_err *err);
/**
 * If the stores know several kernels of one name, this gives each trace its kernel's name there
 * (see rp_store_tell_apart): by the code, else by the dispatch. An empty trace gets the name of its
 * dispatch, too.
 */
int rp_thread_traces_name(struct rp_thread_traces *set, struct rp_store *const *stores,
                          size_t count, struct rp_err *err);
/** Adds PC samples of a store, one trace for each kernel. Call rp_store_tell_apart() before. */
int rp_thread_traces_add_samples(struct rp_thread_traces *set, struct rp_store *store,
                                 struct rp_err *err);
/** @return whether some are in the set, beside thread traces or alone */
bool rp_thread_traces_have_pc_samples(const struct rp_thread_traces *set);
bool rp_store_has_pc_samples(struct rp_store *store);
void rp_thread_traces_free(struct rp_thread_traces *set);
void rp_thread_trace_free(struct rp_thread_trace *trace);

/** Computes the mean waves on a SIMD while it has any: over the engines, else over the traced
 * waves.
 * @return false when unknown */
bool rp_thread_trace_occupancy(const struct rp_thread_trace *trace, double *ret_waves_per_simd);
/** Computes the part of the waves' time spent in stalls: stall / (latency + idle).
 * @return false when unknown */
bool rp_thread_trace_stall_fraction(const struct rp_att_sums *sums, double *ret);

/* These steps of rp_thread_trace_open read the files of a folder, one by one, and compute what
 * follows from them together. */

enum {
    RP_ATT_MAX_FILE = 128 << 20, /**< bytes; jansson needs about 15 times that */
    RP_ATT_QUEUE = 128 /**< outstanding instructions that a wave can have; counters end at 63 */
};

/** Waits are about these counters of the hardware. */
enum rp_att_counter {
    RP_ATT_VM,   /**< vector memory; before gfx10 stores as well */
    RP_ATT_VS,   /**< stores since gfx10 */
    RP_ATT_LGKM, /**< LDS and, before gfx12, scalar memory */
    RP_ATT_KM,   /**< scalar memory since gfx12 */
    RP_ATT_COUNTERS
};

/** Says what an instruction means for them. */
struct rp_att_meaning {
    enum rp_att_kind kind;
    bool counts[RP_ATT_COUNTERS]; /**< it is outstanding until its counter is waited for */
    bool waits[RP_ATT_COUNTERS];
    uint32_t limit[RP_ATT_COUNTERS]; /**< as many may stay outstanding */
    bool sleeps;                     /**< s_nop, s_sleep */
    bool atomic;                     /**< of global memory */
};
void rp_att_decode(const char *isa, uint32_t gfx_ip, struct rp_att_meaning *ret);
/** Without a text the wave files' own category gives the kind. */
enum rp_att_kind rp_att_kind_of_category(int64_t category);
/** Returns the reason of a stall at an instruction when nothing more is known. */
enum rp_att_reason rp_att_reason_of(const struct rp_att_meaning *meaning);

struct rp_att_values {
    uint32_t *at;
    size_t count, capacity;
};

struct rp_att_build {
    struct rp_thread_trace *trace;
    struct rp_att_meaning *meanings; /**< of the instructions */
    struct rp_att_sums *from_waves;  /**< of the instructions, added up again */
    uint32_t *by_line;               /**< indices of instructions, by line */
    bool lines_are_indices;          /**< by_line[line] is right at once */
    struct rp_att_values latencies[RP_ATT_KIND_COUNT];
    struct rp_att_sums loose[RP_ATT_KIND_COUNT]; /**< of waves, by the category of the files */
    uint64_t *begun;        /**< by kernel: waves whose first instruction is in it */
    uint64_t unknown_lines; /**< executed instructions that the listing does not have */
    uint64_t bad_timelines; /**< waves whose states do not fill their time */
    uint64_t unstitched;    /**< instructions that the decoder could not place */
    bool has_lines;         /**< the listing has the lines that waves refer to */
};

/** Notes damage or something missing.
 * @return false when memory has ended */
bool rp_att_problem(struct rp_thread_trace *trace, bool damage, const char *file, const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));
/** Makes meanings, from_waves and by_line once the listing is there. */
int rp_att_index(struct rp_att_build *build, struct rp_err *err);
void rp_att_build_free(struct rp_att_build *build);
/** Computes everything that follows from the files together. */
int rp_att_finish(struct rp_att_build *build, struct rp_err *err);

/** Judges by sums and problems, once all files are read. */
enum rp_att_completeness rp_att_completeness(const struct rp_thread_trace *trace);

/** Parses a JSON text; the message names line and column. */
int rp_att_json(const char *text, size_t len, json_t **ret, struct rp_err *err);
bool rp_att_number(const json_t *value, int64_t *ret);

/** Reads code.json: kernels and instructions. */
int rp_att_read_code(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);
/** Reads stats_ui_output_*.csv, which has less. */
int rp_att_read_stats(const char *text, size_t len, struct rp_thread_trace *trace,
                      struct rp_err *err);
/** Reads a wave, and adds it to trace and build. */
int rp_att_read_wave(const json_t *root, struct rp_att_build *build, struct rp_err *err);
/** Reads occupancy.json. @p symbol selects a kernel's waves when it is among the names there. */
int rp_att_read_occupancy(const json_t *root, const char *symbol, const char *name,
                          struct rp_thread_trace *trace, struct rp_err *err);
/** Reads accesses.json, after the instructions. */
int rp_att_read_accesses(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);
/** Reads variables.json. */
int rp_att_read_variables(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);
/** Reads realtime.json. */
int rp_att_read_clocks(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);

#endif
