/**
 * @file counter_set.h
 * @brief What a set of counters is made of, for those who read and join them in this room.
 */
#ifndef RP_STORE_COUNTER_SET_H
#define RP_STORE_COUNTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocm-perf/counters.h"

/** Room for one more element; the capacity is the next power of two. */
bool rp_counters_grow(void **rows, size_t count, size_t row_bytes);
/** Index of a counter, added when new; an instance "NAME[3]" is NAME. */
int rp_counters_name(struct rp_counters *set, const char *name, uint32_t *ret, struct rp_err *err);
/** Index of a kernel, added when new. */
int rp_counters_kernel(struct rp_counters *set, const char *name, uint32_t *ret,
                       struct rp_err *err);
bool rp_counters_find_device(const struct rp_counters *set, int64_t id, size_t *ret);
/** NULL: the dispatch has no such value. */
struct rp_counter_value *rp_counter_find(const struct rp_counted_dispatch *d, uint32_t counter);
/** Adds a value that the dispatch does not have. */
int rp_counter_put(struct rp_counted_dispatch *d, uint32_t counter, double value,
                   struct rp_err *err);

/** What a set is beside another one; unsaid: what it has counted tells. */
enum rp_counters_relation { RP_COUNTERS_UNSAID, RP_COUNTERS_PASS, RP_COUNTERS_PROCESS };
int rp_counters_merge_as(struct rp_counters *into, const struct rp_counters *from,
                         enum rp_counters_relation relation, struct rp_err *err);
/** Are the times of both known, and do they overlap? */
bool rp_counters_at_one_time(const struct rp_counters *a, const struct rp_counters *b);

/** A file, or a folder of them. */
struct rp_counter_part {
    struct rp_counters *set;        /**< NULL: it is a folder that is not joined yet */
    struct rp_counter_parts *below; /**< what lies in it; NULL: it is a file */
    char *path;   /**< as it was named, or of the folder that it lies in; NULL: not known */
    bool is_pass; /**< by the name of the folder, whatever was counted in it */
};

struct rp_counter_parts {
    struct rp_counter_part *list;
    size_t count;
};

/** Takes the folder's parts, also when it fails. */
int rp_counters_add_folder(struct rp_counter_parts **parts, struct rp_counter_parts *below,
                           const char *path, bool is_pass, struct rp_err *err);

/** The last folder of a pass ("pmc_1") that a path leads into, and the length of its name. A folder
 * that is named needs a slash behind. NULL: none. */
const char *rp_counters_pass_in(const char *path, size_t *ret_length);

/** A CSV file, with what lies beside it and says which GPU it was. */
int rp_counters_read_file(const char *path, struct rp_counters **ret, struct rp_err *err);
/** Is it called SQ_LEVEL_WAVES.csv: a run of rocprof-compute for the waves in flight? */
bool rp_counters_is_of_levels(const char *path);
#define RP_COUNTER_LEVEL_WAVES_ACCUM "SQ_LEVEL_WAVES_ACCUM"

/** Remembers the file that a set was read from, by which it is known when it comes again. */
int rp_counters_set_file(struct rp_counters *set, const char *path, struct rp_err *err);

#endif
