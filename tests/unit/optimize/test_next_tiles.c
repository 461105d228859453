/* The next tile in registers while one is used: the text that is made, and what is left as it is.
 */
#include "unit/optimize/changes.h"

static const char product[] =
    "#include \"hip_small.h\"\n"
    "enum { SIDE = 16 };\n"
    "template <typename T> __global__ void product(const T *a, const T *b, T *c, int n)\n"
    "{\n"
    "    __shared__ T rows[SIDE][SIDE], columns[1024];\n"
    "    const int x = threadIdx.x, y = threadIdx.y;\n"
    "    T sum = 0;\n"
    "    #pragma unroll 2\n"
    "    for (int t = 0; t < n; t += SIDE) {\n"
    "        const int at = t + x;\n"
    "        if (at < n)\n"
    "            rows[y][x] = a[y * n + at];\n"
    "        else\n"
    "            rows[y][x] = 0;\n"
    "        for (int e = x; e < 1000; e += 256) {\n"
    "            columns[e] = b[t * n + e]; // all\n"
    "        }\n"
    "        __syncthreads(); // filled\n"
    "        for (int k = 0; k < SIDE; k++)\n"
    "            sum += rows[y][k] * columns[k * SIDE + x];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    c[y * n + x] = sum;\n"
    "}\n"
    "template __global__ void product(const float *, const float *, float *, int);\n";

static const char prefetched[] =
    "    {\n"
    "        T rows_next;\n"
    "        T rows_next2;\n"
    "        T columns_next[4];\n"
    "        {\n"
    "            int t = 0;\n"
    "            if (t < n) {\n"
    "                const int at = t + x;\n"
    "                if (at < n)\n"
    "                    rows_next = a[y * n + at];\n"
    "                else\n"
    "                    rows_next2 = 0;\n"
    "#pragma unroll\n"
    "                for (int e_round = 0; e_round < 4; e_round++) {\n"
    "                    if (const int e = (x) + e_round * 256; e < 1000) {\n"
    "                    columns_next[e_round] = b[t * n + e]; // all\n"
    "                }\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "#pragma unroll 2\n"
    "        for (int t = 0; t < n; t += SIDE) {\n"
    "            const int at = t + x;\n"
    "            if (at < n)\n"
    "                rows[y][x] = rows_next;\n"
    "            else\n"
    "                rows[y][x] = rows_next2;\n"
    "#pragma unroll\n"
    "            for (int e_round = 0; e_round < 4; e_round++) {\n"
    "                if (const int e = (x) + e_round * 256; e < 1000) {\n"
    "                columns[e] = columns_next[e_round]; // all\n"
    "            }\n"
    "            }\n"
    "            __syncthreads();\n"
    "            if (n - t > SIDE) {\n"
    "                const int at = (t + SIDE) + x;\n"
    "                if (at < n)\n"
    "                    rows_next = a[y * n + at];\n"
    "                else\n"
    "                    rows_next2 = 0;\n"
    "#pragma unroll\n"
    "                for (int e_round = 0; e_round < 4; e_round++) {\n"
    "                    if (const int e = (x) + e_round * 256; e < 1000) {\n"
    "                    columns_next[e_round] = b[(t + SIDE) * n + e]; // all\n"
    "                }\n"
    "                }\n"
    "            }\n"
    "            // filled\n"
    "            for (int k = 0; k < SIDE; k++)\n"
    "                sum += rows[y][k] * columns[k * SIDE + x];\n"
    "            __syncthreads();\n"
    "        }\n"
    "    }\n";

static void the_next_tile_is_loaded_while_one_is_used(void **state)
{
    struct changes changes = changes_of(product, "_Z7productIfEvPKT_S2_PS0_i");

    (void)state;
    check_change(&changes, RP_CHANGE_TILE, 0, prefetched);
    assert_string_equal(change_at(&changes, RP_CHANGE_TILE, 0)->title,
                        "load the next tile of rows while one is used in the loop at line 9");
    changes_free(&changes);
}

#define TILES "for (int t = 0; t < n; t += 64) "
#define USE   "__syncthreads(); sum += l[63 - x]; "
#define END   "__syncthreads(); }"

static const struct {
    const char *before, *loop;
    const char *made; /**< a part of the new text; NULL: it stays */
} loops[] = {
    {"", TILES "{ l[x] = p[t + x]; " USE END, "l_next = p[(t + 64) + x];"},
    {"", TILES "{ __syncthreads(); l[x] = p[t + x]; " USE "}", "l_next = p[(t + 64) + x];"},
    {"", TILES "{ l[x] = *(p + t); m[x] = q[t]; " USE END, "m_next = q[(t + 64)];"},
    {"", TILES "{ l[x] = p[t]; l[x + 1] = p[t + 1]; " USE END, "l_next2 = p[(t + 64) + 1];"},
    {"", TILES "{ l[x] = p[t]; " USE "q2[t] = sum; " END, "l_next = p[(t + 64)];"},
    {"", "for (unsigned t = 1; t < n; ++t) { l[x] = p[t]; " USE END, "if (n - t > 1) {"},
    {"", TILES "{ for (int e = 0; e < 2; e++) l[x + e] = p[t + e]; " USE END,
     "if (const int e = (0) + e_round; e < 2) l_next[e_round] = p[(t + 64) + e];"},
    {"", TILES "{ for (int e = x; e < SIDE * 2; e += SIDE) l[e] = p[t]; " USE END,
     "float l_next[((SIDE * 2) + SIDE - 1) / SIDE];"},
    {"", TILES "{ for (int e = x * 2 + 4; e < SIDE * 2; e += BLOCK) l[e] = p[t]; " USE END,
     "float l_next[((SIDE * 2) + BLOCK - 1) / BLOCK];"},
    {"",
     TILES "{ if (t + 128 <= n) for (int e = x; e < 64; e += 16) l[e] = p[t + e]; else "
           "for (int e = x; e < 64; e += 16) l[e] = 0; " USE END,
     "l_next[e_round] = p[t + e];\n            } else\n#pragma unroll"},
    /* No counted loop, or one that goes round once. */
    {"int t = 0;", "while (t < n) { l[x] = p[t]; " USE "t++; " END, NULL},
    {"", "for (int t = 0; t < n; t++) { l[x] = p[t]; " USE "n--; " END, NULL},
    {"", "for (int t = 0; t < 1; t++) { l[x] = p[t]; " USE END, NULL},
    {"int t;", "for (t = 0; t < n; t++) { l[x] = p[t]; " USE END, NULL},
    {"", "for (int t = 0; t < k[0]; t++) { l[x] = p[t]; " USE END, NULL},
    /* What is loaded depends on what the loop changes, or is changed. */
    {"", "for (int t = 0; t < n; t++, p++) { l[x] = p[x]; " USE END, NULL},
    {"", TILES "{ l[x] = p[x]; " USE "p += 64; " END, NULL},
    {"", TILES "{ l[x] = p[t] * sum; " USE END, NULL},
    {"", TILES "{ l[x] = q2[t]; " USE "q2[t] = sum; " END, NULL},
    {"", TILES "{ l[x] = p[t] + m[0]; " USE END, NULL},
    {"float own[2] = {1};", TILES "{ l[x] = p[t] * own[0]; " USE END, NULL},
    {"", TILES "{ l[x] = p[AT]; " USE END, NULL},
    {"", TILES "{ l[x] = ((const volatile float *)p)[t]; " USE END, NULL},
    {"", TILES "{ l[x] = p[t]; " USE "atomicAdd(q2, sum); " END, NULL},
    {"", TILES "{ l[x] = p[t]; " USE "*other(q2) = 1; " END, NULL},
    {"", TILES "{ l[x] = p[t]; " USE "if (sum > 3) break; " END, NULL},
    /* Nothing is loaded, or not into LDS, or it is not only that. */
    {"", TILES "{ l[x] = t; " USE END, NULL},
    {"float own[64];", TILES "{ own[t] = p[t]; " USE "sum += own[t]; " END, NULL},
    {"", TILES "{ *(float2 *)&l[x] = ((const float2 *)p)[t]; " USE END, NULL},
    {"", TILES "{ l[x] += p[t]; " USE END, NULL},
    {"", TILES "{ l[x] = p[t]; sum += 1; " USE END, NULL},
    {"", TILES "{ for (int e = 0; e < n; e++) l[e] = p[t + e]; " USE END, NULL},
    {"", TILES "{ for (int e = 0; e < 99; e++) l[x] = p[t + e]; " USE END, NULL},
    {"", TILES "{ for (int e = -1; e < 2; e++) l[x] = p[t + e]; " USE END, NULL},
    {"", TILES "{ for (int e = x; e < BIG + 2; e += 2) l[e] = p[t]; " USE END, NULL},
    {"", TILES "{ for (int e = x; e < TWICE; e += SIDE) l[e] = p[t]; " USE END, NULL},
    {"", TILES "{ for (int e = x; e < SUM; e += SIDE) l[e] = p[t]; " USE END, NULL},
    /* It begins at a number that may be negative, from which it goes round more often. */
    {"", TILES "{ for (int e = x - 32; e < 32; e += 16) l[e & 63] = p[t]; " USE END, NULL},
    {"", TILES "{ for (int e = x - SIDE; e < SIDE; e += 16) l[e & 63] = p[t]; " USE END, NULL},
    {"", TILES "{ for (int e = t; e < 64; e += 64) l[x] = p[e]; " USE END, NULL},
    {"", TILES "{ for (int e = n; e < 64; e += 64) l[x] = p[e]; " USE END, NULL},
    {"", TILES "{ for (int e = (signed char)x; e < 64; e += 64) l[x] = p[e]; " USE END, NULL},
    {"int y = x; y -= 9;", TILES "{ for (int e = y; e < 64; e += 64) l[x] = p[e]; " USE END, NULL},
    /* It is not waited for before it is overwritten. */
    {"", TILES "{ l[x] = p[t]; " USE "}", NULL},
    {"", TILES "{ l[x] = p[t]; sum += l[x]; __syncthreads(); }", NULL},
    {"int l_next = 0;", TILES "{ l[x] = p[t] + l_next; " USE END, NULL},
    {"int e_round = 1;", TILES "{ for (int e = 0; e < 2; e++) l[e] = p[t + e_round]; " USE END,
     NULL},
};

static void check_loop(size_t index)
{
    rp_autofree char *text =
        rp_format("#include \"hip_small.h\"\n"
                  "#define AT t + x\n"
                  "enum { SIDE = 32, BLOCK = 0x10, SUM = SIDE + 1 };\n"
                  "constexpr int BIG = 4096;\n"
                  "namespace first { constexpr int TWICE = 64; }\n"
                  "namespace second { constexpr int TWICE = 4096; }\n"
                  "using second::TWICE;\n"
                  "struct float2 { float x, y; };\n"
                  "__device__ float *other(float *);\n"
                  "__global__ void one(const float *p, const float *q, float *q2, int *k, int n)\n"
                  "{\n"
                  "    __shared__ float l[128], m[128];\n"
                  "    const int x = threadIdx.x;\n"
                  "    float sum = 0;\n"
                  "    %s\n    %s\n    q2[x] = sum + m[0] + l[0];\n}\n",
                  loops[index].before, loops[index].loop);
    struct changes changes = changes_of(text, "_Z3onePKfS0_PfPii");
    const struct rp_source_change *change = change_at(&changes, RP_CHANGE_TILE, 0);

    if (!change != !loops[index].made)
        fail_msg("%s\n%s", loops[index].loop, change ? change->kernel_text : "it stays");
    if (change)
        check_change(&changes, RP_CHANGE_TILE, 0, loops[index].made);
    changes_free(&changes);
}

static void a_loop_stays_where_the_next_tile_is_not_known_yet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        check_loop(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_tile_is_loaded_while_one_is_used),
        cmocka_unit_test(a_loop_stays_where_the_next_tile_is_not_known_yet),
    };

    return cmocka_run_group_tests(tests, sources_begin, scratch_end);
}
