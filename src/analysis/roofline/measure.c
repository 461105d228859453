#include "analysis/roofline/parts.h"

#include "arch/arch.h"

#include <math.h>
#include <string.h>

/* Formulas: AMD's documentation of the counters and rocprof-compute's roofline;
 * docs/format/roofline.md says where the published ones disagree and what real GPUs show. */

enum {
    LANES = 64,        /* of a wave: as if all were active */
    MOPS = 512,        /* operations in the unit of the MFMA_MOPS counters */
    WIDTH_OF_VALU = 8, /* FLOPs of a vector instruction in the simple model */
    LDS_BYTES = 4 * 32 /* of a clock in which the LDS works: 32 banks */
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
    /* ADD, MUL, TRANS and FMA stand in this order in counters.def. */
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

/* What is known of a kernel, and where it is noted how far passes disagree. */
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

/* Counters that contradict each other: what is made of fewer of them would hide it. */
static bool reads_contradict(const struct rp_roofline_kernel *k)
{
    return k->differences[RP_DIFFERENCE_READS_OF_BUBBLE].withheld ||
           k->differences[RP_DIFFERENCE_READS_OF_128].withheld ||
           k->differences[RP_DIFFERENCE_READS_OF_TWO].withheld;
}

/* gfx950 without the counter of long reads: each may have 64 or 128 bytes. */
static void range_of_reads(const struct measuring *m, struct rp_roofline_kernel *ret)
{
    quantity least = reads_32_64(m);

    if (!least.known)
        return;
    ret->hbm_read_least = least;
    ret->hbm_read_most = minus(times(2, least), times(32, m->of[RP_ROOF_READS_32]));
}

static quantity exact_reads(const struct measuring *m, enum rp_roof_memory memory)
{
    quantity none = {0};

    switch (memory) {
    case MEMORY_EA:
        return reads_32_64(m);
    case MEMORY_EA0_BUBBLE:
        return reads_bubble(m);
    case MEMORY_EA0_128B:
        return reads_128(m);
    case MEMORY_UNKNOWN:
        break;
    }
    return none;
}

static void measure_memory(const struct measuring *m, enum rp_roof_memory memory,
                           enum rp_flop_model model, struct rp_roofline_kernel *ret)
{
    /* FETCH_SIZE is made from TCC_BUBBLE: on gfx950 it is wrong, and so is the simple model. */
    bool substitutes = memory != MEMORY_EA0_128B;

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

static void measure_caches(const struct measuring *m, const struct rp_roof_arch *arch,
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
            RP_DIFFERENCE_L1_HITS); /* only for how far its passes disagree: see derived values */
}

/* A product with something unknown is no number. */
static void clean(quantity *q, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!q[i].known)
            q[i].value = 0;
}

void rp_roof_measure(const struct rp_roof_sums *sums, const struct rp_roof_arch *arch,
                     enum rp_flop_model model, struct rp_roofline_kernel *ret)
{
    const quantity *of = sums->of;
    const struct measuring m = {.of = of, .sums = sums, .kernel = ret};

    if (model != RP_FLOPS_WIDTH)
        measure_work(of, ret);
    if (model == RP_FLOPS_WIDTH || (model == RP_FLOPS_AUTO && !any_work(ret)))
        if (of[RP_ROOF_INSTS_VALU].known)
            work_by_width(of, ret);
    measure_memory(&m, arch ? arch->memory : MEMORY_UNKNOWN, model, ret);
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

/* Time that the unit needs at least, in ns: its types share it. */
static quantity unit_time(const struct rp_roofline_kernel *k, const struct rp_ceilings *c,
                          bool matrix)
{
    static const bool is_matrix[] = {
#define RP_FLOP(id, name, unit) RP_UNIT_##unit,
#define RP_UNIT_VALU            false
#define RP_UNIT_MFMA            true
#include "rocm-perf/flop_types.def"
#undef RP_FLOP
    };
    quantity sum = {.known = true};

    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        if (is_matrix[i] == matrix && k->flops_by_type[i].known && k->flops_by_type[i].value > 0)
            sum = plus(sum, ratio(k->flops_by_type[i], c->gflops[i]));
    return sum;
}

/* The levels one by one: on which side of the ridge is the kernel? Both units can work at once. */
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

/* What a rate above the peak of HBM means: it is what the L2 asks of the fabric, and where there is
 * an Infinity Cache, what fits it never reaches HBM. Where nobody says what that cache delivers, it
 * is at least not more than the L2. */
static enum rp_peak above_hbm(const struct rp_roofline_device *d, double gbps)
{
    const struct rp_arch *arch = rp_arch_find(d->arch);
    const struct rp_roof_arch *roof = rp_roof_arch_find(d->arch);
    double most = roof ? roof->mall_gbps : 0;

    if (!arch || arch->mall_bytes == 0)
        return RP_PEAK_IMPOSSIBLE;
    if (most <= 0)
        most = d->ceilings.gbps[RP_LEVEL_L2].known ? d->ceilings.gbps[RP_LEVEL_L2].value : INFINITY;
    return gbps <= most ? RP_PEAK_CACHED : RP_PEAK_IMPOSSIBLE;
}

void rp_roof_find_peaks(const struct rp_roofline_device *d, bool measured,
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
    if (impossible) { /* nothing bounds a kernel whose times or bytes are wrong */
        k->bound = RP_BOUND_UNKNOWN;
        k->bound_share = (quantity){0};
    }
}

void rp_roof_derive(struct rp_roofline_kernel *k, const struct rp_ceilings *ceilings)
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
