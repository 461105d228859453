/* Matrix products of the compiler's MFMA builtins against loops on the CPU. All values are small
 * integers, so that every sum is exact whatever its order. */
#include "kernels_test.h"

enum { N = 64 };

static uint32_t seed = 5;
static int32_t a[256][256], b[256][256]; /* B by columns: b[column][k] */

static void fill(void)
{
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 256; k++) {
            a[i][k] = (int32_t)(next_random(&seed) % 17) - 8;
            b[i][k] = (int32_t)(next_random(&seed) % 17) - 8;
        }
}

static int64_t expected(int n, int i, int j)
{
    int64_t sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[i][k] * b[j][k];
    return sum;
}

/* Bits of a small integer, from -8 to 8, in each type. */
static uint16_t half_of(int32_t v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return v ? (uint16_t)((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13) : 0;
}

static uint16_t bf16_of(int32_t v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (uint16_t)(bits >> 16);
}

/* FNUZ: bias 8, three bits of mantissa. */
static uint8_t fp8_of(int32_t v)
{
    static const uint8_t of[9] = {0, 0x40, 0x48, 0x4c, 0x50, 0x52, 0x54, 0x56, 0x58};
    return (uint8_t)(v < 0 ? 0x80 | of[-v] : of[v]);
}

static void put(void *to, const char *type, int32_t v)
{
    if (!strcmp(type, "f16"))
        memcpy(to, &(uint16_t){half_of(v)}, 2);
    else if (!strcmp(type, "bf16"))
        memcpy(to, &(uint16_t){bf16_of(v)}, 2);
    else if (!strcmp(type, "f32"))
        memcpy(to, &(float){(float)v}, 4);
    else if (!strcmp(type, "f64"))
        memcpy(to, &(double){v}, 8);
    else if (!strcmp(type, "fp8"))
        *(uint8_t *)to = fp8_of(v);
    else
        *(int8_t *)to = (int8_t)v;
}

/* How C comes out: f32, but for i8 and f64. */
static double get(const void *c, const char *type, int at)
{
    if (!strcmp(type, "f64"))
        return ((const double *)c)[at];
    return !strcmp(type, "i8") ? ((const int32_t *)c)[at] : (double)((const float *)c)[at];
}

static void product(struct fixture *f, const char *kernel, const char *type, size_t bytes, int n,
                    uint32_t blocks, uint32_t threads)
{
    uint8_t *pa = sim_alloc(&f->sim, (size_t)n * n * bytes);
    uint8_t *pb = sim_alloc(&f->sim, (size_t)n * n * bytes);
    void *c = sim_alloc(&f->sim, (size_t)n * n * 8);
    struct {
        void *a, *b, *c;
        int n;
    } args = {pa, pb, c, n};
    fill();
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            put(pa + (i * n + k) * bytes, type, a[i][k]);
            put(pb + (i * n + k) * bytes, type, b[i][k]);
        }
    run_ok(f, kernel, blocks, threads, &args, sizeof args);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (get(c, type, i * n + j) != (double)expected(n, i, j))
                fail_msg("%s: c[%d][%d] = %g, expected %g", kernel, i, j, get(c, type, i * n + j),
                         (double)expected(n, i, j));
}

static void gemm(void **state)
{
    product(*state, "gemm_f16", "f16", 2, 128, 1, 256);
    product(*state, "gemm_f16", "f16", 2, 256, 4, 256);
}

static void tiles(void **state)
{
    const uint32_t blocks = N / 16 * (N / 16);
    product(*state, "tiles_bf16", "bf16", 2, N, blocks, 64);
    product(*state, "tiles_f32", "f32", 4, N, blocks, 64);
    product(*state, "tiles_i8", "i8", 1, N, blocks, 64);
    product(*state, "tiles_fp8", "fp8", 1, N, blocks, 64);
    product(*state, "tiles_f64", "f64", 8, N, blocks, 64);
}

static void sparse(void **state)
{
    struct fixture *f = *state;
    uint16_t(*pa)[16] = sim_alloc(&f->sim, 16 * 16 * 2), (*pb)[32] = sim_alloc(&f->sim, 1024);
    int32_t *index = sim_alloc(&f->sim, 64 * 4);
    float(*c)[16] = sim_alloc(&f->sim, 16 * 16 * 4);
    int32_t dense[16][32] = {0}; /* A with its zeros */
    fill();
    for (int i = 0; i < 16; i++)
        for (int four = 0; four < 8; four++) {
            const int first = (int)(next_random(&seed) % 3);
            const int second = first + 1 + (int)(next_random(&seed) % (3 - (unsigned)first));
            dense[i][4 * four + first] = a[i][2 * four];
            dense[i][4 * four + second] = a[i][2 * four + 1];
            pa[i][2 * four] = half_of(a[i][2 * four]);
            pa[i][2 * four + 1] = half_of(a[i][2 * four + 1]);
            index[i + 16 * (four / 2)] |= (first | second << 2) << (four % 2 * 4);
        }
    for (int j = 0; j < 16; j++)
        for (int k = 0; k < 32; k++)
            pb[j][k] = half_of(b[j][k]);
    struct {
        void *a, *b, *index, *c;
    } args = {pa, pb, index, c};
    run_ok(f, "sparse_f16", 1, 64, &args, sizeof args);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int32_t sum = 0;
            for (int k = 0; k < 32; k++)
                sum += dense[i][k] * b[j][k];
            assert_true(c[i][j] == (float)sum);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gemm, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles, setup, teardown),
        cmocka_unit_test_setup_teardown(sparse, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
