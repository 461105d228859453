/*
 * Changes that documents say make a kernel faster on CDNA3, and roughly by how much, do that on the
 * software device with detailed timing.
 *
 *   [PIPE]  ROCm Compute Profiler documentation, "Compute unit" and "Pipeline descriptions"
 *   [LDS]   AMD CDNA 3 ISA guide, "Local Data Share"; the same documentation, "Local data share"
 *   [L1]    the same documentation, "Vector L1 cache"; line of 128 bytes: TUM mt4g, MI300X VF
 *   [OCC]   the same documentation, "Occupancy limiters example"; HIP documentation, "Hardware
 *           implementation": waves hide latency, Little's law; AMD CDNA 3 ISA guide: 512 vector
 *           registers of a lane for the waves of a SIMD, 8 waves at most, 64 KiB of LDS
 */
#include "kernels_test.h"

#include "device/timing/timing_model.h"

enum { CUS = 304 };

static double run_clocks(struct fixture *f, const char *kernel, const struct sim_launch *l)
{
    const uint64_t kd = sim_kernel(&f->code, kernel);
    if (!kd)
        fail_msg("no kernel %s", kernel);
    rp_timing_set_mode(RP_TIMING_DETAILED);
    if (sim_run(&f->sim, kd, l) != RP_RUN_DONE)
        fail_msg("%s: %s", kernel, f->sim.fault.text);
    assert_true(f->sim.replayed);
    return f->sim.stats.clocks;
}

static double clocks(struct fixture *f, const char *kernel, uint32_t blocks, uint32_t threads,
                     const void *args, size_t args_bytes)
{
    return run_clocks(f, kernel,
                      &(struct sim_launch){.grid = {blocks * threads},
                                           .block = {threads},
                                           .args = args,
                                           .args_bytes = args_bytes});
}

static void in_range(const char *what, double got, double least, double most)
{
    printf("    %s: %.2f (%.2f to %.2f)\n", what, got, least, most);
    if (got < least || got > most)
        fail_msg("%s: %.3f, expected %.2f to %.2f", what, got, least, most);
}

/* Clocks that each of 512 more steps takes, with so many blocks of so many threads. */
static double step_clocks(struct fixture *f, const char *kernel, uint32_t blocks, uint32_t threads)
{
    struct {
        float *out;
        float x;
        int n;
    } args = {sim_alloc(&f->sim, (size_t)blocks * threads * 4), 0.5f, 512};
    const double before = clocks(f, kernel, blocks, threads, &args, sizeof args);
    args.n = 1024;
    return (clocks(f, kernel, blocks, threads, &args, sizeof args) - before) / 512;
}

/*
 * [PIPE]: each clock one SIMD in turn issues, at most one instruction of each kind and each from
 * another wave; a wave thus one in four clocks, and so each SIMD of each kind. Rolled, a step is a
 * multiplication and addition, two scalar instructions and a taken branch: at least 16 clocks for a
 * wave; unrolled 11 instructions for 8 steps: 5.5. A wave alone on its SIMD becomes at least 2.9
 * times as fast, more as the branch waits for its target. Eight waves overlap all that, but for
 * their 16 scalar instructions: 64 clocks instead of the 32 of their 8 vector instructions, twice.
 * Since the oldest go first, they end first, and the youngest has nothing beside it at the end.
 */
static void unrolling_is_faster(void **state)
{
    struct fixture *f = *state;
    const double rolled = step_clocks(f, "rolled", CUS, 256),
                 unrolled = step_clocks(f, "unrolled", CUS, 256);
    in_range("one wave on a SIMD, rolled, clocks of a step", rolled, 16, 32);
    in_range("unrolled", unrolled, 5.5, 7.5);
    in_range("times", rolled / unrolled, 2.9, 6);
    const double many = step_clocks(f, "rolled", 2 * CUS, 1024),
                 many_unrolled = step_clocks(f, "unrolled", 2 * CUS, 1024);
    in_range("eight waves on a SIMD, rolled, clocks of a step", many, 64, 78);
    in_range("unrolled", many_unrolled, 32, 35);
}

/*
 * [LDS]: 32 banks of a dword a clock, 128 bytes: a wave's 64 dwords take 2 clocks, and 64 where all
 * lanes want different words of one bank. Eight waves that do little else are limited by that.
 */
static void a_padded_tile_has_no_conflicts(void **state)
{
    struct fixture *f = *state;
    struct {
        uint32_t *out;
        int rounds;
    } args = {sim_alloc(&f->sim, CUS * 512 * 4), 2};
    double each[2];
    for (unsigned padded = 0; padded < 2; padded++) {
        const char *kernel = padded ? "columns_padded" : "columns_plain";
        args.rounds = 2;
        const double before = clocks(f, kernel, CUS, 512, &args, sizeof args);
        args.rounds = 6;
        each[padded] = (clocks(f, kernel, CUS, 512, &args, sizeof args) - before) / (4 * 64 * 8.0);
    }
    in_range("clocks of a read, all lanes in one bank", each[0], 64, 66);
    in_range("padded", each[1], 1.98, 4);
    in_range("times", each[0] / each[1], 16, 32.5);

    const struct {
        float *in, *out;
        int width;
    } matrix = {sim_alloc(&f->sim, 1024 * 1024 * 4), sim_alloc(&f->sim, 1024 * 1024 * 4), 1024};
    struct sim_launch l = {
        .grid = {1024, 256}, .block = {32, 8}, .args = &matrix, .args_bytes = sizeof matrix};
    const double plain = run_clocks(f, "transpose_plain", &l);
    in_range("transpose, plain / padded", plain / run_clocks(f, "transpose_padded", &l), 1.02, 16);
}

/*
 * [L1]: what a wave loads is lines of 128 bytes, whatever it uses of them. Words that lie s words
 * apart need s times the lines, as long as each line has more than one: limited by memory, s times
 * the time.
 */
static void neighbours_share_lines(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 4 * CUS, THREADS = BLOCKS * 256, ROUNDS = 4 };
    static const int strides[] = {1, 2, 4, 8, 16, 32};
    struct {
        float *in, *out;
        int stride, rounds;
    } args = {sim_alloc(&f->sim, (size_t)THREADS * 8 * ROUNDS * 32 * 4), sim_alloc(&f->sim, 4096),
              1, 1};
    double one = 0;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        char what[64];
        args.stride = strides[i];
        args.rounds = 1;
        const double before = clocks(f, "strided", BLOCKS, 256, &args, sizeof args);
        args.rounds = ROUNDS;
        const double now = clocks(f, "strided", BLOCKS, 256, &args, sizeof args) - before;
        snprintf(what, sizeof what, "stride %d, times the clocks", strides[i]);
        if (i)
            in_range(what, now / one, 0.85 * strides[i], 1.15 * strides[i]);
        else
            one = now;
    }
}

/*
 * [OCC]: a kernel that waits for memory all the time is as fast as it has waves to wait with. Its
 * registers and its LDS say how many that are: 64 registers 8 waves on a SIMD, 128 4, 256 2; of the
 * LDS 8, 16, 32, 64 KiB for a workgroup of 4 waves 8, 4, 2, 1 on a compute unit.
 */
static void occupancy_hides_latency(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 16 * CUS };
    const struct {
        uint32_t *in, *out;
        uint32_t mask;
        int steps;
    } args = {sim_alloc(&f->sim, 1 << 28), sim_alloc(&f->sim, BLOCKS * 256 * 4), (1 << 26) - 1, 24};
    static const char *const registers[] = {"wander_64", "wander_128", "wander_256"};
    double before = 0;
    for (unsigned i = 0; i < 3; i++) {
        const double now = clocks(f, registers[i], BLOCKS, 256, &args, sizeof args);
        if (i)
            in_range(registers[i], now / before, 1.7, 2.1);
        before = now;
    }
    before = 0;
    for (uint32_t kib = 8; kib <= 64; kib *= 2) {
        char what[64];
        const double now = run_clocks(f, "wander_lds",
                                      &(struct sim_launch){.grid = {BLOCKS * 256},
                                                           .block = {256},
                                                           .args = &args,
                                                           .args_bytes = sizeof args,
                                                           .dynamic_lds_bytes = kib << 10});
        snprintf(what, sizeof what, "%u KiB of LDS, times the clocks of half of it", kib);
        if (kib > 8)
            in_range(what, now / before, 1.7, 2.1);
        before = now;
    }
}

/* The same of a kernel that memory's bandwidth limits: half the waves are enough. */
static void occupancy_is_no_bandwidth(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 32 * CUS };
    const struct {
        float *in, *out;
    } args = {sim_alloc(&f->sim, BLOCKS * 4096), sim_alloc(&f->sim, BLOCKS * 4096)};
    const double eight = clocks(f, "copy_64", BLOCKS, 256, &args, sizeof args);
    in_range("copy, 4 waves on a SIMD instead of 8",
             clocks(f, "copy_128", BLOCKS, 256, &args, sizeof args) / eight, 0.9, 1.15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unrolling_is_faster, setup, teardown),
        cmocka_unit_test_setup_teardown(a_padded_tile_has_no_conflicts, setup, teardown),
        cmocka_unit_test_setup_teardown(neighbours_share_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(occupancy_hides_latency, setup, teardown),
        cmocka_unit_test_setup_teardown(occupancy_is_no_bandwidth, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
