/* usage: run_traced OUT_DIR -- PROGRAM [ARGS...]
 *
 * What the stand-in for rocprofv3 records a program with: runs it on the software device under our
 * collector, writes OUT_DIR/trace_results.db ..., and ends as the program did. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/run_program.h"

int main(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_run_free) struct rp_run run = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_run_request request = {
        .env = &env,
        .options = &(struct rp_run_options){.device = RP_DEVICE_SOFTWARE},
        .traced = true,
        .survives_signals = true,
        .db_prefix = "trace",
    };

    if (argc < 4 || strcmp(argv[2], "--") != 0)
        return 99;
    request.out_dir = argv[1];
    request.argv = argv + 3;
    rp_proc_survive_signals();
    if (rp_environment_detect(&env, &err) < 0 || rp_run_program(&request, &run, &err) < 0) {
        fprintf(stderr, "run_traced: %s\n", err.text);
        return 99;
    }
    if (run.end.signaled) {
        signal(run.end.status, SIG_DFL);
        kill(getpid(), run.end.status);
    }
    return run.end.status;
}
