/* Whatever the number of threads: the same memory, counts, modelled time and fault. */
#include "kernels_test.h"

#include <time.h>

#include "arch/arch.h"
#include "device/timing/timing_model.h"

enum { SMALL = 1 << 10 };

#ifdef __SANITIZE_THREAD__
/*
 * gfx90a has no mark on stores that other workgroups wait for, so the device makes them like any
 * other (store_gate, of this target alone), as one write of four bytes, while workgroups in turn
 * look: the program's race, not the device's. The same kernels run for gfx942 without this.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:^store_gate$\n";
}
#endif

/* A launch and the memory it may write. */
struct run {
    const char *kernel;
    uint32_t blocks, threads;
    const void *args;
    size_t args_bytes;
    void *memory[4];
    size_t bytes[4];
    enum rp_run_state expected;
    bool counts_vary;
};

struct outcome {
    uint8_t *memory;
    struct rp_counts counts;
    struct rp_fault fault;
};

static size_t total_bytes(const struct run *r)
{
    return r->bytes[0] + r->bytes[1] + r->bytes[2] + r->bytes[3];
}

static void copy_out(const struct run *r, uint8_t *to)
{
    for (unsigned i = 0; i < 4; to += r->bytes[i], i++)
        if (r->bytes[i])
            memcpy(to, r->memory[i], r->bytes[i]);
}

static void copy_in(const struct run *r, const uint8_t *from)
{
    for (unsigned i = 0; i < 4; from += r->bytes[i], i++)
        if (r->bytes[i])
            memcpy(r->memory[i], from, r->bytes[i]);
}

static void run_with(struct fixture *f, const struct run *r, unsigned threads, struct outcome *ret)
{
    rp_exec_set_threads(threads);
    rp_exec_set_help_after(0);
    enum rp_run_state state = launch(f, r->kernel, r->blocks, r->threads, r->args, r->args_bytes);
    if (state != r->expected)
        fail_msg("%s with %u threads: state %d, %s", r->kernel, threads, state, f->sim.fault.text);
    ret->counts = f->sim.counts;
    ret->fault = f->sim.fault;
    copy_out(r, ret->memory);
}

static void same_fault(const struct rp_fault *a, const struct rp_fault *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->pc, b->pc);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->lane, b->lane);
    assert_string_equal(a->text, b->text);
}

/* One thread, then more, again and again; leaves memory as the last run made it. */
static void same_with_any_threads(struct fixture *f, const struct run *r)
{
    static const unsigned threads[] = {2, 4, 3, 2, 4, 2, 1, 2};
    static const uint64_t budgets[] = {0, 1 << 18, 0, 20000, 0, 1 << 17};
    const char *text = getenv("RP_THREADS_RUNS"); /* fewer under ThreadSanitizer */
    unsigned runs = text ? (unsigned)atoi(text) : 24;
    size_t bytes = total_bytes(r);
    uint8_t *before = malloc(bytes);
    struct outcome first = {.memory = malloc(bytes)}, other = {.memory = malloc(bytes)};
    copy_out(r, before);
    f->sim.budget = 0;
    run_with(f, r, 1, &first);
    for (unsigned i = 0; i < runs; i++) {
        copy_in(r, before);
        f->sim.budget = budgets[i % (sizeof budgets / sizeof budgets[0])];
        run_with(f, r, threads[i % 8], &other);
        if (r->expected == RP_RUN_DONE)
            assert_memory_equal(first.memory, other.memory, bytes);
        if (!r->counts_vary) {
            assert_memory_equal(&first.counts, &other.counts, sizeof first.counts);
            assert_int_equal(rp_timing_dispatch_ticks(f->sim.arch, &first.counts),
                             rp_timing_dispatch_ticks(f->sim.arch, &other.counts));
        }
        same_fault(&first.fault, &other.fault);
    }
    free(before);
    free(first.memory);
    free(other.memory);
}

/* gfx90a's atomic stores look like others: nothing says when in the sequence they happen. */
static bool stores_are_plain(const struct fixture *f)
{
    return strcmp(f->sim.arch->name, "gfx90a") == 0;
}

static float *random_floats(struct fixture *f, int n)
{
    uint32_t seed = 7;
    float *p = sim_alloc(&f->sim, (size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = (float)next_random(&seed) * 1e-3f;
    return p;
}

static void float_sums(void **state)
{
    struct fixture *f = *state;
    enum { N = 60 * SMALL };
    struct {
        float *in, *sum;
        int n;
    } args = {random_floats(f, N), sim_alloc(&f->sim, 7 * 4), N};
    struct run r = {.kernel = "float_sum",
                    .blocks = N / 256,
                    .threads = 256,
                    .args = &args,
                    .args_bytes = sizeof args,
                    .memory = {args.sum},
                    .bytes = {28},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    double sum = 0, expected = 0;
    for (int i = 0; i < 7; i++)
        sum += args.sum[i];
    for (int i = 0; i < N; i++)
        expected += args.in[i];
    assert_true(sum > expected * 0.999 && sum < expected * 1.001);
}

static int64_t process_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What a dispatch costs is the work of the busiest thread: neither nothing, when others have done
 * it, nor the sum of all. */
static void busy_time_is_one_threads(void **state)
{
    struct fixture *f = *state;
    enum { N = 240 * SMALL };
    struct {
        float *in, *sum;
        int n;
    } args = {random_floats(f, N), sim_alloc(&f->sim, 7 * 4), N};
    f->sim.budget = 20000;
    for (unsigned threads = 1; threads <= 3; threads++) {
        rp_exec_set_threads(threads);
        rp_exec_set_help_after(0);
        int64_t begin_ns = process_ns();
        assert_int_equal(launch(f, "float_sum", N / 256, 256, &args, sizeof args), RP_RUN_DONE);
        int64_t all_ns = process_ns() - begin_ns;
        assert_in_range(f->sim.busy_ns, threads == 1 ? all_ns / 4 : 1, all_ns);
    }
    f->sim.budget = 0;
}

static void float_results(void **state)
{
    struct fixture *f = *state;
    enum { N = 16 * SMALL };
    struct {
        float *in, *sum, *found;
        int n;
    } args = {random_floats(f, N), sim_alloc(&f->sim, 12), sim_alloc(&f->sim, N * 4), N};
    struct run r = {.kernel = "float_found",
                    .blocks = N / 128,
                    .threads = 128,
                    .args = &args,
                    .args_bytes = sizeof args,
                    .memory = {args.sum, args.found},
                    .bytes = {12, N * 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
}

/* A load finds what the same work-item's atomics did, whether they are late or not. */
static void own_atomics_seen(void **state)
{
    struct fixture *f = *state;
    enum { N = 40 * SMALL };
    int *args[] = {sim_alloc(&f->sim, N * 4), sim_alloc(&f->sim, N * 4)};
    struct run r = {.kernel = "own_atomics",
                    .blocks = N / 256,
                    .threads = 256,
                    .args = args,
                    .args_bytes = sizeof args,
                    .memory = {args[0], args[1]},
                    .bytes = {N * 4, N * 4},
                    .expected = RP_RUN_DONE};
    for (int i = 0; i < N; i++)
        args[0][i] = -i % 100;
    same_with_any_threads(f, &r);
    for (int i = 0; i < N; i++) {
        int v = -i % 100 + i;
        v = v < 17 ? 17 : v;
        assert_int_equal(args[1][i], v * 2);
        assert_int_equal(args[0][i], (v ^ 5) + 1);
    }
}

static uint32_t work(uint32_t seed, int turns)
{
    for (int i = 0; i < turns; i++)
        seed = seed * 1664525u + 1013904223u + (seed >> 7);
    return seed;
}

static void tickets(void **state)
{
    struct fixture *f = *state;
    enum { N = 300 };
    struct {
        uint32_t *next, *out, *who;
        int n;
    } args = {sim_alloc(&f->sim, 4), sim_alloc(&f->sim, N * 64 * 4), sim_alloc(&f->sim, N * 4), N};
    struct run r = {.kernel = "tickets",
                    .blocks = 90,
                    .threads = 64,
                    .args = &args,
                    .args_bytes = sizeof args,
                    .memory = {args.next, args.out, args.who},
                    .bytes = {4, N * 64 * 4, N * 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    assert_int_equal(*args.next, N + 90);
    for (unsigned i = 0; i < N * 64; i++)
        assert_int_equal(args.out[i], work(i, i / 64 % 5 ? 10 : 2000));
}

static void uneven_work(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 400 };
    uint32_t *out = sim_alloc(&f->sim, BLOCKS * 64 * 4);
    struct run r = {.kernel = "uneven_work",
                    .blocks = BLOCKS,
                    .threads = 64,
                    .args = &out,
                    .args_bytes = sizeof out,
                    .memory = {out},
                    .bytes = {BLOCKS * 64 * 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    for (uint32_t i = 0; i < BLOCKS * 64; i++) {
        uint32_t b = i / 64, turns = b % 16 == 0 ? 5000 : b % 7 * 20;
        assert_int_equal(out[i], b % 3 == 1 ? 0 : work(i, (int)turns));
    }
}

static void grid_barriers(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 200, N = BLOCKS * 128, ROUNDS = 4 };
    struct {
        uint32_t *arrived, *a, *b;
        int rounds;
    } args = {sim_alloc(&f->sim, 4), sim_alloc(&f->sim, N * 4), sim_alloc(&f->sim, N * 4), ROUNDS};
    static uint32_t a[N], b[N];
    for (uint32_t i = 0; i < N; i++)
        args.a[i] = a[i] = i * i;
    for (uint32_t k = 0; k < ROUNDS; k++) {
        for (uint32_t i = 0; i < N; i++)
            b[i] = a[(i * 7 + k) % N] * 3 + i;
        for (uint32_t i = 0; i < N; i++)
            a[i] = b[(i * 5 + 1) % N] ^ k;
    }
    struct run r = {.kernel = "grid_barrier",
                    .blocks = BLOCKS,
                    .threads = 128,
                    .args = &args,
                    .args_bytes = sizeof args,
                    .memory = {args.arrived, args.a, args.b},
                    .bytes = {4, N * 4, N * 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    assert_memory_equal(args.a, a, sizeof a);
}

static void look_back(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 150, N = BLOCKS * 256 };
    uint32_t *in = sim_alloc(&f->sim, N * 4), *out = sim_alloc(&f->sim, N * 4), sum = 0;
    uint64_t *flags = sim_alloc(&f->sim, BLOCKS * 8);
    void *args[] = {in, out, flags};
    for (uint32_t i = 0; i < N; i++)
        in[i] = i * 2654435761u >> 20;
    struct run r = {.kernel = "scan",
                    .blocks = BLOCKS,
                    .threads = 256,
                    .args = args,
                    .args_bytes = sizeof args,
                    .memory = {out, flags},
                    .bytes = {N * 4, BLOCKS * 8},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(out[i], sum += in[i]);
}

static void spin_lock(void **state)
{
    struct fixture *f = *state;
    int32_t *lock = sim_alloc(&f->sim, 4);
    uint32_t *value = sim_alloc(&f->sim, 4);
    void *args[] = {lock, value};
    struct run r = {.kernel = "locked",
                    .blocks = 300,
                    .threads = 64,
                    .args = args,
                    .args_bytes = sizeof args,
                    .memory = {lock, value},
                    .bytes = {4, 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    assert_int_equal(*lock, 0);
    assert_int_not_equal(*value, 0);
}

static void last_block(void **state)
{
    struct fixture *f = *state;
    enum { N = 64 * 64 };
    void *args[] = {random_floats(f, N), sim_alloc(&f->sim, N * 4), sim_alloc(&f->sim, 4),
                    sim_alloc(&f->sim, 4)};
    struct run r = {.kernel = "last_block",
                    .blocks = 64,
                    .threads = 64,
                    .args = args,
                    .args_bytes = sizeof args,
                    .memory = {args[1], args[2], args[3]},
                    .bytes = {N * 4, 4, 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    float sum = 0;
    for (int i = 0; i < N; i++)
        sum += ((float *)args[0])[i] * 1.5f;
    assert_true(*(float *)args[3] == sum);
}

/* Later workgroups fault sooner in host time; the first in order is reported. */
static void first_fault(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 300 };
    uint64_t hole = 0x100000000000;
    struct {
        uint32_t *out;
        uint64_t hole;
        uint32_t bad;
    } args = {sim_alloc(&f->sim, BLOCKS * 64 * 4), hole, 0};
    static const uint32_t bad[] = {0, 1, 77, 250};
    for (unsigned i = 0; i < 4; i++) {
        args.bad = bad[i];
        struct run r = {.kernel = "wild",
                        .blocks = BLOCKS,
                        .threads = 64,
                        .args = &args,
                        .args_bytes = sizeof args,
                        .memory = {args.out},
                        .bytes = {BLOCKS * 64 * 4},
                        .expected = RP_RUN_FAULT};
        same_with_any_threads(f, &r);
        assert_int_equal(f->sim.fault.kind, RP_FAULT_MEMORY);
        assert_int_equal(f->sim.fault.address, hole + bad[i] * 4096ull);
    }
}

/* Every block waits for one behind it: all must be resident before the first can end. */
static void all_resident(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 500 };
    int32_t *flag = sim_alloc(&f->sim, BLOCKS * 4);
    struct run r = {.kernel = "wait_for_next",
                    .blocks = BLOCKS,
                    .threads = 64,
                    .args = &flag,
                    .args_bytes = sizeof flag,
                    .memory = {flag},
                    .bytes = {BLOCKS * 4},
                    .expected = RP_RUN_DONE,
                    .counts_vary = stores_are_plain(f)};
    same_with_any_threads(f, &r);
}

/* Several workgroups a slice, and back to one at a time where they wait for one another. */
static void short_workgroups(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 4000, THREADS = 64 };
    struct {
        uint32_t *out;
        int32_t *flag, first;
    } args = {sim_alloc(&f->sim, BLOCKS * THREADS * 4), sim_alloc(&f->sim, BLOCKS * 4), BLOCKS};
    struct run r = {.kernel = "wait_among_short",
                    .blocks = BLOCKS,
                    .threads = THREADS,
                    .args = &args,
                    .args_bytes = sizeof args,
                    .memory = {args.out, args.flag},
                    .bytes = {BLOCKS * THREADS * 4, BLOCKS * 4},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    assert_true(f->sim.slices < BLOCKS / 4);
    args.first = 3000;
    r.counts_vary = stores_are_plain(f);
    same_with_any_threads(f, &r);
    for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
        assert_int_equal(args.out[i], work(i / THREADS, 2));
    for (int b = 0; b < BLOCKS; b++)
        assert_int_equal(args.flag[b], b >= args.first);
}

static void released_sums(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 200 };
    int32_t *cell = sim_alloc(&f->sim, BLOCKS * 4), *flag = sim_alloc(&f->sim, BLOCKS * 4);
    int32_t *out = sim_alloc(&f->sim, BLOCKS * 4);
    void *args[] = {cell, flag, out};
    struct run r = {.kernel = "told_by_next",
                    .blocks = BLOCKS,
                    .threads = 128,
                    .args = args,
                    .args_bytes = sizeof args,
                    .memory = {cell, flag, out},
                    .bytes = {BLOCKS * 4, BLOCKS * 4, BLOCKS * 4},
                    .expected = RP_RUN_DONE,
                    .counts_vary = stores_are_plain(f)};
    same_with_any_threads(f, &r);
    for (int b = 0; b + 1 < BLOCKS; b++)
        assert_int_equal(out[b], 127 * 128 / 2 + 128 * (b + 1));
}

static void clock_values(void **state)
{
    struct fixture *f = *state;
    enum { BLOCKS = 20000 };
    uint64_t *out = sim_alloc(&f->sim, BLOCKS * 8);
    struct run r = {.kernel = "clock_starts",
                    .blocks = BLOCKS,
                    .threads = 64,
                    .args = &out,
                    .args_bytes = sizeof out,
                    .memory = {out},
                    .bytes = {BLOCKS * 8},
                    .expected = RP_RUN_DONE};
    same_with_any_threads(f, &r);
    assert_true(out[BLOCKS - 1] > out[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(busy_time_is_one_threads),
        TEST(float_sums),
        TEST(float_results),
        TEST(own_atomics_seen),
        TEST(tickets),
        TEST(uneven_work),
        TEST(grid_barriers),
        TEST(look_back),
        TEST(spin_lock),
        TEST(last_block),
        TEST(first_fault),
        TEST(all_resident),
        TEST(released_sums),
        TEST(clock_values),
        TEST(short_workgroups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
