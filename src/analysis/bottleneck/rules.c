#include "rocm-perf/bottleneck.h"

#include <stdio.h>
#include <string.h>

enum { BELOW, AT_LEAST };

static const struct rp_rule rules[] = {
#define RULE(id_, label_, points_, f1, s1, v1, f2, s2, v2)                                         \
    {.id = (id_),                                                                                  \
     .label = RP_BOTTLENECK_##label_,                                                              \
     .points = (points_),                                                                          \
     .when = {{RP_FEATURE_##f1, (s1) == AT_LEAST, (v1)},                                           \
              {RP_FEATURE_##f2, (s2) == AT_LEAST, (v2)}}},
#include "analysis/bottleneck/rules.def"
#undef RULE
};

static const char *const label_names[] = {
#define RP_BOTTLENECK(id, name) [RP_BOTTLENECK_##id] = (name),
#include "rocm-perf/bottleneck_labels.def"
#undef RP_BOTTLENECK
};

static const struct {
    const char *name, *needs;
} features[] = {
#define RP_FEATURE(id, name_, needs_) [RP_FEATURE_##id] = {.name = (name_), .needs = (needs_)},
#include "rocm-perf/bottleneck_features.def"
#undef RP_FEATURE
};

const char *rp_bottleneck_name(enum rp_bottleneck label)
{
    return label_names[label];
}

const char *rp_feature_name(enum rp_feature feature)
{
    return features[feature].name;
}

const char *rp_feature_needs(enum rp_feature feature)
{
    return features[feature].needs;
}

const char *rp_rank_basis_name(enum rp_rank_basis basis)
{
    static const char *const names[] = {NULL, "kernel_time", "critical_path"};

    return names[basis];
}

const struct rp_rule *rp_rules(size_t *ret_count)
{
    *ret_count = sizeof rules / sizeof rules[0];
    return rules;
}

const char *rp_rules_version(void)
{
    return RP_RULES_VERSION;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a, 64 bits */
    return hash;
}

uint64_t rp_rules_checksum(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char row[512];

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rp_rule *r = &rules[i];

        snprintf(row, sizeof row, "%s %s %u %s %d %.6f %s %d %.6f\n", r->id,
                 rp_bottleneck_name(r->label), r->points, rp_feature_name(r->when[0].feature),
                 r->when[0].at_least, r->when[0].value, rp_feature_name(r->when[1].feature),
                 r->when[1].at_least, r->when[1].value);
        hash = mix(hash, row);
    }
    return hash;
}

static bool holds(const struct rp_condition *c, double value)
{
    return c->at_least ? value >= c->value : value < c->value;
}

bool rp_rule_fires(const struct rp_rule *rule, const struct rp_features *f)
{
    for (size_t i = 0; i < 2; i++) {
        const struct rp_quantity *q = &f->of[rule->when[i].feature];

        if (!q->known || !holds(&rule->when[i], q->value))
            return false;
    }
    return true;
}

bool rp_rule_open(const struct rp_rule *rule, const struct rp_features *f)
{
    bool open = false;

    for (size_t i = 0; i < 2; i++) {
        const struct rp_quantity *q = &f->of[rule->when[i].feature];

        if (q->known && !holds(&rule->when[i], q->value))
            return false;
        open |= !q->known;
    }
    return open;
}

enum rp_bottleneck rp_rules_judge(const struct rp_features *f,
                                  unsigned ret_points[RP_BOTTLENECK_COUNT])
{
    enum rp_bottleneck best = RP_BOTTLENECK_UNKNOWN;
    bool equal = false, open = false;

    memset(ret_points, 0, RP_BOTTLENECK_COUNT * sizeof *ret_points);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rp_rule_fires(&rules[i], f))
            ret_points[rules[i].label] += rules[i].points;
        open |= rp_rule_open(&rules[i], f);
    }
    for (unsigned label = 0; label < RP_BOTTLENECK_COUNT; label++) {
        if (ret_points[label] > ret_points[best]) {
            best = (enum rp_bottleneck)label;
            equal = false;
        } else if (label != best && ret_points[label] && ret_points[label] == ret_points[best]) {
            equal = true;
        }
    }
    if (ret_points[best] == 0) /* everything is known, and nothing stands out */
        return open ? RP_BOTTLENECK_UNKNOWN : RP_BOTTLENECK_MIXED;
    return equal ? RP_BOTTLENECK_MIXED : best;
}
