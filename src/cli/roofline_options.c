#include "cli/roofline_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
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

int rp_roof_take(const char *command, int key, const char *word, struct rp_roof_options *ret)
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

int rp_roof_read(struct rp_roof_options *options, struct rp_err *err)
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
