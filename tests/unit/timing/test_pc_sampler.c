/* Samples of a wave that is told of by hand, of which fewer are kept than there are. */
#include "unit/timing/machine.h"

#define MOST_SAMPLES 2048

#include "device/timing/pc_sampler.c"

enum { INTERVAL = 100, TURNS = 32, TRAPS = 3000 };

/* In slot 0 of SIMD 0, which the first of 32 traps samples. */
static void the_first_samples_are_kept_and_the_others_counted(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    struct rp_arch arch = *rp_arch_find("gfx942");
    struct rp_dispatch *d = calloc(1, sizeof *d);
    assert_non_null(d);
    struct sampler s = {.d = d, .record = m->record, .times = {.interval_ticks = INTERVAL}};
    const struct rp_wave_placement place = {0};
    arch.engine_clock_mhz = arch.timestamp_mhz = 100;
    made_step(w, made_misc(m, RP_REC_NOP, 0));
    made_step(w, made_misc(m, RP_REC_END, 0));
    w->insts = w->step_count;
    m->record->code = m->code;
    d->kernel.group_count = d->kernel.groups[0] = 1;
    assert_int_equal(begin(&s, &arch), 0);
    wave_begins(&s, &place, 0);
    wave_ends(&s, &place, (uint64_t)TRAPS * TURNS * INTERVAL);
    assert_int_equal(s.count, MOST_SAMPLES);
    assert_int_equal(s.lost, TRAPS - MOST_SAMPLES);
    assert_int_equal(s.sample[0].ticks, 0);
    assert_int_equal(s.sample[s.count - 1].ticks, (MOST_SAMPLES - 1) * TURNS * INTERVAL);
    free(s.open);
    free(s.slots);
    free(s.sample);
    free(d);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_samples_are_kept_and_the_others_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
