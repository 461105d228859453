/* Folders that look like a ROCm, as far as src/run/rocm.c looks: small libraries, which the C
 * compiler makes, with the sonames and symbols of the real ones. */
#ifndef RP_TEST_MADE_ROCM_H
#define RP_TEST_MADE_ROCM_H

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"

#include "unit/scratch.h"

#define MADE_HIP     "__hipRegisterFatBinary hipLaunchKernel hipRuntimeGetVersion"
#define MADE_REPORTS " hipRegisterTracerCallback hipApiName"
#define MADE_HSA                                                                                   \
    "hsa_init hsa_queue_create hsa_amd_profiling_get_dispatch_time hsa_amd_vmem_address_reserve"

/** Makes a library.
 * @param soname "-": it has none
 * @param node the version of its symbols, as the real ones have them
 * @param symbols separated by spaces */
static inline void made_rocm_library(const char *name, const char *soname, const char *node,
                                     const char *symbols)
{
    rp_autofree char *path = scratch_put(name, "");
    rp_autofree char *command = rp_format(
        "cd '%s' && { for s in %s; do echo \"int $s(void) { return 0; }\"; done; } >made.c "
        "&& echo '%s { *; };' >made.map && s=%s && rm '%s' && cc -shared -fPIC -nostdlib "
        "-Wl,--version-script=made.map $([ $s = - ] || echo -Wl,-soname,$s) made.c -o '%s'",
        scratch_dir, symbols, node, soname, path, path);

    assert_int_equal(system(command), 0);
}

/** Makes an installed ROCm without a compiler. */
static inline void made_rocm(const char *root, const char *version)
{
    rp_autofree char *hip = rp_format("%s/lib/libamdhip64.so.7", root);
    rp_autofree char *hsa = rp_format("%s/lib/libhsa-runtime64.so.1", root);
    rp_autofree char *info = rp_format("%s/.info/version", root);
    rp_autofree char *line = rp_format("%s\n", version);

    made_rocm_library(hip, "libamdhip64.so.7", "hip_4.2", MADE_HIP MADE_REPORTS);
    made_rocm_library(hsa, "libhsa-runtime64.so.1", "ROCR_1", MADE_HSA);
    free(scratch_put(info, line));
}

#endif
