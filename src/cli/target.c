#include <stdio.h>
#include <string.h>

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
    const char *gfx, *product;
    char targets[256];

    rp_device_software(&gfx, &product);
    if (device == RP_DEVICE_SOFTWARE && rp_offload_lacks(executable, gfx, targets, sizeof targets))
        fprintf(stderr,
                "rocm-perf: warning: %s has device code for %s only, but the software %s is "
                "%s: its kernels cannot start; compile with --offload-arch=%s\n",
                executable, targets, short_name(product), gfx, gfx);
}
