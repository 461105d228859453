#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "tune/launcher.h"
#include "tune/pool.h"

struct local {
    const char *const *worker;
    const char *const *gpus;
    char *path;
};

static void close_local(void *state)
{
    struct local *local = state;

    if (local)
        free(local->path);
    free(local);
}

static int open_local(const struct rp_tune_pool_options *options, void **ret_state,
                      unsigned *ret_workers, struct rp_err *err)
{
    struct local *local = calloc(1, sizeof *local);
    unsigned count = options->gpus ? 0 : options->workers ? options->workers : 1;
    int rc;

    if (!local)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    while (options->gpus && options->gpus[count])
        count++;
    local->worker = options->worker;
    local->gpus = options->gpus;
    rc = count ? rp_find_program(options->worker[0], &local->path, err)
               : rp_fail(err, RP_USAGE, "there is no GPU to run on: the list is empty");
    if (rc < 0) {
        close_local(local);
        return rc;
    }
    *ret_state = local;
    *ret_workers = count;
    return 0;
}

static int start_local(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err)
{
    const struct local *local = state;
    const struct rp_env_change env[] = {
        {.name = local->gpus ? "ROCR_VISIBLE_DEVICES" : NULL,
         .value = local->gpus ? local->gpus[number] : NULL},
        {0},
    };

    return rp_launch_child(local->path, local->worker, env, ret, err);
}

const struct rp_launcher rp_launcher_local = {
    .word = "local", .open = open_local, .start = start_local, .close = close_local};
