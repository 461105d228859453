#include "cli/device_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/counter_set.h"

const char *const rp_timing_words[] = {"fast", "detailed", "off"};

void rp_device_options_read(const char *device, uint64_t threads, uint64_t gpus, int timing,
                            struct rp_run_options *ret)
{
    if (device)
        /* This cannot fail, because the text was accepted when it was read. */
        rp_device_parse(device, ret, NULL);
    ret->threads = (uint32_t)threads;
    ret->gpus = (uint32_t)gpus;
    if (timing >= 0)
        ret->timing = rp_timing_parse(rp_timing_words[timing]);
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

/* Shortens "AMD Instinct MI300X" to the name without the maker. */
static const char *short_name(const char *product)
{
    static const char maker[] = "AMD Instinct ";

    return strncmp(product, maker, sizeof maker - 1) == 0 ? product + sizeof maker - 1 : product;
}

void rp_cli_warn_about_target(const char *executable, struct rp_run_options *options)
{
    const char *wish = getenv("HSA_XNACK");
    bool xnack = wish && strcmp(wish, "1") == 0; /* Other values leave XNACK off. */
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
