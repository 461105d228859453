#include "tune/build_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"
#include "tune/evaluate.h"
#include "tune/evaluation.h"
#include "tune/say.h"

static const uint64_t GIB = (uint64_t)1 << 30;

char *rp_build_output(const char *folder, const struct rp_command *command)
{
    char digits[RP_SHA256_TEXT];
    rp_autobuf words = {0};

    for (char *const *word = command->argv; *word; word++)
        rp_buf_add(&words, *word, strlen(*word) + 1);
    rp_buf_add(&words, "", 1);
    for (const struct rp_env_change *v = command->env; v && v->name; v++) {
        rp_buf_add(&words, v->name, strlen(v->name) + 1);
        rp_buf_puts(&words, v->value ? "=" : "-");
        rp_buf_add(&words, v->value ? v->value : "", v->value ? strlen(v->value) + 1 : 1);
    }
    if (words.failed)
        return NULL;
    rp_sha256(rp_buf_text(&words), words.len, digits);
    return rp_format("%s/%s/program", folder, digits);
}

/** Who has the file locked builds; the lock goes with the process. @return a descriptor or < 0 */
static int lock(const char *output, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s.lock", output);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s.lock", output);
    while (flock(fd, LOCK_EX) != 0) {
        const int why = errno;
        int rc = why == EINTR ? rp_proc_interrupted(err)
                              : rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot lock %s", path);

        if (rc < 0) {
            close(fd);
            return rc;
        }
    }
    return fd;
}

static int make_folder(const char *output, struct rp_err *err)
{
    rp_autofree char *folder = strdup(output);
    char *slash = folder ? strrchr(folder, '/') : NULL;

    if (!slash)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *slash = 0;
    return *folder ? rp_mkdirs_private(folder, err) : 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/** Why there is no program; NULL: there is one. */
static char *why_not(const struct rp_proc_end *end, const char *output, const char *log)
{
    char *text = NULL;

    if (!end->signaled && !end->timed_out && !end->over_memory && end->status == 0) {
        if (is_program(output))
            return NULL;
        text = rp_format("the build command left no file %s", output);
    } else {
        rp_autofree char *how = rp_say_end(end, log);

        text = how ? rp_format("the build command %s", how) : NULL;
    }
    return text ? text : strdup("out of memory");
}

/** A killed compiler's files go with the worker's folder. What the command says itself holds. */
static int run_build(const struct rp_evaluator *ev, const struct rp_evaluation_request *r,
                     const char *log, struct rp_proc_end *ret, struct rp_err *err)
{
    /* clang of the HIP examples has about 0.3 GB of memory. */
    const struct rp_proc_limits limits = {.resident_bytes = 8 * GIB, .file_bytes = 4 * GIB};
    rp_autofree char *temporary = rp_path_join(ev->folder, "tmp");
    rp_autofree struct rp_env_change *env = NULL;
    struct rp_command command = r->build;
    size_t count = 0;
    int rc;

    while (r->build.env && r->build.env[count].name)
        count++;
    env = calloc(count + 2, sizeof *env);
    if (!temporary || !env)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_remove_tree(temporary);
    if (rp_mkdirs_private(temporary, err) < 0)
        return -RP_ENVIRONMENT;
    env[0] = (struct rp_env_change){.name = "TMPDIR", .value = temporary};
    for (size_t i = 0; i < count; i++)
        env[1 + i] = r->build.env[i];
    command.env = env;
    rc = rp_evaluate_command(ev, &command, r->build_timeout_ns, &limits, log, ret, err);
    rp_remove_tree(temporary);
    return rc;
}

static int build(const struct rp_evaluator *ev, const struct rp_evaluation_request *r,
                 const char *stamp, struct rp_evaluation *e, struct rp_err *err)
{
    rp_autofree char *log = rp_path_join(ev->folder, "build.log");
    struct rp_proc_end end = {0};
    int rc;

    if (!log)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    unlink(r->build_output); /* what an interrupted one has left */
    rc = run_build(ev, r, log, &end, err);
    if (rc == -RP_USAGE) {
        e->reason = rp_format("the build command cannot be run: %s", err->text);
        e->outcome = RP_EVALUATION_NOT_BUILT;
        return e->reason ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    if (rc < 0)
        return rc;
    e->built = true;
    e->build_ns = end.wall_ns;
    e->reason = why_not(&end, r->build_output, log);
    if (!e->reason)
        return rp_write_private_file(stamp, "", 0, err);
    e->outcome = RP_EVALUATION_NOT_BUILT;
    e->signaled = end.signaled;
    e->status = end.status;
    return 0;
}

int rp_build_program(const struct rp_evaluator *ev, const struct rp_evaluation_request *r,
                     struct rp_evaluation *e, struct rp_err *err)
{
    rp_autofree char *stamp = rp_format("%s.built", r->build_output);
    rp_autoclose int locked = -1;
    int rc =
        stamp ? make_folder(r->build_output, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0)
        rc = locked = lock(r->build_output, err);
    if (rc < 0)
        return rc;
    if (rp_path_exists(stamp) && is_program(r->build_output))
        return 0;
    return build(ev, r, stamp, e, err);
}
