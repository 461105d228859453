/**
 * @file cli.h
 * @brief What the command files share. A command parses its own options, prints its result on
 *        stdout, and returns an exit code (enum rp_code); messages go to stderr.
 */
#ifndef RP_CLI_CLI_H
#define RP_CLI_CLI_H

#include "base/err.h"
#include "library/library.h"
#include "report/report.h"

#define RP_CMD(name, function, summary) int rp_cmd_##function(int argc, char **argv);
#include "cli/cmds.def"
#undef RP_CMD

/** Prints "rocm-perf: message" and returns err->code. */
int rp_cli_error(const struct rp_err *err);

/** Prints a remark that changes no result; as all messages, on one line (base/utf8.h). */
void rp_cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** The same below a remark, indented. */
void rp_cli_item(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** What the library has to remark, as rp_cli_note. */
struct rp_note_sink rp_cli_notes(void);

/** Prints a usage error for a command and returns RP_USAGE. */
int rp_cli_usage_error(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** For what getopt returned as ':' or '?': names the option, also one within "-xyz". */
int rp_cli_bad_option(const char *command, const char *argument, int key);

/** --threads N: passed on in the environment of the program. 0 or RP_USAGE with a message. */
int rp_cli_threads(const char *word, struct rp_err *err);

/** --gpus N: likewise. */
int rp_cli_gpus(const char *word, struct rp_err *err);

/** --expect-status N: 0 to 255. */
int rp_cli_expected_status(const char *word, int *ret, struct rp_err *err);

/** --timing off|fast|detailed: likewise. Whether the target has it is for rp_device_resolve. */
int rp_cli_timing(const char *word, struct rp_err *err);

/** Prints help text on stdout; @return RP_OK, or RP_ENVIRONMENT when stdout cannot be written. */
int rp_cli_help(const char *text);

/** Writes a result to stdout and flushes; @return RP_OK or RP_ENVIRONMENT with a message. */
int rp_cli_result(const char *text);

/** How standard output is to be written: coloured on a terminal unless NO_COLOR, and how wide. */
struct rp_term_style rp_cli_style(void);

#endif
