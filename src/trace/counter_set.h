/**
 * @file counter_set.h
 * @brief A set has hardware counters by kernel dispatch, whichever file they come from.
 *
 * CSV forms: docs/formats.md. Times are nanoseconds.
 */
#ifndef RP_TRACE_COUNTER_SET_H
#define RP_TRACE_COUNTER_SET_H

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

struct rp_counter_parts;
struct rp_err;

/* What a set of counters is made of, for those who read and join them in this room. */

struct rp_counter_parts {
    struct rp_counter_part *list;
    size_t count;
};

/** This is what a file says of a GPU; 0 or "" means nothing. */
struct rp_counted_device {
    int64_t id; /**< agent, -1 = whichever ran the kernels */
    char arch[32];
    uint32_t pci_device_id, compute_units, xcc_count, engine_clock_mhz, memory_clock_mhz;
    uint32_t modelled_clock_mhz; /**< by the software device, in place of the highest */
    /** How the driver has split the GPU, as the file says it: "SPX", "CPX"; "NPS1", "NPS4". */
    char compute_mode[8], memory_mode[8];
    bool guessed; /**< written by a tool that is known to guess: what the table knows is better */
    const char *source; /**< file that says so; NULL = unknown */
};

struct rp_counter_value {
    uint32_t counter; /**< index into rp_counters.names */
    uint32_t origin;  /**< of a file that is being read: the row, or its time, and the form */
    /** Sum over the instances of the hardware. Not known: NAN, a register was full; INFINITY,
     * passes contradict each other. */
    double value;
};

struct rp_counted_dispatch {
    uint32_t kernel; /**< index into rp_counters.kernels */
    uint32_t device; /**< index into rp_counters.devices */
    int64_t process, id;
    bool timed; /**< duration_ns is known */
    double duration_ns;
    struct rp_counter_value *values;
    uint32_t value_count, value_capacity;
};

/**
 * These passes counted the same counter with different results, so the counter is unknown for that
 * kernel on a GPU.
 */
struct rp_counter_dispute {
    uint32_t kernel, counter; /**< indices of kernels and names */
    double first, other;      /**< sums over the dispatches that both have */
};

/** A set is made of such files. */
struct rp_counter_file {
    const char *path;
    uint64_t device, inode; /**< of the file system; both 0: it is no file */
    uint64_t contents;      /**< hash of dispatches, times and counters; 0: without times */
    bool is_timeline;
};

struct rp_counters {
    const char **names; /**< of counters: "TCC_REQ_sum", "SQ_WAVES" */
    size_t name_count;
    const char **kernels;
    size_t kernel_count;
    struct rp_counted_device *devices;
    size_t device_count;
    struct rp_counted_device any;           /**< of every device that has no facts of its own */
    struct rp_counted_dispatch *dispatches; /**< in the order of the file */
    size_t dispatch_count;
    uint64_t spoilt_times;     /**< dispatches whose times a spreadsheet has rounded */
    int64_t first_ns, last_ns; /**< of all dispatches with times of CSV; both 0: not known */
    const char *path;          /**< the CSV file that it was made of; NULL: of something else */
    bool is_timeline;     /**< a kernel trace: its times are better than those of counter runs */
    uint32_t added_files; /**< with the counters of others, and of other times: other runs? */
    char **warnings;      /**< what a reader of the numbers has to know of the files */
    size_t warning_count;
    struct rp_counter_dispute *disputes;
    size_t dispute_count;
    /** By how much passes differ at most on a counter that several have, of those that agree within
     * RP_PASS_TOLERANCE_PERCENT: a fraction of the larger sum; 0: not at all. */
    double repeat_difference;
    uint32_t repeat_counter; /**< and which it is */

    /* The functions below own these members. */
    struct rp_string_pool text;
    struct rp_map name_ids,
        kernel_ids;             /**< numbers of names and kernels, whose texts they borrow */
    struct rp_map dispatch_ids; /**< by device, process and id */
    struct rp_idmap device_ids;
    struct rp_counter_file *files;
    size_t file_count;
};

/** Runs of one program never count quite the same, so they may differ by this much. */
enum { RP_PASS_TOLERANCE_PERCENT = 5 };

/** Tests whether it can be read here: a folder, or a file called *.csv. */
bool rp_counters_can_open(const char *path);

/** Tests whether it is a result of rocprof, the tool before rocprofv2, whatever its name is. */
bool rp_counters_is_rocprof(const char *path);

/** Tests whether the folder, or a folder in it, holds such files. */
bool rp_counters_in(const char *folder);
/** Do two files lie in "pmc_1" and "pmc_2" of one folder, as passes of one program do? */
bool rp_counters_of_two_passes(const char *a, const char *b);

/**
 * Reads a CSV file or a folder of them: rocprofv3's counter_collection and kernel_trace,
 * rocprof-compute's pmc_perf.csv. Facts of the GPU come from agent_info.csv or sysinfo.csv beside.
 * @return 0; RP_BAD_INPUT naming file, line and column; RP_ENVIRONMENT
 */
int rp_counters_open(const char *path, struct rp_counters **ret, struct rp_err *err);

/** Adds a file or a folder, as rp_counters_open. @p parts is made when it is NULL. */
int rp_counters_open_part(const char *path, struct rp_counter_parts **parts, struct rp_err *err);
/** Adds what was read from elsewhere; takes the set, also when it fails. @param path  of the file;
 * NULL: it is of several, or of none */
int rp_counters_add_part(struct rp_counter_parts **parts, struct rp_counters *set, const char *path,
                         struct rp_err *err);
void rp_counter_parts_free(struct rp_counter_parts *parts);
/**
 * Joins parts in their order. Parts that counted the same are processes. What processes of one
 * pass counted is put together before passes are joined, so that the n-th dispatch of a kernel is
 * the same in each. A folder is joined by itself first. "pmc_1" and "pass_1" are passes whatever
 * they counted, even if they, or files in them, are named one by one. A trace belongs to the
 * counters of its process. See rp_counters_merge.
 * @param parts  are taken, also after a failure
 * @return 0; RP_BAD_INPUT: counters are there twice, or of different GPUs; RP_ENVIRONMENT
 */
int rp_counters_join(struct rp_counter_parts *parts, struct rp_counters **ret, struct rp_err *err);
/** Does the same with a text; @p path is for messages. Facts of GPUs are read too. */
int rp_counters_parse(const char *path, const char *text, size_t len, struct rp_counters **ret,
                      struct rp_err *err);
/**
 * Reads only the facts of the GPU that lie beside a file of counters or of ceilings. Without such
 * files the set has no facts.
 */
int rp_counters_open_facts(const char *path, struct rp_counters **ret, struct rp_err *err);
void rp_counters_free(struct rp_counters *set);

/**
 * This says how a set relates to another one. If it is unsaid, what the set has counted decides.
 */
enum rp_counters_relation { RP_COUNTERS_UNSAID, RP_COUNTERS_PASS, RP_COUNTERS_PROCESS };

/**
 * Adds what another run of the same program counted. A file with new counters is another pass, so
 * its n-th dispatch of a kernel is the same n-th dispatch. A file without new counters is another
 * process, which is reported unless it ran at the same time. A kernel trace only adds times. If
 * both have a counter, the first one's value stays; where the sums of a kernel differ by more than
 * RP_PASS_TOLERANCE_PERCENT, the value becomes unknown.
 * @return 0; RP_BAD_INPUT when the files say that it was another GPU; RP_ENVIRONMENT
 */
int rp_counters_merge_as(struct rp_counters *into, const struct rp_counters *from,
                         enum rp_counters_relation relation, struct rp_err *err);

/** Do both say what they are, and is it not the same kind of GPU? */
bool rp_counted_differ(const struct rp_counted_device *a, const struct rp_counted_device *b);
/**
 * Says that one of them was modelled at another engine clock than the other one.
 * @param mhz      that was modelled in place of the highest; 0: none was
 * @param remedy   what to do
 * @return RP_BAD_INPUT, negative
 */
int rp_refuse_clocks(const char *a, uint64_t a_mhz, const char *b, uint64_t b_mhz,
                     const char *remedy, struct rp_err *err);
/** This is the remedy where results are added. */
#define RP_ONE_CLOCK "analyse results of one clock at a time, or profile with the same --clock"
/**
 * Returns what is known of the device with this index, which may be only what holds for all of
 * them.
 */
const struct rp_counted_device *rp_counters_facts(const struct rp_counters *set, size_t device);

struct rp_counters *rp_counters_new(void);
/** A warning about a file is reported once. */
int rp_counters_warn(struct rp_counters *set, struct rp_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** Returns the index of the device, which is added when new. */
int rp_counters_device(struct rp_counters *set, int64_t id, uint32_t *ret, struct rp_err *err);
/** Sets the source of facts that have none yet. */
int rp_counters_set_source(struct rp_counters *set, const char *path, struct rp_err *err);
/**
 * A reader has called some kernels "NAME [code ...]" (rp_kernel_code_name(), 16 digits). Those
 * that are the only ones of their name on their devices, in all sets, become "NAME" again, and the
 * others get 8 digits.
 */
int rp_counters_tell_apart(struct rp_counters *const *sets, size_t count, struct rp_err *err);
/**
 * Returns the index of the dispatch, which is added when new with the times and the kernel of this
 * call.
 */
int rp_counters_dispatch(struct rp_counters *set, uint32_t device, int64_t process, int64_t id,
                         const char *kernel, size_t *ret, bool *ret_new, struct rp_err *err);
/**
 * Adds to the counter's value; an instance "NAME[3]" counts as NAME. A full register of 32 bits
 * makes the sum unknown.
 */
int rp_counters_add(struct rp_counters *set, size_t dispatch, const char *name, double value,
                    struct rp_err *err);
/**
 * Returns why a number cannot be what a counter counted: it is negative, not finite, too large for
 * 64 bits, or a fraction although the hardware counts events. Metrics that rocprofv3 derives
 * (FETCH_SIZE, L2CacheHit, TA_BUSY_avr) may be fractions; if they are not finite, they are
 * unknown.
 * @return a static text; NULL: it can be one
 */
const char *rp_counter_refusal(const char *name, double value);
/**
 * Percentages and means do not add up. Counters of the hardware have no small letters; what rocprof
 * makes of them has (VALUUtilization, TA_BUSY_avr), or says so in capitals; of these only amounts
 * are sums. The page has the same rule (charts.js).
 */
bool rp_counter_adds_up(const char *name);
/**
 * Returns the value of a counter of a dispatch.
 * @return false: it was not counted, or a register was full
 */
bool rp_counters_value(const struct rp_counted_dispatch *dispatch, uint32_t counter, double *ret);

/**
 * Returns the index of a counter, which is added when new; an instance "NAME[3]" counts as NAME.
 */
int rp_counters_name(struct rp_counters *set, const char *name, uint32_t *ret, struct rp_err *err);
/** Returns the value, or NULL if the dispatch has none. */
struct rp_counter_value *rp_counter_find(const struct rp_counted_dispatch *d, uint32_t counter);
/** Adds a value that the dispatch does not have. */
int rp_counter_put(struct rp_counted_dispatch *d, uint32_t counter, double value,
                   struct rp_err *err);

/** A part is a file or a folder of files. */
struct rp_counter_part {
    struct rp_counters *set;        /**< NULL: it is a folder that is not joined yet */
    struct rp_counter_parts *below; /**< what lies in it; NULL: it is a file */
    char *path;   /**< as it was named, or of the folder that it lies in; NULL: not known */
    bool is_pass; /**< by the name of the folder, whatever was counted in it */
};

/** Reads a CSV file, and the files beside it that say which GPU it was. */
int rp_counters_read_file(const char *path, struct rp_counters **ret, struct rp_err *err);
/**
 * Tests whether it is called SQ_LEVEL_WAVES.csv, which is a run of rocprof-compute for the waves
 * in flight.
 */
bool rp_counters_is_level_waves_file(const char *path);
#define RP_COUNTER_LEVEL_WAVES_ACCUM "SQ_LEVEL_WAVES_ACCUM"

/** Remembers the file that a set was read from, so that it is recognised when it comes again. */
int rp_counters_set_file(struct rp_counters *set, const char *path, struct rp_err *err);
static inline int rp_counters_merge(struct rp_counters *into, const struct rp_counters *from,
                                    struct rp_err *err)
{
    return rp_counters_merge_as(into, from, RP_COUNTERS_UNSAID, err);
}

/** Are the times of both known, and do they overlap? */
static inline bool rp_counters_at_one_time(const struct rp_counters *a, const struct rp_counters *b)
{
    return a->last_ns && b->last_ns && a->first_ns < b->last_ns && b->first_ns < a->last_ns;
}
/**
 * Tests whether it is what a full register of 32 bits reads. The true count is larger by an
 * unknown amount.
 */
static inline bool rp_counter_is_full(double value)
{
    return value == (double)UINT32_MAX;
}

#endif
