#include "unit/cmocka_all.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "analyze/wave_time.h"
#include "base/err.h"

/* [isa, line number, source, latency, stall] of a kernel that loads, adds an atomic, and loops. */
static const char code[] =
    "{\"code\": ["
    "[\"; _Z1kv\", 0, 0, \"\", 1, 0, 0, 0, 0, 0],"
    "[\"global_load_dwordx2 v[2:3], v0, s[0:1]\", 0, 1, \"/a/k.hip:10\", 1, 100, 1, 4, 0, 0],"
    "[\"global_atomic_add_f32 v0, v2, s[0:1]\", 0, 2, \"/opt/rocm/x.h:3 -> /a/k.hip:11\", 1, 108, "
    "1, 4, 0, 0],"
    "[\"s_waitcnt vmcnt(1)\", 0, 3, \"/a/k.hip:12\", 1, 116, 1, 300, 300, 0],"
    "[\"s_waitcnt vmcnt(0)\", 0, 4, \"/a/k.hip:12\", 1, 120, 1, 900, 900, 0],"
    "[\"v_exp_f32_e32 v0, v1\", 0, 5, \"/a/f.h:7 -> /a/k.hip:13\", 1, 124, 1, 16, 0, 6],"
    "[\"s_endpgm\", 0, 6, \"\", 1, 128, 1, 4, 0, 0]],"
    "\"header\": \"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle\", "
    "\"version\": \"1\"}";

/* [time, category, stall, duration, line] */
static const char wave[] = "{\"name\": \"SE0\", \"wave\": {\"cu\": 0, \"simd\": 0, \"slot\": 0, "
                           "\"id\": 0, \"begin\": 0, \"end\": 1234,"
                           "\"timeline\": [[2, 1234]], \"instructions\": [[0, 3, 0, 4, 1], [4, 3, "
                           "0, 4, 2], [8, 9, 300, 300, 3],"
                           "[308, 9, 900, 900, 4], [1214, 6, 0, 16, 5], [1230, 9, 0, 4, 6]]}}";

static json_t *parsed(const char *text)
{
    json_t *root = json_loads(text, 0, NULL);

    assert_non_null(root);
    return root;
}

static void traced(bool with_wave, struct rp_thread_trace *ret)
{
    struct rp_att_build build = {.trace = ret, .has_lines = true};
    struct rp_err err = RP_ERR_INIT;
    json_t *listing = parsed(code), *one = parsed(wave);

    *ret = (struct rp_thread_trace){.gfx_ip = 9};
    assert_int_equal(rp_att_read_code(listing, ret, &err), 0);
    assert_int_equal(rp_att_index(&build, &err), 0);
    if (with_wave)
        assert_int_equal(rp_att_read_wave(one, &build, &err), 0);
    assert_int_equal(rp_att_finish(&build, &err), 0);
    rp_att_build_free(&build);
    json_decref(listing);
    json_decref(one);
}

static void free_trace(struct rp_thread_trace *t)
{
    struct rp_thread_traces set = {.traces = malloc(sizeof *t), .count = 1};

    *set.traces = *t;
    rp_thread_traces_free(&set);
}

/* All cycles are in one part each, and a wait is where the load or atomic is that it waited for,
 * with the waves and without them. */
static void waits_count_for_what_they_waited_for(void **state)
{
    (void)state;
    for (unsigned with_wave = 0; with_wave < 2; with_wave++) {
        struct rp_thread_trace t;
        struct rp_wave_time w = {0};

        traced(with_wave, &t);
        assert_true(rp_wave_time_add(&t, &w));
        assert_true(w.of[RP_WAVE_PART_LOAD].cycles == 304);
        assert_true(w.of[RP_WAVE_PART_ATOMIC].cycles == 904);
        assert_true(w.of[RP_WAVE_PART_TRANSCENDENTAL].cycles == 16);
        assert_true(w.of[RP_WAVE_PART_FETCH].cycles == 6);
        assert_true(w.of[RP_WAVE_PART_OTHER].cycles == 4);
        assert_true(w.cycles == 304 + 904 + 16 + 6 + 4);
        assert_true(w.of[RP_WAVE_PART_LOAD].bytes == 64 * 8);
        assert_string_equal(w.of[RP_WAVE_PART_LOAD].line, "/a/k.hip:10");
        assert_string_equal(w.atomic_line, "/a/k.hip:11");
        assert_string_equal(w.of[RP_WAVE_PART_TRANSCENDENTAL].line, "/a/f.h:7");
        assert_string_equal(w.of[RP_WAVE_PART_TRANSCENDENTAL].outer, "/a/k.hip:13");
        assert_null(w.of[RP_WAVE_PART_LOAD].outer);
        assert_true(w.waves == with_wave);
        rp_wave_time_free(&w);
        free_trace(&t);
    }
}

static void instructions_have_parts(void **state)
{
    static const struct {
        const char *isa;
        enum rp_wave_part part;
        unsigned bytes;
    } rows[] = {
        {"global_load_dwordx4 v[0:3], v0, s[0:1]", RP_WAVE_PART_LOAD, 16},
        {"global_store_short_d16_hi v0, v1, s[0:1]", RP_WAVE_PART_STORE, 2},
        {"flat_atomic_add v[0:1], v2", RP_WAVE_PART_ATOMIC, 4},
        {"global_load_ubyte_d16_hi v0, v1, s[0:1]", RP_WAVE_PART_LOAD, 1},
        {"buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", RP_WAVE_PART_LOAD, 16},
        {"s_waitcnt vmcnt(0)", RP_WAVE_PART_WAIT, 0},
        {"buffer_load_ubyte v0, v1, s[4:7], 0 offen", RP_WAVE_PART_LOAD, 1},
        {"buffer_load_dword v0, off, s[0:3], 0", RP_WAVE_PART_SCRATCH, 4},
        {"scratch_store_dwordx2 off, v[0:1], s32", RP_WAVE_PART_SCRATCH, 8},
        {"ds_read_b128 v[0:3], v4", RP_WAVE_PART_LDS, 16},
        {"ds_bpermute_b32 v0, v1, v2", RP_WAVE_PART_LDS, 4},
        {"ds_add_u32 v0, v1", RP_WAVE_PART_LDS_ATOMIC, 4},
        {"s_load_dwordx4 s[0:3], s[4:5], 0x0", RP_WAVE_PART_SCALAR_LOAD, 0},
        {"s_barrier", RP_WAVE_PART_BARRIER, 0},
        {"v_rsq_f32_e32 v0, v1", RP_WAVE_PART_TRANSCENDENTAL, 0},
        {"v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", RP_WAVE_PART_MFMA, 0},
        {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", RP_WAVE_PART_VALU, 0},
        {"s_cbranch_scc1 65392", RP_WAVE_PART_OTHER, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rp_wave_part_of(rows[i].isa) != rows[i].part)
            fail_msg("%s is %s", rows[i].isa, rp_wave_part_names[rp_wave_part_of(rows[i].isa)]);
        if (rp_isa_bytes_per_lane(rows[i].isa) != rows[i].bytes)
            fail_msg("%s: %u bytes", rows[i].isa, rp_isa_bytes_per_lane(rows[i].isa));
    }
}

static void lines_are_the_users(void **state)
{
    static const char *const rows[][2] = {
        {"/a/k.hip:3", "/a/k.hip:3"},
        {"/opt/rocm/include/hip/amd_detail/x.h:9 -> /a/k.hip:3", "/a/k.hip:3"},
        {"/v/_rocm_sdk_core/include/rocwmma/x.hpp:9 -> /a/k.hip:3", "/a/k.hip:3"},
        {"/a/k.hip:0 -> /a/k.hip:8", "/a/k.hip:8"}, /* of no line, in a function that is inlined */
        {"/a/f.h:1 -> /a/k.hip:3", "/a/f.h:1"},
        {"/opt/rocm/x.h:9", "/opt/rocm/x.h:9"},
        {"/a/k.hip:0", ""},
        {"/a/k.hip:10", "/a/k.hip:10"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *line;
        size_t length = rp_user_line(rows[i][0], &line);

        if (length != strlen(rows[i][1]) || strncmp(line, rows[i][1], length) != 0)
            fail_msg("%s: %.*s", rows[i][0], (int)length, line);
    }
}

/* The bounds check rules all of the arithmetic, the loop inside most of it, the last branch less
 * than half. */
static void the_innermost_condition_is_named(void **state)
{
    static const struct {
        const char *isa, *source;
        uint64_t address, cycles;
    } rows[] = {
        {"v_cmp_gt_i32_e32 vcc, s0, v0", "k:1", 0, 4},
        {"s_and_saveexec_b64 s[2:3], vcc", "k:1", 4, 4},
        {"v_add_f32_e32 v1, v1, v2", "k:3", 8, 500},
        {"v_cmp_lt_f32_e32 vcc, v1, v3", "f:2 -> k:2", 12, 4},
        {"s_or_b64 s[0:1], vcc, s[0:1]", "k:9", 13, 4},
        {"v_cmp_gt_u32_e64 s[6:7], s4, v4", "k:7", 14, 4}, /* of no mask */
        {"s_andn2_b64 exec, exec, s[0:1]", "k:9", 16, 4},
        {"s_cbranch_execnz 65532", "k:9", 20, 16},
        {"v_cmp_eq_u32_e32 vcc, 1, v0", "k:4", 24, 4},
        {"s_and_saveexec_b64 s[4:5], vcc", "k:4", 28, 4},
        {"v_add_f32_e32 v1, v1, v2", "k:5", 32, 100},
        {"s_or_b64 exec, exec, s[4:5]", "k:5", 36, 4},
        {"s_or_b64 exec, exec, s[2:3]", "k:6", 40, 4},
    };
    enum { COUNT = sizeof rows / sizeof rows[0] };
    struct rp_att_instruction instructions[COUNT] = {0};
    struct rp_thread_trace t = {
        .gfx_ip = 9, .instructions = instructions, .instruction_count = COUNT};
    struct rp_wave_time w = {0};

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        struct rp_att_meaning meaning;

        rp_att_decode(rows[i].isa, 9, &meaning);
        instructions[i] =
            (struct rp_att_instruction){.isa = (char *)(uintptr_t)rows[i].isa,
                                        .source = (char *)(uintptr_t)rows[i].source,
                                        .address = rows[i].address,
                                        .kind = meaning.kind,
                                        .sums = {.executed = 1, .latency_cycles = rows[i].cycles}};
    }
    assert_true(rp_wave_time_add(&t, &w));
    assert_string_equal(w.branch_line, "f:2");
    assert_string_equal(w.branch_outer, "k:2");
    rp_wave_time_free(&w);
}

/* Returns the line that is to blame for divergence in this code; the caller frees it. */
static char *blamed(const char *const rows[][2], const uint64_t *cycles, size_t count)
{
    struct rp_att_instruction instructions[24] = {0};
    const struct rp_thread_trace t = {
        .gfx_ip = 9, .instructions = instructions, .instruction_count = count};
    struct rp_wave_time w = {0};
    char *line;

    assert_in_range(count, 1, 24);
    for (size_t i = 0; i < count; i++) {
        struct rp_att_meaning meaning;

        rp_att_decode(rows[i][0], 9, &meaning);
        instructions[i] =
            (struct rp_att_instruction){.isa = (char *)(uintptr_t)rows[i][0],
                                        .source = (char *)(uintptr_t)rows[i][1],
                                        .address = 4 * i,
                                        .kind = meaning.kind,
                                        .sums = {.executed = 1, .latency_cycles = cycles[i]}};
    }
    assert_true(rp_wave_time_add(&t, &w));
    line = w.branch_line;
    w.branch_line = NULL;
    rp_wave_time_free(&w);
    return line;
}

/* The guard's lanes do not come back. The loop has two exits, its mask has no line, and the end of
 * its second condition stands before the beginning. */
static void a_guard_is_not_to_blame_for_a_loop(void **state)
{
    static const char *const rows[][2] = {
        {"v_cmp_gt_i32_e32 vcc, s4, v0", "k:6"},
        {"s_and_saveexec_b64 s[4:5], vcc", "k:6"},
        {"s_cbranch_execz 12", "k:6"},
        {"s_or_b64 exec, exec, s[10:11]", "k:0"},
        {"s_and_b64 s[10:11], exec, s[8:9]", "k:0"},
        {"s_or_b64 s[2:3], s[10:11], s[2:3]", "k:0"},
        {"s_andn2_b64 exec, exec, s[2:3]", "k:0"},
        {"s_cbranch_execz 6", "k:0"},
        {"v_cmp_gt_f32_e32 vcc, 4.0, v8", "k:9"},
        {"s_and_saveexec_b64 s[10:11], vcc", "k:9"},
        {"s_cbranch_execz 65528", "k:9"},
        {"v_fma_f32 v1, v2, v3, v4", "k:11"},
        {"s_branch 65526", "k:0"},
        {"global_store_dword v[4:5], v1, off", "k:15"},
        {"s_endpgm", "k:16"},
    };
    const uint64_t mostly_loop[15] = {[8] = 100, [11] = 900};
    const uint64_t partly_loop[15] = {[0] = 1500, [8] = 100, [11] = 400};
    const uint64_t no_loop[15] = {[3] = 4, [13] = 40};
    char *line = blamed(rows, mostly_loop, 15);

    (void)state;
    assert_string_equal(line, "k:9");
    free(line);
    line = blamed(rows, partly_loop, 15);
    assert_string_equal(line, "k:9");
    free(line);
    assert_null(blamed(rows, no_loop, 15));
}

/* What a switch became has line 0; the comparison before it has that of the switch. */
static void merged_code_has_the_line_before(void **state)
{
    static const char *const rows[][2] = {
        {"v_cmp_lt_i32_e32 vcc, 0, v4", "k:8 -> k:4"},
        {"v_cmp_lt_i32_e32 vcc, 1, v4", "k:0 -> k:4"},
        {"s_and_saveexec_b64 s[0:1], vcc", "k:0 -> k:4"},
        {"v_fma_f32 v1, v2, v3, v4", "k:10 -> k:4"},
        {"s_or_b64 exec, exec, s[0:1]", "k:0 -> k:4"},
    };
    const uint64_t cycles[5] = {4, 4, 4, 900, 4};
    char *line = blamed(rows, cycles, 5);

    (void)state;
    assert_string_equal(line, "k:8");
    free(line);
}

/* A load waits for stores that scatter, and most of the LDS time goes to an access without
 * conflicts; the lines are those of the waste. */
static void waste_has_its_own_lines(void **state)
{
    struct rp_att_instruction instructions[] = {
        {.isa = (char *)"global_load_dword v1, v[2:3], off",
         .source = (char *)"k:1",
         .kind = RP_ATT_VMEM,
         .sums = {.executed = 10, .latency_cycles = 5000},
         .wasted_lookups = 2},
        {.isa = (char *)"global_store_dword v[4:5], v1, off",
         .source = (char *)"f:9 -> k:2",
         .kind = RP_ATT_VMEM,
         .sums = {.executed = 10, .latency_cycles = 40},
         .wasted_lookups = 600},
        {.isa = (char *)"ds_read_b32 v1, v2",
         .source = (char *)"k:3",
         .kind = RP_ATT_LDS,
         .sums = {.executed = 10, .latency_cycles = 900}},
        {.isa = (char *)"ds_read_b32 v1, v3",
         .source = (char *)"k:4",
         .kind = RP_ATT_LDS,
         .sums = {.executed = 10, .latency_cycles = 90},
         .lds_conflict_cycles = 310},
    };
    const struct rp_thread_trace t = {
        .gfx_ip = 9, .instructions = instructions, .instruction_count = 4};
    struct rp_wave_time w = {0};

    (void)state;
    assert_true(rp_wave_time_add(&t, &w));
    assert_string_equal(w.scattered_line, "f:9");
    assert_string_equal(w.scattered_outer, "k:2");
    assert_string_equal(w.conflict_line, "k:4");
    assert_null(w.conflict_outer);
    assert_string_equal(w.of[RP_WAVE_PART_LOAD].line, "k:1");
    rp_wave_time_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_count_for_what_they_waited_for),
        cmocka_unit_test(instructions_have_parts),
        cmocka_unit_test(lines_are_the_users),
        cmocka_unit_test(the_innermost_condition_is_named),
        cmocka_unit_test(a_guard_is_not_to_blame_for_a_loop),
        cmocka_unit_test(merged_code_has_the_line_before),
        cmocka_unit_test(waste_has_its_own_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
