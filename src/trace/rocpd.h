/**
 * @file rocpd.h
 * @brief This header reads and writes rocpd trace databases: write one, read any.
 *
 * A rocpd database is SQLite with the schema that rocprofv3 publishes (3.0.x): tables
 * `rocpd_<x>_<uuid>` and un-suffixed views. The writer makes schema 3.0.x; the reader finds what a
 * database has by its columns, those of drafts of schema 4 included. All times are nanoseconds of
 * one clock domain.
 *
 * Strings are UTF-8. The writer copies what it is given and replaces bytes that are not UTF-8 by
 * U+FFFD; a NULL string is stored as NULL. The reader's strings live until rp_store_close, are
 * never NULL ("" for NULL, "{}" for a missing extdata) and are made UTF-8 in the same way.
 *
 * A database that was merged from several processes has one guid per process, and the same id may
 * stand for a different thing under each: rows match when both guid_index and the id match.
 */
#ifndef RP_TRACE_ROCPD_H
#define RP_TRACE_ROCPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store;
struct rp_store_writer;
struct rp_work;

struct rp_row_process {
    int64_t pid, ppid;
    int64_t init_ns, fini_ns, start_ns, end_ns; /**< 0 = unknown (stored as NULL) */
    const char *command;
    const char *extdata;     /**< JSON object text, NULL = "{}" */
    const char *environment; /**< JSON object text, NULL = "{}" */
    uint32_t guid_index;
};

/** This is the machine that a process ran on. */
struct rp_row_node {
    int64_t id;
    const char *machine_id, *hostname;
    uint32_t guid_index;
};

struct rp_row_thread {
    int64_t tid;
    const char *name; /**< NULL = unknown */
    uint32_t guid_index;
};

struct rp_row_agent {
    int64_t id;
    bool is_gpu;
    int64_t absolute_index, logical_index, type_index;
    const char *name; /**< "gfx942" */
    const char *model_name, *vendor_name, *product_name, *user_name;
    const char *extdata;
    int64_t device_id; /**< PCI device id; the schema calls the column uuid */
    uint32_t guid_index;
};

/** This is a queue or a stream. */
struct rp_row_queue {
    int64_t id;
    const char *name;
    const char *extdata;
    uint32_t guid_index;
};

struct rp_row_code_object {
    int64_t id, agent_id;
    const char *uri;
    int64_t load_base, load_size_bytes, load_delta;
    bool storage_known, storage_is_file;
    const char *extdata;
    uint32_t guid_index;
};

struct rp_row_kernel {
    int64_t id, code_object_id;
    const char *kernel_name;  /**< mangled, with .kd */
    const char *display_name; /**< demangled; the reader adds what rp_store_tell_apart says */
    int64_t kernel_object;
    int64_t kernarg_bytes, kernarg_align_bytes;
    int64_t group_bytes, private_bytes;
    int64_t sgpr_count, arch_vgpr_count, accum_vgpr_count;
    const char *extdata;
    uint32_t guid_index;
    const char *plain_name; /**< display_name without what the reader adds; not written */
};

struct rp_row_dispatch {
    int64_t id;
    /** correlation_id is that of the API call that launched it (event.stack_id); 0 = unknown. */
    int64_t tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, correlation_id;
    int64_t event_id; /**< what its counters refer to, -1 = none; the writer makes its own */
    int64_t start_ns, end_ns;
    int64_t private_bytes, group_bytes;
    int64_t workgroup[3];
    int64_t grid[3]; /**< work-items */
    uint32_t guid_index;
};

/**
 * This says when and where a dispatch ran, which is all that an analysis of millions of them
 * needs.
 */
struct rp_row_launch {
    int64_t agent_id, kernel_id, dispatch_id, queue_id, stream_id, correlation_id;
    int64_t start_ns, end_ns;
    uint32_t guid_index;
};

struct rp_row_copy {
    int64_t id;
    int64_t tid;
    int64_t start_ns, end_ns;
    const char *name; /**< "MEMORY_COPY_HOST_TO_DEVICE" ... */
    int64_t dst_agent_id, src_agent_id;
    int64_t dst_address, src_address;
    int64_t bytes; /**< -1: a CSV trace does not say */
    int64_t queue_id, stream_id, correlation_id;
    uint32_t guid_index;
};

/** This is one call of an API: HIP, HSA, ROCTx ranges and others. */
struct rp_row_region {
    int64_t id;
    int64_t tid;
    int64_t start_ns, end_ns;
    const char *name;
    int64_t event_id;       /**< what its arguments refer to */
    int64_t correlation_id; /**< what the work that it started refers to; 0 = unknown */
    int64_t parent_id;      /**< correlation id of the call that made it, 0 = none */
    uint32_t guid_index;
    /** JSON objects, NULL = "{}"; written, not read: rp_store_each_call_site reads the lines. */
    const char *call_stack, *line_info;
};

struct rp_row_arg {
    int64_t id;
    int64_t event_id; /**< of the region */
    int64_t position;
    const char *name, *value; /**< as rocprofv3 prints it: "0x55d0c0000200", "(nil)" */
    const char *type;         /**< written, not read */
    uint32_t guid_index;
};

/** A kernel or copy waits on the device for another one (table rocm_perf_dependency). */
struct rp_row_dependency {
    int64_t id;      /**< 0: the next one */
    int64_t is_copy; /**< else a kernel */
    int64_t row_id;  /**< dispatch_id of a kernel, id of a copy */
    int64_t waits_for_copy, waits_for_id;
    uint32_t guid_index;
};

/** The software device timed a dispatch by simulating some of its waves, or says between which
 * times it takes (table rocm_perf_replay). */
struct rp_row_simulation {
    int64_t id; /**< of the dispatch's row */
    int64_t waves, replayed_waves;
    double error_share; /**< estimate of the relative error that the other waves add to the time */
    int64_t fast_clock_waves; /**< that read a clock which went on as with counts timing; negative:
                                   unknown, the trace is of an earlier version */
    /** Where nothing was replayed: between which times detailed timing would see it; negative:
     *  not known. */
    int64_t shortest_ns, longest_ns;
    uint32_t guid_index;
};

/** A kernel carries out a collective operation (table rocm_perf_collective). */
struct rp_row_collective {
    int64_t id;        /**< dispatch_id of the kernel */
    const char *name;  /**< "allreduce", "_allgather_base" */
    const char *dtype; /**< "BFloat16" */
    int64_t bytes;     /**< of the larger one of what a rank gives and gets; -1 = unknown */
    int64_t ranks;     /**< of the group; -1 = unknown */
    uint32_t guid_index;
};

/** This is known of a region, dispatch or copy beside its row: the message of a ROCTx range. */
struct rp_row_note {
    int64_t event_id;
    const char *extdata; /**< JSON, "{}": nothing */
    uint32_t guid_index;
};

/** This says where in the program a call of an API was made (docs/format/rocpd.md). */
struct rp_row_call_site {
    int64_t correlation_id; /**< of the call, and of the work that it started */
    const char *line_info;  /**< JSON object with "file" and "line"; "{}": not known */
    uint32_t guid_index;
};

/** The GPU executed hipEventRecord or hipStreamWaitEvent like this (schema 3.0.4). */
struct rp_row_hip_event {
    int64_t id;
    int64_t queue_id, stream_id;
    int64_t handle;
    int64_t start_ns, end_ns;
    const char *name; /**< "HIP_EVENT_RECORD", "HIP_EVENT_WAIT" */
    int64_t correlation_id;
    uint32_t guid_index;
};

/** Samples of the program counter (table rocpd_pc_sampling). */
struct rp_row_pc_sample {
    const char *method; /**< "host_trap", "stochastic"; "": not said */
    int64_t dispatch_id;
    int64_t samples;             /**< so many that differ in time alone; negative: one */
    int64_t exec_mask;           /**< its bits; of one sample */
    int64_t lanes;               /**< active ones, of all samples; negative: those of exec_mask */
    const char *isa;             /**< "": the profiler could not decode it */
    const char *comment;         /**< "file:line", or "" */
    int64_t code_object, offset; /**< negative: not said */
    int64_t issued;              /**< 1, 0; negative: not said */
    const char *stall_reason;    /**< "ROCPROFILER_..._REASON_WAITCNT", or "" */
    uint32_t guid_index;
};

/** This is one counter of one dispatch, summed over all instances of the hardware. */
struct rp_row_counter {
    int64_t event_id;
    const char *name;
    double value;
    uint32_t guid_index;
};

/**
 * Returns how much of a kernel's name is the kernel. " [clone .kd]", " (.kd)" and ".kd" at its end
 * name its descriptor. Tools write the same kernel with and without them, so the readers here
 * remove them from display names and from names in counter files.
 */
size_t rp_kernel_name_length(const char *name);

/** Returns a hash of the kernel's contents, which our own tool records; 0: unknown */
uint64_t rp_kernel_contents(const struct rp_row_kernel *row);
/** Returns what tells kernels apart of which only the registers are known; 0: nothing does */
uint64_t rp_kernel_register_code(int64_t arch_vgprs, int64_t accum_vgprs, int64_t sgprs);
/** Returns "NAME [code 1a2b3c4d]" with the first digits, 8 or all 16. NULL: out of memory */
char *rp_kernel_code_name(const char *name, uint64_t code, int digits);
/** Returns how much of a name comes before what rp_kernel_code_name() adds. */
size_t rp_kernel_plain_length(const char *name);

/** This says who wrote the trace, for metadata and info_node. */
struct rp_store_origin {
    const char *hostname;
    const char *system_name, *release, *version, *hardware_name; /**< uname fields */
    const char *machine_id;
    int64_t node_hash;
    uint64_t guid_time_ms;   /**< time part of the UUIDv7 that names the tables */
    uint64_t guid_random[2]; /**< its random part */
    const char *device;      /**< "hardware" or "software": metadata row rocm_perf_device */
    bool complete;           /**< false: metadata row rocm_perf_incomplete */
};

/**
 * Creates a database under a temporary name in the folder of @p path. Nothing appears at @p path
 * before rp_store_writer_commit. The same origin and rows in the same order give the same bytes.
 * @return 0, or RP_ENVIRONMENT (cannot write, disk full)
 */
int rp_store_writer_open(const char *path, const struct rp_store_origin *origin,
                         struct rp_store_writer **ret, struct rp_err *err);

/** These are the rows that the store knows, in the order in which a reader may load them. */
enum rp_rows {
    RP_ROWS_process,
    RP_ROWS_thread,
    RP_ROWS_agent,
    RP_ROWS_queue,
    RP_ROWS_stream,
    RP_ROWS_code_object,
    RP_ROWS_kernel,
    RP_ROWS_dispatch,
    RP_ROWS_launch, /**< the same table: less of every row */
    RP_ROWS_work,   /**< likewise, of the rows of dispatches */
    RP_ROWS_copy,
    RP_ROWS_region,
    RP_ROWS_arg,
    RP_ROWS_arg_value, /**< the same table: less of every row */
    RP_ROWS_hip_event,
    RP_ROWS_dependency,
    RP_ROWS_simulation,
    RP_ROWS_collective,
    RP_ROWS_pc_sample,
    RP_ROWS_pmc,
    RP_ROWS_pmc_event,
    RP_ROWS_node,
    RP_ROWS_note,
    RP_ROWS_call_site,
    RP_ROWS_COUNT
};

/* The process comes first, and may be put again with the same pid when more is known about it. The
 * others come in any order. All return 0; RP_BAD_INPUT when the row cannot be stored (an id used
 * twice, extdata that is not a JSON object), after which the writer can go on; RP_ENVIRONMENT when
 * the file cannot be written, after which everything fails until the writer is abandoned.
 */
int rp_store_put_process(struct rp_store_writer *w, const struct rp_row_process *row,
                         struct rp_err *err);
/**
 * Adds a thread, which may be repeated. The commit adds threads that only dispatches and copies
 * name.
 */
int rp_store_put_thread(struct rp_store_writer *w, int64_t tid, struct rp_err *err);
/**
 * This is a call of HIP with its arguments; the store gives these their ids, and the region its
 * event.
 */
int rp_store_put_region(struct rp_store_writer *w, const struct rp_row_region *row,
                        const struct rp_row_arg *args, size_t arg_count, struct rp_err *err);
/** Adds a row of another kind, like rp_store_put_agent(w, &agent, err) and so on below. */
int rp_store_put_row(struct rp_store_writer *w, enum rp_rows rows, const void *row,
                     struct rp_err *err);
#define RP_STORE_PUT(rows, type)                                                                   \
    static inline int rp_store_put_##rows(struct rp_store_writer *w, const struct type *row,       \
                                          struct rp_err *err)                                      \
    {                                                                                              \
        return rp_store_put_row(w, RP_ROWS_##rows, row, err);                                      \
    }
RP_STORE_PUT(agent, rp_row_agent)
RP_STORE_PUT(queue, rp_row_queue)
RP_STORE_PUT(stream, rp_row_queue)
RP_STORE_PUT(code_object, rp_row_code_object)
RP_STORE_PUT(kernel, rp_row_kernel)
RP_STORE_PUT(dispatch, rp_row_dispatch)
RP_STORE_PUT(copy, rp_row_copy)
RP_STORE_PUT(dependency, rp_row_dependency) /**< its table is made with its first row */
RP_STORE_PUT(simulation, rp_row_simulation) /**< its table, too */
#undef RP_STORE_PUT

/**
 * This metadata is "counts", "detailed" or "off", the software device's timing model, and its
 * version.
 */
#define RP_STORE_TIMING_TAG         "rocm_perf_timing"
#define RP_STORE_TIMING_VERSION_TAG "rocm_perf_timing_version"
/** This metadata is the engine clock in MHz that was modelled; absent: the highest of the GPU, or
 * times are measured. */
#define RP_STORE_CLOCK_TAG "rocm_perf_engine_clk"
/** This metadata says how many dispatches were not to be recorded; absent: none. */
#define RP_STORE_UNRECORDED_TAG "rocm_perf_unrecorded"
/** This metadata is the wanted name of ROCTx ranges where the program has begun one of it, else the
 * names of those that it has begun, separated by newlines; absent: none, or no name was wanted. */
#define RP_STORE_RANGES_TAG "rocm_perf_ranges"
/** This metadata says what began or ended recording, so that sums are of a part that differs from
 * run to run: "time", "hand" or "signal"; absent: nothing did. */
#define RP_STORE_PART_TAG "rocm_perf_part"
/** This metadata says how many ranks the job has, each of which leaves traces; absent: not known.
 */
#define RP_STORE_RANKS_TAG "rocm_perf_ranks"
/** This metadata says of which tool a trace is that is no database: RP_STORE_FORMAT_PYTORCH. */
#define RP_STORE_FORMAT_TAG     "rocm_perf_format"
#define RP_STORE_FORMAT_PYTORCH "pytorch"
/** This metadata has what was odd when such a trace was read, a line each: for people. */
#define RP_STORE_READ_NOTES_TAG "rocm_perf_read_notes"
/** This metadata is the same in all traces of a run with several processes, and in no other. */
#define RP_STORE_RUN_TAG "rocm_perf_run"
/**
 * This metadata is JSON and says how many launches HIP was asked for and which of them it refused
 * (docs/formats.md).
 */
#define RP_STORE_LAUNCHES_TAG "rocm_perf_launches"
/** This metadata says that calls have lines, and how many places of the program they are from. */
#define RP_STORE_CALL_SITES_TAG "rocm_perf_call_sites"
/**
 * Adds a row to rocpd_metadata; tags of the suite begin with "rocm_perf_".
 * @return as above; RP_BAD_INPUT for a tag of the schema itself
 */
int rp_store_put_metadata(struct rp_store_writer *w, const char *tag, const char *value,
                          struct rp_err *err);

/**
 * Finishes and syncs the file and renames it into place. The writer is freed even on failure.
 * Threads, queues and streams that were referred to but not put are added with rocprofv3's names.
 * @return 0; RP_BAD_INPUT when there is no process row, or a row refers to an agent, code object
 *         or kernel that was not put; RP_ENVIRONMENT. On failure the file that was at the path is
 *         still there.
 */
int rp_store_writer_commit(struct rp_store_writer *w, struct rp_err *err);

/** Drops what was written; NULL is accepted. */
void rp_store_writer_abandon(struct rp_store_writer *w);

/**
 * Opens a rocpd database read-only and finds its schema by its columns. Leaves nothing behind in
 * its folder, except that SQLite may keep the index (-shm) of a write-ahead log that has data.
 * @return 0; RP_BAD_INPUT when it is not SQLite, not rocpd (says what it is), damaged, or lacks a
 *         table that every version has; RP_ENVIRONMENT when it cannot be read
 */
int rp_store_open(const char *path, struct rp_store **ret, struct rp_err *err);
/**
 * Opens the CSV traces of one process: `<prefix>kernel_trace.csv`, `hip_api_trace.csv`,
 * `memory_copy_trace.csv` and what else rocprofv3 put beside them, @p path being one of these
 * three. CSV has neither arguments of calls nor sizes of copies (-1).
 * @return 0; RP_BAD_INPUT naming file and line; RP_ENVIRONMENT
 */
int rp_store_open_csv(const char *path, struct rp_store **ret, struct rp_err *err);
/**
 * Opens the JSON trace (`--output-format json`) of a process; one file may hold several, counted
 * from 0. The file may be of any length, one of its records up to 64 MB.
 * @return 0, with NULL when there are not so many processes; RP_BAD_INPUT naming the record;
 *         RP_ENVIRONMENT
 */
int rp_store_open_json(const char *path, size_t process, struct rp_store **ret, struct rp_err *err);
/**
 * Opens a trace of the PyTorch profiler (Kineto): Chrome's event format with GPU events, of HIP or
 * CUDA. The file may be of any length, one of its events up to 64 MB.
 * @return 0; RP_BAD_INPUT naming the event, or that there is no GPU event; RP_ENVIRONMENT
 */
int rp_store_open_kineto(const char *path, struct rp_store **ret, struct rp_err *err);
/** Tests whether it begins as the PyTorch profiler's traces do. */
bool rp_store_is_kineto(const char *path);
/**
 * Tests whether it begins as the JSON traces of rocprofv3 do.
 * @param of_process  it must then also say of which process it is, which excerpts that other tools
 *         make, of samples for example, do not
 */
bool rp_store_is_json(const char *path, bool of_process);
/**
 * Tests whether it is called so ("...results.json") and is not a database, so that messages treat
 * it as JSON.
 */
bool rp_store_is_named_json(const char *path);
/**
 * Finds rocprofv3's database or JSON of the same process that already has what a file beside it
 * has: counters for "counter_collection.csv", kernels for a trace that has some. In a folder only
 * that is read.
 * @return its path, to be freed; NULL: there is none, or it cannot be read
 */
char *rp_store_said_by(const char *path);
/**
 * Tests whether it is an SQLite database of another kind.
 * @return false also when it cannot be read
 */
bool rp_store_is_foreign(const char *path);
/**
 * Says what a file of another tool is and what to do instead, by its name or its JSON; NULL:
 * unknown. The text is static.
 */
const char *rp_foreign_what(const char *path);
/**
 * Finds the first such file by name in a folder or its folders; NULL: none. The caller frees it.
 */
char *rp_foreign_in(const char *folder, int depth, const char **ret_what);
/** Tests whether it is such a file. The paths of all files of one process begin in the same way. */
bool rp_store_csv_prefix(const char *path, size_t *ret_len);
/** Closes the store; NULL is accepted. */
void rp_store_close(struct rp_store *store);

/**
 * Sets who is told from now on how much has been read (RP_WORK_READ), where that is known; NULL:
 * nobody. @p work is borrowed. Rows that were lent already are not read again.
 */
void rp_store_watch(struct rp_store *store, const struct rp_work *work);
/** Returns the file that was opened; of several CSV files it is one. */
const char *rp_store_path(const struct rp_store *store);
/** Returns the file by whose name the store was opened. */
const char *rp_store_named(const struct rp_store *store);

/**
 * Returns "3.0.0" ... "3.0.5" or "4 (draft)": the oldest version that has all of the columns
 * found.
 */
const char *rp_store_schema(const struct rp_store *store);
/** Returns the value of a metadata tag (the first one in a merged database), or NULL. */
const char *rp_store_metadata(const struct rp_store *store, const char *tag);

/**
 * Returns how many processes were merged into the database, which grows when rows with a new guid
 * are loaded.
 */
uint32_t rp_store_guid_count(const struct rp_store *store);
/** Returns the guid that a row's guid_index stands for, or NULL when there is none. */
const char *rp_store_guid(const struct rp_store *store, uint32_t guid_index);

/* Arrays are loaded once and owned by the store. They are sorted by guid_index and id, but
 * dispatches and copies by start, then guid_index, then id. A missing table that not every version
 * has gives no rows. The functions return 0; RP_BAD_INPUT when the database is damaged, lacks a
 * column that is needed, or holds a text where a number belongs; RP_ENVIRONMENT when memory or the
 * disk fails.
 */
int rp_store_nodes(struct rp_store *s, const struct rp_row_node **ret, size_t *ret_count,
                   struct rp_err *err);
int rp_store_processes(struct rp_store *s, const struct rp_row_process **ret, size_t *ret_count,
                       struct rp_err *err);
int rp_store_threads(struct rp_store *s, const struct rp_row_thread **ret, size_t *ret_count,
                     struct rp_err *err);
int rp_store_agents(struct rp_store *s, const struct rp_row_agent **ret, size_t *ret_count,
                    struct rp_err *err);
int rp_store_queues(struct rp_store *s, const struct rp_row_queue **ret, size_t *ret_count,
                    struct rp_err *err);
int rp_store_streams(struct rp_store *s, const struct rp_row_queue **ret, size_t *ret_count,
                     struct rp_err *err);
int rp_store_code_objects(struct rp_store *s, const struct rp_row_code_object **ret,
                          size_t *ret_count, struct rp_err *err);
int rp_store_kernels(struct rp_store *s, const struct rp_row_kernel **ret, size_t *ret_count,
                     struct rp_err *err);
/**
 * Kernels of one name that are different code on the same kind of GPU, as JIT compilers make them,
 * get "NAME [code 1a2b3c4d]" as their display names. A single store does so when its kernels are
 * read. This function does it for stores of one result (processes, runs), each of which may have
 * loaded only one of these kernels. A kernel that is loaded twice stays one.
 * @param ret_changed  may be NULL: whether any name has changed
 */
int rp_store_tell_apart(struct rp_store *const *stores, size_t count, bool *ret_changed,
                        struct rp_err *err);
int rp_store_dispatches(struct rp_store *s, const struct rp_row_dispatch **ret, size_t *ret_count,
                        struct rp_err *err);
int rp_store_copies(struct rp_store *s, const struct rp_row_copy **ret, size_t *ret_count,
                    struct rp_err *err);

int rp_store_regions(struct rp_store *s, const struct rp_row_region **ret, size_t *ret_count,
                     struct rp_err *err);
int rp_store_args(struct rp_store *s, const struct rp_row_arg **ret, size_t *ret_count,
                  struct rp_err *err);
int rp_store_hip_events(struct rp_store *s, const struct rp_row_hip_event **ret, size_t *ret_count,
                        struct rp_err *err);

/**
 * Takes one row; it and its strings are lent until the function returns, only names of copies,
 * regions and HIP events live as long as the store. @return 0, or negative to stop
 */
typedef int rp_store_row_fn(void *ctx, const void *row, struct rp_err *err);

/* Visits the same rows in the order of the database without keeping them, because a trace may have
 * tens of millions. It returns as the arrays do, or what fn returned.
 */
int rp_store_each_launch(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
/**
 * Visits rows of struct rp_row_dispatch, of which only the kernel, its agent, geometry and times
 * are read. Fields that refer to API calls, queues and streams are 0.
 */
int rp_store_each_work(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
int rp_store_each_copy(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
int rp_store_each_region(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
/** Visits arguments without id and position, which are 0. */
int rp_store_each_arg(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
int rp_store_each_hip_event(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
/** Visits rows of struct rp_row_dependency; databases that others have written have none. */
int rp_store_each_dependency(struct rp_store *s, rp_store_row_fn *fn, void *ctx,
                             struct rp_err *err);
/** Visits rows of struct rp_row_simulation in the same way. */
int rp_store_each_simulation(struct rp_store *s, rp_store_row_fn *fn, void *ctx,
                             struct rp_err *err);
/** Visits rows of struct rp_row_collective, whose texts live as long as the store. */
int rp_store_each_collective(struct rp_store *s, rp_store_row_fn *fn, void *ctx,
                             struct rp_err *err);
/** Visits rows of struct rp_row_pc_sample. */
int rp_store_each_pc_sample(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
/**
 * Visits events that have a line, of HIP calls and of other things. Where no metadata
 * RP_STORE_CALL_SITES_TAG says that there are some, it visits nothing, because that costs as much
 * as reading all of them.
 */
int rp_store_each_call_site(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
int rp_store_each_note(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err);
/** If a dispatch's end in the trace cannot be true, it is assumed to have lasted this long. */
struct rp_corrected_end {
    int64_t id; /**< of the row */
    int64_t dispatch_id;
    int64_t recorded_ns, took_ns; /**< end - start in the row; what counts instead */
    uint32_t guid_index;
};

/** Says so of the store's dispatches, once and for all; the rows stay as they are. @param ends
 * sorted by guid_index and id; taken, for free() */
void rp_store_set_corrected_ends(struct rp_store *s, struct rp_corrected_end *ends, size_t count);
/** @return false: nobody has looked for such ends */
bool rp_store_corrected_ends(const struct rp_store *s, const struct rp_corrected_end **ret,
                             size_t *ret_count);
/** Returns the corrected end, or NULL when the row's own times count. */
const struct rp_corrected_end *rp_store_find_corrected_end(const struct rp_store *s,
                                                           uint32_t guid_index, int64_t id);

/** Frees what joins rows to API calls; it is read again when it is needed. */
void rp_store_forget_events(struct rp_store *s);

/**
 * Counters by dispatch, sorted by guid_index, event_id and name. Samples are left out, and so are
 * values whose counter has no name in the database.
 * @return as the arrays above
 */
int rp_store_counters(struct rp_store *s, const struct rp_row_counter **ret, size_t *ret_count,
                      struct rp_err *err);

/**
 * Returns the agent or kernel that a row with this guid_index refers to. NULL: it does not exist,
 * or rp_store_agents() or rp_store_kernels() has not been called yet
 */
const struct rp_row_agent *rp_store_find_agent(const struct rp_store *s, uint32_t guid_index,
                                               int64_t id);
const struct rp_row_kernel *rp_store_find_kernel(const struct rp_store *s, uint32_t guid_index,
                                                 int64_t id);

/* These functions put hardware counters into a rocpd database that is being written. */

/** This is a counter of an agent. */
struct rp_row_counter_info {
    int64_t id;       /**< 1, 2 ... */
    int64_t agent_id; /**< must be written too */
    const char *name, *block, *description;
};

int rp_store_put_counter(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                         struct rp_err *err);

/** Writes a counter's value for the dispatch that was written last. */
int rp_store_put_counter_value(struct rp_store_writer *w, int64_t counter_id, double value,
                               struct rp_err *err);

/* A collector reports in a trace what it could not record. */

/** Sums over traces; zeros: nothing was lost. */
struct rp_losses {
    uint64_t incomplete_traces; /**< not closed in order: what came last may be missing */
    uint64_t lost_records;      /**< that the tracer could not write */
    uint64_t lost_dispatches;   /**< whose times the tracer never got */
    uint64_t untraced_queues;   /**< processes with a queue that could not be traced */
};

void rp_losses_add(struct rp_losses *sum, const struct rp_store *store);
/** Tests whether nothing was lost. This is the only rule of whether a result is complete. */
bool rp_losses_none(const struct rp_losses *losses);

#endif
