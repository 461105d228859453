/**
 * @file ci_result.h
 * @brief What `rocm-perf ci` found, and its forms: comment, annotations, JUnit, metrics, JSON.
 */
#ifndef RP_REPORT_CI_RESULT_H
#define RP_REPORT_CI_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/roofline.h"
#include "base/vec.h"

struct rp_buf;
struct rp_err;

enum rp_ci_outcome {
    RP_CI_SKIPPED = 0, /**< there was nothing to hold it to */
    RP_CI_HOLDS,
    RP_CI_UNDECIDED,
    RP_CI_FAILS,
};
extern const char *const rp_ci_outcome_names[];

/** Something at a place of the sources. Its text is of unknown origin. */
struct rp_ci_note {
    char *text;    /**< one line */
    char *file;    /**< from the top of the repository; NULL: not known */
    unsigned line; /**< 0: not known */
};

struct rp_ci_gate {
    char *program; /**< NULL: of the build of all */
    char *name;    /**< the same in each run */
    enum rp_ci_outcome outcome;
    char *sentence; /**< in our own words and numbers, without the program: "14.2 % slower than ..."
                     */
    char *evidence; /**< lines of unknown origin; NULL: none */
    struct {
        RP_VEC(struct rp_ci_note);
    } notes; /**< the first one belongs to the sentence */
    struct rp_quantity value, limit;
};

/** Numbers of a program on both sides; not known where it did not run. */
struct rp_ci_numbers {
    char *program;
    struct rp_quantity base_ms, head_ms, base_bytes, head_bytes;
    char *page; /**< the file of its comparison, in the folder of the result; NULL: none */
};

/** Initialise it with zeros, and release it with rp_ci_result_free. */
struct rp_ci_result {
    char *config;    /**< file of the configuration, from the top of the repository */
    char *base_name; /**< as it was given */
    char *base_commit;
    char *head_commit;
    bool head_changed; /**< the work tree has changes that are in no commit */
    char *device;      /**< "software", "hardware" */
    char *timing;      /**< model of time of the software device: "detailed (version 11)"; NULL */
    /** Sentences on what was compared, with names of unknown origin. */
    struct {
        RP_VEC(char *);
    } remarks;
    struct {
        RP_VEC(struct rp_ci_gate);
    } gates;
    struct {
        RP_VEC(struct rp_ci_numbers);
    } programs;
};

void rp_ci_result_free(struct rp_ci_result *result);

/** Adds a gate that is skipped until something is found.
 * @return its number */
size_t rp_ci_gate_add(struct rp_ci_result *result, const char *program, const char *name,
                      const char *sentence);
/** @param program NULL: of the build
 * @return NULL: there is no such gate */
struct rp_ci_gate *rp_ci_gate_find(struct rp_ci_result *result, const char *program,
                                   const char *name);
/** Decides a gate in our own words. */
void rp_ci_gate_decide(struct rp_ci_gate *gate, enum rp_ci_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** @param text may have any characters; its first line is taken
 * @param file NULL: not known */
void rp_ci_gate_note(struct rp_ci_gate *gate, const char *text, const char *file, unsigned line);

void rp_ci_gate_drop_notes(struct rp_ci_gate *gate);

/** Fails if one gate does, else undecided if one is. */
enum rp_ci_outcome rp_ci_verdict(const struct rp_ci_result *result);
/** Appends "2 of 14 gates fail, 1 is undecided". */
void rp_ci_verdict_text(struct rp_buf *to, const struct rp_ci_result *result);
/** Appends "Software device: modelled time ...", or nothing on a GPU. */
void rp_ci_device_text(struct rp_buf *to, const struct rp_ci_result *result);
/** Says how many gates of the program say the same as this one, which is the first of them; 0: an
 * earlier one says it. So a sentence on a program stands once where gates are listed. */
size_t rp_ci_gate_repeats(const struct rp_ci_result *result, size_t gate);
/** Appends "mm: 14.2 % slower than base ...: NOTE", not escaped.
 * @param repeats so many gates say that, which is named from two on */
void rp_ci_gate_text(struct rp_buf *to, const struct rp_ci_gate *gate, size_t repeats);

/** Writes a comment of less than 65,535 bytes for a pull request. */
void rp_ci_comment(const struct rp_ci_result *result, struct rp_buf *to);
/** Writes workflow commands for GitHub: an error for each gate that fails, a warning for each that
 * is undecided. */
void rp_ci_annotations(const struct rp_ci_result *result, struct rp_buf *to);
/** Writes the same as GitLab's code quality report. */
void rp_ci_code_quality(const struct rp_ci_result *result, struct rp_buf *to);
/** Writes JUnit XML, a test case for each gate. */
void rp_ci_junit(const struct rp_ci_result *result, struct rp_buf *to);
/** Writes OpenMetrics. */
void rp_ci_metrics(const struct rp_ci_result *result, struct rp_buf *to);
/** Writes ci.json (schemas/ci.schema.json). */
int rp_ci_json(const struct rp_ci_result *result, struct rp_buf *to, struct rp_err *err);

#endif
