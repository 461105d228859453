/**
 * @file load.h
 * @brief What is needed of a store's processes while their rows are read: calls.c reads calls and
 *        arguments, ops.c operations and markers, trace.c puts them together.
 */
#ifndef RP_ANALYSIS_DAG_LOAD_H
#define RP_ANALYSIS_DAG_LOAD_H

#include "symbols.h"
#include "trace.h"

struct rp_err;

/** What a call that is none of ours belongs to: HSA below HIP, HIP called by HIP. */
struct rp_dag_inner {
    int64_t order, outer;
};

/** A call or operation as it was read, until all are in order. */
struct rp_dag_new_call {
    int64_t start_ns, end_ns;
    int64_t order;    /**< correlation id: calls of a process in the order of their entry */
    int64_t event_id; /**< what its arguments refer to */
    struct rp_dag_call call;
};

struct rp_dag_new_op {
    struct rp_dag_op op;
    struct rp_dag_op_row row;
    int64_t id; /**< dispatch_id of a kernel, id of a copy */
};

/** One process. */
struct rp_dag_loading {
    struct rp_dag_process process;
    struct rp_dag_new_call *calls; /**< until they are settled */
    struct rp_dag_new_op *ops;     /**< until they are joined */
    size_t call_room, op_room, mark_room, range_room;
    int64_t *orders;             /**< per call of the process */
    struct rp_dag_inner *inners; /**< sorted by order */
    size_t inner_count;
    struct rp_numbering threads;
    int64_t *events;    /**< per call: what its arguments refer to */
    uint32_t *by_event; /**< calls in that order; NULL: they are */
    uint32_t last_call; /**< that an argument was of */
    size_t last_found;  /**< call that an operation was of */
};

enum { RP_DAG_KERNELS_CACHED = 1024, RP_DAG_CALLS_CACHED = 256 };

/** One store. */
struct rp_dag_loader {
    struct rp_store *store;
    struct rp_dag_repairs *repairs;
    int64_t *kernel_time_ns, *copy_time_ns;
    struct rp_dag_symbols *symbols, *call_names;
    struct rp_dag_loading *list; /**< by guid_index */
    size_t count;
    struct {
        const char *name;
        uint32_t number;
        uint8_t kind;
        bool is_hip;
    } calls[RP_DAG_CALLS_CACHED]; /**< by name's address */
    struct {
        int64_t id;
        uint32_t guid_index, symbol;
        bool used;
    } kernels[RP_DAG_KERNELS_CACHED]; /**< by id */
};

/** The process of a row, made when it is the first of it; NULL: out of memory. */
struct rp_dag_loading *rp_dag_loading_of(struct rp_dag_loader *l, uint32_t guid_index);

/** qsort, but a trace is usually in order already. */
void rp_dag_sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *));

/** Room for one more element of an array that doubles. @return false: out of memory */
bool rp_dag_room(void *array, size_t count, size_t *room, size_t element_bytes);

/* calls.c */
int rp_dag_load_calls(struct rp_dag_loader *l, struct rp_err *err);
int rp_dag_load_args(struct rp_dag_loader *l, struct rp_err *err);
/** The call that something belongs to, perhaps through calls below it, or RP_DAG_NONE. */
uint32_t rp_dag_outer_call(struct rp_dag_loading *p, int64_t correlation_id);

/* polls.c: before operations are joined to calls. @return false: out of memory */
bool rp_dag_merge_polls(struct rp_dag_loading *l);

/* ranges.c */
bool rp_dag_is_range(const char *region_name);
/** @return false: out of memory */
bool rp_dag_add_range(struct rp_dag_loading *p, const struct rp_row_region *r, uint32_t thread);
/** Gives the ranges their messages. */
int rp_dag_name_ranges(struct rp_dag_loader *l, struct rp_err *err);

/* ops.c */
int rp_dag_load_ops(struct rp_dag_loader *l, struct rp_err *err);
int rp_dag_load_marks(struct rp_dag_loader *l, struct rp_err *err);
/** Joins operations and markers to the calls that made them, and sorts the operations. */
int rp_dag_join(struct rp_dag_loading *p, struct rp_err *err);

#endif
