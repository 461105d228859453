/* Kernels in assembly: what becomes of the part of a register that an instruction does not write,
 * and code that rewrites itself. Once translated, once interpreted, on each target. */
#include "kernels_test.h"

#include "device/isa/instruction.h"
#include "device/timing/timing_model.h"

enum { BLOCKS = 4, THREADS = 256, ITEMS = BLOCKS * THREADS, ROUNDS = 40, RESULTS = 32 };

struct answer {
    const char *name;
    uint32_t word;
};

static void check(const uint32_t *out, const struct answer *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned item = 0; item < ITEMS; item++)
            if (out[i * ITEMS + item] != want[i].word)
                fail_msg("%s, item %u: 0x%08x, want 0x%08x", want[i].name, item,
                         out[i * ITEMS + item], want[i].word);
}

/* With SRAM ECC, which all three targets have, a load clears the half that it does not fill. */
static void half_loads(void **state)
{
    static const struct answer want[] = {
        {"global short_d16", 0x00009281},    {"flat short_d16", 0x00009281},
        {"buffer short_d16", 0x00009281},    {"global short_d16_hi", 0x92810000},
        {"flat short_d16_hi", 0x92810000},   {"buffer short_d16_hi", 0x92810000},
        {"global ubyte_d16", 0x00000081},    {"flat ubyte_d16", 0x00000081},
        {"buffer ubyte_d16", 0x00000081},    {"global ubyte_d16_hi", 0x00810000},
        {"flat ubyte_d16_hi", 0x00810000},   {"buffer ubyte_d16_hi", 0x00810000},
        {"global sbyte_d16", 0x0000ff81},    {"flat sbyte_d16", 0x0000ff81},
        {"buffer sbyte_d16", 0x0000ff81},    {"global sbyte_d16_hi", 0xff810000},
        {"flat sbyte_d16_hi", 0xff810000},   {"buffer sbyte_d16_hi", 0xff810000},
        {"buffer out of range", 0x00000000}, {"ds u16_d16", 0x00009281},
        {"ds u16_d16_hi", 0x92810000},       {"ds u8_d16", 0x00000081},
        {"ds u8_d16_hi", 0x00810000},        {"ds i8_d16", 0x0000ff81},
        {"ds i8_d16_hi", 0xff810000},
    };
    struct fixture *f = *state;
    struct {
        uint8_t *in;
        uint32_t *out;
        uint32_t rounds;
    } args = {sim_alloc(&f->sim, 4096), sim_alloc(&f->sim, RESULTS * ITEMS * 4), ROUNDS};
    memcpy(args.in, "\x81\x92\xa3\xb4", 4);
    run_ok(f, "half_loads", BLOCKS, THREADS, &args, sizeof args);
    check(args.out, want, sizeof want / sizeof want[0]);
}

static void half_results(void **state)
{
    static const struct answer want[] = {
        {"v_add_f16", 0x00004500},
        {"v_add_f16_e64", 0x00004500},
        {"v_add_u16", 0x00008000},
        {"v_lshlrev_b16", 0x00007800},
        {"v_cvt_f16_f32", 0x0000c100},
        {"v_mad_legacy_u16", 0x00003c00},
        {"v_fma_f16", 0xdead4500},
        {"v_fma_f16 into the upper half", 0x4500beef},
        {"v_fma_f16 of upper halves", 0xdead4700},
        {"v_mad_u16", 0xdead3c00},
        {"v_min3_f16 into the upper half", 0x3c00beef},
        {"v_add_i16", 0xdead8000},
        {"v_fma_mixlo_f16", 0xdead4500},
        {"v_fma_mixhi_f16", 0x4500beef},
        {"v_pack_b32_f16", 0x44003c00},
        {"sdwa word 1, preserve", 0xc100beef},
        {"sdwa word 1, pad", 0xc1000000},
        {"sdwa word 0, sext", 0xffffc100},
        {"sdwa byte 2, preserve", 0xde3cbeef},
        {"sdwa byte 1, sext", 0x00004400},
    };
    struct fixture *f = *state;
    struct {
        uint32_t a, b, c;
        float x;
        uint32_t *out;
        uint32_t rounds;
    } args = {0x40003c00, 0x42004400, 0x3c003c00, -2.5f, sim_alloc(&f->sim, RESULTS * ITEMS * 4),
              ROUNDS};
    run_ok(f, "half_results", BLOCKS, THREADS, &args, sizeof args);
    check(args.out, want, sizeof want / sizeof want[0]);
}

/* One wave, so that the sum is known. @p at is also how hot the old code has become. */
static void check_rewritten(struct fixture *f, uint32_t turns, uint32_t at, uint32_t before)
{
    struct {
        uint32_t *out;
        uint32_t turns, at;
    } args = {sim_alloc(&f->sim, 4096), turns, at};
    run_ok(f, "rewrites_itself", 1, 64, &args, sizeof args);
    const uint32_t want = before ? turns * before : (at + 1) * 0x11 + (turns - at - 1) * 0x22;
    assert_int_equal(args.out[0], want);
    assert_int_equal(args.out[63], want);
}

/* After s_icache_inv, the wave executes what is in memory. Later launches find that, too. */
static void code_rewrites_itself(void **state)
{
    struct fixture *f = *state;
    check_rewritten(f, 10, 3, 0);
    check_rewritten(f, 10, 3, 0x22);
}

static void hot_code_rewrites_itself(void **state)
{
    struct fixture *f = *state;
    f->sim.budget = 777; /* also where a call of rp_dispatch_run ends in the middle */
    check_rewritten(f, 5000, 2500, 0);
}

/* Recorded waves are translated apart, and described to the timing model afterwards. */
static void recorded_code_rewrites_itself(void **state)
{
    struct fixture *f = *state;
    rp_timing_set_mode(RP_TIMING_DETAILED);
    check_rewritten(f, 5000, 2500, 0);
    assert_true(f->sim.replayed);
    rp_timing_set_mode(RP_TIMING_COUNTS);
}

/* The host changes what has been translated, between two launches. */
static void host_rewrites_hot_code(void **state)
{
    enum { ADD_11 = 0xb01a0011, ADD_33 = 0xb01a0033 }; /* s_movk_i32 s26, 0x11 and 0x33 */
    struct fixture *f = *state;
    struct {
        uint32_t *out;
        uint32_t turns, at;
    } args = {sim_alloc(&f->sim, 4096), 5000, UINT32_MAX};
    unsigned found = 0;
    run_ok(f, "rewrites_itself", 1, 64, &args, sizeof args);
    assert_int_equal(args.out[0], 5000 * 0x11);
    for (size_t at = 0; at + 4 <= f->code.image_bytes; at += 4)
        if (!memcmp(f->code.image + at, &(uint32_t){ADD_11}, 4)) {
            memcpy(f->code.image + at, &(uint32_t){ADD_33}, 4);
            found++;
        }
    assert_int_equal(found, 1);
    run_ok(f, "rewrites_itself", 1, 64, &args, sizeof args);
    assert_int_equal(args.out[0], 5000 * 0x33);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(half_loads),
        TEST(half_results),
        TEST(code_rewrites_itself),
        TEST(hot_code_rewrites_itself),
        TEST(recorded_code_rewrites_itself),
        TEST(host_rewrites_hot_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
