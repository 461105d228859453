#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "run/machine.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
#define COMMAND(id, operands, summary) {#id, rp_cmd_##id, summary},
#include "cli/options.def"
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *to)
{
    fprintf(to, "usage: rocm-perf COMMAND [options]\n\ncommands:\n");
    for (unsigned i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n`rocm-perf COMMAND --help` and `man rocm-perf-COMMAND` say more.\n"
                "exit status: 0 ok, 1 negative verdict, 2 usage, 3 bad input data,\n"
                "  4 environment (no ROCm, no device, disk full), 5 the program failed\n");
}

static int help_or_version(const char *word, int *ret_code)
{
    if (strcmp(word, "--version") == 0) {
        *ret_code = rp_cli_result("rocm-perf " RP_VERSION "\n");
        return 1;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        *ret_code = rp_cli_result("");
        return 1;
    }
    return 0;
}

static int unknown_command(const char *word)
{
    struct rp_nearest nearest = {.word = word};

    for (unsigned i = 0; i < COMMANDS; i++)
        rp_nearest_try(&nearest, commands[i].name);
    if (nearest.name)
        rp_cli_note("unknown command %s, did you mean %s?; see rocm-perf --help", word,
                    nearest.name);
    else
        rp_cli_note("unknown command %s; see rocm-perf --help", word);
    return RP_USAGE;
}

int main(int argc, char **argv)
{
    int code;

    /* With standard input closed, the first file that anyone opens would become it. */
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
        return RP_ENVIRONMENT;
    /* A limit on the size of files is an error to report and must not end this process. Programs
     * that are started get the signal nevertheless (rp_proc_exec). */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr);
        return RP_USAGE;
    }
    if (help_or_version(argv[1], &code))
        return code;
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}
