/* What the proposer textbook changes, from text to text, and what it leaves alone. */
#include "base/buf.h"
#include "optimize/propose.h"

#include "unit/optimize/sources.h"

#include "optimize/textbook_proposer.c"

static const char text[] =
    "#include \"hip_small.h\"\n"
    "#define PAIR(x) x[4][4]\n"
    "constexpr int SIDE = 32;\n"
    "__device__ float first_of(const float *row) { return row[0]; }\n"
    "__global__ void rows(float *a, int n)\n"
    "{\n"
    "    __shared__ float tile[SIDE][SIDE], two[2][SIDE * 2];\n"
    "    __shared__ double cube[2][4][ 8 ];\n"
    "    __shared__ float odd[SIDE][33];\n"
    "    __shared__ float flat[SIDE * SIDE];\n"
    "    __shared__ float passed[4][SIDE], pointed[4][SIDE], PAIR(macro);\n"
    "    float own[4][4] = {};\n"
    "    int i = threadIdx.x;\n"
    "    tile[i][0] = two[0][i] = a[i];\n"
    "    (cube[0])[1][i] += tile[0][i] + odd[0][i] + flat[i] + own[0][0];\n"
    "    a[i] = first_of(passed[0]) + *(&pointed[0][0] + i) + macro[0][0] + n;\n"
    "}\n";

static struct rp_compile_command *command;
static struct rp_kernel_source *source;

static int set_up(void **state)
{
    rp_autofree char *path = NULL;

    if (sources_begin(state) < 0)
        return -1;
    path = scratch_put("k.hip", text);
    command = sources_command("hipcc -nogpuinc -O3 {source}", path);
    source = sources_kernel(command, path, "_Z4rowsPfi");
    return 0;
}

static int tear_down(void **state)
{
    rp_kernel_source_free(source);
    rp_compile_command_free(command);
    return scratch_end(state);
}

static void arrays_say_whether_rows_may_grow(void **state)
{
    static const struct {
        const char *name, *why_not;
    } rows[] = {{"tile", NULL},
                {"two", NULL},
                {"cube", NULL},
                {"odd", "on different banks"},
                {"flat", "no rows"},
                {"passed", "otherwise than by the element"},
                {"pointed", "otherwise than by the element"},
                {"macro", "not stand in the kernel's text"}};

    (void)state;
    assert_int_equal(source->array_count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < source->array_count; i++) {
        const char *why = source->arrays[i].why_not;

        assert_string_equal(source->arrays[i].name, rows[i].name);
        if (rows[i].why_not ? !why || !strstr(why, rows[i].why_not) : why != NULL)
            fail_msg("%s: %s", rows[i].name, why ? why : "(may grow)");
    }
}

/** The kernel's text with one part as another. */
static char *with(const char *kernel, const char *from, const char *to)
{
    const char *at = strstr(kernel, from);

    assert_non_null(at);
    return rp_format("%.*s%s%s", (int)(at - kernel), kernel, to, at + strlen(from));
}

static void each_proposal_is_one_change_that_the_guards_accept(void **state)
{
    rp_autofree char *kernel = rp_strndup(text + source->begin, source->end - source->begin);
    rp_autofree char *tile = with(kernel, "tile[SIDE][SIDE]", "tile[SIDE][SIDE + 1]");
    rp_autofree char *two = with(kernel, "two[2][SIDE * 2]", "two[2][(SIDE * 2) + 1]");
    rp_autofree char *cube = with(kernel, "[ 8 ]", "[( 8 ) + 1]");
    rp_autofree char *tile_two = with(tile, "two[2][SIDE * 2]", "two[2][(SIDE * 2) + 1]");
    rp_autofree char *all = with(tile_two, "[ 8 ]", "[( 8 ) + 1]");
    const char *const expected[] = {tile, two, cube, all};
    struct rp_proposal made[5] = {0};
    struct rp_attempt attempts[5] = {0};
    struct rp_proposer_input input = {.source = source, .attempts = attempts};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct rp_guard_result result;

        assert_int_equal(rp_proposer_textbook.propose(NULL, &input, &made[i], &err), 1);
        assert_string_equal(made[i].kernel_text, expected[i]);
        assert_int_equal(made[i].bytes, strlen(expected[i]));
        if (rp_guard_check(source, made[i].kernel_text, made[i].bytes, RP_EDIT_BODY, command,
                           "gfx942", scratch_dir, &result, &err) < 0)
            fail_msg("%s: %s", made[i].title, err.text);
        rp_guard_result_free(&result);
        attempts[input.attempt_count++] =
            (struct rp_attempt){.kernel_text = made[i].kernel_text, .outcome = "equal"};
    }
    assert_string_equal(made[0].title, "pad the rows of tile in LDS by one element");
    /* There is no loop to unroll. */
    assert_int_equal(rp_proposer_textbook.propose(NULL, &input, &made[4], &err), 0);
    for (size_t i = 0; i < 4; i++)
        rp_proposal_free(&made[i]);
}

static const char sums[] =
    "#include \"hip_small.h\"\n"
    "__global__ void sums(float *a, const float *b, int n)\n"
    "{\n"
    "    float sum = 0, other = 1, other_2 = 0;\n"
    "    #pragma unroll 2\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        sum += b[i] * i;\n"
    "    for (int i = 0; i < n + 1; ++i) { other += b[n - i]; }\n" /* a name is taken */
    "    for (int i = 0; i < n; i++) sum += sum * b[i];\n"         /* a recurrence */
    "    for (int i = 0; i < n; i++) sum -= b[i];\n"
    "    for (int i = 0; i < n; i++) { sum += b[i]; other += 1; }\n"
    "    for (int i = 0; i <= n; i++) sum += b[i];\n"
    "    for (int i = 0; i < n; i++) a[0] += b[i];\n"
    "    a[n] = sum + other + other_2;\n"
    "}\n";

static const char two[] = "    {\n"
                          "        float sum_1 = 0;\n"
                          "        int i = threadIdx.x;\n"
                          "        for (; i < n && n - i > (blockDim.x); i += 2 * (blockDim.x)) {\n"
                          "            sum += b[i] * i;\n"
                          "            sum_1 += b[(i + (blockDim.x))] * (i + (blockDim.x));\n"
                          "        }\n"
                          "        for (; i < n; i += (blockDim.x))\n"
                          "            sum += b[i] * i;\n"
                          "        sum += sum_1;\n"
                          "    }\n";

static void sums_are_split_where_nothing_else_happens(void **state)
{
    rp_autofree char *path = scratch_put("s.hip", sums);
    struct rp_compile_command *own = sources_command("hipcc -nogpuinc -O3 {source}", path);
    struct rp_kernel_source *s = sources_kernel(own, path, "_Z4sumsPfPKfi");
    rp_autofree char *made = rp_split_sum(s, &s->loops[0], 2);
    rp_autofree char *free_name = rp_split_sum(s, &s->loops[1], 2);
    struct rp_guard_result result;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(s->loop_count, 7);
    assert_non_null(made);
    if (!strstr(made, two))
        fail_msg("%s", made);
    assert_null(strstr(made, "#pragma"));
    if (rp_guard_check(s, made, strlen(made), RP_EDIT_BODY, own, "gfx942", scratch_dir, &result,
                       &err) < 0)
        fail_msg("%s", err.text);
    rp_guard_result_free(&result);
    assert_non_null(free_name);
    assert_non_null(strstr(free_name, "other_1 += b[n - (i + 1)];"));
    assert_null(rp_split_sum(s, &s->loops[1], 3)); /* other_2 is there */
    for (size_t i = 2; i < s->loop_count; i++)
        assert_null(rp_split_sum(s, &s->loops[i], 2));
    rp_kernel_source_free(s);
    rp_compile_command_free(own);
}

/* Real programs, each with one mistake that somebody else has planted. */
static const struct planted {
    const char *file, *symbol, *cause;
    unsigned workgroup;
    const char *title;
    const char *parts[4]; /**< of the first proposal */
} planted[] = {
    {"attention_scores",
     "_Z9query_keyPKfS0_Pfif",
     "lds_bank_conflicts",
     256,
     "pad the rows of key in LDS by 4 elements",
     {"key[KEYS][DIM + 4];\n#else", "key[KEYS][DIM + 4];\n#endif"}},
    {"batched_solve_f64",
     "_Z12gauss_jordanPKdS0_Pd",
     "lds_bank_conflicts",
     64,
     "pad the rows of m in LDS by one element",
     {"#else\n    __shared__ double m[MATRICES * N][N + 1];"}},
    {"row_scan_tile",
     "_Z9scan_rowsPKiPi",
     "lds_bank_conflicts",
     64,
     "pad the rows of PITCH elements in LDS by one",
     {"tile[SIDE * (PITCH + 1)]", "tile[y * (PITCH + 1) + lane] = image[y * SIDE + lane]",
      "+= tile[lane * (PITCH + 1) + x];", "= tile[y * (PITCH + 1) + lane];"}},
    {"dtw_antidiagonal",
     "_Z4warpPKiS0_Pi",
     "lds_bank_conflicts",
     64,
     "pad the rows of ROW elements in LDS by one",
     {"matrix[PAIRS][(LENGTH + 1) * (ROW + 1)], reference[PAIRS][LENGTH];",
      "&matrix[pair][(row + 1) * (ROW + 1) + column + 1]", "cell - (ROW + 1);",
      "matrices[(at - row) * LENGTH + i * LENGTH + row] = matrix[pair][(i + 1) * (ROW + 1)"}},
    {"sph_density",
     "_Z11density_sumPKfPfif",
     "lds_bank_conflicts",
     256,
     "pad the rows of STRIDE elements in LDS by one",
     {"tile[(THREADS + 2 * REACH) * (STRIDE + 1)];", "tile[i / WORDS * (STRIDE + 1) + i % WORDS] =",
      "tile + (threadIdx.x + REACH) * (STRIDE + 1);", "self + j * (STRIDE + 1);"}},
    {"batched_gemm",
     "_Z4gemmPKDF16_S0_PDF16_i",
     "register_spills",
     256,
     "launch bounds of 256 work-items, as launched, and no more than that",
     {"__global__ void __launch_bounds__(256) gemm("}},
    {"reactor_kinetics",
     "_Z5reactPKfPf",
     "register_spills",
     256,
     "launch bounds of 256 work-items, as launched, and no more than that",
     {"__global__ void __launch_bounds__(THREADS) // planted"}},
    {"su3_exponential",
     "_Z12exponentiatePdj",
     "register_spills",
     256,
     "launch bounds of 256 work-items, as launched, and no more than that",
     {"__global__ void __launch_bounds__(256) exponentiate("}},
    {"column_sum_in_memory",
     "_Z13bias_gradientPKfPfii",
     "memory_latency",
     256,
     "keep the element of bias in a register in the loop at line 31, unrolled by 8",
     {"    if (0 < rows) {\n        auto bias_value = bias[column];\n#pragma unroll 8\n",
      "bias_value += gradient[(size_t)row * columns + column];\n",
      "\n        bias[column] = bias_value;\n    }"}},
};

static void check_planted(const struct planted *one)
{
    rp_autofree char *path =
        rp_format("%s/tests/programs/planted/%s.hip", RP_TEST_SOURCES, one->file);
    struct rp_compile_command *own = sources_command(NULL, path);
    struct rp_kernel_source *s = sources_kernel(own, path, one->symbol);
    struct rp_kernel_facts facts = {.cause = (char *)(uintptr_t)one->cause};
    struct rp_attempt attempt = {.outcome = "faster"};
    struct rp_proposer_input input = {
        .source = s, .facts = &facts, .attempts = &attempt, .largest_workgroup = one->workgroup};
    struct rp_proposal made = {0}, more = {0};
    struct rp_guard_result result = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_proposer_textbook.propose(NULL, &input, &made, &err), 1);
    if (strcmp(made.title, one->title) != 0)
        fail_msg("%s: %s (%s)", one->file, made.title,
                 s->array_count && s->arrays[0].why_not ? s->arrays[0].why_not : "");
    for (size_t i = 0; i < 4 && one->parts[i]; i++)
        if (!strstr(made.kernel_text, one->parts[i]))
            fail_msg("%s: there is no '%s' in %s", one->file, one->parts[i], made.kernel_text);
    if (rp_guard_check(s, made.kernel_text, made.bytes, RP_EDIT_BODY, own, "gfx942", scratch_dir,
                       &result, &err) < 0)
        fail_msg("%s: %s", one->file, err.text);
    /* It helps, and there is no other remedy. */
    attempt.kernel_text = made.kernel_text;
    input.attempt_count = 1;
    if (rp_proposer_textbook.propose(NULL, &input, &more, &err) != 0)
        fail_msg("%s: %s", one->file, more.title);
    rp_proposal_free(&made);
    rp_guard_result_free(&result);
    rp_kernel_source_free(s);
    rp_compile_command_free(own);
}

static void planted_mistakes_are_mended_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++)
        check_planted(&planted[i]);
}

/* What is done with an element of memory in each round is done in a register. */
static const char elements[] =
    "#include \"hip_small.h\"\n"
    "#define AT p[i]\n"
    "struct sizes { int n; };\n"
    "template <typename T> __global__ void elements(T *p, const T *q, int n, sizes s, int *at)\n"
    "{\n"
    "    __shared__ T lds[64], rows[4][8];\n"
    "    T own[4] = {};\n"
    "    int i = threadIdx.x;\n"
    "    for (int k = 0; k < n; k++) p[i] += q[k] * sqrtf(q[k]); // p[i]\n"
    "    #pragma unroll 2\n"
    "    for (unsigned k = i; k < n; k += 2) {\n"
    "        T t = q[k];\n"
    "        rows[1][i + 1] = t + rows[1][i + 1];\n"
    "    }\n"
    "    for (int k = 0; k < 3; k++) lds[i] -= 1;\n"
    "    for (auto k = i; k < s.n; ++k) *p = *p * 2;\n"
    /* These stay as they are. */
    "    for (int k = 0; k < n; k++) p[i] += p[k];\n"                   /* another element */
    "    for (int k = 0; k < n; k++) p[k] += q[i];\n"                   /* of each round */
    "    for (int k = 0; k < n; k++) { int j = i; p[j] += q[k]; }\n"    /* of the loop's own */
    "    for (int k = 0; k < n; k++) p[at[i]] += q[k];\n"               /* an index in memory */
    "    for (int k = 0; k < n; k++) if (q[k] > 0) p[i] += q[k];\n"     /* not in each round */
    "    for (int k = 0; k < n; k++) { p[i] += q[k]; if (n) break; }\n" /* not all rounds */
    "    for (int k = 0; k < n; k++) { p[i] += q[k]; at[k] = 0; }\n"    /* another place */
    "    for (int k = 0; k < n; k++) { p[i] += q[k]; __syncthreads(); }\n"
    "    for (int k = 0; k < n; k++) { p[i] += q[k]; atomicAdd((float *)p, 1); }\n"
    "    for (int k = 0; k < n; k++) { p[i] += q[k]; __threadfence(); }\n"
    "    for (int k = 0; k < n; k++) own[1] += q[k];\n" /* in a register */
    "    for (int k = 0; k < n; k++) AT += q[k];\n"
    "    for (int k = 0; k < n; k++) ((volatile T *)p)[i] += q[k];\n"
    "    for (int k = 0; k <= n; k++) p[i] += q[k];\n" /* a head that is not read */
    "    if (n) for (int k = 0; k < n; k++) p[i] += q[k];\n"
    "    p[0] += own[1] + lds[0] + rows[0][0];\n"
    "}\n"
    "template __global__ void elements(float *, const float *, int, sizes, int *);\n";

static const char *const element_texts[] = {
    "    if (0 < n) {\n"
    "        auto p_value = p[i];\n"
    "#pragma unroll 8\n"
    "        for (int k = 0; k < n; k++) p_value += q[k] * sqrtf(q[k]);\n"
    "        p[i] = p_value;\n"
    "    } // p[i]\n",
    "    if (0 < n) {\n"
    "        auto p_value = p[i];\n"
    "        for (int k = 0; k < n; k++) p_value += q[k] * sqrtf(q[k]);\n"
    "        p[i] = p_value;\n"
    "    } // p[i]\n",
    "    if ((unsigned)i < n) {\n"
    "        auto rows_value = rows[1][i + 1];\n"
    "#pragma unroll 2\n"
    "        for (unsigned k = i; k < n; k += 2) {\n"
    "            T t = q[k];\n"
    "            rows_value = t + rows_value;\n"
    "        }\n"
    "        rows[1][i + 1] = rows_value;\n"
    "    }\n",
    "    {\n"
    "        auto lds_value = lds[i];\n"
    "#pragma unroll 8\n"
    "        for (int k = 0; k < 3; k++) lds_value -= 1;\n"
    "        lds[i] = lds_value;\n"
    "    }\n",
    NULL,
    "    if (i < (s.n)) {\n"
    "        auto p_value = *p;\n"
    "#pragma unroll 8\n"
    "        for (auto k = i; k < s.n; ++k) p_value = p_value * 2;\n"
    "        *p = p_value;\n"
    "    }\n",
    NULL};

/** Each change is the text that is expected, and the guards accept it. */
static void check_changes(const char *file, const char *all, const char *symbol,
                          const char *const *texts, size_t count)
{
    rp_autofree char *path = scratch_put(file, all);
    struct rp_compile_command *own = sources_command("hipcc -nogpuinc -O3 {source}", path);
    struct rp_kernel_source *s = sources_kernel(own, path, symbol);

    for (size_t i = 0; i < s->change_count; i++) {
        const struct rp_source_change *change = &s->changes[i];
        struct rp_guard_result result;
        struct rp_err err = RP_ERR_INIT;

        if (i >= count || (texts[i] && !strstr(change->kernel_text, texts[i])))
            fail_msg("%zu: %s: %s", i, change->title, change->kernel_text);
        if (rp_guard_check(s, change->kernel_text, strlen(change->kernel_text), RP_EDIT_BODY, own,
                           "gfx942", scratch_dir, &result, &err) < 0)
            fail_msg("%s: %s\n%s", change->title, err.text, change->kernel_text);
        rp_guard_result_free(&result);
    }
    assert_int_equal(s->change_count, count);
    rp_kernel_source_free(s);
    rp_compile_command_free(own);
}

static void an_element_is_kept_in_a_register_where_nothing_else_can_use_it(void **state)
{
    (void)state;
    check_changes("e.hip", elements, "_Z8elementsIfEvPT_PKS0_i5sizesPi", element_texts,
                  sizeof element_texts / sizeof *element_texts);
}

/** What was kept in a register is a sum like others. */
static void a_sum_in_a_register_is_split_next(void **state)
{
    static const char sum_of_memory[] = "#include \"hip_small.h\"\n"
                                        "__global__ void sum(float *p, const float *q, int n)\n"
                                        "{\n"
                                        "    for (int k = 0; k < n; k++)\n"
                                        "        p[threadIdx.x] += q[k];\n"
                                        "}\n";
    rp_autofree char *path = scratch_put("m.hip", sum_of_memory);
    struct rp_compile_command *own = sources_command("hipcc -nogpuinc -O3 {source}", path);
    struct rp_kernel_source *s = sources_kernel(own, path, "_Z3sumPfPKfi"), *next;
    rp_autofree char *text_2 = NULL, *path_2 = NULL, *made = NULL;

    (void)state;
    assert_int_equal(s->change_count, 2);
    text_2 = rp_format("%.*s%s", (int)s->begin, sum_of_memory, s->changes[0].kernel_text);
    path_2 = scratch_put("m.hip", text_2);
    next = sources_kernel(own, path_2, "_Z3sumPfPKfi");
    assert_int_equal(next->change_count, 0);
    made = rp_split_sum(next, &next->loops[0], 4);
    assert_non_null(made);
    assert_non_null(strstr(made, "p_value_3 += q[(k + 3)];"));
    rp_kernel_source_free(s);
    rp_kernel_source_free(next);
    rp_compile_command_free(own);
}

/* A tile and a loop of a workgroup of 128 are there, and a sum of the lanes. */
static const char loads[] =
    "#include \"hip_small.h\"\n"
    "__global__ void loads(const float *p, const float *q, float *y, int n)\n"
    "{\n"
    "    __shared__ float tile[64];\n"
    "    float sum = 0;\n"
    "    for (int t = 0; t < n; t += 64) {\n"
    "        tile[threadIdx.x] = p[t + threadIdx.x];\n"
    "        __syncthreads();\n"
    "        sum += tile[63 - threadIdx.x];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = threadIdx.x; i < n; i += 128) y[i] = q[i];\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += q[i];\n"
    "    tile[threadIdx.x] = sum;\n"
    "}\n";

static const struct {
    const char *cause;
    uint64_t workgroup;
    const char *titles[4]; /**< in this order; parts of them */
} orders[] = {
    {"memory_latency", 128, {"next tile", "neighbours at once in the loop at line 12", "line 13"}},
    {"memory_latency", 64, {"next tile", "unroll", "neighbours at once in the loop at line 13"}},
    {"barrier", 128, {"next tile", "neighbours at once in the loop at line 12", "line 13"}},
    {"l1_bandwidth", 128, {"neighbours at once in the loop at line 12", "next tile", "line 13"}},
    {"hbm_bandwidth", 128, {"neighbours at once in the loop at line 12", "next tile", "line 13"}},
    {NULL,
     128,
     {"next tile", "neighbours at once in the loop at line 12", "line 13", "add up 4 sums"}},
};

static void check_order(const struct rp_kernel_source *s, size_t index)
{
    struct rp_kernel_facts facts = {.cause = (char *)(uintptr_t)orders[index].cause};
    struct rp_attempt attempts[4] = {0};
    struct rp_proposal made[4] = {0};
    struct rp_proposer_input input = {.source = s,
                                      .facts = &facts,
                                      .attempts = attempts,
                                      .largest_workgroup = orders[index].workgroup};
    struct rp_err err = RP_ERR_INIT;

    for (size_t i = 0; i < 4 && orders[index].titles[i]; i++) {
        assert_int_equal(rp_proposer_textbook.propose(NULL, &input, &made[i], &err), 1);
        if (!strstr(made[i].title, orders[index].titles[i]))
            fail_msg("%s, %zu: %s", orders[index].cause, i, made[i].title);
        attempts[input.attempt_count++] =
            (struct rp_attempt){.kernel_text = made[i].kernel_text, .outcome = "equal"};
    }
    for (size_t i = 0; i < 4; i++)
        rp_proposal_free(&made[i]);
}

static void loads_are_changed_first_where_they_limit(void **state)
{
    rp_autofree char *path = scratch_put("l.hip", loads);
    struct rp_compile_command *own = sources_command("hipcc -nogpuinc -O3 {source}", path);
    struct rp_kernel_source *s = sources_kernel(own, path, "_Z5loadsPKfS0_Pfi");

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        check_order(s, i);
    rp_kernel_source_free(s);
    rp_compile_command_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_say_whether_rows_may_grow),
        cmocka_unit_test(each_proposal_is_one_change_that_the_guards_accept),
        cmocka_unit_test(planted_mistakes_are_mended_first),
        cmocka_unit_test(sums_are_split_where_nothing_else_happens),
        cmocka_unit_test(an_element_is_kept_in_a_register_where_nothing_else_can_use_it),
        cmocka_unit_test(a_sum_in_a_register_is_split_next),
        cmocka_unit_test(loads_are_changed_first_where_they_limit),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
