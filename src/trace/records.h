/**
 * @file records.h
 * @brief The injected tool writes a record file, and rocm-perf reads it: a
 * header, then fixed records.
 *
 * One file per process, `<pid>.<start>.rptrace` in the folder named by ROCM_PERF_TRACE_DIR. The
 * writer maps it shared and publishes `committed_records` with a release store after a record is
 * whole, so what was recorded survives a crash, a signal or _exit(). `flags` gains
 * RP_TRACE_CLOSED only on an orderly end; a reader marks the trace incomplete without it.
 * All integers little endian, all times in nanoseconds of the HSA system clock domain.
 */
#ifndef RP_TRACE_RECORDS_H
#define RP_TRACE_RECORDS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rp_err;
struct rp_rec_simulation;
struct rp_record_file;
struct rp_threads_request;

struct rp_trace_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;      /**< sizeof this struct; records begin there */
    uint32_t record_bytes;      /**< sizeof(struct rp_record) */
    uint32_t flags;             /**< enum rp_trace_flag, written atomically */
    uint64_t committed_records; /**< release-stored by the writer */
    uint64_t lost_records;      /**< could not be written (disk full, out of memory) */
    uint64_t lost_dispatches;   /**< dispatches whose times were never obtained */
    uint64_t init_ns;           /**< HSA clock when the tool was loaded */
    uint64_t fini_ns;           /**< ... unloaded; 0 while open */
    uint32_t pid;
    uint32_t ppid;
    uint32_t hsa_runtime_version;
    uint32_t timing;         /**< enum rp_trace_timing */
    uint32_t timing_version; /**< of that model */
    uint32_t
        unrecorded; /**< dispatches that were not to be recorded, UINT32_MAX: so many or more */
    uint64_t launch_calls; /**< HIP calls that launch kernels or graphs, failed ones among them */
    char rank[32];         /**< "OMPI_COMM_WORLD_RANK=3": of a launcher's variable; "": none */
};

/* The reader of record files must cope with files that are cut short, unclosed or damaged. Cut
 * short or unclosed is normal (the program was killed) and only noted. What the format cannot
 * explain is refused with the file's name, the record's number and what is wrong with it.
 */

/** This is a file as it was read: nothing outside of records.c writes to it. */
struct rp_record_file {
    void *map; /**< NULL when parsed from memory */
    size_t map_bytes;
    const char *name; /**< during parsing only */
    struct rp_trace_header header;
    bool cut_short;
    const struct rp_record *records;
    struct rp_record *aligned_records; /**< owned copy when the input is not aligned */
    size_t count;
    char **strings; /**< by id - 1 */
    size_t string_count;
    size_t *strings_whole_bytes; /**< bytes so far, by id - 1 */
};

#define RP_TRACE_VERSION 3u

/** This file beside the record files, if it is there, switches recording off and on. */
#define RP_RECORDING_CONTROL_FILE "control"
struct rp_recording_control {
    uint32_t paused; /**< atomic: what is submitted now is not recorded */
    uint8_t reserved[60];
};

/** The variable "on" limits recording to between roctxProfilerResume and roctxProfilerPause. */
#define RP_REGIONS_VARIABLE "ROCM_PERF_SELECTED_REGIONS"
/** The variable limits recording to ROCTx ranges whose name it matches, as file names are. */
#define RP_RANGE_VARIABLE "ROCM_PERF_ROCTX_RANGE"

/**
 * A writer that cannot make its file leaves an empty one, whose name has this and the errno value.
 */
#define RP_TRACE_FAILED_SUFFIX ".failed-"

enum rp_trace_flag {
    RP_TRACE_CLOSED = 1u << 0,         /**< the tool was unloaded in order */
    RP_TRACE_SOFTWARE = 1u << 1,       /**< the software device answered: times are modelled */
    RP_TRACE_UNTRACED_QUEUE = 1u << 2, /**< a queue could not be intercepted: work is missing */
    RP_TRACE_HIP_CALLS = 1u << 3,      /**< the HIP runtime reports its calls */
    RP_TRACE_HIP_UNKNOWN = 1u << 4,    /**< it is of a version whose reports are not understood */
    RP_TRACE_SETTLED =
        1u << 5, /**< recording is switched off, and all that was recorded has ended */
};

/** This says how the software device finds times. */
enum rp_trace_timing {
    RP_TRACE_TIMING_NONE = 0, /**< they are measured, or the writer does not say */
    RP_TRACE_TIMING_COUNTS,   /**< from counts */
    RP_TRACE_TIMING_DETAILED, /**< sampled workgroups are simulated: RP_REC_SIMULATION */
    RP_TRACE_TIMING_OFF,      /**< it does not: they mean nothing */
    RP_TRACE_TIMING_WARM,     /**< as detailed, and caches keep what launches leave in them */
};
static_assert(sizeof(struct rp_trace_header) == 128, "trace header is part of the file format");

enum rp_record_kind {
    RP_REC_NONE = 0,
    RP_REC_STRING = 1, /**< up to 104 bytes of a string; continued by part number */
    RP_REC_AGENT = 2,
    RP_REC_QUEUE = 3,
    RP_REC_CODE_OBJECT = 4,
    RP_REC_KERNEL = 5, /**< kernel symbol */
    RP_REC_DISPATCH = 6,
    RP_REC_COPY = 7,
    RP_REC_AGENT_PROP = 8, /**< one key/value of an agent's extra data */
    RP_REC_QUEUE_END = 9,
    RP_REC_BARRIER = 10,       /**< packet that only orders others, when it is submitted */
    RP_REC_CALL = 11,          /**< call of the program to the HIP runtime, when it has returned */
    RP_REC_WAIT = 12,          /**< what a copy waits for, when it is submitted */
    RP_REC_COUNTERS = 13,      /**< hardware counters of a dispatch, behind its record */
    RP_REC_SIMULATION = 14,    /**< what its modelled time is from, likewise */
    RP_REC_FAILED_LAUNCH = 15, /**< HIP refused it, and nothing ran */
    RP_REC_CALL_SITE = 16,     /**< a place of the program that calls HIP, before its first call */
    RP_REC_PYTHON_FRAME = 17,  /**< a frame of Python code that such a place is in, behind it */
    RP_REC_RANGE_NAME = 18, /**< the wanted name of ROCTx ranges; where none had it, their names */
};

/** Strings are stored once and referred to by id; id 0 is the empty string. */
struct rp_rec_string {
    uint32_t id;
    uint16_t part;  /**< 0, 1, 2 ... in order, written back to back by one thread */
    uint16_t bytes; /**< used bytes of text in this part */
    uint32_t total_bytes;
    uint32_t reserved;
    char text[104];
};

struct rp_rec_agent {
    uint64_t handle;  /**< hsa_agent_t.handle */
    uint32_t type;    /**< 0 CPU, 1 GPU */
    uint32_t node_id; /**< driver node: absolute index */
    uint32_t name_id; /**< "gfx942" */
    uint32_t product_name_id;
    uint32_t vendor_name_id;
    uint32_t uuid_id;
    uint32_t logical_index; /**< order among all agents */
    uint32_t type_index;    /**< order among agents of this type */
};

/**
 * These are extdata keys of rocpd_info_agent, which are integers spelled as facts are (cu_count,
 * ...).
 */
struct rp_rec_agent_prop {
    uint64_t agent;
    uint32_t key_id;
    uint32_t reserved;
    uint64_t value;
};

struct rp_rec_queue {
    uint64_t agent;
    uint64_t queue_id; /**< hsa_queue_t.id */
    uint32_t index;    /**< 0, 1, ... in order of creation; used by dispatches */
    uint32_t size_packets;
    uint64_t created_ns;
};

struct rp_rec_code_object {
    uint32_t id; /**< 1, 2, ... */
    uint32_t uri_id;
    uint64_t agent;
    uint64_t load_base, load_bytes;
    int64_t load_delta;
    uint64_t storage; /**< 0 memory, 1 file */
};

struct rp_rec_kernel {
    uint32_t id; /**< 1, 2, ... */
    uint32_t code_object_id;
    uint64_t kernel_object;   /**< address in AQL packets */
    uint32_t name_id;         /**< mangled, with ".kd" */
    uint32_t display_name_id; /**< demangled when the runtime tells, else 0 */
    uint32_t kernarg_bytes, kernarg_align_bytes;
    uint32_t group_bytes, private_bytes;
    uint32_t sgpr_count; /**< as rocpd reports it; 0 = unknown */
    uint32_t arch_vgpr_count;
    uint32_t accum_vgpr_count;
    uint32_t max_workgroup_size; /**< 0 = unknown */
    uint32_t wave_size;
    uint32_t code_bytes; /**< of its code object when loaded, low half; 0 = unknown */
    uint64_t code_hash;  /**< rp_code_identity_hash; 0 = unknown */
};

struct rp_rec_dispatch {
    uint64_t dispatch_id;    /**< 1, 2, ... in order of submission in this process */
    uint64_t correlation_id; /**< of the call that launched it, else of its own */
    uint32_t kernel_id;      /**< 0 = unknown kernel object */
    uint32_t queue_index;
    uint64_t agent;
    uint64_t start_ns, end_ns;
    uint64_t submit_ns; /**< host clock at submission */
    uint32_t tid;
    uint32_t private_bytes, group_bytes; /**< of this dispatch */
    uint32_t grid[3];                    /**< work-items */
    uint16_t workgroup[3];
    uint16_t barrier_bit; /**< waits for all packets before it in the queue */
    uint64_t order; /**< kernels, copies and barriers of the process as submitted: 1, 2, ... */
    uint64_t match; /**< in a survey (capture.h): its number among those that match; 0: it
                       does not */
};

struct rp_rec_copy {
    uint64_t start_ns, end_ns;
    uint64_t bytes;
    uint64_t dst_agent, src_agent;
    uint64_t dst_address, src_address;
    uint64_t correlation_id;
    uint32_t tid;
    uint32_t engine;  /**< reserved: SDMA engine when known */
    uint64_t copy_id; /**< 1, 2, ... in order of submission in this process */
    uint64_t order;   /**< as of a dispatch */
};

enum rp_barrier_type {
    RP_BARRIER_AND = 0,   /**< waits for all of its signals */
    RP_BARRIER_OR = 1,    /**< ... for one of them */
    RP_BARRIER_VALUE = 2, /**< AMD's: for one signal to have a value */
    RP_BARRIER_OTHER = 3, /**< vendor packet without signals to wait for */
};

enum { RP_REC_BARRIER_WAITS = 8, RP_REC_WAITS = 12 };

/**
 * The packet processor launches nothing behind a barrier in its queue before the barrier is
 * complete.
 */
struct rp_rec_barrier {
    uint64_t order, correlation_id;
    uint32_t queue_index;
    uint32_t tid;
    uint16_t type; /**< enum rp_barrier_type */
    uint16_t barrier_bit;
    uint16_t wait_count;
    uint16_t unknown_count; /**< signals to wait for that nothing is known to complete: the host */
    uint64_t waits[RP_REC_BARRIER_WAITS]; /**< orders of what completes the signals */
};

/** One copy may have several of these. */
struct rp_rec_wait {
    uint64_t order; /**< of the copy */
    uint32_t wait_count;
    uint32_t unknown_count;
    uint64_t waits[RP_REC_WAITS];
};

enum { RP_REC_COUNTER_VALUES = 8 };

/** One dispatch may have several of these. */
struct rp_rec_counters {
    uint64_t dispatch_id;
    uint32_t count;
    uint32_t reserved;
    uint32_t name_id[RP_REC_COUNTER_VALUES];
    double value[RP_REC_COUNTER_VALUES];
};

/** Kernels and copies that run at the same time share these. */
enum rp_shared_resource {
    RP_SHARED_ROOM, /**< for waves, on compute units */
    RP_SHARED_HBM,
    RP_SHARED_MALL,
    RP_SHARED_L2,
    RP_SHARED_LDS,
    RP_SHARED_VALU,
    RP_SHARED_MATRIX,
    RP_SHARED_FROM_HOST, /**< the link to the host, in either direction */
    RP_SHARED_TO_HOST,
    RP_SHARED_RESOURCES,
};

/** A dispatch without one, or of which nothing was replayed, has its time from counts. */
struct rp_rec_simulation {
    uint64_t dispatch_id;
    uint64_t waves;            /**< of the dispatch */
    uint64_t replayed_waves;   /**< of these on the modelled machine */
    double error_share;        /**< estimate of the relative error of the time that the rest adds */
    uint64_t fast_clock_waves; /**< that read a clock which went on as with counts timing */
    union {
        double needs_ns[RP_SHARED_RESOURCES]; /**< if it had each of the device's for itself */
        /** Where nothing was replayed: between which times detailed timing would see it, or 0s. */
        double between_ns[2];
    };
};

enum { RP_REC_ARG_BYTES = 72 };

/**
 * Host times are in the domain of the dispatch times, except with RP_TRACE_SOFTWARE, because that
 * clock is modelled.
 */
struct rp_rec_call {
    uint64_t correlation_id; /**< shared with what it launched; calls count in order of entry */
    uint64_t start_ns, end_ns;
    uint64_t created; /**< handle of the stream that it made, else 0 */
    uint32_t name_id;
    uint32_t tid;
    uint32_t merged;    /**< equal calls before it that were left out: a polling loop */
    uint32_t arg_bytes; /**< used bytes of args; 0: hip_calls.def does not list the call */
    uint8_t args[RP_REC_ARG_BYTES];
};
static_assert(sizeof(struct rp_rec_call) == 120, "a call fills its record");

struct rp_rec_failed_launch {
    uint64_t correlation_id; /**< of the call */
    uint32_t api_name_id;    /**< "hipLaunchKernel" */
    uint32_t kernel_name_id; /**< mangled; 0: not known, or a graph */
    uint32_t error_name_id;  /**< "hipErrorInvalidConfiguration" */
    uint32_t error;          /**< hipError_t */
    uint32_t tid;
    uint32_t grid[3];  /**< as the call gives it: in blocks or in work-items; 0: not known */
    uint32_t block[3]; /**< work-items; 0: not known */
    uint32_t reserved;
    uint64_t dynamic_lds_bytes;
};

/**
 * With it in the environment as "on", records of calls that start work or wait say where the
 * program made them.
 */
#define RP_CALL_SITES_VARIABLE "ROCM_PERF_CALL_SITES"

enum { RP_REC_FRAMES = 4 };

/**
 * The first frame is the one that called HIP: the compiler's stub of a kernel, or the program. The
 * others called it, in this order.
 */
struct rp_rec_call_site {
    uint32_t id;                       /**< 1, 2, ... */
    uint32_t count;                    /**< of frames, at least one */
    uint32_t module_id[RP_REC_FRAMES]; /**< path of the ELF file; 0: the code is in no file */
    uint64_t address[RP_REC_FRAMES];   /**< within the call, as the ELF file counts */
};

/** The innermost frame of a place comes first. */
struct rp_rec_python_frame {
    uint32_t call_site_id;
    uint32_t file_id, function_id;
    uint32_t line;
};

struct rp_rec_range_name {
    uint32_t name_id;
};

struct rp_record {
    uint32_t kind;      /**< enum rp_record_kind */
    uint32_t call_site; /**< of a call, where it was made; 0: not known, or of another kind */
    union {
        struct rp_rec_string string;
        struct rp_rec_agent agent;
        struct rp_rec_agent_prop agent_prop;
        struct rp_rec_queue queue;
        struct rp_rec_code_object code_object;
        struct rp_rec_kernel kernel;
        struct rp_rec_dispatch dispatch;
        struct rp_rec_copy copy;
        struct rp_rec_call call;
        struct rp_rec_barrier barrier;
        struct rp_rec_wait wait;
        struct rp_rec_counters counters;
        struct rp_rec_simulation simulation;
        struct rp_rec_failed_launch failed_launch;
        struct rp_rec_call_site call_site;
        struct rp_rec_python_frame python_frame;
        struct rp_rec_range_name range_name;
        uint8_t bytes[120];
    } u;
};
static_assert(sizeof(struct rp_record) == 128, "record size is part of the file format");

/**
 * Maps a trace and checks every record: kinds, ids that refer to something, string parts, times.
 * Where the header says that records were lost, kernels, queues and code objects that are referred
 * to may be among them: their ids are then accepted as they are. Strings always exist.
 * @return 0; RP_ENVIRONMENT when it cannot be read, RP_BAD_INPUT when it is no trace or damaged
 */
int rp_record_file_open(const char *path, struct rp_record_file **ret, struct rp_err *err);

/** Does the same for bytes in memory, which must outlive the reader. @p name is for messages. */
int rp_record_file_parse(const char *name, const void *bytes, size_t size,
                         struct rp_record_file **ret, struct rp_err *err);

/** Closes the file; NULL is accepted. */
void rp_record_file_close(struct rp_record_file *file);

/** Puts as many other records in place of those that were read. They belong to the reader then. */
void rp_record_file_replace(struct rp_record_file *file, struct rp_record *records);

#define RP_THREADS_MAGIC       "RPTHRDS1"
#define RP_THREADS_SUFFIX      ".threads-"
#define RP_THREADS_CODE_SUFFIX ".code-"

/**
 * The variable lists symbols of the kernels to trace, with ".kd", separated by newlines. Without
 * it no kernel is traced.
 */
#define RP_THREADS_KERNELS_VARIABLE "ROCM_PERF_THREAD_TRACE_KERNELS"
/** The variable says which launches of each kernel to trace, from 1: "1-1,5-7". */
#define RP_THREADS_LAUNCHES_VARIABLE "ROCM_PERF_THREAD_TRACE_LAUNCHES"
/**
 * The variable says which waves to trace: "CU ENGINES SIMDS ROWS" in hexadecimal, as struct
 * rp_threads_request.
 */
#define RP_THREADS_WAVES_VARIABLE "ROCM_PERF_THREAD_TRACE_WAVES"

/* A thread-trace file says what the waves of one dispatch did on the software device, instruction
 * by instruction. It lies beside the record file and is written when the dispatch is complete.
 *
 * "<record file>.threads-<dispatch id>" has the header, then the arrays in the order of its
 * counts, each of which begins at a multiple of 8 bytes. Beside it are "<record file>.code-<id of
 * code object>", the ELF files. All integers are little endian, and all times are in engine clocks
 * since the launch.
 */

enum { RP_THREADS_VERSION = 3 };

/**
 * This names the compute unit of a shader engine: its number, or the one that is sure to have
 * waves.
 */
#define RP_THREADS_ANY_CU UINT32_MAX

/** This is one execution of an instruction. */
struct rp_threads_row {
    uint64_t clock;          /**< the instruction is at the wave, which could issue it */
    uint32_t stall_clocks;   /**< until it is issued, or lets the wave go on */
    uint32_t latency_clocks; /**< with the stall: until the wave can issue the next one */
    uint32_t code;           /**< index */
    uint8_t category;        /**< enum rp_threads_category */
    uint8_t reserved[3];
};

/** As many rows fit 48 MiB, a size that readers of the file can hold. */
#define RP_THREADS_ROWS (48u * 1024 * 1024 / sizeof(struct rp_threads_row))

/** This says which waves are traced. */
struct rp_threads_request {
    uint32_t cu;      /**< of each engine */
    uint32_t engines; /**< mask */
    uint32_t simds;   /**< mask */
    uint32_t rows;    /**< at most as many: then all waves are cut short */
    bool work_items;  /**< rp_threads_event.begins says how many the wave has; not in files */
};

/** This says what an instruction is; the numbers are those of decoded thread traces. */
enum rp_threads_category {
    RP_THREADS_SMEM = 1,
    RP_THREADS_SALU = 2,
    RP_THREADS_VMEM = 3, /**< with a buffer resource */
    RP_THREADS_FLAT = 4, /**< FLAT, GLOBAL, SCRATCH */
    RP_THREADS_LDS = 5,
    RP_THREADS_VALU = 6,
    RP_THREADS_JUMP = 7,
    RP_THREADS_NEXT = 8,      /**< a branch that was not taken */
    RP_THREADS_IMMEDIATE = 9, /**< handled where it is fetched */
    RP_THREADS_MESSAGE = 11,
};

enum rp_threads_flag {
    RP_THREADS_SAMPLED = 1u << 0, /**< not all workgroups were simulated */
    RP_THREADS_CUT = 1u << 1,     /**< of some waves only the first instructions are there */
};

/** This says why a wave's trace ends before the wave. */
enum rp_threads_cut {
    RP_THREADS_WHOLE,
    RP_THREADS_RECORD_ENDS, /**< the dispatch was too long to be recorded whole */
    RP_THREADS_BUFFER_FULL, /**< as many rows as were wished */
};

struct rp_threads_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t flags; /**< enum rp_threads_flag */
    uint32_t gfx_ip;
    uint32_t engine_mhz, timestamp_mhz;
    uint64_t start_ticks;         /**< of the dispatch, device clock */
    uint64_t entry_pc;            /**< of the kernel */
    uint64_t groups, group_count; /**< simulated, in all */
    uint64_t code_count, text_bytes, wave_count, row_count, wait_count, event_count;
    uint64_t lost_waves; /**< that began when the buffer was full */
};
static_assert(sizeof(struct rp_threads_header) == 120, "header is part of the file format");

/** These are the instructions of functions that were entered, by address. */
struct rp_threads_code {
    uint64_t pc;
    uint32_t text; /**< where its text begins; it ends with a 0 */
    uint32_t bytes;
    /** Of memory instructions, over all simulated waves. Traces of hardware do not know these. */
    uint64_t accesses;            /**< executions by a wave */
    uint64_t lookups;             /**< of the vector L1 */
    uint64_t needed_lookups;      /**< had neighbouring lanes accessed neighbouring addresses */
    uint64_t lds_conflict_clocks; /**< that bank conflicts keep the LDS busy */
};
static_assert(sizeof(struct rp_threads_code) == 48, "part of the file format");

/** Waves are sorted by engine, begin, SIMD and slot. */
struct rp_threads_wave {
    uint64_t begin, end;
    uint64_t first_row, first_wait;
    uint32_t row_count, wait_count;
    uint32_t engine;
    uint8_t cu, simd, slot;
    uint8_t cut; /**< enum rp_threads_cut; not 0: it ended later, not all that it did is there */
};
static_assert(sizeof(struct rp_threads_wave) == 48, "part of the file format");
static_assert(sizeof(struct rp_threads_row) == 24, "part of the file format");

/** A wait has waited for results of an instruction at least once. Each pair has one row. */
struct rp_threads_wait {
    uint32_t code, on; /**< indices */
};
static_assert(sizeof(struct rp_threads_wait) == 8, "part of the file format");

/** A wave begins or ends on any compute unit of the engines. Rows are in order of time. */
struct rp_threads_event {
    uint64_t clock;
    uint32_t engine;
    uint8_t cu, simd, slot;
    uint8_t begins;
};
static_assert(sizeof(struct rp_threads_event) == 16, "part of the file format");

/** This says what a call does to the order of work. */
enum rp_hip_kind {
    RP_HIP_OTHER, /**< waits for nothing that is known; may start work */
    RP_HIP_STREAM_CREATE,
    RP_HIP_STREAM_DESTROY,
    RP_HIP_EVENT_RECORD,
    RP_HIP_STREAM_WAIT, /**< the stream goes on when the event has been reached */
    RP_HIP_EVENT_SYNC,  /**< returns when the event's last record has been reached */
    RP_HIP_STREAM_SYNC, /**< returns when the stream is empty */
    RP_HIP_DEVICE_SYNC, /**< returns when all streams are empty */
    RP_HIP_OWN_SYNC,    /**< returns when what it started is done */
    RP_HIP_QUERY,       /**< asks without waiting; programs do so in loops */
};

/** This says how an argument is printed. */
enum rp_hip_form {
    RP_HIP_PTR,
    RP_HIP_U64,
    RP_HIP_I64,
    RP_HIP_U32,
    RP_HIP_I32,
    RP_HIP_U16,
    RP_HIP_U8,
    RP_HIP_DIM3,      /**< three uint32_t */
    RP_HIP_COPY_KIND, /**< hipMemcpyKind */
};

/**
 * Stands in results: times of one model compare as long as these are the same. To be raised by
 * whatever changes the times of a kernel; bounds of counts timing may become better without it.
 */
enum {
    RP_TIMING_COUNTS_VERSION = 2,
    RP_TIMING_DETAILED_VERSION = 19,
    RP_TIMING_OFF_VERSION = 1,
};

/** What counts timing was called until November 2026. Results and users still say it. */
#define RP_TIMING_COUNTS_WAS "fast"

/** Returns what a model of time is called today; NULL stays NULL. */
static inline const char *rp_timing_model_today(const char *model)
{
    return model && strcmp(model, RP_TIMING_COUNTS_WAS) == 0 ? "counts" : model;
}

/* The software device offers this to the collector in the same process, which finds it with
 * dlsym.
 */

/** This function returns the table, or NULL while the device is switched off. */
#define RP_DEVICE_TABLE_SYMBOL "rocm_perf_device_table"

/** The variable has names of hardware counters to collect, separated by commas. A number among them
 * says of how many dispatches at most. */
#define RP_DEVICE_COUNTERS_VARIABLE "ROCM_PERF_DEVICE_COUNTERS"

/** The engine clock in MHz that was modelled, if it is not the GPU's highest: a property of an
 * agent.
 */
#define RP_CLOCK_KEY "rocm_perf_engine_clk"

/** What the device checks while it executes kernels, words with commas, and the folder of what it
 * finds (device/check/check.h). */
#define RP_CHECK_VARIABLE        "ROCM_PERF_DEVICE_CHECK"
#define RP_CHECK_FOLDER_VARIABLE "ROCM_PERF_DEVICE_CHECK_FOLDER"

struct rp_check_record;
struct rp_check_update;

enum { RP_DEVICE_TABLE_VERSION = 18 };

enum rp_device_order {
    RP_DEVICE_FORWARD = 0,
    RP_DEVICE_INTERLEAVED = 1 << 30, /**< with a seed: workgroups, too, take short turns */
    RP_DEVICE_REVERSED = 0x7fffffff,
};

struct rp_device_table {
    uint32_t version;
    /**
     * Returns how many counters are collected: those that the environment names and the device
     * has.
     */
    uint32_t (*counter_count)(void);
    /** Returns the name of a counter as the environment spells it. The text is never freed. */
    const char *(*counter_name)(uint32_t index);
    /**
     * Returns what is known of the dispatch that completed @p signal (the address of its
     * amd_signal_t) with these raw times. It can be taken once.
     * @param ret_values  of the counters; NAN where one is not known
     * @param ret_replay  but for its dispatch_id; replayed_waves 0: its time is from counts, and
     *                    between_ns are its bounds
     * @return false when nothing is known
     */
    bool (*take)(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                 struct rp_rec_simulation *ret_replay);
    /** Returns an enum rp_trace_timing and the version of that model. */
    uint32_t (*timing)(uint32_t *ret_version);
    /** Returns the engine clock that is modelled; 0: the GPU's highest. */
    uint32_t (*clock_mhz)(void);
    /**
     * Asks for a thread trace of the next dispatch of the kernel that completes @p signal. It must
     * be called before that is submitted.
     * @return false when the device cannot: there is no detailed timing
     */
    bool (*trace_threads)(uint64_t signal, uint64_t kernel_object,
                          const struct rp_threads_request *wish);
    /** Returns the trace of a dispatch as take() names it, which the caller frees. */
    bool (*take_threads)(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks,
                         void **ret_bytes, size_t *ret_count);
    /**
     * Callbacks of signals may come later than their signals, and only this device knows when.
     * This returns when the due ones have been made, or after 0.1 s; with @p all it waits for all
     * that have come, for at most 5 s.
     */
    void (*settle_callbacks)(bool all);
    /**
     * While a thread is within a copy, what is submitted may be held until the copy is. Around the
     * time in which the collector keeps such threads waiting: nothing is held.
     */
    void (*hold_nothing)(bool begins);
    /**
     * Sets what LDS, scratch and registers hold at the start of workgroups of dispatches from now
     * on.
     * @param seed  of words without meaning; 0: zeros
     */
    void (*set_poison)(uint32_t seed);
    /**
     * Sets in which order workgroups begin and waves take turns in dispatches from now on.
     * @param order  enum rp_device_order, or a seed: a shuffled one with short turns
     */
    void (*set_order)(uint32_t order);
    /**
     * Sets whether dispatches from now on that fault are ended as by a bound, and not their queue.
     */
    void (*set_fault_ends)(bool ends);
    /**
     * How much work dispatches from now on may be: wavefront instructions, and about a thousand for
     * each time that a workgroup has its turn, be it to wait. What is more is ended, its memory
     * half done, and its signal completed as if it had come to its end. It follows from the program
     * alone, and not from how fast the machine is.
     * @param work  0: any
     */
    void (*set_bound)(uint64_t work);
    /**
     * Returns how much work the dispatch was that ended last.
     * @return whether it was ended by its bound
     */
    bool (*last_work)(uint64_t *ret_work);
    /** Returns whether it was ended by a fault. */
    bool (*last_faulted)(void);
    /**
     * Returns for how long, in host time, every dispatch that is under way has done nothing but
     * wait: all its waves sleep or poll memory. 0: one of them works, or there is none
     */
    int64_t (*only_waits_ns)(void);
    /** Returns which address the kernel could not reach that was stopped last; 0: none was. */
    uint64_t (*fault_address)(void);
    /**
     * Checks what dispatches from now on do to memory, on one processor. No kernel may run while
     * this is called.
     * @param what  words with commas, as RP_CHECK_VARIABLE has them; NULL: nothing any more
     * @return false: it has a word that is no check
     */
    bool (*check)(const char *what);
    /** Tells the checks of memory that the program has allocated otherwise than in the runtime. */
    void (*check_allocation)(uint64_t begin, uint64_t bytes);
    /** Returns a finding of the checks that has not been taken yet. false: there is none */
    bool (*take_finding)(struct rp_check_record *ret);
    /**
     * Returns what atomics did of the dispatches that were checked for races since this returned
     * false, address by address.
     * @param ret_incomplete  there was no room for all
     */
    bool (*take_update)(struct rp_check_update *ret, bool *ret_incomplete);
    /** Returns how often the checks had no room for a dispatch, a workgroup or an access since this
     * was called last, so that it was compared with nothing. */
    uint64_t (*take_not_compared)(void);
    /**
     * Sets whether the time of dispatches from now on is modelled, as the environment asks, which
     * costs several times what execution does. Otherwise each takes a tick. No kernel may run while
     * this is called.
     */
    void (*set_timed)(bool timed);
    /** Returns whether a kernel has read a clock since this was called last. */
    bool (*take_clock_read)(void);
};

typedef const struct rp_device_table *rp_device_table_fn(void);

/** A copy with a consistent committed_records: as many as are really there. */
static inline const struct rp_trace_header *rp_record_file_header(const struct rp_record_file *file)
{
    return &file->header;
}

/**
 * Tests whether the tool was unloaded in order or told to record no more, every committed record is
 * there and nothing was lost.
 */
static inline bool rp_record_file_complete(const struct rp_record_file *file)
{
    return (file->header.flags & (RP_TRACE_CLOSED | RP_TRACE_SETTLED)) != 0 && !file->cut_short &&
           (file->header.flags & RP_TRACE_UNTRACED_QUEUE) == 0 && file->header.lost_records == 0 &&
           file->header.lost_dispatches == 0;
}

/**
 * Returns records, strings among them, in the order in which they were written. The array belongs
 * to the reader.
 */
static inline const struct rp_record *rp_record_file_records(const struct rp_record_file *file,
                                                             size_t *ret_count)
{
    *ret_count = file->count;
    return file->records;
}

/**
 * Returns the text of a string, which is "" for id 0. It is never NULL, because every id in an
 * accepted trace exists.
 */
static inline const char *rp_record_file_string(const struct rp_record_file *file, uint32_t id)
{
    if (id == 0 || id > file->string_count)
        return "";
    return file->strings[id - 1];
}

#endif
