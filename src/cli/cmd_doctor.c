#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

/** Returns the device that `--device auto` takes, or NULL with the reason in err.
 * @param ret_clock_mhz  that it models by its variable, unless that is the highest */
static const char *auto_device(const struct rp_environment *env, uint32_t *ret_clock_mhz,
                               struct rp_err *err)
{
    struct rp_run_options options = {.takes_clock = true};

    if (!env->tool_library) {
        rp_fail(err, RP_ENVIRONMENT,
                "librocm-perf-tool.so is not beside this program; build or install rocm-perf-lab "
                "completely");
        return NULL;
    }
    if (rp_device_resolve(env, &options, err) < 0)
        return NULL;
    *ret_clock_mhz = rp_clock_modelled(&options);
    return rp_device_label(options.device);
}

static json_t *parts_json(const struct rp_rocm *rocm)
{
    json_t *parts = json_object();

    for (enum rp_rocm_part part = 0; part < RP_ROCM_PARTS; part++)
        json_object_set_new(parts, rp_rocm_part_key(part), rp_text_json(rocm->parts[part]));
    return parts;
}

static json_t *candidates_json(const struct rp_rocms *rocms)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rocms->count; i++) {
        const struct rp_rocm *rocm = &rocms->items[i];

        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:o, s:b, s:b, s:o, s:o, s:o}", "path",
                                        rp_text_json(rocm->root), "from", rocm->from, "version",
                                        rp_text_json(rocm->version), "used", rocm == rocms->used,
                                        "reports_calls", rocm->reports_calls, "reason",
                                        rp_text_json(rocm->reason), "remedy",
                                        rp_text_json(rocm->remedy), "parts", parts_json(rocm)));
    }
    return list;
}

static char *doctor_json(const struct rp_environment *env, const struct rp_rocms *rocms,
                         const char *device, uint32_t clock_mhz, const struct rp_err *err)
{
    json_t *root = json_pack(
        "{s:s, s:o, s:{s:s, s:o, s:o, s:o}, s:{s:b, s:i, s:o, s:o}, s:o, s:o, s:o, s:o, s:b, s:o}",
        "schema_version", "1.0", "device", rp_text_json(device), "rocm", "kind",
        rocm_kind_name(env->rocm_kind), "path", rp_text_json(env->rocm_root), "version",
        rp_text_json(env->rocm_version), "candidates", candidates_json(rocms), "gpu", "usable",
        !env->gpu_reason, "count", (int)env->gpu_count, "isa", rp_text_json(env->gpu_isa), "reason",
        rp_text_json(env->gpu_reason), "compiler", rp_text_json(env->compiler), "rocprofv3",
        rp_text_json(env->rocprofv3), "device_library", rp_text_json(env->device_library),
        "tool_library", rp_text_json(env->tool_library), "ready", device != NULL, "problem",
        rp_text_json(device ? NULL : err->text));
    if (clock_mhz)
        json_object_set_new(root, "engine_clock_mhz", json_integer(clock_mhz));
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;

    json_decref(root);
    return text;
}

/* A thing is called absent, and not missing, where programs run without it. */
static void line(const struct rp_page *page, const char *what, bool good, const char *value)
{
    enum { VALUES = 27 }; /**< the column of values */

    rp_page_words(page, good ? RP_INK_PLAIN : RP_INK_DIM, 2, VALUES - 2, "%-15s %-8s %s", what,
                  good ? *what ? "ok" : "used" : "-", value);
}

/* Names what is absent, with what it would be for: "compiler, HIP headers (to compile)". */
static void absent_parts(const struct rp_rocm *rocm, struct rp_buf *out)
{
    const char *use = NULL;

    for (enum rp_rocm_part part = 0; part < RP_ROCM_PARTS; part++) {
        if (rocm->parts[part])
            continue;
        if (use && strcmp(use, rp_rocm_part_use(part)) != 0)
            rp_buf_printf(out, " %s", use);
        rp_buf_puts(out, use ? ", " : "");
        use = rp_rocm_part_use(part);
        rp_buf_puts(out, rp_rocm_part_name(part));
    }
    if (use)
        rp_buf_printf(out, " %s", use);
}

static void candidate(const struct rp_page *page, const struct rp_rocm *rocm, bool used)
{
    rp_autobuf text = {0}, absent = {0};

    rp_buf_printf(&text, "%s", rocm->root);
    if (rocm->version)
        rp_buf_printf(&text, " (%s)", rocm->version);
    if (strcmp(rocm->from, rocm->root) != 0)
        rp_buf_printf(&text, ", found by %s", rocm->from);
    absent_parts(rocm, &absent);
    if (rocm->reason)
        rp_buf_printf(&text, ": passed over: %s%s%s", rocm->reason, rocm->remedy ? "; " : "",
                      rocm->remedy ? rocm->remedy : "");
    else if (!used)
        rp_buf_puts(&text, ": passed over: the one that is used comes before it");
    else if (absent.len)
        rp_buf_printf(&text, ": has no %s", rp_buf_text(&absent));
    if (used && !rocm->reports_calls)
        rp_buf_puts(&text, "; its HIP does not report calls, so the built-in collector records "
                           "kernels and copies alone");
    line(page, "", used, rp_buf_text(&text));
}

static void verdict(const struct rp_page *page, const struct rp_environment *env,
                    const char *device, uint32_t clock_mhz, const struct rp_err *err)
{
    rp_buf_puts(page->out, "\n");
    if (!device)
        rp_page_words(page, RP_INK_RED, 0, 2, "not ready: %s", err->text);
    else if (clock_mhz)
        rp_page_words(page, RP_INK_YELLOW, 0, 2,
                      "ready: programs run on the software MI300X at %u MHz "
                      "(ROCM_PERF_DEVICE_CLOCK); times are modelled, not hardware time",
                      clock_mhz);
    else if (env->gpu_reason)
        rp_page_words(page, RP_INK_YELLOW, 0, 2,
                      "ready: programs run on the software MI300X; times are modelled, not "
                      "hardware time");
    else
        rp_page_words(page, RP_INK_GREEN, 0, 2, "ready: programs run on the GPU (%s)",
                      env->gpu_isa);
}

static void doctor_text(const struct rp_environment *env, const struct rp_rocms *rocms,
                        const char *device, uint32_t clock_mhz, const struct rp_err *err,
                        struct rp_buf *out)
{
    const struct rp_page page = rp_page_of_words(out, rp_cli_style());
    rp_autobuf rocm = {0};
    char targets[512];

    if (env->rocm_kind != RP_ROCM_NONE)
        rp_buf_printf(&rocm, "%s (%s) in %s",
                      env->rocm_version ? env->rocm_version : "version unknown",
                      rocm_kind_name(env->rocm_kind), env->rocm_root);
    rp_page_words(&page, RP_INK_BOLD, 0, 0, "rocm-perf doctor");
    line(&page, "ROCm", rocm.len > 0, rocm.len ? rp_buf_text(&rocm) : "not found");
    for (size_t i = 0; i < rocms->count; i++)
        candidate(&page, &rocms->items[i], &rocms->items[i] == rocms->used);
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
    verdict(&page, env, device, clock_mhz, err);
}

int rp_cmd_doctor(int argc, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_rocm_places places;
    rp_autobuf out = {0};
    const char *device;
    uint32_t clock_mhz = 0;
    struct rp_doctor_cli options;
    int code;

    if (!rp_options_parse(RP_COMMAND_doctor, argc, argv, &options, &code))
        return code;
    if (rp_environment_detect(&env, &err) < 0)
        return rp_cli_error(&err);
    if (options.selftest)
        return rp_cmd_selftest(&env, &options);
    places = rp_rocm_places_here(env.private_root);
    rp_rocm_search(&places, true, &rocms);
    device = auto_device(&env, &clock_mhz, &err);
    if (options.json) {
        rp_autofree char *text = doctor_json(&env, &rocms, device, clock_mhz, &err);
        rp_buf_printf(&out, "%s\n", text ? text : "null");
    } else {
        doctor_text(&env, &rocms, device, clock_mhz, &err, &out);
    }
    code = rp_cli_result(rp_buf_text(&out));
    return code != RP_OK ? code : device ? RP_OK : RP_ENVIRONMENT;
}
