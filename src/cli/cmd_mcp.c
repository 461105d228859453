#include <getopt.h>
#include <unistd.h>

#include "cli/cli.h"
#include "mcp/server.h"

static const char help[] =
    "usage: rocm-perf mcp\n"
    "\n"
    "Serves the commands profile, analyze, compare, isolate, replay, autotune, optimize and "
    "doctor\n"
    "as tools of the Model Context Protocol: JSON-RPC on standard input and output, a message per\n"
    "line, for a client that starts this program. Versions 2026-07-28, 2025-11-25 and 2025-06-18.\n"
    "\n"
    "Calls run one after another, each as a command of its own; a cancelled one is ended with all\n"
    "that it has started. The end of standard input ends everything.\n"
    "\n"
    "  --help   this text\n"
    "\n"
    "exit status: 0 standard input has ended, 2 usage, 4 standard output cannot be written,\n"
    "  130 interrupted\n";

int rp_cmd_mcp(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    const struct rp_mcp_server server = {.in = STDIN_FILENO,
                                         .out = STDOUT_FILENO,
                                         .program = "/proc/self/exe",
                                         .version = RP_VERSION};
    struct rp_err err = RP_ERR_INIT;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (c == 'h')
            return rp_cli_help(help);
        return rp_cli_bad_option("mcp", argv[optind - 1], c);
    }
    if (optind < argc)
        return rp_cli_usage_error("mcp", "unexpected argument %s", argv[optind]);
    return rp_mcp_serve(&server, &err) < 0 ? rp_cli_error(&err) : RP_OK;
}
