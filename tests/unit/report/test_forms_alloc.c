#include "report/alloc_fails.h"

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct rp_report_form *form;

/* Everything that any form has: two streams, of which one overlaps itself, a path, a GPU with
 * ceilings, names that are the same as UTF-8. */
static int step_form(struct rp_buf *out, struct rp_err *err)
{
    struct rp_dag_process_fact processes[] = {{.pid = 5}, {.pid = 0}};
    struct rp_dag_step steps[] = {
        {.id = 1, .name = "a<", .duration_ns = 900, .on_path = true, .waited_for = RP_DAG_NO_STEP},
        {.id = 2, .name = "b", .start_ns = 100, .duration_ns = 50, .waited_for = 0},
        {.id = 1, .name = "c", .duration_ns = 500, .is_copy = true, .waited_for = 0},
    };
    uint32_t track_of_step[] = {0, 0, 1};
    struct rp_timeline_track lanes[] = {{.queue = 1}, {.process = 1, .queue = -1}};
    const struct rp_timeline timeline = {
        .lanes = lanes, .lane_count = 2, .track_of_step = track_of_step};
    const struct rp_dag_result dag = {.device = "software",
                                      .makespan_ns = 1000,
                                      .path_ns = {1000},
                                      .processes = processes,
                                      .process_count = 2,
                                      .steps = steps,
                                      .step_count = 3,
                                      .chain = steps,
                                      .chain_count = 1};
    struct rp_roofline_device device = {
        .ceilings = {.gbps = {{true, 5000}, {true, 9000}}, .gflops = {{true, 80000}}}};
    struct rp_roofline_kernel counted[] = {
        {.name = "a<", .gflops = {true, 10}, .intensity = {{true, 2}}}, {.name = "b"}};
    const struct rp_roofline roofline = {
        .kernels = counted, .kernel_count = 2, .devices = &device, .device_count = 1};
    struct rp_bottleneck_kernel ranked[] = {
        {.name = (char[]){"a\xff"}, .calls = 1, .time_ns = {true, 900}},
        {.name = (char[]){"a\xfe"}, .calls = 1, .time_ns = {true, 50}}};
    const struct rp_bottlenecks b = {.kernels = ranked, .kernel_count = 2};
    const struct rp_report_parts parts = {.title = "a < b",
                                          .bottlenecks = &b,
                                          .dag = &dag,
                                          .timeline = &timeline,
                                          .roofline = &roofline};

    return form->write(&parts, out, err);
}

static void forms_report_every_failed_allocation(void **state)
{
    size_t count;

    (void)state;
    for (form = rp_report_forms(&count); count; count--, form++)
        assert_true(survive(step_form) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_report_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
