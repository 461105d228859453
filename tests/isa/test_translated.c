/* Whole kernels with and without translation into machine code (device/jit): what they store, what
 * they count and what time is modelled for them is the same to the bit. */
#include "kernels_test.h"

#include "device/jit/jit_translate.h"
#include "device/timing/timing_model.h"

enum { N = 1 << 14, SIDE = 64, WORDS = 1 << 16 };

struct buffers {
    uint32_t *a, *b, *c;
};

/* Few bits of NaN and infinity among ordinary floats. */
static void fill(struct buffers *x, bool odd)
{
    uint32_t seed = 7;
    for (unsigned i = 0; i < WORDS; i++) {
        const float v = (float)(next_random(&seed) % 2000) * 1e-3f - 1;
        memcpy(&x->a[i], &v, sizeof v);
        x->b[i] = x->a[i] ^ (i % 3) << 20;
        if (odd && i % 97 == 0)
            x->a[i] = i & 1 ? 0x7fc12345 : 0xff800001;
        x->c[i] = 0;
    }
}

struct result {
    struct rp_counts counts;
    struct rp_timing_stats stats; /* of the replay, if there was one */
    uint32_t a[WORDS], b[WORDS], c[WORDS];
};

static struct result *run(struct fixture *f, const struct buffers *x, const char *kernel,
                          const struct sim_launch *l)
{
    struct result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    if (sim_run(&f->sim, sim_kernel(&f->code, kernel), l) != RP_RUN_DONE)
        fail_msg("%s: %s", kernel, f->sim.fault.text);
    r->counts = f->sim.counts;
    if (f->sim.replayed)
        r->stats = f->sim.stats;
    memcpy(r->a, x->a, sizeof r->a);
    memcpy(r->b, x->b, sizeof r->b);
    memcpy(r->c, x->c, sizeof r->c);
    return r;
}

/* With detailed timing every wave of these grids is recorded, and replayed. */
static void compare(struct fixture *f, struct buffers *x, const char *kernel,
                    const struct sim_launch *l, enum rp_timing_mode timing)
{
    static const uint64_t budgets[] = {0, 1000003, 777};
    static const unsigned threads[] = {1, 1, 3};
    rp_timing_set_mode(timing);
    for (unsigned odd = 0; odd < 2; odd++) {
        rp_jit_set(false);
        rp_exec_set_threads(1);
        f->sim.budget = 0;
        fill(x, odd);
        struct result *wanted = run(f, x, kernel, l);
        rp_jit_set(true);
        for (unsigned i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
            f->sim.budget = budgets[i];
            rp_exec_set_threads(threads[i]);
            fill(x, odd);
            struct result *r = run(f, x, kernel, l);
            if (memcmp(&r->counts, &wanted->counts, sizeof r->counts))
                fail_msg("%s: counts %llu instructions and %llu cycles, not %llu and %llu", kernel,
                         (unsigned long long)r->counts.wave_insts,
                         (unsigned long long)r->counts.issue_cycles,
                         (unsigned long long)wanted->counts.wave_insts,
                         (unsigned long long)wanted->counts.issue_cycles);
            if (memcmp(&r->stats, &wanted->stats, sizeof r->stats))
                fail_msg("%s: modelled time %.0f clocks, interpreted %.0f", kernel, r->stats.clocks,
                         wanted->stats.clocks);
            if (memcmp(r->a, wanted->a, sizeof r->a) || memcmp(r->b, wanted->b, sizeof r->b) ||
                memcmp(r->c, wanted->c, sizeof r->c))
                fail_msg("%s: other results, odd %u, budget %llu", kernel, odd,
                         (unsigned long long)budgets[i]);
            free(r);
        }
        free(wanted);
    }
}

static void kernels_are_the_same(void **state)
{
    struct fixture *f = *state;
    rp_jit_set(true);
    if (!rp_jit_translator.available())
        skip();
    struct buffers x = {sim_alloc(&f->sim, WORDS * 4), sim_alloc(&f->sim, WORDS * 4),
                        sim_alloc(&f->sim, WORDS * 4)};
    const struct {
        uint32_t *a, *b, *c;
        int n;
    } three = {x.a, x.b, x.c, N}, square = {x.a, x.b, x.c, SIDE};
    const struct {
        uint32_t *a, *c;
        int n;
    } two = {x.a, x.c, N}, rows = {x.a, x.c, 256}, bytes = {x.a, x.c, N * 4};
    const struct {
        uint32_t *c;
        float v;
        int n;
    } chain = {x.c, 0.999f, 300}, blend = {x.c, 0.75f, 100};
    const struct {
        const char *kernel;
        uint32_t grid[2], block[2];
        const void *args;
        size_t args_bytes;
    } launches[] = {
        {"fma_chain", {4096, 1}, {256, 1}, &chain, sizeof chain},
        {"mixed", {4096, 1}, {256, 1}, &blend, sizeof blend},
        {"mixed", {4096 + 40, 1}, {96, 1}, &blend, sizeof blend}, /* waves with lanes off */
        {"half_dot", {4096, 1}, {256, 1}, &chain, sizeof chain},
        {"vadd", {N, 1}, {256, 1}, &three, sizeof three},
        {"sgemm16", {SIDE, SIDE}, {16, 16}, &square, sizeof square},
        {"softmax", {64 * 256, 1}, {256, 1}, &rows, sizeof rows},
        {"reduce_shfl", {N, 1}, {256, 1}, &two, sizeof two},
        {"histogram", {16 * 256, 1}, {256, 1}, &bytes, sizeof bytes},
    };
    rp_exec_set_help_after(1000);
    for (unsigned i = 0; i < sizeof launches / sizeof launches[0]; i++) {
        const struct sim_launch l = {
            .grid = {launches[i].grid[0], launches[i].grid[1], 1},
            .block = {launches[i].block[0], launches[i].block[1], 1},
            .args = launches[i].args,
            .args_bytes = launches[i].args_bytes,
        };
        compare(f, &x, launches[i].kernel, &l, RP_TIMING_COUNTS);
        compare(f, &x, launches[i].kernel, &l, RP_TIMING_DETAILED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_the_same)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
