/*
 * What is easy to get wrong about LDS and lanes (permutes, loads to LDS, counters, M0), and the
 * rows of ops_mem.def there whose names do not say what they do.
 */
#include "device/isa/wave_state.h"
#include "mem_points.h"

/* ---- 21: permutes ---- */

static void point21_bpermute_pulls(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_bpermute_b32, .offset = 8};
    uint64_t exec = 0x00ff00ff00ff00f3;
    world_exec(&w, exec);
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        unsigned from = (before.vgpr[R_ADDR][lane] + 8) >> 2 & 63; /* upper bits do not count */
        uint32_t want = exec >> from & 1 ? before.vgpr[R_DATA][from] : 0;
        assert_int_equal(w.s.vgpr[R_DST][lane], exec >> lane & 1 ? want : before.vgpr[R_DST][lane]);
    }
}

static void point21_permute_pushes(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_permute_b32};
    uint64_t exec = ~0xf0full;
    world_exec(&w, exec);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        w.s.vgpr[R_ADDR][lane] = (lane / 2 * 4) | 0xabcd00u << 8; /* pairs collide */
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t want = 0; /* the guide: the highest lane wins */
        for (unsigned from = 0; from < RP_LANES; from++)
            if (exec >> from & 1 && (from / 2) % 64 == lane)
                want = before.vgpr[R_DATA][from];
        assert_int_equal(w.s.vgpr[R_DST][lane], exec >> lane & 1 ? want : before.vgpr[R_DST][lane]);
    }
}

/* The source is the address operand of the encoding. */
static void check_swizzle(uint32_t pattern, const uint8_t *source32)
{
    struct form f = {.op = RP_OP_ds_swizzle_b32, .offset = (int32_t)pattern};
    uint64_t exec = ~(1ull << 7);
    world_exec(&w, exec);
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        unsigned from = (lane & 32) | source32[lane & 31];
        uint32_t want = from == 7 ? 0 : before.vgpr[R_ADDR][from];
        assert_int_equal(w.s.vgpr[R_DST][lane], lane == 7 ? before.vgpr[R_DST][7] : want);
    }
}

static void point21_swizzle_modes(void **state)
{
    (void)state;
    /* The two lists the ISA guide gives for the FFT mode (there counted from 1). */
    static const uint8_t fft0[32] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                                     1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
    static const uint8_t fft16[32] = {0,  8,  4,  12, 2,  10, 6,  14, 1,  9,  5,
                                      13, 3,  11, 7,  15, 16, 24, 20, 28, 18, 26,
                                      22, 30, 17, 25, 21, 29, 19, 27, 23, 31};
    uint8_t source[32];
    check_swizzle(0xe000, fft0);
    check_swizzle(0xe010, fft16);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)n;
    check_swizzle(0xe01f, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n & 24) | ((n + 3) & 7)); /* rotate left by 3 in groups of 8 */
    check_swizzle(0xc000 | 3 << 5 | 24, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n - 5) & 31);
    check_swizzle(0xc000 | 1 << 10 | 5 << 5, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n & 28) | (3 - (n & 3)));
    check_swizzle(0x8000 | 3 | 2 << 2 | 1 << 4 | 0 << 6, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)(((n & 0x15) | 2) ^ 0x18);
    check_swizzle(0x18 << 10 | 2 << 5 | 0x15, source);
}

/* ---- 22: loads to LDS ---- */

static void point22_loads_to_lds_add_m0_offset_and_lane(void **state)
{
    (void)state;
    static const unsigned ops[] = {RP_OP_global_load_lds_sbyte, RP_OP_buffer_load_sbyte};
    for (unsigned k = 0; k < 2; k++) {
        struct form load = {.op = ops[k], .offset = 24, .offen = k, .lds = k};
        w.s.sgpr[RP_SGPR_M0] = 0xffff0000u | 256; /* 16 bits count */
        world_resource(&w, WORLD_VA, 0, 24 + 3 * 60, 0);
        set_addresses(k ? 0 : WORLD_VA, 3);
        fill_random(w.s.lds, sizeof w.s.lds);
        world_exec(&w, ~(1ull << 2));
        uint32_t off = lds32(256 + 24 + 8);
        world_run(&w, &load);
        assert_int_equal(lds32(256 + 24 + 8), off);
        assert_int_equal(lds32(256 + 24 + 4 * 9), (uint32_t)(int8_t)w.s.mem[24 + 27]);
        /* Lanes beyond the buffer still write: zero. */
        assert_int_equal(lds32(256 + 24 + 4 * 62), k ? 0 : (uint32_t)(int8_t)w.s.mem[24 + 186]);
    }
    struct form load = {.op = RP_OP_scratch_load_lds_dword, .vaddr = true};
    w.s.sgpr[RP_SGPR_M0] = WORLD_LDS_BYTES - 4; /* one lane fits, the others write nothing */
    set_addresses(20, 0);
    world_exec(&w, ~0ull);
    world_run(&w, &load);
    uint32_t want;
    memcpy(&want, w.s.priv + 5 * 64 * 4, 4);
    assert_int_equal(lds32(WORLD_LDS_BYTES - 4), want);
}

/* ---- 23: s_waitcnt ---- */

static void point23_waitcnt_waits_for_nothing(void **state)
{
    (void)state;
    static const uint32_t waits[] = {0xbf8c0000, 0xbf8c0f70, 0xbf8cc07f, 0xbf8cffff};
    struct state want = w.s;
    for (unsigned i = 0; i < 4; i++) {
        struct rp_insn in;
        assert_int_equal(rp_isa_decode(&waits[i], 1, &in), 4);
        assert_int_equal(in.op, RP_OP_s_waitcnt);
        assert_int_equal(in.fn(&w.wave, &in), RP_STEP_NEXT);
    }
    assert_same_state(&w.s, &want, "s_waitcnt");
}

/* ---- what has no number ---- */

static void addtid_forms_use_m0_and_the_lane(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_ds_read_addtid_b32, .offset = 100};
    struct form store = {.op = RP_OP_ds_write_addtid_b32, .offset = 100};
    w.s.sgpr[RP_SGPR_M0] = 0x70000 | 1000;
    uint64_t exec = 0xaaaa;
    world_exec(&w, exec);
    struct state want = w.s;
    for (unsigned lane = 1; lane < 16; lane += 2)
        memcpy(&want.vgpr[R_DST][lane], want.lds + 1100 + 4 * lane, 4);
    world_run(&w, &load);
    assert_same_state(&w.s, &want, "ds_read_addtid_b32");
    for (unsigned lane = 1; lane < 16; lane += 2)
        memcpy(want.lds + 1100 + 4 * lane, &want.vgpr[R_DATA][lane], 4);
    world_run(&w, &store);
    assert_same_state(&w.s, &want, "ds_write_addtid_b32");
}

static void append_and_consume_count_active_lanes(void **state)
{
    (void)state;
    struct form append = {.op = RP_OP_ds_append, .offset = 8};
    struct form consume = {.op = RP_OP_ds_consume, .offset = 8};
    w.s.sgpr[RP_SGPR_M0] = 16;
    world_exec(&w, 0xf00f);
    struct state want = w.s;
    uint32_t old = lds32(24);
    memcpy(want.lds + 24, &(uint32_t){old + 8}, 4);
    for (unsigned lane = 0; lane < 16; lane++)
        if (0xf00f >> lane & 1)
            want.vgpr[R_DST][lane] = old;
    world_run(&w, &append);
    assert_same_state(&w.s, &want, "ds_append");
    for (unsigned lane = 0; lane < 16; lane++)
        if (0xf00f >> lane & 1)
            want.vgpr[R_DST][lane] = old + 8;
    memcpy(want.lds + 24, &old, 4);
    world_run(&w, &consume);
    assert_same_state(&w.s, &want, "ds_consume");
    world_exec(&w, 0);
    want = w.s;
    world_run(&w, &append);
    assert_same_state(&w.s, &want, "ds_append without lanes");
}

static void condxchg_writes_where_the_top_bit_is_set(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_condxchg32_rtn_b64, .offset = 3};
    set_addresses(64, 8);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[R_DATA][lane] = 1000 + lane + (lane & 1 ? 1u << 31 : 0);
        w.s.vgpr[R_DATA + 1][lane] = 2000 + lane + (lane & 2 ? 1u << 31 : 0);
    }
    struct state want = w.s;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint8_t *p = want.lds + 64 + 8 * lane; /* a multiple of 8: the offset's low bits go */
        memcpy(&want.vgpr[R_DST][lane], p, 4);
        memcpy(&want.vgpr[R_DST + 1][lane], p + 4, 4);
        if (lane & 1)
            memcpy(p, &(uint32_t){1000 + lane}, 4);
        if (lane & 2)
            memcpy(p + 4, &(uint32_t){2000 + lane}, 4);
    }
    world_run(&w, &f);
    assert_same_state(&w.s, &want, "ds_condxchg32_rtn_b64");
}

/* Three waves, two barriers; the last to come says how many are expected next. */
static void gws_barrier_opens_for_the_last_wave(void **state)
{
    (void)state;
    static struct rp_gws gws;
    struct form init = {.op = RP_OP_ds_gws_init, .gds = true, .offset = 5};
    struct form barrier = {.op = RP_OP_ds_gws_barrier, .gds = true, .offset = 5};
    memset(&gws, 0, sizeof gws);
    assert_fault(&barrier, RP_FAULT_UNIMPLEMENTED, -1, "global wave sync");
    w.host.gws = &gws;
    w.s.sgpr[RP_SGPR_M0] = 3 << 16;
    world_exec(&w, ~1ull);
    w.s.vgpr[R_ADDR][1] = 2; /* first active lane: three waves */
    w.s.vgpr[R_ADDR][0] = 99;
    assert_int_equal(world_step(&w, &init), RP_STEP_NEXT);
    assert_int_equal(gws.resource[8].counter, 2);
    w.s.vgpr[R_ADDR][1] = 1; /* next time two */
    struct rp_wave waves[3] = {w.wave, w.wave, w.wave};
    static const int steps[][2] = {{0, RP_STEP_YIELD}, {1, RP_STEP_YIELD}, {0, RP_STEP_YIELD},
                                   {2, RP_STEP_NEXT},  {2, RP_STEP_YIELD}, {1, RP_STEP_NEXT},
                                   {0, RP_STEP_NEXT},  {0, RP_STEP_NEXT},  {2, RP_STEP_NEXT}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        w.wave = waves[steps[i][0]];
        uint64_t pc = w.wave.pc;
        assert_int_equal(world_step(&w, &barrier), steps[i][1]);
        assert_int_equal(w.wave.pc - pc, steps[i][1] == RP_STEP_NEXT ? 8 : 0);
        waves[steps[i][0]] = w.wave;
    }
}

/* P waits, at its own address, for as many V as there were P before. */
static void gws_semaphore_counts(void **state)
{
    (void)state;
    static struct rp_gws gws;
    struct form v = {.op = RP_OP_ds_gws_sema_v, .gds = true, .offset = 7};
    struct form p = {.op = RP_OP_ds_gws_sema_p, .gds = true, .offset = 7};
    static const struct {
        bool is_v;
        int step;
        uint32_t counter;
    } steps[] = {{false, RP_STEP_YIELD, 0}, {true, RP_STEP_NEXT, 1},  {true, RP_STEP_NEXT, 2},
                 {false, RP_STEP_NEXT, 1},  {false, RP_STEP_NEXT, 0}, {false, RP_STEP_YIELD, 0}};
    memset(&gws, 0, sizeof gws);
    w.host.gws = NULL;
    assert_fault(&p, RP_FAULT_UNIMPLEMENTED, -1, "global wave sync");
    w.host.gws = &gws;
    w.s.sgpr[RP_SGPR_M0] = 2 << 16;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint64_t pc = w.wave.pc;
        assert_int_equal(world_step(&w, steps[i].is_v ? &v : &p), steps[i].step);
        assert_int_equal(w.wave.pc - pc, steps[i].step == RP_STEP_NEXT ? 8 : 0);
        assert_int_equal(gws.resource[9].counter, steps[i].counter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(point21_bpermute_pulls),
        TEST(point21_permute_pushes),
        TEST(point21_swizzle_modes),
        TEST(point22_loads_to_lds_add_m0_offset_and_lane),
        TEST(point23_waitcnt_waits_for_nothing),
        TEST(addtid_forms_use_m0_and_the_lane),
        TEST(append_and_consume_count_active_lanes),
        TEST(condxchg_writes_where_the_top_bit_is_set),
        TEST(gws_barrier_opens_for_the_last_wave),
        TEST(gws_semaphore_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
