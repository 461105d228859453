/*
 * What gfx950 has beyond gfx942 in memory and between lanes, and where its conversions put their
 * results. The arithmetic of its lane kernels is in test_lane_kernels.c, matrices in test_mfma.c
 * and test_scaled.c.
 */
#include "mem_world.h"

static struct world w __attribute__((aligned(64))); /* kernels want their rows so */

/* Executes; the destination is v1 or as encoded. */
static int step(const uint32_t *words, unsigned count)
{
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(words, count, &in), 4 * count);
    memcpy(w.wave.sgpr, w.s.sgpr, sizeof w.s.sgpr);
    return in.fn(&w.wave, &in);
}

/* ---- lanes ---- */

static void swaps(const char *text, uint32_t word0, unsigned group)
{
    struct rp_insn in;
    char printed[64];
    rp_isa_decode(&word0, 1, &in);
    rp_isa_print(&in, 0, printed, sizeof printed);
    assert_string_equal(printed, text);
    const uint64_t some = 0x00000f0500000f05 & (group == 16 ? ~0ull : 0xffffffffull);
    struct state before;
    for (unsigned i = 0; i < 2;
         i++) { /* all lanes; some, with those that they change places with */
        const uint64_t exec = i == 0 ? ~0ull : some | some << group;
        world_exec(&w, exec);
        before = w.s;
        assert_int_equal(step((const uint32_t[]){word0}, 1), RP_STEP_NEXT);
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const bool on = exec >> lane & 1, odd = lane / group % 2;
            const uint32_t v1 = on && odd ? before.vgpr[2][lane - group] : before.vgpr[1][lane];
            const uint32_t v2 = on && !odd ? before.vgpr[1][lane + group] : before.vgpr[2][lane];
            assert_int_equal(w.s.vgpr[1][lane], v1);
            assert_int_equal(w.s.vgpr[2][lane], v2);
        }
    }
    world_exec(&w, 1);
    assert_int_equal(step((const uint32_t[]){word0}, 1), RP_STEP_FAULT);
}

static void test_permlane_swap(void **state)
{
    (void)state;
    swaps("v_permlane16_swap_b32_e32 v1, v2", 0x7e02b302, 16);
    swaps("v_permlane32_swap_b32_e32 v1, v2", 0x7e02b502, 32);
}

/* ---- transposing reads ---- */

static uint32_t lds_bits(unsigned at, unsigned count)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < count; i++)
        v |= (uint32_t)(w.s.lds[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return v;
}

static uint32_t register_bits(unsigned lane, unsigned at, unsigned count)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < count; i++)
        v |= (w.s.vgpr[R_DST + (at + i) / 32][lane] >> (at + i) % 32 & 1) << i;
    return v;
}

/* Each 16 lanes point at the rows of a matrix of 16 columns; lane i gets column i. */
static void test_transposing_reads(void **state)
{
    (void)state;
    static const struct {
        unsigned op, width, rows, lane_bytes;
    } reads[] = {
        {RP_OP_ds_read_b64_tr_b4, 4, 16, 8},
        {RP_OP_ds_read_b96_tr_b6, 6, 16, 12},
        {RP_OP_ds_read_b64_tr_b8, 8, 8, 8},
        {RP_OP_ds_read_b64_tr_b16, 16, 4, 8},
    };
    enum { PITCH = 64, OFFSET = 40 };
    for (unsigned n = 0; n < 4; n++) {
        const unsigned per_row = 16 / reads[n].rows, width = reads[n].width;
        const struct form form = {.op = reads[n].op, .offset = OFFSET};
        fill_random(w.s.lds, sizeof w.s.lds);
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const unsigned q = lane % 16;
            w.s.vgpr[R_ADDR][lane] =
                lane / 16 * 1024 + q / per_row * PITCH + q % per_row * reads[n].lane_bytes;
        }
        world_exec(&w, ~0ull);
        world_run(&w, &form);
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            for (unsigned row = 0; row < reads[n].rows; row++) {
                const unsigned start = lane / 16 * 1024 + row * PITCH + OFFSET;
                assert_int_equal(register_bits(lane, row * width, width),
                                 lds_bits(8 * start + lane % 16 * width, width));
            }
        world_exec(&w, ~1ull);
        assert_int_equal(world_step(&w, &form), RP_STEP_FAULT);
    }
}

/* ---- loads to LDS ---- */

static uint8_t large_lds[160 * 1024];

static void test_wide_loads_to_lds(void **state)
{
    (void)state;
    static const struct {
        unsigned op, bytes;
        bool buffer;
    } loads[] = {
        {RP_OP_global_load_lds_dwordx4, 16, false}, {RP_OP_global_load_lds_dwordx3, 12, false},
        {RP_OP_buffer_load_dwordx4, 16, true},      {RP_OP_buffer_load_dwordx3, 12, true},
        {RP_OP_global_load_lds_dword, 4, false},    {RP_OP_buffer_load_dword, 4, true},
    };
    enum { BASE = 0x20010 }; /* more than 16 bits of M0 */
    w.group.lds = large_lds;
    w.group.lds_bytes = sizeof large_lds;
    for (unsigned n = 0; n < 6; n++) {
        const struct form form = {
            .op = loads[n].op, .offset = 32, .offen = loads[n].buffer, .lds = loads[n].buffer};
        const unsigned apart = loads[n].bytes == 4 ? 4 : 16;
        memset(large_lds, 0xa5, sizeof large_lds);
        w.s.sgpr[RP_SGPR_M0] = 0xfffc0000 | BASE;
        world_resource(&w, WORLD_VA, 0, WORLD_MEM_BYTES, 0);
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const uint64_t at = (loads[n].buffer ? 0 : WORLD_VA) + 20 * (63 - lane);
            w.s.vgpr[R_ADDR][lane] = (uint32_t)at;
            w.s.vgpr[R_ADDR + 1][lane] = (uint32_t)(at >> 32);
        }
        world_exec(&w, ~4ull);
        world_run(&w, &form);
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            for (unsigned i = 0; i < apart; i++) {
                const bool written = lane != 2 && i < loads[n].bytes;
                assert_int_equal(large_lds[BASE + 32 + apart * lane + i],
                                 written ? w.s.mem[32 + 20 * (63 - lane) + i] : 0xa5);
            }
    }
}

/* gfx942 has no such loads: the bit is no instruction there. */
static void test_wide_loads_are_new(void **state)
{
    (void)state;
    static const uint32_t x4[] = {0xe05d1000, 0x00020002}, x1[] = {0xe0511000, 0x00020002};
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(x4, 2, &in), 8);
    rp_isa_target_set("gfx942");
    assert_int_equal(rp_isa_decode(x4, 2, &in), 0);
    assert_int_equal(rp_isa_decode(x1, 2, &in), 8);
}

static void test_buffer_adds_bf16(void **state)
{
    (void)state;
    const struct form form = {.op = RP_OP_buffer_atomic_pk_add_bf16, .offen = true, .sc0 = true};
    world_resource(&w, WORLD_VA, 0, WORLD_MEM_BYTES, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[R_ADDR][lane] = 4 * lane;
        w.s.vgpr[R_DATA][lane] = 0x40003f80;                    /* 2, 1 */
        memcpy(w.s.mem + 4 * lane, &(uint32_t){0xc0003fc0}, 4); /* -2, 1.5 */
    }
    world_exec(&w, 0xff);
    world_run(&w, &form);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t sum;
        memcpy(&sum, w.s.mem + 4 * lane, 4);
        assert_int_equal(sum, lane < 8 ? 0x00004020 : 0xc0003fc0); /* 0, 2.5 */
        assert_int_equal(w.s.vgpr[R_DATA][lane], lane < 8 ? 0xc0003fc0 : 0x40003f80);
    }
}

/* ---- where results go ---- */

static void expect(const char *text, const uint32_t *words, unsigned count, uint32_t result)
{
    struct rp_insn in;
    char printed[128];
    rp_isa_decode(words, count, &in);
    rp_isa_print(&in, 0, printed, sizeof printed);
    assert_string_equal(printed, text);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        w.s.vgpr[1][lane] = 0x11223344;
    world_exec(&w, 0xff00ff00ff00ff00);
    if (step(words, count) != RP_STEP_NEXT)
        fail_msg("%s: %s", text, w.wave.fault.text);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        if (w.s.vgpr[1][lane] != (lane & 8 ? result : 0x11223344))
            fail_msg("%s: lane %u has 0x%x, expected 0x%x", text, lane, w.s.vgpr[1][lane], result);
}

#define EXPECT(text, w0, w1, result) expect(text, (const uint32_t[]){w0, w1}, 2, result)

static void test_places_of_results(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[2][lane] = 0x3f808000; /* 1 and a half unit of bf16: a tie, to even */
        w.s.vgpr[3][lane] = 0xc0000000; /* -2; as bf16 0 and -2 */
        w.s.vgpr[4][lane] = 0;
    }
    EXPECT("v_cvt_pk_bf16_f32 v1, v2, v3", 0xd2680001, 0x00020702, 0xc0003f80);
    EXPECT("v_cvt_pk_bf16_f32 v1, -v2, |v3|", 0xd2680201, 0x20020702, 0x4000bf80);
    EXPECT("v_cvt_pk_bf16_f32 v1, v2, v3 clamp", 0xd2688001, 0x00020702, 0x00003f80);
    EXPECT("v_cvt_pk_f16_f32 v1, v2, v3", 0xd2670001, 0x00020702, 0xc0003c04);
    /* random bits 0xc0000000: more than the half that is missing */
    EXPECT("v_cvt_sr_bf16_f32 v1, v2, v3", 0xd2a70001, 0x00020702, 0x11223f81);
    EXPECT("v_cvt_sr_bf16_f32 v1, v2, v3 op_sel:[0,0,1]", 0xd2a74001, 0x00020702, 0x3f813344);
    EXPECT("v_cvt_sr_bf16_f32 v1, v2, v4", 0xd2a70001, 0x00020902, 0x11223f80);
    EXPECT("v_cvt_sr_f16_f32 v1, v2, v4 op_sel:[0,0,1]", 0xd2a64001, 0x00020902, 0x3c043344);
    EXPECT("v_cvt_f32_bf16_e64 v1, -v3", 0xd19b0001, 0x20000103, 0x80000000);
    EXPECT("v_cvt_f32_bf16_sdwa v1, v3 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:WORD_1",
           0x7e02b6f9, 0x00051603, 0xc0000000);
    EXPECT("v_minimum3_f32 v1, v2, v3, v4", 0xd2a80001, 0x04120702, 0xc0000000);
    EXPECT("v_maximum3_f32 v1, v2, -v3, v4", 0xd2a90001, 0x44120702, 0x40000000);
    EXPECT("v_ashr_pk_i8_i32 v1, v2, v3, v4", 0xd2650001, 0x04120702, 0x1122807f);
    EXPECT("v_ashr_pk_u8_i32 v1, v2, v3, v4 op_sel:[0,0,0,1]", 0xd2664001, 0x04120702, 0x00ff3344);
    EXPECT("v_dot2_f32_bf16 v1, v2, v3, v4 neg_hi:[1,0,0]", 0xd39a4101, 0x1c120702, 0x40000000);
    EXPECT("v_pk_minimum3_f16 v1, v2, v3, v4", 0xd39b4001, 0x1c120702, 0xc0008000);
    EXPECT("v_pk_maximum3_f16 v1, v2, v3, v4", 0xd39c4001, 0x1c120702, 0x3f800000);
    EXPECT("v_bitop3_b32 v1, v2, v3, v4 bitop3:0x6c", 0xd2340501, 0x8c120702, 0xc0000000);
    static const uint32_t prng[] = {0x7e02b103};
    expect("v_prng_b32_e32 v1, v3", prng, 1, 0x800000c5);
}

/* The same words as on gfx942, other numbers: 0x38 is 1 where that one has 0.5. */
static void test_ocp_formats(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[2][lane] = 0x80000038;
        w.s.vgpr[3][lane] = 0x3f800000;
        w.s.vgpr[4][lane] = 0x7f800000;
    }
    static const uint32_t widen[] = {0x7e02a902};
    expect("v_cvt_f32_fp8_e32 v1, v2", widen, 1, 0x3f800000);
    EXPECT("v_cvt_pk_fp8_f32 v1, v3, v4 op_sel:[0,0,1]", 0xd2a24001, 0x00020903, 0x7f383344);
    EXPECT("v_cvt_pk_bf8_f32 v1, v3, v4", 0xd2a30001, 0x00020903, 0x11227c3c);
    w.wave.mode |= RP_MODE_FP16_OVFL;
    w.wave.gpr_idx |= RP_VALU_MODE;
    EXPECT("v_cvt_pk_bf8_f32 v1, v3, v4", 0xd2a30001, 0x00020903, 0x11227b3c);
    w.wave.gpr_idx = 0;
    w.wave.mode = 0x3f0;
    rp_isa_target_set("gfx942");
    expect("v_cvt_f32_fp8_e32 v1, v2", widen, 1, 0x3f000000);
}

static int setup(void **state)
{
    (void)state;
    world_init(&w);
    rp_isa_target_set("gfx950");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_permlane_swap, setup),
        cmocka_unit_test_setup(test_transposing_reads, setup),
        cmocka_unit_test_setup(test_wide_loads_to_lds, setup),
        cmocka_unit_test_setup(test_wide_loads_are_new, setup),
        cmocka_unit_test_setup(test_buffer_adds_bf16, setup),
        cmocka_unit_test_setup(test_places_of_results, setup),
        cmocka_unit_test_setup(test_ocp_formats, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
