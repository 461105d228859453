/* Which dispatches are traced, and who gets the trace. The executor is a stand-in. */
#include "unit/cmocka_all.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "device/driver/dispatch_results.h"
#include "fake_exec.h"

static const struct rp_threads_request third = {.cu = 3, .engines = 1, .simds = 0xf, .rows = 100};

static void a_wish_is_met_once(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request wish = {0};

    (void)state;
    rp_trace_requests_init(&traced);
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third));
    assert_false(rp_trace_requests_has(&traced, 0x1040, 0x77, &wish)); /* another signal */
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x78, &wish)); /* another kernel */
    assert_int_equal(wish.cu, 0);
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_memory_equal(&wish, &third, sizeof wish);
    assert_false(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    rp_trace_requests_release(&traced);
}

static void wishes_for_one_signal_are_met_in_order(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request first = third, wish;

    (void)state;
    first.cu = 1;
    rp_trace_requests_init(&traced);
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &first));
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third));
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_int_equal(wish.cu, 1);
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    assert_int_equal(wish.cu, 3);
    rp_trace_requests_release(&traced);
}

/* The stand-in's trace: when the dispatch began, and of which compute unit it is. */
static void a_trace_is_taken_by_signal_and_times(void **state)
{
    struct rp_trace_requests traced;
    struct rp_threads_request wish;
    uint64_t *words;
    void *bytes;
    size_t count;

    (void)state;
    rp_trace_requests_init(&traced);
    assert_true(rp_trace_requests_add(&traced, 0x1000, 0x77, &third)); /* of a later dispatch */
    const unsigned before = fake_exec.watched;
    rp_trace_requests_begin(NULL, NULL, &third); /* the executor is told before it models time */
    assert_int_equal(fake_exec.watched, before + 1);
    rp_trace_requests_keep(&traced, NULL, NULL, &third, 0x1000, 500, 600);
    assert_false(rp_trace_requests_take(&traced, 0x1000, 500, 601, &bytes, &count));
    assert_false(rp_trace_requests_take(&traced, 0x1040, 500, 600, &bytes, &count));
    assert_true(rp_trace_requests_take(&traced, 0x1000, 500, 600, &bytes, &count));
    words = bytes;
    assert_int_equal(count, 2 * sizeof *words);
    assert_int_equal(words[0], 500);
    assert_int_equal(words[1], 3);
    free(bytes);
    assert_false(rp_trace_requests_take(&traced, 0x1000, 500, 600, &bytes, &count));
    assert_true(rp_trace_requests_has(&traced, 0x1000, 0x77, &wish));
    rp_trace_requests_keep(&traced, NULL, NULL, &third, 0x1000, 700, 800); /* nobody takes it */
    rp_trace_requests_release(&traced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_is_met_once),
        cmocka_unit_test(wishes_for_one_signal_are_met_in_order),
        cmocka_unit_test(a_trace_is_taken_by_signal_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
