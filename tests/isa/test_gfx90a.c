/* What is gfx90a's own, on the executor with gfx90a's data, against loops on the CPU. */
#include "kernels_test.h"

static uint32_t seed = 11;
static int32_t a[64][64], b[64][64]; /* B by columns: b[column][k] */

static void fill(void)
{
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 64; k++) {
            a[i][k] = (int32_t)(next_random(&seed) % 17) - 8;
            b[i][k] = (int32_t)(next_random(&seed) % 17) - 8;
        }
}

/* Small integers, so that every sum is exact. */
static void put(void *to, size_t at, char type, int32_t v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (type == 'b')
        ((uint16_t *)to)[at] = (uint16_t)(bits >> 16);
    else if (type == 'd')
        ((double *)to)[at] = v;
    else
        ((int8_t *)to)[at] = (int8_t)v;
}

static double get(const void *c, char type, int at)
{
    if (type == 'd')
        return ((const double *)c)[at];
    return type == 'i' ? ((const int32_t *)c)[at] : (double)((const float *)c)[at];
}

/* @p blocks products of m x k and k x m matrices, below each other in memory. */
static void product(struct fixture *f, const char *kernel, char type, int m, int blocks)
{
    enum { K = 32 };
    const int rows = m * blocks;
    void *pa = sim_alloc(&f->sim, 64 * K * 8), *pb = sim_alloc(&f->sim, 64 * K * 8);
    void *c = sim_alloc(&f->sim, 64 * 64 * 8);
    struct {
        void *a, *b, *c;
        int n;
    } args = {pa, pb, c, K};
    fill();
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < K; k++) {
            put(pa, (size_t)(i * K + k), type, a[i][k]);
            put(pb, (size_t)(i * K + k), type, b[i][k]);
        }
    run_ok(f, kernel, 1, 64, &args, sizeof args);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < m; j++) {
            int32_t sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i][k] * b[i / m * m + j][k];
            if (get(c, type, i * m + j) != (double)sum)
                fail_msg("%s: c[%d][%d] = %g, expected %d", kernel, i, j, get(c, type, i * m + j),
                         sum);
        }
}

static void matrices(void **state)
{
    product(*state, "bf16_16", 'b', 16, 1);
    product(*state, "bf16_32", 'b', 32, 1);
    product(*state, "bf16_1k_16", 'b', 16, 1);
    product(*state, "bf16_1k_32", 'b', 32, 1);
    product(*state, "i8_16", 'i', 16, 1);
    product(*state, "i8_32", 'i', 32, 1);
    product(*state, "f64_16", 'd', 16, 1);
    product(*state, "bf16_two_blocks", 'b', 32, 2);
}

/* ---- private memory ---- */

struct mixed {
    uint8_t byte;
    int16_t half;
    int32_t word;
    double wide;
};

static uint32_t fold(const uint8_t *p, int bytes)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

/* What the kernel does, for one work-item. */
static uint32_t arrays_of(int t, int n)
{
    struct mixed m[9] = {{0}};
    uint8_t bytes[37];
    for (int i = 0; i < n; i++)
        m[(i * 5 + t) % 9] =
            (struct mixed){(uint8_t)(t + i), (int16_t)(t * i - 7), t * 1000 + i, t + i * 0.5};
    for (int i = 0; i < 37; i++)
        bytes[(i * 11 + t) % 37] = (uint8_t)(i * t);
    uint32_t sum = t % 3 ? fold(bytes, 37) : fold(bytes + t % 5, 30);
    for (int i = 0; i < n; i++) {
        const struct mixed *e = &m[(i + 2 * t) % 9];
        sum = sum * 31 + e->byte + (uint32_t)e->half * 3 + (uint32_t)e->word * 5 +
              (uint32_t)(e->wide * 2);
    }
    return sum;
}

static void private_arrays(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 3, THREADS = 150, N = 20 }; /* the last wave is partly empty */
    uint32_t *out = sim_alloc(&f->sim, BLOCKS * THREADS * 4);
    struct {
        void *out;
        int n;
    } args = {out, N};
    run_ok(f, "private_arrays", BLOCKS, THREADS, &args, sizeof args);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(out[i], arrays_of(i % THREADS, N));
}

static int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static enum rp_run_state recurse(struct fixture *f, int32_t *out, uint32_t private_bytes)
{
    struct sim_launch l = {.grid = {64, 1, 1},
                           .block = {64, 1, 1},
                           .args = &out,
                           .args_bytes = 8,
                           .private_bytes = private_bytes};
    return sim_run(&f->sim, sim_kernel(&f->code, "recursive"), &l);
}

static void stack(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 64 * 4);
    assert_int_equal(recurse(f, out, 8192), RP_RUN_DONE);
    for (int t = 0; t < 64; t++)
        assert_int_equal(out[t], ackermann(t % 3, t % 5));
}

/* Beyond the lane's part there is nothing, although the next wave's part follows in memory. */
static void stack_overflow(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 64 * 4);
    assert_int_equal(recurse(f, out, 128), RP_RUN_FAULT);
    assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
    assert_non_null(strstr(f->sim.fault.text, "buffer_store_dword"));
    assert_non_null(strstr(f->sim.fault.text, "outside the private segment"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(matrices, setup, teardown),
        cmocka_unit_test_setup_teardown(private_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(stack, setup, teardown),
        cmocka_unit_test_setup_teardown(stack_overflow, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
