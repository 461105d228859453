/**
 * @file history_options.h
 * @brief Options of `history`.
 */
#ifndef RP_CLI_HISTORY_OPTIONS_H
#define RP_CLI_HISTORY_OPTIONS_H

#include <stdbool.h>

#include "analyze/history_series.h"

enum rp_history_command {
    RP_HISTORY_ADD,
    RP_HISTORY_LIST,
    RP_HISTORY_SHOW,
    RP_HISTORY_PLOT,
    RP_HISTORY_CHECK,
    RP_HISTORY_EXPORT,
    RP_HISTORY_REMOVE,
    RP_HISTORY_COMMANDS
};

struct rp_history_options {
    enum rp_history_command command;
    const char *path; /**< of the database */
    const char *program, *output;
    struct rp_series_filter filter; /**< its commit: of add, the one to be noted */
    char **config;                  /**< "KEY=VALUE"; texts of the command line */
    size_t config_count;
    char at[RP_RFC3339_BYTES]; /**< "": now */
    bool json, csv;
    bool strict; /**< undecided is no answer */
    struct rp_change_rule rule;
};
void rp_history_options_free(struct rp_history_options *options);

/** @return 0, or -1 with an exit code; optind is at the first operand */
int rp_history_options(int argc, char **argv, struct rp_history_options *ret, int *ret_code);

#endif
