#include "analysis/roofline/parts.h"

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

static quantity at_least_0(quantity q)
{
    q.known = q.known && q.value >= 0;
    return q;
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

static quantity reads_32_64(const quantity *of)
{
    quantity rest = at_least_0(minus(of[RP_ROOF_READS], of[RP_ROOF_READS_32]));

    return plus(times(64, rest), times(32, of[RP_ROOF_READS_32]));
}

static quantity reads_bubble(const quantity *of)
{
    quantity rest =
        at_least_0(minus(minus(of[RP_ROOF_READS], of[RP_ROOF_BUBBLES]), of[RP_ROOF_READS_32]));

    return plus(plus(times(128, of[RP_ROOF_BUBBLES]), times(64, rest)),
                times(32, of[RP_ROOF_READS_32]));
}

static quantity reads_128(const quantity *of)
{
    quantity rest = of[RP_ROOF_READS_64];

    if (!rest.known)
        rest = at_least_0(
            minus(minus(of[RP_ROOF_READS], of[RP_ROOF_READS_128]), of[RP_ROOF_READS_32]));
    return plus(plus(times(128, of[RP_ROOF_READS_128]), times(64, rest)),
                times(32, of[RP_ROOF_READS_32]));
}

static quantity writes(const quantity *of)
{
    quantity rest = at_least_0(minus(of[RP_ROOF_WRITES], of[RP_ROOF_WRITES_64]));

    return plus(times(64, of[RP_ROOF_WRITES_64]), times(32, rest));
}

/* gfx950 without the counter of long reads: each may have 64 or 128 bytes. */
static void range_of_reads(const quantity *of, struct rp_roofline_kernel *ret)
{
    quantity least = reads_32_64(of);

    if (!least.known)
        return;
    ret->hbm_read_least = least;
    ret->hbm_read_most = minus(times(2, least), times(32, of[RP_ROOF_READS_32]));
}

static quantity exact_reads(const quantity *of, enum rp_roof_memory memory)
{
    quantity none = {0};

    switch (memory) {
    case MEMORY_EA:
        return reads_32_64(of);
    case MEMORY_EA0_BUBBLE:
        return reads_bubble(of);
    case MEMORY_EA0_128B:
        return reads_128(of);
    case MEMORY_UNKNOWN:
        break;
    }
    return none;
}

static void measure_memory(const quantity *of, enum rp_roof_memory memory, enum rp_flop_model model,
                           struct rp_roofline_kernel *ret)
{
    /* FETCH_SIZE is made from TCC_BUBBLE: on gfx950 it is wrong, and so is the simple model. */
    bool substitutes = memory != MEMORY_EA0_128B;

    if (model != RP_FLOPS_WIDTH) {
        ret->hbm_read = exact_reads(of, memory);
        if (!ret->hbm_read.known && substitutes)
            ret->hbm_read = times(1024, of[RP_ROOF_FETCH_SIZE]);
    }
    if (model == RP_FLOPS_WIDTH ||
        (model == RP_FLOPS_AUTO && substitutes && !ret->hbm_read.known)) {
        ret->hbm_read = reads_32_64(of);
        ret->reads_by_width = ret->hbm_read.known;
    }
    if (!ret->hbm_read.known && !substitutes)
        range_of_reads(of, ret);
    ret->hbm_write = writes(of);
    if (!ret->hbm_write.known)
        ret->hbm_write = times(1024, of[RP_ROOF_WRITE_SIZE]);
}

/* --- caches ------------------------------------------------------------------------------- */

static void measure_caches(const quantity *of, const struct rp_roof_arch *arch,
                           struct rp_roofline_kernel *ret)
{
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
    ret->bytes[RP_LEVEL_LDS] =
        times(LDS_BYTES, at_least_0(minus(of[RP_ROOF_LDS_ACTIVE], of[RP_ROOF_LDS_CONFLICT])));
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

    if (model != RP_FLOPS_WIDTH)
        measure_work(of, ret);
    if (model == RP_FLOPS_WIDTH || (model == RP_FLOPS_AUTO && !any_work(ret)))
        if (of[RP_ROOF_INSTS_VALU].known)
            work_by_width(of, ret);
    measure_memory(of, arch ? arch->memory : MEMORY_UNKNOWN, model, ret);
    measure_caches(of, arch, ret);
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
