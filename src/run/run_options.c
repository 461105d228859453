/* This file turns options and variables of this process into variables of the program. */
#include "run/run_program.h"

#include <ctype.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/program_loader.h"
#include "trace/capture.h"
#include "trace/records.h"

#define DEVICE_VARIABLE "ROCM_PERF_DEVICE"
#define TIMING_VARIABLE "ROCM_PERF_DEVICE_TIMING"
#define CLOCK_VARIABLE  "ROCM_PERF_DEVICE_CLOCK"

enum rp_timing_choice rp_timing_parse(const char *word)
{
    const char *today = rp_timing_model_today(word);

    for (int i = RP_TIMING_OFF; i <= RP_TIMING_WARM; i++)
        if (strcmp(today, rp_timing_word((enum rp_timing_choice)i)) == 0)
            return (enum rp_timing_choice)i;
    return RP_TIMING_UNSAID;
}

bool rp_timing_rename(void)
{
    const char *said = getenv(TIMING_VARIABLE);
    const char *today = rp_timing_model_today(said);

    return said != today && setenv(TIMING_VARIABLE, today, 1) == 0;
}

struct rp_arch rp_software_gpu(const struct rp_run_options *options)
{
    struct rp_arch arch;

    if (rp_arch_select(options->target, &arch) < 0)
        rp_arch_select(NULL, &arch);
    return arch;
}

enum rp_timing_choice rp_timing_in_force(const struct rp_run_options *options)
{
    if (options->timing != RP_TIMING_UNSAID)
        return options->timing;
    return rp_software_gpu(options).timing ? RP_TIMING_DETAILED : RP_TIMING_COUNTS;
}

uint32_t rp_clock_modelled(const struct rp_run_options *options)
{
    return options->clock_mhz != rp_software_gpu(options).engine_clock_mhz ? options->clock_mhz : 0;
}

/* --- whose times they are ------------------------------------------------------------------- */

void rp_device_identity_free(struct rp_device_identity *identity)
{
    free(identity->gfx);
    free(identity->gpu);
    free(identity->rocm);
    free(identity->timing);
    *identity = (struct rp_device_identity){0};
}

static void identify_software(const struct rp_run_options *options, struct rp_device_identity *ret)
{
    static const uint32_t versions[] = {[RP_TIMING_OFF] = RP_TIMING_OFF_VERSION,
                                        [RP_TIMING_COUNTS] = RP_TIMING_COUNTS_VERSION,
                                        [RP_TIMING_DETAILED] = RP_TIMING_DETAILED_VERSION,
                                        [RP_TIMING_WARM] = RP_TIMING_DETAILED_VERSION};
    const struct rp_arch arch = rp_software_gpu(options);
    const enum rp_timing_choice timing = rp_timing_in_force(options);

    ret->gfx = rp_strdup(arch.name);
    ret->gpu = rp_strdup(arch.product);
    ret->compute_units = arch.compute_units;
    ret->node = -1;
    ret->timing = rp_strdup(rp_timing_word(timing));
    ret->timing_version = versions[timing];
}

static int identify_gpu(struct rp_device_identity *ret, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    rp_autofree struct rp_gpu *gpus = NULL;
    const struct rp_gpu *gpu;
    size_t count;

    rp_gpus_list(RP_GPU_NODES, RP_GPU_FILES, &gpus, &count);
    gpu = rp_gpus_first_visible(gpus, count, visible);
    if (!gpu)
        return rp_fail(err, RP_ENVIRONMENT,
                       "ROCR_VISIBLE_DEVICES=%s names no GPU of this machine, which has %zu",
                       visible ? visible : "", count);
    ret->gfx = rp_strdup(gpu->gfx);
    ret->gpu = rp_strdup(gpu->product);
    ret->compute_units = gpu->compute_units;
    ret->node = gpu->node;
    ret->timing = rp_strdup("");
    return 0;
}

int rp_device_identify(const struct rp_environment *env, const struct rp_run_options *options,
                       struct rp_device_identity *ret, struct rp_err *err)
{
    int rc = 0;

    *ret =
        (struct rp_device_identity){.software = options->device == RP_DEVICE_SOFTWARE,
                                    .rocm = rp_strdup(env->rocm_version ? env->rocm_version : "")};
    if (ret->software)
        identify_software(options, ret);
    else
        rc = identify_gpu(ret, err);
    if (rc < 0)
        rp_device_identity_free(ret);
    return rc;
}

char *rp_device_identity_gpu(const struct rp_device_identity *identity)
{
    return rp_format("%s (%s%s, %u CUs)", identity->gpu[0] ? identity->gpu : "GPU",
                     identity->software ? "software device, " : "", identity->gfx,
                     identity->compute_units);
}

char *rp_device_identity_timing(const struct rp_device_identity *identity)
{
    return *identity->timing
               ? rp_format("%s (version %u)", identity->timing, identity->timing_version)
               : rp_strdup("");
}

/* --- from words and variables ---------------------------------------------------------------- */

/* Checks that the software device can be @p spec ("gfx942:mi325x"), which was given with @p option.
 */
static int check_software(const char *option, const char *spec, struct rp_err *err)
{
    char choices[512];
    struct rp_arch arch;
    int rc = rp_arch_select(spec, &arch);

    rp_arch_choices(RP_ARCH_SOFTWARE, choices, sizeof choices);
    if (rc == -ENOTSUP)
        return rp_fail(err, RP_USAGE, "%s%s: the software device cannot be a %s: %s; use %s",
                       option, spec, arch.name, arch.software_refusal, choices);
    if (rc == -ENODATA)
        return rp_fail(err, RP_USAGE,
                       "%s%s: of the %s not enough is known here to model it; use %s", option, spec,
                       arch.product, choices);
    if (rc < 0)
        return rp_fail(err, RP_USAGE, "%s%s: no such target; use %s", option, spec, choices);
    return 0;
}

int rp_device_parse(const char *word, struct rp_run_options *ret, struct rp_err *err)
{
    static const char with_target[] = "software:";

    if (strcmp(word, "auto") == 0)
        ret->device = RP_DEVICE_AUTO;
    else if (strcmp(word, "gpu") == 0)
        ret->device = RP_DEVICE_GPU;
    else if (strcmp(word, "software") == 0) {
        ret->device = RP_DEVICE_SOFTWARE;
        ret->target = rp_arch_default()->name; /* The environment does not matter here. */
    } else if (strncmp(word, with_target, strlen(with_target)) == 0) {
        ret->device = RP_DEVICE_SOFTWARE;
        ret->target = word + strlen(with_target);
        return check_software("--device software:", ret->target, err);
    } else
        return rp_fail(err, RP_USAGE, "--device %s: use auto, gpu, software or software:TARGET",
                       word);
    return 0;
}

static int take_timing(struct rp_run_options *options, struct rp_err *err)
{
    const char *said = options->timing ? NULL : getenv(TIMING_VARIABLE);
    struct rp_arch arch;
    char others[256];

    if (said && *said)
        options->timing = rp_timing_parse(said);
    if (said && *said && !options->timing)
        return rp_fail(err, RP_USAGE,
                       TIMING_VARIABLE "=%s: use off, counts, detailed or warm, or unset it", said);
    arch = rp_software_gpu(options);
    if (options->timing < RP_TIMING_DETAILED || arch.timing)
        return 0;
    rp_arch_choices(RP_ARCH_TIMED, others, sizeof others);
    return rp_fail(err, RP_USAGE,
                   "there is no detailed timing of %s:%s; use counts timing, or one of %s",
                   arch.name, arch.product, others);
}

/** Takes the engine clock, which has to be one of the product's. */
static int take_clock(struct rp_run_options *options, struct rp_err *err)
{
    const char *said = options->clock_mhz ? NULL : getenv(CLOCK_VARIABLE);
    const struct rp_arch arch = rp_software_gpu(options);
    rp_autofree char *number = rp_format("%" PRIu32, options->clock_mhz);
    const char *what = said ? CLOCK_VARIABLE "=" : "--clock ";
    const char *text = said ? said : number;

    if (!options->clock_mhz && (!said || !*said))
        return 0;
    if (!options->takes_clock)
        return rp_fail(err, RP_USAGE,
                       "%s%s: only run and profile model another engine clock than the highest; "
                       "unset it",
                       what, text);
    if (!rp_arch_clock_parse(&arch, text, &options->clock_mhz))
        return rp_fail(err, RP_USAGE,
                       "%s%s: the engine clock of the %s is a whole number of MHz from %d to "
                       "%" PRIu32,
                       what, text, arch.product, RP_ARCH_LOWEST_CLOCK_MHZ, arch.engine_clock_mhz);
    if (options->timing == RP_TIMING_OFF)
        return rp_fail(err, RP_USAGE,
                       "%s%s: with timing off there is no clock; leave one of them out", what,
                       text);
    return 0;
}

static int check_order(struct rp_err *err)
{
    static const char shuffled[] = "shuffled:", interleaved[] = "interleaved:";
    const char *text = getenv("ROCM_PERF_DEVICE_ORDER"), *number;
    char *end = NULL;
    long seed = 0;

    if (!text || !*text || strcmp(text, "forward") == 0 || strcmp(text, "reversed") == 0)
        return 0;
    number = strncmp(text, shuffled, strlen(shuffled)) == 0         ? text + strlen(shuffled)
             : strncmp(text, interleaved, strlen(interleaved)) == 0 ? text + strlen(interleaved)
                                                                    : NULL;
    if (number && isdigit((unsigned char)*number))
        seed = strtol(number, &end, 10);
    if (end && end > number && !*end && seed >= 1 && seed <= 1000000)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "ROCM_PERF_DEVICE_ORDER=%s: use forward, reversed, shuffled:N or interleaved:N "
                   "with N from 1 to 1000000, or unset it",
                   text);
}

/** Reads a whole number from 1 on, unless an option has given one. */
static int take_number(const char *name, uint32_t most, uint32_t *value, struct rp_err *err)
{
    const char *text = *value ? NULL : getenv(name);
    char *end;
    long number;

    if (!text || !*text)
        return 0;
    number = strtol(text, &end, 10);
    if (end == text || *end || number < 1 || number > (long)most)
        return rp_fail(err, RP_USAGE,
                       "%s=%s: use a whole number from 1 to %" PRIu32 ", or unset it", name, text,
                       most);
    *value = (uint32_t)number;
    return 0;
}

static int take_target(struct rp_run_options *options, struct rp_err *err)
{
    const char *said = options->target ? NULL : getenv(DEVICE_VARIABLE);

    if (!options->target)
        options->target = said && (*said || !options->usual_target) ? said : options->usual_target;
    if (said && strcmp(said, "off") == 0)
        return rp_fail(err, RP_USAGE,
                       DEVICE_VARIABLE "=off: the software device is switched off; unset the "
                                       "variable, or use --device gpu");
    return options->target ? check_software(DEVICE_VARIABLE "=", options->target, err) : 0;
}

int rp_run_options_inherit(struct rp_run_options *options, struct rp_err *err)
{
    const char *jit = getenv("ROCM_PERF_DEVICE_JIT");
    const char *samples = getenv("ROCM_PERF_DEVICE_PC_SAMPLING");
    uint32_t leftovers = 0;
    int rc = take_number("ROCM_PERF_DEVICE_THREADS", 256, &options->threads, err);

    if (rc == 0)
        rc = take_number("ROCM_PERF_DEVICE_GPUS", 8, &options->gpus, err);
    if (rc == 0)
        rc = take_number("ROCM_PERF_DEVICE_LEFTOVERS", INT32_MAX, &leftovers, err);
    if (rc == 0 && jit && *jit && strcmp(jit, "on") != 0 && strcmp(jit, "off") != 0)
        rc = rp_fail(err, RP_USAGE, "ROCM_PERF_DEVICE_JIT=%s: use on or off, or unset it", jit);
    if (rc == 0 && samples && *samples && strcmp(samples, "on") != 0 && strcmp(samples, "off") != 0)
        rc = rp_fail(err, RP_USAGE, "ROCM_PERF_DEVICE_PC_SAMPLING=%s: use on or off, or unset it",
                     samples);
    if (rc == 0)
        rc = check_order(err);
    if (rc == 0)
        rc = take_target(options, err);
    if (rc == 0)
        rc = take_timing(options, err);
    return rc < 0 ? rc : take_clock(options, err);
}

int rp_device_resolve(const struct rp_environment *env, struct rp_run_options *options,
                      struct rp_err *err)
{
    enum rp_device device = options->device;

    if (env->rocm_kind == RP_ROCM_NONE)
        return rp_fail(err, RP_ENVIRONMENT, "%s", env->rocm_problem);
    if (device == RP_DEVICE_AUTO)
        device = env->gpu_reason ? RP_DEVICE_SOFTWARE : RP_DEVICE_GPU;
    int rc = device == RP_DEVICE_SOFTWARE ? rp_run_options_inherit(options, err) : 0;
    if (rc < 0)
        return rc;
    if (device == RP_DEVICE_GPU && options->clock_mhz)
        return rp_fail(err, RP_USAGE,
                       "--clock %" PRIu32 ": a GPU has its own clock, which amd-smi sets; use "
                       "--device software",
                       options->clock_mhz);
    if (device == RP_DEVICE_GPU && env->gpu_reason)
        return rp_fail(err, RP_ENVIRONMENT, "--device gpu: %s; use --device software",
                       env->gpu_reason);
    if (device == RP_DEVICE_SOFTWARE && env->device_library && strpbrk(env->device_library, " :"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s: LD_PRELOAD cannot hold a path with a space or a colon; move or install "
                       "rocm-perf-lab to a folder without",
                       env->device_library);
    if (device == RP_DEVICE_SOFTWARE && !env->device_library)
        return rp_fail(err, RP_ENVIRONMENT,
                       "librocm-perf-device.so is not beside this program; build or install "
                       "rocm-perf-lab completely");
    options->device = device;
    return 0;
}

/* --- variables of the program --------------------------------------------------------------- */

static uint32_t number_or(const char *text, uint32_t otherwise)
{
    return text ? (uint32_t)strtoul(text, NULL, strncmp(text, "0x", 2) == 0 ? 16 : 10) : otherwise;
}

/* Accepts "[2-3],[7]" and "2-3 7": any characters may stand between the numbers. */
static void put_launches(struct rp_buf *to, const char *text)
{
    while (*text) {
        char *end;
        unsigned long first, last;

        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        first = last = strtoul(text, &end, 10);
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        rp_buf_printf(to, "%s%lu-%lu", to->len ? "," : "", first, last);
        text = end;
    }
}

/* Writes the tracer's words for the thread traces that are wanted: values[0..2]. */
static void ask_for_threads(const struct rp_thread_trace_options *asked, char *values[3])
{
    struct rp_buf kernels = {0}, launches = {0}, waves = {0};

    for (size_t i = 0; asked->symbols && asked->symbols[i]; i++)
        rp_buf_printf(&kernels, "%s%s", i ? "\n" : "", asked->symbols[i]);
    put_launches(&launches, asked->iterations ? asked->iterations : "1");
    rp_buf_printf(&waves, "%" PRIx32 " %" PRIx32 " %" PRIx32 " %zx",
                  number_or(asked->target_cu, RP_THREADS_ANY_CU),
                  number_or(asked->shader_engines, 1), number_or(asked->simd_select, 0xf),
                  asked->buffer_bytes
                      ? number_or(asked->buffer_bytes, 0) / sizeof(struct rp_threads_row)
                      : RP_THREADS_ROWS);
    values[0] = rp_buf_steal(&kernels);
    values[1] = rp_buf_steal(&launches);
    values[2] = rp_buf_steal(&waves);
}

struct changes {
    struct rp_env_change *at;
    size_t count;
};

static void add(struct changes *to, const char *name, const char *value)
{
    to->at[to->count++] = (struct rp_env_change){.name = name, .value = value};
}

static void add_said(struct changes *to, const char *name, const char *value)
{
    if (value && *value)
        add(to, name, value);
}

/* Adds the settings of the software device. */
static void add_device(const struct rp_run_options *o, char *values[8], struct changes *to)
{
    const enum rp_timing_choice timing =
        o->thread_trace && o->timing != RP_TIMING_WARM ? RP_TIMING_DETAILED : o->timing;

    add_said(to, DEVICE_VARIABLE, o->target);
    add_said(to, TIMING_VARIABLE, rp_timing_word(timing));
    add_said(to, "ROCM_PERF_DEVICE_THREADS", o->threads ? values[3] : NULL);
    add_said(to, "ROCM_PERF_DEVICE_GPUS", o->gpus ? values[4] : NULL);
    add_said(to, CLOCK_VARIABLE, o->clock_mhz ? values[7] : NULL);
    if (o->counters)
        add(to, "ROCM_PERF_DEVICE_COUNTERS", *o->counters ? o->counters : NULL);
    add_said(to, "ROCM_PERF_DEVICE_TARGET_SAID", o->target_said ? "1" : NULL);
    if (!o->thread_trace)
        return;
    add(to, RP_THREADS_KERNELS_VARIABLE, values[0]);
    add(to, RP_THREADS_LAUNCHES_VARIABLE, values[1]);
    add(to, RP_THREADS_WAVES_VARIABLE, values[2]);
}

#define USUAL_LOADER "/lib64/ld-linux-x86-64.so.2"

char *rp_loader_setting(const struct rp_environment *env, const char *machine_libc)
{
    const char *root = env->rocm_root, *libraries = env->rocm_libraries;
    rp_autofree char *loader = NULL;

    if (env->rocm_kind != RP_ROCM_PRIVATE || strpbrk(root, ":;"))
        return NULL;
    /* A later build of the same version, "2.44-3", counts as later than "2.44", but is the same. */
    if (env->rocm_libc &&
        (strverscmp(machine_libc, env->rocm_libc) >= 0 ||
         strncmp(machine_libc, env->rocm_libc, strcspn(env->rocm_libc, "-+")) == 0))
        loader = realpath(USUAL_LOADER, NULL);
    /* libstdc++ comes first, because a module's own may be older than ROCm's. */
    return loader
               ? rp_format("%s::%.*s:%s", loader, (int)(strrchr(loader, '/') - loader), loader,
                           libraries)
               : rp_format("%s" USUAL_LOADER ":%s%s:%s", root, strchr(root, ' ') ? "" : libraries,
                           strchr(root, ' ') ? "" : "/libstdc++.so.6", libraries);
}

/* Programs look for ROCm in /opt/rocm, or where these variables say. A private one is in neither,
 * and what the user's ROCM_PATH may say of it is where it was unpacked. */
static void add_rocm(const struct rp_environment *env, char **ret_usual, struct changes *to)
{
    *ret_usual = env->rocm_kind == RP_ROCM_PRIVATE ? rp_rocm_usual(env->rocm_root) : NULL;
    add_said(to, "ROCM_PATH", *ret_usual);
    add_said(to, "ROCM_HOME", getenv("ROCM_HOME") ? NULL : *ret_usual);
}

/* Adds the libraries that are injected, and what they record. */
static int add_libraries(const struct rp_environment *env, const struct rp_run_options *o,
                         char **ret_loader, struct changes *to, struct rp_err *err)
{
    if (o->device == RP_DEVICE_SOFTWARE) {
        add(to, "LD_PRELOAD", env->device_library);
        to->at[to->count - 1].separator = ":";
        /* The device's library starts the program's children, too. */
        *ret_loader = rp_loader_setting(env, gnu_get_libc_version());
    }
    if (o->device == RP_DEVICE_SOFTWARE && (*ret_loader || getenv(RP_LOADER_VARIABLE)))
        add(to, RP_LOADER_VARIABLE, *ret_loader);
    if (!o->trace_dir)
        return 0;
    if (!env->tool_library)
        return rp_fail(err, RP_ENVIRONMENT,
                       "librocm-perf-tool.so is not beside this program; build or install "
                       "rocm-perf-lab completely");
    add(to, "HSA_TOOLS_LIB", env->tool_library);
    add(to, "ROCM_PERF_TRACE_DIR", o->trace_dir);
    add(to, "ROCM_PERF_TOOL_DEBUG", o->tracer_log);
    add_said(to, "ROCM_PERF_HIP_CALLS", o->no_hip_calls ? "off" : NULL);
    add(to, RP_CALL_SITES_VARIABLE, o->call_sites ? "on" : NULL);
    add_said(to, RP_SNAPSHOT_SOCKET_VARIABLE, o->capture_socket);
    add(to, RP_REGIONS_VARIABLE, o->selected_regions ? "on" : NULL);
    add(to, RP_RANGE_VARIABLE, o->roctx_range);
    if (!o->selected_regions && !o->roctx_range)
        return 0;
    /* Its functions stand in front of those of ROCTx. */
    if (strpbrk(env->tool_library, " :"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s: LD_PRELOAD cannot hold a path with a space or a colon; move or install "
                       "rocm-perf-lab to a folder without",
                       env->tool_library);
    add(to, "LD_PRELOAD", env->tool_library);
    to->at[to->count - 1].separator = ":";
    return 0;
}

int rp_run_env_make(const struct rp_environment *env, const struct rp_run_options *options,
                    struct rp_run_env *ret, struct rp_err *err)
{
    enum { MOST_OWN = 24 };
    struct rp_run_env made = {0};
    struct changes to = {0};
    size_t more = 0;
    int rc = 0;

    while (options->more && options->more[more].name)
        more++;
    made.list = to.at = rp_alloc_zero(more + MOST_OWN, sizeof *to.at);
    if (options->thread_trace)
        ask_for_threads(options->thread_trace, made.values);
    made.values[3] = rp_format("%" PRIu32, options->threads);
    made.values[4] = rp_format("%" PRIu32, options->gpus);
    made.values[7] = rp_format("%" PRIu32, options->clock_mhz);
    add_device(options, made.values, &to);
    if (env)
        add_rocm(env, &made.values[6], &to);
    for (size_t i = 0; i < more; i++)
        to.at[to.count++] = options->more[i];
    if (env)
        rc = add_libraries(env, options, &made.values[5], &to, err);
    if (rc < 0)
        rp_run_env_free(&made);
    else
        *ret = made;
    return rc;
}

void rp_run_env_free(struct rp_run_env *env)
{
    for (size_t i = 0; i < sizeof env->values / sizeof *env->values; i++)
        free(env->values[i]);
    free(env->list);
    *env = (struct rp_run_env){0};
}
