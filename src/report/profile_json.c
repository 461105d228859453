#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel_match.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"
#include "report/report_text.h"
#include "trace/counter_set.h"
#include "trace/rocpd.h"

/* Hardware counters of a profile's kernels: sums over dispatches. */

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

static void rp_kernel_counters_free(struct rp_kernel_counters *counters);

/** @return false: out of memory. @p set may be NULL; both must stay until the end. */
static bool rp_kernel_counters_make(struct rp_kernel_counters *ret,
                                    const struct rp_profile *profile, const struct rp_counters *set)
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
        rp_kernel_counters_free(&c);
        return false;
    }
    for (size_t i = 0; i < set->dispatch_count; i++)
        c.order[i] = &set->dispatches[i];
    qsort(c.order, set->dispatch_count, sizeof(*c.order), by_kernel_and_device);
    *ret = c;
    return true;
}

static void rp_kernel_counters_free(struct rp_kernel_counters *counters)
{
    rp_name_index_free(&counters->counted);
    rp_name_index_free(&counters->profiled);
    free(counters->order);
    *counters = (struct rp_kernel_counters){0};
}

/* First dispatch of the kernel on the device. */
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
 * Sums of all counters over the dispatches of a kernel, by number in the set. Dispatches were
 * counted under the kernel's name: if another kernel of the GPU has it too, as when code is
 * compiled twice, nobody knows whose they are.
 * @param ret_known  whether all these dispatches have the counter; its sum is one only then
 * @return false: nothing is known of the kernel
 */
static bool rp_kernel_counters_sum(const struct rp_kernel_counters *c,
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

/* Values: each gives a new reference, or NULL when memory ran out; put() notices. */

static json_t *text(const char *s)
{
    rp_autobuf clean = {0};

    if (!s)
        return json_null();
    rp_text_utf8(&clean, s);
    return clean.failed ? NULL : json_stringn(rp_buf_text(&clean), clean.len);
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(rp_text_round6(value)) : json_null();
}

static json_t *milliseconds(uint64_t ns)
{
    return real((double)ns / 1e6);
}

static json_t *count(uint64_t n)
{
    return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

/** 0 means unknown in the tables of the hardware. */
static json_t *known_count(uint64_t n)
{
    return n ? count(n) : json_null();
}

static void put(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (json_object_set_new(object, key, value) < 0)
        *ok = false;
}

static void append(json_t *array, json_t *value, bool *ok)
{
    if (json_array_append_new(array, value) < 0)
        *ok = false;
}

static json_t *texts(const char *const *items, size_t n, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        append(array, text(items[i]), ok);
    return array;
}

static json_t *reals(const double *items, size_t n, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; items && i < n; i++)
        append(array, real(items[i]), ok);
    return array;
}

static json_t *grid(const struct rp_kernel_summary *k, bool *ok)
{
    json_t *array = json_array();

    for (int i = 0; i < 3; i++)
        append(array, count(k->grid[i]), ok);
    return array;
}

static json_t *block(const struct rp_kernel_summary *k, bool *ok)
{
    json_t *array = json_array();

    for (int i = 0; i < 3; i++)
        append(array, count(k->block[i]), ok);
    return array;
}

/* Parts. */

static json_t *gpu(const struct rp_agent_summary *agent, bool *ok)
{
    json_t *o = json_object();

    put(o, "architecture", text(agent->name), ok);
    put(o, "product", text(agent->product[0] ? agent->product : NULL), ok);
    put(o, "family", text(agent->family), ok);
    put(o, "wave_size", known_count(agent->wave_size), ok);
    put(o, "compute_units", known_count(agent->compute_units), ok);
    put(o, "xcc_count", known_count(agent->xcc_count), ok);
    put(o, "engine_clock_mhz", known_count(agent->engine_clock_mhz), ok);
    put(o, "memory_clock_mhz", known_count(agent->memory_clock_mhz), ok);
    put(o, "memory_bytes", known_count(agent->memory_bytes), ok);
    put(o, "simds_per_cu", known_count(agent->simds_per_cu), ok);
    put(o, "max_waves_per_simd", known_count(agent->max_waves_per_simd), ok);
    put(o, "lds_bytes_per_cu", known_count(agent->lds_bytes_per_cu), ok);
    return o;
}

static json_t *resources(const struct rp_kernel_summary *k, bool *ok)
{
    const struct rp_kernel_resources *r = &k->resources;
    json_t *o = json_object();

    put(o, "vgpr_per_thread", k->symbol_known ? count(r->arch_vgpr) : json_null(), ok);
    put(o, "agpr_per_thread", k->symbol_known ? count(r->accum_vgpr) : json_null(), ok);
    put(o, "sgpr_per_wave", k->symbol_known ? count(r->sgpr) : json_null(), ok);
    put(o, "lds_bytes", count(r->lds_bytes), ok);
    put(o, "scratch_bytes", count(r->scratch_bytes), ok);
    return o;
}

static json_t *limit(uint32_t n)
{
    return n == RP_NO_LIMIT ? json_null() : count(n);
}

static json_t *occupancy(const struct rp_kernel_summary *k, bool *ok)
{
    const struct rp_occupancy *occ = &k->occupancy;
    bool known = occ->known;
    json_t *o = json_object();

#define IF_KNOWN(value) (known ? (value) : json_null())
    put(o, "theoretical", IF_KNOWN(real(occ->theoretical)), ok);
    put(o, "limiter", IF_KNOWN(text(rp_occupancy_limit_name(occ->limiter))), ok);
    put(o, "reason", text(occ->reason), ok);
    put(o, "threads_per_block", known_count(k->resources.workgroup_size), ok);
    put(o, "wave_size", known_count(occ->wave_size), ok);
    put(o, "waves_per_block", IF_KNOWN(count(occ->waves_per_workgroup)), ok);
    put(o, "scope", IF_KNOWN(text(occ->cus_per_block > 1 ? "wgp" : "cu")), ok);
    put(o, "waves_per_simd", IF_KNOWN(count(occ->waves_per_simd)), ok);
    put(o, "max_waves_per_simd", IF_KNOWN(count(occ->max_waves_per_simd)), ok);
    put(o, "waves", IF_KNOWN(count(occ->waves_per_cu)), ok);
    put(o, "max_waves", IF_KNOWN(count(occ->max_waves_per_cu)), ok);
    put(o, "blocks", IF_KNOWN(count(occ->workgroups_per_cu)), ok);
    put(o, "vgpr_waves_per_simd", IF_KNOWN(count(occ->vgpr_waves_per_simd)), ok);
    put(o, "sgpr_waves_per_simd", IF_KNOWN(count(occ->sgpr_waves_per_simd)), ok);
    put(o, "slot_blocks", IF_KNOWN(count(occ->slot_workgroups_per_cu)), ok);
    put(o, "lds_blocks", IF_KNOWN(limit(occ->lds_workgroups_per_cu)), ok);
#undef IF_KNOWN
    return o;
}

static json_t *counters_of(const struct rp_kernel_counters *c, const struct rp_kernel_summary *k,
                           bool *ok)
{
    size_t names = c->set ? c->set->name_count : 0;
    double *sums = calloc(names + 1, sizeof *sums);
    bool *known = calloc(names + 1, sizeof *known);
    json_t *o = json_null();

    *ok = *ok && sums && known;
    if (*ok && rp_kernel_counters_sum(c, k, sums, known)) {
        o = json_object();
        for (size_t n = 0; n < names; n++)
            if (known[n])
                put(o, c->set->names[n], real(sums[n]), ok);
    }
    free(sums);
    free(known);
    return o;
}

/* NULL stands for times that do not come from replays. */
static void put_simulated_timing(json_t *o, const struct rp_simulated_timing *r, bool *ok)
{
    put(o, "error_share", r ? real(r->error_share) : json_null(), ok);
    put(o, "fast_clock_waves", r && r->fast_clocks_known ? count(r->fast_clock_waves) : json_null(),
        ok);
    put(o, "replayed_calls", r ? count(r->calls) : json_null(), ok);
    put(o, "replayed_waves", r ? count(r->replayed_waves) : json_null(), ok);
    put(o, "waves", r ? count(r->waves) : json_null(), ok);
}

static json_t *kernel_timing(const struct rp_simulated_timing *r, bool *ok)
{
    json_t *o = r->calls ? json_object() : json_null();

    if (r->calls)
        put_simulated_timing(o, r, ok);
    return o;
}

static json_t *timing(const struct rp_profile *p, bool *ok)
{
    json_t *o = p->timing_model ? json_object() : json_null(), *overlapped;

    if (!p->timing_model)
        return o;
    overlapped = json_object();
    put(o, "model", text(p->timing_model), ok);
    put(o, "version", count(p->timing_version), ok);
    put_simulated_timing(o, p->replayed.calls ? &p->replayed : NULL, ok);
    put(overlapped, "dispatches", count(p->overlapped.dispatches), ok);
    put(overlapped, "ns", count(p->overlapped.ns), ok);
    put(o, "overlapped", overlapped, ok);
    return o;
}

static json_t *kernel_runs(const struct rp_profile_report *r, size_t at, bool *ok)
{
    json_t *array = r->kernel_ms ? json_array() : json_null();

    for (size_t run = 0; r->kernel_ms && run < r->runs; run++) {
        double ms = r->kernel_ms[run * r->profile->kernel_count + at];
        append(array, isnan(ms) ? json_null() : real(ms), ok);
    }
    return array;
}

static json_t *code_hash(const struct rp_kernel_summary *k)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%016" PRIx64, k->code_hash);
    return k->code_hash ? json_string(digits) : json_null();
}

static json_t *kernel_row(const struct rp_profile_report *r, size_t at,
                          const struct rp_kernel_counters *counters, bool *ok)
{
    const struct rp_kernel_summary *k = &r->profile->kernels[at];
    bool timed = k->timed_calls > 0;
    json_t *o = json_object();

    put(o, "name", text(k->name), ok);
    put(o, "symbol", text(k->symbol && *k->symbol ? k->symbol : NULL), ok);
    put(o, "code_hash", code_hash(k), ok);
    put(o, "runtime_internal", json_boolean(k->runtime_internal), ok);
    put(o, "gpu", count(k->agent), ok);
    put(o, "calls", count(k->calls), ok);
    put(o, "timed_calls", count(k->timed_calls), ok);
    put(o, "total_ms", milliseconds(k->total_ns), ok);
    put(o, "mean_ms",
        timed ? real((double)k->total_ns / (double)k->timed_calls / 1e6) : json_null(), ok);
    put(o, "min_ms", timed ? milliseconds(k->min_ns) : json_null(), ok);
    put(o, "max_ms", timed ? milliseconds(k->max_ns) : json_null(), ok);
    put(o, "runs_ms", kernel_runs(r, at, ok), ok);
    put(o, "share", real(k->share), ok);
    put(o, "grid", grid(k, ok), ok);
    put(o, "block", block(k, ok), ok);
    put(o, "geometries", count(k->geometries), ok);
    put(o, "counters", counters_of(counters, k, ok), ok);
    put(o, "resources", resources(k, ok), ok);
    put(o, "timing", kernel_timing(&k->replayed, ok), ok);
    put(o, "occupancy", occupancy(k, ok), ok);
    return o;
}

/* A kernel that only further runs launched: nothing of it is in a number of the base run. */
static json_t *repeat_row(const struct rp_profile_report *r, const struct rp_repeat_kernel *repeat,
                          bool *ok)
{
    const struct rp_kernel_summary *k = &repeat->summary;
    json_t *o = json_object(), *calls = json_array();

    for (size_t run = 0; run < r->runs; run++)
        append(calls, count(repeat->calls[run]), ok);
    put(o, "name", text(k->name), ok);
    put(o, "symbol", text(k->symbol && *k->symbol ? k->symbol : NULL), ok);
    put(o, "runtime_internal", json_boolean(k->runtime_internal), ok);
    put(o, "gpu", k->agent < r->profile->agent_count ? count(k->agent) : json_null(), ok);
    put(o, "runs_calls", calls, ok);
    put(o, "runs_ms", reals(repeat->ms, r->runs, ok), ok);
    put(o, "grid", grid(k, ok), ok);
    put(o, "block", block(k, ok), ok);
    put(o, "resources", resources(k, ok), ok);
    put(o, "occupancy", occupancy(k, ok), ok);
    return o;
}

static json_t *repeat_kernels(const struct rp_profile_report *r, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; r->repeat_kernels && i < r->repeat_kernels->count; i++)
        append(array, repeat_row(r, &r->repeat_kernels->list[i], ok), ok);
    return array;
}

static json_t *sizes(const uint64_t *three, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; i < 3; i++)
        append(array, count(three[i]), ok);
    return array;
}

static json_t *failed_launch(const struct rp_failed_launch *launch, bool *ok)
{
    const uint64_t block[3] = {launch->block[0], launch->block[1], launch->block[2]};
    const bool known = block[0] || block[1] || block[2];
    json_t *o = json_object();

    put(o, "api", text(launch->api), ok);
    put(o, "block", known ? sizes(block, ok) : json_null(), ok);
    put(o, "calls", count(launch->calls), ok);
    put(o, "code", launch->code ? count(launch->code) : json_null(), ok);
    put(o, "dynamic_lds_bytes", known ? count(launch->dynamic_lds_bytes) : json_null(), ok);
    put(o, "error", text(launch->error), ok);
    put(o, "grid", known ? sizes(launch->grid, ok) : json_null(), ok);
    put(o, "kernel", text(launch->kernel), ok);
    put(o, "symbol", text(launch->symbol), ok);
    return o;
}

/* null: no HIP calls were recorded. */
static json_t *launches(const struct rp_profile_report *r, bool *ok)
{
    const struct rp_launches *l = &r->profile->launches;
    json_t *o, *list, *runs;

    if (!l->known || r->measurement == RP_MEASURED_WALL_CLOCK)
        return json_null();
    o = json_object();
    list = json_array();
    runs = json_array();
    for (size_t i = 0; i < l->count; i++)
        append(list, failed_launch(&l->list[i], ok), ok);
    for (size_t i = 0; r->failed_launches && i < r->runs; i++)
        append(runs, count(r->failed_launches[i]), ok);
    put(o, "calls", count(l->calls), ok);
    put(o, "failed", count(l->failed), ok);
    put(o, "failed_launches", list, ok);
    put(o, "inferred", json_boolean(l->inferred), ok);
    put(o, "runs_failed", runs, ok);
    return o;
}

static json_t *run_differences(const struct rp_profile_report *r, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; r->differences && i < r->differences->count; i++) {
        const struct rp_run_difference *d = &r->differences->list[i];
        json_t *o = json_object(), *calls = json_array();

        for (size_t run = 0; run < r->runs; run++)
            append(calls, count(d->calls[run]), ok);
        put(o, "geometry_differs", json_boolean(d->geometry), ok);
        put(o, "gpu", d->agent < r->profile->agent_count ? count(d->agent) : json_null(), ok);
        put(o, "name", text(d->name), ok);
        put(o, "runs_calls", calls, ok);
        put(o, "symbol", text(d->symbol && *d->symbol ? d->symbol : NULL), ok);
        append(array, o, ok);
    }
    return array;
}

static json_t *stability(const struct rp_profile_report *r, bool *ok)
{
    const struct rp_stability *s = &r->profile->stability;
    bool wall = r->measurement == RP_MEASURED_WALL_CLOCK;
    json_t *o = json_object();

    put(o, "quantity", text(wall ? "wall_ms" : "runtime_ms"), ok);
    put(o, "runs", count(s->runs), ok);
    put(o, "mean_ms", real(s->mean_ms), ok);
    put(o, "stddev_ms", real(s->stddev_ms), ok);
    put(o, "cv", real(s->cv), ok);
    put(o, "classification", text(rp_stability_class_name(s->classification)), ok);
    put(o, "runs_ms", reals(r->runtime_ms, r->runs, ok), ok);
    return o;
}

static json_t *corrections(const struct rp_profile *p, bool *ok)
{
    json_t *array = json_array();

    for (size_t i = 0; i < p->agent_count; i++) {
        if (p->agents[i].vgprs_doubled) {
            append(array, text("gfx950_vgpr_doubled"), ok);
            break;
        }
    }
    return array;
}

static bool is_complete(const struct rp_profile *p, const struct rp_provenance *from)
{
    const struct rp_losses losses = {.incomplete_traces = from->incomplete_traces,
                                     .lost_records = from->lost_records,
                                     .lost_dispatches = from->lost_dispatches,
                                     .untraced_queues = from->untraced_queues};

    return p->complete && rp_losses_none(&losses);
}

static json_t *provenance(const struct rp_profile_report *r, bool *ok)
{
    const struct rp_provenance *from = &r->provenance;
    const struct rp_profile *p = r->profile;
    json_t *o = json_object(), *varies = json_object();

    put(o, "command", texts(from->command, from->command_count, ok), ok);
    put(o, "exit_status", json_integer(from->exit_status), ok);
    put(o, "rocm_version", text(from->rocm_version), ok);
    put(o, "tool_version", text(from->tool_version), ok);
    put(o, "tracer", text(from->tracer), ok);
    put(o, "tracer_version", text(from->tracer_version), ok);
    put(o, "trace_schema", text(from->trace_schema), ok);
    put(o, "complete", json_boolean(is_complete(p, from)), ok);
    put(o, "incomplete_traces", count(from->incomplete_traces), ok);
    put(o, "lost_records", count(from->lost_records), ok);
    put(o, "lost_dispatches", count(from->lost_dispatches), ok);
    put(o, "untraced_queues", count(from->untraced_queues), ok);
    put(o, "counter_passes", count(from->counter_passes), ok);
    put(o, "dispatches", count(p->dispatches), ok);
    put(o, "repaired_timestamps", count(p->repaired_timestamps), ok);
    put(o, "clipped_ends", count(p->clipped_ends), ok);
    put(o, "unknown_kernels", count(p->unknown_kernels), ok);
    put(o, "corrections", corrections(p, ok), ok);
    put(varies, "traces", texts(from->traces, from->trace_count, ok), ok);
    put(varies, "wall_ms", reals(from->wall_ms, from->wall_count, ok), ok);
    put(o, "varies", varies, ok);
    return o;
}

/** The user kernel that took most time; NULL if no user kernel ran. */
static const struct rp_kernel_summary *dominant(const struct rp_profile *p)
{
    return p->kernel_count && !p->kernels[0].runtime_internal ? &p->kernels[0] : NULL;
}

static json_t *kernel_head(const struct rp_kernel_summary *k, bool *ok)
{
    json_t *o = json_object();

    put(o, "name", text(k->name), ok);
    put(o, "grid", grid(k, ok), ok);
    put(o, "block", block(k, ok), ok);
    return o;
}

static void put_times(json_t *root, const struct rp_profile_report *r, bool *ok)
{
    const struct rp_profile *p = r->profile;

    if (r->measurement == RP_MEASURED_WALL_CLOCK) {
        put(root, "measurement", text("wallclock"), ok);
        put(root, "runtime_ms", json_null(), ok);
        put(root, "runtime_reason",
            text("only the wall clock of the whole process was taken, no dispatch was traced"), ok);
        put(root, "user_ms", json_null(), ok);
        put(root, "runtime_internal_ms", json_null(), ok);
        put(root, "wall_ms", r->runs ? real(r->runtime_ms[0]) : json_null(), ok);
        return;
    }
    put(root, "measurement", text("dispatches"), ok);
    put(root, "runtime_ms", milliseconds(p->user_ns + p->runtime_internal_ns), ok);
    put(root, "runtime_reason", json_null(), ok);
    put(root, "user_ms", milliseconds(p->user_ns), ok);
    put(root, "runtime_internal_ms", milliseconds(p->runtime_internal_ns), ok);
    put(root, "wall_ms", json_null(), ok);
}

static json_t *quantity(struct rp_quantity q)
{
    return q.known ? real(q.value) : json_null();
}

static json_t *roofline(const struct rp_roofline_kernel *k, bool *ok)
{
    json_t *o = json_object();

    put(o, "achieved_bandwidth_gbps", quantity(k->gbps[RP_LEVEL_HBM]), ok);
    put(o, "achieved_gflops", quantity(k->gflops), ok);
    put(o, "arithmetic_intensity", quantity(k->intensity[RP_LEVEL_HBM]), ok);
    put(o, "bound", text(rp_bound_name(k->bound)), ok);
    put(o, "bound_share", quantity(k->bound_share), ok);
    put(o, "bytes", quantity(k->bytes[RP_LEVEL_HBM]), ok);
    put(o, "bytes_read", quantity(k->hbm_read), ok);
    put(o, "bytes_written", quantity(k->hbm_write), ok);
    put(o, "flop_model", text(k->flops_by_width ? "width" : "exact"), ok);
    put(o, "flops", quantity(k->flops), ok);
    put(o, "read_model", text(k->reads_by_width ? "width" : "exact"), ok);
    return o;
}

/* Of the dominant kernel, as everything beside it. */
static void put_roofline(json_t *root, const struct rp_profile_report *r,
                         const struct rp_kernel_summary *top, bool *ok)
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
    put(root, "roofline", found ? roofline(found, ok) : json_null(), ok);
    put(root, "roofline_reason", text(found ? found->lacks : reason), ok);
}

static json_t *profile(const struct rp_profile_report *r, bool *ok)
{
    const struct rp_profile *p = r->profile;
    const struct rp_kernel_summary *top = dominant(p);
    json_t *root = json_object(), *kernels = json_array(), *gpus = json_array();
    struct rp_kernel_counters counters;

    *ok = rp_kernel_counters_make(&counters, p, r->counters) && *ok;
    put(root, "schema_version", text("1.0"), ok);
    put(root, "device", text(r->device), ok);
    put(root, "timing", timing(p, ok), ok);
    put_times(root, r, ok);
    put(root, "kernel", top ? kernel_head(top, ok) : json_null(), ok);
    put(root, "gpu", p->agent_count ? gpu(&p->agents[top ? top->agent : 0], ok) : json_null(), ok);
    put(root, "resources", top ? resources(top, ok) : json_null(), ok);
    put(root, "occupancy", top ? occupancy(top, ok) : json_null(), ok);
    put(root, "stability", stability(r, ok), ok);
    put_roofline(root, r, top, ok);
    for (size_t i = 0; i < p->kernel_count; i++)
        append(kernels, kernel_row(r, i, &counters, ok), ok);
    rp_kernel_counters_free(&counters);
    put(root, "kernels", kernels, ok);
    put(root, "launches", launches(r, ok), ok);
    put(root, "repeat_kernels", repeat_kernels(r, ok), ok);
    put(root, "run_differences", run_differences(r, ok), ok);
    for (size_t i = 0; i < p->agent_count; i++)
        append(gpus, gpu(&p->agents[i], ok), ok);
    put(root, "gpus", gpus, ok);
    put(root, "provenance", provenance(r, ok), ok);
    return root;
}

static int add_to_buf(const char *bytes, size_t len, void *buf)
{
    rp_buf_add(buf, bytes, len);
    return ((struct rp_buf *)buf)->failed ? -1 : 0;
}

int rp_report_profile_json(const struct rp_profile_report *report, struct rp_buf *buf,
                           struct rp_err *err)
{
    bool ok = true;
    json_t *root = profile(report, &ok);
    /* 15 significant digits print a number of six decimals as it was rounded, in any locale. */
    size_t flags = JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15);

    if (ok && json_dump_callback(root, add_to_buf, buf, flags) < 0)
        ok = false;
    json_decref(root);
    rp_buf_puts(buf, "\n");
    if (!ok || buf->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory while writing the profile");
    return 0;
}
