/**
 * @file device_options.h
 * @brief What becomes of options that several commands have: of the device, and of rooflines.
 *        Equal options of rooflines give equal numbers in analyze and report.
 */
#ifndef RP_CLI_DEVICE_OPTIONS_H
#define RP_CLI_DEVICE_OPTIONS_H

#include <stdint.h>

#include "analyze/roofline.h"
#include "base/err.h"
#include "library/library.h"
#include "report/report.h"

struct rp_counters;
struct rp_run_options;

/** Release it with rp_roof_options_free, after everything that was made by it. It must not be
 * copied. */
struct rp_roof_options {
    struct rp_roofline_options roof;
    const char *ceilings; /**< file; NULL */
    struct rp_ceilings measured;
    struct rp_counters *measured_on; /**< of which GPU they are */
};

/** The struct of a command that has the options of ROOFLINE has these members. */
#define RP_ROOF_OPTIONS(args)                                                                      \
    {                                                                                              \
        .roof = {.arch = (args).arch,                                                              \
                 .memory_gbps = (args).memory_gbps,                                                \
                 .clock_mhz = (args).clock_mhz,                                                    \
                 .model = (enum rp_flop_model)(args).flop_model},                                  \
        .ceilings = (args).ceilings                                                                \
    }

/** Checks that the GPU is known, and reads the file of ceilings. */
int rp_roof_options_read(struct rp_roof_options *options, struct rp_err *err);
void rp_roof_options_free(struct rp_roof_options *options);

/** These are the words of --timing, by their place in its choices. */
extern const char *const rp_timing_words[];

/** Reads --device, --threads, --gpus and --timing. NULL, 0 or -1 mean that one was not given. */
void rp_device_options_read(const char *device, uint64_t threads, uint64_t gpus, int timing,
                            struct rp_run_options *ret);

#endif
