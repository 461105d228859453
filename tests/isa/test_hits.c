/*
 * Hits are decided twice: by the replay, which needs them for time (memory_hierarchy.c), and by the
 * cache model of the counters, which also works without a replay (timing_counters.c). Here both see
 * the same accesses, those of whole grids, in the order of the replay.
 */
#include "kernels_test.h"

#include "../../bench/kernels.h"
#include "arch/arch.h"
#include "device/timing/timing_model.h"

static const struct bench_sizes sizes = {.elements = 1 << 16,
                                         .matrix = 128,
                                         .chain_rounds = 20,
                                         .blend_rounds = 20,
                                         .items = 1 << 14,
                                         .softmax_rows = 64,
                                         .histogram_groups = 128};

static void agree(const char *kernel, const char *what, uint64_t counted, uint64_t replayed,
                  double within)
{
    const double apart =
        counted > replayed ? (double)(counted - replayed) : (double)(replayed - counted);
    if (apart > within * (double)counted)
        fail_msg("%s: %s: %llu by the counters, %llu in the replay", kernel, what,
                 (unsigned long long)counted, (unsigned long long)replayed);
}

static void counters_and_replay_agree(void **state)
{
    struct fixture *f = *state;
    struct bench benches[BENCH_KERNELS];
    uint64_t hits = 0;
    bench_kernels(&f->sim, &sizes, benches);
    rp_timing_set_mode(RP_TIMING_DETAILED);
    for (unsigned i = 0; i < BENCH_KERNELS; i++) {
        const struct bench *b = &benches[i];
        uint64_t v[RP_DEVICE_COUNTERS] = {0};
        f->sim.replay_counters = v;
        const uint64_t kd = sim_kernel(&f->code, b->kernel);
        if (sim_run(&f->sim, kd, &b->launch) != RP_RUN_DONE)
            fail_msg("%s: %s", b->name, f->sim.fault.text);
        const struct rp_timing_stats *s = &f->sim.stats;
        const struct rp_level_stats *l1 = &s->level[RP_LEVEL_L1], *l2 = &s->level[RP_LEVEL_L2],
                                    *scalar = &s->level[RP_LEVEL_SCALAR_L1],
                                    *below = &s->level[RP_LEVEL_MALL];
        assert_true(f->sim.replayed && !s->sampled);
        /* The same ways, sets and order: no difference at all. */
        agree(b->name, "misses of the scalar L1", v[RP_COUNTER_SQC_DCACHE_MISSES],
              scalar->reads - scalar->read_hits, 0);
        agree(b->name, "misses of the vector L1", v[RP_COUNTER_TCP_TCC_READ_REQ],
              l1->reads - l1->read_hits, 0);
        agree(b->name, "reads of the L2", v[RP_COUNTER_TCC_READ], l2->reads, 0);
        agree(b->name, "writes of the L2", v[RP_COUNTER_TCC_WRITE], l2->writes, 0);
        /* An atomic brings a line in the replay, and half of one in the counters. */
        agree(b->name, "reads of memory", v[RP_COUNTER_TCC_EA0_RDREQ], below->reads,
              v[RP_COUNTER_TCC_ATOMIC] ? 0.05 : 0);
        hits += l1->read_hits;
    }
    f->sim.replay_counters = NULL;
    rp_timing_set_mode(RP_TIMING_COUNTS);
    assert_true(hits > 1000); /* something was there to disagree about */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counters_and_replay_agree)};
    rp_exec_set_counts(RP_COUNT_MEMORY);
    return cmocka_run_group_tests(tests, setup, teardown);
}
