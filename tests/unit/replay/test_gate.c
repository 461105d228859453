/**
 * @file test_gate.c
 * @brief What may take the place of a captured kernel: each difference by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/replay_code.h"
#include "trace/code_object.h"
#include "unit/cmocka_all.h"

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
                                    .kernarg_bytes = 272};
}

static void wants(const struct rp_code_kernel *candidate, const struct rp_abi_dispatch *d,
                  const char *refusal)
{
    const struct rp_code_kernel original = kernel(0);
    struct rp_err err = RP_ERR_INIT;
    const int rc = rp_abi_check(&original, candidate, d, &err);

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
    WITH(c.args[3].offset = 30, "it takes hidden_group_size_x at offset 30");
    WITH(c.args[3].kind = TEXT("hidden_heap_v1"), "it takes hidden_heap_v1 at offset 28");
    WITH(c.kernarg_bytes = 280, "it takes 280 bytes of arguments, 272 are in the capture");
    WITH(c.kernarg_bytes = 12, NULL);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_resources),
        cmocka_unit_test(test_workgroups), cmocka_unit_test(test_targets),
        cmocka_unit_test(test_bundles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
