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
#include "collect/environment.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
#define RP_CMD(name, function, summary) {name, rp_cmd_##function, summary},
#include "cli/cmds.def"
#undef RP_CMD
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* The one place where messages are printed: what they quote of files is escaped here. */
static void say(const char *before, const char *text, const char *after)
{
    rp_autobuf line = {0};

    rp_escape(&line, text);
    fprintf(stderr, "%s%s%s\n", before, rp_buf_text(&line), after);
}

static void vsay(const char *before, const char *after, const char *fmt, va_list ap)
{
    rp_autobuf text = {0};

    rp_buf_vprintf(&text, fmt, ap);
    say(before, rp_buf_text(&text), after);
}

int rp_cli_error(const struct rp_err *err)
{
    say("rocm-perf: ", err->text, "");
    return (int)err->code;
}

void rp_cli_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay("rocm-perf: ", "", fmt, ap);
    va_end(ap);
}

void rp_cli_item(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsay("rocm-perf:   ", "", fmt, ap);
    va_end(ap);
}

static void put_note(void *ctx, const char *text)
{
    (void)ctx;
    rp_cli_note("%s", text);
}

struct rp_note_sink rp_cli_notes(void)
{
    return (struct rp_note_sink){.put = put_note};
}

int rp_cli_usage_error(const char *command, const char *fmt, ...)
{
    rp_autobuf before = {0}, after = {0};
    va_list ap;

    rp_buf_printf(&before, "rocm-perf %s: ", command);
    rp_buf_printf(&after, "; see rocm-perf %s --help", command);
    va_start(ap, fmt);
    vsay(rp_buf_text(&before), rp_buf_text(&after), fmt, ap);
    va_end(ap);
    return RP_USAGE;
}

int rp_cli_bad_option(const char *command, const char *argument, int key)
{
    char single[] = {'-', (char)optopt, '\0'};
    bool short_option = optopt > ' ' && optopt < 127 && strncmp(argument, "--", 2) != 0;

    return rp_cli_usage_error(command, "%s %s", short_option ? single : argument,
                              key == ':' ? "needs a value" : "is no option");
}

int rp_cli_threads(const char *word, struct rp_err *err)
{
    char *end;
    long value = strtol(word, &end, 10);

    if (end == word || *end || value < 1 || value > 256)
        return rp_fail(err, RP_USAGE, "--threads %s: use a whole number from 1 to 256", word);
    if (setenv("ROCM_PERF_DEVICE_THREADS", word, 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

int rp_cli_gpus(const char *word, struct rp_err *err)
{
    if (word[0] < '1' || word[0] > '8' || word[1])
        return rp_fail(err, RP_USAGE, "--gpus %s: use a whole number from 1 to 8", word);
    if (setenv("ROCM_PERF_DEVICE_GPUS", word, 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

int rp_cli_expected_status(const char *word, int *ret, struct rp_err *err)
{
    char *end;
    long value = strtol(word, &end, 10);

    if (end == word || *end || value < 0 || value > 255)
        return rp_fail(err, RP_USAGE, "--expect-status %s: use a whole number from 0 to 255", word);
    *ret = (int)value;
    return 0;
}

int rp_cli_timing(const char *word, struct rp_err *err)
{
    if (!rp_device_timing_known(word))
        return rp_fail(err, RP_USAGE, "--timing %s: use off, fast or detailed", word);
    if (setenv("ROCM_PERF_DEVICE_TIMING", word, 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

int rp_cli_result(const char *text)
{
    rp_autobuf seen = {0};

    rp_escape_invisible(&seen, text); /* a JSON document may have it in its strings */
    if (seen.failed || fputs(rp_buf_text(&seen), stdout) == EOF || fflush(stdout) == EOF) {
        struct rp_err err = RP_ERR_INIT;

        rp_fail_errno(&err, RP_ENVIRONMENT, errno, "cannot write to standard output");
        return rp_cli_error(&err);
    }
    return RP_OK;
}

/* https://no-color.org: "when present and not an empty string (regardless of its value)". */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return !(no && *no) && !(terminal && strcmp(terminal, "dumb") == 0);
}

struct rp_term_style rp_cli_style(void)
{
    struct rp_term_style style = {.colour = isatty(STDOUT_FILENO) && wants_colour(),
                                  .utf8 = rp_locale_is_utf8()};
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.width = size.ws_col;
    return style;
}

int rp_cli_help(const char *text)
{
    return rp_cli_result(text);
}

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

int main(int argc, char **argv)
{
    int code;

    /* With standard input closed, the first file that anyone opens would become it. */
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
        return RP_ENVIRONMENT;
    /* A limit on the size of files is an error to report, not the end; programs that are started
     * get the signal nevertheless (rp_proc_exec). */
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
    rp_cli_note("unknown command %s; see rocm-perf --help", argv[1]);
    return RP_USAGE;
}
