#include "cli/results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/pending.h"
#include "report/report.h"

/* The JSON goes to the file and, if it is what was asked for, to the text, without a copy: that of
 * a long trace is hundreds of megabytes. */
static int put_json(const struct rp_wish *wish, const char *name, struct rp_buf *json,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autofree char *path = wish->folder ? rp_path_join(wish->folder, name) : NULL;
    int rc = 0;

    if (wish->folder)
        rc = path ? rp_mkdirs(wish->folder, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0 && path)
        rc = wish->pending ? rp_pending_write(wish->pending, path, json, err)
                           : rp_write_file(path, rp_buf_text(json), json->len, err);
    if (rc == 0 && wish->print == RP_PRINT_JSON && text->len == 0) {
        struct rp_buf empty = *text;
        *text = *json;
        *json = empty;
    } else if (rc == 0 && wish->print == RP_PRINT_JSON) {
        rp_buf_add(text, json->data, json->len);
    }
    return rc;
}

int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (!rp_path_is_dir(path) && unlink(path) != 0 && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                 "remove %s of the result before, which this one lacks", path);
    }
    return 0;
}

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_wish *wish, struct rp_buf *text,
               struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = 0;

    if (wish->folder || wish->print == RP_PRINT_JSON)
        rc = rp_report_dag_json(dag, wish->full, &json, err);
    if (rc == 0)
        rc = put_json(wish, "dag.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_dag_term(dag, rp_cli_style(), text, err);
    return rc;
}

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_wish *wish,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_roofline_json(roofline, &json, err);

    if (rc == 0)
        rc = put_json(wish, "roofline.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_roofline_term(roofline, rp_cli_style(), text, err);
    return rc;
}

int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_wish *wish, struct rp_buf *text,
                        struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_thread_trace_json(&in->waves, &json, err);

    if (rc == 0)
        rc = put_json(wish, "thread_trace.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_thread_trace_term(&in->waves, rp_cli_style(), text, err);
    return rc;
}

int rp_put_ranking(const struct rp_ranking *ranking, size_t top, const struct rp_wish *wish,
                   struct rp_buf *text, struct rp_err *err)
{
    struct rp_wish to_file = *wish;
    rp_autobuf json = {0};
    int rc = 0;

    /* Of the printed JSON and of the file, only the former may be cut short. */
    to_file.print = RP_PRINT_NOTHING;
    if (to_file.folder)
        rc = rp_report_analysis_json(&ranking->found, 0, &json, err);
    if (rc == 0 && to_file.folder)
        rc = put_json(&to_file, "analysis.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_JSON)
        rc = rp_report_analysis_json(&ranking->found, top, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_analysis_term(&ranking->found, top, rp_cli_style(), text, err);
    return rc;
}
