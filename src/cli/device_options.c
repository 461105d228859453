#include "cli/device_options.h"

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
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/counter_set.h"

/* What no GPU has is a slip of the unit. */
static bool take_number(const char *word, double most, double *ret)
{
    char *end;

    *ret = strtod(word, &end);
    return end != word && !*end && *ret >= 1 && *ret <= most;
}

static int take_model(const char *command, const char *word, enum rp_flop_model *ret)
{
    static const char *const names[] = {
        [RP_FLOPS_AUTO] = "auto", [RP_FLOPS_EXACT] = "exact", [RP_FLOPS_WIDTH] = "width"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(word, names[i]) == 0) {
            *ret = (enum rp_flop_model)i;
            return 0;
        }
    return rp_cli_usage_error(command, "--flop-model %s: use auto, exact or width", word);
}

bool rp_roof_is_option(int key)
{
    return key >= RP_ROOF_ARCH && key <= RP_ROOF_CEILINGS;
}

int rp_roof_option_parse(const char *command, int key, const char *word,
                         struct rp_roof_options *ret)
{
    switch (key) {
    case RP_ROOF_ARCH:
        ret->roof.arch = word;
        return 0;
    case RP_ROOF_CEILINGS:
        ret->ceilings = word;
        return 0;
    case RP_ROOF_MODEL:
        return take_model(command, word, &ret->roof.model);
    case RP_ROOF_BANDWIDTH:
        if (take_number(word, 1e6, &ret->roof.memory_gbps))
            return 0;
        return rp_cli_usage_error(
            command, "--memory-bandwidth-gbps %s: use a number from 1 to 1000000", word);
    default:
        if (take_number(word, 1e5, &ret->roof.clock_mhz))
            return 0;
        return rp_cli_usage_error(command, "--clock-mhz %s: use a number from 1 to 100000", word);
    }
}

int rp_roof_options_read(struct rp_roof_options *options, struct rp_err *err)
{
    const struct rp_note_sink notes = rp_cli_notes();
    int rc = 0;

    if (options->roof.arch)
        rc = rp_roofline_check_arch(options->roof.arch, err);
    if (rc < 0 || !options->ceilings)
        return rc;
    rc = rp_roofline_read_ceilings(options->ceilings, &options->measured, err);
    if (rc == 0)
        rc = rp_counters_open_facts(options->ceilings, &options->measured_on, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < options->measured_on->warning_count; i++)
        rp_note(&notes, "%s", options->measured_on->warnings[i]);
    options->roof.measured = &options->measured;
    options->roof.measured_on = &options->measured_on->any;
    return 0;
}

void rp_roof_options_free(struct rp_roof_options *options)
{
    rp_counters_free(options->measured_on);
}

/* "AMD Instinct MI300X" without the maker. */
static const char *short_name(const char *product)
{
    static const char maker[] = "AMD Instinct ";

    return strncmp(product, maker, sizeof maker - 1) == 0 ? product + sizeof maker - 1 : product;
}

void rp_cli_warn_about_target(const char *executable, struct rp_run_options *options)
{
    const char *wish = getenv("HSA_XNACK");
    bool xnack = wish && strcmp(wish, "1") == 0; /* other values leave it as it is: off */
    char targets[256];

    if (options->device != RP_DEVICE_SOFTWARE)
        return;
    const struct rp_arch gpu = rp_software_gpu(options);
    const char *gfx = gpu.name;
    switch (rp_program_fits_gpu(executable, gfx, xnack, targets, sizeof targets)) {
    case RP_OFFLOAD_FITS:
        return;
    case RP_OFFLOAD_OTHER_GPU:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s only, but the software %s is "
                    "%s: its kernels cannot start; compile with --offload-arch=%s",
                    executable, targets, short_name(gpu.product), gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_ON:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s:xnack+ only, but XNACK is off: its "
                    "kernels cannot start; set HSA_XNACK=1 or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_OFF:
        options->target_said = true;
        rp_cli_note("warning: %s has device code for %s:xnack- only, but XNACK is on: its "
                    "kernels cannot start; unset HSA_XNACK or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    }
}

int rp_cli_bad_option(const char *command, const char *argument, int key)
{
    char single[] = {'-', (char)optopt, '\0'};
    bool short_option = optopt > ' ' && optopt < 127 && strncmp(argument, "--", 2) != 0;

    return rp_cli_usage_error(command, "%s %s", short_option ? single : argument,
                              key == ':' ? "needs a value" : "is no option");
}

int rp_cli_threads(const char *word, struct rp_run_options *ret, struct rp_err *err)
{
    char *end;
    long value = strtol(word, &end, 10);

    if (end == word || *end || value < 1 || value > 256)
        return rp_fail(err, RP_USAGE, "--threads %s: use a whole number from 1 to 256", word);
    ret->threads = (uint32_t)value;
    return 0;
}

int rp_cli_gpus(const char *word, struct rp_run_options *ret, struct rp_err *err)
{
    if (word[0] < '1' || word[0] > '8' || word[1])
        return rp_fail(err, RP_USAGE, "--gpus %s: use a whole number from 1 to 8", word);
    ret->gpus = (uint32_t)(word[0] - '0');
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

int rp_cli_timing(const char *word, struct rp_run_options *ret, struct rp_err *err)
{
    ret->timing = rp_timing_parse(word);
    if (!ret->timing)
        return rp_fail(err, RP_USAGE, "--timing %s: use off, fast or detailed", word);
    return 0;
}
