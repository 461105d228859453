/**
 * @file autotune_options.h
 * @brief The command line of `rocm-perf autotune`.
 */
#ifndef RP_CLI_AUTOTUNE_OPTIONS_H
#define RP_CLI_AUTOTUNE_OPTIONS_H

#include <stdbool.h>

#include "collect/environment.h"
#include "tune/autotune.h"

enum { RP_AUTOTUNE_WORDS = 64 /**< of --gpus, --srun, --salloc each, and the NULL behind them */ };

struct rp_autotune_command {
    struct rp_autotune_options o;
    bool json, quiet, worker;
    enum rp_device device;
    const char *device_text; /**< NULL: not given */
    /** What o.live.pool points to; texts are split in place. */
    char *gpus_text, *srun_text, *salloc_text;
    const char *gpus[RP_AUTOTUNE_WORDS], *srun[RP_AUTOTUNE_WORDS], *salloc[RP_AUTOTUNE_WORDS];
};

/** @return true; false: help was printed, or an error, and ret_code is the exit code */
bool rp_autotune_parse(int argc, char **argv, struct rp_autotune_command *ret, int *ret_code);
void rp_autotune_command_free(struct rp_autotune_command *command);

#endif
