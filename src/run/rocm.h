/**
 * @file rocm.h
 * @brief Looks for a ROCm, and says what each that it finds can do.
 *
 * A release is not known by its number: ROCm 10 has the HIP of ROCm 7. What counts is that the
 * libraries of the runtimes have the names (sonames) and symbols that programs and this suite need.
 * No code of a ROCm or a Python is run. The order of preference, in which candidates are listed:
 *
 * 1. $ROCM_PATH, and then nothing else: another one would measure something else
 * 2. the Python packages rocm-sdk-devel, rocm-sdk-core of the active environment ($VIRTUAL_ENV,
 *    $CONDA_PREFIX)
 * 3. /opt/rocm and /opt/rocm/core, then /opt/rocm/core-VERSION and /opt/rocm-VERSION, the highest
 *    version first
 * 4. /usr: a distribution's own packages
 * 5. the Python packages of the python3, or the rocm-sdk, that $PATH finds
 * 6. the private one that rocm-perf setup makes
 *
 * tools/common.sh has the same order and the same rules for the time before the build;
 * tests/unit/run/test_rocm.c compares both.
 */
#ifndef RP_RUN_ROCM_H
#define RP_RUN_ROCM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define RP_ROCM_HIP_SONAME "libamdhip64.so.7"
#define RP_ROCM_HSA_SONAME "libhsa-runtime64.so.1"
/** The releases that have it, for messages. */
#define RP_ROCM_RELEASES "ROCm 7 or 10"

enum rp_rocm_kind {
    RP_ROCM_NONE = 0,
    RP_ROCM_INSTALLED, /**< by AMD's packages, a distribution, a tarball or Python wheels */
    RP_ROCM_PRIVATE,   /**< unpacked from Debian by rocm-perf setup */
};

enum rp_rocm_part {
#define PART(id, ...) RP_ROCM_##id,
#define LIBRARY(...)
#define FILE(...)
#include "run/rocm_parts.def"
    RP_ROCM_PARTS
};

/** One place in which a ROCm is, or seems to be. NULL: not known, absent. */
struct rp_rocm {
    enum rp_rocm_kind kind;
    const char *from; /**< "$ROCM_PATH", "python3"; static */
    char *root;
    char *version;   /**< "7.2.4", "10.1.0"; of a ROCm without such a file "HIP 7.16.60430" */
    char *libc;      /**< of a private one: its libc's version, "2.44-3" */
    char *libraries; /**< the folder of its libraries */
    char *parts[RP_ROCM_PARTS];
    bool reports_calls; /**< its HIP tells the built-in collector what is called */
    char *reason;       /**< why programs cannot run on it; NULL: they can */
    char *remedy;       /**< what helps; NULL: nothing that is known */
};

struct rp_rocms {
    RP_VEC(struct rp_rocm);
    const struct rp_rocm *used; /**< the first that programs can run on; NULL: there is none */
};

/** Where to look. A variable that is not set is NULL. */
struct rp_rocm_places {
    const char *rocm_path, *virtual_env, *conda_prefix, *path, *home;
    const char *private_root; /**< NULL: not known */
    const char *system;       /**< "": /opt and /usr are the machine's; else they are below it */
};

/** Reads the environment of this process. */
struct rp_rocm_places rp_rocm_places_here(const char *private_root);
/** Returns where rocm-perf setup puts the private one. The caller owns it. */
char *rp_rocm_private_root(void);
/**
 * Returns the folder inside of a private one that looks like AMD's /opt/rocm, with links to what
 * Debian has elsewhere. The caller owns it; NULL: an old setup made no such folder.
 */
char *rp_rocm_usual(const char *root);

/**
 * Lists the candidates in their order.
 * @param every false: only up to the one that is used
 */
void rp_rocm_search(const struct rp_rocm_places *places, bool every, struct rp_rocms *ret);
void rp_rocms_free(struct rp_rocms *rocms);

/** Says what has to be installed before a ROCm can compile: "the package ...", as its seller calls
 * it. */
const char *rp_rocm_compiler_package(const char *root);

/** What a part is called for people, what it is for ("to compile"), and its name in JSON. */
const char *rp_rocm_part_name(enum rp_rocm_part part);
const char *rp_rocm_part_use(enum rp_rocm_part part);
const char *rp_rocm_part_key(enum rp_rocm_part part);

#endif
