#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"
#include "trace/counter_set.h"

enum {
    LEAST_WIDTH = 70,  /**< the tables are that wide */
    MOST_KERNELS = 20, /**< shown on a terminal; a pipe gets all, and profile.json has them */
    BAR = 12,
    INDENT = 6,
};

static struct rp_unit_text time_of(const struct rp_page *page, double ns)
{
    return rp_unit_one(RP_UNIT_TIME, ns, page->utf8);
}

static struct rp_number_text percent(double share)
{
    return rp_number_fixed(share * 100, 1);
}

static const char *plural_es(uint64_t n)
{
    return n == 1 ? "" : "es";
}

/* The head says what ran, on which device, how long, and how steadily. */

static void put_command(const struct rp_page *page, const struct rp_provenance *from)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, "rocm-perf profile:");
    if (from->pid)
        rp_buf_printf(&text, " process %lld:", (long long)from->pid);
    for (size_t i = 0; i < from->command_count; i++)
        rp_buf_printf(&text, " %s", from->command[i]);
    if (text.failed)
        page->out->failed = true;
    rp_page_text(page, RP_INK_BOLD, 0, rp_buf_text(&text));
}

/* This is the number that roofline, critical path and timeline give it: the trace's. GPUs of
 * several machines may have the same one there. */
static int64_t gpu_number(const struct rp_profile *p, size_t index)
{
    for (size_t i = 1; i < p->agent_count; i++) /* They are sorted. */
        if (p->agents[i].trace_id == p->agents[i - 1].trace_id)
            return (int64_t)index;
    return index < p->agent_count ? p->agents[index].trace_id : (int64_t)index;
}

/* A number tells GPUs apart, so a single one has none. */
static void put_gpu(const struct rp_page *page, const struct rp_profile *p, size_t index)
{
    const struct rp_agent_summary *agent = &p->agents[index];
    rp_autobuf text = {0};

    if (p->agent_count > 1)
        rp_buf_printf(&text, "GPU %-9" PRId64 " ", gpu_number(p, index));
    else
        rp_buf_puts(&text, "GPU           ");
    rp_buf_printf(&text, "%s%s%s", agent->product, agent->product[0] ? ", " : "", agent->name);
    if (agent->compute_units)
        rp_buf_printf(&text, ", %u CUs", agent->compute_units);
    if (agent->wave_size)
        rp_buf_printf(&text, ", wave%u", agent->wave_size);
    if (agent->modelled_clock_mhz)
        rp_buf_printf(&text, ", at %u MHz (--clock)", agent->modelled_clock_mhz);
    if (text.failed)
        page->out->failed = true;
    rp_page_text(page, RP_INK_PLAIN, 0, rp_buf_text(&text));
}

static void put_device(const struct rp_page *page, const struct rp_profile_report *r)
{
    const struct rp_profile *p = r->profile;
    bool software = strcmp(r->device, "software") == 0;
    bool wall = r->measurement == RP_MEASURED_WALL_CLOCK;

    if (software && wall)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "SOFTWARE DEVICE: wall clock of the emulation, not hardware time");
    else if (software)
        rp_software_line(page, p->timing_model);
    else
        rp_page_text(page, RP_INK_PLAIN, 0,
                     wall ? "HARDWARE: wall clock of the whole process"
                          : "HARDWARE: time stamped by the GPU");
    /* Both are in one trace, and what they are together means nothing. */
    if (software && !wall && r->provenance.tracer && strcmp(r->provenance.tracer, "rocprofv3") == 0)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "rocprofv3: host times are this host's, kernel times are modelled");
    for (size_t i = 0; i < p->agent_count; i++)
        put_gpu(page, p, i);
}

static void count_class(const struct rp_profile *p, bool internal, size_t *ret_kernels,
                        uint64_t *ret_calls)
{
    *ret_kernels = 0;
    *ret_calls = 0;
    for (size_t i = 0; i < p->kernel_count; i++) {
        if (p->kernels[i].runtime_internal == internal) {
            ++*ret_kernels;
            *ret_calls += p->kernels[i].calls;
        }
    }
}

static void put_class_total(const struct rp_page *page, const struct rp_profile *p, bool internal)
{
    uint64_t calls;
    size_t kernels;

    count_class(p, internal, &kernels, &calls);
    if (!kernels)
        return;
    rp_page_line(page, RP_INK_PLAIN, 0, "%-13s %s in %llu launch%s of %zu kernel%s",
                 internal ? "HIP runtime" : "Program",
                 time_of(page, (double)(internal ? p->runtime_internal_ns : p->user_ns)).text,
                 (unsigned long long)calls, calls == 1 ? "" : "es", kernels, rp_plural(kernels));
}

/* One run says nothing about how steady the times are. */
static void put_stability(const struct rp_page *page, const struct rp_stability *s)
{
    enum rp_ink how = s->classification == RP_UNSTABLE   ? RP_INK_RED
                      : s->classification == RP_MODERATE ? RP_INK_YELLOW
                                                         : RP_INK_PLAIN;

    if (s->runs < 2 && !page->verbose)
        return;
    rp_page_line(page, how, 0, "Stability     %s: %u run%s, CV %s %%",
                 rp_stability_class_names[s->classification], s->runs, rp_plural(s->runs),
                 percent(s->cv).text);
    if (page->verbose)
        rp_page_line(page, how, 0, "              mean %s, stddev %s",
                     time_of(page, s->mean_ms * 1e6).text, time_of(page, s->stddev_ms * 1e6).text);
}

/* Says how little counts tell of times. */
static void put_bounds(const struct rp_page *page, const struct rp_profile *p)
{
    const struct rp_simulated_timing *r = &p->replayed;

    if (r->bounded_calls)
        rp_page_line(page, RP_INK_PLAIN, 0,
                     "Bounds        between %s and %s by detailed timing's rules, of %llu launch%s",
                     time_of(page, r->shortest_ns).text, time_of(page, r->longest_ns).text,
                     (unsigned long long)r->bounded_calls, r->bounded_calls == 1 ? "" : "es");
}

/* Says how far the times of a sample may be off, but nothing where every wave was simulated as a
 * whole. */
static void put_simulated_timing(const struct rp_page *page, const struct rp_profile *p)
{
    const struct rp_simulated_timing *r = &p->replayed;

    put_bounds(page, p);
    if (!r->calls)
        return;
    if (r->replayed_waves < r->waves || r->error_share > 0)
        rp_page_line(page, RP_INK_PLAIN, 0,
                     "Replayed      %s %% of the waves; estimated error of extrapolation %s %%",
                     percent((double)r->replayed_waves / (double)r->waves).text,
                     percent(r->error_share).text);
    if (r->calls < p->dispatches)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "              %llu of %llu launches could not be replayed: timed from counts",
                     (unsigned long long)(p->dispatches - r->calls),
                     (unsigned long long)p->dispatches);
}

/* Says what the model leaves out, where the trace shows that it matters. */
static void put_unmodelled(const struct rp_page *page, const struct rp_profile *p)
{
    const struct rp_simulated_timing *r = &p->replayed;
    const struct rp_overlapped *o = &p->overlapped;

    if (r->calls && r->fast_clocks_known && r->fast_clock_waves)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "Clocks        %llu of %llu waves read counts timing's clock",
                     (unsigned long long)r->fast_clock_waves, (unsigned long long)r->waves);
    if (o->dispatches) {
        rp_page_line(page, RP_INK_YELLOW, 0, "Overlap       %llu launches overlap for %s: %s",
                     (unsigned long long)o->dispatches, time_of(page, (double)o->ns).text,
                     r->calls ? "they share the device" : "each is timed as if alone");
    }
}

/** Where all kernels are of one class, one line says it all. */
static void put_runtime(const struct rp_page *page, const struct rp_profile *p, const char *device)
{
    const char *lacks = rp_not_modelled(device, p->timing_model);
    const struct rp_unit_text all = time_of(page, (double)(p->user_ns + p->runtime_internal_ns));
    uint64_t calls, internal_calls;
    size_t kernels, internal;

    count_class(p, false, &kernels, &calls);
    count_class(p, true, &internal, &internal_calls);
    if (!internal) {
        rp_page_line(page, RP_INK_BOLD, 0, "Runtime       %s in %llu launch%s of %zu kernel%s%s",
                     all.text, (unsigned long long)calls, plural_es(calls), kernels,
                     rp_plural(kernels), lacks);
        return;
    }
    rp_page_line(page, RP_INK_BOLD, 0, "Runtime       %s, all dispatches%s", all.text, lacks);
    put_class_total(page, p, false);
    put_class_total(page, p, true);
}

/* The numbers are of a part of the run. */
static void put_recorded(const struct rp_page *page, const struct rp_profile_report *r)
{
    const unsigned long long not = r->provenance.unrecorded, recorded = r->profile->dispatches;

    if (not )
        rp_page_line(page, RP_INK_PLAIN, 0, "Recorded      %llu of %llu launches", recorded,
                     recorded + not );
}

static void put_head(const struct rp_page *page, const struct rp_profile_report *r)
{
    const struct rp_profile *p = r->profile;

    put_device(page, r);
    put_command(page, &r->provenance);
    if (r->measurement == RP_MEASURED_WALL_CLOCK) {
        rp_page_line(page, RP_INK_BOLD, 0,
                     "Wall clock    %s, whole process; no dispatch was traced",
                     r->runs ? time_of(page, r->runtime_ms[0] * 1e6).text : "?");
    } else {
        put_recorded(page, r);
        put_runtime(page, p, r->device);
        put_simulated_timing(page, p);
        put_unmodelled(page, p);
    }
    put_stability(page, &p->stability);
}

/* This section writes the kernels. */

static const char *limiter_words(enum rp_occupancy_limit limit)
{
    switch (limit) {
    case RP_LIMIT_NONE:
        return "not limited";
    case RP_LIMIT_VGPR:
        return "limited by VGPRs";
    case RP_LIMIT_SGPR:
        return "limited by SGPRs";
    case RP_LIMIT_LDS:
        return "limited by LDS";
    case RP_LIMIT_WORKGROUP_SIZE:
        return "limited by workgroup size";
    }
    return "limited";
}

static void put_occupancy(const struct rp_page *page, const struct rp_occupancy *o)
{
    if (!o->known) {
        rp_page_line(page, RP_INK_PLAIN, INDENT, "occupancy unknown: %s", o->reason);
        return;
    }
    rp_page_line(page, RP_INK_PLAIN, INDENT, "occupancy %s %%, %u of %u waves per %s, %s",
                 percent(o->theoretical).text, o->waves_per_cu, o->max_waves_per_cu,
                 o->cus_per_block > 1 ? "WGP" : "CU", limiter_words(o->limiter));
    rp_page_line(page, RP_INK_DIM, INDENT + 2, "%s", o->reason);
}

static const char *bytes_text(const struct rp_kernel_summary *k, uint32_t bytes, char ret[24])
{
    snprintf(ret, 24, "%u bytes", bytes);
    return rp_kernel_bytes_known(k, bytes) ? ret : "unknown";
}

static void put_resources(const struct rp_page *page, const struct rp_kernel_summary *k)
{
    const struct rp_kernel_resources *r = &k->resources;
    char lds[24], scratch[24];

    if (k->symbol_known)
        rp_page_line(page, RP_INK_PLAIN, INDENT,
                     "VGPR %u, AGPR %u, SGPR %u, LDS %u bytes, scratch %u bytes", r->arch_vgpr,
                     r->accum_vgpr, r->sgpr, r->lds_bytes, r->scratch_bytes);
    else
        rp_page_line(page, RP_INK_PLAIN, INDENT, "registers unknown, LDS %s, scratch %s",
                     bytes_text(k, r->lds_bytes, lds), bytes_text(k, r->scratch_bytes, scratch));
}

/** Both tables share the units of their columns, so that a kernel of the runtime can be compared
 * with the program's. */
struct columns {
    struct rp_unit total, mean, max;
};

static double mean_ns(const struct rp_kernel_summary *k)
{
    return k->timed_calls ? (double)k->total_ns / (double)k->timed_calls : 0;
}

static struct columns columns_of(const struct rp_page *page, const struct rp_profile *p)
{
    struct rp_unit_span total = {0}, mean = {0}, max = {0};

    for (size_t i = 0; i < p->kernel_count; i++) {
        rp_unit_span_add(&total, (double)p->kernels[i].total_ns);
        rp_unit_span_add(&mean, mean_ns(&p->kernels[i]));
        rp_unit_span_add(&max, (double)p->kernels[i].max_ns);
    }
    return (struct columns){.total = rp_unit_of(RP_UNIT_TIME, total, page->utf8),
                            .mean = rp_unit_of(RP_UNIT_TIME, mean, page->utf8),
                            .max = rp_unit_of(RP_UNIT_TIME, max, page->utf8)};
}

static void put_times(const struct rp_page *page, const char *label,
                      const struct rp_kernel_summary *k, const struct columns *in)
{
    rp_page_line(page, RP_INK_PLAIN, 0, "%4s %8llu %14s %13s %13s  %6s", label,
                 (unsigned long long)k->calls, rp_unit_number(in->total, (double)k->total_ns).text,
                 rp_unit_number(in->mean, mean_ns(k)).text,
                 rp_unit_number(in->max, (double)k->max_ns).text, percent(k->share).text);
}

static unsigned long long blocks_of(const struct rp_kernel_summary *k, unsigned axis)
{
    const uint64_t block = k->block[axis] ? k->block[axis] : 1;

    return (k->grid[axis] + block - 1) / block;
}

static void put_kernel(const struct rp_page *page, const struct rp_profile *p, size_t index,
                       const struct columns *in)
{
    const struct rp_kernel_summary *k = &p->kernels[index];
    struct rp_number_text label = rp_number_fixed((double)index + 1, 0);

    put_times(page, label.text, k, in);
    rp_page_text(page, RP_INK_BOLD, INDENT, k->name);
    rp_page_line(page, RP_INK_PLAIN, INDENT,
                 "grid %llu x %llu x %llu blocks of %u x %u x %u (%llu x %llu x %llu work-items)",
                 blocks_of(k, 0), blocks_of(k, 1), blocks_of(k, 2), k->block[0], k->block[1],
                 k->block[2], (unsigned long long)k->grid[0], (unsigned long long)k->grid[1],
                 (unsigned long long)k->grid[2]);
    if (k->geometries > 1)
        rp_page_line(page, RP_INK_PLAIN, INDENT, "the most frequent of %u launch geometries",
                     k->geometries);
    put_resources(page, k);
    put_occupancy(page, &k->occupancy);
    if (p->agent_count > 1)
        rp_page_line(page, RP_INK_PLAIN, INDENT, "on GPU %" PRId64, gpu_number(p, k->agent));
}

static void put_table_head(const struct rp_page *page, const char *title, const struct columns *in)
{
    rp_buf_puts(page->out, "\n");
    rp_page_text(page, RP_INK_BOLD, 0, title);
    rp_page_line(page, RP_INK_DIM, 0, "%4s %8s %s %s %s  %6s", "#", "calls",
                 rp_unit_heading("total", in->total, 14).text,
                 rp_unit_heading("mean", in->mean, 13).text,
                 rp_unit_heading("max", in->max, 13).text, "share%");
}

static void put_all_kernels(const struct rp_page *page, const struct rp_profile *p, size_t user,
                            size_t runtime)
{
    const struct columns in = columns_of(page, p);

    if (user)
        put_table_head(page, "Kernels of the program", &in);
    for (size_t i = 0; i < user; i++)
        put_kernel(page, p, i, &in);
    if (runtime)
        put_table_head(page, "Kernels of the HIP runtime (its own copies and fills)", &in);
    for (size_t i = user; i < user + runtime; i++) {
        put_times(page, "", &p->kernels[i], &in);
        rp_page_text(page, RP_INK_PLAIN, INDENT, p->kernels[i].name);
    }
}

/** The program's kernels and those of the runtime share one table, so their shares are of both. */
static double share_of_all(const struct rp_profile *p, const struct rp_kernel_summary *k)
{
    const uint64_t all = p->user_ns + p->runtime_internal_ns;

    return all ? (double)k->total_ns / (double)all : 0;
}

static int by_time(const void *a, const void *b)
{
    const struct rp_kernel_summary *x = *(const struct rp_kernel_summary *const *)a;
    const struct rp_kernel_summary *y = *(const struct rp_kernel_summary *const *)b;

    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return (x > y) - (x < y);
}

static void put_row(const struct rp_page *page, const struct rp_profile *p,
                    const struct rp_kernel_summary *k, const char *name, const struct columns *in)
{
    const double share = share_of_all(p, k);
    rp_autobuf bar = {0}, what = {0};

    rp_page_bar(page, share, BAR, &bar);
    rp_buf_puts(&what, name);
    if (k->runtime_internal)
        rp_buf_puts(&what, " (HIP runtime)");
    else if (rp_dag_is_collective(k->name))
        rp_buf_puts(&what, " (communication)");
    if (p->agent_count > 1)
        rp_buf_printf(&what, ", GPU %" PRId64, gpu_number(p, k->agent));
    page->out->failed |= bar.failed || what.failed;
    rp_page_named(page, k->runtime_internal ? RP_INK_DIM : RP_INK_PLAIN, 0, rp_buf_text(&what),
                  "%6s %s %10s %7llu %9s  ", percent(share).text, rp_buf_text(&bar),
                  rp_unit_number(in->total, (double)k->total_ns).text, (unsigned long long)k->calls,
                  rp_unit_number(in->mean, mean_ns(k)).text);
}

/** Writes a line for each kernel, with names as short as they can be beside each other. */
static int put_rows(const struct rp_page *page, const struct rp_profile *p, bool all,
                    struct rp_err *err)
{
    const size_t shown = all || p->kernel_count < MOST_KERNELS ? p->kernel_count : MOST_KERNELS;
    const struct columns in = columns_of(page, p);
    rp_autofree const struct rp_kernel_summary **order = calloc(p->kernel_count + 1, sizeof *order);
    rp_autofree const char **names = calloc(shown + 1, sizeof *names);
    struct rp_short_names short_names;

    if (!names || !order)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->kernel_count; i++)
        order[i] = &p->kernels[i];
    qsort(order, p->kernel_count, sizeof *order, by_time);
    for (size_t i = 0; i < shown; i++)
        names[i] = order[i]->name;
    if (rp_short_names_make(names, shown, &short_names, err) < 0)
        return -1;
    rp_buf_puts(page->out, "\n");
    if (shown)
        rp_page_line(page, RP_INK_DIM, 0, "%6s %-12s %s %7s %s  %s", "% time", "",
                     rp_unit_heading("total", in.total, 10).text, "calls",
                     rp_unit_heading("mean", in.mean, 9).text, "kernel");
    for (size_t i = 0; i < shown; i++)
        put_row(page, p, order[i], short_names.at[i], &in);
    if (shown < p->kernel_count)
        rp_page_line(page, RP_INK_DIM, INDENT, "and %zu more: profile.json has them all",
                     p->kernel_count - shown);
    rp_short_names_free(&short_names);
    return 0;
}

static int put_kernels(const struct rp_page *page, const struct rp_profile_report *r, bool all,
                       struct rp_err *err)
{
    const struct rp_profile *p = r->profile;
    bool all_seen = !r->provenance.lost_dispatches && !r->provenance.lost_records &&
                    !r->provenance.untraced_queues;
    size_t user, runtime;
    uint64_t calls;

    count_class(p, false, &user, &calls);
    count_class(p, true, &runtime, &calls);
    if (!user)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     all_seen ? "The program launched no kernel of its own."
                              : "No kernel of the program's own was recorded.");
    if (!page->verbose)
        return put_rows(page, p, all, err);
    put_all_kernels(page, p, user, runtime);
    return 0;
}

static void put_repeat_kernels(const struct rp_page *page, const struct rp_profile_report *r)
{
    const struct rp_repeat_kernels *repeats = r->repeat_kernels;

    if (!repeats || !repeats->count)
        return;
    rp_buf_puts(page->out, "\n");
    rp_page_text(page, RP_INK_BOLD, 0,
                 "Kernels that the first run did not launch: not in its numbers");
    for (size_t i = 0; i < repeats->count && i < MOST_KERNELS; i++) {
        size_t runs = 0;

        for (size_t run = 0; run < r->runs; run++)
            runs += repeats->list[i].calls[run] > 0;
        rp_page_line(page, RP_INK_PLAIN, 0, "     in %zu of %zu runs, %s", runs, r->runs,
                     time_of(page, repeats->list[i].total_ms * 1e6).text);
        rp_page_text(page, RP_INK_BOLD, INDENT, repeats->list[i].summary.name);
    }
    if (repeats->count > MOST_KERNELS)
        rp_page_line(page, RP_INK_PLAIN, INDENT, "and %zu more: profile.json has them all",
                     repeats->count - MOST_KERNELS);
}

/* The tail has warnings about the result. */

static unsigned long long count_fixed_gpus(const struct rp_profile *p)
{
    unsigned long long mended = 0;

    for (size_t i = 0; i < p->agent_count; i++)
        mended += p->agents[i].vgprs_doubled;
    return mended;
}

static void put_warnings(const struct rp_page *page, const struct rp_profile_report *r)
{
    const struct rp_provenance *from = &r->provenance;
    const struct rp_profile *p = r->profile;
    unsigned long long mended = count_fixed_gpus(p);
    const struct {
        unsigned long long n;
        const char *what;
    } warnings[] = {
        {p->repaired_timestamps, "dispatches without a usable time (listed, not timed)"},
        {p->clipped_ends, "ends that cannot be (clipped)"},
        {p->unknown_kernels, "dispatches of kernels that the trace does not name"},
        {from->incomplete_traces, "traces not closed in order (the end of the run may be missing)"},
        {from->lost_records, "records the tracer could not write"},
        {from->lost_dispatches, "dispatches without an end, or without times"},
        {from->untraced_queues, "processes with a queue that could not be traced"},
        {mended, "GPUs whose tracer reports half of the VGPRs (fixed)"},
        {from->window_over ? 0 : (unsigned long long)from->exit_status,
         "exit status of the program"},
    };

    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
        if (warnings[i].n)
            rp_page_line(page, RP_INK_YELLOW, 0, "warning: %s: %llu", warnings[i].what,
                         warnings[i].n);
    }
}

/* Work that did not happen took no time, so the numbers below cover less than the program. */
static void put_launches(const struct rp_page *page, const struct rp_launches *l)
{
    if (!l->failed)
        return;
    rp_page_line(page, RP_INK_RED, 0, "warning: %llu of %llu launch call%s started no kernel%s",
                 (unsigned long long)l->failed, (unsigned long long)l->calls,
                 l->calls == 1 ? "" : "s",
                 l->inferred ? ", as far as the trace tells" : ": HIP refused them");
    for (size_t i = 0; i < l->count && i < MOST_KERNELS; i++) {
        rp_autobuf text = {0};

        rp_failed_launch_put(&text, &l->list[i]);
        page->out->failed |= text.failed;
        rp_page_words(page, RP_INK_RED, INDENT, 2, "%s", rp_buf_text(&text));
    }
    if (l->count > MOST_KERNELS)
        rp_page_line(page, RP_INK_RED, INDENT, "and %zu more: profile.json has them",
                     l->count - MOST_KERNELS);
}

static void put_counts(const struct rp_page *page, const char *name, const uint64_t *counts,
                       size_t runs, bool geometry)
{
    enum { MOST_SHOWN = 12 };
    rp_autobuf text = {0};

    rp_buf_puts(&text, "by run:");
    for (size_t i = 0; i < runs && i < MOST_SHOWN; i++)
        rp_buf_printf(&text, "%s %llu", i ? "," : "", (unsigned long long)counts[i]);
    rp_buf_printf(&text, "%s%s  ", runs > MOST_SHOWN ? ", ..." : "",
                  geometry ? "; other grid or block" : "");
    page->out->failed |= text.failed;
    rp_page_named(page, RP_INK_YELLOW, INDENT, name, "%s", rp_buf_text(&text));
}

static void put_differences(const struct rp_page *page, const struct rp_profile_report *r)
{
    const struct rp_run_differences *d = r->differences;

    if (!d || (!d->count && !d->failed))
        return;
    rp_page_line(page, RP_INK_YELLOW, 0,
                 "warning: the runs launch different work; their spread includes that");
    for (size_t i = 0; i < d->count && i < MOST_KERNELS; i++)
        put_counts(page, d->list[i].name, d->list[i].calls, r->runs, d->list[i].geometry);
    if (d->count > MOST_KERNELS)
        rp_page_line(page, RP_INK_YELLOW, INDENT, "and %zu more kernels: profile.json has them",
                     d->count - MOST_KERNELS);
    if (d->failed && r->failed_launches)
        put_counts(page, "launches that failed", r->failed_launches, r->runs, false);
}

int rp_report_profile_term(const struct rp_profile_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);

    put_head(&page, report);
    put_warnings(&page, report); /* Warnings come before the numbers that they are about. */
    if (report->measurement == RP_MEASURED_DISPATCHES) {
        put_launches(&page, &report->profile->launches);
        put_differences(&page, report);
    }
    if (report->measurement == RP_MEASURED_DISPATCHES &&
        put_kernels(&page, report, !style.width, err) < 0)
        return -(int)RP_ENVIRONMENT;
    put_repeat_kernels(&page, report);
    if (report->profile->process_count > 1) {
        rp_buf_puts(buf, "\n");
        if (rp_report_processes_term(report->profile, style, buf, err) < 0)
            return -(int)RP_ENVIRONMENT;
    }
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory while writing the report") : 0;
}

/* The table of kernels and counters has a block for each kernel. A terminal shows the first ones; a
 * file or a pipe gets all. */

enum { COUNTERS_TERM_MOST_KERNELS = 6, MOST_COUNTERS = 16, NUMBER = 15, LEAST_NAME = 30 };

static bool has_derived(const struct rp_roofline_kernel *k)
{
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++)
        if (k->derived[i].asked)
            return true;
    return false;
}

/* Counts are whole numbers; means and metrics of rocprofv3 may be fractions. */
static const char *number(double value, char room[32])
{
    if (value == floor(value) && value < 1e15)
        snprintf(room, 32, "%.0f", value);
    else
        snprintf(room, 32, fabs(value) >= 1000 && value < 1e15 ? "%.1f" : "%.6g", value);
    return room;
}

static int name_width(const struct rp_roofline_kernel *k, size_t shown)
{
    size_t width = LEAST_NAME;

    for (size_t i = 0; i < shown; i++)
        if (rp_text_cells(k->counts[i].name) > width)
            width = rp_text_cells(k->counts[i].name);
    return (int)width;
}

static void put_derived(const struct rp_page *page, const struct rp_derived_value *d,
                        const struct rp_derived_info *info, int width)
{
    bool percent = strcmp(info->unit, "%") == 0;
    rp_autobuf why = {0};
    char value[32] = "-";

    if (d->q.known && percent)
        snprintf(value, sizeof value, "%.1f", d->q.value * 100);
    else if (d->q.known && fabs(d->q.value) < 10000)
        snprintf(value, sizeof value, "%.4g", d->q.value);
    else if (d->q.known) /* The value stands beside counters that are written out. */
        number(d->q.value, value);
    for (size_t i = 0; i < RP_DERIVED_COUNTERS && d->missing[i]; i++)
        rp_buf_printf(&why, "%s%s", i ? ", " : "needs ", d->missing[i]);
    if (!d->q.known && d->reason)
        rp_buf_puts(&why, d->reason);
    rp_page_words(page, RP_INK_PLAIN, 4, 4, "%-*s %*s %s", width, info->title, NUMBER, value,
                  d->q.known ? info->unit : rp_buf_text(&why));
    page->out->failed |= why.failed;
}

static void put_count(const struct rp_page *page, const struct rp_roofline_kernel *k,
                      const struct rp_kernel_count *c, int width)
{
    int pad = width - (int)rp_text_cells(c->name);
    char sum[32] = "-", mean[32], of[64] = "";

    if (c->dispatches < k->calls)
        snprintf(of, sizeof of, "  %" PRIu64 " of %" PRIu64, c->dispatches, k->calls);
    if (rp_counter_adds_up(c->name))
        number(c->sum, sum);
    rp_page_words(page, RP_INK_PLAIN, 4, 4, "%s%*s %*s %*s%s", c->name, pad > 0 ? pad : 0, "",
                  NUMBER, sum, NUMBER, number(c->sum / (double)c->dispatches, mean), of);
}

static void counters_term_put_kernel(const struct rp_page *page, const struct rp_roofline *r,
                                     const struct rp_roofline_kernel *k, bool raw, size_t most)
{
    size_t shown = !raw ? 0 : k->count_count < most ? k->count_count : most;
    int width = name_width(k, shown);
    char gpu[40] = "";

    if (r->device_count > 1)
        snprintf(gpu, sizeof gpu, ", GPU %" PRId64, r->devices[k->device].id);
    rp_page_words(page, RP_INK_BOLD, 2, 2, "%s", k->name);
    rp_page_words(page, RP_INK_DIM, 4, 4, "%" PRIu64 " dispatch%s%s", k->calls,
                  k->calls == 1 ? "" : "es", gpu);
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++)
        if (k->derived[i].asked)
            put_derived(page, &k->derived[i], rp_derived_info((enum rp_derived)i), width);
    if (shown)
        rp_page_words(page, RP_INK_DIM, 4, 4, "%-*s %*s %*s", width, "counter", NUMBER, "sum",
                      NUMBER, "per dispatch");
    for (size_t i = 0; i < shown; i++)
        put_count(page, k, &k->counts[i], width);
    if (raw && shown < k->count_count)
        rp_page_words(page, RP_INK_DIM, 4, 4,
                      "and %zu more counters: in roofline.json (analyze --roofline), or in a pipe",
                      k->count_count - shown);
}

int rp_report_counters_term(const struct rp_roofline *r, bool raw, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of_words(buf, style);
    size_t most = style.width ? COUNTERS_TERM_MOST_KERNELS : r->kernel_count, shown = 0, more = 0;

    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (k->count_count == 0 || (!raw && !has_derived(k)))
            continue;
        if (shown == most) {
            more++;
            continue;
        }
        if (shown++ == 0)
            rp_page_words(&page, RP_INK_BOLD, 0, 0, "Counters of each kernel");
        counters_term_put_kernel(&page, r, k, raw, style.width ? MOST_COUNTERS : k->count_count);
    }
    if (more)
        rp_page_words(&page, RP_INK_DIM, 2, 2,
                      "and %zu more kernels: in roofline.json (analyze --roofline), or in a pipe",
                      more);
    return rp_report_end(buf, err);
}
