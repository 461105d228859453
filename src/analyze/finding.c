#include "analyze/finding.h"

#include <math.h>
#include <string.h>

const char *const rp_bottleneck_names[] = {
#define RP_BOTTLENECK(id, name) [RP_BOTTLENECK_##id] = (name),
#include "analyze/bottleneck_labels.def"
#undef RP_BOTTLENECK
};

static const struct {
    const char *name, *needs;
} rules_features[] = {
#define RP_FEATURE(id, name_, needs_) [RP_FEATURE_##id] = {.name = (name_), .needs = (needs_)},
#include "analyze/bottleneck_features.def"
#undef RP_FEATURE
};

static const struct rp_cause_facts causes[] = {
#define RP_CAUSE(id, name_, label_, title_, advice_, e1, e2, e3)                                   \
    [RP_CAUSE_##id] = {.name = (name_),                                                            \
                       .label = RP_BOTTLENECK_##label_,                                            \
                       .title = (title_),                                                          \
                       .advice = (advice_),                                                        \
                       .evidence = {RP_FEATURE_##e1, RP_FEATURE_##e2, RP_FEATURE_##e3}},
#include "analyze/bottleneck_causes.def"
#undef RP_CAUSE
};

const char *const rp_sense_names[] = {"below", "at_least", "unknown"};

#define IS(feature_, sense_, value_)                                                               \
    {                                                                                              \
        .feature = RP_FEATURE_##feature_, .sense = RP_SENSE_##sense_, .value = (value_)            \
    }
#define CONDITIONS(...) (sizeof((struct rp_condition[]){__VA_ARGS__}) / sizeof(struct rp_condition))

static const struct rp_rule rules[] = {
#define RULE(id_, cause_, gain_, ...)                                                              \
    {.id = (id_),                                                                                  \
     .cause = RP_CAUSE_##cause_,                                                                   \
     .gain = RP_GAIN_##gain_,                                                                      \
     .when = {__VA_ARGS__},                                                                        \
     .count = CONDITIONS(__VA_ARGS__)},
#include "analyze/bottleneck_rules.def"
#undef RULE
};

enum { RULE_COUNT = sizeof rules / sizeof rules[0] };

const char *rp_feature_name(enum rp_feature feature)
{
    return rules_features[feature].name;
}

const char *rp_feature_needs(enum rp_feature feature)
{
    return rules_features[feature].needs;
}

const struct rp_cause_facts *rp_cause_facts(enum rp_cause cause)
{
    return &causes[cause];
}

const struct rp_rule *rp_rules(size_t *ret_count)
{
    *ret_count = RULE_COUNT;
    return rules;
}

const char *rp_rules_version(void)
{
    return RP_RULES_VERSION;
}

static bool holds(const struct rp_condition *c, const struct rp_quantity *q)
{
    if (c->sense == RP_SENSE_UNKNOWN)
        return !q->known;
    return q->known && (c->sense == RP_SENSE_AT_LEAST ? q->value >= c->value : q->value < c->value);
}

bool rp_rule_fires(const struct rp_rule *rule, const struct rp_features *f)
{
    for (size_t i = 0; i < rule->count; i++)
        if (!holds(&rule->when[i], &f->of[rule->when[i].feature]))
            return false;
    return true;
}

bool rp_rule_open(const struct rp_rule *rule, const struct rp_features *f)
{
    bool open = false;

    for (size_t i = 0; i < rule->count; i++) {
        const struct rp_quantity *q = &f->of[rule->when[i].feature];

        if (holds(&rule->when[i], q))
            continue;
        if (q->known)
            return false;
        open = true;
    }
    return open;
}

/* --- gain ---------------------------------------------------------------------------------- */

/* Programs that are well tuned reach these parts of the peaks: 70 to 90 % of HBM's, 90 % of what
 * the pipelines issue (measured roofline.csv of MI200 and MI300X). */
static const double reachable_bandwidth = 0.7, reachable_pipeline = 0.9;

static double value_or(const struct rp_features *f, enum rp_feature feature, double otherwise)
{
    return f->of[feature].known ? f->of[feature].value : otherwise;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Returns the part of the time that the units need which the cause has nothing to do with. */
static double needed_by_others(const struct rp_features *f, enum rp_cause cause)
{
    const struct {
        enum rp_feature busy;
        double reachable;
        bool concerned;
    } units[] = {
        {RP_FEATURE_HBM_SHARE, reachable_bandwidth,
         cause == RP_CAUSE_HBM || cause == RP_CAUSE_UNCOALESCED || cause == RP_CAUSE_SPILLS},
        {RP_FEATURE_L2_SHARE, reachable_bandwidth,
         cause == RP_CAUSE_L2 || cause == RP_CAUSE_UNCOALESCED || cause == RP_CAUSE_SPILLS ||
             cause == RP_CAUSE_ATOMICS || cause == RP_CAUSE_HBM},
        {RP_FEATURE_L1_SHARE, 0.5,
         cause == RP_CAUSE_L1 || cause == RP_CAUSE_L2 || cause == RP_CAUSE_UNCOALESCED ||
             cause == RP_CAUSE_SPILLS || cause == RP_CAUSE_HBM},
        {RP_FEATURE_LDS_BUSY, reachable_pipeline,
         cause == RP_CAUSE_LDS_CONFLICTS || cause == RP_CAUSE_LDS_BANDWIDTH},
        {RP_FEATURE_MFMA_BUSY, reachable_pipeline, cause == RP_CAUSE_MFMA},
        {RP_FEATURE_VALU_BUSY, reachable_pipeline,
         cause == RP_CAUSE_VALU || cause == RP_CAUSE_TRANSCENDENTAL ||
             cause == RP_CAUSE_DIVERGENCE || cause == RP_CAUSE_ATOMICS ||
             cause == RP_CAUSE_OCCUPANCY},
    };
    /* More workgroups use more CUs, each of which has its own units. */
    size_t count = cause == RP_CAUSE_SMALL_GRID ? 1 : sizeof units / sizeof units[0];
    double most = 0;

    for (size_t i = 0; i < count; i++)
        if (!units[i].concerned)
            most = larger(most, value_or(f, units[i].busy, 0) / units[i].reachable);
    return most;
}

/* Waves wait at barriers for those that something else holds up, so that such waits go with it. */
static double without(const struct rp_features *f, enum rp_feature part, double gone)
{
    double barrier = part == RP_FEATURE_TIME_BARRIER ? 0 : value_or(f, RP_FEATURE_TIME_BARRIER, 0);

    return 1 - gone * smaller(value_or(f, part, 0) / larger(1 - barrier, 0.01), 1);
}

/* Without the bytes of lines that nobody asked for, HBM needs less. Bytes that are asked for more
 * often than they are moved say nothing of that. Then caches serve the rest of the lines where HBM
 * is busy anyway, and elsewhere the accesses must do. */
static double left_of_bytes(const struct rp_features *f)
{
    double used = value_or(f, RP_FEATURE_USED_BYTES, 1), hbm = value_or(f, RP_FEATURE_HBM_SHARE, 0);
    double by_lines = 16 / larger(value_or(f, RP_FEATURE_L1_LINES, 16), 16);
    double by_accesses = larger(value_or(f, RP_FEATURE_COALESCING, by_lines), 0.25);
    bool served = f->of[RP_FEATURE_USED_BYTES].known && hbm >= 0.6;
    double moved = used < 1 ? used : served ? 1 : by_accesses;

    double others = f->of[RP_FEATURE_TIME_GLOBAL].known ? without(f, RP_FEATURE_TIME_GLOBAL, 1)
                                                        : 1 - value_or(f, RP_FEATURE_WAIT, 1);

    return larger(hbm * moved / reachable_bandwidth, others);
}

/* With more waves, latency is hidden in proportion, until HBM is full. */
static double left_of_waves(const struct rp_features *f)
{
    return 1 / value_or(f, RP_FEATURE_WAVES_POSSIBLE, 1);
}

/* Three times as many waves as SIMDs are what a kernel needs to keep its units busy. */
static double left_of_grid(const struct rp_features *f)
{
    return value_or(f, RP_FEATURE_GRID_WAVES, 1) / 3;
}

/* Waves that wait at a barrier for one that waits for memory wait for memory in part: without the
 * barrier the others would go on meanwhile. */
static double left_of_barriers(const struct rp_features *f)
{
    double barrier = value_or(f, RP_FEATURE_TIME_BARRIER, 0);
    double others = value_or(f, RP_FEATURE_TIME_GLOBAL, 0) + value_or(f, RP_FEATURE_TIME_LDS, 0) +
                    value_or(f, RP_FEATURE_TIME_SCRATCH, 0) +
                    value_or(f, RP_FEATURE_TIME_SCALAR, 0);

    return 1 - barrier * (1 - 0.5 * smaller(others / larger(1 - barrier, 0.01), 1));
}

/* Says whether a rule is about waits for kernel arguments and constants, which loads in flight do
 * not shorten. */
static bool is_about_scalar_loads(const struct rp_rule *rule)
{
    return rule && rule->gain == RP_GAIN_LATENCY && rule->when[0].feature == RP_FEATURE_TIME_SCALAR;
}

/* Returns the part of the kernel's time in which no wave runs: it takes to start and to end the
 * kernel, as with one without work (between two others 2.2 us, of which the kernel itself has
 * half). The rest of what traced waves do not explain goes with their time. */
static double outside_waves(const struct rp_features *f)
{
    const double between_others_ns = 2200, alone_ns = 1100;
    const struct rp_quantity *traced = &f->of[RP_FEATURE_TRACED_SHARE];
    const double duration_ns = value_or(f, RP_FEATURE_DURATION_NS, 0);

    if (duration_ns <= 0)
        return 0;
    return traced->known ? smaller(1 - traced->value, between_others_ns / duration_ns)
                         : smaller(alone_ns / duration_ns, 1);
}

/* Computes the part of the time that is left once the cause is gone, before other units limit. */
static double left_of(enum rp_gain gain, const struct rp_features *f)
{
    double conflicts = value_or(f, RP_FEATURE_LDS_CONFLICTS, 0);
    double idle = 1 - value_or(f, RP_FEATURE_LANES_OF_WORKGROUP, 1);

    switch (gain) {
    case RP_GAIN_CONFLICTS:
        return f->of[RP_FEATURE_TIME_LDS].known ? without(f, RP_FEATURE_TIME_LDS, 0.95 * conflicts)
                                                : without(f, RP_FEATURE_LDS_BUSY, 0.95 * conflicts);
    case RP_GAIN_BYTES:
        return left_of_bytes(f);
    case RP_GAIN_SCRATCH: /* Values that no longer spill need registers, and waves for them. */
        return without(f, RP_FEATURE_TIME_SCRATCH, 0.85);
    case RP_GAIN_ATOMIC: /* What combines values first takes some of their time. */
        return without(f, RP_FEATURE_TIME_ATOMIC, 0.9) * value_or(f, RP_FEATURE_TRACED_SHARE, 1);
    case RP_GAIN_BEHIND_ATOMICS:
        return without(f, RP_FEATURE_TIME_GLOBAL, 0.8);
    case RP_GAIN_BARRIER:
        return left_of_barriers(f);
    case RP_GAIN_LANES: /* No order of the work fills all lanes. */
        return f->of[RP_FEATURE_TIME_VALU].known ? without(f, RP_FEATURE_TIME_VALU, 0.85 * idle)
                                                 : without(f, RP_FEATURE_VALU_BUSY, 0.85 * idle);
    case RP_GAIN_GRID:
        return left_of_grid(f);
    case RP_GAIN_WAVES:
        return left_of_waves(f);
    case RP_GAIN_WORKGROUP:
        return value_or(f, RP_FEATURE_WORKGROUP_LANES, 1);
    case RP_GAIN_SCALAR: /* Other loads take their place. */
        return without(f, RP_FEATURE_TIME_SCALAR, 0.5);
    case RP_GAIN_FETCH:
        return without(f, RP_FEATURE_TIME_FETCH, 1);
    case RP_GAIN_LESS_WORK: /* A textbook fix does less than half of the work. */
        return 0.45;
    default: /* The loads of a wave overlap up to HBM's rate, or fourfold. */
        return larger(0.25, f->of[RP_FEATURE_TIME_GLOBAL].known
                                ? 1 - value_or(f, RP_FEATURE_TIME_GLOBAL, 0) -
                                      value_or(f, RP_FEATURE_TIME_SCALAR, 0) -
                                      value_or(f, RP_FEATURE_TIME_BARRIER, 0)
                                : 1 - value_or(f, RP_FEATURE_WAIT, 1));
    }
}

static const double least_left[RP_GAIN_COUNT] = {
    [RP_GAIN_GRID] = 0.02, /* A grid of one workgroup leaves 1215 of 1216 SIMDs empty. */
    [RP_GAIN_WAVES] = 0.12,
    [RP_GAIN_ATOMIC] = 0.01,
    [RP_GAIN_BYTES] = 0.2,
};

/* Measured gains of textbook fixes are within a factor of 1.4 of the estimates for most of the
 * programs in tests/programs/planted. */
struct rp_factor_range rp_factor_range(double left)
{
    double factor = 1 / smaller(larger(left, 1e-3), 1), low = larger(factor / M_SQRT2, 1);

    return (struct rp_factor_range){
        .known = true, .low = low, .middle = factor, .high = smaller(factor * M_SQRT2, 2 * low)};
}

/* Returns the part of the waves' time that is left. With more work in each wave, four times as
 * much, its arguments are waited for less often. */
static double left_of_waves_time(const struct rp_rule *rule, const struct rp_features *f)
{
    return is_about_scalar_loads(rule) ? without(f, RP_FEATURE_TIME_SCALAR, 0.75)
                                       : left_of(rule->gain, f);
}

/* Returns the part of the waves' time that no remedy takes away. */
static double never_gone(const struct rp_rule *rule, const struct rp_features *f)
{
    return is_about_scalar_loads(rule) ? without(f, RP_FEATURE_TIME_SCALAR, 1) : 0;
}

struct rp_factor_range rp_rule_gain(const struct rp_rule *rule, const struct rp_features *f)
{
    double least = least_left[rule->gain] > 0 ? least_left[rule->gain] : 0.1;
    /* Atomics are counted with the part of the time that traced waves explain, and half of the work
     * may be half of the launches. */
    double outside =
        rule->gain == RP_GAIN_ATOMIC || rule->gain == RP_GAIN_LESS_WORK ? 0 : outside_waves(f);
    double left = outside + (1 - outside) * left_of_waves_time(rule, f);
    double stays = outside + (1 - outside) * never_gone(rule, f);
    struct rp_factor_range range;

    if (rule->gain == RP_GAIN_UNKNOWN)
        return (struct rp_factor_range){0};
    left = larger(left, needed_by_others(f, rule->cause));
    range = rp_factor_range(larger(left, least));
    if (range.high * stays > 1)
        range.high = larger(1 / stays, range.middle);
    return range;
}

/* --- verdict ------------------------------------------------------------------------------- */

/* A mistake that costs less than this hides nothing else. */
static const double least_gain = 1.15;

static const struct rp_rule *worst_mistake(const struct rp_features *f)
{
    const bool full = value_or(f, RP_FEATURE_HBM_SHARE, 0) >= 0.6; /* Nothing waits for latency. */
    const struct rp_rule *worst = NULL;
    double most = least_gain;

    for (size_t i = 0; i < RULE_COUNT && rules[i].gain < RP_GAIN_LESS_WORK; i++) {
        double gain = rp_rule_fires(&rules[i], f) ? rp_rule_gain(&rules[i], f).middle : 0;

        if (gain < most || (full && causes[rules[i].cause].label == RP_BOTTLENECK_LATENCY))
            continue;
        worst = &rules[i];
        most = gain;
    }
    return worst;
}

/* Says how near a limit is that a rule has found: 1 is the rate that well-tuned programs reach.
 * What takes time without a rate is as near as its part of the time. */
double rp_limit_nearness(const struct rp_rule *rule, const struct rp_features *f)
{
    static const struct {
        enum rp_feature feature;
        double reachable;
    } rates[] = {
        {RP_FEATURE_HBM_SHARE, 0.7},  {RP_FEATURE_L2_SHARE, 0.7},  {RP_FEATURE_L1_SHARE, 0.5},
        {RP_FEATURE_LDS_BUSY, 0.9},   {RP_FEATURE_MFMA_BUSY, 0.9}, {RP_FEATURE_MFMA_SHARE, 0.7},
        {RP_FEATURE_VALU_SHARE, 0.7}, {RP_FEATURE_VALU_BUSY, 0.9},
    };
    const struct rp_condition *first = &rule->when[0];

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (rates[i].feature == first->feature)
            return f->of[first->feature].value / rates[i].reachable;
    return f->of[first->feature].value;
}

/* Of the units that are busy, the busiest limits. Which instructions keep the VALU busy says more
 * than that it is. Limits of other kinds count in the order of the table. */
static const struct rp_rule *first_limit(const struct rp_features *f)
{
    const struct rp_rule *found = NULL;

    for (size_t i = 0; i < RULE_COUNT; i++) {
        const struct rp_rule *r = &rules[i];

        if (r->gain < RP_GAIN_LESS_WORK || !rp_rule_fires(r, f))
            continue;
        if (found && (r->gain != RP_GAIN_LESS_WORK || found->gain != RP_GAIN_LESS_WORK ||
                      (found->cause == RP_CAUSE_TRANSCENDENTAL && r->cause == RP_CAUSE_VALU) ||
                      rp_limit_nearness(r, f) <= rp_limit_nearness(found, f)))
            continue;
        found = r;
    }
    return found;
}

/* Says whether a mistake could look like this limit. */
static bool may_hide_behind(enum rp_cause mistake, enum rp_cause limit)
{
    switch (limit) {
    case RP_CAUSE_HBM:
    case RP_CAUSE_L2:
    case RP_CAUSE_L1:
        return mistake == RP_CAUSE_UNCOALESCED || mistake == RP_CAUSE_SPILLS;
    case RP_CAUSE_LDS_BANDWIDTH:
    case RP_CAUSE_LDS_LATENCY:
        return mistake == RP_CAUSE_LDS_CONFLICTS;
    case RP_CAUSE_VALU:
        return mistake == RP_CAUSE_DIVERGENCE;
    default:
        return limit == RP_CAUSE_LATENCY;
    }
}

/* A mistake that nothing known speaks against, and one known condition for, may be the cause. */
static void find_other(const struct rp_features *f, struct rp_finding *finding)
{
    if (finding->cause == RP_CAUSE_MEMORY) {
        finding->or_cause = RP_CAUSE_LATENCY;
        finding->to_tell = RP_FEATURE_HBM_SHARE;
        return;
    }
    for (size_t i = 0; i < RULE_COUNT && rules[i].gain < RP_GAIN_LESS_WORK; i++) {
        const struct rp_rule *r = &rules[i];
        size_t known = 0;
        enum rp_feature unknown = RP_FEATURE_COUNT;

        if (!rp_rule_open(r, f) || !may_hide_behind(r->cause, finding->cause))
            continue;
        for (size_t c = 0; c < r->count; c++) {
            known += f->of[r->when[c].feature].known;
            if (!f->of[r->when[c].feature].known && unknown == RP_FEATURE_COUNT)
                unknown = r->when[c].feature;
        }
        if (known == 0)
            continue;
        finding->or_cause = r->cause;
        finding->to_tell = unknown;
        return;
    }
}

/* Some causes have a line that says more than where most time went.
 * @return whether there is one */
static bool take_known_line(const struct rp_wave_time *w, struct rp_finding *f)
{
    const struct {
        enum rp_cause cause;
        const char *line, *outer;
    } known[] = {
        {RP_CAUSE_ATOMICS, w->atomic_line, NULL},
        {RP_CAUSE_DIVERGENCE, w->branch_line, w->branch_outer},
        {RP_CAUSE_UNCOALESCED, w->scattered_line, w->scattered_outer},
        {RP_CAUSE_LDS_CONFLICTS, w->conflict_line, w->conflict_outer},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].cause == f->cause && known[i].line) {
            f->line = known[i].line;
            f->outer = known[i].outer;
            return true;
        }
    return false;
}

/* The line is the one that took most of the time that the cause is about. */
static void find_line(const struct rp_wave_time *waves, struct rp_finding *finding)
{
    static const struct {
        enum rp_cause cause;
        enum rp_wave_part parts[2];
    } rows[] = {
        {RP_CAUSE_LDS_CONFLICTS, {RP_WAVE_PART_LDS, RP_WAVE_PART_LDS_ATOMIC}},
        {RP_CAUSE_LDS_LATENCY, {RP_WAVE_PART_LDS, RP_WAVE_PART_LDS_ATOMIC}},
        {RP_CAUSE_LDS_BANDWIDTH, {RP_WAVE_PART_LDS, RP_WAVE_PART_LDS_ATOMIC}},
        {RP_CAUSE_UNCOALESCED, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_HBM, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_L2, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_L1, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_LATENCY, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_OCCUPANCY, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_MEMORY, {RP_WAVE_PART_LOAD, RP_WAVE_PART_STORE}},
        {RP_CAUSE_SPILLS, {RP_WAVE_PART_SCRATCH, RP_WAVE_PART_SCRATCH}},
        {RP_CAUSE_ATOMICS, {RP_WAVE_PART_ATOMIC, RP_WAVE_PART_LDS_ATOMIC}},
        {RP_CAUSE_BARRIER, {RP_WAVE_PART_BARRIER, RP_WAVE_PART_BARRIER}},
        {RP_CAUSE_DIVERGENCE, {RP_WAVE_PART_VALU, RP_WAVE_PART_TRANSCENDENTAL}},
        {RP_CAUSE_VALU, {RP_WAVE_PART_VALU, RP_WAVE_PART_VALU}},
        {RP_CAUSE_TRANSCENDENTAL, {RP_WAVE_PART_TRANSCENDENTAL, RP_WAVE_PART_TRANSCENDENTAL}},
        {RP_CAUSE_MFMA, {RP_WAVE_PART_MFMA, RP_WAVE_PART_MFMA}},
        {RP_CAUSE_SCALAR_CACHE, {RP_WAVE_PART_SCALAR_LOAD, RP_WAVE_PART_SCALAR_LOAD}},
        {RP_CAUSE_INSTRUCTION_CACHE, {RP_WAVE_PART_FETCH, RP_WAVE_PART_FETCH}},
    };

    if (take_known_line(waves, finding))
        return;
    if (is_about_scalar_loads(finding->rule)) {
        finding->line = waves->of[RP_WAVE_PART_SCALAR_LOAD].line;
        finding->outer = waves->of[RP_WAVE_PART_SCALAR_LOAD].outer;
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct rp_wave_part_time *a = &waves->of[rows[i].parts[0]];
        const struct rp_wave_part_time *b = &waves->of[rows[i].parts[1]];

        if (rows[i].cause != finding->cause)
            continue;
        a = b->line_cycles > a->line_cycles ? b : a;
        finding->line = a->line;
        finding->outer = a->outer;
    }
}

static bool anything_open(const struct rp_features *f)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rp_rule_open(&rules[i], f))
            return true;
    return false;
}

struct rp_finding rp_finding_judge(const struct rp_features *f, const struct rp_wave_time *waves)
{
    struct rp_finding finding = {.rule = worst_mistake(f)};

    if (!finding.rule)
        finding.rule = first_limit(f);
    if (!finding.rule) { /* Everything is known, and nothing stands out. */
        finding.cause = anything_open(f) ? RP_CAUSE_UNKNOWN : RP_CAUSE_BALANCED;
        return finding;
    }
    finding.cause = finding.rule->cause;
    finding.gain = rp_rule_gain(finding.rule, f);
    find_line(waves, &finding);
    if (finding.rule->gain >= RP_GAIN_LESS_WORK)
        find_other(f, &finding);
    return finding;
}

size_t rp_finding_others(const struct rp_features *f, const struct rp_wave_time *waves,
                         const struct rp_finding *verdict, struct rp_finding *ret, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < RULE_COUNT && rules[i].gain < RP_GAIN_LESS_WORK; i++) {
        struct rp_finding other = {.cause = rules[i].cause, .rule = &rules[i]};
        bool known = other.cause == verdict->cause || !rp_rule_fires(&rules[i], f);
        size_t at;

        other.gain = rp_rule_gain(&rules[i], f);
        for (size_t k = 0; k < i; k++) /* The rule of a cause that promises most counts. */
            known |= rules[k].cause == other.cause && rp_rule_fires(&rules[k], f) &&
                     rp_rule_gain(&rules[k], f).middle >= other.gain.middle;
        for (size_t k = i + 1; k < RULE_COUNT && rules[k].gain < RP_GAIN_LESS_WORK; k++)
            known |= rules[k].cause == other.cause && rp_rule_fires(&rules[k], f) &&
                     rp_rule_gain(&rules[k], f).middle > other.gain.middle;
        if (known || other.gain.middle < least_gain)
            continue;
        find_line(waves, &other);
        for (at = count; at > 0 && ret[at - 1].gain.middle < other.gain.middle; at--)
            if (at < room)
                ret[at] = ret[at - 1];
        if (at < room)
            ret[at] = other;
        count += count < room;
    }
    return count;
}

/* An occupancy has another remedy for each thing that can keep waves out. */
struct kind {
    const char *limiter, *title, *advice;
};

static const struct kind kinds_of_occupancy[] = {
    {"lds", "low occupancy by LDS use",
     "use less LDS for each workgroup (smaller tiles, narrower types), so that more workgroups fit "
     "on a compute unit"},
    {"vgpr", "low occupancy by vector registers",
     "keep less data in registers (smaller arrays, shorter loops), or limit them by the second "
     "argument of __launch_bounds__, so that more waves fit on a SIMD"},
    {"sgpr", "low occupancy by scalar registers",
     "pass fewer arguments and constants, so that more waves fit on a SIMD"},
    {"workgroup_size", "low occupancy by the workgroup size",
     "choose a workgroup size whose workgroups fill the wave slots of a compute unit: a multiple "
     "of 64, such as 256"},
};

static const struct kind array_in_scratch = {RP_LIMITER_ARRAY, "an array in scratch memory",
                                             "index it by constants (unroll the loops over it), so "
                                             "that it fits the registers, or keep it in "
                                             "LDS"};

static const struct kind part_of_waves = {
    NULL, "workgroups that fill their waves in part",
    "make workgroups a multiple of the wave's lanes, so that no lane is idle"};

static const struct kind arguments = {
    NULL, "latency of scalar loads",
    "do more work in each wave (several elements for each work-item), or fuse the kernel with its "
    "neighbours, so that kernel arguments and constants are waited for less often"};

static const struct kind *kind_of(const struct rp_finding *f)
{
    if (is_about_scalar_loads(f->rule))
        return &arguments;
    if (f->rule && f->rule->gain == RP_GAIN_WORKGROUP)
        return &part_of_waves;
    if (f->cause == RP_CAUSE_SPILLS)
        return f->limiter ? &array_in_scratch : NULL;
    for (size_t i = 0; f->limiter && i < sizeof kinds_of_occupancy / sizeof *kinds_of_occupancy;
         i++)
        if (strcmp(kinds_of_occupancy[i].limiter, f->limiter) == 0)
            return &kinds_of_occupancy[i];
    return NULL;
}

const char *rp_finding_advice(const struct rp_finding *finding)
{
    const struct kind *kind = kind_of(finding);

    return kind ? kind->advice : causes[finding->cause].advice;
}

const char *rp_finding_title(const struct rp_finding *finding)
{
    const struct kind *kind = kind_of(finding);

    return kind ? kind->title : causes[finding->cause].title;
}
