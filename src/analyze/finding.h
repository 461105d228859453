/**
 * @file finding.h
 * @brief Judges what limits a kernel from its features: the cause, the source line, the expected
 * gain and the rules that led there. docs/how-it-decides.md, "Bottleneck verdict", explains it.
 */
#ifndef RP_ANALYZE_FINDING_H
#define RP_ANALYZE_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/roofline.h"
#include "analyze/wave_time.h"

enum rp_bottleneck {
#define RP_BOTTLENECK(id, name) RP_BOTTLENECK_##id,
#include "analyze/bottleneck_labels.def"
#undef RP_BOTTLENECK
    RP_BOTTLENECK_COUNT
};
extern const char *const rp_bottleneck_names[];

enum rp_feature {
#define RP_FEATURE(id, name, needs) RP_FEATURE_##id,
#include "analyze/bottleneck_features.def"
#undef RP_FEATURE
    RP_FEATURE_COUNT
};
const char *rp_feature_name(enum rp_feature feature);
/** Says what a user must provide so that the feature is known. */
const char *rp_feature_needs(enum rp_feature feature);

/** Holds the features of a kernel; some may be unknown. */
struct rp_features {
    struct rp_quantity of[RP_FEATURE_COUNT];
};

enum rp_cause {
#define RP_CAUSE(id, name, label, title, advice, e1, e2, e3) RP_CAUSE_##id,
#include "analyze/bottleneck_causes.def"
#undef RP_CAUSE
    RP_CAUSE_COUNT
};

enum { RP_CAUSE_EVIDENCE = 3, RP_RULE_CONDITIONS = 5 };

struct rp_cause_facts {
    const char *name; /**< as published: "lds_bank_conflicts" */
    enum rp_bottleneck label;
    const char *title;  /**< for a sentence: "LDS bank conflicts" */
    const char *advice; /**< follows "Try: "; NULL = none */
    enum rp_feature evidence[RP_CAUSE_EVIDENCE];
};
const struct rp_cause_facts *rp_cause_facts(enum rp_cause cause);

/** Names the estimate of a cause's gain. */
enum rp_gain {
    RP_GAIN_CONFLICTS,
    RP_GAIN_BYTES,
    RP_GAIN_SCRATCH,
    RP_GAIN_ATOMIC,
    RP_GAIN_BEHIND_ATOMICS,
    RP_GAIN_BARRIER,
    RP_GAIN_LANES,
    RP_GAIN_GRID,
    RP_GAIN_WAVES,
    RP_GAIN_WORKGROUP,
    RP_GAIN_SCALAR,
    RP_GAIN_FETCH,
    RP_GAIN_LESS_WORK, /**< from here on: limits, not mistakes */
    RP_GAIN_LATENCY,
    RP_GAIN_UNKNOWN,
    RP_GAIN_COUNT
};

enum rp_sense {
    RP_SENSE_BELOW,
    RP_SENSE_AT_LEAST,
    RP_SENSE_UNKNOWN, /**< nothing says what the feature is */
};
extern const char *const rp_sense_names[];

struct rp_condition {
    enum rp_feature feature;
    enum rp_sense sense;
    double value;
};

struct rp_rule {
    const char *id;
    enum rp_cause cause;
    enum rp_gain gain;
    struct rp_condition when[RP_RULE_CONDITIONS];
    size_t count; /**< conditions */
};
const struct rp_rule *rp_rules(size_t *ret_count);
const char *rp_rules_version(void);
bool rp_rule_fires(const struct rp_rule *rule, const struct rp_features *features);
/** Says whether the rule cannot be decided: a feature is unknown, and no known one speaks against
 * it. */
bool rp_rule_open(const struct rp_rule *rule, const struct rp_features *features);

/** This is a range of factors, such as 1.4 to 2.8 times as fast; each is at least 1. */
struct rp_factor_range {
    bool known;
    double low, middle, high; /**< high is at most twice low */
};

/** Makes the range around the factor of a program or kernel of whose time this part is left. */
struct rp_factor_range rp_factor_range(double left);

#define RP_LIMITER_ARRAY "array" /**< an array whose indices are computed is in scratch memory */

struct rp_finding {
    enum rp_cause cause;
    /** Another cause that today's evidence cannot tell from it; RP_CAUSE_UNKNOWN = none. */
    enum rp_cause or_cause;
    enum rp_feature to_tell;    /**< the unknown feature that would; with or_cause */
    const struct rp_rule *rule; /**< that decided; NULL = none */
    /** "file:line" of what to change: an instruction, the launch, or the declaration of what keeps
     * waves out or spills; NULL = unknown */
    const char *line;
    const char *waits_at; /**< where the waves wait, if the line is a declaration; NULL = none */
    /** Of a low occupancy "vgpr", "lds" ...; of spills RP_LIMITER_ARRAY, if they are none; NULL =
     * unknown */
    const char *limiter;
    const char *outer; /**< the line of the kernel into which it is inlined; NULL = into none */
    struct rp_factor_range gain;         /**< of the kernel, once the cause is gone */
    struct rp_factor_range program_gain; /**< end to end */
};

/** Estimates by how much a kernel becomes faster if the cause of a rule that fires goes away. */
struct rp_factor_range rp_rule_gain(const struct rp_rule *rule, const struct rp_features *features);

/**
 * Says how near a limit is that a rule has found: 1 is the rate that well-tuned programs reach.
 * What takes time without a rate is as near as its part of the time.
 */
double rp_limit_nearness(const struct rp_rule *rule, const struct rp_features *features);
/** Says what to try; it follows "Try: ". NULL = nothing is known. */
const char *rp_finding_advice(const struct rp_finding *finding);
/** Says what it is, for a sentence: the title of its cause, or that of its kind of the cause. */
const char *rp_finding_title(const struct rp_finding *finding);

/** Judges a kernel. @p waves may be empty; the finding's line is its memory. */
struct rp_finding rp_finding_judge(const struct rp_features *features,
                                   const struct rp_wave_time *waves);
/**
 * Lists further mistakes of the kernel, those that cost most first.
 * @return how many of @p room were written
 */
size_t rp_finding_others(const struct rp_features *features, const struct rp_wave_time *waves,
                         const struct rp_finding *verdict, struct rp_finding *ret, size_t room);

#endif
