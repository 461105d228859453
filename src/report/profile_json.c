#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "trace/counter_set.h"
#include "trace/rocpd.h"

/* Hardware counters of a profile's kernels are sums over dispatches. */

struct rp_kernel_counters {
    const struct rp_counters *set;            /**< NULL: nothing was counted */
    const struct rp_profile *profile;         /**< whose kernels are asked for */
    const struct rp_counted_dispatch **order; /**< by kernel and device, else as in the file */
    struct rp_name_index counted, profiled;   /**< names of kernels */
};

static int by_kernel_and_device(const void *a, const void *b)
{
    const struct rp_counted_dispatch *x = *(const struct rp_counted_dispatch *const *)a;
    const struct rp_counted_dispatch *y = *(const struct rp_counted_dispatch *const *)b;

    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x > y) - (x < y);
}

static const char *name_of_counted(const void *list, size_t at)
{
    return ((const char *const *)list)[at];
}

static const char *name_of_profiled(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].name;
}

static void kernel_counters_free(struct rp_kernel_counters *counters);

/** @return false: memory has ended. @p set may be NULL; both must stay until the end. */
static bool kernel_counters_make(struct rp_kernel_counters *ret, const struct rp_profile *profile,
                                 const struct rp_counters *set)
{
    struct rp_kernel_counters c = {.set = set, .profile = profile};
    bool ok;

    *ret = c;
    if (!set)
        return true;
    c.order = malloc((set->dispatch_count + 1) * sizeof(*c.order));
    ok = c.order &&
         rp_name_index_make(&c.counted, set->kernels, set->kernel_count, name_of_counted) &&
         rp_name_index_make(&c.profiled, profile->kernels, profile->kernel_count, name_of_profiled);
    if (!ok) {
        kernel_counters_free(&c);
        return false;
    }
    for (size_t i = 0; i < set->dispatch_count; i++)
        c.order[i] = &set->dispatches[i];
    qsort(c.order, set->dispatch_count, sizeof(*c.order), by_kernel_and_device);
    *ret = c;
    return true;
}

static void kernel_counters_free(struct rp_kernel_counters *counters)
{
    rp_name_index_free(&counters->counted);
    rp_name_index_free(&counters->profiled);
    free(counters->order);
    *counters = (struct rp_kernel_counters){0};
}

/* Finds the first dispatch of the kernel on the device. */
static size_t first_counted(const struct rp_kernel_counters *c, uint32_t kernel, uint32_t device)
{
    size_t low = 0, high = c->set->dispatch_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_counted_dispatch *d = c->order[middle];
        if (d->kernel < kernel || (d->kernel == kernel && d->device < device))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_namesake(const struct rp_kernel_counters *c, const struct rp_kernel_summary *k)
{
    size_t count;
    const struct rp_indexed_name *same = rp_name_index_find(&c->profiled, k->name, &count);

    for (size_t i = 0; i < count; i++) {
        const struct rp_kernel_summary *other = &c->profile->kernels[same[i].at];
        if (other != k && other->agent == k->agent)
            return true;
    }
    return false;
}

/**
 * Adds up all counters over the dispatches of a kernel, by number in the set. Dispatches were
 * counted under the kernel's name: if another kernel of the GPU has it too, as when code is
 * compiled twice, nobody knows to which they belong.
 * @param ret_known whether all these dispatches have the counter; only then its sum is valid
 * @return false: nothing is known of the kernel
 */
static bool kernel_counters_sum(const struct rp_kernel_counters *c,
                                const struct rp_kernel_summary *k, double *ret_sums,
                                bool *ret_known)
{
    const struct rp_counters *set = c->set;
    const struct rp_indexed_name *kernel;
    size_t namesakes, device = 0, first, end;

    if (!set)
        return false;
    kernel = rp_name_index_find(&c->counted, k->name, &namesakes);
    while (device < set->device_count &&
           set->devices[device].id != c->profile->agents[k->agent].trace_id)
        device++;
    if (namesakes != 1 || device == set->device_count || is_namesake(c, k))
        return false;
    memset(ret_sums, 0, set->name_count * sizeof *ret_sums);
    first = end = first_counted(c, (uint32_t)kernel->at, (uint32_t)device);
    for (; end < set->dispatch_count && c->order[end]->kernel == kernel->at &&
           c->order[end]->device == device;
         end++)
        for (uint32_t j = 0; j < c->order[end]->value_count; j++)
            ret_sums[c->order[end]->values[j].counter] += c->order[end]->values[j].value;
    for (uint32_t n = 0; n < set->name_count; n++) {
        double value;
        ret_known[n] = end > first;
        for (size_t i = first; ret_known[n] && i < end; i++)
            ret_known[n] = rp_counters_value(c->order[i], n, &value);
    }
    return true;
}

/* Keys are in alphabetical order in every object, and unknown values are null. */

static void add_real(struct rp_json_writer *json, const char *key, double value)
{
    /* 15 significant digits print a number of six decimals as it was rounded. */
    rp_json_add_real(json, key, rp_round6(value), 15);
}

static void add_ms(struct rp_json_writer *json, const char *key, uint64_t ns)
{
    add_real(json, key, (double)ns / 1e6);
}

/* Readers take integers of 64 bits with a sign. */
static void add_count(struct rp_json_writer *json, const char *key, uint64_t n)
{
    rp_json_add_count(json, key, n > INT64_MAX ? INT64_MAX : n);
}

/* 0 means unknown in the tables of the hardware. */
static void add_known(struct rp_json_writer *json, const char *key, uint64_t n)
{
    if (n)
        add_count(json, key, n);
    else
        rp_json_add_null(json, key);
}

static void add_texts(struct rp_json_writer *json, const char *key, const char *const *items,
                      size_t n)
{
    rp_json_add_array(json, key);
    for (size_t i = 0; i < n; i++)
        rp_json_add_text(json, NULL, items[i]);
    rp_json_end(json);
}

static void add_reals(struct rp_json_writer *json, const char *key, const double *items, size_t n)
{
    rp_json_add_array(json, key);
    for (size_t i = 0; items && i < n; i++)
        add_real(json, NULL, items[i]);
    rp_json_end(json);
}

static void add_counts(struct rp_json_writer *json, const char *key, const uint64_t *items,
                       size_t n)
{
    rp_json_add_array(json, key);
    for (size_t i = 0; items && i < n; i++)
        add_count(json, NULL, items[i]);
    rp_json_end(json);
}

static void add_block(struct rp_json_writer *json, const uint32_t *block)
{
    const uint64_t sizes[3] = {block[0], block[1], block[2]};

    if (block[0])
        add_counts(json, "block", sizes, 3);
    else
        rp_json_add_null(json, "block");
}

static void add_grid(struct rp_json_writer *json, const struct rp_kernel_summary *k)
{
    const uint64_t sizes[3] = {k->grid[0], k->grid[1], k->grid[2]};

    if (rp_kernel_launch_known(k))
        add_counts(json, "grid", sizes, 3);
    else
        rp_json_add_null(json, "grid");
}

/* The parts of the document follow. */

static void add_gpu(struct rp_json_writer *json, const char *key,
                    const struct rp_agent_summary *agent)
{
    rp_json_add_object(json, key);
    rp_json_add_text(json, "architecture", agent->name);
    add_known(json, "compute_units", agent->compute_units);
    add_known(json, "engine_clock_mhz", agent->engine_clock_mhz);
    rp_json_add_text(json, "family", agent->family);
    add_known(json, "lds_bytes_per_cu", agent->lds_bytes_per_cu);
    add_known(json, "max_waves_per_simd", agent->max_waves_per_simd);
    add_known(json, "memory_bytes", agent->memory_bytes);
    add_known(json, "memory_clock_mhz", agent->memory_clock_mhz);
    if (agent->modelled_clock_mhz)
        add_count(json, "modelled_clock_mhz", agent->modelled_clock_mhz);
    rp_json_add_text(json, "product", agent->product[0] ? agent->product : NULL);
    add_known(json, "simds_per_cu", agent->simds_per_cu);
    add_known(json, "wave_size", agent->wave_size);
    add_known(json, "xcc_count", agent->xcc_count);
    rp_json_end(json);
}

static void add_resources(struct rp_json_writer *json, const struct rp_kernel_summary *k)
{
    const struct rp_kernel_resources *r = &k->resources;

    rp_json_add_object(json, "resources");
    rp_json_add_count_if(json, "agpr_per_thread", k->symbol_known, r->accum_vgpr);
    rp_json_add_count_if(json, "lds_bytes", rp_kernel_bytes_known(k, r->lds_bytes), r->lds_bytes);
    rp_json_add_count_if(json, "scratch_bytes", rp_kernel_bytes_known(k, r->scratch_bytes),
                         r->scratch_bytes);
    rp_json_add_count_if(json, "sgpr_per_wave", k->symbol_known, r->sgpr);
    rp_json_add_count_if(json, "vgpr_per_thread", k->symbol_known, r->arch_vgpr);
    rp_json_end(json);
}

static void add_occupancy(struct rp_json_writer *json, const struct rp_kernel_summary *k)
{
    const struct rp_occupancy *occ = &k->occupancy;
    const bool known = occ->known;

    rp_json_add_object(json, "occupancy");
    rp_json_add_count_if(json, "blocks", known, occ->workgroups_per_cu);
    rp_json_add_count_if(json, "lds_blocks", known && occ->lds_workgroups_per_cu != RP_NO_LIMIT,
                         occ->lds_workgroups_per_cu);
    rp_json_add_text(json, "limiter", known ? rp_occupancy_limit_names[occ->limiter] : NULL);
    rp_json_add_count_if(json, "max_waves", known, occ->max_waves_per_cu);
    rp_json_add_count_if(json, "max_waves_per_simd", known, occ->max_waves_per_simd);
    rp_json_add_text(json, "reason", occ->reason);
    rp_json_add_text(json, "scope", !known ? NULL : occ->cus_per_block > 1 ? "wgp" : "cu");
    rp_json_add_count_if(json, "sgpr_waves_per_simd", known, occ->sgpr_waves_per_simd);
    rp_json_add_count_if(json, "slot_blocks", known, occ->slot_workgroups_per_cu);
    add_real(json, "theoretical", known ? occ->theoretical : NAN);
    add_known(json, "threads_per_block", k->resources.workgroup_size);
    rp_json_add_count_if(json, "vgpr_waves_per_simd", known, occ->vgpr_waves_per_simd);
    add_known(json, "wave_size", occ->wave_size);
    rp_json_add_count_if(json, "waves", known, occ->waves_per_cu);
    rp_json_add_count_if(json, "waves_per_block", known, occ->waves_per_workgroup);
    rp_json_add_count_if(json, "waves_per_simd", known, occ->waves_per_simd);
    rp_json_end(json);
}

struct named_sum {
    const char *name;
    double sum;
};

static int by_counter(const void *a, const void *b)
{
    return strcmp(((const struct named_sum *)a)->name, ((const struct named_sum *)b)->name);
}

static void add_counters(struct rp_json_writer *json, const struct rp_kernel_counters *c,
                         const struct rp_kernel_summary *k)
{
    size_t names = c->set ? c->set->name_count : 0, count = 0;
    rp_autofree double *sums = calloc(names + 1, sizeof *sums);
    rp_autofree bool *known = calloc(names + 1, sizeof *known);
    rp_autofree struct named_sum *sorted = calloc(names + 1, sizeof *sorted);

    if (!sums || !known || !sorted)
        json->out->failed = true;
    if (json->out->failed || !kernel_counters_sum(c, k, sums, known)) {
        rp_json_add_null(json, "counters");
        return;
    }
    for (size_t n = 0; n < names; n++)
        if (known[n])
            sorted[count++] = (struct named_sum){c->set->names[n], sums[n]};
    qsort(sorted, count, sizeof *sorted, by_counter);
    rp_json_add_object(json, "counters");
    for (size_t n = 0; n < count; n++)
        add_real(json, sorted[n].name, sorted[n].sum);
    rp_json_end(json);
}

/* Writes keys of an object that come before the others of "timing". @p r is NULL without a
 * simulation. */
static void add_fast_waves(struct rp_json_writer *json, const struct rp_simulated_timing *r)
{
    add_real(json, "error_share", r ? r->error_share : NAN);
    rp_json_add_count_if(json, "fast_clock_waves", r && r->fast_clocks_known,
                         r ? r->fast_clock_waves : 0);
}

static void add_simulated(struct rp_json_writer *json, const struct rp_simulated_timing *r)
{
    rp_json_add_count_if(json, "replayed_calls", r, r ? r->calls : 0);
    rp_json_add_count_if(json, "replayed_waves", r, r ? r->replayed_waves : 0);
}

/* Only times from counts have bounds. */
static void add_bounds(struct rp_json_writer *json, const struct rp_simulated_timing *r)
{
    if (!r->bounded_calls)
        return;
    rp_json_add_object(json, "bounds");
    add_count(json, "calls", r->bounded_calls);
    add_real(json, "longest_ms", r->longest_ns / 1e6);
    add_real(json, "shortest_ms", r->shortest_ns / 1e6);
    rp_json_end(json);
}

static void add_kernel_timing(struct rp_json_writer *json, const struct rp_simulated_timing *r)
{
    if (!r->calls) {
        rp_json_add_null(json, "timing");
        return;
    }
    rp_json_add_object(json, "timing");
    add_fast_waves(json, r);
    add_simulated(json, r);
    add_count(json, "waves", r->waves);
    rp_json_end(json);
}

static void add_timing(struct rp_json_writer *json, const struct rp_profile *p)
{
    const struct rp_simulated_timing *r = p->replayed.calls ? &p->replayed : NULL;

    if (!p->timing_model) {
        rp_json_add_null(json, "timing");
        return;
    }
    rp_json_add_object(json, "timing");
    add_bounds(json, &p->replayed);
    add_fast_waves(json, r);
    rp_json_add_text(json, "model", p->timing_model);
    rp_json_add_object(json, "overlapped");
    add_count(json, "dispatches", p->overlapped.dispatches);
    add_count(json, "ns", p->overlapped.ns);
    rp_json_end(json);
    add_simulated(json, r);
    add_count(json, "version", p->timing_version);
    rp_json_add_count_if(json, "waves", r, r ? r->waves : 0);
    rp_json_end(json);
}

static void add_kernel_runs(struct rp_json_writer *json, const struct rp_profile_report *r,
                            size_t at)
{
    if (!r->kernel_ms) {
        rp_json_add_null(json, "runs_ms");
        return;
    }
    rp_json_add_array(json, "runs_ms");
    for (size_t run = 0; run < r->runs; run++)
        add_real(json, NULL, r->kernel_ms[run * r->profile->kernel_count + at]);
    rp_json_end(json);
}

static void add_symbol(struct rp_json_writer *json, const char *symbol)
{
    rp_json_add_text(json, "symbol", symbol && *symbol ? symbol : NULL);
}

static void add_kernel(struct rp_json_writer *json, const struct rp_profile_report *r, size_t at,
                       const struct rp_kernel_counters *counters)
{
    const struct rp_kernel_summary *k = &r->profile->kernels[at];
    const bool timed = k->timed_calls > 0;
    char digits[24];

    snprintf(digits, sizeof digits, "%016" PRIx64, k->code_hash);
    rp_json_add_object(json, NULL);
    add_block(json, k->block);
    add_bounds(json, &k->replayed);
    add_count(json, "calls", k->calls);
    rp_json_add_text(json, "code_hash", k->code_hash ? digits : NULL);
    add_counters(json, counters, k);
    add_count(json, "geometries", k->geometries);
    add_count(json, "gpu", k->agent);
    add_grid(json, k);
    add_real(json, "max_ms", timed ? (double)k->max_ns / 1e6 : NAN);
    add_real(json, "mean_ms", timed ? (double)k->total_ns / (double)k->timed_calls / 1e6 : NAN);
    add_real(json, "min_ms", timed ? (double)k->min_ns / 1e6 : NAN);
    rp_json_add_text(json, "name", k->name);
    add_occupancy(json, k);
    add_resources(json, k);
    add_kernel_runs(json, r, at);
    rp_json_add_bool(json, "runtime_internal", k->runtime_internal);
    add_real(json, "share", k->share);
    add_symbol(json, k->symbol);
    add_count(json, "timed_calls", k->timed_calls);
    add_kernel_timing(json, &k->replayed);
    add_ms(json, "total_ms", k->total_ns);
    rp_json_end(json);
}

/* Only further runs launched this kernel, so no number of the base run includes it. */
static void add_repeat(struct rp_json_writer *json, const struct rp_profile_report *r,
                       const struct rp_repeat_kernel *repeat)
{
    const struct rp_kernel_summary *k = &repeat->summary;

    rp_json_add_object(json, NULL);
    add_block(json, k->block);
    rp_json_add_count_if(json, "gpu", k->agent < r->profile->agent_count, k->agent);
    add_grid(json, k);
    rp_json_add_text(json, "name", k->name);
    add_occupancy(json, k);
    add_resources(json, k);
    add_counts(json, "runs_calls", repeat->calls, r->runs);
    add_reals(json, "runs_ms", repeat->ms, r->runs);
    rp_json_add_bool(json, "runtime_internal", k->runtime_internal);
    add_symbol(json, k->symbol);
    rp_json_end(json);
}

static void add_failed_launch(struct rp_json_writer *json, const struct rp_failed_launch *launch)
{
    const uint32_t *block = launch->block;
    const bool known = block[0] || block[1] || block[2];

    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "api", launch->api);
    if (known)
        add_block(json, block);
    else
        rp_json_add_null(json, "block");
    add_count(json, "calls", launch->calls);
    add_known(json, "code", launch->code);
    rp_json_add_count_if(json, "dynamic_lds_bytes", known, launch->dynamic_lds_bytes);
    rp_json_add_text(json, "error", launch->error);
    if (known)
        add_counts(json, "grid", launch->grid, 3);
    else
        rp_json_add_null(json, "grid");
    rp_json_add_text(json, "kernel", launch->kernel);
    rp_json_add_text(json, "symbol", launch->symbol);
    rp_json_end(json);
}

/* It is null when no HIP calls were recorded. */
static void add_launches(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    const struct rp_launches *l = &r->profile->launches;

    if (!l->known || r->measurement == RP_MEASURED_WALL_CLOCK) {
        rp_json_add_null(json, "launches");
        return;
    }
    rp_json_add_object(json, "launches");
    add_count(json, "calls", l->calls);
    add_count(json, "failed", l->failed);
    rp_json_add_array(json, "failed_launches");
    for (size_t i = 0; i < l->count; i++)
        add_failed_launch(json, &l->list[i]);
    rp_json_end(json);
    rp_json_add_bool(json, "inferred", l->inferred);
    add_counts(json, "runs_failed", r->failed_launches, r->runs);
    rp_json_end(json);
}

static void add_differences(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    rp_json_add_array(json, "run_differences");
    for (size_t i = 0; r->differences && i < r->differences->count; i++) {
        const struct rp_run_difference *d = &r->differences->list[i];

        rp_json_add_object(json, NULL);
        rp_json_add_bool(json, "geometry_differs", d->geometry);
        rp_json_add_count_if(json, "gpu", d->agent < r->profile->agent_count, d->agent);
        rp_json_add_text(json, "name", d->name);
        add_counts(json, "runs_calls", d->calls, r->runs);
        add_symbol(json, d->symbol);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_stability(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    const struct rp_stability *s = &r->profile->stability;
    const bool wall = r->measurement == RP_MEASURED_WALL_CLOCK;

    rp_json_add_object(json, "stability");
    rp_json_add_text(json, "classification", rp_stability_class_names[s->classification]);
    add_real(json, "cv", s->cv);
    add_real(json, "mean_ms", s->mean_ms);
    rp_json_add_text(json, "quantity", wall ? "wall_ms" : "runtime_ms");
    add_count(json, "runs", s->runs);
    add_reals(json, "runs_ms", r->runtime_ms, r->runs);
    add_real(json, "stddev_ms", s->stddev_ms);
    rp_json_end(json);
}

static void add_corrections(struct rp_json_writer *json, const struct rp_profile *p)
{
    bool doubled = false;

    for (size_t i = 0; i < p->agent_count; i++)
        doubled |= p->agents[i].vgprs_doubled;
    rp_json_add_array(json, "corrections");
    if (doubled)
        rp_json_add_text(json, NULL, "gfx950_vgpr_doubled");
    rp_json_end(json);
}

static bool is_complete(const struct rp_profile *p, const struct rp_provenance *from)
{
    const struct rp_losses losses = {.incomplete_traces = from->incomplete_traces,
                                     .lost_records = from->lost_records,
                                     .lost_dispatches = from->lost_dispatches,
                                     .untraced_queues = from->untraced_queues};

    return p->complete && rp_losses_none(&losses);
}

static void add_provenance(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    const struct rp_provenance *from = &r->provenance;
    const struct rp_profile *p = r->profile;

    rp_json_add_object(json, "provenance");
    add_count(json, "clipped_ends", p->clipped_ends);
    add_texts(json, "command", from->command, from->command_count);
    rp_json_add_bool(json, "complete", is_complete(p, from));
    add_corrections(json, p);
    add_count(json, "counter_passes", from->counter_passes);
    add_count(json, "dispatches", p->dispatches);
    rp_json_add_int(json, "exit_status", from->exit_status);
    add_count(json, "incomplete_traces", from->incomplete_traces);
    rp_json_add_text(json, "interrupted", from->interrupted);
    add_count(json, "lost_dispatches", from->lost_dispatches);
    add_count(json, "lost_records", from->lost_records);
    if (from->pid)
        rp_json_add_int(json, "pid", from->pid);
    rp_json_add_text(json, "recorded_part", from->recorded_part);
    add_count(json, "repaired_timestamps", p->repaired_timestamps);
    rp_json_add_text(json, "rocm_version", from->rocm_version);
    rp_json_add_text(json, "tool_version", from->tool_version);
    rp_json_add_text(json, "trace_schema", from->trace_schema);
    rp_json_add_text(json, "tracer", from->tracer);
    rp_json_add_text(json, "tracer_version", from->tracer_version);
    add_count(json, "unknown_kernels", p->unknown_kernels);
    add_count(json, "unrecorded_dispatches", from->unrecorded);
    add_count(json, "untraced_queues", from->untraced_queues);
    rp_json_add_object(json, "varies");
    rp_json_add_array(json, "pids");
    for (size_t i = 0; i < p->process_count; i++)
        rp_json_add_int(json, NULL, p->processes[i].pid);
    rp_json_end(json);
    add_texts(json, "traces", from->traces, from->trace_count);
    add_reals(json, "wall_ms", from->wall_ms, from->wall_count);
    rp_json_end(json);
    rp_json_end(json);
}

/** Returns the user kernel that took most time, or NULL if no user kernel ran. */
static const struct rp_kernel_summary *dominant(const struct rp_profile *p)
{
    return p->kernel_count && !p->kernels[0].runtime_internal ? &p->kernels[0] : NULL;
}

static void add_quantity(struct rp_json_writer *json, const char *key, struct rp_quantity q)
{
    add_real(json, key, q.known ? q.value : NAN);
}

static void add_roofline(struct rp_json_writer *json, const struct rp_roofline_kernel *k)
{
    rp_json_add_object(json, "roofline");
    add_quantity(json, "achieved_bandwidth_gbps", k->gbps[RP_LEVEL_HBM]);
    add_quantity(json, "achieved_gflops", k->gflops);
    add_quantity(json, "arithmetic_intensity", k->intensity[RP_LEVEL_HBM]);
    rp_json_add_text(json, "bound", rp_bound_names[k->bound]);
    add_quantity(json, "bound_share", k->bound_share);
    add_quantity(json, "bytes", k->bytes[RP_LEVEL_HBM]);
    add_quantity(json, "bytes_read", k->hbm_read);
    add_quantity(json, "bytes_written", k->hbm_write);
    rp_json_add_text(json, "flop_model", k->flops_by_width ? "width" : "exact");
    add_quantity(json, "flops", k->flops);
    rp_json_add_text(json, "read_model", k->reads_by_width ? "width" : "exact");
    rp_json_end(json);
}

/* Writes it for the dominant kernel, as everything beside it. */
static void add_roofline_or_reason(struct rp_json_writer *json, const struct rp_profile_report *r,
                                   const struct rp_kernel_summary *top)
{
    const struct rp_roofline_kernel *found = NULL;
    const char *reason = r->roofline_reason;

    if (!r->roofline)
        reason = reason ? reason : "no hardware counters were collected";
    else if (r->roofline->reason)
        reason = r->roofline->reason;
    else if (!top)
        reason = "the program launched no kernel of its own";
    for (size_t i = 0; !reason && !found && i < r->roofline->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->roofline->kernels[i];
        if (strcmp(k->name, top->name) == 0 &&
            r->roofline->devices[k->device].id == r->profile->agents[top->agent].trace_id)
            found = k;
    }
    if (!found && !reason)
        reason = "the runs with counters did not launch this kernel";
    if (found)
        add_roofline(json, found);
    else
        rp_json_add_null(json, "roofline");
    rp_json_add_text(json, "roofline_reason", found ? found->lacks : reason);
}

static void add_lists(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    const struct rp_profile *p = r->profile;
    struct rp_kernel_counters counters;

    if (!kernel_counters_make(&counters, p, r->counters))
        json->out->failed = true;
    rp_json_add_array(json, "kernels");
    for (size_t i = 0; i < p->kernel_count && !json->out->failed; i++)
        add_kernel(json, r, i, &counters);
    rp_json_end(json);
    kernel_counters_free(&counters);
    add_launches(json, r);
}

/* Writes the keys before the kernels: runs and GPUs. */
static void add_head(struct rp_json_writer *json, const struct rp_profile_report *r,
                     const struct rp_kernel_summary *top)
{
    const struct rp_profile *p = r->profile;

    rp_json_add_text(json, "device", r->device);
    if (p->agent_count)
        add_gpu(json, "gpu", &p->agents[top ? top->agent : 0]);
    else
        rp_json_add_null(json, "gpu");
    if (r->gpu_span_ms)
        add_reals(json, "gpu_span_runs_ms", r->gpu_span_ms, r->runs);
    else
        rp_json_add_null(json, "gpu_span_runs_ms");
    rp_json_add_array(json, "gpus");
    for (size_t i = 0; i < p->agent_count; i++)
        add_gpu(json, NULL, &p->agents[i]);
    rp_json_end(json);
    if (!top) {
        rp_json_add_null(json, "kernel");
        return;
    }
    rp_json_add_object(json, "kernel");
    add_block(json, top->block);
    add_grid(json, top);
    rp_json_add_text(json, "name", top->name);
    rp_json_end(json);
}

static void add_profile(struct rp_json_writer *json, const struct rp_profile_report *r)
{
    const struct rp_profile *p = r->profile;
    const struct rp_kernel_summary *top = dominant(p);
    const bool wall = r->measurement == RP_MEASURED_WALL_CLOCK;

    rp_json_add_object(json, NULL);
    add_head(json, r, top);
    add_lists(json, r);
    rp_json_add_text(json, "measurement", wall ? "wallclock" : "dispatches");
    if (top)
        add_occupancy(json, top);
    else
        rp_json_add_null(json, "occupancy");
    rp_report_processes(json, p);
    add_provenance(json, r);
    rp_json_add_array(json, "repeat_kernels");
    for (size_t i = 0; r->repeat_kernels && i < r->repeat_kernels->count; i++)
        add_repeat(json, r, &r->repeat_kernels->list[i]);
    rp_json_end(json);
    if (top)
        add_resources(json, top);
    else
        rp_json_add_null(json, "resources");
    add_roofline_or_reason(json, r, top);
    add_differences(json, r);
    add_real(json, "runtime_internal_ms", wall ? NAN : (double)p->runtime_internal_ns / 1e6);
    add_real(json, "runtime_ms", wall ? NAN : (double)(p->user_ns + p->runtime_internal_ns) / 1e6);
    rp_json_add_text(
        json, "runtime_reason",
        wall ? "only the wall clock of the whole process was taken, no dispatch was traced" : NULL);
    rp_json_add_text(json, "schema_version", "1.0");
    add_stability(json, r);
    add_timing(json, p);
    add_real(json, "user_ms", wall ? NAN : (double)p->user_ns / 1e6);
    add_real(json, "wall_ms", wall && r->runs ? r->runtime_ms[0] : NAN);
    rp_json_end(json);
}

int rp_report_profile_json(const struct rp_profile_report *report, struct rp_buf *buf,
                           struct rp_err *err)
{
    struct rp_json_writer json = {.out = buf, .indent = 2};

    add_profile(&json, report);
    rp_buf_puts(buf, "\n");
    if (buf->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory while writing the profile");
    return 0;
}
