#include "analysis/roofline/parts.h"

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- names -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *other, *what;
} counter_names[] = {
#define COUNTER(id, name, other, what) {name, other, what},
#include "analysis/roofline/counters.def"
#undef COUNTER
};

const char *rp_roof_counter_name(enum rp_roof_counter counter)
{
    return counter_names[counter].name;
}

const char *rp_roof_counter_what(enum rp_roof_counter counter)
{
    return counter_names[counter].what;
}

/* Blocks of one instance for the whole GPU or shader engine are summed by the readers; of the many
 * caches rocprofv3 gives the sum itself, which makes smaller traces. */
const char *rp_roof_collected_name(enum rp_roof_counter counter, bool other)
{
    static const struct {
        const char *name, *other;
    } sums[] = {
#define COUNTER(id, name, other, what) {name "_sum", other "_sum"},
#include "analysis/roofline/counters.def"
#undef COUNTER
    };
    bool has_other = other && *counter_names[counter].other;
    const char *plain = has_other ? counter_names[counter].other : counter_names[counter].name;

    if (strncmp(plain, "TCC_", 4) != 0 && strncmp(plain, "TCP_", 4) != 0)
        return plain;
    return has_other ? sums[counter].other : sums[counter].name;
}

const char *rp_flop_name(enum rp_flop_type type)
{
    static const char *const names[] = {
#define RP_FLOP(id, name, unit) name,
#include "rocm-perf/flop_types.def"
#undef RP_FLOP
    };
    return names[type];
}

const char *rp_level_name(enum rp_level level)
{
    static const char *const names[] = {"hbm", "l2", "l1", "lds"};
    return names[level];
}

const char *rp_bound_name(enum rp_bound bound)
{
    static const char *const names[] = {NULL, "hbm", "l2", "l1", "lds", "valu", "mfma"};
    return names[bound];
}

const char *rp_level_class_name(enum rp_level_class level_class)
{
    static const char *const names[] = {NULL, "memory", "compute"};
    return names[level_class];
}

const char *rp_peak_name(enum rp_peak peak)
{
    static const char *const names[] = {NULL, "below", "infinity_cache", "above_measured",
                                        "impossible"};
    return names[peak];
}

const char *rp_convention_name(enum rp_convention convention)
{
    static const char *const names[] = {"l2_tcc_req_x128", "l2_tcp_tcc_req_x64",
                                        "l2_tcp_tcc_rd128_wr64", "l1_accesses_x64",
                                        "l1_accesses_x128"};
    return names[convention];
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

/* --- kernels ------------------------------------------------------------------------------ */

/* Which counter of the file is which of ours: 1 + index, as the sum and as instances. */
struct columns {
    uint32_t at[RP_ROOF_COUNTERS][2];
};

static struct columns find_columns(const struct rp_counters *counters)
{
    struct columns columns;

    for (int c = 0; c < RP_ROOF_COUNTERS; c++)
        for (int plain = 0; plain < 2; plain++)
            columns.at[c][plain] =
                (uint32_t)(rp_roof_find(counters, (enum rp_roof_counter)c, !plain) + 1);
    return columns;
}

static bool value_of(const struct rp_counted_dispatch *d, const uint32_t at[2], double *ret)
{
    return (at[0] && rp_counters_value(d, at[0] - 1, ret)) ||
           (at[1] && rp_counters_value(d, at[1] - 1, ret));
}

/* What the dispatches of a kernel say together, and those of them alone that counted reads. */
struct kernel_sums {
    struct rp_roof_sums all, of_reads;
};

static void add_counters(const struct rp_quantity now[RP_ROOF_COUNTERS], struct rp_roof_sums *sums)
{
    for (int c = 0; c < RP_ROOF_COUNTERS; c++) {
        sums->counted[c] += now[c].known;
        sums->of[c].known &= now[c].known;
        sums->of[c].value += now[c].value;
    }
    rp_roof_see_excess(now, sums);
}

static void add_dispatch(const struct rp_counted_dispatch *d, const struct columns *columns,
                         struct kernel_sums *sums, struct rp_roofline_kernel *kernel)
{
    struct rp_quantity now[RP_ROOF_COUNTERS] = {0};

    kernel->calls++;
    kernel->time_ns.known &= d->timed;
    kernel->time_ns.value += d->duration_ns;
    for (int c = 0; c < RP_ROOF_COUNTERS; c++)
        now[c].known = value_of(d, columns->at[c], &now[c].value);
    add_counters(now, &sums->all);
    rp_roof_see_inputs(now, &sums->all);
    if (now[RP_ROOF_READS].known && now[RP_ROOF_READS_32].known)
        add_counters(now, &sums->of_reads);
}

/* By which a derived counter divides: bytes and requests of the same dispatches. */
static struct rp_quantity bytes_of_reads(const struct kernel_sums *sums,
                                         const struct rp_roof_arch *arch, enum rp_flop_model model)
{
    struct rp_roofline_kernel some = {0};

    rp_roof_measure(&sums->of_reads, arch, model, &some);
    some.hbm_read.known = some.hbm_read.known && !some.reads_by_width;
    return some.hbm_read;
}

/* The sum of the instances goes before them, as in the formulas. */
static const char *name_in_file(const struct rp_counters *counters, const struct columns *columns,
                                enum rp_roof_counter counter)
{
    const uint32_t *at = columns->at[counter];

    return at[0] ? counters->names[at[0] - 1] : at[1] ? counters->names[at[1] - 1] : NULL;
}

static void name_differences(const struct rp_counters *counters, const struct columns *columns,
                             struct rp_roofline_kernel *kernel)
{
    for (size_t i = 0; i < RP_DIFFERENCE_COUNT; i++) {
        const struct rp_roof_difference *of = rp_roof_difference((enum rp_difference)i);
        struct rp_pass_difference *d = &kernel->differences[i];

        d->whole = name_in_file(counters, columns, of->whole);
        for (size_t p = 0; p < of->part_count; p++)
            d->parts[p] = name_in_file(counters, columns, of->parts[p]);
    }
}

static int by_group(const void *left, const void *right)
{
    const struct rp_counted_dispatch *a = *(const struct rp_counted_dispatch *const *)left;
    const struct rp_counted_dispatch *b = *(const struct rp_counted_dispatch *const *)right;

    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a > b) - (a < b); /* as the file has them: sums of reals depend on the order */
}

static int by_time(const void *left, const void *right)
{
    const struct rp_roofline_kernel *a = left, *b = right;

    if (a->time_ns.value != b->time_ns.value)
        return a->time_ns.value > b->time_ns.value ? -1 : 1;
    if (strcmp(a->name, b->name) != 0)
        return strcmp(a->name, b->name);
    return a->device < b->device ? -1 : a->device > b->device;
}

/* What the dispatches of a kernel say together. */
struct group {
    const struct rp_counters *counters;
    const struct rp_roofline_options *options;
    struct columns columns;
    struct rp_roof_counts counts;
};

static int add_kernel(struct group *g, const struct rp_counted_dispatch *const *all, size_t count,
                      struct rp_roofline *r, struct rp_err *err)
{
    struct rp_roofline_kernel *kernel = &r->kernels[r->kernel_count++];
    const struct rp_roofline_device *device = &r->devices[all[0]->device];
    const struct rp_roof_arch *arch = rp_roof_arch_find(device->arch);
    struct kernel_sums sums = {0};

    for (int c = 0; c < RP_ROOF_COUNTERS; c++)
        sums.all.of[c] = sums.of_reads.of[c] = (struct rp_quantity){.known = true};
    kernel->name = g->counters->kernels[all[0]->kernel];
    kernel->device = all[0]->device;
    kernel->time_ns.known = true;
    for (size_t i = 0; i < count; i++) {
        add_dispatch(all[i], &g->columns, &sums, kernel);
        rp_roof_counts_add(all[i], &g->counts);
    }
    rp_roof_measure(&sums.all, arch, g->options->model, kernel);
    name_differences(g->counters, &g->columns, kernel);
    rp_roof_derive(kernel, &device->ceilings);
    rp_roof_find_peaks(device, g->options->measured != NULL, kernel);
    if (!rp_roof_counts_take(&g->counts, kernel))
        return no_memory(err);
    rp_roof_derive_counters(&sums.all, device, bytes_of_reads(&sums, arch, g->options->model),
                            kernel);
    return 0;
}

static size_t same_group(const struct rp_counted_dispatch *const *all, size_t count)
{
    size_t same = 1;

    while (same < count && all[same]->kernel == all[0]->kernel &&
           all[same]->device == all[0]->device)
        same++;
    return same;
}

static int add_kernels(const struct rp_counters *counters,
                       const struct rp_roofline_options *options, struct rp_roofline *ret,
                       struct rp_err *err)
{
    size_t count = counters->dispatch_count, groups = 0;
    rp_autofree const struct rp_counted_dispatch **all = calloc(count + 1, sizeof(void *));
    rp_cleanup(rp_roof_counts_free) struct rp_roof_counts counts = {0};
    struct group g = {.counters = counters, .options = options, .columns = find_columns(counters)};
    int result = 0;

    if (!all || !rp_roof_counts_make(counters, &counts))
        return no_memory(err);
    g.counts = counts;
    for (size_t i = 0; i < count; i++)
        all[i] = &counters->dispatches[i];
    qsort(all, count, sizeof(void *), by_group);
    for (size_t i = 0; i < count; i += same_group(all + i, count - i))
        groups++;
    ret->kernels = calloc(groups + 1, sizeof *ret->kernels);
    if (!ret->kernels)
        return no_memory(err);
    for (size_t i = 0, same; i < count && result == 0; i += same) {
        same = same_group(all + i, count - i);
        result = add_kernel(&g, all + i, same, ret, err);
    }
    qsort(ret->kernels, ret->kernel_count, sizeof *ret->kernels, by_time);
    return result;
}

/* --- the program -------------------------------------------------------------------------- */

static void add(struct rp_quantity *sum, struct rp_quantity q)
{
    sum->known &= q.known;
    sum->value = sum->known ? sum->value + q.value : 0;
}

static void add_up(struct rp_roofline *r, bool measured)
{
    static const struct rp_ceilings none;
    struct rp_roofline_kernel *p = &r->program;
    const struct rp_ceilings *ceilings = &none;
    bool same = true, ranged = false;

    p->time_ns.known = p->matrix_int8_ops.known = p->hbm_read.known = p->hbm_write.known = true;
    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        p->flops_by_type[i].known = true;
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++)
        p->bytes[i].known = true;
    for (size_t i = 0; i < RP_CONVENTION_COUNT; i++)
        p->by_convention[i].known = true;
    for (size_t k = 0; k < r->kernel_count; k++) {
        const struct rp_roofline_kernel *one = &r->kernels[k];
        p->calls += one->calls;
        p->flops_by_width |= one->flops_by_width;
        p->reads_by_width |= one->reads_by_width;
        same &= one->device == r->kernels[0].device;
        ranged |= one->hbm_read_least.known;
        add(&p->time_ns, one->time_ns);
        add(&p->matrix_int8_ops, one->matrix_int8_ops);
        add(&p->hbm_read, one->hbm_read);
        add(&p->hbm_write, one->hbm_write);
        for (size_t i = 0; i < RP_FLOP_COUNT; i++)
            add(&p->flops_by_type[i], one->flops_by_type[i]);
        for (size_t i = 0; i < RP_LEVEL_COUNT; i++)
            add(&p->bytes[i], one->bytes[i]);
        for (size_t i = 0; i < RP_CONVENTION_COUNT; i++)
            add(&p->by_convention[i], one->by_convention[i]);
    }
    p->hbm_read_least.known = p->hbm_read_most.known = ranged;
    for (size_t k = 0; k < r->kernel_count && ranged; k++) {
        const struct rp_roofline_kernel *one = &r->kernels[k];
        add(&p->hbm_read_least, one->hbm_read.known ? one->hbm_read : one->hbm_read_least);
        add(&p->hbm_read_most, one->hbm_read.known ? one->hbm_read : one->hbm_read_most);
    }
    if (r->kernel_count && same) {
        p->device = r->kernels[0].device;
        ceilings = &r->devices[p->device].ceilings;
    }
    rp_roof_derive(p, ceilings);
    if (r->kernel_count && same)
        rp_roof_find_peaks(&r->devices[p->device], measured, p);
}

static bool is_useful(const struct rp_roofline_kernel *k)
{
    bool useful = k->flops.known || k->hbm_read.known || k->hbm_write.known;

    for (size_t i = 0; i < RP_LEVEL_COUNT; i++)
        useful |= k->bytes[i].known;
    for (size_t i = 0; i < RP_CONVENTION_COUNT; i++)
        useful |= k->by_convention[i].known;
    return useful;
}

static int find_reason(const struct rp_counters *counters, struct rp_roofline *r,
                       struct rp_err *err)
{
    rp_autobuf text = {0};

    for (size_t i = 0; i < r->kernel_count; i++)
        if (is_useful(&r->kernels[i]))
            return 0;
    if (counters->dispatch_count == 0)
        rp_buf_puts(&text, "there are no kernel dispatches");
    else if (counters->name_count == 0)
        rp_buf_puts(&text, "no hardware counters were collected");
    else
        rp_buf_puts(&text, "no kernel has all the counters of one formula in all its dispatches; "
                           "collected were");
    for (size_t i = 0; i < counters->name_count && counters->dispatch_count; i++) {
        rp_buf_printf(&text, "%s %s", i ? "," : "", counters->names[i]);
        if (i == 15 && counters->name_count > 16) {
            rp_buf_puts(&text, " ...");
            break;
        }
    }
    r->reason = rp_buf_steal(&text);
    return r->reason ? 0 : no_memory(err);
}

/* --- notes -------------------------------------------------------------------------------- */

bool rp_roof_note(struct rp_roofline *r, const char *fmt, ...)
{
    rp_autobuf text = {0};
    char **grown;
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < r->note_count && !text.failed; i++)
        if (strcmp(r->notes[i], rp_buf_text(&text)) == 0)
            return true;
    grown = realloc(r->notes, (r->note_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    r->notes = grown;
    grown[r->note_count] = rp_buf_steal(&text);
    r->note_count += grown[r->note_count] != NULL;
    return !text.failed;
}

/* --- all ---------------------------------------------------------------------------------- */

int rp_roofline_compute(const struct rp_counters *counters,
                        const struct rp_roofline_options *options, struct rp_roofline *ret,
                        struct rp_err *err)
{
    struct rp_roofline r = {.origin = options->origin,
                            .counter_names = counters->names,
                            .counter_name_count = counters->name_count};
    int result = rp_roof_devices(counters, options, &r, err);

    if (result == 0)
        result = add_kernels(counters, options, &r, err);
    if (result == 0) {
        add_up(&r, options->measured != NULL);
        result = find_reason(counters, &r, err);
    }
    if (result == 0 && !rp_roof_notes(counters, options, &r))
        result = no_memory(err);
    if (result == 0 && options->measured &&
        !rp_roof_note(&r, "ceilings are measured ones (--ceilings) as far as they were measured"))
        result = no_memory(err);
    if (result < 0) {
        rp_roofline_free(&r);
        return result;
    }
    *ret = r;
    return 0;
}

void rp_roofline_free(struct rp_roofline *r)
{
    for (size_t i = 0; i < r->note_count; i++)
        free(r->notes[i]);
    for (size_t i = 0; i < r->kernel_count; i++)
        free(r->kernels[i].counts);
    free(r->notes);
    free(r->kernels);
    free(r->devices);
    free(r->reason);
    *r = (struct rp_roofline){0};
}
