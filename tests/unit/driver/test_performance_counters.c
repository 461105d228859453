/* Performance counters behind their registers, of kernels of a stand-in for the executor. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/driver/gpu_registers.h"
#include "device/driver/performance_counters.h"
#include "fake_exec.h"

enum { STATE = 0xd808, RESET = 0, START = 1, STOP = 2, SAMPLE = 0x401 };
enum { SQ_SELECT = 0xd9c0, SQ_LOW = 0xd1c0, TCC_SELECT = 0xdb80, TCC_LOW = 0xd380 };
enum { GRBM_SELECT = 0xd840, GRBM_LOW = 0xd040, SPI_SELECT = 0xd980, SPI_HIGH = 0xd180 };
enum { ALL_XCCS = 0xff, EVERYWHERE = -1 };
enum { SQ_WAVES = 4, SQ_INST_LEVEL_VMEM = 72, SQ_ACCUM_PREV_HIRES = 184 };

struct bench {
    struct rp_arch arch;
    struct rp_registers registers;
    struct rp_performance_counters counters;
    struct rp_cp cp;
    struct rp_exec_host host;
    int report[2]; /* pipe that catches the lines */
};

static struct bench *bench_new(const char *spec)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    assert_int_equal(rp_arch_select(spec, &b->arch), 0);
    assert_int_equal(pipe(b->report), 0);
    fake_exec = (struct fake_exec){0};
    rp_registers_init(&b->registers, b->arch.xcc_count);
    b->cp = (struct rp_cp){.arch = &b->arch,
                           .registers = &b->registers,
                           .performance = &b->counters,
                           .report_fd = b->report[1]};
    rp_performance_counters_init(&b->counters, &b->cp);
    return b;
}

static void bench_free(struct bench *b)
{
    rp_performance_counters_release(&b->counters);
    rp_registers_release(&b->registers);
    close(b->report[0]);
    close(b->report[1]);
    free(b);
}

static int set_up(void **state)
{
    *state = bench_new("gfx942:mi300x");
    return 0;
}

static int tear_down(void **state)
{
    bench_free(*state);
    return 0;
}

static void set(struct bench *b, uint64_t address, uint32_t value)
{
    rp_registers_write(&b->registers, ALL_XCCS, address, value, 0);
}

/* Reads 64 bits of one place. */
static uint64_t get(struct bench *b, unsigned xcc, int engine, int instance, uint64_t low,
                    uint64_t high)
{
    const uint32_t index = 1u << 29 | (engine == EVERYWHERE ? 1u << 31 : (uint32_t)engine << 16) |
                           (instance == EVERYWHERE ? 1u << 30 : (uint32_t)instance);

    rp_registers_write(&b->registers, 1u << xcc, RP_REG_GRBM_GFX_INDEX, index, 0);
    return rp_registers_read(&b->registers, 1u << xcc, low, 0) |
           (uint64_t)rp_registers_read(&b->registers, 1u << xcc, high, 0) << 32;
}

/* A kernel of so many waves and ticks. @return what was to be counted of it */
static enum rp_counting run(struct bench *b, uint64_t waves, uint64_t ticks)
{
    const struct rp_launch launch = {.grid_size = {1, 1, 1}};
    enum rp_counting counting = RP_COUNT_NOTHING;
    const uint32_t at = rp_performance_counters_run(&b->counters, &counting);

    fake_exec.counts.waves = waves;
    struct rp_dispatch *dispatch = rp_dispatch_new(&b->host, &b->arch, &launch);
    assert_non_null(dispatch);
    while (rp_dispatch_run(dispatch, 1) == RP_RUN_MORE)
        ;
    rp_performance_counters_add(&b->counters, at, &b->arch, dispatch, ticks);
    rp_dispatch_free(dispatch);
    return counting;
}

static const char *report(struct bench *b)
{
    static char text[1024];

    assert_true(write(b->report[1], "", 1) == 1); /* so that reading does not wait */
    const ssize_t bytes = read(b->report[0], text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

static uint64_t sum_sq(struct bench *b, unsigned counter)
{
    const uint64_t low = SQ_LOW + 2 * counter;
    uint64_t sum = 0;

    for (unsigned xcc = 0; xcc < 8; xcc++)
        for (int engine = 0; engine < 4; engine++)
            sum += get(b, xcc, engine, EVERYWHERE, low, low + 1);
    return sum;
}

static void only_what_runs_is_counted(void **state)
{
    struct bench *b = *state;

    set(b, SQ_SELECT, 0x0f0ff000 | SQ_WAVES);
    assert_int_equal(run(b, 1000, 10), RP_COUNT_NOTHING);
    set(b, STATE, RESET);
    set(b, STATE, START);
    assert_int_equal(run(b, 70, 10), RP_COUNT_INSTRUCTIONS);
    set(b, STATE, SAMPLE);
    assert_int_equal(sum_sq(b, 0), 70);
    run(b, 7, 10);
    set(b, STATE, STOP);
    run(b, 2000, 10);
    assert_int_equal(sum_sq(b, 0), 77);
    set(b, STATE, START); /* goes on */
    run(b, 1, 10);
    assert_int_equal(sum_sq(b, 0), 78);
    set(b, STATE, RESET);
    assert_int_equal(sum_sq(b, 0), 0);
    assert_string_equal(report(b), "");
}

static void a_reset_forgets_kernels_under_way(void **state)
{
    struct bench *b = *state;
    enum rp_counting counting = RP_COUNT_NOTHING;

    set(b, SQ_SELECT, SQ_WAVES);
    set(b, STATE, START);
    const uint32_t at = rp_performance_counters_run(&b->counters, &counting);
    set(b, STATE, RESET);
    set(b, STATE, START);
    fake_exec.counts.waves = 5;
    struct rp_dispatch *dispatch =
        rp_dispatch_new(&b->host, &b->arch, &(struct rp_launch){.grid_size = {1, 1, 1}});
    rp_performance_counters_add(&b->counters, at, &b->arch, dispatch, 10);
    rp_dispatch_free(dispatch);
    assert_int_equal(sum_sq(b, 0), 0);
}

/* 100 ticks of 100 MHz are 2100 engine cycles, in each die and each channel. */
static void times_are_those_of_each_part(void **state)
{
    enum { GRBM_GUI_ACTIVE = 2, TCC_CYCLE = 1, SPI_CSN_WINDOW_VALID = 47 };
    struct bench *b = *state;

    set(b, GRBM_SELECT, GRBM_GUI_ACTIVE);
    set(b, TCC_SELECT, TCC_CYCLE);
    set(b, SPI_SELECT, SPI_CSN_WINDOW_VALID);
    set(b, STATE, START);
    run(b, 1, 100);
    for (unsigned xcc = 0; xcc < 8; xcc++) {
        assert_int_equal(get(b, xcc, EVERYWHERE, EVERYWHERE, GRBM_LOW, GRBM_LOW + 1), 2100);
        assert_int_equal(get(b, xcc, EVERYWHERE, 15, TCC_LOW, TCC_LOW + 1), 2100);
        assert_int_equal(get(b, xcc, 3, EVERYWHERE, SPI_HIGH + 1, SPI_HIGH), 2100);
    }
}

/* Of 38 compute units a die has two engines with 10, and two with 9. */
static void sums_are_spread_over_parts_that_exist(void **state)
{
    enum { TD_SELECT = 0xdb00, TD_LOW = 0xd300, TD_TC_STALL = 12 };
    struct bench *b = *state;
    uint64_t sum = 0;

    set(b, TD_SELECT, TD_TC_STALL);
    set(b, STATE, START);
    run(b, 1, 1);
    b->counters.values[RP_COUNTER_TD_TC_STALL] = 304 * 3 + 5;
    b->counters.unknown = 0;
    for (unsigned xcc = 0; xcc < 8; xcc++)
        for (int engine = 0; engine < 4; engine++)
            for (int unit = 0; unit < 16; unit++) {
                const uint64_t value = get(b, xcc, engine, unit, TD_LOW, TD_LOW + 1);
                sum += value;
                if (unit >= (engine < 2 ? 10 : 9))
                    assert_int_equal(value, 0);
                else
                    assert_in_range(value, 3, 4);
            }
    assert_int_equal(sum, 304 * 3 + 5);
}

static void high_halves_are_read(void **state)
{
    enum { SPI_CSN_WAVE = 52 };
    struct bench *b = *state;

    set(b, SPI_SELECT, SPI_CSN_WAVE);
    set(b, STATE, START);
    b->counters.values[RP_COUNTER_SPI_CSN_WAVE] = 32ull << 33;
    assert_int_equal(get(b, 0, 0, EVERYWHERE, SPI_HIGH + 1, SPI_HIGH), 1ull << 33);
}

static void accesses_are_kept_only_where_an_event_needs_them(void **state)
{
    enum { TCC_HIT = 17 };
    struct bench *b = *state;

    set(b, TCC_SELECT, TCC_HIT);
    set(b, STATE, START);
    assert_int_equal(run(b, 1, 1), RP_COUNT_MEMORY);
    set(b, STATE, STOP);
    set(b, SQ_SELECT, SQ_WAVES); /* the next profile: TCC's select is what it was */
    set(b, STATE, START);
    assert_int_equal(run(b, 1, 1), RP_COUNT_INSTRUCTIONS);
}

static void levels_are_accumulated_behind_them(void **state)
{
    struct bench *b = *state;

    set(b, SQ_SELECT, SQ_INST_LEVEL_VMEM);
    set(b, SQ_SELECT + 1, SQ_ACCUM_PREV_HIRES);
    set(b, SQ_SELECT + 2, SQ_WAVES);
    set(b, SQ_SELECT + 3, SQ_ACCUM_PREV_HIRES);
    set(b, STATE, START);
    b->counters.values[RP_COUNTER_SQ_INST_LEVEL_VMEM] = 1234;
    b->counters.values[RP_COUNTER_SQ_WAVES] = 5;
    assert_int_equal(sum_sq(b, 1), 1234);
    assert_string_equal(report(b), "");
    assert_int_equal(sum_sq(b, 3), 0);
    assert_string_equal(report(b),
                        "rocm-perf-device: performance counter SQ_ACCUM_PREV_HIRES (SQ event 184) "
                        "reads 0: the counter before it is none of a level that the model knows\n");
}

static void what_is_not_known_is_named_once(void **state)
{
    struct bench *b = *state;

    set(b, SQ_SELECT, 511);
    set(b, SQ_SELECT + 1, 5);
    set(b, SQ_SELECT + 2, 71);
    set(b, STATE, START);
    run(b, 9, 10);
    assert_int_equal(sum_sq(b, 0), 0);
    assert_int_equal(sum_sq(b, 0), 0);
    assert_string_equal(report(b), "rocm-perf-device: performance counter SQ event 511 reads 0: "
                                   "the timing model has no counterpart of it\n");
    assert_int_equal(sum_sq(b, 1), 0); /* no kernel was replayed */
    assert_string_equal(
        report(b), "rocm-perf-device: performance counter SQ_LEVEL_WAVES (SQ event 5) reads 0: "
                   "it comes from detailed timing, which a kernel was run without, or its dies do "
                   "unlike work\n");
    assert_int_equal(sum_sq(b, 2), 0);
    assert_non_null(strstr(report(b), "SQ_INSTS_VSKIPPED (SQ event 71) reads 0: "));
    assert_int_equal(sum_sq(b, 5), 0); /* nothing was selected */
    assert_string_equal(report(b), "");
}

/* Counters that share their registers: RSLT_CNTL says which one is read. */
static void blocks_without_a_model_are_named(void **state)
{
    struct bench *b = *state;

    set(b, 0x2aff, 7);
    set(b, 0x2700, 1);
    set(b, 0x140000c3f, 9); /* ATC of the second IOD */
    set(b, 0x140000c42, 1);
    set(b, 0xda81, 3);
    set(b, 0xd282, 55); /* tools clear what they read */
    assert_int_equal(rp_registers_read(&b->registers, 1, 0x2afc, 0), 0);
    assert_string_equal(report(b), "rocm-perf-device: performance counter GCEA event 7 reads 0: "
                                   "the timing model has no counterpart of it\n");
    assert_int_equal(rp_registers_read(&b->registers, 1, 0x140000c43, 0), 0);
    assert_non_null(strstr(report(b), "performance counter ATC event 9 reads 0: "));
    assert_int_equal(rp_registers_read(&b->registers, 1, 0xd282, 0), 0);
    assert_non_null(strstr(report(b), "performance counter GDS event 3 reads 0: "));
}

static void event_numbers_are_the_architectures(void **state)
{
    static const struct {
        const char *spec;
        unsigned select;
    } cases[] = {{"gfx942", 71}, {"gfx950", 73}, {"gfx90a", 66}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench *b = bench_new(cases[i].spec);
        set(b, SQ_SELECT, cases[i].select);
        set(b, STATE, START);
        get(b, 0, 0, EVERYWHERE, SQ_LOW, SQ_LOW + 1);
        assert_non_null(strstr(report(b), "SQ_INSTS_VSKIPPED"));
        bench_free(b);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_runs_is_counted),
        TEST(a_reset_forgets_kernels_under_way),
        TEST(times_are_those_of_each_part),
        TEST(sums_are_spread_over_parts_that_exist),
        TEST(high_halves_are_read),
        TEST(accesses_are_kept_only_where_an_event_needs_them),
        TEST(levels_are_accumulated_behind_them),
        TEST(what_is_not_known_is_named_once),
        TEST(blocks_without_a_model_are_named),
        TEST(event_numbers_are_the_architectures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
