#include "analyze/roofline.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline_counters.h"
#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/records.h"

/* The formulas are from AMD's documentation of the counters and rocprof-compute's roofline.
 * docs/how-it-decides.md says where the published ones disagree and what real GPUs show. */

enum {
    LANES = 64,        /**< of a wave: as if all were active */
    MOPS = 512,        /**< operations in the unit of the MFMA_MOPS counters */
    WIDTH_OF_VALU = 8, /**< FLOPs of a vector instruction in the simple model */
    LDS_BYTES = 4 * 32 /**< of a clock in which the LDS works: 32 banks */
};

typedef struct rp_quantity quantity;

static quantity times(double factor, quantity q)
{
    q.value *= factor;
    return q;
}

static quantity plus(quantity a, quantity b)
{
    return (quantity){.known = a.known && b.known, .value = a.value + b.value};
}

static quantity minus(quantity a, quantity b)
{
    return plus(a, times(-1, b));
}

/* --- work --------------------------------------------------------------------------------- */

static quantity valu(const quantity *of, enum rp_roof_counter add)
{
    /* ADD, MUL, TRANS and FMA stand in this order in roofline_counters.def. */
    quantity single = plus(plus(of[add], of[add + 1]), of[add + 2]);

    return times(LANES, plus(single, times(2, of[add + 3])));
}

static void measure_work(const quantity *of, struct rp_roofline_kernel *ret)
{
    static const struct {
        enum rp_flop_type type;
        enum rp_roof_counter mops;
    } matrix[] = {
        {RP_FLOP_MFMA_F16, RP_ROOF_MOPS_F16}, {RP_FLOP_MFMA_BF16, RP_ROOF_MOPS_BF16},
        {RP_FLOP_MFMA_F32, RP_ROOF_MOPS_F32}, {RP_FLOP_MFMA_F64, RP_ROOF_MOPS_F64},
        {RP_FLOP_MFMA_F8, RP_ROOF_MOPS_F8},   {RP_FLOP_MFMA_F6F4, RP_ROOF_MOPS_F6F4},
    };

    ret->flops_by_type[RP_FLOP_VALU_F16] = valu(of, RP_ROOF_ADD_F16);
    ret->flops_by_type[RP_FLOP_VALU_F32] = valu(of, RP_ROOF_ADD_F32);
    ret->flops_by_type[RP_FLOP_VALU_F64] = valu(of, RP_ROOF_ADD_F64);
    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++)
        ret->flops_by_type[matrix[i].type] = times(MOPS, of[matrix[i].mops]);
    ret->matrix_int8_ops = times(MOPS, of[RP_ROOF_MOPS_I8]);
}

static bool any_work(const struct rp_roofline_kernel *k)
{
    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        if (k->flops_by_type[i].known)
            return true;
    return false;
}

static void work_by_width(const quantity *of, struct rp_roofline_kernel *ret)
{
    memset(ret->flops_by_type, 0, sizeof ret->flops_by_type);
    ret->flops_by_type[RP_FLOP_VALU_F32] = times(WIDTH_OF_VALU, of[RP_ROOF_INSTS_VALU]);
    ret->flops_by_type[RP_FLOP_MFMA_F32] = times(MOPS, of[RP_ROOF_MOPS_F32]);
    ret->flops_by_width = true;
}

/* --- memory ------------------------------------------------------------------------------- */

/* Holds what is known of a kernel, and where it is noted how far passes disagree. */
struct measuring {
    const quantity *of;
    const struct rp_roof_sums *sums;
    struct rp_roofline_kernel *kernel;
};

static quantity rest_of(const struct measuring *m, enum rp_difference difference)
{
    return rp_roof_rest(m->sums, difference, m->kernel);
}

static quantity reads_32_64(const struct measuring *m)
{
    return plus(times(64, rest_of(m, RP_DIFFERENCE_READS_OF_TWO)),
                times(32, m->of[RP_ROOF_READS_32]));
}

static quantity reads_bubble(const struct measuring *m)
{
    return plus(plus(times(128, m->of[RP_ROOF_BUBBLES]),
                     times(64, rest_of(m, RP_DIFFERENCE_READS_OF_BUBBLE))),
                times(32, m->of[RP_ROOF_READS_32]));
}

static quantity reads_128(const struct measuring *m)
{
    quantity rest = m->of[RP_ROOF_READS_64];

    if (!rest.known)
        rest = rest_of(m, RP_DIFFERENCE_READS_OF_128);
    return plus(plus(times(128, m->of[RP_ROOF_READS_128]), times(64, rest)),
                times(32, m->of[RP_ROOF_READS_32]));
}

static quantity writes(const struct measuring *m)
{
    return plus(times(64, m->of[RP_ROOF_WRITES_64]), times(32, rest_of(m, RP_DIFFERENCE_WRITES)));
}

/* These counters contradict each other, and a value derived from fewer of them would hide it. */
static bool reads_contradict(const struct rp_roofline_kernel *k)
{
    return k->differences[RP_DIFFERENCE_READS_OF_BUBBLE].withheld ||
           k->differences[RP_DIFFERENCE_READS_OF_128].withheld ||
           k->differences[RP_DIFFERENCE_READS_OF_TWO].withheld;
}

/* gfx950 may lack the counter of long reads: then each may have 64 or 128 bytes. */
static void range_of_reads(const struct measuring *m, struct rp_roofline_kernel *ret)
{
    quantity least = reads_32_64(m);

    if (!least.known)
        return;
    ret->hbm_read_least = least;
    ret->hbm_read_most = minus(times(2, least), times(32, m->of[RP_ROOF_READS_32]));
}

static quantity exact_reads(const struct measuring *m, enum rp_traffic_counters memory)
{
    quantity none = {0};

    switch (memory) {
    case RP_TRAFFIC_EA:
        return reads_32_64(m);
    case RP_TRAFFIC_EA0_BUBBLE:
        return reads_bubble(m);
    case RP_TRAFFIC_EA0_128B:
        return reads_128(m);
    case RP_TRAFFIC_UNKNOWN:
        break;
    }
    return none;
}

static void measure_memory(const struct measuring *m, enum rp_traffic_counters memory,
                           enum rp_flop_model model, struct rp_roofline_kernel *ret)
{
    /* FETCH_SIZE is made from TCC_BUBBLE: on gfx950 it is wrong, and so is the simple model. */
    bool substitutes = memory != RP_TRAFFIC_EA0_128B;

    if (model != RP_FLOPS_WIDTH) {
        ret->hbm_read = exact_reads(m, memory);
        if (!ret->hbm_read.known && substitutes)
            ret->hbm_read = times(1024, m->of[RP_ROOF_FETCH_SIZE]);
    }
    if (model == RP_FLOPS_WIDTH ||
        (model == RP_FLOPS_AUTO && substitutes && !ret->hbm_read.known && !reads_contradict(ret))) {
        ret->hbm_read = reads_32_64(m);
        ret->reads_by_width = ret->hbm_read.known;
    }
    if (!ret->hbm_read.known && !substitutes && !reads_contradict(ret))
        range_of_reads(m, ret);
    ret->hbm_write = writes(m);
    if (!ret->hbm_write.known)
        ret->hbm_write = times(1024, m->of[RP_ROOF_WRITE_SIZE]);
}

/* --- caches ------------------------------------------------------------------------------- */

static void measure_caches(const struct measuring *m, const struct rp_arch_roofline *arch,
                           struct rp_roofline_kernel *ret)
{
    const quantity *of = m->of;
    quantity others = plus(plus(of[RP_ROOF_L1_MISS_WRITES], of[RP_ROOF_L1_MISS_ATOMICS]),
                           of[RP_ROOF_L1_MISS_ATOMICS_NO_RET]);
    quantity *by = ret->by_convention;

    by[RP_L2_REQUESTS_128] = times(128, of[RP_ROOF_L2_REQUESTS]);
    by[RP_L2_FROM_L1_64] = times(64, plus(of[RP_ROOF_L1_MISS_READS], others));
    if (arch)
        by[RP_L2_FROM_L1_READS_128] =
            plus(times(arch->l2_read_bytes, of[RP_ROOF_L1_MISS_READS]), times(64, others));
    by[RP_L1_ACCESSES_64] = times(64, of[RP_ROOF_L1_ACCESSES]);
    by[RP_L1_ACCESSES_128] = times(128, of[RP_ROOF_L1_ACCESSES]);
    ret->bytes[RP_LEVEL_L2] = by[RP_L2_FROM_L1_READS_128];
    ret->bytes[RP_LEVEL_L1] = by[RP_L1_ACCESSES_64];
    ret->bytes[RP_LEVEL_LDS] = times(LDS_BYTES, rest_of(m, RP_DIFFERENCE_LDS));
    rest_of(m,
            /* It is only computed to see how far its passes disagree (see derived values). */
            RP_DIFFERENCE_L1_HITS);
}

/* A product with something unknown is no number. */
static void clean(quantity *q, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!q[i].known)
            q[i].value = 0;
}

/** Computes FLOPs and bytes of a kernel from its counters. @p arch may be NULL. */
static void roof_measure(const struct rp_roof_sums *sums, const struct rp_arch_roofline *arch,
                         enum rp_flop_model model, struct rp_roofline_kernel *ret)
{
    const quantity *of = sums->of;
    const struct measuring m = {.of = of, .sums = sums, .kernel = ret};

    if (model != RP_FLOPS_WIDTH)
        measure_work(of, ret);
    if (model == RP_FLOPS_WIDTH || (model == RP_FLOPS_AUTO && !any_work(ret)))
        if (of[RP_ROOF_INSTS_VALU].known)
            work_by_width(of, ret);
    measure_memory(&m, arch ? arch->traffic : RP_TRAFFIC_UNKNOWN, model, ret);
    measure_caches(&m, arch, ret);
    clean(ret->flops_by_type, RP_FLOP_COUNT);
    clean(ret->bytes, RP_LEVEL_COUNT);
    clean(ret->by_convention, RP_CONVENTION_COUNT);
    clean(&ret->matrix_int8_ops, 1);
    clean(&ret->hbm_read, 1);
    clean(&ret->hbm_write, 1);
}

/* --- rates -------------------------------------------------------------------------------- */

static quantity ratio(quantity a, quantity b)
{
    bool known = a.known && b.known && b.value > 0;

    return (quantity){.known = known, .value = known ? a.value / b.value : 0};
}

/* Returns the time that the unit needs at least, in ns, because its types share it. */
static quantity unit_time(const struct rp_roofline_kernel *k, const struct rp_ceilings *c,
                          bool matrix)
{
    static const bool is_matrix[] = {
#define RP_FLOP(id, name, unit) RP_UNIT_##unit,
#define RP_UNIT_VALU            false
#define RP_UNIT_MFMA            true
#include "analyze/flop_types.def"
#undef RP_FLOP
    };
    quantity sum = {.known = true};

    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        if (is_matrix[i] == matrix && k->flops_by_type[i].known && k->flops_by_type[i].value > 0)
            sum = plus(sum, ratio(k->flops_by_type[i], c->gflops[i]));
    return sum;
}

/* Finds for each level on which side of the ridge the kernel is. Both units can work at once. */
static void find_classes(struct rp_roofline_kernel *k, const quantity *need)
{
    const quantity *valu_time = &need[RP_LEVEL_COUNT], *mfma_time = valu_time + 1;
    double compute = valu_time->value > mfma_time->value ? valu_time->value : mfma_time->value;

    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        bool known = k->flops.known && need[i].known && valu_time->known && mfma_time->known &&
                     (need[i].value > 0 || compute > 0);
        k->level_class[i] = !known                    ? RP_CLASS_UNKNOWN
                            : need[i].value < compute ? RP_CLASS_COMPUTE
                                                      : RP_CLASS_MEMORY;
    }
}

static void find_bound(struct rp_roofline_kernel *k, const struct rp_ceilings *c)
{
    quantity need[RP_LEVEL_COUNT + 2], most = {0};

    for (size_t i = 0; i < RP_LEVEL_COUNT; i++)
        need[i] = ratio(k->bytes[i], c->gbps[i]);
    need[RP_LEVEL_COUNT] = unit_time(k, c, false);
    need[RP_LEVEL_COUNT + 1] = unit_time(k, c, true);
    find_classes(k, need);
    k->bound = RP_BOUND_UNKNOWN;
    if (!k->flops.known || !need[RP_LEVEL_HBM].known || !need[RP_LEVEL_COUNT].known ||
        !need[RP_LEVEL_COUNT + 1].known)
        return;
    for (size_t i = 0; i < RP_LEVEL_COUNT + 2; i++)
        if (need[i].known && need[i].value > most.value) {
            most = need[i];
            k->bound = (enum rp_bound)(RP_BOUND_HBM + i);
        }
    k->bound_share = ratio(most, k->time_ns);
}

/* Explains a rate above the peak of HBM. It is what the L2 asks of the fabric, and with an Infinity
 * Cache, data that fits it never reaches HBM. Where nobody says what that cache delivers, it is at
 * least not more than the L2. */
static enum rp_peak above_hbm(const struct rp_roofline_device *d, double gbps)
{
    const struct rp_arch *arch = rp_arch_find(d->arch);
    const struct rp_arch_roofline *roof = rp_roof_arch_find(d->arch);
    double most = roof ? roof->mall_gbps : 0;

    if (!arch || arch->mall_bytes == 0)
        return RP_PEAK_IMPOSSIBLE;
    if (most <= 0)
        most = d->ceilings.gbps[RP_LEVEL_L2].known ? d->ceilings.gbps[RP_LEVEL_L2].value : INFINITY;
    return gbps <= most ? RP_PEAK_CACHED : RP_PEAK_IMPOSSIBLE;
}

/** Compares rates with ceilings, and finds what no GPU can do.
 * @param measured the ceilings are those of a benchmark */
static void roof_find_peaks(const struct rp_roofline_device *d, bool measured,
                            struct rp_roofline_kernel *k)
{
    bool impossible = false;

    for (size_t l = 0; l < RP_LEVEL_COUNT; l++) {
        const quantity *peak = &d->ceilings.gbps[l];

        if (!k->gbps[l].known || !peak->known)
            k->peak[l] = RP_PEAK_UNKNOWN;
        else if (k->gbps[l].value <= peak->value)
            k->peak[l] = RP_PEAK_BELOW;
        else if (measured)
            k->peak[l] = RP_PEAK_MEASURED;
        else
            k->peak[l] = l == RP_LEVEL_HBM ? above_hbm(d, k->gbps[l].value) : RP_PEAK_IMPOSSIBLE;
        impossible |= k->peak[l] == RP_PEAK_IMPOSSIBLE;
    }
    if (impossible) { /* Nothing bounds a kernel whose times or bytes are wrong. */
        k->bound = RP_BOUND_UNKNOWN;
        k->bound_share = (quantity){0};
    }
}

/** Computes totals, intensities, rates and bound from amounts and time. */
static void roof_derive(struct rp_roofline_kernel *k, const struct rp_ceilings *ceilings)
{
    k->flops = (quantity){0};
    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        if (k->flops_by_type[i].known) {
            k->flops.known = true;
            k->flops.value += k->flops_by_type[i].value;
        }
    k->bytes[RP_LEVEL_HBM] = plus(k->hbm_read, k->hbm_write);
    clean(k->bytes, 1);
    k->gflops = ratio(k->flops, k->time_ns);
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        k->intensity[i] = ratio(k->flops, k->bytes[i]);
        k->gbps[i] = ratio(k->bytes[i], k->time_ns);
    }
    find_bound(k, ceilings);
}

/* --- names -------------------------------------------------------------------------------- */

const char *const rp_level_class_names[] = {NULL, "memory", "compute"};

const char *const rp_peak_names[] = {NULL, "below", "infinity_cache", "above_measured",
                                     "impossible"};

const char *const rp_convention_names[] = {"l2_tcc_req_x128", "l2_tcp_tcc_req_x64",
                                           "l2_tcp_tcc_rd128_wr64", "l1_accesses_x64",
                                           "l1_accesses_x128"};

/* --- kernels ------------------------------------------------------------------------------ */

/* Says which counter of the file is which of ours: 1 + index, as the sum and as instances. */
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

/* Holds the sums over all dispatches of a kernel, and over those alone that counted reads. */
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

/* A derived counter divides by these: bytes and requests of the same dispatches. */
static struct rp_quantity bytes_of_reads(const struct kernel_sums *sums,
                                         const struct rp_arch_roofline *arch,
                                         enum rp_flop_model model)
{
    struct rp_roofline_kernel some = {0};

    roof_measure(&sums->of_reads, arch, model, &some);
    some.hbm_read.known = some.hbm_read.known && !some.reads_by_width;
    return some.hbm_read;
}

/* The sum of the instances is preferred to the instances, as in the formulas. */
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
    /* The order is that of the file, because sums of reals depend on it. */
    return (a > b) - (a < b);
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

/* Holds the sums over the dispatches of a kernel. */
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
    const struct rp_arch_roofline *arch = rp_roof_arch_find(device->arch);
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
    roof_measure(&sums.all, arch, g->options->model, kernel);
    name_differences(g->counters, &g->columns, kernel);
    roof_derive(kernel, &device->ceilings);
    roof_find_peaks(device, g->options->measured != NULL, kernel);
    if (!rp_roof_counts_take(&g->counts, kernel))
        return rp_out_of_memory(err);
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
        return rp_out_of_memory(err);
    g.counts = counts;
    for (size_t i = 0; i < count; i++)
        all[i] = &counters->dispatches[i];
    qsort(all, count, sizeof(void *), by_group);
    for (size_t i = 0; i < count; i += same_group(all + i, count - i))
        groups++;
    ret->kernels = calloc(groups + 1, sizeof *ret->kernels);
    if (!ret->kernels)
        return rp_out_of_memory(err);
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
    roof_derive(p, ceilings);
    if (r->kernel_count && same)
        roof_find_peaks(&r->devices[p->device], measured, p);
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
    return r->reason ? 0 : rp_out_of_memory(err);
}

/* --- all ---------------------------------------------------------------------------------- */

/* Ceilings and times of two models do not belong together. Warm caches change times, but none of
 * what a model says of the machine. */
static bool note_models(const struct rp_measured_ceilings *m, struct rp_roofline *r)
{
    const char *model = rp_timing_model_today(r->origin.timing_model);

    if (!model || !*model || !m->timing_model[0])
        return true;
    if (strcmp(model, "warm") == 0)
        model = "detailed";
    return (strcmp(m->timing_model, model) == 0 && m->timing_version == r->origin.timing_version) ||
           rp_roof_note(r,
                        "the ceilings are of %s timing, version %u, and the times of %s timing, "
                        "version %u: run rocm-perf bench again, and the program with --timing "
                        "detailed",
                        m->timing_model, m->timing_version, model, r->origin.timing_version);
}

/* Says who measured the ceilings, and whether they and the times are of one kind. */
static bool note_ceilings(const struct rp_measured_ceilings *m, struct rp_roofline *r)
{
    const bool modelled = r->origin.device && strcmp(r->origin.device, "software") == 0;

    r->measured = *m;
    if (!m->by_bench)
        return rp_roof_note(r,
                            "ceilings are measured ones (--ceilings) as far as they were measured");
    if (!rp_roof_note(
            r, "ceilings are %s ones (--ceilings), as far as rocm-perf bench %s them: %s, %s",
            m->software ? "modelled" : "measured", m->software ? "found" : "measured", m->gpu,
            m->date))
        return false;
    if (m->software && !modelled)
        return rp_roof_note(r,
                            "the ceilings were modelled by the software device, and the files do "
                            "not say whether their times are");
    if (m->software)
        return note_models(m, r);
    return !modelled ||
           rp_roof_note(r, "the ceilings were measured on hardware, and the times are modelled");
}

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
        result = rp_out_of_memory(err);
    if (result == 0 && options->measured && !note_ceilings(options->measured, &r))
        result = rp_out_of_memory(err);
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
