/* Which dispatches are traced, and who gets the trace. The executor is a stand-in. */
#include "unit/cmocka_all.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/isa/wave_state.h"
#include "fake_exec.h"
#include "test.h"

#include "device/driver/dispatch_results.c"

static const struct rp_threads_request third = {.cu = 3, .engines = 1, .simds = 0xf, .rows = 100};

static void a_wish_is_met_once(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request wish = {0};

    (void)state;
    rp_trace_requests_init(&traced);
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third));
    assert_false(rp_trace_requests_has(&traced, 0x1040, 0x77, &wish)); /* another signal */
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x78, &wish)); /* another kernel */
    assert_int_equal(wish.cu, 0);
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_memory_equal(&wish, &third, sizeof wish);
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    rp_trace_requests_release(&traced);
}

static void wishes_for_one_signal_are_met_in_order(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request first = third, wish;

    (void)state;
    first.cu = 1;
    rp_trace_requests_init(&traced);
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &first));
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third));
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_int_equal(wish.cu, 1);
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_int_equal(wish.cu, 3);
    rp_trace_requests_release(&traced);
}

/* The stand-in's trace: when the dispatch began, and of which compute unit it is. */
static void a_trace_is_taken_by_signal_and_times(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request wish;
    uint64_t *words;
    void *bytes;
    size_t count;

    (void)state;
    rp_trace_requests_init(&traced);
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third)); /* of a later dispatch */
    const unsigned before = fake_exec.watched;
    rp_trace_requests_begin(NULL, NULL, &third); /* the executor is told before it models time */
    assert_int_equal(fake_exec.watched, before + 1);
    rp_trace_requests_keep(&traced, NULL, NULL, &third, 0x1000, 500, 600);
    assert_false(rp_trace_requests_take(&traced, 0x1000, 500, 601, &bytes, &count));
    assert_false(rp_trace_requests_take(&traced, 0x1040, 500, 600, &bytes, &count));
    assert_true(rp_trace_requests_take(&traced, 0x1000, 500, 600, &bytes, &count));
    words = bytes;
    assert_int_equal(count, 2 * sizeof *words);
    assert_int_equal(words[0], 500);
    assert_int_equal(words[1], 3);
    free(bytes);
    assert_false(rp_trace_requests_take(&traced, 0x1000, 500, 600, &bytes, &count));
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    rp_trace_requests_keep(&traced, NULL, NULL, &third, 0x1000, 700, 800); /* nobody takes it */
    rp_trace_requests_release(&traced);
}

/* Kernel names from code objects as the loader leaves them in GPU memory. */

enum { IMAGE_BYTES = 3 * 4096, DESCRIPTOR = 0x1640, OTHER = 0x1680 };

static const uint64_t image_va = 0x7f0000000000ull;

/* A code object's loaded test_image: header, program header, dynamic table, symbols, strings, hash.
 */
struct test_image {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Dyn dynamic[4];
    Elf64_Sym symbols[3];
    uint32_t hash[2];
    char strings[64];
};

static uint8_t memory[IMAGE_BYTES] __attribute__((aligned(4096)));

static void *test_translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    (void)ctx, (void)write;
    if (va < image_va || va + bytes > image_va + IMAGE_BYTES)
        return NULL;
    return memory + (va - image_va);
}

static const struct rp_exec_host test_host = {.translate = test_translate};

static struct test_image *build(void)
{
    struct test_image *test_image = (struct test_image *)memory;
    memset(memory, 0, sizeof memory);
    memcpy(test_image->header.e_ident, ELFMAG, SELFMAG);
    test_image->header.e_machine = EM_AMDGPU;
    test_image->header.e_phoff = offsetof(struct test_image, segment);
    test_image->header.e_phentsize = sizeof(Elf64_Phdr);
    test_image->header.e_phnum = 1;
    test_image->segment.p_type = PT_DYNAMIC;
    test_image->segment.p_vaddr = offsetof(struct test_image, dynamic);
    test_image->segment.p_memsz = sizeof test_image->dynamic;
    test_image->dynamic[0].d_tag = DT_SYMTAB;
    test_image->dynamic[0].d_un.d_ptr = offsetof(struct test_image, symbols);
    test_image->dynamic[1].d_tag = DT_STRTAB;
    test_image->dynamic[1].d_un.d_ptr = offsetof(struct test_image, strings);
    test_image->dynamic[2].d_tag = DT_HASH;
    test_image->dynamic[2].d_un.d_ptr = offsetof(struct test_image, hash);
    test_image->hash[1] = 3;
    memcpy(test_image->strings, "\0_Z4vaddPf.kd\0other", 19);
    test_image->symbols[1] = (Elf64_Sym){.st_name = 1, .st_value = DESCRIPTOR};
    test_image->symbols[2] = (Elf64_Sym){.st_name = 14, .st_value = OTHER};
    return test_image;
}

static void assert_name(uint64_t offset, const char *expected, int rc)
{
    char name[32];
    assert_int_equal(fault_kernel_name(&test_host, image_va + offset, name, sizeof name), rc);
    assert_string_equal(name, expected);
}

static void names(void **state)
{
    (void)state;
    build();
    assert_name(DESCRIPTOR, "_Z4vaddPf", 0);
    assert_name(OTHER, "other", 0);
    assert_name(0x1000, "0x7f0000001000", -ENOENT); /* no symbol there */
}

static void damaged_images(void **state)
{
    (void)state;
    build()->hash[1] = UINT32_MAX; /* more symbols than memory */
    assert_name(0x1000, "0x7f0000001000", -ENOENT);
    build()->symbols[1].st_name = UINT32_MAX;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->header.e_phoff = UINT64_MAX - 8;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->header.e_machine = EM_X86_64;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->dynamic[2].d_tag = DT_NULL;
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    build()->segment.p_memsz = UINT64_MAX; /* the table ends with the memory */
    memset(build()->dynamic, 0x11, sizeof(Elf64_Dyn) * 4);
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
    memset(memory, 0, sizeof memory);
    assert_name(DESCRIPTOR, "0x7f0000001640", -ENOENT);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char name[6];
    build();
    assert_int_equal(fault_kernel_name(&test_host, image_va + DESCRIPTOR, name, sizeof name), 0);
    assert_string_equal(name, "_Z4va");
}

/* Without counters and without a replay, bounds alone are a result; without bounds there is none.
 */
static void bounds_are_results(void **state)
{
    struct rp_counter_results counted;
    struct rp_rec_simulation replay = {0};
    const struct rp_arch *arch = rp_arch_find("gfx942");
    const struct rp_launch launch = {0};
    struct rp_dispatch *d = rp_dispatch_new(NULL, arch, &launch);

    (void)state;
    assert_non_null(d);
    rp_counter_results_init(&counted, NULL);
    rp_counter_results_add(&counted, arch, d, 0x1000, 500, 600);
    assert_false(rp_counter_results_take(&counted, 0x1000, 500, 600, NULL, &replay));
    fake_exec.between_ns[0] = 950;
    fake_exec.between_ns[1] = 7500;
    rp_counter_results_add(&counted, arch, d, 0x1000, 500, 600);
    assert_true(rp_counter_results_take(&counted, 0x1000, 500, 600, NULL, &replay));
    assert_int_equal(replay.replayed_waves, 0);
    assert_true(replay.between_ns[0] == 950 && replay.between_ns[1] == 7500);
    fake_exec.between_ns[1] = 0;
    rp_dispatch_free(d);
    rp_counter_results_release(&counted);
}

/* A number among the names says how many dispatches are counted; the others are not known. */
static void so_many_dispatches_are_counted(void **state)
{
    struct rp_counter_results counted;
    struct rp_rec_simulation replay = {0};
    const struct rp_arch *arch = rp_arch_find("gfx942");
    const struct rp_launch launch = {0};
    struct rp_dispatch *d = rp_dispatch_new(NULL, arch, &launch);
    double value;

    (void)state;
    assert_non_null(d);
    rp_counter_results_init(&counted, "SQ_WAVES,2");
    assert_int_equal(counted.count, 1);
    for (unsigned i = 0; i < 3; i++) {
        rp_counter_results_add(&counted, arch, d, 0x1000, 500, 600);
        assert_true(rp_counter_results_take(&counted, 0x1000, 500, 600, &value, &replay));
        assert_int_equal(isnan(value), i == 2);
    }
    rp_dispatch_free(d);
    rp_counter_results_release(&counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_is_met_once),
        cmocka_unit_test(wishes_for_one_signal_are_met_in_order),
        cmocka_unit_test(a_trace_is_taken_by_signal_and_times),
        cmocka_unit_test(names),
        cmocka_unit_test(damaged_images),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(bounds_are_results),
        cmocka_unit_test(so_many_dispatches_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
