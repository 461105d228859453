/*
 * The replay engine against clocks worked out by hand; what waits for what, who comes first, and
 * where waves are placed.
 */
#include <string.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_counters.h"

#include "unit/timing/machine.h"

/*
 * The replay engine against clocks worked out by hand: issue rates, dependences and the LDS
 * exactly, latencies exactly as published (arch/gfx942.c), bandwidths within the noise of where
 * lines fall.
 */

/* Clocks that @p count more executions of a program's body take, with so many waves of one group.
 */
static uint64_t slope(struct made *(*make)(uint32_t waves, uint32_t count), uint32_t waves,
                      uint32_t count)
{
    struct made *once = make(waves, count), *twice = make(waves, 2 * count);
    const uint64_t a = made_run(once).replay_clocks, b = made_run(twice).replay_clocks;
    made_free(once);
    made_free(twice);
    return b - a;
}

static struct made *repeated(uint32_t waves, uint32_t count, uint32_t (*code)(struct made *))
{
    struct made *m = made_new(1, waves);
    const uint32_t c = code(m);
    for (uint32_t w = 0; w < waves; w++)
        for (uint32_t i = 0; i < count; i++)
            made_step(made_wave(m, 0, w), c);
    return m;
}

static uint32_t plain(struct made *m)
{
    return made_valu(m, 4);
}

static uint32_t transcendental(struct made *m)
{
    return made_valu(m, 16);
}

static struct made *plain_made(uint32_t waves, uint32_t count)
{
    return repeated(waves, count, plain);
}

static struct made *transcendental_made(uint32_t waves, uint32_t count)
{
    return repeated(waves, count, transcendental);
}

/* Four SIMDs: up to four waves each have their own; a SIMD issues one in four clocks. */
static void a_simd_issues_every_four_clocks(void **state)
{
    (void)state;
    static const struct {
        uint32_t waves, clocks;
    } cases[] = {{1, 4}, {2, 4}, {4, 4}, {8, 8}, {16, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(slope(plain_made, cases[i].waves, 500), 500 * cases[i].clocks);
        assert_int_equal(slope(transcendental_made, cases[i].waves, 500),
                         500 * cases[i].clocks * 4);
    }
}

/* 32 waves on each of all CUs: 8 per SIMD. */
static void a_full_machine_issues_as_fast(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(608, 16);
        const uint32_t c = made_valu(m, 4);
        for (uint32_t g = 0; g < 608; g++)
            for (uint32_t w = 0; w < 16; w++)
                for (uint32_t i = 0; i < 40 * (k + 1); i++)
                    made_step(made_wave(m, g, w), c);
        struct rp_timing_stats s = made_run(m);
        assert_int_equal(s.waves, 608 * 16);
        assert_int_equal(s.unit_insts[RP_REC_VALU], 608 * 16 * 40 * (k + 1));
        clocks[k] = s.replay_clocks;
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 40 * 8 * 4);
}

static enum rp_rec_valu part_of(enum rp_op op, unsigned vectors, unsigned others, uint32_t flags)
{
    struct rp_insn in = {.op = (uint16_t)op, .fmt = RP_FMT_VOP3, .flags = flags};
    for (unsigned i = 0; i < vectors + others; i++)
        in.src[i] =
            (struct rp_opnd){.kind = i < vectors ? RP_OPND_VGPR : RP_OPND_SGPR, .dwords = 1};
    return (enum rp_rec_valu)made_described(&in).valu;
}

/* What was measured to be issued beside another (bench/published.csv, class valu-rate): fma3 and
 * not fma2, add2 and not add1, adds and products of f64 and not their multiply-adds. */
static void chains_of_vector_registers_take_half_a_simd(void **state)
{
    (void)state;
    assert_int_equal(part_of(RP_OP_v_fma_f32, 3, 0, 0), RP_REC_VALU_HALF);
    assert_int_equal(part_of(RP_OP_v_fma_f32, 2, 1, 0), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_add_f16, 2, 0, 0), RP_REC_VALU_HALF);
    assert_int_equal(part_of(RP_OP_v_mul_f32, 1, 1, 0), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_add_f64, 2, 0, 0), RP_REC_VALU_HALF_F64);
    assert_int_equal(part_of(RP_OP_v_mul_f64, 1, 1, 0), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_fma_f64, 3, 0, 0), RP_REC_VALU_WHOLE_F64);
    assert_int_equal(part_of(RP_OP_v_fma_f64, 2, 1, 0), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_pk_fma_f32, 3, 0, 0), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_add_f32, 2, 0, RP_IF_DPP), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_mul_f32, 2, 0, RP_IF_SDWA), RP_REC_VALU_WHOLE);
    assert_int_equal(part_of(RP_OP_v_add_u32, 2, 0, 0), RP_REC_VALU_WHOLE);
}

static enum rp_rec_valu part, other_part;

/* Waves of odd slots of a SIMD, which are in other fours of waves, may do something else. */
static struct made *parts_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    const uint32_t c[2] = {
        made_code(m, (struct rp_rec_code){.unit = RP_REC_VALU, .valu = (uint8_t)part}),
        made_code(m, (struct rp_rec_code){.unit = RP_REC_VALU, .valu = (uint8_t)other_part})};
    for (uint32_t w = 0; w < waves; w++)
        for (uint32_t i = 0; i < count; i++)
            made_step(made_wave(m, 0, w), c[w / 4 % 2]);
    return m;
}

/* Published chains of one operation: three waves of a SIMD take as long as four. */
static void two_waves_share_a_simd_where_the_second_unit_is_idle(void **state)
{
    (void)state;
    static const struct {
        enum rp_rec_valu part, other_part;
        uint32_t waves, clocks;
    } cases[] = {
        {RP_REC_VALU_HALF, RP_REC_VALU_HALF, 1, 4},
        {RP_REC_VALU_HALF, RP_REC_VALU_HALF, 4, 4},
        {RP_REC_VALU_HALF, RP_REC_VALU_HALF, 8, 4},
        {RP_REC_VALU_HALF, RP_REC_VALU_HALF, 12, 8},
        {RP_REC_VALU_HALF, RP_REC_VALU_HALF, 16, 8},
        {RP_REC_VALU_HALF_F64, RP_REC_VALU_HALF_F64, 4, 5},
        {RP_REC_VALU_HALF_F64, RP_REC_VALU_HALF_F64, 8, 5},
        {RP_REC_VALU_HALF_F64, RP_REC_VALU_HALF_F64, 16, 10},
        {RP_REC_VALU_WHOLE_F64, RP_REC_VALU_WHOLE_F64, 4, 5},
        {RP_REC_VALU_WHOLE_F64, RP_REC_VALU_WHOLE_F64, 8, 8},
        {RP_REC_VALU_WHOLE, RP_REC_VALU_WHOLE, 8, 8},
        {RP_REC_VALU_HALF, RP_REC_VALU_WHOLE, 8, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        part = cases[i].part;
        other_part = cases[i].other_part;
        assert_int_equal(slope(parts_made, cases[i].waves, 500), 500 * cases[i].clocks);
    }
    part = other_part = RP_REC_VALU_HALF;
    struct made *m = parts_made(8, 500);
    const struct rp_timing_stats s = made_run(m);
    assert_int_equal(s.half_clocks, 8 * 500 * 4);
    assert_int_equal(s.port_clocks[RP_REC_VALU], 0);
    made_free(m);
}

/* Matrix instructions are issued by the whole SIMD. */
static void nothing_is_issued_beside_a_matrix_instruction(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 8);
        const uint32_t mfma = made_mfma(m, 1, 0, -1, -1, 4);
        const uint32_t half =
            made_code(m, (struct rp_rec_code){.unit = RP_REC_VALU, .valu = RP_REC_VALU_HALF});
        for (uint32_t w = 0; w < 8; w++)
            for (uint32_t i = 0; i < 300 * (k + 1); i++)
                made_step(made_wave(m, 0, w), w < 4 ? mfma : half);
        clocks[k] = made_run(m).replay_clocks;
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 300 * 8);
}

/* SALU and VALU are different ports: two waves of one SIMD overlap. */
static void different_units_overlap(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 8);
        const uint32_t v = made_valu(m, 4),
                       s = made_code(m, (struct rp_rec_code){.unit = RP_REC_SALU});
        for (uint32_t w = 0; w < 8; w++)
            for (uint32_t i = 0; i < 300 * (k + 1); i++)
                made_step(made_wave(m, 0, w), w < 4 ? v : s);
        clocks[k] = made_run(m).replay_clocks;
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 300 * 4);
}

/* ROCm Compute Profiler documentation, "Scheduler": scalar loads are issued by the scalar unit. */
static void scalar_loads_take_the_scalar_port(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 8);
        const uint32_t load = made_memory(m, RP_REC_SMEM),
                       s = made_code(m, (struct rp_rec_code){.unit = RP_REC_SALU});
        for (uint32_t w = 0; w < 8; w++)
            for (uint32_t i = 0; i < 300 * (k + 1); i++)
                made_step(made_wave(m, 0, w), w < 4 ? load : s);
        clocks[k] = made_run(m).replay_clocks;
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 300 * 8);
}

/* ---- matrix instructions ------------------------------------------------------------------- */

static uint8_t passes;

static struct made *independent_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    uint32_t c[4];
    for (int i = 0; i < 4; i++) /* four accumulators of 16 registers */
        c[i] = made_mfma(m, passes, 16 + 16 * i, 0, 16 + 16 * i, 16);
    for (uint32_t w = 0; w < waves; w++)
        for (uint32_t i = 0; i < count; i++)
            made_step(made_wave(m, 0, w), c[i % 4]);
    return m;
}

static struct made *chained_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    const uint32_t c = made_mfma(m, passes, 16, 0, 16, 16);
    for (uint32_t i = 0; i < count; i++)
        made_step(made_wave(m, 0, 0), c);
    return m;
}

static struct made *used_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    const uint32_t c = made_mfma(m, passes, 16, 0, 16, 16), use = made_use(m, 31);
    for (uint32_t i = 0; i < count; i++) {
        made_step(made_wave(m, 0, 0), c);
        made_step(made_wave(m, 0, 0), use);
    }
    return m;
}

static void matrix_pipes_take_passes(void **state)
{
    (void)state;
    static const uint8_t all[] = {2, 4, 8, 16};
    for (size_t i = 0; i < sizeof all; i++) {
        passes = all[i];
        const uint64_t clocks = 4ull * passes;
        assert_int_equal(slope(independent_made, 1, 400), 400 * clocks);
        assert_int_equal(slope(independent_made, 4, 400), 400 * clocks); /* one per SIMD */
        assert_int_equal(slope(independent_made, 16, 400), 400 * clocks * 4);
        assert_int_equal(slope(chained_made, 1, 400), 400 * clocks);
        /* passes and 4 more slots until a VALU instruction may read it, which takes one */
        assert_int_equal(slope(used_made, 1, 400), 400 * (clocks + 16 + 4));
    }
}

/* ---- LDS ----------------------------------------------------------------------------------- */

static uint16_t lds_clocks;
static bool lds_waits;

static struct made *lds_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    const uint32_t c = made_memory(m, RP_REC_LDS), wait = made_wait(m, 63, 0);
    const struct rp_rec_access a = {
        .space = RP_REC_SHARED, .flags = RP_REC_READS, .lds_clocks = lds_clocks, .lane_bytes = 4};
    for (uint32_t w = 0; w < waves; w++)
        for (uint32_t i = 0; i < count; i++) {
            made_access(made_wave(m, 0, w), c, a, -1, 0);
            if (lds_waits)
                made_step(made_wave(m, 0, w), wait);
        }
    return m;
}

static void the_lds_is_shared_by_all_simds(void **state)
{
    (void)state;
    lds_waits = true;
    lds_clocks = 1; /* one lane: a pointer chase, mt4g's 51 clocks */
    assert_int_equal(slope(lds_made, 1, 300), 300 * 51);
    lds_clocks = 32; /* every lane of a half wave in the same bank */
    assert_int_equal(slope(lds_made, 1, 300), 300 * (51 + 31));
    lds_waits = false;
    static const uint16_t all[] = {2, 4, 8, 64}; /* free, and 2, 4 and 32 ways */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lds_clocks = all[i];
        assert_int_equal(slope(lds_made, 16, 60), 60 * 16 * all[i]);
    }
}

/*
 * ROCm Compute Profiler documentation, "Local data share": two SIMDs share a port of 64 bytes a
 * clock each way, which takes addresses and data of stores. A store of 4 bytes by 64 lanes takes 8
 * clocks of it, of 16 bytes 20; loads 4 and 16. Two ports: half of that for each of many waves.
 */
static struct rp_rec_access lds_access;

static struct made *ports_made(uint32_t waves, uint32_t count)
{
    struct made *m = made_new(1, waves);
    const uint32_t c = made_memory(m, RP_REC_LDS);
    for (uint32_t w = 0; w < waves; w++)
        for (uint32_t i = 0; i < count; i++)
            made_access(made_wave(m, 0, w), c, lds_access, -1, 0);
    return m;
}

static void the_lds_has_two_ports(void **state)
{
    (void)state;
    static const struct {
        uint8_t flags, lane_bytes;
        uint16_t lds_clocks, port_clocks;
    } cases[] = {{RP_REC_READS, 4, 2, 4},
                 {RP_REC_READS, 16, 8, 16},
                 {RP_REC_WRITES, 4, 2, 8},
                 {RP_REC_WRITES, 16, 8, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lds_access = (struct rp_rec_access){.space = RP_REC_SHARED,
                                            .flags = cases[i].flags,
                                            .lane_bytes = cases[i].lane_bytes,
                                            .lds_clocks = cases[i].lds_clocks};
        assert_int_equal(slope(ports_made, 1, 100), 100 * cases[i].port_clocks);
        assert_int_equal(slope(ports_made, 16, 100), 100 * 16 * cases[i].port_clocks / 2);
    }
}

/* AMD's blog, "FP8 GEMM Optimization on AMD CDNA4 Architecture": LDS reads of 256 bytes in a clock.
 */
static void the_lds_of_gfx950_returns_twice_as_much(void **state)
{
    (void)state;
    uint64_t clocks[2];
    lds_access = (struct rp_rec_access){
        .space = RP_REC_SHARED, .flags = RP_REC_READS, .lane_bytes = 16, .lds_clocks = 4};
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = ports_made(16, 100 * (k + 1));
        clocks[k] = made_run_on(m, "gfx950").replay_clocks;
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 100 * 16 * 64 * 16 / 256);
}

/* ---- latency ------------------------------------------------------------------------------- */

/* Loads of one line after another, each awaited, over a footprint, so many times. */
static uint64_t laps_clocks(uint32_t lines, uint32_t laps, uint32_t stride, enum rp_level level,
                            uint64_t *ret_hits)
{
    struct made *m = made_new(1, 1);
    const uint32_t c = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lanes = 1, .lane_bytes = 8};
    for (uint32_t lap = 0; lap < laps; lap++)
        for (uint32_t i = 0; i < lines; i++) {
            made_access(made_wave(m, 0, 0), c, a, 0x1000000 + (int64_t)i * stride, 1);
            made_step(made_wave(m, 0, 0), wait);
        }
    struct rp_timing_stats s = made_run(m);
    *ret_hits = s.level[level].read_hits;
    made_free(m);
    return s.replay_clocks;
}

static void pointer_chases_take_what_was_measured(void **state)
{
    (void)state;
    static const struct {
        enum rp_level level;
        uint32_t lines, clocks;
    } cases[] = {
        {RP_LEVEL_L1, 64, 116},       /* 8 KiB */
        {RP_LEVEL_L2, 4096, 209},     /* 512 KiB */
        {RP_LEVEL_MALL, 131072, 456}, /* 16 MiB, in whose order the L2 keeps nothing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t hits[2];
        const uint64_t one = laps_clocks(cases[i].lines, 1, 1, cases[i].level, &hits[0]);
        const uint64_t two = laps_clocks(cases[i].lines, 2, 1, cases[i].level, &hits[1]);
        assert_int_equal(hits[1] - hits[0], cases[i].lines);
        assert_int_equal(two - one, (uint64_t)cases[i].lines * cases[i].clocks);
    }
    uint64_t hits;
    const uint64_t once = laps_clocks(1000, 1, 100, RP_LEVEL_MALL, &hits);
    const uint64_t longer = laps_clocks(2000, 1, 100, RP_LEVEL_MALL, &hits);
    assert_int_equal(hits, 0);
    assert_int_equal(longer - once, 1000 * 900);
}

/* ---- bandwidth ----------------------------------------------------------------------------- */

enum { LOADS = 24, WIDE_LINES = 8 };

/*
 * All CUs with 16 waves, which load or store 1 KiB at a time, again and again over the same memory
 * or ever more.
 */
static double bytes_per_clock(const char *target, uint8_t flags, uint32_t rounds, uint32_t laps)
{
    double bytes[2], clocks[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct made *m = made_new(304, 16);
        const uint32_t c = made_memory(m, RP_REC_VMEM);
        const struct rp_rec_access a = {.flags = flags, .lane_bytes = 16, .lookups = 16};
        for (uint32_t g = 0; g < 304; g++)
            for (uint32_t w = 0; w < 16; w++)
                for (uint32_t i = 0; i < LOADS * (laps + k * laps); i++) {
                    /* of a round, the waves of a group have neighbouring parts */
                    const uint32_t round = rounds ? i % rounds : i;
                    const int64_t line = (int64_t)g * (rounds ? rounds : 64) * 16 * WIDE_LINES +
                                         (int64_t)(round * 16 + w) * WIDE_LINES;
                    made_access(made_wave(m, g, w), c, a, 0x1000000 + line, WIDE_LINES);
                }
        assert_int_equal(rp_record_renumber_pages(m->record), 0); /* as those of real dispatches */
        struct rp_timing_stats s = made_run_on(m, target);
        clocks[k] = (double)s.replay_clocks;
        bytes[k] = 304.0 * 16 * LOADS * laps * (k + 1) * WIDE_LINES * 128;
        made_free(m);
    }
    return (bytes[1] - bytes[0]) / (clocks[1] - clocks[0]);
}

static void near(double got, double expected, double share)
{
    if (got < expected * (1 - share) || got > expected * (1 + share))
        fail_msg("%.1f bytes per clock, expected %.1f", got, expected);
}

static void bandwidths_are_those_measured(void **state)
{
    (void)state;
    const double clock_hz = 2.1e9, gib = 1073741824.0;
    /* What the memory gives to accesses that wait for nothing: gpu-stream on an MI300X reads 4141
     * GB/s and writes 4587 with as many waves as fit (bench/published.csv). */
    near(bytes_per_clock("gfx942", RP_REC_READS, 0, 1), 4141e9 * 1.06 / clock_hz, 0.05);
    near(bytes_per_clock("gfx942", RP_REC_WRITES, 0, 1), 4587e9 / clock_hz, 0.05);
    /* 32 KiB of each CU, 1.2 MiB of a die: the L2 holds it. gpu-l2-stream writes 7.8 TB/s, and
     * launches take a part of its time. */
    near(bytes_per_clock("gfx942", RP_REC_WRITES, 2, 1), 128 * 32, 0.05);
    /* 64 KiB of each CU, twice its L1, 2.4 MiB of a die */
    near(bytes_per_clock("gfx942", RP_REC_READS, 4, 1), 14365 * gib / clock_hz, 0.05);
    /* gpu-stream on an MI210, at 1700 MHz */
    near(bytes_per_clock("gfx90a", RP_REC_WRITES, 0, 1), 1511e9 / 1.7e9, 0.05);
}

/* ---- waves of a group ---------------------------------------------------------------------- */

static void a_barrier_waits_for_the_last(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 4);
        const uint32_t v = made_valu(m, 4), barrier = made_misc(m, RP_REC_WAVE_BARRIER, 0);
        for (uint32_t w = 0; w < 4; w++) { /* wave 3 is late before it, all work after it */
            for (uint32_t i = 0; i < (w == 3 ? 100 * (k + 1) : 10); i++)
                made_step(made_wave(m, 0, w), v);
            made_step(made_wave(m, 0, w), barrier);
            for (uint32_t i = 0; i < 50; i++)
                made_step(made_wave(m, 0, w), v);
        }
        struct rp_timing_stats s = made_run(m);
        clocks[k] = s.replay_clocks;
        assert_int_equal(s.insts, 30 + 100 * (k + 1) + 4 * 51);
        /* three waves wait for 90 or 190 instructions */
        assert_in_range(s.wait_clocks[RP_REC_MISC], 3 * 4 * (100 * (k + 1) - 10) - 12,
                        3 * 4 * (100 * (k + 1) - 10) + 12);
        made_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 400);
}

static void a_truncated_wave_goes_on_at_its_pace(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t v = made_valu(m, 4);
    for (uint32_t i = 0; i < 1000; i++)
        made_step(made_wave(m, 0, 0), v);
    const uint64_t kept = made_run(m).replay_clocks;
    made_wave(m, 0, 0)->insts = 5000;
    assert_in_range(made_run(m).replay_clocks - kept, 4000 * 4, 4000 * 4 + 8);
    made_free(m);
}

/* Without it, nobody could tell such a time from one that all instructions were replayed for. */
static void what_a_truncated_wave_does_then_is_unsure(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t v = made_valu(m, 4);
    for (uint32_t i = 0; i < 20000; i++)
        made_step(made_wave(m, 0, 0), v);
    assert_true(made_run(m).error_share == 0);
    made_wave(m, 0, 0)->insts = 100000;
    assert_true(made_run(m).error_share < 0.02); /* more of the same */
    /* 3 bytes an instruction where there were none, for four fifths of the time: 3/4 of that. */
    made_wave(m, 0, 0)->bytes = 3 * 80000;
    const double error = made_run(m).error_share;
    assert_true(error > 0.57 && error < 0.63);
    made_free(m);
    /* The halves of the record disagree: 4 and 16 clocks an instruction; the rest is half of all.
     */
    m = made_new(1, 1);
    const uint32_t fast = made_valu(m, 4), slow = made_valu(m, 16);
    for (uint32_t i = 0; i < 20000; i++)
        made_step(made_wave(m, 0, 0), i < 10000 ? fast : slow);
    made_wave(m, 0, 0)->insts = 32500;
    const double halves = made_run(m).error_share;
    assert_true(halves > 0.57 * 0.5 && halves < 0.63 * 0.5);
    made_free(m);
}

/* Nobody waits for what it reads then, but a dispatch does not end before memory has served it: the
 * like of the second half of the record, or where that reads nothing, of all other waves. */
static void what_a_truncated_wave_reads_then_is_work(void **state)
{
    (void)state;
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lanes = 64, .lane_bytes = 4};
    double hbm[3];
    for (unsigned k = 0; k < 3; k++) {
        struct made *m = made_new(1, 2);
        const uint32_t v = made_valu(m, 4), c = made_memory(m, RP_REC_VMEM);
        for (uint32_t w = 0; w < 2; w++) {
            struct rp_rec_wave *wave = made_wave(m, 0, w);
            for (uint32_t i = 0; i < 64; i++) {
                made_step(wave, v);
                if (w == 0 || k == 1)
                    made_access(wave, c, a, 0x1000000 + (int64_t)(64 * w + i) * 2, 2);
            }
            wave->bytes = w == 0 || k == 1 ? 64 * 256 : 0;
        }
        if (k == 2) { /* all that it reads is beyond */
            made_wave(m, 0, 1)->insts += 128;
            made_wave(m, 0, 1)->bytes = 64 * 256;
        }
        hbm[k] = made_run(m).level_clocks[RP_LEVEL_HBM];
        if (k == 1) { /* four times as much as was kept */
            made_wave(m, 0, 1)->insts *= 4;
            made_wave(m, 0, 1)->bytes *= 4;
            const double more = made_run(m).level_clocks[RP_LEVEL_HBM];
            assert_true(more > 2.4 * hbm[1] && more < 2.6 * hbm[1]);
        }
        made_free(m);
    }
    assert_true(hbm[0] > 0 && hbm[1] > 1.9 * hbm[0] && hbm[1] < 2.1 * hbm[0]);
    assert_true(hbm[2] > 1.9 * hbm[0] && hbm[2] < 2.1 * hbm[0]);
}

/* Of a wave in a loop of which a fifth was kept, counters are five times those of the fifth. */
static void counters_of_truncated_waves_are_of_all_of_them(void **state)
{
    (void)state;
    const struct rp_arch *arch = rp_arch_find("gfx942");
    const struct rp_wave_sums sums = {.level_clocks = {[RP_REC_VMEM] = 600000}};
    const struct rp_rec_shape shape = {.waves_per_group = 1};
    struct rp_timing_stats s = {
        .group_count = 1, .groups = 1, .waves = 1, .insts = 1000, .wave_clocks = 4000000};
    struct rp_counts counts = {.waves = 1, .wave_insts = 5000};
    uint64_t values[RP_DEVICE_COUNTERS] = {0};
    s.wait_clocks[RP_REC_VMEM] = 500000;
    s.stall_clocks[RP_REC_VALU] = 3000;
    s.stall_clocks[RP_REC_LDS] = 1000;
    rp_wave_counters(arch, &s, &sums, &shape, &counts, values);
    assert_int_equal(values[RP_COUNTER_SQ_LEVEL_WAVES], 4000000); /* to its end already */
    assert_int_equal(values[RP_COUNTER_SQ_WAVE_CYCLES], 1000000);
    assert_int_equal(values[RP_COUNTER_SQ_WAIT_ANY], 5 * 125000);
    assert_int_equal(values[RP_COUNTER_SQ_WAIT_INST_ANY], 5 * 1000);
    assert_int_equal(values[RP_COUNTER_SQ_WAIT_INST_LDS], 5 * 250);
    assert_int_equal(values[RP_COUNTER_SQ_INST_LEVEL_VMEM], 5 * 600000);
}

static void the_same_record_takes_the_same_time(void **state)
{
    (void)state;
    struct made *m = made_new(700, 4);
    const uint32_t c = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15), v = made_valu(m, 4),
                   barrier = made_misc(m, RP_REC_WAVE_BARRIER, 0);
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lane_bytes = 4};
    uint32_t random = 1;
    for (uint32_t g = 0; g < 700; g++)
        for (uint32_t w = 0; w < 4; w++)
            for (uint32_t i = 0; i < 20; i++) {
                random = random * 1664525 + 1013904223;
                made_access(made_wave(m, g, w), c, a, random >> 12, 2);
                made_step(made_wave(m, g, w), i % 3 ? v : wait);
                if (i == 10)
                    made_step(made_wave(m, g, w), barrier);
            }
    struct rp_timing_stats first = made_run(m);
    for (unsigned k = 0; k < 5; k++) {
        struct rp_timing_stats again = made_run(m);
        assert_memory_equal(&first, &again, sizeof first);
    }
    made_free(m);
}

/* The replay engine: what waits for what, who comes first, and where waves are placed. */

static const struct rp_rec_access load = {.flags = RP_REC_READS, .lanes = 1, .lane_bytes = 8};
static const struct rp_rec_access scalar_load = {
    .space = RP_REC_SCALAR, .flags = RP_REC_READS, .lanes = 1, .lane_bytes = 4};

static uint64_t run_and_free(struct made *m)
{
    const uint64_t clocks = made_run(m).replay_clocks;
    made_free(m);
    return clocks;
}

/* ---- counters of what is under way --------------------------------------------------------- */

/* CDNA3 ISA guide, S_WAITCNT: VM_CNT has 6 bits, LGKM_CNT 4. So many loads from memory at once. */
static uint64_t loads_clocks(enum rp_rec_unit unit, uint32_t count)
{
    struct made *m = made_new(1, 1);
    const uint32_t c = made_memory(m, unit), wait = made_wait(m, 0, 0);
    for (uint32_t i = 0; i < count; i++) /* each in a page of its own */
        made_access(made_wave(m, 0, 0), c, unit == RP_REC_SMEM ? scalar_load : load,
                    0x1000000 + 4096 * (int64_t)i, 1);
    made_step(made_wave(m, 0, 0), wait);
    return run_and_free(m);
}

static void counters_of_what_is_under_way_end(void **state)
{
    (void)state;
    static const struct {
        enum rp_rec_unit unit;
        uint32_t most;
    } cases[] = {{RP_REC_VMEM, 63}, {RP_REC_SMEM, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t one = loads_clocks(cases[i].unit, 1),
                       latency = one - loads_clocks(cases[i].unit, 0),
                       full = loads_clocks(cases[i].unit, cases[i].most),
                       more = loads_clocks(cases[i].unit, cases[i].most + 1),
                       twice = loads_clocks(cases[i].unit, 2 * cases[i].most);
        assert_in_range(full - one, 4 * (cases[i].most - 1), 4 * (cases[i].most - 1) + 60);
        /* one more waits for the first to come back */
        assert_in_range(more - one, latency - 8, latency + 60);
        assert_in_range(twice - full, latency - 8, latency + 60);
    }
}

/*
 * A line that is near, loaded behind one that is far, and s_waitcnt for one of the two. Scalar
 * loads return out of order (CDNA3 ISA guide, "Manually Inserted Wait States"), vector loads in
 * order: the wave, with 400 clocks of work, goes on early with the former only.
 */
static uint64_t near_behind_far(enum rp_rec_unit unit)
{
    struct made *m = made_new(1, 1);
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    const struct rp_rec_access a = unit == RP_REC_SMEM ? scalar_load : load;
    const uint32_t c = made_memory(m, unit), none = made_wait(m, 0, 0), one = made_wait(m, 1, 1),
                   v = made_valu(m, 4);
    made_access(w, c, a, 0x1000000, 1);
    made_step(w, none);
    made_access(w, c, a, 0x2000000, 1);
    made_access(w, c, a, 0x1000000, 1);
    made_step(w, one);
    for (unsigned i = 0; i < 100; i++)
        made_step(w, v);
    made_step(w, none);
    return run_and_free(m);
}

static void scalar_results_overtake_each_other(void **state)
{
    (void)state;
    const uint64_t in_order = near_behind_far(RP_REC_VMEM),
                   out_of_order = near_behind_far(RP_REC_SMEM);
    const uint64_t vector = loads_clocks(RP_REC_VMEM, 1), scalar = loads_clocks(RP_REC_SMEM, 1);
    /* The wave is launched once, and then its code is there. */
    const struct rp_arch_timing *t = rp_arch_find("gfx942")->timing;
    const uint64_t once = (uint64_t)rp_launch_clocks(t, 1) + t->wave_clocks + t->code_clocks + 22;
    assert_in_range(in_order, 2 * vector + 400 - once, 2 * vector + 400 + 60);
    assert_in_range(out_of_order, 2 * scalar - once, 2 * scalar + 60);
    assert_true(in_order + 2 * scalar >= out_of_order + 2 * vector + 380);
}

/* A workgroup of 16 waves, whose loads of one line each are there after the first one. */
static uint64_t scalar_hits_clocks(uint64_t groups, uint32_t rounds)
{
    struct made *m = made_new(groups, 16);
    const uint32_t c = made_memory(m, RP_REC_SMEM), wait = made_wait(m, 0, 0);
    for (uint64_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < 16 * rounds; i++) {
            struct rp_rec_wave *w = made_wave(m, g, i % 16);
            for (uint32_t k = 0; k < 8; k++) {
                made_access(w, c, scalar_load, 0x1000000, 1);
                w->line[w->line_count - 1].sectors = 3;
            }
            made_step(w, wait);
        }
    return run_and_free(m);
}

/* A scalar cache gives a line a clock (rocprof-compute's peak of the sL1D) to the one compute unit
 * that works, or to both that share it: of 304 all but 16 have a neighbour. */
static void neighbours_share_a_scalar_cache(void **state)
{
    (void)state;
    const uint64_t alone = scalar_hits_clocks(8, 60) - scalar_hits_clocks(8, 20),
                   all = scalar_hits_clocks(304, 60) - scalar_hits_clocks(304, 20);
    assert_in_range(alone, 40 * 16 * 8, 40 * 16 * 8 * 2 - 500);
    assert_in_range(all, 40 * 16 * 8 * 2, 40 * 16 * 8 * 2 * 1.02);
}

/* A memory instruction with no lane on is an instruction, and what waits for it does not wait. */
static void no_lanes_no_latency(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 1);
        const uint32_t c = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 0);
        for (unsigned i = 0; i < 50 * (k + 1); i++) {
            made_access(made_wave(m, 0, 0), c, load, -1, 0);
            made_step(made_wave(m, 0, 0), wait);
        }
        clocks[k] = run_and_free(m);
    }
    assert_int_equal(clocks[1] - clocks[0], 50 * 8);
}

/* s_nop N is N + 1 slots of 4 clocks, s_sleep N 64 * N clocks (CDNA3 ISA guide). */
static void pauses_take_their_clocks(void **state)
{
    (void)state;
    static const struct {
        enum rp_rec_misc misc;
        uint16_t value;
    } cases[] = {{RP_REC_NOP, 4}, {RP_REC_NOP, 64}, {RP_REC_SLEEP, 640}, {RP_REC_SLEEP, 8128}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t clocks[2];
        for (unsigned k = 0; k < 2; k++) {
            struct made *m = made_new(1, 4);
            const uint32_t c = made_misc(m, cases[i].misc, cases[i].value);
            for (uint32_t w = 0; w < 4; w++)
                for (unsigned n = 0; n < 30 * (k + 1); n++)
                    made_step(made_wave(m, 0, w), c);
            clocks[k] = run_and_free(m);
        }
        assert_int_equal(clocks[1] - clocks[0], 30 * cases[i].value);
    }
}

/* ---- records that end early ---------------------------------------------------------------- */

/*
 * Waves in a loop with a barrier, of which a tenth was kept, of some a little less: all go on at
 * their pace together; nobody waits until another has gone through what was not kept.
 */
static void truncated_waves_do_not_wait_for_each_other(void **state)
{
    (void)state;
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, 16);
        const uint32_t v = made_valu(m, 4), barrier = made_misc(m, RP_REC_WAVE_BARRIER, 0);
        for (uint32_t w = 0; w < 16; w++) {
            for (unsigned i = 0; i < 400 - (k ? w : 0); i++)
                made_step(made_wave(m, 0, w), i % 8 ? v : barrier);
            made_wave(m, 0, w)->insts = k ? 4000 : 400;
        }
        clocks[k] = run_and_free(m);
    }
    /* Both wait for their launch and their code once. */
    const struct rp_arch_timing *t = rp_arch_find("gfx942")->timing;
    const double once = rp_launch_clocks(t, 16) + t->wave_clocks + t->code_clocks;
    assert_in_range((double)clocks[1] - once, 9.5 * ((double)clocks[0] - once),
                    10.5 * ((double)clocks[0] - once));
}

/* The oldest waves of a SIMD come first. When their records are over, the others must not go on as
 * though they had ended: sixteen waves of 4000 instructions take as long when 400 are recorded. */
static void truncated_waves_still_take_ports(void **state)
{
    (void)state;
    enum { WAVES = 16, KEPT = 400, ALL = 4000 };
    uint64_t clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_new(1, WAVES);
        const uint32_t v = made_valu(m, 4), none = made_misc(m, RP_REC_NOP, 4);
        for (uint32_t w = 0; w < WAVES; w++) {
            for (unsigned i = 0; i < (k ? KEPT : ALL); i++)
                made_step(made_wave(m, 0, w), i % 3 ? v : none);
            made_wave(m, 0, w)->insts = ALL;
        }
        clocks[k] = run_and_free(m);
    }
    assert_in_range(clocks[1], clocks[0] * 97 / 100, clocks[0] * 103 / 100);
}

/* ---- who comes first ----------------------------------------------------------------------- */

enum { MOST_WAVES = 1024 };

struct seen {
    uint64_t begin[MOST_WAVES], end[MOST_WAVES];
    struct rp_wave_placement place[MOST_WAVES];
    uint32_t waves_per_group;
    uint32_t on_simd[8][38][4], groups_on_cu[8][38], waves_of_group[MOST_WAVES];
    uint32_t most_on_simd, most_groups_on_cu;
};

static void note_begin(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct seen *s = ctx;
    const uint32_t wave = p->group * s->waves_per_group + p->wave;
    s->begin[wave] = clock;
    s->place[wave] = *p;
    const uint32_t on_simd = ++s->on_simd[p->xcc][p->cu][p->simd];
    if (!s->waves_of_group[p->group]++ && ++s->groups_on_cu[p->xcc][p->cu] > s->most_groups_on_cu)
        s->most_groups_on_cu = s->groups_on_cu[p->xcc][p->cu];
    if (on_simd > s->most_on_simd)
        s->most_on_simd = on_simd;
}

static void note_end(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct seen *s = ctx;
    s->end[p->group * s->waves_per_group + p->wave] = clock;
    s->on_simd[p->xcc][p->cu][p->simd]--;
    if (!--s->waves_of_group[p->group])
        s->groups_on_cu[p->xcc][p->cu]--;
}

static struct rp_timing_stats watch(struct made *m, uint32_t waves_per_group, struct seen *ret)
{
    struct rp_timing_stats stats;
    memset(ret, 0, sizeof *ret);
    ret->waves_per_group = waves_per_group;
    const struct rp_engine_watch watcher = {
        .ctx = ret, .wave_begins = note_begin, .wave_ends = note_end};
    m->record->code = m->code;
    m->record->code_count = m->codes;
    assert_int_equal(rp_engine_run(rp_arch_find("gfx942"), m->record, &watcher, &stats), 0);
    return stats;
}

/* 16 equal waves want the LDS, or the address unit, all the time: they end together. */
static void units_serve_all_waves_alike(void **state)
{
    (void)state;
    static struct seen seen;
    static const enum rp_rec_unit units[] = {RP_REC_LDS, RP_REC_VMEM};
    for (size_t i = 0; i < 2; i++) {
        struct made *m = made_new(1, 16);
        const uint32_t c = made_memory(m, units[i]);
        const struct rp_rec_access a = {.space = units[i] == RP_REC_LDS ? RP_REC_SHARED : 0,
                                        .flags = RP_REC_READS,
                                        .lds_clocks = units[i] == RP_REC_LDS ? 64 : 0,
                                        .lookups = 64,
                                        .lane_bytes = 4};
        for (uint32_t w = 0; w < 16; w++)
            for (unsigned n = 0; n < 50; n++)
                made_access(made_wave(m, 0, w), c, a, units[i] == RP_REC_LDS ? -1 : 0x1000, 1);
        watch(m, 16, &seen);
        made_free(m);
        uint64_t first = UINT64_MAX, last = 0;
        for (uint32_t w = 0; w < 16; w++) {
            first = seen.end[w] < first ? seen.end[w] : first;
            last = seen.end[w] > last ? seen.end[w] : last;
        }
        assert_true(last > 15 * 50 * 64);
        assert_true(last - first <= 2 * 16 * 64); /* two rounds */
    }
}

/* CDNA3 ISA guide, S_SETPRIO: a wave's priority is what it has set, then its age. Two waves of each
 * SIMD want the same port all the time: the one that goes first has it to itself. */
static void older_waves_go_first_and_priorities_before_that(void **state)
{
    (void)state;
    const struct rp_insn set = {.op = RP_OP_s_setprio, .fmt = RP_FMT_SOPP, .offset = 2};
    assert_int_equal(made_described(&set).misc, RP_REC_PRIORITY);
    assert_int_equal(made_described(&set).value, 2);
    static struct seen seen;
    for (unsigned younger_first = 0; younger_first < 2; younger_first++) {
        struct made *m = made_new(1, 8);
        const uint32_t v = made_valu(m, 4), raise = made_misc(m, RP_REC_PRIORITY, 3);
        for (uint32_t w = 0; w < 8; w++) {
            if (younger_first && w >= 4)
                made_step(made_wave(m, 0, w), raise);
            for (unsigned n = 0; n < 500; n++)
                made_step(made_wave(m, 0, w), v);
        }
        watch(m, 8, &seen);
        made_free(m);
        for (uint32_t w = 0; w < 4; w++) {
            const uint64_t old = seen.end[w], young = seen.end[w + 4];
            assert_in_range((younger_first ? old - young : young - old), 1900, 2100);
        }
    }
}

/* Each of the four shader engines of a die launches one workgroup after another: gpu-l2-stream of
 * workgroups of 16 waves goes at a wave in 4.4 clocks of an engine (bench/published.csv). */
static void shader_engines_launch_waves(void **state)
{
    (void)state;
    enum { ROUND = 8 * 4, GROUPS = 2 * ROUND, WAVES = 16 }; /* of eight dies */
    static struct seen seen;
    struct made *m = made_new(GROUPS, WAVES);
    const uint32_t v = made_valu(m, 4);
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t w = 0; w < WAVES; w++)
            made_step(made_wave(m, g, w), v);
    watch(m, WAVES, &seen);
    made_free(m);
    assert_int_equal(seen.begin[ROUND * WAVES] - seen.begin[0], 70);
    assert_int_equal(seen.begin[8 * WAVES], seen.begin[0]); /* another engine's first */
}

/* ---- placement ----------------------------------------------------------------------------- */

/* Groups of waves of different lengths: group 3 n has long ones. */
static struct made *uneven(uint64_t groups, uint32_t waves, uint32_t groups_per_cu)
{
    struct made *m = made_new(groups, waves);
    const uint32_t v = made_valu(m, 4);
    m->record->shape.groups_per_cu = groups_per_cu;
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t w = 0; w < waves; w++)
            for (unsigned i = 0; i < 20 + 7 * w + (g % 3 ? 0 : 100); i++)
                made_step(made_wave(m, g, w), v);
    return m;
}

/* Workgroup n is on die n modulo 8, as on hardware; a small grid has a compute unit for each. */
static void workgroups_are_dealt_out(void **state)
{
    (void)state;
    static struct seen seen;
    static const uint64_t grids[] = {1, 3, 8, 100, 304};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        struct made *m = uneven(grids[i], 2, 16);
        assert_int_equal(watch(m, 2, &seen).groups, grids[i]);
        made_free(m);
        assert_int_equal(seen.most_groups_on_cu, 1);
        assert_int_equal(seen.most_on_simd, 1);
        for (uint32_t g = 0; g < grids[i]; g++) {
            assert_int_equal(seen.place[2 * g].xcc, g % 8);
            assert_true(seen.end[2 * g] > seen.begin[2 * g]);
        }
    }
}

/* No more workgroups on a compute unit than its registers and LDS hold, and all of these. */
static void occupancy_is_kept(void **state)
{
    (void)state;
    static struct seen seen;
    static const struct {
        uint32_t groups, waves, on_cu;
    } cases[] = {{1000, 1, 1}, {500, 2, 1}, {340, 3, 1}, {1000, 1, 3}, {350, 2, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made *m = uneven(cases[i].groups, cases[i].waves, cases[i].on_cu);
        const struct rp_timing_stats s = watch(m, cases[i].waves, &seen);
        made_free(m);
        assert_int_equal(s.groups, cases[i].groups);
        const uint32_t wanted = (cases[i].groups + 303) / 304;
        assert_int_equal(seen.most_groups_on_cu, wanted < cases[i].on_cu ? wanted : cases[i].on_cu);
        uint64_t resident = 0;
        for (uint32_t w = 0; w < cases[i].groups * cases[i].waves; w++)
            resident += seen.end[w] - seen.begin[w];
        assert_int_equal(resident, s.wave_clocks);
        assert_true(s.cu_busy_clocks <= s.wave_clocks && s.wave_clocks <= 32 * s.cu_busy_clocks);
    }
}

/* ---- samples ------------------------------------------------------------------------------- */

static int64_t any_of_4096(uint64_t x)
{
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return (int64_t)((x ^ x >> 16) & 4095);
}

/* Workgroups of four waves that do the same wherever they are recorded: arithmetic of somewhat
 * different lengths; copies; gathers from memory that all share. */
static void work(struct made *m, const char *kind, uint32_t unit, uint32_t wait, uint32_t v)
{
    const uint64_t groups = m->record->plan.count + m->record->plan.probes;
    const struct rp_rec_access read = {.flags = RP_REC_READS, .lane_bytes = 16, .lookups = 8},
                               write = {.flags = RP_REC_WRITES, .lane_bytes = 16, .lookups = 8};
    for (uint64_t g = 0; g < groups; g++) {
        const uint64_t id = m->record->group[g].linear_id;
        for (uint32_t w = 0; w < 4; w++) {
            struct rp_rec_wave *wave = made_wave(m, g, w);
            const int64_t own = 0x1000000 + (int64_t)(4 * id + w) * 8;
            for (unsigned i = 0; *kind == 'a' && i < 100 + id % 5 * 10; i++)
                made_step(wave, v);
            for (unsigned i = 0; *kind == 'g' && i < 6; i++) {
                made_access(wave, unit, read, 0x4000000 + any_of_4096((4 * id + w) * 6 + i) * 8, 8);
                made_step(wave, wait);
            }
            if (*kind == 'c') {
                made_access(wave, unit, read, own, 8);
                made_step(wave, wait);
                made_access(wave, unit, write, 0x8000000 + own, 8);
            }
            m->record->total_waves = 4 * m->record->plan.group_count;
        }
    }
}

static double work_clocks(const struct rp_rec_plan *plan, const char *kind, double *ret_error)
{
    struct made *m = made_planned(plan, 4, 8);
    const uint32_t unit = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15),
                   v = made_valu(m, 4);
    work(m, kind, unit, wait, v);
    uint64_t insts = 0, waves = 0;
    for (uint64_t g = 0; g < plan->count; g++)
        for (uint32_t w = 0; w < 4; w++, waves++)
            insts += made_wave(m, g, w)->insts;
    m->record->total_insts = insts * m->record->total_waves / waves;
    assert_int_equal(rp_record_renumber_pages(m->record), 0);
    const struct rp_timing_stats s = made_run(m);
    made_free(m);
    *ret_error = s.error_share;
    return s.clocks;
}

/* The part of a grid that is replayed, against all of it. */
static void a_sample_stands_for_the_grid(void **state)
{
    (void)state;
    static const char *const kinds[] = {"arithmetic", "copies", "gathers"};
    static const uint64_t grids[] = {512, 1003, 2048, 9728, 24000};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const struct rp_rec_plan all = {
                .group_count = grids[i], .count = grids[i], .stride = 1};
            const struct rp_rec_plan sample =
                rp_rec_timing_plan_of(rp_arch_find("gfx942"), grids[i], 4, 8);
            double none, error;
            const double expected = work_clocks(&all, kinds[k], &none);
            const double got = work_clocks(&sample, kinds[k], &error);
            print_message("    %s, %u groups: %.0f clocks, sampled %.0f: %+.1f %%, estimate %.1f\n",
                          kinds[k], (unsigned)grids[i], expected, got, 100 * (got / expected - 1),
                          100 * error);
            assert_true(sample.count < all.count);
            if (got < 0.9 * expected || got > 1.1 * expected)
                fail_msg("%s, %u groups", kinds[k], (unsigned)grids[i]);
        }
}

static void persistent_grids_are_recorded_whole(void **state)
{
    (void)state;
    const struct rp_arch *arch = rp_arch_find("gfx942");
    static const struct {
        uint64_t groups;
        uint32_t waves, groups_per_cu;
        bool whole;
    } rows[] = {{304, 8, 1, true},  {608, 8, 2, true},   {304, 16, 2, true}, {305, 8, 2, false},
                {608, 8, 1, false}, {608, 16, 2, false}, {304, 1, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_rec_plan sample =
            rp_rec_timing_plan_of(arch, rows[i].groups, rows[i].waves, rows[i].groups_per_cu);
        struct rp_rec_plan whole;
        assert_int_equal(
            rp_rec_whole_plan_of(arch, &sample, rows[i].waves, rows[i].groups_per_cu, &whole),
            rows[i].whole);
        if (rows[i].whole)
            assert_true(whole.count == rows[i].groups && whole.stride == 1);
    }
}

/* Of a whole record the sample is enough, unless one workgroup has the work that others have not.
 */
static void a_sample_that_tells_nothing_is_not_taken(void **state)
{
    (void)state;
    const struct rp_rec_plan sample = rp_rec_timing_plan_of(rp_arch_find("gfx942"), 304, 8, 1);
    struct rp_rec_plan whole;
    assert_true(rp_rec_whole_plan_of(rp_arch_find("gfx942"), &sample, 8, 1, &whole));
    for (unsigned works = 0; works < 2; works++) {
        struct made *m = made_planned(&whole, 8, 1);
        const uint32_t v = made_valu(m, 4);
        m->record->sample = sample;
        for (uint64_t g = 0; g < whole.count; g++)
            for (uint32_t w = 0; w < 8; w++)
                for (unsigned i = 0; i < (works && g == 303 ? 200 : 20); i++)
                    made_step(made_wave(m, g, w), v);
        assert_int_equal(rp_record_narrow(m->record), 0);
        assert_int_equal(m->record->plan.count, works ? 304 : sample.count);
        assert_int_equal(m->record->plan.probes, works ? 0 : sample.probes);
        for (uint64_t i = 0; i < m->record->plan.count + m->record->plan.probes; i++) {
            const struct rp_rec_group *g = &m->record->group[i];
            assert_int_equal(g->linear_id, rp_rec_linear_id(&m->record->plan, i));
            assert_int_equal(g->wave[0].lines_only, i >= m->record->plan.count);
            assert_int_equal(g->wave[0].step_count, i >= m->record->plan.count     ? 0
                                                    : works && g->linear_id == 303 ? 200
                                                                                   : 20);
        }
        made_free(m);
    }
}

/* Each wave adds to a word twice: which one says @p kind, of all one, of each half of the grid, or
 * of each workgroup. Returns what the busiest line takes. */
static double atomic_clocks(const struct rp_rec_plan *plan, const char *kind)
{
    struct made *m = made_planned(plan, 4, 8);
    const uint32_t unit = made_memory(m, RP_REC_VMEM);
    const struct rp_rec_access add = {
        .flags = RP_REC_WRITES | RP_REC_ATOMIC, .lanes = 64, .lane_bytes = 4, .lookups = 4};
    for (uint64_t g = 0; g < plan->count + plan->probes; g++) {
        const uint64_t id = m->record->group[g].linear_id;
        const int64_t line = *kind == 'a'   ? 0x1000
                             : *kind == 'h' ? 0x1000 + 32 * (id >= plan->group_count / 2)
                                            : 0x1000 + (int64_t)(32 * id);
        for (uint32_t w = 0; w < 4; w++)
            for (unsigned i = 0; i < 2; i++) {
                struct rp_rec_wave *wave = made_wave(m, g, w);
                made_access(wave, unit, add, line, 1);
                wave->line[wave->line_count - 1].deepest = 64;
            }
    }
    m->record->total_waves = 4 * plan->group_count;
    m->record->total_insts = 2 * m->record->total_waves;
    assert_int_equal(rp_record_renumber_pages(m->record), 0);
    const struct rp_timing_stats s = made_run(m);
    made_free(m);
    return s.atomic_clocks;
}

/* A line is in one L2 at a time: dies cannot change a word of it at once. A sample whose own line
 * is busy says nothing of the rest of the grid. */
static void atomics_on_one_word_follow_one_another(void **state)
{
    (void)state;
    const struct rp_rec_plan all = {.group_count = 64, .count = 64, .stride = 1};
    const struct rp_rec_plan sample = rp_rec_timing_plan_of(rp_arch_find("gfx942"), 9728, 4, 8);
    assert_true(atomic_clocks(&all, "all") == 64 * 4 * 2 * 64);
    assert_true(atomic_clocks(&all, "halves") == 32 * 4 * 2 * 64);
    assert_true(atomic_clocks(&all, "own") == 4 * 2 * 64);
    assert_true(sample.probes);
    const double clocks = atomic_clocks(&sample, "all"), expected = 9728. * 4 * 2 * 64;
    assert_true(clocks > 0.999 * expected && clocks < 1.001 * expected);
    assert_true(atomic_clocks(&sample, "halves") == 0);
    assert_true(atomic_clocks(&sample, "own") == 0);
}

/* What memory is asked for by all of a grid follows from a sample. */
static void a_sample_tells_what_memory_needs(void **state)
{
    (void)state;
    const struct rp_rec_plan all = {.group_count = 9728, .count = 9728, .stride = 1};
    const struct rp_rec_plan sample = rp_rec_timing_plan_of(rp_arch_find("gfx942"), 9728, 4, 8);
    const struct rp_rec_plan *plan[] = {&all, &sample};
    struct rp_timing_stats s[2];
    for (unsigned i = 0; i < 2; i++) {
        struct made *m = made_planned(plan[i], 4, 8);
        const uint32_t unit = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
        work(m, "copies", unit, wait, 0);
        m->record->total_insts = 3 * m->record->total_waves;
        assert_int_equal(rp_record_renumber_pages(m->record), 0);
        s[i] = made_run(m);
        made_free(m);
    }
    for (unsigned level = RP_LEVEL_L2; level <= RP_LEVEL_HBM; level++) {
        const double ratio = s[1].level_clocks[level] / s[0].level_clocks[level];
        if (!(ratio > 0.98 && ratio < 1.02))
            fail_msg("level %u: %g", level, ratio);
        assert_true(s[1].level_clocks[level] <= s[1].clocks);
    }
    /* 1 KiB each way of each wave, at HBM's rates */
    const struct rp_arch *arch = rp_arch_find("gfx942");
    const double peak = arch->hbm_peak_gbps * 1e3 / arch->engine_clock_mhz;
    const double hbm = 9728 * 4 * 1024. / peak *
                       (1 / arch->timing->hbm_read_share + 1 / arch->timing->hbm_write_share);
    /* and what it loses by turning from reads to writes, which come in runs */
    assert_true(s[0].level_clocks[RP_LEVEL_HBM] > 0.98 * hbm &&
                s[0].level_clocks[RP_LEVEL_HBM] < 1.05 * hbm);
}

/* At half the clock arithmetic takes as many clocks, and memory as many nanoseconds. */
static void a_lower_clock_slows_arithmetic_alone(void **state)
{
    (void)state;
    const struct rp_arch *own = rp_arch_find("gfx942");
    const struct rp_rec_plan sample = rp_rec_timing_plan_of(own, 9728, 4, 8);
    struct rp_timing_stats s[2][2];
    for (unsigned copies = 0; copies < 2; copies++)
        for (unsigned half = 0; half < 2; half++) {
            struct made *m = made_planned(&sample, 4, 8);
            const uint32_t unit = copies ? made_memory(m, RP_REC_VMEM) : 0;
            const uint32_t wait = copies ? made_wait(m, 0, 15) : 0;
            const uint32_t v = copies ? 0 : made_valu(m, 4);
            struct rp_arch arch = *own;
            struct rp_arch_timing timing;
            work(m, copies ? "copies" : "arithmetic", unit, wait, v);
            m->record->total_insts = (copies ? 3 : 120) * m->record->total_waves;
            assert_int_equal(rp_record_renumber_pages(m->record), 0);
            if (half)
                rp_arch_set_clock(&arch, own->engine_clock_mhz / 2, &timing);
            s[copies][half] = made_run_at(m, &arch);
            made_free(m);
        }
    assert_int_equal(s[0][1].clocks, s[0][0].clocks);
    const double share = 2 * (double)s[1][1].clocks / (double)s[1][0].clocks;
    if (!(share > 0.97 && share < 1.05))
        fail_msg("copies take %g times as long", share);
}

/* Dies whose waves execute three times as much as those of the one that is replayed. */
static void other_dies_may_take_longer(void **state)
{
    (void)state;
    const struct rp_rec_plan plan = rp_rec_timing_plan_of(rp_arch_find("gfx942"), 600, 4, 8);
    double clocks[2], error[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = made_planned(&plan, 4, 8);
        const uint32_t v = made_valu(m, 4);
        work(m, "arithmetic", 0, 0, v);
        uint64_t insts = 0;
        for (uint64_t g = 0; g < plan.count; g++)
            for (uint32_t w = 0; w < 4; w++)
                insts += made_wave(m, g, w)->insts;
        m->record->total_insts = insts * (k ? 1 + 7 * 3 : 8);
        const struct rp_timing_stats s = made_run(m);
        clocks[k] = s.clocks;
        error[k] = s.error_share;
        made_free(m);
    }
    assert_int_equal(plan.count, 75);
    assert_true(clocks[1] > 2.99 * clocks[0] && clocks[1] < 3.01 * clocks[0]);
    assert_true(error[0] < 0.001 && error[1] > 1.99 && error[1] < 2.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(persistent_grids_are_recorded_whole),
        cmocka_unit_test(a_sample_that_tells_nothing_is_not_taken),
        cmocka_unit_test(a_simd_issues_every_four_clocks),
        cmocka_unit_test(a_full_machine_issues_as_fast),
        cmocka_unit_test(chains_of_vector_registers_take_half_a_simd),
        cmocka_unit_test(two_waves_share_a_simd_where_the_second_unit_is_idle),
        cmocka_unit_test(nothing_is_issued_beside_a_matrix_instruction),
        cmocka_unit_test(different_units_overlap),
        cmocka_unit_test(matrix_pipes_take_passes),
        cmocka_unit_test(scalar_loads_take_the_scalar_port),
        cmocka_unit_test(the_lds_is_shared_by_all_simds),
        cmocka_unit_test(the_lds_has_two_ports),
        cmocka_unit_test(the_lds_of_gfx950_returns_twice_as_much),
        cmocka_unit_test(pointer_chases_take_what_was_measured),
        cmocka_unit_test(bandwidths_are_those_measured),
        cmocka_unit_test(a_barrier_waits_for_the_last),
        cmocka_unit_test(what_a_truncated_wave_does_then_is_unsure),
        cmocka_unit_test(what_a_truncated_wave_reads_then_is_work),
        cmocka_unit_test(counters_of_truncated_waves_are_of_all_of_them),
        cmocka_unit_test(a_truncated_wave_goes_on_at_its_pace),
        cmocka_unit_test(the_same_record_takes_the_same_time),
        cmocka_unit_test(counters_of_what_is_under_way_end),
        cmocka_unit_test(scalar_results_overtake_each_other),
        cmocka_unit_test(neighbours_share_a_scalar_cache),
        cmocka_unit_test(no_lanes_no_latency),
        cmocka_unit_test(pauses_take_their_clocks),
        cmocka_unit_test(truncated_waves_do_not_wait_for_each_other),
        cmocka_unit_test(truncated_waves_still_take_ports),
        cmocka_unit_test(units_serve_all_waves_alike),
        cmocka_unit_test(older_waves_go_first_and_priorities_before_that),
        cmocka_unit_test(shader_engines_launch_waves),
        cmocka_unit_test(workgroups_are_dealt_out),
        cmocka_unit_test(occupancy_is_kept),
        cmocka_unit_test(a_sample_stands_for_the_grid),
        cmocka_unit_test(atomics_on_one_word_follow_one_another),
        cmocka_unit_test(a_sample_tells_what_memory_needs),
        cmocka_unit_test(a_lower_clock_slows_arithmetic_alone),
        cmocka_unit_test(other_dies_may_take_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
