/*
 * The matrix products that stand for those of libraries in bench/model-accuracy.md are products:
 * all elements of small ones, against sums on the host. Their LDS accesses have no bank conflicts
 * where they are said to have none.
 */
#include "kernels_test.h"

#include "device/timing/timing_model.h"
#include "gemm_data.h"

static const struct {
    struct gemm_case of;
    bool conflicts;
} cases[] = {
    {{"gemm_f16", GEMM_K_INNER, GEMM_F16, GEMM_F16, 512, 256, 64, 256, 256, 1, 0, 0}, false},
    {{"gemm_f16", GEMM_K_INNER, GEMM_F16, GEMM_F16, 256, 512, 448, 256, 256, 1, 0, 0}, false},
    {{"gemm_bf16", GEMM_K_INNER, GEMM_BF16, GEMM_BF16, 256, 512, 128, 256, 256, 1, 0, 0}, false},
    {{"gemm_bf16", GEMM_K_INNER, GEMM_BF16, GEMM_BF16, 256, 256, 192, 256, 256, 1, 0, 0}, false},
    {{"gemm_fp8", GEMM_K_INNER, GEMM_FP8, GEMM_F16, 256, 384, 128, 256, 192, 1, 0, 0}, false},
    {{"gemm_fp8", GEMM_K_INNER, GEMM_FP8, GEMM_F16, 512, 192, 640, 256, 192, 1, 0, 0}, false},
    {{"gemm_f32", GEMM_K_OUTER, GEMM_F32, GEMM_F32, 256, 128, 32, 128, 128, 1, 0, 0}, false},
    {{"gemm_f32", GEMM_K_OUTER, GEMM_F32, GEMM_F32, 200, 300, 80, 128, 128, 1, 0, 0}, false},
    {{"gemm_f16_batched", GEMM_BATCHED, GEMM_F16, GEMM_F32, 512, 128, 32, 256, 128, 2, 4096, 64},
     false},
    {{"gemm_f16_batched", GEMM_BATCHED, GEMM_F16, GEMM_F32, 256, 256, 80, 256, 128, 1, 0, 0},
     false},
    {{"gemm_i8_batched", GEMM_BATCHED, GEMM_I8, GEMM_I32, 128, 64, 64, 64, 64, 3, 512, 4096}, true},
    {{"gemm_i8_batched", GEMM_BATCHED, GEMM_I8, GEMM_I32, 64, 192, 320, 64, 64, 1, 0, 0}, true},
};

static void products_are_right(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gemm_case *g = &cases[i].of;
        const uint64_t kd = sim_kernel(&f->code, g->kernel);
        struct gemm_run run;
        gemm_prepare(&f->sim, g, &run);
        for (int detailed = 0; detailed < 2; detailed++) { /* translated code, then interpreted */
            rp_timing_set_mode(detailed ? RP_TIMING_DETAILED : RP_TIMING_COUNTS);
            gemm_reset(g, &run);
            if (!kd || sim_run(&f->sim, kd, &run.launch) != RP_RUN_DONE)
                fail_msg("%s: %s", g->kernel, kd ? f->sim.fault.text : "not there");
            for (int b = 0; b < g->batches; b++)
                for (int row = 0; row < g->m; row++)
                    for (int column = 0; column < g->n; column++)
                        if (!gemm_right(g, &run, b, row, column))
                            fail_msg("%s, %d x %d x %d: matrix %d, row %d, column %d is wrong",
                                     g->kernel, g->m, g->n, g->k, b, row, column);
        }
        assert_true(f->sim.replayed && f->sim.stats.lds_busy_clocks > 0);
        assert_int_equal(cases[i].conflicts, f->sim.stats.lds_conflict_clocks > 0);
    }
    rp_timing_set_mode(RP_TIMING_COUNTS);
}

/* A test that cannot fail is none: one element that is off by the least that its type can be. */
static void a_wrong_element_is_noticed(void **state)
{
    struct fixture *f = *state;
    const struct gemm_case *g = &cases[6].of;
    struct gemm_run run;
    gemm_prepare(&f->sim, g, &run);
    assert_int_equal(sim_run(&f->sim, sim_kernel(&f->code, g->kernel), &run.launch), RP_RUN_DONE);
    assert_true(gemm_right(g, &run, 0, 70, 90));
    uint32_t *bits = (uint32_t *)run.c.at + 90 * (size_t)g->m + 70;
    *bits ^= 1;
    assert_false(gemm_right(g, &run, 0, 70, 90));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_are_right, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_element_is_noticed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
