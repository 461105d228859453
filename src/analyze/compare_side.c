/* Builds one side of a comparison: a result with its kernels by name, whatever it is read from. */
#include "analyze/compare.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/benchmark_json.h"
#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "trace/records.h"
#include "trace/rocpd.h"

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037u; /* The hash is FNV-1a. */

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* Finds the slot of a name, or the free one where it belongs. */
static uint32_t *slot_of(const struct rp_versus_side *side, const char *name)
{
    size_t at = (size_t)hash_of(name) & (side->slot_count - 1);

    while (side->slots[at] && strcmp(side->kernels[side->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (side->slot_count - 1);
    return &side->slots[at];
}

static void fill(struct rp_versus_side *side)
{
    for (size_t i = 0; i < side->kernel_count; i++)
        *slot_of(side, side->kernels[i].name) = (uint32_t)i + 1;
}

/** Adds the name of the kernel that was appended last.
 * @return false: memory has ended */
static bool versus_names_add(struct rp_versus_side *side)
{
    const size_t at = side->kernel_count - 1, more = side->slot_count ? 2 * side->slot_count : 64;
    uint32_t *slots;

    if (side->kernel_count >= UINT32_MAX)
        return false;
    if (side->kernel_count * 2 <= side->slot_count) {
        *slot_of(side, side->kernels[at].name) = (uint32_t)side->kernel_count;
        return true;
    }
    slots = calloc(more, sizeof *slots);
    if (!slots)
        return false;
    free(side->slots);
    side->slots = slots;
    side->slot_count = more;
    fill(side);
    return true;
}

/** Builds the table anew for another order of the kernels. */
static void versus_names_rehash(struct rp_versus_side *side)
{
    if (!side->slots)
        return;
    memset(side->slots, 0, side->slot_count * sizeof *side->slots);
    fill(side);
}

struct rp_versus_kernel *rp_versus_side_find(const struct rp_versus_side *side, const char *name)
{
    uint32_t number;

    if (!name)
        return NULL;
    if (side->slots) {
        number = *slot_of(side, name);
        return number ? &side->kernels[number - 1] : NULL;
    }
    for (size_t i = 0; i < side->kernel_count; i++) /* This side was put together by hand. */
        if (strcmp(side->kernels[i].name, name) == 0)
            return &side->kernels[i];
    return NULL;
}

/* --- pairs ---------------------------------------------------------------------------------- */

/** The other side has no kernel with the name of this one. */
struct lone {
    const struct rp_versus_kernel *kernel;
    size_t plain_bytes; /**< of its name */
    bool is_after;
    const struct rp_versus_kernel *partner;
};

static struct lone lone_of(const struct rp_versus_kernel *kernel, bool is_after)
{
    return (struct lone){.kernel = kernel,
                         .plain_bytes = rp_kernel_plain_length(kernel->name),
                         .is_after = is_after};
}

static int by_plain_name(const void *left, const void *right)
{
    const struct lone *a = left, *b = right;
    const size_t both = a->plain_bytes < b->plain_bytes ? a->plain_bytes : b->plain_bytes;
    int order = memcmp(a->kernel->name, b->kernel->name, both);

    return order ? order : (a->plain_bytes > b->plain_bytes) - (a->plain_bytes < b->plain_bytes);
}

static void set_partners(struct lone *a, struct lone *b)
{
    a->partner = b->kernel;
    b->partner = a->kernel;
}

/* Pairs the kernels of one plain name. */
static void pair_group(struct lone *of, size_t count)
{
    struct lone *last[2] = {NULL, NULL};
    size_t left[2] = {0, 0};

    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; !of[i].partner && of[i].kernel->code_hash && j < count; j++)
            if (!of[j].partner && of[j].is_after != of[i].is_after &&
                of[j].kernel->code_hash == of[i].kernel->code_hash)
                set_partners(&of[i], &of[j]);
    for (size_t i = 0; i < count; i++)
        if (!of[i].partner) {
            left[of[i].is_after]++;
            last[of[i].is_after] = &of[i];
        }
    if (left[0] == 1 && left[1] == 1)
        set_partners(last[0], last[1]);
}

static const struct rp_versus_kernel *partner_of(const struct lone *list, size_t count,
                                                 const struct rp_versus_kernel *kernel)
{
    const struct lone key = lone_of(kernel, false);
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_plain_name(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && by_plain_name(&list[low], &key) == 0; low++)
        if (list[low].kernel == kernel)
            return list[low].partner;
    return NULL;
}

size_t rp_versus_names_pair(const struct rp_versus_side *before, const struct rp_versus_side *after,
                            struct rp_versus_pair *ret)
{
    rp_autofree struct lone *lone =
        calloc(before->kernel_count + after->kernel_count + 1, sizeof *lone);
    size_t lone_count = 0, count = 0;

    if (!lone)
        return SIZE_MAX;
    for (size_t i = 0; i < before->kernel_count; i++)
        if (!rp_versus_side_find(after, before->kernels[i].name))
            lone[lone_count++] = lone_of(&before->kernels[i], false);
    for (size_t i = 0; i < after->kernel_count; i++)
        if (!rp_versus_side_find(before, after->kernels[i].name))
            lone[lone_count++] = lone_of(&after->kernels[i], true);
    if (lone_count)
        qsort(lone, lone_count, sizeof *lone, by_plain_name);
    for (size_t i = 0, end; i < lone_count; i = end) {
        for (end = i + 1; end < lone_count && by_plain_name(&lone[i], &lone[end]) == 0;)
            end++;
        pair_group(&lone[i], end - i);
    }
    for (size_t i = 0; i < before->kernel_count; i++) {
        const struct rp_versus_kernel *same = rp_versus_side_find(after, before->kernels[i].name);

        ret[count++] = (struct rp_versus_pair){
            .before = &before->kernels[i],
            .after = same ? same : partner_of(lone, lone_count, &before->kernels[i])};
    }
    for (size_t i = 0; i < after->kernel_count; i++)
        if (!rp_versus_side_find(before, after->kernels[i].name) &&
            !partner_of(lone, lone_count, &after->kernels[i]))
            ret[count++] = (struct rp_versus_pair){.after = &after->kernels[i]};
    return count;
}

const char *const rp_versus_metric_names[] = {
#define RP_COMPARE_METRIC(id, name, per_kernel, what) [RP_COMPARE_##id] = (name),
#include "analyze/compare_metrics.def"
#undef RP_COMPARE_METRIC
};
static const bool of_kernels[] = {
#define RP_COMPARE_METRIC(id, name, per_kernel, what) [RP_COMPARE_##id] = (per_kernel),
#include "analyze/compare_metrics.def"
#undef RP_COMPARE_METRIC
};

bool rp_versus_metric_per_kernel(enum rp_versus_metric metric)
{
    return of_kernels[metric];
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

void rp_versus_side_free(struct rp_versus_side *side)
{
    for (size_t i = 0; i < side->kernel_count; i++) {
        free(side->kernels[i].name);
        free(side->kernels[i].runs.ms);
        free(side->kernels[i].launches.ms);
        free(side->kernels[i].bound);
    }
    for (size_t i = 0; i < side->gpu_count; i++) {
        free(side->gpus[i].architecture);
        free(side->gpus[i].product);
    }
    free(side->kernels);
    free(side->slots);
    free(side->gpus);
    free(side->runs.ms);
    free(side->spans.ms);
    free(side->path);
    free(side->timing_model);
    free(side->command);
    free_words(side->command_words);
    free(side->rocm_version);
    free(side->tracer);
    free(side->walls);
    free(side->failed_launches);
    free(side->told.verdict);
    free(side->told.reason);
    memset(side, 0, sizeof *side);
}

/* --- kernels ------------------------------------------------------------------------------- */

/* There is room up to the next power of two. */
static bool make_room(struct rp_versus_side *side)
{
    const size_t count = side->kernel_count;
    struct rp_versus_kernel *grown;

    if (count & (count - 1))
        return true;
    grown = reallocarray(side->kernels, count ? 2 * count : 1, sizeof *grown);
    if (!grown)
        return false;
    side->kernels = grown;
    return true;
}

static struct rp_versus_kernel *append(struct rp_versus_side *side,
                                       const struct rp_versus_kernel *row)
{
    struct rp_versus_kernel *k;

    if (!make_room(side))
        return NULL;
    k = &side->kernels[side->kernel_count];
    *k = *row;
    k->bound = NULL;
    k->launches = (struct rp_versus_runs){0};
    k->name = strdup(row->name);
    k->runs.ms = calloc(row->runs.count + 1, sizeof *k->runs.ms);
    if (!k->name || !k->runs.ms) {
        free(k->name);
        free(k->runs.ms);
        return NULL;
    }
    for (size_t i = 0; i < row->runs.count; i++)
        k->runs.ms[i] = row->runs.ms[i];
    k->runs.shortest_ms = row->runs.shortest_ms;
    k->runs.longest_ms = row->runs.longest_ms;
    side->kernel_count++;
    return versus_names_add(side) ? k : NULL;
}

/* A run without this GPU or these registers has the time of the others. */
static void add_runs(struct rp_versus_runs *sum, const struct rp_versus_runs *more)
{
    if (more->count < sum->count)
        sum->count = more->count;
    for (size_t i = 0; i < sum->count; i++)
        if (isnan(sum->ms[i]))
            sum->ms[i] = more->ms[i];
        else if (!isnan(more->ms[i]))
            sum->ms[i] += more->ms[i];
    const bool bounded = sum->longest_ms > 0 && more->longest_ms > 0;
    sum->shortest_ms = bounded ? sum->shortest_ms + more->shortest_ms : 0;
    sum->longest_ms = bounded ? sum->longest_ms + more->longest_ms : 0;
}

/* Bounds are known where every timed launch has them. */
static void add_bounds(const struct rp_simulated_timing *r, uint64_t calls,
                       struct rp_versus_runs *to)
{
    if (!r->bounded_calls || r->bounded_calls != calls)
        return;
    to->shortest_ms = r->shortest_ns / 1e6;
    to->longest_ms = r->longest_ns / 1e6;
}

static struct rp_quantity sum_of(struct rp_quantity a, struct rp_quantity b)
{
    return (struct rp_quantity){.known = a.known && b.known, .value = a.value + b.value};
}

/* If a name has several rows, the registers are those of the row with most time. */
static void merge(struct rp_versus_kernel *k, const struct rp_versus_kernel *row)
{
    const struct rp_quantity bytes =
        sum_of(k->metrics[RP_COMPARE_BYTES], row->metrics[RP_COMPARE_BYTES]);
    const struct rp_quantity dispatches =
        sum_of(k->metrics[RP_COMPARE_DISPATCHES], row->metrics[RP_COMPARE_DISPATCHES]);

    add_runs(&k->runs, &row->runs);
    if (row->heaviest_ms > k->heaviest_ms) {
        memcpy(k->metrics, row->metrics, sizeof k->metrics);
        memcpy(k->grid, row->grid, sizeof k->grid);
        memcpy(k->block, row->block, sizeof k->block);
        k->heaviest_ms = row->heaviest_ms;
    }
    k->metrics[RP_COMPARE_BYTES] = bytes;
    k->metrics[RP_COMPARE_DISPATCHES] = dispatches;
}

/* Adds the row to the kernel of this name, or adds a kernel. It copies the row. */
static int rp_versus_side_add_kernel(struct rp_versus_side *side,
                                     const struct rp_versus_kernel *row, struct rp_err *err)
{
    struct rp_versus_kernel *k = rp_versus_side_find(side, row->name);

    if (k) {
        merge(k, row);
        return 0;
    }
    k = append(side, row);
    if (!k)
        return rp_out_of_memory(err);
    return 0;
}

static double mean_ms(const struct rp_versus_runs *runs)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < runs->count; i++)
        if (!isnan(runs->ms[i])) {
            sum += runs->ms[i];
            count++;
        }
    return count ? sum / (double)count : 0;
}

static int by_class_time_name(const void *left, const void *right)
{
    const struct rp_versus_kernel *a = left, *b = right;
    const double x = mean_ms(&a->runs), y = mean_ms(&b->runs);

    if (a->runtime_internal != b->runtime_internal)
        return a->runtime_internal ? 1 : -1;
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->name, b->name);
}

static struct rp_quantity cv_of(const struct rp_versus_runs *runs)
{
    struct rp_stability stability;

    for (size_t i = 0; i < runs->count; i++)
        if (isnan(runs->ms[i]))
            return (struct rp_quantity){0};
    rp_stability_compute(runs->ms, runs->count, &stability);
    return (struct rp_quantity){.known = runs->count > 1, .value = stability.cv};
}

/* Computes what follows from all rows: the order, and how much the runs differ. */
static void versus_side_finish(struct rp_versus_side *side)
{
    for (size_t i = 0; i < side->kernel_count; i++)
        side->kernels[i].metrics[RP_COMPARE_CV] = cv_of(&side->kernels[i].runs);
    side->metrics[RP_COMPARE_CV] = cv_of(&side->runs);
    if (side->kernel_count)
        qsort(side->kernels, side->kernel_count, sizeof *side->kernels, by_class_time_name);
    versus_names_rehash(side);
}

/* --- further runs --------------------------------------------------------------------------- */

static bool grow(struct rp_versus_runs *runs, double ms)
{
    double *grown = reallocarray(runs->ms, runs->count + 1, sizeof *grown);

    if (!grown)
        return false;
    runs->ms = grown;
    grown[runs->count++] = ms;
    return true;
}

/* Adds a kernel that no run before has launched. */
static int add_late(struct rp_versus_side *side, const struct rp_versus_kernel *k, size_t before,
                    struct rp_err *err)
{
    rp_autofree double *ms = calloc(before + 1, sizeof *ms);
    struct rp_versus_kernel row = *k;

    if (!ms)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < before; i++)
        ms[i] = NAN;
    ms[before] = k->runs.ms[0];
    row.runs = (struct rp_versus_runs){.ms = ms, .count = before + 1};
    return rp_versus_side_add_kernel(side, &row, err);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_gpus(const struct rp_versus_side *a, const struct rp_versus_side *b)
{
    bool same = a->gpu_count == b->gpu_count && a->software == b->software &&
                a->timing_version == b->timing_version &&
                same_text(a->timing_model, b->timing_model);

    for (size_t i = 0; i < a->gpu_count && same; i++) {
        const struct rp_versus_gpu *x = &a->gpus[i], *y = &b->gpus[i];

        same = same_text(x->architecture, y->architecture) && same_text(x->product, y->product) &&
               x->compute_units == y->compute_units && x->engine_clock_mhz == y->engine_clock_mhz;
    }
    return same;
}

int rp_versus_side_add_run(struct rp_versus_side *side, const struct rp_versus_side *run,
                           struct rp_err *err)
{
    const size_t before = side->runs.count;

    if (!same_gpus(side, run))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s: its runs are of different GPUs, devices or models of time: put the "
                       "traces of each into a folder of its own",
                       side->path);
    if (!grow(&side->runs, run->runs.ms[0]) || !grow(&side->spans, run->spans.ms[0]))
        return rp_out_of_memory(err);
    for (size_t i = 0; i < side->kernel_count; i++) {
        const struct rp_versus_kernel *k = rp_versus_side_find(run, side->kernels[i].name);

        if (!grow(&side->kernels[i].runs, k ? k->runs.ms[0] : NAN))
            return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < run->kernel_count; i++)
        if (!rp_versus_side_find(side, run->kernels[i].name)) {
            int rc = add_late(side, &run->kernels[i], before, err);

            if (rc < 0)
                return rc;
        }
    side->incomplete |= run->incomplete;
    side->part |= run->part;
    if (!side->failed_launches && run->failed_launches) {
        side->failed_launches = strdup(run->failed_launches);
        side->failed = run->failed;
        side->launches = run->launches;
        if (!side->failed_launches)
            return rp_out_of_memory(err);
    }
    versus_side_finish(side);
    return 0;
}

/* --- launches that started nothing --------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Leaves the geometry out, because that of the first launch says nothing of the others.
 * @return NULL: memory has ended */
static char *launch_text(const struct rp_failed_launch *launch)
{
    const struct rp_failed_launch of_any_size = {.api = launch->api,
                                                 .error = launch->error,
                                                 .code = launch->code,
                                                 .kernel = launch->kernel,
                                                 .calls = launch->calls};
    struct rp_buf text = {0};

    rp_failed_launch_put(&text, &of_any_size);
    return rp_buf_steal(&text);
}

/* Notes which launches of the base run started no kernel. */
static int versus_side_add_failed(struct rp_versus_side *side, const struct rp_launches *launches,
                                  struct rp_err *err)
{
    char **kinds = calloc(launches->count + 1, sizeof *kinds);
    rp_autobuf text = {0};
    bool ok = kinds != NULL;

    if (launches->failed && ok) {
        for (size_t i = 0; i < launches->count && ok; i++)
            ok = (kinds[i] = launch_text(&launches->list[i])) != NULL;
        if (ok && launches->count)
            qsort(kinds, launches->count, sizeof *kinds, by_text);
        for (size_t i = 0; i < launches->count && ok; i++)
            rp_buf_printf(&text, "%s%s", i ? "; " : "", kinds[i]);
        if (!launches->count)
            rp_buf_puts(&text, "no more is known of them");
        side->failed = launches->failed;
        side->launches = launches->calls;
        side->failed_launches = ok ? rp_buf_steal(&text) : NULL;
        ok = side->failed_launches != NULL;
    }
    for (size_t i = 0; kinds && i < launches->count; i++)
        free(kinds[i]);
    free(kinds);
    return ok ? 0 : rp_out_of_memory(err);
}

/* --- from a profile ------------------------------------------------------------------------ */

static struct rp_quantity known(double value)
{
    return (struct rp_quantity){.known = true, .value = value};
}

static int add_summary(struct rp_versus_side *side, const struct rp_kernel_summary *k,
                       struct rp_err *err)
{
    double ms = k->timed_calls ? (double)k->total_ns / 1e6 : NAN;
    struct rp_versus_kernel row = {.name = (char *)k->name,
                                   .code_hash = k->code_hash,
                                   .runtime_internal = k->runtime_internal,
                                   .runs = {.ms = &ms, .count = 1},
                                   .heaviest_ms = (double)k->total_ns / 1e6};
    const struct rp_kernel_resources *r = &k->resources;

    add_bounds(&k->replayed, k->timed_calls, &row.runs);
    for (int i = 0; i < 3; i++) {
        row.grid[i] = k->grid[i];
        row.block[i] = k->block[i];
    }
    if (k->symbol_known) {
        row.metrics[RP_COMPARE_VGPRS] = known(r->arch_vgpr);
        row.metrics[RP_COMPARE_AGPRS] = known(r->accum_vgpr);
        row.metrics[RP_COMPARE_SGPRS] = known(r->sgpr);
    }
    if (rp_kernel_bytes_known(k, r->lds_bytes))
        row.metrics[RP_COMPARE_LDS_BYTES] = known(r->lds_bytes);
    if (rp_kernel_bytes_known(k, r->scratch_bytes))
        row.metrics[RP_COMPARE_SCRATCH_BYTES] = known(r->scratch_bytes);
    row.metrics[RP_COMPARE_OCCUPANCY] =
        (struct rp_quantity){.known = k->occupancy.known, .value = k->occupancy.theoretical};
    row.metrics[RP_COMPARE_DISPATCHES] = known((double)k->calls);
    return rp_versus_side_add_kernel(side, &row, err);
}

static int add_gpus(struct rp_versus_side *side, const struct rp_profile *p)
{
    side->gpus = calloc(p->agent_count + 1, sizeof *side->gpus);
    if (!side->gpus)
        return -1;
    for (size_t i = 0; i < p->agent_count; i++) {
        const struct rp_agent_summary *a = &p->agents[i];
        struct rp_versus_gpu *gpu = &side->gpus[side->gpu_count++];

        gpu->architecture = strdup(a->name);
        gpu->product = a->product[0] ? strdup(a->product) : NULL;
        gpu->compute_units = a->compute_units;
        gpu->engine_clock_mhz = a->engine_clock_mhz;
        side->clock_mhz = a->modelled_clock_mhz ? a->modelled_clock_mhz : side->clock_mhz;
        if (!gpu->architecture || (a->product[0] && !gpu->product))
            return -1;
    }
    return 0;
}

int rp_versus_side_of(const struct rp_profile *p, const struct rp_origin *origin, const char *path,
                      struct rp_versus_side *ret, struct rp_err *err)
{
    struct rp_versus_side side = {
        .path = strdup(path),
        .software = origin->device && strcmp(origin->device, "software") == 0,
        .timing_model = p->timing_model ? strdup(p->timing_model) : NULL,
        .timing_version = p->timing_version,
        .incomplete = !p->complete,
        .part = p->part != NULL,
        .runs = {.ms = calloc(1, sizeof *side.runs.ms), .count = 1},
        .spans = {.ms = calloc(1, sizeof *side.spans.ms), .count = 1},
    };
    int rc = 0;

    if (!side.path || !side.runs.ms || !side.spans.ms || (p->timing_model && !side.timing_model) ||
        add_gpus(&side, p) < 0)
        rc = rp_out_of_memory(err);
    if (rc == 0)
        rc = versus_side_add_failed(&side, &p->launches, err);
    for (size_t i = 0; rc == 0 && i < p->kernel_count; i++)
        rc = add_summary(&side, &p->kernels[i], err);
    if (rc < 0) {
        rp_versus_side_free(&side);
        return rc;
    }
    side.runs.ms[0] = (double)(p->user_ns + p->runtime_internal_ns) / 1e6;
    side.spans.ms[0] = p->gpu_span_ns ? (double)p->gpu_span_ns / 1e6 : NAN;
    add_bounds(&p->replayed, p->dispatches, &side.runs);
    side.metrics[RP_COMPARE_DISPATCHES] = known((double)p->dispatches);
    versus_side_finish(&side);
    *ret = side;
    return 0;
}

/* This section reads JSON of other commands as one side of a comparison. It may be damaged, or made
 * by anyone. */

enum { MOST_RUNS = 100000 };

static void drop(json_t **json)
{
    json_decref(*json);
}

static int bad(const char *path, struct rp_err *err, const char *what)
{
    return rp_fail(err, RP_BAD_INPUT, "%s: %s: not a result that compare can use", path, what);
}

static int load(const char *text, const char *path, json_t **ret, struct rp_err *err)
{
    json_t *benchmarks = NULL;
    json_error_t error;

    *ret = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!*ret)
        return rp_fail(err, RP_BAD_INPUT, "%s: line %d: %s", path, error.line, error.text);
    if (!json_is_object(*ret))
        return bad(path, err, "no JSON object");
    if (rp_benchmark_profile(*ret, &benchmarks, err) < 0)
        return rp_wrap(err, "%s", path);
    if (benchmarks) {
        json_decref(*ret);
        *ret = benchmarks;
        return 0;
    }
    return rp_schema_version_check(json_string_value(json_object_get(*ret, "schema_version")), path,
                                   err);
}

/* A negative number, and one that is no number, is unknown. */
static struct rp_quantity quantity(const json_t *json)
{
    const double value = json_is_number(json) ? json_number_value(json) : -1;

    return (struct rp_quantity){.known = isfinite(value) && value >= 0, .value = value};
}

static struct rp_quantity number_at(const json_t *object, const char *key)
{
    return quantity(json_object_get(object, key));
}

static uint64_t count_at(const json_t *object, const char *key)
{
    const struct rp_quantity q = number_at(object, key);

    return q.known && q.value <= 9e15 ? (uint64_t)q.value : 0;
}

/* Reads 16 hexadecimal digits; anything else is unknown. */
static uint64_t hash_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && strspn(text, "0123456789abcdef") == 16 && !text[16] ? strtoull(text, NULL, 16)
                                                                       : 0;
}

/* @return false: memory has ended; a text that is absent is NULL */
static bool text_at(const json_t *object, const char *key, char **ret)
{
    const char *text = json_string_value(json_object_get(object, key));

    free(*ret);
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

/* Results keep the name that the model of time had. */
static bool model_at(const json_t *object, const char *key, char **ret)
{
    const char *said = json_string_value(json_object_get(object, key));

    free(*ret);
    *ret = said ? strdup(rp_timing_model_today(said)) : NULL;
    return !said || *ret;
}

/* --- profile.json -------------------------------------------------------------------------- */

static int read_runs(const json_t *array, struct rp_versus_runs *ret, struct rp_err *err)
{
    const size_t count = json_array_size(array);

    ret->ms = calloc(count + 1, sizeof *ret->ms);
    if (!ret->ms)
        return rp_out_of_memory(err);
    ret->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct rp_quantity q = quantity(json_array_get(array, i));

        ret->ms[i] = q.known ? q.value : NAN;
    }
    return 0;
}

static void read_sizes(const json_t *array, uint64_t *ret)
{
    for (size_t i = 0; i < 3; i++) {
        const struct rp_quantity q = quantity(json_array_get(array, i));

        ret[i] = q.known && q.value <= 9e15 ? (uint64_t)q.value : 0;
    }
}

static void read_metrics(const json_t *row, struct rp_quantity *ret)
{
    const json_t *resources = json_object_get(row, "resources");

    ret[RP_COMPARE_VGPRS] = number_at(resources, "vgpr_per_thread");
    ret[RP_COMPARE_AGPRS] = number_at(resources, "agpr_per_thread");
    ret[RP_COMPARE_SGPRS] = number_at(resources, "sgpr_per_wave");
    ret[RP_COMPARE_LDS_BYTES] = number_at(resources, "lds_bytes");
    ret[RP_COMPARE_SCRATCH_BYTES] = number_at(resources, "scratch_bytes");
    ret[RP_COMPARE_OCCUPANCY] = number_at(json_object_get(row, "occupancy"), "theoretical");
    ret[RP_COMPARE_DISPATCHES] = number_at(row, "calls");
}

/* Versions before this key knew no bounds. */
void rp_versus_bounds_read(const json_t *owner, struct rp_quantity launches, double ret_ms[2])
{
    const json_t *bounds = json_object_get(owner, "bounds");
    const struct rp_quantity calls = number_at(bounds, "calls"),
                             shortest = number_at(bounds, "shortest_ms"),
                             longest = number_at(bounds, "longest_ms");

    if (!calls.known || !launches.known || calls.value != launches.value || !shortest.known ||
        !longest.known || longest.value < shortest.value)
        return;
    ret_ms[0] = shortest.value;
    ret_ms[1] = longest.value;
}

static void read_bounds(const json_t *owner, struct rp_quantity launches, struct rp_versus_runs *to)
{
    double ms[2] = {0, 0};

    rp_versus_bounds_read(owner, launches, ms);
    to->shortest_ms = ms[0];
    to->longest_ms = ms[1];
}

/* Versions before runs_ms knew the base run only. */
static int read_kernel(const json_t *row, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *runs = json_object_get(row, "runs_ms");
    const struct rp_quantity total = number_at(row, "total_ms");
    double ms = total.known && count_at(row, "timed_calls") ? total.value : NAN;
    rp_autofree double *read = NULL;
    struct rp_versus_kernel k = {.name = (char *)name,
                                 .runtime_internal =
                                     json_is_true(json_object_get(row, "runtime_internal")),
                                 .heaviest_ms = total.known ? total.value : 0,
                                 .runs = {.ms = &ms, .count = 1}};
    int rc = 0;

    if (!name)
        return bad(path, err, "a row of kernels has no name");
    if (json_array_size(runs) > MOST_RUNS)
        return bad(path, err, "a kernel has more than 100000 runs");
    if (json_is_array(runs)) {
        rc = read_runs(runs, &k.runs, err);
        read = k.runs.ms;
    }
    read_bounds(row, number_at(row, "timed_calls"), &k.runs);
    read_sizes(json_object_get(row, "grid"), k.grid);
    read_sizes(json_object_get(row, "block"), k.block);
    read_metrics(row, k.metrics);
    k.code_hash = hash_at(row, "code_hash");
    return rc < 0 ? rc : rp_versus_side_add_kernel(side, &k, err);
}

static int read_kernels(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "kernels"), *row;
    size_t i;

    if (!json_is_array(rows))
        return bad(path, err, "it has no kernels");
    json_array_foreach(rows, i, row)
    {
        int rc = read_kernel(row, side, path, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Reads a kernel that only further runs launched. Launches are those of the first of them. If the
 * base run launched a kernel of that name, too, nothing is added to its launches. */
static int read_repeat(const json_t *row, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *runs = json_object_get(row, "runs_ms");
    const json_t *calls = json_object_get(row, "runs_calls");
    const bool again = name && rp_versus_side_find(side, name);
    struct rp_versus_kernel k = {.name = (char *)name,
                                 .runtime_internal =
                                     json_is_true(json_object_get(row, "runtime_internal"))};
    struct rp_quantity launches = {.known = true};
    int rc;

    if (!name || !json_is_array(runs) || json_array_size(runs) > MOST_RUNS)
        return bad(path, err, "a row of repeat_kernels has no name, or not 0 to 100000 runs_ms");
    read_sizes(json_object_get(row, "grid"), k.grid);
    read_sizes(json_object_get(row, "block"), k.block);
    read_metrics(row, k.metrics);
    for (size_t i = 0; !again && !(launches.value > 0) && i < json_array_size(calls); i++)
        launches = quantity(json_array_get(calls, i));
    k.metrics[RP_COMPARE_DISPATCHES] = launches;
    rc = read_runs(runs, &k.runs, err);
    if (rc == 0)
        rc = rp_versus_side_add_kernel(side, &k, err);
    free(k.runs.ms);
    return rc;
}

/* Versions before this key knew kernels of the base run only. */
static int read_repeats(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "repeat_kernels"), *row;
    size_t i;

    if (rows && !json_is_array(rows))
        return bad(path, err, "repeat_kernels is no list");
    json_array_foreach(rows, i, row)
    {
        int rc = read_repeat(row, side, path, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Reads the roofline of the dominant kernel. Where its name has several rows, it does not cover all
 * of them. */
static int read_roofline(const json_t *root, struct rp_versus_side *side, struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(json_object_get(root, "kernel"), "name"));
    const json_t *roofline = json_object_get(root, "roofline");
    struct rp_versus_kernel *k = rp_versus_side_find(side, name);
    size_t rows = 0, i;
    const json_t *row;

    json_array_foreach(json_object_get(root, "kernels"), i, row)
    {
        const char *other = json_string_value(json_object_get(row, "name"));
        rows += name && other && strcmp(name, other) == 0;
    }
    if (!k || rows != 1 || !json_is_object(roofline))
        return 0;
    k->metrics[RP_COMPARE_BYTES] = number_at(roofline, "bytes");
    return text_at(roofline, "bound", &k->bound) ? 0 : rp_out_of_memory(err);
}

static int read_gpus(const json_t *root, struct rp_versus_side *side, const char *path,
                     struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "gpus"), *row;
    size_t i;

    if (!side->wall && json_array_size(rows) == 0)
        return bad(path, err, "it has no gpus");
    side->gpus = calloc(json_array_size(rows) + 1, sizeof *side->gpus);
    if (!side->gpus)
        return rp_out_of_memory(err);
    json_array_foreach(rows, i, row)
    {
        struct rp_versus_gpu *gpu = &side->gpus[side->gpu_count++];

        if (!text_at(row, "architecture", &gpu->architecture) ||
            !text_at(row, "product", &gpu->product))
            return rp_out_of_memory(err);
        gpu->compute_units = count_at(row, "compute_units");
        gpu->engine_clock_mhz = count_at(row, "engine_clock_mhz");
        if (count_at(row, "modelled_clock_mhz"))
            side->clock_mhz = count_at(row, "modelled_clock_mhz");
    }
    return 0;
}

static int read_command(const json_t *provenance, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *words = json_object_get(provenance, "command"), *word;
    rp_autobuf text = {0};
    size_t i;

    if (!json_array_size(words))
        return 0;
    side->command_words = calloc(json_array_size(words) + 1, sizeof *side->command_words);
    if (!side->command_words)
        return rp_out_of_memory(err);
    json_array_foreach(words, i, word)
    {
        const char *bytes = json_string_value(word);

        rp_buf_printf(&text, "%s%s", i ? " " : "", bytes ? bytes : "");
        side->command_words[i] = strdup(bytes ? bytes : "");
        if (!side->command_words[i])
            return rp_out_of_memory(err);
    }
    side->command = rp_buf_steal(&text);
    return side->command ? 0 : rp_out_of_memory(err);
}

/* Modelled times are the same each time a program runs, so the machine's clock tells runs apart. */
static int read_walls(const json_t *provenance, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *walls = json_object_get(json_object_get(provenance, "varies"), "wall_ms");

    if (!side->software || !json_is_array(walls) || !json_array_size(walls))
        return 0;
    side->walls = json_dumps(walls, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return side->walls ? 0 : rp_out_of_memory(err);
}

/* Results of versions before this key say by whom they were interrupted. */
static bool is_part(const json_t *provenance)
{
    return json_is_string(json_object_get(provenance, "recorded_part")) ||
           json_is_string(json_object_get(provenance, "interrupted"));
}

static int read_origin(const json_t *root, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *device = json_string_value(json_object_get(root, "device"));
    const char *what = json_string_value(json_object_get(root, "measurement"));
    const json_t *timing = json_object_get(root, "timing");
    const json_t *provenance = json_object_get(root, "provenance");
    const json_t *complete = json_object_get(provenance, "complete");

    if (!device || (strcmp(device, "software") != 0 && strcmp(device, "hardware") != 0))
        return bad(path, err, "it does not say of which device it is");
    if (!what || (strcmp(what, "dispatches") != 0 && strcmp(what, "wallclock") != 0))
        return bad(path, err, "it does not say what was measured");
    if (!json_is_boolean(complete)) /* Lost dispatches would look like a gain. */
        return bad(path, err, "provenance does not say whether it is complete");
    side->software = strcmp(device, "software") == 0;
    side->wall = strcmp(what, "wallclock") == 0;
    side->timing_version = (uint32_t)count_at(timing, "version");
    side->incomplete = json_is_false(complete);
    side->part = is_part(provenance);
    side->metrics[RP_COMPARE_DISPATCHES] =
        side->wall ? (struct rp_quantity){0} : number_at(provenance, "dispatches");
    if (!model_at(timing, "model", &side->timing_model) ||
        !text_at(provenance, "rocm_version", &side->rocm_version) ||
        !text_at(provenance, "tracer", &side->tracer))
        return rp_out_of_memory(err);
    if (read_walls(provenance, side, err) < 0)
        return -(int)RP_ENVIRONMENT;
    return read_command(provenance, side, err);
}

/* Versions before this key did not record them. */
static int read_launches(const json_t *root, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *launches = json_object_get(root, "launches");
    const json_t *rows = json_object_get(launches, "failed_launches"), *row;
    const json_t *runs = json_object_get(launches, "runs_failed");
    rp_autofree struct rp_failed_launch *list = calloc(json_array_size(rows) + 1, sizeof *list);
    struct rp_launches found = {
        .list = list, .failed = count_at(launches, "failed"), .calls = count_at(launches, "calls")};
    size_t i;

    if (!list)
        return rp_out_of_memory(err);
    json_array_foreach(rows, i, row)
    {
        list[found.count++] = (struct rp_failed_launch){
            .api = json_string_value(json_object_get(row, "api")),
            .error = json_string_value(json_object_get(row, "error")),
            .code = (uint32_t)count_at(row, "code"),
            .kernel = json_string_value(json_object_get(row, "kernel")),
            .calls = count_at(row, "calls"),
        };
    }
    /* It may be known only of a further run. */
    for (i = 0; !found.failed && i < json_array_size(runs); i++) {
        const struct rp_quantity failed = quantity(json_array_get(runs, i));

        found.failed = failed.known && failed.value <= 9e15 ? (uint64_t)failed.value : 0;
    }
    return versus_side_add_failed(side, &found, err);
}

static int read_profile(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *runs = json_object_get(json_object_get(root, "stability"), "runs_ms");
    const json_t *spans = json_object_get(root, "gpu_span_runs_ms");
    int rc = read_origin(root, side, path, err);

    if (rc == 0 && (json_array_size(runs) == 0 || json_array_size(runs) > MOST_RUNS))
        rc = bad(path, err, "stability.runs_ms has not 1 to 100000 times");
    if (rc == 0)
        rc = read_runs(runs, &side->runs, err);
    if (rc == 0 && json_array_size(spans) == json_array_size(runs))
        rc = read_runs(spans, &side->spans, err);
    read_bounds(json_object_get(root, "timing"), side->metrics[RP_COMPARE_DISPATCHES], &side->runs);
    if (rc == 0)
        rc = read_launches(root, side, err);
    if (rc == 0)
        rc = read_gpus(root, side, path, err);
    if (rc == 0)
        rc = read_kernels(root, side, path, err);
    if (rc == 0)
        rc = read_repeats(root, side, path, err);
    return rc < 0 ? rc : read_roofline(root, side, err);
}

/* --- replay compare ------------------------------------------------------------------------ */

/* There it is time of A / time of B, here time after / time before. */
static void read_ratio(const json_t *ratio, struct rp_versus_reported *told)
{
    const struct rp_quantity estimate = number_at(ratio, "estimate");
    const struct rp_quantity low = number_at(ratio, "low"), high = number_at(ratio, "high");

    told->ratio_known = estimate.known && low.known && high.known && low.value > 0 &&
                        estimate.value >= low.value && high.value >= estimate.value;
    if (!told->ratio_known)
        return;
    told->ratio = 1 / estimate.value;
    told->low = 1 / high.value;
    told->high = 1 / low.value;
    told->level = fmin(number_at(ratio, "level").value, 1);
}

static int read_replay(const json_t *root, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const json_t *environment = json_object_get(root, "environment");
    const char *device = json_string_value(json_object_get(environment, "device"));

    if (!device || (strcmp(device, "software") != 0 && strcmp(device, "gpu") != 0))
        return bad(path, err, "environment.device is neither gpu nor software");
    side->told.is = true;
    side->software = strcmp(device, "software") == 0;
    read_ratio(json_object_get(root, "ratio"), &side->told);
    if (!text_at(root, "verdict", &side->told.verdict) ||
        !text_at(root, "reason", &side->told.reason) ||
        !model_at(environment, "timing_model", &side->timing_model) ||
        !text_at(environment, "rocm_version", &side->rocm_version))
        return rp_out_of_memory(err);
    side->told.wrong = side->told.verdict && strcmp(side->told.verdict, "different output") == 0;
    return side->told.verdict ? 0 : bad(path, err, "it has no verdict");
}

int rp_versus_side_parse(const char *text, const char *path, struct rp_versus_side *ret,
                         struct rp_err *err)
{
    rp_cleanup(drop) json_t *root = NULL;
    struct rp_versus_side side = {.path = strdup(path)};
    int rc = side.path ? load(text, path, &root, err) : rp_out_of_memory(err);

    if (rc == 0 && json_object_get(root, "stability") && json_object_get(root, "kernels"))
        rc = read_profile(root, &side, path, err);
    else if (rc == 0 && json_object_get(root, "a_to_a_blocks"))
        rc = read_replay(root, &side, path, err);
    else if (rc == 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "%s is neither profile.json nor the JSON of `replay compare`", path);
    if (rc < 0) {
        rp_versus_side_free(&side);
        return rc;
    }
    versus_side_finish(&side);
    *ret = side;
    return 0;
}

/* --- beside profile.json ------------------------------------------------------------------- */

/* Adds a label of analysis.json. If a name has several rows, the first counts, which has most
 * weight. */
static int add_label(struct rp_versus_kernel *k, const json_t *bottleneck, bool again,
                     struct rp_err *err)
{
    if (again || !json_is_string(json_object_get(bottleneck, "label")))
        return 0;
    return text_at(bottleneck, "label", &k->bound) ? 0 : rp_out_of_memory(err);
}

/* Adds bytes of roofline.json: a kernel on several GPUs has a row for each, and their bytes add up.
 */
static int add_bytes(struct rp_versus_kernel *k, const json_t *row, bool again, struct rp_err *err)
{
    const struct rp_quantity in = number_at(row, "hbm_read_bytes");
    const struct rp_quantity out = number_at(row, "hbm_write_bytes");
    struct rp_quantity *bytes = &k->metrics[RP_COMPARE_BYTES];

    *bytes = (struct rp_quantity){
        .known = in.known && out.known && (!again || bytes->known),
        .value = in.value + out.value + (again ? bytes->value : 0),
    };
    if (again || !json_is_string(json_object_get(row, "bound")))
        return 0;
    return text_at(row, "bound", &k->bound) ? 0 : rp_out_of_memory(err);
}

/* @param seen of each kernel: it had a row */
static int add_row(struct rp_versus_side *side, const json_t *row, bool *seen, struct rp_err *err)
{
    const json_t *bottleneck = json_object_get(row, "bottleneck");
    const char *name = json_string_value(json_object_get(row, "name"));
    struct rp_versus_kernel *k = rp_versus_side_find(side, name);
    bool again;

    if (!k)
        return 0;
    again = seen[k - side->kernels];
    seen[k - side->kernels] = true;
    return bottleneck ? add_label(k, bottleneck, again, err) : add_bytes(k, row, again, err);
}

int rp_versus_side_add(struct rp_versus_side *side, const char *text, const char *path,
                       struct rp_err *err)
{
    rp_autofree bool *seen = calloc(side->kernel_count + 1, sizeof *seen);
    rp_cleanup(drop) json_t *root = NULL;
    const json_t *rows;
    int rc = seen ? load(text, path, &root, err) : rp_out_of_memory(err);

    rows = json_object_get(root, "kernels");
    for (size_t i = 0; rc == 0 && i < json_array_size(rows); i++)
        rc = add_row(side, json_array_get(rows, i), seen, err);
    return rc;
}
