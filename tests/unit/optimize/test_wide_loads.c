/* Loops in which each lane takes neighbours: the text that is made, and what is left as it is. */
#include "unit/optimize/changes.h"

static const char rows[] =
    "#include \"hip_small.h\"\n"
    "enum { THREADS = 256 };\n"
    "template <typename T> __global__ void __launch_bounds__(THREADS)\n"
    "    rows(const T *x, T *y, const T *z, const double *w, float *sums, unsigned n)\n"
    "{\n"
    "    const int lane = threadIdx.x & 63, row = threadIdx.x / 64;\n"
    "    T most = 0;\n"
    "    float sum = 0;\n"
    "    #pragma unroll 2\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) "
    "// y\n"
    "        y[i] = 2 * x[i] + z[i + n] * i;\n"
    "    for (auto i = lane; i < n + 1; i += 64) {\n"
    "        T t = x[row * n + i];\n"
    "        if (t > 1)\n"
    "            sum += t;\n"
    "        most = fmaxf(most, x[row * n + i]);\n"
    "    }\n"
    "    for (unsigned long i = 1 + threadIdx.x; i < n; i += THREADS) { sum += w[i]; }\n"
    "    sums[0] = __shfl_down(sum, 1) + __shfl_down(most, 1);\n"
    "}\n"
    "template __global__ void rows(const float *, float *, const float *, const double *, float "
    "*,\n"
    "                              unsigned);\n";

static const char grid[] =
    "    {\n"
    "        const long long i_end = n;\n"
    "        long long i_first = 4LL * (blockIdx.x * blockDim.x + threadIdx.x);\n"
    "        for (; i_first < i_end - 3; i_first += 4LL * (gridDim.x * blockDim.x)) {\n"
    "            const T x_near[4] = {x[i_first], x[i_first + 1], x[i_first + 2], x[i_first + "
    "3]};\n"
    "            const T z_near[4] = {z[i_first + n], z[(i_first + 1) + n], z[(i_first + 2) + n], "
    "z[(i_first + 3) + n]};\n"
    "#pragma unroll\n"
    "            for (int i_k = 0; i_k < 4; i_k++) {\n"
    "                const int i = (int)(i_first + i_k);\n"
    "                y[i_first + i_k] = 2 * x_near[i_k] + z_near[i_k] * i;\n"
    "            }\n"
    "        }\n"
    "        for (; i_first < i_end; i_first++) {\n"
    "            const int i = (int)i_first;\n"
    "            y[i] = 2 * x[i] + z[i + n] * i;\n"
    "        }\n"
    "    }\n";

static const char group[] =
    "    {\n"
    "        const long long i_end = n + 1;\n"
    "        long long i_first = 4LL * lane;\n"
    "        for (; i_first < i_end - 3; i_first += 4LL * 64) {\n"
    "            const T x_near[4] = {x[row * n + i_first], x[row * n + (i_first + 1)], "
    "x[row * n + (i_first + 2)], x[row * n + (i_first + 3)]};\n"
    "#pragma unroll\n"
    "            for (int i_k = 0; i_k < 4; i_k++) {\n"
    "                T t = x_near[i_k];\n"
    "                if (t > 1)\n"
    "                    sum += t;\n"
    "                most = fmaxf(most, x_near[i_k]);\n"
    "            }\n"
    "        }\n"
    "        for (; i_first < i_end; i_first++) {\n"
    "            const int i = (int)i_first;\n"
    "            T t = x[row * n + i];\n"
    "            if (t > 1)\n"
    "                sum += t;\n"
    "            most = fmaxf(most, x[row * n + i]);\n"
    "        }\n"
    "    }\n";

static const char workgroup[] =
    "        long long i_first = (1 + threadIdx.x) + 1LL * threadIdx.x;\n"
    "        for (; i_first < i_end - 1; i_first += 2LL * THREADS) {\n"
    "            const double w_near[2] = {w[i_first], w[i_first + 1]};\n";

static void each_lane_takes_neighbours(void **state)
{
    struct changes changes = changes_of(rows, "_Z4rowsIfEvPKT_PS0_S2_PKdPfj");

    (void)state;
    check_change(&changes, RP_CHANGE_WIDE, 0, grid);
    assert_null(change_at(&changes, RP_CHANGE_WIDE, 1));
    assert_null(strstr(change_at(&changes, RP_CHANGE_WIDE, 0)->kernel_text, "#pragma unroll 2"));
    /* Sums of floats in another order are another kind of change. */
    check_change(&changes, RP_CHANGE_WIDE_SUM, 0, group);
    check_change(&changes, RP_CHANGE_WIDE_SUM, 1, workgroup);
    assert_null(change_at(&changes, RP_CHANGE_WIDE_SUM, 2));
    changes_free(&changes);
}

#define STRIDED "for (int i = threadIdx.x; i < n; i += blockDim.x) "

/* Of each loop one line says what it may do, or why it must stay. */
static const struct {
    const char *before, *loop, *after;
    unsigned width; /**< 0: it stays */
    unsigned workgroup;
} loops[] = {
    {"", STRIDED "y[i] = x[i];", "", 4, 0},
    {"", STRIDED "y[i] = b[i] + h[i];", "", 8, 0},
    {"", STRIDED "y[i] = b[i] + d[i];", "", 2, 0},
    {"", STRIDED "y[i] += x[i];", "", 4, 0},
    {"", STRIDED "if (x[i] > 0) y[i] = z[i];", "", 4, 0},
    {"int s = 0;", STRIDED "s += k[i];", "s = (int)__shfl_down(s, 1); y[0] = s;", 4, 0},
    {"float s = 0; __shared__ float l[64];", STRIDED "s = fmaxf(x[i], s);",
     "l[threadIdx.x] = s; __syncthreads(); y[0] = l[0] + l[1];", 4, 0},
    {"", "for (int i = threadIdx.x; i < n; i += 128) y[i] = x[i];", "", 4, 128},
    {"", "for (int i = threadIdx.x % 32; i < n; i += 32) y[i] = x[i];", "", 4, 0},
    {"const float *row = x + blockIdx.x * n;", STRIDED "y[i] = row[i];", "", 4, 0},
    {"for (int r = 0; r < 9; r++)", STRIDED "y[i] += x[r * n + i];", "", 4, 0},
    /* Each lane begins elsewhere, or goes on by another step. */
    {"", "for (int i = threadIdx.x; i < n; i += 2) y[i] = x[i];", "", 4, 2}, /* for two lanes */
    {"", "for (int i = threadIdx.x * 2; i < n; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.y; i < n; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x + threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x % 32; i < n; i += 64) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x; i < n; i++) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x; i < n; i += STEP) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x; i <= n; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"int i;", "for (i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    /* The bound, or the body, is the lane's own. */
    {"", "for (int i = threadIdx.x; i < k[0]; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", STRIDED "y[i] = x[i] * threadIdx.x;", "", 0, 0},
    {"float f = x[threadIdx.x];", STRIDED "y[i] = x[i] * f;", "", 0, 0},
    {"const float *p = x + threadIdx.x;", STRIDED "y[i] = p[i];", "", 0, 0},
    /* What it does is seen by others, or in another order. */
    {"", STRIDED "{ if (n) break; y[i] = x[i]; }", "", 0, 0},
    {"", STRIDED "{ y[i] = x[i]; __syncthreads(); }", "", 0, 0},
    {"", STRIDED "atomicAdd(y, x[i]);", "", 0, 0},
    {"", STRIDED "y[i] = __shfl_down(x[i], 1);", "", 0, 0},
    {"", STRIDED "{ y[i] = x[i]; k[i] = __ballot(1); }", "", 0, 0},
    {"", STRIDED "y[i / 2] = x[i];", "", 0, 0},
    {"", STRIDED "y[i] = x[i] + y[i + 1];", "", 0, 0},
    {"", STRIDED "{ float *p = y; *p = x[i]; }", "", 0, 0},
    {"", STRIDED "{ float *p = &y[i]; p[0] = x[i]; }", "", 0, 0},
    {"float last = 0;", STRIDED "last = x[i];", "y[0] = __shfl_down(last, 1);", 0, 0},
    {"float s = 0;", STRIDED "s += s * x[i];", "y[0] = __shfl_down(s, 1);", 0, 0},
    {"float s[2] = {};", STRIDED "s[1] += x[i];", "y[0] = __shfl_down(s[1], 1);", 0, 0},
    /* Each lane's own sum is the result, or that of one workgroup. */
    {"float s = 0;", STRIDED "s += x[i];", "y[threadIdx.x] = s;", 0, 0},
    {"float s = 0;",
     "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += x[i];",
     "y[blockIdx.x] = __shfl_down(s, 1);", 0, 0},
    {"float s = 0;",
     "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += x[i];",
     "s += __shfl_down(s, 1); atomicAdd(y, s);", 4, 64},
    {"float s = 0; __shared__ float l[64];", STRIDED "s += x[i];",
     "l[threadIdx.x] = s; z2[threadIdx.x] = s; y[0] = l[0];", 0, 0},
    {"float s = 0; __shared__ float l[64];", STRIDED "s += x[i];",
     "l[threadIdx.x] = s; z2[threadIdx.x] = l[threadIdx.x];", 0, 0},
    {"float s = 0; __shared__ float l[64];", STRIDED "s += x[i];",
     "if (threadIdx.x < 32) l[threadIdx.x] = s; y[0] = l[0];", 0, 0},
    {"float s = 0; float &r = s;", STRIDED "s += x[i];",
     "y[0] = __shfl_down(s, 1); z2[threadIdx.x] = r;", 0, 0},
    {"float s = 0; float *r = &s;", STRIDED "s += x[i];",
     "y[0] = __shfl_down(s, 1); z2[threadIdx.x] = *r;", 0, 0},
    {"float s = 0;", STRIDED "s += x[i];", "y[0] = block_index(s);", 0, 0},
    {"float s = 0;", STRIDED "s += x[i];", "y[0] = blockReduceSum(s);", 4, 0},
    {"float s = 0;", STRIDED "s += x[i];", "y[0] = warp_max(s);", 4, 0},
    {"float s = 0;", STRIDED "s += x[i];", "y[0] = blockReduceSum(s * s);", 0, 0},
    {"float s = 0;", STRIDED "s += x[i];", "atomicAdd(y, s);", 4, 0},
    {"float s = 0;", STRIDED "s += x[i];", "atomicAdd(y + threadIdx.x, s);", 0, 0},
    {"float s = 0;", STRIDED "s = fmaxf(s, x[i]);", "atomicAdd(y, s);", 0, 0},
    {"float s = 0;", STRIDED "s += x[i];",
     "for (int o = 32; o > 0; o /= 2) s += __shfl_down(s, o); if (threadIdx.x == 0) y[0] = s;", 4,
     0},
    {"float s = 0;", STRIDED "s = fmaxf(s, x[i]);",
     "for (int o = 32; o > 0; o /= 2) s = fmaxf(s, __shfl_down(s, o)); y[0] = s;", 4, 0},
    {"float s = 0;", STRIDED "s += x[i];", "if (n > 3) s += __shfl_down(s, 1); y[threadIdx.x] = s;",
     0, 0},
    {"float s = 0;", STRIDED "s += x[i];",
     "for (int j = 0; j < n; j++) s += z[j]; y[0] = __shfl_down(s, 1);", 4, 0},
    {"float s = 0;", STRIDED "s += x[i];", "s *= s; y[0] = __shfl_down(s, 1);", 0, 0},
    {"float s = 0;", STRIDED "s += x[i];", "y[0] = __shfl_down(s, 1); s = z[0]; z2[0] = s;", 4, 0},
    {"float s = 0; for (int r = 0; r < 9; r++) { y[threadIdx.x] = s;", STRIDED "s += x[i];",
     "} z2[0] = __shfl_down(s, 1);", 0, 0},
    {"for (int r = 0; r < 9; r++) { float s = 0;", STRIDED "s += x[i];",
     "s += __shfl_down(s, 1); z2[r] = s; }", 4, 0},
    {"float s = 0; __shared__ float l[64];",
     "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += x[i];",
     "l[threadIdx.x] = s; __syncthreads(); atomicAdd(y + blockIdx.x, l[0] + l[1]);", 0, 0},
    {"float s = 0;",
     "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += x[i];",
     "s += __shfl_down(s, 1); z2[blockIdx.x] = s; atomicAdd(y, 1.0f);", 0, 0},
    /* Another lane would need it, without a barrier. */
    {"", STRIDED "y[i] = x[i];", STRIDED "z2[i] = y[i] + y[n - i];", 0, 0},
    {"", STRIDED "y[i] = x[i];", "__syncthreads(); z2[0] = y[n - 1];", 4, 0},
    {"", STRIDED "y[i] = x[i];",
     "for (int i = threadIdx.x; i < n; i += blockDim.x) z2[i] = y[i] + y[n - i]; __syncthreads();",
     0, 0},
    {"", STRIDED "y[i] = x[i];", "if (n > 3) __syncthreads(); z2[0] = y[n - 1];", 0, 0},
    {"", STRIDED "y[i] = x[i];", "for (int r = 0; r < n; r++) __syncthreads(); z2[0] = y[0];", 0,
     0},
    {"", STRIDED "y[i] = x[i];",
     "if (z[0] > k[threadIdx.x]) return; __syncthreads(); z2[0] = y[0];", 0, 0},
    {"", STRIDED "y[i] = x[i];", "y[0] = 1; __syncthreads();", 0, 0},
    {"y[threadIdx.x] = 1;", STRIDED "y[i] = x[i];", "__syncthreads();", 0, 0},
    {"y[threadIdx.x] = 1; __syncthreads();", STRIDED "y[i] = x[i];", "", 4, 0},
    {"z2[threadIdx.x] = 1;", STRIDED "y[i] = x[i] + z2[i];", "__syncthreads();", 0, 0},
    {"__shared__ float l[64];", STRIDED "l[i] = x[i];",
     "y[threadIdx.x] = l[threadIdx.x]; __syncthreads();", 0, 0},
    {"__shared__ float l[2][64]; l[0][threadIdx.x] = 1;", STRIDED "y[i] = x[i] + l[0][i];", "", 0,
     0},
    {"float *p = y + 4;", STRIDED "y[i] = x[i];", "p[threadIdx.x] = 1; __syncthreads();", 0, 0},
    {"float *p = y + 4;", STRIDED "p[i] = x[i];", "y[threadIdx.x] = 1; __syncthreads();", 0, 0},
    {"float *p = y + 4;", STRIDED "p[i] = x[i];", "__syncthreads(); y[threadIdx.x] = 1;", 4, 0},
    {"float *p = y + 4;", STRIDED "p[i] = x[i] + y[i];", "", 0, 0},
    {"float &first = y[0];", STRIDED "y[i] = x[i];", "z2[0] = first; __syncthreads();", 0, 0},
    {"float *p; p = y;", STRIDED "y[i] = x[i];", "__syncthreads(); z2[0] = p[0];", 0, 0},
    {"", STRIDED "y[i] = x[i];", "__syncthreads(); atomicAdd(y, 1);", 0, 0},
    {"", "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) y[i] = x[i];",
     "__syncthreads(); z2[0] = y[0];", 0, 0},
    /* ... or in the next round of a loop around. */
    {"for (int r = 0; r < 9; r++) {", STRIDED "y[i] = x[i];",
     "__syncthreads(); z2[r] = y[n - 1]; __syncthreads(); }", 4, 0},
    {"for (int r = 0; r < 9; r++) {", STRIDED "y[i] = x[i];",
     "__syncthreads(); z2[r] = y[n - 1]; }", 0, 0},
    {"for (int r = 0; r < 9; r++) { __syncthreads();", STRIDED "y[i] = x[i];",
     "z2[r] = y[n - 1]; }", 0, 0},
    {"for (int r = 0; r < 9; r++) {", STRIDED "y[i] = x[i];",
     "if (n) break; __syncthreads(); } z2[0] = y[0];", 0, 0},
    {"for (int r = 0; r < 9; r++)", STRIDED "y[i + 64 * r] += x[i];", "", 0, 0},
    {"for (int r = 0; r < 9; r++)",
     "for (int i = r + threadIdx.x; i < n; i += blockDim.x) y[i] += x[i];", "", 0, 0},
    {"for (int r = 0; r < 9; r++) { __syncthreads();", STRIDED "y[i + 64 * r] += x[i];", "}", 4, 0},
    /* Not all lanes come to the loop, or go round as often. */
    {"int limit = threadIdx.x < 32 ? n : n / 2;",
     "for (int i = threadIdx.x; i < limit; i += blockDim.x) y[i] = x[i];", "", 0, 0},
    {"", "for (int i = threadIdx.x; i < n - (int)threadIdx.x; i += blockDim.x) y[i] = x[i];", "", 0,
     0},
    {"if (threadIdx.x < 32)", STRIDED "y[i] = x[i];", "", 0, 0},
    {"if (threadIdx.x < 32) k[0] = 1; else {", STRIDED "y[i] = x[i];", "}", 0, 0},
    {"if (n > 32)", STRIDED "y[i] = x[i];", "", 4, 0},
    {"if (threadIdx.x >= 32) return;", STRIDED "y[i] = x[i];", "", 0, 0},
    {"if (n < 32) return;", STRIDED "y[i] = x[i];", "if (threadIdx.x) return;", 4, 0},
    {"for (int r = 0; r < threadIdx.x; r++)", STRIDED "y[i] += x[i];", "", 0, 0},
    {"for (int r = 0; r < 9; r++) { if (r > threadIdx.x) continue;", STRIDED "y[i] += x[i];", "}",
     0, 0},
    {"for (int r = 0; r < 9; r++) {", STRIDED "y[i] += x[i];", "if (threadIdx.x > r) break; }", 0,
     0},
    {"for (int r = 0; r < 9; r++) if (r > threadIdx.x) break;", STRIDED "y[i] += x[i];", "", 4, 0},
    {"switch (threadIdx.x) { case 0:", STRIDED "y[i] = x[i];", "}", 0, 0},
    {"if (threadIdx.x > 9) goto end;", STRIDED "y[i] = x[i];", "end:;", 0, 0},
    {"int r = threadIdx.x; while (r-- > 0)", STRIDED "y[i] += x[i];", "", 0, 0},
    /* Nothing is read so, or not in each round, or not as a number. */
    {"", STRIDED "y[i] = 0;", "", 0, 0},
    {"", STRIDED "if (n > 3) y[i] = x[i];", "", 0, 0},
    {"", STRIDED "y[i] = n > 3 ? x[i] : 1;", "", 0, 0},
    {"", STRIDED "y[i] = sizeof(x[i]);", "", 0, 0},
    {"", STRIDED "y[i] = x[i * n];", "", 0, 0},
    {"", STRIDED "y[i] = ((const volatile float *)x)[i];", "", 0, 0},
    {"", STRIDED "for (int j = 0; j < 9; j++) y[i] += x[i];", "", 0, 0},
    {"int x_near = 0;", STRIDED "y[i] = x[i];", "y[0] = x_near;", 0, 0},
    {"int i_k = 0;", STRIDED "y[i] = x[i] + i_k;", "", 0, 0},
};

static void check_loop(size_t index)
{
    rp_autofree char *text = rp_format(
        "#include \"hip_small.h\"\n"
        "enum { STEP = 7 };\n"
        "__device__ float block_index(float), blockReduceSum(float), warp_max(float);\n"
        "__global__ void one(const float *x, const float *z, float *y, float *z2, int *k,\n"
        "                    const char *b, const short *h, const double *d, int n)\n"
        "{\n    %s\n    %s\n    %s\n}\n",
        loops[index].before, loops[index].loop, loops[index].after);
    struct changes changes = changes_of(text, "_Z3onePKfS0_PfS1_PiPKcPKsPKdi");
    const struct rp_source_change *change = NULL;
    rp_autofree char *title = NULL;

    for (size_t i = 0; i < changes.source->change_count && !change; i++)
        if (changes.source->changes[i].kind == RP_CHANGE_WIDE ||
            changes.source->changes[i].kind == RP_CHANGE_WIDE_SUM)
            change = &changes.source->changes[i];
    if (!change != !loops[index].width)
        fail_msg("%s\n%s", loops[index].loop, change ? change->kernel_text : "it stays");
    if (change) {
        title = rp_format("load %u neighbours at once in the loop at line 8", loops[index].width);
        if (strcmp(change->title, title) != 0 || change->workgroup != loops[index].workgroup)
            fail_msg("%s: %s, for workgroups of %u", loops[index].loop, change->title,
                     (unsigned)change->workgroup);
        check_change(&changes, change->kind, 0, "_near[");
    }
    changes_free(&changes);
}

static void a_loop_stays_where_a_lane_must_not_take_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        check_loop(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lane_takes_neighbours),
        cmocka_unit_test(a_loop_stays_where_a_lane_must_not_take_others),
    };

    return cmocka_run_group_tests(tests, sources_begin, scratch_end);
}
