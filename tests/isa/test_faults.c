/* What must stop a dispatch, and what the message says. The host process never crashes. */
#include "kernels_test.h"

#include <sys/mman.h>

#include "device/exec/exec_settings.h"

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void unmapped_read(void **state)
{
    struct fixture *f = *state;
    float *a = sim_alloc(&f->sim, 100 * 4), *b = sim_alloc(&f->sim, 256 * 4),
          *c = sim_alloc(&f->sim, 256 * 4);
    struct {
        float *a, *b, *c;
        int n;
    } args = {a, b, c, 256};
    assert_int_equal(launch(f, "vadd", 1, 256, &args, sizeof args), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_int_equal(f->sim.fault.lane, 100 - 64);
    assert_true(f->sim.fault.in_wave);
    assert_int_equal(f->sim.fault.wave, 1);
    assert_int_equal(f->sim.fault.group_id[0], 0);
    assert_true(f->sim.fault.address == (uint64_t)(uintptr_t)(a + 100));
    assert_contains(f->sim.fault.text, "global_load_dword");
    uint64_t pc = f->sim.fault.pc;
    assert_true(pc >= (uint64_t)(uintptr_t)f->code.image &&
                pc < (uint64_t)(uintptr_t)f->code.image + f->code.image_bytes);
}

static void null_write(void **state)
{
    struct fixture *f = *state;
    float *a = sim_alloc(&f->sim, 64 * 4);
    struct {
        float *a, *b, *c;
        int n;
    } args = {a, a, NULL, 64};
    assert_int_equal(launch(f, "vadd", 1, 64, &args, sizeof args), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_true(f->sim.fault.address == 0);
    assert_contains(f->sim.fault.text, "global_store_dword");
}

static void read_only_write(void **state)
{
    struct fixture *f = *state;
    float *a = sim_alloc(&f->sim, 64 * 4), *c = sim_alloc(&f->sim, 64 * 4);
    sim_protect(&f->sim, c);
    struct {
        float *a, *b, *c;
        int n;
    } args = {a, a, c, 64};
    assert_int_equal(launch(f, "vadd", 1, 64, &args, sizeof args), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_contains(f->sim.fault.text, "read-only");
}

static void scratch_overflow(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 64 * 4);
    struct sim_launch l = {.grid = {64, 1, 1}, .block = {64, 1, 1}, .args = &out, .args_bytes = 8};
    enum rp_run_state s = sim_run(&f->sim, sim_kernel(&f->code, "recursion"), &l);
    assert_int_equal(s, RP_RUN_FAULT); /* the descriptor alone has no room for the recursion */
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_contains(f->sim.fault.text, "private segment");
}

static void trap(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 64 * 4);
    struct {
        void *out;
        int n;
    } args = {out, 5};
    run_ok(f, "trap", 1, 64, &args, sizeof args);
    out[17] = 5;
    assert_int_equal(launch(f, "trap", 1, 64, &args, sizeof args), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_TRAP);
    assert_contains(f->sim.fault.text, "s_trap");
}

static void unmap_flag(struct sim *s, void *flag)
{
    for (unsigned i = 0; i < s->region_count; i++)
        if (s->region[i].begin == (uint64_t)(uintptr_t)flag)
            s->region[i].end = s->region[i].begin;
    s->generation++;
}

/* Translations cached by a running kernel end when the mapping does. */
static void unmapped_while_running(void **state)
{
    struct fixture *f = *state;
    int32_t *flag = sim_alloc(&f->sim, 4), *out = sim_alloc(&f->sim, 64 * 4);
    void *args[] = {flag, out};
    f->sim.between = unmap_flag;
    f->sim.between_arg = flag;
    assert_int_equal(launch(f, "wait_flag", 1, 64, args, sizeof args), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_true(f->sim.fault.address == (uint64_t)(uintptr_t)flag);
}

/* ---- hand-made kernels ---- */

struct descriptor {
    uint32_t lds, private_bytes, kernarg, reserved0;
    int64_t entry;
    uint8_t reserved1[20];
    uint32_t rsrc3, rsrc1, rsrc2;
    uint16_t properties, preload;
    uint32_t reserved2;
};

/* A kernel with the given code and 16 vector registers, 8 of them accumulation registers. */
static uint64_t make_kernel(struct fixture *f, const uint32_t *code, size_t dwords)
{
    uint8_t *p = sim_alloc(&f->sim, 256 + dwords * 4);
    struct descriptor d = {.entry = 256, .rsrc1 = 1 | 0xf0 << 12 | 1 << 21, .rsrc3 = 1};
    memcpy(p, &d, sizeof d);
    memcpy(p + 256, code, dwords * 4);
    return (uint64_t)(uintptr_t)p;
}

static enum rp_run_state run_code(struct fixture *f, const uint32_t *code, size_t dwords)
{
    struct sim_launch l = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
    return sim_run(&f->sim, make_kernel(f, code, dwords), &l);
}

enum { S_ENDPGM = 0xbf810000u };

static void illegal_opcode(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0xbf800000, 0xf0000000, 0, S_ENDPGM}; /* s_nop 0; an image opcode */
    assert_int_equal(run_code(f, code, 4), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_ILLEGAL_OPCODE);
}

/* The descriptor's float mode counts: a denormal number is kept, or flushed and so no trap. */
static void float_mode_of_the_descriptor(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {
        0x7e020281, /* v_mov_b32 v1, 1 */
        0x0a0202f2, /* v_mul_f32 v1, 1.0, v1 */
        0x7d940280, /* v_cmp_eq_u32 vcc, 0, v1 */
        0xbf870001, /* s_cbranch_vccnz 1 */
        0xbf920002, /* s_trap 2 */
        S_ENDPGM,
    };
    struct sim_launch l = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
    uint64_t kernel = make_kernel(f, code, 6);
    assert_int_equal(sim_run(&f->sim, kernel, &l), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_TRAP);
    kernel = make_kernel(f, code, 6);
    ((struct descriptor *)(uintptr_t)kernel)->rsrc1 = 1 | 0xc0 << 12 | 1 << 21;
    assert_int_equal(sim_run(&f->sim, kernel, &l), RP_RUN_DONE);
}

/* Under VSKIP vector instructions do nothing, so one with a register that is not there is fine. */
static void vector_skip(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0xbf1080c1, 0x7e200280,
                             S_ENDPGM}; /* s_setvskip -1, 0; v_mov_b32 v16 */
    assert_int_equal(run_code(f, code, 3), RP_RUN_DONE);
}

static void unimplemented_opcode(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0xd9310000, 0, S_ENDPGM}; /* ds_gws_sema_release_all gds */
    assert_int_equal(run_code(f, code, 3), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_UNIMPLEMENTED);
    assert_contains(f->sim.fault.text, "ds_gws_sema_release_all");
}

/* The instructions before a fault: the last ones, from code that is decoded from its beginning. */
static void listing(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0xbf800000, 0xbf800001, 0xd93a0000, 0, 0xbf800002, S_ENDPGM};
    uint64_t va = make_kernel(f, code, 6) + 256;
    char text[512];
    size_t used = rp_exec_listing(&f->sim.host, va, va + 16, 3, text, sizeof text);
    assert_int_equal(used, strlen(text));
    assert_string_equal(text, "     +0x0004  s_nop 1\n"
                              "     +0x0008  ds_gws_barrier v0\n"
                              "  -> +0x0010  s_nop 2\n");
    assert_int_equal(rp_exec_listing(&f->sim.host, va, va + 12, 3, text, sizeof text), 0);
    assert_int_equal(rp_exec_listing(&f->sim.host, va, va - 4, 3, text, sizeof text), 0);
    assert_int_equal(rp_exec_listing(&f->sim.host, 16, 32, 3, text, sizeof text), 0);
}

/*
 * Point 25: a kernel that wants its arguments in registers gets them behind the pointer to them,
 * and starts behind the 256 bytes that load them where the firmware does not.
 */
static void preloaded_arguments(void **state)
{
    enum { PROLOGUE = 64, S_TRAP_2 = 0xbf920002 };
    static const uint32_t body[] = {
        0x7e040204,             /* v_mov_b32 v2, s4 */
        0x7e060205,             /* v_mov_b32 v3, s5 */
        0x24000083,             /* v_lshlrev_b32 v0, 3, v0 */
        0xdc748000, 0x00020200, /* global_store_dwordx2 v0, v[2:3], s[2:3] */
        S_ENDPGM,
    };
    struct fixture *f = *state;
    uint64_t *out = sim_alloc(&f->sim, 64 * 8);
    uint64_t args[] = {0, (uint64_t)(uintptr_t)out, 0x1122334455667788};
    uint32_t code[PROLOGUE + 6];
    for (unsigned i = 0; i < PROLOGUE; i++)
        code[i] = S_TRAP_2;
    memcpy(code + PROLOGUE, body, sizeof body);
    uint64_t kernel = make_kernel(f, code, PROLOGUE + 6);
    struct descriptor *d = (struct descriptor *)(uintptr_t)kernel;
    d->properties = 1 << 3;  /* kernarg pointer in s[0:1] */
    d->preload = 4 | 2 << 7; /* then four dwords from the third on */
    d->rsrc2 = 6 << 1;       /* user SGPRs */
    struct sim_launch l = {
        .grid = {64, 1, 1}, .block = {64, 1, 1}, .args = args, .args_bytes = sizeof args};
    if (sim_run(&f->sim, kernel, &l) != RP_RUN_DONE)
        fail_msg("%s", f->sim.fault.text);
    for (unsigned i = 0; i < 64; i++)
        assert_true(out[i] == args[2]);
    d->preload = 15; /* more user SGPRs than there are */
    assert_int_equal(sim_run(&f->sim, kernel, &l), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_BAD_DISPATCH);
}

static void register_beyond_allocation(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0x7e200280, S_ENDPGM}; /* v_mov_b32 v16, 0 */
    assert_int_equal(run_code(f, code, 2), RP_RUN_FAULT);
    assert_contains(f->sim.fault.text, "register");
}

/* The vector registers behind accum_offset are the accumulation registers, also under their own
 * numbers. */
static void one_register_file(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {
        0x7e100281,             /* v_mov_b32 v8, 1 */
        0xd3d84001, 0x18000100, /* v_accvgpr_read_b32 v1, a0 */
        0x7d9a0281,             /* v_cmp_ne_u32 vcc, 1, v1 */
        0xbf870004,             /* s_cbranch_vccnz 4 */
        0xd3d94007, 0x18000082, /* v_accvgpr_write_b32 a7, 2 */
        0x7d9a1e82,             /* v_cmp_ne_u32 vcc, 2, v15 */
        0xbf860001,             /* s_cbranch_vccz 1 */
        0xbf920002,             /* s_trap 2 */
        S_ENDPGM,
    };
    assert_int_equal(run_code(f, code, sizeof code / 4), RP_RUN_DONE);
}

static void running_off_the_code(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {0xbf800000}; /* s_nop 0 and nothing behind it */
    assert_int_equal(run_code(f, code, 1), RP_RUN_FAULT);
    assert_true(f->sim.fault.kind == RP_FAULT_MEMORY ||
                f->sim.fault.kind == RP_FAULT_ILLEGAL_OPCODE);
}

static void code_rewritten_in_place(void **state)
{
    struct fixture *f = *state;
    const uint32_t code[] = {S_ENDPGM, S_ENDPGM};
    uint64_t kernel = make_kernel(f, code, 2);
    struct sim_launch l = {.grid = {64, 1, 1}, .block = {64, 1, 1}};
    assert_int_equal(sim_run(&f->sim, kernel, &l), RP_RUN_DONE);
    *(uint32_t *)(uintptr_t)(kernel + 256) = 0xbf920002; /* s_trap 2 */
    assert_int_equal(sim_run(&f->sim, kernel, &l), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_TRAP);
}

/* ---- dispatches hardware refuses ---- */

static void bad_dispatch(struct fixture *f, uint64_t kernel, const struct sim_launch *l,
                         const char *text)
{
    assert_int_equal(sim_run(&f->sim, kernel, l), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_BAD_DISPATCH);
    assert_contains(f->sim.fault.text, text);
}

static void impossible_dispatches(void **state)
{
    struct fixture *f = *state;
    uint64_t kernel = sim_kernel(&f->code, "vadd");
    bad_dispatch(f, kernel, &(struct sim_launch){.grid = {2048}, .block = {1025}}, "1024");
    bad_dispatch(f, kernel,
                 &(struct sim_launch){.grid = {64}, .block = {64}, .dynamic_lds_bytes = 65537},
                 "65536");
    void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rp_launch l = {.kernel_object_va = (uint64_t)(uintptr_t)nothing,
                          .setup_dimensions = 1,
                          .workgroup_size = {64},
                          .grid_size = {64}};
    struct rp_dispatch *d = rp_dispatch_new(&f->sim.host, f->sim.arch, &l);
    assert_non_null(d);
    assert_int_equal(rp_dispatch_run(d, 1), RP_RUN_FAULT);
    assert_int_equal(rp_dispatch_fault(d)->kind, RP_FAULT_BAD_DISPATCH);
    rp_dispatch_free(d);
    munmap(nothing, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* What a launch was, also one that is stopped: so much work whatever cuts it into pieces. */
static uint64_t work_of(struct fixture *f, const char *kernel, const void *args, size_t bytes,
                        bool stopped)
{
    static const uint64_t budgets[] = {0, 1 << 17, 4999};
    uint64_t first = 0, work;
    for (unsigned threads = 1; threads <= 3; threads++) {
        f->sim.budget = budgets[threads - 1];
        rp_exec_set_threads(threads);
        rp_exec_set_help_after(1);
        assert_int_equal(launch(f, kernel, 4, 128, args, bytes),
                         stopped ? RP_RUN_FAULT : RP_RUN_DONE);
        assert_int_equal(rp_bound_last(&work), stopped);
        if (stopped)
            assert_int_equal(f->sim.fault.kind, RP_FAULT_BOUND);
        if (threads == 1)
            first = work;
        assert_int_equal(work, first);
    }
    f->sim.budget = 0;
    return first;
}

/* A loop that data make endless, and waves that wait for what nobody does. */
static void bounded_work(void **state)
{
    struct fixture *f = *state;
    int32_t *in = sim_alloc(&f->sim, 4), *out = sim_alloc(&f->sim, 128 * 4);
    struct {
        void *in, *out;
        int n;
    } args = {in, out, 1000};
    *in = 1;
    const uint64_t some = work_of(f, "volatile_sum", &args, sizeof args, false);
    assert_true(some > f->sim.counts.wave_insts);
    rp_bound_set(some);
    assert_int_equal(work_of(f, "volatile_sum", &args, sizeof args, false), some);
    rp_bound_set(some - 1);
    work_of(f, "volatile_sum", &args, sizeof args, true);
    args.n = 2000000000;
    rp_bound_set(1 << 20);
    assert_in_range(work_of(f, "volatile_sum", &args, sizeof args, true), 1 << 20, 1 << 22);
    *in = 0;
    assert_in_range(work_of(f, "wait_flag", &args, sizeof args, true), 1 << 20, 1 << 22);
    assert_in_range(work_of(f, "sleep_flag", &args, sizeof args, true), 1 << 20, 1 << 22);
    rp_bound_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unmapped_read),
        TEST(null_write),
        TEST(read_only_write),
        TEST(scratch_overflow),
        TEST(unmapped_while_running),
        TEST(trap),
        TEST(illegal_opcode),
        TEST(float_mode_of_the_descriptor),
        TEST(vector_skip),
        TEST(unimplemented_opcode),
        TEST(register_beyond_allocation),
        TEST(one_register_file),
        TEST(running_off_the_code),
        TEST(code_rewritten_in_place),
        TEST(listing),
        TEST(preloaded_arguments),
        TEST(impossible_dispatches),
        TEST(bounded_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
