/**
 * @file test_hidden.c
 * @brief Arguments of the runtime that a replay gives, and those that it refuses; what of a code
 * object can be variables.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/replay.h"
#include "replay/replay_code.h"
#include "trace/code_object.h"
#include "unit/cmocka_all.h"

enum { AT = 16, BYTES = 64 };

/* Memory of the capture: 0x1000 to 0x2000. */
static bool is_captured(const void *data, uint64_t address)
{
    (void)data;
    return address >= 0x1000 && address < 0x2000;
}

static int check(const char *kind, uint64_t offset, uint64_t bytes, uint64_t value,
                 struct rp_err *err)
{
    struct rp_code_arg args[2] = {
        {.offset = 0, .bytes = 8, .kind = {"global_buffer", 13}},
        {.offset = offset, .bytes = bytes, .kind = {kind, (uint32_t)strlen(kind)}}};
    const struct rp_code_kernel kernel = {.kernarg_bytes = BYTES, .args = args, .arg_count = 2};
    uint8_t *kernarg = malloc(BYTES); /* ASan watches its end */
    const struct rp_kernarg all = {.bytes = kernarg, .size = BYTES, .is_captured = is_captured};
    int rc;

    memset(kernarg, 0x7b, BYTES); /* pointers of the program mean what they did */
    memcpy(kernarg + AT, &value, sizeof value);
    rc = rp_replay_check_hidden_args(&kernel, &all, err);
    free(kernarg);
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

static void test_host(void **state)
{
    (void)state;
    refused("hidden_hostcall_buffer", 0x1000, "it calls the host");
    refused("hidden_printf_buffer", 0x1000, "hidden_printf_buffer");
    refused("hidden_default_queue", 0x1000, "it launches kernels itself");
    refused("hidden_completion_action", 0x1000, "hidden_completion_action");
    refused("hidden_queue_ptr", 0x1000, "it uses its queue");
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
    enum { MOST = 0x6000, PAGE = 0x1000 };
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
    assert_int_equal(rp_replay_find_segments(&k, elf, bytes, limit, &err), 0);
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
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_host),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
