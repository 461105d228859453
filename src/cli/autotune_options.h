/**
 * @file autotune_options.h
 * @brief The command line of `rocm-perf autotune`.
 */
#ifndef RP_CLI_AUTOTUNE_OPTIONS_H
#define RP_CLI_AUTOTUNE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/environment.h"
#include "tune/autotune.h"

struct rp_err;

enum { RP_AUTOTUNE_WORDS = 64 /**< of --gpus, --srun, --salloc each, and the NULL behind them */ };

/** What getopt_long answers; the first one is none of a short option. */
enum rp_autotune_key {
    RP_AUTOTUNE_BEFORE = 255,
#define RP_AUTOTUNE_OPTION(key, name, argument) RP_AUTOTUNE_##key,
#include "cli/autotune_options.def"
#undef RP_AUTOTUNE_OPTION
};

/** Of what the command line has: a bit; short options have none. */
#define RP_AUTOTUNE_GIVEN(key)                                                                     \
    ((key) < RP_AUTOTUNE_SPACE ? 0 : (uint64_t)1 << ((key)-RP_AUTOTUNE_SPACE))

struct rp_autotune_command {
    uint64_t given; /**< bits RP_AUTOTUNE_GIVEN */
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
/** What does not go together, or has no effect. @return 0 or RP_USAGE with both names */
int rp_autotune_check(const struct rp_autotune_command *command, struct rp_err *err);
/** --gpus all: gpus become all that there are. @return 0; RP_ENVIRONMENT */
int rp_autotune_find_gpus(struct rp_autotune_command *command, struct rp_err *err);
void rp_autotune_command_free(struct rp_autotune_command *command);

#endif
