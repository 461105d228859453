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

/** What a driver says of a linker that has failed, which says before what was wrong. */
static bool is_of_driver(const char *line)
{
    static const char *const words[] = {"error: ld returned ", "command failed with exit code ",
                                        "command failed due to signal "};
    const size_t bytes = strcspn(line, "\n");

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, bytes, words[i], strlen(words[i])))
            return !memmem(line, bytes, "frontend", 8); /* which says nothing else of a crash */
    return false;
}

static const char *line_of(const char *said, const char *at)
{
    while (at > said && at[-1] != '\n')
        at--;
    return at;
}

/** @return where it begins to say what was wrong; *ret_line: the line of that */
static const char *find_error(const char *said, const char **ret_line)
{
    const char *driver = NULL;
    const char *error;

    for (const char *at = said; (error = strcasestr(at, "error:")); at = error + 1) {
        *ret_line = line_of(said, error);
        if (!is_of_driver(*ret_line))
            return error;
        driver = driver ? driver : *ret_line;
    }
    if (driver == said)
        return *ret_line = said;
    return *ret_line = driver ? line_of(said, driver - 1) : said;
}

char *rp_built_reason(const struct rp_built *built)
{
    enum { MOST_BYTES = 200 };
    const char *said = built->output + strspn(built->output, " \t\r\n");
    const char *error, *line;
    size_t bytes;

    if (!*said)
        return strdup(built->why);
    error = find_error(said, &line);
    if (strcspn(line, "\n") > MOST_BYTES) /* a long path stands before it */
        line = error;
    bytes = strcspn(line, "\n");
    if (bytes > MOST_BYTES)
        bytes = rp_child_whole_bytes(line, MOST_BYTES);
    return rp_format("%s: %.*s", built->why, (int)bytes, line);
}

static int run(const struct rp_compile_command *command, const struct rp_compile_step *step,
               const char *log, bool again, struct rp_built *ret, struct rp_err *err)
{
    const struct rp_env_change env[] = {rp_compile_command_env(command), {0}};
    const char *output = step->output;
    struct rp_proc_end end;
    struct rp_built built = {0};
    int rc;

    if (step->begins)
        unlink(output); /* what is there then is of this build */
    rc = rp_child_run(&(struct rp_child){.argv = (const char *const *)(uintptr_t)step->argv,
                                         .env = env,
                                         .directory = step->directory,
                                         .stdout_path = log,
                                         .stderr_path = log,
                                         .timeout_ns = PATIENCE_NS,
                                         .limits = rp_compiler_limits(),
                                         .compiler_of = rp_compile_command_environment(command),
                                         .again = again},
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

static int compile_device(const struct rp_compile_command *command, const char *source,
                          const char *arch, const char *output, const char *log, bool again,
                          struct rp_built *ret, struct rp_err *err)
{
    rp_cleanup(rp_compile_step_free) struct rp_compile_step step = {.output = strdup(output),
                                                                    .begins = true};

    if (!step.output)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_compile_argv(command, RP_COMPILE_DEVICE, source, output, arch, &step.argv, err) < 0)
        return -(int)err->code;
    return run(command, &step, log, again, ret, err);
}

/** All steps; what was made on the way is removed. */
static int compile_program(const struct rp_compile_command *command, const char *source,
                           const char *output, const char *log, struct rp_built *ret,
                           struct rp_err *err)
{
    const size_t count = rp_compile_command_steps(command);
    struct rp_compile_step *steps = calloc(count, sizeof *steps);
    struct rp_built built = {.ok = true};
    int rc = steps ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    for (size_t i = 0; i < count && rc == 0 && built.ok; i++) {
        rp_built_free(&built);
        rc = rp_compile_step(command, i, source, output, &steps[i], err);
        if (rc == 0)
            rc = run(command, &steps[i], log, false, &built, err);
    }
    for (size_t i = 0; steps && i < count; i++) {
        if (i + 1 < count && steps[i].output)
            unlink(steps[i].output);
        rp_compile_step_free(&steps[i]);
    }
    free(steps);
    if (rc == 0)
        *ret = built;
    return rc;
}

static int compile(const struct rp_compile_command *command, const char *source, const char *arch,
                   const char *output, bool again, struct rp_built *ret, struct rp_err *err)
{
    rp_autofree char *log = rp_format("%s.log", output);
    struct rp_err own = RP_ERR_INIT;
    int rc;

    err = err ? err : &own;
    if (!log)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = arch ? compile_device(command, source, arch, output, log, again, ret, err)
              : compile_program(command, source, output, log, ret, err);
    if (rc == 0 && ret->ok)
        rp_close_tree(output); /* which a compiler writes for all whom the umask lets */
    return rc < 0 ? rp_wrap(err, "compile %s", source) : 0;
}

int rp_compile(const struct rp_compile_command *command, const char *source, const char *arch,
               const char *output, struct rp_built *ret, struct rp_err *err)
{
    return compile(command, source, arch, output, false, ret, err);
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
    rc = compile(command, source, arch, output, true, &built, err);
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
