/**
 * @file finding_text.h
 * @brief Makes sentences of findings. Terminal, JSON, page, Markdown and prompt have them from
 * here, so that all of them say the same.
 */
#ifndef RP_REPORT_FINDING_TEXT_H
#define RP_REPORT_FINDING_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/bottleneck.h"
#include "report/report.h"

struct rp_buf;
struct rp_err;

/** Holds what all sentences about a program need. Set put_code after it was made, if the text is
 * not plain. */
struct rp_finding_texts {
    const struct rp_bottlenecks *of; /**< borrowed */
    struct rp_short_names names;     /**< of its kernels */
    /** Appends a name or a place in the source, which are of unknown origin; NULL: as it is, names
     * within grave accents. Whoever prints such a text escapes all of it. */
    void (*put_code)(struct rp_buf *to, const char *text);
};

int rp_finding_texts_make(const struct rp_bottlenecks *of, struct rp_finding_texts *ret,
                          struct rp_err *err);
void rp_finding_texts_free(struct rp_finding_texts *texts);

/** Appends two sentences about the program: what takes its time and what limits that, and what to
 * try with the gain to expect. Nothing is appended where nothing ran. */
void rp_finding_put_program(const struct rp_finding_texts *texts, struct rp_buf *to);

/** Appends what limits a kernel in a few words: "HBM bandwidth at saxpy.hip:12; 1.3x to 1.6x faster
 * end to end". */
void rp_finding_put_kernel(const struct rp_finding_texts *texts, size_t kernel, struct rp_buf *to);

/** Appends what to try, as a clause without a full stop. It appends nothing where there is no
 * advice. */
void rp_finding_put_advice(const struct rp_finding_texts *texts, size_t kernel, struct rp_buf *to);

/** This is a row of evidence. */
struct rp_finding_evidence {
    const char *name; /**< as a feature is published: "hbm_share" */
    const char *words, *unit;
    char value[32];
};

/** Returns how many rows there are: the known ones. */
size_t rp_finding_evidence(const struct rp_bottleneck_kernel *kernel,
                           struct rp_finding_evidence ret[RP_CAUSE_EVIDENCE]);

/** Writes the two sentences for people, with an empty line behind them. */
int rp_report_verdict_term(const struct rp_bottlenecks *bottlenecks, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err);

#endif
