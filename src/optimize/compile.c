#include "optimize/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sha256.h"
#include "optimize/child.h"
#include "optimize/compile_command.h"

enum { MOST_OUTPUT = 64 << 10 };
static const int64_t PATIENCE_NS = (int64_t)1800 * 1000000000;

void rp_built_free(struct rp_built *built)
{
    free(built->output);
    free(built->why);
    *built = (struct rp_built){0};
}

static int run(char **argv, const char *log, const char *output, struct rp_built *ret,
               struct rp_err *err)
{
    struct rp_proc_end end;
    struct rp_built built = {0};
    int rc;

    unlink(output); /* what is there then is of this build */
    rc = rp_child_run(&(struct rp_child){.argv = (const char *const *)(uintptr_t)argv,
                                         .stdout_path = log,
                                         .stderr_path = log,
                                         .timeout_ns = PATIENCE_NS,
                                         .limits = rp_compiler_limits()},
                      &end, err);
    if (rc < 0)
        return rc;
    built.output = rp_child_text(log, MOST_OUTPUT);
    if (!built.output)
        built.output = strdup("");
    built.ok = !end.signaled && !end.timed_out && end.status == 0 && rp_path_exists(output);
    if (!built.ok)
        built.why = end.signaled || end.status || end.timed_out
                        ? rp_child_end_text(&end)
                        : rp_format("it ended with success, but did not write %s", output);
    unlink(log);
    if (!built.output || (!built.ok && !built.why)) {
        rp_built_free(&built);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = built;
    return 0;
}

int rp_compile(const struct rp_compile_command *command, const char *source, const char *arch,
               const char *output, struct rp_built *ret, struct rp_err *err)
{
    rp_autofree char *log = rp_format("%s.log", output);
    char **argv = NULL;
    int rc;

    if (!log)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_compile_argv(command, arch ? RP_COMPILE_DEVICE : RP_COMPILE_PROGRAM, source, output,
                         arch, &argv, err);
    if (rc == 0)
        rc = run(argv, log, output, ret, err);
    rp_compile_argv_free(&argv);
    return rc < 0 ? rp_wrap(err, "compile %s", source) : 0;
}

int rp_compile_twice(const struct rp_compile_command *command, const char *source, const char *arch,
                     const char *output, struct rp_built *ret, bool *ret_same, struct rp_err *err)
{
    rp_autofree char *first = rp_format("%s.first", output);
    char one[RP_SHA256_TEXT], two[RP_SHA256_TEXT];
    struct rp_built built;
    int rc = rp_compile(command, source, arch, output, &built, err);

    if (rc < 0)
        return rc;
    *ret_same = true;
    if (!built.ok) {
        *ret = built;
        return 0;
    }
    rp_built_free(&built);
    /* To the same name: the name may be in what is written. */
    if (!first || rename(output, first) != 0)
        return rp_fail(err, RP_ENVIRONMENT, "cannot rename %s", output);
    rc = rp_compile(command, source, arch, output, &built, err);
    if (rc < 0)
        return rc;
    if (built.ok) {
        rc = rp_sha256_file(first, one, err);
        if (rc == 0)
            rc = rp_sha256_file(output, two, err);
        if (rc < 0) {
            rp_built_free(&built);
            return rc;
        }
        *ret_same = strcmp(one, two) == 0;
    }
    unlink(first);
    *ret = built;
    return 0;
}
