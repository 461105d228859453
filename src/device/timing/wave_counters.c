#include "wave_counters.h"

#include "../exec/wave.h"
#include "arch/arch.h"
#include "arch/hardware_counters.h"

enum { QUAD = 4 };

/* What was replayed, and how it is taken to the whole dispatch. */
struct replayed {
    const struct rp_arch *arch;
    const struct rp_timing_stats *s;
    const struct rp_wave_sums *sums;
    double waves; /* factor for what a wave has once */
    double insts; /* for what its instructions do: of waves that were not kept whole a part is */
    double dies;  /* for what a die has once */
    double time;  /* for what goes on all the time */
};

struct row {
    unsigned counter;
    double value;
};

static void set(uint64_t *values, const struct row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        values[rows[i].counter] = (uint64_t)(rows[i].value + 0.5);
}

#define SET(values, rows) set(values, rows, sizeof rows / sizeof rows[0])

static uint64_t sum(const uint64_t of[RP_REC_UNITS])
{
    uint64_t all = 0;

    for (unsigned i = 0; i < RP_REC_UNITS; i++)
        all += of[i];
    return all;
}

/*
 * Scaling is that of a real MI300X (rocprof-compute's sample vcopy_MI300X_A1_rocpd): SQ_LEVEL_WAVES
 * is 4.03 times SQ_WAVE_CYCLES, so the latter counts quad-cycles and the former cycles;
 * SQ_BUSY_CYCLES / 32 shader engines is 7,672 and SQ_BUSY_CU_CYCLES / 304 CUs 7,717 for the same
 * dispatch, so both count cycles, and SPI_CSN_BUSY / 32 is 8,952, GRBM_SPI_BUSY / 8 dies 9,521;
 * SQ_INST_LEVEL_VMEM / SQ_INSTS_VMEM is 964, a latency in cycles.
 */
static void count_waves(const struct replayed *r, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const uint64_t there = r->arch->shader_engines ? r->arch->shader_engines : 1;
    const uint64_t engines = there < s->group_count ? there : s->group_count;
    const uint64_t dies = s->all_dies < s->group_count ? s->all_dies : s->group_count;
    /* The replay goes on until memory has written all; what was not replayed comes before that. */
    const double busy = s->clocks - (double)(s->replay_clocks - r->sums->last_clock);
    const uint64_t *level = r->sums->level_clocks;
    const struct row rows[] = {
        /* Workgroups go round the engines, which are busy from the first to the last. */
        {RP_COUNTER_SQ_BUSY_CYCLES, busy * (double)engines},
        {RP_COUNTER_SPI_CSN_BUSY, busy * (double)engines},
        {RP_COUNTER_GRBM_SPI_BUSY, busy * (double)dies},
        {RP_COUNTER_SQ_BUSY_CU_CYCLES, r->waves * (double)s->cu_busy_clocks},
        {RP_COUNTER_SQ_WAVE_CYCLES, r->waves * (double)s->wave_clocks / QUAD},
        {RP_COUNTER_SQ_LEVEL_WAVES, r->waves * (double)s->wave_clocks},
        {RP_COUNTER_SQ_WAIT_ANY, r->insts * (double)sum(s->wait_clocks) / QUAD},
        {RP_COUNTER_SQ_WAIT_INST_ANY, r->insts * (double)sum(s->stall_clocks) / QUAD},
        {RP_COUNTER_SQ_WAIT_INST_LDS, r->insts * (double)s->stall_clocks[RP_REC_LDS] / QUAD},
        {RP_COUNTER_SQ_INST_LEVEL_VMEM, r->insts * (double)level[RP_REC_VMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_SMEM, r->insts * (double)level[RP_REC_SMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_LDS, r->insts * (double)level[RP_REC_LDS]},
        {RP_COUNTER_SQC_DCACHE_INFLIGHT_LEVEL, r->insts * (double)level[RP_REC_SMEM]},
    };
    SET(values, rows);
}

/*
 * The model has one unit for TA and TCP, through which addresses go one after another, and none for
 * TD: data of an instruction comes back when it is there. On the real MI300X TD_TC_STALL is
 * TD_TD_BUSY less 8 cycles for each of the copy's instructions, which move 512 bytes; and
 * TCP_GATE_EN2 is TD_TD_BUSY within 1.4 %.
 */
static void count_vector_memory(const struct replayed *r, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const struct rp_level_stats *l2 = &s->level[RP_LEVEL_L2], *mall = &s->level[RP_LEVEL_MALL];
    const double address = (double)s->level[RP_LEVEL_L1].busy_clocks;
    const double flight = (double)r->sums->vmem_clocks;
    const struct row rows[] = {
        {RP_COUNTER_TA_TA_BUSY, r->insts * address},
        {RP_COUNTER_TD_TD_BUSY, r->insts * flight},
        {RP_COUNTER_TD_TC_STALL, flight > address ? r->insts * (flight - address) : 0},
        {RP_COUNTER_TCP_GATE_EN1, r->waves * (double)s->cu_busy_clocks},
        {RP_COUNTER_TCP_GATE_EN2, r->insts * flight},
        {RP_COUNTER_TCP_PENDING_STALL_CYCLES, r->insts * (double)r->sums->pending_clocks},
        {RP_COUNTER_TCC_BUSY, r->dies * r->time * (double)l2->pending_clocks},
        {RP_COUNTER_TCC_EA0_RDREQ_LEVEL, r->insts * (double)mall->read_clocks},
    };
    SET(values, rows);
}

/* A miss takes a line, which others may want before it is there: a request has one of three ends.
 */
static void count_scalar_caches(const struct replayed *r, uint64_t *values)
{
    const struct rp_level_stats *code = &r->s->level[RP_LEVEL_INST_L1];
    const struct rp_level_stats *data = &r->s->level[RP_LEVEL_SCALAR_L1];
    /* A program that fits is fetched once by each cache, however many waves there are. */
    const double factor = r->sums->code_fits ? r->dies : r->insts;
    const double fetches = r->insts * (double)r->sums->fetches;
    const double misses = factor * (double)(code->reads - code->read_hits);
    const double late = factor * (double)code->late_hits;
    const double requests = (double)values[RP_COUNTER_SQC_DCACHE_REQ];
    const double part = data->reads ? requests / (double)data->reads : 0;
    const struct row rows[] = {
        {RP_COUNTER_SQ_IFETCH, fetches},
        {RP_COUNTER_SQC_ICACHE_REQ, fetches},
        {RP_COUNTER_SQC_ICACHE_MISSES, misses},
        {RP_COUNTER_SQC_ICACHE_MISSES_DUPLICATE, late},
        {RP_COUNTER_SQC_ICACHE_HITS, fetches > misses + late ? fetches - misses - late : 0},
        {RP_COUNTER_SQC_DCACHE_HITS, part * (double)(data->read_hits - data->late_hits)},
        {RP_COUNTER_SQC_DCACHE_MISSES_DUPLICATE, part * (double)data->late_hits},
    };
    SET(values, rows);
}

/*
 * While the next workgroup finds no room, each of the die's shader engines waits, and all compute
 * units are full of what limits them.
 */
static void count_room(const struct replayed *r, const struct rp_rec_shape *shape, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const double dies = s->all_dies ? s->all_dies : 1;
    /* What was not replayed of a sample comes while others wait. */
    const double more = s->sampled && s->no_room_clocks ? s->clocks - (double)s->replay_clocks : 0;
    const double clocks = r->dies * (double)s->no_room_clocks + (more > 0 ? more * dies : 0);
    const double engines = clocks * r->arch->shader_engines / dies;
    const double cus = clocks * r->arch->compute_units / dies;
    const double simds = cus * r->arch->simds_per_cu;
    const unsigned by = shape->limits;
    const struct row rows[] = {
        {RP_COUNTER_SPI_RA_REQ_NO_ALLOC, engines},
        {RP_COUNTER_SPI_RA_REQ_NO_ALLOC_CSN, engines},
        {RP_COUNTER_SPI_RA_RES_STALL_CSN, engines},
        {RP_COUNTER_SPI_RA_WAVE_SIMD_FULL_CSN, by & RP_REC_BY_SLOTS ? simds : 0},
        {RP_COUNTER_SPI_RA_VGPR_SIMD_FULL_CSN, by & RP_REC_BY_VGPRS ? simds : 0},
        {RP_COUNTER_SPI_RA_SGPR_SIMD_FULL_CSN, by & RP_REC_BY_SGPRS ? simds : 0},
        {RP_COUNTER_SPI_RA_LDS_CU_FULL_CSN, by & RP_REC_BY_LDS ? cus : 0},
        {RP_COUNTER_SPI_RA_BAR_CU_FULL_CSN, by & RP_REC_BY_BARRIERS ? cus : 0},
    };
    SET(values, rows);
}

void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *s,
                      const struct rp_wave_sums *sums, const struct rp_rec_shape *shape,
                      const struct rp_counts *counts, uint64_t *values)
{
    const struct replayed r = {
        .arch = arch,
        .s = s,
        .sums = sums,
        .waves = s->waves ? (double)counts->waves / (double)s->waves : 0,
        .insts = s->insts ? (double)counts->wave_insts / (double)s->insts : 0,
        .dies = s->dies ? (double)s->all_dies / s->dies : 1,
        .time = s->replay_clocks ? s->clocks / (double)s->replay_clocks : 1,
    };

    count_waves(&r, values);
    count_vector_memory(&r, values);
    count_scalar_caches(&r, values);
    count_room(&r, shape, values);
}
