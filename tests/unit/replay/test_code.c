/**
 * @file test_code.c
 * @brief Which kernels may take the place of the captured one, and what they would want of another
 * process.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/replay.h"
#include "trace/code_object.h"
#include "unit/cmocka_all.h"

#include "replay/replay_code.c"

/* --- gate ------------------------------------------------------------------------------------ */

/* What may take the place of a captured kernel: each difference by itself.
/ */

#define TEXT(s) ((struct rp_code_text){.at = (s), .bytes = sizeof(s) - 1})

static struct rp_code_arg args_of[2][4];

static struct rp_code_kernel kernel(unsigned which)
{
    const struct rp_code_arg args[4] = {
        {.offset = 0, .bytes = 8, .kind = TEXT("global_buffer"), .space = TEXT("global")},
        {.offset = 8, .bytes = 4, .kind = TEXT("by_value")},
        {.offset = 16, .bytes = 4, .kind = TEXT("hidden_block_count_x")},
        {.offset = 28, .bytes = 2, .kind = TEXT("hidden_group_size_x")},
    };

    memcpy(args_of[which], args, sizeof args);
    return (struct rp_code_kernel){.target = TEXT("amdgcn-amd-amdhsa--gfx942:sramecc+"),
                                   .kernarg_bytes = 272,
                                   .group_bytes = 1024,
                                   .private_bytes = 16,
                                   .wave_size = 64,
                                   .max_workgroup = 1024,
                                   .vgprs = 100,
                                   .sgprs = 30,
                                   .args = args_of[which],
                                   .arg_count = 4};
}

static struct rp_abi_dispatch dispatch(void)
{
    return (struct rp_abi_dispatch){.gpu = "gfx942",
                                    .workgroup = {256, 2, 2},
                                    .grid = {1000, 2, 2},
                                    .group_bytes = 5120,
                                    .dynamic_group_bytes = 4096,
                                    .kernarg_bytes = 272};
}

static void wants(const struct rp_code_kernel *candidate, const struct rp_abi_dispatch *d,
                  const char *refusal)
{
    const struct rp_code_kernel original = kernel(0);
    struct rp_err err = RP_ERR_INIT;
    const int rc = abi_check(&original, candidate, d, &err);

    if (refusal && !strstr(err.text, refusal))
        print_error("'%s' instead of '%s'\n", err.text, refusal);
    assert_int_equal(rc, refusal ? -RP_VERDICT : 0);
    assert_true(!refusal || strstr(err.text, refusal));
}

#define WITH(change, refusal)                                                                      \
    do {                                                                                           \
        struct rp_code_kernel c = kernel(1);                                                       \
        struct rp_abi_dispatch d = dispatch();                                                     \
        change;                                                                                    \
        wants(&c, &d, refusal);                                                                    \
    } while (0)

static void test_arguments(void **state)
{
    (void)state;
    WITH((void)0, NULL);
    WITH(c.arg_count = 2, NULL); /* hidden ones that it does not use */
    WITH(c.arg_count = 1, "it takes 1 arguments, the captured one 2");
    WITH(c.args[2].kind = TEXT("by_value"), "it takes 3 arguments");
    WITH(c.args[0].offset = 8, "its argument 1 is at offset 8, that of the captured one at 0");
    WITH(c.args[1].bytes = 8, "its argument 2 has 8 bytes, that of the captured one 4");
    WITH(c.args[0].kind = TEXT("by_value"), "its argument 1 is by_value");
    WITH(c.args[0].space = TEXT("local"), "address space 'local'");
    WITH(c.args[3].offset = 29, "it takes hidden_group_size_x of the runtime");
    WITH(c.args[3].offset = 30, NULL); /* it is 256 wherever it stands */
    WITH(c.args[3].kind = TEXT("hidden_heap_v1"), "it uses malloc() on the device, which the");
    WITH(c.args[3].kind = TEXT("hidden_new_thing"), "it takes hidden_new_thing of the runtime");
    WITH(c.kernarg_bytes = 280, NULL);
    WITH(c.kernarg_bytes = 785, "it takes 785 bytes of arguments, 272 are in the capture");
    WITH(c.kernarg_bytes = 12, NULL);
}

/* As LLVM's AMDGPU user guide has them: whole workgroups, and the size of a partial one. */
static void test_numbers_of_launch(void **state)
{
    struct rp_code_arg args[] = {
        {.offset = 0, .bytes = 8, .kind = TEXT("global_buffer"), .space = TEXT("global")},
        {.offset = 16, .bytes = 4, .kind = TEXT("hidden_block_count_x")},
        {.offset = 20, .bytes = 2, .kind = TEXT("hidden_group_size_y")},
        {.offset = 22, .bytes = 2, .kind = TEXT("hidden_remainder_x")},
        {.offset = 24, .bytes = 8, .kind = TEXT("hidden_global_offset_z")},
        {.offset = 32, .bytes = 2, .kind = TEXT("hidden_grid_dims")},
        {.offset = 36, .bytes = 4, .kind = TEXT("hidden_dynamic_lds_size")},
        {.offset = 0, .bytes = 4, .kind = TEXT("hidden_block_count_y")}}; /* in the pointer */
    const struct rp_code_kernel original = {.args = args, .arg_count = 1},
                                candidate = {.args = args, .arg_count = 8, .kernarg_bytes = 40};
    struct rp_abi_dispatch d = dispatch();
    struct file kernarg = {.bytes = rp_alloc(8), .size = 8};
    uint8_t expected[40] = {0x77,
                            0x77,
                            0x77,
                            0x77,
                            0x77,
                            0x77,
                            0x77,
                            0x77,
                            [16] = 3,
                            [20] = 2,
                            [22] = 1000 - 768,
                            [32] = 3,
                            [36] = 0,
                            16};

    (void)state;
    memset(kernarg.bytes, 0x77, 8);
    d.dimensions = 3;
    d.dynamic_group_bytes = 4096;
    add_numbers_of_launch(&original, &candidate, &d, &kernarg);
    assert_int_equal(kernarg.size, sizeof expected);
    assert_memory_equal(kernarg.bytes, expected, sizeof expected);
    free(kernarg.bytes);
}

/* The limits of gfx942: 64 KiB of LDS; 1024 work-items are 4 waves on each SIMD, with 512
 * registers; 8191 KiB of scratch for a wave. 4096 bytes of LDS are added by the launch. */
static void test_resources(void **state)
{
    (void)state;
    WITH(c.group_bytes = 61440, NULL);
    WITH(c.group_bytes = 61441, "it needs 65537 bytes of LDS");
    WITH(c.vgprs = 128, NULL);
    WITH(c.vgprs = 129, "it needs 129 vector registers");
    WITH(c.vgprs = 256; d.workgroup[1] = 1; d.grid[1] = 1, NULL);
    WITH(c.vgprs = 257; d.workgroup[1] = 1; d.grid[1] = 1, "can have 256");
    WITH(c.vgprs = 512; d.workgroup[1] = d.workgroup[2] = 1, NULL);
    WITH(c.agprs = 129, "accumulation registers");
    WITH(c.sgprs = 112, NULL);
    WITH(c.sgprs = 113, "scalar registers");
    WITH(c.private_bytes = 131056, NULL);
    WITH(c.private_bytes = 131057, "scratch memory");
    WITH(c.dynamic_stack = true, "its stack");
    WITH(d.gpu = "gfx9999", NULL);
    WITH(d.gpu = "gfx9999"; c.vgprs = 101, "it needs 101 vector registers");
}

static void test_workgroups(void **state)
{
    (void)state;
    WITH(c.max_workgroup = 1023, "at most 1023 work-items, the captured ones have 1024");
    /* The captured kernel, too, declares fewer than it was launched with. */
    WITH(d.workgroup[0] = 512; c.vgprs = 64, NULL);
    WITH(d.workgroup[0] = 512; c.vgprs = 64; c.max_workgroup = 1023, "at most 1023 work-items");
    WITH(memcpy(c.required_workgroup, ((uint64_t[]){256, 2, 2}), 24), NULL);
    WITH(memcpy(c.required_workgroup, ((uint64_t[]){256, 4, 1}), 24), "workgroups of 256x4x1");
    WITH(c.uniform_workgroups = true, "grids of whole workgroups");
    WITH(c.uniform_workgroups = true; d.grid[0] = 1024, NULL);
}

static void test_targets(void **state)
{
    (void)state;
    WITH(c.target = TEXT("amdgcn-amd-amdhsa--gfx942"), NULL);
    WITH(c.target = TEXT("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"), NULL);
    WITH(c.target = TEXT("amdgcn-amd-amdhsa--gfx942:sramecc-"), "sramecc-, the captured one for");
    WITH(c.target = TEXT("amdgcn-amd-amdhsa--gfx90a"), "gfx90a");
    WITH(c.target = TEXT("amdgcn-amd-amdhsa--gfx94"), "gfx94");
    WITH(c.wave_size = 32, "32 lanes");
}

static void test_bundles(void **state)
{
    struct {
        char magic[24];
        uint64_t count, entry[3];
        char name[32], code[8];
    } __attribute__((packed)) b = {.count = 1,
                                   .entry = {88, 8, 32},
                                   .name = "hipv4-amdgcn-amd-amdhsa--gfx942:",
                                   .code = "\x7f"
                                           "ELFxyz"};
    struct rp_err err = RP_ERR_INIT;
    const uint8_t *code = NULL;
    size_t bytes = 0;

    (void)state;
    memcpy(b.magic, "__CLANG_OFFLOAD_BUNDLE__", 24);
    assert_int_equal(rp_bundle_find((void *)&b, sizeof b, "gfx942", &code, &bytes, &err), 0);
    assert_ptr_equal(code, b.code);
    assert_int_equal(bytes, 8);
    assert_int_equal(rp_bundle_find((void *)&b, sizeof b, "gfx94", &code, &bytes, &err),
                     -RP_VERDICT);
    for (size_t cut = 24; cut < sizeof b; cut++) { /* as exact copies: ASan watches their ends */
        uint8_t *copy = malloc(cut);
        int rc;

        memcpy(copy, &b, cut);
        rc = rp_bundle_find(copy, cut, "gfx942", &code, &bytes, &err);
        assert_int_equal(rc, cut < 32 ? 0 : -RP_BAD_INPUT);
        free(copy);
    }
    assert_int_equal(rp_bundle_find((void *)b.code, 8, "gfx942", &code, &bytes, &err), 0);
    assert_ptr_equal(code, b.code);
}

/* --- hidden ---------------------------------------------------------------------------------- */

/* Arguments of the runtime that a replay gives, and those that it refuses; what of a code
object can be variables.
/ */

enum { AT = 16, BYTES = 64 };

/* Memory of the capture: 0x1000 to 0x2000. */
static bool hidden_is_captured(const void *data, uint64_t address)
{
    (void)data;
    return address >= 0x1000 && address < 0x2000;
}

static struct rp_host_args host;

static int check_all(const char *kind, uint64_t offset, uint64_t bytes, uint64_t *value,
                     struct rp_err *err)
{
    struct rp_code_arg args[2] = {
        {.offset = 0, .bytes = 8, .kind = {"global_buffer", 13}},
        {.offset = offset, .bytes = bytes, .kind = {kind, (uint32_t)strlen(kind)}}};
    const struct rp_code_kernel kernel = {.kernarg_bytes = BYTES, .args = args, .arg_count = 2};
    uint8_t *kernarg = malloc(BYTES); /* ASan watches its end */
    const struct rp_kernarg all = {
        .bytes = kernarg, .size = BYTES, .host = &host, .is_captured = hidden_is_captured};
    int rc;

    memset(kernarg, 0x7b, BYTES); /* pointers of the program mean what they did */
    memcpy(kernarg + AT, value, sizeof *value);
    rc = replay_check_hidden_args(&kernel, &all, err);
    memcpy(value, kernarg + AT, sizeof *value);
    free(kernarg);
    return rc;
}

static int check(const char *kind, uint64_t offset, uint64_t bytes, uint64_t value,
                 struct rp_err *err)
{
    const uint64_t before = value;
    const int rc = check_all(kind, offset, bytes, &value, err);

    assert_int_equal(value, before);
    return rc;
}

static void refused(const char *kind, uint64_t value, const char *why)
{
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(check(kind, AT, 8, value, &err), -RP_VERDICT);
    assert_non_null(strstr(err.text, why));
    assert_int_equal(check(kind, AT, 8, 0, &err), 0);
}

static void test_numbers(void **state)
{
    static const char *const kinds[] = {
        "hidden_global_offset_x",  "hidden_block_count_y", "hidden_grid_dims",
        "hidden_dynamic_lds_size", "hidden_none",          "by_value"};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(check(kinds[i], AT, 8, 3, &err), 0);
    assert_int_equal(check("hidden_remainder_z", BYTES - 2, 2, 0, &err), 0);
}

/* It gets an address of its own where nothing is, once, and none if it had none. */
static void gets_own_address(const char *kind, const char *why)
{
    struct rp_err err = RP_ERR_INIT;
    const size_t index = host.count;
    uint64_t value = 0x1000, again;

    assert_int_equal(check_all(kind, AT, 8, &value, &err), 0);
    assert_int_equal(host.count, index + 1);
    assert_string_equal(host.at[index].kind, kind);
    assert_non_null(strstr(host.at[index].why, why));
    for (size_t off = 0; off < RP_HOST_ARG_BYTES; off += RP_HOST_ARG_BYTES - 1)
        assert_int_equal(rp_host_args_find(&host, value + off), index + 1);
    assert_int_equal(rp_host_args_find(&host, value + RP_HOST_ARG_BYTES), 0);
    again = value;
    assert_int_equal(check_all(kind, AT, 8, &again, &err), 0); /* of a candidate */
    assert_int_equal(again, value);
    assert_int_equal(host.count, index + 1);
    assert_int_equal(check(kind, AT, 8, 0, &err), 0);
}

static void test_host(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    uint64_t value = 0x1000;

    (void)state;
    assert_int_equal(rp_host_args_find(&host, 0), 0);
    gets_own_address("hidden_hostcall_buffer", "it calls the host");
    gets_own_address("hidden_printf_buffer", "it prints through the host");
    gets_own_address("hidden_default_queue", "it launches kernels itself");
    gets_own_address("hidden_completion_action", "it launches kernels itself");
    gets_own_address("hidden_queue_ptr", "it uses its queue");
    for (; host.count < RP_HOST_ARGS; value = 0x1000)
        assert_int_equal(check_all("hidden_queue_ptr", AT, 8, &value, &err), 0);
    assert_int_equal(check_all("hidden_queue_ptr", AT, 8, &value, &err), -RP_BAD_INPUT);
    assert_int_equal(check_all("hidden_queue_ptr", AT, 4, &value, &err), -RP_BAD_INPUT);
    refused("hidden_of_next_year", 1, "what its hidden_of_next_year means");
}

static void test_memory(void **state)
{
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(check("hidden_heap_v1", AT, 8, 0x1000, &err), 0);
    assert_int_equal(check("hidden_multigrid_sync_arg", AT, 8, 0x1fff, &err), 0);
    refused("hidden_heap_v1", 0x2000, "hidden_heap_v1 points to 0x2000, which is not in");
    refused("hidden_multigrid_sync_arg", 0xfff, "points to 0xfff");
}

static void test_damaged(void **state)
{
    const uint64_t offsets[] = {BYTES - 7, BYTES, BYTES + 1, UINT64_MAX, UINT64_MAX - 7};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        assert_int_equal(check("hidden_hostcall_buffer", offsets[i], 8, 0, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "behind the end"));
    }
    assert_int_equal(check("hidden_queue_ptr", AT, UINT64_MAX, 0, &err), -RP_BAD_INPUT);
}

/* --- segments ------------------------------------------------------------------------------ */

/* Each byte from the first segment to the end of the last page is variable or fixed, none both. */
static void all_covered(const struct rp_replay_kernel *k, const Elf64_Phdr *programs, size_t count)
{
    enum { MOST = 0x6000 };
    uint8_t times[MOST] = {0};
    uint64_t from = MOST, end = 0;

    for (size_t i = 0; i < count; i++)
        if (programs[i].p_type == PT_LOAD) {
            const uint64_t last = programs[i].p_vaddr + programs[i].p_memsz;

            from = programs[i].p_vaddr < from ? programs[i].p_vaddr : from;
            end = last > end ? last : end;
        }
    end = (end + PAGE - 1) / PAGE * PAGE;
    for (size_t i = 0; i < k->segment_count; i++)
        for (uint64_t b = 0; b < k->segments[i].bytes; b++)
            times[k->segments[i].from + b]++;
    for (size_t i = 0; i < k->fixed_count; i++)
        for (uint64_t b = 0; b < k->fixed[i].bytes; b++)
            times[k->fixed[i].from + b]++;
    for (uint64_t at = 0; at < MOST; at++)
        assert_int_equal(times[at], at >= from && at < end);
}

static void spans(const Elf64_Phdr *programs, size_t count, uint64_t limit,
                  const uint64_t *expected, size_t expected_count)
{
    const Elf64_Ehdr header = {.e_ident = ELFMAG,
                               .e_phoff = sizeof header,
                               .e_phentsize = sizeof *programs,
                               .e_phnum = (Elf64_Half)count};
    const size_t bytes = sizeof header + count * sizeof *programs;
    uint8_t *elf = malloc(bytes);
    struct rp_replay_kernel k = {0};
    struct rp_err err = RP_ERR_INIT;

    memcpy(elf, &header, sizeof header);
    memcpy(elf + sizeof header, programs, count * sizeof *programs);
    assert_int_equal(replay_find_segments(&k, elf, bytes, limit, &err), 0);
    assert_int_equal(k.segment_count, expected_count);
    for (size_t i = 0; i < expected_count; i++) {
        assert_int_equal(k.segments[i].from, expected[2 * i]);
        assert_int_equal(k.segments[i].captured, expected[2 * i]);
        assert_int_equal(k.segments[i].from + k.segments[i].bytes, expected[2 * i + 1]);
    }
    all_covered(&k, programs, count);
    free(k.segments);
    free(k.fixed);
    free(elf);
}

#define SPANS(programs, limit, ...)                                                                \
    spans(programs, sizeof(programs) / sizeof *(programs), limit, (const uint64_t[]){__VA_ARGS__}, \
          sizeof((const uint64_t[]){__VA_ARGS__}) / 16)

static Elf64_Phdr part(Elf64_Word type, Elf64_Word flags, uint64_t from, uint64_t end)
{
    return (Elf64_Phdr){.p_type = type, .p_flags = flags, .p_vaddr = from, .p_memsz = end - from};
}

/* Code and what the loader fills with addresses are left out, wherever in a segment the latter
 * lies. */
static void test_segments(void **state)
{
    const Elf64_Phdr plain[] = {part(PT_LOAD, PF_R, 0, 0x800),
                                part(PT_LOAD, PF_R | PF_X, 0x1000, 0x2000),
                                part(PT_LOAD, PF_R | PF_W, 0x3000, 0x3100)};
    const Elf64_Phdr at_begin[] = {part(PT_LOAD, PF_R | PF_W, 0x3000, 0x5000),
                                   part(PT_GNU_RELRO, PF_R, 0x3000, 0x4000)};
    const Elf64_Phdr inside[] = {part(PT_GNU_RELRO, PF_R, 0x3800, 0x4000),
                                 part(PT_LOAD, PF_R | PF_W, 0x3000, 0x5000)};
    const Elf64_Phdr at_end[] = {part(PT_GNU_RELRO, PF_R, 0x3800, 0x5000),
                                 part(PT_LOAD, PF_R | PF_W, 0x3000, 0x5000)};
    const Elf64_Phdr all[] = {part(PT_GNU_RELRO, PF_R, 0x2000, 0x6000),
                              part(PT_LOAD, PF_R | PF_W, 0x3000, 0x5000)};

    (void)state;
    SPANS(plain, UINT64_MAX, 0, 0x800, 0x3000, 0x3100);
    SPANS(plain, 0x3080, 0, 0x800, 0x3000, 0x3080);
    SPANS(plain, 0x400, 0, 0x400);
    SPANS(at_begin, UINT64_MAX, 0x4000, 0x5000);
    SPANS(inside, UINT64_MAX, 0x3000, 0x3800, 0x4000, 0x5000);
    SPANS(inside, 0x3400, 0x3000, 0x3400);
    SPANS(inside, 0x4800, 0x3000, 0x3800, 0x4000, 0x4800);
    SPANS(at_end, UINT64_MAX, 0x3000, 0x3800);
    spans(all, 2, UINT64_MAX, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_numbers_of_launch),
        cmocka_unit_test(test_resources), cmocka_unit_test(test_workgroups),
        cmocka_unit_test(test_targets),   cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_host),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_segments)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
