#include "analysis/roofline/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The table kernel x counter, and what is made of it. */

typedef struct rp_quantity quantity;

/* --- counts ------------------------------------------------------------------------------- */

bool rp_roof_counts_make(const struct rp_counters *counters, struct rp_roof_counts *ret)
{
    const size_t count = counters->name_count;

    ret->of = calloc(count + 1, sizeof *ret->of);
    ret->seen = calloc(count + 1, sizeof *ret->seen);
    for (size_t i = 0; ret->of && i < count; i++)
        ret->of[i] = (struct rp_kernel_count){.name = counters->names[i], .counter = (uint32_t)i};
    return ret->of && ret->seen;
}

void rp_roof_counts_add(const struct rp_counted_dispatch *d, struct rp_roof_counts *counts)
{
    for (uint32_t i = 0; i < d->value_count; i++) {
        const uint32_t counter = d->values[i].counter;
        struct rp_kernel_count *c = &counts->of[counter];

        if (!isfinite(d->values[i].value)) /* not known */
            continue;
        if (c->dispatches++ == 0)
            counts->seen[counts->seen_count++] = counter;
        c->sum += d->values[i].value;
    }
}

static int by_counter(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* A file may have as many counters as kernels, and each kernel one: only those are looked at. */
bool rp_roof_counts_take(struct rp_roof_counts *counts, struct rp_roofline_kernel *kernel)
{
    kernel->counts = calloc(counts->seen_count + 1, sizeof *kernel->counts);
    if (!kernel->counts)
        return false;
    if (counts->seen_count)
        qsort(counts->seen, counts->seen_count, sizeof *counts->seen, by_counter);
    for (size_t i = 0; i < counts->seen_count; i++) {
        struct rp_kernel_count *c = &counts->of[counts->seen[i]];

        kernel->counts[kernel->count_count++] = *c;
        c->dispatches = 0;
        c->sum = 0;
    }
    counts->seen_count = 0;
    return true;
}

void rp_roof_counts_free(struct rp_roof_counts *counts)
{
    free(counts->of);
    free(counts->seen);
    *counts = (struct rp_roof_counts){0};
}

/* --- what is made of them ----------------------------------------------------------------- */

struct deriving {
    const quantity *of;
    const struct rp_roofline_kernel *kernel;
    quantity reads;     /* bytes of the dispatches that have READS and READS_32 */
    double cus, xccs;   /* 0 = unknown */
    bool needs_gpu;     /* and it is not known */
    bool needs_bytes;   /* and they are not known */
    bool contradictory; /* passes disagree too much */
    bool ambiguous;     /* what a counter has counted is not known */
};

static quantity plus(quantity a, quantity b)
{
    return (quantity){.known = a.known && b.known, .value = a.value + b.value};
}

static quantity times(double factor, quantity q)
{
    return (quantity){.known = q.known, .value = q.value * factor};
}

static quantity ratio(quantity a, quantity b)
{
    bool known = a.known && b.known && b.value > 0;

    return (quantity){.known = known, .value = known ? a.value / b.value : 0};
}

/* A ratio that cannot be above 1. */
static quantity part_of(struct deriving *in, quantity a, quantity b)
{
    if (a.known && b.known && b.value > 0 && !rp_pass_part(b.value, &a.value)) {
        in->contradictory = true;
        a.known = false;
    }
    return ratio(a, b);
}

static quantity rest(struct deriving *in, enum rp_difference difference)
{
    quantity q = {0};

    if (!in->kernel->differences[difference].withheld)
        q = rp_roof_rest_of(in->of, difference);
    in->contradictory |= !q.known; /* or a counter is missing, which is said before */
    return q;
}

/* Clocks in which the GPU worked: GRBM_GUI_ACTIVE is the sum over its XCDs. */
static quantity cycles(struct deriving *in, quantity active)
{
    in->needs_gpu = in->cus <= 0 || in->xccs <= 0;
    active.known = active.known && !in->needs_gpu;
    return times(in->needs_gpu ? 0 : 1 / in->xccs, active);
}

/* SQ_ACCUM_PREV_HIRES adds up what the counter beside it reads, and of several nobody knows which:
 * those of all runs of a program have its name. */
static quantity waves_in_flight(struct deriving *in, quantity accumulated)
{
    static const char waves[] = "SQ_LEVEL_WAVES";
    const struct rp_roofline_kernel *k = in->kernel;
    bool named = false, others = false;

    for (size_t i = 0; i < k->count_count; i++) {
        const char *name = k->counts[i].name;

        named |= strcmp(name, "SQ_LEVEL_WAVES_ACCUM") == 0;
        others |= strncmp(name, "SQ", 2) == 0 && strstr(name, "_LEVEL") &&
                  strncmp(name, waves, sizeof waves - 1) != 0;
    }
    in->ambiguous = accumulated.known && !named && others;
    accumulated.known = accumulated.known && !in->ambiguous;
    return accumulated;
}

static quantity exact_reads(struct deriving *in)
{
    in->needs_bytes = !in->reads.known;
    return in->reads;
}

static quantity value_of(enum rp_derived derived, struct deriving *in)
{
    switch (derived) {
#define V(counter) in->of[RP_ROOF_##counter]
#define part(a, b) part_of(in, a, b)
#define RP_DERIVED(id, name, title, unit, value, ...)                                              \
    case RP_DERIVED_##id:                                                                          \
        return value;
#include "rocm-perf/derived_counters.def"
#undef RP_DERIVED
#undef part
#undef V
    case RP_DERIVED_COUNT:
        break;
    }
    return (quantity){0};
}

static const struct {
    struct rp_derived_info info;
    size_t count;
    enum rp_roof_counter inputs[RP_DERIVED_COUNTERS];
} rows[] = {
#define C(counter) RP_ROOF_##counter
#define LIST_2(a, b)                                                                               \
    2,                                                                                             \
    {                                                                                              \
        C(a), C(b)                                                                                 \
    }
#define LIST_3(a, b, c)                                                                            \
    3,                                                                                             \
    {                                                                                              \
        C(a), C(b), C(c)                                                                           \
    }
#define LIST_5(a, b, c, d, e)                                                                      \
    5,                                                                                             \
    {                                                                                              \
        C(a), C(b), C(c), C(d), C(e)                                                               \
    }
#define PICK(a, b, c, d, e, list, ...)                list
#define LIST(...)                                     PICK(__VA_ARGS__, LIST_5, LIST_4, LIST_3, LIST_2, LIST_1, 0)(__VA_ARGS__)
#define RP_DERIVED(id, name, title, unit, value, ...) {{name, title, unit}, LIST(__VA_ARGS__)},
#include "rocm-perf/derived_counters.def"
#undef RP_DERIVED
};

const struct rp_derived_info *rp_derived_info(enum rp_derived derived)
{
    return &rows[derived].info;
}

void rp_roof_see_inputs(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums)
{
    for (size_t r = 0; r < RP_DERIVED_COUNT; r++) {
        struct rp_roof_inputs *to = &sums->inputs[r];
        bool known = true;

        for (size_t i = 0; i < rows[r].count; i++)
            known = known && of[rows[r].inputs[i]].known;
        for (size_t i = 0; known && i < rows[r].count; i++)
            to->sums[i] += of[rows[r].inputs[i]].value;
        to->dispatches += known;
    }
}

/* Counters that many values are divided by: by themselves they ask for none of them. */
static bool is_base(enum rp_roof_counter counter)
{
    switch (counter) {
    case RP_ROOF_GUI_ACTIVE:
    case RP_ROOF_LEVEL_GUI_ACTIVE:
    case RP_ROOF_BUSY_CU_CYCLES:
    case RP_ROOF_WAVE_CYCLES:
    case RP_ROOF_WAVES:
    case RP_ROOF_READS:
    case RP_ROOF_WRITES:
    case RP_ROOF_L1_TOTAL_ACCESSES:
        return true;
    default:
        return false;
    }
}

/* By what rocprofv3 can be asked for. */
static bool is_named_by_other(enum rp_roof_counter counter)
{
    return counter == RP_ROOF_LEVEL_GUI_ACTIVE || counter == RP_ROOF_ACCUMULATED;
}

static void find_missing(const struct rp_roof_sums *sums, enum rp_derived derived,
                         struct rp_derived_value *ret)
{
    size_t missing = 0;

    for (size_t i = 0; i < rows[derived].count; i++) {
        enum rp_roof_counter counter = rows[derived].inputs[i];

        if (sums->counted[counter] == 0)
            ret->missing[missing++] = rp_roof_collected_name(counter, is_named_by_other(counter));
        else
            ret->asked |= !is_base(counter);
    }
    if (missing == 0)
        ret->asked = true;
}

void rp_roof_derive_counters(const struct rp_roof_sums *sums,
                             const struct rp_roofline_device *device, struct rp_quantity reads,
                             struct rp_roofline_kernel *kernel)
{
    for (unsigned r = 0; r < RP_DERIVED_COUNT; r++) {
        struct rp_derived_value *to = &kernel->derived[r];
        const struct rp_roof_inputs *from = &sums->inputs[r];
        quantity of[RP_ROOF_COUNTERS] = {0};
        struct deriving in = {.of = of,
                              .kernel = kernel,
                              .reads = reads,
                              .cus = device->compute_units,
                              .xccs = device->xcc_count};

        find_missing(sums, (enum rp_derived)r, to);
        if (to->missing[0])
            continue;
        to->dispatches = from->dispatches;
        for (size_t i = 0; i < rows[r].count; i++)
            of[rows[r].inputs[i]] =
                (quantity){.known = from->dispatches > 0, .value = from->sums[i]};
        to->q = value_of((enum rp_derived)r, &in);
        if (to->q.known)
            continue;
        to->q.value = 0;
        to->reason = from->dispatches == 0 ? "no dispatch has all of its counters"
                     : in.needs_gpu        ? "needs the GPU (--arch)"
                     : in.needs_bytes      ? "the bytes read are not known"
                     : in.ambiguous     ? "SQ_ACCUM_PREV_HIRES may be of another counter of levels"
                     : in.contradictory ? "its counters contradict each other"
                                        : "none counted";
    }
}
