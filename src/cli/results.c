#include "cli/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "rocm-perf/counters.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"
#include "rocm-perf/store.h"

/* --- inputs -------------------------------------------------------------------------------- */

void rp_inputs_close(struct rp_inputs *in)
{
    for (size_t i = 0; i < in->store_count; i++)
        rp_store_close(in->stores[i]);
    free(in->stores);
    rp_counters_free(in->counters);
    rp_thread_traces_free(&in->waves);
    memset(in, 0, sizeof *in);
}

int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err)
{
    int result;

    if (!in->counters) {
        in->counters = set;
        return 0;
    }
    result = rp_counters_merge(in->counters, set, err);
    rp_counters_free(set);
    return result;
}

static int open_one(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_counters *set = NULL;
    int rc;

    if (rp_thread_trace_can_open(path)) /* before counters, which may be any folder */
        return rp_thread_trace_open(path, &in->waves, err);
    if (rp_counters_can_open(path)) {
        rc = rp_counters_open(path, &set, err);
        return rc < 0 ? rc : rp_inputs_add_counters(in, set, err);
    }
    rc = rp_store_open(path, &in->stores[in->store_count], err);
    in->store_count += rc == 0;
    return rc;
}

int rp_inputs_open(char **paths, size_t count, struct rp_inputs *in, struct rp_err *err)
{
    in->stores = calloc(count, sizeof *in->stores);
    if (!in->stores)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = open_one(paths[i], in, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

int rp_inputs_read_counters(struct rp_inputs *in, bool wanted, struct rp_err *err)
{
    wanted |= in->counters != NULL;
    for (size_t i = 0; i < in->store_count; i++) {
        const struct rp_row_counter *rows;
        size_t count;
        int rc = rp_store_counters(in->stores[i], &rows, &count, err);

        if (rc < 0)
            return rc;
        wanted |= count > 0;
    }
    for (size_t i = 0; i < in->store_count && wanted; i++) {
        struct rp_counters *set;
        int rc = rp_roofline_counters(in->stores[i], &set, err);

        if (rc == 0)
            rc = rp_inputs_add_counters(in, set, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- results ------------------------------------------------------------------------------- */

/* The JSON goes to the file and, if it is what was asked for, to the text. */
static int put_json(const struct rp_wish *wish, const char *name, const struct rp_buf *json,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autofree char *path = wish->folder ? rp_path_join(wish->folder, name) : NULL;
    int rc = 0;

    if (wish->folder)
        rc = path ? rp_mkdirs(wish->folder, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0 && path)
        rc = rp_write_file(path, rp_buf_text(json), json->len, err);
    if (rc == 0 && wish->print == RP_PRINT_JSON)
        rp_buf_add(text, json->data, json->len);
    return rc;
}

int rp_result_dag(const struct rp_inputs *in, const struct rp_wish *wish, struct rp_buf *text,
                  struct rp_err *err)
{
    rp_cleanup(rp_dag_result_free) struct rp_dag_result dag = {0};
    rp_autobuf json = {0};
    int rc = rp_dag_analyze(in->stores, in->store_count, &dag, err);

    if (rc == 0)
        rc = rp_report_dag_json(&dag, wish->full, &json, err);
    if (rc == 0)
        rc = put_json(wish, "dag.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_dag_term(&dag, rp_cli_style(), text, err);
    if (rc == 0 && wish->ret_inferred_share)
        *wish->ret_inferred_share =
            dag.makespan_ns ? (double)dag.grade_path_ns[RP_DAG_INFERRED] / (double)dag.makespan_ns
                            : 0;
    return rc;
}

int rp_result_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                       const struct rp_wish *wish, struct rp_buf *text, struct rp_roofline *ret,
                       struct rp_err *err)
{
    struct rp_roofline roofline = {0};
    rp_autobuf json = {0};
    int rc = rp_roofline_compute(in->counters, options, &roofline, err);

    if (rc == 0)
        rc = rp_report_roofline_json(&roofline, &json, err);
    if (rc == 0)
        rc = put_json(wish, "roofline.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_roofline_term(&roofline, rp_cli_style(), text, err);
    if (rc < 0)
        rp_roofline_free(&roofline);
    else
        *ret = roofline;
    return rc;
}

int rp_result_thread_trace(const struct rp_inputs *in, const struct rp_wish *wish,
                           struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_thread_trace_json(&in->waves, &json, err);

    if (rc == 0)
        rc = put_json(wish, "thread_trace.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_thread_trace_term(&in->waves, rp_cli_style(), text, err);
    return rc;
}
