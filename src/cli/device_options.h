/**
 * @file device_options.h
 * @brief The options of rooflines, which analyze and report have in common: equal options give
 *        equal numbers in both.
 */
#ifndef RP_CLI_DEVICE_OPTIONS_H
#define RP_CLI_DEVICE_OPTIONS_H

#include <stdbool.h>

#include "analyze/roofline.h"
#include "base/err.h"
#include "library/library.h"
#include "report/report.h"

struct rp_counters;
struct rp_err;
struct rp_run_options;

#define RP_ROOF_HELP                                                                               \
    "of the roofline:\n"                                                                           \
    "  --arch ARCH                  GPU that the files do not name: gfx942, gfx942:mi300a ...\n"   \
    "  --memory-bandwidth-gbps N    peak of the memory instead of the GPU's own\n"                 \
    "  --clock-mhz N                engine clock instead of the GPU's own\n"                       \
    "  --ceilings FILE              measured ceilings: roofline.csv of rocprof-compute\n"          \
    "  --flop-model MODEL           auto: by precision, else by width; exact: never by width;\n"   \
    "                               width: 8 FLOPs for each vector instruction\n"

enum { RP_ROOF_ARCH = 1000, RP_ROOF_BANDWIDTH, RP_ROOF_CLOCK, RP_ROOF_MODEL, RP_ROOF_CEILINGS };

/* Rows of getopt's table. */
#define RP_ROOF_OPTIONS                                                                            \
    {"arch", required_argument, NULL, RP_ROOF_ARCH},                                               \
        {"memory-bandwidth-gbps", required_argument, NULL, RP_ROOF_BANDWIDTH},                     \
        {"clock-mhz", required_argument, NULL, RP_ROOF_CLOCK},                                     \
        {"flop-model", required_argument, NULL, RP_ROOF_MODEL},                                    \
    {                                                                                              \
        "ceilings", required_argument, NULL, RP_ROOF_CEILINGS                                      \
    }

/** Release with rp_roof_options_free, after everything that was made by it. Not to be copied. */
struct rp_roof_options {
    struct rp_roofline_options roof;
    const char *ceilings; /**< file; NULL */
    struct rp_ceilings measured;
    struct rp_counters *measured_on; /**< of which GPU they are */
};

bool rp_roof_is_option(int key);
/** @return 0, or an exit code with a message. @param command  that is named in it */
int rp_roof_option_parse(const char *command, int key, const char *word,
                         struct rp_roof_options *ret);
/** Once all are taken: looks whether the GPU is known, and reads the file of ceilings. */
int rp_roof_options_read(struct rp_roof_options *options, struct rp_err *err);
void rp_roof_options_free(struct rp_roof_options *options);

/* What the command files share. A command parses its own options, prints its result on
 *        stdout, and returns an exit code (enum rp_code); messages go to stderr.
 */

/** For what getopt returned as ':' or '?': names the option, also one within "-xyz". */
int rp_cli_bad_option(const char *command, const char *argument, int key);

/** --threads N. 0 or RP_USAGE with a message. */
int rp_cli_threads(const char *word, struct rp_run_options *ret, struct rp_err *err);

/** --gpus N: likewise. */
int rp_cli_gpus(const char *word, struct rp_run_options *ret, struct rp_err *err);

/** --expect-status N: 0 to 255. */
int rp_cli_expected_status(const char *word, int *ret, struct rp_err *err);

/** --timing off|fast|detailed: likewise. Whether the target has it is for rp_device_resolve. */
int rp_cli_timing(const char *word, struct rp_run_options *ret, struct rp_err *err);

#endif
