#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/selftest.h"
#include "report/report.h"
#include "run/machine.h"

static const char *rocm_kind_name(enum rp_rocm_kind kind)
{
    static const char *const names[] = {
        [RP_ROCM_NONE] = "none", [RP_ROCM_INSTALLED] = "installed", [RP_ROCM_PRIVATE] = "private"};

    return names[kind];
}

/* Returns the device that `--device auto` takes, or NULL with the reason in err. */
static const char *auto_device(const struct rp_environment *env, struct rp_err *err)
{
    struct rp_run_options options = {0};

    if (!env->tool_library) {
        rp_fail(err, RP_ENVIRONMENT,
                "librocm-perf-tool.so is not beside this program; build or install rocm-perf-lab "
                "completely");
        return NULL;
    }
    return rp_device_resolve(env, &options, err) < 0 ? NULL : rp_device_label(options.device);
}

static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static char *doctor_json(const struct rp_environment *env, const char *device,
                         const struct rp_err *err)
{
    json_t *root = json_pack(
        "{s:s, s:o, s:{s:s, s:o, s:o}, s:{s:b, s:i, s:o, s:o}, s:o, s:o, s:o, s:o, s:b, s:o}",
        "schema_version", "1.0", "device", string_or_null(device), "rocm", "kind",
        rocm_kind_name(env->rocm_kind), "path", string_or_null(env->rocm_root), "version",
        string_or_null(env->rocm_version), "gpu", "usable", !env->gpu_reason, "count",
        (int)env->gpu_count, "isa", string_or_null(env->gpu_isa), "reason",
        string_or_null(env->gpu_reason), "compiler", string_or_null(env->compiler), "rocprofv3",
        string_or_null(env->rocprofv3), "device_library", string_or_null(env->device_library),
        "tool_library", string_or_null(env->tool_library), "ready", device != NULL, "problem",
        device ? json_null() : json_string(err->text));
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;

    json_decref(root);
    return text;
}

/* A thing is called absent, and not missing, where programs run without it. */
static void line(const struct rp_page *page, const char *what, bool good, const char *value)
{
    enum { VALUES = 27 }; /**< the column of values */

    rp_page_words(page, good ? RP_INK_PLAIN : RP_INK_DIM, 2, VALUES - 2, "%-15s %-8s %s", what,
                  good ? "ok" : "-", value);
}

static void verdict(const struct rp_page *page, const struct rp_environment *env,
                    const char *device, const struct rp_err *err)
{
    rp_buf_puts(page->out, "\n");
    if (!device)
        rp_page_words(page, RP_INK_RED, 0, 2, "not ready: %s", err->text);
    else if (env->gpu_reason)
        rp_page_words(page, RP_INK_YELLOW, 0, 2,
                      "ready: programs run on the software MI300X; times are modelled, not "
                      "hardware time");
    else
        rp_page_words(page, RP_INK_GREEN, 0, 2, "ready: programs run on the GPU (%s)",
                      env->gpu_isa);
}

static void doctor_text(const struct rp_environment *env, const char *device,
                        const struct rp_err *err, struct rp_buf *out)
{
    const struct rp_page page = rp_page_of_words(out, rp_cli_style());
    rp_autobuf rocm = {0};
    char targets[512];

    if (env->rocm_kind != RP_ROCM_NONE)
        rp_buf_printf(&rocm, "%s (%s) in %s", env->rocm_version, rocm_kind_name(env->rocm_kind),
                      env->rocm_root);
    rp_page_words(&page, RP_INK_BOLD, 0, 0, "rocm-perf doctor");
    line(&page, "ROCm 7", rocm.len > 0, rocm.len ? rp_buf_text(&rocm) : "not found");
    line(&page, "GPU", !env->gpu_reason, env->gpu_reason ? env->gpu_reason : env->gpu_isa);
    line(&page, "HIP compiler", env->compiler != NULL, env->compiler ? env->compiler : "not found");
    line(&page, "rocprofv3", env->rocprofv3 != NULL,
         env->rocprofv3 ? env->rocprofv3 : "not found (the built-in collector does not need it)");
    line(&page, "software device", env->device_library != NULL,
         env->device_library ? env->device_library : "librocm-perf-device.so not found");
    rp_arch_choices(RP_ARCH_SOFTWARE, targets, sizeof targets);
    rp_page_words(&page, RP_INK_PLAIN, 2, 25, "%-15s %-8s %s", "", "as", targets);
    line(&page, "collector", env->tool_library != NULL,
         env->tool_library ? env->tool_library : "librocm-perf-tool.so not found");
    verdict(&page, env, device, err);
}

int rp_cmd_doctor(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf out = {0};
    const char *device;
    struct rp_doctor_cli options;
    int code;

    if (!rp_options_parse(RP_COMMAND_doctor, argc, argv, &options, &code))
        return code;
    if (rp_environment_detect(&env, &err) < 0)
        return rp_cli_error(&err);
    if (options.selftest)
        return rp_cmd_selftest(&env, &options);
    device = auto_device(&env, &err);
    if (options.json) {
        rp_autofree char *text = doctor_json(&env, device, &err);
        rp_buf_printf(&out, "%s\n", text ? text : "null");
    } else {
        doctor_text(&env, device, &err, &out);
    }
    code = rp_cli_result(rp_buf_text(&out));
    return code != RP_OK ? code : device ? RP_OK : RP_ENVIRONMENT;
}
