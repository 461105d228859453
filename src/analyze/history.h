/**
 * @file history.h
 * @brief Finds in series of results over time where they have become slower or faster. Rules and
 * error rates: docs/how-it-decides.md.
 */
#ifndef RP_ANALYZE_HISTORY_H
#define RP_ANALYZE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/history_db.h"

struct rp_err;
struct rp_versus_side;

enum { RP_RFC3339_BYTES = 21 };

/** Converts "2026-11-23T20:15:00Z", also with a fraction, or another zone as +01:00, to UTC and
 * seconds.
 * @return 0; RP_USAGE for other texts */
int rp_rfc3339(const char *text, char ret[RP_RFC3339_BYTES], struct rp_err *err);

/** A result does not know these of itself. */
struct rp_history_labels {
    const char *added;   /**< as rp_rfc3339 leaves it */
    const char *commit;  /**< NULL: none */
    const char *config;  /**< "KEY=VALUE" lines, sorted */
    const char *program; /**< NULL: its command */
};

/** @return 0; RP_BAD_INPUT when it has no times */
int rp_history_result_of(const struct rp_versus_side *side, const struct rp_history_labels *labels,
                         struct rp_history_result *ret, struct rp_err *err);

/** Computes the median of the runs' times. It is NAN without times, or when memory has ended. */
double rp_history_median(const struct rp_history_times *times);

struct rp_history_point {
    const struct rp_history_result *result;
    double ms;    /**< median of its runs */
    double low;   /**< of its fastest run */
    double high;  /**< of its slowest run */
    double error; /**< of its logarithm, by the spread of its runs; 0: not known */
    double tick;  /**< what its clock may be off by, of its logarithm */
    bool exact;   /**< modelled, and each run was the same */
};

struct rp_change_rule {
    double alpha;  /**< of a false alarm, at most, in a check of all series of a program */
    double margin; /**< times that differ by less are equal, where measured */
    double exact;  /**< the same where modelled */
    size_t recent; /**< a change to slower is a regression until so many sessions have it: of a
                        commit, or without one of a time of adding */
};

struct rp_change {
    size_t at;    /**< first point that is changed */
    size_t found; /**< point at which that was sure */
    double ratio; /**< time after / time before */
};

/** Ratios are time after / time before. */
struct rp_change_newest {
    double low, high;                   /**< interval of the newest results' mean; 0: not known */
    const struct rp_history_point *odd; /**< one that is far off, alone; NULL: there is none */
    double odd_ratio;
};

enum rp_series_state {
    RP_SERIES_STEADY, /**< the newest results are within the margin of those before */
    RP_SERIES_SLOWER, /**< newly: a regression */
    RP_SERIES_FASTER,
    RP_SERIES_UNDECIDED, /**< too few results, they differ too much to tell, or are bounds */
    RP_SERIES_ENDED,     /**< not in the newest result, or replaced */
};
extern const char *const rp_series_state_names[];

/** These are the results of one program, device and configuration. */
struct rp_series_group {
    const struct rp_history_result *first, *newest; /**< in the order of time */
    bool bounds;   /**< its times are of counts timing: bounds, on which no verdict is given */
    bool replaced; /**< times of another model took its place: it is not judged any more */
    /** This is the model whose place it took, as "detailed timing 1"; NULL: none. */
    const char *model_before;
};

/** This is the series of one kernel, device, program and configuration. It refers to the history.
 */
struct rp_series {
    const char *kernel; /**< NULL: all kernels */
    const char *program, *device, *config;
    bool software, runtime_internal;
    size_t group;                           /**< in the list */
    bool bounds, replaced;                  /**< as of its group */
    const struct rp_history_result *newest; /**< of that kind; it may be without this kernel */
    struct rp_history_point *points;
    size_t point_count;
    struct rp_change *changes;
    size_t change_count;
    enum rp_series_state state;
    size_t missing;  /**< of undecided: so many results more are needed at least; 0: enough */
    bool exact;      /**< judged as modelled times: of most results all runs are the same, and
                        their times are no bounds */
    size_t inexact;  /**< of such a series: results of which they are not */
    bool taken_back; /**< the newest results are near to those before the last change */
    struct rp_change_newest newest_is; /**< of measured times, where no change is new */
};

struct rp_series_list {
    struct rp_series *list;
    size_t count;
    struct rp_series_group *groups;
    size_t group_count;
};
void rp_series_list_free(struct rp_series_list *list);

/** NULL means all. The texts are patterns of fnmatch(3). */
struct rp_series_filter {
    const char *kernel, *device, *commit;
    const char *program;       /**< also the first words of a command line */
    const char *const *config; /**< lines of the configuration, or patterns; each must be there */
    size_t config_count;
};
bool rp_history_matches(const char *pattern, const char *text);
/** Says whether it is of that device, program, configuration, and commit, of which the first digits
 * are enough. */
bool rp_history_result_matches(const struct rp_history_result *result,
                               const struct rp_series_filter *filter);

/** Makes series of complete results. They have only points, and rp_series_judge does the rest. */
int rp_series_of(const struct rp_history *history, const struct rp_series_filter *filter,
                 struct rp_series_list *ret, struct rp_err *err);
int rp_series_judge(struct rp_series_list *list, const struct rp_change_rule *rule,
                    struct rp_err *err);

enum {
    /** So many results before a change show how they scatter. */
    RP_CHANGE_LEAST_BEFORE = 4,
    RP_CHANGE_LEAST_AFTER = 2, /**< one alone may be a machine that was busy */
    RP_CHANGE_LEAST = RP_CHANGE_LEAST_BEFORE + RP_CHANGE_LEAST_AFTER, /**< since the last change */
};

/**
 * Says what is known of the newest results beside those before, where no change was found.
 * @return false: there are less than RP_CHANGE_LEAST
 */
bool rp_change_newest(const struct rp_history_point *points, size_t count, double alpha,
                      double margin, struct rp_change_newest *ret);

#endif
