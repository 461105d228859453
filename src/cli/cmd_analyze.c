#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"
#include "rocm-perf/store.h"

static const char help[] =
    "usage: rocm-perf analyze [--json] [--full] [-o DIR] TRACE...\n"
    "\n"
    "Says from rocpd traces of one run, one file per process or rank, what bounds its end-to-end\n"
    "time: the critical path, the slack of everything else, and what a faster kernel would bring.\n"
    "\n"
    "  --json    print JSON (schemas/dag.schema.json) instead of a summary\n"
    "  --full    JSON with every kernel and copy and its slack\n"
    "  -o DIR    also write DIR/dag.json\n"
    "  --help    this text\n"
    "\n"
    "exit status: 0 done, 2 usage, 3 a trace cannot be used, 4 environment\n";

struct options {
    bool json, full;
    const char *folder;
};

struct stores {
    struct rp_store **list;
    size_t count;
};

static void close_all(struct stores *s)
{
    for (size_t i = 0; i < s->count; i++)
        rp_store_close(s->list[i]);
    free(s->list);
}

static int open_all(char **paths, size_t count, struct stores *ret, struct rp_err *err)
{
    ret->list = calloc(count, sizeof *ret->list);
    if (!ret->list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = rp_store_open(paths[i], &ret->list[i], err);
        if (rc < 0)
            return rc;
        ret->count++;
    }
    return 0;
}

static int parse(int argc, char **argv, struct options *ret, int *ret_code)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"full", no_argument, NULL, 'f'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
        if (c == 'j')
            ret->json = true;
        else if (c == 'f')
            ret->full = true;
        else if (c == 'o')
            ret->folder = optarg;
        else {
            *ret_code =
                c == 'h' ? rp_cli_help(help) : rp_cli_bad_option("analyze", argv[optind - 1], c);
            return -1;
        }
    }
    if (optind < argc)
        return 0;
    *ret_code = rp_cli_usage_error("analyze", "no trace given");
    return -1;
}

static int write_json(const char *folder, const struct rp_buf *json, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, "dag.json");
    int rc = rp_mkdirs(folder, err);

    if (rc < 0)
        return rc;
    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_write_file(path, rp_buf_text(json), json->len, err);
}

int rp_cmd_analyze(int argc, char **argv)
{
    rp_cleanup(close_all) struct stores stores = {0};
    rp_cleanup(rp_dag_result_free) struct rp_dag_result dag = {0};
    struct options options = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf json = {0}, text = {0};
    int code;

    if (parse(argc, argv, &options, &code) < 0)
        return code;
    if (open_all(argv + optind, (size_t)(argc - optind), &stores, &err) < 0 ||
        rp_dag_analyze(stores.list, stores.count, &dag, &err) < 0 ||
        rp_report_dag_json(&dag, options.full, &json, &err) < 0 ||
        (options.folder && write_json(options.folder, &json, &err) < 0))
        return rp_cli_error(&err);
    if (options.json)
        return rp_cli_result(rp_buf_text(&json));
    if (rp_report_dag_term(&dag, rp_cli_style(), &text, &err) < 0)
        return rp_cli_error(&err);
    return rp_cli_result(rp_buf_text(&text));
}
