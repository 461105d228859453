#include "analyze/roofline_counters.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/counter_set.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* rocprof-compute and rocprofv3 count in some 15 runs of a program, which never agree to the last
 * request. The rest of one counter without others is then negative by a little: in real GEMMs 28 %
 * of the dispatches have such a pair, by 1 ppm to 1.6 %. */

static const struct rp_roof_difference passes_differences[] = {
#define PASSES_C(counter)                  RP_ROOF_##counter
#define LIST_1(a)                          {PASSES_C(a)}, 1
#define PASSES_LIST_2(a, b)                {PASSES_C(a), PASSES_C(b)}, 2
#define LIST_4(a, b, c, d)                 {PASSES_C(a), PASSES_C(b), PASSES_C(c), PASSES_C(d)}, 4
#define PASSES_PICK(a, b, c, d, list, ...) list
#define PASSES_LIST(...)                                                                           \
    PASSES_PICK(__VA_ARGS__, LIST_4, LIST_3, PASSES_LIST_2, LIST_1, 0)(__VA_ARGS__)
#define RP_DIFFERENCE(id, what, whole, ...) {PASSES_C(whole), PASSES_LIST(__VA_ARGS__)},
#include "analyze/pass_differences.def"
#undef RP_DIFFERENCE
};

const struct rp_roof_difference *rp_roof_difference(enum rp_difference difference)
{
    return &passes_differences[difference];
}

const char *const rp_difference_names[] = {
#define RP_DIFFERENCE(id, what, ...) what,
#include "analyze/pass_differences.def"
#undef RP_DIFFERENCE
};

double rp_pass_tolerance(void)
{
    return RP_PASS_TOLERANCE_PERCENT / 100.0;
}

bool rp_pass_part(double whole, double *part)
{
    if (*part <= whole)
        return true;
    if (*part - whole > rp_pass_tolerance() * whole)
        return false;
    *part = whole;
    return true;
}

/* @return whether all of its counters are there */
static bool split(const struct rp_quantity *of, const struct rp_roof_difference *d,
                  double *ret_whole, double *ret_parts)
{
    bool known = of[d->whole].known;

    *ret_whole = of[d->whole].value;
    *ret_parts = 0;
    for (size_t i = 0; i < d->part_count; i++) {
        known = known && of[d->parts[i]].known;
        *ret_parts += of[d->parts[i]].value;
    }
    return known;
}

void rp_roof_see_excess(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums)
{
    for (size_t i = 0; i < RP_DIFFERENCE_COUNT; i++) {
        struct rp_roof_excess *e = &sums->excess[i];
        double whole, parts, by;

        if (!split(of, &passes_differences[i], &whole, &parts) || parts <= whole)
            continue;
        by = whole > 0 ? (parts - whole) / whole : INFINITY;
        e->negative++;
        e->most = by > e->most ? by : e->most;
        e->sum += parts - whole;
    }
}

struct rp_quantity rp_roof_rest(const struct rp_roof_sums *sums, enum rp_difference difference,
                                struct rp_roofline_kernel *kernel)
{
    struct rp_pass_difference *d = &kernel->differences[difference];
    const struct rp_roof_excess *e = &sums->excess[difference];
    struct rp_quantity rest = {0};
    double whole, parts;

    if (!split(sums->of, &passes_differences[difference], &whole, &parts))
        return rest;
    d->asked = true;
    d->negative = e->negative;
    d->most = e->most;
    d->share = e->sum > 0 ? e->sum / whole : 0;
    d->withheld = e->sum > rp_pass_tolerance() * whole;
    if (d->withheld)
        return rest;
    rest.known = true;
    rest.value = whole > parts ? whole - parts : 0;
    return rest;
}

/** Computes the same for some of the dispatches, by their sums. */
static struct rp_quantity roof_rest_of(const struct rp_quantity of[RP_ROOF_COUNTERS],
                                       enum rp_difference difference)
{
    struct rp_quantity rest = {0};
    double whole, parts;

    if (split(of, &passes_differences[difference], &whole, &parts) && rp_pass_part(whole, &parts)) {
        rest.known = true;
        rest.value = whole - parts;
    }
    return rest;
}

static const struct {
    const char *name, *other, *what;
} counter_names[] = {
#define COUNTER(id, name, other, what) {name, other, what},
#include "analyze/roofline_counters.def"
#undef COUNTER
};

const char *rp_roof_counter_what(enum rp_roof_counter counter)
{
    return counter_names[counter].what;
}

/** Returns the name to collect it by: with several instances that of their sum. @p other asks for
 * its second name, if any. */
/* Readers add up blocks with one instance for the whole GPU or shader engine. For the many caches
 * rocprofv3 gives the sum itself, which makes smaller traces. */
static const char *roof_collected_name(enum rp_roof_counter counter, bool other)
{
    static const struct {
        const char *name, *other;
    } sums[] = {
#define COUNTER(id, name, other, what) {name "_sum", other "_sum"},
#include "analyze/roofline_counters.def"
#undef COUNTER
    };
    bool has_other = other && *counter_names[counter].other;
    const char *plain = has_other ? counter_names[counter].other : counter_names[counter].name;

    if (strncmp(plain, "TCC_", 4) != 0 && strncmp(plain, "TCP_", 4) != 0)
        return plain;
    return has_other ? sums[counter].other : sums[counter].name;
}

static bool is_counter_called(const char *text, const char *name, bool sum)
{
    size_t len = strlen(name);

    return len > 0 && strncmp(text, name, len) == 0 && strcmp(text + len, sum ? "_sum" : "") == 0;
}

int64_t rp_roof_find(const struct rp_counters *counters, enum rp_roof_counter counter, bool sum)
{
    const char *const names[] = {counter_names[counter].name, counter_names[counter].other};

    for (size_t n = 0; n < 2; n++)
        for (size_t i = 0; i < counters->name_count; i++)
            if (is_counter_called(counters->names[i], names[n], sum))
                return (int64_t)i;
    return -1;
}

/* The table of kernels and counters, and the values that are derived from it. */

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

        if (!isfinite(d->values[i].value)) /* A file may have nan or inf for an unknown value. */
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

/* A file may have as many counters as kernels, and each kernel one, so only those are looked at. */
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
    quantity reads;     /**< bytes of the dispatches that have READS and READS_32 */
    double cus, xccs;   /**< 0 = unknown */
    bool needs_gpu;     /**< and it is not known */
    bool needs_bytes;   /**< and they are not known */
    bool contradictory; /**< passes disagree too much */
    bool ambiguous;     /**< nobody knows what a counter has counted */
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

/* Computes a ratio that cannot be above 1. */
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
        q = roof_rest_of(in->of, difference);
    in->contradictory |= !q.known; /* A missing counter is reported before. */
    return q;
}

/* Computes clocks in which the GPU worked: GRBM_GUI_ACTIVE is the sum over its XCDs. */
static quantity cycles(struct deriving *in, quantity active)
{
    in->needs_gpu = in->cus <= 0 || in->xccs <= 0;
    active.known = active.known && !in->needs_gpu;
    return times(in->needs_gpu ? 0 : 1 / in->xccs, active);
}

/* SQ_ACCUM_PREV_HIRES adds up what the counter beside it reads. With several of them nobody knows
 * which, because those of all runs of a program have its name. */
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
#include "analyze/derived_counters.def"
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
} counted_rows[] = {
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
#include "analyze/derived_counters.def"
#undef RP_DERIVED
};

const struct rp_derived_info *rp_derived_info(enum rp_derived derived)
{
    return &counted_rows[derived].info;
}

void rp_roof_see_inputs(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums)
{
    for (size_t r = 0; r < RP_DERIVED_COUNT; r++) {
        struct rp_roof_inputs *to = &sums->inputs[r];
        bool known = true;

        for (size_t i = 0; i < counted_rows[r].count; i++)
            known = known && of[counted_rows[r].inputs[i]].known;
        for (size_t i = 0; known && i < counted_rows[r].count; i++)
            to->sums[i] += of[counted_rows[r].inputs[i]].value;
        to->dispatches += known;
    }
}

/* Many values are divided by these counters, so a base alone does not ask for any of them. */
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

/* rocprofv3 knows it by its other name. */
static bool is_named_by_other(enum rp_roof_counter counter)
{
    return counter == RP_ROOF_LEVEL_GUI_ACTIVE || counter == RP_ROOF_ACCUMULATED;
}

static void find_missing(const struct rp_roof_sums *sums, enum rp_derived derived,
                         struct rp_derived_value *ret)
{
    size_t missing = 0;

    for (size_t i = 0; i < counted_rows[derived].count; i++) {
        enum rp_roof_counter counter = counted_rows[derived].inputs[i];

        if (sums->counted[counter] == 0)
            ret->missing[missing++] = roof_collected_name(counter, is_named_by_other(counter));
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
        for (size_t i = 0; i < counted_rows[r].count; i++)
            of[counted_rows[r].inputs[i]] =
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

/* A counter belongs to what one formula needs, and those should be counted in one run. */
enum group {
    F16,
    F32,
    F64,
    MATRIX,
    READ,
    WRITE,
    LDS,
    L1_MISS,
    L1,
    L2,
    L2_RATE, /**< the page's memory chart shows it; it costs no further run */
    SIMPLE_WORK,
    SIMPLE_MEMORY
};

static const struct {
    enum rp_roof_counter counter;
    enum group group;
} needs[] = {
    {RP_ROOF_ADD_F16, F16},
    {RP_ROOF_MUL_F16, F16},
    {RP_ROOF_TRANS_F16, F16},
    {RP_ROOF_FMA_F16, F16},
    {RP_ROOF_ADD_F32, F32},
    {RP_ROOF_MUL_F32, F32},
    {RP_ROOF_TRANS_F32, F32},
    {RP_ROOF_FMA_F32, F32},
    {RP_ROOF_ADD_F64, F64},
    {RP_ROOF_MUL_F64, F64},
    {RP_ROOF_TRANS_F64, F64},
    {RP_ROOF_FMA_F64, F64},
    {RP_ROOF_MOPS_F16, MATRIX},
    {RP_ROOF_MOPS_BF16, MATRIX},
    {RP_ROOF_MOPS_F32, MATRIX},
    {RP_ROOF_MOPS_F64, MATRIX},
    {RP_ROOF_MOPS_F8, MATRIX},
    {RP_ROOF_MOPS_F6F4, MATRIX},
    {RP_ROOF_MOPS_I8, MATRIX},
    {RP_ROOF_READS, READ},
    {RP_ROOF_READS_32, READ},
    {RP_ROOF_READS_64, READ},
    {RP_ROOF_READS_128, READ},
    {RP_ROOF_BUBBLES, READ},
    {RP_ROOF_WRITES, WRITE},
    {RP_ROOF_WRITES_64, WRITE},
    {RP_ROOF_LDS_ACTIVE, LDS},
    {RP_ROOF_LDS_CONFLICT, LDS},
    {RP_ROOF_L1_MISS_READS, L1_MISS},
    {RP_ROOF_L1_MISS_WRITES, L1_MISS},
    {RP_ROOF_L1_MISS_ATOMICS, L1_MISS},
    {RP_ROOF_L1_MISS_ATOMICS_NO_RET, L1_MISS},
    {RP_ROOF_L1_ACCESSES, L1},
    {RP_ROOF_L2_REQUESTS, L2},
    {RP_ROOF_L2_HITS, L2_RATE},
    {RP_ROOF_L2_MISSES, L2_RATE},
    {RP_ROOF_INSTS_VALU, SIMPLE_WORK},
    {RP_ROOF_FETCH_SIZE, SIMPLE_MEMORY},
    {RP_ROOF_WRITE_SIZE, SIMPLE_MEMORY},
};

/* gfx908 counts vector instructions, but not by precision. Unknown GPUs get the simple model. */
static bool counts_by_precision(const struct rp_arch_roofline *arch)
{
    return arch && arch->counts_by_precision;
}

static bool is_matrix_counter_of(const struct rp_arch_roofline *arch, enum rp_roof_counter counter)
{
    if (!counts_by_precision(arch))
        return false;
    if (counter == RP_ROOF_MOPS_F8)
        return arch->mfma_f8 > 0;
    return counter != RP_ROOF_MOPS_F6F4 || arch->mfma_f6f4 > 0;
}

static bool is_read_counter_of(const struct rp_arch_roofline *arch, enum rp_roof_counter counter)
{
    switch (arch ? arch->traffic : RP_TRAFFIC_UNKNOWN) {
    case RP_TRAFFIC_EA:
        return counter == RP_ROOF_READS || counter == RP_ROOF_READS_32;
    case RP_TRAFFIC_EA0_BUBBLE:
        return counter == RP_ROOF_READS || counter == RP_ROOF_READS_32 ||
               counter == RP_ROOF_BUBBLES;
    case RP_TRAFFIC_EA0_128B:
        return counter != RP_ROOF_BUBBLES;
    case RP_TRAFFIC_UNKNOWN:
        break;
    }
    return false;
}

static bool is_needed(const struct rp_arch_roofline *arch, size_t at)
{
    switch (needs[at].group) {
    case F16:
    case F32:
    case F64:
        return counts_by_precision(arch);
    case MATRIX:
        return is_matrix_counter_of(arch, needs[at].counter);
    case READ:
        return is_read_counter_of(arch, needs[at].counter);
    case WRITE:
    case LDS:
    case L1_MISS:
    case L1:
    case L2:
    case L2_RATE:
        return arch != NULL;
    case SIMPLE_WORK:
        return !counts_by_precision(arch);
    case SIMPLE_MEMORY:
        return arch == NULL;
    }
    return false;
}

size_t rp_roofline_needs(const char *gfx, struct rp_roofline_need *ret, size_t room)
{
    const struct rp_arch *known = rp_arch_find(gfx);
    const struct rp_arch_roofline *arch = rp_roof_arch_find(known ? known->name : gfx);
    bool old_names = arch && arch->traffic == RP_TRAFFIC_EA;
    size_t count = 0;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (!is_needed(arch, i))
            continue;
        if (count < room)
            ret[count] = (struct rp_roofline_need){
                .name =
                    roof_collected_name(needs[i].counter, old_names && needs[i].group != L2_RATE),
                .group = needs[i].group,
            };
        count++;
    }
    return count;
}

/* Holds rows of the store's agents, and which of them the set knows. */
struct agents {
    const struct rp_row_agent *rows;
    bool *known;
};

static int describe(const struct rp_row_agent *agent, struct rp_counted_device *ret,
                    struct rp_err *err)
{
    json_t *extdata;
    int result = rp_extdata_load(agent->extdata, &extdata, err);

    if (result < 0)
        return result;
    snprintf(ret->arch, sizeof ret->arch, "%s", agent->name);
    ret->pci_device_id = (uint32_t)rp_extdata_positive(extdata, "device_id", UINT32_MAX);
    ret->compute_units = (uint32_t)rp_extdata_positive(extdata, "cu_count", UINT32_MAX);
    ret->xcc_count = (uint32_t)rp_extdata_positive(extdata, "num_xcc", UINT32_MAX);
    ret->engine_clock_mhz =
        (uint32_t)rp_extdata_positive(extdata, "max_engine_clk_fcompute", UINT32_MAX);
    ret->modelled_clock_mhz = (uint32_t)rp_extdata_positive(extdata, RP_CLOCK_KEY, UINT32_MAX);
    ret->memory_clock_mhz = (uint32_t)rp_extdata_positive(
        json_array_get(json_object_get(extdata, "mem_banks"), 0), "mem_clk_max", UINT32_MAX);
    json_decref(extdata);
    return 0;
}

/* Processes of one host mean the same GPU by the same id; those of several may not. */
static int add_agent(struct rp_counters *set, const struct agents *agents,
                     const struct rp_row_agent *agent, uint32_t *ret, struct rp_err *err)
{
    struct rp_counted_device gpu = {.id = agent->id}, *d;
    int result = rp_counters_device(set, agent->id, ret, err);

    if (result < 0 || agents->known[agent - agents->rows])
        return result;
    result = describe(agent, &gpu, err);
    if (result < 0)
        return result;
    agents->known[agent - agents->rows] = true;
    d = &set->devices[*ret];
    if (!d->arch[0])
        *d = gpu;
    else if (rp_counted_differ(d, &gpu))
        return rp_fail(err, RP_BAD_INPUT,
                       "GPU %" PRId64 " is %s with %u CUs in one process and %s with %u CUs in "
                       "another: analyse the traces of one host at a time",
                       agent->id, d->arch, d->compute_units, gpu.arch, gpu.compute_units);
    else if (d->modelled_clock_mhz != gpu.modelled_clock_mhz)
        return rp_refuse_clocks("one process", d->modelled_clock_mhz, "one process",
                                gpu.modelled_clock_mhz, RP_ONE_CLOCK, err);
    return 0;
}

static int add_dispatch(struct rp_counters *set, struct rp_store *store, size_t number,
                        const struct agents *agents, const struct rp_row_dispatch *row, size_t *ret,
                        struct rp_err *err)
{
    int64_t process = (int64_t)number << 32 | row->guid_index;
    const struct rp_row_agent *agent = rp_store_find_agent(store, row->guid_index, row->agent_id);
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(store, row->guid_index, row->kernel_id);
    char unnamed[48];
    const char *name = unnamed;
    uint32_t device;
    bool is_new;
    int result = agent ? add_agent(set, agents, agent, &device, err)
                       : rp_counters_device(set, row->agent_id, &device, err);

    snprintf(unnamed, sizeof unnamed, "kernel %" PRId64, row->kernel_id);
    if (kernel && *kernel->kernel_name)
        name = kernel->kernel_name;
    if (kernel && *kernel->display_name)
        name = kernel->display_name;
    if (result == 0)
        result = rp_counters_dispatch(set, device, process, row->id, name, ret, &is_new, err);
    if (result == 0 && row->start_ns > 0 && row->end_ns > row->start_ns) {
        const struct rp_corrected_end *end =
            rp_store_find_corrected_end(store, row->guid_index, row->id);
        set->first_ns =
            set->last_ns && set->first_ns < row->start_ns ? set->first_ns : row->start_ns;
        set->last_ns = set->last_ns > row->end_ns ? set->last_ns : row->end_ns;
        set->dispatches[*ret].timed = true;
        set->dispatches[*ret].duration_ns =
            (double)(end ? end->took_ns : row->end_ns - row->start_ns);
    }
    return result;
}

/* Finds the first counter of the dispatch's event. */
static size_t first_counter(const struct rp_row_counter *rows, size_t count,
                            const struct rp_row_dispatch *d)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_row_counter *row = &rows[middle];
        if (row->guid_index < d->guid_index ||
            (row->guid_index == d->guid_index && row->event_id < d->event_id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int read_store(struct rp_store *store, size_t number, struct rp_counters *set,
                      struct rp_err *err)
{
    struct agents agents = {0};
    rp_autofree bool *known = NULL;
    const struct rp_row_kernel *kernels;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_counter *rows;
    size_t agent_count, kernel_count, dispatch_count, count, at;
    int result = rp_store_agents(store, &agents.rows, &agent_count, err);

    known = result == 0 ? calloc(agent_count + 1, sizeof *known) : NULL;
    agents.known = known;
    if (result == 0 && !known)
        result = rp_out_of_memory(err);
    if (result == 0)
        result = rp_store_kernels(store, &kernels, &kernel_count, err);
    if (result == 0)
        result = rp_store_dispatches(store, &dispatches, &dispatch_count, err);
    if (result == 0)
        result = rp_store_counters(store, &rows, &count, err);
    for (size_t i = 0; result == 0 && i < dispatch_count; i++) {
        const struct rp_row_dispatch *d = &dispatches[i];

        result = add_dispatch(set, store, number, &agents, d, &at, err);
        for (size_t c = first_counter(rows, count, d);
             result == 0 && c < count && rows[c].event_id == d->event_id &&
             rows[c].guid_index == d->guid_index;
             c++)
            result = rp_counters_add(set, at, rows[c].name, rows[c].value, err);
    }
    return result;
}

int rp_roofline_run_counters(struct rp_store *const *stores, size_t count, struct rp_counters **ret,
                             struct rp_err *err)
{
    struct rp_counters *set = rp_counters_new();
    int result = set ? 0 : rp_out_of_memory(err);

    for (size_t i = 0; i < count && result == 0; i++)
        result = read_store(stores[i], i, set, err);
    if (result == 0 && count == 1)
        result = rp_counters_set_source(set, rp_store_path(stores[0]), err);
    if (result < 0) {
        rp_counters_free(set);
        return result;
    }
    set->is_timeline = set->name_count == 0;
    *ret = set;
    return 0;
}

int rp_roofline_counters(struct rp_store *store, struct rp_counters **ret, struct rp_err *err)
{
    return rp_roofline_run_counters(&store, 1, ret, err);
}
