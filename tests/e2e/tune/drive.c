/* A pool that answers the requests of a file; for the scenarios beside this one.
 *
 *   tune_drive pool LAUNCHER WORKERS REQUESTS ANSWERS WORKER...   (answers in order of their ids)
 *
 * TUNE_STEP and TUNE_ALLOCATION: one word for srun, for salloc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "tune/worker_pool.h"

enum { MOST_REQUESTS = 1000, MOST_FILE = 64 << 20 };

static int fail(const struct rp_err *err)
{
    fprintf(stderr, "tune_drive: %s\n", err->text);
    return (int)err->code;
}

static void say(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "note: %s\n", line);
}

static int submit_all(struct rp_tune_pool *pool, const char *text, struct rp_err *err)
{
    int rc = 0;

    for (const char *line = text; rc == 0 && *line; line += strcspn(line, "\n") + 1) {
        rp_cleanup(rp_evaluation_request_free) struct rp_evaluation_request request = {0};

        rc = rp_evaluation_request_parse(line, strcspn(line, "\n"), &request, err);
        if (rc == 0)
            rc = rp_tune_pool_submit(pool, &request, err);
    }
    return rc;
}

static int take_all(struct rp_tune_pool *pool, const char *path, struct rp_err *err)
{
    struct rp_evaluation answers[MOST_REQUESTS] = {{0}};
    rp_autobuf text = {0};
    size_t workers[64] = {0};
    int rc;

    for (;;) {
        struct rp_evaluation answer;

        rc = rp_tune_pool_next(pool, -1, &answer, err);
        if (rc != 1)
            break;
        if (answer.id >= MOST_REQUESTS || answers[answer.id].runtimes_ns)
            return rp_fail(err, RP_BAD_INPUT, "answered twice, or not asked");
        workers[answer.worker % 64]++;
        answers[answer.id] = answer;
    }
    for (size_t i = 0; i < MOST_REQUESTS; i++)
        if (answers[i].runtimes_ns) {
            rp_evaluation_write(&answers[i], &text, err);
            rp_evaluation_free(&answers[i]);
        }
    for (size_t i = 0; i < 64; i++)
        if (workers[i])
            fprintf(stderr, "worker %zu: %zu answers\n", i + 1, workers[i]);
    return rc < 0 ? rc : rp_write_file(path, rp_buf_text(&text), text.len, err);
}

static int use_pool(char **argv)
{
    const char *step = getenv("TUNE_STEP"), *allocation = getenv("TUNE_ALLOCATION");
    const struct rp_tune_pool_options options = {
        .launcher = rp_launcher_named(argv[0]),
        .worker = (const char *const *)(argv + 4),
        .workers = (unsigned)atoi(argv[1]),
        .step_words = (const char *const[]){step, NULL},
        .allocation_words = (const char *const[]){allocation, NULL},
        .start_timeout_ns = (int64_t)240 * 1000000000,
        .note = say,
    };
    rp_autofree char *text = rp_read_text(argv[2], MOST_FILE);
    struct rp_tune_pool *pool = NULL;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    rp_proc_catch_signals();
    rc = text ? rp_tune_pool_open(&options, &pool, &err)
              : rp_fail(&err, RP_BAD_INPUT, "cannot read %s", argv[2]);
    if (rc == 0) {
        fprintf(stderr, "%u workers: %s\n", rp_tune_pool_workers(pool),
                rp_tune_pool_device(pool)->on.gpu);
        rc = submit_all(pool, text, &err);
    }
    if (rc == 0)
        rc = take_all(pool, argv[3], &err);
    rp_tune_pool_close(pool);
    return rc < 0 ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 7 && strcmp(argv[1], "pool") == 0)
        return use_pool(argv + 2);
    fprintf(stderr, "usage: see %s\n", __FILE__);
    return RP_USAGE;
}
