#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/memfd.h"
#include "base/path.h"
#include "cli/replay_child.h"
#include "cli/replay_watch.h"
#include "collect/environment.h"
#include "replay/replay_protocol.h"
#include "trace/capture.h"

enum { MOST_STARTS = 8, MOST_BYTES = 1 << 16 };
#define RUNS        "3"
#define PATIENCE_NS ((int64_t)900 * 1000000000)

static void drop(json_t **json)
{
    json_decref(*json);
}

/* What the child has written; NULL: nothing that can be used. */
static json_t *read_result(int fd)
{
    char text[MOST_BYTES];
    const ssize_t got = pread(fd, text, sizeof text, 0);

    return got > 0 ? json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

/* It did not come to a result of its own. */
static json_t *made_result(const struct rp_proc_end *end)
{
    const bool kernels_fault = end->signaled || end->timed_out;
    rp_autofree char *reason =
        end->timed_out  ? rp_format("the replay does not end")
        : end->signaled ? rp_format("the replay was ended by signal %d", end->status)
        : end->status == RP_REPLAY_AGAIN || end->status == RP_VERDICT
            ? rp_format("its addresses could not be had on this machine")
            : rp_format("it could not be replayed on this machine (exit status %d)", end->status);

    return reason ? json_pack("{s:s, s:s, s:s, s:i, s:i, s:n, s:s, s:s}", "schema_version", "1.0",
                              "label", kernels_fault ? "not replayable" : "unknown", "reason",
                              reason, "runs", 0, "equal_runs", 0, "first_difference", "gpu_agent",
                              "", "rocm_version", "")
                  : NULL;
}

static int replay(const struct rp_environment *env, enum rp_device device, const char *folder,
                  int fd, struct rp_proc_end *ret, struct rp_err *err)
{
    /* The child has it as well. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    struct rp_replay_watch watch = rp_replay_watch_begin(step_fd);
    char step[16];
    int rc = 0;

    snprintf(step, sizeof step, "%d", step_fd);
    for (unsigned i = 0; i < MOST_STARTS && rc == 0; i++) {
        const struct rp_replay_child child = {.action = "self-check",
                                              .folder = folder,
                                              .iterations = RUNS,
                                              .warmup = "0",
                                              .flags = "a",
                                              .hsaco = "",
                                              .compare = "exact",
                                              .stdout_fd = fd,
                                              .stderr_fd = watch.stderr_fd,
                                              .step_fd = step,
                                              .waiting = rp_replay_watch_look,
                                              .context = &watch,
                                              .timeout_ns = PATIENCE_NS};

        rc = rp_replay_child_run(env, device, &child, ret, err);
        if (ret->signaled || ret->status != RP_REPLAY_AGAIN)
            break;
    }
    rp_replay_watch_end(&watch);
    return rc;
}

static int keep(const char *folder, const json_t *result, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_SELF_CHECK_FILE);
    rp_autofree char *text = json_dumps(result, JSON_INDENT(2));
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;

    if (!path || !line)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_write_private_file(path, line, strlen(line), err) < 0)
        return -(int)err->code;
    /* Until this is done the file is there and not in the list: the capture is sound. What the
     * others have become since they were written is not blessed. */
    return rp_capture_add_checksum(folder, RP_CAPTURE_SELF_CHECK_FILE, err);
}

/* The program may have chosen its software device itself. */
static int take_captured_gpu(const char *folder, struct rp_err *err)
{
    struct rp_capture *capture;
    int rc = rp_capture_open(folder, &capture, err);

    if (rc < 0)
        return rc;
    rp_device_take_product(rp_capture_get_facts(capture)->isa,
                           rp_capture_get_facts(capture)->product);
    rp_capture_close(capture);
    return 0;
}

int rp_capture_self_check(const struct rp_environment *env, enum rp_device device,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err)
{
    rp_autoclose int fd = rp_memfd("self_check", MFD_CLOEXEC);
    rp_cleanup(drop) json_t *result = NULL;
    struct rp_proc_end end = {0};
    const char *label, *reason;
    int rc;

    if (fd < 0)
        return rp_fail(err, RP_ENVIRONMENT, "no memory for a file");
    setenv("ROCM_PERF_DEVICE_TIMING", "off", 1); /* memory is looked at, not time */
    rc = take_captured_gpu(folder, err);
    if (rc < 0)
        return rc;
    rc = replay(env, device, folder, fd, &end, err);
    if (rc < 0)
        return rc;
    result = !end.signaled && end.status == 0 ? read_result(fd) : made_result(&end);
    label = json_string_value(json_object_get(result, "label"));
    reason = json_string_value(json_object_get(result, "reason"));
    if (!label)
        return rp_fail(err, RP_ENVIRONMENT, "the replay has left no result");
    rc = keep(folder, result, err);
    if (rc < 0)
        return rc;
    *ret_label = strdup(label);
    *ret_reason = reason ? strdup(reason) : NULL;
    return *ret_label ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
