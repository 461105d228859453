/**
 * @file fuzz_evaluation.c
 * @brief Any bytes as a line between a worker and its pool: refused with a reason, or understood,
 * and then the same when it is written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "experiment/measured_run.h"
#include "fuzz/must.h"
#include "tune/worker_pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_request(const char *line, size_t bytes)
{
    struct rp_evaluation_request request, again;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf first = {0}, second = {0};

    if (rp_evaluation_request_parse(line, bytes, &request, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
        return;
    }
    must(request.command.argv[0] && request.timeout_ns > 0 && request.samples > 0);
    must(rp_evaluation_request_write(&request, &first, &err) == 0);
    must(rp_evaluation_request_parse(first.data, first.len, &again, &err) == 0);
    must(rp_evaluation_request_write(&again, &second, &err) == 0);
    must(strcmp(first.data, second.data) == 0);
    rp_evaluation_request_free(&request);
    rp_evaluation_request_free(&again);
}

static void try_answer(const char *line, size_t bytes)
{
    struct rp_evaluation answer, again;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf first = {0}, second = {0};

    if (rp_evaluation_parse(line, bytes, &answer, &err) < 0) {
        must(err.code == RP_BAD_INPUT && err.text[0]);
        return;
    }
    must(rp_evaluation_write(&answer, &first, &err) == 0);
    must(rp_evaluation_parse(first.data, first.len, &again, &err) == 0);
    must(rp_evaluation_write(&again, &second, &err) == 0);
    must(strcmp(first.data, second.data) == 0);
    rp_evaluation_free(&answer);
    rp_evaluation_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_worker_hello hello;
    struct rp_err err = RP_ERR_INIT;

    try_request((const char *)data, size);
    try_answer((const char *)data, size);
    if (rp_worker_hello_parse((const char *)data, size, &hello, &err) == 0)
        rp_worker_hello_free(&hello);
    return 0;
}
