/**
 * @file library.h
 * @brief When and where the process of a trace ran, and as what: which traces are of one run.
 */
#ifndef RP_LIBRARY_LIBRARY_H
#define RP_LIBRARY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "analyze/roofline.h"
#include "analyze/thread_trace.h"
#include "base/work_progress.h"

struct rp_counters;
struct rp_err;
struct rp_inputs;
struct rp_kernel_stats;
struct rp_kernel_summary;
struct rp_profile;
struct rp_store;

/* Remarks are no failures: the command line prints them, the library keeps them. */

/** All 0 means that nobody wants them. */
struct rp_note_sink {
    void (*put)(void *ctx, const char *text); /**< one sentence, without a newline */
    void *ctx;
};

/** Adds a remark, which is lost when memory has ended. */
void rp_note(const struct rp_note_sink *sink, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* This section opens what a user names: traces, counters, thread traces, and folders of them. */

/** Holds the traces of one run, and counters of further runs of the same program. */
struct rp_inputs {
    struct rp_store **stores;
    size_t store_count;
    char **csv_prefixes;          /**< per store: of the CSV files that it was made of, or NULL */
    struct rp_counters *counters; /**< NULL: none */
    size_t noted;                 /**< so many of their warnings were passed on */
    struct rp_counter_parts *unjoined; /**< while inputs are opened */
    struct rp_kernel_stats *stats; /**< where there are neither traces nor counters; NULL: none */
    struct rp_thread_traces waves;
    uint64_t ranks_missing;    /**< of a job whose folder was given */
    struct rp_note_sink notes; /**< what to know of them that is no failure */
    struct rp_work work;       /**< told how far what is made of them is; all 0: nobody is */
};

/** Opens traces, CSV files and folders of them. @p ret has to be closed, also after a failure. */
int rp_inputs_open(char *const *paths, size_t count, struct rp_inputs *ret, struct rp_err *err);

/**
 * Reads the counters of the traces, too. A trace without counters is only asked for its dispatches
 * when there are others, or @p wanted: then its times are the better ones.
 */
int rp_inputs_read_counters(struct rp_inputs *in, bool wanted, struct rp_err *err);

/** Says whether it is a trace of the PyTorch profiler. */
bool rp_store_is_of_pytorch(struct rp_store *store);

/** Adds counters of another run. It takes over the set, also when it fails. */
int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err);

/**
 * Chooses the traces of one run: an application that was run again for other counters is not
 * another rank. The first trace decides; or the first one without counters, if it did not run at
 * the same time as others with counters, as ranks do.
 * @param ret room for all stores
 */
int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err);

void rp_inputs_close(struct rp_inputs *in);

/* This section makes what `analyze` prints of a run and `report` shows. Each part may be missing.
 */

/** Holds bottlenecks and the ranking of kernels. */
struct rp_ranking {
    struct rp_profile *profile;
    struct rp_bottlenecks found;
};

/** The ranking is made from these, beside the inputs. */
struct rp_ranking_from {
    const struct rp_dag_result *dag;    /**< NULL: there is none */
    const struct rp_roofline *roofline; /**< NULL: there is none */
    const char *arch;                   /**< --arch; NULL */
};

/** Makes the ranking. @p ret has to be freed, also after a failure. */
int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err);
void rp_ranking_free(struct rp_ranking *ranking);

/** @param full with every kernel and copy
 * @param ret has to be freed before the inputs */
int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err);
/** Makes the rooflines. @p ret has to be freed before the counters. */
int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err);

struct rp_analysis {
    struct rp_dag_result dag;
    struct rp_roofline roofline;
    struct rp_ranking ranking;
    bool has_dag, has_roofline, has_ranking;
};

struct rp_analysis_request {
    bool dag;       /**< where there is a trace, and its processes have one clock */
    bool needs_dag; /**< without a graph it is refused */
    bool steps;     /**< with every kernel and copy */
    bool roofline;  /**< also from a trace without counters: of times alone */
    bool ranking;   /**< which needs all of the others */
    const struct rp_roofline_options *roof;
};

/** Does everything that may be refused. @p ret has to be freed before the inputs, also after a
 * failure. */
int rp_analysis_make(struct rp_inputs *in, const struct rp_analysis_request *wish,
                     struct rp_analysis *ret, struct rp_err *err);
void rp_analysis_free(struct rp_analysis *parts);

/* This section finds which of several traces are of one run, and which are runs of the same
 * command. */

/** Holds traces by runs, in the order of time. */
struct rp_repeats {
    struct rp_store **stores; /**< of the first run, then of the next; owned by the inputs */
    size_t *counts;           /**< of traces of each run */
    size_t count;             /**< of runs */
};

/**
 * Processes that were there at the same time are ranks of one run. Processes of one machine that
 * ran one after the other are a run each where all are of the same command; so are groups of ranks
 * of the same commands. Where no command came twice, and one process started all, a script started
 * them. Everything else is refused, because the sum of unrelated times means nothing. On the
 * software device each process has a clock of its own: those of one parent are one run. Clocks of
 * different machines cannot be compared: traces of several are of one run, unless one of the
 * machines ran the same command one after the other, which is refused.
 * @return 0, to be released also when count is 0; RP_BAD_INPUT names two traces
 */
int rp_repeats_of(struct rp_store *const *stores, size_t count, struct rp_repeats *ret,
                  struct rp_err *err);
void rp_repeats_free(struct rp_repeats *repeats);

/* The opaque handle of include/rocm-perf/rocm-perf.h holds these. */

/** Says where else a kernel of the ranking is named, or NULL. */
struct rp_run_kernel {
    const struct rp_kernel_summary *summary;
    const struct rp_roofline_kernel *roofline;
};

struct rocm_perf {
    struct rp_inputs in;
    struct rp_analysis parts;
    struct rp_origin origin;
    char *arch; /**< NULL: not named */
    enum { RP_RUN_OPENED, RP_RUN_ANALYSED, RP_RUN_FAILED } state;
    struct rp_run_kernel *kernels; /**< by the ranking */
    char **notes;
    size_t note_count;
};

/* The same process given twice would count twice, so it is refused. */

/** Describes the process of a trace. A merged trace was merged on purpose, so its first process is
 * taken. Strings are the store's. */
struct rp_lifetime {
    const char *path, *machine;
    const char *command; /**< "": not known, as of CSV */
    int64_t pid, ppid;
    const char *guid;         /**< of databases it begins with the time at which it was made; "" */
    int64_t start_ns, end_ns; /**< both 0: not known */
    bool by_kernels;          /**< the times are those of its kernels: it was there for longer */
    const char *run;          /**< what all processes of its run have in common; NULL: not known */
    bool own_clock;  /**< of the software device: its times do not compare with those of others */
    bool of_pytorch; /**< a trace of its profiler, which does not say of which command it is */
};

int rp_lifetime_of(struct rp_store *store, struct rp_lifetime *ret, struct rp_err *err);

/** Says whether their times can be compared: clocks of different machines cannot. */
bool rp_lifetimes_on_one_machine(const struct rp_lifetime *a, const struct rp_lifetime *b);

/* This section refuses outputs that would replace an input. */

/**
 * Refuses an output that is one of the inputs, or of the files that are read in a folder among
 * them. Other files in such a folder, as the last page, may be written again.
 * @param option that names the output, "-o"
 * @param output NULL and "-": there is none
 * @return 0; RP_USAGE
 */
int rp_refuse_overwriting_inputs(const char *option, const char *output, char *const *inputs,
                                 size_t count, struct rp_err *err);

/* The functions above say whether given traces are of one run. */

#endif
