/* JUnit XML: kernels as test cases with their times, which CI servers draw over builds. None fails:
 * a report judges nothing; gates are for `compare`. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/forms/forms.h"
#include "report/forms/parts.h"
#include "report/text.h"
#include "report/xml.h"
#include "rocm-perf/dag.h"

static void put_seconds(struct rp_buf *buf, double ns, unsigned decimals)
{
    rp_buf_printf(buf, " time=\"%s\"", rp_number_fixed(ns * 1e-9, decimals).text);
}

/* Launches that started no kernel fail no case, but a reader sees them. */
static void put_launches(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const struct rp_launches *launches = rp_form_launches(parts);
    rp_autofree char *text = NULL;

    if (!launches)
        return;
    rp_buf_printf(buf, "      <property name=\"failed_launches\" value=\"%" PRIu64 "\"/>\n",
                  launches->failed);
    if (!launches->failed)
        return;
    text = rp_launches_text(launches);
    buf->failed |= !text;
    rp_buf_puts(buf, "      <property name=\"warning\"");
    rp_xml_attribute(buf, "value", text ? text : "");
    rp_buf_puts(buf, "/>\n");
}

static void put_impossible(struct rp_buf *buf, const struct rp_form_known *known, const char *name)
{
    rp_autobuf levels = {0};

    if (rp_form_put_impossible(&levels, known, name, ", "))
        rp_buf_printf(buf, "; warning: no GPU of this kind has its rate of %s",
                      rp_buf_text(&levels));
    buf->failed |= levels.failed;
}

static void put_case(struct rp_buf *buf, const struct rp_report_parts *parts,
                     const struct rp_form_known *known, const struct rp_bottleneck_kernel *k)
{
    rp_buf_puts(buf, "    <testcase");
    rp_xml_attribute(buf, "classname", "kernel");
    rp_xml_attribute(buf, "name", k->name);
    if (k->time_ns.known)
        put_seconds(buf, k->time_ns.value, 9);
    rp_buf_puts(buf, ">\n      <system-out>");
    if (rp_form_is_software(parts)) {
        rp_form_put_mark(buf, parts);
        rp_buf_puts(buf, "; ");
    }
    rp_buf_printf(buf, "bottleneck: %s", rp_bottleneck_name(k->label));
    if (k->calls)
        rp_buf_printf(buf, "; calls: %" PRIu64, k->calls);
    if (k->weight.known)
        rp_buf_printf(buf, "; %% of the %s: %s",
                      parts->bottlenecks->basis == RP_RANK_CRITICAL_PATH ? "end-to-end time"
                                                                         : "time of all kernels",
                      rp_number_fixed(k->weight.value * 100, 1).text);
    if (k->headroom.known)
        rp_buf_printf(buf, "; %% to gain: %s", rp_number_fixed(k->headroom.value * 100, 1).text);
    put_impossible(buf, known, k->name);
    rp_buf_puts(buf, "</system-out>\n    </testcase>\n");
}

int rp_form_junit(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;
    const char *device = rp_form_device(parts);
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};

    if (rp_form_known_make(parts, &known, err) < 0)
        return -RP_ENVIRONMENT;
    rp_buf_puts(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    rp_xml_attribute(buf, "name", parts->title);
    rp_buf_printf(buf, " tests=\"%zu\" failures=\"0\" errors=\"0\" skipped=\"0\"", b->kernel_count);
    if (parts->dag) /* Jenkins refuses a suite with more decimals */
        put_seconds(buf, (double)parts->dag->makespan_ns, 3);
    rp_buf_puts(buf, ">\n    <properties>\n      <property name=\"device\"");
    rp_xml_attribute(buf, "value", *device ? device : "unknown");
    rp_buf_puts(buf, "/>\n");
    if (rp_form_is_software(parts)) {
        rp_buf_puts(buf, "      <property name=\"time\" value=\"");
        rp_form_put_mark(buf, parts);
        rp_buf_puts(buf, "\"/>\n");
    }
    put_launches(buf, parts);
    rp_buf_puts(buf, "    </properties>\n");
    for (size_t i = 0; i < b->kernel_count; i++)
        put_case(buf, parts, &known, &b->kernels[i]);
    rp_buf_puts(buf, "  </testsuite>\n</testsuites>\n");
    return buf->failed ? rp_out_of_memory(err) : 0;
}
