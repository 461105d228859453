/* Makes the private ROCm before there is a rocm-perf: ./setup compiles this, and calls it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/process.h"
#include "base/utf8.h"
#include "setup/private_rocm.h"

enum { TELL_S = 20 };

/** What a server says may have control characters in it. */
static void put_escaped(const char *before, const char *text, const char *after)
{
    char escaped[4096];

    rp_escape_into(escaped, sizeof escaped, text);
    fprintf(stderr, "%s%s%s", before, escaped, after);
}

static void tell_line(void *context, const char *line)
{
    (void)context;
    put_escaped("setup: ", line, "\n");
}

/** On a terminal a line changes; elsewhere there is one now and then. */
static void show_line(void *context, const char *text)
{
    int64_t *told_ns = context;

    if (isatty(STDERR_FILENO)) {
        char start[80];

        snprintf(start, sizeof start, "%s", text ? text : "");
        put_escaped("\r\033[K", start, "");
    } else if (text && rp_now_ns() - *told_ns > TELL_S * INT64_C(1000000000)) {
        tell_line(NULL, text);
        *told_ns = rp_now_ns();
    }
}

int main(int argc, char **argv)
{
    int64_t told_ns = rp_now_ns();
    struct rp_private_rocm_options options = {.listener = {tell_line, show_line, &told_ns}};
    struct rp_err err = RP_ERR_INIT;
    char *version;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return RP_USAGE;
    }
    options.prefix = argv[1];
    /* With standard input closed, the first pipe would become it. */
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
        return RP_ENVIRONMENT;
    rp_proc_catch_signals();
    if (rp_private_rocm_make(&options, &version, &err) == 0)
        return 0;
    tell_line(NULL, err.text);
    return err.code;
}
