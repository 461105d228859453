/* Makes the private ROCm before there is a rocm-perf: ./setup compiles this, and calls it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/process.h"
#include "setup/private_rocm.h"

enum { TELL_S = 20 };

static void tell_line(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "setup: %s\n", line);
}

/** On a terminal a line changes; elsewhere there is one now and then. */
static void show_line(void *context, const char *text)
{
    int64_t *told_ns = context;

    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%.79s", text ? text : "");
    } else if (text && rp_now_ns() - *told_ns > TELL_S * INT64_C(1000000000)) {
        fprintf(stderr, "setup: %s\n", text);
        *told_ns = rp_now_ns();
    }
}

int main(int argc, char **argv)
{
    int64_t told_ns = rp_now_ns();
    struct rp_private_rocm_options options = {
        .say = tell_line, .show = show_line, .context = &told_ns};
    struct rp_err err = RP_ERR_INIT;
    char *version;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return RP_USAGE;
    }
    options.prefix = argv[1];
    rp_proc_catch_signals();
    if (rp_private_rocm_make(&options, &version, &err) == 0)
        return 0;
    fprintf(stderr, "setup: %s\n", err.text);
    return err.code;
}
