#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/target.h"
#include "collect/offload.h"

/* "AMD Instinct MI300X" without the maker. */
static const char *short_name(const char *product)
{
    static const char maker[] = "AMD Instinct ";

    return strncmp(product, maker, sizeof maker - 1) == 0 ? product + sizeof maker - 1 : product;
}

void rp_cli_warn_about_target(const char *executable, enum rp_device device)
{
    static const char said[] = "ROCM_PERF_DEVICE_TARGET_SAID"; /* the device need not */
    const char *gfx, *product, *wish = getenv("HSA_XNACK");
    bool xnack = wish && strcmp(wish, "1") == 0; /* other values leave it as it is: off */
    char targets[256];

    if (device != RP_DEVICE_SOFTWARE)
        return;
    rp_device_software(&gfx, &product);
    switch (rp_program_fits_gpu(executable, gfx, xnack, targets, sizeof targets)) {
    case RP_OFFLOAD_FITS:
        return;
    case RP_OFFLOAD_OTHER_GPU:
        setenv(said, "1", 1);
        rp_cli_note("warning: %s has device code for %s only, but the software %s is "
                    "%s: its kernels cannot start; compile with --offload-arch=%s",
                    executable, targets, short_name(product), gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_ON:
        setenv(said, "1", 1);
        rp_cli_note("warning: %s has device code for %s:xnack+ only, but XNACK is off: its "
                    "kernels cannot start; set HSA_XNACK=1 or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    case RP_OFFLOAD_XNACK_OFF:
        setenv(said, "1", 1);
        rp_cli_note("warning: %s has device code for %s:xnack- only, but XNACK is on: its "
                    "kernels cannot start; unset HSA_XNACK or compile with --offload-arch=%s",
                    executable, gfx, gfx);
        return;
    }
}
