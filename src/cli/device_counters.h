/**
 * @file hardware_counters.h
 * @brief Hardware counters of the software device: which there are, and asking it for them.
 */
#ifndef RP_CLI_DEVICE_COUNTERS_H
#define RP_CLI_DEVICE_COUNTERS_H

#include "cli/profile_session.h"

/** --list-counters. @return exit code */
int rp_list_device_counters(void);

/**
 * Whether the device has all that --pmc names.
 * @return 0, or RP_USAGE with the name and what to do
 */
int rp_check_device_counters(const struct rp_profile_options *options, struct rp_err *err);

/** Lets programs started from now on count what --pmc and the rooflines need. */
int rp_ask_device_counters(const struct rp_profile_options *options, struct rp_err *err);

/** A line on stderr when launches lack counters that were asked for. */
int rp_warn_of_missing_counters(const struct rp_profile_options *options,
                                const struct rp_counters *set, struct rp_err *err);

/** Programs started from now on count nothing. */
void rp_ask_no_counters(void);

/** Whether the device counts for this tracer: then no further runs are needed. */
bool rp_device_counts(const struct rp_profile_session *session);

#endif
