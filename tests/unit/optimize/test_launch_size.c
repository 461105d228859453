/* Which constants of a file decide the size of workgroups, and what is proposed with them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/kernel_facts.h"
#include "optimize/launch_size.h"
#include "optimize/propose.h"

#include "unit/optimize/sources.h"

extern const struct rp_proposer rp_proposer_textbook;

/* What launches need of HIP's headers, and the kernel that is looked at. */
#define HEAD                                                                                       \
    "#include \"hip_small.h\"\n"                                                                   \
    "#define __host__ __attribute__((host))\n"                                                     \
    "struct dim3 { unsigned x, y, z;\n"                                                            \
    "    __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)\n"     \
    "        : x(a), y(b), z(c) {} };\n"                                                           \
    "extern \"C\" int hipConfigureCall(dim3, dim3, unsigned long = 0, void * = nullptr);\n"        \
    "extern \"C\" unsigned __hipPushCallConfiguration(dim3, dim3, unsigned long = 0,\n"            \
    "                                                 void * = nullptr);\n"                        \
    "#define hipLaunchKernelGGL(k, grid, block, lds, stream, ...)                                " \
    "  \\\n"                                                                                       \
    "    k<<<grid, block, lds, stream>>>(__VA_ARGS__)\n"
#define KERNEL "__global__ void k(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }\n"

static struct rp_compile_command *command;
static struct rp_kernel_source *source;

static void read_text(const char *text)
{
    rp_autofree char *path = scratch_put("k.hip", text);
    struct rp_err err = RP_ERR_INIT;

    rp_kernel_source_free(source);
    rp_compile_command_free(command);
    command = sources_command("hipcc -nogpuinc -O3 {source}", path);
    source = sources_kernel(command, path, "_Z1kPfi");
    if (rp_launch_constants_find(command, "gfx942", source, &err) < 0)
        fail_msg("%s", err.text);
}

static int tear_down(void **state)
{
    rp_kernel_source_free(source);
    rp_compile_command_free(command);
    return scratch_end(state);
}

static void forms_that_are_found(void **state)
{
    static const struct {
        const char *before, *behind, *name;
        unsigned value;
        bool in_grid;
    } rows[] = {
        {"enum { OTHER = 3, BLOCK = 64 };\n", "{ k<<<n / BLOCK, BLOCK>>>(a, n); }", "BLOCK", 64,
         true},
        {"constexpr int BLOCK = 32;\n", "{ k<<<8, BLOCK>>>(a, n); }", "BLOCK", 32, false},
        {"static const unsigned BLOCK{128u};\n", "{ k<<<8, dim3(BLOCK)>>>(a, n); }", "BLOCK", 128,
         false},
        {"#define BLOCK 64 // work-items\n",
         "{ k<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, 0>>>(a, n); }", "BLOCK", 64, true},
        {"enum { ROWS = 4 };\n",
         "{ const dim3 threads(16, ROWS); k<<<n / ROWS, threads>>>(a, n); }", "ROWS", 4, true},
        {"", "{ const int block = 64, blocks = n / block; k<<<blocks, block>>>(a, n); }", "block",
         64, true},
        {"const int BLOCK = 64;\n",
         "{ hipLaunchKernelGGL(k, dim3(n / BLOCK), dim3(BLOCK), 0, 0, a, n); }", "BLOCK", 64, true},
        {"const int BLOCK = 64;\n", "{ hipLaunchKernelGGL(k, dim3(8), dim3(BLOCK), 0, 0, a, n); }",
         "BLOCK", 64, false},
        /* Another constant may follow from it. */
        {"enum { HALF = 32, BLOCK = 2 * HALF };\n", "{ k<<<8, BLOCK>>>(a, n); }", "HALF", 32,
         false},
        /* Only what the compiler takes counts. */
        {"#ifdef FIXED\nenum { BLOCK = 256 };\n#else\nenum { BLOCK = 16 };\n#endif\n",
         "{ k<<<8, BLOCK>>>(a, n); }", "BLOCK", 16, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *text = rp_format(HEAD "%s" KERNEL "void launch(float *a, int n)\n%s\n",
                                           rows[i].before, rows[i].behind);

        read_text(text);
        if (source->constant_count != 1)
            fail_msg("%zu constants in: %s%s", source->constant_count, rows[i].before,
                     rows[i].behind);
        assert_string_equal(source->constants[0].name, rows[i].name);
        assert_int_equal(source->constants[0].value, rows[i].value);
        assert_int_equal(source->constants[0].in_grid, rows[i].in_grid);
    }
}

static void forms_that_are_not(void **state)
{
    static const struct {
        const char *before, *behind;
    } rows[] = {
        {"enum { BLOCK = 64 };\n", "{ k<<<8, 64>>>(a, BLOCK); }"}, /* it is no size */
        {"int block = 64;\n", "{ k<<<8, block>>>(a, n); }"},       /* it may become another one */
        {"const float BLOCK = 64;\n", "{ k<<<8, (int)BLOCK>>>(a, n); }"},
        {"enum class Size { BLOCK = 64 };\n", "{ k<<<8, (int)Size::BLOCK>>>(a, n); }"},
        {"enum { BLOCK = 0x40 };\n", "{ k<<<8, BLOCK>>>(a, n); }"},
        {"enum { BLOCK = 2048 };\n", "{ k<<<8, BLOCK>>>(a, n); }"},
        /* Another branch would be taken. */
        {"#define BLOCK 64\n#if BLOCK > 64\n#error\n#endif\n", "{ k<<<8, BLOCK>>>(a, n); }"},
        /* Which of both is meant? */
        {"const int BLOCK = 64;\nnamespace b { const int BLOCK = 32; }\n",
         "{ k<<<8, BLOCK>>>(a, n); }"},
        /* The launch is another kernel's. */
        {"enum { BLOCK = 64 };\n__global__ void other(float *) {}\n",
         "{ other<<<8, BLOCK>>>(a); }"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *text = rp_format(HEAD "%s" KERNEL "void launch(float *a, int n)\n%s\n",
                                           rows[i].before, rows[i].behind);

        read_text(text);
        if (source->constant_count)
            fail_msg("%s in: %s%s", source->constants[0].name, rows[i].before, rows[i].behind);
    }
}

static const char planted[] = HEAD "enum { LANES = 16, SIDE = 8 };\n"
                                   "#define ROWS 1u\n" KERNEL "void launch(float *a, int n)\n"
                                   "{\n"
                                   "    const dim3 threads(LANES, ROWS);\n"
                                   "    k<<<n / ROWS, threads>>>(a, SIDE);\n"
                                   "}\n";

static void the_whole_file_changes_in_one_number(void **state)
{
    struct rp_launch_size change;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *made = NULL;
    rp_autofree char *more = NULL;

    (void)state;
    read_text(planted);
    assert_int_equal(source->constant_count, 2);
    assert_string_equal(source->constants[0].name, "ROWS"); /* the grid depends on it */
    assert_string_equal(source->constants[1].name, "LANES");
    made = rp_launch_size_text(source, &source->constants[0], 16);
    assert_non_null(strstr(made, "#define ROWS 16u\n"));
    assert_int_equal(strlen(made), strlen(planted) + 1);
    assert_int_equal(rp_launch_size_check(source, made, strlen(made), &change, &err), 0);
    assert_string_equal(change.constant->name, "ROWS");
    assert_int_equal(change.value, 16);
    /* Anything else beside it is refused, as is the file as it was. */
    more = rp_format("%s ", made);
    assert_int_equal(rp_launch_size_check(source, more, strlen(more), &change, &err), -RP_VERDICT);
    assert_int_equal(rp_launch_size_check(source, planted, strlen(planted), &change, &err),
                     -RP_VERDICT);
    strstr(made, "SIDE = 8")[7] = '9';
    assert_int_equal(rp_launch_size_check(source, made, strlen(made), &change, &err), -RP_VERDICT);
}

/** Asks the textbook again and again; all end as the outcome says. Returns the titles. */
static void check_titles(const char *cause, const char *limiter, unsigned largest,
                         const char *outcome, const char *const *titles)
{
    struct rp_kernel_facts facts = {.cause = (char *)(uintptr_t)cause,
                                    .limiter = (char *)(uintptr_t)limiter};
    struct rp_proposal made[8] = {0};
    struct rp_attempt attempts[8] = {0};
    struct rp_proposer_input input = {
        .source = source, .facts = &facts, .attempts = attempts, .largest_workgroup = largest};
    struct rp_err err = RP_ERR_INIT;
    size_t sizes = 0, count = 0;

    while (count < 8 && rp_proposer_textbook.propose(NULL, &input, &made[count], &err) == 1) {
        const struct rp_proposal *one = &made[count];

        if (one->workgroup) {
            if (!titles[sizes])
                fail_msg("also %s", one->title);
            assert_string_equal(one->title, titles[sizes++]);
        }
        attempts[count++] = (struct rp_attempt){.kernel_text = one->kernel_text,
                                                .workgroup = one->workgroup,
                                                .outcome = one->workgroup ? outcome : "equal"};
        input.attempt_count = count;
    }
    if (titles[sizes])
        fail_msg("not %s", titles[sizes]);
    while (count)
        rp_proposal_free(&made[--count]);
}

static void sizes_are_proposed_for_what_limits_the_kernel(void **state)
{
    static const char *const all[] = {
        "workgroups of 256 work-items in place of 16 (ROWS 16 in place of 1)",
        "workgroups of 128 work-items in place of 16 (ROWS 8 in place of 1)",
        "workgroups of 512 work-items in place of 16 (ROWS 32 in place of 1)",
        "workgroups of 1024 work-items in place of 16 (ROWS 64 in place of 1)", NULL};
    /* What another value of a constant breaks is not tried with further ones. */
    static const char *const each[] = {
        "workgroups of 256 work-items in place of 16 (ROWS 16 in place of 1)",
        "workgroups of 256 work-items in place of 16 (LANES 256 in place of 16)", NULL};
    static const char *const larger[] = {
        "workgroups of 256 work-items in place of 64 (ROWS 4 in place of 1)", NULL};

    (void)state;
    read_text(planted);
    check_titles("low_occupancy", "none", 16, "equal", all);
    check_titles("divergence", "none", 16, "slower", all);
    check_titles("low_occupancy", "none", 16, "wrong", each);
    check_titles("low_occupancy", "none", 64, "faster", larger);
    check_titles("low_occupancy", "none", 256, "equal", (const char *const[]){NULL});
    check_titles("divergence", "none", 64, "equal", (const char *const[]){NULL});
    check_titles("memory_latency", "none", 16, "equal", (const char *const[]){NULL});
    check_titles("low_occupancy", "none", 0, "equal", (const char *const[]){NULL});
}

static void a_constant_may_stand_in_the_size_more_than_once(void **state)
{
    static const struct {
        const char *launch, *first; /**< with 8: first title for largest workgroups of so many */
        unsigned times, largest;
    } rows[] = {
        {"{ k<<<n, dim3(B, B)>>>(a, n); }",
         "workgroups of 256 work-items in place of 64 (B 16 in place of 8)", 2, 64},
        {"{ const dim3 t(B, 2 * B); k<<<n, t>>>(a, n); }",
         "workgroups of 512 work-items in place of 128 (B 16 in place of 8)", 2, 128},
        {"{ const int side = B; k<<<n, dim3(side, side, side)>>>(a, n); }",
         "workgroups of 64 work-items in place of 512 (B 4 in place of 8)", 3, 512},
        {"{ k<<<n, B>>>(a, n); k<<<n, B * B>>>(a, n); }",
         "workgroups of 256 work-items in place of 64 (B 16 in place of 8)", 2, 64},
        {"{ const int b = B; { const dim3 t(b); k<<<n, t>>>(a, n); } }\n"
         "void more(float *a, int n) { const dim3 t(B); k<<<n, t>>>(a, n); }",
         "workgroups of 256 work-items in place of 8 (B 256 in place of 8)", 1, 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *text = rp_format(
            HEAD "enum { B = 8 };\n" KERNEL "void launch(float *a, int n)\n%s\n", rows[i].launch);
        struct rp_kernel_facts facts = {.limiter = (char *)(uintptr_t) "lds"};
        struct rp_proposer_input input = {.facts = &facts, .largest_workgroup = rows[i].largest};
        struct rp_proposal made = {0};

        read_text(text);
        assert_int_equal(source->constant_count, 1);
        assert_int_equal(source->constants[0].times, rows[i].times);
        input.source = source;
        assert_int_equal(rp_launch_size_propose(&input, false, &made), 1);
        assert_string_equal(made.title, rows[i].first);
        rp_proposal_free(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_that_are_found),
        cmocka_unit_test(forms_that_are_not),
        cmocka_unit_test(the_whole_file_changes_in_one_number),
        cmocka_unit_test(sizes_are_proposed_for_what_limits_the_kernel),
        cmocka_unit_test(a_constant_may_stand_in_the_size_more_than_once),
    };

    return cmocka_run_group_tests(tests, sources_begin, tear_down);
}
