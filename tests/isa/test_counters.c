/* Hardware counters of instructions: against numbers counted by hand, against the executor's own
 * sum, and the same however code is executed. */
#include "kernels_test.h"

#include "arch/arch.h"
#include "device/jit/jit_translate.h"
#include "device/timing/timing_model.h"

enum { WORDS = 1 << 18 };

struct values {
    uint64_t of[RP_DEVICE_COUNTERS];
};

static const struct rp_device_counter_row *row_of(unsigned counter)
{
    size_t count, i = 0;
    const struct rp_device_counter_row *rows = rp_device_counter_rows(&count);
    while (i < count && rows[i].value != (int)counter)
        i++;
    assert_true(i < count);
    return &rows[i];
}

static const char *name_of(unsigned counter)
{
    return row_of(counter)->name;
}

static struct values count(struct fixture *f, const char *kernel, const struct sim_launch *l)
{
    struct values v;
    f->sim.counters = v.of;
    if (sim_run(&f->sim, sim_kernel(&f->code, kernel), l) != RP_RUN_DONE)
        fail_msg("%s: %s", kernel, f->sim.fault.text);
    f->sim.counters = NULL;
    assert_int_equal(f->sim.counted, RP_COUNT_MEMORY);
    return v;
}

/* From the replay of detailed timing. */
static struct values count_replayed(struct fixture *f, const char *kernel,
                                    const struct sim_launch *l)
{
    struct values v = {{0}};
    rp_timing_set_mode(RP_TIMING_DETAILED);
    f->sim.replay_counters = v.of;
    count(f, kernel, l);
    f->sim.replay_counters = NULL;
    rp_timing_set_mode(RP_TIMING_COUNTS);
    assert_true(f->sim.replayed);
    return v;
}

/* ---- by hand ---- */

/* Of a round of "classes" in counters.hip. */
static const struct {
    unsigned counter, times;
} round_of_classes[] = {
    {RP_COUNTER_SQ_INSTS_VALU_ADD_F16, 1},
    {RP_COUNTER_SQ_INSTS_VALU_MUL_F16, 2},
    {RP_COUNTER_SQ_INSTS_VALU_FMA_F16, 1},
    {RP_COUNTER_SQ_INSTS_VALU_TRANS_F16, 1},
    {RP_COUNTER_SQ_INSTS_VALU_ADD_F32, 3},
    {RP_COUNTER_SQ_INSTS_VALU_MUL_F32, 1},
    {RP_COUNTER_SQ_INSTS_VALU_FMA_F32, 2},
    {RP_COUNTER_SQ_INSTS_VALU_TRANS_F32, 2},
    {RP_COUNTER_SQ_INSTS_VALU_ADD_F64, 1},
    {RP_COUNTER_SQ_INSTS_VALU_MUL_F64, 1},
    {RP_COUNTER_SQ_INSTS_VALU_FMA_F64, 2},
    {RP_COUNTER_SQ_INSTS_VALU_TRANS_F64, 1},
    {RP_COUNTER_SQ_INSTS_VALU_CVT, 2},
    {RP_COUNTER_SQ_INSTS_VALU_INT32, 2},
    {RP_COUNTER_SQ_INSTS_VALU_INT64, 2},
    {RP_COUNTER_SQ_INSTS_VALU, 26},
    {RP_COUNTER_SQ_INSTS_LDS, 3},
    {RP_COUNTER_SQ_INSTS_FLAT, 4},
    {RP_COUNTER_SQ_INSTS_VMEM, 4},
    {RP_COUNTER_SQ_INSTS_VMEM_RD, 2},
    {RP_COUNTER_SQ_INSTS_VMEM_WR, 2},
    {RP_COUNTER_TA_FLAT_READ_WAVEFRONTS, 1},
    {RP_COUNTER_TA_FLAT_WRITE_WAVEFRONTS, 2},
    {RP_COUNTER_TA_FLAT_ATOMIC_WAVEFRONTS, 1},
    {RP_COUNTER_SQ_INSTS_SMEM, 0},
    {RP_COUNTER_SQ_INSTS_MFMA, 0},
    {RP_COUNTER_SQ_INSTS_SENDMSG, 0},
};

static void classes_are_counted(void **state)
{
    enum { WAVES = 3, FEW = 5, MANY = 40 };
    struct fixture *f = *state;
    struct {
        float *out;
        int n, half;
    } args = {.out = sim_alloc(&f->sim, WORDS * 4)};
    const struct sim_launch l = {
        .grid = {64 * WAVES}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    for (args.half = 0; args.half < 2; args.half++) {
        args.n = FEW;
        const struct values few = count(f, "classes", &l);
        args.n = MANY;
        const struct values many = count(f, "classes", &l);
        for (unsigned i = 0; i < sizeof round_of_classes / sizeof round_of_classes[0]; i++) {
            const unsigned c = round_of_classes[i].counter;
            const uint64_t wanted = (uint64_t)round_of_classes[i].times * WAVES * (MANY - FEW);
            if (many.of[c] - few.of[c] != wanted)
                fail_msg("%s: %llu, not %llu", name_of(c),
                         (unsigned long long)(many.of[c] - few.of[c]), (unsigned long long)wanted);
        }
        /* Some take more than a quad-cycle; each of those has the same lanes. */
        const uint64_t threads =
            many.of[RP_COUNTER_SQ_THREAD_CYCLES_VALU] - few.of[RP_COUNTER_SQ_THREAD_CYCLES_VALU];
        const uint64_t quads =
            many.of[RP_COUNTER_SQ_ACTIVE_INST_VALU] - few.of[RP_COUNTER_SQ_ACTIVE_INST_VALU];
        assert_true(quads > 26 * WAVES * (MANY - FEW));
        assert_int_equal(threads, quads * (args.half ? 32 : 64));
    }
}

static void matrices_are_counted(void **state)
{
    enum { WAVES = 2, ROUNDS = 30 };
    struct fixture *f = *state;
    struct {
        float *out;
        int n;
    } args = {.out = sim_alloc(&f->sim, WORDS * 4), .n = ROUNDS};
    const struct sim_launch l = {
        .grid = {64 * WAVES}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count(f, "matrices", &l);
    const uint64_t times = WAVES * ROUNDS;
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_MFMA], 4 * times);
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_F16], 2 * times);
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_F32], times);
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_F64], times);
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F16],
                     2 * times * (2 * 16 * 16 * 16 / 512));
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F32], times * (2 * 16 * 16 * 4 / 512));
    assert_int_equal(v.of[RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F64], times * (2 * 16 * 16 * 4 / 512));
    /* Passes of 4 cycles: 4 of the f16 shape, 8 of the others (LLVM's scheduling model). */
    assert_int_equal(v.of[RP_COUNTER_SQ_VALU_MFMA_BUSY_CYCLES], times * 4 * (2 * 4 + 8 + 8));
}

/* ---- real counters ---- */

/* MI300X, rocprof-compute's sample: 1,048,576 doubles, block 256. The same code here, compiled by
 * another version; it counts the same. */
static void copy_counts_as_mi300x(void **state)
{
    enum { N = 1 << 20 };
    static const struct {
        unsigned counter;
        uint64_t value;
    } real[] = {
        {RP_COUNTER_SQ_WAVES, 16384},
        {RP_COUNTER_SQ_ITEMS, 1048576},
        {RP_COUNTER_SPI_CSN_WAVE, 16384},
        {RP_COUNTER_SPI_CSN_NUM_THREADGROUPS, 4096},
        {RP_COUNTER_SQ_INSTS_BRANCH, 16384},
        {RP_COUNTER_SQ_INSTS_SENDMSG, 16384},
        {RP_COUNTER_SQ_INSTS_FLAT, 32768},
        {RP_COUNTER_SQ_INSTS_VMEM, 32768},
        {RP_COUNTER_SQ_INSTS_VMEM_RD, 16384},
        {RP_COUNTER_SQ_INSTS_VMEM_WR, 16384},
        {RP_COUNTER_SQ_INSTS_VALU, 98304},
        {RP_COUNTER_SQ_INSTS_VALU_INT32, 49152},
        {RP_COUNTER_SQ_INSTS_VALU_INT64, 32768},
        {RP_COUNTER_SQ_INSTS_VALU_ADD_F64, 0},
        {RP_COUNTER_SQ_INSTS_MFMA, 0},
        {RP_COUNTER_SQ_INSTS_LDS, 0},
        {RP_COUNTER_SQ_ACTIVE_INST_VALU, 98304},
        {RP_COUNTER_SQ_ACTIVE_INST_FLAT, 32768},
        {RP_COUNTER_SQ_ACTIVE_INST_VMEM, 0},
        {RP_COUNTER_SQ_ACTIVE_INST_MISC, 32768},
        {RP_COUNTER_SQ_THREAD_CYCLES_VALU, 6291456},
        {RP_COUNTER_TA_TOTAL_WAVEFRONTS, 32768},
        {RP_COUNTER_TA_FLAT_READ_WAVEFRONTS, 16384},
        {RP_COUNTER_TA_FLAT_WRITE_WAVEFRONTS, 16384},
        {RP_COUNTER_TD_LOAD_WAVEFRONT, 32768},
        {RP_COUNTER_TD_STORE_WAVEFRONT, 16384},
        {RP_COUNTER_TCP_TA_TCP_STATE_READ, 32768},
    };
    struct fixture *f = *state;
    double *memory = sim_alloc(&f->sim, 2ull * N * sizeof *memory);
    struct {
        const double *a;
        double *b, *c;
        int n, stride;
    } args = {memory, memory, memory + N, N, 1};
    const struct sim_launch l = {
        .grid = {N}, .block = {256}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count(f, "copy", &l);
    for (unsigned i = 0; i < sizeof real / sizeof real[0]; i++)
        if (v.of[real[i].counter] != real[i].value)
            fail_msg("%s: %llu, on the real one %llu", name_of(real[i].counter),
                     (unsigned long long)v.of[real[i].counter], (unsigned long long)real[i].value);
}

static void near_real(const struct values *v, unsigned counter, uint64_t real, unsigned per_mille)
{
    const uint64_t value = v->of[counter];
    const uint64_t apart = value > real ? value - real : real - value;
    if (apart * 1000 > real * per_mille)
        fail_msg("%s: %llu, on the real one %llu", name_of(counter), (unsigned long long)value,
                 (unsigned long long)real);
}

/* The same copy's memory counters. The real ones have requests of other clients among them, such
 * as instruction fetches: a few hundred. */
static void check_copy(const struct values *v)
{
    near_real(v, RP_COUNTER_TCP_TOTAL_READ, 1048576, 0);
    near_real(v, RP_COUNTER_TCP_TOTAL_WRITE, 1048576, 0);
    near_real(v, RP_COUNTER_TCP_TOTAL_ACCESSES, 2097152, 0);
    near_real(v, RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES, 524288, 0);
    near_real(v, RP_COUNTER_TCP_TCC_READ_REQ, 65536, 0);
    near_real(v, RP_COUNTER_TCP_TCC_WRITE_REQ, 131072, 0);
    near_real(v, RP_COUNTER_SQC_DCACHE_MISSES, 160, 1000);
    near_real(v, RP_COUNTER_TCC_REQ, 196861, 10);
    near_real(v, RP_COUNTER_TCC_READ, 65783, 10);
    near_real(v, RP_COUNTER_TCC_WRITE, 131072, 0);
    near_real(v, RP_COUNTER_TCC_HIT, 65536, 10);
    near_real(v, RP_COUNTER_TCC_MISS, 131325, 10);
    near_real(v, RP_COUNTER_TCC_BUBBLE, 65536, 0);
    near_real(v, RP_COUNTER_TCC_EA0_RDREQ, 65763, 10);
    near_real(v, RP_COUNTER_TCC_EA0_WRREQ, 131072, 0);
    near_real(v, RP_COUNTER_TCC_EA0_WRREQ_64B, 131072, 0);
    near_real(v, RP_COUNTER_TCC_WRITEBACK, 65536, 0);
    near_real(v, RP_COUNTER_SQ_LDS_BANK_CONFLICT, 0, 0);
    /* 128 * BUBBLE + 64 * the other reads, in kilobytes; the real copy read 8,403,456 bytes. */
    near_real(v, RP_COUNTER_FETCH_SIZE, 8403456, 10);
    near_real(v, RP_COUNTER_WRITE_SIZE, 8388608, 0);
}

enum { COPY = 1 << 20 };

struct copy_args {
    const double *a;
    double *b, *c;
    int n, stride;
};

static struct copy_args copy_args(struct fixture *f)
{
    double *memory = sim_alloc(&f->sim, 2ull * COPY * sizeof *memory);
    return (struct copy_args){memory, memory, memory + COPY, COPY, 1};
}

static void copy_accesses_as_mi300x(void **state)
{
    struct fixture *f = *state;
    const struct copy_args args = copy_args(f);
    const struct sim_launch l = {
        .grid = {COPY}, .block = {256}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count(f, "copy", &l);
    check_copy(&v);
}

/* ---- memory, by hand ---- */

/* 32 lanes of a dword at a time: each that falls on the same bank of 32 takes another clock. */
static void banks_conflict(void **state)
{
    static const struct {
        int stride;
        unsigned clocks, conflicts; /* of a wave's read */
    } wanted[] = {{0, 2, 0}, {1, 2, 0}, {2, 4, 2}, {4, 8, 6}, {17, 2, 0}, {32, 64, 62}};
    enum { FEW = 3, MANY = 20 };
    struct fixture *f = *state;
    struct {
        float *out;
        int n, stride;
    } args = {.out = sim_alloc(&f->sim, WORDS * 4)};
    const struct sim_launch l = {
        .grid = {64}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        args.stride = wanted[i].stride;
        args.n = FEW;
        const struct values few = count(f, "banks", &l);
        args.n = MANY;
        const struct values many = count(f, "banks", &l);
        assert_int_equal(many.of[RP_COUNTER_SQ_LDS_IDX_ACTIVE] -
                             few.of[RP_COUNTER_SQ_LDS_IDX_ACTIVE],
                         wanted[i].clocks * (MANY - FEW));
        assert_int_equal(many.of[RP_COUNTER_SQ_LDS_BANK_CONFLICT] -
                             few.of[RP_COUNTER_SQ_LDS_BANK_CONFLICT],
                         wanted[i].conflicts * (MANY - FEW));
    }
}

/* A vector L1 of 32 KiB keeps 16, not 64; the L2 keeps both. */
static void caches_keep(void **state)
{
    enum {
        ROUNDS = 10,
        GROUPS = 8 /* one a die */,
        SMALL = 16 << 10,
        LARGE = 64 << 10,
        LINE = 128
    };
    struct fixture *f = *state;
    struct {
        const float *in;
        float *out;
        int n, rounds;
    } args = {
        .in = sim_alloc(&f->sim, LARGE), .out = sim_alloc(&f->sim, WORDS * 4), .rounds = ROUNDS};
    const struct sim_launch l = {
        .grid = {64 * GROUPS}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    args.n = SMALL / 4;
    const struct values small = count(f, "again", &l);
    assert_int_equal(small.of[RP_COUNTER_TCP_TCC_READ_REQ], GROUPS * SMALL / LINE);
    assert_int_equal(small.of[RP_COUNTER_TCC_BUBBLE], GROUPS * SMALL / LINE);
    args.n = LARGE / 4;
    const struct values large = count(f, "again", &l);
    assert_int_equal(large.of[RP_COUNTER_TCP_TCC_READ_REQ], ROUNDS * GROUPS * LARGE / LINE);
    assert_int_equal(large.of[RP_COUNTER_TCC_BUBBLE], GROUPS * LARGE / LINE);
    assert_int_equal(large.of[RP_COUNTER_TCP_TOTAL_READ], ROUNDS * GROUPS * LARGE / 4);
    assert_int_equal(large.of[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES] -
                         small.of[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES],
                     ROUNDS * GROUPS * (LARGE - SMALL) / 64);
}

/* Loads and stores that say that their data is used once: all vector requests, no scalar ones. */
static void streams_are_told(void **state)
{
    enum { GROUPS = 8, ROUNDS = 16 };
    struct fixture *f = *state;
    struct {
        const float *in;
        float *out;
        int n, unused;
    } args = {sim_alloc(&f->sim, GROUPS * ROUNDS * 256), sim_alloc(&f->sim, GROUPS * ROUNDS * 256),
              ROUNDS, 0};
    const struct sim_launch l = {
        .grid = {64 * GROUPS}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count(f, "streams", &l);
    /* 256 bytes are two reads and four writes. */
    assert_int_equal(v.of[RP_COUNTER_TCC_STREAMING_REQ], GROUPS * ROUNDS * 6);
    assert_int_equal(v.of[RP_COUNTER_TCC_STREAMING_REQ],
                     v.of[RP_COUNTER_TCP_TCC_READ_REQ] + v.of[RP_COUNTER_TCP_TCC_WRITE_REQ]);
    assert_int_equal(v.of[RP_COUNTER_TCP_UTCL1_REQUEST], v.of[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES]);
    assert_int_equal(v.of[RP_COUNTER_TCC_NORMAL_EVICT], 0);
}

/* 64 lanes side by side keep the banks busy for two clocks. */
static void atomics_return(void **state)
{
    enum { ROUNDS = 30 };
    struct fixture *f = *state;
    struct {
        float *out;
        int n, returns;
    } args = {sim_alloc(&f->sim, WORDS * 4), ROUNDS, 1};
    const struct sim_launch l = {
        .grid = {64}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    const struct values with = count(f, "bins", &l);
    args.returns = 0;
    const struct values without = count(f, "bins", &l);
    assert_int_equal(with.of[RP_COUNTER_SQ_LDS_ATOMIC_RETURN], 2 * ROUNDS);
    assert_int_equal(without.of[RP_COUNTER_SQ_LDS_ATOMIC_RETURN], 0);
    assert_int_equal(with.of[RP_COUNTER_SQ_LDS_IDX_ACTIVE],
                     without.of[RP_COUNTER_SQ_LDS_IDX_ACTIVE]);
}

/* Which of a compute unit's resources keeps the next workgroup waiting: 168 registers leave room
 * for 3 waves on a SIMD of 512; a workgroup with 8 KiB of 64 has 7 others beside it. */
static void room_is_limited_by(void **state)
{
    enum { CUS = 304, BY_VGPRS = CUS * 4 * 3, BY_LDS = CUS * 8 };
    struct fixture *f = *state;
    struct {
        float *out;
        int n, more;
    } args = {sim_alloc(&f->sim, WORDS * 4), 100, 1};
    static const struct {
        const char *kernel;
        unsigned groups, counter, units;
    } cases[] = {
        {"wide", BY_VGPRS, RP_COUNTER_SPI_RA_VGPR_SIMD_FULL_CSN, CUS * 4},
        {"banks", BY_LDS, RP_COUNTER_SPI_RA_LDS_CU_FULL_CSN, CUS},
    };
    for (unsigned i = 0; i < 2; i++) {
        struct sim_launch l = {.grid = {64 * cases[i].groups},
                               .block = {64},
                               .args = &args,
                               .args_bytes = sizeof args};
        struct values v = count_replayed(f, cases[i].kernel, &l);
        assert_int_equal(v.of[RP_COUNTER_SPI_RA_RES_STALL_CSN], 0);
        l.grid[0] *= 2;
        v = count_replayed(f, cases[i].kernel, &l);
        const uint64_t stalled = v.of[RP_COUNTER_SPI_RA_RES_STALL_CSN];
        assert_true(stalled > v.of[RP_COUNTER_SPI_CSN_BUSY] / 10);
        assert_true(stalled < v.of[RP_COUNTER_SPI_CSN_BUSY]);
        for (unsigned k = 0; k < 2; k++) /* rounded */
            assert_true(llabs((long long)v.of[cases[k].counter] -
                              (long long)(k == i ? stalled * cases[k].units / 32 : 0)) <=
                        cases[k].units);
        assert_int_equal(v.of[RP_COUNTER_SPI_RA_WAVE_SIMD_FULL_CSN], 0);
    }
}

/* Each die reads 6 MiB through an L2 of 4: what does not stay gives way, once a round. */
static void lines_give_way(void **state)
{
    enum { DIES = 8, BYTES = 6 << 20, LINES = BYTES / 128, ROOM = (4 << 20) / 128 };
    struct fixture *f = *state;
    struct {
        const float *in;
        float *out;
        int n, rounds;
    } args = {sim_alloc(&f->sim, BYTES), sim_alloc(&f->sim, WORDS * 4), BYTES / 4, 1};
    const struct sim_launch l = {
        .grid = {64 * DIES}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count(f, "again", &l);
    const uint64_t least = (uint64_t)DIES * (LINES - ROOM);
    /* Sets fill up one before the other: by pages, not quite evenly. */
    assert_true(v.of[RP_COUNTER_TCC_NORMAL_EVICT] >= least);
    assert_true(v.of[RP_COUNTER_TCC_NORMAL_EVICT] < least + least / 4);
    assert_true(v.of[RP_COUNTER_TCC_NORMAL_WRITEBACK] <= DIES); /* nearly all are clean */
}

/* Lines up to the last of all addresses: what is noted before the fault has an end. */
static void faults_are_noted_too(void **state)
{
    struct fixture *f = *state;
    struct {
        const float *in;
        float *out;
        int n, rounds;
    } args = {(const float *)(uintptr_t)-232, sim_alloc(&f->sim, 4096), 64, 1};
    const struct sim_launch l = {
        .grid = {64}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "again"), &l), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
}

/* ---- however it is executed ---- */

static void same(const char *what, const struct values *a, const struct values *b)
{
    for (unsigned c = 0; c < RP_DEVICE_COUNTERS; c++)
        if (a->of[c] != b->of[c])
            fail_msg("%s: %s is %llu, interpreted %llu", what, name_of(c),
                     (unsigned long long)b->of[c], (unsigned long long)a->of[c]);
}

/* Divergent code, calls of handlers, detours, partial waves; small budgets end turns anywhere. */
static void execution_does_not_show(void **state)
{
    static const uint64_t budgets[] = {0, 777, 1000003};
    static const unsigned threads[] = {1, 1, 2};
    struct fixture *f = *state;
    struct {
        float *out;
        int n, half;
    } classes = {sim_alloc(&f->sim, WORDS * 4), 60, 1};
    struct {
        float *out;
        int n;
    } matrices = {classes.out, 50};
    struct {
        double *a, *b, *c;
        int n, stride;
    } copy = {(void *)classes.out, (void *)classes.out, (void *)(classes.out + WORDS / 2), 60000,
              1};
    const struct {
        const char *kernel;
        uint32_t grid, block;
        const void *args;
        size_t bytes;
    } runs[] = {
        {"classes", 96 * 40, 96, &classes, sizeof classes},
        {"matrices", 64 * 40, 64, &matrices, sizeof matrices},
        {"copy", 60100, 250, &copy, sizeof copy},
    };
    rp_exec_set_help_after(1000);
    for (unsigned r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        const struct sim_launch l = {.grid = {runs[r].grid},
                                     .block = {runs[r].block},
                                     .args = runs[r].args,
                                     .args_bytes = runs[r].bytes};
        rp_jit_set(false);
        rp_exec_set_threads(1);
        f->sim.budget = 0;
        const struct values wanted = count(f, runs[r].kernel, &l);
        assert_int_equal(wanted.of[RP_COUNTER_SQ_INSTS], f->sim.counts.wave_insts);
        assert_int_equal(wanted.of[RP_COUNTER_SQ_WAVES], f->sim.counts.waves);
        assert_int_equal(wanted.of[RP_COUNTER_SQ_ITEMS], runs[r].grid);
        for (unsigned i = 0; i < 3; i++) {
            rp_jit_set(true);
            rp_exec_set_threads(threads[i]);
            f->sim.budget = budgets[i];
            const struct values v = count(f, runs[r].kernel, &l);
            same(runs[r].kernel, &wanted, &v);
        }
    }
    rp_exec_set_threads(1);
    f->sim.budget = 0;
}

/*
 * With detailed timing more is recorded of the same workgroups: without a replay the counters are
 * those of fast timing. In the order of a replay nothing changes that does not depend on order:
 * every wave of "again" and "banks" has its compute unit to itself, and the copy uses no line
 * twice.
 */
static void detailed_timing_counts_alike(void **state)
{
    struct fixture *f = *state;
    float *out = sim_alloc(&f->sim, WORDS * 4);
    struct {
        float *out;
        int n, more;
    } classes = {out, 60, 1}, matrices = {out, 50, 0}, banks = {out, 20, 4};
    struct {
        const float *in;
        float *out;
        int n, rounds;
    } again = {sim_alloc(&f->sim, 64 << 10), out, 16 << 10, 5};
    const struct copy_args copy = copy_args(f);
    const struct {
        const char *kernel;
        uint32_t grid, block;
        const void *args;
        size_t bytes;
        bool any_order;
    } runs[] = {
        {"classes", 96 * 40, 96, &classes, sizeof classes, false},
        {"matrices", 64 * 40, 64, &matrices, sizeof matrices, false},
        {"banks", 64, 64, &banks, sizeof banks, true},
        {"again", 64 * 8, 64, &again, sizeof again, true},
        {"copy", COPY, 256, &copy, sizeof copy, true},
    };
    for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const struct sim_launch l = {.grid = {runs[i].grid},
                                     .block = {runs[i].block},
                                     .args = runs[i].args,
                                     .args_bytes = runs[i].bytes};
        const struct values fast = count(f, runs[i].kernel, &l);
        rp_timing_set_mode(RP_TIMING_DETAILED);
        const struct values detailed = count(f, runs[i].kernel, &l);
        rp_timing_set_mode(RP_TIMING_COUNTS);
        struct values replayed = count_replayed(f, runs[i].kernel, &l);
        same(runs[i].kernel, &fast, &detailed);
        assert_int_equal(replayed.of[RP_COUNTER_SQ_INSTS], fast.of[RP_COUNTER_SQ_INSTS]);
        assert_int_equal(replayed.of[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES],
                         fast.of[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES]);
        assert_int_equal(fast.of[RP_COUNTER_SQ_WAVE_CYCLES], 0);
        assert_true(replayed.of[RP_COUNTER_SQ_WAVE_CYCLES] > 0);
        for (unsigned c = 0; c < RP_DEVICE_COUNTERS; c++)
            if (row_of(c)->kind == RP_COUNTER_WAVES)
                replayed.of[c] = 0;
        if (runs[i].any_order)
            same(runs[i].kernel, &fast, &replayed);
    }
}

static double of_real(const struct values *v, unsigned counter, double real)
{
    return (double)v->of[counter] / real;
}

/*
 * The copy's waves through time, against the second and third dispatch of a real MI300X
 * (rocprof-compute's sample vcopy_MI300X_A1_rocpd; the first has cold caches of instructions and
 * translations).
 */
static void waves_last_as_on_mi300x(void **state)
{
    static const struct {
        unsigned counter;
        double real, least, most; /* shares of the real one */
    } wanted[] = {
        {RP_COUNTER_SQ_WAVE_CYCLES, 13709886, 0.7, 1.35},
        {RP_COUNTER_SQ_LEVEL_WAVES, 55330738, 0.7, 1.35},
        {RP_COUNTER_SQ_BUSY_CU_CYCLES, 2357116, 0.7, 1.35},
        {RP_COUNTER_SQ_BUSY_CYCLES, 248518, 0.7, 1.35},
        {RP_COUNTER_SQ_WAIT_ANY, 9321879, 0.65, 1.5},
        {RP_COUNTER_SQ_INST_LEVEL_SMEM, 18366587, 0.4, 1.6},
        {RP_COUNTER_SQ_INST_LEVEL_VMEM, 32204357, 0.65, 1.6},
        {RP_COUNTER_SQ_IFETCH, 65536, 1, 1},
        {RP_COUNTER_SQC_ICACHE_REQ, 65536, 1, 1},
        {RP_COUNTER_SQC_ICACHE_HITS, 62344, 0.95, 1.05},
        {RP_COUNTER_SQC_ICACHE_MISSES, 160, 0.9, 1.1},
        {RP_COUNTER_SQC_ICACHE_MISSES_DUPLICATE, 3449, 0.5, 1.5},
        {RP_COUNTER_SQC_DCACHE_HITS, 60576, 0.75, 1.25},
        {RP_COUNTER_SPI_CSN_BUSY, 286490, 0.75, 1.25},
        {RP_COUNTER_GRBM_SPI_BUSY, 76173, 0.75, 1.25},
        {RP_COUNTER_TD_TD_BUSY, 1840570, 0.7, 1.4},
        {RP_COUNTER_TD_TC_STALL, 1593800, 0.7, 1.4},
        {RP_COUNTER_TCP_GATE_EN1, 3227580, 0.7, 1.4},
        {RP_COUNTER_TCP_GATE_EN2, 1859540, 0.7, 1.4},
        {RP_COUNTER_TCP_PENDING_STALL_CYCLES, 1486990, 0.7, 1.5},
        {RP_COUNTER_TCC_BUSY, 1532120, 0.6, 1.4},
        {RP_COUNTER_TCC_EA0_RDREQ_LEVEL, 91841400, 0.6, 1.65},
        /* These are off by more, which docs/counters.md says; they should not go further. */
        {RP_COUNTER_SQC_DCACHE_MISSES_DUPLICATE, 4800, 0.25, 4},
        {RP_COUNTER_TA_TA_BUSY, 775929, 0.3, 3},
        {RP_COUNTER_SPI_RA_RES_STALL_CSN, 11292, 0.2, 7},
        {RP_COUNTER_SPI_RA_REQ_NO_ALLOC_CSN, 18100, 0.2, 6},
        {RP_COUNTER_SPI_RA_WAVE_SIMD_FULL_CSN, 351161, 0.15, 8},
    };
    struct fixture *f = *state;
    const struct copy_args args = copy_args(f);
    const struct sim_launch l = {
        .grid = {COPY}, .block = {256}, .args = &args, .args_bytes = sizeof args};
    const struct values v = count_replayed(f, "copy", &l);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const double share = of_real(&v, wanted[i].counter, wanted[i].real);
        if (share < wanted[i].least || share > wanted[i].most)
            fail_msg("%s is %g times the real one", name_of(wanted[i].counter), share);
    }
    static const unsigned none[] = {
        /* on the real one, too */
        RP_COUNTER_SQ_INST_LEVEL_LDS,         RP_COUNTER_SPI_RA_VGPR_SIMD_FULL_CSN,
        RP_COUNTER_SPI_RA_SGPR_SIMD_FULL_CSN, RP_COUNTER_SPI_RA_LDS_CU_FULL_CSN,
        RP_COUNTER_SPI_RA_BAR_CU_FULL_CSN,    RP_COUNTER_SQ_WAIT_INST_LDS,
    };
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(v.of[none[i]], 0);
    assert_int_equal(v.of[RP_COUNTER_SQC_ICACHE_HITS] + v.of[RP_COUNTER_SQC_ICACHE_MISSES] +
                         v.of[RP_COUNTER_SQC_ICACHE_MISSES_DUPLICATE],
                     v.of[RP_COUNTER_SQC_ICACHE_REQ]);
    assert_int_equal(v.of[RP_COUNTER_SQC_DCACHE_HITS] + v.of[RP_COUNTER_SQC_DCACHE_MISSES] +
                         v.of[RP_COUNTER_SQC_DCACHE_MISSES_DUPLICATE],
                     v.of[RP_COUNTER_SQC_DCACHE_REQ]);
    /* A wave is somewhere as long as it lasts, waits as a part of that, and finds at most 8 on its
     * SIMD (docs: wave slots of CDNA3). */
    assert_true(v.of[RP_COUNTER_SQ_LEVEL_WAVES] / 4 <= v.of[RP_COUNTER_SQ_WAVE_CYCLES] + 1);
    assert_true(v.of[RP_COUNTER_SQ_WAIT_ANY] + v.of[RP_COUNTER_SQ_WAIT_INST_ANY] <
                v.of[RP_COUNTER_SQ_WAVE_CYCLES]);
    assert_true(v.of[RP_COUNTER_SQ_WAVE_CYCLES] <= 8 * v.of[RP_COUNTER_SQ_BUSY_CU_CYCLES]);
    assert_true(v.of[RP_COUNTER_SQ_BUSY_CU_CYCLES] / 304 <= v.of[RP_COUNTER_SQ_BUSY_CYCLES] / 32);
}

/* What was translated without counting is translated anew, and the other way round. */
static void counting_can_be_switched(void **state)
{
    struct fixture *f = *state;
    struct {
        float *out;
        int n;
    } args = {sim_alloc(&f->sim, WORDS * 4), 200};
    const struct sim_launch l = {
        .grid = {64 * 40}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    uint64_t unused[RP_DEVICE_COUNTERS];
    const struct values before = count(f, "matrices", &l);
    const struct rp_counts counts = f->sim.counts;
    rp_exec_set_counts(RP_COUNT_NOTHING);
    f->sim.counters = unused;
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "matrices"), &l), RP_RUN_DONE);
    assert_int_equal(f->sim.counted, RP_COUNT_NOTHING);
    assert_memory_equal(&f->sim.counts, &counts, sizeof counts);
    f->sim.counters = NULL;
    rp_exec_set_counts(RP_COUNT_MEMORY);
    const struct values after = count(f, "matrices", &l);
    same("matrices", &before, &after);
}

/* One launch is counted between others that are not, in the same process. */
static void one_launch_alone_is_counted(void **state)
{
    struct fixture *f = *state;
    struct {
        float *out;
        int n;
    } args = {sim_alloc(&f->sim, WORDS * 4), 200};
    struct sim_launch l = {
        .grid = {64 * 40}, .block = {64}, .args = &args, .args_bytes = sizeof args};
    uint64_t unused[RP_DEVICE_COUNTERS];
    const struct values before = count(f, "matrices", &l);
    rp_exec_set_counts(RP_COUNT_NOTHING);
    for (int turn = 0; turn < 2; turn++) {
        f->sim.counters = unused;
        l.counting = RP_COUNT_NOTHING;
        assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "matrices"), &l), RP_RUN_DONE);
        assert_int_equal(f->sim.counted, RP_COUNT_NOTHING);
        l.counting = RP_COUNT_MEMORY;
        const struct values one = count(f, "matrices", &l);
        same("matrices", &before, &one);
    }
    rp_exec_set_counts(RP_COUNT_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_counted),     cmocka_unit_test(matrices_are_counted),
        cmocka_unit_test(copy_counts_as_mi300x),   cmocka_unit_test(copy_accesses_as_mi300x),
        cmocka_unit_test(banks_conflict),          cmocka_unit_test(caches_keep),
        cmocka_unit_test(execution_does_not_show), cmocka_unit_test(counting_can_be_switched),
        cmocka_unit_test(faults_are_noted_too),    cmocka_unit_test(detailed_timing_counts_alike),
        cmocka_unit_test(waves_last_as_on_mi300x), cmocka_unit_test(streams_are_told),
        cmocka_unit_test(atomics_return),          cmocka_unit_test(room_is_limited_by),
        cmocka_unit_test(lines_give_way),          cmocka_unit_test(one_launch_alone_is_counted),
    };
    rp_exec_set_counts(RP_COUNT_MEMORY);
    return cmocka_run_group_tests(tests, setup, teardown);
}
