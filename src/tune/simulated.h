/**
 * @file simulated.h
 * @brief Runs that were recorded, instead of runs: to try searches without a GPU.
 *
 * Time is the recorded one, too: of building and of all repeats, on each of the workers.
 */
#ifndef RP_TUNE_SIMULATED_H
#define RP_TUNE_SIMULATED_H

#include "tune/runner.h"

struct rp_recorded;

/**
 * @param recorded  has to live as long
 * @return 0; RP_ENVIRONMENT
 */
int rp_simulated_open(const struct rp_recorded *recorded, unsigned workers, struct rp_runner *ret,
                      struct rp_err *err);
/** Accepts zeros. */
void rp_simulated_close(struct rp_runner *runner);

/** What such a run takes: the median of the repeats, or their mean where that is all there is. */
double rp_simulated_ms(const struct rp_recorded *recorded, size_t config);

#endif
