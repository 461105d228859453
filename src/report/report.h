/**
 * @file report.h
 * @brief Turns results into text: JSON for programs, tables for people.
 *
 * Writers append to a struct rp_buf and look at nothing but their input: the same input gives the
 * same bytes (no clock, no environment, no locale). docs/formats.md says what each JSON key means,
 * and schemas/profile.schema.json has its shape.
 */
#ifndef RP_REPORT_REPORT_H
#define RP_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bottleneck.h"
#include "analyze/compare.h"
#include "analyze/history.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/json_write.h"
#include "base/units.h"

struct rp_bottlenecks;
struct rp_buf;
struct rp_counters;
struct rp_dag_result;
struct rp_err;
struct rp_profile;
struct rp_repeat_kernels;
struct rp_report_parts;
struct rp_roofline;
struct rp_run_differences;
struct rp_source_texts;
struct rp_thread_traces;
struct rp_timeline;

/** Says what was timed. */
enum rp_measurement {
    RP_MEASURED_DISPATCHES = 0, /**< kernel dispatches of a trace */
    RP_MEASURED_WALL_CLOCK,     /**< the whole process, no trace (--no-rocprof) */
};

/** Says where the numbers come from. Strings are borrowed; NULL means unknown, and is printed as
 * null. */
struct rp_provenance {
    const char *const *command; /**< argv of the profiled program */
    size_t command_count;
    int64_t pid;              /**< of a process that ran already when recording began; 0: none */
    const char *rocm_version; /**< "7.2.4" */
    const char *tool_version; /**< of rocm-perf */
    const char *tracer;       /**< "rocprofv3", "builtin" or "wallclock" */
    const char *tracer_version;
    const char *trace_schema; /**< "3.0.0"; NULL without a trace */
    /* These cover all runs. */
    uint64_t incomplete_traces; /**< traces that were not closed in order */
    uint64_t lost_records;      /**< that the tracer could not write */
    uint64_t lost_dispatches;   /**< whose times the tracer never got */
    uint64_t untraced_queues;   /**< processes with a queue that could not be traced */
    uint64_t unrecorded;        /**< dispatches of the base run that were not to be recorded */
    const char *recorded_part; /**< "time", "hand", "signal": what began or ended recording, so that
                                    sums differ from run to run; NULL: nothing did */
    bool window_over;          /**< the program was asked to end when recording was over */
    uint64_t counter_passes;   /**< further runs that read hardware counters */
    int exit_status;           /**< of the program in the base run: 0..255; signals as 128 + n */
    const char *interrupted;   /**< "INT": the signal that ended the base run; NULL: none */

    /* Only these parts differ between two runs that behaved the same. */
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
    const double *kernel_ms;   /**< runs x kernels of the profile, run by run; NAN = no usable time;
                                    NULL: not known */
    const double *gpu_span_ms; /**< of each run, from the start of its first kernel or copy to the
                                    end of its last one; NAN or NULL: not known */
    const struct rp_repeat_kernels *repeat_kernels; /**< NULL: none */
    const struct rp_run_differences *differences;   /**< NULL: none */
    const uint64_t *failed_launches;                /**< of each run; NULL: not known */
    const struct rp_counters *counters;             /**< of all runs; NULL: none were collected */
    const struct rp_roofline *roofline;             /**< NULL: none */
    const char *roofline_reason; /**< why there is none; NULL: nobody asked for it */
    struct rp_provenance provenance;
};

/** Writes profile.json. It fails (RP_ENVIRONMENT) only when memory has ended; then buf holds part
 * of it. */
int rp_report_profile_json(const struct rp_profile_report *report, struct rp_buf *buf,
                           struct rp_err *err);

struct rp_term_style {
    bool colour; /**< ANSI colours */
    unsigned
        width; /**< columns of the terminal, at least 60 are used; 0: no terminal, nothing wraps */
    bool utf8; /**< may be more than ASCII: "µs" */
    bool verbose; /**< all that is known, not only what matters first */
};

/** Writes the table for people. Names are made printable and shortened. It fails as
 * rp_report_profile_json does. */
int rp_report_profile_term(const struct rp_profile_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);

/** Adds the key "processes" where there is more than one.
 * @param profile NULL: nothing is known */
void rp_report_processes(struct rp_json_writer *json, const struct rp_profile *profile);
/** Writes the same for people. It fails as rp_report_profile_term does. */
int rp_report_processes_term(const struct rp_profile *profile, struct rp_term_style style,
                             struct rp_buf *buf, struct rp_err *err);

/** Says how much of a graph is written. */
enum rp_dag_extent {
    RP_DAG_SUMS,  /**< no operation: the page has them in its timeline, in a tenth of the bytes */
    RP_DAG_CHAIN, /**< those of the critical path */
    RP_DAG_FULL   /**< also every kernel and copy with its slack */
};

/** Writes dag.json (docs/format/dag.md). */
int rp_report_dag_json(const struct rp_dag_result *dag, enum rp_dag_extent extent,
                       struct rp_buf *buf, struct rp_err *err);
/**
 * Writes analysis.json (docs/formats.md).
 * @param top so many kernels at most; 0: all
 */
int rp_report_analysis_json(const struct rp_bottlenecks *bottlenecks, size_t top,
                            struct rp_buf *buf, struct rp_err *err);
/** Writes the same for people; 0 means the first 12. It fails as rp_report_profile_term does. */
int rp_report_analysis_term(const struct rp_bottlenecks *bottlenecks, size_t top,
                            struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** Writes thread_trace.json (docs/formats.md). */
int rp_report_thread_trace_json(const struct rp_thread_traces *set, struct rp_buf *buf,
                                struct rp_err *err);
/** Writes thread traces for people. It fails as rp_report_profile_term does. */
int rp_report_thread_trace_term(const struct rp_thread_traces *set, struct rp_term_style style,
                                struct rp_buf *buf, struct rp_err *err);
/** Writes sources.json, which stands in the page alone (docs/formats.md). */
int rp_report_sources_json(const struct rp_source_texts *texts, struct rp_buf *buf,
                           struct rp_err *err);
/** Writes roofline.json (docs/formats.md). */
int rp_report_roofline_json(const struct rp_roofline *roofline, struct rp_buf *buf,
                            struct rp_err *err);
/** Writes rooflines for people. It fails as rp_report_profile_term does. */
int rp_report_roofline_term(const struct rp_roofline *roofline, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err);
/**
 * Writes kernels by counters for people: derived values and, with @p raw, every counter under its
 * own name. A terminal shows the first ones; where style.width is 0, as in a pipe, all are written.
 */
int rp_report_counters_term(const struct rp_roofline *roofline, bool raw,
                            struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** Writes the execution graph for people. It fails as rp_report_profile_term does. */
int rp_report_dag_term(const struct rp_dag_result *dag, struct rp_term_style style,
                       struct rp_buf *buf, struct rp_err *err);
/** Writes timeline.json (docs/formats.md).
 * @param dag with steps */
int rp_report_timeline_json(const struct rp_dag_result *dag, const struct rp_timeline *timeline,
                            struct rp_buf *buf, struct rp_err *err);

/** This is a JSON document that a page shows. */
struct rp_html_document {
    const char *name; /**< "dag": a word of small letters and _ */
    const char *text;
    size_t bytes;
};

/** Writes one page that needs no other files (docs/report.md). It fails as rp_report_profile_json
 * does. */
int rp_report_html(const char *title, const struct rp_html_document *documents, size_t count,
                   struct rp_buf *buf, struct rp_err *err);

/** The forms of a report are made of these. NULL means that there is none. */
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

/** `report --format` writes the forms of report_forms.def. */
struct rp_report_form {
    const char *name, *ending, *what;
    /** It returns RP_BAD_INPUT when a part is missing that the form is about. */
    int (*write)(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err);
};
const struct rp_report_form *rp_report_forms(size_t *ret_count);
/** Returns NULL when no form has this name. */
const struct rp_report_form *rp_report_form_named(const char *name);
/** Finds a form by the file's ending. It returns NULL when no form has it. */
const struct rp_report_form *rp_report_form_of_file(const char *path);

/** Holds results against the first of them, and the verdicts of the gates. */
struct rp_compare_report {
    const struct rp_versus_found *list; /**< at least one */
    size_t count;
    const struct rp_versus_condition *gates;
    size_t gate_count;
    const struct rp_versus_outcome *gated; /**< comparison by comparison */
    struct rp_versus_rule rule;
};

/** Writes compare.json (docs/formats.md). */
int rp_report_compare_json(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err);

/** Appends the result in one sentence: "after is 2.1x faster than before." */
void rp_versus_result_text(struct rp_buf *to, const struct rp_versus_found *found);

/** Writes a comparison for people. It fails as rp_report_profile_term does. */
int rp_report_compare_term(const struct rp_compare_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);
/** Writes workflow commands for GitHub: an error for each gate that does not hold, warnings,
 * notices. */
int rp_report_compare_github(const struct rp_compare_report *report, struct rp_buf *buf,
                             struct rp_err *err);
/** Writes a table for a pull request: less than 65535 bytes, unless hundreds of results are given.
 */
int rp_report_compare_markdown(const struct rp_compare_report *report, struct rp_buf *buf,
                               struct rp_err *err);
/** Writes a page with compare.json in it. */
int rp_report_compare_html(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err);
/** Writes a page that says why results cannot be compared.
 * @param paths as they were given */
int rp_report_compare_refused_html(char *const *paths, size_t count, const struct rp_err *why,
                                   struct rp_buf *buf, struct rp_err *err);
/** Writes JUnit XML with a test case for each gate, or without gates for each kernel. Only what
 * makes the exit status 1 is a failure. */
int rp_report_compare_junit(const struct rp_compare_report *report, struct rp_buf *buf,
                            struct rp_err *err);
/** Writes one error for results that cannot be compared.
 * @param paths as they were given */
int rp_report_compare_refused(char *const *paths, size_t count, const struct rp_err *why,
                              struct rp_buf *buf, struct rp_err *err);

/** Writes results of a history.
 * @param times with each kernel's, else of all together only */
int rp_report_history_json(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_buf *buf, struct rp_err *err);
int rp_report_history_term(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_term_style style, struct rp_buf *buf, struct rp_err *err);
/** Writes one line for each result, or one for each run of each kernel. */
int rp_report_history_lines(const struct rp_history_result *const *results, size_t count,
                            struct rp_buf *buf, struct rp_err *err);
int rp_report_history_csv(const struct rp_history_result *const *results, size_t count,
                          struct rp_buf *buf, struct rp_err *err);

/** Writes what is known about series that were judged. */
int rp_report_changes_json(const struct rp_series_list *list, const struct rp_change_rule *rule,
                           struct rp_buf *buf, struct rp_err *err);
/** @param ret_since the result since which the series is slower that became slower most; NULL: none
 * is */
int rp_report_changes_term(const struct rp_series_list *list, struct rp_term_style style,
                           struct rp_buf *buf, const struct rp_history_result **ret_since,
                           struct rp_err *err);

/** What the repository at hand calls commits. */
struct rp_commit_names {
    struct rp_commit_name {
        char *commit, *subject;
    } * list; /**< by commit */
    size_t count;
};
/** Returns the subject of a commit, with changes or without; NULL: it is not known. */
const char *rp_commit_name(const struct rp_commit_names *names, const char *commit);

/** Writes a page that needs neither other files nor a script: a chart for each series, the last
 * change first. Of a large history it has so much that its size stays below a few megabytes.
 * @param history as people may see its name
 * @param commits NULL: none are known */
int rp_report_changes_html(const struct rp_series_list *list, const char *history,
                           const struct rp_commit_names *commits, struct rp_buf *buf,
                           struct rp_err *err);

/** Appends "14.2 % slower BESIDE (6.35 -> 7.25 us)", "takes 12.4 % less time BESIDE (...)", or from
 * a factor of two on "2.1x slower BESIDE (...)".
 * @param ratio time after / time before */
void rp_change_text(struct rp_buf *to, double ratio, double before_ms, double after_ms,
                    const char *beside);

/** Draws the first 24 of them. */
int rp_report_changes_svg(const struct rp_series_list *list, struct rp_buf *buf,
                          struct rp_err *err);

/* The forms of a comparison for people share these. */

/** Writes "1.11x faster (1.10x to 1.12x faster)", or the verdict where it is neither faster nor
 * slower: "undecided (1.02x slower to 1.01x faster)". */
void rp_versus_change_text(struct rp_buf *buf, const struct rp_versus_time *t);
/** Writes runs without a time, and what differs: "vgprs 32 -> 40, block 64x1x1 -> 128x1x1". It
 * writes nothing if nothing differs. */
void rp_versus_changes_text(struct rp_buf *buf, const struct rp_versus_pair *k);
/** Writes the value, the limit, the reason and the kernel of a gate. */
void rp_versus_outcome_text(struct rp_buf *buf, const struct rp_versus_outcome *gated);
/** Says whether a table of the heaviest has this row, the @p at -th. Rows with a verdict are always
 * shown. */
bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most);

/* Makes text of unknown origin safe, and prints numbers the same everywhere. */

/**
 * Appends text for a line, escaped (base/utf8.h). If it is longer than max_cells, "..." replaces
 * the middle.
 */
void rp_text_printable(struct rp_buf *buf, const char *text, unsigned max_cells);

/** Counts the terminal cells that rp_text_printable needs for the whole text. */
size_t rp_text_cells(const char *text);

/** Short forms of names, in the same order. */
struct rp_short_names {
    char **at;
    size_t count;
};

/**
 * Shortens the names of one table: without return types, namespaces, parameters, and template
 * arguments that are the same in all of them. Names that differ have forms that differ; a name that
 * cannot be shortened so stays whole. The forms are not escaped, as the names are not.
 */
int rp_short_names_make(const char *const *names, size_t count, struct rp_short_names *ret,
                        struct rp_err *err);
void rp_short_names_free(struct rp_short_names *names);

/** Writes the short forms of all kernels for the page, which does not make them itself. */
int rp_report_names_json(const struct rp_bottlenecks *of, struct rp_buf *buf, struct rp_err *err);

/* The JSON of a report: members of the document are lines, the rest is as each writer says. */

/** Opens the document, an object. */
struct rp_json_writer rp_report_json(struct rp_buf *buf);
/** Closes the document. */
int rp_report_json_end(struct rp_json_writer *json, struct rp_err *err);
/** Writes six decimals, to which every real number of a report is cut. */
void rp_report_quantity(struct rp_json_writer *json, const char *key, struct rp_quantity quantity);
/** Writes the object "timing", or null without a model.
 * @param clock_mhz  that was modelled in place of the highest, or 0 */
void rp_report_timing(struct rp_json_writer *json, const char *key, const char *model,
                      uint32_t version, uint32_t clock_mhz);

enum { RP_MOST_BY_NAME = 32 };

/** Sorts the numbers of the names by name. */
void rp_by_name(const char *const *names, unsigned count, unsigned *ret_order);

/** Reports whether everything fit into memory. */
int rp_report_end(const struct rp_buf *buf, struct rp_err *err);

/* A report for people, line by line: wrapped at the width, coloured or not. Colours mean something:
 * red is worse or wrong, green better, yellow asks for care. */

enum rp_ink { RP_INK_PLAIN, RP_INK_BOLD, RP_INK_DIM, RP_INK_RED, RP_INK_YELLOW, RP_INK_GREEN };

/** Says where the report goes and what it may use. */
struct rp_page {
    struct rp_buf *out;
    bool colour;
    unsigned width; /**< columns */
    bool utf8;      /**< units may be more than ASCII */
    bool verbose;   /**< as in rp_term_style */
};

/** Writes one line, wrapped between words if it is wider than the page. */
void rp_page_text(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *text);
void rp_page_line(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

/** Makes a page of tables, no narrower than @p least_width. Nothing is cut: on a terminal lines are
 * wrapped, elsewhere they are as long as they are. */
struct rp_page rp_page_of(struct rp_buf *out, struct rp_term_style style, unsigned least_width);

/** Makes a page of sentences, which may be narrower. */
struct rp_page rp_page_of_words(struct rp_buf *out, struct rp_term_style style);

/**
 * Writes one line of such a page, broken between words where it is too narrow and at newlines.
 * @param hang by how much further lines are indented more than the first
 */
void rp_page_words(const struct rp_page *page, enum rp_ink ink, unsigned indent, unsigned hang,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** Says what times of the software device are.
 * @param model "counts", "detailed", "off"; NULL: not known */
void rp_software_line(const struct rp_page *page, const char *model);

/** Says at which engine clock that was, unless it is 0, the highest. */
void rp_clock_line(const struct rp_page *page, uint32_t clock_mhz);

/** Returns what stands behind a sum of modelled times: what of a program's time is not in it. "" on
 * hardware.
 * @param device "software", "hardware"; NULL: not known
 * @param model as above */
const char *rp_not_modelled(const char *device, const char *model);

/** Writes a line that ends with a name: numbers first, as @p fmt says. On a terminal a name that is
 * too long for the rest of the line is on the next one. */
void rp_page_named(const struct rp_page *page, enum rp_ink ink, unsigned indent, const char *name,
                   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** Appends a bar of so many cells, of which the share is filled, with spaces behind it. */
void rp_page_bar(const struct rp_page *page, double share, unsigned cells, struct rp_buf *to);

/** Writes the last line of a report: what to do next, as a command that can be pasted.
 * @param words  with a NULL behind them; the first is "rocm-perf" */
void rp_page_next(const struct rp_page *page, const char *const *words);

/** Appends a word for a shell, in quotes where it needs them. Text that a terminal obeys is written
 * as $'...'. */
void rp_shell_word(struct rp_buf *to, const char *word);

/** Appends text for an element or an attribute in double quotes: valid UTF-8 on one line.
 * Characters that XML cannot hold, and those that would turn the writing direction, become '?'. */
void rp_xml_text(struct rp_buf *buf, const char *text, unsigned most_cells);
/** Appends the whole of ' name="text"'. Characters that XML cannot hold are written as rp_escape
 * does; "" becomes "(no name)". */
void rp_xml_attribute(struct rp_buf *buf, const char *name, const char *text);

/** Appends a cell (RFC 4180), in quotes where it needs them. No spreadsheet takes it for a formula.
 */
void rp_csv_cell(struct rp_buf *buf, const char *text);

/* Each row of report_forms.def needs a writer, and a row without one does not compile. */
#define RP_REPORT_FORM(function, name, ending, what)                                               \
    int rp_form_##function(const struct rp_report_parts *parts, struct rp_buf *buf,                \
                           struct rp_err *err);
#include "report/report_forms.def"
#undef RP_REPORT_FORM

/** Holds what else is known of kernels, by name. A kernel that ran on two GPUs, or was compiled
 * twice, has two rows there, and no single number. */
struct rp_form_known {
    const struct rp_roofline_kernel **counted;
    const struct rp_kernel_summary **launched;
    size_t counted_count, launched_count;
    const struct rp_profile *profile; /**< NULL: none */
};
/** @param ret  release with rp_form_known_free */
int rp_form_known_make(const struct rp_report_parts *parts, struct rp_form_known *ret,
                       struct rp_err *err);
void rp_form_known_free(struct rp_form_known *known);

/** Fails with the reason why a form has no timeline. */
int rp_form_no_graph(const struct rp_report_parts *parts, const char *form, struct rp_err *err);

/** Returns launches that may have failed. NULL means not known. */
const struct rp_launches *rp_form_launches(const struct rp_report_parts *parts);

/** Appends these levels, with the separator between them.
 * @return how many */
size_t rp_form_put_impossible(struct rp_buf *buf, const struct rp_form_known *known,
                              const char *name, const char *separator);

/** Says whether some time of this report, or a value that follows from it, is modelled. */
bool rp_form_is_software(const struct rp_report_parts *parts);
/** Returns "software" or "hardware", or "" when the traces do not say it. */
const char *rp_form_device(const struct rp_report_parts *parts);
/** Appends what times of the software device are, without a line's end. It appends nothing on
 * hardware. */
void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts);

/* The page as the build has made it (html_embed.c), without title and data. */

extern const char rp_html_begin[], rp_html_middle[], rp_html_end[];
extern const size_t rp_html_begin_bytes, rp_html_middle_bytes, rp_html_end_bytes;
extern const char rp_history_html_begin[], rp_history_html_middle[], rp_history_html_end[];
extern const size_t rp_history_html_begin_bytes, rp_history_html_middle_bytes,
    rp_history_html_end_bytes;

#endif
