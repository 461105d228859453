/**
 * @file cmd_autotune.h
 * @brief The command line of `rocm-perf autotune`.
 */
#ifndef RP_CLI_CMD_AUTOTUNE_H
#define RP_CLI_CMD_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "run/machine.h"
#include "tune/autotune.h"

/** What getopt_long answers; the first one is none of a short option. */
enum rp_autotune_key {
    RP_AUTOTUNE_BEFORE = 255,
#define RP_AUTOTUNE_OPTION(key, name, argument) RP_AUTOTUNE_##key,
#include "cli/autotune_options.def"
#undef RP_AUTOTUNE_OPTION
};

#endif
