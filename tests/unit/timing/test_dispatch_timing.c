/* What a dispatch takes when the host had no memory for its record. */
#include "unit/timing/machine.h"

#include "device/timing/dispatch_timing.c"

static int ticks_without_record(enum rp_timing_mode mode, enum rp_run_state *ret_state)
{
    struct made *m = made_new(1, 1);
    struct rp_dispatch *d = calloc(1, sizeof *d);
    struct rp_dispatch_timing t = {.record = m->record};
    uint64_t ticks = 0;
    assert_non_null(d);
    m->record->keeps_steps = true;
    m->record->group[0].lost = true;
    d->arch = rp_arch_find("gfx942");
    d->state = RP_RUN_DONE;
    d->observed = &t;
    d->launch.detailed = true;
    rp_timing_set_mode(mode);
    const int status = rp_dispatch_ticks(d, d->arch, &ticks);
    rp_timing_set_mode(RP_TIMING_COUNTS);
    assert_true(ticks > 0);
    assert_null(t.record);
    *ret_state = d->state;
    free(d);
    free(m); /* The record was given up. */
    return status;
}

/* With counts timing it is recorded for a thread trace alone. */
static void a_trace_never_fails_a_kernel(void **state)
{
    (void)state;
    enum rp_run_state after;
    assert_int_equal(ticks_without_record(RP_TIMING_COUNTS, &after), 0);
    assert_int_equal(after, RP_RUN_DONE);
    assert_int_equal(ticks_without_record(RP_TIMING_DETAILED, &after), -ENOMEM);
    assert_int_equal(after, RP_RUN_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_never_fails_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
