/**
 * @file report.h
 * @brief Turns results into text: JSON for programs, tables for people.
 *
 * Writers append to a struct rp_buf and look at nothing but their input: the same input gives the
 * same bytes (no clock, no environment, no locale). What each JSON key means is in
 * docs/formats.md, its shape in schemas/profile.schema.json.
 */
#ifndef RP_REPORT_REPORT_H
#define RP_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/compare.h"
#include "analyze/history.h"

struct rp_bottlenecks;
struct rp_buf;
struct rp_counters;
struct rp_dag_result;
struct rp_err;
struct rp_profile;
struct rp_repeat_kernels;
struct rp_roofline;
struct rp_run_differences;
struct rp_thread_traces;
struct rp_timeline;

/** What was timed. */
enum rp_measurement {
    RP_MEASURED_DISPATCHES = 0, /**< kernel dispatches of a trace */
    RP_MEASURED_WALL_CLOCK,     /**< the whole process, no trace (--no-rocprof) */
};

/** Where the numbers come from. Strings are borrowed; NULL = unknown, printed as null. */
struct rp_provenance {
    const char *const *command; /**< argv of the profiled program */
    size_t command_count;
    const char *rocm_version; /**< "7.2.4" */
    const char *tool_version; /**< of rocm-perf */
    const char *tracer;       /**< "rocprofv3", "builtin" or "wallclock" */
    const char *tracer_version;
    const char *trace_schema; /**< "3.0.0"; NULL without a trace */
    /* Over all runs. */
    uint64_t incomplete_traces; /**< traces that were not closed in order */
    uint64_t lost_records;      /**< that the tracer could not write */
    uint64_t lost_dispatches;   /**< whose times the tracer never got */
    uint64_t untraced_queues;   /**< processes with a queue that could not be traced */
    uint64_t counter_passes;    /**< further runs that read hardware counters */
    int exit_status;            /**< of the program in the base run: 0..255; signals as 128 + n */

    /* The only parts that differ between two runs that behaved the same. */
    const char *const *traces; /**< database paths of the base run, one per process */
    size_t trace_count;
    const double *wall_ms; /**< wall clock of every run under the tracer, or NULL */
    size_t wall_count;
};

struct rp_profile_report {
    const struct rp_profile *profile; /**< RP_MEASURED_WALL_CLOCK: no kernels, stability of the
                                           wall-clock times */
    const char *device;               /**< "hardware" or "software" */
    enum rp_measurement measurement;
    const double *runtime_ms; /**< what stability was computed from, base run first */
    size_t runs;
    const double *kernel_ms; /**< runs x kernels of the profile, run by run; NAN = no usable time;
                                  NULL: not known */
    const struct rp_repeat_kernels *repeat_kernels; /**< NULL: none */
    const struct rp_run_differences *differences;   /**< NULL: none */
    const uint64_t *failed_launches;                /**< of each run; NULL: not known */
    const struct rp_counters *counters;             /**< of all runs; NULL: none were collected */
    const struct rp_roofline *roofline;             /**< NULL: none */
    const char *roofline_reason; /**< why there is none; NULL: nobody asked for it */
    struct rp_provenance provenance;
};

/** profile.json. Fails (RP_ENVIRONMENT) only for want of memory; then buf holds part of it. */
int rp_report_profile_json(const struct rp_profile_report *report, struct rp_buf *buf,
                           struct rp_err *err);

struct rp_term_style {
    bool colour;    /**< ANSI colours */
    unsigned width; /**< columns of the terminal; 0 = 80. At least 60 are used */
    bool utf8;      /**< may be more than ASCII: "µs" */
};

/** The table for people. Names are shown printable and cut to fit. As rp_report_profile_json. */
int rp_report_profile_term(const struct rp_profile_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);

/**
 * dag.json (docs/format/dag.md).
 * @param full  also every kernel and copy with its slack
 */
int rp_report_dag_json(const struct rp_dag_result *dag, bool full, struct rp_buf *buf,
                       struct rp_err *err);
/**
 * analysis.json (docs/formats.md).
 * @param top  so many kernels at most; 0 = all
 */
int rp_report_analysis_json(const struct rp_bottlenecks *bottlenecks, size_t top,
                            struct rp_buf *buf, struct rp_err *err);
/** The same for people; 0 = the first 12. As rp_report_profile_term. */
int rp_report_analysis_term(const struct rp_bottlenecks *bottlenecks, size_t top,
                            struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** thread_trace.json (docs/formats.md). */
int rp_report_thread_trace_json(const struct rp_thread_traces *set, struct rp_buf *buf,
                                struct rp_err *err);
/** The same for people. As rp_report_profile_term. */
int rp_report_thread_trace_term(const struct rp_thread_traces *set, struct rp_term_style style,
                                struct rp_buf *buf, struct rp_err *err);
/** roofline.json (docs/formats.md). */
int rp_report_roofline_json(const struct rp_roofline *roofline, struct rp_buf *buf,
                            struct rp_err *err);
/** The same for people. As rp_report_profile_term. */
int rp_report_roofline_term(const struct rp_roofline *roofline, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err);
/**
 * Kernels by counters for people: what is made of them and, with @p raw, every counter under its
 * own name. A terminal shows the first ones; where style.width is 0, as in a pipe, everything is
 * there.
 */
int rp_report_counters_term(const struct rp_roofline *roofline, bool raw,
                            struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** The same for people. As rp_report_profile_term. */
int rp_report_dag_term(const struct rp_dag_result *dag, struct rp_term_style style,
                       struct rp_buf *buf, struct rp_err *err);
/** timeline.json (docs/formats.md). @param dag  with steps */
int rp_report_timeline_json(const struct rp_dag_result *dag, const struct rp_timeline *timeline,
                            struct rp_buf *buf, struct rp_err *err);

/** A JSON document that a page shows. */
struct rp_html_document {
    const char *name; /**< "dag": a word of small letters and _ */
    const char *text;
    size_t bytes;
};

/** One page that needs nothing else, docs/report.md. As rp_report_profile_json. */
int rp_report_html(const char *title, const struct rp_html_document *documents, size_t count,
                   struct rp_buf *buf, struct rp_err *err);

/** What the forms of a report are made of. NULL: there is none. */
struct rp_report_parts {
    const char *title;
    const struct rp_bottlenecks *bottlenecks; /**< always there */
    const struct rp_dag_result *dag;          /**< with steps */
    const struct rp_timeline *timeline;       /**< where there is a dag */
    const struct rp_roofline *roofline;
    const struct rp_profile *profile;         /**< registers and launches of kernels */
    const struct rp_html_document *documents; /**< for HTML alone */
    size_t document_count;
};

/** What `report --format` writes: report_forms.def. */
struct rp_report_form {
    const char *name, *ending, *what;
    /** RP_BAD_INPUT when a part is missing that it is all about. */
    int (*write)(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err);
};
const struct rp_report_form *rp_report_forms(size_t *ret_count);
/** NULL: none has this name. */
const struct rp_report_form *rp_report_form_named(const char *name);
/** By the ending. NULL: none has it. */
const struct rp_report_form *rp_report_form_of_file(const char *path);

/** Results against the first of them, and what the gates say. */
struct rp_compare_report {
    const struct rp_versus_found *list; /**< at least one */
    size_t count;
    const struct rp_versus_condition *gates;
    size_t gate_count;
    const struct rp_versus_outcome *gated; /**< comparison by comparison */
    struct rp_versus_rule rule;
};

/** compare.json (docs/formats.md). */
int rp_report_compare_json(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err);
/** The same for people. As rp_report_profile_term. */
int rp_report_compare_term(const struct rp_compare_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);
/** Workflow commands for GitHub: an error for each gate that does not hold, warnings, notices. */
int rp_report_compare_github(const struct rp_compare_report *report, struct rp_buf *buf,
                             struct rp_err *err);
/** A table for a pull request: less than 65535 bytes, unless hundreds of results are given. */
int rp_report_compare_markdown(const struct rp_compare_report *report, struct rp_buf *buf,
                               struct rp_err *err);
/** JUnit XML: a test case for each gate; without gates for each kernel. What makes the exit status
 * 1 is a failure, and nothing else. */
int rp_report_compare_junit(const struct rp_compare_report *report, struct rp_buf *buf,
                            struct rp_err *err);
/** The same of results that cannot be compared: one error. @param paths  as they were given */
int rp_report_compare_refused(char *const *paths, size_t count, const struct rp_err *why,
                              struct rp_buf *buf, struct rp_err *err);

/** Results of a history. @param times  with each kernel's, else of all together only */
int rp_report_history_json(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_buf *buf, struct rp_err *err);
int rp_report_history_term(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** One line for each result, or one for each run of each kernel. */
int rp_report_history_lines(const struct rp_history_result *const *results, size_t count,
                            struct rp_buf *buf, struct rp_err *err);
int rp_report_history_csv(const struct rp_history_result *const *results, size_t count,
                          struct rp_buf *buf, struct rp_err *err);

/** What is to be said of series that were judged. */
int rp_report_changes_json(const struct rp_series_list *list, const struct rp_change_rule *rule,
                           struct rp_buf *buf, struct rp_err *err);
int rp_report_changes_term(const struct rp_series_list *list, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);
/** A picture of them; of the first 24. */
int rp_report_changes_svg(const struct rp_series_list *list, struct rp_buf *buf,
                          struct rp_err *err);

/* What the forms of a comparison for people have in common. */

/** "1.0312 (1.0251 to 1.0373)"; "?" without a ratio. */
void rp_versus_ratio_text(struct rp_buf *buf, const struct rp_versus_time *t);
/** "vgprs 32 -> 40, block 64x1x1 -> 128x1x1": runs without a time, and what differs; nothing
 * if nothing does. */
void rp_versus_changes_text(struct rp_buf *buf, const struct rp_versus_pair *k);
/** What was found, the limit, the reason and the kernel of a gate. */
void rp_versus_outcome_text(struct rp_buf *buf, const struct rp_versus_outcome *gated);
/** Whether a table of the heaviest has this row, the @p at -th: those with a verdict always. */
bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most);

#endif
