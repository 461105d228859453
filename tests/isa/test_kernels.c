/* Kernels as the compiler makes them, against what the CPU computes. */
#include "kernels_test.h"

#include "arch/arch.h"

#include <math.h>

/* ---- streams ---- */

static void check_vadd(struct fixture *f, int n)
{
    float *a = sim_alloc(&f->sim, n * sizeof *a), *b = sim_alloc(&f->sim, n * sizeof *b),
          *c = sim_alloc(&f->sim, (n + 64) * sizeof *c);
    uint32_t seed = 1;
    for (int i = 0; i < n; i++) {
        a[i] = (float)next_random(&seed) * 1e-3f;
        b[i] = (float)next_random(&seed) * -1e-5f;
    }
    for (int i = 0; i < n + 64; i++)
        c[i] = -1;
    struct {
        float *a, *b, *c;
        int n;
    } args = {a, b, c, n};
    run_ok(f, "vadd", ((unsigned)n + 255) / 256, 256, &args, sizeof args);
    for (int i = 0; i < n; i++)
        assert_true(c[i] == a[i] + b[i]);
    for (int i = n; i < n + 64; i++)
        assert_true(c[i] == -1); /* lanes beyond n are off */
    assert_int_equal(f->sim.counts.write_bytes, 4 * n);
    assert_true(f->sim.counts.read_bytes >= 8u * n);
    assert_int_equal(f->sim.counts.waves, (n + 255) / 256 * 4);
}

static void vadd(void **state)
{
    check_vadd(*state, 1);
    check_vadd(*state, 63);
    check_vadd(*state, 64);
    check_vadd(*state, 1000);
    check_vadd(*state, 4096);
}

static void saxpy_with_tail(void **state)
{
    struct fixture *f = *state;
    int n = 3001;
    float *x = sim_alloc(&f->sim, n * sizeof *x), *y = sim_alloc(&f->sim, n * sizeof *y);
    float *want = malloc(n * sizeof *want);
    for (int i = 0; i < n; i++) {
        x[i] = (float)i * 0.5f;
        y[i] = (float)(i % 17);
        want[i] = fmaf(1.75f, x[i], y[i]); /* the compiler contracts it */
    }
    struct {
        float alpha;
        float *x, *y;
        int n;
    } args = {1.75f, x, y, n};
    run_ok(f, "saxpy", 4, 128, &args, sizeof args);
    assert_memory_equal(y, want, n * sizeof *want);
    free(want);
}

static void narrow_types(void **state)
{
    struct fixture *f = *state;
    int n = 777;
    signed char *a = sim_alloc(&f->sim, n);
    unsigned short *b = sim_alloc(&f->sim, 2 * n);
    short *c = sim_alloc(&f->sim, 2 * n);
    unsigned char *d = sim_alloc(&f->sim, n);
    uint32_t seed = 7;
    for (int i = 0; i < n; i++) {
        a[i] = (signed char)next_random(&seed);
        b[i] = (unsigned short)next_random(&seed);
    }
    struct {
        void *a, *b, *c, *d;
        int n;
    } args = {a, b, c, d, n};
    run_ok(f, "narrow", 4, 256, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        assert_int_equal(c[i], (short)(a[i] * 3 + b[i]));
        assert_int_equal(d[i], (unsigned char)(b[i] >> 4));
    }
}

static void wide_types(void **state)
{
    struct fixture *f = *state;
    int n = 130;
    double(*a)[4] = sim_alloc(&f->sim, n * sizeof *a), (*b)[4] = sim_alloc(&f->sim, n * sizeof *b);
    int32_t(*c)[3] = sim_alloc(&f->sim, n * sizeof *c), (*d)[3] = sim_alloc(&f->sim, n * sizeof *d);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++)
            a[i][k] = i + k * 0.1;
        for (int k = 0; k < 3; k++)
            c[i][k] = i * 10 + k;
    }
    struct {
        void *a, *b, *c, *d;
        int n;
    } args = {a, b, c, d, n};
    run_ok(f, "wide", 2, 128, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++)
            assert_true(b[i][k] == a[i][3 - k]);
        assert_int_equal(d[i][0], c[i][2]);
        assert_int_equal(d[i][1], c[i][0]);
        assert_int_equal(d[i][2], c[i][1]);
    }
}

static void work_item_ids(void **state)
{
    struct fixture *f = *state;
    uint32_t x = 12, y = 10, z = 6;
    uint32_t *out = sim_alloc(&f->sim, x * y * z * 4);
    struct sim_launch l = {.grid = {x, y, z}, .block = {6, 5, 3}, .args = &out, .args_bytes = 8};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "ids"), &l), RP_RUN_DONE);
    for (uint32_t k = 0; k < z; k++)
        for (uint32_t j = 0; j < y; j++)
            for (uint32_t i = 0; i < x; i++)
                assert_int_equal(out[(k * y + j) * x + i], i | j << 10 | k << 20);
}

/* ---- cooperation within a workgroup ---- */

static void lds_reduction(void **state)
{
    struct fixture *f = *state;
    int n = 1900, blocks = 8;
    int32_t *in = sim_alloc(&f->sim, n * 4), *out = sim_alloc(&f->sim, blocks * 4);
    for (int i = 0; i < n; i++)
        in[i] = i * 7 - 1000;
    struct {
        void *in, *out;
        int n;
    } args = {in, out, n};
    run_ok(f, "reduce_lds", blocks, 256, &args, sizeof args);
    for (int b = 0; b < blocks; b++) {
        int32_t want = 0;
        for (int i = b * 256; i < b * 256 + 256 && i < n; i++)
            want += in[i];
        assert_int_equal(out[b], want);
    }
}

static void shuffle_reduction(void **state)
{
    struct fixture *f = *state;
    int n = 5000;
    int32_t *in = sim_alloc(&f->sim, n * 4), *out = sim_alloc(&f->sim, 4), want = 0;
    for (int i = 0; i < n; i++)
        want += in[i] = i * 31 - 12345;
    struct {
        void *in, *out;
        int n;
    } args = {in, out, n};
    run_ok(f, "reduce_shfl", 10, 512, &args, sizeof args);
    assert_int_equal(*out, want);
}

static void tiled_sgemm(void **state)
{
    struct fixture *f = *state;
    int n = 48;
    float *a = sim_alloc(&f->sim, n * n * 4), *b = sim_alloc(&f->sim, n * n * 4),
          *c = sim_alloc(&f->sim, n * n * 4);
    uint32_t seed = 3;
    for (int i = 0; i < n * n; i++) {
        a[i] = (float)(next_random(&seed) % 1000) * 1e-3f;
        b[i] = (float)(next_random(&seed) % 1000) * 1e-3f - 0.5f;
    }
    struct {
        void *a, *b, *c;
        int n;
    } args = {a, b, c, n};
    struct sim_launch l = {
        .grid = {n, n, 1}, .block = {16, 16, 1}, .args = &args, .args_bytes = sizeof args};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "sgemm16"), &l), RP_RUN_DONE);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float want = 0; /* the same order and contraction: exact */
            for (int k = 0; k < n; k++)
                want = fmaf(a[i * n + k], b[k * n + j], want);
            assert_true(fabsf(c[i * n + j] - want) <= 1e-6f * n);
        }
}

/* expf is within 2 ulp on both sides and the order of the sum differs: 1e-5 relative. */
static void softmax_rows(void **state)
{
    struct fixture *f = *state;
    int rows = 3, n = 600;
    float *in = sim_alloc(&f->sim, rows * n * 4), *out = sim_alloc(&f->sim, rows * n * 4);
    uint32_t seed = 5;
    for (int i = 0; i < rows * n; i++)
        in[i] = (float)(next_random(&seed) % 20000) * 1e-3f - 10;
    struct {
        void *in, *out;
        int n;
    } args = {in, out, n};
    run_ok(f, "softmax", rows, 256, &args, sizeof args);
    for (int r = 0; r < rows; r++) {
        double m = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++)
            m = fmax(m, in[r * n + i]);
        for (int i = 0; i < n; i++)
            sum += exp(in[r * n + i] - m);
        for (int i = 0; i < n; i++) {
            double want = exp(in[r * n + i] - m) / sum;
            assert_true(fabs(out[r * n + i] - want) <= 1e-5 * want);
        }
    }
}

static void histogram(void **state)
{
    struct fixture *f = *state;
    int n = 10007;
    uint8_t *in = sim_alloc(&f->sim, n);
    uint32_t *bins = sim_alloc(&f->sim, 256 * 4), want[256] = {0}, seed = 11;
    for (int i = 0; i < n; i++)
        want[in[i] = (uint8_t)(next_random(&seed) % 200)]++;
    struct {
        void *in, *bins;
        int n;
    } args = {in, bins, n};
    run_ok(f, "histogram", 7, 256, &args, sizeof args);
    assert_memory_equal(bins, want, sizeof want);
}

static void transpose(void **state)
{
    struct fixture *f = *state;
    int width = 70, height = 45;
    float *in = sim_alloc(&f->sim, width * height * 4),
          *out = sim_alloc(&f->sim, width * height * 4);
    for (int i = 0; i < width * height; i++)
        in[i] = (float)i;
    struct {
        void *in, *out;
        int width, height;
    } args = {in, out, width, height};
    struct sim_launch l = {
        .grid = {96, 16, 1}, .block = {32, 8, 1}, .args = &args, .args_bytes = sizeof args};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "transpose"), &l), RP_RUN_DONE);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            assert_true(out[x * height + y] == in[y * width + x]);
}

static void lds_atomics(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 6 * 4);
    run_ok(f, "lds_atomics", 1, 192, &out, sizeof out);
    assert_int_equal(out[0], 192);
    assert_int_equal(out[1], 191);
    assert_int_equal(out[2], 0x7fffffff);
    assert_int_equal(out[3], 191 * 192 / 2);
    assert_int_equal(out[4], 192);
    assert_int_equal(out[5], 191 * 192 / 2);
}

static void lds_is_read_before_it_is_reused(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 3 * 256 * 4);
    run_ok(f, "reuse_lds", 1, 256, &out, sizeof out);
    for (int i = 0; i < 3 * 256; i++)
        assert_int_equal(out[i], 2 * (100 * (i / 256)) + 1 + 4);
}

/* ---- memory that is not global ---- */

static void scratch(void **state)
{
    struct fixture *f = *state;
    int n = 200;
    int32_t *in = sim_alloc(&f->sim, n * 4), *out = sim_alloc(&f->sim, n * 4);
    for (int i = 0; i < n; i++)
        in[i] = i * i % 101;
    struct {
        void *in, *out;
        int n;
    } args = {in, out, n};
    run_ok(f, "scratch", 2, 128, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        int a[37], sum = 0;
        for (int k = 0; k < 37; k++)
            a[k] = i * k;
        a[in[i] % 37] += 1000;
        for (int k = 0; k < 37; k++)
            sum += a[(k + in[i]) % 37] ^ k;
        assert_int_equal(out[i], sum);
    }
}

static void flat_pointers(void **state)
{
    struct fixture *f = *state;
    int n = 150;
    int32_t *g = sim_alloc(&f->sim, n * 4), *out = sim_alloc(&f->sim, n * 4);
    for (int i = 0; i < n; i++)
        g[i] = i * 2;
    struct {
        void *g, *out;
        int n;
    } args = {g, out, n};
    run_ok(f, "flat", 3, 64, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        int own = i % 64, shared = 100 + i % 64, global = i * 2;
        int *p = i % 3 == 0 ? &own : i % 3 == 1 ? &shared : &global;
        *p += 5;
        assert_int_equal(out[i], *p * 3 + own * 7 + shared * 11);
        assert_int_equal(g[i], global);
    }
}

static void recursion(void **state)
{
    static const int want[10] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 64 * 4);
    struct sim_launch l = {.grid = {64, 1, 1},
                           .block = {64, 1, 1},
                           .args = &out,
                           .args_bytes = 8,
                           .private_bytes = 2048};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "recursion"), &l), RP_RUN_DONE);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], want[i % 10]);
}

/* ---- arithmetic and atomics ---- */

static void integer_division(void **state)
{
    static const int32_t edge[] = {1, -1, 2, 3, 7, -7, 10, 641, 65535, 65537, INT32_MAX, INT32_MIN};
    struct fixture *f = *state;
    int edges = sizeof edge / sizeof edge[0], n = edges * edges;
    int32_t *a = sim_alloc(&f->sim, n * 4), *b = sim_alloc(&f->sim, n * 4),
            *q = sim_alloc(&f->sim, n * 4), *r = sim_alloc(&f->sim, n * 4);
    uint32_t *uq = sim_alloc(&f->sim, n * 4);
    for (int i = 0; i < n; i++) {
        a[i] = edge[i / edges];
        b[i] = edge[i % edges];
    }
    struct {
        void *a, *b, *q, *r, *uq;
        int n;
    } args = {a, b, q, r, uq, n};
    run_ok(f, "divide", 3, 64, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        assert_int_equal(uq[i], (uint32_t)a[i] / (uint32_t)b[i]);
        if (a[i] == INT32_MIN && b[i] == -1)
            continue; /* undefined in C */
        assert_int_equal(q[i], a[i] / b[i]);
        assert_int_equal(r[i], a[i] % b[i]);
    }
}

static void long_division(void **state)
{
    static const int64_t edge[] = {1,           -1,         3,  10,        1000003,
                                   -4294967297, 4294967295, -9, INT64_MAX, INT64_MIN};
    struct fixture *f = *state;
    int edges = sizeof edge / sizeof edge[0], n = edges * edges;
    int64_t *a = sim_alloc(&f->sim, n * 8), *b = sim_alloc(&f->sim, n * 8),
            *q = sim_alloc(&f->sim, n * 8), *r = sim_alloc(&f->sim, n * 8);
    for (int i = 0; i < n; i++) {
        a[i] = edge[i / edges];
        b[i] = edge[i % edges];
    }
    struct {
        void *a, *b, *q, *r;
        int n;
    } args = {a, b, q, r, n};
    run_ok(f, "divide64", 2, 64, &args, sizeof args);
    for (int i = 0; i < n; i++) {
        if (a[i] == INT64_MIN && b[i] == -1)
            continue;
        assert_true(q[i] == a[i] / b[i]);
        assert_true(r[i] == a[i] % b[i]);
    }
}

static void global_atomics(void **state)
{
    struct fixture *f = *state;
    enum { N = 100 };
    int32_t *i = sim_alloc(&f->sim, 4 * 4);
    uint32_t *u = sim_alloc(&f->sim, (8 + N) * 4);
    uint64_t *l = sim_alloc(&f->sim, 3 * 8);
    float *g = sim_alloc(&f->sim, 4);
    double *d = sim_alloc(&f->sim, 8);
    u[0] = ~0u;
    struct {
        void *i, *u, *l, *f, *d;
    } args = {i, u, l, g, d};
    run_ok(f, "atomics", 2, N / 2, &args, sizeof args);
    uint32_t all_xor = 0, inc = 0, dec = 0;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < N; t++) {
        all_xor ^= t;
        sum += (uint64_t)t << 32;
        inc = inc >= 9 ? 0 : inc + 1;
        dec = dec == 0 || dec > 9 ? 9 : dec - 1;
    }
    assert_int_equal(i[0], N * (N - 1) / 2);
    assert_int_equal(i[1], -N * (N - 1) / 2);
    assert_int_equal(i[2], -(N - 1));
    assert_int_equal(i[3], N - 1);
    assert_int_equal(u[0], 0);
    assert_int_equal(u[1], ~0u);
    assert_int_equal(u[2], all_xor);
    assert_int_equal(u[3], inc);
    assert_int_equal(u[4], dec);
    assert_true(l[0] == sum);
    assert_true(l[1] == (uint64_t)(N - 1) << 20);
    assert_true(l[2] == 3 * N);
    assert_true(*g == 0.25f * N);
    assert_true(*d == 0.125 * N);
    /* The exchanged values form a chain: each value but the last was returned exactly once. */
    bool seen[N + 1] = {0};
    for (int t = 0; t < N; t++) {
        assert_true(u[8 + t] <= N && !seen[u[8 + t]]);
        seen[u[8 + t]] = true;
    }
    assert_false(seen[u[5]]);
}

/* ---- forms the compiler seldom picks by itself ---- */

static void buffer_bounds(void **state)
{
    struct fixture *f = *state;
    enum { N = 101, LANES = 64 }; /* 25 whole vectors of 4 dwords and one dword */
    int32_t *in = sim_alloc(&f->sim, LANES * 16), *out = sim_alloc(&f->sim, LANES * 16);
    for (int i = 0; i < LANES * 4; i++) {
        in[i] = i * 3;
        out[i] = -1;
    }
    struct {
        void *in, *out;
        int n;
    } args = {in, out, N};
    run_ok(f, "raw_buffer", 1, LANES, &args, sizeof args);
    for (int i = 0; i < LANES * 4; i++)
        assert_int_equal(out[i], i < N ? i * 3 + 1 : -1);
}

static void load_to_lds(void **state)
{
    struct fixture *f = *state;
    float *in = sim_alloc(&f->sim, 256 * 4), *out = sim_alloc(&f->sim, 256 * 4);
    for (int i = 0; i < 256; i++)
        in[i] = (float)i;
    void *args[] = {in, out};
    run_ok(f, "load_to_lds", 1, 256, args, sizeof args);
    for (int i = 0; i < 256; i++)
        assert_true(out[i] == (float)(255 - i));
}

static void permutes(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 384 * 4);
    run_ok(f, "permutes", 1, 64, &out, sizeof out);
    for (int t = 0; t < 64; t++) {
        assert_int_equal(out[t], 1000 + (t ^ 1));
        assert_int_equal(out[64 + t], 1000 + (t ^ 3));
        assert_int_equal(out[128 + t], 1000 + ((t & 32) | ((t + 3) & 31)));
        assert_int_equal(out[192 + t], 1000 + 63 - t);
        assert_int_equal(out[256 + t], 1000 + ((t - 5) & 63));
        assert_int_equal(out[320 + t], 0);
    }
}

static void packed_atomic(void **state)
{
    struct fixture *f = *state;
    uint32_t *p = sim_alloc(&f->sim, 4);
    *p = 0x3c003800; /* 0.5, 1.0 */
    run_ok(f, "packed_atomic", 1, 8, &p, sizeof p);
    assert_int_equal(*p, 0xcb804840); /* 0.5 + 8 = 8.5, 1.0 - 16 = -15 */
}

static void uneven_grid(void **state)
{
    struct fixture *f = *state;
    enum { N = 48 + 20 };
    uint32_t *out = sim_alloc(&f->sim, 96 * 4);
    struct sim_launch l = {.grid = {N, 1, 1}, .block = {48, 1, 1}, .args = &out, .args_bytes = 8};
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, "uneven"), &l), RP_RUN_DONE);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(out[i], i < 48 ? i + 48000 : i < N ? i + 20000 : 0);
}

/* ---- waiting for others ---- */

static void check_lookback(struct fixture *f, int blocks, int reverse)
{
    int32_t *flag = sim_alloc(&f->sim, blocks * 4);
    struct {
        void *flag;
        int reverse;
    } args = {flag, reverse};
    f->sim.instruction_limit = 100000000;
    run_ok(f, "lookback", blocks, 64, &args, sizeof args);
    for (int i = 0; i < blocks; i++)
        assert_int_equal(flag[i], i + 1);
}

static void workgroups_wait(void **state)
{
    check_lookback(*state, 2, 0);
    check_lookback(*state, 2, 1);
    check_lookback(*state, 50, 0);
    check_lookback(*state, 50, 1);
}

static void waves_wait(void **state)
{
    struct fixture *f = *state;
    int32_t *out = sim_alloc(&f->sim, 8 * 4);
    f->sim.instruction_limit = 10000000;
    run_ok(f, "chain", 1, 512, &out, sizeof out);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], 7 - i);
}

static void clocks_advance(void **state)
{
    struct fixture *f = *state;
    uint64_t *out = sim_alloc(&f->sim, 64 * 16);
    f->sim.instruction_limit = 1000000;
    run_ok(f, "clocks", 1, 64, &out, sizeof out);
    assert_in_range(out[0], 100, 200);
    /* 2100 MHz against 100 on an MI300X, 1700 against 25 on an MI250X. */
    const uint64_t ratio = strcmp(f->sim.arch->name, "gfx90a") == 0 ? 68 : 21;
    assert_in_range(out[1], 100 * ratio, 200 * ratio);
}

static void set_flag(struct sim *s, void *flag)
{
    (void)s;
    *(int32_t *)flag = 42;
}

/* A kernel that waits for the host gives control back long before its budget is used up. */
static void host_is_waited_for(void **state)
{
    struct fixture *f = *state;
    int32_t *flag = sim_alloc(&f->sim, 4), *out = sim_alloc(&f->sim, 256 * 4);
    void *args[] = {flag, out};
    f->sim.budget = 1ull << 40;
    f->sim.between = set_flag;
    f->sim.between_arg = flag;
    run_ok(f, "wait_flag", 4, 64, args, sizeof args);
    assert_int_equal(out[63], 42);
    assert_true(f->sim.counts.wave_insts < 100000);
}

struct late_flag {
    int32_t *flag;
    unsigned calls_left;
};

static void set_flag_late(struct sim *s, void *arg)
{
    struct late_flag *late = arg;
    (void)s;
    if (late->calls_left && !--late->calls_left)
        *late->flag = 42;
}

static struct rp_counts counts_of_wait(struct fixture *f, const char *kernel, unsigned calls)
{
    struct late_flag late = {sim_alloc(&f->sim, 4), calls};
    int32_t *out = sim_alloc(&f->sim, 256 * 4);
    void *args[] = {late.flag, out};
    f->sim.between = set_flag_late;
    f->sim.between_arg = &late;
    run_ok(f, kernel, 2, 256, args, sizeof args);
    assert_int_equal(late.calls_left, 0);
    assert_int_equal(out[255], 42);
    return f->sim.counts;
}

/* However long the host takes, and however the budget cuts it, waiting costs the same. */
static void waiting_takes_no_time(void **state)
{
    static const char *const kernels[] = {"wait_flag", "sleep_flag", "atomic_flag"};
    struct fixture *f = *state;
    for (unsigned k = 0; k < 3; k++) {
        f->sim.budget = 1 << 17;
        struct rp_counts first = counts_of_wait(f, kernels[k], 1);
        assert_true(first.wave_insts < 1000);
        assert_int_equal(first.waves, 8);
        for (unsigned calls = 2; calls < 2000; calls *= 3) {
            struct rp_counts later = counts_of_wait(f, kernels[k], calls);
            assert_memory_equal(&first, &later, sizeof first);
        }
        f->sim.budget = 997;
        struct rp_counts later = counts_of_wait(f, kernels[k], 50);
        assert_memory_equal(&first, &later, sizeof first);
    }
}

static void work_between_polls_counts(void **state)
{
    struct fixture *f = *state;
    int32_t *in = sim_alloc(&f->sim, 4), *out = sim_alloc(&f->sim, 64 * 4);
    struct {
        void *in, *out;
        int n;
    } args = {in, out, 1000};
    *in = 1;
    run_ok(f, "volatile_sum", 1, 64, &args, sizeof args);
    /* every load, the kernel's arguments aside */
    assert_in_range(f->sim.counts.read_bytes, 1000 * 64 * 4, 1000 * 64 * 4 + 256);
    *in = 0; /* the sum no longer changes, but the loop counter does */
    run_ok(f, "volatile_sum", 1, 64, &args, sizeof args);
    assert_in_range(f->sim.counts.read_bytes, 1000 * 64 * 4, 1000 * 64 * 4 + 256);
}

/* An atomic reads and writes its word. */
static void atomics_are_traffic(void **state)
{
    struct fixture *f = *state;
    int32_t *p = sim_alloc(&f->sim, 64 * 4);
    run_ok(f, "one_atomic", 1, 64, &p, sizeof p);
    assert_int_equal(f->sim.counts.write_bytes, 64 * 4);
    assert_in_range(f->sim.counts.read_bytes, 64 * 4, 64 * 4 + 64);
    run_ok(f, "one_atomic", 1, 5, &p, sizeof p);
    assert_int_equal(f->sim.counts.write_bytes, 5 * 4);
}

/* ---- arithmetic of many kinds ---- */

/* To f16 and back, nearest even: what is dropped is at most half of the last place kept. */
static float as_half(double v)
{
    int exponent;
    frexp(v, &exponent);
    double place = ldexp(1, exponent < -13 ? -24 : exponent - 11);
    return (float)(nearbyint(v / place) * place);
}

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The kernel of that name, one work-item; in float and double this file fuses nothing. */
static uint32_t mixed_item(uint32_t t, float x, int n)
{
    uint32_t random = t * 2654435761u + 12345, bits = t;
    int32_t k = t & 255, steps = 0;
    float a = (float)t * 0.001f, b = 1, c = x, low = 3, high = 0, h = 1;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        float f = (float)(random >> 8) * 0x1p-24f;
        a = fmaf(a, x, f);
        b = fmaf(b, -0.5f, a * f);
        c = (c + b) * 0.25f - f;
        a = fmaf(c, 0.125f, a);
        low = fminf(low, fabsf(c) + b);
        high = fmaxf(high, fmaf(f, f, a));
        k += f < 0.5f ? (int32_t)(f * 100) : 3 - (k >> 2);
        bits = (bits << 5 | bits >> 27) ^ ((random & 0xff00) + (uint32_t)k);
        bits += (random & 0xffffff) * (bits & 0xffffff);
        b = bits & 1u << (i & 31) ? b * 0.5f : b + 0.75f;
        if (k > 400) {
            k -= i & 0x3f;
            steps++;
        }
        c = c > 2 ? 2 : c;
        if (random < 1u << 23)
            c = a / (high + 1.5f);
        if (i % 8 == 3) {
            sum += (double)a * 0.5;
            h = as_half((double)as_half((double)h * 0.75) + (double)as_half((double)f));
        }
    }
    uint32_t words[7] = {bits_of(a), bits_of(b), bits_of(c), bits_of(low), bits_of(high)}, all = 0;
    memcpy(words + 5, &sum, sizeof sum);
    for (int i = 0; i < 7; i++)
        all = (all ^ words[i]) * 0x9e3779b1u;
    return ((all ^ bits) * 31 + bits_of(h)) * 31 + (uint32_t)(k * 7 + steps);
}

static void mixed_arithmetic(void **state)
{
    struct fixture *f = *state;
    enum { ITEMS = 4 * 256, ROUNDS = 200 };
    struct {
        uint32_t *out;
        float x;
        int n;
    } args = {sim_alloc(&f->sim, ITEMS * 4), 0.75f, ROUNDS};
    run_ok(f, "mixed", 4, 256, &args, sizeof args);
    for (uint32_t t = 0; t < ITEMS; t++)
        assert_int_equal(args.out[t], mixed_item(t, args.x, ROUNDS));
}

/* ---- determinism ---- */

static void budgets_do_not_matter(void **state)
{
    struct fixture *f = *state;
    struct rp_counts first = {0};
    static const uint64_t budgets[] = {1000000, 1, 777, 4097};
    for (unsigned k = 0; k < sizeof budgets / sizeof budgets[0]; k++) {
        f->sim.budget = budgets[k];
        check_lookback(f, 6, 1);
        if (!k)
            first = f->sim.counts;
        assert_memory_equal(&f->sim.counts, &first, sizeof first);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(vadd),
        TEST(saxpy_with_tail),
        TEST(narrow_types),
        TEST(wide_types),
        TEST(work_item_ids),
        TEST(lds_reduction),
        TEST(shuffle_reduction),
        TEST(tiled_sgemm),
        TEST(softmax_rows),
        TEST(histogram),
        TEST(transpose),
        TEST(lds_atomics),
        TEST(lds_is_read_before_it_is_reused),
        TEST(scratch),
        TEST(flat_pointers),
        TEST(recursion),
        TEST(mixed_arithmetic),
        TEST(integer_division),
        TEST(long_division),
        TEST(global_atomics),
        TEST(buffer_bounds),
        TEST(load_to_lds),
        TEST(permutes),
        TEST(packed_atomic),
        TEST(uneven_grid),
        TEST(workgroups_wait),
        TEST(waves_wait),
        TEST(clocks_advance),
        TEST(host_is_waited_for),
        TEST(waiting_takes_no_time),
        TEST(work_between_polls_counts),
        TEST(atomics_are_traffic),
        TEST(budgets_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
