/* What is easy to get wrong about workgroups: barriers, partial groups, registers, clocks, traps.
 */
#include "kernels_test.h"

#include "arch/arch.h"

/* Waves that have ended are not waited for, whenever they ended. */
static void barriers_do_not_wait_for_ended_waves(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 20, WAVES = 8 };
    int32_t *out = sim_alloc(&f->sim, BLOCKS * 16 * 4);
    f->sim.instruction_limit = 1000000;
    run_ok(f, "barriers_and_ends", BLOCKS, WAVES * 64, &out, sizeof out);
    for (int b = 0; b < BLOCKS; b++)
        for (int r = 0; r < 16; r++)
            assert_int_equal(out[b * 16 + r], r < WAVES ? r + 1 : 0);
}

static enum rp_run_state launch_grid(struct fixture *f, const char *kernel, const uint32_t grid[3],
                                     const uint32_t block[3], const void *args, size_t bytes)
{
    struct sim_launch l = {.grid = {grid[0], grid[1], grid[2]},
                           .block = {block[0], block[1], block[2]},
                           .args = args,
                           .args_bytes = bytes};
    return sim_run(&f->sim, sim_kernel(&f->code, kernel), &l);
}

/* Groups at the edges are smaller boxes: every work-item of the grid runs once, none beyond it. */
static void partial_workgroups(void **state)
{
    struct fixture *f = *state;
    static const uint32_t grids[][3] = {{100, 1, 1}, {33, 7, 1}, {5, 5, 5}, {70, 3, 2}, {8, 8, 8}};
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 4, 1}, {4, 4, 4}, {64, 2, 2}, {8, 8, 8}};
    for (unsigned k = 0; k < sizeof grids / sizeof grids[0]; k++) {
        const uint32_t *g = grids[k], *b = blocks[k];
        size_t items = (size_t)g[0] * g[1] * g[2];
        uint32_t *out = sim_alloc(&f->sim, (items + 64) * 4);
        struct {
            uint32_t *out;
            int32_t nx, ny, bx, by, bz;
        } args = {out, (int)g[0], (int)g[1], (int)b[0], (int)b[1], (int)b[2]};
        assert_int_equal(launch_grid(f, "partial", g, b, &args, sizeof args), RP_RUN_DONE);
        for (size_t i = 0; i < items + 64; i++)
            assert_int_equal(out[i], i < items);
        uint64_t waves = 0; /* a smaller box has fewer waves */
        for (uint32_t z = 0; z < g[2]; z += b[2])
            for (uint32_t y = 0; y < g[1]; y += b[1])
                for (uint32_t x = 0; x < g[0]; x += b[0]) {
                    uint32_t w = g[0] - x < b[0] ? g[0] - x : b[0];
                    uint32_t h = g[1] - y < b[1] ? g[1] - y : b[1];
                    uint32_t d = g[2] - z < b[2] ? g[2] - z : b[2];
                    waves += (w * h * d + 63) / 64;
                }
        assert_int_equal(f->sim.counts.waves, waves);
    }
}

/* hidden_block_count, hidden_group_size, hidden_remainder: what blockDim is computed from. */
static void hidden_remainders(void **state)
{
    struct fixture *f = *state;
    const uint32_t grid[3] = {100, 9, 4}, block[3] = {32, 4, 4};
    uint32_t *out = sim_alloc(&f->sim, 64);
    assert_int_equal(launch_grid(f, "hidden", grid, block, &out, sizeof out), RP_RUN_DONE);
    for (unsigned d = 0; d < 3; d++) {
        assert_int_equal(out[d], grid[d] / block[d]);
        assert_int_equal(out[3 + d], block[d]);
        assert_int_equal(out[6 + d], grid[d] % block[d]);
    }
}

/* Workgroup n runs on accelerator die n mod (as many as the architecture has). */
static void hardware_registers(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 40 };
    struct rp_arch other = *f->sim.arch;
    const struct rp_arch *arches[] = {f->sim.arch, &other};
    uint32_t *out = sim_alloc(&f->sim, BLOCKS * 16);
    if (f->sim.arch->xcc_count > 1) {
        other.xcc_count = 3;
        assert_int_equal(f->sim.arch->xcc_count, 8);
    }
    for (unsigned a = 0; a < 2; a++) {
        f->sim.arch = arches[a];
        run_ok(f, "hardware_registers", BLOCKS, 128, &out, sizeof out);
        for (unsigned b = 0; b < BLOCKS; b++) {
            assert_int_equal(out[b * 4], b % arches[a]->xcc_count);
            assert_int_equal(out[b * 4 + 1], 0x3f0);
            assert_int_equal(out[b * 4 + 2], 0);
            assert_int_equal(out[b * 4 + 3], 1);
        }
    }
    run_ok(f, "hardware_registers", 1, 64, &out, sizeof out);
    assert_int_equal(out[3], 0);
    assert_int_equal(launch(f, "register_without_model", 1, 64, &out, sizeof out), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_UNIMPLEMENTED);
    assert_non_null(strstr(f->sim.fault.text, "hardware register 6"));
}

/* s_memtime counts shader clocks, s_memrealtime the timestamps' (100 MHz on an MI300X); both come
 * from the modelled clock. */
static void two_clocks(void **state)
{
    struct fixture *f = *state;
    uint64_t *out = sim_alloc(&f->sim, 24);
    run_ok(f, "two_clocks", 1, 64, &out, sizeof out);
    uint64_t shader = out[0], real = out[1];
    assert_in_range(shader, 100 * 100 * 64, 100 * 100 * 64 + 5000); /* s_sleep: 64 clocks each */
    uint64_t ticks = shader * f->sim.arch->timestamp_mhz / f->sim.arch->engine_clock_mhz;
    assert_in_range(real, ticks - 1, ticks + 1);
    assert_in_range(out[2], 1000000, 1000010); /* the device's clock at the start of the dispatch */
    run_ok(f, "two_clocks", 1, 64, &out, sizeof out);
    assert_int_equal(out[0], shader);
    assert_int_equal(out[1], real);
}

/* s_sendmsg MSG_INTERRUPT hands M0 to the host once; the dispatch goes on. */
static void message_to_the_host(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = sim_alloc(&f->sim, 8 * 4);
    for (unsigned threads = 1; threads <= 2; threads++) {
        rp_exec_set_threads(threads);
        rp_exec_set_help_after(0);
        f->sim.interrupts = 0;
        run_ok(f, "message", 8, 64, &out, sizeof out);
        assert_int_equal(f->sim.interrupts, 1);
        assert_int_equal(f->sim.last_interrupt, 0x2a);
        for (int i = 0; i < 8; i++)
            assert_int_equal(out[i], 1);
    }
}

/* s_trap 3 without a debugger: nothing happens. s_trap 2: isa_faults. */
static void debug_trap_goes_on(void **state)
{
    struct fixture *f = *state;
    uint32_t *out = sim_alloc(&f->sim, 64 * 4);
    run_ok(f, "debug_trap", 1, 64, &out, sizeof out);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i + 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(barriers_do_not_wait_for_ended_waves),
        TEST(partial_workgroups),
        TEST(hidden_remainders),
        TEST(hardware_registers),
        TEST(two_clocks),
        TEST(message_to_the_host),
        TEST(debug_trap_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
