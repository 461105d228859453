#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/text.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"
#include "rocm-perf/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Column by column: a page with 100,000 kernels is read by a browser, in which an object for each
 * would take ten times as long. */

static const char *comma(size_t i)
{
    return i % 16 ? "," : i ? ",\n  " : "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of all steps, each once, sorted. */
static size_t list_names(const struct rp_dag_result *dag, const char **names)
{
    size_t kept = 0;

    for (size_t i = 0; i < dag->step_count; i++)
        names[i] = dag->steps[i].name;
    qsort(names, dag->step_count, sizeof *names, by_text);
    for (size_t i = 0; i < dag->step_count; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    return kept;
}

static void put_id(struct rp_buf *buf, const char *key, int64_t id)
{
    if (id < 0)
        rp_buf_printf(buf, "\"%s\": null", key);
    else
        rp_buf_printf(buf, "\"%s\": %" PRId64, key, id);
}

static void put_lanes(struct rp_buf *buf, const struct rp_timeline *t)
{
    rp_buf_puts(buf, "  \"lanes\": [");
    for (size_t i = 0; i < t->lane_count; i++) {
        const struct rp_timeline_lane *lane = &t->lanes[i];

        rp_buf_puts(buf, i ? ",\n    {" : "\n    {");
        put_id(buf, "agent", lane->agent);
        rp_buf_printf(buf, ", \"process\": %" PRIu32 ", ", lane->process);
        put_id(buf, "queue", lane->queue);
        rp_buf_puts(buf, ", ");
        put_id(buf, "stream", lane->stream);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "],\n");
}

static void put_classes(struct rp_buf *buf)
{
    rp_buf_puts(buf, "  \"classes\": [");
    for (unsigned i = 0; i < RP_DAG_CLASS_COUNT; i++)
        rp_buf_printf(buf, "%s\"%s\"", i ? ", " : "", rp_dag_class_name((enum rp_dag_class)i));
    rp_buf_puts(buf, "],\n");
}

/* A number of each step. */
#define PUT_COLUMN(key, value)                                                                     \
    do {                                                                                           \
        rp_buf_puts(buf, "  \"" key "\": [");                                                      \
        for (size_t i = 0; i < dag->step_count; i++) {                                             \
            const struct rp_dag_step *s = &dag->steps[i];                                          \
            (void)s;                                                                               \
            rp_buf_printf(buf, "%s%" PRId64, comma(i), (int64_t)(value));                          \
        }                                                                                          \
        rp_buf_puts(buf, "],\n");                                                                  \
    } while (0)

static void put_name_column(struct rp_buf *buf, const struct rp_dag_result *dag,
                            const char *const *names, size_t count)
{
    rp_buf_puts(buf, "  \"name\": [");
    for (size_t i = 0; i < dag->step_count; i++) {
        const char *const *name =
            bsearch(&dag->steps[i].name, names, count, sizeof *names, by_text);
        rp_buf_printf(buf, "%s%zu", comma(i), (size_t)(name - names));
    }
    rp_buf_puts(buf, "],\n  \"names\": [");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, i ? ",\n    " : "\n    ");
        rp_text_json(buf, names[i]);
    }
    rp_buf_puts(buf, "],\n");
}

int rp_report_timeline_json(const struct rp_dag_result *dag, const struct rp_timeline *t,
                            struct rp_buf *buf, struct rp_err *err)
{
    rp_autofree const char **names = malloc((dag->step_count + 1) * sizeof *names);
    size_t count = names ? list_names(dag, names) : 0;

    if (!names)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_buf_puts(buf, "{\n");
    put_classes(buf);
    PUT_COLUMN("copy", s->is_copy);
    PUT_COLUMN("duration_ns", s->duration_ns);
    PUT_COLUMN("id", s->id);
    PUT_COLUMN("lane", t->lane_of_step[i]);
    put_lanes(buf, t);
    rp_buf_printf(buf, "  \"makespan_ns\": %" PRId64 ",\n", dag->makespan_ns);
    put_name_column(buf, dag, names, count);
    PUT_COLUMN("on_path", s->on_path);
    rp_buf_puts(buf, "  \"schema_version\": \"1.0\",\n");
    PUT_COLUMN("slack_ns", s->slack_ns);
    PUT_COLUMN("start_ns", s->start_ns - dag->start_ns);
    PUT_COLUMN("via", s->via);
    rp_buf_puts(buf, "  \"waited_for\": [");
    for (size_t i = 0; i < dag->step_count; i++)
        rp_buf_printf(buf, "%s%" PRId64, comma(i),
                      dag->steps[i].waited_for == RP_DAG_NO_STEP
                          ? (int64_t)-1
                          : (int64_t)dag->steps[i].waited_for);
    rp_buf_puts(buf, "]\n}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
